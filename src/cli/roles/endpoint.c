/*
 * Texts are those of upstream's health handlers, which probes and users know.
 */
#include "cli/roles/endpoint.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "cli/roles/endpoint_guard.h"
#include "net/http/server.h"
#include "net/loop/loop.h"

enum { GRACE_MS = 1000 };
enum { ENDPOINT_PAGE_MAX = 256 * MIB };

struct endpoint {
	struct endpoint_opts opts;
	struct http_server *server;
	struct endpoint_guard *guard; /* NULL: plain HTTP */
	struct addr at;
};

/* A request that waits for its authorization; in its stream's arena. */
struct endpoint_request {
	struct endpoint *endpoint;
	struct endpoint_ask ask;
};

static void endpoint_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct endpoint_request *r = s->data;

	if (r)
		endpoint_guard_cancel(&r->ask);
}

static void endpoint_on_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops stream_ops = { .on_body = endpoint_on_body,
						   .on_close = endpoint_on_close };

static void reply(struct http_stream *s, int status, struct str type, struct buf *text)
{
	struct http_field field = HTTP_FIELD("content-type", type);

	if (http_stream_respond(s, status, &field, 1, (int64_t)text->n) == 0 && text->n > 0) {
		(void)http_stream_send_copy(s, buf_str(text));
		(void)http_stream_end(s, NULL, 0);
	}
	buf_release(text);
}

/* --- health ---------------------------------------------------------------------------------- */

struct health {
	struct str which; /* "healthz" */
	struct str only; /* a check's name, or empty */
	bool verbose;
	struct buf text;
	int failed, asked;
};

static void endpoint_ask(struct endpoint *e, const struct endpoint_check *c, struct health *h)
{
	struct error err;

	if (h->only.n > 0 && !str_eqz(h->only, c->name))
		return;
	if (c->ready_only && !str_eq(h->which, STR("readyz")))
		return;
	h->asked++;
	if (!c->run || c->run(e->opts.arg, &err) == 0) {
		(void)buf_printf(&h->text, "[+]%s ok", c->name);
		if (c->note) {
			(void)buf_addz(&h->text, ": ");
			c->note(e->opts.arg, &h->text);
		}
		(void)buf_addc(&h->text, '\n');
		return;
	}
	h->failed++;
	(void)buf_printf(&h->text, "[-]%s failed: %s\n", c->name, err.msg);
}

static void serve_health(struct endpoint *e, struct http_stream *s, struct health *h)
{
	static const struct endpoint_check ping = { .name = "ping" };

	buf_init(&h->text, MIB);
	endpoint_ask(e, &ping, h);
	for (const struct endpoint_check *c = e->opts.checks; c && c->name; c++)
		endpoint_ask(e, c, h);
	if (h->asked == 0) {
		buf_clear(&h->text);
		(void)buf_addz(&h->text, "404 page not found\n");
		reply(s, 404, STR("text/plain; charset=utf-8"), &h->text);
		return;
	}
	if (h->failed == 0 && !h->verbose) {
		buf_clear(&h->text);
		(void)buf_addz(&h->text, "ok");
	} else {
		(void)buf_printf(&h->text, "%.*s check %s\n", STR_ARG(h->which),
				 h->failed ? "failed" : "passed");
	}
	reply(s, h->failed ? 500 : 200, STR("text/plain; charset=utf-8"), &h->text);
}

/* "/readyz/leader" becomes "readyz" and "leader". */
static bool read_health(const struct http_head *head, struct health *ret_health)
{
	struct str rest = str_skip(head->path, 1), which = STR_NULL;

	if (!str_split(&rest, '/', &which))
		return false;
	*ret_health = (struct health){ .which = which,
				       .only = rest,
				       .verbose = str_starts(head->query, STR("verbose")) };
	return str_eq(which, STR("healthz")) || str_eq(which, STR("livez")) ||
	       str_eq(which, STR("readyz"));
}

/* --- requests -------------------------------------------------------------------------------- */

static void serve_metrics(struct endpoint *e, struct http_stream *s)
{
	struct buf text = BUF_INIT(METRICS_TEXT_MAX);

	if (e->opts.metrics)
		(void)metrics_print(e->opts.metrics, &text);
	reply(s, 200, STR("text/plain; version=0.0.4; charset=utf-8"), &text);
}

static const struct endpoint_page *find_page(const struct endpoint *e, struct str path)
{
	for (const struct endpoint_page *p = e->opts.pages; p && p->path; p++) {
		if (str_eqz(path, p->path))
			return p;
	}
	return NULL;
}

static void serve_page(struct endpoint *e, struct http_stream *s, const struct endpoint_page *p)
{
	struct buf text = BUF_INIT(ENDPOINT_PAGE_MAX);

	p->write(e->opts.arg, &text);
	reply(s, text.n > 0 ? 200 : 503, STR("application/json"), &text);
}

static void endpoint_serve(struct endpoint *e, struct http_stream *s)
{
	const struct endpoint_page *page = find_page(e, s->in.path);
	struct buf text = BUF_INIT(KIB);
	struct health h;

	if (!str_eq(s->in.method, STR("GET")) && !str_eq(s->in.method, STR("HEAD"))) {
		(void)buf_addz(&text, "method not allowed\n");
		reply(s, 405, STR("text/plain; charset=utf-8"), &text);
	} else if (str_eq(s->in.path, STR("/metrics"))) {
		serve_metrics(e, s);
	} else if (page) {
		serve_page(e, s, page);
	} else if (read_health(&s->in, &h)) {
		serve_health(e, s, &h);
	} else {
		(void)buf_addz(&text, "404 page not found\n");
		reply(s, 404, STR("text/plain; charset=utf-8"), &text);
	}
}

static void endpoint_on_allowed(struct endpoint_ask *q, const struct error *err)
{
	struct endpoint_request *r = CONTAINER_OF(q, struct endpoint_request, ask);
	struct buf text = BUF_INIT(KIB);

	if (!err) {
		endpoint_serve(r->endpoint, q->http);
		return;
	}
	(void)buf_printf(&text, "%s\n", err->msg);
	reply(q->http, error_http_status(err->code), STR("text/plain; charset=utf-8"), &text);
}

/* Probes send no credentials, so health is open to everyone. */
static void endpoint_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct endpoint *e = arg;
	struct endpoint_request *r;
	struct health h;

	s->ops = &stream_ops;
	s->data = NULL;
	if (!e->guard || read_health(&s->in, &h)) {
		endpoint_serve(e, s);
		return;
	}
	r = ARENA_NEW(&s->arena, struct endpoint_request);
	r->endpoint = e;
	r->ask = (struct endpoint_ask){ .http = s, .done = endpoint_on_allowed };
	s->data = r;
	endpoint_guard_ask(e->guard, &r->ask);
}

/* --- life ------------------------------------------------------------------------------------ */

static int endpoint_listen(struct endpoint *e, struct error *err)
{
	const struct endpoint_opts *o = &e->opts;
	struct endpoint_guard_opts g = {
		.loop = o->loop, .kubeconfig = o->kubeconfig, .log = o->log, .options = o->guard
	};
	struct addr at;
	int r = addr_parse(&at, str_from(o->address), 0, err);

	if (r < 0)
		return r;
	if (!o->kubeconfig || !endpoint_guard_wanted(o->guard, &at))
		return http_server_listen(e->server, &at, NULL, 0, &e->at, err);
	r = endpoint_guard_new(&g, &e->guard, err);
	return r < 0 ? r : endpoint_guard_listen(e->guard, e->server, &at, &e->at, err);
}

int endpoint_new(const struct endpoint_opts *opts, struct endpoint **ret_endpoint,
		 struct error *err)
{
	struct endpoint *e = XNEW(struct endpoint);
	struct http_server_opts o = { .nloops = 1, .handler = endpoint_on_request, .arg = e };
	int r;

	e->opts = *opts;
	o.loops = &e->opts.loop;
	e->server = http_server_new(&o);
	r = endpoint_listen(e, err);
	if (r < 0) {
		endpoint_free(e);
		return r;
	}
	*ret_endpoint = e;
	return 0;
}

void endpoint_announce(const struct endpoint *e, FILE *out)
{
	if (e)
		(void)fprintf(out, "  health and metrics at %s://%s\n", e->guard ? "https" : "http",
			      e->at.text);
}

const struct addr *endpoint_address(const struct endpoint *e)
{
	return &e->at;
}

void endpoint_stop(struct endpoint *e, void (*done)(void *arg), void *arg)
{
	if (!e) {
		done(arg);
		return;
	}
	http_server_drain(e->server, GRACE_MS, done, arg);
}

void endpoint_free(struct endpoint *e)
{
	if (!e)
		return;
	endpoint_guard_free(e->guard);
	http_server_free(e->server);
	free(e);
}
