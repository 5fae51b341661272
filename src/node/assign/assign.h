/*
 * assign - the assignment log: which pod holds which device, CPU, memory block and claim. Pure.
 *
 * The log is one state machine with a revision. It is the only place where a node's assignments
 * change. The checkpoint, PodResources, Pod status and the node's capacity are all derived from it,
 * so they cannot disagree. Every change has a revision, and watchers get changes in that order, so
 * a watcher always sees a device released before it sees the device held again.
 *
 * A container's share of a resource goes through two steps. *Held*: ids are chosen and no other pod
 * can get them; they are on disk before the plugin is called. *Allocated*: the plugin has replied,
 * and its reply is stored. If the agent dies in between, it finds the ids after the restart and
 * calls the plugin again for the same ids.
 *
 * A pod that has ended holds nothing, but the log remembers its devices until the pod object is
 * deleted, so that Pod status can still report their health.
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
	const struct machine *machine; /* CPUs, NUMA nodes, memory; must outlive the log */
	enum topology_policy topology;
	bool topology_pod_scope; /* align the whole pod, not each container */
	bool static_cpus, static_memory; /* false: policy "none" */
	struct str reserved_cpus; /* a cpuset; used with static_cpus */
	int64_t reserved_cpu_milli; /* if reserved_cpus is empty: choose this many, rounded up */
	/* Memory reserved per NUMA node, in bytes, indexed by node id; used with static_memory. */
	const int64_t *reserved_memory;
	size_t nreserved_memory;
};

/*
 * Returns -ERR_INVALID, as upstream does, for a static policy without a reserve, or if the machine
 * has too many NUMA nodes for a policy.
 */
int assign_new(const struct assign_opts *opts, struct assign **ret_assign, struct error *err);
void assign_free(struct assign *s); /* NULL allowed */

/* --- changes ------------------------------------------------------------------------ */

enum assign_change_type {
	/*
	 * The pod's devices, CPUs, memory or claims changed, or their NUMA nodes; it may hold
	 * nothing now.
	 */
	ASSIGN_POD,
	ASSIGN_INVENTORY, /* the devices, CPUs or memory that can be assigned changed */
	ASSIGN_DEVICE_HEALTH, /* one plugin device; one change per pod that has or had it */
	ASSIGN_SHARED_CPUS, /* assign_cpus() of containers without CPUs of their own changed */
	ASSIGN_CLAIM, /* a claim's own state changed, not its users; only the checkpoint differs */
};

/* Text is borrowed until return. */
struct assign_change {
	enum assign_change_type type;
	uint64_t revision;
	struct str pod_uid; /* empty if no pod has or had the device */
	struct str resource, id; /* set for ASSIGN_DEVICE_HEALTH, else empty */
};

/* Called after each change, in order. It must not change the log. Several watchers may be added. */
struct assign_watcher {
	void (*on_change)(struct assign_watcher *w, const struct assign_change *c);
	struct assign_watcher *next;
};
void assign_add_watcher(struct assign *s, struct assign_watcher *w);
uint64_t assign_revision(const struct assign *s);

/* --- devices offered by plugins ------------------------------------------------------ */

struct assign_device {
	struct str id, message; /* message: cleaned (health_message.h), may be empty */
	enum assign_health health;
	const int64_t *numa; /* NUMA node ids */
	size_t nnuma;
	bool has_topology;
};

/*
 * Replaces the resource's device list by the plugin's complete list. A held device that is missing
 * from the list becomes Unknown.
 */
void assign_set_resource(struct assign *s, struct str resource, const struct assign_device *v,
			 size_t n);
/*
 * Counts changes of a device's health or message since the start, once per device and change,
 * however many pods hold it.
 */
uint64_t assign_health_changes(const struct assign *s);
/* The resource's last plugin has gone: capacity stays, allocatable is 0, devices become Unknown. */
void assign_resource_gone(struct assign *s, struct str resource);
/*
 * Called some minutes later: removes the resource from the node's capacity. Held devices stay held.
 */
void assign_drop_resource(struct assign *s, struct str resource);

bool assign_has_resource(const struct assign *s, struct str resource);
bool assign_is_connected(const struct assign *s, struct str resource); /* it has a plugin */

/* Walks resources by name; start with an empty *at. Returns false at the end. */
bool assign_next_resource(const struct assign *s, struct str *at, int64_t *ret_capacity,
			  int64_t *ret_allocatable);

/*
 * Returns false if the resource has no such device: treat it as Unknown. `ret_message` may be NULL.
 */
bool assign_device_health(const struct assign *s, struct str resource, struct str id,
			  enum assign_health *ret_health, struct str *ret_message);

/*
 * Walks the devices in the plugin's list by id; start with an empty *at. Returns false at the end.
 */
bool assign_device_next(const struct assign *s, struct str resource, struct str *at,
			struct assign_device *ret_device);

/* Call after the machine was read again, because CPUs appeared or vanished, or memory changed. */
void assign_set_machine(struct assign *s, const struct machine *m);

/* --- admission ---------------------------------------------------------------------- */

/*
 * Admits a pod: chooses devices, CPUs and memory for each container, NUMA-aware, and holds them.
 * Later containers of the pod reuse the devices of its init containers, but not those of sidecars.
 * Devices that are held already (after a restart) stay held, even if their plugin is not back yet.
 * If a plugin supports GetPreferredAllocation, assign_admit() returns 0 with io->waiting and
 * io->wish set, and holds nothing yet. Ask the plugin, pass its reply to assign_prefer(), and call
 * assign_admit() again.
 *
 * As upstream does, it ignores resources that no plugin here has ever offered, and resources backed
 * by a claim (status.extendedResourceClaimStatus).
 *
 * A failed call holds nothing more than before. It returns -ERR_INVALID, sets `reason` to
 * UnexpectedAdmissionError or TopologyAffinityError, and puts upstream's message into err. For
 * UnexpectedAdmissionError err has only the cause; Pod status shows it as "Allocate failed due to
 * CAUSE, which is unexpected". (For OutOfcpu and similar reasons see node/pod/fit.h.)
 */
struct assign_wish {
	struct str resource, container;
	const struct str *available, *must; /* ids */
	size_t navailable, nmust;
	int64_t size;
};

struct assign_admission {
	/* In: whether the resource's plugin supports GetPreferredAllocation. */
	bool (*wants_preferred)(void *arg, struct str resource);
	void *arg;
	/*
	 * Out: the wish to send to the plugin; return its reply with assign_prefer(). In the arena.
	 */
	struct assign_wish wish;
	bool waiting;
	/* Out: the pod ended before the agent restarted. It holds nothing; do not start it. */
	bool ended;
	/* Out: assign_in_doubt(). Nothing more is held; do not start the pod. */
	bool doubt;
	const char *reason; /* why the pod was rejected */
};

int assign_admit(struct assign *s, const struct pod *pod, struct arena *a,
		 struct assign_admission *io, struct error *err);
/* Stores the plugin's reply to io->wish for this pod's next assign_admit(). */
void assign_prefer(struct assign *s, struct str pod_uid, const struct assign_wish *wish,
		   const struct str *ids, size_t n);

/* --- recovery ------------------------------------------------------------------------ */

/*
 * For a pod that an earlier agent had admitted, when the log was lost. Holds the plugin devices
 * that the runtime names for the pod's running containers, or else those in the pod's status
 * (allocatedResourcesStatus); the plugins are called for them again. A resource is in doubt if
 * fewer devices of it are named than a container requests, or if another pod holds them. No pod
 * gets devices of a resource in doubt until assign_settle_doubt(). Call assign_recover() for all
 * such pods before admitting a new one.
 *
 * `running` has the devices by container and resource: {"main":{"vendor.com/gpu":["g0","g1"]}}.
 * NULL: the runtime was not listed yet; call again when it was. It does nothing for a pod that is
 * in the log, unless the pod is in doubt and `running` is given: then it is recovered anew.
 */
struct assign_recovery {
	/* "vendor.com/gpu: g0, g1; .."; may be empty. In the arena, at most 1 KiB each. */
	struct str held, doubt;
};
void assign_recover(struct assign *s, const struct pod *pod, const struct json *running,
		    struct arena *a, struct assign_recovery *ret_recovery);
/* True if resources of the pod are in doubt: it may use devices that the log does not know. */
bool assign_in_doubt(const struct assign *s, struct str pod_uid);
/* None of the pod's containers runs, so it uses no device. It can be admitted again. */
void assign_settle_doubt(struct assign *s, struct str pod_uid);

/* --- requests to plugins --------------------------------------------------------------- */

/*
 * Returns the next share that is held but not allocated: call the plugin for these ids. Returns
 * false at the end. Text is borrowed until the next change.
 */
struct assign_request {
	struct str container, resource;
	const struct str *ids;
	size_t nids;
};
bool assign_next_request(const struct assign *s, struct str pod_uid, struct arena *a,
			 struct assign_request *ret_request);
/* Stores the plugin's reply, a packed ContainerAllocateResponse. */
void assign_set_answer(struct assign *s, struct str pod_uid, struct str container,
		       struct str resource, struct str packed);

/*
 * Walks the plugin replies for one container by resource, to build the container's configuration.
 */
bool assign_next_answer(const struct assign *s, struct str pod_uid, struct str container,
			struct str *at_resource, struct str *ret_packed, struct arena *a,
			struct assign_request *ret_request);

/*
 * The CPUs ("0-3,8") and NUMA nodes that a container is bound to; empty means any. With static
 * CPUs, a container without CPUs of its own is bound to those that no container has exclusively. In
 * `a`.
 */
struct str assign_cpus(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a);
struct str assign_mems(const struct assign *s, struct str pod_uid, struct str container,
		       struct arena *a);

/* CPUs that only this container has. Returns false if it shares CPUs with other containers. */
bool assign_own_cpus(const struct assign *s, struct str pod_uid, struct str container,
		     struct cpu_set *ret_cpus);

/* Memory that only this container has, by kind; returns 0 without the static policy. In `a`. */
size_t assign_memory(const struct assign *s, struct str pod_uid, struct str container,
		     struct arena *a, const struct memory_block **ret_blocks);

/* CPUs and memory that could be assigned exclusively; nothing without the static policies. */
void assign_allocatable_cpus(const struct assign *s, struct cpu_set *ret_cpus);
size_t assign_allocatable_memory(const struct assign *s, struct arena *a,
				 const struct memory_block **ret_blocks);

/* --- claims -------------------------------------------------------------------------- */

struct assign_claim_device {
	struct str driver, pool, device, share_id; /* share_id may be empty */
	const struct str *requests; /* base names only; none: any request may use it */
	size_t nrequests;
	const struct str *cdi; /* ids */
	size_t ncdi;
};

enum assign_claim_state { ASSIGN_CLAIM_PREPARING, ASSIGN_CLAIM_PREPARED, ASSIGN_CLAIM_UNPREPARING };

struct assign_claim {
	struct str uid, ns, name;
	enum assign_claim_state state;
	/* all drivers of the allocation, including those without devices */
	const struct str *drivers;
	size_t ndrivers;
	const struct assign_claim_device *devices; /* sorted by driver, pool, device */
	size_t ndevices;
	/*
	 * "driver/pool/device" entries of its allocation that no other claim may hold at the same
	 * time.
	 */
	const struct str *exclusive;
	size_t nexclusive;
	const struct str *pods; /* uids of pods that use it */
	size_t npods;
};

/*
 * The pod begins to use the claim under this name of spec.resourceClaims. Returns -ERR_CONFLICT if
 * the name or an exclusive device belongs to a claim with another uid that is not forgotten yet, or
 * if the claim is being unprepared.
 */
int assign_claim_use(struct assign *s, const struct pod *pod, struct str pod_claim,
		     const struct assign_claim *claim, struct error *err);
/* Replaces one driver's devices by those in its reply. */
void assign_claim_set_devices(struct assign *s, struct str claim_uid, struct str driver,
			      const struct assign_claim_device *v, size_t n);
void assign_claim_set_state(struct assign *s, struct str claim_uid, enum assign_claim_state st);
/*
 * The pod stops using the claim. Returns true if no pod uses it now: unprepare it, then forget it.
 */
bool assign_claim_unuse(struct assign *s, struct str claim_uid, struct str pod_uid);
void assign_claim_forget(struct assign *s, struct str claim_uid);

/*
 * Views in `a`; the text of devices is borrowed until the next change. Both return false if there
 * is no (further) claim. assign_claim_next() walks all claims; the log may change between calls.
 * Start with an empty *at_uid.
 */
bool assign_claim_get(const struct assign *s, struct str claim_uid, struct arena *a,
		      struct assign_claim *ret_claim);
bool assign_claim_next(const struct assign *s, struct str *at_uid, struct arena *a,
		       struct assign_claim *ret_claim);

/* --- pods ---------------------------------------------------------------------------- */

/*
 * Ends the pod: releases its devices, CPUs and memory, and remembers them for assign_uses(). Claims
 * stay in use until assign_claim_unuse(), because they have to be unprepared first. Calling it
 * again is harmless.
 */
void assign_end_pod(struct assign *s, struct str pod_uid);
/*
 * The pod object is deleted: forgets the pod, and releases anything it still holds. If it still
 * uses a claim, the claim keeps the pod's uid as a user until it is unprepared.
 */
void assign_forget_pod(struct assign *s, struct str pod_uid);

/* True if the pod was admitted or uses a claim, even if it has ended. */
bool assign_has_pod(const struct assign *s, struct str pod_uid);
/* True if its devices, CPUs and memory are chosen and it has not ended. */
bool assign_is_admitted(const struct assign *s, struct str pod_uid);
/* Returns false if the pod is unknown. */
bool assign_pod_names(const struct assign *s, struct str pod_uid, struct str *ret_ns,
		      struct str *ret_name);
/* Walks the pod's containers in the pod's order; start with *at = 0. */
bool assign_next_container(const struct assign *s, struct str pod_uid, size_t *at,
			   struct str *ret_name, enum pod_container_kind *ret_kind);
/* Walks the uids of all pods, including ended ones; start with an empty *at_uid. */
bool assign_next_pod(const struct assign *s, struct str *at_uid, bool *ret_ended);

/*
 * One device of a pod, for Pod status: held now or, if the pod has ended, held at its end. Sorted
 * by container (in the pod's order), resource or claim, device.
 */
struct assign_use {
	/* Set for plugin devices; empty for claims, whose containers are in the pod's spec. */
	struct str container;
	struct str resource, id; /* plugin */
	const int64_t *numa; /* plugin: NUMA nodes of the device */
	size_t nnuma;
	bool has_topology;
	struct str pod_claim; /* claims: the name in spec.resourceClaims; else empty */
	struct str claim_uid, claim_ns, claim_name; /* claims */
	struct assign_claim_device device; /* claims */
	bool past; /* no longer held */
};
size_t assign_uses(const struct assign *s, struct str pod_uid, struct arena *a,
		   const struct assign_use **ret_uses);

/*
 * Pods, present and past, that have or had this device (driver, pool, device) of a claim. In `a`.
 */
size_t assign_pods_of_device(const struct assign *s, struct str driver, struct str pool,
			     struct str device, struct arena *a, const struct str **ret_uids);

/* --- the checkpoint ------------------------------------------------------------------ */

#define ASSIGN_STATE_KIND    "assign"
#define ASSIGN_STATE_VERSION 1

/* Encodes everything that must survive a restart, as deterministic JSON. */
int assign_encode(const struct assign *s, struct buf *out);
/* Decodes into a new log. On -ERR_INVALID the log stays empty. */
int assign_decode(struct assign *s, struct str body, struct error *err);

DEFINE_CLEANUP(assign_free, struct assign *);

#endif
