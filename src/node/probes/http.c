/*
 * httpGet. Each request has its own connection, certificates are not checked, and redirects are
 * followed while they stay on the host. A redirect to another host is a success with a warning.
 */
#include "base/core/mem.h"
#include "base/text/print.h"
#include "net/http/client.h"
#include "net/tls/tls.h"
#include "node/node_limits.h"
#include "node/probes/run_impl.h"

#define KUBE_MINOR "1.37" /* of the user agent, by which servers recognize kubelet's probes */

static void connect_http(struct probe_run *r);

/* "Get "URL": why" */
static void http_fail(struct probe_run *r, const char *why)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * PROBE_OUTPUT_MAX);

	(void)buf_addz(&out, "Get ");
	(void)print_quoted(&out, probe_url_print(&r->url, &r->arena));
	(void)buf_printf(&out, ": %s", why);
	probe_run_tell(r, PROBE_FAILURE, buf_str(&out));
}

void probe_http_late(struct probe_run *r)
{
	http_fail(r, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
}

/* --- replies -------------------------------------------------------------------------------- */

static void http_follow(struct probe_run *r)
{
	struct http_client *old = TAKE(r->http);
	struct probe_url next;

	if (++r->redirects >= PROBE_REDIRECTS_MAX) {
		http_client_free(old);
		http_fail(r, "stopped after 10 redirects");
		return;
	}
	if (!probe_url_resolve(&r->url, r->location, &r->arena, &next)) {
		http_client_free(old);
		http_fail(r, "failed to parse Location header");
		return;
	}
	if (!str_eq(next.host, r->first_host)) {
		http_client_free(old);
		probe_run_tellf(r, PROBE_WARNING, "Probe terminated redirects, Response body: %.*s",
				STR_ARG(buf_str(&r->body)));
		return;
	}
	r->url = next;
	r->location = STR_NULL;
	buf_clear(&r->body);
	http_client_free(old);
	connect_http(r);
}

/* Status and body have arrived, the body up to our limit. */
static void http_answered(struct probe_run *r)
{
	bool moved = r->status >= 301 && r->status <= 308 && r->status != 304 && r->status != 305 &&
		     r->status != 306;

	if (moved && r->location.n > 0)
		http_follow(r);
	else if (r->target.any_status)
		probe_run_tell(r, PROBE_SUCCESS, STR_NULL);
	else if (r->status >= 300 && r->status < 400)
		probe_run_tellf(r, PROBE_WARNING, "Probe terminated redirects, Response body: %.*s",
				STR_ARG(buf_str(&r->body)));
	else if (r->status >= 200 && r->status < 300)
		probe_run_tell(r, PROBE_SUCCESS, buf_str(&r->body));
	else
		probe_run_tellf(r, PROBE_FAILURE, "HTTP probe failed with statuscode: %d",
				r->status);
}

static void http_on_head(struct http_stream *s)
{
	struct probe_run *r = s->data;

	r->status = s->in.status;
	r->location = arena_str(&r->arena, http_fields_get(&s->in.fields, STR("location")));
}

static void http_on_body(struct http_stream *s, struct str piece)
{
	struct probe_run *r = s->data;

	http_stream_consume(s, piece.n);
	(void)buf_add(&r->body, piece.p, MIN(piece.n, r->body.max - r->body.n));
	if (r->body.n == r->body.max)
		http_answered(r);
}

static void http_on_end(struct http_stream *s)
{
	http_answered(s->data);
}

/* Also called when we free the connection: then r->http is NULL. */
static void on_stream_close(struct http_stream *s, const struct error *err)
{
	struct probe_run *r = s->data;

	if (!r->http)
		return;
	if (r->status > 0)
		probe_run_tell(r, PROBE_ERROR, str_from(err ? err->msg : "unexpected EOF"));
	else
		http_fail(r, err ? err->msg : "EOF");
}

static const struct http_stream_ops stream_ops = {
	.on_head = http_on_head,
	.on_body = http_on_body,
	.on_end = http_on_end,
	.on_close = on_stream_close,
};

/* --- requests ------------------------------------------------------------------------------- */

static void http_on_open(void *arg)
{
	struct probe_run *r = arg;
	struct http_request request = { .method = STR("GET"),
					.scheme = r->url.https ? STR("https") : STR("http"),
					.authority = r->host_field.n > 0 ? r->host_field
									 : r->url.authority,
					.target = r->url.target,
					.fields = r->fields,
					.nfields = r->nfields,
					.end = true,
					.ops = &stream_ops,
					.data = r };
	struct http_stream *stream = NULL;
	struct error err;

	r->status = 0;
	if (http_client_request(r->http, &request, &stream, &err) < 0) {
		http_fail(r, err.msg);
		return;
	}
	http_stream_limit_body(stream, -1);
}

static void http_on_close(void *arg, const struct error *err)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT(PROBE_OUTPUT_MAX);
	struct probe_run *r = arg;

	/* If a stream is open, its own close reports more. */
	if (r->connected || !r->http)
		return;
	probe_run_dial_words(r, err, &words);
	http_fail(r, words.p);
}

static void on_connected(void *arg)
{
	struct probe_run *r = arg;

	r->connected = true;
	http_on_open(arg);
}

static int open_http(struct probe_run *r, struct error *err)
{
	struct http_client_opts o = { .tls = r->url.https ? r->target.tls : NULL,
				      .server_name = arena_strdup(&r->arena, r->url.host),
				      .protocol = HTTP_PROTOCOL_ANY,
				      .connect_timeout_ms = INT32_MAX,
				      .on_open = on_connected,
				      .on_close = http_on_close,
				      .arg = r };
	int e;

	if (r->url.https && !r->target.tls)
		return error_set(err, ERR_UNIMPLEMENTED, "this agent has no TLS for probes");
	e = addr_parse(&r->addr, probe_run_join(r, r->url.host, r->url.port), 0, err);
	if (e < 0)
		return e;
	o.to = r->addr;
	o.config.idle_timeout_ms = -1;
	r->connected = false;
	return http_client_new(r->target.loop, &o, &r->http, err);
}

static void connect_http(struct probe_run *r)
{
	struct error err;

	if (open_http(r, &err) < 0)
		probe_run_tell_soon(r, PROBE_FAILURE, str_from(err.msg));
}

/* --- starting ------------------------------------------------------------------------------- */

static bool has_field(const struct probe_run *r, const char *name)
{
	for (size_t i = 0; i < r->nfields; i++) {
		if (str_eqz(r->fields[i].name, name))
			return true;
	}
	return false;
}

static void add_field(struct probe_run *r, struct str name, struct str value)
{
	r->fields[r->nfields++] = (struct http_field){ .name = arena_lower(&r->arena, name),
						       .value = arena_str(&r->arena, value) };
}

/* The probe's headers, and our defaults. An empty Accept means none. */
static void read_fields(struct probe_run *r, const struct json *headers)
{
	bool accept = false;

	r->fields = ARENA_ARRAY(&r->arena, struct http_field, json_count(headers) + 2);
	JSON_FOREACH (it, headers) {
		struct str name = json_text_at(it, "name"), value = json_text_at(it, "value");

		accept = accept || str_ieq(name, STR("accept"));
		if (str_ieq(name, STR("host")) && r->host_field.n == 0)
			r->host_field = arena_str(&r->arena, value);
		else if (!str_ieq(name, STR("host")) &&
			 !(str_ieq(name, STR("accept")) && value.n == 0))
			add_field(r, name, value);
	}
	if (!has_field(r, "user-agent"))
		add_field(r, STR("user-agent"),
			  str_from(arena_printf(&r->arena, "kube-%s/" KUBE_MINOR,
						r->target.purpose)));
	if (!accept)
		add_field(r, STR("accept"), STR("*/*"));
}

static int read_action(struct probe_run *r, const struct json *action, struct error *err)
{
	struct str path = json_text_at(action, "path"), host = json_text_at(action, "host");
	int e;

	e = probe_run_port(r->target.container, json_getz(action, "port"), &r->url.port, err);
	if (e < 0)
		return e;
	if (host.n == 0)
		host = r->target.pod_ip;
	r->url.https = str_ieq(json_text_at(action, "scheme"), STR("HTTPS"));
	r->url.host = r->first_host = arena_str(&r->arena, host);
	r->url.authority = probe_run_join(r, host, r->url.port);
	r->url.target = path.n > 0 && path.p[0] == '/'
				? arena_str(&r->arena, path)
				: str_from(arena_printf(&r->arena, "/%.*s", STR_ARG(path)));
	read_fields(r, json_getz(action, "httpHeaders"));
	return 0;
}

void probe_http_begin(struct probe_run *r, const struct json *action)
{
	struct error err;

	if (read_action(r, action, &err) < 0)
		probe_run_tell_soon(r, PROBE_ERROR, str_from(err.msg));
	else
		connect_http(r);
}
