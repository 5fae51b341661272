/*
 * audit_event - one event of audit.k8s.io/v1, and its line of JSON.
 *
 * Takes facts, returns text: no I/O. All text is borrowed during the call.
 */
#ifndef SERVER_AUDIT_EVENT_H
#define SERVER_AUDIT_EVENT_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/bytes.h"
#include "server/audit/policy.h"

struct json;

/* Annotations of a request, in the order in which they were added. */
struct audit_annotation {
	struct audit_annotation *next;
	struct str key, value;
};

/* Adds an annotation, copied into the arena. If the key exists, the first value stays. */
void audit_annotate(struct audit_annotation **list, struct arena *a, struct str key,
		    struct str value);

struct audit_event {
	enum audit_level level;
	enum audit_stage stage;
	struct str id, uri, verb, user_agent;
	const struct user *user, *impersonated; /* impersonated: or NULL */
	const char *source; /* the client's address; or NULL */
	/* The object; resource empty: the request is not about a resource. */
	struct str resource, ns, name, group, version, subresource;
	struct str uid, resource_version; /* that the request names */
	int code; /* of the reply; 0: none yet */
	struct str status; /* a Status in JSON: the details of a failure; or empty */
	struct str request, response; /* objects in JSON, on one line; or empty */
	bool cut; /* an object is missing, because it is too large */
	int64_t received_ns, now_ns; /* wall clock */
	struct str decision, reason; /* of authorization; decision empty: not asked */
	const struct audit_annotation *annotations;
};

/* Appends the event and a newline. -ERR_TOO_LARGE at the buffer's limit. */
int audit_event_print(const struct audit_event *e, struct buf *out);

/*
 * Every line begins with this. An item of an EventList is the rest, after a brace: upstream's items
 * have no kind of their own.
 */
#define AUDIT_EVENT_HEAD "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\","

/* --- objects ------------------------------------------------------------------------------ */

/*
 * An object as an event carries it: compact JSON, without managed fields if `omit_managed`. NULL if
 * it has more than AUDIT_OBJECT_MAX bytes or is not JSON. The first leaves the tree unchanged.
 */
struct bytes *audit_object_of_tree(const struct json *tree, bool omit_managed);
struct bytes *audit_object_of_text(struct str text, bool omit_managed);

#endif
