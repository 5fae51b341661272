/* Each request gets one reply at once. The driver's callback runs on the loop, as all others do. */
#include "drivers/sdk/driver_http.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "drivers/drivers_limits.h"
#include "drivers/sdk/driver.h"
#include "drivers/sdk/samples.h"
#include "net/http/server.h"

enum { GRACE_MS = 1000 };

struct driver_http {
	struct dp_driver *driver;
	struct http_server *server;
	bool complained; /* about samples that were rejected */
};

static void http_on_close(struct http_stream *s UNUSED, const struct error *err UNUSED)
{
}

static void http_on_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops driver_http_ops = { .on_body = http_on_body,
							.on_close = http_on_close };

static void http_reply(struct http_stream *s, int status, struct buf *text)
{
	struct http_field type = HTTP_FIELD("content-type",
					    STR("text/plain; version=0.0.4; charset=utf-8"));

	if (http_stream_respond(s, status, &type, 1, (int64_t)text->n) == 0 && text->n > 0) {
		(void)http_stream_send_copy(s, buf_str(text));
		(void)http_stream_end(s, NULL, 0);
	}
}

static void add_samples(struct driver_http *h, struct buf *text)
{
	CLEANUP(samples_free) struct dp_metrics *m = samples_new();
	const struct dp_driver_config *c = &h->driver->config;

	c->metrics(c->arg, m);
	(void)samples_print(m, text);
	if (samples_rejected(m) > 0 && !h->complained)
		driver_log(&h->driver->log, DP_LOG_WARN,
			   "%zu metrics of the driver are left out: they are invalid, doubled or "
			   "too many",
			   samples_rejected(m));
	h->complained = samples_rejected(m) > 0;
}

static void serve_metrics(struct driver_http *h, struct http_stream *s)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(METRICS_TEXT_MAX);

	if (h->driver->metrics)
		(void)metrics_print(h->driver->metrics, &text);
	if (h->driver->config.metrics)
		add_samples(h, &text);
	http_reply(s, 200, &text);
}

static void serve_ready(struct driver_http *h, struct http_stream *s)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	struct error err;
	int r = driver_check_registered(h->driver, &err);

	if (r == 0)
		r = driver_check(h->driver, &err);
	(void)buf_printf(&text, "%s\n", r < 0 ? err.msg : "ok");
	http_reply(s, r < 0 ? 503 : 200, &text);
}

static void driver_http_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);
	struct driver_http *h = arg;
	struct str path = s->in.path;

	s->ops = &driver_http_ops;
	if (!str_eqz(s->in.method, "GET") && !str_eqz(s->in.method, "HEAD")) {
		(void)buf_addz(&text, "method not allowed\n");
		http_reply(s, 405, &text);
	} else if (str_eqz(path, "/metrics")) {
		serve_metrics(h, s);
	} else if (str_eqz(path, "/readyz")) {
		serve_ready(h, s);
	} else {
		bool alive = str_eqz(path, "/healthz") || str_eqz(path, "/livez");

		(void)buf_addz(&text, alive ? "ok\n"
					    : "there are /metrics, /healthz, /livez and /readyz\n");
		http_reply(s, alive ? 200 : 404, &text);
	}
}

int driver_http_start(struct dp_driver *d, struct driver_http **ret_http, struct error *err)
{
	struct driver_http *h = XNEW(struct driver_http);
	struct http_server_opts o = { .loops = &d->loop,
				      .nloops = 1,
				      .max_conns = DRIVER_HTTP_CONNS_MAX,
				      .handler = driver_http_on_request,
				      .arg = h };
	struct addr at, bound;
	int r = addr_parse(&at, str_from(d->config.metrics_address), 0, err);

	h->driver = d;
	h->server = http_server_new(&o);
	if (r == 0)
		r = http_server_listen(h->server, &at, NULL, 0, &bound, err);
	if (r < 0) {
		driver_http_free(h);
		return error_wrap(err, r, "metrics address \"%s\"", d->config.metrics_address);
	}
	driver_log(&d->log, DP_LOG_INFO, "serving metrics at %s", bound.text);
	*ret_http = h;
	return 0;
}

void driver_http_stop(struct driver_http *h, void (*done)(void *arg), void *arg)
{
	if (h)
		http_server_drain(h->server, GRACE_MS, done, arg);
	else
		done(arg);
}

void driver_http_free(struct driver_http *h)
{
	if (!h)
		return;
	http_server_free(h->server);
	free(h);
}
