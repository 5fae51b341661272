/*
 * Compares blocks with a plain array, and snapshots with copies made at the same time.
 */
#include "server/cache/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/random.h"

enum { KEYS = 3000, TAKEN = 12 };

static struct object *make(const char *name, size_t pad)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("configmaps"));
	char text[1024];
	struct object *o = NULL;
	struct gates gates;
	int n;

	gates_init(&gates);
	n = snprintf(text, sizeof(text),
		     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		     "\"namespace\":\"a\",\"uid\":\"u\"},\"data\":{\"x\":\"%0*d\"}}",
		     name, (int)pad + 1, 7);
	assert_int_equal(object_new(kind, str_of(text, (size_t)n), 1, &gates, &o, NULL), 0);
	return o;
}

/* A snapshot, and a copy of its expected content. */
struct taken {
	struct resource_snapshot *snapshot;
	struct object *items[KEYS];
	size_t n;
};

struct model {
	struct resource_blocks blocks;
	struct object *now[KEYS]; /* by number, which is the key order; NULL: absent */
	size_t n;
	struct taken taken[TAKEN];
	struct prng prng;
};

static struct model *model_new(uint64_t seed)
{
	struct model *m = XNEW(struct model);

	resource_blocks_init(&m->blocks);
	prng_init(&m->prng, seed);
	return m;
}

static void name_of(char ret_name[16], size_t number)
{
	(void)snprintf(ret_name, 16, "c%05zu", number);
}

static void put(struct model *m, size_t number)
{
	struct object *before = m->now[number], *out;
	char name[16];

	name_of(name, number);
	m->now[number] = make(name, prng_below(&m->prng, 100));
	out = resource_blocks_put(&m->blocks, object_ref(m->now[number]));
	assert_ptr_equal(out, before);
	m->n += before ? 0 : 1;
	object_unref(out);
	object_unref(before);
}

static void take_out(struct model *m, size_t number)
{
	if (!m->now[number])
		return;
	resource_blocks_remove(&m->blocks, m->now[number]);
	object_unref(m->now[number]); /* the block's reference */
	object_unref(m->now[number]);
	m->now[number] = NULL;
	m->n--;
}

static void check_taken(const struct taken *t)
{
	size_t bytes = 0;

	if (!t->snapshot)
		return;
	assert_int_equal(t->snapshot->n, t->n);
	for (size_t i = 0; i < t->n; i++) {
		assert_ptr_equal(t->snapshot->items[i], t->items[i]);
		bytes += object_item_size(t->items[i]);
	}
	assert_int_equal(t->snapshot->bytes, bytes);
}

static void drop_taken(struct taken *t)
{
	check_taken(t);
	resource_snapshot_unref(t->snapshot);
	for (size_t i = 0; i < t->n; i++)
		object_unref(t->items[i]);
	t->snapshot = NULL;
	t->n = 0;
}

/* Compares it as a map: each key's object, and all of them in order. */
static void check_map(const struct model *m)
{
	struct resource_place at = { 0 };
	char name[24] = "a/";

	assert_int_equal(m->blocks.count, m->n);
	for (size_t i = 0; i < KEYS; i++) {
		name_of(name + 2, i);
		assert_ptr_equal(resource_blocks_find(&m->blocks, str_from(name)), m->now[i]);
		if (m->now[i])
			assert_ptr_equal(resource_blocks_next(&m->blocks, &at), m->now[i]);
	}
	assert_null(resource_blocks_next(&m->blocks, &at));
	assert_null(resource_blocks_find(&m->blocks, STR("a/")));
	assert_null(resource_blocks_find(&m->blocks, STR("b/")));
}

/* Takes at most `most` objects from number `from` on. */
static void take(struct model *m, struct taken *t, size_t from, size_t most)
{
	struct resource_place start = { 0 }, at;
	struct str key = STR_NULL;
	size_t before = 0;
	char name[24] = "a/";

	drop_taken(t);
	name_of(name + 2, from);
	key = str_from(name);
	for (size_t i = 0; i < from; i++)
		before += m->now[i] ? 1 : 0;
	for (size_t i = from; i < KEYS && t->n < most; i++)
		if (m->now[i])
			t->items[t->n++] = object_ref(m->now[i]);
	at = resource_blocks_seek(&m->blocks, key, false);
	assert_int_equal(resource_blocks_between(&m->blocks, start, at), before);
	assert_int_equal(resource_blocks_between(&m->blocks, at, start), 0);
	t->snapshot = resource_blocks_take(&m->blocks, at, t->n);
	check_taken(t);
	/* After the key means after its object. */
	at = resource_blocks_seek(&m->blocks, key, true);
	assert_int_equal(resource_blocks_between(&m->blocks, start, at),
			 before + (m->now[from] ? 1 : 0));
}

static void model_free(struct model *m)
{
	for (size_t i = 0; i < TAKEN; i++)
		drop_taken(&m->taken[i]);
	for (size_t i = 0; i < KEYS; i++)
		object_unref(m->now[i]);
	resource_blocks_clear(&m->blocks);
	free(m);
}

/* Puts and removes in changing proportion: it grows, shrinks to nothing and grows again. */
static void live(struct model *m, int steps, uint32_t puts_of_ten)
{
	for (int i = 0; i < steps; i++) {
		size_t number = prng_below(&m->prng, KEYS);
		struct taken *t = &m->taken[prng_below(&m->prng, TAKEN)];

		if (prng_below(&m->prng, 10) < puts_of_ten)
			put(m, number);
		else
			take_out(m, number);
		if (prng_below(&m->prng, 20) == 0)
			take(m, t, prng_below(&m->prng, 2) ? 0 : prng_below(&m->prng, KEYS),
			     prng_below(&m->prng, 2) ? KEYS : prng_below(&m->prng, 400));
		if (i % 500 == 0)
			check_map(m);
	}
	check_map(m);
}

static void entries_are_found_and_taken_snapshots_do_not_change(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct model *m = model_new(seed);

		live(m, 4000, 8);
		live(m, 4000, 5);
		live(m, 6000, 1);
		for (size_t i = 0; i < KEYS; i++)
			take_out(m, i);
		assert_int_equal(m->blocks.n, 0);
		check_map(m);
		take(m, &m->taken[0], 0, KEYS);
		live(m, 1000, 9);
		model_free(m);
	}
}

static void objects_that_come_in_order_fill_their_blocks(void **state UNUSED)
{
	struct model *m = model_new(1);

	for (size_t i = 0; i < KEYS; i++)
		put(m, i);
	assert_int_equal(m->blocks.n, (KEYS + RESOURCE_BLOCK_MAX - 1) / RESOURCE_BLOCK_MAX);
	model_free(m);
}

static void blocks_that_have_little_become_one(void **state UNUSED)
{
	struct model *m = model_new(1);

	for (size_t i = 0; i < KEYS; i++)
		put(m, i);
	for (size_t i = 0; i < KEYS; i++)
		if (i % 100)
			take_out(m, i);
	assert_int_equal(m->n, KEYS / 100);
	assert_int_equal(m->blocks.n, 1);
	take(m, &m->taken[0], 0, KEYS);
	model_free(m);
}

static void a_block_that_nobody_has_is_changed_in_place(void **state UNUSED)
{
	struct model *m = model_new(1);
	struct resource_snapshot *s;
	struct object *kept;

	for (size_t i = 0; i < RESOURCE_BLOCK_MAX; i++)
		put(m, i);
	kept = m->now[1];
	assert_int_equal(atomic_load(&kept->refs), 2); /* the model's, the block's */
	put(m, 0);
	assert_int_equal(atomic_load(&kept->refs), 2);
	s = resource_blocks_take(&m->blocks, (struct resource_place){ 0 }, m->n);
	assert_int_equal(atomic_load(&kept->refs), 2); /* no object is touched */
	put(m, 0);
	assert_int_equal(atomic_load(&kept->refs), 3);
	resource_snapshot_unref(s);
	assert_int_equal(atomic_load(&kept->refs), 2);
	model_free(m);
}

static void a_part_of_a_block_keeps_no_more_than_that(void **state UNUSED)
{
	struct model *m = model_new(1);
	struct resource_snapshot *s;

	for (size_t i = 0; i < 3 * (size_t)RESOURCE_BLOCK_MAX; i++)
		put(m, i);
	s = resource_blocks_take(&m->blocks, (struct resource_place){ 0, 10 },
				 2 * RESOURCE_BLOCK_MAX);
	assert_int_equal(s->nblocks, 1);
	assert_int_equal(atomic_load(&m->now[9]->refs), 2);
	assert_int_equal(atomic_load(&m->now[10]->refs), 3);
	assert_int_equal(atomic_load(&m->now[RESOURCE_BLOCK_MAX]->refs), 2);
	assert_int_equal(atomic_load(&m->now[2 * RESOURCE_BLOCK_MAX + 9]->refs), 3);
	assert_int_equal(atomic_load(&m->now[2 * RESOURCE_BLOCK_MAX + 10]->refs), 2);
	resource_snapshot_unref(s);
	assert_int_equal(atomic_load(&m->now[10]->refs), 2);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_found_and_taken_snapshots_do_not_change),
		cmocka_unit_test(objects_that_come_in_order_fill_their_blocks),
		cmocka_unit_test(blocks_that_have_little_become_one),
		cmocka_unit_test(a_block_that_nobody_has_is_changed_in_place),
		cmocka_unit_test(a_part_of_a_block_keeps_no_more_than_that),
	};

	return cmocka_run_group_tests_name("server/resource_blocks", tests, NULL, NULL);
}
