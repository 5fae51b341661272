/*
 * `GET /ui/explain`: why a pod or claim does not get its devices, for the view Waiting. The process
 * of web/explain gets the credentials of the session and no others.
 *
 * Before it starts, two small requests find out whether the user may read the subject and the
 * slices. So mistakes and missing rights are answered with the API server's own status.
 */
#include "cli/ui/site_impl.h"
#include "client/kubeconfig/kubeconfig.h"
#include "web/explain/explain.h"
#include "web/session/passes.h"
#include "web/web_limits.h"

#define PROBE_MS (20 * INT64_C(1000))

/* For both requests and the process, whose own limits come first. */
#define PASS_NS ((2 * PROBE_MS + EXPLAIN_MS + 5000) * CLOCK_MS)

/* In its stream's arena. */
struct site_explain {
	struct site *site;
	struct ui_pass *pass; /* NULL: it is over */
	struct http_stream *stream;
	const struct site_cluster *cluster;
	struct explain_query query;
	struct client_request probe;
	struct explain *run;
	bool probed; /* the subject can be read */
};

static const struct site_user *explain_user(const struct site_explain *x)
{
	return site_user_of(x->pass->session);
}

/* --- life ---------------------------------------------------------------------------------- */

static void explain_stop(struct site_explain *x)
{
	client_cancel(&x->probe);
	explain_free(TAKE(x->run));
	ui_pass_end(TAKE(x->pass));
}

static void explain_on_close(struct http_stream *h, const struct error *err UNUSED)
{
	explain_stop(h->data);
}

static void explain_on_body(struct http_stream *h, struct str piece)
{
	http_stream_consume(h, piece.n);
}

static const struct http_stream_ops explain_ops = { .on_body = explain_on_body,
						    .on_close = explain_on_close };

static void explain_fail(struct site_explain *x, const struct error *err)
{
	struct site *s = x->site;
	bool over = !ui_pass_is_valid(x->pass, site_now(s).mono_ns);

	explain_stop(x);
	if (over)
		site_refuse_login(s, x->stream, EXPLAIN_OVER);
	else
		site_fail(x->stream, err);
}

/* --- the process --------------------------------------------------------------------------- */

static void site_explain_on_end(void *arg, struct str answer, const struct error *err)
{
	struct site_explain *x = arg;
	struct str text = arena_str(&x->stream->arena, answer);

	if (err) {
		explain_fail(x, err);
		return;
	}
	explain_stop(x);
	site_reply(x->stream, 200, STR("application/json"), text, NULL, 0);
}

static int site_explain_start(struct site_explain *x, struct error *err)
{
	const struct kubeconfig *k = x->cluster->config;
	struct explain_server server = { .url = k->server,
					 .tls_server_name = k->tls_server_name,
					 .ca = k->ca,
					 .token = explain_user(x)->token,
					 .insecure = k->insecure };
	struct explain_credentials with = { .server = server.token.n ? &server : NULL,
					    .access = { x->site->opts.kubeconfig, k->context } };

	return explain_start(x->run, &with, err);
}

/* --- the requests before ------------------------------------------------------------------- */

static void explain_probe(struct site_explain *x);

static void explain_on_probed(struct client_request *r, const struct client_answer *answer UNUSED,
			      const struct error *err)
{
	struct site_explain *x = r->arg;
	struct error why;

	if (err) {
		if (err->code == ERR_UNAUTHORIZED && explain_user(x)->token.n)
			ui_sessions_end(x->site->sessions, x->pass->session);
		explain_fail(x, err);
	} else if (!x->probed) {
		x->probed = true;
		explain_probe(x);
	} else if (site_explain_start(x, &why) < 0) {
		explain_fail(x, &why);
	}
}

static void explain_probe(struct site_explain *x)
{
	const struct site_user *u = explain_user(x);

	x->probe = (struct client_request){ .path = explain_query_path(&x->query,
								       &x->stream->arena),
					    .bearer = u->token,
					    .timeout_ms = PROBE_MS,
					    .no_retry = true,
					    .on_done = explain_on_probed,
					    .arg = x };
	if (x->probed) {
		x->probe.path = STR("/apis/resource.k8s.io/v1/resourceslices");
		x->probe.query = STR("limit=1");
	}
	client_send(u->token.n ? x->cluster->plain : x->cluster->own, &x->probe);
}

/* --- which requests ------------------------------------------------------------------------ */

static int explain_check(const struct site *s, const struct http_stream *h,
			 const struct ui_session *e, struct explain_query *q, struct error *err)
{
	const struct site_user *u = site_user_of(e);
	int r = explain_query_read(h->in.query, q, err);

	if (r < 0)
		return r;
	if (q->cluster >= s->nclusters)
		return error_set(err, ERR_NOT_FOUND,
				 "there is no such cluster; /ui/clusters has a list");
	if (u->token.n && u->cluster != q->cluster)
		return error_set(err, ERR_FORBIDDEN,
				 "your token is for another cluster; log in to this one");
	return 0;
}

static void explain_begin(struct site_explain *x)
{
	struct explain_opts o = { .loop = x->site->opts.loop,
				  .arena = &x->stream->arena,
				  .query = &x->query,
				  .pass = x->pass,
				  .on_end = site_explain_on_end,
				  .arg = x };

	x->run = explain_new(&o);
	x->stream->ops = &explain_ops;
	x->stream->data = x;
	explain_probe(x);
}

void site_explain(struct site *s, struct http_stream *h)
{
	struct site_explain *x = ARENA_NEW(&h->arena, struct site_explain);
	struct ui_session *e = site_find_session(s, h);
	char secret[UI_SECRET_SIZE]; /* the process has the session's own credentials */
	struct error err;

	if (!e)
		return;
	if (explain_check(s, h, e, &x->query, &err) < 0 ||
	    ui_passes_issue(s->passes, e, PASS_NS, site_now(s), secret, &x->pass, &err) < 0) {
		site_fail(h, &err);
		return;
	}
	x->site = s;
	x->stream = h;
	x->cluster = &s->clusters[x->query.cluster];
	explain_begin(x);
}
