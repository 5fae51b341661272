/*
 * Requests: authentication, authorization, then one handler per path.
 */
#include "node/kubelet/server.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/http/server.h"
#include "net/tls/tls.h"
#include "node/kubelet/server_impl.h"
#include "node/kubelet/system_log.h"
#include "node/logs/stream.h"

enum { GRACE_MS = 100, RENEW_MS = 86400 * 1000 };

#define TEXT STR("text/plain; charset=utf-8")

void kubelet_reply(struct kubelet_request *r, int status, struct str type, struct str text)
{
	struct http_field field = HTTP_FIELD("content-type", type);

	if (http_stream_respond(r->http, status, &field, 1, (int64_t)text.n) < 0)
		return;
	if (text.n > 0)
		(void)http_stream_send_copy(r->http, text);
	(void)http_stream_end(r->http, NULL, 0);
}

void kubelet_fail(struct kubelet_request *r, const struct error *err)
{
	kubelet_reply(r, error_http_status((int)err->code), TEXT, str_from(err->msg));
}

struct kubelet_call *kubelet_call_new(struct kubelet_request *r)
{
	struct kubelet_call *c = XNEW(struct kubelet_call);

	c->request = r;
	(void)http_stream_ref(r->http);
	list_push_back(&r->server->calls, &c->link);
	return c;
}

struct kubelet_request *kubelet_call_end(struct kubelet_call *c)
{
	struct kubelet_request *r = c->request;
	bool closed = r->http->closed;

	list_remove(&c->link);
	free(c);
	/* An open stream lives on without this reference. */
	http_stream_unref(r->http);
	return closed ? NULL : r;
}

/* --- handlers --------------------------------------------------------------------- */

static void serve_health(struct kubelet_request *r)
{
	const struct kubelet_server_opts *o = &r->server->opts;
	struct error err;

	if (o->host->healthy(o->arg, &err) < 0)
		kubelet_reply(r, 500, TEXT, str_from(err.msg));
	else
		kubelet_reply(r, 200, TEXT, STR("ok"));
}

static void serve_list(struct kubelet_request *r, void (*print)(void *arg, struct buf *out))
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

	print(r->server->opts.arg, &text);
	if (text.overflow)
		kubelet_reply(r, 500, TEXT, STR("the list of pods is too large"));
	else
		kubelet_reply(r, 200, STR("application/json"), buf_str(&text));
}

static void serve_pods(struct kubelet_request *r)
{
	serve_list(r, r->server->opts.host->print_pods);
}

static void serve_running(struct kubelet_request *r)
{
	serve_list(r, r->server->opts.host->print_running);
}

static void serve_metrics(struct kubelet_request *r)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(METRICS_TEXT_MAX);

	if (r->server->opts.metrics)
		(void)metrics_print(r->server->opts.metrics, &text);
	kubelet_reply(r, 200, STR("text/plain; version=0.0.4; charset=utf-8"), buf_str(&text));
}

static bool log_runs(void *arg)
{
	const struct kubelet_request *r = arg;
	const struct kubelet_server_opts *o = &r->server->opts;

	return o->host->is_running(o->arg, r->pod_uid, r->container_id);
}

static void log_failed(void *arg, const struct error *err)
{
	kubelet_fail(arg, err);
}

static int open_log(struct kubelet_request *r, struct error *err)
{
	const struct kubelet_server_opts *o = &r->server->opts;
	struct arena *a = &r->http->arena;
	struct kubelet_log_query q;
	struct log_stream_opts s;
	struct kubelet_log log;
	int e;

	e = kubelet_route_log_query(r->http->in.query, clock_wall(loop_clock(o->loop)), a, &q, err);
	if (e == 0)
		e = o->host->find_log(o->arg, &r->route, q.previous, &log, err);
	if (e < 0)
		return e;
	r->pod_uid = arena_str(a, log.pod_uid);
	r->container_id = arena_str(a, log.container_id);
	s = (struct log_stream_opts){ .loop = o->loop,
				      .http = r->http,
				      .path = arena_strdup(a, log.path),
				      .reader = q.reader,
				      .tail = q.tail,
				      .follow = q.follow,
				      .running = log_runs,
				      .failed = log_failed,
				      .arg = r };
	return log_stream_new(&s, &r->log, err);
}

static void serve_log(struct kubelet_request *r)
{
	struct error err;

	if (open_log(r, &err) < 0)
		kubelet_fail(r, &err);
}

static void serve_system_log(struct kubelet_request *r)
{
	const struct kubelet_server_opts *o = &r->server->opts;
	struct system_log_opts s = {
		.loop = o->loop, .http = r->http, .folder = o->log_dir, .path = r->route.rest
	};
	struct error err;

	if (!o->log_dir)
		kubelet_reply(r, 405, TEXT, STR("logs endpoint is disabled."));
	else if (system_log_serve(&s, &r->file, &err) < 0)
		kubelet_fail(r, &err);
}

/* --- requests --------------------------------------------------------------------- */

static void on_allowed(struct kubelet_ask *q, const struct error *denied)
{
	static void (*const pages[KUBELET_PAGES])(struct kubelet_request * r) = {
		[KUBELET_HEALTHZ] = serve_health,
		[KUBELET_PODS] = serve_pods,
		[KUBELET_RUNNING_PODS] = serve_running,
		[KUBELET_LOGS] = serve_log,
		[KUBELET_EXEC] = kubelet_serve_stream,
		[KUBELET_ATTACH] = kubelet_serve_stream,
		[KUBELET_PORT_FORWARD] = kubelet_serve_stream,
		[KUBELET_RUN] = kubelet_serve_run,
		[KUBELET_METRICS] = serve_metrics,
		[KUBELET_SYSTEM_LOGS] = serve_system_log,
	};
	struct kubelet_request *r = CONTAINER_OF(q, struct kubelet_request, ask);
	struct error err;

	if (denied) {
		kubelet_fail(r, denied);
		return;
	}
	if (kubelet_route_find(r->http->in.method, r->http->in.path, &r->http->arena, &r->route,
			       &err) < 0)
		kubelet_fail(r, &err);
	else
		pages[r->route.page](r);
}

static void server_on_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static void server_on_writable(struct http_stream *s)
{
	struct kubelet_request *r = s->data;

	if (r->log)
		log_stream_writable(r->log);
	if (r->file)
		system_log_writable(r->file);
}

static void server_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct kubelet_request *r = s->data;

	kubelet_auth_cancel(&r->ask);
	log_stream_free(TAKE(r->log));
	system_log_free(TAKE(r->file));
}

static const struct http_stream_ops ops = { .on_body = server_on_body,
					    .on_writable = server_on_writable,
					    .on_close = server_on_close };

static void server_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct kubelet_server *server = arg;
	struct kubelet_request *r = ARENA_NEW(&s->arena, struct kubelet_request);

	r->server = server;
	r->http = s;
	r->ask = (struct kubelet_ask){ .http = s, .done = on_allowed };
	s->ops = &ops;
	s->data = r;
	kubelet_auth_ask(server->auth, &r->ask);
}

/* --- life ------------------------------------------------------------------------- */

static void on_renew(struct loop_timer *t)
{
	struct kubelet_server *s = CONTAINER_OF(t, struct kubelet_server, renew);
	CLEANUP(tls_unref) struct tls *tls = NULL;
	struct error err;

	if (kubelet_tls_new(&s->opts.tls, &tls, &err) == 0)
		http_server_set_tls(s->http, tls);
	else
		log_warn(s->opts.log,
			 "cannot reload certificates; the kubelet API keeps the old ones",
			 LOG_ERR(&err));
	loop_timer_start(t, RENEW_MS);
}

int kubelet_server_new(const struct kubelet_server_opts *opts, struct kubelet_server **ret_server,
		       struct error *err)
{
	struct kubelet_server *s = XNEW(struct kubelet_server);
	struct http_server_opts o = { .nloops = 1,
				      .handler = server_on_request,
				      .arg = s,
				      .config = { .eof_cancels = true } };
	CLEANUP(tls_unref) struct tls *tls = NULL;
	int r;

	s->opts = *opts;
	list_init(&s->calls);
	loop_timer_init(&s->renew, opts->loop, on_renew);
	s->auth = kubelet_auth_new(&(struct kubelet_auth_opts){ .client = opts->client,
								.node_name = opts->node_name,
								.anonymous = opts->anonymous });
	o.loops = &s->opts.loop;
	s->http = http_server_new(&o);
	r = kubelet_tls_new(&s->opts.tls, &tls, err);
	if (r == 0) {
		r = http_server_listen(s->http, &opts->at, tls, 0, &s->at, err);
		if (r < 0)
			(void)error_wrap(err, r, "the kubelet API");
	}
	if (r < 0) {
		kubelet_server_free(s);
		return r;
	}
	loop_timer_start(&s->renew, RENEW_MS);
	*ret_server = s;
	return 0;
}

const struct addr *kubelet_server_addr(const struct kubelet_server *s)
{
	return &s->at;
}

void kubelet_server_close(struct kubelet_server *s, void (*done)(void *arg), void *arg)
{
	loop_timer_stop(&s->renew);
	http_server_drain(s->http, GRACE_MS, done, arg);
}

void kubelet_server_free(struct kubelet_server *s)
{
	if (!s)
		return;
	loop_timer_stop(&s->renew);
	LIST_FOREACH_SAFE (it, &s->calls)
		(void)kubelet_call_end(LIST_ENTRY(it, struct kubelet_call, link));
	http_server_free(s->http);
	kubelet_auth_free(s->auth);
	free(s);
}
