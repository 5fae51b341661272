/*
 * about - the object that a reply is about, for the audit log; and for a failure, details for its
 * Status beside the error. All text is borrowed.
 */
#ifndef SERVER_CORE_ABOUT_H
#define SERVER_CORE_ABOUT_H

#include "base/core/str.h"

struct audit_annotation;
struct json;
struct schema_kind;

struct about {
	const struct schema_kind *kind; /* NULL: the request's */
	struct str name; /* p NULL: the request's */
	struct audit_annotation *annotations; /* for its line in the audit log (http/audit.h) */
	/* For a failure: */
	const char *cause_reason, *cause_message, *cause_field; /* an additional cause; or NULL */
	int retry_after_s; /* 0: not set */
	const struct json *status; /* sent as the reply; NULL: a Status is made from the error */
};

#endif
