/*
 * A world of HTTP: one server on two loops with a worker beside them, several
 * clients on hosts of their own, HTTP/1.1 and HTTP/2, narrow pipes, slow loops,
 * lost connections, cuts, crashes, and a server that drains in the middle of it
 * all. Over many seeds: a response that ends is the right one, nothing is
 * answered twice, every stream is closed once, nothing hangs, nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/sim.h"

enum {
	CLIENTS = 4,
	ASKS = 6, /* per client */
	BODY_MAX = 60 * 1000,
	BODY_HUGE = 250 * 1000, /* more than a server reads and throws away */
	ASK_TIMEOUT_MS = 20 * 1000,
	HANG_MS = 900 * 1000,
	TRIES = 50,
};

/* What the server does with a request. */
enum mode {
	MODE_COLLECT, /* gathers the body and sends it back */
	MODE_STREAM, /* sends it back as it comes */
	MODE_EARLY, /* answers before the body is there */
	MODE_WORKER, /* answers after another loop was asked */
	MODE_GENERATE, /* sends a body as there is room, and trailers */
	MODE_FAIL,
	MODE_RESET, /* gives up in the middle */
	MODES,
};

/* What a fickle client does in the middle of a response, or when it is closed. */
enum whim {
	WHIM_NONE,
	WHIM_RESET_AT_HEAD,
	WHIM_RESET_AT_BODY,
	WHIM_LEAVE_AT_HEAD, /* frees the client */
	WHIM_LEAVE_AT_BODY,
	WHIM_LEAVE_AT_CLOSE,
	WHIM_DRAIN_AT_HEAD,
	WHIMS,
};

struct web;

/* One request, its course at the client, and what the server made of it. */
struct ask {
	struct web *web;
	struct guest *guest;
	unsigned id;
	enum mode mode;
	size_t up, down; /* bytes of the bodies */
	bool head; /* method HEAD */
	bool slow; /* consumes late */
	enum whim whim;
	struct http_stream *stream;
	size_t sent, got, held;
	struct loop_timer patience, consume;
	int heads, ends, closes, tries, status;
	int handled, answered; /* server: calls of the handler; streams closed there */
	bool over;
	struct error err;
};

/* A client's host: one connection at a time. */
struct guest {
	struct web *web;
	struct loop *loop;
	struct http_client *client;
	enum http_protocol protocol;
	struct loop_timer next; /* the next step */
	struct ask asks[ASKS];
};

/* The server's side of a request. */
struct answer {
	struct ask *ask;
	struct web *web;
	struct http_stream *stream;
	struct loop *lane;
	size_t sent, back;
	struct loop_msg msg; /* to the worker and back */
	bool out; /* the message is under way */
	bool closed;
};

/* What the world is like. */
struct climate {
	bool faulty; /* requests may fail at any point */
	bool fickle; /* clients give up: requests, connections */
	bool leaving; /* the server leaves: requests that it has not seen may fail */
	int64_t idle_timeout_ms; /* the server's */
	int64_t gap_ms; /* most time between two requests of a client */
};

struct web {
	struct climate climate;
	struct sim *sim;
	struct prng prng;
	struct loop *lanes[2], *worker;
	struct http_server *server;
	struct guest guests[CLIENTS];
	struct addr at;
	bool drained;
	int drains;
	unsigned open_answers; /* not freed */
};

static char pattern(unsigned id, size_t i)
{
	return (char)(id * 7 + i * 31 + i / 251);
}

static void fill(char *to, unsigned id, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = pattern(id, at + i);
}

static uint64_t draw(struct web *w, uint64_t n)
{
	return prng_below(&w->prng, n);
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
		n = 1 + (size_t)draw(a->web, sizeof(block));
		n = MIN(n, a->ask->down - a->sent);
		fill(block, a->ask->id, a->sent, n);
		(void)http_stream_send_copy(s, str_of(block, n));
		a->sent += n;
	}
	if (a->ask->mode == MODE_RESET && a->sent >= a->ask->down / 2)
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

static void ask_worker(struct answer *a)
{
	a->out = true;
	a->msg.fn = at_worker;
	loop_post(a->web->worker, &a->msg);
}

static void begin_answer(struct answer *a, struct http_stream *s)
{
	struct error err;

	s->ops = &plain_ops;
	switch (a->ask->mode) {
	case MODE_COLLECT:
		http_stream_collect(s, collected);
		break;
	case MODE_STREAM:
		s->ops = &stream_ops;
		(void)http_stream_respond(s, 200, NULL, 0, -1);
		break;
	case MODE_EARLY:
		(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("early")));
		break;
	case MODE_WORKER:
		ask_worker(a);
		break;
	case MODE_FAIL:
		(void)error_set(&err, ERR_NOT_FOUND, "no such thing");
		http_stream_fail(s, &err);
		break;
	default:
		s->ops = &generate_ops;
		(void)http_stream_respond(s, 200, NULL, 0,
					  draw(a->web, 2) ? -1 : (int64_t)a->ask->down);
		generate(s);
	}
}

static void handle(void *arg, struct http_stream *s, size_t lane)
{
	struct answer *a = XNEW(struct answer);
	struct web *w = arg;
	uint64_t id;

	assert_true(str_to_u64(str_skip(s->in.path, 1), &id) && id < CLIENTS * ASKS);
	a->ask = &w->guests[id / ASKS].asks[id % ASKS];
	a->web = w;
	a->stream = http_stream_ref(s);
	a->lane = w->lanes[lane];
	a->ask->handled++;
	w->open_answers++;
	assert_ptr_equal(http_stream_loop(s), w->lanes[lane]);
	if (!w->climate.faulty)
		assert_int_equal(a->ask->handled, 1);
	s->data = a;
	http_stream_body_timeout(s, 15 * 1000);
	begin_answer(a, s);
}

/* --- the clients ------------------------------------------------------------------------------ */

static void send_body(struct http_stream *s)
{
	struct ask *k = s->data;
	char block[8000];
	size_t n;

	while (k->sent < k->up && http_stream_room(s) > 0) {
		n = 1 + (size_t)draw(k->web, sizeof(block));
		n = MIN(n, k->up - k->sent);
		fill(block, k->id, k->sent, n);
		(void)http_stream_send_copy(s, str_of(block, n));
		k->sent += n;
	}
	if (k->sent == k->up && k->up)
		(void)http_stream_end(s, NULL, 0);
}

static void leave(struct guest *g)
{
	struct http_client *client = TAKE(g->client);

	http_client_free(client);
}

/* True when the stream is no more. */
static bool follow_whim(struct ask *k, enum whim reset, enum whim leaves)
{
	struct error err;

	if (k->whim == reset) {
		(void)error_set(&err, ERR_CANCELED, "changed my mind");
		http_stream_reset(k->stream, &err);
	} else if (k->whim == leaves) {
		leave(k->guest);
	} else if (k->whim == WHIM_DRAIN_AT_HEAD) {
		http_client_drain(k->guest->client);
	}
	return k->stream == NULL;
}

static void ask_head(struct http_stream *s)
{
	struct ask *k = s->data;

	assert_int_equal(++k->heads, 1);
	k->status = s->in.status;
	if (k->status == 408)
		assert_true(k->web->climate.faulty); /* our body was held up on its way */
	else
		assert_int_equal(k->status, k->mode == MODE_FAIL ? 404 : 200);
	(void)follow_whim(k, WHIM_RESET_AT_HEAD, WHIM_LEAVE_AT_HEAD);
}

static bool echoes(const struct ask *k)
{
	return k->status == 200 && k->mode != MODE_EARLY && k->mode != MODE_WORKER &&
	       k->mode != MODE_FAIL;
}

static void ask_body(struct http_stream *s, struct str piece)
{
	struct ask *k = s->data;

	assert_true(k->heads == 1 && !k->ends && !k->closes && !k->head);
	for (size_t i = 0; echoes(k) && i < piece.n; i++)
		if (piece.p[i] != pattern(k->id, k->got + i))
			fail_msg("request %u: byte %zu is wrong", k->id, k->got + i);
	k->got += piece.n;
	if (follow_whim(k, WHIM_RESET_AT_BODY, WHIM_LEAVE_AT_BODY))
		return;
	if (!k->slow) {
		http_stream_consume(s, piece.n);
		return;
	}
	k->held += piece.n;
	if (!loop_timer_running(&k->consume))
		loop_timer_start(&k->consume, (int64_t)draw(k->web, 30));
}

static void on_consume(struct loop_timer *t)
{
	struct ask *k = CONTAINER_OF(t, struct ask, consume);

	if (k->stream)
		http_stream_consume(k->stream, k->held);
	k->held = 0;
}

static size_t expected_size(const struct ask *k)
{
	if (k->head)
		return 0;
	switch (k->mode) {
	case MODE_COLLECT:
	case MODE_STREAM:
		return k->up;
	case MODE_EARLY:
		return strlen("early");
	case MODE_WORKER:
		return strlen("asked the worker");
	case MODE_FAIL:
		return strlen("no such thing\n");
	default:
		return k->down;
	}
}

static void ask_end(struct http_stream *s)
{
	struct ask *k = s->data;

	assert_true(k->heads == 1 && !k->closes);
	assert_int_equal(++k->ends, 1);
	if (k->status == 408)
		return;
	assert_int_equal(k->got, expected_size(k));
	assert_int_not_equal(k->mode, MODE_RESET);
	if (k->mode == MODE_GENERATE && s->in.version == HTTP_2 && k->got)
		assert_true(str_eq(http_fields_get(&s->trailers, STR("x-end")), STR("yes")));
}

static bool may_try_again(const struct ask *k)
{
	return !k->web->climate.faulty && !k->web->climate.leaving && k->handled == 0 &&
	       k->err.code == ERR_UNAVAILABLE && k->tries < TRIES;
}

static void ask_close(struct http_stream *s, const struct error *err)
{
	struct ask *k = s->data;

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
		loop_timer_start(&k->guest->next, (int64_t)draw(k->web, 5));
	if (k->whim == WHIM_LEAVE_AT_CLOSE)
		leave(k->guest);
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
	struct ask *k = CONTAINER_OF(t, struct ask, patience);
	struct error err;

	assert_true(k->web->climate.faulty);
	(void)error_set(&err, ERR_TIMEOUT, "no answer");
	http_stream_reset(k->stream, &err);
}

/* False when the client takes no requests any more. */
static bool ask_begin(struct ask *k)
{
	char target[16];
	struct http_request r = {
		.method = k->head ? STR("HEAD")
			  : k->up ? STR("POST")
				  : STR("GET"),
		.scheme = STR("http"),
		.authority = STR("server"),
		.length = draw(k->web, 2) ? -1 : (int64_t)k->up,
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

static void on_client_close(void *arg, const struct error *err UNUSED)
{
	struct guest *g = arg;

	if (!loop_timer_running(&g->next))
		loop_timer_start(&g->next, (int64_t)draw(g->web, 20));
}

static void connect_client(struct guest *g)
{
	struct http_client_opts opts = { .to = g->web->at,
					 .protocol = g->protocol,
					 .connect_timeout_ms = 3000,
					 .ping_interval_ms = 2000,
					 .on_close = on_client_close,
					 .arg = g };

	assert_int_equal(http_client_new(g->loop, &opts, &g->client, NULL), 0);
}

static struct ask *next_ask(struct guest *g)
{
	for (size_t i = 0; i < ASKS; i++)
		if (!g->asks[i].over && !g->asks[i].stream)
			return &g->asks[i];
	return NULL;
}

static bool has_stream(const struct guest *g)
{
	for (size_t i = 0; i < ASKS; i++)
		if (g->asks[i].stream)
			return true;
	return false;
}

static bool may_be_nobody(const struct web *w)
{
	return w->climate.faulty || w->climate.leaving;
}

/* Starts the next request; on a connection that is spent, waits for its streams to end first. */
static void on_next(struct loop_timer *t)
{
	struct guest *g = CONTAINER_OF(t, struct guest, next);
	struct ask *k = next_ask(g);

	if (!k)
		return;
	if (!g->client)
		connect_client(g);
	if (ask_begin(k)) {
		loop_timer_start(t, (int64_t)draw(g->web, g->web->climate.gap_ms));
		return;
	}
	if (may_be_nobody(g->web) && ++k->tries == TRIES)
		k->over = true;
	if (has_stream(g))
		return;
	leave(g);
	loop_timer_start(t, (int64_t)draw(g->web, 50));
}

/* --- the world ---------------------------------------------------------------------------------- */

static void ask_init(struct ask *k, struct guest *g, unsigned id)
{
	struct web *w = g->web;

	*k = (struct ask){ .web = w, .guest = g, .id = id };
	k->mode = (enum mode)draw(w, w->climate.faulty ? MODES : MODE_RESET);
	k->up = draw(w, 3) ? (size_t)draw(w, draw(w, 2) ? 100 : BODY_MAX) : 0;
	/* A server that does not read so much closes, and may cut off its own answer. */
	if (draw(w, 20) == 0 && (w->climate.faulty || k->mode <= MODE_STREAM))
		k->up = BODY_HUGE;
	k->down = (size_t)draw(w, draw(w, 2) ? 100 : BODY_MAX);
	k->head = k->up == 0 && k->mode != MODE_RESET && draw(w, 6) == 0;
	k->slow = draw(w, 3) == 0;
	k->whim = w->climate.fickle && draw(w, 2) ? (enum whim)draw(w, WHIMS) : WHIM_NONE;
	if (k->mode == MODE_RESET)
		k->down += 1000;
	loop_timer_init(&k->patience, g->loop, on_patience);
	loop_timer_init(&k->consume, g->loop, on_consume);
}

static void guest_init(struct web *w, unsigned i)
{
	struct guest *g = &w->guests[i];
	char name[16];

	(void)snprintf(name, sizeof(name), "client-%u", i);
	g->web = w;
	g->loop = sim_loop_new(w->sim, name);
	g->protocol = draw(w, 2) ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_1;
	for (unsigned k = 0; k < ASKS; k++)
		ask_init(&g->asks[k], g, i * ASKS + k);
	loop_timer_init(&g->next, g->loop, on_next);
	loop_timer_start(&g->next, (int64_t)draw(w, 20));
}

static void web_listen(struct web *w)
{
	struct http_server_opts opts = { .loops = w->lanes,
					 .nloops = 2,
					 .config.idle_timeout_ms = w->climate.idle_timeout_ms,
					 .handler = handle,
					 .arg = w };
	struct addr any;

	w->server = http_server_new(&opts);
	assert_int_equal(addr_parse(&any, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->server, &any, NULL, 0, NULL, NULL), 0);
	assert_int_equal(addr_parse(&w->at, STR("server:80"), 0, NULL), 0);
}

static void web_init(struct web *w, const struct sim_opts *opts, struct climate climate)
{
	*w = (struct web){ .sim = sim_new(opts), .climate = climate };
	w->climate.gap_ms = climate.gap_ms ? climate.gap_ms : 10;
	prng_init(&w->prng, opts->seed + 1);
	w->lanes[0] = sim_loop_new(w->sim, "server");
	w->lanes[1] = sim_loop_new(w->sim, "server");
	w->worker = sim_loop_new(w->sim, "server");
	web_listen(w);
	for (unsigned i = 0; i < CLIENTS; i++)
		guest_init(w, i);
}

static bool all_over(void *arg)
{
	struct web *w = arg;

	for (size_t i = 0; i < CLIENTS; i++)
		for (size_t k = 0; k < ASKS; k++)
			if (!w->guests[i].asks[k].over)
				return false;
	return true;
}

static void on_drained(void *arg)
{
	struct web *w = arg;
	struct http_server_stats stats;

	w->drained = true;
	w->drains++;
	http_server_stats(w->server, &stats);
	assert_int_equal(stats.conns, 0);
}

static bool is_drained(void *arg)
{
	return ((struct web *)arg)->drained;
}

static void web_drain(struct web *w, int64_t grace_ms)
{
	http_server_drain(w->server, grace_ms, on_drained, w);
	/* A lane's turn may be late; the rest is the grace. */
	assert_true(sim_run_until(w->sim, is_drained, w, grace_ms + 1000));
	assert_int_equal(w->drains, 1);
}

static void web_finish(struct web *w)
{
	if (!sim_run_until(w->sim, all_over, w, HANG_MS))
		fail_msg("it hangs");
}

/* Without faults all end well; but a server that leaves need not take what it has not seen. */
static bool ended_well(const struct ask *k)
{
	const struct climate *c = &k->web->climate;

	return c->faulty || k->ends == 1 ||
	       (c->leaving && k->handled == 0 && k->err.code == ERR_UNAVAILABLE);
}

static void check_asks(struct web *w)
{
	for (size_t i = 0; i < CLIENTS; i++)
		for (size_t n = 0; n < ASKS; n++) {
			struct ask *k = &w->guests[i].asks[n];

			assert_null(k->stream);
			assert_int_equal(k->handled, k->answered);
			if (!ended_well(k))
				fail_msg("request %u, mode %d: %s", k->id, k->mode, k->err.msg);
		}
}

static void web_release(struct web *w)
{
	for (size_t i = 0; i < CLIENTS; i++) {
		loop_timer_stop(&w->guests[i].next);
		http_client_free(w->guests[i].client);
	}
	sim_run_for(w->sim, 5000);
	http_server_free(w->server);
	check_asks(w);
	assert_int_equal(w->open_answers, 0);
	assert_int_equal(sim_conns(w->sim), 0);
	for (size_t i = 0; i < CLIENTS; i++)
		loop_free(w->guests[i].loop);
	loop_free(w->lanes[0]);
	loop_free(w->lanes[1]);
	loop_free(w->worker);
	sim_free(w->sim);
}

static struct sim_opts draw_opts(uint64_t seed, double lose)
{
	static const size_t pipes[] = { 0, 700, 5000, 1000 * 1000 };

	return (struct sim_opts){ .seed = seed,
				  .pipe_max = pipes[seed % 4],
				  .stall = seed % 3 ? 0.01 : 0,
				  .stall_max_ms = 30,
				  .lose = lose,
				  .refuse = lose * 5 };
}

static void without_faults_every_request_is_answered(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ 0 });
		web_finish(&w);
		web_drain(&w, 1000);
		web_release(&w);
	}
}

static void a_server_that_hangs_up_idle_connections_loses_no_request(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ .idle_timeout_ms = 5, .gap_ms = 20 });
		web_finish(&w);
		web_drain(&w, 1000);
		web_release(&w);
	}
}

static void fickle_clients_disturb_only_themselves(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ .faulty = true, .fickle = true });
		web_finish(&w);
		web_drain(&w, 1000);
		web_release(&w);
	}
}

static void lost_connections_fail_requests_but_mix_nothing_up(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 2 ? 0.01 : 0.001);
		struct web w;

		web_init(&w, &opts, (struct climate){ .faulty = true, .fickle = seed % 3 == 0 });
		for (int i = 0; i < 10; i++) {
			sim_run_for(w.sim, (int64_t)draw(&w, 50));
			(void)sim_break_conns(w.sim, 0.3);
		}
		web_finish(&w);
		web_drain(&w, 1000);
		web_release(&w);
	}
}

static void cuts_heal_or_end_in_time_outs(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ .faulty = true });
		for (int i = 0; i < 3; i++) {
			sim_run_for(w.sim, (int64_t)draw(&w, 50));
			sim_cut(w.sim, "server", draw(&w, 2) ? NULL : "client-1");
			sim_run_for(w.sim, (int64_t)draw(&w, draw(&w, 2) ? 100 : 40 * 1000));
			sim_heal(w.sim, NULL, NULL);
		}
		web_finish(&w);
		web_drain(&w, 1000);
		web_release(&w);
	}
}

/* With time enough, what the server has begun it ends. */
static void a_graceful_drain_loses_nothing_that_was_begun(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ .leaving = true });
		sim_run_for(w.sim, (int64_t)draw(&w, 80));
		web_drain(&w, HANG_MS);
		web_finish(&w);
		web_release(&w);
	}
}

static void a_hasty_drain_leaves_no_connection(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 3 ? 0 : 0.005);
		struct web w;

		web_init(&w, &opts, (struct climate){ .faulty = true, .fickle = seed % 2 == 0 });
		sim_run_for(w.sim, (int64_t)draw(&w, 80));
		web_drain(&w, (int64_t)draw(&w, 100));
		web_finish(&w);
		web_release(&w);
	}
}

static void a_crashed_server_leaves_its_clients_with_errors(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web w;

		web_init(&w, &opts, (struct climate){ .faulty = true });
		sim_run_for(w.sim, (int64_t)draw(&w, 80));
		sim_loop_crash(w.lanes[0], seed % 2 ? SIM_CRASH_PROCESS : SIM_CRASH_MACHINE);
		web_finish(&w);
		sim_loop_bury(w.lanes[0]);
		web_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_every_request_is_answered),
		cmocka_unit_test(a_server_that_hangs_up_idle_connections_loses_no_request),
		cmocka_unit_test(fickle_clients_disturb_only_themselves),
		cmocka_unit_test(lost_connections_fail_requests_but_mix_nothing_up),
		cmocka_unit_test(cuts_heal_or_end_in_time_outs),
		cmocka_unit_test(a_graceful_drain_loses_nothing_that_was_begun),
		cmocka_unit_test(a_hasty_drain_leaves_no_connection),
		cmocka_unit_test(a_crashed_server_leaves_its_clients_with_errors),
	};

	return cmocka_run_group_tests_name("net/sim_http", tests, NULL, NULL);
}
