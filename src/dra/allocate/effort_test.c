/*
 * The budget of selectors: an attempt ends when compiling and evaluating have used it up, and the
 * next attempt continues from the remembered results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "dra/allocate/allocate.h"
#include "dra/inventory/content.h"

static struct json *parse(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, str_from(text));
	struct error err;
	struct json *v;

	for (char *p = copy; *p; p++)
		*p = (char)(*p == '\'' ? '"' : *p);
	if (json_parse(a, str_from(copy), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, copy);
	return v;
}

/* A node with so many devices, each of which has 16 attributes in 16 domains. */
static void put_devices(struct inventory *inv, struct arena *a, int generation, int n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_printf(&b,
			 "{'metadata':{'name':'s','uid':'u','generation':%d},'spec':{'driver':"
			 "'d.example.com','nodeName':'n1','pool':{'name':'p','generation':1,"
			 "'resourceSliceCount':1},'devices':[",
			 generation);
	for (int i = 0; i < n; i++) {
		(void)buf_printf(&b, "%s{'name':'d%d','attributes':{", i ? "," : "", i);
		for (int k = 0; k < 16; k++)
			(void)buf_printf(&b, "%s'd%d.example.com/a':{'int':%d}", k ? "," : "", k,
					 k);
		(void)buf_addz(&b, "}}");
	}
	(void)buf_addz(&b, "]}}");
	(void)buf_addc(&b, '\0');
	assert_int_equal(inventory_put_slice(inv, parse(a, b.p), NULL), 0);
}

/* A claim that no device fits: each selector costs about 10,000, and the last one is false. */
static const struct json *costly_claim(struct arena *a, int selectors)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_addz(&b, "{'metadata':{'name':'c','namespace':'default','uid':'c'},'spec':"
			   "{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':"
			   "'any','allocationMode':'ExactCount','count':1,'selectors':[");
	for (int i = 0; i < selectors; i++)
		(void)buf_printf(&b,
				 "%s{'cel':{'expression':'device.attributes.all(a,device.attributes"
				 ".all(b,device.attributes.all(c,a!=b||c!=\\\"x%d\\\")))%s'}}",
				 i ? "," : "", i, i + 1 == selectors ? "&&false" : "");
	(void)buf_addz(&b, "]}}]}}}");
	(void)buf_addc(&b, '\0');
	return parse(a, b.p);
}

static int attempt(struct inventory *inv, const struct json *claim, struct allocate_effort effort,
		   struct error *err)
{
	struct allocate_options options = { .effort = &effort };
	struct allocate_node node = { .name = STR("n1") };
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, 64 * MIB);
	return allocate_on(allocate_prepare(inv, &claim, 1, &options, &a), &node, NULL, NULL, err);
}

static void compiling_takes_steps_unless_the_text_is_known(void **state)
{
	struct str pattern = STR("device.driver.matches('(a|b|c){1000}')");
	struct inventory *inv = inventory_new(inventory_defaults);
	struct inventory_compiled c;
	uint64_t steps = 10000, left;

	(void)state;
	assert_int_equal(inventory_selector(inv, STR("true"), &steps, &c, NULL), 0);
	assert_in_range(steps, 9000, 9999);
	left = steps;
	assert_int_equal(inventory_selector(inv, STR("true"), &steps, &c, NULL), 0);
	assert_int_equal(steps, left);
	/* The failure is not remembered: with more steps it compiles. */
	assert_int_equal(inventory_selector(inv, pattern, &steps, &c, NULL), -ERR_TOO_LARGE);
	assert_int_equal(steps, 0);
	steps = 100000;
	assert_int_equal(inventory_selector(inv, pattern, &steps, &c, NULL), 0);
	inventory_free(inv);
}

static void attempts_end_when_selectors_cost_too_much_and_get_further(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct allocate_effort effort = { CEL_COMPILE_MAX, 100000 };
	CLEANUP(arena_release) struct arena a;
	const struct json *claim;
	uint64_t before = 0;
	struct error err;
	int r, attempts = 0;

	(void)state;
	arena_init(&a, 64 * MIB);
	put_devices(inv, &a, 1, 4);
	assert_int_equal(inventory_put_class(inv, parse(&a, "{'metadata':{'name':'any'}}"), NULL),
			 0);
	claim = costly_claim(&a, 32);
	while ((r = attempt(inv, claim, effort, &err)) < 0) {
		struct inventory_counts now = inventory_counts(inv);

		assert_int_equal(r, -ERR_TOO_LARGE);
		assert_non_null(strstr(err.msg, "claim default/c: selector #"));
		assert_in_range(now.cost - before, 100000, 200000);
		before = now.cost;
		assert_in_range(++attempts, 1, 100);
	}
	assert_int_equal(r, 0);
	assert_in_range(attempts, 5, 100);
	/* All results are cached now: each selector was evaluated once for each device. */
	assert_int_equal(inventory_counts(inv).evaluations, 4 * 32);
	assert_int_equal(attempt(inv, claim, effort, &err), 0);
	assert_int_equal(inventory_counts(inv).evaluations, 4 * 32);
	/* Devices that changed are evaluated again. */
	put_devices(inv, &a, 2, 3);
	assert_true(attempt(inv, claim, effort, &err) < 0);
	assert_true(inventory_counts(inv).evaluations > 4 * 32);
	inventory_free(inv);
}

static void compiling_ends_an_attempt_too(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	CLEANUP(arena_release) struct arena a;
	const struct json *claim;
	struct error err;

	(void)state;
	arena_init(&a, 64 * MIB);
	put_devices(inv, &a, 1, 1);
	assert_int_equal(inventory_put_class(inv, parse(&a, "{'metadata':{'name':'any'}}"), NULL),
			 0);
	claim = costly_claim(&a, 32);
	assert_int_equal(attempt(inv, claim, (struct allocate_effort){ 20000, 10000000 }, &err),
			 -ERR_TOO_LARGE);
	assert_non_null(strstr(err.msg, "claim default/c, request r, selector #"));
	assert_int_equal(inventory_counts(inv).evaluations, 0);
	for (int i = 0; i < 10; i++)
		(void)attempt(inv, claim, (struct allocate_effort){ 20000, 10000000 }, &err);
	assert_int_equal(attempt(inv, claim, ALLOCATE_EFFORT, &err), 0);
	inventory_free(inv);
}

static void answers_are_bounded(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct inventory_node node = { .name = STR("n1") };
	struct inventory_node_pool *pools;
	CLEANUP(arena_release) struct arena a;
	const struct inventory_device *d;
	size_t bytes, known = 0;

	(void)state;
	arena_init(&a, 64 * MIB);
	put_devices(inv, &a, 1, 2);
	assert_int_equal(inventory_node_pools(inv, &node, &a, &pools), 1);
	d = &pools[0].slices[0]->devices[1];
	assert_int_equal(inventory_answer(inv, 7, d), -1);
	inventory_remember(inv, 7, d, true);
	assert_int_equal(inventory_answer(inv, 7, d), 1);
	assert_int_equal(inventory_answer(inv, 7, d - 1), -1);
	inventory_remember(inv, 7, d - 1, false);
	assert_int_equal(inventory_answer(inv, 7, d - 1), 0);
	bytes = inventory_bytes(inv);
	for (uint64_t i = 1; i <= 100000; i++) {
		inventory_remember(inv, i, d, i % 2);
		assert_int_equal(inventory_answer(inv, i, d), i % 2);
	}
	for (uint64_t i = 1; i <= 100000; i++)
		known += inventory_answer(inv, i, d) >= 0;
	assert_int_equal(known, 8192);
	assert_int_equal(inventory_bytes(inv), bytes);
	inventory_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiling_takes_steps_unless_the_text_is_known),
		cmocka_unit_test(attempts_end_when_selectors_cost_too_much_and_get_further),
		cmocka_unit_test(compiling_ends_an_attempt_too),
		cmocka_unit_test(answers_are_bounded),
	};

	return cmocka_run_group_tests_name("dra/effort", tests, NULL, NULL);
}
