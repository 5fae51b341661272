/*
 * Every operation is followed by a walk in both directions, so that a wrong
 * link shows at once.
 */
#include "base/core/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
	char name;
	struct list node;
};

/* The list must read as `expected` forwards, and as its mirror image backwards. */
static void check(struct list *head, const char *expected)
{
	size_t n = strlen(expected), at = 0;

	LIST_FOREACH (it, head)
		assert_int_equal(LIST_ENTRY(it, struct item, node)->name, expected[at++]);
	assert_int_equal(at, n);
	for (struct list *it = head->prev; it != head; it = it->prev)
		assert_int_equal(LIST_ENTRY(it, struct item, node)->name, expected[--at]);
	assert_int_equal(at, 0);
	assert_int_equal(list_empty(head), n == 0);
}

static void make_items(struct item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		items[i].name = (char)('a' + i);
		list_init(&items[i].node);
	}
}

static void nodes_are_pushed_at_both_ends(void **state)
{
	struct item items[4];
	struct list head;

	make_items(items, 4);
	list_init(&head);
	check(&head, "");
	list_push_back(&head, &items[1].node);
	check(&head, "b");
	list_push_front(&head, &items[0].node);
	list_push_back(&head, &items[3].node);
	list_insert_after(&items[1].node, &items[2].node);
	check(&head, "abcd");
}

static void removing_twice_is_harmless(void **state)
{
	struct item items[3];
	struct list head;

	make_items(items, 3);
	list_init(&head);
	for (int i = 0; i < 3; i++)
		list_push_back(&head, &items[i].node);
	list_remove(&items[1].node);
	check(&head, "ac");
	list_remove(&items[1].node);
	check(&head, "ac");
	assert_true(list_empty(&items[1].node));
	list_remove(&items[0].node);
	list_remove(&items[2].node);
	check(&head, "");
}

static void popping_takes_from_the_front_until_nothing_is_left(void **state)
{
	struct item items[2];
	struct list head;

	make_items(items, 2);
	list_init(&head);
	assert_null(list_pop_front(&head));
	list_push_back(&head, &items[0].node);
	list_push_back(&head, &items[1].node);
	assert_ptr_equal(list_pop_front(&head), &items[0].node);
	check(&head, "b");
	assert_ptr_equal(list_pop_front(&head), &items[1].node);
	assert_null(list_pop_front(&head));
}

static void a_safe_walk_may_remove_what_it_stands_on(void **state)
{
	struct item items[5];
	struct list head;
	int seen = 0;

	make_items(items, 5);
	list_init(&head);
	for (int i = 0; i < 5; i++)
		list_push_back(&head, &items[i].node);
	LIST_FOREACH_SAFE (it, &head) {
		struct item *item = LIST_ENTRY(it, struct item, node);

		seen++;
		if (item->name == 'b' || item->name == 'c' || item->name == 'e') {
			list_remove(it);
			memset(item, 0, sizeof(*item)); /* as good as freed */
		}
	}
	assert_int_equal(seen, 5);
	check(&head, "ad");
}

static void splicing_moves_all_and_leaves_an_empty_list(void **state)
{
	struct item items[4];
	struct list to, from;

	make_items(items, 4);
	list_init(&to);
	list_init(&from);
	list_splice_back(&to, &from);
	check(&to, "");
	list_push_back(&from, &items[0].node);
	list_push_back(&from, &items[1].node);
	list_splice_back(&to, &from);
	check(&to, "ab");
	check(&from, "");
	list_push_back(&from, &items[2].node);
	list_push_back(&from, &items[3].node);
	list_splice_back(&to, &from);
	check(&to, "abcd");
	check(&from, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_pushed_at_both_ends),
		cmocka_unit_test(removing_twice_is_harmless),
		cmocka_unit_test(popping_takes_from_the_front_until_nothing_is_left),
		cmocka_unit_test(a_safe_walk_may_remove_what_it_stands_on),
		cmocka_unit_test(splicing_moves_all_and_leaves_an_empty_list),
	};

	return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
