/*
 * assign - the assignment log: who holds which device, CPU, memory block and claim. Pure.
 *
 * One revisioned state machine. Everything that a node hands out changes here and nowhere else;
 * the checkpoint, PodResources, Pod status and the node's capacity are views of it, so they
 * cannot disagree, and a thing is released before it is held again by construction: every
 * change has a revision, and a watcher is told changes in that order.
 *
 * A container's part of a resource goes through two steps: *held* (ids chosen, nobody else can
 * get them; on the disk before the plugin is asked) and *allocated* (the plugin has answered;
 * its answer is kept). An agent that dies in between finds the ids again and asks the plugin
 * again, for the same ones.
 *
 * A pod that has ended holds nothing, but what it held is remembered until its object is gone,
 * so that its health can still be told.
 * Threads: one at a time. No I/O, no clock.
 */
#ifndef NODE_ASSIGN_ASSIGN_H
#define NODE_ASSIGN_ASSIGN_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"
#include "node/numa/topology.h"
#include "node/pod/pod.h"

struct assign;
struct cpu_set;
struct machine;
struct memory_block;

enum assign_health { ASSIGN_HEALTHY, ASSIGN_UNHEALTHY, ASSIGN_UNKNOWN };
const char *assign_health_name(enum assign_health h); /* "Healthy" */

struct assign_opts {
	const struct machine *machine; /* CPUs, NUMA nodes, memory; must outlive it */
	enum topology_policy topology;
	bool topology_pod_scope; /* align the whole pod, not each container */
	bool static_cpus, static_memory; /* policies; else none */
	struct str reserved_cpus; /* a cpuset; with static_cpus */
	int64_t reserved_cpu_milli; /* when that is empty: so many, rounded up, are chosen */
	/* Memory kept from pods per NUMA node, in bytes, indexed by node id; with static_memory. */
	const int64_t *reserved_memory;
	size_t nreserved_memory;
};

/*
 * -ERR_INVALID, as upstream: a static policy without a reserve, or too many NUMA nodes for a
 * policy.
 */
int assign_new(const struct assign_opts *opts, struct assign **ret_assign, struct error *err);
void assign_free(struct assign *s); /* NULL allowed */

/* --- changes ------------------------------------------------------------------------ */

enum assign_change_type {
	/* What this pod holds has changed, or where that is; it may hold nothing any more. */
	ASSIGN_POD,
	ASSIGN_INVENTORY, /* what could be handed out has changed: devices, CPUs, memory */
	ASSIGN_DEVICE_HEALTH, /* of one device of a plugin, for each pod that has or had it */
	ASSIGN_SHARED_CPUS, /* assign_cpus() of containers without CPUs of their own has changed */
	ASSIGN_CLAIM, /* a claim's own state, whoever uses it: only the checkpoint has changed */
};

/* Text is borrowed until return. */
struct assign_change {
	enum assign_change_type type;
	uint64_t revision;
	struct str pod_uid; /* or empty: a device that no pod has or had */
	struct str resource, id; /* of ASSIGN_DEVICE_HEALTH; else empty */
};

/* Told after each change, in order; must not change the log. Several may be added. */
struct assign_watcher {
	void (*on_change)(struct assign_watcher *w, const struct assign_change *c);
	struct assign_watcher *next;
};
void assign_add_watcher(struct assign *s, struct assign_watcher *w);
uint64_t assign_revision(const struct assign *s);

/* --- what plugins offer ------------------------------------------------------------- */

struct assign_device {
	struct str id, message; /* message: clean (health_message.h), may be empty */
	enum assign_health health;
	const int64_t *numa; /* nodes */
	size_t nnuma;
	bool has_topology;
};

/* The complete list of a resource, from its plugin. What is missing from it is Unknown if held. */
void assign_set_resource(struct assign *s, struct str resource, const struct assign_device *v,
			 size_t n);
/* Changes of devices' health or message since the start; each once, however many pods hold it. */
uint64_t assign_health_changes(const struct assign *s);
/* Its last plugin has gone: capacity stays, allocatable is 0, devices are Unknown. */
void assign_resource_gone(struct assign *s, struct str resource);
/* Some minutes later: it is not in the node's capacity any more. Held devices stay held. */
void assign_drop_resource(struct assign *s, struct str resource);

bool assign_has_resource(const struct assign *s, struct str resource);
bool assign_is_connected(const struct assign *s, struct str resource); /* it has a plugin */

/* Walks resources in the order of their names; *at begins with empty. False at the end. */
bool assign_next_resource(const struct assign *s, struct str *at, int64_t *ret_capacity,
			  int64_t *ret_allocatable);

/* False when the resource has no such device: Unknown. `ret_message` may be NULL. */
bool assign_device_health(const struct assign *s, struct str resource, struct str id,
			  enum assign_health *ret_health, struct str *ret_message);

/* Walks the devices that the plugin lists, by id; *at begins with empty. False at the end. */
bool assign_device_next(const struct assign *s, struct str resource, struct str *at,
			struct assign_device *ret_device);

/* The machine was read again: CPUs came or went, memory changed. */
void assign_set_machine(struct assign *s, const struct machine *m);

/* --- admission ---------------------------------------------------------------------- */

/*
 * Admits a pod: chooses devices, CPUs and memory for each container, NUMA-aware, and holds
 * them. Init containers' devices are reused by later ones of the same pod, sidecars' are not.
 * What is held already (after a restart) stays, whether or not its plugin is there by now.
 * When a plugin wants to be asked for its wish, 0 is returned with io->waiting and io->wish:
 * nothing is held meanwhile; answer by assign_prefer() and call assign_admit() again.
 *
 * Resources that no plugin here has ever offered are not ours, nor are those that a claim backs
 * (status.extendedResourceClaimStatus): they are left out, as upstream does.
 *
 * Failures hold nothing more than before: -ERR_INVALID with `reason` UnexpectedAdmissionError
 * or TopologyAffinityError, and upstream's message in err; for the former the cause alone,
 * which the status says as "Allocate failed due to CAUSE, which is unexpected". (OutOfcpu and
 * the like: admission.h.)
 */
struct assign_wish {
	struct str resource, container;
	const struct str *available, *must; /* ids */
	size_t navailable, nmust;
	int64_t size;
};

struct assign_admission {
	/* In: whether the resource's plugin wants to be asked (GetPreferredAllocation). */
	bool (*wants_preferred)(void *arg, struct str resource);
	void *arg;
	/* Out: the wish to ask the plugin, then give back by assign_prefer(); in the arena. */
	struct assign_wish wish;
	bool waiting;
	/* Out: it ended before the agent was restarted. Nothing is held: nothing may be started. */
	bool ended;
	/* Out: assign_in_doubt(). Nothing more is held: nothing may be started. */
	bool doubt;
	const char *reason; /* of a refusal */
};

int assign_admit(struct assign *s, const struct pod *pod, struct arena *a,
		 struct assign_admission *io, struct error *err);
/* The plugin's answer to io->wish, for this pod's next assign_admit(). */
void assign_prefer(struct assign *s, struct str pod_uid, const struct assign_wish *wish,
		   const struct str *ids, size_t n);

/* --- recovery ------------------------------------------------------------------------ */

/*
 * The log was lost, and an earlier agent had admitted this pod. Holds the plugins' devices that
 * the pod's status names (allocatedResourcesStatus); the plugins are asked for them again. If the
 * status does not name as many devices of a resource as a container asks for, or another pod holds
 * them, the resource is in doubt: nobody gets devices of it until assign_settle_doubt(). Call it
 * for all such pods before a new one is admitted. Does nothing for a pod that the log has.
 */
struct assign_recovery {
	/* "vendor.com/gpu: g0, g1; .."; in the arena, empty: none. At most 1 KiB each. */
	struct str held, doubt;
};
void assign_recover(struct assign *s, const struct pod *pod, struct arena *a,
		    struct assign_recovery *ret_recovery);
/* Resources of the pod are in doubt: it may use devices that the log does not know. */
bool assign_in_doubt(const struct assign *s, struct str pod_uid);
/* None of the pod's containers runs: it uses no device. It can be admitted anew. */
void assign_settle_doubt(struct assign *s, struct str pod_uid);

/* --- requests to plugins --------------------------------------------------------------- */

/*
 * Walks what is held and not allocated yet: ask the plugin for these ids. False when there is
 * none. Text is borrowed until the next change.
 */
struct assign_request {
	struct str container, resource;
	const struct str *ids;
	size_t nids;
};
bool assign_next_request(const struct assign *s, struct str pod_uid, struct arena *a,
			 struct assign_request *ret_request);
/* The plugin's answer, a packed ContainerAllocateResponse: kept. */
void assign_set_answer(struct assign *s, struct str pod_uid, struct str container,
		       struct str resource, struct str packed);

/* All answers of one container, in the order of resources; to make its configuration of. */
bool assign_next_answer(const struct assign *s, struct str pod_uid, struct str container,
			struct str *at_resource, struct str *ret_packed, struct arena *a,
			struct assign_request *ret_request);

/*
 * The CPUs ("0-3,8") and NUMA nodes that a container is bound to; empty: any. With static CPUs a
 * container without its own is bound to what nobody has. In `a`.
 */
struct str assign_cpus(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a);
struct str assign_mems(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a);

/* CPUs that the container has for itself. False: it shares the rest with others. */
bool assign_own_cpus(const struct assign *s, struct str pod_uid, struct str container,
		     struct cpu_set *ret_cpus);

/* Memory that the container has for itself, by kind; 0 without the static policy. In `a`. */
size_t assign_memory(const struct assign *s, struct str pod_uid, struct str container,
		     struct arena *a, const struct memory_block **ret_blocks);

/* What could be handed out to containers for themselves; nothing without the static policies. */
void assign_allocatable_cpus(const struct assign *s, struct cpu_set *ret_cpus);
size_t assign_allocatable_memory(const struct assign *s, struct arena *a,
				 const struct memory_block **ret_blocks);

/* --- claims -------------------------------------------------------------------------- */

struct assign_claim_device {
	struct str driver, pool, device, share_id; /* share_id may be empty */
	const struct str *requests; /* names, base names only; none: of any request */
	size_t nrequests;
	const struct str *cdi; /* ids */
	size_t ncdi;
};

enum assign_claim_state { ASSIGN_CLAIM_PREPARING, ASSIGN_CLAIM_PREPARED, ASSIGN_CLAIM_UNPREPARING };

struct assign_claim {
	struct str uid, ns, name;
	enum assign_claim_state state;
	const struct str *drivers; /* of its allocation, those without devices, too */
	size_t ndrivers;
	const struct assign_claim_device *devices; /* by driver, pool, device */
	size_t ndevices;
	/* "driver/pool/device" of its allocation that no other claim may have meanwhile. */
	const struct str *exclusive;
	size_t nexclusive;
	const struct str *pods; /* uids that use it */
	size_t npods;
};

/*
 * The pod begins to use the claim, by that name of spec.resourceClaims. -ERR_CONFLICT when the
 * name, or an exclusive device, is taken by a claim of another uid that is not forgotten, or when
 * the claim is being unprepared.
 */
int assign_claim_use(struct assign *s, const struct pod *pod, struct str pod_claim,
		     const struct assign_claim *claim, struct error *err);
/* What one driver answered replaces its devices. */
void assign_claim_set_devices(struct assign *s, struct str claim_uid, struct str driver,
			      const struct assign_claim_device *v, size_t n);
void assign_claim_set_state(struct assign *s, struct str claim_uid, enum assign_claim_state st);
/* The pod does not use it any more; true when nobody does: unprepare it, then forget it. */
bool assign_claim_unuse(struct assign *s, struct str claim_uid, struct str pod_uid);
void assign_claim_forget(struct assign *s, struct str claim_uid);

/*
 * Views in `a`, but for the text of devices, which is borrowed until the next change; false when
 * there is none. The last walks all, and the log may change meanwhile: *at begins with empty.
 */
bool assign_claim_get(const struct assign *s, struct str claim_uid, struct arena *a,
		      struct assign_claim *ret_claim);
bool assign_claim_next(const struct assign *s, struct str *at_uid, struct arena *a,
		       struct assign_claim *ret_claim);

/* --- pods ---------------------------------------------------------------------------- */

/*
 * Ends it: devices, CPUs and memory are released; what it held is remembered for assign_uses().
 * Claims stay in use until assign_claim_unuse(), because they have to be unprepared first.
 * Repeating is harmless.
 */
void assign_end_pod(struct assign *s, struct str pod_uid);
/*
 * Its object is gone: what it held is forgotten, and released if it is still held. A claim that it
 * still uses keeps its uid as a user, until it is unprepared.
 */
void assign_forget_pod(struct assign *s, struct str pod_uid);

/* Admitted, or using a claim; also when it has ended. */
bool assign_has_pod(const struct assign *s, struct str pod_uid);
/* Its devices, CPUs and memory are chosen, and it has not ended. */
bool assign_is_admitted(const struct assign *s, struct str pod_uid);
/* False when there is no such pod. */
bool assign_pod_names(const struct assign *s, struct str pod_uid, struct str *ret_ns,
		      struct str *ret_name);
/* Walks its containers in the pod's order; *at begins with 0. */
bool assign_next_container(const struct assign *s, struct str pod_uid, size_t *at,
			   struct str *ret_name, enum pod_container_kind *ret_kind);
/* Walks uids of all pods, ended ones included; *at begins with empty. */
bool assign_next_pod(const struct assign *s, struct str *at_uid, bool *ret_ended);

/*
 * One device of a pod, held now or, when it has ended, at its end: for Pod status.
 * Walks in the order of (container in the pod's order, resource or claim, device).
 */
struct assign_use {
	/* Of plugin devices; empty for claims, whose containers the spec says. */
	struct str container;
	struct str resource, id; /* plugin */
	const int64_t *numa; /* plugin: where the device is */
	size_t nnuma;
	bool has_topology;
	struct str pod_claim; /* claims: the name in spec.resourceClaims; else empty */
	struct str claim_uid, claim_ns, claim_name; /* claims */
	struct assign_claim_device device; /* claims */
	bool past; /* it is not held any more */
};
size_t assign_uses(const struct assign *s, struct str pod_uid, struct arena *a,
		   const struct assign_use **ret_uses);

/* Pods, present and past, that (driver, pool, device) of a claim belongs to: uids in `a`. */
size_t assign_pods_of_device(const struct assign *s, struct str driver, struct str pool,
			     struct str device, struct arena *a, const struct str **ret_uids);

/* --- the checkpoint ------------------------------------------------------------------ */

#define ASSIGN_STATE_KIND    "assign"
#define ASSIGN_STATE_VERSION 1

/* Everything that must survive a restart; JSON, deterministic. */
int assign_encode(const struct assign *s, struct buf *out);
/* Into a log that is new. -ERR_INVALID leaves it empty. */
int assign_decode(struct assign *s, struct str body, struct error *err);

DEFINE_CLEANUP(assign_free, struct assign *);

#endif
