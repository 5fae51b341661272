/*
 * extension - plugins in shared objects: loaded, checked, and adapted to the scheduler's own table.
 *
 * The other side of include/devplane/scheduler.h. Each shared object becomes a plugin_kind, which
 * profiles enable by its name like a built-in one; each profile has an instance. Whatever is
 * wrong with one (no such file, no entry, another ABI, a name that is taken, an init that
 * fails) is an error with a sentence that names the file.
 *
 * Life: new, load .., profiles made (inits register types and handles), run (handles begin their
 * watches), set_snapshot around each cycle; then profiles freed, the cache freed, types released,
 * free (which closes the shared objects last).
 * Threads: the scheduler's, but for what the public header opens to any thread.
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
	/* Pods that wait in permit: false when none such waits. Called on the loop. */
	bool (*allow)(void *arg, struct str uid, const struct plugin *p);
	bool (*reject)(void *arg, struct str uid, const struct plugin *p, struct str reason);
	void *arg;
};

struct extension *extension_new(const struct extension_opts *opts);
void extension_free(struct extension *e); /* NULL allowed */

int extension_load(struct extension *e, struct str path, struct error *err);

/* What was loaded. Borrowed until the next load. */
const struct plugin_kind *const *extension_kinds(const struct extension *e, size_t *ret_n);

/* Runs the handles of all types: before the informers are started. */
int extension_run(struct extension *e, const struct services *services, struct informers *informers,
		  struct error *err);

/* What their watches follow is known, or is not served. */
bool extension_synced(const struct extension *e);

/* What host->handle_get reads: a cycle's snapshot, or NULL outside of one. */
void extension_set_snapshot(struct extension *e, const struct snapshot *s);

#endif
