/*
 * attach_impl - attach from inside; for the files of src/node/attach only.
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
	struct informer *pods, *node;
	struct informer_handler pod_handler, node_handler;

	/* The kubelet. */
	struct grpc_channel *channel;
	struct loop_watch *folder; /* folder of its socket; NULL: cannot be watched */
	struct grpc_call *call; /* in flight; or NULL */
	bool ready; /* connected */
	bool listed; /* a List was applied */
	bool allocatable; /* was reported, or never will be */
	bool known; /* both: on_known was called */
	bool surprised; /* a reply had more devices than allocatable: ask for allocatable first */
	bool said_no_get, said_no_allocatable;

	/* How far it is behind; times are ms of the loop. */
	int64_t began_ms, last_answer_ms;
	/* since when Lists have pods that the API does not; INT64_MAX: they do not */
	int64_t unknown_ms;
	bool behind; /* and that was logged */
	char problem[600]; /* error of the last call, if it failed; else empty */

	struct metrics_family *calls;
	struct metrics_counter *torn;
	struct metrics_gauge *behind_gauge, *last_answer;

	struct loop_task stop_task;
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool stopping;
};

/* --- attach.c ------------------------------------------------------------------------ */

/* There may be a new reason to call the kubelet: checks in this turn or soon. */
void attach_follow(struct attach *a);

/* --- attach/api.c: this node and its pods -------------------------------------------- */

void attach_api_start(struct attach *a);
void attach_api_stop(struct attach *a);

/* --- attach/calls.c: calls to the kubelet -------------------------------------------- */

/* Makes the call that is due. Returns the ms until the next one is due; -1: not before an event. */
int64_t attach_calls_next(struct attach *a);
void attach_calls_stop(struct attach *a);

/* --- attach/behind.c: reports when it is behind -------------------------------------- */

void attach_behind_init(struct attach *a);
/* Checks whether it is behind, and logs it if that has changed. */
void attach_behind_look(struct attach *a);
void attach_behind_called(struct attach *a, struct str method, enum grpc_code code);

#endif
