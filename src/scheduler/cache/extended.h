/*
 * extended - types of extended resources, and the registry of their handles (KEP-4187).
 *
 * A type has a small number in nodeinfo, and a name elsewhere. The cache calls a plugin's functions
 * only through this file, which checks the size of the plugin's struct.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_CACHE_EXTENDED_H
#define SCHEDULER_CACHE_EXTENDED_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/vec.h"
#include "devplane/scheduler.h"

struct cached;
struct log;
struct podinfo;
struct metrics_counter;

/* An object as plugins see it: a pod, or an object of a watch. */
struct dp_object {
	struct cached *object;
	const struct podinfo *pod; /* NULL: not a pod */
};

struct dp_sink {
	struct buf out;
};

struct extended_type {
	uint32_t id; /* from 0 */
	struct str name;
	struct dp_resource_type ops; /* fields that the plugin's ABI version lacks are zero */
	struct dp_handle handle;
	const struct log *log;
	uint64_t refused; /* number of pods that add_pod rejected */
};

struct extended_types {
	VEC(struct extended_type *) v;
	const struct log *log;
};

void extended_types_init(struct extended_types *t, const struct log *log);
/* Closes the handles. No value may exist any longer. */
void extended_types_release(struct extended_types *t);

/*
 * Returns the type of that name. If it is new, creates it, and its handle with `make`. If it
 * exists, the layout must be the same.
 */
int extended_types_register(struct extended_types *t, const struct dp_resource_type *ops,
			    dp_handle_factory *make, void *arg, struct extended_type **ret_type,
			    struct error *err);
struct extended_type *extended_types_find(const struct extended_types *t, struct str name);

/* --- one value --------------------------------------------------------------------------- */

/*
 * Returns false if the plugin rejects the pod. Then the pod must not be removed from the value
 * later.
 */
bool extended_add_pod(const struct extended_type *t, void *value, const struct podinfo *p);
void extended_remove_pod(const struct extended_type *t, void *value, const struct podinfo *p);
void *extended_clone(const struct extended_type *t, const void *value);
void extended_free(const struct extended_type *t, void *value);
void extended_describe(const struct extended_type *t, const void *value, struct buf *out);

#endif
