/* Strategic merge patches on real types, with upstream's results. */
#include "api/patch_strategic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/limits.h"

static const struct schema_type *pod_type(void)
{
	return schema_find_resource(STR(""), STR("v1"), STR("pods"))->type;
}

static int patched(struct arena *a, const char *doc, const char *patch, struct buf *out,
		   struct error *err)
{
	struct json *tree, *changes;
	int r;

	if (json_parse(a, str_from(doc), NULL, &tree, NULL) < 0 ||
	    json_parse(a, str_from(patch), NULL, &changes, NULL) < 0)
		fail_msg("bad test text");
	r = patch_strategic(a, &tree, pod_type(), changes, err);
	if (r == 0)
		(void)json_print(out, tree, NULL);
	return r;
}

static void assert_patched(const char *doc, const char *patch, const char *want)
{
	struct buf out = BUF_INIT(MIB);
	struct error err = { 0 };
	struct arena a;

	arena_init(&a, 64 * MIB);
	if (patched(&a, doc, patch, &out, &err) < 0)
		fail_msg("%s: %s", patch, err.msg);
	assert_string_equal(out.p, want);
	buf_release(&out);
	arena_release(&a);
}

static void assert_refused(const char *doc, const char *patch, int code, const char *why)
{
	struct buf out = BUF_INIT(MIB);
	struct error err = { 0 };
	struct arena a;

	arena_init(&a, 64 * MIB);
	assert_int_equal(patched(&a, doc, patch, &out, &err), code);
	assert_string_equal(err.msg, why);
	buf_release(&out);
	arena_release(&a);
}

static void objects_are_merged_and_null_removes(void **state)
{
	assert_patched("{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}",
		       "{\"metadata\":{\"labels\":{\"b\":null,\"c\":\"3\",\"d\":null}}}",
		       "{\"metadata\":{\"labels\":{\"a\":\"1\",\"c\":\"3\"}}}");
	assert_patched("{}", "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"2\"}}}",
		       "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}");
	assert_patched("{\"a\":1}", "{\"a\":{\"x\":null,\"y\":[{\"z\":null}]}}",
		       "{\"a\":{\"y\":[{}]}}");
}

static void elements_with_a_key_are_merged(void **state)
{
	assert_patched("{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
		       "{\"name\":\"b\",\"image\":\"2\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"b\",\"image\":\"3\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
		       "{\"name\":\"b\",\"image\":\"3\"}]}}");
}

static void new_elements_come_first_as_upstream_has_it(void **state)
{
	assert_patched("{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"}]}}",
		       "{\"status\":{\"conditions\":[{\"type\":\"B\",\"status\":\"False\","
		       "\"reason\":null}]}}",
		       "{\"status\":{\"conditions\":[{\"type\":\"B\",\"status\":\"False\"},"
		       "{\"type\":\"A\",\"status\":\"True\"}]}}");
}

static void elements_are_deleted_by_directive(void **state)
{
	assert_patched("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"$patch\":\"delete\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}");
	assert_refused("{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
		       "{\"spec\":{\"containers\":[{\"$patch\":\"delete\"}]}}", -ERR_INVALID,
		       "delete patch type with no merge key defined");
}

static void a_list_is_replaced_by_directive(void **state)
{
	assert_patched("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"c\"},{\"$patch\":\"replace\"}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
}

static void an_object_is_replaced_or_emptied_by_directive(void **state)
{
	assert_patched("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
		       "{\"metadata\":{\"labels\":{\"$patch\":\"replace\",\"b\":\"2\"}}}",
		       "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}");
	assert_patched("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
		       "{\"metadata\":{\"labels\":{\"$patch\":\"delete\"}}}",
		       "{\"metadata\":{\"labels\":{}}}");
	assert_refused("{\"metadata\":{}}", "{\"metadata\":{\"$patch\":\"x\"}}", -ERR_INVALID,
		       "unknown patch type: x");
}

static void a_list_without_a_key_is_replaced(void **state)
{
	assert_patched("{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"1\",\"2\"]}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"3\"]}]}}",
		       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"3\"]}]}}");
}

static void scalars_that_merge_are_added_once(void **state)
{
	assert_patched("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
		       "{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}",
		       "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}");
	assert_patched("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
		       "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
		       "{\"metadata\":{\"finalizers\":[\"b\"]}}");
}

static void an_order_can_be_asked_for(void **state)
{
	assert_patched(
		"{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"x\"}]}}",
		"{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}],"
		"\"containers\":[{\"name\":\"a\",\"image\":\"i\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\",\"image\":\"i\"},"
		"{\"name\":\"x\"}]}}");
	assert_patched(
		"{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
		"{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}");
}

static void keys_that_are_not_retained_go(void **state)
{
	assert_patched("{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}",
		       "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"},"
		       "\"$retainKeys\":[\"name\",\"hostPath\"]}]}}",
		       "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"}}]}}");
	assert_refused("{\"spec\":{\"volumes\":[{\"name\":\"v\"}]}}",
		       "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"$retainKeys\":[]}]}}",
		       -ERR_BAD_REQUEST, "patch content doesn't match retainKeys list");
}

static void malformed_patches_are_refused(void **state)
{
	assert_refused("{}", "[]", -ERR_BAD_REQUEST, "invalid JSON document");
	assert_refused("{\"spec\":{\"containers\":[]}}",
		       "{\"spec\":{\"containers\":[{\"image\":\"x\"}]}}", -ERR_INVALID,
		       "map: map[] does not contain declared merge key: name");
	assert_refused("{\"spec\":{\"containers\":[]}}", "{\"spec\":{\"containers\":[1]}}",
		       -ERR_BAD_REQUEST, "invalid JSON document");
	assert_refused("{\"spec\":{}}", "{\"spec\":{\"$setElementOrder/containers\":1}}",
		       -ERR_BAD_REQUEST, "invalid patch format of setElementOrder list");
	assert_refused("{\"spec\":{}}", "{\"spec\":{\"$deleteFromPrimitiveList/x\":1}}",
		       -ERR_BAD_REQUEST, "invalid patch format of primitive list");
}

static void a_patch_made_to_cost_time_is_refused(void **state)
{
	struct buf patch = BUF_INIT(MIB), out = BUF_INIT(MIB);
	struct arena a;
	struct error err;

	(void)buf_addz(&patch, "{\"metadata\":{\"finalizers\":[");
	for (int i = 0; i < 20000; i++)
		(void)buf_printf(&patch, "%s\"%d\"", i ? "," : "", i);
	(void)buf_addz(&patch, "]}}");
	arena_init(&a, 64 * MIB);
	assert_int_equal(
		patched(&a, "{\"metadata\":{\"finalizers\":[\"a\"]}}", patch.p, &out, &err),
		-ERR_TOO_LARGE);
	buf_release(&patch);
	buf_release(&out);
	arena_release(&a);
}

static void deep_patches_are_refused(void **state)
{
	struct buf patch = BUF_INIT(MIB), out = BUF_INIT(MIB);
	struct arena a;
	struct error err;

	for (int i = 0; i < 2000; i++)
		(void)buf_addz(&patch, "{\"a\":");
	(void)buf_addz(&patch, "1");
	for (int i = 0; i < 2000; i++)
		(void)buf_addz(&patch, "}");
	arena_init(&a, 64 * MIB);
	assert_int_equal(patched(&a, "{}", patch.p, &out, &err), -ERR_BAD_REQUEST);
	assert_int_equal(patched(&a, patch.p, patch.p, &out, &err), -ERR_BAD_REQUEST);
	buf_release(&patch);
	buf_release(&out);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_merged_and_null_removes),
		cmocka_unit_test(elements_with_a_key_are_merged),
		cmocka_unit_test(new_elements_come_first_as_upstream_has_it),
		cmocka_unit_test(elements_are_deleted_by_directive),
		cmocka_unit_test(a_list_is_replaced_by_directive),
		cmocka_unit_test(an_object_is_replaced_or_emptied_by_directive),
		cmocka_unit_test(a_list_without_a_key_is_replaced),
		cmocka_unit_test(scalars_that_merge_are_added_once),
		cmocka_unit_test(an_order_can_be_asked_for),
		cmocka_unit_test(keys_that_are_not_retained_go),
		cmocka_unit_test(malformed_patches_are_refused),
		cmocka_unit_test(a_patch_made_to_cost_time_is_refused),
		cmocka_unit_test(deep_patches_are_refused),
	};

	return cmocka_run_group_tests_name("api/patch_strategic", tests, NULL, NULL);
}
