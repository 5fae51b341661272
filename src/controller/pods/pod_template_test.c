/*
 * Pods made of templates, and which templates are equal.
 */
#include "controller/pods/pod_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "controller/pods/owned.h"

static struct json *tree_of(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static void assert_json(const struct json *v, const char *want)
{
	struct buf text = BUF_INIT(MIB);

	(void)json_print(&text, v, NULL);
	assert_string_equal(text.p, want);
	buf_release(&text);
}

static struct owner owner_named(const char *name)
{
	return (struct owner){ .api_version = STR("apps/v1"),
			       .kind = STR("ReplicaSet"),
			       .ns = STR("n"),
			       .name = str_from(name),
			       .uid = STR("u1") };
}

static void a_pod_has_its_templates_parts(void **state UNUSED)
{
	struct owner owner = owner_named("web");
	struct arena a;

	arena_init(&a, MIB);
	assert_json(pod_template_make(
			    &a,
			    tree_of(&a, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"},"
					"\"annotations\":{\"c\":\"d\"},\"finalizers\":[\"e/f\"],"
					"\"creationTimestamp\":null},"
					"\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"),
			    &owner),
		    "{\"metadata\":{\"generateName\":\"web-\",\"labels\":{\"a\":\"b\"},"
		    "\"annotations\":{\"c\":\"d\"},\"finalizers\":[\"e/f\"],\"ownerReferences\":[{"
		    "\"apiVersion\":\"apps/"
		    "v1\",\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":\"u1\","
		    "\"controller\":true,\"blockOwnerDeletion\":true}]},\"apiVersion\":\"v1\","
		    "\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	arena_release(&a);
}

static void pods_may_share_the_spec_of_their_template(void **state UNUSED)
{
	struct owner owner = owner_named("web");
	struct json *template, *one, *two;
	struct arena a;

	arena_init(&a, MIB);
	template = tree_of(&a, "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"x\":[1]}}");
	one = pod_template_share(&a, template, &owner);
	two = pod_template_share(&a, template, &owner);
	assert_true(json_equal(one, pod_template_make(&a, template, &owner)));
	assert_ptr_equal(json_first(json_getz(one, "spec")), json_first(json_getz(two, "spec")));
	assert_ptr_not_equal(json_getz(one, "metadata"), json_getz(two, "metadata"));
	assert_null(json_getz(pod_template_share(&a, tree_of(&a, "{}"), &owner), "spec"));
	arena_release(&a);
}

static void a_long_name_gets_no_dash(void **state UNUSED)
{
	char name[254];
	struct owner owner;
	struct arena a;
	struct json *pod;

	memset(name, 'a', 253);
	name[253] = '\0';
	owner = owner_named(name);
	arena_init(&a, MIB);
	pod = pod_template_make(&a, tree_of(&a, "{}"), &owner);
	assert_int_equal(json_text_at(json_getz(pod, "metadata"), "generateName").n, 253);
	owner.name.n = 252;
	pod = pod_template_make(&a, tree_of(&a, "{}"), &owner);
	assert_int_equal(json_text_at(json_getz(pod, "metadata"), "generateName").n, 253);
	arena_release(&a);
}

#define LABELS(l) "{\"metadata\":{\"labels\":{" l "}}}"
#define SPEC(s)   "{\"spec\":{" s "}}"

static void templates_are_compared_by_meaning(void **state UNUSED)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{ "{}", "{}", true },
		{ LABELS("\"a\":\"1\""), LABELS("\"a\":\"1\",\"pod-template-hash\":\"x\""), true },
		{ LABELS(""), LABELS("\"pod-template-hash\":\"x\""), true },
		{ "{}", LABELS("\"pod-template-hash\":\"x\""), true },
		{ LABELS("\"pod-template-hash\":\"y\""), LABELS("\"pod-template-hash\":\"x\""),
		  true },
		{ LABELS("\"a\":\"1\""), LABELS("\"a\":\"2\""), false },
		{ LABELS("\"a\":\"1\""), LABELS("\"a\":\"1\",\"b\":\"1\""), false },
		{ "{\"metadata\":{\"annotations\":{\"a\":\"1\"}}}", "{}", false },
		{ "{\"metadata\":{\"annotations\":{}}}",
		  "{\"metadata\":{\"creationTimestamp\":null}}", true },
		{ SPEC("\"a\":1,\"b\":[]"), SPEC("\"b\":null,\"a\":1"), true },
		{ SPEC("\"nodeSelector\":{}"), SPEC(""), true },
		{ SPEC("\"resources\":{\"limits\":{}}"), SPEC("\"resources\":{}"), true },
		{ SPEC("\"labelSelector\":{}"), SPEC(""), false },
		{ SPEC("\"v\":[1,2]"), SPEC("\"v\":[2,1]"), false },
		{ SPEC("\"v\":[1,2]"), SPEC("\"v\":[1]"), false },
		{ SPEC("\"v\":\"\""), SPEC(""), false },
		{ SPEC("\"v\":[1]"), SPEC("\"v\":{\"a\":1}"), false },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *x = tree_of(&a, cases[i].a), *y = tree_of(&a, cases[i].b);

		if (pod_template_equal(x, y) != cases[i].equal ||
		    pod_template_equal(y, x) != cases[i].equal)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
	arena_release(&a);
}

static void a_hash_depends_on_meaning_and_collisions(void **state UNUSED)
{
	struct arena a;
	int64_t none = 0, one = 1;
	struct json *x, *y, *z;

	arena_init(&a, MIB);
	x = tree_of(&a, SPEC("\"a\":1,\"c\":[{\"b\":\"t\"}]"));
	y = tree_of(&a, "{\"metadata\":{\"creationTimestamp\":null},"
			"\"spec\":{\"c\":[{\"b\":\"t\"}],\"limits\":{},\"a\":1}}");
	z = tree_of(&a, SPEC("\"a\":2,\"c\":[{\"b\":\"t\"}]"));
	assert_true(str_eq(pod_template_hash(&a, x, NULL), pod_template_hash(&a, y, NULL)));
	assert_false(str_eq(pod_template_hash(&a, x, NULL), pod_template_hash(&a, z, NULL)));
	assert_false(str_eq(pod_template_hash(&a, x, NULL), pod_template_hash(&a, x, &none)));
	assert_false(str_eq(pod_template_hash(&a, x, &one), pod_template_hash(&a, x, &none)));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_has_its_templates_parts),
		cmocka_unit_test(pods_may_share_the_spec_of_their_template),
		cmocka_unit_test(a_long_name_gets_no_dash),
		cmocka_unit_test(templates_are_compared_by_meaning),
		cmocka_unit_test(a_hash_depends_on_meaning_and_collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
