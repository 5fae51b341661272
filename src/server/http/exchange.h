/*
 * exchange - one HTTP request on its way through the server.
 *
 * Created when the request's head is complete; freed with its stream. Holds the user, the
 * request, and the data for audit and metrics. The steps: authenticate, parse the request, find
 * the route, collect the body, submit a job to the state unless the lane has all that is needed,
 * reply.
 *
 * Threads: its stream's loop. While its job is at the state, `work`, `job` and the verb's data in
 * `work` belong to the state's loop. Both loops read the rest; only the stream's loop writes it.
 * Meanwhile the stream's loop may reply (a timeout) and may see the stream close.
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

struct audit_note;
struct catalogue;
struct metrics_gauge;
struct server;
struct ui_session;
struct write;

struct exchange {
	struct server *server;
	struct http_stream *stream;
	size_t lane;
	struct arena *arena; /* the stream's */
	struct arena work; /* memory for the job; lives as long as the exchange */
	void *room; /* memory lent to `work` for a write; or NULL */
	struct user user;
	struct str session_id; /* that the request presents (web/session/cookie.h); p NULL: none */
	bool by_pass; /* it is the secret of a pass instead (web/session/passes.h) */
	struct ui_session *session; /* the session that was found; held by `arena`; or NULL */
	struct user *impersonator; /* the user who impersonates `user`; or NULL */
	struct request request;
	const struct schema_kind *kind; /* of a resource request */
	/* For custom resources (custom.h), if no compiled-in kind serves the path. */
	const struct schema_kind *custom; /* the custom kind of the path; or NULL */
	/* The compiled-in kind of the path, served or not; or NULL. */
	const struct schema_kind *compiled;
	struct str deprecation; /* a warning for the reply; p NULL: none */
	struct catalogue *catalogue; /* for paths of discovery and OpenAPI; or NULL */
	const struct schema_subresource *sub; /* or NULL */
	struct accept accept; /* the formats that the client accepts */
	struct str body;
	struct job job;
	int64_t begun_ns; /* monotonic */
	int64_t wall_ns;
	char audit_id[37];
	struct audit_note *audit; /* for the audit log; NULL until it is asked, or without one */
	int status; /* HTTP status of the reply */
	struct about about; /* the object that the reply is about; usually zero: the request's */
	/*
	 * The write that the reply is about: its warnings and, for a failure, its message and
	 * conflicts. NULL: none, or its job is still at the state.
	 */
	const struct write *write;
	const char *etag; /* of a document; or NULL */
	const char *cache_control; /* of a document; NULL: must not be cached */
	struct str location; /* for a redirect */
	const struct http_field *more; /* additional header fields of the reply */
	size_t nmore;
	struct metrics_gauge *inflight; /* counts it while it is under way; or NULL */
	void *data; /* the handler's own */

	/* Private to exchange*.c and reply*.c. */
	void (*verb)(struct exchange *x); /* called when the request is complete */
	void (*finish)(struct exchange *x); /* called when the job is back */
	/* Makes the next part of the body when the stream has room. */
	void (*produce)(struct exchange *x);
	struct loop *home;
	struct flow_ticket flow;
	struct memory_bill bill;
	struct loop_timer timer; /* time limit of the request or, while it is queued, of its wait */
	/* Makes the next part of the body; afterwards frees the memory of its source. */
	struct loop_task task;
	struct buf incoming; /* body */
	const struct exchange_fault *fault; /* an error in the request's text; or NULL */
	bool answered, over, at_state;
	bool keeps; /* the handler still uses body and work after the reply */
	bool made; /* the whole reply is encoded */
	bool admitted, complete; /* access was granted; the body is complete */
	bool entered; /* flow control has seen it */
};

/* --- lifecycle and jobs (exchange.c) ------------------------------------------------ */

/* For a request whose head is complete, on its lane's loop. Allocated in the stream's memory. */
struct exchange *exchange_new(struct server *s, struct http_stream *stream, size_t lane);

/*
 * Submits x->job to the state: `run` is called there, `finish` back on this loop, unless the
 * stream was closed or the request was answered (on timeout) meanwhile. The stream is held until
 * then.
 */
void exchange_submit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		     void (*finish)(struct exchange *x));

/*
 * The same without waiting for the state: calls `run` on the state's loop immediately, whether or
 * not the state is loaded.
 */
void exchange_visit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		    void (*finish)(struct exchange *x));

/*
 * For a request whose data the lane has read itself, in place of exchange_submit(): calls `finish`
 * now.
 */
void exchange_finish(struct exchange *x, void (*finish)(struct exchange *x));

/* The time limit of a request other than a watch, in ms. */
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

/*
 * Sets x->accept from the request's header fields. If none of `forms` is acceptable to the
 * client, sets plain JSON and returns an error.
 */
int exchange_negotiate(struct exchange *x, unsigned forms, struct error *err);

/*
 * The exchange is over: reports it to audit and metrics, once. Code that has taken over the
 * stream must call this itself.
 */
void exchange_over(struct exchange *x);

/*
 * The reply is encoded, and only the caller still refers to its source: frees body and work at
 * the end of the turn if they are large.
 */
void exchange_made(struct exchange *x);

/* The same for the body alone: other code streams the reply from now on. */
void exchange_shed_later(struct exchange *x);

/* Replies 429: the client has used up its memory. */
void exchange_refuse_memory(struct exchange *x);

/* --- replies (reply.c): each is the last call for an exchange --------------------- */

/* A Status for err; `causes` may be NULL. */
void reply_error(struct exchange *x, const struct error *err, const struct field_errors *causes);

/* An object in the negotiated form; `status` is 200, 201 or 202. */
void reply_object(struct exchange *x, int status, const struct object *o);

/* A tree that is not a stored object (dry run, reviews, bindings); in the request's version. */
void reply_tree(struct exchange *x, int status, const struct json *tree);

/* A list: items by reference, gzipped if large and if the client accepts that. */
void reply_list(struct exchange *x, const struct list_result *list);

/* JSON text, converted to YAML if negotiated. Takes over the bytes. */
void reply_json(struct exchange *x, int status, struct bytes *json);

/* Any other text. */
void reply_text(struct exchange *x, int status, struct str content_type, struct str text);

#endif
