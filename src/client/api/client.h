/*
 * client - requests to one API server, from one loop.
 *
 * It speaks HTTP/2 over TLS, with all requests multiplexed on one connection (a few, if there are
 * many watches). If a server or proxy speaks only HTTP/1.1, it uses a small pool of connections.
 * It connects when a request needs a connection, keeps the connection, and pings it while it is
 * idle, so that a dead one is noticed within a minute. If the server cannot be reached, the
 * waiting requests fail with ERR_UNAVAILABLE after the attempt, and the next attempt waits for a
 * back-off (0.1 s to 5 s).
 *
 * Retries follow client-go:
 * - A reply 429 or 5xx with Retry-After is retried up to ten times.
 * - A GET whose connection died before the reply is retried once.
 * - A request that the server has certainly not seen is sent again.
 *
 * A failed request yields a struct error. Its code is the Kubernetes *reason* of the Status in the
 * reply (ERR_CONFLICT, ERR_NOT_FOUND, ERR_ALREADY_EXISTS, ERR_EXPIRED, ..), and its message is
 * that Status' message. Failures in transit have the codes ERR_UNAVAILABLE (no connection),
 * ERR_TIMEOUT (our timeout), ERR_CANCELED, ERR_IO or ERR_PROTOCOL. Threads: belongs to its loop.
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
	double qps, burst; /* rate limit: requests per second, and the burst; 0: no limit */
	int64_t timeout_ms; /* for requests that set none; 60 s */
	enum http_protocol protocol; /* ANY; without TLS the default is HTTP/1.1 */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* debug only; or NULL */
};

/* Returns -ERR_INVALID if the URL, certificate or key is unusable. Connects later, on demand. */
int client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
	       struct error *err);

/*
 * Ends all requests with ERR_CANCELED (on_done is called from here), then closes the connections.
 * The loop must run one more turn to free all memory. NULL allowed.
 */
void client_free(struct client *c);

struct loop *client_loop(const struct client *c);

/* --- requests -------------------------------------------------------------------- */

/* The result of a request; borrowed until on_done returns. */
struct client_answer {
	int status; /* HTTP status; 0: no reply */
	struct str body; /* for success and failure alike; empty if it was passed to on_data */
	struct str content_type;
	int retry_after_s; /* the Retry-After of the reply; 0: none */
	/* Text for users, exactly as the server sent it: not sanitized. */
	const struct str *warnings;
	size_t nwarnings;
};

/*
 * One request, in the caller's memory. Start with a zeroed struct, fill it, send it, and do not
 * touch it until on_done. You may reuse it within on_done. client_send() copies texts and body, so
 * the caller may free them when it returns.
 */
struct client_request {
	/* Set by the caller. */
	struct str method; /* empty: GET */
	struct str path; /* "/api/v1/pods", escaped where needed (resource_path) */
	struct str query; /* "watch=true&limit=5", escaped (client_query_add); or empty */
	struct str body;
	struct str content_type; /* of the body; empty: application/json */
	struct str accept; /* empty: application/json */
	struct str bearer; /* token to send instead of the client's credentials; or empty */
	/*
	 * Counts from the moment the rate limit admits the request until on_done, including
	 * retries. 0: the client's default.
	 */
	int64_t timeout_ms; /* -1: none */
	bool no_retry; /* do not retry 429 and 5xx */
	/*
	 * For streams: gets each piece of a successful (2xx) reply as it arrives, borrowed until
	 * return. It may cancel the request. If NULL, the body is collected, up to
	 * CLIENT_ANSWER_MAX.
	 */
	void (*on_data)(struct client_request *r, struct str piece);
	/* For streams: called when a 2xx status arrives, before any data. May be NULL. */
	void (*on_open)(struct client_request *r);
	/*
	 * Called once, last, and never from within client_send(). `err` is NULL for 2xx; for a
	 * stream that means that it ended normally.
	 */
	void (*on_done)(struct client_request *r, const struct client_answer *a,
			const struct error *err);
	void *arg; /* the caller's own */

	/* Private to the client. */
	struct client_attempt *attempt; /* NULL: not under way */
};

void client_send(struct client *c, struct client_request *r);

/* How the client reaches its server and with which credentials, for relays. */
struct client_access {
	struct addr to;
	struct tls *tls; /* NULL: plain text */
	const char *server_name; /* for TLS; NULL: the address's host */
	struct str authority, prefix; /* prefix: the path of the URL, before that of a request */
	struct str user_agent;
	struct str authorization; /* the value of that field; empty: none */
	const struct http_field *acting; /* Impersonate-.. fields */
	size_t nacting;
	unsigned login; /* for client_access_rejected() */
};

/*
 * Returns false while an exec plugin must provide the credentials first: every request makes it
 * run. Borrowed until the loop's next turn. The TLS of a client with HTTP_PROTOCOL_1 is for
 * HTTP/1.1 only.
 */
bool client_access(struct client *c, struct client_access *ret_access);

/* The server rejected these credentials (401), so that an exec plugin must provide others. */
void client_access_rejected(struct client *c, const struct client_access *access);

/* Cancels the request: on_done will not be called. A no-op if the request is not under way. */
void client_cancel(struct client_request *r);

static inline bool client_busy(const struct client_request *r)
{
	return r->attempt != NULL;
}

/*
 * Parses the reply's body into a tree in `a`; text and nodes live as long as the arena. Returns
 * -ERR_PROTOCOL if it is not JSON.
 */
int client_answer_tree(const struct client_answer *answer, struct arena *a, struct json **ret_tree,
		       struct error *err);

/*
 * Whether the server may have performed a write that failed: always, unless it replied with a 4xx
 * status. A reply that begins with success and breaks off is in doubt too.
 */
static inline bool client_answer_doubtful(const struct client_answer *answer)
{
	return !answer || answer->status < 400 || answer->status >= 500;
}

/*
 * Whether a rejection is about this field, or about one below it ("status.list" matches
 * "status.list[0].name"). Only the causes in the Status count, never the text of its message.
 */
bool client_answer_blames(const struct client_answer *answer, struct str field);

/*
 * Whether a rejection has a cause with this reason, such as "NamespaceTerminating". `answer` may be
 * NULL.
 */
bool client_answer_has_cause(const struct client_answer *answer, struct str reason);

/* Appends "name=value", escaped, preceded by '&' if the buffer is not empty. */
void client_query_add(struct buf *query, const char *name, struct str value);

/*
 * Turns a Status text and its HTTP status into an error. The code comes from the Status' reason,
 * or else from the HTTP status. The message is the Status' own, or else the HTTP status' text.
 * `body` need not be a Status. *ret_too_large (may be NULL) is set if the cause is
 * ResourceVersionTooLarge.
 */
void client_error_of_status(struct str body, int http_status, struct error *ret_err,
			    bool *ret_too_large);

/* --- objects --------------------------------------------------------------------- */

/*
 * The verbs of one resource. Each function sets method, path, body and content type of *r and
 * sends it. Set the other members of *r (on_done, arg, query, timeout, accept) before the call.
 * `tree` is the object to send; if NULL, r->body is its text. `ns` is empty for cluster-scoped
 * resources, and for lists of all namespaces.
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

/* Zero means: not set. */
struct client_delete_opts {
	struct str uid, resource_version; /* preconditions */
	const char *propagation; /* "Background", "Foreground", "Orphan" */
	int64_t grace_s; /* with has_grace */
	bool has_grace;
};

/* `opts` may be NULL. */
void client_delete(struct client *c, struct client_request *r, const struct resource *what,
		   struct str ns, struct str name, const struct client_delete_opts *opts);

/* Deletes all objects of a namespace (or of the cluster) that r->query selects. */
void client_delete_collection(struct client *c, struct client_request *r,
			      const struct resource *what, struct str ns,
			      const struct client_delete_opts *opts);

/* Any verb on any subresource, with or without a body: evictions, scales, tokens. */
void client_call(struct client *c, struct client_request *r, const struct resource *what,
		 struct resource_name name, const struct json *tree);

#endif
