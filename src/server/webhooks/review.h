/*
 * webhook_review - AdmissionReview: what a webhook is asked, and what it answers.
 *
 * Pure, and of both versions that upstream speaks. Words of failures are upstream's.
 */
#ifndef SERVER_WEBHOOKS_REVIEW_H
#define SERVER_WEBHOOKS_REVIEW_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/json.h"

enum webhook_version { WEBHOOK_NO_VERSION, WEBHOOK_V1, WEBHOOK_V1BETA1 };

/* The first of a webhook's admissionReviewVersions that is known here. */
enum webhook_version webhook_review_version(const struct json *versions);

/* What is sent; all borrowed. */
struct webhook_question {
	enum webhook_version version;
	const struct json
		*request; /* the AdmissionRequest; uid and objects of it are not looked at */
	const struct json *object, *old; /* NULL: none */
};

/*
 * Prints the review, with a uid of zeroes, so that the same question has the same text;
 * webhook_review_name() then puts a uid into a text of this kind.
 */
int webhook_review_print(const struct webhook_question *q, struct buf *out);
void webhook_review_name(enum webhook_version version, char *text, struct str uid);

/* What came back. */
struct webhook_verdict {
	bool allowed;
	const struct json *status; /* that goes with a refusal; or NULL */
	const struct json *patch; /* a JSON Patch that is not empty; or NULL */
	const struct json *warnings, *annotations; /* or NULL */
};

/*
 * Reads an answer to the question of that version and uid. The verdict lives in the arena and in
 * the text. What does not count as an answer is -ERR_UNAVAILABLE, with the reason that follows
 * `failed calling webhook "NAME": `.
 */
int webhook_review_read(struct arena *a, struct str text, enum webhook_version version,
			struct str uid, bool mutating, struct webhook_verdict *ret_verdict,
			struct error *err);

/* Copies all of it into the arena. -ERR_TOO_LARGE. */
int webhook_verdict_keep(struct arena *a, struct webhook_verdict *v, struct error *err);

/* The Status of a refusal, as clients get it. Its code is *ret_code. */
struct json *webhook_review_refusal(struct arena *a, struct str webhook,
				    const struct webhook_verdict *verdict, int *ret_code);

/* Why an answer with such an HTTP status is none; as upstream's client says it. */
int webhook_review_bad_status(int status, struct str body, struct error *err);

#endif
