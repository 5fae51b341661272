/*
 * YAML out: the text that kubectl would show, and that it reads back as the
 * tree it came from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/yaml/yaml.h"

struct printed {
	const char *json, *yaml;
};

static const struct printed layouts[] = {
	{ "{}", "{}\n" },
	{ "[]", "[]\n" },
	{ "null", "null\n" },
	{ "1", "1\n" },
	{ "\"a\"", "a\n" },
	{ "{\"a\":1}", "a: 1\n" },
	{ "{\"a\":{\"b\":{\"c\":null}}}", "a:\n  b:\n    c: null\n" },
	{ "{\"a\":[1,2]}", "a:\n- 1\n- 2\n" },
	{ "{\"a\":{\"b\":[1]}}", "a:\n  b:\n  - 1\n" },
	{ "[[1,2],[3]]", "- - 1\n  - 2\n- - 3\n" },
	{ "[{\"a\":1,\"b\":2},{\"c\":[3]}]", "- a: 1\n  b: 2\n- c:\n  - 3\n" },
	{ "{\"a\":[],\"b\":{},\"c\":[{}],\"d\":[[]]}", "a: []\nb: {}\nc:\n- {}\nd:\n- []\n" },
	{ "{\"a\":true,\"b\":false,\"c\":\"\"}", "a: true\nb: false\nc: \"\"\n" },
	{ "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a/b\":\"c.d\"}},\"kind\":\"Pod\"}",
	  "metadata:\n  name: x\n  labels:\n    a/b: c.d\nkind: Pod\n" },
};

static const struct printed numbers[] = {
	{ "0", "0\n" },
	{ "-0", "-0.0\n" },
	{ "-7", "-7\n" },
	{ "9223372036854775807", "9223372036854775807\n" },
	{ "18446744073709551615", "18446744073709551615\n" },
	{ "1.5", "1.5\n" },
	{ "1.0", "1\n" },
	{ "1e6", "1000000\n" },
	{ "1000000.5", "1.0000005e+06\n" },
	{ "1e20", "1e+20\n" },
	{ "1e19", "10000000000000000000\n" },
	{ "-1e19", "-1e+19\n" },
	{ "1e300", "1e+300\n" },
	{ "0.0001", "0.0001\n" },
	{ "0.00001", "1e-05\n" },
	{ "-1.5e-10", "-1.5e-10\n" },
};

/* Strings, and how they are printed as the value of a member. */
static const struct printed strings[] = {
	{ "abc", "abc" },
	{ "a b c", "a b c" },
	{ "a:b", "a:b" },
	{ "http://x/y?z=1#f", "http://x/y?z=1#f" },
	{ "-a", "-a" },
	{ "a-", "a-" },
	{ "100m", "100m" },
	{ "8Gi", "8Gi" },
	{ "10.0.0.1", "10.0.0.1" },
	{ "1.2.3", "1.2.3" },
	{ "v1", "v1" },
	{ "yEs", "yEs" },
	{ "2024-13-01", "2024-13-01" },
	{ "2023-02-29", "2023-02-29" },
	{ "", "\"\"" },
	{ "null", "\"null\"" },
	{ "Null", "\"Null\"" },
	{ "~", "\"~\"" },
	{ "true", "\"true\"" },
	{ "False", "\"False\"" },
	{ "yes", "\"yes\"" },
	{ "NO", "\"NO\"" },
	{ "on", "\"on\"" },
	{ "Off", "\"Off\"" },
	{ "y", "\"y\"" },
	{ "N", "\"N\"" },
	{ "123", "\"123\"" },
	{ "-1", "\"-1\"" },
	{ "+1", "\"+1\"" },
	{ "0x1F", "\"0x1F\"" },
	{ "0o17", "\"0o17\"" },
	{ "010", "\"010\"" },
	{ "0b1", "\"0b1\"" },
	{ "1_000", "\"1_000\"" },
	{ "1.5", "\"1.5\"" },
	{ "1e3", "\"1e3\"" },
	{ ".5", "\".5\"" },
	{ ".inf", "\".inf\"" },
	{ "-.Inf", "\"-.Inf\"" },
	{ ".NaN", "\".NaN\"" },
	{ "1:30", "\"1:30\"" },
	{ "190:20:30.15", "\"190:20:30.15\"" },
	{ "1:60", "1:60" },
	{ "2024-01-01", "\"2024-01-01\"" },
	{ "2024-02-29", "\"2024-02-29\"" },
	{ "2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\"" },
	{ "2024-1-2 3:4:5.6", "\"2024-1-2 3:4:5.6\"" },
	{ "2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\"" },
	{ "<<", "\"<<\"" },
	{ "=", "\"=\"" },
	{ "*", "'*'" },
	{ "&a", "'&a'" },
	{ "!a", "'!a'" },
	{ "|", "'|'" },
	{ ">", "'>'" },
	{ "%a", "'%a'" },
	{ "@a", "'@a'" },
	{ "`a", "'`a'" },
	{ "#a", "'#a'" },
	{ "a #b", "'a #b'" },
	{ "a: b", "'a: b'" },
	{ "a:", "'a:'" },
	{ ":a", ":a" },
	{ "- a", "'- a'" },
	{ "-", "'-'" },
	{ "---", "'---'" },
	{ "...", "'...'" },
	{ "? a", "'? a'" },
	{ "{a", "'{a'" },
	{ "[a]", "'[a]'" },
	{ "\"a\"", "'\"a\"'" },
	{ "'a'", "'''a'''" },
	{ "it's", "it's" },
	{ " a", "' a'" },
	{ "a ", "'a '" },
	{ " ", "' '" },
	{ "a, b", "a, b" },
	{ "a\tb", "\"a\\tb\"" },
	{ "a\rb", "\"a\\rb\"" },
	{ "\x01", "\"\\x01\"" },
	{ "\x7f", "\"\\x7F\"" },
	{ "\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac" },
	{ "\xf0\x9f\x98\x80", "\"\\U0001F600\"" },
	{ "\xe2\x80\xa8", "\"\\L\"" },
	{ "\xc2\x85", "\"\\N\"" },
	{ "\xef\xbb\xbf"
	  "a",
	  "\"\\uFEFFa\"" },
	{ "a\n", "|\n  a" },
	{ "a\nb", "|-\n  a\n  b" },
	{ "a\n\n", "|+\n  a\n" },
	{ "a\n\nb\n", "|\n  a\n\n  b" },
	{ " a\nb\n", "|2\n   a\n  b" },
	{ "\na\n", "|2\n\n  a" },
	{ "a\n  b\n", "|\n  a\n    b" },
	{ "1\n", "|\n  1" },
	{ "# a\nb: c\n", "|\n  # a\n  b: c" },
	{ "a\n ", "\"a\\n \"" },
	{ "a\tb\n", "\"a\\tb\\n\"" },
	{ "a\r\nb\r\n", "\"a\\r\\nb\\r\\n\"" },
	{ "a\xe2\x80\xa9\n", "\"a\\P\\n\"" },
};

static struct json *parse_json(struct arena *a, const char *text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

/* Prints v into b and reads that back, which must give the same. */
static void print_and_check(struct buf *b, struct json *v)
{
	CLEANUP(arena_release) struct arena a;
	struct error err = { 0 };
	struct json *back = NULL;

	arena_init(&a, 64 * MIB);
	buf_clear(b);
	if (yaml_print(b, v, NULL, &err) < 0 || yaml_parse(&a, buf_str(b), NULL, &back, &err) < 0)
		fail_msg("%s: %s", b->p, err.msg);
	if (!json_equal(v, back))
		fail_msg("reads back as something else: %s", b->p);
}

static void check(const struct printed *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

		arena_init(&a, MIB);
		print_and_check(&b, parse_json(&a, cases[i].json));
		assert_string_equal(b.p, cases[i].yaml);
	}
}

static void layout_is_that_of_kubectl(void **state)
{
	check(layouts, ARRAY_SIZE(layouts));
}

static void numbers_are_those_of_kubectl(void **state)
{
	check(numbers, ARRAY_SIZE(numbers));
}

static void strings_are_quoted_where_they_must(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), expected = BUF_INIT(MIB);
		struct json *v;

		arena_init(&a, MIB);
		v = json_make_object(&a);
		json_put_str(&a, v, "s", str_from(strings[i].json));
		print_and_check(&b, v);
		(void)buf_printf(&expected, "s: %s\n", strings[i].yaml);
		assert_string_equal(b.p, expected.p);
	}
}

static void strings_read_back_wherever_they_stand(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
		struct str s = str_from(strings[i].json);
		struct json *list, *object;

		arena_init(&a, MIB);
		print_and_check(&b, json_make_str(&a, s));
		list = json_make_array(&a);
		object = json_make_object(&a);
		json_append(list, json_make_str(&a, s));
		json_append(list, object);
		json_set(object, s, json_make_str(&a, s));
		json_setz(object, "last", json_make_array(&a));
		print_and_check(&b, list);
	}
}

static void long_lines_are_not_folded(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), text = BUF_INIT(MIB);
	struct json *v;

	arena_init(&a, MIB);
	for (int i = 0; i < 100; i++)
		(void)buf_addz(&text, "word ");
	(void)buf_addz(&text, "end");
	v = json_make_object(&a);
	json_put_str(&a, v, "s", buf_str(&text));
	print_and_check(&b, v);
	assert_int_equal(b.n, text.n + 4);
	json_set(v, buf_str(&text), json_make_null(&a));
	print_and_check(&b, v);
}

static void members_are_sorted_on_demand(void **state)
{
	static const char *const sorted[] = { "",    "-",   "0",  "1",  "01",  "2",  "10", "a",
					      "a-1", "a.b", "a1", "a2", "a10", "aB", "ab", "b" };
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), expected = BUF_INIT(MIB);
	struct json *v, *inner;

	arena_init(&a, MIB);
	v = json_make_object(&a);
	inner = json_make_object(&a);
	(void)buf_addz(&expected, "x:\n");
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
		size_t from = (i * 7 + 3) % ARRAY_SIZE(sorted);

		json_setz(inner, sorted[from], json_make_null(&a));
	}
	json_setz(v, "x", inner);
	assert_int_equal(yaml_print(&b, v, &(struct yaml_style){ .sort = true }, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
		const char *quote = i < 7 ? "\"" : "";

		quote = i == 1 ? "'" : quote;
		(void)buf_printf(&expected, "  %s%s%s: null\n", quote, sorted[i], quote);
	}
	assert_string_equal(b.p, expected.p);
}

/* Upstream's comparison goes in circles for these; see order.c. */
static void the_order_depends_on_the_names_alone(void **state)
{
	static const char *const orders[] = {
		"{\"10a\":0,\"20a\":0,\"2b\":0}",
		"{\"10a\":0,\"2b\":0,\"20a\":0}",
		"{\"20a\":0,\"10a\":0,\"2b\":0}",
		"{\"2b\":0,\"20a\":0,\"10a\":0}",
	};
	CLEANUP(buf_release) struct buf first = BUF_INIT(MIB), b = BUF_INIT(MIB);
	const struct yaml_style sorted = { .sort = true };
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(yaml_print(&first, parse_json(&a, orders[0]), &sorted, NULL), 0);
	for (size_t i = 1; i < ARRAY_SIZE(orders); i++) {
		buf_clear(&b);
		assert_int_equal(yaml_print(&b, parse_json(&a, orders[i]), &sorted, NULL), 0);
		assert_string_equal(b.p, first.p);
	}
}

static void unsorted_members_keep_their_order(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	arena_init(&a, MIB);
	print_and_check(&b, parse_json(&a, "{\"z\":1,\"a\":2,\"m\":3}"));
	assert_string_equal(b.p, "z: 1\na: 2\nm: 3\n");
}

static void documents_are_separated(void **state)
{
	const struct yaml_style next = { .separate = true };
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	arena_init(&a, MIB);
	assert_int_equal(yaml_print(&b, parse_json(&a, "{\"a\":\"x\\n\\n\"}"), NULL, NULL), 0);
	assert_int_equal(yaml_print(&b, parse_json(&a, "\"b\""), &next, NULL), 0);
	assert_int_equal(yaml_print(&b, parse_json(&a, "[]"), &next, NULL), 0);
	assert_string_equal(b.p, "a: |+\n  x\n\n---\nb\n---\n[]\n");
}

static void the_limit_of_the_buffer_holds(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse_json(&a, "{\"a\":[1,2],\"b\":\"c\"}");
	for (size_t max = 0; max < 16; max++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(max);

		assert_int_equal(yaml_print(&b, v, NULL, NULL), -ERR_TOO_LARGE);
		assert_true(b.n <= max);
	}
	CLEANUP(buf_release) struct buf exact = BUF_INIT(16);

	assert_int_equal(yaml_print(&exact, v, NULL, NULL), 0);
}

static void text_that_is_not_utf8_is_refused(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json *v;

	arena_init(&a, MIB);
	v = json_make_array(&a);
	json_append(v, json_make_str(&a, STR("\xff")));
	assert_int_equal(yaml_print(&b, v, NULL, NULL), -ERR_INTERNAL);
}

/* Text that is difficult for YAML. */
/* clang-format off */
static const char *const pieces[] = {
	"a", "b", "e", "0", "1", ".", "-", "+", "_", ":", "#", ",", "'", "\"", "\\", "[", "]",
	"{", "}", "&", "*", "!", "|", ">", "%", "@", "`", "?", "~", "=", "<<", " ", "  ", ": ",
	" #", "- ", "\n", "\n\n", "\n ", " \n", "\n\t", "\t", "\r", "\x01", "\x7f", "0x",
	"---", "...", "null", "true", "on", "2024-01-01", "T00:00:00Z", "\xc3\xa9", "\xc2\x85",
	"\xe2\x80\xa8", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xf0\x9f\x98\x80",
};
/* clang-format on */

/* Some of it, strung together at random. */
static struct str random_text(struct prng *g, struct arena *a)
{
	struct buf b = BUF_INIT(KIB);
	size_t n = prng_below(g, 6);
	struct str s;

	for (size_t i = 0; i < n; i++)
		(void)buf_addz(&b, pieces[prng_below(g, ARRAY_SIZE(pieces))]);
	if (prng_below(g, 50) == 0)
		(void)buf_add(&b, "\0x", 2);
	if (prng_below(g, 100) == 0)
		for (int i = 0; i < 60; i++)
			(void)buf_addz(&b, "abc ");
	s = arena_str(a, buf_str(&b));
	buf_release(&b);
	return s;
}

static struct json *random_scalar(struct prng *g, struct arena *a)
{
	switch (prng_below(g, 8)) {
	case 0:
		return json_make_null(a);
	case 1:
		return json_make_bool(a, prng_below(g, 2));
	case 2:
		return json_make_i64(a, (int64_t)(prng_u64(g) >> prng_below(g, 64)));
	case 3:
		return json_make_u64(a, prng_u64(g));
	case 4:
		return json_make_f64(a, (double)(int64_t)prng_u64(g) /
						(double)(1 + prng_below(g, 1000)));
	default:
		return json_make_str(a, random_text(g, a));
	}
}

static struct json *random_tree(struct prng *g, struct arena *a, size_t depth)
{
	size_t kind = prng_below(g, depth ? 4 : 2), n = prng_below(g, 4);
	struct json *v;

	if (kind < 2)
		return random_scalar(g, a);
	v = kind == 2 ? json_make_array(a) : json_make_object(a);
	for (size_t i = 0; i < n; i++) {
		if (kind == 2)
			json_append(v, random_tree(g, a, depth - 1));
		else
			json_set(v, random_text(g, a), random_tree(g, a, depth - 1));
	}
	return v;
}

static void any_tree_survives_a_round_trip(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	struct prng g;

	prng_init(&g, 20240506);
	for (int i = 0; i < 30000; i++) {
		CLEANUP(arena_release) struct arena a;

		arena_init(&a, 16 * MIB);
		print_and_check(&b, random_tree(&g, &a, 5));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_is_that_of_kubectl),
		cmocka_unit_test(numbers_are_those_of_kubectl),
		cmocka_unit_test(strings_are_quoted_where_they_must),
		cmocka_unit_test(strings_read_back_wherever_they_stand),
		cmocka_unit_test(long_lines_are_not_folded),
		cmocka_unit_test(members_are_sorted_on_demand),
		cmocka_unit_test(the_order_depends_on_the_names_alone),
		cmocka_unit_test(unsorted_members_keep_their_order),
		cmocka_unit_test(documents_are_separated),
		cmocka_unit_test(the_limit_of_the_buffer_holds),
		cmocka_unit_test(text_that_is_not_utf8_is_refused),
		cmocka_unit_test(any_tree_survives_a_round_trip),
	};

	return cmocka_run_group_tests_name("base/yaml_print", tests, NULL, NULL);
}
