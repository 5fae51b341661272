/*
 * scheduler_impl - the scheduler's struct, and the functions shared by its files.
 *
 *	scheduler.c    set-up and leader election
 *	follow.c       informers; applies their events to cache and queue
 *	catch_up.c     a new leader reads the decisions of earlier ones
 *	attempt.c      takes pods from the queue and tries them
 *	binding_run.c  permit and binding of a scheduled pod
 *	failure.c      handles pods that did not get a node: queue, event, condition
 *	measures.c     metrics
 */
#ifndef SCHEDULER_RUN_SCHEDULER_IMPL_H
#define SCHEDULER_RUN_SCHEDULER_IMPL_H

#include "base/core/list.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"
#include "scheduler/cache/extended.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/binding.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/run/measures.h"
#include "scheduler/run/scheduler.h"

struct config;
struct extension;
struct leader;

/* Maximum of attempts in one turn of the loop. */
enum { ATTEMPTS_PER_TURN = 16 };
/* Maximum of concurrent bindings. No further pods are tried until some have ended. */
enum { BINDINGS_MAX = 512 };

/* A kind that is watched in addition to pods and nodes. */
struct follow {
	const struct follow_kind *kind;
	struct scheduler *scheduler;
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
};

enum { FOLLOWS_MAX = 24 };

struct scheduler {
	struct scheduler_opts opts;
	struct client *client, *election_client;
	struct informers *informers;
	struct leader *leader; /* NULL: no election */
	struct extension *extension;
	struct extended_types types;
	struct amount_names names;
	struct nodecache *nodes;
	struct podqueue *queue;
	struct dra_state *dra; /* NULL: the gate is off */
	struct services services; /* shared by profiles; each has a copy with its own recorder */
	struct profile **profiles;
	struct services *profile_services;
	struct recorder **recorders;
	size_t nprofiles;
	struct measures measures;

	struct follow pods, node_objects;
	struct follow others[FOLLOWS_MAX];
	size_t nothers;

	struct loop_task work; /* tries pods */
	struct loop_timer tick; /* fires at podqueue_next_tick() */
	struct loop_timer later; /* calls `done` if there is no election */
	struct list bindings; /* struct binding */
	struct map by_uid; /* the same, by the pods' uids */
	struct list patches; /* struct pod_patch */
	struct map patching; /* the same, by the pods' uids */
	size_t writing; /* bindings in pre_bind and bind */
	int64_t rests_until_ms; /* pause of a long attempt while bindings are being written */
	size_t start; /* index in the node list where the next search begins */
	struct client_request catch_up;
	struct loop_timer catch_up_again;
	bool leading; /* it leads, and has read the decisions of earlier leaders */
	bool stopped;
	bool ready; /* caches are synced: pods may be tried */
	void (*done)(void *arg);
	void *done_arg;
};

/* --- follow.c ------------------------------------------------------------------------------- */

void follow_begin(struct scheduler *s);
bool follow_synced(const struct scheduler *s);
/*
 * Removes claims of ours that were created and deleted without the watch showing them. Call it
 * between turns of the watches.
 */
void follow_sweep(struct scheduler *s);
/* Returns the latest pod from the API server, or NULL. Borrowed. */
struct cached *follow_pod(const struct scheduler *s, struct str key);
/* Sends a pod event to the queue. `old` or `pod` may be NULL. */
void follow_tell_pod(struct scheduler *s, unsigned actions, const struct podinfo *old,
		     const struct podinfo *pod);

/* --- catch_up.c ----------------------------------------------------------------------------- */

/* Called with the lease: reads the claims, then starts to lead. */
void catch_up(struct scheduler *s);
void catch_up_again(struct loop_timer *t);

/* --- attempt.c ------------------------------------------------------------------------------ */

/* Schedules attempts at the end of this turn, or at the queue's next time. */
void attempt_soon(struct scheduler *s);
void attempt_work(struct loop_task *t);
void attempt_tick(struct loop_timer *t);

/* --- binding_run.c -------------------------------------------------------------------------- */

/*
 * Arguments of a new binding. It takes over the pod in flight, its cycle and the reference on the
 * assumed pod.
 */
struct binding_start {
	struct queued_pod *queued;
	struct cycle *cycle;
	struct podinfo *assumed;
	uint64_t waiting; /* bits of plugins that wait in permit */
	const int64_t *timeouts; /* their timeouts, by number */
	int64_t began_ns;
};
void binding_begin(struct scheduler *s, const struct binding_start *start);
/* Cancels the binding of a deleted pod. Returns false if it is not being bound. */
bool binding_cancel(struct scheduler *s, struct str uid);
/* Allow or reject a pod in permit; false if no such pod waits. `plugin` NULL: for all plugins. */
bool binding_allow(struct scheduler *s, struct str uid, const struct plugin *plugin);
bool binding_reject(struct scheduler *s, struct str uid, const struct plugin *plugin,
		    struct str reason);
/* Called when the pod's failure condition has been written, see failure_is_written(). */
void binding_go_on(struct scheduler *s, struct str uid);
/*
 * Ends all bindings for scheduler_free(): plugins unreserve, but no event or condition is written.
 */
void bindings_release(struct scheduler *s);

/* --- failure.c ------------------------------------------------------------------------------ */

struct failure {
	struct verdict verdict;
	struct str message; /* for event and condition */
	uint64_t rejectors;
	bool pending;
	struct str nominated;
	bool nominating; /* `nominated` is valid, even if empty */
	int64_t began_ns;
};
/*
 * Returns the pod to the queue, and writes event, condition and nomination. Takes over the pod in
 * flight.
 */
void failure_handle(struct scheduler *s, struct queued_pod *q, const struct failure *f);
/* The same for a failure of reserve, permit or binding on the chosen node. */
void failure_on_node(struct scheduler *s, struct queued_pod *q, struct cycle *c,
		     const struct verdict *v, int64_t began_ns);
/* Whether a pod's condition is being written. binding_go_on() is called afterwards. */
bool failure_is_written(const struct scheduler *s, struct str uid);
void failure_release(struct scheduler *s);

struct recorder *scheduler_recorder(struct scheduler *s, const struct profile *p);

#endif
