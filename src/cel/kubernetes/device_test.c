/* Selectors of devices: what they see, what they may yield, and what goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cel/kubernetes/device.h"

#define DRIVER "gpu.example.com"

static const char gpu[] =
	"{\"name\":\"gpu-0\",\"allowMultipleAllocations\":true,\"attributes\":{"
	"\"model\":{\"string\":\"a100\"},\"index\":{\"int\":3},\"ecc\":{\"bool\":true},"
	"\"driverVersion\":{\"version\":\"1.2.3\"},\"other.example.com/numa\":{\"int\":1},"
	"\"other.example.com/tags\":{\"strings\":[\"a\",\"b\"]},"
	"\"z.example.com/same\":{\"int\":7},\"a.example.com/same\":{\"int\":8},"
	"\"gpu.example.com/twice\":{\"int\":1},\"twice\":{\"int\":2}},"
	"\"capacity\":{\"memory\":{\"value\":\"40Gi\"},\"other.example.com/"
	"lanes\":{\"value\":\"16\"}}}";

static const struct cel_device_features all = { .consumable_capacity = true,
						.list_attributes = true };
static const struct cel_device_features plain = { .consumable_capacity = true };

struct fixture {
	struct arena arena;
	struct cel_device device;
};

static int set_up(void **state)
{
	static struct fixture f;
	struct json *tree;
	struct error err = { 0 };

	arena_init(&f.arena, 64 * MIB);
	if (json_parse(&f.arena, str_from(gpu), NULL, &tree, &err) < 0 ||
	    cel_device_read(tree, STR(DRIVER), &f.arena, &f.device, &err) < 0) {
		print_error("%s\n", err.msg);
		return -1;
	}
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	return 0;
}

/* The selector's answer as text: "true", "false", "issue: ..", "error: ..". */
static const char *answer(struct fixture *f, struct cel_device_features features, const char *text,
			  uint64_t *ret_cost)
{
	struct cel_eval ev = { .scratch = &f->arena };
	struct error err = { 0 };
	struct cel_issues issues;
	const struct cel_program *p;
	struct buf out = BUF_INIT(MIB);
	char *copy;
	int r;

	cel_issues_init(&issues, &f->arena, str_from(text));
	p = cel_device_compile(features, str_from(text), NULL, &f->arena, &issues);
	if (!p) {
		cel_issues_print(&issues, &out);
		copy = arena_printf(&f->arena, "issue: %.*s", STR_ARG(buf_str(&out)));
		buf_release(&out);
		return copy;
	}
	assert_int_equal(issues.n, 0);
	r = cel_device_matches(p, &ev, &f->device, &err);
	if (ret_cost)
		*ret_cost = ev.cost;
	if (r < 0)
		return arena_printf(&f->arena, "error: %s", err.msg);
	return r ? "true" : "false";
}

static void selectors_see_the_device(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "device.driver == '" DRIVER "'", "true" },
		{ "device.allowMultipleAllocations", "true" },
		{ "device.attributes['" DRIVER "'].model == 'a100'", "true" },
		{ "device.attributes['" DRIVER "'].model != 'a100'", "false" },
		{ "device.attributes['" DRIVER "'].index == 3", "true" },
		{ "device.attributes['" DRIVER "'].index > 3", "false" },
		{ "device.attributes['" DRIVER "'].ecc", "true" },
		{ "device.attributes['" DRIVER "'].driverVersion.isGreaterThan(semver('1.2.0'))",
		  "true" },
		{ "device.attributes['other.example.com'].numa == 1", "true" },
		{ "device.attributes['a.example.com'].same == 8", "true" },
		{ "device.attributes['z.example.com'].same == 7", "true" },
		{ "device.capacity['" DRIVER "'].memory == quantity('40960Mi')", "true" },
		{ "device.capacity['" DRIVER "'].memory.compareTo(quantity('41Gi')) < 0", "true" },
		{ "device.capacity['other.example.com'].lanes.asInteger() == 16", "true" },
		/* With and without the driver's domain: the former wins. */
		{ "device.attributes['" DRIVER "'].twice == 1", "true" },
		/* Domains that are not there: found by selecting, not by `in`. */
		{ "device.attributes['none'].size() == 0", "true" },
		{ "has(device.attributes.none)", "true" },
		{ "'none' in device.attributes", "false" },
		{ "'" DRIVER "' in device.attributes", "true" },
		{ "'none' in device.capacity", "false" },
		{ "device.attributes['none'] == {}", "true" },
		{ "has(device.attributes['" DRIVER "'].model)", "true" },
		{ "has(device.attributes['" DRIVER "'].none)", "false" },
		{ "'model' in device.attributes['" DRIVER "']", "true" },
		{ "'none' in device.attributes['" DRIVER "']", "false" },
		{ "device.attributes['" DRIVER "'].?none.orValue(5) == 5", "true" },
		/* Maps as wholes. */
		{ "device.attributes.size() == 4", "true" },
		{ "device.capacity.size() == 2", "true" },
		{ "device.attributes['other.example.com'].size() == 2", "true" },
		{ "device.attributes.exists(d, d == 'z.example.com')", "true" },
		{ "device.attributes.all(d, d.endsWith('example.com'))", "true" },
		{ "device.attributes['a.example.com'].all(k, k == 'same')", "true" },
		{ "device.attributes['a.example.com'] == {'same': 8}", "true" },
		{ "dyn(device).size() == 4", "true" },
		{ "type(device) == map", "true" },
		{ "cel.bind(g, device.attributes['" DRIVER "'], g.model == 'a100' && g.index == 3)",
		  "true" },
		/* Lists. */
		{ "device.attributes['other.example.com'].tags.exists(t, t == 'b')", "true" },
		{ "'c' in device.attributes['other.example.com'].tags", "false" },
		{ "device.attributes['other.example.com'].tags.size() == 2", "true" },
		{ "device.attributes['other.example.com'].tags[0] == 'a'", "true" },
	};
	struct fixture *f = *state;
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = answer(f, all, cases[i].text, NULL);

		if (strcmp(got, cases[i].expected) == 0)
			continue;
		print_error("%s\n  expected %s\n  got %s\n", cases[i].text, cases[i].expected, got);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void faults_are_told_in_upstreams_words(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "device.attributes['" DRIVER "'].none", "error: no such key: none" },
		{ "device.attributes['none'].none", "error: no such key: none" },
		{ "device.attributes['" DRIVER "'].index",
		  "error: CEL result of type int could not be converted to bool: unsupported type "
		  "conversion from 'int' to bool" },
		{ "device.attributes['" DRIVER "'].model",
		  "error: CEL result of type string could not be converted to bool: unsupported "
		  "native conversion from string to 'bool'" },
		{ "device.attributes['" DRIVER "'].driverVersion",
		  "error: CEL result of type kubernetes.Semver could not be converted to bool: "
		  "type "
		  "conversion error from 'Semver' to 'bool'" },
		{ "1", "must evaluate to bool or the unknown type, not int" },
		{ "device.driver", "must evaluate to bool or the unknown type, not string" },
		{ "device.capacity['x'].y",
		  "must evaluate to bool or the unknown type, not kubernetes.Quantity" },
		{ "dyn(true)", "must evaluate to bool or the unknown type, not dyn" },
		{ "device.none", "undefined field 'none'" },
		{ "device.attributes[1] == {}", "found no matching overload for '_[_]'" },
		{ "other", "undeclared reference to 'other'" },
		{ "device.driver ==", "ERROR: <input>:1:" },
	};
	struct fixture *f = *state;
	int failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = answer(f, plain, cases[i].text, NULL);

		if (strstr(got, cases[i].expected))
			continue;
		print_error("%s\n  expected %s\n  got %s\n", cases[i].text, cases[i].expected, got);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void fields_follow_the_features(void **state)
{
	struct fixture *f = *state;
	struct cel_device_features none = { 0 };

	assert_string_equal(answer(f, plain, "device.allowMultipleAllocations", NULL), "true");
	assert_non_null(strstr(answer(f, none, "device.allowMultipleAllocations", NULL),
			       "undefined field 'allowMultipleAllocations'"));
	/* Nothing can range over `any`. */
	assert_non_null(
		strstr(answer(f, plain, "device.attributes['x'].y.exists(e, e)", NULL), "issue: "));
	assert_string_equal(answer(f, all, "dyn(true)", NULL), "true");
}

static void an_evaluation_costs_what_upstream_counts(void **state)
{
	struct fixture *f = *state;
	uint64_t cost = 0;

	(void)answer(f, plain,
		     "device.attributes['" DRIVER
		     "'].index == 3 && device.allowMultipleAllocations",
		     &cost);
	assert_int_equal(cost, 7);
	(void)answer(f, plain, "'none' in device.attributes", &cost);
	assert_int_equal(cost, 3);
}

static void an_expensive_selector_is_stopped(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(answer(f, plain,
				   "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, "
				   "[1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, "
				   "[1,2,3,4,5,6,7,8,9,10].all(e, a + b + c + d + e > 0)))))",
				   NULL),
			    "error: operation cancelled: actual cost limit exceeded");
}

static void no_memory_is_taken_for_domains_and_attributes(void **state)
{
	static const char text[] = "device.attributes['" DRIVER "'].model == 'a100' && "
				   "device.attributes['" DRIVER "'].index == 3";
	struct fixture *f = *state;
	struct cel_issues issues;
	const struct cel_program *p;
	struct arena scratch;
	struct cel_eval ev = { .scratch = &scratch };
	char block[256];

	cel_issues_init(&issues, &f->arena, str_from(text));
	p = cel_device_compile(plain, str_from(text), NULL, &f->arena, &issues);
	assert_non_null(p);
	arena_init_in(&scratch, 0, block, sizeof(block));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(cel_device_matches(p, &ev, &f->device, NULL), 1);
	assert_int_equal(scratch.used, 0);
	assert_ptr_equal(scratch.at, block);
	arena_release(&scratch);
}

static void attributes_are_found_by_name(void **state)
{
	struct fixture *f = *state;
	const struct cel_value *v = cel_device_attribute(&f->device, STR(DRIVER), STR("index"));

	assert_non_null(v);
	assert_int_equal(v->i, 3);
	assert_null(cel_device_attribute(&f->device, STR("other.example.com"), STR("index")));
	assert_null(cel_device_attribute(&f->device, STR(DRIVER), STR("none")));
}

static void a_device_that_validation_rejects_is_not_read(void **state)
{
	static const char *const bad[] = {
		"{\"attributes\":{\"a\":{}}}",
		"{\"attributes\":{\"a\":{\"int\":\"1\"}}}",
		"{\"attributes\":{\"a\":{\"bool\":1}}}",
		"{\"attributes\":{\"a\":{\"string\":1}}}",
		"{\"attributes\":{\"a\":{\"version\":\"v1\"}}}",
		"{\"attributes\":{\"a\":{\"version\":1}}}",
		"{\"attributes\":{\"a\":{\"ints\":1}}}",
		"{\"attributes\":{\"a\":{\"ints\":[true]}}}",
		"{\"capacity\":{\"a\":{}}}",
		"{\"capacity\":{\"a\":{\"value\":\"x\"}}}",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cel_device d;
		struct json *tree;

		assert_int_equal(json_parse(&f->arena, str_from(bad[i]), NULL, &tree, NULL), 0);
		if (cel_device_read(tree, STR(DRIVER), &f->arena, &d, NULL) != -ERR_INVALID)
			fail_msg("%s was read", bad[i]);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(selectors_see_the_device),
		TEST(faults_are_told_in_upstreams_words),
		TEST(fields_follow_the_features),
		TEST(an_evaluation_costs_what_upstream_counts),
		TEST(an_expensive_selector_is_stopped),
		TEST(no_memory_is_taken_for_domains_and_attributes),
		TEST(attributes_are_found_by_name),
		TEST(a_device_that_validation_rejects_is_not_read),
	};

	return cmocka_run_group_tests_name("cel/device", tests, NULL, NULL);
}
