/*
 * namespace_content - delete all objects of one resource in one namespace.
 *
 * Asks for the collection to be deleted, or deletes object by object where the
 * server cannot do that, then looks what is left. Objects that take their time
 * (pods with a grace period, whatever has finalizers) are no failure: the
 * estimate says for how long to come back.
 * Threads: the client's loop.
 */
#ifndef CONTROLLER_NAMESPACE_CONTENT_H
#define CONTROLLER_NAMESPACE_CONTENT_H

#include "client/api/client.h"

struct json;
struct namespace_status;

/* Embed it, zeroed. */
struct namespace_content {
	/* To set. */
	struct client *client;
	struct str ns;
	int64_t deleted_at_ns; /* wall clock: the namespace's deletionTimestamp */
	struct namespace_status *status; /* is told of what is left */
	/* Once, later. `err`: it could not be done, or objects stay for no reason. */
	void (*done)(struct namespace_content *c, const struct error *err);
	void *arg;

	/* The result. */
	int64_t estimate_s; /* > 0: what is left will probably be gone by then */
	int64_t remaining;

	/* Its own. */
	struct resource resource;
	bool collection; /* the server can delete it at once */
	struct client_request request;
	void (*on_answer)(struct namespace_content *c, const struct client_answer *a,
			  const struct error *err);
	void (*on_page)(struct namespace_content *c, struct json *items);
	struct arena arena; /* of the page at hand */
	struct str token; /* `continue` of the next page; empty: there is none */
	struct json *item; /* the next to be deleted */
	int64_t finalizers;
};

/* `resource` (borrowed until done) supports listing; `collection`: and deleting at once. */
void namespace_content_start(struct namespace_content *c, const struct resource *resource,
			     bool collection);

/* `done` is not called any more. Harmless when it does not run. */
void namespace_content_cancel(struct namespace_content *c);

/*
 * For how many seconds pods still may take to end: the longest grace period of those that run,
 * unless the namespace has been deleted for longer than that. `items` are Pods.
 */
int64_t namespace_content_grace(const struct json *items, int64_t so_far_s);

#endif
