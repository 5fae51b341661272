/*
 * Watchers are dealt out to connections in turn.
 */
#include "podres_watchers.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "grpc/frame.h"
#include "load.h"
#include "net/http/client.h"
#include "podres_http.h"

struct watcher {
	struct podres_watchers *all;
	struct grpc_frame frame;
};

struct podres_watchers {
	struct podres_watchers_opts opts;
	struct http_client **clients;
	struct watcher *watchers;
	size_t open;
	bool closing;
};

static void on_head(struct http_stream *s)
{
	struct watcher *w = s->data;
	struct podres_watchers *all = w->all;

	if (s->in.status != 200 || http_fields_get(&s->in.fields, STR("grpc-status")).n)
		load_die("a watch was refused");
	if (++all->open == all->opts.count)
		all->opts.on_open(all->opts.arg);
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct watcher *w = s->data;
	struct podres_watchers *all = w->all;
	int64_t now_ns = load_now_ns();
	size_t n = piece.n;
	struct str message;
	struct error err;
	int more;

	while ((more = grpc_frame_next(&w->frame, &piece, &message, &err)) > 0) {
		all->opts.on_message(all->opts.arg, (size_t)(w - all->watchers), message, now_ns);
		grpc_frame_drop(&w->frame);
	}
	if (more < 0)
		load_die(err.msg);
	http_stream_consume(s, n);
}

static void on_close(struct http_stream *s, const struct error *err)
{
	struct watcher *w = s->data;

	if (!w->all->closing)
		load_die(err ? err->msg : "a watch ended");
}

static const struct http_stream_ops ops = {
	.on_head = on_head,
	.on_body = on_body,
	.on_close = on_close,
};

static void on_client_close(void *arg, const struct error *err)
{
	struct podres_watchers *all = arg;

	if (!all->closing)
		load_die(err ? err->msg : "a connection ended");
}

struct podres_watchers *podres_watchers_new(const struct podres_watchers_opts *opts)
{
	struct podres_watchers *all = XNEW(struct podres_watchers);
	struct http_client_opts client = { .to = opts->to,
					   .protocol = HTTP_PROTOCOL_2,
					   .config = { .lax_messaging = true },
					   .on_close = on_client_close,
					   .arg = all };
	struct error err;

	all->opts = *opts;
	all->clients = xcalloc(opts->connections, sizeof(struct http_client *));
	all->watchers = xcalloc(opts->count, sizeof(*all->watchers));
	for (size_t i = 0; i < opts->connections; i++) {
		if (http_client_new(opts->loop, &client, &all->clients[i], &err) < 0)
			load_die(err.msg);
	}
	for (size_t i = 0; i < opts->count; i++) {
		struct watcher *w = &all->watchers[i];

		w->all = all;
		grpc_frame_init(&w->frame, opts->method->max_response);
		podres_http_call(all->clients[i % opts->connections], opts->method, &ops, w);
	}
	return all;
}

void podres_watchers_free(struct podres_watchers *all)
{
	all->closing = true;
	for (size_t i = 0; i < all->opts.connections; i++)
		http_client_free(all->clients[i]);
	for (size_t i = 0; i < all->opts.count; i++)
		grpc_frame_release(&all->watchers[i].frame);
	free(all->clients);
	free(all->watchers);
	free(all);
}
