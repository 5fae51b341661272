/*
 * scheduler_impl - between the files of the scheduler: what it holds, and who does what.
 *
 *	scheduler.c    puts it together; the election
 *	follow.c       informers, and what their events do to cache and queue
 *	catch_up.c     a new leader learns what earlier ones decided
 *	attempt.c      takes pods from the queue and tries them
 *	binding.c      a decided pod's way to its node
 *	failure.c      what becomes of a pod that did not get one: queue, event, condition
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

/* What is tried in one turn of the loop before others get their turn. */
enum { ATTEMPTS_PER_TURN = 16 };
/* Bindings that write at once; further pods are not tried until some have ended. */
enum { BINDINGS_MAX = 512 };

/* A kind that is followed beside pods and nodes. */
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
	struct services services; /* what profiles share; each has a copy with its recorder */
	struct profile **profiles;
	struct services *profile_services;
	struct recorder **recorders;
	size_t nprofiles;
	struct measures measures;

	struct follow pods, node_objects;
	struct follow others[FOLLOWS_MAX];
	size_t nothers;

	struct loop_task work; /* tries pods */
	struct loop_timer tick; /* of the queue's next time */
	struct loop_timer later; /* `done` without an election */
	struct list bindings; /* struct binding */
	struct map by_uid; /* the same, by the pods' uids */
	struct list patches; /* struct pod_patch */
	struct map patching; /* the same, by the pods' uids */
	size_t writing; /* bindings in pre_bind and bind */
	int64_t rests_until_ms; /* a long attempt, while bindings are being written */
	size_t start; /* where in the node list the next search begins */
	struct client_request catch_up;
	struct loop_timer catch_up_again;
	bool leading; /* and knows what earlier leaders decided */
	bool stopped;
	bool ready; /* all is synced: pods may be tried */
	void (*done)(void *arg);
	void *done_arg;
};

/* --- follow.c ------------------------------------------------------------------------------- */

void follow_begin(struct scheduler *s);
bool follow_synced(const struct scheduler *s);
/* Claims that we made and that came and went unseen are gone. Between turns of the watches. */
void follow_sweep(struct scheduler *s);
/* The pod as the API server last showed it; NULL: none. Borrowed. */
struct cached *follow_pod(const struct scheduler *s, struct str key);
/* Puts the pods' event through: `old` or `pod` may be NULL. */
void follow_tell_pod(struct scheduler *s, unsigned actions, const struct podinfo *old,
		     const struct podinfo *pod);

/* --- catch_up.c ----------------------------------------------------------------------------- */

/* We have the lease: reads the claims, then leads. */
void catch_up(struct scheduler *s);
void catch_up_again(struct loop_timer *t);

/* --- attempt.c ------------------------------------------------------------------------------ */

/* There may be something to do: in this turn's end, or at a time. */
void attempt_soon(struct scheduler *s);
void attempt_work(struct loop_task *t);
void attempt_tick(struct loop_timer *t);

/* --- binding_run.c -------------------------------------------------------------------------- */

/* Takes over the pod in flight, its cycle and the assumed pod's reference. */
struct binding_start {
	struct queued_pod *queued;
	struct cycle *cycle;
	struct podinfo *assumed;
	uint64_t waiting; /* plugins of permit */
	const int64_t *timeouts; /* theirs, by number */
	int64_t began_ns;
};
void binding_begin(struct scheduler *s, const struct binding_start *start);
/* The pod has been deleted: what holds its place ends. False: none such is on its way. */
bool binding_cancel(struct scheduler *s, struct str uid);
/* Permit; false when no such pod waits. `plugin` NULL: all of them. */
bool binding_allow(struct scheduler *s, struct str uid, const struct plugin *plugin);
bool binding_reject(struct scheduler *s, struct str uid, const struct plugin *plugin,
		    struct str reason);
/* What was written of the pod's failure is; see failure_is_written(). */
void binding_go_on(struct scheduler *s, struct str uid);
/* Ends all without a word; for scheduler_free(). */
void bindings_release(struct scheduler *s);

/* --- failure.c ------------------------------------------------------------------------------ */

struct failure {
	struct verdict verdict;
	struct str message; /* for event and condition */
	uint64_t rejectors;
	bool pending;
	struct str nominated;
	bool nominating; /* `nominated` counts, also when empty */
	int64_t began_ns;
};
/* Back to the queue; event, condition, nomination. The pod in flight is handed over. */
void failure_handle(struct scheduler *s, struct queued_pod *q, const struct failure *f);
/* The same for what reserve, permit or binding said about the one node that was chosen. */
void failure_on_node(struct scheduler *s, struct queued_pod *q, struct cycle *c,
		     const struct verdict *v, int64_t began_ns);
/* A pod's condition is being written: binding_go_on() is called when it has been. */
bool failure_is_written(const struct scheduler *s, struct str uid);
void failure_release(struct scheduler *s);

struct recorder *scheduler_recorder(struct scheduler *s, const struct profile *p);

#endif
