/*
 * exchange - one HTTP request on its way through the server.
 *
 * Made when a request's head is there; dies with its stream. Carries who asks,
 * what for, and what audit and metrics need. The way: authenticate, parse the
 * request, find the route, collect the body, cross to the state as a job when
 * objects are needed, answer.
 *
 * Threads: its stream's loop. While its job is at the state, `work`, `job` and
 * what the verb keeps in `work` are the state's; the rest is read by both and
 * written by the stream's loop alone, which may answer (a time-out) and see the
 * stream close meanwhile.
 */
#ifndef SERVER_HTTP_EXCHANGE_H
#define SERVER_HTTP_EXCHANGE_H

#include "base/json/json.h"
#include "net/http/http.h"
#include "server/core/about.h"
#include "server/core/user.h"
#include "server/engine/state.h"
#include "server/flow/flow.h"
#include "server/http/memory.h"
#include "server/request/negotiate.h"
#include "server/request/request.h"

struct audit_annotation;
struct catalogue;
struct metrics_gauge;
struct server;
struct ui_session;

struct exchange {
	struct server *server;
	struct http_stream *stream;
	size_t lane;
	struct arena *arena; /* the stream's */
	struct arena work; /* what the job makes; lives as long */
	void *room; /* a write's part of it */
	struct user user;
	struct str session_id; /* that the request claims (ui/cookie.h); p NULL: none */
	struct ui_session *session; /* that it was found to be of; held by `arena`; or NULL */
	struct user *impersonator; /* who asks in the name of `user`; or NULL */
	struct request request;
	const struct schema_kind *kind; /* of a resource request */
	/* Of custom resources (custom.h), when none is compiled in for the path. */
	const struct schema_kind *custom; /* whose path it is; or NULL */
	const struct schema_kind *compiled; /* the same of compiled kinds, whether served or not */
	struct str deprecation; /* a warning that goes with it; p NULL: none */
	struct catalogue *catalogue; /* of a path of discovery or OpenAPI; or NULL */
	const struct schema_subresource *sub; /* or NULL */
	struct accept accept; /* what the client wants back */
	struct str body;
	struct job job;
	int64_t begun_ns; /* monotonic */
	int64_t wall_ns;
	char audit_id[37];
	int status; /* that was answered */
	struct text_list *warnings;
	struct audit_annotation *annotations; /* of its line in the audit log */
	struct about about; /* what is answered; usually zero: what the request is about */
	struct str message; /* of a failure, where the error has no room for it; or empty */
	const struct managed_conflict *conflicts; /* of a refused apply */
	size_t nconflicts, untold_conflicts;
	const char *etag; /* of a document; or NULL */
	const char *cache_control; /* of a document; NULL: not to be kept */
	struct str location; /* of a redirection */
	const struct http_field *more; /* of the answer's head */
	size_t nmore;
	struct metrics_gauge *inflight; /* that counts it while it is under way; or NULL */
	void *data; /* of whoever handles it */

	/* Private to exchange*.c and reply*.c. */
	void (*verb)(struct exchange *x); /* what to do when the request is complete */
	void (*finish)(struct exchange *x); /* what to do when the job is back */
	void (*produce)(struct exchange *x); /* a body that is made as there is room */
	struct loop *home;
	struct flow_ticket flow;
	struct memory_bill bill;
	struct loop_timer timer; /* of the whole request; while it waits for its turn, of that */
	struct loop_task task; /* the next piece of a body; then, frees what it was made of */
	struct buf incoming; /* body */
	const struct exchange_fault *fault; /* of the request's text; or NULL */
	bool answered, over, at_state;
	bool keeps; /* whoever answers goes on to use body and work */
	bool made; /* the whole answer is encoded */
	bool admitted, complete; /* access was granted; the body is there */
	bool entered; /* flow control has been asked */
};

/* --- life and jobs (exchange.c) ----------------------------------------------------- */

/* For a request whose head is complete, on its lane's loop. Lives in memory of the stream. */
struct exchange *exchange_new(struct server *s, struct http_stream *stream, size_t lane);

/*
 * Sends x->job to the state: `run` there, `finish` back here, unless the stream
 * closed or the request was answered (by its time limit) meanwhile. The stream
 * is held until then.
 */
void exchange_submit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		     void (*finish)(struct exchange *x));

/* The same without the state: `run` comes on its loop at once, whether it is loaded or not. */
void exchange_visit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		    void (*finish)(struct exchange *x));

/* How long a request other than a watch may take, in ms. */
int64_t exchange_time_limit(const struct exchange *x);

/* The exchange of a job. */
static inline struct exchange *exchange_of(struct job *j)
{
	return CONTAINER_OF(j, struct exchange, job);
}

/* The exchange of a ticket of flow control. */
static inline struct exchange *exchange_of_ticket(struct flow_ticket *t)
{
	return CONTAINER_OF(t, struct exchange, flow);
}

/* Sets x->accept from the request's fields. Where nothing of it is served: plain JSON, and err. */
int exchange_negotiate(struct exchange *x, unsigned forms, struct error *err);

/* All is over: audit and metrics are told, once. Streams that others own call it by hand. */
void exchange_over(struct exchange *x);

/*
 * The answer is encoded, and nothing refers to what it was made of but the caller: body and work
 * are freed at the end of the turn if they are large.
 */
void exchange_made(struct exchange *x);

/* The same of the body alone: the answer is a stream that others make from now on. */
void exchange_shed_later(struct exchange *x);

/* Answers 429: there is no memory left for the client. */
void exchange_refuse_memory(struct exchange *x);

/* --- answers (reply.c): each is the last thing done with an exchange -------------- */

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

#endif
