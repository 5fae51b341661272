/*
 * namespace_status - the conditions of a namespace that is being emptied.
 *
 * It collects failures and leftovers during one pass over the content, and turns them into the
 * five conditions of upstream's namespace controller, with its reasons and messages. Pure: the
 * caller passes the time.
 */
#ifndef CONTROLLER_NAMESPACE_STATUS_H
#define CONTROLLER_NAMESPACE_STATUS_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "client/api/resource.h"

struct json;

/* A name and a count; the text is in the arena. */
struct namespace_count {
	struct str what;
	int64_t n;
};

struct namespace_status {
	struct arena *arena; /* borrowed: all text lives there */
	struct str discovery_failure; /* p NULL: none */
	VEC(struct str) content_failures;
	VEC(struct namespace_count) remaining; /* "pods.": resource and group */
	VEC(struct namespace_count) finalizers;
};

void namespace_status_init(struct namespace_status *s, struct arena *a);
void namespace_status_release(struct namespace_status *s);

/* Not all resources could be discovered. */
void namespace_status_discovery_failed(struct namespace_status *s, const char *why);

/* Objects of one resource could not be deleted. */
void namespace_status_content_failed(struct namespace_status *s, const char *why);

/* `n` objects of the resource are left. */
void namespace_status_remain(struct namespace_status *s, const struct resource *r, int64_t n);

/* One more of the objects waits for this finalizer. */
void namespace_status_finalizer(struct namespace_status *s, struct str finalizer);

/*
 * Sets the conditions in the tree of a Namespace. Returns false if nothing changed; the time of a
 * condition changes only with its status. The tree then borrows from the arena.
 */
bool namespace_status_apply(const struct namespace_status *s, struct json *ns, int64_t now_ns);

#endif
