/*
 * Merging hints: upstream's examples, and all combinations one by one as the reference.
 */
#include "node/numa/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/random.h"

#define HINT(set, pref)                             \
	{                                           \
		.nodes = (set), .preferred = (pref) \
	}
#define HINTS(list)                                \
	{                                          \
		.v = (list), .n = ARRAY_SIZE(list) \
	}

static void sets_are_walked_once_each(void **state)
{
	uint64_t want[] = { 2, 8, 10, 128, 130, 136, 138 };
	size_t n = 0;

	for (uint64_t set = 0; topology_next_set(0x8a, &set);)
		assert_int_equal(set, want[n++]);
	assert_int_equal(n, ARRAY_SIZE(want));
}

static void preferred_and_equal_hints_win(void **state)
{
	struct topology_hint a[] = { HINT(1, true), HINT(2, true), HINT(3, false) };
	struct topology_hint b[] = { HINT(2, true), HINT(3, false) };
	struct topology_hints v[] = { HINTS(a), HINTS(b), { .any = true } };
	struct topology_hint best;

	assert_true(topology_merge(TOPOLOGY_SINGLE_NUMA, 3, v, 3, &best));
	assert_int_equal(best.nodes, 2);
	assert_true(best.preferred && !best.any);
	assert_true(topology_merge(TOPOLOGY_RESTRICTED, 3, v, 3, &best));
	assert_int_equal(best.nodes, 2);
}

static void hints_that_exclude_each_other_are_refused_unless_best_effort(void **state)
{
	struct topology_hint a[] = { HINT(1, true), HINT(3, false) };
	struct topology_hint b[] = { HINT(2, true), HINT(3, false) };
	struct topology_hints v[] = { HINTS(a), HINTS(b) };
	struct topology_hint best;

	assert_false(topology_merge(TOPOLOGY_SINGLE_NUMA, 3, v, 2, &best));
	assert_false(topology_merge(TOPOLOGY_RESTRICTED, 3, v, 2, &best));
	assert_true(topology_merge(TOPOLOGY_BEST_EFFORT, 3, v, 2, &best));
	assert_int_equal(best.nodes, 1);
	assert_false(best.preferred);
}

static void hints_that_cannot_be_merged_are_rejected(void **state)
{
	struct topology_hint a[] = { HINT(1, true) };
	struct topology_hints v[] = { HINTS(a), { .n = 0 } };
	struct topology_hint best;

	assert_false(topology_merge(TOPOLOGY_SINGLE_NUMA, 3, v, 2, &best));
	assert_false(topology_merge(TOPOLOGY_RESTRICTED, 3, v, 2, &best));
	assert_true(topology_merge(TOPOLOGY_BEST_EFFORT, 3, v, 2, &best));
	assert_true(topology_merge(TOPOLOGY_NONE, 3, v, 2, &best));
	assert_true(best.any);
}

static void a_request_without_preference_gets_any_node(void **state)
{
	struct topology_hints v[] = { { .any = true } };
	struct topology_hint best;

	assert_true(topology_merge(TOPOLOGY_SINGLE_NUMA, 3, v, 1, &best));
	assert_true(best.any);
	assert_true(topology_merge(TOPOLOGY_RESTRICTED, 3, NULL, 0, &best));
	assert_false(best.any);
	assert_int_equal(best.nodes, 3);
}

/* --- the reference --------------------------------------------------------------------------- */

struct reference {
	const struct topology_hints *v;
	size_t n;
	uint64_t all;
	int wanted;
	bool single, found;
	struct topology_hint best;
};

static int bits(uint64_t v)
{
	return __builtin_popcountll(v);
}

static bool narrower(uint64_t a, uint64_t b)
{
	return bits(a) != bits(b) ? bits(a) < bits(b) : a < b;
}

/* Case by case as upstream compares the best so far with a candidate. */
static bool replaces(const struct reference *r, struct topology_hint c)
{
	int now = bits(r->best.nodes), then = bits(c.nodes);

	if (then == 0)
		return false;
	if (!r->found)
		return true;
	if (r->best.preferred != c.preferred)
		return c.preferred;
	if (c.preferred || now > r->wanted)
		return narrower(c.nodes, r->best.nodes);
	if (now == r->wanted)
		return then == r->wanted && narrower(c.nodes, r->best.nodes);
	if (then > r->wanted)
		return false;
	if (then == r->wanted || then > now)
		return true;
	return then == now && narrower(c.nodes, r->best.nodes);
}

static void try_all(struct reference *r, size_t at, struct topology_hint so_far, uint64_t first)
{
	static const struct topology_hint any = { .any = true, .preferred = true };
	static const struct topology_hint never = { .any = true };
	const struct topology_hints *h;
	size_t n;

	if (at == r->n) {
		if (replaces(r, so_far)) {
			r->best = so_far;
			r->found = true;
		}
		return;
	}
	h = &r->v[at];
	n = h->any || h->n == 0 ? 1 : h->n;
	for (size_t i = 0; i < n; i++) {
		struct topology_hint one = h->any ? any : h->n == 0 ? never : h->v[i];
		struct topology_hint next = so_far;

		if (r->single && !(one.preferred && (one.any || bits(one.nodes) == 1)))
			continue;
		next.preferred = so_far.preferred && one.preferred &&
				 (one.any || first == 0 || first == one.nodes);
		if (!one.any)
			next.nodes &= one.nodes;
		try_all(r, at + 1, next, one.any ? first : first ? first : one.nodes);
	}
}

static struct topology_hint reference(bool single, uint64_t all, const struct topology_hints *v,
				      size_t n)
{
	struct reference r = { .v = v, .n = n, .all = all, .single = single };

	r.best = (struct topology_hint){ .nodes = all };
	for (size_t i = 0; i < n; i++) {
		int fewest = 0;

		for (size_t k = 0; k < v[i].n; k++) {
			if (fewest == 0 || bits(v[i].v[k].nodes) < fewest)
				fewest = bits(v[i].v[k].nodes);
		}
		r.wanted = MAX(r.wanted, fewest);
	}
	try_all(&r, 0, (struct topology_hint){ .nodes = all, .preferred = true }, 0);
	return r.best;
}

static struct topology_hints random_hints(struct prng *g, uint64_t all, struct arena *a)
{
	struct topology_hints h = topology_hints_make(all, a);

	h.any = prng_below(g, 6) == 0;
	for (uint64_t set = 0; topology_next_set(all, &set);) {
		if (prng_below(g, 3) == 0)
			topology_hints_add(&h, set);
	}
	topology_hints_prefer(&h, 1 + (int)prng_below(g, 2));
	if (h.any)
		h.n = 0;
	return h;
}

static void results_are_those_of_trying_every_combination(void **state)
{
	static const uint64_t machines[] = { 1, 3, 7, 0x25, 0xf };
	CLEANUP(arena_release) struct arena a;
	struct prng g;

	arena_init(&a, SIZE_MAX);
	prng_init(&g, 7);
	for (int i = 0; i < 4000; i++) {
		uint64_t all = machines[prng_below(&g, ARRAY_SIZE(machines))];
		struct topology_hints v[4];
		size_t n = (size_t)prng_below(&g, 4);
		struct topology_hint got, want;

		for (size_t k = 0; k < n; k++)
			v[k] = random_hints(&g, all, &a);
		want = reference(false, all, v, n);
		assert_int_equal(topology_merge(TOPOLOGY_RESTRICTED, all, v, n, &got),
				 want.preferred);
		assert_int_equal(got.nodes, want.nodes);
		assert_int_equal(got.preferred, want.preferred);
		want = reference(true, all, v, n);
		assert_int_equal(topology_merge(TOPOLOGY_SINGLE_NUMA, all, v, n, &got),
				 want.preferred);
		assert_int_equal(got.any ? all : got.nodes, want.nodes);
		arena_clear(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_walked_once_each),
		cmocka_unit_test(preferred_and_equal_hints_win),
		cmocka_unit_test(hints_that_exclude_each_other_are_refused_unless_best_effort),
		cmocka_unit_test(hints_that_cannot_be_merged_are_rejected),
		cmocka_unit_test(a_request_without_preference_gets_any_node),
		cmocka_unit_test(results_are_those_of_trying_every_combination),
	};

	return cmocka_run_group_tests_name("node/topology", tests, NULL, NULL);
}
