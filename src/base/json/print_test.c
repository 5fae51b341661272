/*
 * Printing: layout, escapes, limits, and that what is printed reads back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/json/scan.h"

static struct json *parse(struct arena *a, struct str text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (json_parse(a, text, NULL, &v, &err) < 0)
		fail_msg("%s: %s", text.p, err.msg);
	return v;
}

static void assert_printed(const char *text, const struct json_style *style, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	const struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, str_from(text));
	assert_int_equal(json_print(&b, v, style), 0);
	assert_string_equal(b.p, expected);
	assert_int_equal(strlen(b.p), b.n);
	if (style)
		return;
	assert_true(json_fits(v, b.n));
	assert_false(json_fits(v, b.n - 1));
}

static void indentation_is_that_of_upstream(void **state)
{
	const struct json_style two = { .indent = 2 }, four = { .indent = 4 };
	const char *text =
		"{\"a\":1,\"b\":[],\"c\":{},\"d\":[1,[2],{\"e\":\"f\"}],\"g\":{\"h\":null}}";

	assert_printed(text, &two,
		       "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": {},\n  \"d\": [\n    1,\n    [\n"
		       "      2\n    ],\n    {\n      \"e\": \"f\"\n    }\n  ],\n  \"g\": {\n"
		       "    \"h\": null\n  }\n}");
	assert_printed("{\"a\":[true]}", &four, "{\n    \"a\": [\n        true\n    ]\n}");
	assert_printed("[]", &four, "[]");
	assert_printed("7", &four, "7");
	assert_printed(text, NULL, text);
}

static void strings_are_escaped_as_little_as_possible(void **state)
{
	assert_printed("\"\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\\\/\\u007f\\u00e9\\u2028<>&\"", NULL,
		       "\"\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f\xc3\xa9\xe2\x80\xa8<>&\"");
}

static void html_is_escaped_on_demand(void **state)
{
	const struct json_style html = { .html = true };

	assert_printed("{\"<a>\":\"b&c\\n\\u2028\\u2029\\u2027\\u202a\\u00e9\"}", &html,
		       "{\"\\u003ca\\u003e\":\"b\\u0026c\\n\\u2028\\u2029\xe2\x80\xa7\xe2\x80\xaa"
		       "\xc3\xa9\"}");
	assert_printed("\"plain\"", &html, "\"plain\"");
}

static void integers_of_all_lengths_are_printed(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char expected[32];
	uint64_t v = 0;

	arena_init(&a, MIB);
	for (int i = 0; i < 64; i++, v = v * 2 + 1) {
		buf_clear(&b);
		(void)json_print(&b, json_make_u64(&a, v), NULL);
		(void)snprintf(expected, sizeof(expected), "%llu", (unsigned long long)v);
		assert_string_equal(b.p, expected);
		buf_clear(&b);
		(void)json_print(&b, json_make_i64(&a, (int64_t)(0 - v)), NULL);
		(void)snprintf(expected, sizeof(expected), "%lld", (long long)(0 - v));
		assert_string_equal(b.p, expected);
	}
}

/* A special byte at each place of strings of each length: the fast paths meet everywhere. */
static void escapes_are_found_everywhere(void **state)
{
	static const char specials[] = { '"', '\\', '\n', '\x1f', '\0' };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char text[70];

	for (size_t n = 1; n < 64; n++) {
		for (size_t at = 0; at < n; at++) {
			CLEANUP(arena_release) struct arena a;
			const struct json *v;

			memset(text, 'x', n);
			text[at] = specials[(n + at) % sizeof(specials)];
			buf_clear(&b);
			assert_int_equal(json_print_str(&b, str_of(text, n), NULL), 0);
			assert_true(b.n > n + 2);
			arena_init(&a, MIB);
			v = parse(&a, buf_str(&b));
			assert_true(str_eq(json_str(v), str_of(text, n)));
			assert_true(json_fits(v, b.n));
			assert_false(json_fits(v, b.n - 1));
		}
	}
}

static void plain_strings_of_all_lengths_are_copied(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char text[70];

	for (size_t n = 0; n < 64; n++) {
		for (size_t i = 0; i < n; i++)
			text[i] = (char)(i % 3 ? '#' + i : 0xc0 + i % 64);
		for (size_t i = 0; i < n; i++)
			if (text[i] == '\\')
				text[i] = '[';
		buf_clear(&b);
		assert_int_equal(json_print_str(&b, str_of(text, n), NULL), 0);
		assert_int_equal(b.n, n + 2);
		assert_memory_equal(b.p + 1, text, n);
		assert_int_equal(b.p[n + 1], '"');
	}
}

/* The scanners against the definition, one byte at a time. */
static void scanners_stop_at_the_right_byte(void **state)
{
	CLEANUP(free) char *text = xmalloc(40);

	for (size_t at = 0; at < 40; at++) {
		for (int byte = 0; byte < 256; byte++) {
			bool escaped = byte < 0x20 || byte == '"' || byte == '\\';

			memset(text, 'x', 40);
			text[at] = (char)byte;
			assert_ptr_equal(json_scan_plain(text, text + 40),
					 text + (escaped ? at : 40));
			assert_ptr_equal(json_scan_text(text, text + 40),
					 text + (escaped || byte >= 0x80 ? at : 40));
		}
	}
}

static void a_document_that_just_fits_fits(void **state)
{
	static const char text[] = "{\"a\":[1,-2.5,\"b\\n\",{\"c\":true}],\"d\":null,\"e\":{}}";
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, str_from(text));
	for (size_t max = 0; max < sizeof(text) - 1; max++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(max);

		assert_int_equal(json_print(&b, v, NULL), -ERR_TOO_LARGE);
		assert_true(b.n <= max);
	}
	CLEANUP(buf_release) struct buf exact = BUF_INIT(sizeof(text) - 1);

	assert_int_equal(json_print(&exact, v, NULL), 0);
	assert_string_equal(exact.p, text);
}

static void printing_appends(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	(void)buf_addz(&b, "x=");
	assert_int_equal(json_print(&b, json_make_i64(&a, 1), NULL), 0);
	assert_int_equal(json_print_str(&b, STR_NULL, NULL), 0);
	assert_string_equal(b.p, "x=1\"\"");
}

static void a_child_is_printed_without_its_siblings(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, STR("{\"a\":[1],\"b\":2}"));
	assert_int_equal(json_print(&b, v->first, NULL), 0);
	assert_string_equal(b.p, "[1]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indentation_is_that_of_upstream),
		cmocka_unit_test(strings_are_escaped_as_little_as_possible),
		cmocka_unit_test(html_is_escaped_on_demand),
		cmocka_unit_test(integers_of_all_lengths_are_printed),
		cmocka_unit_test(escapes_are_found_everywhere),
		cmocka_unit_test(plain_strings_of_all_lengths_are_copied),
		cmocka_unit_test(scanners_stop_at_the_right_byte),
		cmocka_unit_test(a_document_that_just_fits_fits),
		cmocka_unit_test(printing_appends),
		cmocka_unit_test(a_child_is_printed_without_its_siblings),
	};

	return cmocka_run_group_tests_name("base/json_print", tests, NULL, NULL);
}
