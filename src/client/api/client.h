/*
 * client - requests to one API server, from one loop.
 *
 * HTTP/2 over TLS, all requests side by side on one connection (a few, when
 * there are many watches); HTTP/1.1 with a small pool where a server or proxy
 * speaks nothing else. A connection is made when a request needs it, kept, and
 * pinged while it is silent; a dead one is noticed within a minute. When the
 * server cannot be reached, the requests that wait fail with ERR_UNAVAILABLE
 * after the attempt, and the next attempt is made no sooner than a back-off
 * (0.1 s to 5 s) allows.
 *
 * As client-go does: answers 429 and 5xx with Retry-After are tried again up to
 * ten times; a GET whose connection died before it was answered is tried once
 * more; a request that the server has surely not seen is sent again.
 *
 * A failure is a struct error whose code is the Kubernetes *reason* of the Status
 * that came back (ERR_CONFLICT, ERR_NOT_FOUND, ERR_ALREADY_EXISTS, ERR_EXPIRED, ..) and
 * whose message is that Status' message. What failed on the way has ERR_UNAVAILABLE
 * (no connection), ERR_TIMEOUT (ours), ERR_CANCELED, ERR_IO or ERR_PROTOCOL.
 * Threads: belongs to its loop.
 */
#ifndef CLIENT_API_CLIENT_H
#define CLIENT_API_CLIENT_H

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "client/api/resource.h"
#include "net/http/client.h"
#include "net/loop/loop.h"

struct buf;
struct client;
struct client_attempt;
struct json;
struct kubeconfig;
struct log;
struct metrics;

/* Zero means the default. */
struct client_opts {
	const struct kubeconfig *config; /* required; copied */
	const char *role; /* user agent devplane-ROLE/VERSION; "client" */
	double qps, burst; /* requests per second, and at once; 0: no limit */
	int64_t timeout_ms; /* of requests that do not say; 60 s */
	enum http_protocol protocol; /* ANY; clear connections speak HTTP/1.1 unless told */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* -ERR_INVALID for a URL, certificate or key that cannot be used. Connects later. */
int client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
	       struct error *err);

/*
 * Ends all requests with ERR_CANCELED (on_done is called, from here), then closes
 * the connections. The loop must run one more turn to give back all memory. NULL
 * allowed.
 */
void client_free(struct client *c);

struct loop *client_loop(const struct client *c);

/* The namespace of the kubeconfig's context. */
struct str client_namespace(const struct client *c);

/* --- requests -------------------------------------------------------------------- */

/* How a request ended; borrowed until on_done returns. */
struct client_answer {
	int status; /* HTTP; 0 when there was none */
	struct str body; /* of success and failure; empty when it went to on_data */
	struct str content_type;
	int retry_after_s; /* what the server asked for; 0: nothing */
	const struct str *warnings; /* for people, as the server wrote them: not cleaned */
	size_t nwarnings;
};

/*
 * One request, in the caller's storage: a static or zeroed struct, filled, sent,
 * and left alone until on_done. It may be used again from within on_done.
 * Text and body are copied by client_send(), so they may be gone when it returns.
 */
struct client_request {
	/* For the caller, to set. */
	struct str method; /* empty: GET */
	struct str path; /* "/api/v1/pods", escaped where need be (resource_path) */
	struct str query; /* "watch=true&limit=5", escaped (client_query_add); or empty */
	struct str body;
	struct str content_type; /* of the body; empty: application/json */
	struct str accept; /* empty: application/json */
	/* From when the rate limit lets it go to on_done, retries included; 0: the client's. */
	int64_t timeout_ms; /* -1: none */
	bool no_retry; /* of 429 and 5xx */
	/*
	 * For streams: pieces of a successful (2xx) answer as they come, borrowed until
	 * return. NULL: the body is gathered, up to CLIENT_ANSWER_MAX. May cancel.
	 */
	void (*on_data)(struct client_request *r, struct str piece);
	/* For streams: the server has said yes (2xx); before any data. NULL: not wanted. */
	void (*on_open)(struct client_request *r);
	/*
	 * Once, last, never from within client_send(). `err` is NULL for 2xx: for a
	 * stream, when it ended in order.
	 */
	void (*on_done)(struct client_request *r, const struct client_answer *a,
			const struct error *err);
	void *arg; /* the caller's */

	/* The client's. */
	struct client_attempt *attempt; /* NULL when none is under way */
};

void client_send(struct client *c, struct client_request *r);

/* Gives up: on_done will not be called. Harmless when none is under way. */
void client_cancel(struct client_request *r);

static inline bool client_busy(const struct client_request *r)
{
	return r->attempt != NULL;
}

/*
 * The answer's body as a tree in `a`; text and nodes live as long as the arena.
 * -ERR_PROTOCOL when it is no JSON.
 */
int client_answer_tree(const struct client_answer *answer, struct arena *a, struct json **ret_tree,
		       struct error *err);

/*
 * Whether a refusal is about this field, or one below it ("status.list" of "status.list[0].name"):
 * the causes in its Status say so. Never by the words of its message.
 */
bool client_answer_blames(const struct client_answer *answer, struct str field);

/* Appends "name=value", with '&' before it when the buffer is not empty, escaped. */
void client_query_add(struct buf *query, const char *name, struct str value);

/*
 * Turns a Status text (or what is none) and its HTTP status into an error: the
 * code by reason, else by number; the message, else the number's words.
 * *ret_too_large (may be NULL): its cause is ResourceVersionTooLarge.
 */
void client_error_of_status(struct str body, int http_status, struct error *ret_err,
			    bool *ret_too_large);

/* --- objects --------------------------------------------------------------------- */

/*
 * The verbs of one resource. Each fills method, path, body and content type of *r
 * and sends it; what else *r has (on_done, arg, query, timeout, accept) is the
 * caller's to set before. `tree` is what is sent; NULL: r->body is its text.
 * `ns` is empty for cluster-scoped resources, and for lists of all namespaces.
 */
void client_get(struct client *c, struct client_request *r, const struct resource *what,
		struct str ns, struct str name);
void client_list(struct client *c, struct client_request *r, const struct resource *what,
		 struct str ns);
void client_create(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, const struct json *tree);
void client_update(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, struct str name, const struct json *tree);
void client_update_status(struct client *c, struct client_request *r, const struct resource *what,
			  struct str ns, struct str name, const struct json *tree);

enum client_patch_type {
	CLIENT_PATCH_MERGE,
	CLIENT_PATCH_JSON,
	CLIENT_PATCH_STRATEGIC, /* built-in kinds only */
	CLIENT_PATCH_APPLY, /* r->query must have fieldManager */
};

/* `subresource` may be empty. */
void client_patch(struct client *c, struct client_request *r, const struct resource *what,
		  struct resource_name name, enum client_patch_type type, const struct json *tree);

/* Zero means: not said. */
struct client_delete_opts {
	struct str uid, resource_version; /* preconditions */
	const char *propagation; /* "Background", "Foreground", "Orphan" */
	int64_t grace_s; /* with has_grace */
	bool has_grace;
};

/* `opts` may be NULL. */
void client_delete(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, struct str name, const struct client_delete_opts *opts);

/* Deletes all of a namespace (or of the cluster) that r->query selects. */
void client_delete_collection(struct client *c, struct client_request *r,
			      const struct resource *what, struct str ns,
			      const struct client_delete_opts *opts);

/* Any verb on any subresource, with a body or none: evictions, scales, tokens. */
void client_call(struct client *c, struct client_request *r, const struct resource *what,
		 struct resource_name name, const struct json *tree);

#endif
