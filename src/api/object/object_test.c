/* Objects from stored text: header, splice, selectors' getters, trees. */
#include "api/object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"

static const struct schema_selectable selectables[] = {
	{ .path = STR("spec.nodeName"), .initial = STR(""), .indexed = true },
	{ .path = STR("spec.hostNetwork"), .initial = STR("false") },
	{ .path = STR("spec.pool.name"), .initial = STR("") },
	{ .path = STR("why"), .storage_path = STR("reason") },
};

static const struct schema_type no_fields = { .name = STR("Thing") };

static const struct schema_kind thing = {
	.version = STR("v1"),
	.kind = STR("Thing"),
	.resource = STR("things"),
	.api_version = STR("v1"),
	.storage_name = STR("core/things"),
	.type = &no_fields,
	.selectables = selectables,
	.nselectables = ARRAY_SIZE(selectables),
	.storage = &thing,
};

static const char pod[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\",\"namespace\":"
	"\"n\","
	"\"uid\":\"u-1\",\"creationTimestamp\":\"1970-01-01T00:01:00Z\","
	"\"labels\":{\"z\":\"last\",\"app\":\"web\",\"m\":\"\"}},"
	"\"spec\":{\"skip\":[{\"nodeName\":\"no}\"}],\"nodeName\":\"n1\",\"hostNetwork\":true,"
	"\"pool\":{\"x\":1,\"name\":\"p\"}},\"reason\":\"a \\\"b\\\"\",\"status\":{}}";

static struct object *made(const char *text, int64_t revision)
{
	struct gates gates = { 0 };
	struct object *o = NULL;
	struct error err = { 0 };

	gates.on[GATE_NONE] = true;
	if (object_new(&thing, str_from(text), revision, &gates, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static void assert_str(struct str got, const char *want)
{
	if (!str_eqz(got, want))
		fail_msg("got \"%.*s\", want \"%s\"", STR_ARG(got), want);
}

static struct str field(const struct object *o, const char *path)
{
	struct object_source s = { o, &thing };

	return object_field(&s, str_from(path));
}

static struct str label(const struct object *o, const char *key)
{
	struct object_source s = { o, &thing };

	return object_label(&s, str_from(key));
}

static void the_resource_version_is_spliced_in_behind_the_uid(void **state)
{
	struct object *o = made(pod, 123);

	assert_true(str_find(bytes_str(o->json), STR("\"uid\":\"u-1\",\"resourceVersion\":\"123\","
						     "\"creationTimestamp\"")) > 0);
	assert_null(o->stored);
	assert_str(str_of(o->json->data + o->rv_at, o->rv_n), ",\"resourceVersion\":\"123\"");
	object_unref(o);
}

static void the_text_less_its_member_is_what_was_stored(void **state)
{
	static const char *const texts[] = {
		pod,
		"{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"}}",
		"{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\",\"uid\":"
		"\"1\"}}",
		"{\"metadata\":{\"uid\":\"1\",\"name\":\"a\"},\"spec\":{}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct object *o = made(texts[i], 7);
		char *less = str_dup(bytes_str(o->json));

		memmove(less + o->rv_at, less + o->rv_at + o->rv_n,
			o->json->n - o->rv_at - o->rv_n + 1);
		assert_string_equal(less, texts[i]);
		free(less);
		object_unref(o);
	}
}

static void the_header_has_what_selectors_need(void **state)
{
	struct object *o = made(pod, 5);

	assert_str(o->key, "n/a");
	assert_str(object_ns(o), "n");
	assert_str(object_name(o), "a");
	assert_str(o->uid, "u-1");
	assert_int_equal(o->created_s, 60);
	assert_int_equal(o->revision, 5);
	assert_false(o->deleting);
	assert_str(field(o, "metadata.name"), "a");
	assert_str(field(o, "spec.nodeName"), "n1");
	assert_str(field(o, "spec.hostNetwork"), "true");
	assert_str(field(o, "spec.pool.name"), "p");
	assert_str(field(o, "why"), "a \"b\"");
	assert_null(field(o, "spec.other").p);
	object_unref(o);
}

static void labels_are_found_whatever_their_order_in_the_text(void **state)
{
	struct object *o = made(pod, 5);

	assert_int_equal(o->nlabels, 3);
	assert_str(label(o, "app"), "web");
	assert_str(label(o, "z"), "last");
	assert_non_null(label(o, "m").p);
	assert_int_equal(label(o, "m").n, 0);
	assert_null(label(o, "zz").p);
	assert_null(label(o, "").p);
	object_unref(o);
}

static void assert_source(const char *text, const char *want)
{
	const struct schema_kind *core = schema_find_kind(STR("v1"), STR("Event"));
	struct gates gates = { 0 };
	struct object_source s = { .kind = core };
	struct object *o = NULL;

	gates.on[GATE_NONE] = true;
	assert_int_equal(object_new(core, str_from(text), 1, &gates, &o, NULL), 0);
	s.object = o;
	assert_str(object_field(&s, STR("source")), want);
	object_unref(o);
}

/* An event that was written through events.k8s.io has no source. */
static void the_source_of_an_event_may_be_its_reporter(void **state UNUSED)
{
	assert_source("{\"metadata\":{\"name\":\"a\"},\"source\":{\"component\":\"kubelet\"},"
		      "\"reportingComponent\":\"other\"}",
		      "kubelet");
	assert_source("{\"metadata\":{\"name\":\"a\"},\"source\":{},\"reportingComponent\":"
		      "\"example.com/c\"}",
		      "example.com/c");
	assert_source("{\"metadata\":{\"name\":\"a\"}}", "");
}

static void an_absent_field_has_the_value_that_absence_means(void **state)
{
	struct object *o = made("{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":null}}", 1);

	assert_str(field(o, "spec.hostNetwork"), "false");
	assert_non_null(field(o, "spec.nodeName").p);
	assert_int_equal(field(o, "spec.nodeName").n, 0);
	assert_str(o->key, "a");
	assert_int_equal(object_ns(o).n, 0);
	object_unref(o);
}

static void a_deletion_timestamp_marks_it(void **state)
{
	struct object *o = made("{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":"
				"\"2026-01-01T00:00:00Z\"}}",
				1);

	assert_true(o->deleting);
	object_unref(o);
}

static void assert_item(const struct object *o, const char *begin)
{
	struct slice item = object_item(o);

	assert_int_equal(item.n, object_item_size(o));
	assert_true(str_starts(str_of(item.p, item.n), str_from(begin)));
	assert_ptr_equal(item.p + item.n, o->json->data + o->json->n);
	slice_release(&item);
}

/* Unless its kind is not the list's: only the item can say so. */
static void an_item_of_a_list_has_no_kind(void **state)
{
	static const char *const texts[][2] = {
		{ pod, "\"metadata\":{\"name\":\"a\"," },
		{ "{\"apiVersion\":\"v1\",\"kind\":\"Thing2\",\"metadata\":{\"name\":\"a\"}}",
		  "\"apiVersion\":\"v1\",\"kind\":\"Thing2\",\"metadata\":" },
		{ "{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},\"kind\":\"Thing\"}",
		  "\"apiVersion\":\"v1\",\"metadata\":" },
		{ "{\"metadata\":{\"name\":\"a\"}}", "\"metadata\":{\"resourceVersion\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct object *o = made(texts[i][0], 9);

		assert_item(o, texts[i][1]);
		object_unref(o);
	}
}

static void another_revision_keeps_everything_else(void **state)
{
	struct object *o = made(pod, 9), *later = object_at(o, 123456);

	object_unref(o);
	assert_int_equal(later->revision, 123456);
	assert_str(str_of(later->json->data + later->rv_at, later->rv_n),
		   ",\"resourceVersion\":\"123456\"");
	assert_str(later->uid, "u-1");
	assert_str(label(later, "app"), "web");
	assert_str(object_from_status(later), "{}}");
	assert_str(field(later, "spec.nodeName"), "n1");
	assert_str(field(later, "why"), "a \"b\"");
	assert_str(later->key, "n/a");
	assert_item(later, "\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",");
	object_unref(later);
}

static void damaged_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"metadata\":{}}",
		"{\"metadata\":{\"name\":\"a\"}",
		"{\"metadata\":{\"name\":\"a",
		"{\"metadata\":{\"name\":\"a\"}}x",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":",
		"{\"metadata\":1}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\"}}",
	};
	struct gates gates = { 0 };

	gates.on[GATE_NONE] = true;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct object *o = NULL;
		struct error err;

		assert_int_equal(object_new(&thing, str_from(texts[i]), 1, &gates, &o, &err),
				 -ERR_INTERNAL);
		assert_null(o);
	}
}

static void text_cut_anywhere_is_refused(void **state)
{
	struct gates gates = { 0 };

	gates.on[GATE_NONE] = true;
	for (size_t n = 0; n < sizeof(pod) - 1; n++) {
		char *cut = str_dup(str_of(pod, n));
		struct object *o = NULL;

		assert_int_equal(object_new(&thing, str_of(cut, n), 1, &gates, &o, NULL),
				 -ERR_INTERNAL);
		free(cut);
	}
}

static void a_tree_is_encoded_in_order_and_without_its_resource_version(void **state)
{
	static const char text[] = "{\"spec\":{\"b\":1},\"metadata\":{\"resourceVersion\":\"4\","
				   "\"name\":\"a\"},\"kind\":\"Thing\",\"status\":{},"
				   "\"apiVersion\":\"v1\"}";
	struct bytes *stored = NULL;
	struct arena a;
	struct json *tree;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &tree, NULL), 0);
	assert_int_equal(object_encode(tree, &stored, NULL), 0);
	assert_str(bytes_str(stored), "{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":"
				      "{\"name\":\"a\"},\"spec\":{\"b\":1},\"status\":{}}");
	bytes_unref(stored);
	arena_release(&a);
}

static void an_object_that_is_too_large_is_not_encoded(void **state)
{
	struct bytes *stored = NULL;
	struct json *tree;
	struct arena a;
	char *text = calloc(1, OBJECT_MAX + 1);

	memset(text, 'x', OBJECT_MAX);
	arena_init(&a, MIB);
	tree = json_make_object(&a);
	json_put_str(&a, tree, "data", str_from(text));
	assert_int_equal(object_encode(tree, &stored, NULL), -ERR_TOO_LARGE);
	arena_release(&a);
	free(text);
}

static void its_tree_has_the_resource_version_and_outlives_it(void **state)
{
	struct object *o = made(pod, 42);
	struct json *tree = NULL;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(object_tree(o, &a, &tree, NULL), 0);
	object_unref(o);
	assert_str(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))), "42");
	assert_str(json_str(json_pointer(tree, STR("/spec/nodeName"))), "n1");
	arena_release(&a);
}

static void its_header_is_small(void **state)
{
	assert_true(sizeof(struct object) <= 120);
}

static const struct schema_kind claim = {
	.group = STR("resource.k8s.io"),
	.version = STR("v1"),
	.kind = STR("ResourceClaim"),
	.storage_name = STR("resource.k8s.io/resourceclaims"),
	.flags = SCHEMA_NETWORK_NAMES,
	.type = &no_fields,
	.storage = &claim,
};

static void network_data_is_served_under_both_names(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":"
		"{\"name\":\"c\",\"uid\":\"1\"},\"status\":{\"devices\":[{\"networkData\":{\"ips\":"
		"[\"10.0.0.1/8\"],\"hardwareAddress\":\"aa\"}}]}}";
	struct gates gates = { 0 };
	struct object *o = NULL;
	struct json *tree;
	struct arena a;

	gates.on[GATE_NONE] = true;
	arena_init(&a, MIB);
	assert_int_equal(object_new(&claim, str_from(text), 3, &gates, &o, NULL), 0);
	assert_str(bytes_str(o->stored), text);
	assert_true(str_find(bytes_str(o->json), STR("\"addresses\":[\"10.0.0.1/8\"]")) > 0);
	assert_true(str_find(bytes_str(o->json), STR("\"hwAddress\":\"aa\"")) > 0);
	assert_int_equal(object_tree(o, &a, &tree, NULL), 0);
	assert_null(json_pointer(tree, STR("/status/devices/0/networkData/addresses")));
	assert_str(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))), "3");
	arena_release(&a);
	object_unref(o);
}

static void an_object_of_an_older_release_is_read_as_the_current_version(void **state)
{
	const struct schema_kind *kind = schema_find_kind(STR("resource.k8s.io/v1"),
							  STR("ResourceSlice"));
	const char *text =
		"{\"apiVersion\":\"resource.k8s.io/v1beta1\",\"kind\":\"ResourceSlice\","
		"\"metadata\":{\"name\":\"s\",\"uid\":\"u\"},\"spec\":{\"nodeName\":\"n\","
		"\"devices\":[{\"name\":\"d\",\"basic\":{\"taints\":[]}}]}}";
	CLEANUP(arena_release) struct arena a;
	CLEANUP(bytes_unref) struct bytes *now = NULL;
	struct object *o = NULL, *again = NULL;
	struct gates gates;
	struct json *tree;

	arena_init(&a, MIB);
	gates_init(&gates);
	assert_int_equal(object_new(kind, str_from(text), 7, &gates, &o, NULL), 0);
	assert_true(object_is_stale(o, kind));
	assert_true(str_find(bytes_str(o->json), STR("\"resource.k8s.io/v1\"")) > 0);
	assert_true(str_find(bytes_str(o->json), STR("{\"name\":\"d\",\"taints\":[]}")) > 0);
	assert_int_equal(object_tree(o, &a, &tree, NULL), 0);
	assert_str(json_text_at(tree, "apiVersion"), "resource.k8s.io/v1");
	assert_null(json_pointer(tree, STR("/spec/devices/0/basic")));
	assert_int_equal(object_encode(tree, &now, NULL), 0);
	assert_int_equal(object_new(kind, bytes_str(now), 8, &gates, &again, NULL), 0);
	assert_false(object_is_stale(again, kind));
	assert_null(again->stored);
	object_unref(o);
	object_unref(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_resource_version_is_spliced_in_behind_the_uid),
		cmocka_unit_test(the_text_less_its_member_is_what_was_stored),
		cmocka_unit_test(the_header_has_what_selectors_need),
		cmocka_unit_test(labels_are_found_whatever_their_order_in_the_text),
		cmocka_unit_test(the_source_of_an_event_may_be_its_reporter),
		cmocka_unit_test(an_absent_field_has_the_value_that_absence_means),
		cmocka_unit_test(a_deletion_timestamp_marks_it),
		cmocka_unit_test(an_item_of_a_list_has_no_kind),
		cmocka_unit_test(another_revision_keeps_everything_else),
		cmocka_unit_test(damaged_text_is_refused),
		cmocka_unit_test(text_cut_anywhere_is_refused),
		cmocka_unit_test(a_tree_is_encoded_in_order_and_without_its_resource_version),
		cmocka_unit_test(an_object_that_is_too_large_is_not_encoded),
		cmocka_unit_test(its_tree_has_the_resource_version_and_outlives_it),
		cmocka_unit_test(its_header_is_small),
		cmocka_unit_test(network_data_is_served_under_both_names),
		cmocka_unit_test(an_object_of_an_older_release_is_read_as_the_current_version),
	};

	return cmocka_run_group_tests_name("api/object", tests, NULL, NULL);
}
