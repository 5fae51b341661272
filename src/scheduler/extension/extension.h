/*
 * extension - loads scheduler plugins from shared objects and adapts them to the scheduler's own
 * table. It is the host of KEP-4187: plugins keep extended resources in the scheduler's cache.
 *
 * It implements the host side of include/devplane/scheduler.h. Each shared object becomes a
 * plugin_kind, which profiles enable by its name like a built-in plugin. Each profile has its own
 * instance. Any problem (missing file or entry point, another ABI, a duplicate name, a failing
 * init) is an error whose message names the file.
 *
 * Life cycle: new; load ..; create the profiles (inits register types and handles); run (handles
 * start their watches); set_snapshot around each cycle. At the end: free the profiles and the
 * cache, release the types, then free, which closes the shared objects last.
 * Threads: the scheduler's, except for functions that the public header allows on any thread.
 */
#ifndef SCHEDULER_EXTENSION_EXTENSION_H
#define SCHEDULER_EXTENSION_EXTENSION_H

#include "base/core/error.h"
#include "base/core/str.h"

struct extended_types;
struct extension;
struct informers;
struct log;
struct loop;
struct metrics;
struct plugin;
struct plugin_kind;
struct services;
struct snapshot;

struct extension_opts {
	struct loop *loop;
	struct extended_types *types;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/*
	 * Allow or reject a pod that waits in permit; false if no such pod waits. Called on the
	 * loop.
	 */
	bool (*allow)(void *arg, struct str uid, const struct plugin *p);
	bool (*reject)(void *arg, struct str uid, const struct plugin *p, struct str reason);
	void *arg;
};

struct extension *extension_new(const struct extension_opts *opts);
void extension_free(struct extension *e); /* NULL allowed */

int extension_load(struct extension *e, struct str path, struct error *err);

/* Returns the loaded kinds. Borrowed until the next load. */
const struct plugin_kind *const *extension_kinds(const struct extension *e, size_t *ret_n);

/* Runs the handles of all types. Call it before the informers are started. */
int extension_run(struct extension *e, const struct services *services, struct informers *informers,
		  struct error *err);

/* Whether all watches of plugins have their initial list, or their resource is not served. */
bool extension_synced(const struct extension *e);

/* Sets the snapshot that host->handle_get reads: the cycle's, or NULL outside of a cycle. */
void extension_set_snapshot(struct extension *e, const struct snapshot *s);

#endif
