#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http/http.h"
#include "web/session/cookie.h"

#define OURS "__Host-devplane=abc"

struct ask {
	const char *method;
	const char *fields[8]; /* name, value, .. */
};

static int claim(struct arena *a, const struct ui_cookie_kind *kind, const struct ask *q,
		 struct str *ret_id, struct error *err)
{
	struct http_head in = { .method = str_from(q->method), .authority = STR("h.test:6443") };

	for (size_t i = 0; i < ARRAY_SIZE(q->fields) && q->fields[i]; i += 2)
		assert_int_equal(http_fields_add(&in.fields, a, str_from(q->fields[i]),
						 str_from(q->fields[i + 1])),
				 0);
	return ui_cookie_claim(kind, &in, ret_id, err);
}

static void expect_of(const struct ui_cookie_kind *kind, const struct ask *v, size_t n, int result)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < n; i++) {
		struct error err = { 0 };
		struct str id = STR_NULL;
		int r = claim(&a, kind, &v[i], &id, &err);

		if (r != result)
			print_error("case %zu: %d, not %d: %s\n", i, r, result, err.msg);
		assert_int_equal(r, result);
		if (result == 1)
			assert_true(str_eqz(id, "abc"));
		else if (result < 0)
			assert_int_equal(-(int)err.code, result);
	}
}

static void expect(const struct ask *v, size_t n, int result)
{
	expect_of(&ui_cookie_host, v, n, result);
}

static void the_cookie_counts_beside_the_header(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1" } },
		{ "POST", { "cookie", OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", "a=b; " OURS "; c=d", "x-devplane-ui", "1" } },
		{ "GET", { "cookie", "a; =; ;;" OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", "a=b", "cookie", OURS, "x-devplane-ui", "1" } },
		{ "GET",
		  { "cookie", OURS, "x-devplane-ui", "1", "sec-fetch-site", "same-origin" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "sec-fetch-site", "none" } },
		{ "POST",
		  { "cookie", OURS, "x-devplane-ui", "1", "origin", "https://H.test:6443" } },
	};

	expect(asks, ARRAY_SIZE(asks), 1);
}

static void without_cookie_or_header_there_is_no_claim(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "GET", { NULL } },
		{ "POST", { "x-devplane-ui", "1" } },
		{ "GET", { "cookie", OURS } },
		{ "HEAD", { "cookie", OURS } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "0" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "" } },
		{ "POST", { "cookie", "devplane=abc", "x-devplane-ui", "1" } },
		{ "POST", { "cookie", "__host-devplane=abc", "x-devplane-ui", "1" } },
		{ "POST", { "cookie", UI_COOKIE_NAME, "x-devplane-ui", "1" } },
		{ "POST", { "cookie", "x" OURS, "x-devplane-ui", "1" } },
	};

	expect(asks, ARRAY_SIZE(asks), 0);
}

static void an_authorization_header_wins(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "authorization", "Bearer x" } },
		{ "POST", { "cookie", OURS, "authorization", "Bearer x" } },
		{ "POST", { "cookie", OURS, "authorization", "" } },
	};

	expect(asks, ARRAY_SIZE(asks), 0);
}

static void a_write_without_the_header_is_refused(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "POST", { "cookie", OURS } },
		{ "DELETE", { "cookie", OURS } },
		{ "PATCH", { "cookie", OURS, "x-devplane-ui", "11" } },
		{ "BREW", { "cookie", OURS } },
		{ "POST", { "cookie", OURS "; " OURS } },
	};

	expect(asks, ARRAY_SIZE(asks), -ERR_FORBIDDEN);
}

static void a_foreign_page_is_refused(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "sec-fetch-site", "cross-site" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "sec-fetch-site", "same-site" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "sec-fetch-site", "" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "origin", "https://h.test" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "origin", "https://h.test:644" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "origin", "http://h.test:6443" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "origin", "null" } },
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1", "origin", "" } },
	};

	expect(asks, ARRAY_SIZE(asks), -ERR_FORBIDDEN);
}

static void two_cookies_or_an_empty_one_are_nobody(void **state UNUSED)
{
	static const struct ask asks[] = {
		{ "GET", { "cookie", OURS "; " OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", OURS, "cookie", OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", UI_COOKIE_NAME "=;" OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", UI_COOKIE_NAME "=", "x-devplane-ui", "1" } },
		{ "GET", { "cookie", UI_COOKIE_NAME "=  ;", "x-devplane-ui", "1" } },
	};

	expect(asks, ARRAY_SIZE(asks), -ERR_UNAUTHORIZED);
}

static void values_are_taken_as_they_stand(void **state UNUSED)
{
	static const struct {
		const char *cookie, *value;
	} rows[] = {
		{ UI_COOKIE_NAME "=", "" },
		{ UI_COOKIE_NAME "=a=b=", "a=b=" },
		{ UI_COOKIE_NAME "=\"abc\"", "\"abc\"" },
		{ UI_COOKIE_NAME "=%61", "%61" },
		{ "a=b;" UI_COOKIE_NAME "= x y ", " x y" },
	};
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_fields f = { 0 };
		struct str value;

		assert_int_equal(http_fields_add(&f, &a, STR("cookie"), str_from(rows[i].cookie)),
				 0);
		assert_int_equal(ui_cookie_read(&ui_cookie_host, &f, &value), UI_COOKIE_ONE);
		assert_true(str_eqz(value, rows[i].value));
	}
}

static void a_plain_server_has_its_own_cookie_and_origin(void **state UNUSED)
{
	static const struct ui_cookie_kind plain = { .name = "devplane-6443", .plain = true };
	static const struct ask good[] = {
		{ "GET", { "cookie", "devplane-6443=abc", "x-devplane-ui", "1" } },
		{ "GET", { "cookie", OURS "; devplane-6443=abc", "x-devplane-ui", "1" } },
		{ "POST",
		  { "cookie", "devplane-6443=abc", "x-devplane-ui", "1", "origin",
		    "http://h.test:6443" } },
	};
	static const struct ask none[] = {
		{ "GET", { "cookie", OURS, "x-devplane-ui", "1" } },
		{ "GET", { "cookie", "devplane-8443=abc", "x-devplane-ui", "1" } },
	};
	static const struct ask foreign[] = {
		{ "POST",
		  { "cookie", "devplane-6443=abc", "x-devplane-ui", "1", "origin",
		    "https://h.test:6443" } },
		{ "POST",
		  { "cookie", "devplane-6443=abc", "x-devplane-ui", "1", "origin",
		    "http://h.test:8443" } },
		{ "GET",
		  { "cookie", "devplane-6443=abc", "x-devplane-ui", "1", "sec-fetch-site",
		    "same-site" } },
	};

	expect_of(&plain, good, ARRAY_SIZE(good), 1);
	expect_of(&plain, none, ARRAY_SIZE(none), 0);
	expect_of(&plain, foreign, ARRAY_SIZE(foreign), -ERR_FORBIDDEN);
}

static void a_cookie_is_set_and_removed(void **state UNUSED)
{
	static const struct ui_cookie_kind plain = { .name = "devplane-1", .plain = true };
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	assert_string_equal(ui_cookie_text(&a, &ui_cookie_host, "x"),
			    "__Host-devplane=x; Path=/; Secure; HttpOnly; SameSite=Strict");
	assert_string_equal(
		ui_cookie_text(&a, &ui_cookie_host, NULL),
		"__Host-devplane=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict");
	assert_string_equal(ui_cookie_text(&a, &plain, "x"),
			    "devplane-1=x; Path=/; HttpOnly; SameSite=Strict");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cookie_counts_beside_the_header),
		cmocka_unit_test(without_cookie_or_header_there_is_no_claim),
		cmocka_unit_test(an_authorization_header_wins),
		cmocka_unit_test(a_write_without_the_header_is_refused),
		cmocka_unit_test(a_foreign_page_is_refused),
		cmocka_unit_test(two_cookies_or_an_empty_one_are_nobody),
		cmocka_unit_test(values_are_taken_as_they_stand),
		cmocka_unit_test(a_plain_server_has_its_own_cookie_and_origin),
		cmocka_unit_test(a_cookie_is_set_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
