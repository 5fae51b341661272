/*
 * per_namespace - one object of a given name in every active namespace.
 *
 * The common part of the controllers for default service accounts and for kube-root-ca.crt. It
 * watches namespaces and the objects of that name, and checks a namespace whenever it or its
 * object changes. The `want` function decides what the object should look like.
 */
#ifndef CONTROLLER_SHARED_PER_NAMESPACE_H
#define CONTROLLER_SHARED_PER_NAMESPACE_H

#include "base/core/arena.h"
#include "client/api/resource.h"

struct context;
struct json;
struct per_namespace;

struct per_namespace_opts {
	const char *queue; /* name in metrics */
	struct resource resource;
	const char *name; /* of the object */
	/*
	 * Returns the desired object, in the arena, or NULL if there is nothing to do. `now` is the
	 * existing object, to be changed in place, or NULL.
	 */
	struct json *(*want)(void *arg, struct arena *a, struct str ns, struct json *now);
	void *arg;
	unsigned workers; /* 1 */
};

struct per_namespace *per_namespace_new(const struct context *ctx,
					const struct per_namespace_opts *opts);
void per_namespace_free(struct per_namespace *p); /* NULL allowed */

#endif
