/*
 * Operations of the runtime in a container: commands, and streams that the runtime serves itself.
 */
#include "net/loop/url.h"
#include "net/relay/http_relay.h"
#include "node/kubelet/server_impl.h"
#include "node/node_limits.h"

#define TEXT STR("text/plain; charset=utf-8")

/* --- run -------------------------------------------------------------------------- */

static void on_ran(void *arg, const struct runtime_exec *result, const struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * CRI_MESSAGE_MAX);
	struct kubelet_request *r = kubelet_call_end(arg);

	if (!r)
		return;
	if (err) {
		kubelet_fail(r, err);
		return;
	}
	(void)buf_add_str(&text, result->out);
	(void)buf_add_str(&text, result->err);
	if (result->exit_code != 0)
		(void)buf_printf(&text, "command terminated with exit code %d\n",
				 result->exit_code);
	kubelet_reply(r, result->exit_code == 0 ? 200 : 500, TEXT, buf_str(&text));
}

/* The words of "cmd", separated by spaces. */
static struct runtime_strs command_of(struct kubelet_request *r, struct error *err)
{
	struct arena *a = &r->http->arena;
	struct str query = r->http->in.query, name, value, word;
	struct runtime_strs words = { 0 };

	while (url_param(&query, a, &name, &value)) {
		if (!str_eqz(name, "cmd"))
			continue;
		words.v = ARENA_ARRAY(a, struct str, value.n + 1);
		while (str_split(&value, ' ', &word))
			words.v[words.n++] = word;
		return words;
	}
	(void)error_set(err, ERR_BAD_REQUEST, "the command is missing: ?cmd=");
	return words;
}

void kubelet_serve_run(struct kubelet_request *r)
{
	const struct kubelet_server_opts *o = &r->server->opts;
	struct runtime_stream found = { .kind = RUNTIME_STREAM_EXEC };
	struct runtime_strs words;
	struct error err = { 0 };

	words = command_of(r, &err);
	if (words.n == 0 || o->host->find_stream(o->arg, &r->route, &found, &err) < 0)
		kubelet_fail(r, &err);
	else
		o->runtime->ops->exec(o->runtime, found.id, &words, 0, on_ran, kubelet_call_new(r));
}

/* --- streams ---------------------------------------------------------------------- */

/*
 * Copies the request headers for the runtime's server, without the caller's credentials and
 * hop-by-hop fields.
 */
static size_t copy_fields(struct kubelet_request *r, struct http_field **ret_fields)
{
	const struct http_fields *in = &r->http->in.fields;
	struct http_field *v = ARENA_ARRAY(&r->http->arena, struct http_field, in->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++) {
		struct str name = in->v[i].name;

		if (!str_eqz(name, "authorization") && !str_eqz(name, "cookie") &&
		    !http_fields_is_of_hop(in, name))
			v[n++] = in->v[i];
	}
	*ret_fields = v;
	return n;
}

/* "http://127.0.0.1:41233/exec/TOKEN" */
static int read_url(struct str url, struct http_relay_opts *o, struct error *err)
{
	struct str rest = url, authority;
	ptrdiff_t slash;

	if (!str_starts(url, STR("http://")))
		return error_set(err, ERR_UNIMPLEMENTED,
				 "the runtime streams at \"%.*s\", which is not http://",
				 STR_ARG(url));
	rest = str_skip(url, strlen("http://"));
	slash = str_chr(rest, '/');
	authority = slash >= 0 ? str_of(rest.p, (size_t)slash) : rest;
	o->authority = authority;
	o->target = slash >= 0 ? str_skip(rest, (size_t)slash) : STR("/");
	return addr_parse(&o->to, authority, 80, err);
}

static void on_refused(void *arg, struct http_stream *s UNUSED, int status UNUSED,
		       struct str body UNUSED, const struct error *err)
{
	struct error copy = *err;

	(void)error_wrap(&copy, -(int)err->code, "error dialing backend");
	copy.code = ERR_INTERNAL;
	kubelet_fail(arg, &copy);
}

static int stream_join(struct kubelet_request *r, struct str url, struct error *err)
{
	struct http_relay_opts o = { .method = r->http->in.method,
				     .upgrade = http_fields_get(&r->http->in.fields,
								STR("upgrade")),
				     .on_refused = on_refused,
				     .arg = r };
	struct http_field *fields;
	int e;

	e = read_url(arena_str(&r->http->arena, url), &o, err);
	if (e < 0)
		return e;
	o.nfields = copy_fields(r, &fields);
	o.fields = fields;
	return http_relay(r->http, &o, err);
}

static void on_url(void *arg, struct str url, const struct error *err)
{
	struct kubelet_request *r = kubelet_call_end(arg);
	struct error why;

	if (!r)
		return;
	if (err)
		kubelet_fail(r, err);
	else if (stream_join(r, url, &why) < 0)
		kubelet_fail(r, &why);
}

static enum runtime_stream_kind stream_kind_of(enum kubelet_page page)
{
	if (page == KUBELET_PORT_FORWARD)
		return RUNTIME_STREAM_PORTS;
	return page == KUBELET_ATTACH ? RUNTIME_STREAM_ATTACH : RUNTIME_STREAM_EXEC;
}

void kubelet_serve_stream(struct kubelet_request *r)
{
	const struct kubelet_server_opts *o = &r->server->opts;
	struct runtime_stream s;
	struct error err;
	int e;

	if (!http_stream_wants_upgrade(r->http)) {
		kubelet_reply(r, 400, TEXT, STR("Upgrade request required"));
		return;
	}
	e = kubelet_route_stream_query(r->http->in.query, stream_kind_of(r->route.page),
				       &r->http->arena, &s, &err);
	if (e == 0)
		e = o->host->find_stream(o->arg, &r->route, &s, &err);
	if (e < 0)
		kubelet_fail(r, &err);
	else
		o->runtime->ops->stream(o->runtime, &s, on_url, kubelet_call_new(r));
}
