#include "net/tls/tls_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "net/tls/tls_world.h"

/* A world that has a client and a server and their options, to be bent by the test. */
struct handshake {
	struct tls_world w;
	struct tls_opts client, server;
	struct tls_pair pair;
	const char *server_name;
	int client_max, server_max; /* protocol versions, or 0 */
};

static void handshake_init(struct handshake *h)
{
	*h = (struct handshake){ .server_name = "localhost" };
	tls_world_init(&h->w);
	h->pair = (struct tls_pair){ buf_str(&h->w.cert), buf_str(&h->w.key) };
	h->client.ca = buf_str(&h->w.ca_cert);
	h->server = (struct tls_opts){ .server = true, .pairs = &h->pair, .npairs = 1 };
}

static struct tls *make(const struct tls_opts *opts, int max_version)
{
	struct tls *t = NULL;
	struct error err;

	if (tls_new(opts, &t, &err) < 0)
		fail_msg("%s", err.msg);
	if (max_version) {
		(void)SSL_CTX_set_min_proto_version(t->ctx[0], 0);
		(void)SSL_CTX_set_max_proto_version(t->ctx[0], max_version);
	}
	if (max_version && max_version < TLS1_2_VERSION)
		(void)SSL_CTX_set_cipher_list(t->ctx[0], "ALL:@SECLEVEL=0");
	return t;
}

static void handshake_run(struct handshake *h, size_t piece)
{
	tls_world_connect(&h->w, make(&h->client, h->client_max), make(&h->server, h->server_max),
			  h->server_name, piece, 1000);
	pipe_run(&h->w.loop);
}

static void expect_open(struct handshake *h)
{
	if (h->w.client.count[TLS_EVENT_ERROR] || h->w.server.count[TLS_EVENT_ERROR])
		fail_msg("client: %s; server: %s", h->w.client.err.msg, h->w.server.err.msg);
	assert_int_equal(h->w.client.count[TLS_EVENT_OPEN], 1);
	assert_int_equal(h->w.server.count[TLS_EVENT_OPEN], 1);
}

static void expect_failure(struct handshake *h, const char *client, const char *server)
{
	assert_int_equal(h->w.client.count[TLS_EVENT_ERROR], 1);
	assert_string_equal(h->w.client.err.msg, client);
	assert_int_equal(h->w.server.count[TLS_EVENT_ERROR], 1);
	assert_string_equal(h->w.server.err.msg, server);
	assert_int_equal(h->w.server.count[TLS_EVENT_OPEN], 0);
	assert_int_equal(ERR_peek_error(), 0);
}

static void handshake_release(struct handshake *h)
{
	tls_world_release(&h->w);
}

/* --- agreeing ---------------------------------------------------------------------- */

static void handshake_succeeds_in_pieces_of_any_size(void **state)
{
	static const size_t pieces[] = { 1, 7, 1000, 100000 };
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	static const char *const alpn[] = { "h2", "http/1.1", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(pieces) * ARRAY_SIZE(versions); i++) {
		struct handshake h;

		handshake_init(&h);
		h.client.alpn = h.server.alpn = alpn;
		h.client_max = versions[i % 2];
		handshake_run(&h, pieces[i / 2]);
		expect_open(&h);
		assert_true(conn_is_tls(h.w.client.conn));
		assert_true(str_eqz(conn_alpn(h.w.client.conn), "h2"));
		assert_true(str_eqz(conn_alpn(h.w.server.conn), "h2"));
		handshake_release(&h);
	}
}

static void versions_before_1_2_are_refused(void **state)
{
	struct handshake h;

	handshake_init(&h);
	h.client_max = TLS1_1_VERSION;
	handshake_run(&h, 1000);
	expect_failure(&h, "refused by the peer: protocol version (server 10.0.0.1:6443)",
		       "TLS failed: unsupported protocol (client 10.0.0.2:50000)");
	handshake_release(&h);
}

static void the_server_s_order_decides_the_protocol(void **state)
{
	static const char *const client[] = { "http/1.1", "h2", NULL };
	static const char *const server[] = { "h2", "http/1.1", NULL };
	struct handshake h;

	handshake_init(&h);
	h.client.alpn = client;
	h.server.alpn = server;
	handshake_run(&h, 1000);
	expect_open(&h);
	assert_true(str_eqz(conn_alpn(h.w.client.conn), "h2"));
	handshake_release(&h);
}

static void without_a_common_protocol_there_is_no_connection(void **state)
{
	static const char *const client[] = { "h3", NULL };
	static const char *const server[] = { "h2", "http/1.1", NULL };
	struct handshake h;

	handshake_init(&h);
	h.client.alpn = client;
	h.server.alpn = server;
	handshake_run(&h, 1000);
	expect_failure(&h, "refused by the peer: no application protocol (server 10.0.0.1:6443)",
		       "TLS failed: no application protocol (client 10.0.0.2:50000)");
	handshake_release(&h);
}

static void a_side_without_alpn_agrees_on_nothing(void **state)
{
	static const char *const alpn[] = { "h2", NULL };
	struct handshake h;

	handshake_init(&h);
	h.server.alpn = alpn;
	handshake_run(&h, 1000);
	expect_open(&h);
	assert_int_equal(conn_alpn(h.w.server.conn).n, 0);
	assert_int_equal(conn_alpn(h.w.client.conn).n, 0);
	handshake_release(&h);
}

/* --- whom the client trusts ---------------------------------------------------------- */

static void a_server_of_another_ca_is_refused(void **state)
{
	struct handshake h;
	CLEANUP(buf_release) struct buf other_cert = BUF_INIT(16 * KIB);
	struct pki_ca *other = NULL;

	handshake_init(&h);
	assert_int_equal(
		pki_ca_new(STR("other-ca"), TLS_WORLD_DAY, &h.w.loop.clock.clock, &other, NULL), 0);
	assert_int_equal(pki_ca_cert(other, &other_cert, NULL), 0);
	h.client.ca = buf_str(&other_cert);
	handshake_run(&h, 1000);
	expect_failure(&h,
		       "certificate verify failed: unable to get local issuer certificate "
		       "(server 10.0.0.1:6443, asked for as localhost)",
		       "refused by the peer: unknown CA (client 10.0.0.2:50000)");
	pki_ca_free(other);
	handshake_release(&h);
}

static void an_expired_server_is_refused_by_the_loop_s_clock(void **state)
{
	struct handshake h;

	handshake_init(&h);
	h.w.loop.clock.wall_ns += 2 * TLS_WORLD_DAY * CLOCK_SEC;
	handshake_run(&h, 1000);
	expect_failure(&h,
		       "certificate verify failed: certificate has expired "
		       "(server 10.0.0.1:6443, asked for as localhost)",
		       "refused by the peer: certificate expired (client 10.0.0.2:50000)");
	handshake_release(&h);
}

struct name_row {
	const char *name;
	bool good;
};

static void the_server_must_have_the_name_that_was_asked_for(void **state)
{
	static const struct name_row rows[] = {
		{ "localhost", true },     { "LOCALHOST", true }, { "localhost.", true },
		{ "10.0.0.1", true },      { "other", false },    { "10.0.0.2", false },
		{ "server", false }, /* the common name does not count */
		{ "fe80::1%eth0", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct handshake h;

		handshake_init(&h);
		h.server_name = rows[i].name;
		handshake_run(&h, 1000);
		if (rows[i].good)
			expect_open(&h);
		else
			assert_non_null(strstr(h.w.client.err.msg, "mismatch (server 10.0.0.1"));
		handshake_release(&h);
	}
}

static void a_common_name_never_stands_for_a_host(void **state)
{
	static const struct str address = { "10.0.0.1", 8 };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	struct pki_leaf leaf = { .common_name = STR("api.example.com"),
				 .hosts = &address,
				 .nhosts = 1,
				 .server = true,
				 .lifetime = TLS_WORLD_DAY };
	struct handshake h;

	handshake_init(&h);
	assert_int_equal(pki_issue(h.w.ca, &leaf, &h.w.loop.clock.clock, &cert, &key, NULL), 0);
	h.pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	h.server_name = "api.example.com";
	handshake_run(&h, 1000);
	assert_non_null(strstr(h.w.client.err.msg, "hostname mismatch"));
	handshake_release(&h);
}

static void an_address_is_not_sent_as_a_name(void **state)
{
	struct handshake h;
	struct tls_conn *server;

	handshake_init(&h);
	h.server_name = "10.0.0.1";
	handshake_run(&h, 1000);
	expect_open(&h);
	server = CONTAINER_OF(h.w.server.conn, struct tls_conn, conn);
	assert_null(SSL_get_servername(server->ssl, TLSEXT_NAMETYPE_host_name));
	handshake_release(&h);
}

static void insecure_clients_trust_anybody_and_know_nobody(void **state)
{
	struct tls_peer peer;
	struct handshake h;
	struct arena a;

	handshake_init(&h);
	h.client = (struct tls_opts){ .insecure_skip_verify = true };
	h.server_name = "whoever";
	h.w.loop.clock.wall_ns += 2 * TLS_WORLD_DAY * CLOCK_SEC;
	handshake_run(&h, 1000);
	expect_open(&h);
	arena_init(&a, MIB);
	assert_int_equal(tls_peer(h.w.client.conn, &a, &peer, NULL), -ERR_NOT_FOUND);
	arena_release(&a);
	handshake_release(&h);
}

static void a_client_must_name_its_server(void **state)
{
	static const char *const names[] = { NULL, "", "%eth0" };
	struct pipe_end *a, *b;
	struct conn *c = NULL;
	struct tls_world w;
	struct error err;
	struct tls *t;

	tls_world_init(&w);
	t = tls_world_client(&w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pipe_new(&w.loop, 1000, 1000, &a, &b);
		assert_int_equal(tls_wrap(t, &a->conn, names[i], NULL, NULL, &c, &err),
				 -ERR_INVALID);
		assert_non_null(strstr(err.msg, "name"));
		conn_free(&b->conn); /* `a` went with the failure */
	}
	tls_unref(t);
	tls_world_release(&w);
}

/* --- which certificate the server shows ----------------------------------------------- */

static void server_is(struct handshake *h, const char *common_name)
{
	struct tls_peer peer;
	struct arena a;

	expect_open(h);
	arena_init(&a, MIB);
	assert_int_equal(tls_peer(h->w.client.conn, &a, &peer, NULL), 0);
	assert_true(str_eqz(peer.common_name, common_name));
	arena_release(&a);
}

static void sni_picks_the_pair_that_fits(void **state)
{
	static const char *const rows[][2] = {
		{ "localhost", "server" },     { "a.example.com", "pair-a" },
		{ "A.Example.Com", "pair-a" }, { "x.wild.example.com", "pair-b" },
		{ "10.0.0.1", "server" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf a_cert = BUF_INIT(16 * KIB);
		CLEANUP(buf_release) struct buf a_key = BUF_INIT(16 * KIB);
		CLEANUP(buf_release) struct buf b_cert = BUF_INIT(16 * KIB);
		CLEANUP(buf_release) struct buf b_key = BUF_INIT(16 * KIB);
		struct tls_pair pairs[3];
		struct handshake h;

		handshake_init(&h);
		tls_world_issue(&h.w, h.w.ca, "pair-a", "a.example.com", &a_cert, &a_key);
		tls_world_issue(&h.w, h.w.ca, "pair-b", "*.wild.example.com", &b_cert, &b_key);
		pairs[0] = h.pair;
		pairs[1] = (struct tls_pair){ buf_str(&a_cert), buf_str(&a_key) };
		pairs[2] = (struct tls_pair){ buf_str(&b_cert), buf_str(&b_key) };
		h.server.pairs = pairs;
		h.server.npairs = ARRAY_SIZE(pairs);
		h.server_name = rows[i][0];
		handshake_run(&h, 1000);
		server_is(&h, rows[i][1]);
		handshake_release(&h);
	}
}

static void an_unknown_name_gets_the_first_pair(void **state)
{
	struct handshake h;

	handshake_init(&h);
	h.server_name = "unknown.example.com";
	handshake_run(&h, 1000);
	expect_failure(&h,
		       "certificate verify failed: hostname mismatch "
		       "(server 10.0.0.1:6443, asked for as unknown.example.com)",
		       "refused by the peer: bad certificate (client 10.0.0.2:50000)");
	handshake_release(&h);
}

/* --- client certificates ---------------------------------------------------------------- */

static void the_server_learns_user_and_groups(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
		CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
		struct tls_pair pair;
		struct tls_peer peer;
		struct handshake h;
		struct arena a;

		handshake_init(&h);
		tls_world_issue(&h.w, h.w.ca, "admin", NULL, &cert, &key);
		pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
		h.client.pairs = &pair;
		h.client.npairs = 1;
		h.client_max = versions[i];
		h.server.ca = buf_str(&h.w.ca_cert);
		h.server.require_client_cert = true;
		handshake_run(&h, 7);
		expect_open(&h);

		arena_init(&a, MIB);
		assert_int_equal(tls_peer(h.w.server.conn, &a, &peer, NULL), 0);
		assert_true(str_eqz(peer.common_name, "admin"));
		assert_int_equal(peer.norganizations, 2);
		assert_true(str_eqz(peer.organizations[0], "system:masters"));
		assert_true(str_eqz(peer.organizations[1], "team-a"));
		assert_int_equal(peer.not_after, TLS_WORLD_NOW + TLS_WORLD_DAY);
		arena_release(&a);
		handshake_release(&h);
	}
}

static void a_client_without_a_certificate_may_come_where_it_is_only_asked(void **state)
{
	struct tls_peer peer;
	struct handshake h;
	struct arena a;

	handshake_init(&h);
	h.server.ca = buf_str(&h.w.ca_cert);
	h.server.ask_client_cert = true;
	handshake_run(&h, 1000);
	expect_open(&h);
	arena_init(&a, MIB);
	assert_int_equal(tls_peer(h.w.server.conn, &a, &peer, NULL), -ERR_NOT_FOUND);
	arena_release(&a);
	handshake_release(&h);
}

static void a_client_without_a_certificate_is_refused_where_it_is_required(void **state)
{
	struct handshake h;

	handshake_init(&h);
	h.server.ca = buf_str(&h.w.ca_cert);
	h.server.require_client_cert = true;
	handshake_run(&h, 1000);
	expect_failure(
		&h, "refused by the peer: tlsv13 alert certificate required (server 10.0.0.1:6443)",
		"TLS failed: peer did not return a certificate (client 10.0.0.2:50000)");
	handshake_release(&h);
}

struct bad_client_row {
	bool other_ca;
	const char *host; /* makes it a server's certificate */
	const char *why;
};

static void a_client_with_the_wrong_certificate_is_refused_even_where_it_is_only_asked(void **state)
{
	static const struct bad_client_row rows[] = {
		{ true, NULL, "unable to get local issuer certificate" },
		{ false, "localhost", "unsuitable certificate purpose" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
		CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
		CLEANUP(pki_ca_free) struct pki_ca *other = NULL;
		struct tls_pair pair;
		struct handshake h;

		handshake_init(&h);
		assert_int_equal(pki_ca_new(STR("other-ca"), TLS_WORLD_DAY, &h.w.loop.clock.clock,
					    &other, NULL),
				 0);
		tls_world_issue(&h.w, rows[i].other_ca ? other : h.w.ca, "admin", rows[i].host,
				&cert, &key);
		pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
		h.client.pairs = &pair;
		h.client.npairs = 1;
		h.server.ca = buf_str(&h.w.ca_cert);
		h.server.ask_client_cert = true;
		handshake_run(&h, 1000);
		assert_int_equal(h.w.server.count[TLS_EVENT_OPEN], 0);
		assert_non_null(strstr(h.w.server.err.msg, rows[i].why));
		assert_int_equal(h.w.client.count[TLS_EVENT_ERROR], 1);
		handshake_release(&h);
	}
}

/* --- options ------------------------------------------------------------------------------ */

static void expect_refused(const struct tls_opts *opts, const char *why)
{
	struct tls *t = NULL;
	struct error err = { 0 };

	assert_int_equal(tls_new(opts, &t, &err), -ERR_INVALID);
	if (!strstr(err.msg, why))
		fail_msg("\"%s\" lacks \"%s\"", err.msg, why);
	assert_null(t);
	assert_int_equal(ERR_peek_error(), 0);
}

static void new_refuses_options_that_cannot_work(void **state)
{
	static const char *const no_name[] = { "", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	struct tls_world w;
	struct tls_pair good, mixed, swapped;

	tls_world_init(&w);
	tls_world_issue(&w, w.ca, "x", "x", &cert, &key);
	good = (struct tls_pair){ buf_str(&w.cert), buf_str(&w.key) };
	mixed = (struct tls_pair){ buf_str(&w.cert), buf_str(&key) };
	swapped = (struct tls_pair){ buf_str(&w.key), buf_str(&w.cert) };

	expect_refused(&(struct tls_opts){ .server = true }, "needs a certificate");
	expect_refused(
		&(struct tls_opts){
			.server = true, .pairs = &good, .npairs = 1, .ask_client_cert = true },
		"need a CA");
	expect_refused(&(struct tls_opts){ .server = true, .pairs = &mixed, .npairs = 1 },
		       "TLS: the certificate belongs to another key");
	expect_refused(&(struct tls_opts){ .server = true, .pairs = &swapped, .npairs = 1 },
		       "TLS: no certificate");
	expect_refused(&(struct tls_opts){ .server = true,
					   .pairs = (struct tls_pair[]){ good, mixed },
					   .npairs = 2 },
		       "TLS: key pair 2: the certificate belongs");
	expect_refused(
		&(struct tls_opts){ .pairs = (struct tls_pair[]){ good, good }, .npairs = 2 },
		"at most one");
	expect_refused(&(struct tls_opts){ .ca = STR("nonsense") },
		       "TLS: CA bundle: no certificate");
	expect_refused(&(struct tls_opts){ .alpn = no_name }, "ALPN");
	tls_world_release(&w);
}

static void a_context_lives_as_long_as_its_connections(void **state)
{
	struct tls_world w;

	/* tls_world_connect drops the only references that are not the conns'. */
	tls_world_init(&w);
	tls_world_open(&w);
	w.client.to_send = STR("hello");
	tls_side_send(&w.client);
	pipe_run(&w.loop);
	assert_string_equal(w.server.got.p, "hello");
	tls_world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake_succeeds_in_pieces_of_any_size),
		cmocka_unit_test(versions_before_1_2_are_refused),
		cmocka_unit_test(the_server_s_order_decides_the_protocol),
		cmocka_unit_test(without_a_common_protocol_there_is_no_connection),
		cmocka_unit_test(a_side_without_alpn_agrees_on_nothing),
		cmocka_unit_test(a_server_of_another_ca_is_refused),
		cmocka_unit_test(an_expired_server_is_refused_by_the_loop_s_clock),
		cmocka_unit_test(the_server_must_have_the_name_that_was_asked_for),
		cmocka_unit_test(a_common_name_never_stands_for_a_host),
		cmocka_unit_test(an_address_is_not_sent_as_a_name),
		cmocka_unit_test(insecure_clients_trust_anybody_and_know_nobody),
		cmocka_unit_test(a_client_must_name_its_server),
		cmocka_unit_test(sni_picks_the_pair_that_fits),
		cmocka_unit_test(an_unknown_name_gets_the_first_pair),
		cmocka_unit_test(the_server_learns_user_and_groups),
		cmocka_unit_test(a_client_without_a_certificate_may_come_where_it_is_only_asked),
		cmocka_unit_test(a_client_without_a_certificate_is_refused_where_it_is_required),
		cmocka_unit_test(
			a_client_with_the_wrong_certificate_is_refused_even_where_it_is_only_asked),
		cmocka_unit_test(new_refuses_options_that_cannot_work),
		cmocka_unit_test(a_context_lives_as_long_as_its_connections),
	};

	return cmocka_run_group_tests_name("net/tls", tests, NULL, NULL);
}
