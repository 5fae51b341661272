/*
 * Compares an index with a plain array, and searches on threads while it changes and grows.
 */
#include "server/cache/index.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "server/cache/blocks.h"
#include "server/cache/reclaim.h"

enum { KEYS = 3000 };

static struct object *make(size_t number, int64_t revision)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("configmaps"));
	char text[256];
	struct object *o = NULL;
	struct gates gates;
	int n;

	gates_init(&gates);
	n = snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%zu\","
		"\"namespace\":\"a\",\"uid\":\"u\"},\"data\":{\"x\":\"y\"}}",
		number);
	assert_int_equal(object_new(kind, str_of(text, (size_t)n), revision, &gates, &o, NULL), 0);
	return o;
}

struct key {
	char text[32];
	size_t n;
};

static struct str key_of(struct key *k, size_t number)
{
	k->n = (size_t)snprintf(k->text, sizeof(k->text), "a/c%zu", number);
	return str_of(k->text, k->n);
}

static struct object *find(const struct resource_index *ix, size_t number)
{
	struct key k;

	return resource_index_find(ix, key_of(&k, number));
}

static void put(struct resource_index *ix, size_t number, int64_t revision)
{
	struct object *o = make(number, revision);

	resource_index_put(ix, o);
	object_unref(o);
}

static void remove_key(struct resource_index *ix, size_t number)
{
	struct key k;

	resource_index_remove(ix, key_of(&k, number));
}

static void expect(const struct resource_index *ix, size_t number, int64_t revision)
{
	const struct object *o = find(ix, number);

	assert_int_equal(o ? o->revision : 0, revision);
}

static void it_agrees_with_a_plain_array(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);
	int64_t now[KEYS] = { 0 };
	struct prng prng;
	size_t n = 0;

	prng_init(&prng, 1);
	for (int64_t step = 1; step <= 60000; step++) {
		/* Periods in which it grows, and in which it shrinks. */
		size_t number = prng_below(&prng, KEYS);
		bool removes = prng_below(&prng, 10) < (step / 10000 % 2 ? 9 : 2);

		n += !removes && !now[number];
		n -= removes && now[number];
		if (removes)
			remove_key(ix, number);
		else
			put(ix, number, step);
		now[number] = removes ? 0 : step;
		expect(ix, number, now[number]);
		expect(ix, number / 2, now[number / 2]);
		assert_int_equal(resource_index_count(ix), n);
	}
	for (size_t i = 0; i < KEYS; i++)
		expect(ix, i, now[i]);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

static void an_empty_index_finds_nothing(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);

	assert_null(find(ix, 1));
	remove_key(ix, 1);
	assert_int_equal(resource_index_count(ix), 0);
	assert_int_equal(reclaim_pending(reclaim), 0);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

/* Two numbers whose hashes agree in the bits that choose the slot, and in the tag. */
static void find_colliding(size_t ret_numbers[2])
{
	enum { BITS = 12 };
	const uint64_t mask = UINT64_C(0xffff) | ~(UINT64_MAX >> BITS);
	struct map seen;
	size_t number = 0;
	void *before = NULL;
	uint64_t *kept = xcalloc(1 << 20, sizeof(*kept));

	map_init(&seen);
	for (; !before; number++) {
		struct key k;

		assert_true(number < 1 << 20);
		kept[number] = hash_bytes(key_of(&k, number), hash_process_seed()) & mask;
		before = map_put(&seen, str_of(&kept[number], sizeof(*kept)), &kept[number]);
	}
	ret_numbers[0] = (size_t)((uint64_t *)before - kept);
	ret_numbers[1] = number - 1;
	map_release(&seen);
	free(kept);
}

static void keys_with_the_same_hash_are_different(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);
	size_t k[2];

	find_colliding(k);
	put(ix, k[0], 1);
	expect(ix, k[1], 0);
	put(ix, k[1], 2);
	expect(ix, k[0], 1);
	expect(ix, k[1], 2);
	remove_key(ix, k[0]); /* the search for the other one passes its slot */
	expect(ix, k[0], 0);
	expect(ix, k[1], 2);
	put(ix, k[0], 3);
	remove_key(ix, k[1]);
	expect(ix, k[0], 3);
	expect(ix, k[1], 0);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

static void a_removed_object_lives_as_long_as_a_reader_may_have_it(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);
	struct object *o = make(1, 7);

	resource_index_put(ix, o);
	assert_int_equal(atomic_load(&o->refs), 2);
	reclaim_enter(reclaim, 0);
	remove_key(ix, 1);
	reclaim_flush(reclaim);
	assert_int_equal(atomic_load(&o->refs), 2);
	reclaim_leave(reclaim, 0);
	reclaim_flush(reclaim);
	assert_int_equal(atomic_load(&o->refs), 1);
	object_unref(o);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

static void a_reset_replaces_everything(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);
	struct resource_blocks blocks, none;

	resource_blocks_init(&blocks);
	resource_blocks_init(&none);
	for (size_t i = 0; i < KEYS; i++)
		put(ix, i, 1);
	for (size_t i = KEYS / 2; i < 2 * KEYS; i++)
		object_unref(resource_blocks_put(&blocks, make(i, 2)));
	resource_index_reset(ix, &blocks);
	for (size_t i = 0; i < 2 * KEYS; i++)
		expect(ix, i, i < KEYS / 2 ? 0 : 2);
	resource_index_reset(ix, &none);
	assert_int_equal(resource_index_count(ix), 0);
	expect(ix, KEYS, 0);
	put(ix, 1, 3);
	expect(ix, 1, 3);
	resource_blocks_clear(&blocks);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

static void an_object_costs_few_bytes(void **state UNUSED)
{
	struct reclaim *reclaim = reclaim_new(1);
	struct resource_index *ix = resource_index_new(reclaim);
	struct resource_blocks blocks;

	resource_blocks_init(&blocks);
	for (size_t i = 0; i < KEYS; i++) {
		object_unref(resource_blocks_put(&blocks, make(i, 1)));
		put(ix, i, 1);
	}
	/* Half as much again if its objects are just being moved to a larger table. */
	assert_in_range(resource_index_bytes(ix) / KEYS, 11, 17 + 17);
	resource_index_reset(ix, &blocks);
	assert_in_range(resource_index_bytes(ix) / KEYS, 11, 17);
	for (size_t i = 0; i < KEYS; i++)
		remove_key(ix, i);
	assert_true(resource_index_bytes(ix) < 4096);
	resource_blocks_clear(&blocks);
	resource_index_free(ix);
	reclaim_free(reclaim);
}

/* --- on threads --------------------------------------------------------------------- */

enum {
	READERS = 3,
	STEADY = 8, /* objects that are always there */
	BRIEF = 400, /* objects that come and go, so that the others move to other tables often */
	ROUNDS = SANITIZED ? 100 : 1000,
};

/* Readers know the highest revision that they saw, which must not go back. */
struct traffic {
	struct reclaim *reclaim;
	struct resource_index *index;
	struct object *brief[BRIEF];
	atomic_bool over;
	atomic_uint entered; /* the next reader's number */
};

static struct object *find_in_section(struct traffic *t, size_t reader, struct str key)
{
	struct object *o;

	reclaim_enter(t->reclaim, reader);
	o = resource_index_find(t->index, key);
	o = o ? object_ref(o) : NULL;
	reclaim_leave(t->reclaim, reader);
	return o;
}

/* A reader. Returns the number of wrong results. */
static void *search_until_over(void *arg)
{
	struct traffic *t = arg;
	size_t reader = atomic_fetch_add(&t->entered, 1), wrong = 0;
	int64_t last[STEADY] = { 0 };
	struct key keys[STEADY + BRIEF];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		(void)key_of(&keys[i], i);
	for (size_t i = 0; !atomic_load(&t->over); i++) {
		size_t number = i % STEADY ? i % STEADY : i / STEADY % ARRAY_SIZE(keys);
		struct str key = str_of(keys[number].text, keys[number].n);
		struct object *o = find_in_section(t, reader, key);

		wrong += o && (!str_eq(o->key, key) || !object_item_size(o));
		if (number < STEADY) {
			wrong += !o || o->revision < last[number];
			last[number] = o ? o->revision : 0;
		}
		object_unref(o);
	}
	return (void *)wrong;
}

/* As after a reload, with the same steady objects. */
static void reset_to_steady(struct traffic *t)
{
	struct resource_blocks blocks;

	resource_blocks_init(&blocks);
	for (size_t i = 0; i < STEADY; i++)
		(void)resource_blocks_put(&blocks, object_ref(find(t->index, i)));
	resource_index_reset(t->index, &blocks);
	resource_blocks_clear(&blocks);
}

/* Inserts all brief objects, and removes them in another order. */
static void change_much(struct traffic *t)
{
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BRIEF; i++)
			resource_index_put(t->index, t->brief[i]);
		put(t->index, round % STEADY, 2 + (int64_t)round);
		if (round % 10 == 0)
			reset_to_steady(t);
		for (size_t i = 0; i < BRIEF; i++)
			resource_index_remove(t->index, t->brief[i * 7 % BRIEF]->key);
		reclaim_flush(t->reclaim);
	}
}

static void fill(struct traffic *t)
{
	for (size_t i = 0; i < STEADY; i++)
		put(t->index, i, 1);
	for (size_t i = 0; i < BRIEF; i++)
		t->brief[i] = make(STEADY + i, 1);
}

static void readers_never_miss_an_object(void **state UNUSED)
{
	struct traffic t = { .reclaim = reclaim_new(READERS) };
	pthread_t threads[READERS];

	t.index = resource_index_new(t.reclaim);
	fill(&t);
	for (size_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, search_until_over, &t), 0);
	while (atomic_load(&t.entered) < READERS)
		(void)sched_yield();
	change_much(&t);
	atomic_store(&t.over, true);
	for (size_t i = 0; i < READERS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_int_equal((uintptr_t)wrong, 0);
	}
	assert_int_equal(resource_index_count(t.index), STEADY);
	resource_index_free(t.index);
	reclaim_free(t.reclaim);
	for (size_t i = 0; i < BRIEF; i++)
		object_unref(t.brief[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_index_finds_nothing),
		cmocka_unit_test(it_agrees_with_a_plain_array),
		cmocka_unit_test(keys_with_the_same_hash_are_different),
		cmocka_unit_test(a_removed_object_lives_as_long_as_a_reader_may_have_it),
		cmocka_unit_test(a_reset_replaces_everything),
		cmocka_unit_test(an_object_costs_few_bytes),
		cmocka_unit_test(readers_never_miss_an_object),
	};

	return cmocka_run_group_tests_name("server/cache_index", tests, NULL, NULL);
}
