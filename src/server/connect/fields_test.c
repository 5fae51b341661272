/*
 * Which header fields are passed on: one list in, the remaining names and values out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/http.h"
#include "server/connect/fields.h"

enum { FIELDS_MAX = 12 };

struct field_case {
	const char *in[FIELDS_MAX][2];
	const char *out; /* "name: value", one per line */
};

static void check(const struct field_case *c,
		  size_t (*fn)(const struct http_fields *in, struct arena *a, size_t more,
			       struct http_field **ret_fields))
{
	struct buf got = BUF_INIT(4 * KIB);
	struct http_fields in = { 0 };
	struct http_field *out;
	struct arena a;
	size_t n;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < FIELDS_MAX && c->in[i][0]; i++)
		assert_int_equal(
			http_fields_add(&in, &a, str_from(c->in[i][0]), str_from(c->in[i][1])), 0);
	n = fn(&in, &a, 0, &out);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&got, "%.*s: %.*s\n", STR_ARG(out[i].name), STR_ARG(out[i].value));
	assert_string_equal(got.n ? got.p : "", c->out);
	buf_release(&got);
	arena_release(&a);
}

static void requests_lose_what_is_of_this_hop(void **state UNUSED)
{
	static const struct field_case v[] = {
		{ { { "accept", "*/*" },
		    { "connection", "close, X-Hop" },
		    { "x-hop", "1" },
		    { "te", "trailers" },
		    { "trailer", "x" },
		    { "keep-alive", "1" },
		    { "proxy-authorization", "Basic x" },
		    { "proxy-connection", "close" },
		    { "date", "today" } },
		  "accept: */*\ndate: today\n" },
		{ { { "connection", "Upgrade" }, { "connection", "x-two" }, { "x-two", "2" } },
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		check(&v[i], connect_fields_request);
}

static void requests_do_not_tell_how_somebody_proves_who_he_is(void **state UNUSED)
{
	static const struct field_case v[] = {
		{ { { "authorization", "Bearer x" },
		    { "cookie", "a=b" },
		    { "impersonate-user", "admin" },
		    { "x-forwarded-host", "elsewhere" },
		    { "x-other", "y" } },
		  "x-other: y\n" },
		{ { { "sec-websocket-protocol",
		      "base64url.bearer.authorization.k8s.io.dG9rZW4, v5.channel.k8s.io ,v4" } },
		  "sec-websocket-protocol: v5.channel.k8s.io, v4\n" },
		{ { { "sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.dG9rZW4" },
		    { "sec-websocket-protocol", "chat,superchat" } },
		  "sec-websocket-protocol: chat,superchat\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		check(&v[i], connect_fields_request);
}

static void answers_do_not_say_what_only_the_server_does(void **state UNUSED)
{
	static const struct field_case v[] = {
		{ { { "audit-id", "fake" },
		    { "x-kubernetes-pf-flowschema-uid", "fake" },
		    { "x-kubernetes-pf-prioritylevel-uid", "fake" },
		    { "access-control-allow-origin", "*" },
		    { "etag", "1" } },
		  "etag: 1\n" },
		{ { { "set-cookie", "a=__Host-devplane; Path=/" },
		    { "set-cookie", "__Host-devplane=x; Path=/; Secure" },
		    { "set-cookie", " __host-devplane = x" },
		    { "set-cookie", "=__Host-devplane=x; Secure" },
		    { "set-cookie", "__Host-devplane" },
		    { "set-cookie", "" },
		    { "set-cookie", "__Host-devplane2=x" } },
		  "set-cookie: a=__Host-devplane; Path=/\nset-cookie: \n"
		  "set-cookie: __Host-devplane2=x\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		check(&v[i], connect_fields_answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_lose_what_is_of_this_hop),
		cmocka_unit_test(requests_do_not_tell_how_somebody_proves_who_he_is),
		cmocka_unit_test(answers_do_not_say_what_only_the_server_does),
	};

	return cmocka_run_group_tests_name("server/connect_fields", tests, NULL, NULL);
}
