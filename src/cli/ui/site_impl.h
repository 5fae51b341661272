/*
 * site_impl - private to site*.c.
 */
#ifndef CLI_UI_SITE_IMPL_H
#define CLI_UI_SITE_IMPL_H

#include "base/core/list.h"
#include "cli/ui/site.h"
#include "cli/ui/site_user.h"
#include "client/api/client.h"
#include "net/http/server.h"
#include "web/session/cookie.h"

struct metrics_family;

struct site_cluster {
	struct str name; /* the context, or the URL of a pod's API server */
	struct client *plain; /* knows the address and the CA, and has no credentials */
	struct client *own; /* with the kubeconfig's credentials; or NULL */
	const struct kubeconfig *config;
};

struct site {
	struct site_opts opts;
	struct arena arena; /* texts of the fields below */
	struct site_cluster *clusters;
	size_t nclusters;
	struct ui_sessions *sessions;
	struct http_server *server;
	struct ui_cookie_kind cookie, flow_cookie; /* of sessions, and of OIDC logins under way */
	struct list flows; /* struct site_flow: OIDC logins under way, the oldest first */
	struct addr at;
	const char *url;
	struct metrics_family *forwarded, *logins; /* counters by code and by result */
	struct list forwards; /* struct site_forward, under way */
	size_t nforwards, nlogins; /* under way */
	struct ui_passes *passes; /* of explanations */
	struct loop_timer sweep; /* ends forwards whose session has ended */
	bool stopping;

	struct site_user user; /* the kubeconfig's, in `arena` */
	struct client_request identify;
	void (*identified)(void *arg, const struct error *err);
	void *identified_arg;
};

/* Logins that wait for the API server or for a provider. */
enum { SITE_LOGINS_MAX = 64 };

/* --- site.c ------------------------------------------------------------------------ */

struct ui_now site_now(const struct site *s);

/* Sends a SelfSubjectReview. Fill on_done and bearer before. */
void site_review(struct client *c, struct client_request *r);

/* Reads the reply to it. -ERR_UNAUTHORIZED if the API server does not know the user. */
int site_review_read(const struct client_answer *answer, const struct error *err, struct arena *a,
		     struct site_user *u, struct error *ret_err);

/* --- site_reply.c ------------------------------------------------------------------ */

/* Replies, with the fields that every reply of the page has, and at most four more. */
void site_reply(struct http_stream *h, int status, struct str type, struct str body,
		const struct http_field *more, size_t nmore);
/* Replies with a Status. */
void site_fail(struct http_stream *h, const struct error *err);
void site_refuse(struct http_stream *h, enum error_code code, const char *why);
/* Replies with 401, and names the ways to log in, for the page: "ui", "ui oidc". */
void site_refuse_login(const struct site *s, struct http_stream *h, const char *why);
void site_redirect(struct http_stream *h, struct str to);
void site_send_file(struct http_stream *h, struct str name);

/* Consumes what it gets: for requests whose body does not matter. */
extern const struct http_stream_ops site_quiet_ops;

/* --- site_login.c ------------------------------------------------------------------ */

void site_login(struct site *s, struct http_stream *h);
void site_logout(struct site *s, struct http_stream *h);
void site_session(struct site *s, struct http_stream *h);
void site_list_clusters(struct site *s, struct http_stream *h);

/* Counts a login: "accepted", "rejected", "failed". */
void site_count_login(struct site *s, const char *result);

/* Logs the user in: a new session, borrowed. */
const struct ui_session *site_open_session(struct site *s, struct http_stream *h,
					   const struct site_user *u, int64_t ends_s,
					   char ret_secret[static UI_SECRET_SIZE]);

/* The session that the request presents, borrowed; NULL: the request was answered. */
struct ui_session *site_find_session(struct site *s, struct http_stream *h);

/* --- site_oidc.c ------------------------------------------------------------------- */

void site_oidc_start(struct site *s, struct http_stream *h);
void site_oidc_back(struct site *s, struct http_stream *h);
void site_oidc_release(struct site *s);

/* --- site_forward.c ---------------------------------------------------------------- */

/* Forwards the request, or rejects it. */
void site_forward(struct site *s, struct http_stream *h);

/* Ends what is forwarded for sessions that have ended. */
void site_sweep(struct site *s);
void site_on_sweep(struct loop_timer *t);
/* The same now and then, while something is under way. */
void site_sweep_soon(struct site *s);

/* --- site_explain.c ---------------------------------------------------------------- */

void site_explain(struct site *s, struct http_stream *h);

#endif
