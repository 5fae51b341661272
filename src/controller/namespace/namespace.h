/*
 * namespace - empties namespaces that are being deleted, then lets them go.
 *
 * Upstream's namespace controller: pods first, and nothing else until they are
 * gone; then all objects of every resource that discovery knows; then the
 * finalizer "kubernetes" is taken out of the spec by way of /finalize. What stays
 * is told in the conditions, and is looked at again after half the time that it
 * may take. Finalizers of others, on objects or on the namespace, hold it as long
 * as they are there.
 */
#ifndef CONTROLLER_NAMESPACE_NAMESPACE_H
#define CONTROLLER_NAMESPACE_NAMESPACE_H

#include <stdint.h>

struct context;
struct namespaces;

/* Zero means the default. */
struct namespaces_opts {
	unsigned workers; /* namespaces at once; 10 */
	/*
	 * From the deletion to the first pass; 5 s; -1: none. Servers that share a
	 * store must all have seen the deletion, or one may still let an object in.
	 */
	int64_t delay_ms;
	int64_t resync_ms; /* every namespace is looked at again; 5 minutes */
};

struct namespaces *namespaces_new(const struct context *ctx, const struct namespaces_opts *opts);

/* Gives up what is under way; the next controller begins anew. NULL allowed. */
void namespaces_free(struct namespaces *n);

#endif
