/*
 * States of zones and the rates that follow: upstream's table, without a clock.
 */
#include "controller/node_lifecycle/node_zones.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"

enum { NODES = 200 };

struct cluster {
	struct node_zones zones;
	struct zone_node nodes[NODES];
	size_t n;
	int64_t now;
};

static void cluster_init(struct cluster *c)
{
	*c = (struct cluster){ .now = 1000 * CLOCK_SEC };
	node_zones_init(&c->zones, &(struct zone_limits){ .rate = 0.1,
							  .secondary_rate = 0.01,
							  .large = 50,
							  .unhealthy = 0.55 });
}

static void cluster_release(struct cluster *c)
{
	for (size_t i = 0; i < c->n; i++)
		node_zones_remove(&c->zones, &c->nodes[i]);
	assert_int_equal(c->zones.by_name.n, 0);
	node_zones_release(&c->zones);
}

static void cluster_add(struct cluster *c, const char *zone, size_t ready, size_t lost)
{
	for (size_t i = 0; i < ready + lost; i++) {
		struct zone_node *n = &c->nodes[c->n++];

		zone_node_init(n);
		node_zones_put(&c->zones, n, str_from(zone), true, i < ready);
		if (i >= ready)
			node_zones_wait(n);
	}
}

/* Nodes that are let out within so many seconds. */
static size_t let_out(struct cluster *c, int64_t seconds)
{
	size_t n = 0;

	for (int64_t end = c->now + seconds * CLOCK_SEC; c->now < end; c->now += CLOCK_SEC) {
		int64_t wait;

		while (node_zones_next(&c->zones, c->now, &wait))
			n++;
	}
	return n;
}

static const struct {
	const char *name;
	size_t ready[2], lost[2]; /* of two zones */
	size_t out; /* within 1,000 seconds */
} rules[] = {
	{ "all is well", { 3, 3 }, { 0, 0 }, 0 },
	{ "one of many", { 9, 0 }, { 1, 0 }, 1 },
	{ "two of two: the only zone is lost", { 0, 0 }, { 2, 0 }, 0 },
	{ "two of three are not a disruption", { 1, 0 }, { 2, 0 }, 2 },
	{ "three of four are, and the zone is small", { 1, 0 }, { 3, 0 }, 0 },
	{ "three of six are less than the share", { 3, 0 }, { 3, 0 }, 3 },
	{ "half of a large zone: the full rate", { 60, 0 }, { 60, 0 }, 60 },
	{ "most of a large zone: the second rate", { 20, 0 }, { 80, 0 }, 10 },
	{ "one zone is lost, the other is well", { 0, 5 }, { 5, 0 }, 5 },
	{ "one is lost, the other disrupted", { 0, 1 }, { 5, 4 }, 5 },
	{ "both are lost", { 0, 0 }, { 5, 5 }, 0 },
};

static void rates_follow_the_table(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct cluster c;
		size_t out;

		cluster_init(&c);
		cluster_add(&c, "a", rules[i].ready[0], rules[i].lost[0]);
		cluster_add(&c, "b", rules[i].ready[1], rules[i].lost[1]);
		(void)node_zones_settle(&c.zones, c.now);
		out = let_out(&c, 1000);
		if (out != rules[i].out)
			fail_msg("%s: %zu", rules[i].name, out);
		cluster_release(&c);
	}
}

static void the_first_goes_at_once_and_others_in_turn(void **state UNUSED)
{
	struct cluster c;
	int64_t wait;

	cluster_init(&c);
	cluster_add(&c, "a", 9, 2);
	(void)node_zones_settle(&c.zones, c.now);
	assert_ptr_equal(node_zones_next(&c.zones, c.now, &wait), &c.nodes[9]);
	assert_null(node_zones_next(&c.zones, c.now, &wait));
	assert_in_range((uint64_t)wait, 9 * CLOCK_SEC, 11 * CLOCK_SEC);
	node_zones_spare(&c.nodes[10]);
	assert_null(node_zones_next(&c.zones, c.now + 60 * CLOCK_SEC, &wait));
	assert_true(wait == INT64_MAX);
	cluster_release(&c);
}

static void nothing_is_let_out_while_all_are_lost(void **state UNUSED)
{
	struct cluster c;

	cluster_init(&c);
	cluster_add(&c, "a", 0, 3);
	cluster_add(&c, "b", 1, 0);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_AS_BEFORE);
	node_zones_put(&c.zones, &c.nodes[3], STR("b"), true, false);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_STOPPED);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_AS_BEFORE);
	assert_int_equal(let_out(&c, 1000), 0);
	/* A zone that appears meanwhile is no exception. */
	cluster_add(&c, "c", 0, 1);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_AS_BEFORE);
	assert_int_equal(let_out(&c, 1000), 0);
	node_zones_put(&c.zones, &c.nodes[3], STR("b"), true, true);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_RESUMED);
	/* The new rates give no token at once. */
	assert_int_equal(let_out(&c, 5), 0);
	assert_int_equal(let_out(&c, 100), 4);
	cluster_release(&c);
}

static void excluded_nodes_decide_nothing(void **state UNUSED)
{
	struct cluster c;

	cluster_init(&c);
	cluster_add(&c, "a", 1, 2);
	node_zones_put(&c.zones, &c.nodes[0], STR("a"), false, true);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_STOPPED);
	for (size_t i = 0; i < c.n; i++)
		node_zones_put(&c.zones, &c.nodes[i], STR("a"), false, false);
	assert_int_equal(node_zones_settle(&c.zones, c.now), ZONES_RESUMED);
	cluster_release(&c);
}

static void a_node_that_moves_waits_in_its_new_zone(void **state UNUSED)
{
	struct cluster c;
	int64_t wait;

	cluster_init(&c);
	cluster_add(&c, "a", 1, 1);
	cluster_add(&c, "b", 1, 0);
	node_zones_put(&c.zones, &c.nodes[1], STR("b"), true, false);
	assert_true(node_zones_waits(&c.nodes[1]));
	assert_true(str_eqz(node_zones_name(&c.nodes[1]), "b"));
	(void)node_zones_settle(&c.zones, c.now);
	assert_ptr_equal(node_zones_next(&c.zones, c.now, &wait), &c.nodes[1]);
	cluster_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_follow_the_table),
		cmocka_unit_test(the_first_goes_at_once_and_others_in_turn),
		cmocka_unit_test(nothing_is_let_out_while_all_are_lost),
		cmocka_unit_test(excluded_nodes_decide_nothing),
		cmocka_unit_test(a_node_that_moves_waits_in_its_new_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
