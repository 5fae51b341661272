/*
 * status - the Status object: the reply for every error, and for some successes.
 *
 * This is the only place where an error becomes a Status. The words are upstream's
 * (k8s.io/apimachinery/pkg/api/errors), because clients and people match them.
 */
#ifndef API_OBJECT_STATUS_H
#define API_OBJECT_STATUS_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/report/field_errors.h"

struct managed_applied; /* api/managed/managed.h */

/* The object that an error is about; all fields may be empty. */
struct status_about {
	struct str group; /* "resource.k8s.io" */
	struct str resource; /* "resourceclaims": `details.kind` of most reasons */
	struct str kind; /* "ResourceClaim": `details.kind` of Invalid */
	struct str name;
	struct str uid;
	/* Used instead of the error's message, which has a limited length; or empty. */
	struct str message;
	const struct field_errors *causes; /* of Invalid */
	/* One more cause, such as "ResourceVersionTooLarge"; or NULL. */
	const char *cause_reason;
	const char *cause_message; /* of that cause; NULL: the error's message */
	const char *cause_field; /* or NULL */
	const struct managed_applied *conflicts; /* of -ERR_APPLY_CONFLICT; else NULL */
	struct str cont; /* metadata.continue: a token to continue with instead; or empty */
	int retry_after_s;
};

/*
 * Appends a Status for err. `about` may be NULL. If about->message is not empty, it replaces
 * err->msg.
 *
 * For codes that name an object (NotFound, AlreadyExists, Invalid), an empty message is composed as
 * upstream does: `pods "x" not found`, `ResourceClaim.resource.k8s.io "x" is invalid: ...`. A
 * message that is not empty is used unchanged.
 *
 * Other codes put upstream's words around err->msg, so it is only the inner text: Conflict
 * `Operation cannot be fulfilled on resourceclaims.resource.k8s.io "x": MESSAGE` (an empty message
 * becomes "the object has been modified"), Forbidden `pods "x" is forbidden: MESSAGE`,
 * RequestEntityTooLarge `Request entity too large: MESSAGE`, Timeout `Timeout: MESSAGE`,
 * InternalError `Internal error occurred: MESSAGE`.
 *
 * ERR_APPLY_CONFLICT has a message and causes made of the conflicts. ERR_UNTYPED stands for
 * upstream's errors without a type: a message and 500, no reason.
 */
int status_print(const struct error *err, const struct status_about *about, struct buf *out);

/* Appends the Status of a delete that removed an object. */
int status_print_deleted(const struct status_about *about, struct buf *out);

#endif
