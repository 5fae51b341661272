/*
 * client_impl - private to client*.c: attempts and links.
 *
 * An attempt is what is under way for a request; it has no request any more once
 * that has been answered or cancelled, and lives on until its stream is closed. A link
 * is one connection. What follows from a change is done by the client's task at the end
 * of the turn, so verbs never call back.
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

/* Who we are when a program says it (kubeconfig's exec). */
struct client_login {
	struct exec_credential *run; /* the program, while it is at work */
	int64_t expires; /* ns since 1970 */
	unsigned count; /* answers so far */
	bool fresh; /* what waits may go, whatever `expires` says */
	bool refused; /* the server did not take the last answer */
};

struct client_link {
	struct list node; /* client's links */
	struct client *client;
	struct http_client *http;
	unsigned requests, max; /* running, and most at a time */
	bool open;
	bool retired; /* takes no new requests */
	bool streams; /* its one request is a stream, which may last for ever (HTTP/1.1) */
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
	struct buf ca, cert, key; /* what `tls` was made of */
	struct buf credentials; /* value of the authorization field; empty: none */
	struct http_field *acting; /* whom we act as: Impersonate-.. */
	size_t nacting;
	int64_t token_read_at; /* ms */
	struct client_login login;
	struct bucket limit;
	struct metrics_family *requests; /* or NULL */

	struct list links;
	struct list waiting, resting, running; /* attempts */
	struct backoff backoff;
	int64_t connect_at; /* ms: not before */
	struct loop_timer timer; /* for connect_at */
	struct loop_task task;
	bool freed;
};

struct client_attempt {
	struct list node; /* in one of the client's lists */
	struct client *client;
	struct client_request *request; /* NULL: nobody wants to know */
	struct client_link *link; /* of the stream */
	struct http_stream *stream; /* borrowed until on_close */
	struct arena arena;
	struct str method, target, content_type, accept;
	struct bytes *body; /* or NULL */
	struct loop_timer deadline, rest;
	int64_t timeout_ms; /* until the deadline starts; then 0 */
	unsigned retries;
	unsigned login; /* the answer that it was sent with */
	bool again; /* was sent anew because its connection had died */
	bool ended; /* the answer is complete */
	bool ending; /* client_attempt_end() is at work and frees it */
	struct buf text; /* of the answer */
	struct client_answer answer;
};

/* --- client.c --------------------------------------------------------------------- */

void client_kick(struct client *c);

/* Ends it: tells the request, resets the stream. The memory goes with the stream. */
void client_attempt_end(struct client_attempt *a, const struct error *err);

/* Its stream is closed, in order or not. */
void client_attempt_closed(struct client_attempt *a, const struct error *err);

/* --- client_link.c ------------------------------------------------------------------- */

/* What `tls`, credentials and addresses are made of. */
int client_link_setup(struct client *c, struct error *err);
/* The fields that say whom we act as. */
void client_link_act_as(struct client *c, const struct kubeconfig *k);
void client_link_release(struct client *c);

/* We are who the answer says from now on. */
int client_link_become(struct client *c, const struct exec_answer *answer, struct error *err);
/* Ends all that waits for a connection. */
void client_link_fail_waiting(struct client *c, const struct error *err);

/* Starts what waits, connects when that needs it, frees connections that are spent. */
void client_link_work(struct client *c);
void client_link_free_all(struct client *c);

/* --- client_warning.c ---------------------------------------------------------------- */

/* Adds the warnings of one such field; text and list are in the arena. */
void client_warning_read(struct client_answer *answer, struct arena *a, struct str field);

/* --- client_login.c ------------------------------------------------------------------ */

/*
 * Whether requests may go. When the program must be asked first it is started, and what waits goes
 * when it has answered, or fails with it.
 */
bool client_login_ready(struct client *c);
/* Nothing waits any more. */
void client_login_spent(struct client *c);
/* The server did not know us by the answer of this number. */
void client_login_refused(struct client *c, unsigned login);
void client_login_stop(struct client *c);
/* A copy in the client's arena. */
struct kubeconfig_exec *client_login_copy(struct client *c, const struct kubeconfig_exec *from);

#endif
