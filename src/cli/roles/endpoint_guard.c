/*
 * The guard has a client of its own, so that its rate limit does not slow the role down. The client
 * connects only when a caller shows a token.
 */
#include "cli/roles/endpoint_guard.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cli/roles/serving_cert.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/http/http.h"

enum { REVIEWS_PER_S = 10, REVIEWS_BURST = 50 };

struct endpoint_guard {
	struct serving_cert *cert;
	struct client *client;
	struct reviewer *reviewer;
};

static bool guard_is_local(const struct addr *at)
{
	return at->kind == ADDR_UNIX || strcmp(at->host, "localhost") == 0 ||
	       strcmp(at->host, "::1") == 0 || strncmp(at->host, "127.", 4) == 0;
}

bool endpoint_guard_wanted(const struct endpoint_guard_options *o, const struct addr *at)
{
	const char *secure = o && o->secure ? o->secure : "auto";

	if (strcmp(secure, "auto") == 0)
		return !guard_is_local(at);
	return strcmp(secure, "always") == 0;
}

/* --- life -------------------------------------------------------------------------- */

static int guard_open(struct endpoint_guard *g, const struct endpoint_guard_opts *opts,
		      struct error *err)
{
	const struct endpoint_guard_options *o = opts->options;
	struct client_opts c = { .config = opts->kubeconfig,
				 .role = "metrics",
				 .qps = REVIEWS_PER_S,
				 .burst = REVIEWS_BURST,
				 .log = opts->log };
	struct serving_cert_opts cert = { .loop = opts->loop,
					  .log = opts->log,
					  .cert_file = o ? o->cert_file : NULL,
					  .key_file = o ? o->key_file : NULL,
					  .name = "the certificate of --metrics-bind-address",
					  .ca_name = "devplane-metrics-ca" };
	int r;

	if (o && !o->cert_file != !o->key_file)
		return error_set(err, ERR_INVALID,
				 "--metrics-tls-cert-file and --metrics-tls-private-key-file "
				 "belong together: give both, or none");
	r = serving_cert_new(&cert, &g->cert, err);
	if (r == 0)
		r = client_new(opts->loop, &c, &g->client, err);
	if (r == 0)
		g->reviewer = reviewer_new(g->client);
	return r;
}

int endpoint_guard_new(const struct endpoint_guard_opts *opts, struct endpoint_guard **ret_guard,
		       struct error *err)
{
	struct endpoint_guard *g = XNEW(struct endpoint_guard);
	int r = guard_open(g, opts, err);

	if (r < 0)
		endpoint_guard_free(g);
	else
		*ret_guard = g;
	return r;
}

void endpoint_guard_free(struct endpoint_guard *g)
{
	if (!g)
		return;
	client_free(g->client);
	reviewer_free(g->reviewer);
	serving_cert_free(g->cert);
	free(g);
}

int endpoint_guard_listen(struct endpoint_guard *g, struct http_server *server,
			  const struct addr *at, struct addr *ret_at, struct error *err)
{
	return serving_cert_listen(g->cert, server, at, ret_at, err);
}

/* --- requests ---------------------------------------------------------------------- */

static void guard_reject(struct endpoint_ask *q, enum error_code code, const char *text)
{
	struct error err;

	(void)error_set(&err, code, "%s", text);
	q->done(q, &err);
}

static void guard_broken(struct endpoint_ask *q, const struct error *why)
{
	guard_reject(
		q, ERR_INTERNAL,
		arena_printf(&q->http->arena, "cannot ask the API server about you: %s", why->msg));
}

static void guard_on_access(struct review *v, bool yes, const struct error *err)
{
	struct endpoint_ask *q = CONTAINER_OF(v, struct endpoint_ask, review);

	if (err)
		guard_broken(q, err);
	else if (yes)
		q->done(q, NULL);
	else
		guard_reject(q, ERR_FORBIDDEN,
			     arena_printf(v->arena,
					  "Forbidden: \"%.*s\" needs a ClusterRole with verb get "
					  "on nonResourceURLs %.*s",
					  STR_ARG(json_text_at(v->user, "username")),
					  STR_ARG(q->http->in.path)));
}

static void guard_on_token(struct review *v, bool yes, const struct error *err)
{
	struct endpoint_ask *q = CONTAINER_OF(v, struct endpoint_ask, review);
	struct json *attributes;

	if (err) {
		guard_broken(q, err);
	} else if (!yes) {
		guard_reject(q, ERR_UNAUTHORIZED, "Unauthorized: the bearer token is not valid");
	} else {
		attributes = json_make_object(v->arena);
		json_put_str(v->arena, attributes, "path", arena_str(v->arena, q->http->in.path));
		/* HEAD returns less than GET, and a role that allows one must allow the other. */
		json_put_str(v->arena, attributes, "verb", STR("get"));
		v->done = guard_on_access;
		reviewer_access(q->guard->reviewer, v, attributes);
	}
}

void endpoint_guard_ask(struct endpoint_guard *g, struct endpoint_ask *q)
{
	struct str token;

	q->guard = g;
	q->review = (struct review){ .arena = &q->http->arena, .done = guard_on_token };
	(void)reviewer_bearer(&q->http->in.fields, &token);
	if (token.n == 0)
		guard_reject(q, ERR_UNAUTHORIZED,
			     "Unauthorized: send a bearer token of an account that may get this "
			     "path");
	else
		reviewer_token(g->reviewer, &q->review, token);
}

void endpoint_guard_cancel(struct endpoint_ask *q)
{
	reviewer_cancel(&q->review);
}
