/*
 * Answers as WebSockets in the simulated world: one who asks for one, a server in the middle that
 * makes it of an ordinary answer, and a server behind it that knows of none. All bytes arrive in
 * messages through narrow pipes; who is slow holds up the other, whoever leaves ends it, and
 * nothing hangs or is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/text/base64.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"
#include "net/relay/http_relay.h"
#include "net/relay/websocket.h"
#include "net/sim/sim.h"

enum { HANG_MS = 10 * 60 * 1000, HOUR_MS = 3600 * 1000, BYTES_MAX = 8 * 1000 * 1000 };

static const struct websocket_protocol protocols[] = { { "", false }, { "texts", true } };

/* The client, which reads messages. */
struct asker {
	struct http_client *client;
	struct http_stream *stream; /* referenced */
	bool rests; /* takes nothing */
	bool holds_on; /* does not end its side when the other has ended */
	bool floods; /* sends pings as long as there is room for them */
	size_t flooded; /* bytes of them */
	size_t held;
	struct buf in; /* of a frame that is not complete */
	size_t frames, messages, pongs, got, largest;
	int opcode; /* of messages */
	int status, code; /* of the answer, of the close */
	char text[64]; /* of a reply that is not a WebSocket */
	size_t ntext;
	bool closed;
	struct error err;
};

/* The server: sends bytes, and ends unless the client follows the log. */
struct source {
	struct http_stream *stream; /* referenced */
	size_t to_send, sent;
	bool follows, closed;
};

struct world {
	struct sim *sim;
	struct loop *loops[3]; /* asker, middle, back */
	struct http_server *middle, *back;
	struct asker ask;
	struct source source;
	struct http_relay_opts opts;
	int begun, overs;
	bool drained[2];
};

static char letter(size_t at)
{
	return (char)(at * 31 + at / 251);
}

/* --- who is asked ----------------------------------------------------------------- */

static void send_on(struct http_stream *s)
{
	struct source *t = s->data;
	char block[3000];
	size_t n;

	while (t->sent < t->to_send && http_stream_room(s) > 0) {
		n = MIN(sizeof(block), t->to_send - t->sent);
		for (size_t i = 0; i < n; i++)
			block[i] = letter(t->sent + i);
		(void)http_stream_send_copy(s, str_of(block, n));
		t->sent += n;
	}
	if (t->sent == t->to_send && !t->follows)
		(void)http_stream_end(s, NULL, 0);
}

static void source_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct source *t = s->data;

	t->closed = true;
	t->stream = NULL;
	http_stream_unref(s);
}

static const struct http_stream_ops source_ops = { .on_writable = send_on,
						   .on_close = source_close };

static void back_handler(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct world *w = arg;

	s->ops = &source_ops;
	s->data = &w->source;
	w->source.stream = http_stream_ref(s);
	assert_int_equal(http_fields_get(&s->in.fields, STR("upgrade")).n, 0);
	if (str_eqz(s->in.path, "/refuse")) {
		(void)http_stream_reply(s, 418, STR("text/plain"), slice_static(STR("a teapot")));
		return;
	}
	(void)http_stream_respond(s, 200, NULL, 0, -1);
	http_stream_patient(s);
	send_on(s);
}

/* --- in the middle ---------------------------------------------------------------- */

static void middle_close(struct http_stream *s, const struct error *err UNUSED)
{
	((struct world *)s->data)->overs++;
}

static void on_over(void *arg, struct http_stream *s UNUSED, const struct error *err UNUSED)
{
	((struct world *)arg)->overs++;
}

static void on_refused(void *arg UNUSED, struct http_stream *s, int status UNUSED, struct str body,
		       const struct error *err)
{
	if (err)
		body = STR("broken");
	(void)http_stream_respond(s, 502, NULL, 0, (int64_t)body.n);
	(void)http_stream_send_copy(s, body);
	(void)http_stream_end(s, NULL, 0);
}

static void middle_handler(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops ops = { .on_close = middle_close };
	struct world *w = arg;
	struct http_relay_opts opts = w->opts;

	assert_true(websocket_is_asked(s));
	w->begun++;
	s->ops = &ops;
	s->data = w;
	opts.method = s->in.method;
	opts.authority = STR("back");
	opts.target = s->in.target;
	opts.websocket = protocols;
	opts.nwebsocket = ARRAY_SIZE(protocols);
	opts.refusal_max = KIB;
	opts.on_refused = on_refused;
	opts.on_over = on_over;
	opts.arg = w;
	assert_int_equal(http_relay(s, &opts, NULL), 0);
}

/* --- who asks --------------------------------------------------------------------- */

static void hear_message(struct asker *t, int opcode, struct str payload)
{
	struct buf bytes = BUF_INIT(KIB * KIB);

	if (opcode == WEBSOCKET_TEXT)
		assert_int_equal(base64_decode(&bytes, payload, BASE64_STD, NULL), 0);
	else
		(void)buf_add_str(&bytes, payload);
	for (size_t i = 0; i < bytes.n; i++)
		if (bytes.p[i] != letter(t->got + i))
			fail_msg("byte %zu is wrong", t->got + i);
	/* One empty message, first of all. */
	assert_true((t->messages == 0) == (bytes.n == 0));
	t->got += bytes.n;
	t->largest = MAX(t->largest, bytes.n);
	t->messages++;
	t->opcode = opcode;
	buf_release(&bytes);
}

static void hear_frame(struct asker *t, int opcode, struct str payload)
{
	const uint8_t *p = (const uint8_t *)payload.p;

	assert_int_equal(t->code, 0);
	t->frames++;
	if (opcode == WEBSOCKET_CLOSE) {
		assert_int_equal(payload.n, 2);
		t->code = p[0] << 8 | p[1];
	} else if (opcode == WEBSOCKET_PONG) {
		t->pongs++;
	} else {
		hear_message(t, opcode, payload);
	}
}

/* Whole frames of a server; those that we get have at most 64 KiB. */
static void hear(struct asker *t)
{
	const uint8_t *p;
	size_t at = 0, n, head;

	while (t->in.n - at >= 2) {
		p = (const uint8_t *)t->in.p + at;
		assert_true((p[0] & 0xf0) == 0x80 && p[1] <= 126);
		head = p[1] == 126 ? 4 : 2;
		if (t->in.n - at < head)
			break;
		n = head == 2 ? p[1] : (size_t)(p[2] << 8 | p[3]);
		if (t->in.n - at < head + n)
			break;
		hear_frame(t, p[0] & 0x0f, str_of(p + head, n));
		at += head + n;
	}
	buf_consume(&t->in, at);
}

static void ping_on(struct http_stream *s)
{
	struct asker *t = s->data;
	static const char pings[] = "\x89\x81\0\0\0\0p\x89\x81\0\0\0\0q";

	while (t->floods && t->flooded < BYTES_MAX && http_stream_room(s) > 0) {
		(void)http_stream_send_copy(s, str_of(pings, sizeof(pings) - 1));
		t->flooded += sizeof(pings) - 1;
	}
}

static void asker_head(struct http_stream *s)
{
	struct asker *t = s->data;

	t->status = s->in.status;
	if (s->raw)
		ping_on(s);
}

static void asker_body(struct http_stream *s, struct str piece)
{
	struct asker *t = s->data;

	if (s->raw) {
		(void)buf_add_str(&t->in, piece);
		hear(t);
	} else {
		(void)snprintf(t->text + t->ntext, sizeof(t->text) - t->ntext, "%.*s",
			       STR_ARG(piece));
		t->ntext += piece.n;
	}
	t->held += piece.n;
	if (t->rests)
		return;
	http_stream_consume(s, t->held);
	t->held = 0;
}

static void asker_end(struct http_stream *s)
{
	struct asker *t = s->data;

	if (s->raw && !t->holds_on)
		(void)http_stream_end(s, NULL, 0);
}

static void asker_close(struct http_stream *s, const struct error *err)
{
	struct asker *t = s->data;

	t->closed = true;
	if (err)
		t->err = *err;
	t->stream = NULL;
	http_stream_unref(s);
}

static const struct http_stream_ops asker_ops = {
	.on_head = asker_head,
	.on_body = asker_body,
	.on_end = asker_end,
	.on_writable = ping_on,
	.on_close = asker_close,
};

/* --- the world -------------------------------------------------------------------- */

static struct http_server *listen_at(struct world *w, struct loop *l, const char *port,
				     void (*handler)(void *arg, struct http_stream *s, size_t lane))
{
	struct http_server_opts opts = {
		.loops = &l, .nloops = 1, .config.eof_cancels = true, .handler = handler, .arg = w
	};
	struct http_server *server = http_server_new(&opts);
	struct addr any;

	assert_int_equal(addr_parse(&any, str_from(port), 0, NULL), 0);
	assert_int_equal(http_server_listen(server, &any, NULL, 0, NULL, NULL), 0);
	return server;
}

static void begin(struct world *w, uint64_t seed)
{
	static const char *const hosts[] = { "asker", "middle", "back" };
	static const size_t pipes[] = { 0, 700, 5000, 1000 * 1000 };
	struct sim_opts opts = { .seed = seed,
				 .pipe_max = pipes[seed % 4],
				 .keepalive_ms = 60 * 1000 };

	*w = (struct world){ .sim = sim_new(&opts) };
	for (size_t i = 0; i < 3; i++)
		w->loops[i] = sim_loop_new(w->sim, hosts[i]);
	w->middle = listen_at(w, w->loops[1], ":80", middle_handler);
	w->back = listen_at(w, w->loops[2], ":81", back_handler);
	assert_int_equal(addr_parse(&w->opts.to, STR("back:81"), 0, NULL), 0);
	buf_init(&w->ask.in, 2 * HTTP_WINDOW);
}

/* `protocol`: NULL asks for none; `version` NULL: RFC 6455's. */
static void ask(struct world *w, const char *target, const char *protocol, const char *version)
{
	struct http_field v[] = {
		HTTP_FIELD("sec-websocket-key", STR("dGhlIHNhbXBsZSBub25jZQ==")),
		HTTP_FIELD("sec-websocket-version", version ? str_from(version) : STR("13")),
		HTTP_FIELD("sec-websocket-protocol", str_from(protocol)),
	};
	struct http_client_opts opts = { .protocol = HTTP_PROTOCOL_1 };
	struct http_request r = { .method = STR("GET"),
				  .authority = STR("middle"),
				  .target = str_from(target),
				  .upgrade = STR("websocket"),
				  .fields = v,
				  .nfields = protocol ? 3 : 2,
				  .end = true,
				  .ops = &asker_ops,
				  .data = &w->ask };

	assert_int_equal(addr_parse(&opts.to, STR("middle:80"), 0, NULL), 0);
	assert_int_equal(http_client_new(w->loops[0], &opts, &w->ask.client, NULL), 0);
	assert_int_equal(http_client_request(w->ask.client, &r, &w->ask.stream, NULL), 0);
	(void)http_stream_ref(w->ask.stream);
}

static bool all_closed(void *arg)
{
	struct world *w = arg;

	return w->ask.closed && (w->source.closed || !w->source.stream);
}

static void run(struct world *w)
{
	if (!sim_run_until(w->sim, all_closed, w, HANG_MS))
		fail_msg("it hangs: asker %d, back %d", w->ask.closed, w->source.closed);
}

static void drained_middle(void *arg)
{
	((struct world *)arg)->drained[0] = true;
}

static void drained_back(void *arg)
{
	((struct world *)arg)->drained[1] = true;
}

static bool all_drained(void *arg)
{
	struct world *w = arg;

	return w->drained[0] && w->drained[1];
}

static void end(struct world *w)
{
	http_client_free(w->ask.client);
	http_server_drain(w->middle, 100, drained_middle, w);
	http_server_drain(w->back, 100, drained_back, w);
	assert_true(sim_run_until(w->sim, all_drained, w, HANG_MS));
	sim_run_for(w->sim, 5000);
	assert_int_equal(w->overs, w->begun);
	assert_int_equal(sim_conns(w->sim), 0);
	http_server_free(w->middle);
	http_server_free(w->back);
	for (size_t i = 0; i < 3; i++)
		loop_free(w->loops[i]);
	sim_free(w->sim);
	buf_release(&w->ask.in);
}

static void wake(struct world *w)
{
	w->ask.rests = false;
	http_stream_consume(w->ask.stream, w->ask.held);
	w->ask.held = 0;
}

static bool has_got_all(void *arg)
{
	const struct world *w = arg;

	return w->ask.got == w->source.to_send && w->ask.messages > 0;
}

/* Asks for somebody's log without end, and has got what there is. */
static void follow(struct world *w, uint64_t seed, size_t n)
{
	begin(w, seed);
	w->source.follows = true;
	w->source.to_send = n;
	ask(w, "/log", NULL, NULL);
	assert_true(sim_run_until(w->sim, has_got_all, w, HANG_MS));
}

static void say(struct world *w, const char *bytes, size_t n)
{
	(void)http_stream_send_copy(w->ask.stream, str_of(bytes, n));
}

/* --- tests ------------------------------------------------------------------------ */

static void an_answer_becomes_messages_and_a_close(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 80; seed++) {
		struct world w;

		begin(&w, seed);
		w.source.to_send = (size_t)(seed * 7919 % 300000);
		ask(&w, "/log", seed % 3 ? "other, texts" : NULL, NULL);
		run(&w);
		assert_int_equal(w.ask.status, 101);
		assert_int_equal(w.ask.got, w.source.to_send);
		assert_true(w.ask.largest <= WEBSOCKET_MESSAGE);
		assert_int_equal(w.ask.opcode, seed % 3 ? WEBSOCKET_TEXT : WEBSOCKET_BINARY);
		assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
		assert_int_equal(w.ask.err.code, 0);
		end(&w);
	}
}

static void followed_data_arrives_as_it_is_sent(void **state UNUSED)
{
	struct world w;

	follow(&w, 1, 0);
	assert_int_equal(w.ask.messages, 1);
	for (size_t n = 10; n < 50; n += 10) {
		sim_run_for(w.sim, HOUR_MS);
		w.source.to_send = n;
		send_on(w.source.stream);
		sim_run_for(w.sim, 1000);
		assert_int_equal(w.ask.got, n);
	}
	w.source.follows = false;
	send_on(w.source.stream);
	run(&w);
	assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
	end(&w);
}

static void a_paused_reader_holds_up_the_sender(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world w;

		begin(&w, seed);
		w.source.to_send = BYTES_MAX;
		w.ask.rests = true;
		ask(&w, "/log", "texts", NULL);
		sim_run_for(w.sim, HOUR_MS);
		assert_false(w.ask.closed);
		assert_true(w.source.sent < w.source.to_send);
		wake(&w);
		run(&w);
		assert_int_equal(w.ask.got, w.source.to_send);
		assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
		end(&w);
	}
}

static void the_last_messages_wait_for_who_reads_them(void **state UNUSED)
{
	for (uint64_t seed = 1; seed < 3; seed++) { /* with narrow pipes */
		struct world w;

		begin(&w, seed);
		w.source.to_send = 100 * 1000;
		w.ask.rests = true;
		ask(&w, "/log", NULL, NULL);
		sim_run_for(w.sim, HOUR_MS);
		assert_true(w.source.closed);
		assert_false(w.ask.closed);
		wake(&w);
		run(&w);
		assert_int_equal(w.ask.got, w.source.to_send);
		assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
		end(&w);
	}
}

static void a_clients_close_ends_it(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world w;

		follow(&w, seed, 5000);
		say(&w, "\x88\x82\0\0\0\0\x03\xe8", 8);
		run(&w);
		assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
		assert_int_equal(w.ask.err.code, 0);
		end(&w);
	}
}

static void a_client_that_ends_or_is_lost_ends_it(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world w;

		follow(&w, seed, 5000);
		if (seed % 2)
			(void)http_stream_end(w.ask.stream, NULL, 0);
		else
			http_stream_reset(w.ask.stream, NULL);
		run(&w);
		assert_int_equal(w.ask.code, seed % 2 ? WEBSOCKET_NORMAL : 0);
		end(&w);
	}
}

static void a_forbidden_frame_ends_the_relay(void **state UNUSED)
{
	struct world w;

	follow(&w, 0, 10);
	say(&w, "\x82\x00", 2);
	run(&w);
	assert_int_equal(w.ask.code, WEBSOCKET_PROTOCOL_ERROR);
	end(&w);

	follow(&w, 1, 10);
	say(&w, "\x82\xff\0\0\0\x01\0\0\0\0\0\0\0\0", 14);
	run(&w);
	assert_int_equal(w.ask.code, WEBSOCKET_TOO_LARGE);
	end(&w);
}

static void pings_are_answered_and_data_is_not(void **state UNUSED)
{
	struct world w;

	follow(&w, 2, 10);
	for (int i = 0; i < 100; i++)
		say(&w, "\x82\x83\0\0\0\0xyz\x89\x81\0\0\0\0p", 16);
	sim_run_for(w.sim, 60 * 1000);
	assert_int_equal(w.ask.pongs, 100);
	assert_int_equal(w.ask.messages, 2);
	assert_int_equal(w.ask.code, 0);
	(void)http_stream_end(w.ask.stream, NULL, 0);
	run(&w);
	end(&w);
}

/* A client that sends pings for an hour, and reads nothing. */
static void begin_flood(struct world *w, uint64_t seed)
{
	begin(w, seed);
	w->source.follows = true;
	w->ask.floods = w->ask.rests = true;
	ask(w, "/log", NULL, NULL);
	sim_run_for(w->sim, HOUR_MS);
}

/* Its pongs are not kept without end: it waits, and goes on when it reads. */
static void a_client_that_floods_without_reading_waits(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct world w;

		begin_flood(&w, seed);
		assert_true(w.ask.flooded < BYTES_MAX / 2);
		assert_false(w.ask.closed);
		wake(&w);
		sim_run_for(w.sim, HOUR_MS);
		assert_int_equal(w.ask.pongs, w.ask.flooded / 7);
		(void)http_stream_end(w.ask.stream, NULL, 0);
		run(&w);
		end(&w);
	}
}

/* Its last pings are not read, as nobody takes their pongs, and hide that it is gone. */
static void a_client_that_floods_and_leaves_is_noticed(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct world w;

		begin_flood(&w, seed);
		http_stream_reset(w.ask.stream, NULL);
		run(&w);
		end(&w);
	}
}

static void an_answer_that_breaks_off_is_told(void **state UNUSED)
{
	struct world w;

	follow(&w, 0, 5000);
	http_stream_reset(w.source.stream, NULL);
	run(&w);
	assert_int_equal(w.ask.code, WEBSOCKET_FAILED);
	assert_int_equal(w.ask.got, 5000);
	end(&w);
}

static void a_client_that_stays_after_the_close_is_cut_off(void **state UNUSED)
{
	struct world w;

	begin(&w, 0);
	w.source.to_send = 10;
	w.ask.holds_on = true;
	ask(&w, "/log", NULL, NULL);
	sim_run_for(w.sim, 20 * 1000);
	assert_int_equal(w.ask.code, WEBSOCKET_NORMAL);
	assert_false(w.ask.closed);
	/* Nor by talking on. */
	for (int i = 0; i < 60 && !w.ask.closed; i++) {
		say(&w, "\x89\x80\0\0\0\0", 6);
		sim_run_for(w.sim, 1000);
	}
	assert_true(w.ask.closed);
	assert_int_equal(w.ask.pongs, 0);
	end(&w);
}

static void a_bad_handshake_is_answered_plainly(void **state UNUSED)
{
	static const struct {
		const char *protocol, *version;
		int status;
		const char *text;
	} v[] = {
		{ "other", NULL, 403, "" },
		{ NULL, "8", 400, "missing or bad WebSocket Version" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct world w;

		begin(&w, i);
		w.source.to_send = 1000 * 1000;
		ask(&w, "/log", v[i].protocol, v[i].version);
		run(&w);
		assert_int_equal(w.ask.status, v[i].status);
		assert_string_equal(w.ask.text, v[i].text);
		assert_int_equal(w.ask.err.code, 0);
		end(&w);
	}
}

static void an_error_of_the_target_is_passed_on(void **state UNUSED)
{
	struct world w;

	begin(&w, 1);
	ask(&w, "/refuse", "other", NULL);
	run(&w);
	assert_int_equal(w.ask.status, 502);
	assert_string_equal(w.ask.text, "a teapot");
	end(&w);
}

static void lost_connections_end_both_sides(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 80; seed++) {
		struct world w;

		begin(&w, seed);
		w.source.to_send = BYTES_MAX;
		w.ask.floods = seed % 3 == 0;
		ask(&w, "/log", NULL, NULL);
		sim_run_for(w.sim, (int64_t)(seed % 40));
		while (!sim_break_conns(w.sim, 0.5))
			sim_run_for(w.sim, 1);
		run(&w);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_becomes_messages_and_a_close),
		cmocka_unit_test(followed_data_arrives_as_it_is_sent),
		cmocka_unit_test(a_paused_reader_holds_up_the_sender),
		cmocka_unit_test(the_last_messages_wait_for_who_reads_them),
		cmocka_unit_test(a_clients_close_ends_it),
		cmocka_unit_test(a_client_that_ends_or_is_lost_ends_it),
		cmocka_unit_test(a_forbidden_frame_ends_the_relay),
		cmocka_unit_test(pings_are_answered_and_data_is_not),
		cmocka_unit_test(a_client_that_floods_without_reading_waits),
		cmocka_unit_test(a_client_that_floods_and_leaves_is_noticed),
		cmocka_unit_test(an_answer_that_breaks_off_is_told),
		cmocka_unit_test(a_client_that_stays_after_the_close_is_cut_off),
		cmocka_unit_test(a_bad_handshake_is_answered_plainly),
		cmocka_unit_test(an_error_of_the_target_is_passed_on),
		cmocka_unit_test(lost_connections_end_both_sides),
	};

	return cmocka_run_group_tests_name("net/http_relay_websocket", tests, NULL, NULL);
}
