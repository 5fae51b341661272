/*
 * podqueue - pods that wait to be scheduled: active, backing off, unschedulable, gated.
 *
 *	active         a heap in the profile's order; podqueue_pop() takes the first
 *	backoff        was tried without success and something changed since: waits its time
 *	unschedulable  waits for an event that may help: only the hints of plugins that rejected it
 *	               are asked; after five minutes it is tried anyway
 *	gated          PreEnqueue said no
 *
 * Events that come while a pod is being tried are kept and looked at when it comes back, so none is
 * missed. An event costs the pods that wait for its kind, not all that wait.
 *
 * Nominated pods (preemption made room for them on a node) are known here, too.
 * No I/O; time is a parameter. Threads: the scheduler's.
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
	int64_t since_ms; /* when it came into the queue this time; the sort's time stamp */
	int64_t first_ms; /* when it was first tried; 0: never */
	int64_t backoff_until_ms;
	uint32_t attempts, unschedulable_count, error_count;
	uint64_t rejectors; /* bits: plugins of the profile */
	bool pending; /* rejected with PENDING: no back-off when woken */
	unsigned part; /* of its attempt, if that is made in parts */
	const struct plugin *gated_by; /* NULL: not gated */
	enum queue_place place;
	/* The queue's own. */
	size_t at; /* in its heap */
	struct list link;
	struct queue_profile *view; /* what it knows of the profile */
	struct wait_group *group; /* of those that wait for the same events */
	struct podinfo *newer; /* came while in flight; reference */
	uint64_t order; /* of equals: who came first */
	int64_t flushed_ms; /* when it was last taken from the unschedulable by time */
	uint64_t flight; /* first event that is to be replayed */
	bool missed; /* events that were not kept since */
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
	/* There is something to pop now. Never from within podqueue_pop(). */
	void (*on_ready)(void *arg);
	void *arg;
};

struct podqueue *podqueue_new(const struct podqueue_opts *opts);
void podqueue_free(struct podqueue *q); /* profiles may be gone by then */

/* --- pods: unbound ones of our profiles --------------------------------------------------- */

void podqueue_add(struct podqueue *q, struct podinfo *p, int64_t now_ms);
/* `old` may be NULL. What matters of the change may wake it. */
void podqueue_update(struct podqueue *q, struct podinfo *old, struct podinfo *p, int64_t now_ms);
void podqueue_remove(struct podqueue *q, struct str uid);
struct queued_pod *podqueue_find(const struct podqueue *q, struct str uid);

/* The pod that podqueue_pop() would return; it stays in the queue. NULL: no pod is active. */
const struct queued_pod *podqueue_first(const struct podqueue *q);
/* The next to try; NULL: none now. It is in flight until one of the two below. */
struct queued_pod *podqueue_pop(struct podqueue *q, int64_t now_ms);
/* Scheduled, or gone: the struct is freed. */
void podqueue_done(struct podqueue *q, struct queued_pod *p);
/* Decided on: nothing that happens from now on can help it, so no events are kept for it. */
void podqueue_settle(struct podqueue *q, struct queued_pod *p);
/*
 * It did not work out. rejectors and pending of the struct are set; with neither it was an error:
 * it backs off. Events since the pop are replayed. It counts as nominated as its newest status
 * says, unless it is already; what post_filter decided about that is told afterwards. One that
 * was removed meanwhile is freed: look for it by podqueue_find() before touching it again.
 */
void podqueue_return(struct podqueue *q, struct queued_pod *p, int64_t now_ms);
/*
 * Its attempt is not over and goes on later: it is active again, behind waiting pods of its
 * priority. That is no failure. A pod that was removed meanwhile is freed.
 */
void podqueue_go_on(struct podqueue *q, struct queued_pod *p, int64_t now_ms);

/* --- time and events --------------------------------------------------------------------- */

void podqueue_event(struct podqueue *q, const struct cluster_event *e, int64_t now_ms);
/* Moves pods whose back-off, or stay among the unschedulable, is over. */
void podqueue_tick(struct podqueue *q, int64_t now_ms);
int64_t podqueue_next_tick(const struct podqueue *q); /* INT64_MAX: nothing waits for time */
/* To active now, whatever it waits for; unless PreEnqueue says no. */
void podqueue_activate(struct podqueue *q, struct str uid, int64_t now_ms);

size_t podqueue_count(const struct podqueue *q, enum queue_place place);

/* --- nominated pods ------------------------------------------------------------------------ */

/* Empty node: not any more. Pods that are deleted or bound are forgotten by themselves. */
void podqueue_nominate(struct podqueue *q, struct podinfo *p, struct str node);
struct str podqueue_nominated(const struct podqueue *q, struct str uid); /* empty: none */
/* Those for the node, in no order; n through ret_n. Borrowed until the next change. */
struct podinfo *const *podqueue_nominated_on(const struct podqueue *q, struct str node,
					     size_t *ret_n);

/* Writes what waits, where and why, as JSON, for /debug/queue. */
struct json_writer;
void podqueue_dump(const struct podqueue *q, int64_t now_ms, struct json_writer *w);

#endif
