/*
 * The clients' side. A guest has one connection at a time and makes its requests
 * on it, some at once, until the connection is spent; then it takes a new one. A
 * fickle guest lets go of streams and connections inside their own callbacks.
 */
#include "net/http/web_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

enum {
	BODY_MAX = 60 * 1000,
	BODY_HUGE = 250 * 1000, /* more than a server reads and throws away */
	ASK_TIMEOUT_MS = 20 * 1000,
	TRIES = 50,
};

/* --- requests ------------------------------------------------------------------------------ */

static void send_body(struct http_stream *s)
{
	struct web_ask *k = s->data;
	char block[8000];
	size_t n;

	while (k->sent < k->up && http_stream_room(s) > 0) {
		n = 1 + (size_t)web_world_draw(k->web, sizeof(block));
		n = MIN(n, k->up - k->sent);
		web_world_fill(block, k->id, k->sent, n);
		(void)http_stream_send_copy(s, str_of(block, n));
		k->sent += n;
	}
	if (k->sent == k->up && k->up)
		(void)http_stream_end(s, NULL, 0);
}

static void web_guest_fixture_leave(struct web_guest *g)
{
	struct http_client *client = TAKE(g->client);

	http_client_free(client);
}

/* Returns true if the stream was freed. */
static bool follow_whim(struct web_ask *k, enum web_whim reset, enum web_whim leaves)
{
	struct error err;

	if (k->whim == reset) {
		(void)error_set(&err, ERR_CANCELED, "changed my mind");
		http_stream_reset(k->stream, &err);
	} else if (k->whim == leaves) {
		web_guest_fixture_leave(k->guest);
	} else if (k->whim == WEB_WHIM_DRAIN_AT_HEAD) {
		http_client_drain(k->guest->client);
	}
	return k->stream == NULL;
}

static void ask_head(struct http_stream *s)
{
	struct web_ask *k = s->data;

	assert_int_equal(++k->heads, 1);
	k->status = s->in.status;
	if (k->status == 408)
		assert_true(k->web->climate.faulty); /* our body was held up on its way */
	else
		assert_int_equal(k->status, k->mode == WEB_MODE_FAIL ? 404 : 200);
	(void)follow_whim(k, WEB_WHIM_RESET_AT_HEAD, WEB_WHIM_LEAVE_AT_HEAD);
}

static bool echoes(const struct web_ask *k)
{
	return k->status == 200 && k->mode != WEB_MODE_EARLY && k->mode != WEB_MODE_WORKER &&
	       k->mode != WEB_MODE_FAIL;
}

static void check_bytes(const struct web_ask *k, struct str piece)
{
	char want[1024];
	size_t n;

	for (size_t at = 0; at < piece.n; at += n) {
		n = MIN(piece.n - at, sizeof(want));
		web_world_fill(want, k->id, k->got + at, n);
		assert_memory_equal(piece.p + at, want, n);
	}
}

static void ask_body(struct http_stream *s, struct str piece)
{
	struct web_ask *k = s->data;

	assert_true(k->heads == 1 && !k->ends && !k->closes && !k->head);
	if (echoes(k))
		check_bytes(k, piece);
	k->got += piece.n;
	if (follow_whim(k, WEB_WHIM_RESET_AT_BODY, WEB_WHIM_LEAVE_AT_BODY))
		return;
	if (!k->slow) {
		http_stream_consume(s, piece.n);
		return;
	}
	k->held += piece.n;
	if (!loop_timer_running(&k->consume))
		loop_timer_start(&k->consume, (int64_t)web_world_draw(k->web, 30));
}

static void on_consume(struct loop_timer *t)
{
	struct web_ask *k = CONTAINER_OF(t, struct web_ask, consume);

	if (k->stream)
		http_stream_consume(k->stream, k->held);
	k->held = 0;
}

static size_t expected_size(const struct web_ask *k)
{
	if (k->head)
		return 0;
	switch (k->mode) {
	case WEB_MODE_COLLECT:
	case WEB_MODE_STREAM:
		return k->up;
	case WEB_MODE_EARLY:
		return strlen("early");
	case WEB_MODE_WORKER:
		return strlen("asked the worker");
	case WEB_MODE_FAIL:
		return strlen("no such thing\n");
	default:
		return k->down;
	}
}

static void ask_end(struct http_stream *s)
{
	struct web_ask *k = s->data;

	assert_true(k->heads == 1 && !k->closes);
	assert_int_equal(++k->ends, 1);
	if (k->status == 408)
		return;
	assert_int_equal(k->got, expected_size(k));
	assert_int_not_equal(k->mode, WEB_MODE_RESET);
	if (k->mode == WEB_MODE_GENERATE && s->in.version == HTTP_2 && k->got)
		assert_true(str_eq(http_fields_get(&s->trailers, STR("x-end")), STR("yes")));
}

static bool may_be_nobody(const struct web_world *w)
{
	return w->climate.faulty || w->climate.leaving;
}

static bool may_try_again(const struct web_ask *k)
{
	return !may_be_nobody(k->web) && k->handled == 0 && k->err.code == ERR_UNAVAILABLE &&
	       k->tries < TRIES;
}

static void ask_close(struct http_stream *s, const struct error *err)
{
	struct web_ask *k = s->data;

	assert_int_equal(++k->closes, 1);
	assert_ptr_equal(k->stream, s);
	if (err)
		k->err = *err;
	else
		assert_int_equal(k->ends, 1);
	k->stream = NULL;
	k->over = !may_try_again(k);
	loop_timer_stop(&k->patience);
	loop_timer_stop(&k->consume);
	if (!loop_timer_running(&k->guest->next))
		loop_timer_start(&k->guest->next, (int64_t)web_world_draw(k->web, 5));
	if (k->whim == WEB_WHIM_LEAVE_AT_CLOSE)
		web_guest_fixture_leave(k->guest);
}

static const struct http_stream_ops ask_ops = {
	.on_head = ask_head,
	.on_body = ask_body,
	.on_end = ask_end,
	.on_writable = send_body,
	.on_close = ask_close,
};

static void on_patience(struct loop_timer *t)
{
	struct web_ask *k = CONTAINER_OF(t, struct web_ask, patience);
	struct error err;

	assert_true(k->web->climate.faulty);
	(void)error_set(&err, ERR_TIMEOUT, "no answer");
	http_stream_reset(k->stream, &err);
}

/* False when the client takes no requests any more. */
static bool ask_begin(struct web_ask *k)
{
	char target[16];
	struct http_request r = {
		.method = k->head ? STR("HEAD")
			  : k->up ? STR("POST")
				  : STR("GET"),
		.scheme = STR("http"),
		.authority = STR("server"),
		.length = web_world_draw(k->web, 2) ? -1 : (int64_t)k->up,
		.end = k->up == 0,
		.ops = &ask_ops,
		.data = k,
	};

	(void)snprintf(target, sizeof(target), "/%u", k->id);
	r.target = str_from(target);
	k->sent = k->got = k->held = 0;
	k->heads = k->ends = k->closes = 0;
	if (http_client_request(k->guest->client, &r, &k->stream, &k->err) < 0)
		return false;
	k->tries++;
	loop_timer_start(&k->patience, ASK_TIMEOUT_MS * (k->web->climate.faulty ? 1 : 40));
	send_body(k->stream);
	return true;
}

static void web_guest_fixture_on_client_close(void *arg, const struct error *err UNUSED)
{
	struct web_guest *g = arg;

	if (!loop_timer_running(&g->next))
		loop_timer_start(&g->next, (int64_t)web_world_draw(g->web, 20));
	if (g->web->climate.fickle && web_world_draw(g->web, 2))
		web_guest_fixture_leave(g);
}

static void connect_client(struct web_guest *g)
{
	struct http_client_opts opts = { .to = g->web->at,
					 .tls = g->web->client_tls[g->protocol == HTTP_PROTOCOL_2],
					 .protocol = g->protocol,
					 .connect_timeout_ms = 3000,
					 .ping_interval_ms = 2000,
					 .on_close = web_guest_fixture_on_client_close,
					 .arg = g };

	assert_int_equal(http_client_new(g->loop, &opts, &g->client, NULL), 0);
}

static struct web_ask *next_ask(struct web_guest *g)
{
	for (size_t i = 0; i < WEB_ASKS; i++)
		if (!g->asks[i].over && !g->asks[i].stream)
			return &g->asks[i];
	return NULL;
}

static bool has_stream(const struct web_guest *g)
{
	for (size_t i = 0; i < WEB_ASKS; i++)
		if (g->asks[i].stream)
			return true;
	return false;
}

/* Starts the next request; on a connection that is spent, waits for its streams to end first. */
static void on_next(struct loop_timer *t)
{
	struct web_guest *g = CONTAINER_OF(t, struct web_guest, next);
	struct web_ask *k = next_ask(g);

	if (!k)
		return;
	if (!g->client)
		connect_client(g);
	if (ask_begin(k)) {
		loop_timer_start(t, (int64_t)web_world_draw(g->web, g->web->climate.gap_ms));
		return;
	}
	if (may_be_nobody(g->web) && ++k->tries == TRIES)
		k->over = true;
	if (has_stream(g))
		return;
	web_guest_fixture_leave(g);
	loop_timer_start(t, (int64_t)web_world_draw(g->web, 50));
}

/* --- making one ----------------------------------------------------------------------- */

static void ask_init(struct web_ask *k, struct web_guest *g, unsigned id)
{
	struct web_world *w = g->web;

	*k = (struct web_ask){ .web = w, .guest = g, .id = id };
	k->mode = (enum web_mode)web_world_draw(w, w->climate.faulty ? WEB_MODES : WEB_MODE_RESET);
	k->up = web_world_draw(w, 3)
			? (size_t)web_world_draw(w, web_world_draw(w, 2) ? 100 : BODY_MAX)
			: 0;
	/* A server that does not read so much closes, and may cut off its own answer. */
	if (web_world_draw(w, 20) == 0 && (w->climate.faulty || k->mode <= WEB_MODE_STREAM))
		k->up = BODY_HUGE;
	k->down = (size_t)web_world_draw(w, web_world_draw(w, 2) ? 100 : BODY_MAX);
	k->head = k->up == 0 && k->mode != WEB_MODE_RESET && web_world_draw(w, 6) == 0;
	k->slow = web_world_draw(w, 3) == 0;
	k->whim = w->climate.fickle && web_world_draw(w, 2)
			  ? (enum web_whim)web_world_draw(w, WEB_WHIMS)
			  : WEB_WHIM_NONE;
	if (k->mode == WEB_MODE_RESET)
		k->down += 1000;
	loop_timer_init(&k->patience, g->loop, on_patience);
	loop_timer_init(&k->consume, g->loop, on_consume);
}

void web_guest_init(struct web_world *w, unsigned i)
{
	struct web_guest *g = &w->guests[i];
	char name[16];

	(void)snprintf(name, sizeof(name), "client-%u", i);
	g->web = w;
	g->loop = sim_loop_new(w->sim, name);
	g->protocol = web_world_draw(w, 2) ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_1;
	for (unsigned k = 0; k < WEB_ASKS; k++)
		ask_init(&g->asks[k], g, i * WEB_ASKS + k);
	loop_timer_init(&g->next, g->loop, on_next);
	loop_timer_start(&g->next, (int64_t)web_world_draw(w, 20));
}
