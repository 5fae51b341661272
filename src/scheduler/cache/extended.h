/*
 * extended - types of extended resources, and the registry of their handles (KEP-4187).
 *
 * A type is known by a small number in nodeinfo and by its name elsewhere. All that the cache does
 * with a plugin's value goes through here, where the plugin's struct is checked for its size.
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

/* An object as plugins see it: a pod, or what a watch brought. */
struct dp_object {
	struct cached *object;
	const struct podinfo *pod; /* NULL: it is no pod */
};

struct dp_sink {
	struct buf out;
};

struct extended_type {
	uint32_t id; /* from 0 */
	struct str name;
	struct dp_resource_type ops; /* zero beyond what the plugin knows of */
	struct dp_handle handle;
	const struct log *log;
	uint64_t refused; /* pods that add_pod did not take */
};

struct extended_types {
	VEC(struct extended_type *) v;
	const struct log *log;
};

void extended_types_init(struct extended_types *t, const struct log *log);
/* Closes the handles; no value may be left. */
void extended_types_release(struct extended_types *t);

/*
 * The type of that name, made (and its handle by `make`) when it is new. If it is not, the layout
 * must be the same.
 */
int extended_types_register(struct extended_types *t, const struct dp_resource_type *ops,
			    dp_handle_factory *make, void *arg, struct extended_type **ret_type,
			    struct error *err);
struct extended_type *extended_types_find(const struct extended_types *t, struct str name);

/* --- one value --------------------------------------------------------------------------- */

/* False: the plugin refused it, and it is not to be removed later. */
bool extended_add_pod(const struct extended_type *t, void *value, const struct podinfo *p);
void extended_remove_pod(const struct extended_type *t, void *value, const struct podinfo *p);
void *extended_clone(const struct extended_type *t, const void *value);
void extended_free(const struct extended_type *t, void *value);
void extended_describe(const struct extended_type *t, const void *value, struct buf *out);

#endif
