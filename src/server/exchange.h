/*
 * exchange - one HTTP request on its way through the server.
 *
 * Made when a request's head is there; lives in the stream's arena and dies
 * with it. Carries who asks, what for, and what audit and metrics need. The
 * way: authenticate, parse the request, find the route, collect the body, cross
 * to the state as a job when objects are needed, answer.
 * Threads: its stream's loop; the state's loop while its job is there.
 */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include "base/json.h"
#include "net/http.h"
#include "server/negotiate.h"
#include "server/request.h"
#include "server/state.h"
#include "server/user.h"
#include "server/watch.h"

struct server;

struct exchange {
	struct server *server;
	struct http_stream *stream;
	size_t lane;
	struct arena *arena; /* the stream's */
	struct user user;
	struct request request;
	const struct schema_kind *kind; /* of a resource request */
	const struct schema_subresource *sub; /* or NULL */
	struct accept accept; /* what the client wants back */
	struct str body;
	struct job job;
	int64_t begun_ns; /* monotonic */
	int64_t wall_ns;
	char audit_id[37];
	int status; /* that was answered */
	struct text_list *warnings;
	const struct schema_kind *about_kind; /* what a failure's Status names; usually `kind` */
	struct str about_name;
	void *data; /* of whoever handles it */
};

/* --- answers (reply.c): each is the last thing done with an exchange --------------- */

/* A Status for err; `causes` may be NULL. */
void reply_error(struct exchange *x, const struct error *err, const struct field_errors *causes);

/* An object in the form that was negotiated; `status` is 200, 201 or 202. */
void reply_object(struct exchange *x, int status, const struct object *o);

/* A tree that is no stored object (dry run, reviews, bindings); of the request's version. */
void reply_tree(struct exchange *x, int status, const struct json *tree);

/* A list: items by reference, gzipped when large and wanted. */
void reply_list(struct exchange *x, const struct list_result *list);

/* JSON text as it is; negotiated to YAML when wanted. Takes the bytes over. */
void reply_json(struct exchange *x, int status, struct bytes *json);

/* Anything else. */
void reply_text(struct exchange *x, int status, struct str content_type, struct str text);

/* --- verbs (verb_*.c) ---------------------------------------------------------------- */

/* The body is collected; request, kind and accept are set. */
void verb_get(struct exchange *x);
void verb_list(struct exchange *x);
void verb_watch(struct exchange *x);
void verb_create(struct exchange *x); /* also subresources that are created: binding, eviction */
void verb_update(struct exchange *x);
void verb_patch(struct exchange *x);
void verb_delete(struct exchange *x);
void verb_delete_collection(struct exchange *x);

#endif
