/*
 * garbage_impl - what the files of the garbage collector share.
 */
#ifndef CONTROLLER_GARBAGE_GARBAGE_IMPL_H
#define CONTROLLER_GARBAGE_GARBAGE_IMPL_H

#include "base/core/map.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/garbage/garbage.h"
#include "controller/garbage/graph.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"
#include "controller/shared/work.h"

struct json;
struct metrics_counter;

struct garbage {
	struct context ctx;
	struct garbage_opts opts;
	struct garbage_graph *graph;
	struct workqueue *deletions, *orphans; /* keys are uids */
	struct works deletion_jobs, orphan_jobs;
	struct map monitors; /* by "group/version/resource" */
	size_t nsynced; /* of the monitors */
	struct arena scratch; /* for one event */
	struct loop_timer sync, give_up_waiting;
	struct served_wait look;
	struct metrics_counter *sync_errors;
	bool looked; /* discovery has succeeded once */
};

/* The handlers of the two queues. */
void garbage_handle_deletion(void *arg, struct str uid);
void garbage_handle_orphan(void *arg, struct str uid);

/* The `release` of the jobs that orphan. */
void garbage_orphan_release(struct work *w);

/* The resource of a kind, from discovery, copied into the arena. False: unknown. */
bool garbage_resource_of(const struct garbage *g, struct str api_version, struct str kind,
			 struct arena *a, struct resource *ret_resource);

/* A copy that outlives the node. */
struct garbage_identity garbage_identity_copy(struct arena *a, const struct garbage_node *n);

/* --- trees ---------------------------------------------------------------------------- */

struct str garbage_meta(const struct json *object, const char *name);
bool garbage_has_finalizer(const struct json *object, struct str name);

/*
 * A merge patch that removes a finalizer from `object`, bound to the resourceVersion that was
 * read. NULL if the object does not have it.
 */
struct json *garbage_patch_finalizer(struct arena *a, const struct json *object, struct str name);

/* The same, keeping only references for which keep(arg, reference) is true. NULL: all stay. */
struct json *garbage_patch_owners(struct arena *a, const struct json *object,
				  bool (*keep)(void *arg, const struct json *reference), void *arg);

/* The same, making all references non-blocking. NULL: none blocks. */
struct json *garbage_patch_unblock(struct arena *a, const struct json *object);

#endif
