/*
 * Objects as text, reading their fields, and the cache with its indexes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/json/json.h"
#include "client/informer/cache.h"

#define ASSERT_STR(s, z) assert_true(str_eqz(s, z))

static struct cached *make(const char *text)
{
	struct cached *o = NULL;
	struct error err;

	if (cached_new(str_from(text), NULL, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

/* --- objects ---------------------------------------------------------------------------- */

static void the_header_is_read_from_any_layout(void **state UNUSED)
{
	static const char *const texts[] = {
		"{\"metadata\":{\"name\":\"n\",\"namespace\":\"s\",\"uid\":\"u\","
		"\"resourceVersion\":\"7\"}}",
		"{ \"kind\" : \"A\",\n \"x\":[{\"metadata\":{\"name\":\"no\"}}], \"metadata\" : { "
		"\"resourceVersion\" : \"7\" , \"uid\":\"u\", \"namespace\":\"s\", \"name\" : "
		"\"n\" } }",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct cached *o = make(texts[i]);

		ASSERT_STR(o->key, "s/n");
		ASSERT_STR(cached_ns(o), "s");
		ASSERT_STR(cached_name(o), "n");
		ASSERT_STR(o->uid, "u");
		ASSERT_STR(o->resource_version, "7");
		assert_int_equal(o->revision, 7);
		assert_false(o->deleting);
		assert_string_equal(o->json.p, texts[i]);
		cached_unref(o);
	}
}

static void names_may_have_escapes(void **state UNUSED)
{
	struct cached *o = make("{\"metadata\":{\"name\":\"a\\u0026b\",\"deletionTimestamp\":\"x\","
				"\"resourceVersion\":\"opaque\"}}");

	ASSERT_STR(o->key, "a&b");
	assert_int_equal(cached_ns(o).n, 0);
	assert_int_equal(o->revision, 0);
	assert_true(o->deleting);
	cached_unref(o);
}

static void an_invalid_object_is_rejected(void **state UNUSED)
{
	static const char *const bad[] = { "",
					   "[]",
					   "{",
					   "{}",
					   "{\"metadata\":5}",
					   "{\"metadata\":{}}",
					   "{\"metadata\":{\"name\":\"\"}}",
					   "{\"metadata\":{\"name\":\"a\"}",
					   "{\"metadata\":{\"name\":5}}",
					   "{\"metadata\":{\"name\":\"a}}",
					   "{\"metadata\":{\"name\":\"a\"},\"x\":}",
					   "null" };
	struct cached *o;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (cached_new(str_from(bad[i]), NULL, &o, &err) != -ERR_PROTOCOL)
			fail_msg("%s was taken", bad[i]);
}

static void managed_fields_can_be_left_out(void **state UNUSED)
{
	static const char *const cases[][2] = {
		{ "{\"metadata\":{\"name\":\"n\",\"managedFields\":[{\"a\":\"]\"}],\"uid\":\"u\"}}",
		  "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}}" },
		{ "{\"metadata\":{\"managedFields\":[],\"name\":\"n\"}}",
		  "{\"metadata\":{\"name\":\"n\"}}" },
		{ "{\"metadata\":{\"name\":\"n\",\"managedFields\":[]}}",
		  "{\"metadata\":{\"name\":\"n\"}}" },
		{ "{\"metadata\":{\"name\":\"n\"},\"managedFields\":1}",
		  "{\"metadata\":{\"name\":\"n\"},\"managedFields\":1}" },
	};
	struct cached_defaults d = { .slim = true };
	struct cached *o;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cached_new(str_from(cases[i][0]), &d, &o, NULL), 0);
		assert_string_equal(o->json.p, cases[i][1]);
		cached_unref(o);
	}
}

static void what_follows_an_object_is_not_copied(void **state UNUSED)
{
	struct cached *o;

	assert_int_equal(cached_new(STR("{\"metadata\":{\"name\":\"n\"}}}"), NULL, &o, NULL), 0);
	assert_string_equal(o->json.p, "{\"metadata\":{\"name\":\"n\"}}");
	cached_unref(o);
}

static void the_controller_is_known_without_a_tree(void **state UNUSED)
{
#define OTHER "{\"uid\":\"o\",\"controller\":false}"
	static const struct {
		const char *owners, *kind, *name, *uid;
	} cases[] = {
		{ "[" OTHER ",{\"controller\":true,\"kind\":\"K\",\"name\":\"n\",\"uid\":\"u\"}]",
		  "K", "n", "u" },
		{ "[{\"controller\":true,\"uid\":\"\\u0041b\"}]", "", "", "Ab" },
		{ "[" OTHER "]", "", "", "" },
		{ "null", "", "", "" },
	};
	struct cached_defaults d = { .kind = STR("Pod"), .api_version = STR("v1"), .slim = true };
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = arena_printf(&a,
						"{\"metadata\":{\"managedFields\":[{}],\"name\":"
						"\"n\",\"ownerReferences\":%s}}",
						cases[i].owners);
		struct cached_controller c;
		struct cached *o;

		assert_int_equal(cached_new(str_from(text), &d, &o, NULL), 0);
		c = cached_controller(o, &a);
		ASSERT_STR(c.kind, cases[i].kind);
		ASSERT_STR(c.name, cases[i].name);
		ASSERT_STR(c.uid, cases[i].uid);
		cached_unref(o);
	}
	arena_release(&a);
}

static void items_of_lists_get_their_kind(void **state UNUSED)
{
	struct cached_defaults d = { .kind = STR("Pod"), .api_version = STR("v1"), .slim = true };
	struct cached *o;

	assert_int_equal(cached_new(STR(" {\"metadata\":{\"name\":\"n\",\"managedFields\":[]}}"),
				    &d, &o, NULL),
			 0);
	assert_true(str_find(o->json, STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
					  "\"name\":\"n\"}}")) >= 0);
	cached_unref(o);
	assert_int_equal(
		cached_new(STR("{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"}}"), &d, &o, NULL), 0);
	assert_string_equal(o->json.p, "{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"}}");
	cached_unref(o);
}

static void fields_are_found_without_a_tree(void **state UNUSED)
{
	struct cached *o = make(
		"{\"metadata\":{\"name\":\"n\",\"labels\":{\"a.b/c\":\"d\",\"e\":\"\\u0041\"},"
		"\"annotations\":{\"x\":\"y\"}},\"spec\":{\"n\":null,\"i\":5,\"s\":\"t\",\"o\":{"
		"\"p\":[1,2]}}}");
	struct arena a;
	struct json *tree;

	arena_init(&a, MIB);
	ASSERT_STR(cached_field(o, "spec.s", NULL), "t");
	ASSERT_STR(cached_field(o, "spec.i", NULL), "5");
	ASSERT_STR(cached_field(o, "spec.o.p", NULL), "[1,2]");
	assert_null(cached_field(o, "spec.n", NULL).p);
	assert_null(cached_field(o, "spec.s.t", NULL).p);
	assert_null(cached_field(o, "status", NULL).p);
	ASSERT_STR(cached_label(o, STR("a.b/c"), NULL), "d");
	ASSERT_STR(cached_label(o, STR("e"), &a), "A");
	assert_null(cached_label(o, STR("e"), NULL).p);
	ASSERT_STR(cached_labels_get(&(struct cached_labels){ o, &a }, STR("e")), "A");
	assert_null(cached_labels_get(&(struct cached_labels){ o, NULL }, STR("e")).p);
	ASSERT_STR(cached_annotation(o, STR("x"), NULL), "y");
	assert_int_equal(cached_tree_held(o, &a, &tree, NULL), 0);
	cached_unref(o);
	ASSERT_STR(json_str(json_pointer(tree, STR("/spec/s"))), "t");
	arena_release(&a);
}

/* --- the cache ---------------------------------------------------------------------------- */

static struct cached *pod(const char *ns, const char *name, const char *node, const char *owners)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"ownerReferences\":[%s]},"
		"\"spec\":{\"nodeName\":\"%s\"}}",
		name, ns, owners, node);
	return make(text);
}

static void versions_are_compared_field_by_field(void **state UNUSED)
{
	static const char *const paths[] = { "spec.a", "spec.none", "spec.b" };
	struct cached *x = make("{\"metadata\":{\"name\":\"n\"},\"spec\":{\"a\":1,\"b\":[2]}}");
	struct cached *y = make("{\"metadata\":{\"name\":\"n\"},\"spec\":{\"b\":[3],\"a\":1}}");

	assert_true(cached_same_field(x, y, "spec.a"));
	assert_true(cached_same_field(x, y, "spec.none"));
	assert_false(cached_same_field(x, y, "spec.b"));
	assert_true(cached_same_fields(x, y, paths, 2));
	assert_false(cached_same_fields(x, y, paths, 3));
	cached_unref(x);
	cached_unref(y);
}

static void keys_are_ordered_and_namespaces_are_ranges(void **state UNUSED)
{
	static const char *const spaces[] = { "a", "a-b", "a.c", "a0", "b" };
	struct cache c;
	size_t n;

	cache_init(&c);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		assert_null(cache_put(&c, pod(spaces[i], "x", "", "")));
		assert_null(cache_put(&c, pod(spaces[i], "y", "", "")));
	}
	assert_int_equal(cache_count(&c), 10);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct cache_walk w = { 0 };

		for (n = 0; cache_next_in(&c, str_from(spaces[i]), &w); n++)
			;
		assert_int_equal(n, 2);
		assert_non_null(cache_get_in(&c, str_from(spaces[i]), STR("x")));
	}
	assert_null(cache_get_in(&c, STR("a"), STR("z")));
	assert_null(cache_get_in(&c, STR("a"), str_of("x\0z", 3)));
	assert_null(cache_get_in(&c, str_of("a\0z", 3), STR("x")));
	assert_null(cache_get(&c, STR("a")));
	cache_release(&c);
}

static size_t count_by(const struct cache *c, const char *index, const char *value)
{
	struct cache_walk w = { 0 };
	size_t n = 0;

	while (cache_next_by(c, index, str_from(value), &w))
		n++;
	return n;
}

static void indexes_follow_every_change(void **state UNUSED)
{
	static const struct cache_index by_node = { .name = "node", .path = "spec.nodeName" };
	static const struct cache_index by_owner = { .name = "owner", .fn = cache_index_owner_uid };
	struct cache c;

	cache_init(&c);
	assert_null(cache_put(
		&c, pod("s", "a", "n1", "{\"uid\":\"u1\"},{\"kind\":\"x\",\"uid\":\"u2\"}")));
	cache_add_index(&c, &by_node);
	assert_null(cache_put(&c, pod("s", "b", "n1", "{\"uid\":\"u1\"},{\"uid\":\"u1\"}")));
	cache_add_index(&c, &by_owner);
	assert_null(cache_put(&c, pod("s", "c", "", "")));
	assert_int_equal(count_by(&c, "node", "n1"), 2);
	assert_int_equal(count_by(&c, "node", ""), 0);
	assert_int_equal(count_by(&c, "owner", "u1"), 2);
	assert_int_equal(count_by(&c, "owner", "u2"), 1);
	assert_int_equal(count_by(&c, "owner", "u"), 0);
	assert_int_equal(count_by(&c, "none", "u"), 0);
	cached_unref(cache_put(&c, pod("s", "a", "n2", "{\"uid\":\"u2\"}")));
	assert_int_equal(count_by(&c, "node", "n1"), 1);
	assert_int_equal(count_by(&c, "node", "n2"), 1);
	assert_int_equal(count_by(&c, "owner", "u1"), 1);
	cached_unref(cache_remove(&c, STR("s/b")));
	assert_null(cache_remove(&c, STR("s/b")));
	assert_int_equal(count_by(&c, "node", "n1"), 0);
	assert_int_equal(count_by(&c, "owner", "u1"), 0);
	assert_true(cache_has_index(&c, "node"));
	assert_false(cache_has_index(&c, "none"));
	cache_release(&c);
}

static void a_walk_survives_changes(void **state UNUSED)
{
	struct cache_walk w = { 0 }, other = { 0 };
	struct cached *o;
	struct cache c;
	unsigned n = 0;

	cache_init(&c);
	for (char name[2] = "a"; name[0] <= 'z'; name[0]++)
		assert_null(cache_put(&c, pod("s", name, "", "")));
	while ((o = cache_next(&c, &w))) {
		cached_unref(cache_remove(&c, o->key));
		n++;
	}
	assert_int_equal(n, 26);
	assert_null(cache_next(&c, &w));
	assert_int_equal(cache_count(&c), 0);
	assert_int_equal(c.bytes, 0);
	assert_null(cache_put(&c, pod("s", "a", "", "")));
	assert_non_null(cache_next(&c, &other));
	cache_walk_end(&other);
	cache_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_is_read_from_any_layout),
		cmocka_unit_test(names_may_have_escapes),
		cmocka_unit_test(an_invalid_object_is_rejected),
		cmocka_unit_test(managed_fields_can_be_left_out),
		cmocka_unit_test(what_follows_an_object_is_not_copied),
		cmocka_unit_test(the_controller_is_known_without_a_tree),
		cmocka_unit_test(items_of_lists_get_their_kind),
		cmocka_unit_test(fields_are_found_without_a_tree),
		cmocka_unit_test(versions_are_compared_field_by_field),
		cmocka_unit_test(keys_are_ordered_and_namespaces_are_ranges),
		cmocka_unit_test(indexes_follow_every_change),
		cmocka_unit_test(a_walk_survives_changes),
	};

	return cmocka_run_group_tests_name("client/cache", tests, NULL, NULL);
}
