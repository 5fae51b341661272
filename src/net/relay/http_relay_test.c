/*
 * Relays in the simulated world: one who asks, a server in the middle that hands
 * on, and a server behind it. Upgraded connections carry random amounts both ways
 * through narrow pipes, with and without TLS; answers, refusals and failures come
 * back as they should; whatever is lost, nothing hangs and nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"
#include "net/relay/http_relay.h"
#include "net/sim/sim.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

enum { HANG_MS = 10 * 60 * 1000, IDLE_MS = 4 * 3600 * 1000 };

/* Somebody who sends a number of bytes, ends, and checks what comes. */
struct talker {
	struct world *world;
	struct http_stream *stream; /* referenced */
	size_t to_send, sent, got;
	unsigned char salt; /* of what it sends; the other's is its complement */
	bool rests; /* takes nothing more for now */
	size_t held; /* what it has not taken */
	bool never_ends; /* its side, before the other one's */
	bool never_reads;
	bool ended, closed;
	int status;
	char text[64]; /* the beginning of what came */
	struct error err;
};

struct world {
	struct sim *sim;
	struct loop *loops[3]; /* asker, middle, back */
	struct http_server *middle, *back;
	struct http_client *asker;
	struct tls *server_tls, *client_tls;
	struct talker ask, reply;
	struct http_relay_opts opts;
	struct addr at_middle;
	int begun, overs, refusals; /* in the middle */
	bool drained[2];
};

/* --- talkers ---------------------------------------------------------------------- */

static char letter(const struct talker *t, size_t at, bool own)
{
	return (char)((own ? t->salt : (unsigned char)~t->salt) + at * 31 + at / 251);
}

static void talk(struct http_stream *s)
{
	struct talker *t = s->data;
	char block[3000];
	size_t n;

	while (t->sent < t->to_send && http_stream_room(s) > 0) {
		n = MIN(sizeof(block), t->to_send - t->sent);
		for (size_t i = 0; i < n; i++)
			block[i] = letter(t, t->sent + i, true);
		(void)http_stream_send_copy(s, str_of(block, n));
		t->sent += n;
	}
	if (t->sent == t->to_send && (!t->never_ends || t->ended))
		(void)http_stream_end(s, NULL, 0);
}

static void talker_head(struct http_stream *s)
{
	struct talker *t = s->data;

	t->status = s->in.status;
	if (s->raw)
		talk(s);
}

static void talker_body(struct http_stream *s, struct str piece)
{
	struct talker *t = s->data;

	for (size_t i = 0; i < piece.n; i++) {
		if (t->got + i < sizeof(t->text) - 1)
			t->text[t->got + i] = piece.p[i];
		if (t->status == 101 && piece.p[i] != letter(t, t->got + i, false))
			fail_msg("byte %zu is wrong", t->got + i);
	}
	t->got += piece.n;
	t->held += piece.n;
	if (t->rests || t->never_reads)
		return;
	http_stream_consume(s, t->held);
	t->held = 0;
}

static void talker_end(struct http_stream *s)
{
	struct talker *t = s->data;

	if (!s->raw && s->server)
		return;
	t->ended = true;
	if (s->raw)
		talk(s);
}

static void talker_close(struct http_stream *s, const struct error *err)
{
	struct talker *t = s->data;

	t->closed = true;
	if (err)
		t->err = *err;
	t->stream = NULL;
	http_stream_unref(s);
}

static const struct http_stream_ops talker_ops = {
	.on_head = talker_head,
	.on_body = talker_body,
	.on_end = talker_end,
	.on_writable = talk,
	.on_close = talker_close,
};

/* --- servers ---------------------------------------------------------------------- */

static void back_handler(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct world *w = arg;

	s->ops = &talker_ops;
	s->data = &w->reply;
	w->reply.stream = http_stream_ref(s);
	if (str_eq(s->in.path, STR("/upgrade"))) {
		w->reply.status = 101;
		assert_int_equal(http_stream_upgrade(s, STR("tube"), NULL, 0), 0);
		talk(s);
	} else if (str_eq(s->in.path, STR("/large"))) {
		(void)http_stream_respond(s, 200, NULL, 0, -1);
		http_stream_patient(s);
		talk(s);
	} else if (str_eq(s->in.path, STR("/refuse"))) {
		(void)http_stream_reply(s, 418, STR("text/plain"), slice_static(STR("a teapot")));
	}
}

static void front_close(struct http_stream *s, const struct error *err UNUSED)
{
	((struct world *)s->data)->overs++;
}

static const struct http_stream_ops front_ops = { .on_close = front_close };

static void on_over(void *arg, struct http_stream *s UNUSED, const struct error *err UNUSED)
{
	((struct world *)arg)->overs++;
}

static void on_refused(void *arg, struct http_stream *s, int status, struct str body,
		       const struct error *err)
{
	struct world *w = arg;
	struct buf text = BUF_INIT(KIB);

	w->refusals++;
	assert_ptr_equal(s->ops, &front_ops);
	(void)buf_printf(&text, "%d %.*s%s", status, STR_ARG(body), err ? err->msg : "");
	(void)http_stream_respond(s, 502, NULL, 0, (int64_t)text.n);
	(void)http_stream_send_copy(s, buf_str(&text));
	(void)http_stream_end(s, NULL, 0);
	buf_release(&text);
}

static void middle_handler(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct world *w = arg;
	struct http_relay_opts opts = w->opts;
	struct error err;

	w->begun++;
	s->ops = &front_ops;
	s->data = w;
	opts.method = s->in.method;
	opts.authority = STR("back");
	opts.target = s->in.target;
	opts.tls = w->client_tls;
	opts.server_name = "server";
	opts.fields = s->in.fields.v;
	opts.nfields = s->in.fields.n;
	if (http_stream_wants_upgrade(s))
		opts.upgrade = http_fields_get(&s->in.fields, STR("upgrade"));
	opts.on_refused = on_refused;
	opts.on_over = on_over;
	opts.arg = w;
	if (http_relay(s, &opts, &err) < 0)
		fail_msg("%s", err.msg);
}

/* --- the world -------------------------------------------------------------------- */

static struct tls *tls_of(const struct tls_opts *opts)
{
	struct tls *t = NULL;

	assert_int_equal(tls_new(opts, &t, NULL), 0);
	return t;
}

static void make_tls(struct world *w)
{
	static const char *const alpn[] = { "http/1.1", NULL };
	struct buf ca = BUF_INIT(64 * KIB), cert = BUF_INIT(64 * KIB), key = BUF_INIT(64 * KIB);
	const struct clock *clock = loop_clock(w->loops[0]);
	struct str host = STR("server");
	struct pki_leaf leaf = { .common_name = STR("server"),
				 .hosts = &host,
				 .nhosts = 1,
				 .server = true,
				 .lifetime = 36000 };
	struct pki_ca *authority;
	struct tls_pair pair;

	assert_int_equal(pki_ca_new(STR("ca"), 36000, clock, &authority, NULL), 0);
	assert_int_equal(pki_ca_cert(authority, &ca, NULL), 0);
	assert_int_equal(pki_issue(authority, &leaf, clock, &cert, &key, NULL), 0);
	pki_ca_free(authority);
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	w->server_tls = tls_of(
		&(struct tls_opts){ .server = true, .pairs = &pair, .npairs = 1, .alpn = alpn });
	w->client_tls = tls_of(&(struct tls_opts){ .ca = buf_str(&ca), .alpn = alpn });
	buf_release(&ca);
	buf_release(&cert);
	buf_release(&key);
}

static struct http_server *listen_at(struct world *w, struct loop *l, const char *port,
				     void (*handler)(void *arg, struct http_stream *s, size_t lane))
{
	struct http_server_opts opts = {
		.loops = &l, .nloops = 1, .config.eof_cancels = true, .handler = handler, .arg = w
	};
	struct http_server *server = http_server_new(&opts);
	struct addr any;

	assert_int_equal(addr_parse(&any, str_from(port), 0, NULL), 0);
	assert_int_equal(http_server_listen(server, &any, w->server_tls, 0, NULL, NULL), 0);
	return server;
}

static void begin(struct world *w, uint64_t seed, bool tls)
{
	static const char *const hosts[] = { "asker", "middle", "back" };
	static const size_t pipes[] = { 0, 700, 5000, 1000 * 1000 };
	struct sim_opts opts = { .seed = seed,
				 .pipe_max = pipes[seed % 4],
				 .keepalive_ms = 60 * 1000 };

	*w = (struct world){ .sim = sim_new(&opts), .opts.idle_ms = IDLE_MS };
	for (size_t i = 0; i < 3; i++)
		w->loops[i] = sim_loop_new(w->sim, hosts[i]);
	if (tls)
		make_tls(w);
	w->middle = listen_at(w, w->loops[1], ":80", middle_handler);
	w->back = listen_at(w, w->loops[2], ":81", back_handler);
	assert_int_equal(addr_parse(&w->at_middle, STR("middle:80"), 0, NULL), 0);
	assert_int_equal(addr_parse(&w->opts.to, STR("back:81"), 0, NULL), 0);
	w->ask = (struct talker){ .world = w, .salt = 7 };
	w->reply = (struct talker){ .world = w, .salt = (unsigned char)~7 };
}

static void ask(struct world *w, const char *target, bool upgrade)
{
	struct http_client_opts opts = { .to = w->at_middle,
					 .tls = w->client_tls,
					 .server_name = "server",
					 .protocol = HTTP_PROTOCOL_1 };
	struct http_request r = { .method = STR("GET"),
				  .authority = STR("middle"),
				  .target = str_from(target),
				  .upgrade = upgrade ? STR("tube") : STR_NULL,
				  .end = true,
				  .ops = &talker_ops,
				  .data = &w->ask };

	assert_int_equal(http_client_new(w->loops[0], &opts, &w->asker, NULL), 0);
	assert_int_equal(http_client_request(w->asker, &r, &w->ask.stream, NULL), 0);
	(void)http_stream_ref(w->ask.stream);
}

static bool all_closed(void *arg)
{
	struct world *w = arg;

	return w->ask.closed && (w->reply.closed || !w->reply.stream);
}

static void run(struct world *w)
{
	if (!sim_run_until(w->sim, all_closed, w, HANG_MS))
		fail_msg("it hangs: asker %d, back %d", w->ask.closed, w->reply.closed);
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
	http_client_free(w->asker);
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
	tls_unref(w->server_tls);
	tls_unref(w->client_tls);
}

/* --- tests ------------------------------------------------------------------------ */

static void an_upgraded_connection_carries_all_bytes_and_both_ends(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 80; seed++) {
		struct world w;

		begin(&w, seed, seed % 2);
		w.ask.to_send = (size_t)(seed * 7919 % 300000);
		w.reply.to_send = (size_t)(seed * 104729 % 300000);
		/* One of them may wait for the other's end before it ends its own side. */
		w.ask.never_ends = seed % 3 == 0;
		w.reply.never_ends = seed % 3 == 1;
		ask(&w, "/upgrade", true);
		run(&w);
		assert_int_equal(w.ask.status, 101);
		assert_int_equal(w.ask.got, w.reply.to_send);
		assert_int_equal(w.reply.got, w.ask.to_send);
		assert_int_equal(w.ask.err.code, 0);
		assert_int_equal(w.reply.err.code, 0);
		end(&w);
	}
}

static void lost_connections_end_both_sides(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 80; seed++) {
		struct world w;

		begin(&w, seed, seed % 2);
		w.ask.to_send = w.reply.to_send = 40 * 1000 * 1000;
		ask(&w, "/upgrade", true);
		sim_run_for(w.sim, (int64_t)(seed % 40));
		while (!sim_break_conns(w.sim, 0.5))
			sim_run_for(w.sim, 1);
		run(&w);
		end(&w);
	}
}

static void an_answer_streams_through(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct world w;

		begin(&w, seed, seed % 2);
		w.reply.to_send = 400 * 1000;
		ask(&w, "/large", false);
		run(&w);
		assert_int_equal(w.ask.status, 200);
		assert_int_equal(w.ask.got, w.reply.to_send);
		end(&w);
	}
}

/* As somebody who looks at a log page by page. */
static void a_reader_can_pause_for_long(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world w;

		begin(&w, seed, seed % 2);
		w.reply.to_send = 4 * 1000 * 1000;
		w.ask.rests = true;
		ask(&w, "/large", false);
		sim_run_for(w.sim, IDLE_MS);
		assert_false(w.ask.closed);
		assert_true(w.reply.sent < w.reply.to_send);
		w.ask.rests = false;
		http_stream_consume(w.ask.stream, w.ask.held);
		w.ask.held = 0;
		run(&w);
		assert_int_equal(w.ask.got, w.reply.to_send);
		assert_int_equal(w.ask.err.code, 0);
		end(&w);
	}
}

static void refusals_are_handed_on_or_told(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world w;
		bool told = seed % 2;

		begin(&w, seed, false);
		w.opts.refusal_max = told ? 5 : 0;
		ask(&w, "/refuse", seed % 4 < 2);
		run(&w);
		assert_int_equal(w.ask.status, told ? 502 : 418);
		assert_string_equal(w.ask.text, told ? "418 a tea" : "a teapot");
		assert_int_equal(w.refusals, told);
		end(&w);
	}
}

static size_t too_many_fields(void *arg UNUSED, const struct http_head *answer UNUSED,
			      const struct http_field **ret_fields)
{
	static struct http_field v[HTTP_HEADER_COUNT_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = HTTP_FIELD("x-one", STR("more"));
	*ret_fields = v;
	return ARRAY_SIZE(v);
}

static void an_answer_that_cannot_be_handed_on_is_told(void **state UNUSED)
{
	static const char *const targets[] = { "/large", "/upgrade", "/refuse" };
	struct world w;

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		begin(&w, i, false);
		w.opts.on_answer = too_many_fields;
		ask(&w, targets[i], i == 1);
		run(&w);
		assert_int_equal(w.ask.status, 502);
		assert_string_equal(w.ask.text, "0 the answer of back:81 cannot be handed on");
		end(&w);
	}
}

static void an_unreachable_target_is_reported(void **state UNUSED)
{
	struct world w;

	begin(&w, 1, false);
	assert_int_equal(addr_parse(&w.opts.to, STR("nowhere:81"), 0, NULL), 0);
	ask(&w, "/upgrade", true);
	run(&w);
	assert_int_equal(w.ask.status, 502);
	assert_int_equal(w.refusals, 1);
	end(&w);
}

static void a_target_that_does_not_reply_is_reported(void **state UNUSED)
{
	struct world w;

	begin(&w, 1, false);
	w.opts.answer_timeout_ms = 3000;
	ask(&w, "/silence", true);
	run(&w);
	assert_int_equal(w.ask.status, 502);
	assert_string_equal(w.ask.text, "0 back:81 did not answer in time");
	end(&w);
}

static void an_idle_relay_ends(void **state UNUSED)
{
	struct world w;

	begin(&w, 1, true);
	w.ask.never_ends = w.reply.never_ends = true;
	ask(&w, "/upgrade", true);
	sim_run_for(w.sim, IDLE_MS - 1000);
	assert_false(w.ask.closed);
	assert_int_equal(w.ask.status, 101);
	sim_run_for(w.sim, 5000);
	assert_true(all_closed(&w));
	end(&w);
}

static bool is_over(void *arg)
{
	const struct world *w = arg;

	return w->overs == w->begun;
}

static void a_client_that_leaves_while_nobody_reads_is_noticed(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 16; seed++) {
		struct world w;

		begin(&w, seed, seed % 2);
		w.ask.to_send = 40 * 1000 * 1000;
		w.reply.never_reads = w.reply.never_ends = true;
		ask(&w, "/upgrade", true);
		sim_run_for(w.sim, 3600 * 1000);
		assert_false(w.ask.closed);
		assert_false(w.reply.closed);
		http_client_free(w.asker);
		w.asker = NULL;
		assert_true(sim_run_until(w.sim, is_over, &w, HANG_MS));
		/* The back hears of it when it reads. */
		w.reply.never_reads = false;
		http_stream_consume(w.reply.stream, SIZE_MAX);
		run(&w);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_upgraded_connection_carries_all_bytes_and_both_ends),
		cmocka_unit_test(lost_connections_end_both_sides),
		cmocka_unit_test(an_answer_streams_through),
		cmocka_unit_test(a_reader_can_pause_for_long),
		cmocka_unit_test(refusals_are_handed_on_or_told),
		cmocka_unit_test(an_answer_that_cannot_be_handed_on_is_told),
		cmocka_unit_test(an_unreachable_target_is_reported),
		cmocka_unit_test(a_target_that_does_not_reply_is_reported),
		cmocka_unit_test(an_idle_relay_ends),
		cmocka_unit_test(a_client_that_leaves_while_nobody_reads_is_noticed),
	};

	return cmocka_run_group_tests_name("net/http_relay", tests, NULL, NULL);
}
