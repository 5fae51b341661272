/*
 * garbage_impl - what the files of the garbage collector share.
 */
#ifndef CONTROLLER_GARBAGE_GARBAGE_IMPL_H
#define CONTROLLER_GARBAGE_GARBAGE_IMPL_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "client/api/client.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/garbage/garbage.h"
#include "controller/garbage/graph.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"

struct json;
struct metrics_counter;

struct garbage {
	struct context ctx;
	struct garbage_opts opts;
	struct garbage_graph *graph;
	struct workqueue *deletions, *orphans; /* keys are uids */
	struct list jobs; /* struct garbage_job, of both queues */
	struct map monitors; /* by "group/version/resource" */
	size_t nsynced; /* of them */
	struct arena scratch; /* of one event */
	struct loop_timer sync, give_up_waiting;
	struct served_wait look;
	struct metrics_counter *sync_errors;
	bool looked; /* discovery has succeeded once */
};

/* What both queues' jobs begin with. */
struct garbage_job {
	struct list link;
	struct garbage *owner;
	struct str uid; /* the key: the queue's until it is done */
	struct arena arena;
	void (*free)(struct garbage_job *j); /* cancels and frees */
};

void garbage_job_init(struct garbage_job *j, struct garbage *g, struct str uid,
		      void (*free_fn)(struct garbage_job *j));
void garbage_job_release(struct garbage_job *j);

/* The handlers of the two queues. */
void garbage_handle_deletion(void *arg, struct str uid);
void garbage_handle_orphan(void *arg, struct str uid);

/* The resource of a kind as the server names it, copied into the arena; false: not known. */
bool garbage_resource_of(const struct garbage *g, struct str api_version, struct str kind,
			 struct arena *a, struct resource *ret_resource);

/* A copy, so that it outlives the node. */
struct garbage_identity garbage_identity_copy(struct arena *a, const struct garbage_node *n);

/* --- trees ---------------------------------------------------------------------------- */

struct str garbage_meta(const struct json *object, const char *name);
bool garbage_has_finalizer(const struct json *object, struct str name);

/*
 * A merge patch of `object` that takes a finalizer out, bound to the version that was read; NULL
 * when it has none of that name.
 */
struct json *garbage_patch_finalizer(struct arena *a, const struct json *object, struct str name);

/* One that leaves the references for which keep(arg, reference) holds; NULL when all stay. */
struct json *garbage_patch_owners(struct arena *a, const struct json *object,
				  bool (*keep)(void *arg, const struct json *reference), void *arg);

/* One that makes all references non-blocking; NULL when none blocks. */
struct json *garbage_patch_unblock(struct arena *a, const struct json *object);

#endif
