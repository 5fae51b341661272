/*
 * kubelet_auth - who makes a request to the kubelet's API, and whether they may.
 *
 * A client certificate that our CA signed, or a bearer token that the API server knows
 * (TokenReview), says who; the API server says whether (SubjectAccessReview of nodes/SUBRESOURCE,
 * see kubelet/route.h). Answers are kept as long as kubelet keeps them: two minutes for tokens,
 * five for a yes, half a minute for a no. Who says nothing is refused, unless that is allowed.
 * Threads: the loop's.
 */
#ifndef NODE_KUBELET_AUTH_H
#define NODE_KUBELET_AUTH_H

#include "client/api/client.h"
#include "node/kubelet/route.h"

struct http_stream;
struct kubelet_auth;

struct kubelet_auth_opts {
	struct client *client;
	const char *node_name;
	bool anonymous; /* who says nothing is system:anonymous; else refused */
};

struct kubelet_auth *kubelet_auth_new(const struct kubelet_auth_opts *opts);
/* What was asked must be over or cancelled. NULL allowed. */
void kubelet_auth_free(struct kubelet_auth *a);

/* One request's question, in the caller's storage. */
struct kubelet_ask {
	/* For the caller, to set. */
	struct http_stream *http; /* its head and connection; what is made lives in its arena */
	/* Once, perhaps from within kubelet_auth_ask(). NULL: yes. UNAUTHORIZED, FORBIDDEN or
	   INTERNAL otherwise; the message is kubelet's. */
	void (*done)(struct kubelet_ask *q, const struct error *err);
	/* Who it is, when known; as a review's status.user. */
	struct json *user;

	/* Private. */
	struct kubelet_auth *auth;
	struct client_request call;
	const char *subresources[KUBELET_SUBRESOURCES_MAX];
	size_t n, at;
	struct str key; /* of the answer that is asked for */
};

void kubelet_auth_ask(struct kubelet_auth *a, struct kubelet_ask *q);
/* `done` will not be called. */
void kubelet_auth_cancel(struct kubelet_ask *q);

#endif
