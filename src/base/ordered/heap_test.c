/*
 * Order while items come, move and go, and what removing an item twice does.
 */
#include "base/ordered/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/random.h"

enum { ITEMS = 200 };

struct item {
	int64_t key;
	size_t at;
};

static bool is_less(const void *a, const void *b)
{
	return ((const struct item *)a)->key < ((const struct item *)b)->key;
}

/* Compares the first item with a search among all that are in the heap. */
static void check(const struct heap *h, const struct item *items)
{
	const struct item *first = heap_first(h);
	size_t n = 0;

	for (size_t i = 0; i < ITEMS; i++) {
		if (items[i].at == SIZE_MAX)
			continue;
		n++;
		assert_ptr_equal(h->items.v[items[i].at], &items[i]);
		assert_true(first->key <= items[i].key);
	}
	assert_int_equal(h->items.n, n);
	assert_true((first == NULL) == (n == 0));
}

static void the_first_item_is_the_least_after_any_change(void **state UNUSED)
{
	static struct item items[ITEMS];
	struct prng prng;
	struct heap h;

	prng_init(&prng, 1);
	heap_init(&h, struct item, at, is_less);
	for (size_t i = 0; i < ITEMS; i++)
		items[i].at = SIZE_MAX;
	for (int i = 0; i < 20000; i++) {
		struct item *item = &items[prng_below(&prng, ITEMS)];
		bool in = item->at != SIZE_MAX, leaves = in && prng_below(&prng, 2);

		if (leaves) {
			heap_remove(&h, item);
		} else {
			item->key = (int64_t)prng_below(&prng, 100);
			if (in)
				heap_fix(&h, item);
			else
				heap_push(&h, item);
		}
		check(&h, items);
	}
	heap_release(&h);
}

static void items_leave_in_order(void **state UNUSED)
{
	static const int64_t keys[] = { 1, 3, 5, 9 };
	struct item items[] = {
		{ 5, SIZE_MAX }, { 1, SIZE_MAX }, { 9, SIZE_MAX }, { 3, SIZE_MAX }
	};
	struct heap h;

	heap_init(&h, struct item, at, is_less);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		heap_push(&h, &items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct item *first = heap_first(&h);

		assert_int_equal(first->key, keys[i]);
		heap_remove(&h, first);
	}
	assert_null(heap_first(&h));
	heap_release(&h);
}

static void an_item_can_be_removed_twice(void **state UNUSED)
{
	struct item item = { 1, SIZE_MAX };
	struct heap h;

	heap_init(&h, struct item, at, is_less);
	heap_remove(&h, &item);
	heap_push(&h, &item);
	heap_remove(&h, &item);
	heap_remove(&h, &item);
	assert_int_equal(h.items.n, 0);
	heap_push(&h, &item);
	assert_ptr_equal(heap_first(&h), &item);
	heap_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_item_is_the_least_after_any_change),
		cmocka_unit_test(items_leave_in_order),
		cmocka_unit_test(an_item_can_be_removed_twice),
	};

	return cmocka_run_group_tests_name("base/heap", tests, NULL, NULL);
}
