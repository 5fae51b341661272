/*
 * review - kinds that are created only to get an answer: access reviews, token reviews, token
 * requests. Nothing is stored.
 *
 * The body is decoded and checked like any object's. Then, on the state's loop, the kind's
 * function fills in the answer.
 */
#ifndef SERVER_VERBS_REVIEW_H
#define SERVER_VERBS_REVIEW_H

#include "api/write/write.h"
#include "server/http/exchange.h"

struct review {
	struct exchange *x;
	struct server *server;
	struct state *state;
	struct arena *arena; /* the job's */
	const struct schema_kind
		*kind; /* of the body, not of the resource it is a subresource of */
	struct json *tree; /* the body, fitted to the kind; becomes the reply */
	struct field_errors errs; /* causes of -ERR_INVALID */
	int status; /* HTTP status of the reply; 201 */
	struct text_list **warnings; /* for Warning headers: append */
	/* The object that an error names if it is not the request's; else NULL and empty. */
	const struct schema_kind *about_kind;
	struct str about_name;
};

/* POST of a kind with SCHEMA_REVIEW, and serviceaccounts/token. */
void verb_review(struct exchange *x);

/*
 * One function per kind. Each returns 0 with review->tree ready to be sent, or an error for the
 * reply.
 */

/* Authorization (review_access.c). */
int review_subject_access(struct review *r, struct error *err);
int review_self_subject_access(struct review *r, struct error *err);
int review_local_subject_access(struct review *r, struct error *err);
int review_self_subject_rules(struct review *r, struct error *err);

/* Authentication (review_token.c, review_user.c). */
int review_token(struct review *r, struct error *err);
int review_self_subject(struct review *r, struct error *err);
int review_token_request(struct review *r, struct error *err);

#endif
