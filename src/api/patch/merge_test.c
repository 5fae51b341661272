/*
 * The examples of RFC 7386, appendix A, as far as documents are objects, and patches that are
 * large, deep or malicious.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/patch/patch.h"
#include "base/core/limits.h"

static const struct {
	const char *doc, *patch, *result;
} cases[] = {
	{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
	{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
	{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
	{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
	{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
	{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
	{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
	{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
	{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
	{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
	{ "{\"a\":{\"x\":1}}", "{\"a\":{}}", "{\"a\":{\"x\":1}}" },
	{ "{\"a\":{\"x\":1}}", "{\"a\":[{\"y\":null}]}", "{\"a\":[{\"y\":null}]}" },
	{ "{}", "{\"a\":[{\"y\":null},null]}", "{\"a\":[{},null]}" },
	{ "{\"a\":1}", "{}", "{\"a\":1}" },
	{ "{\"a\":1}", "{\"b\":null}", "{\"a\":1}" },
};

static int merge(struct arena *a, struct str doc, struct str patch, struct buf *out,
		 struct error *err)
{
	struct json *tree, *with;
	int r;

	assert_int_equal(json_parse(a, doc, NULL, &tree, err), 0);
	assert_int_equal(json_parse(a, patch, NULL, &with, err), 0);
	r = patch_merge(a, &tree, with, err);
	if (r == 0)
		assert_int_equal(json_print(out, tree, NULL), 0);
	return r;
}

static void merging_does_what_the_rfc_says(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
		struct error err;

		arena_init(&a, MIB);
		assert_int_equal(
			merge(&a, str_from(cases[i].doc), str_from(cases[i].patch), &out, &err), 0);
		assert_string_equal(out.p, cases[i].result);
	}
}

static void only_objects_are_merge_patches(void **state)
{
	static const char *const patches[] = { "[]", "null", "1", "\"x\"" };

	for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
		CLEANUP(arena_release) struct arena a;
		struct error err;

		arena_init(&a, MIB);
		assert_int_equal(merge(&a, STR("{}"), str_from(patches[i]), NULL, &err),
				 -ERR_BAD_REQUEST);
	}
}

/* {"k0":V,"k1":V,..} */
static void many(struct buf *b, int from, int to, const char *value)
{
	(void)buf_addc(b, '{');
	for (int i = from; i < to; i++)
		(void)buf_printf(b, "%s\"k%d\":%s", i > from ? "," : "", i, value);
	(void)buf_addc(b, '}');
}

static void large_objects_are_merged_in_time(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release)
	struct buf doc = BUF_INIT(16 * MIB), patch = BUF_INIT(16 * MIB), out = BUF_INIT(16 * MIB),
		   expected = BUF_INIT(16 * MIB);
	struct error err;

	arena_init(&a, 256 * MIB);
	many(&doc, 0, 100000, "{\"x\":1}");
	many(&patch, 50000, 150000, "null");
	many(&expected, 0, 50000, "{\"x\":1}");
	assert_int_equal(merge(&a, buf_str(&doc), buf_str(&patch), &out, &err), 0);
	assert_string_equal(out.p, expected.p);

	buf_clear(&patch);
	buf_clear(&out);
	buf_clear(&expected);
	many(&patch, 0, 150000, "{\"x\":2}");
	many(&expected, 0, 150000, "{\"x\":2}");
	assert_int_equal(merge(&a, buf_str(&doc), buf_str(&patch), &out, &err), 0);
	assert_string_equal(out.p, expected.p);
}

static void deep_documents_need_no_stack(void **state)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf doc = BUF_INIT(MIB), out = BUF_INIT(MIB);
	struct error err;

	arena_init(&a, 64 * MIB);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		(void)buf_addz(&doc, i < JSON_DEPTH_MAX - 1 ? "{\"a\":" : "{");
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		(void)buf_addc(&doc, '}');
	assert_int_equal(merge(&a, STR("{}"), buf_str(&doc), &out, &err), 0);
	assert_string_equal(out.p, doc.p);
	buf_clear(&out);
	assert_int_equal(merge(&a, buf_str(&doc), buf_str(&doc), &out, &err), 0);
	assert_string_equal(out.p, doc.p);
}

static void growth_ends_at_the_arenas_limit(void **state)
{
	CLEANUP(arena_release) struct arena a, small;
	CLEANUP(buf_release) struct buf patch = BUF_INIT(16 * MIB);
	struct json *doc, *with;
	struct error err;

	arena_init(&a, 64 * MIB);
	arena_init(&small, 64 * KIB);
	many(&patch, 0, 100000, "1");
	assert_int_equal(json_parse(&a, STR("{}"), NULL, &doc, &err), 0);
	assert_int_equal(json_parse(&a, buf_str(&patch), NULL, &with, &err), 0);
	assert_int_equal(patch_merge(&small, &doc, with, &err), -ERR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_does_what_the_rfc_says),
		cmocka_unit_test(only_objects_are_merge_patches),
		cmocka_unit_test(large_objects_are_merged_in_time),
		cmocka_unit_test(deep_documents_need_no_stack),
		cmocka_unit_test(growth_ends_at_the_arenas_limit),
	};

	return cmocka_run_group_tests_name("api/patch_merge", tests, NULL, NULL);
}
