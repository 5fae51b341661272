#include "server/flow/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/core/random.h"

enum { ITEMS = 4096 };

struct request {
	struct flow_item item;
	size_t level;
	char flow[16];
};

static bool any(void *arg, size_t level)
{
	(void)arg;
	(void)level;
	return true;
}

static bool all_but(void *arg, size_t level)
{
	return level != *(const size_t *)arg;
}

static void add(struct flow_queue *q, struct request *r, size_t level, int64_t weight,
		const char *flow, int64_t cost)
{
	r->level = level;
	r->item.cost = cost;
	(void)snprintf(r->flow, sizeof(r->flow), "%s", flow);
	flow_queue_add(q, &r->item, level, weight, str_from(flow));
}

static struct request *next(struct flow_queue *q)
{
	struct flow_item *item = flow_queue_next(q, any, NULL);

	return item ? CONTAINER_OF(item, struct request, item) : NULL;
}

static void test_one_flow_keeps_its_order(void **state)
{
	struct flow_queue *q = flow_queue_new();
	struct request r[10] = { 0 };

	(void)state;
	for (size_t i = 0; i < 10; i++)
		add(q, &r[i], 0, 1, "a", 8000);
	assert_int_equal(flow_queue_flow_count(q, 0, STR("a")), 10);
	for (size_t i = 0; i < 10; i++)
		assert_ptr_equal(next(q), &r[i]);
	assert_null(next(q));
	assert_int_equal(flow_queue_count(q), 0);
	flow_queue_free(q);
}

static void test_who_comes_late_and_asks_little_is_next(void **state)
{
	struct flow_queue *q = flow_queue_new();
	static struct request flood[300], quiet;
	size_t before = 0;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		add(q, &flood[i], 0, 1, "flood", 8000);
	for (size_t i = 0; i < 50; i++)
		assert_string_equal(next(q)->flow, "flood");
	add(q, &quiet, 0, 1, "quiet", 8000);
	while (next(q) != &quiet)
		before++;
	assert_in_range(before, 0, 7); /* the rest of the flood's turn */
	while (next(q))
		;
	flow_queue_free(q);
}

static void test_flows_share_by_cost_not_by_number(void **state)
{
	struct flow_queue *q = flow_queue_new();
	static struct request light[1000], heavy[1000];
	int64_t spent[2] = { 0, 0 };
	struct request *r;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		add(q, &light[i], 0, 1, "light", 10 * 1000);
		add(q, &heavy[i], 0, 1, "heavy", 1000 * 1000);
	}
	while (flow_queue_flow_count(q, 0, STR("light")) && (r = next(q)))
		spent[strcmp(r->flow, "heavy") == 0] += r->item.cost;
	assert_in_range(spent[1], spent[0] - 1100 * 1000, spent[0] + 1100 * 1000);
	while (next(q))
		;
	flow_queue_free(q);
}

static void test_levels_share_by_weight(void **state)
{
	struct flow_queue *q = flow_queue_new();
	static struct request a[1000], b[1000];
	size_t n[2] = { 0, 0 };

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		add(q, &a[i], 0, 30, "a", 8000);
		add(q, &b[i], 9, 10, "b", 8000);
	}
	for (size_t i = 0; i < 400; i++)
		n[next(q)->level == 9]++;
	assert_in_range(n[0], 298, 302);
	assert_in_range(n[1], 98, 102);
	while (next(q))
		;
	flow_queue_free(q);
}

static void test_a_level_that_may_not_is_passed_over(void **state)
{
	struct flow_queue *q = flow_queue_new();
	struct request a = { 0 }, b = { 0 };
	size_t barred = 0;

	(void)state;
	add(q, &a, 0, 1, "a", 1);
	add(q, &b, 1, 1, "b", 1);
	assert_ptr_equal(flow_queue_next(q, all_but, &barred), &b.item);
	assert_null(flow_queue_next(q, all_but, &barred));
	assert_ptr_equal(next(q), &a);
	flow_queue_free(q);
}

static void test_who_used_too_much_does_not_come_back_as_new(void **state)
{
	struct flow_queue *q = flow_queue_new();
	static struct request light[100], heavy[2];
	size_t before = 0;

	(void)state;
	add(q, &heavy[0], 0, 1, "heavy", 2000 * 1000);
	for (size_t i = 0; i < 100; i++)
		add(q, &light[i], 0, 1, "light", 10 * 1000);
	assert_ptr_equal(next(q), &heavy[0]);
	add(q, &heavy[1], 0, 1, "heavy", 2000 * 1000);
	while (next(q) != &heavy[1])
		before++;
	assert_int_equal(before, 100);
	flow_queue_free(q);
}

/*
 * Many clients with one request at a time, each repeated when it is answered, and one with a
 * large backlog.
 */
static void test_who_has_much_to_do_is_not_starved_by_many_who_have_little(void **state)
{
	static struct request polite[20], lists[2];
	struct flow_queue *q = flow_queue_new();
	size_t served = 0;
	char name[16];

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "p%zu", i);
		add(q, &polite[i], 0, 1, name, 8000);
	}
	add(q, &lists[0], 0, 1, "lists", 68000);
	add(q, &lists[1], 0, 1, "lists", 68000);
	for (size_t i = 0; i < 10000; i++) {
		struct request *r = next(q);

		served += r == &lists[0] || r == &lists[1];
		snprintf(name, sizeof(name), "%s", r->flow);
		add(q, r, 0, 1, name, r->item.cost);
	}
	/* About 500 rounds, in each of which it has a turn of 25: at 68 each, that is 184. */
	assert_in_range(served, 150, 300);
	while (next(q))
		;
	flow_queue_free(q);
}

/* Everything is returned once, whatever is added, taken and removed meanwhile. */
static void test_nothing_is_lost(void **state)
{
	static const char *const flows[] = { "a", "b", "c", "d" };
	static struct request r[ITEMS];
	struct flow_queue *q = flow_queue_new();
	struct prng g;
	size_t added = 0, out = 0;

	(void)state;
	memset(r, 0, sizeof(r));
	prng_init(&g, 13);
	while (added < ITEMS || flow_queue_count(q)) {
		uint64_t what = prng_below(&g, 10);
		size_t k;

		if (what < 5 && added < ITEMS) {
			size_t level = prng_below(&g, 20);

			add(q, &r[added++], level, (int64_t)prng_below(&g, 50) + 1,
			    flows[prng_below(&g, 4)], (int64_t)prng_below(&g, 3000000) + 1);
		} else if (what < 9) {
			struct request *x = next(q);

			assert_int_equal(!x, out == added);
			out += x != NULL;
			if (x)
				assert_null(x->item.source);
		} else if (added && r[k = prng_below(&g, added)].item.source) {
			flow_queue_remove(q, &r[k].item);
			out++;
		}
		assert_int_equal(flow_queue_count(q), added - out);
	}
	assert_int_equal(out, ITEMS);
	flow_queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_flow_keeps_its_order),
		cmocka_unit_test(test_who_comes_late_and_asks_little_is_next),
		cmocka_unit_test(test_flows_share_by_cost_not_by_number),
		cmocka_unit_test(test_levels_share_by_weight),
		cmocka_unit_test(test_a_level_that_may_not_is_passed_over),
		cmocka_unit_test(test_who_used_too_much_does_not_come_back_as_new),
		cmocka_unit_test(test_who_has_much_to_do_is_not_starved_by_many_who_have_little),
		cmocka_unit_test(test_nothing_is_lost),
	};

	return cmocka_run_group_tests_name("server/flow_queue", tests, NULL, NULL);
}
