/*
 * webhook_review - AdmissionReview: the request to a webhook, and its response.
 *
 * Supports both versions that upstream supports. Error texts are upstream's. No side effects.
 */
#ifndef SERVER_WEBHOOKS_REVIEW_H
#define SERVER_WEBHOOKS_REVIEW_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/json.h"

enum webhook_version { WEBHOOK_NO_VERSION, WEBHOOK_V1, WEBHOOK_V1BETA1 };

/* The first of a webhook's admissionReviewVersions that is supported here. */
enum webhook_version webhook_review_version(const struct json *versions);

/* The review to send; all borrowed. */
struct webhook_question {
	enum webhook_version version;
	const struct json *request; /* the AdmissionRequest; its uid and objects are ignored */
	const struct json *object, *old; /* NULL: absent */
};

/*
 * Prints the review with a uid of zeroes, so that the same question has the same text.
 * webhook_review_name() then replaces the uid in such a text.
 */
int webhook_review_print(const struct webhook_question *q, struct buf *out);
void webhook_review_name(enum webhook_version version, char *text, struct str uid);

/* The webhook's response. */
struct webhook_verdict {
	bool allowed;
	const struct json *status; /* of a rejection; or NULL */
	const struct json *patch; /* a JSON Patch, not empty; or NULL */
	const struct json *warnings, *annotations; /* or NULL */
};

/*
 * Parses the response to a review of that version and uid. The verdict lives in the arena and in
 * the text. An invalid response is -ERR_UNAVAILABLE, with the text that follows `failed calling
 * webhook "NAME": `.
 */
int webhook_review_read(struct arena *a, struct str text, enum webhook_version version,
			struct str uid, bool mutating, struct webhook_verdict *ret_verdict,
			struct error *err);

/* Copies everything into the arena. -ERR_TOO_LARGE. */
int webhook_verdict_keep(struct arena *a, struct webhook_verdict *v, struct error *err);

/* The Status of a rejection for the client; its HTTP code is in *ret_code. */
struct json *webhook_review_refusal(struct arena *a, struct str webhook,
				    const struct webhook_verdict *verdict, int *ret_code);

/* The error for a response with a bad HTTP status, in the wording of upstream's client. */
int webhook_review_bad_status(int status, struct str body, struct error *err);

#endif
