/*
 * The rules for lowering a quota's `used`, one by one, and on random histories of servers that
 * charge and a controller that sees everything late. `used` never falls below the existing objects
 * plus the charges of writes under way, and finally equals the existing objects.
 */
#include "controller/quota/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"

enum { SEEDS = 300, STEPS = 600, STEP_MS = 7000, ALIVE_MS = QUOTA_CHARGE_MS + QUOTA_WRITE_MS };

static struct amount_list pods(struct arena *a, int64_t n)
{
	struct amount_list l = amount_list_new(a);

	amount_list_set(&l, STR("pods"), quantity_of(n, QUANTITY_DECIMAL_SI));
	return l;
}

/* --- one rule at a time ------------------------------------------------------------------- */

struct bench {
	struct arena arena;
	struct quota_tally *tally;
	int64_t used, now, wait;
};

static int set_up(void **state)
{
	struct bench *b = XNEW(struct bench);

	arena_init(&b->arena, SIZE_MAX);
	b->tally = quota_tally_new();
	b->now = 1000;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	quota_tally_free(b->tally);
	arena_release(&b->arena);
	free(b);
	return 0;
}

static void see_first(struct bench *b, int64_t used)
{
	struct amount_list now = pods(&b->arena, used);

	b->used = used;
	quota_tally_see(b->tally, NULL, &now, b->now);
}

static void see(struct bench *b, int64_t used)
{
	struct amount_list before = pods(&b->arena, b->used), now = pods(&b->arena, used);

	b->used = used;
	quota_tally_see(b->tally, &before, &now, b->now);
}

static void free_up(struct bench *b, int64_t n)
{
	quota_tally_add_freed(b->tally, STR("pods"), quantity_of(n, QUANTITY_DECIMAL_SI));
}

static int64_t decide(struct bench *b, int64_t count)
{
	struct amount_list used = pods(&b->arena, b->used), sums = pods(&b->arena, count);
	struct amount_list now = quota_tally_decide(b->tally, &used, &sums, b->now, &b->arena,
						    &b->wait);

	return quantity_value(*amount_list_get(&now, STR("pods")));
}

/* Makes all seen charges old. */
static void settle(struct bench *b)
{
	b->now += QUOTA_SETTLED_MS;
}

static void a_charge_without_an_object_is_kept_until_its_write_cannot_come(void **state)
{
	struct bench *b = *state;

	see_first(b, 0);
	settle(b);
	see(b, 1);
	assert_int_equal(decide(b, 0), 1);
	assert_int_equal(b->wait, QUOTA_SETTLED_MS);
	b->now += QUOTA_SETTLED_MS - 1;
	assert_int_equal(decide(b, 0), 1);
	b->now += 1;
	assert_int_equal(decide(b, 0), 0);
	assert_int_equal(b->wait, -1);
}

static void a_deleted_object_is_released_at_once(void **state)
{
	struct bench *b = *state;

	see_first(b, 3);
	assert_int_equal(decide(b, 3), 3);
	/* One of three is deleted while a fourth is charged. */
	see(b, 4);
	free_up(b, 1);
	assert_int_equal(decide(b, 2), 3);
}

static void more_than_is_used_is_written_at_once(void **state)
{
	struct bench *b = *state;

	see_first(b, 1);
	assert_int_equal(decide(b, 3), 3);
	assert_int_equal(b->wait, -1);
}

static void a_freed_amount_is_applied_once(void **state)
{
	struct bench *b = *state;

	see_first(b, 2);
	free_up(b, 1);
	assert_int_equal(decide(b, 0), 1);
	/* The write conflicts with a charge: decide again. */
	quota_tally_begin_write(b->tally);
	quota_tally_end_write(b->tally, true);
	see(b, 3);
	assert_int_equal(decide(b, 0), 2);
	quota_tally_begin_write(b->tally);
	/* Another object is deleted during the write. */
	free_up(b, 1);
	quota_tally_end_write(b->tally, false);
	see(b, 2);
	assert_int_equal(decide(b, 0), 1);
	quota_tally_begin_write(b->tally);
	quota_tally_end_write(b->tally, false);
	see(b, 1);
	assert_int_equal(decide(b, 0), 1);
}

static void a_freed_amount_that_was_never_charged_is_forgotten(void **state)
{
	struct bench *b = *state;

	see_first(b, 1);
	free_up(b, 1);
	assert_int_equal(decide(b, 1), 1);
	see(b, 2);
	assert_int_equal(decide(b, 1), 2);
}

static void old_charges_are_released_though_there_are_new_ones(void **state)
{
	struct bench *b = *state;

	see_first(b, 0);
	settle(b);
	see(b, 10); /* these never become objects */
	for (int64_t i = 1; i <= 6; i++) {
		b->now += QUOTA_SETTLED_MS / 2;
		see(b, 10 + i);
	}
	/* The last three, in two periods, may be under way. */
	assert_int_equal(decide(b, 6), 6 + 3);
	assert_int_equal(b->wait, QUOTA_SETTLED_MS);
	b->used = 10;
	settle(b);
	assert_int_equal(decide(b, 6), 6);
}

/* --- random histories --------------------------------------------------------------------- */

struct event {
	int64_t due;
	int64_t used; /* in an event of a quota */
	int change; /* in an event of an object: 1 added, -1 removed */
	int64_t revision;
};

struct world {
	struct prng prng;
	struct arena arena;
	struct quota_tally *tally;
	int64_t now;
	/* The store. */
	int64_t used, revision, objects;
	VEC(int64_t) charges; /* of writes under way: when each ends */
	/* On the way to the controller: two streams. */
	VEC(struct event) quotas, changes;
	/* The controller's view. */
	int64_t seen_used, seen_revision, count;
	bool writing;
	int64_t target, target_revision;
};

static int64_t below(struct world *w, int64_t n)
{
	return (int64_t)prng_below(&w->prng, (uint64_t)n);
}

/* Most events are seen soon, each stream in its order. */
static int64_t seen_at(struct world *w, int64_t last)
{
	int64_t lag = below(w, 4) ? below(w, 100) : below(w, QUOTA_SEEN_MS);

	return MAX(last, w->now + lag);
}

static void set_used(struct world *w, int64_t used)
{
	int64_t last = w->quotas.n ? w->quotas.v[w->quotas.n - 1].due : 0;
	struct event e = { .due = MIN(seen_at(w, last), w->now + QUOTA_SEEN_MS),
			   .used = used,
			   .revision = ++w->revision };

	w->used = used;
	assert_true(vec_push(&w->quotas, e));
}

static void change_objects(struct world *w, int change)
{
	int64_t last = w->changes.n ? w->changes.v[w->changes.n - 1].due : 0;
	struct event e = { .due = MIN(seen_at(w, last), w->now + QUOTA_SEEN_MS), .change = change };

	w->objects += change;
	assert_true(vec_push(&w->changes, e));
}

static void see_quota(struct world *w, const struct event *e)
{
	struct amount_list before = pods(&w->arena, w->seen_used);
	struct amount_list used = pods(&w->arena, e->used);

	w->seen_used = e->used;
	w->seen_revision = e->revision;
	quota_tally_see(w->tally, below(w, 20) ? &before : NULL, &used, w->now);
}

static void deliver(struct world *w)
{
	while (w->quotas.n && w->quotas.v[0].due <= w->now) {
		see_quota(w, &w->quotas.v[0]);
		vec_remove(&w->quotas, 0);
	}
	while (w->changes.n && w->changes.v[0].due <= w->now) {
		w->count += w->changes.v[0].change;
		if (w->changes.v[0].change < 0)
			quota_tally_add_freed(w->tally, STR("pods"),
					      quantity_of(1, QUANTITY_DECIMAL_SI));
		vec_remove(&w->changes, 0);
	}
}

/* A write under way ends: with an object, with a failure that its server knows, or never. */
static void end_charge(struct world *w, size_t at)
{
	int64_t how = below(w, 4);

	vec_remove_swap(&w->charges, at);
	if (how > 1)
		change_objects(w, 1);
	else if (how == 1)
		set_used(w, w->used - 1);
}

static void end_charges(struct world *w)
{
	for (size_t i = w->charges.n; i-- > 0;)
		if (w->charges.v[i] <= w->now)
			end_charge(w, i);
}

static void begin_write(struct world *w)
{
	struct amount_list used = pods(&w->arena, w->seen_used), sums = pods(&w->arena, w->count);
	int64_t wait;
	struct amount_list now = quota_tally_decide(w->tally, &used, &sums, w->now, &w->arena,
						    &wait);

	w->target = quantity_value(*amount_list_get(&now, STR("pods")));
	w->target_revision = w->seen_revision;
	w->writing = w->target != w->seen_used;
	if (w->writing)
		quota_tally_begin_write(w->tally);
}

static void end_write(struct world *w)
{
	bool conflict = w->target_revision != w->revision, known = below(w, 5) != 0;

	w->writing = false;
	if (!conflict)
		set_used(w, w->target);
	quota_tally_end_write(w->tally, conflict && known);
}

static void charge(struct world *w)
{
	set_used(w, w->used + 1);
	assert_true(vec_push(&w->charges, w->now + below(w, below(w, 3) ? 2000 : ALIVE_MS)));
}

static void step(struct world *w, bool busy)
{
	w->now += below(w, below(w, 5) ? 1000 : STEP_MS);
	end_charges(w);
	deliver(w);
	if (busy && below(w, 2))
		charge(w);
	if (busy && w->objects && below(w, 2))
		change_objects(w, -1);
	if (w->writing && below(w, 2))
		end_write(w);
	else if (!w->writing)
		begin_write(w);
	if (w->used < w->objects + (int64_t)w->charges.n)
		fail_msg("used %lld, but there are %lld objects and %zu writes under way",
			 (long long)w->used, (long long)w->objects, w->charges.n);
	arena_clear(&w->arena);
}

static void run_history(uint64_t seed)
{
	struct world w = { .tally = quota_tally_new() };
	int64_t until;

	prng_init(&w.prng, seed);
	arena_init(&w.arena, SIZE_MAX);
	vec_init(&w.charges, SIZE_MAX);
	vec_init(&w.quotas, SIZE_MAX);
	vec_init(&w.changes, SIZE_MAX);
	set_used(&w, 0);
	for (int i = 0; i < STEPS; i++)
		step(&w, true);
	for (until = w.now + 4 * QUOTA_SETTLED_MS; w.now < until;)
		step(&w, false);
	if (w.used != w.objects)
		fail_msg("seed %llu: used %lld, but there are %lld objects",
			 (unsigned long long)seed, (long long)w.used, (long long)w.objects);
	vec_release(&w.charges);
	vec_release(&w.quotas);
	vec_release(&w.changes);
	arena_release(&w.arena);
	quota_tally_free(w.tally);
}

static void used_covers_all_that_exists_and_all_writes_under_way(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_history(seed);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_charge_without_an_object_is_kept_until_its_write_cannot_come),
		T(a_deleted_object_is_released_at_once),
		T(more_than_is_used_is_written_at_once),
		T(a_freed_amount_is_applied_once),
		T(a_freed_amount_that_was_never_charged_is_forgotten),
		T(old_charges_are_released_though_there_are_new_ones),
		cmocka_unit_test(used_covers_all_that_exists_and_all_writes_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
