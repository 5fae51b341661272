/*
 * status - the Status object: how every failure, and some success, is answered.
 *
 * The one place where an error becomes a Status. Words are upstream's
 * (k8s.io/apimachinery/pkg/api/errors), because clients and people match them.
 */
#ifndef API_STATUS_H
#define API_STATUS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/field_errors.h"

/* What a failure is about; all may be empty. */
struct status_about {
	struct str group; /* "resource.k8s.io" */
	struct str resource; /* "resourceclaims": `details.kind` of most reasons */
	struct str kind; /* "ResourceClaim": `details.kind` of Invalid */
	struct str name;
	struct str uid;
	const struct field_errors *causes; /* of Invalid */
	const char *
		cause_reason; /* one cause beside: e.g. "ResourceVersionTooLarge", with the message; or NULL */
	int retry_after_s;
};

/*
 * Appends a Status for err. For codes that name an object (NotFound,
 * AlreadyExists, Conflict, Invalid, Forbidden) whose err->msg is empty the message is
 * composed as upstream does: `pods "x" not found`, `ResourceClaim.resource.k8s.io "x" is
 * invalid: ...`. With a message, Conflict composes `Operation cannot be fulfilled on
 * resourceclaims.resource.k8s.io "x": MESSAGE`.
 */
int status_print(const struct error *err, const struct status_about *about, struct buf *out);

/* The Status of a delete that removed an object. */
int status_print_deleted(const struct status_about *about, struct buf *out);

#endif
