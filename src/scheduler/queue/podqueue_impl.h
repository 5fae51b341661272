/*
 * podqueue_impl - private to the files of the queue.
 *
 *	podqueue.c        the places and the moves between them
 *	queue/heap.c      the orders of the four heaps
 *	queue/events.c    which pods wait for which events, hints, events for pods in flight
 *	queue/nominate.c  nominated pods by node
 *	queue/metrics.c   upstream's metrics
 *	queue/dump.c      debug output
 *
 * Pods that wait for events (unschedulable, gated) are in groups by profile, rejectors and gate.
 * All pods of a group wait for the same events, so an event checks each group once, and only visits
 * pods of matching groups.
 */
#ifndef SCHEDULER_QUEUE_PODQUEUE_IMPL_H
#define SCHEDULER_QUEUE_PODQUEUE_IMPL_H

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/ordered/heap.h"
#include "base/report/metrics.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/podqueue.h"

/* Ends of back-off are rounded down to this, so that pods in one window are sorted by priority. */
enum { BACKOFF_WINDOW_MS = 1000 };
/* Maximum of events kept for pods in flight. Pods that would need dropped ones are tried again. */
enum { FLIGHT_EVENTS_MAX = 4096 };

/* --- heaps ----------------------------------------------------------------------------------- */

heap_less queue_less_active; /* by the profile's sort */
heap_less queue_less_backoff; /* by the end of back-off, then as active */
heap_less queue_less_error; /* by the end of back-off, then by age */
heap_less queue_less_flush; /* by the time of the last try or flush */

/* --- groups, profiles, events -------------------------------------------------------------- */

/* The queue's data on a profile; lives as long as the queue. */
struct queue_profile {
	struct profile *profile;
	unsigned actions[EVENT_KINDS]; /* actions that any of its plugins registered, by kind */
	size_t in_flight;
	struct metrics_gauge *reasons[PLUGINS_MAX]; /* unschedulable_pods; NULL until needed */
};

struct wait_group {
	struct wait_key {
		const struct profile *profile;
		uint64_t rejectors;
		const struct plugin *gated_by;
	} key; /* its bytes are the map's key */
	unsigned actions[EVENT_KINDS]; /* actions that its rejectors, or its gate, registered */
	struct list pods; /* queued_pod.link; oldest first */
	size_t at; /* in podqueue.groups */
};

/* An event that arrived while pods were in flight; holds references to its objects. */
struct flight_event {
	struct list link;
	uint64_t number;
	struct cluster_event event;
	struct metrics_gauge *gauge;
};

enum queue_wake { WAKE_NOT, WAKE_AFTER_BACKOFF, WAKE_NOW };

struct nominated_node;

struct podqueue_metrics {
	struct metrics_gauge *pending[QUEUE_IN_FLIGHT]; /* by place */
	struct metrics_family *incoming, *reasons, *flight;
	struct metrics_gauge *popped; /* flight's series of pods */
};

struct podqueue {
	struct podqueue_opts opts;
	struct map pods; /* uid to struct queued_pod, those in flight included */
	struct heap active, backoff, errors, waiting; /* waiting: unschedulable and gated */
	size_t counts[QUEUE_IN_FLIGHT + 1];
	uint64_t order;

	VEC(struct queue_profile *) profiles;
	struct map group_by_key;
	VEC(struct wait_group *) groups;
	VEC(struct queued_pod *) moving; /* scratch of an event */

	struct list flight; /* queued_pod.link, in the order of pops */
	struct list events; /* flight_event.link */
	size_t nevents;
	uint64_t next_event;

	struct map nominations; /* uid to struct nomination */
	struct map nominated_nodes; /* name to struct nominated_node */

	struct podqueue_metrics metrics;
	struct arena scratch; /* of pre_enqueue */
	bool ready; /* on_ready is due */
};

struct queue_profile *queue_profile_of(struct podqueue *q, struct profile *p);
void queue_group_join(struct podqueue *q, struct queued_pod *p);
void queue_group_leave(struct podqueue *q, struct queued_pod *p);
/* Whether the event may help the pod, by the hints of its rejectors. */
enum queue_wake queue_worth(const struct queued_pod *p, const struct cluster_event *e);
/* Fills q->moving with the waiting pods that the event wakes. */
void queue_collect(struct podqueue *q, const struct cluster_event *e);

void queue_flight_begin(struct podqueue *q, struct queued_pod *p);
void queue_flight_end(struct podqueue *q, struct queued_pod *p);
/* Frees the kept events. */
void queue_flight_release(struct podqueue *q);
/* Keeps the event if a pod in flight may need it. */
void queue_flight_note(struct podqueue *q, const struct cluster_event *e);
/* Whether events since the pop may help the pod. */
enum queue_wake queue_flight_worth(const struct podqueue *q, const struct queued_pod *p);

/* --- nominations --------------------------------------------------------------------------- */

void queue_nominations_init(struct podqueue *q);
void queue_nominations_release(struct podqueue *q);
/* Nominates the pod for status.nominatedNodeName. */
void queue_nominate_by_status(struct podqueue *q, struct podinfo *p);
void queue_nominate_update(struct podqueue *q, const struct podinfo *old, struct podinfo *p);

/* --- metrics ------------------------------------------------------------------------------- */

void queue_metrics_init(struct podqueue_metrics *m, struct metrics *registry);
void queue_metrics_place(struct podqueue *q, enum queue_place place, int by);
void queue_metrics_incoming(struct podqueue *q, enum queue_place place, const char *event);
/* Changes the gauge of each of the plugins by 1 or -1. */
void queue_metrics_reasons(struct podqueue *q, struct queue_profile *view, uint64_t plugins,
			   int by);
/* NULL without metrics. */
struct metrics_gauge *queue_metrics_flight(struct podqueue *q, const char *event);

#endif
