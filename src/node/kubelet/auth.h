/*
 * kubelet_auth - authenticates and authorizes requests to the kubelet's API.
 *
 * Callers authenticate with a client certificate signed by our CA, or a bearer token that the API
 * server accepts (TokenReview). The API server decides whether they may make the request
 * (SubjectAccessReview of nodes/SUBRESOURCE, see kubelet/route.h). The reviewer caches results.
 * Callers without credentials are rejected, unless anonymous access is allowed.
 * Threads: the loop's.
 */
#ifndef NODE_KUBELET_AUTH_H
#define NODE_KUBELET_AUTH_H

#include "client/reviews/reviewer.h"
#include "node/kubelet/route.h"

struct http_stream;
struct kubelet_auth;

struct kubelet_auth_opts {
	struct client *client;
	const char *node_name;
	bool anonymous; /* callers without credentials are system:anonymous; false: rejected */
};

struct kubelet_auth *kubelet_auth_new(const struct kubelet_auth_opts *opts);
/* All requests must be finished or cancelled. NULL allowed. */
void kubelet_auth_free(struct kubelet_auth *a);

/* The check of one request, in the caller's storage. */
struct kubelet_ask {
	/* Set by the caller. */
	struct http_stream *http; /* its headers and connection; allocations live in its arena */
	/*
	 * Called once, perhaps from within kubelet_auth_ask(). NULL: allowed. Otherwise
	 * UNAUTHORIZED, FORBIDDEN or INTERNAL, with kubelet's message.
	 */
	void (*done)(struct kubelet_ask *q, const struct error *err);

	/* Private. */
	struct kubelet_auth *auth;
	struct review review;
	const char *subresources[KUBELET_SUBRESOURCES_MAX];
	size_t n, at;
};

void kubelet_auth_ask(struct kubelet_auth *a, struct kubelet_ask *q);
/* Cancels the check: `done` will not be called. */
void kubelet_auth_cancel(struct kubelet_ask *q);

#endif
