/*
 * Many calls of all kinds between several channels and one server, in a world
 * that loses connections, refuses them, holds loops up and kills the server in
 * the middle of it all. Over many seeds: every call ends exactly once at each
 * end that saw it, OK means that all arrived, nothing hangs, nothing is left,
 * and when the faults stop, calls succeed again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "grpc/fixture.h"

enum {
	SEEDS = 40,
	CHANNELS = 3,
	ASKS = 12, /* per channel */
	CHUNKS_MAX = 200,
	SIZE_MAX_BYTES = 3000,
	HANG_MS = 600 * 1000,
};

struct chaos;

/* One call as the client sees it. */
struct ask {
	struct chaos *chaos;
	const struct grpc_method *method;
	struct grpc_call *call;
	struct loop_timer resume;
	uint64_t count, sent, received, bytes;
	uint32_t size;
	uint64_t cancel_at; /* message at which it cancels; 0: never */
	uint64_t pause_at; /* every so many messages it pauses; 0: never */
	unsigned ends;
	enum grpc_code code;
};

/* One call as the server sees it. */
struct turn {
	struct chaos *chaos;
	struct grpc_call *call;
	uint64_t count, sent, bytes;
	uint32_t size;
};

struct chaos {
	struct sim *sim;
	struct prng prng;
	struct loop *server_loop, *client_loop;
	struct http_server *http;
	struct grpc_server *grpc;
	struct grpc_channel *channels[CHANNELS];
	struct addr at;
	bool faulty;
	struct ask asks[CHANNELS * ASKS];
	size_t nasks;
	unsigned open_turns; /* begun at the server and not ended */
	unsigned served;
};

static uint64_t draw(struct chaos *x, uint64_t n)
{
	return prng_below(&x->prng, n);
}

/* --- the server ---------------------------------------------------------------------------- */

static struct turn *turn_new(struct grpc_call *c)
{
	struct turn *t = XNEW(struct turn);

	t->chaos = grpc_call_service(c);
	t->call = c;
	t->chaos->open_turns++;
	t->chaos->served++;
	grpc_call_set_data(c, t);
	return t;
}

static void turn_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct turn *t = grpc_call_data(c);

	/* A unary call that was cut before its request was complete has none. */
	if (!t)
		return;
	t->chaos->open_turns--;
	grpc_call_set_data(c, NULL);
	free(t);
}

static void turn_open(struct grpc_call *c)
{
	(void)turn_new(c);
}

static void serve_echo(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__EchoRequest *in = request;
	Devplane__Probe__V1__EchoReply out = DEVPLANE__PROBE__V1__ECHO_REPLY__INIT;

	(void)turn_new(c);
	out.payload = in->payload;
	(void)grpc_call_reply(c, &out.base);
}

static void download_more(struct grpc_call *c)
{
	struct turn *t = grpc_call_data(c);

	while (t->sent < t->count && grpc_call_room(c) > 0)
		(void)fixture_send_chunk(c, ++t->sent, t->size);
	if (t->sent == t->count)
		(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
}

static void serve_download(struct grpc_call *c, const void *request)
{
	const Devplane__Probe__V1__DownloadRequest *in = request;
	struct turn *t = turn_new(c);

	t->count = in->count;
	t->size = in->size;
	download_more(c);
}

static void upload_message(struct grpc_call *c, const void *message)
{
	const Devplane__Probe__V1__Chunk *chunk = message;
	struct turn *t = grpc_call_data(c);

	t->sent++;
	assert_int_equal(chunk->sequence, t->sent);
	t->bytes += chunk->data.len;
}

static void upload_end(struct grpc_call *c)
{
	const struct turn *t = grpc_call_data(c);
	Devplane__Probe__V1__UploadSummary out = DEVPLANE__PROBE__V1__UPLOAD_SUMMARY__INIT;

	out.count = t->sent;
	out.bytes = t->bytes;
	(void)grpc_call_reply(c, &out.base);
}

static void chat_message(struct grpc_call *c, const void *message)
{
	const Devplane__Probe__V1__Chunk *chunk = message;

	(void)grpc_call_send(c, &chunk->base);
	if (grpc_call_room(c) == 0)
		grpc_call_pause(c);
}

static void chat_writable(struct grpc_call *c)
{
	grpc_call_resume(c);
}

static void chat_end(struct grpc_call *c)
{
	(void)grpc_call_finish(c, GRPC_OK, STR_NULL);
}

static const struct grpc_handler rows[] = {
	{ .method = &fixture_echo, .on_request = serve_echo, .ops.on_end = turn_end },
	{ .method = &fixture_download,
	  .on_request = serve_download,
	  .ops = { .on_writable = download_more, .on_end = turn_end } },
	{ .method = &fixture_upload,
	  .on_open = turn_open,
	  .ops = { .on_message = upload_message,
		   .on_half_close = upload_end,
		   .on_end = turn_end } },
	{ .method = &fixture_chat,
	  .on_open = turn_open,
	  .ops = { .on_message = chat_message,
		   .on_half_close = chat_end,
		   .on_writable = chat_writable,
		   .on_end = turn_end } },
};

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct chaos *)arg)->grpc, s);
}

static void server_start(struct chaos *x)
{
	struct http_server_opts opts = {
		.loops = &x->server_loop, .nloops = 1, .handler = handle, .arg = x
	};

	x->server_loop = sim_loop_new(x->sim, "server");
	x->http = http_server_new(&opts);
	assert_int_equal(http_server_listen(x->http, &x->at, NULL, 0, NULL, NULL), 0);
}

static void server_crash(struct chaos *x)
{
	sim_loop_crash(x->server_loop, SIM_CRASH_PROCESS);
	sim_loop_bury(x->server_loop);
	assert_int_equal(x->open_turns, 0);
	http_server_free(TAKE(x->http));
	loop_free(TAKE(x->server_loop));
}

/* --- the clients --------------------------------------------------------------------------- */

static bool streams_up(const struct ask *a)
{
	return a->method->kind == GRPC_CLIENT_STREAM || a->method->kind == GRPC_BIDI_STREAM;
}

static void send_more(struct grpc_call *c)
{
	struct ask *a = grpc_call_data(c);

	while (a->sent < a->count && grpc_call_room(c) > 0)
		(void)fixture_send_chunk(c, ++a->sent, a->size);
	if (a->sent == a->count)
		(void)grpc_call_half_close(c);
}

static void on_resume(struct loop_timer *t)
{
	grpc_call_resume(CONTAINER_OF(t, struct ask, resume)->call);
}

static void count_reply(struct ask *a, const void *message)
{
	const Devplane__Probe__V1__Chunk *chunk = message;
	const Devplane__Probe__V1__EchoReply *echo = message;
	const Devplane__Probe__V1__UploadSummary *sum = message;

	if (a->method == &fixture_echo) {
		a->bytes = echo->payload.len;
	} else if (a->method == &fixture_upload) {
		assert_int_equal(sum->count, a->count);
		a->bytes = sum->bytes;
	} else {
		assert_int_equal(chunk->sequence, a->received);
		a->bytes += chunk->data.len;
	}
}

static void on_message(struct grpc_call *c, const void *message)
{
	struct ask *a = grpc_call_data(c);

	assert_int_equal(a->ends, 0);
	a->received++;
	count_reply(a, message);
	if (a->received == a->cancel_at) {
		grpc_call_cancel(c);
	} else if (a->pause_at && a->received % a->pause_at == 0) {
		grpc_call_pause(c);
		loop_timer_start(&a->resume, 1 + (int64_t)draw(a->chaos, 20));
	}
}

static void on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct ask *a = grpc_call_data(c);

	a->ends++;
	a->code = st->code;
	loop_timer_stop(&a->resume);
	if (st->code != GRPC_OK)
		return;
	/* OK means all of it. */
	if (a->method != &fixture_echo)
		assert_int_equal(a->bytes, a->count * a->size);
	else
		assert_int_equal(a->bytes, a->size);
}

static const struct grpc_call_ops ask_ops = {
	.on_message = on_message,
	.on_writable = send_more,
	.on_end = on_end,
};

static void send_request(struct ask *a)
{
	Devplane__Probe__V1__EchoRequest echo = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	Devplane__Probe__V1__DownloadRequest down = DEVPLANE__PROBE__V1__DOWNLOAD_REQUEST__INIT;
	static uint8_t zeroes[SIZE_MAX_BYTES];

	echo.payload.data = zeroes;
	echo.payload.len = a->size;
	down.count = a->count;
	down.size = a->size;
	(void)grpc_call_send(a->call, a->method == &fixture_echo ? &echo.base : &down.base);
	(void)grpc_call_half_close(a->call);
}

static void begin(struct chaos *x, struct grpc_channel *ch, bool patient)
{
	static const struct grpc_method *const methods[] = { &fixture_echo, &fixture_download,
							     &fixture_upload, &fixture_chat };
	struct ask *a = &x->asks[x->nasks++];
	struct grpc_call_opts opts = { .wait_for_ready = patient };

	*a = (struct ask){ .chaos = x, .method = methods[draw(x, ARRAY_SIZE(methods))] };
	a->count = draw(x, CHUNKS_MAX);
	a->size = (uint32_t)draw(x, SIZE_MAX_BYTES);
	if (!patient) {
		opts.wait_for_ready = draw(x, 2);
		opts.deadline_ms = draw(x, 3) ? 0 : (int64_t)draw(x, 3000);
		a->cancel_at = draw(x, 5) ? 0 : 1 + draw(x, 20);
		a->pause_at = draw(x, 3) ? 0 : 1 + draw(x, 30);
	}
	loop_timer_init(&a->resume, x->client_loop, on_resume);
	a->call = grpc_channel_call(ch, a->method, &opts, &ask_ops, a);
	if (streams_up(a))
		send_more(a->call);
	else
		send_request(a);
}

static bool all_ended(void *arg)
{
	const struct chaos *x = arg;

	for (size_t i = 0; i < x->nasks; i++)
		if (x->asks[i].ends == 0)
			return false;
	return true;
}

/* --- a world -------------------------------------------------------------------------------- */

static void chaos_init(struct chaos *x, uint64_t seed, bool faulty)
{
	struct sim_opts so = {
		.seed = seed,
		.pipe_max = 2000 + seed % 7 * 10000,
		.refuse = faulty ? 0.2 : 0,
		.lose = faulty ? 0.002 : 0,
		.stall = 0.01,
		.stall_max_ms = 50,
	};
	/* Without pings a client that only listens would not hear of a lost connection. */
	struct grpc_channel_opts opts = { .backoff_initial_ms = 100,
					  .backoff_max_ms = 2000,
					  .ping_interval_ms = 5000 };

	*x = (struct chaos){ 0 };
	x->faulty = faulty;
	prng_init(&x->prng, seed);
	x->sim = sim_new(&so);
	x->client_loop = sim_loop_new(x->sim, "client");
	assert_int_equal(addr_parse(&x->at, STR("127.0.0.1:4000"), 0, NULL), 0);
	x->grpc = grpc_server_new(NULL);
	grpc_server_add(x->grpc, rows, ARRAY_SIZE(rows), x);
	server_start(x);
	opts.to = x->at;
	for (size_t i = 0; i < CHANNELS; i++) {
		opts.eager = draw(x, 2);
		x->channels[i] = grpc_channel_new(x->client_loop, &opts);
	}
}

static void chaos_release(struct chaos *x)
{
	for (size_t i = 0; i < CHANNELS; i++)
		grpc_channel_free(x->channels[i]);
	sim_run_for(x->sim, 5000);
	/* A server that only listens does not hear of a connection that was lost. */
	if (!x->faulty) {
		assert_int_equal(x->open_turns, 0);
		assert_int_equal(sim_conns(x->sim), 0);
	}
	server_crash(x);
	loop_free(x->client_loop);
	grpc_server_free(x->grpc);
	sim_free(x->sim);
}

/* Calls on all channels, some time, and now and then a server that dies and comes back. */
static void trouble(struct chaos *x)
{
	for (size_t k = 0; k < CHANNELS; k++)
		begin(x, x->channels[k], false);
	sim_run_for(x->sim, (int64_t)draw(x, 300));
	if (draw(x, 6))
		return;
	server_crash(x);
	sim_run_for(x->sim, (int64_t)draw(x, 300));
	server_start(x);
}

/* How many calls ended well; each must have ended once. */
static unsigned count_ok(const struct chaos *x)
{
	unsigned ok = 0;

	for (size_t i = 0; i < x->nasks; i++) {
		assert_int_equal(x->asks[i].ends, 1);
		ok += x->asks[i].code == GRPC_OK;
	}
	return ok;
}

static void every_call_ends_once_and_ok_means_all(void **state UNUSED)
{
	const unsigned total = SEEDS * CHANNELS * ASKS;
	unsigned ok = 0;
	struct chaos x;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		chaos_init(&x, seed, true);
		for (size_t i = 0; i < ASKS; i++)
			trouble(&x);
		assert_true(sim_run_until(x.sim, all_ended, &x, HANG_MS));
		ok += count_ok(&x);
		chaos_release(&x);
	}
	/* Both happen, or this tests nothing. */
	assert_in_range(ok, total / 8, total - total / 8);
}

static void without_faults_every_call_succeeds(void **state UNUSED)
{
	struct chaos x;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		chaos_init(&x, seed, false);
		for (size_t i = 0; i < CHANNELS * ASKS; i++)
			begin(&x, x.channels[i % CHANNELS], true);
		assert_true(sim_run_until(x.sim, all_ended, &x, HANG_MS));
		assert_int_equal(count_ok(&x), x.nasks);
		assert_int_equal(x.served, CHANNELS * ASKS);
		chaos_release(&x);
	}
}

static void patient_calls_outlive_the_server_s_absence(void **state UNUSED)
{
	struct chaos x;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		chaos_init(&x, seed, false);
		server_crash(&x);
		for (size_t i = 0; i < CHANNELS * ASKS; i++)
			begin(&x, x.channels[i % CHANNELS], true);
		sim_run_for(x.sim, 5000);
		assert_int_equal(x.served, 0);
		server_start(&x);
		assert_true(sim_run_until(x.sim, all_ended, &x, HANG_MS));
		assert_int_equal(count_ok(&x), x.nasks);
		chaos_release(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_ends_once_and_ok_means_all),
		cmocka_unit_test(without_faults_every_call_succeeds),
		cmocka_unit_test(patient_calls_outlive_the_server_s_absence),
	};

	return cmocka_run_group_tests_name("grpc/chaos", tests, NULL, NULL);
}
