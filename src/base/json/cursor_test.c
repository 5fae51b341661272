/*
 * The cursor: what it finds, with and without white space, and that damaged text of
 * every sort ends it within bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/cursor.h"

static void assert_str(struct str s, const char *want)
{
	assert_int_equal(s.n, strlen(want));
	assert_memory_equal(s.p, want, s.n);
}

static void every_type_is_told_with_its_text(void **state)
{
	static const struct {
		const char *text, *raw;
		enum json_cursor_type type;
	} cases[] = {
		{ "\"a b\"", "a b", JSON_CURSOR_STRING },
		{ "\"a\\\"b\"", "a\\\"b", JSON_CURSOR_ESCAPED },
		{ "\"\"", "", JSON_CURSOR_STRING },
		{ "-1.5e3", "-1.5e3", JSON_CURSOR_SCALAR },
		{ " true ", "true", JSON_CURSOR_SCALAR },
		{ "null", "null", JSON_CURSOR_NULL },
		{ "{\"}\":[1,{}]}", "{\"}\":[1,{}]}", JSON_CURSOR_NESTED },
		{ "\n[ \"]\" ]x", "[ \"]\" ]", JSON_CURSOR_NESTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_cursor c = json_cursor_of(str_from(cases[i].text));
		enum json_cursor_type type;
		struct str raw;

		assert_true(json_cursor_value(&c, &raw, &type));
		assert_str(raw, cases[i].raw);
		assert_int_equal(type, cases[i].type);
	}
}

static void members_and_elements_come_in_order(void **state)
{
	static const char text[] = " { \"a\" : 1 , \"b\" : [ 2 , \"x\" ] , \"c\":{} } ";
	struct json_cursor c = json_cursor_of(str_from(text));
	enum json_cursor_type type;
	struct str key, raw;
	const char *from;

	(void)state;
	assert_true(json_cursor_enter(&c, '{'));
	assert_true(json_cursor_member(&c, &key, &from));
	assert_str(key, "a");
	assert_ptr_equal(from, strchr(text, '"'));
	assert_true(json_cursor_value(&c, &raw, &type));
	assert_str(raw, "1");
	assert_true(json_cursor_member(&c, &key, NULL));
	assert_true(json_cursor_enter(&c, '['));
	assert_true(json_cursor_element(&c) && json_cursor_value(&c, &raw, &type));
	assert_str(raw, "2");
	assert_true(json_cursor_element(&c) && json_cursor_value(&c, &raw, &type));
	assert_str(raw, "x");
	assert_false(json_cursor_element(&c));
	assert_true(json_cursor_member(&c, &key, NULL));
	assert_str(key, "c");
	assert_true(json_cursor_enter(&c, '{'));
	assert_false(json_cursor_member(&c, &key, NULL));
	assert_false(json_cursor_member(&c, &key, NULL));
	assert_non_null(c.p);
}

static void a_member_is_found_by_its_path(void **state)
{
	struct str text = STR("{\"x\":{\"name\":\"no\"},\"meta\":{\"n\":null,\"name\":\"yes\"}}");
	struct json_cursor c = json_cursor_of(text);
	enum json_cursor_type type;
	struct str raw;

	(void)state;
	assert_true(json_cursor_find(&c, STR("meta")) && json_cursor_find(&c, STR("name")));
	assert_true(json_cursor_value(&c, &raw, &type));
	assert_str(raw, "yes");
	c = json_cursor_of(text);
	assert_false(json_cursor_find(&c, STR("name")));
	assert_null(c.p);
}

static void text_is_unescaped_only_where_it_must_be(void **state)
{
	static const char text[] = "[\"plain\",\"t\\u0041b\",\"bad\\q\",1]";
	static const char *const want[] = { "plain", "tAb", NULL, NULL };
	struct json_cursor c = json_cursor_of(str_from(text));
	enum json_cursor_type type;
	struct str raw;
	CLEANUP(arena_release) struct arena a;

	(void)state;
	arena_init(&a, 4096);
	assert_true(json_cursor_enter(&c, '['));
	for (size_t i = 0; json_cursor_element(&c); i++) {
		assert_true(json_cursor_value(&c, &raw, &type));
		if (want[i])
			assert_str(json_cursor_text(raw, type, &a), want[i]);
		else
			assert_null(json_cursor_text(raw, type, &a).p);
		if (i == 0)
			assert_ptr_equal(json_cursor_text(raw, type, NULL).p, text + 2);
		if (i == 1)
			assert_null(json_cursor_text(raw, type, NULL).p);
	}
	assert_non_null(c.p);
}

/* Walks all there is, two levels down. */
static bool walk(struct json_cursor *c)
{
	enum json_cursor_type type;
	struct str key, raw;

	if (!json_cursor_enter(c, '{'))
		return false;
	while (json_cursor_member(c, &key, NULL)) {
		if (str_eq(key, STR("in"))) {
			if (json_cursor_enter(c, '{'))
				while (json_cursor_member(c, &key, NULL))
					(void)json_cursor_value(c, &raw, &type);
		} else {
			(void)json_cursor_value(c, &raw, &type);
		}
	}
	return c->p != NULL;
}

static void compact_text_has_no_white_space_between_tokens(void **state)
{
	static const char *const spaced[] = {
		" {\"a\":1}", "{ \"a\":1}", "{\"a\" :1}",
		"{\"a\": 1}", "{\"a\":1 }", "{\"a\":1, \"b\":2}",
	};
	struct json_cursor c = json_cursor_compact(STR("{\"a\":\" \",\"in\":{},\"b\":[1, 2]}"));

	(void)state;
	assert_true(walk(&c));
	for (size_t i = 0; i < ARRAY_SIZE(spaced); i++) {
		c = json_cursor_of(str_from(spaced[i]));
		assert_true(walk(&c));
		c = json_cursor_compact(str_from(spaced[i]));
		assert_false(walk(&c));
	}
}

/* Each beginning lies at the end of its own memory, where a sanitizer sees what reads on. */
static void a_text_that_ends_early_is_damaged(void **state)
{
	static const char text[] = "{\"a\":\"b\\\\\\\"c\",\"in\":{\"x\":[1,{\"y\":null}],\"z\":12},"
				   "\"long\":\"0123456789abcdef0123456789abcdef\\n\"}";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = xmalloc(n ? n : 1);
		struct json_cursor c = json_cursor_of(str_of(copy, n));

		memcpy(copy, text, n);
		assert_int_equal(walk(&c), n == sizeof(text) - 1);
		free(copy);
		if (n == sizeof(text) - 1)
			break;
	}
}

static void a_text_that_is_not_an_object_is_damaged(void **state)
{
	static const char *const bad[] = {
		"",          "[]",       "{,}", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":[]\"b\":2}",
		"{\"a\":1]", "{\"a\":,}"
	};
	struct json_cursor c = json_cursor_of(STR_NULL);

	(void)state;
	assert_false(walk(&c));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		c = json_cursor_of(str_from(bad[i]));
		assert_false(walk(&c));
		assert_null(c.p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_told_with_its_text),
		cmocka_unit_test(members_and_elements_come_in_order),
		cmocka_unit_test(a_member_is_found_by_its_path),
		cmocka_unit_test(text_is_unescaped_only_where_it_must_be),
		cmocka_unit_test(compact_text_has_no_white_space_between_tokens),
		cmocka_unit_test(a_text_that_ends_early_is_damaged),
		cmocka_unit_test(a_text_that_is_not_an_object_is_damaged),
	};

	return cmocka_run_group_tests_name("base/json_cursor", tests, NULL, NULL);
}
