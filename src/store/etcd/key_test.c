#include "store/etcd/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static const struct str prefix = { "/registry", 9 };

static struct buf made(const char *resource, const char *ns, const char *name)
{
	struct store_key key = { str_from(resource), str_from(ns), str_from(name) };
	struct buf out = BUF_INIT(KIB);

	assert_int_equal(etcd_key_make(prefix, &key, &out, NULL), 0);
	return out;
}

static void expect_order(const char *ns1, const char *name1, const char *ns2, const char *name2)
{
	struct buf a = made("core/pods", ns1, name1), b = made("core/pods", ns2, name2);

	if (str_cmp(buf_str(&a), buf_str(&b)) >= 0)
		fail_msg("\"%s\" does not sort before \"%s\"", a.p, b.p);
	buf_release(&a);
	buf_release(&b);
}

static void keys_sort_by_namespace_and_then_by_name(void **state UNUSED)
{
	expect_order("a", "z", "a-b", "a");
	expect_order("a-b", "z", "a.b", "a");
	expect_order("a.b", "z", "ab", "a");
	expect_order("a", "z", "a0", "a");
	expect_order("a", "b", "a", "b-c");
	expect_order("a", "b", "a", "b.c");
	expect_order("", "b", "", "b:c");
}

static void a_key_is_readable(void **state UNUSED)
{
	struct buf pod = made("core/pods", "default", "web-0");
	struct buf node = made("core/nodes", "", "node-1");

	assert_string_equal(pod.p, "/registry/core/pods/default web-0");
	assert_string_equal(node.p, "/registry/core/nodes/ node-1");
	buf_release(&pod);
	buf_release(&node);
}

static void expect_round_trip(const char *resource, const char *ns, const char *name)
{
	struct buf text = made(resource, ns, name);
	struct store_key back;

	assert_true(etcd_key_parse(prefix, buf_str(&text), &back));
	assert_true(str_eqz(back.resource, resource));
	assert_true(str_eqz(back.ns, ns));
	assert_true(str_eqz(back.name, name));
	buf_release(&text);
}

static void a_key_is_read_back_as_it_was_made(void **state UNUSED)
{
	expect_round_trip("core/pods", "default", "web-0");
	expect_round_trip("rbac.authorization.k8s.io/clusterroles", "", "system:a b  c");
	expect_round_trip("core/nodes", "", " begins with a space");
	expect_round_trip("core/nodes", "", "");
}

static void keys_of_other_objects_are_not_read(void **state UNUSED)
{
	static const char *const texts[] = {
		"",
		"/registry",
		"/registry/",
		"/registry/core",
		"/registry/core/pods",
		"/registry/core/pods/",
		"/registry/core/pods/default",
		"/registry/core/pods/default/web-0",
		"/registry//pods/default web-0",
		"/registry/core//default web-0",
		"/registry-2/core/pods/default web-0",
		"/registry/core/pods/a b/c",
		"compact_rev_key",
	};
	struct store_key key;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (etcd_key_parse(prefix, str_from(texts[i]), &key))
			fail_msg("\"%s\" was taken for an object", texts[i]);
}

static void expect_refusal(const char *resource, struct str ns, struct str name)
{
	struct store_key key = { str_from(resource), ns, name };
	struct buf out = BUF_INIT(8 * KIB);
	struct error err;

	assert_int_equal(etcd_key_make(prefix, &key, &out, &err), -ERR_INVALID);
	buf_release(&out);
}

static void pieces_that_would_be_ambiguous_are_refused(void **state UNUSED)
{
	static const char long_name[ETCD_KEY_MAX + 1];

	expect_refusal("pods", STR("a"), STR("b"));
	expect_refusal("core/", STR("a"), STR("b"));
	expect_refusal("/pods", STR("a"), STR("b"));
	expect_refusal("core/pods/x", STR("a"), STR("b"));
	expect_refusal("core/pods", STR("a b"), STR("c"));
	expect_refusal("core/pods", STR("a\n"), STR("c"));
	expect_refusal("core/pods", STR("a/b"), STR("c"));
	expect_refusal("core/pods", STR("a"), STR("b/c"));
	expect_refusal("core/pods", STR("a"), STR("b\0c"));
	expect_refusal("core/pods", STR("a"), str_of(long_name, sizeof(long_name)));
}

static void expect_range(const struct store_range *range, const char *want_from,
			 const char *want_end)
{
	struct buf from = BUF_INIT(KIB), end = BUF_INIT(KIB);

	assert_int_equal(etcd_key_range(prefix, range, &from, &end, NULL), 0);
	assert_string_equal(from.p, want_from);
	assert_string_equal(end.p, want_end);
	buf_release(&from);
	buf_release(&end);
}

static void a_range_covers_a_resource_or_one_namespace(void **state UNUSED)
{
	struct store_range all = { .resource = STR("core/pods") };
	struct store_range one = { .resource = STR("core/pods"), .ns = STR("a") };

	expect_range(&all, "/registry/core/pods/", "/registry/core/pods0");
	expect_range(&one, "/registry/core/pods/a ", "/registry/core/pods/a!");
}

static void a_range_may_begin_behind_a_key(void **state UNUSED)
{
	struct store_range range = { .resource = STR("core/pods"),
				     .ns = STR("a"),
				     .after_ns = STR("a"),
				     .after_name = STR("m") };
	struct buf from = BUF_INIT(KIB), end = BUF_INIT(KIB);

	assert_int_equal(etcd_key_range(prefix, &range, &from, &end, NULL), 0);
	assert_true(str_eq(buf_str(&from), STR("/registry/core/pods/a m\0")));
	assert_string_equal(end.p, "/registry/core/pods/a!");
	buf_release(&from);
	buf_release(&end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_sort_by_namespace_and_then_by_name),
		cmocka_unit_test(a_key_is_readable),
		cmocka_unit_test(a_key_is_read_back_as_it_was_made),
		cmocka_unit_test(keys_of_other_objects_are_not_read),
		cmocka_unit_test(pieces_that_would_be_ambiguous_are_refused),
		cmocka_unit_test(a_range_covers_a_resource_or_one_namespace),
		cmocka_unit_test(a_range_may_begin_behind_a_key),
	};

	return cmocka_run_group_tests_name("store/etcd_key", tests, NULL, NULL);
}
