/*
 * YAML in: what each text means, by the rules of Kubernetes, what is refused,
 * and that the limits hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/yaml/yaml.h"

struct accepted {
	const char *yaml, *json;
};

struct refused {
	const char *yaml;
	size_t line, column;
	const char *what;
};

/* Each is read as the element of a list. */
static const struct accepted plain_scalars[] = {
	{ "", "null" },
	{ "~", "null" },
	{ "null", "null" },
	{ "Null", "null" },
	{ "NULL", "null" },
	{ "nULL", "\"nULL\"" },
	{ "none", "\"none\"" },
	{ "y", "true" },
	{ "Y", "true" },
	{ "yes", "true" },
	{ "Yes", "true" },
	{ "YES", "true" },
	{ "yEs", "\"yEs\"" },
	{ "on", "true" },
	{ "On", "true" },
	{ "ON", "true" },
	{ "true", "true" },
	{ "True", "true" },
	{ "TRUE", "true" },
	{ "tRUE", "\"tRUE\"" },
	{ "n", "false" },
	{ "N", "false" },
	{ "no", "false" },
	{ "No", "false" },
	{ "NO", "false" },
	{ "off", "false" },
	{ "Off", "false" },
	{ "OFF", "false" },
	{ "false", "false" },
	{ "False", "false" },
	{ "FALSE", "false" },
	{ "yesterday", "\"yesterday\"" },
	{ "0", "0" },
	{ "-0", "0" },
	{ "7", "7" },
	{ "+7", "7" },
	{ "-7", "-7" },
	{ "1_000", "1000" },
	{ "1__0_", "10" },
	{ "_1", "\"_1\"" },
	{ "0x1F", "31" },
	{ "0X1f", "31" },
	{ "-0x10", "-16" },
	{ "0x", "\"0x\"" },
	{ "0xg", "\"0xg\"" },
	{ "0x_1", "1" },
	{ "010", "8" },
	{ "-010", "-8" },
	{ "0o17", "15" },
	{ "0O17", "15" },
	{ "0o8", "\"0o8\"" },
	{ "08", "8" },
	{ "09.5", "9.5" },
	{ "00", "0" },
	{ "0b101", "5" },
	{ "-0b11", "-3" },
	{ "0b2", "\"0b2\"" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "9223372036854775808", "9223372036854775808" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "18446744073709551616", "18446744073709552000" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "-9223372036854775809", "-9223372036854776000" },
	{ "+9223372036854775808", "9223372036854776000" },
	{ "0xffffffffffffffff", "18446744073709551615" },
	{ "0x10000000000000000", "\"0x10000000000000000\"" },
	{ "1.5", "1.5" },
	{ "+1.5", "1.5" },
	{ "-1.5", "-1.5" },
	{ "1.", "1" },
	{ ".5", "0.5" },
	{ "-.5", "-0.5" },
	{ "1e3", "1000" },
	{ "1E+3", "1000" },
	{ "1.5e-3", "0.0015" },
	{ "1_0.2_5", "10.25" },
	{ "._5", "\"._5\"" },
	{ "1e", "\"1e\"" },
	{ "1e+", "\"1e+\"" },
	{ "e3", "\"e3\"" },
	{ ".", "\".\"" },
	{ "+", "\"+\"" },
	{ "-a", "\"-a\"" },
	{ "1.2.3", "\"1.2.3\"" },
	{ "1e400", "\"1e400\"" },
	{ "1e-400", "0" },
	{ "100m", "\"100m\"" },
	{ "8Gi", "\"8Gi\"" },
	{ "10.0.0.1", "\"10.0.0.1\"" },
	{ "190:20:30", "\"190:20:30\"" },
	{ "0xdeadbeefcafe", "244837814094590" },
	{ "2024-01-01", "\"2024-01-01\"" },
	{ "2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\"" },
	{ "2024-01-01 1:2:3", "\"2024-01-01 1:2:3\"" },
	{ "2024", "2024" },
	{ "\"1\"", "\"1\"" },
	{ "'true'", "\"true\"" },
	{ "\"\"", "\"\"" },
	{ "''", "\"\"" },
	{ "'it''s'", "\"it's\"" },
	{ "\"a\\tb\\x41\\u00e9\\U0001F600\"", "\"a\\tbA\xc3\xa9\xf0\x9f\x98\x80\"" },
	{ "<<", "\"<<\"" },
	{ "a b", "\"a b\"" },
	{ "a:b", "\"a:b\"" },
	{ "a#b", "\"a#b\"" },
	{ "a # comment", "\"a\"" },
	{ "-1 # comment", "-1" },
};

static const struct accepted tagged_scalars[] = {
	{ "!!str 1", "\"1\"" },
	{ "!!str true", "\"true\"" },
	{ "!!str", "\"\"" },
	{ "!!int 1", "1" },
	{ "!!int \"7\"", "7" },
	{ "!!int 0x10", "16" },
	{ "!!float 3", "3" },
	{ "!!float \"1.5\"", "1.5" },
	{ "!!bool yes", "true" },
	{ "!!bool \"off\"", "false" },
	{ "!!null ''", "null" },
	{ "!!null ~", "null" },
	{ "!!binary aGVsbG8=", "\"hello\"" },
	{ "!!binary \"aGVs\\nbG8=\"", "\"hello\"" },
	{ "!!binary ''", "\"\"" },
	{ "!!timestamp 2024-01-01", "\"2024-01-01\"" },
	{ "!own 1", "\"1\"" },
	{ "! 1", "\"1\"" },
	{ "!<tag:yaml.org,2002:int> 5", "5" },
};

static const struct accepted documents[] = {
	{ "a: 1\nb: [x, {k: z}]\n", "{\"a\":1,\"b\":[\"x\",{\"k\":\"z\"}]}" },
	{ "- 1\n- - 2\n  - 3\n- a:\n  - 4\n", "[1,[2,3],{\"a\":[4]}]" },
	{ "a:\nb:\n- \n", "{\"a\":null,\"b\":[null]}" },
	{ "a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}" },
	{ "a: |-\n  x\n\n  y\n", "{\"a\":\"x\\n\\ny\"}" },
	{ "a: |+\n  x\n\n", "{\"a\":\"x\\n\\n\"}" },
	{ "a: >\n  x\n  y\n", "{\"a\":\"x y\\n\"}" },
	{ "a: x\n  y\n", "{\"a\":\"x y\"}" },
	{ "\xef\xbb\xbf"
	  "a: 1",
	  "{\"a\":1}" },
	{ "{\"a\": [1, 2.5, null, true], \"b\": \"c\"}", "{\"a\":[1,2.5,null,true],\"b\":\"c\"}" },
	{ "%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}" },
	{ "--- 5", "5" },
	{ "\"text\"", "\"text\"" },
	{ "{}", "{}" },
	{ "# nothing but a comment\n", "null" },
	{ "", "null" },
	{ "---\n---\n", "null" },
	{ "---\n---\na: 1\n---\nnull\n", "{\"a\":1}" },
	/* Keys. */
	{ "1: a", "{\"1\":\"a\"}" },
	{ "0x10: a", "{\"16\":\"a\"}" },
	{ "-5: a", "{\"-5\":\"a\"}" },
	{ "18446744073709551615: a", "{\"18446744073709551615\":\"a\"}" },
	{ "true: a\nNo: b", "{\"true\":\"a\",\"false\":\"b\"}" },
	{ "1.5: a", "{\"1.5\":\"a\"}" },
	{ "0.1: a", "{\"0.1\":\"a\"}" },
	{ "1e6: a\n1e-7: b", "{\"1e+06\":\"a\",\"1e-07\":\"b\"}" },
	{ ".inf: a\n-.inf: b\n.nan: c", "{\".inf\":\"a\",\"-.inf\":\"b\",\".nan\":\"c\"}" },
	{ "2024-01-01: a", "{\"2024-01-01\":\"a\"}" },
	{ "\"1\": a", "{\"1\":\"a\"}" },
	{ "'': a", "{\"\":\"a\"}" },
	{ "? a\n: b", "{\"a\":\"b\"}" },
	{ "!!str 1: a", "{\"1\":\"a\"}" },
	{ "!!binary aGk=: a", "{\"hi\":\"a\"}" },
	/* Anchors. */
	{ "a: &x 1\nb: *x", "{\"a\":1,\"b\":1}" },
	{ "a: &x {p: [1]}\nb: *x\nc: *x",
	  "{\"a\":{\"p\":[1]},\"b\":{\"p\":[1]},\"c\":{\"p\":[1]}}" },
	{ "- &x 1\n- &x 2\n- *x", "[1,2,2]" },
	{ "a: &x\nb: *x", "{\"a\":null,\"b\":null}" },
	{ "&k a: 1\nb: *k", "{\"a\":1,\"b\":\"a\"}" },
	{ "a: &x k\n*x : 1", "{\"a\":\"k\",\"k\":1}" },
	{ "- &a {x: 1, x: 2}\n- *a", "[{\"x\":2},{\"x\":2}]" },
	{ "m: {a: &x 1, a: 2}\nb: *x", "{\"m\":{\"a\":2},\"b\":1}" },
	/* Merges. */
	{ "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n",
	  "{\"a\":{\"p\":1,\"q\":2},\"b\":{\"p\":1,\"q\":3}}" },
	{ "a: &x {p: 1}\nb:\n  p: 2\n  <<: *x\n", "{\"a\":{\"p\":1},\"b\":{\"p\":1}}" },
	{ "- &x {p: 1, q: 1}\n- &y {p: 2, r: 2}\n- <<: [*x, *y]\n  s: 3",
	  "[{\"p\":1,\"q\":1},{\"p\":2,\"r\":2},{\"p\":1,\"r\":2,\"q\":1,\"s\":3}]" },
	{ "<<: {a: 1}\nb: 2", "{\"a\":1,\"b\":2}" },
	{ "<<: {a: 1}\n<<: {b: 2}", "{\"a\":1,\"b\":2}" },
	{ "<<: []\nb: 2", "{\"b\":2}" },
	{ "<<: {<<: {a: 1}, b: 2}", "{\"a\":1,\"b\":2}" },
	{ "'<<': 1", "{\"<<\":1}" },
	{ "!!merge <<: {a: 1}", "{\"a\":1}" },
	{ "a: {<<: &x {b: 1}, c: 2}\nd: *x", "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":1}}" },
	{ "a: {<<: [&x {b: 1}, &y {c: 3}], c: 2}\nd: [*x, *y]",
	  "{\"a\":{\"c\":2,\"b\":1},\"d\":[{\"b\":1},{\"c\":3}]}" },
	{ "'': 1\n<<: {a: 2}\n<<: {'': 3}", "{\"\":3,\"a\":2}" },
};

static const struct refused refused[] = {
	{ "a: [1", 2, 1, "did not find expected ',' or ']'" },
	{ "a: b: c", 1, 5, "mapping values are not allowed" },
	{ "a: 1\n b: 2", 2, 3, "mapping values are not allowed" },
	{ "a:\n\t- b", 2, 1, "cannot start any token" },
	{ "\"abc", 1, 5, "unexpected end of stream" },
	{ "a: 'b", 1, 6, "unexpected end of stream" },
	{ "- a\nb", 3, 1, "could not find expected ':'" },
	{ "x: \"\\q\"", 1, 5, "unknown escape" },
	{ "x: \"\\ud800\"", 1, 7, "invalid Unicode" },
	{ "@a", 1, 1, "cannot start any token" },
	{ "a: `b", 1, 4, "cannot start any token" },
	{ "%YAML 2.0\n---\n", 1, 1, "incompatible YAML document" },
	{ "ok: 1\nbad: \xff", 2, 6, "UTF-8" },
	{ "a: \x01", 1, 4, "control characters" },
	{ "a: *x", 1, 4, "unknown anchor" },
	{ "&x [*x]", 1, 5, "contains itself" },
	{ "a: &x {b: {c: *x}}", 1, 15, "contains itself" },
	{ "a: .inf", 1, 4, "infinity and NaN" },
	{ "- -.Inf", 1, 3, "infinity and NaN" },
	{ "- .NaN", 1, 3, "infinity and NaN" },
	{ "{&x .inf: 1, b: *x}", 1, 17, "infinity and NaN" },
	{ "~: a", 1, 1, "a key must be" },
	{ ": a", 1, 1, "did not find expected key" },
	{ "{: a}", 1, 2, "did not find expected node content" },
	{ "? [a]\n: b", 1, 3, "a key must be a scalar" },
	{ "{a: b}: c", 1, 1, "a key must be a scalar" },
	{ "a: &x [1]\n*x : 1", 2, 1, "a key must be" },
	{ "!!int abc", 1, 1, "does not fit its tag" },
	{ "!!int 1.5", 1, 1, "does not fit its tag" },
	{ "!!bool 1", 1, 1, "does not fit its tag" },
	{ "!!null x", 1, 1, "does not fit its tag" },
	{ "!!float x", 1, 1, "does not fit its tag" },
	{ "!!float 1e999", 1, 1, "does not fit its tag" },
	{ "!!timestamp yesterday", 1, 1, "does not fit its tag" },
	{ "!!binary a", 1, 1, "not base64" },
	{ "!!binary /w==", 1, 1, "not UTF-8" },
	{ "a:\n  <<: 1\n", 3, 1, "merge a map" },
	{ "a:\n  <<: [{}, 1]\n", 3, 1, "merge a map" },
	{ "a: 1\n---\nb: 2\n", 0, 0, "only one document" },
	{ "a: !unknown!tag x", 1, 4, "undefined tag handle" },
};

static struct json *parse(struct arena *a, const char *text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (yaml_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void check(const struct accepted *cases, size_t count, const char *before)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), text = BUF_INIT(MIB);
		struct json *v;

		arena_init(&a, MIB);
		(void)buf_printf(&text, "%s%s", before, cases[i].yaml);
		v = parse(&a, text.p);
		if (*before)
			v = json_at(v, 0);
		assert_int_equal(json_print(&b, v, NULL), 0);
		if (!str_eqz(buf_str(&b), cases[i].json))
			fail_msg("%s: read as %s, expected %s", cases[i].yaml, b.p, cases[i].json);
	}
}

static void plain_scalars_are_resolved(void **state)
{
	check(plain_scalars, ARRAY_SIZE(plain_scalars), "- ");
}

static void tags_are_honoured(void **state)
{
	check(tagged_scalars, ARRAY_SIZE(tagged_scalars), "- ");
}

static void documents_become_trees(void **state)
{
	check(documents, ARRAY_SIZE(documents), "");
}

static void an_error_names_the_problem_and_its_place(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CLEANUP(arena_release) struct arena a;
		struct json_report report = { 0 };
		struct error err = { 0 };
		struct json *v = NULL;
		int r;

		arena_init(&a, MIB);
		r = yaml_parse(&a, str_from(refused[i].yaml),
			       &(struct yaml_options){ .report = &report }, &v, &err);
		if (r != -ERR_BAD_REQUEST || v)
			fail_msg("%s: result %d", refused[i].yaml, r);
		if (!strstr(err.msg, refused[i].what) || report.line != refused[i].line ||
		    report.column != refused[i].column)
			fail_msg("%s: %s", refused[i].yaml, err.msg);
	}
}

static void documents_come_one_by_one(void **state)
{
	CLEANUP(yaml_reader_free) struct yaml_reader *r = NULL;
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	r = yaml_reader_new(STR("---\n# empty\n---\na: &x 1\n---\nnull\n---\n[2]\n...\n---\n3\n"),
			    NULL);
	assert_int_equal(yaml_reader_next(r, &a, &v, NULL), 1);
	assert_int_equal(json_getz(v, "a")->i64, 1);
	assert_int_equal(yaml_reader_next(r, &a, &v, NULL), 1);
	assert_int_equal(json_at(v, 0)->i64, 2);
	assert_int_equal(yaml_reader_next(r, &a, &v, NULL), 1);
	assert_int_equal(v->i64, 3);
	assert_int_equal(yaml_reader_next(r, &a, &v, NULL), 0);
	assert_int_equal(yaml_reader_next(r, &a, &v, NULL), 0);
}

static void an_anchor_ends_with_its_document(void **state)
{
	CLEANUP(yaml_reader_free)
	struct yaml_reader *r = yaml_reader_new(STR("a: &x 1\n---\nb: *x\n---\nc: 1\n"), NULL);
	CLEANUP(arena_release) struct arena a;
	struct error err;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(yaml_reader_next(r, &a, &v, &err), 1);
	assert_int_equal(yaml_reader_next(r, &a, &v, &err), -ERR_BAD_REQUEST);
	assert_int_equal(yaml_reader_next(r, &a, &v, &err), -ERR_BAD_REQUEST);
}

static void the_tree_outlives_the_text(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char text[] = "key: value\nlist: [one, &x two, *x]\n";
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, text);
	memset(text, '?', sizeof(text));
	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, "{\"key\":\"value\",\"list\":[\"one\",\"two\",\"two\"]}");
}

static void repeated_keys_are_reported(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json_report report;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(yaml_parse(&a,
				    STR("spec:\n  c:\n  - m: 1\n    m: 2\n  1: a\n  \"1\": b\n"
					"  <<: {c: 3, d: 4}\n  d: 5\n"),
				    &(struct yaml_options){ .report = &report }, &v, NULL),
			 0);
	assert_int_equal(report.duplicate_count, 2);
	assert_true(str_eq(report.duplicates->path, STR("spec.c[0].m")));
	assert_true(str_eq(report.duplicates->next->path, STR("spec.1")));
	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, "{\"spec\":{\"c\":3,\"1\":\"b\",\"d\":5}}");
}

/* The errors of a kube-apiserver 1.38 for such bodies, from sigs.k8s.io/yaml. */
static const struct {
	const char *yaml, *told;
} repeats[] = {
	{ "a: 1\nb: 2\n", "" },
	{ "", "" },
	{ "a: 1\na: 2\na: 3\n", "2 \"a\", 3 \"a\"" },
	{ "a: 1\na:\n  z: 1\n  z: 2\nb:\n  k: 1\n  k:\n    w: 1\n    w: 2\n",
	  "4 \"z\", 3 \"a\", 9 \"w\", 8 \"k\"" },
	{ "x:\n  - - a: 1\n      a: 2\n    - b: [{c: 1, c: 2}]\n", "3 \"a\", 4 \"c\"" },
	{ "a: |\n  x\n  y\na: >\n  x\n\"b\": \"x\n  y\"\nb:\n  \"z\"\n? c\n: v\n? c\n:\n  w\n"
	  "e:\ne:\n",
	  "4 \"a\", 9 \"b\", 14 \"c\", 16 \"e\"" },
	{ "1: a\n\"1\": b\n1: c\n0x1: d\ntrue: a\nyes: b\n1.5: a\n1.5: b\n1e3: q\n1e3: r\n"
	  "1000000.0: 1\n1000000.0: 2\n",
	  "3 1, 4 1, 6 true, 8 1.5, 10 1000, 12 1e+06" },
	{ "\"a b\\n\\\"\": x\n\"a b\\n\\\"\": y\n", "2 \"a b\\n\\\"\"" },
	{ "one: &o\n  k: 1\n  k: 2\ntwo: *o\nthree: *o\ntwo: *o\n",
	  "3 \"k\", 3 \"k\", 3 \"k\", 3 \"k\", 6 \"two\"" },
	{ "base: &b\n  k: 1\n  j: 2\none:\n  <<: *b\n  k: 3\ntwo:\n  k: 3\n  <<: *b\nthree:\n"
	  "  <<: [*b, {k: 5, l: 6}]\n  l: 7\nfour:\n  <<: {k: 1, k: 2}\n  j: 1\n",
	  "6 \"k\", 2 \"k\", 2 \"k\", 12 \"l\", 14 \"k\"" },
	{ "{\"a\": 1,\n \"b\": 2, \"a\": 3}\n", "2 \"a\"" },
	{ "a: 1\n---\na: 1\na: 2\n", "" },
	{ "&x k: 1\n*x : 2\n", "2 \"k\"" },
};

static void keys_that_are_set_again_are_told_with_their_line(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
		struct yaml_repeat *told = NULL;
		struct arena a;

		arena_init(&a, MIB);
		assert_int_equal(yaml_repeats(&a, str_from(repeats[i].yaml), 100, &told, NULL), 0);
		for (const struct yaml_repeat *t = told; t; t = t->next)
			(void)buf_printf(&b, "%s%zu %.*s", b.n ? ", " : "", t->line,
					 STR_ARG(t->key));
		assert_string_equal(b.p ? b.p : "", repeats[i].told);
		arena_release(&a);
	}
}

static void the_search_for_keys_that_are_set_again_is_bounded(void **state)
{
	CLEANUP(buf_release) struct buf laughs = BUF_INIT(KIB), deep = BUF_INIT(KIB);
	struct yaml_repeat *told = NULL;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(yaml_repeats(&a, STR("a: 1\na: 1\na: 1\na: 1\n"), 2, &told, NULL), 0);
	assert_non_null(told->next);
	assert_null(told->next->next);
	(void)buf_addz(&laughs, "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
	for (int i = 1; i < 9; i++) {
		(void)buf_printf(&laughs, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			(void)buf_printf(&laughs, "*a%d%s", i - 1, k < 9 ? ", " : "]\n");
	}
	assert_int_equal(yaml_repeats(&a, buf_str(&laughs), 2, &told, NULL), -ERR_TOO_LARGE);
	for (int i = 0; i <= YAML_DEPTH_MAX; i++)
		(void)buf_addc(&deep, '[');
	assert_int_equal(yaml_repeats(&a, buf_str(&deep), 2, &told, NULL), -ERR_BAD_REQUEST);
	assert_int_equal(yaml_repeats(&a, STR("a: &a [*a]\n"), 2, &told, NULL), -ERR_TOO_LARGE);
	assert_int_equal(yaml_repeats(&a, STR("a: *b\n"), 2, &told, NULL), -ERR_BAD_REQUEST);
	arena_release(&a);
}

static void write_laughs(struct buf *b, int levels)
{
	(void)buf_addz(b, "a0: &a0 [l, l, l, l, l, l, l, l, l, l]\n");
	for (int i = 1; i <= levels; i++) {
		(void)buf_printf(b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			(void)buf_printf(b, "%s*a%d", k ? ", " : "", i - 1);
		(void)buf_addz(b, "]\n");
	}
}

static void aliases_do_not_explode(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json *v;

	arena_init(&a, 64 * MIB);
	write_laughs(&b, 9);
	assert_int_equal(yaml_parse(&a, buf_str(&b), NULL, &v, NULL), -ERR_TOO_LARGE);
	assert_true(a.used < 32 * MIB);
	buf_clear(&b);
	write_laughs(&b, 3);
	assert_int_equal(yaml_parse(&a, buf_str(&b), NULL, &v, NULL), 0);
	assert_int_equal(yaml_parse(&a, buf_str(&b),
				    &(struct yaml_options){ .alias_nodes_max = 1000 }, &v, NULL),
			 -ERR_TOO_LARGE);
}

static int parse_nested(const char *open, size_t depth)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json *v;

	for (size_t i = 0; i < depth; i++)
		(void)buf_addz(&b, open);
	for (size_t i = 0; i < depth; i++)
		(void)buf_addc(&b, *open == '[' ? ']' : '}');
	arena_init(&a, 64 * MIB);
	return yaml_parse(&a, buf_str(&b), NULL, &v, NULL);
}

static void depth_is_limited(void **state)
{
	assert_int_equal(parse_nested("[", YAML_DEPTH_MAX), 0);
	assert_int_equal(parse_nested("[", YAML_DEPTH_MAX + 1), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("{a: ", YAML_DEPTH_MAX), 0);
	assert_int_equal(parse_nested("{a: ", YAML_DEPTH_MAX + 1), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("[", 100000), -ERR_BAD_REQUEST);
}

static void depth_counts_what_aliases_bring(void **state)
{
	static const char text[] = "- &a [[1]]\n- &b [*a]\n- [*b]\n";
	struct yaml_options options = { .depth_max = 5 };
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(yaml_parse(&a, str_from(text), &options, &v, NULL), 0);
	options.depth_max = 4;
	assert_int_equal(yaml_parse(&a, str_from(text), &options, &v, NULL), -ERR_BAD_REQUEST);
}

static void size_and_memory_are_limited(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json *v;

	arena_init(&a, 64 * KIB);
	assert_int_equal(
		yaml_parse(&a, STR("[1, 2]"), &(struct yaml_options){ .size_max = 5 }, &v, NULL),
		-ERR_TOO_LARGE);
	for (int i = 0; i < 20000; i++)
		(void)buf_addz(&b, "- x\n");
	assert_int_equal(yaml_parse(&a, buf_str(&b), NULL, &v, NULL), -ERR_TOO_LARGE);
}

static void json_is_recognised(void **state)
{
	assert_true(yaml_is_json(STR("{}")));
	assert_true(yaml_is_json(STR(" \t\r\n{\"a\":1}")));
	assert_false(yaml_is_json(STR("[1]")));
	assert_false(yaml_is_json(STR("a: 1")));
	assert_false(yaml_is_json(STR("# {\n")));
	assert_false(yaml_is_json(STR("  ")));
	assert_false(yaml_is_json(STR_NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_scalars_are_resolved),
		cmocka_unit_test(tags_are_honoured),
		cmocka_unit_test(documents_become_trees),
		cmocka_unit_test(an_error_names_the_problem_and_its_place),
		cmocka_unit_test(documents_come_one_by_one),
		cmocka_unit_test(an_anchor_ends_with_its_document),
		cmocka_unit_test(the_tree_outlives_the_text),
		cmocka_unit_test(repeated_keys_are_reported),
		cmocka_unit_test(aliases_do_not_explode),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(depth_counts_what_aliases_bring),
		cmocka_unit_test(size_and_memory_are_limited),
		cmocka_unit_test(json_is_recognised),
		cmocka_unit_test(keys_that_are_set_again_are_told_with_their_line),
		cmocka_unit_test(the_search_for_keys_that_are_set_again_is_bounded),
	};

	return cmocka_run_group_tests_name("base/yaml_parse", tests, NULL, NULL);
}
