#include "net/tls/tls_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "net/tls/tls_world.h"

static SSL *ssl_of(struct conn *c)
{
	return CONTAINER_OF(c, struct tls_conn, conn)->ssl;
}

static void expect_no_error(const struct tls_world *w)
{
	if (w->client.count[TLS_EVENT_ERROR] || w->server.count[TLS_EVENT_ERROR])
		fail_msg("client: %s; server: %s", w->client.err.msg, w->server.err.msg);
}

static void say(struct tls_side *s, const char *text)
{
	s->to_send = str_from(text);
	tls_side_send(s);
	assert_int_equal(s->to_send.n, 0);
}

/* Counts the records on a wire. */
static int count_records(struct str wire)
{
	int n = 0;

	for (; wire.n >= 5; n++)
		wire = str_skip(wire, 5 + (size_t)(((unsigned char)wire.p[3] << 8) |
						   (unsigned char)wire.p[4]));
	assert_int_equal(wire.n, 0);
	return n;
}

/* --- transfer -------------------------------------------------------------------------- */

/* Pauses at random places, for as long as the test does not resume. */
static void pause_sometimes(struct tls_side *s, enum tls_event event)
{
	if (event == TLS_EVENT_DATA && prng_below(s->data, 4) == 0)
		conn_pause(s->conn);
}

static void resume_sometimes(struct tls_side *s)
{
	if (s->conn->paused && prng_below(s->data, 3) == 0)
		conn_resume(s->conn);
}

struct transfer_row {
	size_t piece, room, size;
	int version;
};

static void transfer(const struct transfer_row *row)
{
	char *up = xmalloc(row->size), *down = xmalloc(row->size);
	struct tls_world w;
	struct tls *client;
	struct prng g;

	prng_init(&g, row->piece + row->room);
	prng_bytes(&g, up, row->size);
	prng_bytes(&g, down, row->size);
	tls_world_init(&w);
	w.client.to_send = str_of(up, row->size);
	w.server.to_send = str_of(down, row->size);
	w.client.hook = w.server.hook = pause_sometimes;
	w.client.data = w.server.data = &g;
	client = tls_world_client(&w, NULL);
	(void)SSL_CTX_set_max_proto_version(client->ctx[0], row->version);
	tls_world_connect(&w, client, tls_world_server(&w, NULL), "localhost", row->piece,
			  row->room);
	while (pipe_step(&w.loop) || w.client.conn->paused || w.server.conn->paused) {
		resume_sometimes(&w.client);
		resume_sometimes(&w.server);
	}
	expect_no_error(&w);
	assert_int_equal(w.server.got.n, row->size);
	assert_memory_equal(w.server.got.p, up, row->size);
	assert_int_equal(w.client.got.n, row->size);
	assert_memory_equal(w.client.got.p, down, row->size);
	tls_world_release(&w);
	free(up);
	free(down);
}

static void bytes_arrive_unchanged_in_both_directions(void **state)
{
	static const struct transfer_row rows[] = {
		{ 1, 100, 50000, TLS1_3_VERSION },
		{ 1, 1000000, 50000, TLS1_2_VERSION },
		{ 7, 1, 20000, TLS1_3_VERSION },
		{ 7, 5000, 300000, TLS1_3_VERSION },
		{ 1000, 7, 100000, TLS1_2_VERSION },
		{ 1000, 30000, 1000000, TLS1_2_VERSION },
		{ 65536, 200000, 10000000, TLS1_3_VERSION },
		{ 65536, 1000, 1000000, TLS1_3_VERSION },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		transfer(&rows[i]);
}

static void small_pieces_share_a_record(void **state)
{
	struct iovec iov[100];
	struct tls_world w;
	char text[1000];

	tls_world_init(&w);
	tls_world_open(&w);
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = (struct iovec){ text + 10 * i, 10 };
	assert_int_equal(conn_writev(w.client.conn, iov, ARRAY_SIZE(iov), NULL), sizeof(text));
	assert_int_equal(count_records(buf_str(&w.client_end->wire)), 1);
	pipe_run(&w.loop);
	assert_int_equal(w.server.got.n, sizeof(text));
	assert_memory_equal(w.server.got.p, text, sizeof(text));
	tls_world_release(&w);
}

static void large_writes_make_as_few_records_as_fit(void **state)
{
	static const size_t size = 200000;
	char *text = xcalloc(1, size);
	struct iovec iov[] = {
		{ text, 10 }, { text + 10, 0 }, { text + 10, size - 20 }, { text + size - 10, 10 }
	};
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	assert_int_equal(conn_writev(w.client.conn, iov, ARRAY_SIZE(iov), NULL), size);
	assert_int_equal(count_records(buf_str(&w.client_end->wire)), (size + 16383) / 16384);
	pipe_run(&w.loop);
	assert_int_equal(w.server.got.n, size);
	tls_world_release(&w);
	free(text);
}

static void an_empty_write_sends_nothing(void **state)
{
	struct iovec nothing[] = { { NULL, 0 }, { NULL, 0 } };
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	assert_int_equal(conn_writev(w.client.conn, nothing, 2, NULL), 0);
	assert_int_equal(conn_writev(w.client.conn, NULL, 0, NULL), 0);
	assert_int_equal(w.client_end->wire.n, 0);
	pipe_run(&w.loop);
	assert_int_equal(w.client.count[TLS_EVENT_WRITABLE], 0);
	tls_world_release(&w);
}

static void nothing_is_taken_while_ciphertext_is_pending(void **state)
{
	static char text[200000];
	struct iovec iov = { text, sizeof(text) };
	struct tls_conn *t;
	struct tls_world w;
	ssize_t n;

	tls_world_init(&w);
	tls_world_open(&w);
	t = CONTAINER_OF(w.client.conn, struct tls_conn, conn);
	w.client_end->room = 1000;
	w.client_end->held = true;
	n = conn_writev(w.client.conn, &iov, 1, NULL);
	assert_int_equal(n, 65536); /* one batch */
	assert_true(t->out.n > 60000 && t->out.cap < 70000);
	assert_int_equal(conn_writev(w.client.conn, &iov, 1, NULL), 0);

	/* When the socket has taken it, the memory is gone and the owner is asked once. */
	w.client_end->held = false;
	w.client_end->room = MIB;
	pipe_run(&w.loop);
	assert_null(t->out.p);
	assert_int_equal(w.client.count[TLS_EVENT_WRITABLE], 1);
	assert_int_equal(w.server.got.n, 65536);
	tls_world_release(&w);
}

static void writing_before_the_handshake_is_done_waits_for_it(void **state)
{
	struct iovec iov = { (void *)(uintptr_t) "early", 5 };
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  1000, 1000);
	assert_int_equal(conn_writev(w.client.conn, &iov, 1, NULL), 0);
	pipe_run(&w.loop);
	assert_int_equal(w.client.count[TLS_EVENT_WRITABLE], 1);
	assert_int_equal(w.server.count[TLS_EVENT_WRITABLE], 0);
	tls_world_release(&w);
}

static void keys_may_be_renewed_in_mid_stream(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	for (int i = 0; i < 20; i++) {
		struct tls_side *from = i % 2 ? &w.client : &w.server;
		struct tls_side *to = i % 2 ? &w.server : &w.client;

		assert_int_equal(SSL_key_update(ssl_of(from->conn), SSL_KEY_UPDATE_REQUESTED), 1);
		say(from, "ping");
		pipe_run(&w.loop);
		say(to, "pong");
		pipe_run(&w.loop);
	}
	expect_no_error(&w);
	assert_int_equal(w.client.got.n, 80);
	assert_int_equal(w.server.got.n, 80);
	tls_world_release(&w);
}

static void a_flood_of_key_updates_is_cut_at_the_limit(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	w.server_end->held = true; /* answers pile up */
	w.server_end->room = 100;
	for (int i = 0; i < 20000 && !w.server.count[TLS_EVENT_ERROR]; i++) {
		(void)SSL_key_update(ssl_of(w.client.conn), SSL_KEY_UPDATE_REQUESTED);
		say(&w.client, "x");
		pipe_run(&w.loop);
	}
	assert_int_equal(w.server.count[TLS_EVENT_ERROR], 1);
	assert_string_equal(w.server.err.msg,
			    "TLS failed: too much output is pending (client 10.0.0.2:50000)");
	tls_world_release(&w);
}

/* --- pausing ----------------------------------------------------------------------------- */

static void pause_at_data(struct tls_side *s, enum tls_event event)
{
	if (event == TLS_EVENT_DATA)
		conn_pause(s->conn);
}

static void a_pause_in_the_middle_of_a_delivery_keeps_the_rest(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	w.server.hook = pause_at_data;
	for (int i = 0; i < 5; i++)
		say(&w.client, "12345678");
	assert_int_equal(count_records(buf_str(&w.client_end->wire)), 5);
	for (int i = 1; i <= 5; i++) {
		pipe_run(&w.loop);
		assert_int_equal(w.server.got.n, 8 * i);
		assert_true(w.server_end->conn.paused);
		/* Nothing is delivered from within the call. */
		conn_resume(w.server.conn);
		assert_int_equal(w.server.got.n, 8 * i);
	}
	pipe_run(&w.loop);
	assert_false(w.server_end->conn.paused);
	say(&w.client, "more");
	pipe_run(&w.loop);
	assert_int_equal(w.server.got.n, 44);
	tls_world_release(&w);
}

static void a_pause_before_the_handshake_holds_data_but_not_the_handshake(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  64 * KIB, MIB);
	conn_pause(w.server.conn);
	w.client.to_send = STR("hello");
	pipe_run(&w.loop);
	assert_int_equal(w.server.count[TLS_EVENT_OPEN], 1);
	assert_int_equal(w.server.got.n, 0);
	assert_true(w.server_end->conn.paused);
	conn_resume(w.server.conn);
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "hello");
	tls_world_release(&w);
}

static void the_end_waits_for_a_paused_owner(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	w.server.hook = pause_at_data;
	say(&w.client, "one");
	say(&w.client, "two");
	conn_shutdown(w.client.conn);
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "one");
	conn_resume(w.server.conn);
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "onetwo");
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 0);
	conn_resume(w.server.conn);
	pipe_run(&w.loop);
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	tls_world_release(&w);
}

/* --- ending ------------------------------------------------------------------------------ */

static void shutdown_ends_one_direction_in_order(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	say(&w.client, "request");
	conn_shutdown(w.client.conn);
	conn_shutdown(w.client.conn); /* harmless */
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "request");
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	assert_true(SSL_get_shutdown(ssl_of(w.server.conn)) & SSL_RECEIVED_SHUTDOWN);
	assert_true(w.client_end->shut);

	say(&w.server, "response");
	conn_shutdown(w.server.conn);
	pipe_run(&w.loop);
	assert_string_equal(w.client.got.p, "response");
	assert_int_equal(w.client.count[TLS_EVENT_EOF], 1);
	expect_no_error(&w);
	tls_world_release(&w);
}

static void bytes_after_the_end_are_dropped(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	conn_shutdown(w.client.conn);
	assert_int_equal(buf_addz(&w.client_end->wire, "whatever"), 0);
	pipe_run(&w.loop);
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	assert_int_equal(w.server.got.n, 0);
	assert_null(CONTAINER_OF(w.server.conn, struct tls_conn, conn)->kept);
	expect_no_error(&w);
	tls_world_release(&w);
}

static void shutdown_comes_after_what_is_pending(void **state)
{
	static char text[60000];
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	w.client_end->room = 1000;
	w.client_end->held = true;
	w.client.to_send = str_of(text, sizeof(text));
	tls_side_send(&w.client);
	conn_shutdown(w.client.conn);
	assert_false(w.client_end->shut);
	w.client_end->held = false;
	pipe_run(&w.loop);
	assert_int_equal(w.server.got.n, sizeof(text));
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	assert_true(w.client_end->shut);
	expect_no_error(&w);
	tls_world_release(&w);
}

static void shutdown_before_the_handshake_ends_after_it(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  1000, 1000);
	conn_shutdown(w.client.conn);
	pipe_run(&w.loop);
	assert_int_equal(w.client.count[TLS_EVENT_OPEN], 1);
	assert_int_equal(w.server.count[TLS_EVENT_OPEN], 1);
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	assert_true(SSL_get_shutdown(ssl_of(w.server.conn)) & SSL_RECEIVED_SHUTDOWN);
	expect_no_error(&w);
	tls_world_release(&w);
}

static void free_sends_no_close_notify_and_the_peer_sees_an_end(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	say(&w.client, "last words");
	tls_side_free(&w.client);
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "last words");
	assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
	assert_int_equal(SSL_get_shutdown(ssl_of(w.server.conn)), 0);
	expect_no_error(&w);
	tls_world_release(&w);
}

static void a_cut_inside_a_record_is_an_error(void **state)
{
	size_t whole = 1;

	for (size_t n = 0; n <= whole; n++) {
		struct tls_world w;

		tls_world_init(&w);
		tls_world_open(&w);
		w.client_end->piece = n % 2 ? 1 : 1000;
		say(&w.client, "a record");
		whole = w.client_end->wire.n;
		w.client_end->wire.n = n;
		w.client_end->shut = true;
		pipe_run(&w.loop);
		if (n == 0 || n == whole) {
			assert_int_equal(w.server.count[TLS_EVENT_EOF], 1);
			expect_no_error(&w);
		} else {
			assert_int_equal(w.server.count[TLS_EVENT_EOF], 0);
			assert_string_equal(w.server.err.msg, "the connection was cut inside a TLS "
							      "record (client 10.0.0.2:50000)");
		}
		tls_world_release(&w);
	}
}

static void a_cut_during_the_handshake_is_an_error(void **state)
{
	static const size_t bytes[] = { 0, 3, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		struct tls_world w;

		tls_world_init(&w);
		tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL),
				  "localhost", 1000, 1000);
		w.client_end->wire.n = bytes[i];
		w.client_end->shut = true;
		pipe_run(&w.loop);
		assert_int_equal(w.server.count[TLS_EVENT_ERROR], 1);
		assert_string_equal(w.server.err.msg, "the connection was closed during the TLS "
						      "handshake (client 10.0.0.2:50000)");
		tls_world_release(&w);
	}
}

static void changed_bytes_are_noticed(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	say(&w.client, "a record");
	w.client_end->wire.p[w.client_end->wire.n - 1] ^= 1;
	pipe_run(&w.loop);
	assert_int_equal(w.server.got.n, 0);
	assert_int_equal(w.server.err.code, ERR_PROTOCOL);
	assert_string_equal(w.client.err.msg,
			    "refused by the peer: bad record mac (server 10.0.0.1:6443)");
	assert_int_equal(ERR_peek_error(), 0);
	tls_world_release(&w);
}

static void plain_http_on_a_tls_socket_is_told_as_such(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  1000, 1000);
	buf_clear(&w.client_end->wire);
	assert_int_equal(buf_addz(&w.client_end->wire, "GET / HTTP/1.1\r\n\r\n"), 0);
	pipe_run(&w.loop);
	assert_string_equal(w.server.err.msg, "TLS failed: http request (client 10.0.0.2:50000)");
	tls_world_release(&w);
}

static void a_broken_socket_fails_the_write(void **state)
{
	struct iovec iov = { (void *)(uintptr_t) "x", 1 };
	struct tls_world w;
	struct error err;

	tls_world_init(&w);
	tls_world_open(&w);
	w.client_end->broken = true;
	assert_int_equal(conn_writev(w.client.conn, &iov, 1, &err), -ERR_UNAVAILABLE);
	assert_int_equal(conn_writev(w.client.conn, &iov, 1, &err), -ERR_UNAVAILABLE);
	pipe_run(&w.loop);
	assert_int_equal(w.client.count[TLS_EVENT_ERROR], 0); /* the write returned it */
	tls_world_release(&w);
}

static void a_broken_socket_at_shutdown_is_told_later(void **state)
{
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	w.client_end->broken = true;
	conn_shutdown(w.client.conn);
	assert_int_equal(w.client.count[TLS_EVENT_ERROR], 0);
	pipe_run(&w.loop);
	assert_int_equal(w.client.count[TLS_EVENT_ERROR], 1);
	assert_int_equal(w.client.err.sys_errno, 32);
	tls_world_release(&w);
}

static void an_error_below_is_passed_on_once(void **state)
{
	struct error reset = { .code = ERR_UNAVAILABLE, .msg = "reset" };
	struct tls_world w;

	tls_world_init(&w);
	tls_world_open(&w);
	conn_up_error(&w.client_end->conn, &reset);
	conn_up_error(&w.client_end->conn, &reset);
	assert_int_equal(w.client.count[TLS_EVENT_ERROR], 1);
	assert_string_equal(w.client.err.msg, "reset");
	tls_world_release(&w);

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  1000, 1000);
	conn_up_error(&w.client_end->conn, &reset);
	assert_string_equal(w.client.err.msg, "TLS handshake: reset");
	tls_world_release(&w);
}

/* A conn that is not connected yet takes nothing. */
static void an_unreachable_server_is_not_a_handshake_failure(void **state)
{
	struct error nobody = { .code = ERR_UNAVAILABLE, .msg = "cannot connect to 10.0.0.1:1" };
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  1000, 0);
	conn_up_error(&w.client_end->conn, &nobody);
	assert_string_equal(w.client.err.msg, "cannot connect to 10.0.0.1:1");
	tls_world_release(&w);
}

/* --- freeing ----------------------------------------------------------------------------- */

struct free_at {
	enum tls_event event;
	bool paused_first; /* free from the deferred task instead */
};

static void free_at_event(struct tls_side *s, enum tls_event event)
{
	const struct free_at *at = s->data;

	if (event != at->event)
		return;
	if (at->paused_first && event == TLS_EVENT_DATA && s->count[event] == 1)
		conn_pause(s->conn);
	else
		tls_side_free(s);
}

static void no_callback_comes_after_a_free_in(enum tls_event event, bool paused_first, size_t piece)
{
	struct free_at at = { event, paused_first };
	static char text[100000];
	int events = 0;
	struct tls_world w;

	tls_world_init(&w);
	tls_world_connect(&w, tls_world_client(&w, NULL), tls_world_server(&w, NULL), "localhost",
			  piece, 1000);
	w.client.to_send = str_of(text, sizeof(text));
	w.server.hook = free_at_event;
	w.server.data = &at;
	while (pipe_step(&w.loop))
		if (w.server.conn && w.server.conn->paused)
			conn_resume(w.server.conn);
	if (event == TLS_EVENT_EOF) {
		conn_shutdown(w.client.conn);
		pipe_run(&w.loop);
	} else if (event == TLS_EVENT_ERROR) {
		w.client_end->wire.n = 0;
		say(&w.client, "x");
		w.client_end->wire.p[7] ^= 1;
		pipe_run(&w.loop);
	} else if (event == TLS_EVENT_WRITABLE) {
		w.server.to_send = str_of(text, sizeof(text));
		tls_side_send(&w.server);
		pipe_run(&w.loop);
	}
	assert_null(w.server.conn);
	assert_int_equal(w.server.count[event], paused_first ? 2 : 1);
	for (int i = 0; i <= TLS_EVENT_ERROR; i++)
		events += w.server.count[i];
	assert_true(events > 0);
	w.client.to_send = STR_NULL;
	pipe_run(&w.loop);
	for (int i = 0; i <= TLS_EVENT_ERROR; i++)
		events -= w.server.count[i];
	assert_int_equal(events, 0);
	tls_world_release(&w);
}

static void the_owner_may_free_in_any_callback(void **state)
{
	static const size_t pieces[] = { 1, 1000, 65536 };

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		for (int event = TLS_EVENT_OPEN; event <= TLS_EVENT_ERROR; event++)
			no_callback_comes_after_a_free_in((enum tls_event)event, false, pieces[i]);
		no_callback_comes_after_a_free_in(TLS_EVENT_DATA, true, pieces[i]);
	}
}

/* --- memory ------------------------------------------------------------------------------ */

/* OpenSSL 3.0 needs 13.9 KiB; a record buffer left behind would be 16 KiB more. */
enum { IDLE_CONNS = 200, IDLE_MAX = 15 * 1024 };

static void idle_server_connections_are_small(void **state)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	struct conn *idle[IDLE_CONNS];
	size_t before, plain, after;
	struct pipe_end *a, *b;
	struct tls_world w;
	struct tls *client, *server;

	tls_world_init(&w);
	client = tls_world_client(&w, alpn);
	server = tls_world_server(&w, alpn);

	before = mallinfo2().uordblks;
	pipe_new(&w.loop, 64 * KIB, MIB, &a, &b);
	conn_free(&a->conn);
	plain = mallinfo2().uordblks - before;
	conn_free(&b->conn);
	pipe_run(&w.loop);
	if (plain == 0) {
		tls_unref(client);
		tls_unref(server);
		tls_world_release(&w);
		skip(); /* a sanitizer's allocator does not count */
	}

	for (int i = -1; i < IDLE_CONNS; i++) {
		/* The first one warms up what is made once. */
		if (i == 0)
			before = mallinfo2().uordblks;
		tls_world_connect(&w, tls_ref(client), tls_ref(server), "localhost", 64 * KIB, MIB);
		w.client.to_send = STR("GET / HTTP/1.1\r\n\r\n");
		w.server.to_send = STR("HTTP/1.1 204 No Content\r\n\r\n");
		pipe_run(&w.loop);
		assert_true(str_eqz(conn_alpn(w.server.conn), "h2"));
		tls_side_free(&w.client);
		w.client_end->end_told = true; /* the server is to stay */
		if (i >= 0)
			idle[i] = w.server.conn;
		else
			tls_side_free(&w.server);
		w.server.conn = NULL;
		pipe_run(&w.loop);
	}
	after = (mallinfo2().uordblks - before) / IDLE_CONNS - plain;
	print_message("# idle TLS connection: %zu bytes\n", after);
	assert_true(after <= IDLE_MAX);
	for (int i = 0; i < IDLE_CONNS; i++)
		conn_free(idle[i]);
	tls_unref(client);
	tls_unref(server);
	tls_world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_arrive_unchanged_in_both_directions),
		cmocka_unit_test(small_pieces_share_a_record),
		cmocka_unit_test(large_writes_make_as_few_records_as_fit),
		cmocka_unit_test(an_empty_write_sends_nothing),
		cmocka_unit_test(nothing_is_taken_while_ciphertext_is_pending),
		cmocka_unit_test(writing_before_the_handshake_is_done_waits_for_it),
		cmocka_unit_test(keys_may_be_renewed_in_mid_stream),
		cmocka_unit_test(a_flood_of_key_updates_is_cut_at_the_limit),
		cmocka_unit_test(a_pause_in_the_middle_of_a_delivery_keeps_the_rest),
		cmocka_unit_test(a_pause_before_the_handshake_holds_data_but_not_the_handshake),
		cmocka_unit_test(the_end_waits_for_a_paused_owner),
		cmocka_unit_test(shutdown_ends_one_direction_in_order),
		cmocka_unit_test(bytes_after_the_end_are_dropped),
		cmocka_unit_test(shutdown_comes_after_what_is_pending),
		cmocka_unit_test(shutdown_before_the_handshake_ends_after_it),
		cmocka_unit_test(free_sends_no_close_notify_and_the_peer_sees_an_end),
		cmocka_unit_test(a_cut_inside_a_record_is_an_error),
		cmocka_unit_test(a_cut_during_the_handshake_is_an_error),
		cmocka_unit_test(changed_bytes_are_noticed),
		cmocka_unit_test(plain_http_on_a_tls_socket_is_told_as_such),
		cmocka_unit_test(a_broken_socket_fails_the_write),
		cmocka_unit_test(a_broken_socket_at_shutdown_is_told_later),
		cmocka_unit_test(an_error_below_is_passed_on_once),
		cmocka_unit_test(an_unreachable_server_is_not_a_handshake_failure),
		cmocka_unit_test(the_owner_may_free_in_any_callback),
		cmocka_unit_test(idle_server_connections_are_small),
	};

	return cmocka_run_group_tests_name("net/tls_conn", tests, NULL, NULL);
}
