/*
 * exchange's audit - what the audit log (audit/audit.h) records of an exchange, and when.
 *
 * Everything here is a no-op without an audit log. The policy decides once, when the user is
 * known. Objects are kept only if it wants them.
 */
#ifndef SERVER_HTTP_AUDIT_H
#define SERVER_HTTP_AUDIT_H

#include "server/audit/audit.h"

struct bytes;
struct exchange;
struct json;

/* What is kept of an exchange for its events. In the stream's memory. */
struct audit_note {
	struct audit_decision decision;
	const struct request *request; /* the exchange's, or one parsed for the log alone */
	struct str authorization, reason; /* the decision on access; empty: none was made */
	struct str uid, resource_version; /* in the object that was sent */
	struct str status; /* a Status in JSON, of a failure */
	struct bytes *sent, *returned; /* objects in JSON, held by the stream's memory; or NULL */
	bool cut; /* one of them is too large */
};

/* Sets the exchange's audit ID: the client's Audit-ID header if it sent one, else a new one. */
void audit_begin(struct exchange *x);

/*
 * The user is known. Returns false if the event cannot be written and the request must be
 * rejected.
 */
bool audit_received(struct exchange *x);

/* Access was granted (code 0) or refused. The reason is copied. */
void audit_authorized(struct exchange *x, int code, struct str reason);

/* The body is complete: keeps its object, if the policy wants that. */
void audit_request(struct exchange *x);

/* The object of the reply, as JSON, or as a tree. */
void audit_response(struct exchange *x, struct bytes *json);
void audit_response_tree(struct exchange *x, const struct json *tree);
bool audit_wants_response(const struct exchange *x);
/* It is larger than an event can be. */
void audit_response_cut(struct exchange *x);

/* The Status of a failure, as JSON. */
void audit_failure(struct exchange *x, struct str status);

/* The reply to a watch has begun. */
void audit_started(struct exchange *x);

/* The exchange has ended with x->status. */
void audit_end(struct exchange *x);

#endif
