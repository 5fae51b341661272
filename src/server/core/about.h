/*
 * about - what an answer is about, for the audit log; of a failure, what its Status says beside the
 * error. All is borrowed.
 */
#ifndef SERVER_CORE_ABOUT_H
#define SERVER_CORE_ABOUT_H

#include "base/core/str.h"

struct json;
struct schema_kind;

struct about {
	const struct schema_kind *kind; /* NULL: the request's */
	struct str name; /* p NULL: the request's */
	/* Of a failure: */
	const char *cause_reason, *cause_message, *cause_field; /* one more cause; or NULL */
	int retry_after_s; /* 0: none */
	const struct json *status; /* that is answered as it is; NULL: one is made of the error */
};

#endif
