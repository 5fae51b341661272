/*
 * assign_impl - the records behind assign.h; for the files of src/node/assign only.
 *
 * Records own their text and point to each other: a hold to its devices, a device to the pods that
 * use it, a claim to its pods, a pod to its claims. Nothing is copied between them, so each fact is
 * stored once. Records are freed as follows:
 *
 *	device_rec    when it is not in its plugin's list and no pod uses it
 *	resource_rec  when its plugin is gone for good and it has no device
 *	claim_rec     reference counted: by the log until forgotten, and by each pod that used it
 *	pod_rec       by assign_forget_pod(); its uid stays in claims that it still uses
 */
#ifndef NODE_ASSIGN_ASSIGN_IMPL_H
#define NODE_ASSIGN_ASSIGN_IMPL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "base/text/cpu_set.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"
#include "node/numa/memory_table.h"

struct claim_rec;
struct pod_rec;
struct resource_rec;

/* --- devices of plugins -------------------------------------------------------------- */

struct device_user {
	struct pod_rec *pod;
	/* number of its containers' holds: containers reuse an init container's device */
	unsigned holds;
};

struct device_rec {
	struct resource_rec *resource;
	struct str id; /* stored behind the struct */
	char *message; /* or NULL */
	size_t message_n;
	struct pod_rec *held; /* the pod that holds it now, or NULL */
	VEC(struct device_user) users; /* pods that hold it, or held it when they ended */
	int64_t *numa;
	size_t nnuma;
	uint64_t seen; /* number of the last list that contained it */
	/*
	 * Scratch of a running admission: equal to its number if the device is chosen, or offered.
	 */
	uint64_t mark, offer;
	enum assign_health health;
	bool listed; /* in the plugin's last list */
	bool has_topology;
};

struct resource_rec {
	struct str name; /* stored behind the struct */
	struct omap devices; /* by id */
	VEC(struct device_rec *) order; /* in the order of the last list */
	size_t nlisted, nhealthy;
	uint64_t lists; /* number of lists received */
	bool connected; /* has a plugin */
	bool dropped; /* removed from the node's capacity */
};

/* --- pods ---------------------------------------------------------------------------- */

/* The devices of one resource that one container holds. */
struct hold_rec {
	struct resource_rec *resource;
	struct device_rec **devices; /* sorted by id; at least one */
	size_t n;
	char *answer; /* packed reply of the plugin, or NULL */
	size_t answer_n;
	bool allocated; /* the plugin has replied */
};

struct container_rec {
	char *name;
	enum pod_container_kind kind;
	VEC(struct hold_rec) holds; /* by resource */
	struct cpu_set *cpus; /* exclusive CPUs; NULL: it shares CPUs */
	VEC(struct memory_block) memory;
};

/* A claim by its name in the pod. */
struct claim_link {
	char *name;
	struct claim_rec *claim;
};

struct pod_rec {
	char *uid, *ns, *name;
	bool ended;
	VEC(struct container_rec) containers; /* in the pod's order */
	VEC(struct claim_link) claims; /* by name */
	VEC(char *) doubts; /* resources in doubt: it may have devices that the log does not know */
};

/* --- claims -------------------------------------------------------------------------- */

struct claim_user {
	char *uid;
	struct pod_rec *pod; /* NULL: the pod is forgotten, but still counts as a user */
	bool uses; /* false: the pod has stopped using the claim */
};

struct claim_rec {
	unsigned refs;
	char *uid, *ns, *name;
	char *key; /* ns/name */
	enum assign_claim_state state;
	bool forgotten; /* no longer in the log; kept only as its pods' past */
	VEC(char *) drivers; /* sorted */
	VEC(struct claim_device_rec *) devices; /* by driver, pool, device, share */
	VEC(struct claim_user) users; /* by uid */
	VEC(char *) exclusive; /* emptied when it is forgotten */
};

struct claim_device_rec {
	struct assign_claim_device view; /* in the arena */
	struct str key; /* key of the index; in the arena */
	struct arena arena;
	char first[384]; /* first block of the arena; large enough for most devices */
};

/* Maps (driver, pool, device) to the claims that have it. */
struct device_index {
	VEC(struct claim_rec *) claims;
	char key[];
};

/* --- the log ------------------------------------------------------------------------- */

/* A plugin's reply to a wish, kept until the pod is admitted or rejected. */
struct wish_rec {
	char *pod_uid, *container, *resource;
	char **ids;
	size_t n;
};

struct assign {
	const struct machine *machine;
	enum topology_policy topology;
	bool topology_pod_scope, static_cpus, static_memory;
	struct cpu_set reserved_cpus;
	int64_t *reserved_memory;
	size_t nreserved_memory;

	uint64_t revision, health_changes;
	struct assign_watcher *watchers, **watchers_end;

	struct omap resources, pods, claims; /* by name, uid, uid */
	struct map claim_names; /* ns/name -> claim_rec */
	struct map claim_devices; /* key -> device_index */
	struct map exclusive; /* driver/pool/device -> claim_rec */
	VEC(struct wish_rec) wishes;
	uint64_t marks; /* last value given to device_rec.mark */

	/* CPUs that no container has exclusively, reserved ones included */
	struct cpu_set free_cpus;
	struct cpu_set told_cpus; /* free_cpus as last reported to watchers */
	struct memory_table memory; /* with static_memory */
};

/* Notifies watchers of a change, with the next revision. */
void assign_tell(struct assign *s, enum assign_change_type type, const struct pod_rec *pod,
		 struct str resource, struct str id);

/* --- assign/resource.c --------------------------------------------------------------- */

struct resource_rec *assign_resource(const struct assign *s, struct str name);
struct resource_rec *assign_need_resource(struct assign *s, struct str name);
struct device_rec *assign_device(const struct resource_rec *r, struct str id);
/* Creates the device if it is unknown, with health Unknown. */
struct device_rec *assign_need_device(struct resource_rec *r, struct str id);
void assign_device_set_numa(struct device_rec *d, const int64_t *numa, size_t n, bool has);
bool assign_device_available(const struct device_rec *d);
void assign_device_use(struct device_rec *d, struct pod_rec *pod);
/* Removes one use; frees the device and the resource if nothing needs them. */
void assign_device_unuse(struct assign *s, struct device_rec *d, const struct pod_rec *pod);
void assign_free_resources(struct assign *s);

/* --- assign/pod.c -------------------------------------------------------------------- */

struct pod_rec *assign_pod(const struct assign *s, struct str uid);
struct pod_rec *assign_pod_new(struct str uid, struct str ns, struct str name);
/* Adds the pod to the log; asserts that it is not there. */
void assign_pod_add(struct assign *s, struct pod_rec *p);
/*
 * Removes the pod from all indexes and frees it. Users of its claims stay as recorded in the
 * claims.
 */
void assign_pod_drop(struct assign *s, struct pod_rec *p);
struct container_rec *assign_container(const struct pod_rec *p, struct str name);
struct container_rec *assign_add_container(struct pod_rec *p, struct str name,
					   enum pod_container_kind kind);
struct hold_rec *assign_hold(const struct container_rec *c, const struct resource_rec *r);
/*
 * Holds the devices for the container. `v` is copied and sorted; no other pod may hold any of them.
 */
struct hold_rec *assign_add_hold(struct pod_rec *p, struct container_rec *c, struct resource_rec *r,
				 struct device_rec *const *v, size_t n);
/* Releases what containers from index `from` on hold, and removes these containers. */
void assign_drop_containers(struct assign *s, struct pod_rec *p, size_t from);
void assign_free_pods(struct assign *s);

/* --- assign/claim_rec.c -------------------------------------------------------------- */

char *assign_claim_key(struct str ns, struct str name); /* key of claim_names; on the heap */
struct claim_rec *assign_claim_new(struct str uid, struct str ns, struct str name);
void assign_claim_unref(struct assign *s, struct claim_rec *c);
/* Adds the claim to the log's maps. Returns false if uid, name or an exclusive device is taken. */
bool assign_claim_add(struct assign *s, struct claim_rec *c);
bool assign_claim_add_driver(struct claim_rec *c, struct str driver);
/* Returns false if the claim has the device already. */
bool assign_claim_add_exclusive(struct claim_rec *c, struct str device);
void assign_claim_drop_exclusive(struct assign *s, struct claim_rec *c);
void assign_claim_add_device(struct assign *s, struct claim_rec *c,
			     const struct assign_claim_device *d);
struct claim_user *assign_claim_user(const struct claim_rec *c, struct str pod_uid);
struct claim_user *assign_claim_need_user(struct claim_rec *c, struct str pod_uid);
void assign_claim_drop_user(struct claim_rec *c, struct claim_user *u);
void assign_claim_drop_devices(struct assign *s, struct claim_rec *c, struct str driver);
/* Returns NULL if no claim has the device. */
const struct device_index *assign_claims_of(const struct assign *s, struct str driver,
					    struct str pool, struct str device);
struct claim_link *assign_pod_claim(const struct pod_rec *p, struct str name);
/* Takes a reference. */
void assign_pod_link(struct pod_rec *p, struct str name, struct claim_rec *c);
void assign_pod_unlink(struct assign *s, struct pod_rec *p, size_t at);
struct claim_rec *assign_claim_rec(const struct assign *s, struct str uid);
void assign_free_claims(struct assign *s);

/* --- assign/recover.c --------------------------------------------------------------- */

/* Returns another pod that has the resource in doubt, or NULL. */
const struct pod_rec *assign_doubter(const struct assign *s, const struct pod_rec *but,
				     struct str resource);
void assign_add_doubt(struct pod_rec *p, struct str resource);
void assign_drop_doubts(struct pod_rec *p);

/* --- assign/admit.c ------------------------------------------------------------------ */

void assign_drop_wishes(struct assign *s, struct str pod_uid);

/* --- assign/state.c ------------------------------------------------------------------ */

/* Number of entries of pod_container_kind, without ephemeral ones. */
enum { ASSIGN_KINDS = POD_MAIN + 1 };
extern const char *const assign_kind_names[ASSIGN_KINDS];

/* --- assign.c ------------------------------------------------------------------------ */

/* Forgets everything but options and watchers. */
void assign_clear(struct assign *s);
/* Recomputes which CPUs and how much memory are free. */
void assign_recount(struct assign *s);
/* Notifies watchers if the CPUs that containers share have changed. */
void assign_tell_shared(struct assign *s);

#endif
