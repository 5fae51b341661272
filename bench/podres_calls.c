/*
 * Each connection has slots; a slot makes its next call when the last one has ended.
 */
#include "podres_calls.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "grpc/frame.h"
#include "net/http/client.h"
#include "node/book/methods.h"
#include "podres_http.h"
#include "podresources.pb-c.h"

enum { WINDOW = 1 << 20 };

struct slot;

struct calls {
	struct podres_calls_opts opts;
	struct podres_calls_result result;
	struct http_client **clients;
	struct slot *slots;
	struct buf first; /* what the first call was answered */
	size_t begun, ended;
	int64_t begun_ns;
};

struct slot {
	struct calls *calls;
	struct http_client *client;
	int64_t begun_ns;
	size_t bytes; /* of this answer so far */
	bool first;
};

static void call(struct slot *s);

/* --- the first answer ------------------------------------------------------------------- */

static size_t count_devices(const Podresources__PodResources *pod)
{
	size_t n = 0;

	for (size_t i = 0; i < pod->n_containers; i++) {
		for (size_t j = 0; j < pod->containers[i]->n_devices; j++)
			n += pod->containers[i]->devices[j]->n_device_ids;
	}
	return n;
}

static void look_at_first(struct calls *c)
{
	CLEANUP(arena_release) struct arena a;
	struct podres_calls_result *r = &c->result;
	struct str wire = str_skip(buf_str(&c->first), GRPC_PREFIX);
	void *message = NULL;
	struct error err;

	arena_init(&a, SIZE_MAX);
	if (grpc_message_unpack(podres_method_list.response, wire, &a, &message, &err) < 0)
		load_die(err.msg);
	r->bytes = c->first.n;
	r->pods = ((Podresources__ListResponse *)message)->n_pod_resources;
	for (size_t i = 0; i < r->pods; i++)
		r->devices += count_devices(
			((Podresources__ListResponse *)message)->pod_resources[i]);
}

/* --- calls ------------------------------------------------------------------------------ */

static void on_body(struct http_stream *stream, struct str piece)
{
	struct slot *s = stream->data;

	if (s->first)
		(void)buf_add(&s->calls->first, piece.p, piece.n);
	s->bytes += piece.n;
	http_stream_consume(stream, piece.n);
}

static void finish(struct calls *c)
{
	c->result.s = load_since_ms(c->begun_ns) / 1000;
	c->opts.on_done(c->opts.arg, &c->result);
	for (size_t i = 0; i < c->opts.connections; i++)
		http_client_free(c->clients[i]);
	free(c->clients);
	free(c->slots);
	buf_release(&c->first);
	free(c->result.ms.v);
	free(c);
}

static void on_close(struct http_stream *stream, const struct error *err)
{
	struct slot *s = stream->data;
	struct calls *c = s->calls;

	if (c->ended == c->opts.calls)
		return;
	if (err || !podres_http_ok(stream))
		load_die(err ? err->msg : "a call failed");
	load_times_add(&c->result.ms, load_since_ms(s->begun_ns));
	if (s->first)
		look_at_first(c);
	else if (c->result.bytes && s->bytes != c->result.bytes)
		load_die("an answer has another length");
	s->first = false;
	if (++c->ended == c->opts.calls) {
		finish(c);
		return;
	}
	if (c->begun < c->opts.calls)
		call(s);
}

static const struct http_stream_ops ops = { .on_body = on_body, .on_close = on_close };

static void call(struct slot *s)
{
	struct calls *c = s->calls;

	s->first = c->begun++ == 0;
	s->bytes = 0;
	s->begun_ns = load_now_ns();
	podres_http_call(s->client, &podres_method_list, &ops, s);
}

static void on_client_close(void *arg UNUSED, const struct error *err)
{
	load_die(err ? err->msg : "a connection ended");
}

static void open_connection(struct calls *c, size_t i)
{
	struct http_client_opts opts = { .to = c->opts.to,
					 .protocol = HTTP_PROTOCOL_2,
					 .config = { .window = WINDOW, .lax_messaging = true },
					 .on_close = on_client_close };
	struct error err;

	if (http_client_new(c->opts.loop, &opts, &c->clients[i], &err) < 0)
		load_die(err.msg);
	for (size_t n = 0; n < c->opts.flight && c->begun < c->opts.calls; n++) {
		struct slot *s = &c->slots[i * c->opts.flight + n];

		s->calls = c;
		s->client = c->clients[i];
		call(s);
	}
}

void podres_calls_run(const struct podres_calls_opts *opts)
{
	struct calls *c = XNEW(struct calls);

	c->opts = *opts;
	if (!opts->calls || !opts->connections || !opts->flight)
		load_die("no calls");
	c->clients = xcalloc(opts->connections, sizeof(struct http_client *));
	c->slots = xcalloc(opts->connections * opts->flight, sizeof(*c->slots));
	buf_init(&c->first, PODRES_LIST_MAX);
	c->begun_ns = load_now_ns();
	for (size_t i = 0; i < opts->connections; i++)
		open_connection(c, i);
}
