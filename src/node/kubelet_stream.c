/*
 * What the runtime does in a container: commands to their end, and streams that it serves itself.
 */
#include "base/limits.h"
#include "net/url.h"
#include "node/kubelet_impl.h"

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

/* The words of "cmd", which a space divides. */
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
		o->runtime->ops->exec(o->runtime, found.id, &words, 0, on_ran,
				      kubelet_call_new(r));
}

/* --- streams ---------------------------------------------------------------------- */

static void on_url(void *arg, struct str url, const struct error *err)
{
	struct kubelet_request *r = kubelet_call_end(arg);

	(void)url;
	if (!r)
		return;
	if (err) {
		kubelet_fail(r, err);
		return;
	}
	kubelet_reply(r, 501, TEXT, STR("not served yet"));
}

static enum runtime_stream_kind kind_of(enum kubelet_page page)
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

	e = kubelet_route_stream_query(r->http->in.query, kind_of(r->route.page), &r->http->arena,
				       &s, &err);
	if (e == 0)
		e = o->host->find_stream(o->arg, &r->route, &s, &err);
	if (e < 0)
		kubelet_fail(r, &err);
	else
		o->runtime->ops->stream(o->runtime, &s, on_url, kubelet_call_new(r));
}
