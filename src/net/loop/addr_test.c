#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "net/loop/addr.h"

struct good_row {
	const char *text;
	uint16_t default_port;
	enum addr_kind kind;
	const char *canonical;
	const char *host;
	uint16_t port;
};

static const struct good_row good[] = {
	{ "127.0.0.1:6443", 0, ADDR_INET, "127.0.0.1:6443", "127.0.0.1", 6443 },
	{ "127.0.0.1:0", 0, ADDR_INET, "127.0.0.1:0", "127.0.0.1", 0 },
	{ "127.0.0.1", 8080, ADDR_INET, "127.0.0.1:8080", "127.0.0.1", 8080 },
	{ "127.0.0.1:65535", 8080, ADDR_INET, "127.0.0.1:65535", "127.0.0.1", 65535 },
	{ "127.0.0.1:00080", 0, ADDR_INET, "127.0.0.1:80", "127.0.0.1", 80 },
	{ "[::1]:6443", 0, ADDR_INET, "[::1]:6443", "::1", 6443 },
	{ "[::1]", 443, ADDR_INET, "[::1]:443", "::1", 443 },
	{ "[2001:DB8:0:0:0:0:0:1]:1", 0, ADDR_INET, "[2001:db8::1]:1", "2001:db8::1", 1 },
	{ "[::ffff:10.0.0.1]:1", 0, ADDR_INET, "10.0.0.1:1", "10.0.0.1", 1 },
	{ "[fe80::1%1]:1", 0, ADDR_INET, "[fe80::1%1]:1", "fe80::1%1", 1 },
	{ "[fe80::1%lo]:1", 0, ADDR_INET, "[fe80::1%1]:1", "fe80::1%1", 1 },
	{ "::", 6443, ADDR_INET, "[::]:6443", "::", 6443 },
	{ "fd00::1:80", 6443, ADDR_INET, "[fd00::1:80]:6443", "fd00::1:80", 6443 },
	{ ":6443", 0, ADDR_INET, "[::]:6443", "::", 6443 },
	{ "host:6443", 0, ADDR_NAME, "host:6443", "host", 6443 },
	{ "Api.Example.COM.:1", 0, ADDR_NAME, "api.example.com.:1", "api.example.com.", 1 },
	{ "a_b-c.1x", 7, ADDR_NAME, "a_b-c.1x:7", "a_b-c.1x", 7 },
	{ "tcp://10.0.0.1:1", 0, ADDR_INET, "10.0.0.1:1", "10.0.0.1", 1 },
	{ "http://host", 80, ADDR_NAME, "host:80", "host", 80 },
	{ "https://[::1]:2379", 443, ADDR_INET, "[::1]:2379", "::1", 2379 },
	{ "unix:/run/x.sock", 0, ADDR_UNIX, "unix:/run/x.sock", "/run/x.sock", 0 },
	{ "unix:///run/x.sock", 0, ADDR_UNIX, "unix:/run/x.sock", "/run/x.sock", 0 },
	{ "unix:////run//x", 0, ADDR_UNIX, "unix:/run//x", "/run//x", 0 },
	{ "UNIX:/x", 0, ADDR_UNIX, "unix:/x", "/x", 0 },
	{ "tcp://Unix:9", 0, ADDR_NAME, "tcp://unix:9", "unix", 9 },
	{ "unix:x.sock", 0, ADDR_UNIX, "unix:x.sock", "x.sock", 0 },
	{ "unix:@name", 0, ADDR_UNIX, "unix:@name", "@name", 0 },
};

static void parse_accepts_every_form(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const struct good_row *row = &good[i];
		struct error err = { 0 };
		struct addr a, again;

		if (addr_parse(&a, str_from(row->text), row->default_port, &err) < 0)
			fail_msg("%s: %s", row->text, err.msg);
		assert_int_equal(a.kind, row->kind);
		assert_string_equal(a.text, row->canonical);
		assert_string_equal(a.host, row->host);
		assert_int_equal(a.port, row->port);

		/* The canonical text needs no default and means the same. */
		assert_int_equal(addr_parse(&again, str_from(a.text), 0, &err), 0);
		assert_string_equal(again.text, a.text);
		assert_int_equal(again.len, a.len);
		assert_memory_equal(&again.sa, &a.sa, sizeof(a.sa));
	}
}

static void parse_fills_the_socket_address(void **state)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;
	struct sockaddr_un un;
	struct addr a;

	assert_int_equal(addr_parse(&a, STR("1.2.3.4:5"), 0, NULL), 0);
	assert_int_equal(a.len, sizeof(v4));
	memcpy(&v4, &a.sa, sizeof(v4));
	assert_int_equal(v4.sin_family, AF_INET);
	assert_int_equal(ntohl(v4.sin_addr.s_addr), 0x01020304);
	assert_int_equal(ntohs(v4.sin_port), 5);

	assert_int_equal(addr_parse(&a, STR("[fe80::1%7]:5"), 0, NULL), 0);
	assert_int_equal(a.len, sizeof(v6));
	memcpy(&v6, &a.sa, sizeof(v6));
	assert_int_equal(v6.sin6_family, AF_INET6);
	assert_int_equal(v6.sin6_scope_id, 7);
	assert_int_equal(v6.sin6_addr.s6_addr[15], 1);

	assert_int_equal(addr_parse(&a, STR("unix:@ab"), 0, NULL), 0);
	assert_int_equal(a.len, offsetof(struct sockaddr_un, sun_path) + 3);
	memcpy(&un, &a.sa, sizeof(un));
	assert_memory_equal(un.sun_path, "\0ab", 4);

	assert_int_equal(addr_parse(&a, STR("host:5"), 0, NULL), 0);
	assert_int_equal(a.len, 0);
}

struct bad_row {
	const char *text;
	uint16_t default_port;
	const char *why; /* part of the message */
};

static const struct bad_row bad[] = {
	{ "", 0, "address \"\": it is empty" },
	{ "", 80, "it is empty" },
	{ "https://", 443, "it is empty" },
	{ "127.0.0.1", 0, "address \"127.0.0.1\": it has no port" },
	{ "[::1]", 0, "it has no port" },
	{ "host:", 80, "\"\" is not a port" },
	{ "[::1]:", 80, "\"\" is not a port" },
	{ "host:65536", 0, "\"65536\" is not a port" },
	{ "host:-1", 0, "\"-1\" is not a port" },
	{ "host:http", 0, "\"http\" is not a port" },
	{ "https://host:443/path", 0, "\"443/path\" is not a port" },
	{ "::1:6443", 0, "[address]:port" },
	{ "[::1", 80, "without" },
	{ "[::1]6443", 80, "must follow" },
	{ "[1.2.3.4]:80", 0, "only IPv6" },
	{ "[]:80", 0, "only IPv6" },
	{ "[::g]:80", 0, "\"::g\" is not an IPv6 address" },
	{ "[::1%nosuchif0]:80", 0, "no network interface \"nosuchif0\"" },
	{ "[::1%]:80", 0, "no network interface \"\"" },
	{ "1.2.3.256:80", 0, "\"1.2.3.256\" is not an IPv4 address" },
	{ "1.2.3:80", 0, "is not an IPv4 address" },
	{ "01.2.3.4:80", 0, "is not an IPv4 address" },
	{ "a..b:80", 0, "\"a..b\" is not a host name" },
	{ ".:80", 0, "is not a host name" },
	{ "-a:80", 0, "is not a host name" },
	{ "a b:80", 0, "is not a host name" },
	{ "ftp://host:80", 0, "scheme" },
	{ "/run/x.sock", 80, "unix:/path" },
	{ "unix:", 0, "path is empty" },
	{ "unix:@", 0, "path is empty" },
	{ "unix://", 0, "must be absolute" },
	{ "unix://run/x.sock", 0, "must be absolute" },
};

static void parse_refuses_and_says_why(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct bad_row *row = &bad[i];
		struct addr a = { .port = 4711 };
		struct error err = { 0 };

		if (addr_parse(&a, str_from(row->text), row->default_port, &err) != -ERR_INVALID)
			fail_msg("\"%s\" was accepted as %s", row->text, a.text);
		if (!strstr(err.msg, row->why))
			fail_msg("\"%s\": \"%s\" lacks \"%s\"", row->text, err.msg, row->why);
		assert_int_equal(a.port, 4711);
	}
}

static void parse_refuses_what_does_not_fit(void **state)
{
	char text[300];
	struct error err;
	struct addr a;

	memset(text, 'a', sizeof(text));
	for (size_t i = 60; i < sizeof(text); i += 60)
		text[i] = '.';
	assert_int_equal(addr_parse(&a, str_of(text, 119), 65535, &err), 0);
	assert_int_equal(strlen(a.text), 119 + 6);
	assert_int_equal(addr_parse(&a, str_of(text, 120), 65535, &err), -ERR_INVALID);

	memcpy(text, "unix:/", 6);
	assert_int_equal(addr_parse(&a, str_of(text, 5 + 107), 0, &err), 0);
	assert_int_equal(strlen(a.host), 107);
	assert_int_equal(a.len, sizeof(struct sockaddr_un));
	assert_int_equal(addr_parse(&a, str_of(text, 5 + 108), 0, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "108 bytes long, at most 107 fit"));

	assert_int_equal(addr_parse(&a, STR("unix:/a\0b"), 0, &err), -ERR_INVALID);
	assert_int_equal(addr_parse(&a, STR("a\0b:80"), 0, &err), -ERR_INVALID);
	assert_int_equal(addr_parse(&a, STR("1.2.3.4\0:80"), 0, &err), -ERR_INVALID);
}

static void a_label_longer_than_63_bytes_is_no_host_name(void **state)
{
	char text[64];
	struct addr a;

	memset(text, 'a', sizeof(text));
	assert_int_equal(addr_parse(&a, str_of(text, 63), 1, NULL), 0);
	assert_int_equal(addr_parse(&a, str_of(text, 64), 1, NULL), -ERR_INVALID);
}

static void from_sockaddr_gives_the_text_that_parses_back(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct addr a, b;

		assert_int_equal(addr_parse(&a, str_from(good[i].text), good[i].default_port, NULL),
				 0);
		if (a.kind == ADDR_NAME)
			continue;
		addr_from_sockaddr(&b, (const struct sockaddr *)&a.sa, a.len);
		assert_int_equal(b.kind, a.kind);
		assert_string_equal(b.text, a.text);
		assert_string_equal(b.host, a.host);
		assert_int_equal(b.port, a.port);
		assert_int_equal(b.len, a.len);
		assert_memory_equal(&b.sa, &a.sa, sizeof(a.sa));
	}
}

static void from_sockaddr_turns_a_mapped_peer_into_ipv4(void **state)
{
	struct sockaddr_in6 sin = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(80),
		.sin6_addr = { .s6_addr = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 9 } },
	};
	struct addr a;

	addr_from_sockaddr(&a, (const struct sockaddr *)&sin, sizeof(sin));
	assert_string_equal(a.text, "10.0.0.9:80");
	assert_int_equal(a.sa.ss_family, AF_INET);
}

static void from_sockaddr_copes_with_odd_unix_names(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct addr a;

	/* A client that did not bind has no name at all. */
	addr_from_sockaddr(&a, (const struct sockaddr *)&un, sizeof(sa_family_t));
	assert_int_equal(a.kind, ADDR_UNIX);
	assert_string_equal(a.text, "unix:");
	assert_string_equal(a.host, "");

	/* A path may fill the array to its last byte. */
	memset(un.sun_path, 'x', sizeof(un.sun_path));
	addr_from_sockaddr(&a, (const struct sockaddr *)&un, sizeof(un));
	assert_int_equal(strlen(a.host), sizeof(un.sun_path));

	memcpy(un.sun_path, "\0a\0\xff\n", 5);
	addr_from_sockaddr(&a, (const struct sockaddr *)&un,
			   offsetof(struct sockaddr_un, sun_path) + 5);
	assert_string_equal(a.text, "unix:@a???");
}

static void from_sockaddr_of_an_unknown_family_is_empty(void **state)
{
	struct sockaddr sa = { .sa_family = AF_PACKET };
	struct addr a;

	addr_from_sockaddr(&a, &sa, sizeof(sa));
	assert_string_equal(a.text, "");
	addr_from_sockaddr(&a, &sa, 0);
	assert_string_equal(a.text, "");
	sa.sa_family = AF_INET6; /* too short for one */
	addr_from_sockaddr(&a, &sa, sizeof(sa));
	assert_string_equal(a.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_accepts_every_form),
		cmocka_unit_test(parse_fills_the_socket_address),
		cmocka_unit_test(parse_refuses_and_says_why),
		cmocka_unit_test(parse_refuses_what_does_not_fit),
		cmocka_unit_test(a_label_longer_than_63_bytes_is_no_host_name),
		cmocka_unit_test(from_sockaddr_gives_the_text_that_parses_back),
		cmocka_unit_test(from_sockaddr_turns_a_mapped_peer_into_ipv4),
		cmocka_unit_test(from_sockaddr_copes_with_odd_unix_names),
		cmocka_unit_test(from_sockaddr_of_an_unknown_family_is_empty),
	};

	return cmocka_run_group_tests_name("net/addr", tests, NULL, NULL);
}
