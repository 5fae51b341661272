/*
 * per_namespace - one object of a given name in every active namespace.
 *
 * What the controllers of default service accounts and of kube-root-ca.crt share:
 * watch namespaces and the objects of that name, and look again at a namespace
 * whenever it or its object changed. Whether the object is as it should be, and
 * how it should be, is the kind's.
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
	 * The object as it should be, in the arena. `now` is the one that is there, to be
	 * changed in place, or NULL. NULL is returned when there is nothing to do.
	 */
	struct json *(*want)(void *arg, struct arena *a, struct str ns, struct json *now);
	void *arg;
	unsigned workers; /* 1 */
};

struct per_namespace *per_namespace_new(const struct context *ctx,
					const struct per_namespace_opts *opts);
void per_namespace_free(struct per_namespace *p); /* NULL allowed */

#endif
