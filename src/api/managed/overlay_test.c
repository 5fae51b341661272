/*
 * A mutating policy's configuration changes an object, and must not touch some of its fields.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/managed/managed.h"
#include "base/core/limits.h"

static const char *const live =
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\","
	"\"labels\":{\"a\":\"1\"}},\"spec\":{\"replicas\":1,\"template\":{\"spec\":{"
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}";

static int overlay(struct arena *a, const char *config, struct json **ret_object, struct error *err)
{
	const struct schema_kind *kind = schema_find_kind(STR("apps/v1"), STR("Deployment"));
	struct json *object, *tree;

	assert_int_equal(json_parse(a, str_from(live), NULL, &object, NULL), 0);
	assert_int_equal(json_parse(a, str_from(config), NULL, &tree, NULL), 0);
	return managed_overlay(a, kind, object, tree, ret_object, err);
}

static void assert_merged(const char *config, const char *path, const char *want)
{
	struct buf text = BUF_INIT(MIB);
	struct json *object = NULL;
	struct error err = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	if (overlay(&a, config, &object, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(json_print(&text, json_pointer(object, str_from(path)), NULL), 0);
	assert_string_equal(text.p, want);
	buf_release(&text);
	arena_release(&a);
}

static void assert_refused(const char *config, const char *why)
{
	struct json *object = NULL;
	struct error err = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(overlay(&a, config, &object, &err), -ERR_UNTYPED);
	assert_string_equal(err.msg, why);
	arena_release(&a);
}

static void fields_are_set_and_others_stay(void **state)
{
	(void)state;
	assert_merged("{\"spec\":{\"replicas\":3}}", "/spec/replicas", "3");
	assert_merged("{\"metadata\":{\"labels\":{\"b\":\"2\"}}}", "/metadata/labels",
		      "{\"a\":\"1\",\"b\":\"2\"}");
}

static void elements_are_found_by_their_keys(void **state)
{
	(void)state;
	assert_merged("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"x\","
		      "\"image\":\"y\"}]}}}}",
		      "/spec/template/spec/containers",
		      "[{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"x\",\"image\":\"y\"}]");
	assert_merged("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
		      "\"tty\":true}]}}}}",
		      "/spec/template/spec/containers",
		      "[{\"name\":\"c\",\"image\":\"i\",\"tty\":true}]");
}

static void unknown_fields_and_types_are_refused(void **state)
{
	(void)state;
	assert_refused("{\"spec\":{\"size\":3}}",
		       "failed to convert patch object to typed object: .spec.size: field not "
		       "declared in schema");
	assert_refused("{\"spec\":{\"replicas\":\"3\"}}",
		       "failed to convert patch object to typed object: .spec.replicas: expected "
		       "numeric (int or float), got string");
}

static void what_is_owned_as_a_whole_is_refused(void **state)
{
	(void)state;
	assert_refused("{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
		       "invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
		       "structs: .spec.selector");
	assert_refused("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
		       "\"command\":[\"x\"]}],\"tolerations\":[]}}}}",
		       "invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
		       "structs: .spec.template.spec.containers[0].command, "
		       ".spec.template.spec.tolerations");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_set_and_others_stay),
		cmocka_unit_test(elements_are_found_by_their_keys),
		cmocka_unit_test(unknown_fields_and_types_are_refused),
		cmocka_unit_test(what_is_owned_as_a_whole_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
