/*
 * attach_impl - what an attach is inside. For attach*.c only.
 */
#ifndef NODE_ATTACH_ATTACH_IMPL_H
#define NODE_ATTACH_ATTACH_IMPL_H

#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/attach/attach.h"
#include "node/attach/merge.h"
#include "node/attach/poll.h"

struct attach {
	struct attach_opts opts;
	char *node_name, *socket;
	struct attach_merge *merge;
	struct attach_poll poll;
	struct attach_poll_ops poll_ops;
	struct loop_timer timer;

	/* The API. */
	struct informers *informers;
	struct informer *pods;
	struct informer_handler pod_handler, node_handler;

	/* The kubelet. */
	struct grpc_channel *channel;
	struct loop_watch *folder; /* that its socket is in; NULL: cannot be watched */
	struct grpc_call *call; /* under way; or NULL */
	bool ready; /* connected */
	bool listed; /* a List was taken */
	bool allocatable; /* was told, or never will be */
	bool known; /* both: the owner was told */
	bool surprised; /* an answer showed more than there was: allocatable is asked for first */
	bool said_no_get, said_no_allocatable;

	/* How far behind; ms of the loop. */
	int64_t began_ms, last_answer_ms;
	int64_t unknown_ms; /* since when Lists show pods that the API does not; INT64_MAX */
	bool behind; /* and it was said */
	char problem[600]; /* of the last call that did not succeed; empty: none */

	struct metrics_family *calls;
	struct metrics_counter *torn;
	struct metrics_gauge *behind_gauge, *last_answer;

	struct loop_task stop_task;
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool stopping;
};

/* --- attach.c ------------------------------------------------------------------------ */

/* A reason may have come: looks at what is to be done, in this turn or soon. */
void attach_follow(struct attach *a);

/* --- attach/api.c: this node and its pods -------------------------------------------- */

void attach_api_start(struct attach *a);
void attach_api_stop(struct attach *a);

/* --- attach/calls.c: what the kubelet is asked --------------------------------------- */

/* Asks what is due. Returns for how many ms nothing will be; -1: until something happens. */
int64_t attach_calls_next(struct attach *a);
void attach_calls_stop(struct attach *a);

/* --- attach/behind.c: says when it is behind ----------------------------------------- */

void attach_behind_init(struct attach *a);
/* Looks whether it is, and says so when that has changed. */
void attach_behind_look(struct attach *a);
void attach_behind_called(struct attach *a, struct str method, enum grpc_code code);

#endif
