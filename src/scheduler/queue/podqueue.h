/*
 * podqueue - the queue of pods to schedule: active, backing off, unschedulable, gated.
 *
 *	active         a heap in the profile's order; podqueue_pop() removes the first
 *	backoff        failed before, and something changed since: waits for its back-off time
 *	unschedulable  waits for an event that may help: only hints of plugins that rejected it
 *	               are called; after five minutes it is tried anyway
 *	gated          rejected by PreEnqueue
 *
 * Events that arrive while a pod is in flight are kept, and replayed when the pod returns, so none
 * is missed. The cost of an event depends on the pods that wait for its kind, not on all waiting
 * pods.
 *
 * The queue also keeps the nominated pods, for which preemption made room on a node. No I/O; time
 * is a parameter. Threads: the scheduler's.
 */
#ifndef SCHEDULER_QUEUE_PODQUEUE_H
#define SCHEDULER_QUEUE_PODQUEUE_H

#include "base/core/list.h"
#include "base/core/vec.h"
#include "scheduler/cache/cluster_event.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/framework/plugin.h"

struct podqueue;
struct profile;

enum queue_place {
	QUEUE_NOWHERE,
	QUEUE_ACTIVE,
	QUEUE_BACKOFF,
	QUEUE_UNSCHEDULABLE,
	QUEUE_GATED,
	QUEUE_IN_FLIGHT,
};

struct queued_pod {
	struct podinfo *pod; /* reference; replaced by updates */
	struct profile *profile;
	int64_t since_ms; /* when it last entered the queue; used for sorting */
	int64_t first_ms; /* when it was first tried; 0: never */
	int64_t backoff_until_ms;
	uint32_t attempts, unschedulable_count, error_count;
	uint64_t rejectors; /* bits: plugins of the profile */
	bool pending; /* rejected with PENDING: no back-off when woken */
	unsigned part; /* of its attempt, if that is made in parts */
	const struct plugin *gated_by; /* NULL: not gated */
	enum queue_place place;
	/* The queue's own. */
	size_t at; /* in its heap; SIZE_MAX: in none */
	struct list link;
	struct queue_profile *view; /* the queue's data on its profile */
	struct wait_group *group; /* the pods that wait for the same events */
	struct podinfo *newer; /* newer version that arrived in flight; reference */
	uint64_t order; /* order of arrival, for equal pods */
	int64_t flushed_ms; /* when it last left the unschedulable by timeout */
	uint64_t flight; /* number of the first event to replay */
	bool missed; /* some events since then were not kept */
	bool settled; /* podqueue_settle() */
	bool deleted; /* while in flight */
	struct str nominated;
};

/* Zero means the default. */
struct podqueue_opts {
	int64_t initial_backoff_ms; /* 1 s */
	int64_t max_backoff_ms; /* 10 s */
	int64_t flush_after_ms; /* 5 min in unschedulable */
	struct metrics *metrics;
	/* Finds the profile of a schedulerName; NULL: not ours. */
	struct profile *(*profile)(void *arg, struct str scheduler);
	/* Called when a pod can be popped. Never called from within podqueue_pop(). */
	void (*on_ready)(void *arg);
	void *arg;
};

struct podqueue *podqueue_new(const struct podqueue_opts *opts);
void podqueue_free(struct podqueue *q); /* profiles may be freed before */

/* --- pods: unbound ones of our profiles --------------------------------------------------- */

void podqueue_add(struct podqueue *q, struct podinfo *p, int64_t now_ms);
/* Updates a pod, and wakes it if the change may help. `old` may be NULL. */
void podqueue_update(struct podqueue *q, struct podinfo *old, struct podinfo *p, int64_t now_ms);
void podqueue_remove(struct podqueue *q, struct str uid);
struct queued_pod *podqueue_find(const struct podqueue *q, struct str uid);

/* Returns the pod that podqueue_pop() would return, without removing it. NULL: no pod is active. */
const struct queued_pod *podqueue_first(const struct podqueue *q);
/*
 * Returns the next pod to try, or NULL. It is in flight until podqueue_done(), podqueue_return() or
 * podqueue_go_on().
 */
struct queued_pod *podqueue_pop(struct podqueue *q, int64_t now_ms);
/* The pod was scheduled or is gone: frees the struct. */
void podqueue_done(struct podqueue *q, struct queued_pod *p);
/* The pod has a node: no events are kept for it from now on. */
void podqueue_settle(struct podqueue *q, struct queued_pod *p);
/*
 * The pod could not be scheduled. The caller has set `rejectors` and `pending`; with neither it was
 * an error, and the pod backs off. Events since the pop are replayed. Unless it is nominated
 * already, it is nominated as its newest status says; call podqueue_nominate() afterwards with
 * post_filter's decision. A pod that was removed meanwhile is freed: call podqueue_find() before
 * you use it again.
 */
void podqueue_return(struct podqueue *q, struct queued_pod *p, int64_t now_ms);
/*
 * The attempt will continue later. The pod becomes active again, behind waiting pods of its
 * priority. This does not count as a failure. A pod that was removed meanwhile is freed.
 */
void podqueue_go_on(struct podqueue *q, struct queued_pod *p, int64_t now_ms);

/* --- time and events --------------------------------------------------------------------- */

void podqueue_event(struct podqueue *q, const struct cluster_event *e, int64_t now_ms);
/* Moves pods whose back-off, or maximum time as unschedulable, is over. */
void podqueue_tick(struct podqueue *q, int64_t now_ms);
int64_t podqueue_next_tick(const struct podqueue *q); /* INT64_MAX: no pod waits for a time */
/* Makes the pod active now, whatever it waits for, unless PreEnqueue rejects it. */
void podqueue_activate(struct podqueue *q, struct str uid, int64_t now_ms);

size_t podqueue_count(const struct podqueue *q, enum queue_place place);

/* --- nominated pods ------------------------------------------------------------------------ */

/*
 * Nominates a pod. An empty node clears the nomination. Nominations of deleted or bound pods are
 * cleared automatically.
 */
void podqueue_nominate(struct podqueue *q, struct podinfo *p, struct str node);
struct str podqueue_nominated(const struct podqueue *q, struct str uid); /* empty: none */
/* Returns the pods that are nominated for the node, unordered. Borrowed until the next change. */
struct podinfo *const *podqueue_nominated_on(const struct podqueue *q, struct str node,
					     size_t *ret_n);

/* Writes the waiting pods with place and reason, as JSON for /debug/queue. */
struct json_writer;
void podqueue_dump(const struct podqueue *q, int64_t now_ms, struct json_writer *w);

#endif
