/*
 * The examples of RFC 6902, appendix A, with the results of kube-apiserver's library where those
 * differ, and limits on what a patch can do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/patch/patch.h"
#include "base/core/limits.h"

struct patch_case {
	const char *name, *doc, *patch;
	const char *result; /* NULL: rejected */
};

static const struct patch_case cases[] = {
	{ "A.1 adding a member", "{\"foo\":\"bar\"}",
	  "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
	  "{\"foo\":\"bar\",\"baz\":\"qux\"}" },
	{ "A.2 adding an element", "{\"foo\":[\"bar\",\"baz\"]}",
	  "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
	  "{\"foo\":[\"bar\",\"qux\",\"baz\"]}" },
	{ "A.3 removing a member", "{\"baz\":\"qux\",\"foo\":\"bar\"}",
	  "[{\"op\":\"remove\",\"path\":\"/baz\"}]", "{\"foo\":\"bar\"}" },
	{ "A.4 removing an element", "{\"foo\":[\"bar\",\"qux\",\"baz\"]}",
	  "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]", "{\"foo\":[\"bar\",\"baz\"]}" },
	{ "A.5 replacing a value", "{\"baz\":\"qux\",\"foo\":\"bar\"}",
	  "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
	  "{\"baz\":\"boo\",\"foo\":\"bar\"}" },
	{ "A.6 moving a value", "{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"c\":1}}",
	  "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
	  "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"c\":1,\"thud\":\"fred\"}}" },
	{ "A.7 moving an element", "{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
	  "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
	  "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}" },
	{ "A.8 testing, success", "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
	  "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
	  "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
	  "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}" },
	{ "A.9 testing, failure", "{\"baz\":\"qux\"}",
	  "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", NULL },
	{ "A.10 adding a nested object", "{\"foo\":\"bar\"}",
	  "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
	  "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}" },
	{ "A.11 unknown members are ignored", "{\"foo\":\"bar\"}",
	  "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
	  "{\"foo\":\"bar\",\"baz\":\"qux\"}" },
	{ "A.12 adding to what is not there", "{\"foo\":\"bar\"}",
	  "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", NULL },
	{ "A.14 escapes", "{\"/\":9,\"~1\":10}",
	  "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]", "{\"/\":9,\"~1\":10}" },
	{ "A.15 text is no number", "{\"/\":9,\"~1\":10}",
	  "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]", NULL },
	{ "A.16 adding a list", "{\"foo\":[\"bar\"]}",
	  "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
	  "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}" },
	{ "slash in a label", "{\"labels\":{}}",
	  "[{\"op\":\"add\",\"path\":\"/labels/example.com~1gpu\",\"value\":\"yes\"}]",
	  "{\"labels\":{\"example.com/gpu\":\"yes\"}}" },
	{ "adding what is there replaces it", "{\"a\":1,\"b\":2}",
	  "[{\"op\":\"add\",\"path\":\"/a\",\"value\":3}]", "{\"a\":3,\"b\":2}" },
	{ "replacing what is not there makes it", "{}",
	  "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":3}]", "{\"a\":3}" },
	{ "replacing an element that is not there", "{\"a\":[]}",
	  "[{\"op\":\"replace\",\"path\":\"/a/0\",\"value\":3}]", NULL },
	{ "replacing all", "{\"a\":[]}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":1}}]",
	  "{\"b\":1}" },
	{ "replacing all by no container", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]",
	  NULL },
	{ "indexes from the end", "{\"a\":[1,2,3]}",
	  "[{\"op\":\"remove\",\"path\":\"/a/-1\"},{\"op\":\"add\",\"path\":\"/a/-1\","
	  "\"value\":4}]",
	  "{\"a\":[1,2,4]}" },
	{ "an index beyond the end", "{\"a\":[1]}",
	  "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":4}]", NULL },
	{ "an index too far from the end", "{\"a\":[1]}",
	  "[{\"op\":\"remove\",\"path\":\"/a/-2\"}]", NULL },
	{ "an index that is none", "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/x\"}]", NULL },
	{ "removing what is not there", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", NULL },
	{ "removing all", "{}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL },
	{ "a missing value is null", "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}" },
	{ "null is as good as absence", "{\"b\":null}",
	  "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null},{\"op\":\"test\",\"path\":\"/b\"}]",
	  "{\"b\":null}" },
	{ "a test for something that is absent", "{}",
	  "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", NULL },
	{ "a test of all", "{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":[1]}}]",
	  "{\"a\":[1]}" },
	{ "copying", "{\"a\":{\"x\":[1]},\"b\":[]}",
	  "[{\"op\":\"copy\",\"from\":\"/a/x\",\"path\":\"/b/0\"},"
	  "{\"op\":\"add\",\"path\":\"/a/x/-\",\"value\":2}]",
	  "{\"a\":{\"x\":[1,2]},\"b\":[[1]]}" },
	{ "copying into itself", "{\"a\":{\"x\":1}}",
	  "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/y\"}]",
	  "{\"a\":{\"x\":1,\"y\":{\"x\":1}}}" },
	{ "moving into itself", "{\"a\":{\"x\":1}}",
	  "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/y\"}]", NULL },
	{ "moving to its own place", "{\"a\":1,\"b\":2}",
	  "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"b\":2,\"a\":1}" },
	{ "moving without a from", "{\"a\":1}", "[{\"op\":\"move\",\"path\":\"/b\"}]", NULL },
	{ "an unknown operation", "{}", "[{\"op\":\"increment\",\"path\":\"/a\"}]", NULL },
	{ "an operation without a name", "{}", "[{}]", NULL },
	{ "an operation without a path", "{}", "[{\"op\":\"add\",\"value\":1}]", NULL },
	{ "a way through a scalar", "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]",
	  NULL },
	{ "the empty name", "{}", "[{\"op\":\"add\",\"path\":\"/\",\"value\":1}]", "{\"\":1}" },
	{ "no operations", "{\"a\":1}", "[]", "{\"a\":1}" },
};

static int apply(struct arena *a, const char *doc, struct str patch, struct json **ret_doc,
		 struct error *err)
{
	struct json *tree, *ops;

	assert_int_equal(json_parse(a, str_from(doc), NULL, &tree, err), 0);
	assert_int_equal(json_parse(a, patch, NULL, &ops, err), 0);
	*ret_doc = tree;
	return patch_json(a, ret_doc, ops, err);
}

static void operations_do_what_the_rfc_or_upstream_says(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
		struct error err;
		struct json *doc;
		int r;

		arena_init(&a, MIB);
		print_message("# %s\n", cases[i].name);
		r = apply(&a, cases[i].doc, str_from(cases[i].patch), &doc, &err);
		assert_int_equal(r, cases[i].result ? 0 : -ERR_INVALID);
		if (r < 0)
			continue;
		assert_int_equal(json_print(&out, doc, NULL), 0);
		assert_string_equal(out.p, cases[i].result);
	}
}

static void an_invalid_patch_is_a_bad_request(void **state)
{
	static const char *const patches[] = {
		"{}", "null", "[1]", "[null]", "[{\"op\":1}]", "[{\"op\":\"add\",\"path\":[]}]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
		CLEANUP(arena_release) struct arena a;
		struct error err;
		struct json *doc;

		arena_init(&a, MIB);
		assert_int_equal(apply(&a, "{}", str_from(patches[i]), &doc, &err),
				 -ERR_BAD_REQUEST);
	}
}

/* [OP,OP,..] */
static void repeat(struct buf *b, const char *op, int n)
{
	(void)buf_addc(b, '[');
	for (int i = 0; i < n; i++)
		(void)buf_printf(b, "%s%s", i ? "," : "", op);
	(void)buf_addc(b, ']');
}

static void the_number_of_operations_is_bounded(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	struct error err;
	struct json *doc;

	arena_init(&a, 64 * MIB);
	repeat(&b, "{\"op\":\"test\",\"path\":\"/a\",\"value\":1}", PATCH_OPS_MAX);
	assert_int_equal(apply(&a, "{\"a\":1}", buf_str(&b), &doc, &err), 0);
	buf_clear(&b);
	repeat(&b, "{\"op\":\"test\",\"path\":\"/a\",\"value\":1}", PATCH_OPS_MAX + 1);
	assert_int_equal(apply(&a, "{\"a\":1}", buf_str(&b), &doc, &err), -ERR_TOO_LARGE);
	assert_string_equal(err.msg,
			    "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

static void copies_of_copies_end_at_the_arenas_limit(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct error err;
	struct json *doc;

	arena_init(&a, 8 * MIB);
	repeat(&b, "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", 40);
	assert_int_equal(apply(&a, "{\"a\":[1]}", buf_str(&b), &doc, &err), -ERR_TOO_LARGE);
}

static void nesting_ends_where_the_parsers_does(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	struct error err;
	struct json *doc;

	/* Each operation nests the document one level deeper. */
	arena_init(&a, 64 * MIB);
	(void)buf_addc(&b, '[');
	for (int i = 0; i < 3333; i++)
		(void)buf_printf(&b,
				 "%s{\"op\":\"add\",\"path\":\"/t\",\"value\":[[[[]]]]},"
				 "{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/t/0/0/0/0\"},"
				 "{\"op\":\"move\",\"from\":\"/t\",\"path\":\"/a\"}",
				 i ? "," : "");
	(void)buf_addc(&b, ']');
	assert_int_equal(apply(&a, "{\"a\":1}", buf_str(&b), &doc, &err), -ERR_INVALID);
}

/* A patch of `n` operations on the last of `length` elements. */
static int patch_long_list(int length, int n)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf doc_text = BUF_INIT(16 * MIB), b = BUF_INIT(16 * MIB);
	struct error err;
	struct json *doc;

	arena_init(&a, 256 * MIB);
	(void)buf_addz(&doc_text, "{\"a\":");
	repeat(&doc_text, "1", length);
	(void)buf_addc(&doc_text, '}');
	repeat(&b, "{\"op\":\"test\",\"path\":\"/a/-1\",\"value\":1}", n);
	return apply(&a, doc_text.p, buf_str(&b), &doc, &err);
}

/* All other requests wait while a patch is applied. */
static void work_on_long_lists_is_bounded(void **state)
{
	assert_int_equal(patch_long_list(200000, PATCH_OPS_MAX), -ERR_TOO_LARGE);
	assert_int_equal(patch_long_list(1000, PATCH_OPS_MAX), -ERR_TOO_LARGE);
	assert_int_equal(patch_long_list(400, PATCH_OPS_MAX), 0);
	assert_int_equal(patch_long_list(20000, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_do_what_the_rfc_or_upstream_says),
		cmocka_unit_test(an_invalid_patch_is_a_bad_request),
		cmocka_unit_test(the_number_of_operations_is_bounded),
		cmocka_unit_test(copies_of_copies_end_at_the_arenas_limit),
		cmocka_unit_test(nesting_ends_where_the_parsers_does),
		cmocka_unit_test(work_on_long_lists_is_bounded),
	};

	return cmocka_run_group_tests_name("api/patch_json", tests, NULL, NULL);
}
