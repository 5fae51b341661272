/*
 * Placement of partitions on an H200. A scheduler takes the first device of the list that fits by
 * the counters. Everything that the counters admit must be possible on the card, and the order of
 * the list must leave more room for large profiles than an order by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/json/quantity.h"
#include "drivers/gpu_inventory/gpu_fixture.h"

enum { DEVICES = GPU_FIXTURE_PLACEMENTS + 1, COUNTERS_MAX = 32 };

/* The devices with their counters as numbers. */
struct card {
	struct arena arena;
	struct gpu_source source;
	struct gpu_inventory inventory;
	size_t ncounters;
	int64_t total[COUNTERS_MAX], use[DEVICES][COUNTERS_MAX];
};

static int64_t number(const char *quantity)
{
	struct quantity q;

	assert_int_equal(quantity_parse(str_from(quantity), &q, NULL), 0);
	return quantity_value(q);
}

static void read_use(struct card *c, size_t device)
{
	const struct dp_counter_set *set = &c->inventory.sdk.sets[0];
	const struct dp_counter_use *use = &c->inventory.sdk.devices[device].consumes[0];

	for (uint32_t i = 0; i < use->ncounters; i++)
		for (uint32_t j = 0; j < set->ncounters; j++)
			if (strcmp(set->counters[j].name, use->counters[i].name) == 0)
				c->use[device][j] = number(use->counters[i].quantity);
}

static int setup(void **state)
{
	struct card *c = calloc(1, sizeof(*c));
	const struct dp_counter_set *set;

	arena_init(&c->arena, MIB);
	c->source = gpu_fixture_h200(0, STR("GPU-a"));
	gpu_inventory_make(&c->arena, &c->source, 1, &gpu_fixture_options, &c->inventory);
	assert_int_equal(c->inventory.n, DEVICES);
	set = &c->inventory.sdk.sets[0];
	c->ncounters = set->ncounters;
	for (size_t i = 0; i < c->ncounters; i++)
		c->total[i] = number(set->counters[i].quantity);
	for (size_t i = 0; i < DEVICES; i++)
		read_use(c, i);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct card *c = *state;

	arena_release(&c->arena);
	free(c);
	return 0;
}

/* --- counters -------------------------------------------------------------------------------- */

static bool fits(const struct card *c, const int64_t *left, size_t device)
{
	for (size_t i = 0; i < c->ncounters; i++)
		if (c->use[device][i] > left[i])
			return false;
	return true;
}

static void consume(const struct card *c, int64_t *left, size_t device, int sign)
{
	for (size_t i = 0; i < c->ncounters; i++)
		left[i] -= sign * c->use[device][i];
}

/* --- what the counters admit ----------------------------------------------------------------- */

struct walk {
	const struct card *card;
	int64_t left[COUNTERS_MAX];
	size_t chosen[DEVICES], n, sets;
};

/* How many of the set have the profile of `d`; none of them overlaps it. */
static size_t check_beside(const struct walk *w, const struct gpu_device *d)
{
	size_t same = 0;

	for (size_t j = 0; j < w->n; j++) {
		const struct gpu_device *e = &w->card->inventory.devices[w->chosen[j]];

		same += e->profile == d->profile;
		if (e != d && gpu_places_overlap(d->place, e->place))
			fail_msg("%s and %s overlap", d->name, e->name);
	}
	return same;
}

/* The rules of the card: places do not overlap, and each profile has its number of instances. */
static void check_possible(const struct walk *w)
{
	uint32_t slices = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct gpu_device *d = &w->card->inventory.devices[w->chosen[i]];

		if (d->kind == GPU_FULL) {
			assert_int_equal(w->n, 1);
			return;
		}
		slices += d->profile->slices;
		assert_true(check_beside(w, d) <= d->profile->instances);
	}
	assert_true(slices <= 7);
}

/* Visits every set once: devices are added in the order of the list. */
static void walk_sets(struct walk *w, size_t from)
{
	w->sets++;
	check_possible(w);
	for (size_t i = from; i < DEVICES; i++) {
		if (!fits(w->card, w->left, i))
			continue;
		w->chosen[w->n++] = i;
		consume(w->card, w->left, i, 1);
		walk_sets(w, i + 1);
		consume(w->card, w->left, i, -1);
		w->n--;
	}
}

static void every_set_that_the_counters_admit_is_possible(void **state)
{
	const struct card *c = *state;
	struct walk w = { .card = c };

	memcpy(w.left, c->total, sizeof(w.left));
	walk_sets(&w, 0);
	print_message("# %zu sets\n", w.sets);
	assert_true(w.sets > 1000);
}

static void check_pair(const struct card *c, size_t i, size_t j)
{
	const struct gpu_device *a = &c->inventory.devices[i], *b = &c->inventory.devices[j];
	int64_t left[COUNTERS_MAX];
	bool possible = !gpu_places_overlap(a->place, b->place) &&
			(a->profile != b->profile || a->profile->instances > 1);

	memcpy(left, c->total, sizeof(left));
	consume(c, left, i, 1);
	if (fits(c, left, j) != possible)
		fail_msg("%s and %s", a->name, b->name);
}

/* The other direction: two instances that are beside each other on the card fit by the counters. */
static void the_counters_admit_every_pair_that_is_possible(void **state)
{
	for (size_t i = 1; i < DEVICES; i++)
		for (size_t j = i + 1; j < DEVICES; j++)
			check_pair(*state, i, j);
}

/* --- packing --------------------------------------------------------------------------------- */

static const struct gpu_device *by_name_devices(const void *at, const struct gpu_device *all)
{
	return &all[*(const size_t *)at];
}

static int by_name(const void *x, const void *y, void *all)
{
	return strcmp(by_name_devices(x, all)->name, by_name_devices(y, all)->name);
}

enum { LARGE_SLICES = 3, STEPS = 40, RUNS = 2000 };

struct score {
	size_t placed, large, slices;
};

/* Claims come and go; the first device of their profile that fits is taken. */
static void pack(const struct card *c, const size_t *order, uint64_t seed, struct score *score)
{
	const struct gpu_device *all = c->inventory.devices;
	int64_t left[COUNTERS_MAX];
	size_t held[DEVICES], n = 0;
	struct prng g;

	memcpy(left, c->total, sizeof(left));
	prng_init(&g, seed);
	for (int step = 0; step < STEPS; step++) {
		const struct nvml_profile *want =
			&gpu_fixture_profiles[prng_below(&g, GPU_FIXTURE_PROFILES)];
		uint64_t leaves = prng_u64(&g);

		if (n && leaves % 2 == 0) {
			size_t at = leaves / 2 % n;

			consume(c, left, held[at], -1);
			held[at] = held[--n];
		}
		for (size_t i = 0; i < DEVICES; i++) {
			if (all[order[i]].profile != want || !fits(c, left, order[i]))
				continue;
			held[n++] = order[i];
			consume(c, left, order[i], 1);
			score->placed++;
			score->large += want->slices >= LARGE_SLICES;
			score->slices += want->slices;
			break;
		}
	}
}

static void the_order_places_more_than_first_fit_by_name(void **state)
{
	const struct card *c = *state;
	size_t ours[DEVICES], names[DEVICES];
	struct score a = { 0 }, b = { 0 };

	for (size_t i = 0; i < DEVICES; i++)
		ours[i] = names[i] = i;
	qsort_r(names, DEVICES, sizeof(names[0]), by_name, (void *)c->inventory.devices);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		pack(c, ours, seed, &a);
		pack(c, names, seed, &b);
	}
	print_message(
		"# placed %zu, by name %zu; large %zu, by name %zu; slices %zu, by name %zu\n",
		a.placed, b.placed, a.large, b.large, a.slices, b.slices);
	assert_true(a.large > b.large);
	assert_true(a.slices > b.slices);
}

/* How many small instances fit before the last place of a large profile is gone. */
static size_t small_before(const struct card *c, const size_t *order, uint32_t small,
			   uint32_t large)
{
	const struct gpu_device *all = c->inventory.devices;
	int64_t left[COUNTERS_MAX];

	memcpy(left, c->total, sizeof(left));
	for (size_t n = 0;; n++) {
		bool room = false;
		size_t at;

		for (size_t i = 0; i < DEVICES; i++)
			room = room ||
			       (all[i].profile && all[i].profile->id == large && fits(c, left, i));
		if (!room)
			return n;
		for (at = 0; at < DEVICES; at++)
			if (all[order[at]].profile && all[order[at]].profile->id == small &&
			    fits(c, left, order[at]))
				break;
		assert_true(at < DEVICES);
		consume(c, left, order[at], 1);
	}
}

static void large_profiles_stay_possible_longest(void **state)
{
	const struct card *c = *state;
	size_t ours[DEVICES], names[DEVICES];

	for (size_t i = 0; i < DEVICES; i++)
		ours[i] = names[i] = i;
	qsort_r(names, DEVICES, sizeof(names[0]), by_name, (void *)c->inventory.devices);
	/* Until the last 4g.71gb (id 5) is gone: three 1g.18gb (19) fit beside it. */
	assert_int_equal(small_before(c, ours, 19, 5), 4);
	assert_int_equal(small_before(c, names, 19, 5), 1);
	assert_int_equal(small_before(c, ours, 15, 5), 3);
	assert_int_equal(small_before(c, names, 15, 5), 1);
	assert_int_equal(small_before(c, ours, 14, 5), 2);
	assert_int_equal(small_before(c, ours, 9, 5), 2);
	assert_int_equal(small_before(c, names, 9, 5), 1);
	/* Until the last 3g.71gb (id 9) is gone. */
	assert_int_equal(small_before(c, ours, 19, 9), 4);
	assert_int_equal(small_before(c, ours, 14, 9), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_set_that_the_counters_admit_is_possible),
		cmocka_unit_test(the_counters_admit_every_pair_that_is_possible),
		cmocka_unit_test(the_order_places_more_than_first_fit_by_name),
		cmocka_unit_test(large_profiles_stay_possible_longest),
	};

	return cmocka_run_group_tests_name("drivers/gpu_packing", tests, setup, teardown);
}
