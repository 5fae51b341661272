/*
 * eviction - decides when the machine is short of memory or disk, and which pod must go. Pure.
 *
 * The rules are those of upstream's eviction manager. A threshold names a signal and an amount; it
 * is met when less than that is available. A soft threshold must be met for its grace period. A
 * condition of the Node is set while one of its thresholds is met, and for a transition period
 * afterwards. A threshold that led to an eviction stays met until its minimum reclaim is available,
 * too.
 */
#ifndef NODE_EVICTION_EVICTION_H
#define NODE_EVICTION_EVICTION_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

/* "nodefs" is the file system of the agent's folder, "imagefs" that of the runtime's images. */
enum eviction_signal {
	EVICTION_MEMORY, /* memory.available */
	EVICTION_NODEFS, /* nodefs.available */
	EVICTION_NODEFS_INODES, /* nodefs.inodesFree */
	EVICTION_IMAGEFS, /* imagefs.available */
	EVICTION_IMAGEFS_INODES, /* imagefs.inodesFree */
	EVICTION_SIGNALS,
};

/* "memory.available" */
const char *eviction_signal_name(enum eviction_signal s);
/* The resource that runs out: "memory", "ephemeral-storage", "inodes". */
const char *eviction_resource(enum eviction_signal s);

struct eviction_amount {
	bool relative;
	double part; /* of the capacity, 0 to 1; if relative */
	int64_t value; /* bytes or inodes; else */
};

struct eviction_threshold {
	enum eviction_signal signal;
	struct eviction_amount amount, reclaim; /* reclaim: at least; 0: none */
	bool soft;
	int64_t grace_ms; /* of a soft one */
};

enum { EVICTION_THRESHOLDS_MAX = 2 * EVICTION_SIGNALS };

struct eviction_config {
	struct eviction_threshold v[EVICTION_THRESHOLDS_MAX];
	size_t n;
	int64_t transition_ms;
	int64_t max_pod_grace_s; /* of pods that soft thresholds evict */
};

/* --- configuration -------------------------------------------------------------------- */

/* Lists as flags have them: "memory.available<100Mi", "memory.available=1m30s". */
struct eviction_flags {
	const char *const *hard, *const *soft, *const *grace, *const *reclaim;
	size_t nhard, nsoft, ngrace, nreclaim;
};

/*
 * Reads the flags. With `nhard` 0 there are upstream's defaults; the text "none" means none.
 * 0% and 100% switch a threshold off. -ERR_INVALID; the message names the wrong text.
 */
int eviction_config_read(const struct eviction_flags *flags, struct eviction_config *ret_config,
			 struct error *err);

/* --- figures -------------------------------------------------------------------------- */

/* One signal as observed now. */
struct eviction_figure {
	bool known;
	int64_t available, capacity;
};

/* The amount of a threshold at that capacity. */
int64_t eviction_amount_at(const struct eviction_amount *a, int64_t capacity);

/* --- decisions ------------------------------------------------------------------------ */

/* Initialize with zeroes. */
struct eviction_state {
	bool met[EVICTION_THRESHOLDS_MAX], due[EVICTION_THRESHOLDS_MAX];
	int64_t met_at[EVICTION_THRESHOLDS_MAX]; /* since when; with `met` */
	bool memory, disk; /* conditions of the Node */
	int64_t memory_at, disk_at; /* when their thresholds were met last */
};

/*
 * Looks at the figures (EVICTION_SIGNALS of them). Returns the threshold to act on, memory first;
 * NULL if there is nothing to do.
 */
const struct eviction_threshold *eviction_look(struct eviction_state *s,
					       const struct eviction_config *c,
					       const struct eviction_figure *figures,
					       int64_t now_ms);

/* After a reclaim: whether no threshold is met any more, minimum reclaims included. */
bool eviction_relieved(const struct eviction_config *c, const struct eviction_figure *figures);

/* --- pods ----------------------------------------------------------------------------- */

struct eviction_container {
	struct str name;
	int64_t memory, disk; /* used; -1: unknown */
	int64_t memory_request, disk_request;
};

/* A pod that runs. */
struct eviction_pod {
	void *owner; /* the caller's */
	bool known; /* its usage is known */
	bool critical;
	int64_t priority;
	int64_t memory, disk, inodes; /* used */
	int64_t memory_request, disk_request;
	const struct eviction_container *containers;
	size_t ncontainers;
};

/*
 * Sorts the pods, the one to evict first: pods of unknown usage, then pods above their requests;
 * then by priority; then by the usage above the requests.
 */
void eviction_rank(struct eviction_pod *pods, size_t n, enum eviction_signal signal);

/* The first pod that may be evicted; NULL: all are critical. */
const struct eviction_pod *eviction_pick(const struct eviction_pod *pods, size_t n);

/* The message of the pod's status and event, as upstream words it. */
void eviction_message(const struct eviction_pod *pod, const struct eviction_threshold *t,
		      const struct eviction_figure *figure, struct buf *out);

/*
 * Whether a new pod may start under these conditions. `best_effort`: its QoS class; `tolerates`: it
 * tolerates the taint of memory pressure. If it may not, `ret_message` (of at least 128 bytes) says
 * why.
 */
bool eviction_admits(bool memory, bool disk, bool critical, bool best_effort, bool tolerates,
		     char ret_message[static 128]);

#endif
