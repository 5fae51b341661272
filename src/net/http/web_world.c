/*
 * The server's side, and the world around it. Handlers answer in every way that
 * the interface has: at once, early, later, from another loop, in pieces, not
 * at all.
 */
#include "net/http/web_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

/* The server's side of a request. */
struct answer {
	struct web_ask *ask;
	struct web_world *web;
	struct http_stream *stream;
	struct loop *lane;
	size_t sent, back;
	struct loop_msg msg; /* to the worker and back */
	bool out; /* the message is under way */
	bool closed;
};

uint64_t web_world_draw(struct web_world *w, uint64_t n)
{
	return prng_below(&w->prng, n);
}

void web_world_fill(char *to, unsigned id, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++)
		*to++ = (char)(id * 7 + i * 31 + i / 251);
}

/* --- the server ----------------------------------------------------------------------------- */

static void answer_put(struct answer *a)
{
	if (!a->closed || a->out)
		return;
	a->web->open_answers--;
	http_stream_unref(a->stream);
	free(a);
}

static void answer_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct answer *a = s->data;

	assert_false(a->closed);
	a->closed = true;
	a->ask->answered++;
	assert_int_equal(a->ask->answered, a->ask->handled);
	answer_put(a);
}

static void collected(struct http_stream *s, struct str body)
{
	struct answer *a = s->data;
	struct bytes *copy = bytes_copy(body);

	assert_int_equal(body.n, a->ask->up);
	(void)http_stream_reply(s, 200, STR("text/plain"),
				(struct slice){ copy->data, copy->n, copy });
}

/* Gives back only what has gone out again, so that the windows are felt. */
static void stream_body(struct http_stream *s, struct str piece)
{
	struct answer *a = s->data;

	a->back += piece.n;
	(void)http_stream_send_copy(s, piece);
	if (http_stream_room(s) > 0) {
		http_stream_consume(s, a->back);
		a->back = 0;
	}
}

static void stream_writable(struct http_stream *s)
{
	struct answer *a = s->data;
	size_t back = a->back;

	a->back = 0;
	http_stream_consume(s, back);
}

static void stream_end(struct http_stream *s)
{
	(void)http_stream_end(s, NULL, 0);
}

static const struct http_stream_ops stream_ops = {
	.on_body = stream_body,
	.on_end = stream_end,
	.on_writable = stream_writable,
	.on_close = answer_close,
};

static void generate(struct http_stream *s)
{
	struct answer *a = s->data;
	struct http_field trailer = HTTP_FIELD("x-end", STR("yes"));
	char block[5000];
	size_t n;

	while (a->sent < a->ask->down && http_stream_room(s) > 0) {
		n = 1 + (size_t)web_world_draw(a->web, sizeof(block));
		n = MIN(n, a->ask->down - a->sent);
		web_world_fill(block, a->ask->id, a->sent, n);
		(void)http_stream_send_copy(s, str_of(block, n));
		a->sent += n;
	}
	if (a->ask->mode == WEB_MODE_RESET && a->sent >= a->ask->down / 2)
		http_stream_reset(s, NULL);
	else if (a->sent == a->ask->down)
		(void)http_stream_end(s, &trailer, 1);
}

static const struct http_stream_ops generate_ops = {
	.on_writable = generate,
	.on_close = answer_close,
};

static const struct http_stream_ops plain_ops = {
	.on_close = answer_close,
};

static void back_from_worker(struct loop_msg *m)
{
	struct answer *a = CONTAINER_OF(m, struct answer, msg);

	a->out = false;
	(void)http_stream_reply(a->stream, 200, STR_NULL, slice_static(STR("asked the worker")));
	answer_put(a);
}

static void at_worker(struct loop_msg *m)
{
	struct answer *a = CONTAINER_OF(m, struct answer, msg);

	m->fn = back_from_worker;
	loop_post(a->lane, m);
}

static void begin_answer(struct answer *a, struct http_stream *s)
{
	struct error err;

	s->ops = &plain_ops;
	switch (a->ask->mode) {
	case WEB_MODE_COLLECT:
		http_stream_collect(s, collected);
		break;
	case WEB_MODE_STREAM:
		s->ops = &stream_ops;
		(void)http_stream_respond(s, 200, NULL, 0, -1);
		break;
	case WEB_MODE_EARLY:
		(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("early")));
		break;
	case WEB_MODE_WORKER:
		a->out = true;
		a->msg.fn = at_worker;
		loop_post(a->web->worker, &a->msg);
		break;
	case WEB_MODE_FAIL:
		(void)error_set(&err, ERR_NOT_FOUND, "no such thing");
		http_stream_fail(s, &err);
		break;
	default:
		s->ops = &generate_ops;
		(void)http_stream_respond(s, 200, NULL, 0,
					  web_world_draw(a->web, 2) ? -1 : (int64_t)a->ask->down);
		generate(s);
	}
}

static void web_world_handle(void *arg, struct http_stream *s, size_t lane)
{
	struct answer *a = XNEW(struct answer);
	struct web_world *w = arg;
	uint64_t id;

	assert_true(str_to_u64(str_skip(s->in.path, 1), &id) && id < WEB_GUESTS * WEB_ASKS);
	a->ask = &w->guests[id / WEB_ASKS].asks[id % WEB_ASKS];
	a->web = w;
	a->stream = http_stream_ref(s);
	a->lane = w->lanes[lane];
	a->ask->handled++;
	w->open_answers++;
	assert_ptr_equal(http_stream_loop(s), w->lanes[lane]);
	assert_int_equal(a->ask->handled, 1);
	s->data = a;
	http_stream_body_timeout(s, 15 * 1000, 0);
	begin_answer(a, s);
}

/* --- the world ------------------------------------------------------------------------ */

static struct tls *web_world_make_tls(const struct tls_opts *opts)
{
	struct tls *t = NULL;

	assert_int_equal(tls_new(opts, &t, NULL), 0);
	return t;
}

/* Certificates of the world's own time. */
static void issue(const struct clock *clock, struct buf *ca, struct buf *cert, struct buf *key)
{
	static const struct str host = { "server", 6 };
	struct pki_leaf leaf = {
		.common_name = host, .hosts = &host, .nhosts = 1, .server = true, .lifetime = 3600
	};
	struct pki_ca *authority;

	assert_int_equal(pki_ca_new(STR("ca"), 3600, clock, &authority, NULL), 0);
	assert_int_equal(pki_ca_cert(authority, ca, NULL), 0);
	assert_int_equal(pki_issue(authority, &leaf, clock, cert, key, NULL), 0);
	pki_ca_free(authority);
}

static void web_make_tls(struct web_world *w)
{
	static const char *const both[] = { "h2", "http/1.1", NULL };
	static const char *const only[][2] = { { "http/1.1", NULL }, { "h2", NULL } };
	struct buf ca = BUF_INIT(64 * KIB), cert = BUF_INIT(64 * KIB), key = BUF_INIT(64 * KIB);
	struct tls_pair pair;

	issue(loop_clock(w->lanes[0]), &ca, &cert, &key);
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	w->server_tls = web_world_make_tls(
		&(struct tls_opts){ .server = true, .pairs = &pair, .npairs = 1, .alpn = both });
	for (int i = 0; i < 2; i++)
		w->client_tls[i] = web_world_make_tls(
			&(struct tls_opts){ .ca = buf_str(&ca), .alpn = only[i] });
	buf_release(&ca);
	buf_release(&cert);
	buf_release(&key);
}

static void web_listen(struct web_world *w)
{
	struct http_server_opts opts = { .loops = w->lanes,
					 .nloops = 2,
					 .config.idle_timeout_ms = w->climate.idle_timeout_ms,
					 .handler = web_world_handle,
					 .arg = w };
	struct addr any;

	w->server = http_server_new(&opts);
	assert_int_equal(addr_parse(&any, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->server, &any, w->server_tls, 0, NULL, NULL), 0);
	assert_int_equal(addr_parse(&w->at, STR("server:80"), 0, NULL), 0);
}

void web_world_init(struct web_world *w, const struct sim_opts *opts, struct web_climate climate)
{
	*w = (struct web_world){ .sim = sim_new(opts), .climate = climate };
	w->climate.gap_ms = climate.gap_ms ? climate.gap_ms : 10;
	prng_init(&w->prng, opts->seed + 1);
	w->lanes[0] = sim_loop_new(w->sim, "server");
	w->lanes[1] = sim_loop_new(w->sim, "server");
	w->worker = sim_loop_new(w->sim, "server");
	if (climate.tls)
		web_make_tls(w);
	web_listen(w);
	for (unsigned i = 0; i < WEB_GUESTS; i++)
		web_guest_init(w, i);
}

static bool all_over(void *arg)
{
	struct web_world *w = arg;

	for (size_t i = 0; i < WEB_GUESTS; i++)
		for (size_t k = 0; k < WEB_ASKS; k++)
			if (!w->guests[i].asks[k].over)
				return false;
	return true;
}

static void web_world_on_drained(void *arg)
{
	struct web_world *w = arg;
	struct http_server_stats stats;

	w->drained = true;
	w->drains++;
	http_server_stats(w->server, &stats);
	assert_int_equal(stats.conns, 0);
}

static bool is_drained(void *arg)
{
	return ((struct web_world *)arg)->drained;
}

void web_world_drain(struct web_world *w, int64_t grace_ms)
{
	http_server_drain(w->server, grace_ms, web_world_on_drained, w);
	/* A lane's turn may be late; the rest is the grace. */
	assert_true(sim_run_until(w->sim, is_drained, w, grace_ms + 1000));
	assert_int_equal(w->drains, 1);
}

void web_world_finish(struct web_world *w)
{
	if (!sim_run_until(w->sim, all_over, w, WEB_HANG_MS))
		fail_msg("it hangs");
}

/* Without faults all end well; but a server that leaves need not take what it has not seen. */
static bool ended_well(const struct web_ask *k)
{
	const struct web_climate *c = &k->web->climate;

	return c->faulty || k->ends == 1 ||
	       (c->leaving && k->handled == 0 && k->err.code == ERR_UNAVAILABLE);
}

static void check_asks(struct web_world *w)
{
	for (size_t i = 0; i < WEB_GUESTS; i++)
		for (size_t n = 0; n < WEB_ASKS; n++) {
			struct web_ask *k = &w->guests[i].asks[n];

			assert_null(k->stream);
			assert_int_equal(k->handled, k->answered);
			if (!ended_well(k))
				fail_msg("request %u, mode %d: %s", k->id, k->mode, k->err.msg);
		}
}

void web_world_release(struct web_world *w)
{
	for (size_t i = 0; i < WEB_GUESTS; i++) {
		loop_timer_stop(&w->guests[i].next);
		http_client_free(w->guests[i].client);
	}
	sim_run_for(w->sim, 5000);
	http_server_free(w->server);
	check_asks(w);
	assert_int_equal(w->open_answers, 0);
	assert_int_equal(sim_conns(w->sim), 0);
	for (size_t i = 0; i < WEB_GUESTS; i++)
		loop_free(w->guests[i].loop);
	loop_free(w->lanes[0]);
	loop_free(w->lanes[1]);
	loop_free(w->worker);
	sim_free(w->sim);
	tls_unref(w->server_tls);
	tls_unref(w->client_tls[0]);
	tls_unref(w->client_tls[1]);
}
