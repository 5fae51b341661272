/*
 * status - the Status object: how every failure, and some success, is answered.
 *
 * The one place where an error becomes a Status. Words are upstream's
 * (k8s.io/apimachinery/pkg/api/errors), because clients and people match them.
 */
#ifndef API_OBJECT_STATUS_H
#define API_OBJECT_STATUS_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/report/field_errors.h"

struct managed_conflict; /* api/managed/managed.h */

/* What a failure is about; all may be empty. */
struct status_about {
	struct str group; /* "resource.k8s.io" */
	struct str resource; /* "resourceclaims": `details.kind` of most reasons */
	struct str kind; /* "ResourceClaim": `details.kind` of Invalid */
	struct str name;
	struct str uid;
	struct str message; /* instead of the error's, which holds no long text; or empty */
	const struct field_errors *causes; /* of Invalid */
	/* One more cause, such as "ResourceVersionTooLarge"; or NULL. */
	const char *cause_reason;
	const char *cause_message; /* of that cause; NULL: the error's message */
	const char *cause_field; /* or NULL */
	const struct managed_conflict *conflicts; /* of an apply */
	size_t nconflicts;
	size_t untold_conflicts; /* that are too many to be listed */
	struct str cont; /* metadata.continue: what to go on with instead; or empty */
	int retry_after_s;
};

/*
 * Appends a Status for err. `about` may be NULL.
 *
 * For codes that name an object (NotFound, AlreadyExists, Invalid) the
 * message is composed as upstream does when err->msg is empty: `pods "x" not
 * found`, `ResourceClaim.resource.k8s.io "x" is invalid: ...`; a message that is there
 * is told as it is. about->message, when there is one, takes the place of err->msg.
 *
 * Others put upstream's words around err->msg, so it is the inner text alone:
 * Conflict `Operation cannot be fulfilled on resourceclaims.resource.k8s.io "x":
 * MESSAGE` (without one: that the object has been modified), Forbidden `pods "x" is
 * forbidden: MESSAGE`, RequestEntityTooLarge `Request entity too large: MESSAGE`, Timeout
 * `Timeout: MESSAGE`, InternalError `Internal error occurred: MESSAGE`.
 *
 * ERR_APPLY_CONFLICT has a message and causes made of the conflicts. ERR_UNTYPED is what upstream
 * fails with where it has no kind of failure for it: a message and 500, no reason.
 */
int status_print(const struct error *err, const struct status_about *about, struct buf *out);

/* The Status of a delete that removed an object. */
int status_print_deleted(const struct status_about *about, struct buf *out);

#endif
