/*
 * namespace_content - deletes all objects of one resource in one namespace.
 *
 * It deletes the collection, or each object if the server does not support that, and then lists
 * what is left. Objects that take time (pods with a grace period, objects with finalizers) are not
 * a failure: `estimate_s` says when to check again. Threads: the client's loop.
 */
#ifndef CONTROLLER_NAMESPACE_CONTENT_H
#define CONTROLLER_NAMESPACE_CONTENT_H

#include "client/api/client.h"

struct json;
struct namespace_status;

/* Embed it, zeroed. */
struct namespace_content {
	/* Set by the caller. */
	struct client *client;
	struct str ns;
	int64_t deleted_at_ns; /* wall clock: the namespace's deletionTimestamp */
	struct namespace_status *status; /* receives what is left */
	/* Called once, later. `err`: the deletion failed, or objects stay without a reason. */
	void (*done)(struct namespace_content *c, const struct error *err);
	void *arg;

	/* The result. */
	int64_t estimate_s; /* > 0: the rest will probably be gone after this time */
	int64_t remaining;

	/* Private. */
	struct resource resource;
	bool collection; /* the server can delete the collection */
	struct client_request request;
	void (*on_answer)(struct namespace_content *c, const struct client_answer *a,
			  const struct error *err);
	void (*on_page)(struct namespace_content *c, struct json *items);
	struct arena arena; /* for the current page */
	struct str token; /* `continue` token of the next page; empty: last page */
	struct json *item; /* the next to be deleted */
	int64_t finalizers;
};

/*
 * `resource` (borrowed until done) must support list. `collection`: it supports deletecollection.
 */
void namespace_content_start(struct namespace_content *c, const struct resource *resource,
			     bool collection);

/* `done` will not be called. A no-op if not running. */
void namespace_content_cancel(struct namespace_content *c);

/*
 * For pages of Pods, one after the other: the longest grace period, in seconds, of the pods in
 * `items` that have not ended; at least `so_far_s`, the result for the pages before.
 */
int64_t namespace_content_grace(const struct json *items, int64_t so_far_s);

#endif
