/*
 * namespace - empties namespaces that are being deleted, then lets the server delete them.
 *
 * Upstream's namespace controller. It deletes the pods first, and nothing else until they are
 * gone. Then it deletes all objects of every resource that discovery lists. Then it removes the
 * finalizer "kubernetes" from the spec through /finalize. The conditions report what is left, and
 * the namespace is checked again after half the estimated time. Finalizers of others, on objects
 * or on the namespace, block the deletion as long as they exist.
 */
#ifndef CONTROLLER_NAMESPACE_NAMESPACE_H
#define CONTROLLER_NAMESPACE_NAMESPACE_H

#include <stdint.h>

struct context;
struct namespaces;

/* Zero means the default. */
struct namespaces_opts {
	unsigned workers; /* namespaces processed at once; 10 */
	/*
	 * From the deletion to the first pass; 5 s; -1: no delay. All servers that share a store
	 * must have seen the deletion, or one may still admit a new object.
	 */
	int64_t delay_ms;
	int64_t resync_ms; /* how often every namespace is checked again; 5 minutes */
};

struct namespaces *namespaces_new(const struct context *ctx, const struct namespaces_opts *opts);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void namespaces_free(struct namespaces *n);

#endif
