/*
 * client_impl - private to client*.c: attempts and links.
 *
 * An attempt is the work in progress for a request. When the request has been answered or
 * cancelled, the attempt loses its request and lives on until its stream is closed. A link is one
 * connection. Follow-up work runs in the client's task at the end of the turn, so the public
 * functions never call back.
 */
#ifndef CLIENT_API_CLIENT_IMPL_H
#define CLIENT_API_CLIENT_IMPL_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/time/backoff.h"
#include "client/api/bucket.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"

struct exec_answer;
struct exec_credential;
struct metrics_family;

/* Credentials from an exec plugin of the kubeconfig. */
struct client_login {
	struct exec_credential *run; /* the plugin, while it runs */
	int64_t expires; /* ns since 1970 */
	unsigned count; /* replies of the plugin so far */
	bool fresh; /* requests that wait may be sent, whatever `expires` says */
	bool refused; /* the server rejected the last credentials */
};

struct client_link {
	struct list node; /* client's links */
	struct client *client;
	struct http_client *http;
	unsigned requests, max; /* running, and most at a time */
	bool open;
	bool retired; /* accepts no new requests */
	bool streams; /* its one request is a stream, which may never end (HTTP/1.1) */
};

struct client {
	struct loop *loop;
	struct arena arena; /* text of the fields below */
	struct client_opts opts;
	struct kubeconfig config; /* its text is in our arena */
	struct addr to;
	struct str scheme, authority, prefix; /* prefix: the URL's path, without its last '/' */
	struct str user_agent;
	const char *server_name;
	struct tls *tls; /* NULL: clear */
	struct buf ca, cert, key; /* the PEM texts that `tls` was made from */
	struct buf credentials; /* value of the Authorization header; empty: none */
	struct http_field *acting; /* Impersonate-.. headers */
	size_t nacting;
	int64_t token_read_at; /* ms */
	struct client_login login;
	struct bucket limit;
	struct metrics_family *requests; /* or NULL */

	struct list links;
	struct list waiting, resting, running; /* attempts */
	struct backoff backoff;
	int64_t connect_at; /* ms: do not connect before */
	struct loop_timer timer; /* for connect_at */
	struct loop_task task;
	bool freed;
};

struct client_attempt {
	struct list node; /* in one of the client's lists */
	struct client *client;
	struct client_request *request; /* NULL: answered or cancelled, nobody to notify */
	struct client_link *link; /* of the stream */
	struct http_stream *stream; /* borrowed until on_close */
	struct arena arena;
	struct str method, target, content_type, accept;
	struct str bearer; /* value of the Authorization header, instead of the client's */
	struct bytes *body; /* or NULL */
	struct loop_timer deadline, rest;
	int64_t timeout_ms; /* until the deadline starts; then 0 */
	unsigned retries;
	unsigned login; /* login.count when it was sent */
	bool again; /* was sent again because its connection died */
	bool ended; /* the reply is complete */
	bool ending; /* client_attempt_end() is running and frees it */
	struct buf text; /* of the reply */
	struct client_answer answer;
};

/* --- client.c --------------------------------------------------------------------- */

void client_kick(struct client *c);

/*
 * Ends it: calls the request's on_done and resets the stream. Its memory is freed with the stream.
 */
void client_attempt_end(struct client_attempt *a, const struct error *err);

/* Its stream was closed, normally or not. */
void client_attempt_closed(struct client_attempt *a, const struct error *err);

/* --- client_link.c ------------------------------------------------------------------- */

/* Sets up `tls`, the credentials and the addresses from the kubeconfig. */
int client_link_setup(struct client *c, struct error *err);
/* Sets the Impersonate-.. headers. */
void client_link_act_as(struct client *c, const struct kubeconfig *k);
void client_link_release(struct client *c);

/* Uses the credentials of this reply from now on. */
int client_link_become(struct client *c, const struct exec_answer *answer, struct error *err);
/* Ends all attempts that wait for a connection. */
void client_link_fail_waiting(struct client *c, const struct error *err);

/* Starts waiting attempts, connects if they need it, and frees connections that are done. */
void client_link_work(struct client *c);
void client_link_free_all(struct client *c);

/* --- client_warning.c ---------------------------------------------------------------- */

/* Adds the warnings of one Warning header; text and list are in the arena. */
void client_warning_read(struct client_answer *answer, struct arena *a, struct str field);

/* --- client_login.c ------------------------------------------------------------------ */

/*
 * Whether requests may be sent. If the plugin has to run first, this starts it; waiting requests
 * are sent when it has replied, or fail with its error.
 */
bool client_login_ready(struct client *c);
/* No request waits any more: the credentials are no longer `fresh`. */
void client_login_spent(struct client *c);
/* The server rejected the credentials of this number. */
void client_login_refused(struct client *c, unsigned login);
void client_login_stop(struct client *c);
/* Copies the plugin's settings into the client's arena. */
struct kubeconfig_exec *client_login_copy(struct client *c, const struct kubeconfig_exec *from);

#endif
