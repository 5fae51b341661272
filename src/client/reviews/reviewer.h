/*
 * reviewer - asks the API server who a caller is, and what the caller may do.
 *
 * For roles that serve requests of their own: a TokenReview turns a bearer token into a user, and
 * a SubjectAccessReview decides about one request of that user. Results are cached as long as
 * kubelet does: two minutes for tokens, five for a yes, half a minute for a no. A review that
 * fails is not cached. At most REVIEW_CACHE_MAX results of each kind are kept, and of a token only
 * a hash.
 * Threads: the client's loop.
 */
#ifndef CLIENT_REVIEWS_REVIEWER_H
#define CLIENT_REVIEWS_REVIEWER_H

#include "client/api/client.h"

struct http_fields;
struct reviewer;

/* The client must outlive it. */
struct reviewer *reviewer_new(struct client *c);
/* All reviews must be finished or cancelled. NULL allowed. */
void reviewer_free(struct reviewer *r);

/* One review at a time, in the caller's storage. Start with a zeroed struct. */
struct review {
	/* Set by the caller. */
	struct arena *arena; /* results and requests live there */
	/*
	 * Called once per review, perhaps from within the function that started it; it may start
	 * the next one. `err` is set if the API server could not be asked, or gave no usable
	 * answer.
	 */
	void (*done)(struct review *v, bool yes, const struct error *err);
	/* The user, as a TokenReview's status.user. A review of a token sets it on a yes. */
	struct json *user;

	/* Private. */
	struct reviewer *reviewer;
	struct client_request call;
	struct str key; /* cache key of the review under way */
};

/* Whether the token is valid, and whose it is. Copies the token. */
void reviewer_token(struct reviewer *r, struct review *v, struct str token);

/*
 * Whether v->user may make a request. `attributes` is the SubjectAccessReview's resourceAttributes,
 * or its nonResourceAttributes if it has a path. It lives in v->arena.
 */
void reviewer_access(struct reviewer *r, struct review *v, struct json *attributes);

/* Cancels the review: `done` will not be called. A no-op if none is under way. */
void reviewer_cancel(struct review *v);

/* Whether the request names the scheme Bearer. *ret_token is empty if there is no usable token. */
bool reviewer_bearer(const struct http_fields *fields, struct str *ret_token);

#endif
