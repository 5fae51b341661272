/*
 * Includes omap.c to check the tree itself: sizes, order, exact first keys,
 * links and counts, while random operations run against a sorted array.
 */
#include "omap.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/random.h"

enum { KEYS = 4000, KEY_SIZE = 24 };

/* Entries below `node`; leaves must be met in the order of their links. */
static size_t check_node(const struct omap_node *node, unsigned levels,
			 const struct omap_node **ret_last_leaf)
{
	size_t n = 0;

	assert_in_range(node->n, 1, OMAP_WIDTH);
	for (uint32_t i = 1; i < node->n; i++)
		assert_true(str_cmp(key_at(node, i - 1), key_at(node, i)) < 0);
	if (levels == 0) {
		assert_ptr_equal(node->prev, *ret_last_leaf);
		if (*ret_last_leaf)
			assert_ptr_equal((*ret_last_leaf)->next, node);
		*ret_last_leaf = node;
		return node->n;
	}
	for (uint32_t i = 0; i < node->n; i++) {
		const struct omap_node *child = node->item[i];

		/* The same bytes, not only equal ones: a separator borrows from its entry. */
		assert_ptr_equal(node->key[i], child->key[0]);
		assert_int_equal(node->len[i], child->len[0]);
		n += check_node(child, levels - 1, ret_last_leaf);
	}
	return n;
}

static void check_tree(const struct omap *m)
{
	const struct omap_node *last = NULL;

	if (!m->root) {
		assert_int_equal(m->n, 0);
		assert_int_equal(m->height, 0);
		return;
	}
	if (m->height > 0)
		assert_true(m->root->n >= 2);
	assert_int_equal(check_node(m->root, m->height, &last), m->n);
	assert_null(last->next);
	assert_null(m->root->next);
	assert_null(m->root->prev);
}

static size_t count_nodes(const struct omap *m)
{
	const struct omap_node *node = m->root, *it;
	size_t n = 0;

	for (unsigned level = 0; node; level++) {
		for (it = node; it; it = it->next)
			n++;
		node = level < m->height ? node->item[0] : NULL;
	}
	return n;
}

static char *make_keys(size_t n)
{
	char *keys = xmalloc(n * KEY_SIZE);

	for (size_t i = 0; i < n; i++)
		(void)snprintf(keys + i * KEY_SIZE, KEY_SIZE, "k%07zu", i);
	return keys;
}

static struct str key_of(const char *keys, size_t i)
{
	return str_from(keys + i * KEY_SIZE);
}

static void an_empty_map_has_no_entries(void **state)
{
	struct omap_cursor c;
	struct omap m;

	omap_init(&m);
	assert_null(omap_get(&m, STR("a")));
	assert_null(omap_remove(&m, STR("a")));
	assert_false(omap_first(&m, &c));
	assert_false(omap_last(&m, &c));
	assert_false(omap_seek(&m, &c, STR("a")));
	assert_false(omap_seek_after(&m, &c, STR("a")));
	assert_false(omap_next(&c));
	assert_false(omap_prev(&c));
	omap_release(&m);
}

static void put_returns_what_was_there_and_borrows_the_new_key(void **state)
{
	char *old_key = xstrdup("node-1");
	char *keys = make_keys(500);
	struct omap m;
	int a, b;

	omap_init(&m);
	assert_null(omap_put(&m, str_from(old_key), &a));
	for (size_t i = 0; i < 500; i++) /* makes old_key a separator too */
		assert_null(omap_put(&m, key_of(keys, i), &a));
	assert_ptr_equal(omap_put(&m, STR("node-1"), &b), &a);
	free(old_key);
	assert_ptr_equal(omap_get(&m, STR("node-1")), &b);
	check_tree(&m);
	omap_release(&m);
	free(keys);
}

static void keys_come_in_byte_order(void **state)
{
	static const char *const order[] = { "",   "-", "a",    "a-",   "a/b",
					     "aa", "b", "\x7f", "\x80", "\xff" };
	struct omap_cursor c;
	struct omap m;

	omap_init(&m);
	for (size_t i = ARRAY_SIZE(order); i-- > 0;)
		omap_put(&m, str_from(order[i]), &m);
	assert_true(omap_first(&m, &c));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		assert_string_equal(omap_key(&c).p, order[i]);
		assert_int_equal(omap_next(&c), i + 1 < ARRAY_SIZE(order));
	}
	omap_release(&m);
}

static void cursors_turn_round_at_both_ends(void **state)
{
	struct omap_cursor c;
	struct omap m;

	omap_init(&m);
	omap_put(&m, STR("a"), &m);
	omap_put(&m, STR("b"), &m);
	assert_true(omap_last(&m, &c));
	assert_false(omap_next(&c));
	assert_false(omap_next(&c));
	assert_true(omap_prev(&c));
	assert_string_equal(omap_key(&c).p, "b");
	assert_true(omap_prev(&c));
	assert_false(omap_prev(&c));
	assert_false(omap_prev(&c));
	assert_true(omap_next(&c));
	assert_string_equal(omap_key(&c).p, "a");
	assert_false(omap_seek(&m, &c, STR("c")));
	assert_true(omap_prev(&c));
	assert_string_equal(omap_key(&c).p, "b");
	omap_release(&m);
}

static void a_prefix_yields_its_entries_and_no_others(void **state)
{
	static const char *const keys[] = { "ns-a/x", "ns-b",  "ns-b/", "ns-b/x",
					    "ns-b/y", "ns-b0", "ns-c/x" };
	struct omap_cursor c;
	struct omap m;
	int n = 0;

	omap_init(&m);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		omap_put(&m, str_from(keys[i]), &m);
	for (bool ok = omap_seek_prefix(&m, &c, STR("ns-b/")); ok;
	     ok = omap_next_prefix(&c, STR("ns-b/")))
		assert_string_equal(omap_key(&c).p, keys[2 + n++]);
	assert_int_equal(n, 3);
	assert_false(omap_seek_prefix(&m, &c, STR("ns-d")));
	assert_false(omap_seek_prefix(&m, &c, STR("ns-aa")));
	omap_release(&m);
}

static void sorted_loading_fills_the_nodes(void **state)
{
	char *keys = make_keys(10000);
	struct omap m;

	omap_init(&m);
	for (size_t i = 0; i < 10000; i++)
		omap_put(&m, key_of(keys, i), keys);
	check_tree(&m);
	assert_true(count_nodes(&m) * sizeof(struct omap_node) <= 10000 * 21);
	omap_release(&m);
	free(keys);
}

static void unsorted_loading_keeps_within_the_memory_bound(void **state)
{
	enum { N = 20000 };
	char *keys = make_keys(N);
	struct prng g;
	struct omap m;

	prng_init(&g, 3);
	omap_init(&m);
	while (m.n < N / 2)
		omap_put(&m, key_of(keys, prng_below(&g, N)), keys);
	check_tree(&m);
	assert_true(count_nodes(&m) * sizeof(struct omap_node) <= N / 2 * 32);
	omap_release(&m);
	free(keys);
}

static void removing_all_in_any_direction_leaves_nothing(void **state)
{
	char *keys = make_keys(KEYS);
	struct omap m;

	omap_init(&m);
	for (int way = 0; way < 3; way++) {
		for (size_t i = 0; i < KEYS; i++)
			omap_put(&m, key_of(keys, i), keys);
		for (size_t i = 0; i < KEYS; i++) {
			size_t at = way == 0 ? i : way == 1 ? KEYS - 1 - i : i * 1501 % KEYS;

			assert_ptr_equal(omap_remove(&m, key_of(keys, at)), keys);
			if (i % 97 == 0)
				check_tree(&m);
		}
		assert_null(m.root);
		check_tree(&m);
	}
	free(keys);
}

static void thinning_out_gives_memory_back(void **state)
{
	char *keys = make_keys(KEYS);
	size_t full;
	struct omap m;

	omap_init(&m);
	for (size_t i = 0; i < KEYS; i++)
		omap_put(&m, key_of(keys, i), keys);
	full = count_nodes(&m);
	for (size_t i = 0; i < KEYS; i++)
		if (i % 10)
			omap_remove(&m, key_of(keys, i));
	check_tree(&m);
	assert_true(count_nodes(&m) <= full / 10 * 3);
	omap_release(&m);
	free(keys);
}

/* The sorted array is `model`: an entry per possible key, in key order. */
struct random_run {
	struct omap map;
	struct prng g;
	char *keys[KEYS];
	bool there[KEYS];
};

static size_t model_at_or_after(const struct random_run *r, size_t i)
{
	while (i < KEYS && !r->there[i])
		i++;
	return i;
}

static void check_seeks(const struct random_run *r, size_t i)
{
	struct str key = str_from(r->keys[i]);
	size_t from = model_at_or_after(r, i), after = model_at_or_after(r, i + 1);
	struct omap_cursor c;

	assert_int_equal(omap_seek(&r->map, &c, key), from < KEYS);
	if (from < KEYS)
		assert_ptr_equal(omap_value(&c), r->keys[from]);
	assert_int_equal(omap_seek_after(&r->map, &c, key), after < KEYS);
	if (after < KEYS)
		assert_ptr_equal(omap_value(&c), r->keys[after]);
}

static void check_walks(const struct random_run *r)
{
	struct omap_cursor c;
	size_t i = model_at_or_after(r, 0), n = 0;

	for (bool ok = omap_first(&r->map, &c); ok; ok = omap_next(&c), n++) {
		assert_ptr_equal(omap_value(&c), r->keys[i]);
		i = model_at_or_after(r, i + 1);
	}
	assert_int_equal(i, KEYS);
	assert_int_equal(n, r->map.n);
	for (bool ok = omap_last(&r->map, &c); ok; ok = omap_prev(&c))
		n--;
	assert_int_equal(n, 0);
}

/*
 * Each put brings fresh key bytes and each removal frees them, so a key that
 * the tree still borrows after its entry is gone is a use after free.
 */
static void random_step(struct random_run *r, bool put)
{
	size_t i = prng_below(&r->g, KEYS);
	char *old = r->keys[i], *fresh = xstrdup(old);
	void *expected = r->there[i] ? old : NULL;

	assert_ptr_equal(omap_get(&r->map, str_from(fresh)), expected);
	if (put)
		assert_ptr_equal(omap_put(&r->map, str_from(fresh), fresh), expected);
	else
		assert_ptr_equal(omap_remove(&r->map, str_from(fresh)), expected);
	r->there[i] = put;
	r->keys[i] = fresh;
	free(old);
}

static void random_changes_agree_with_a_sorted_array(void **state)
{
	enum { STEPS = 400000 };
	struct random_run *r = xcalloc(1, sizeof(*r));
	char *keys = make_keys(KEYS);

	prng_init(&r->g, 21);
	omap_init(&r->map);
	for (size_t i = 0; i < KEYS; i++)
		r->keys[i] = str_dup(key_of(keys, i));
	for (int step = 0; step < STEPS; step++) {
		/* The set breathes between a few entries and nearly all keys. */
		unsigned puts = step / 40000 % 2 ? 5 : 80;

		random_step(r, prng_below(&r->g, 100) < puts);
		if (step % 16 == 0)
			check_seeks(r, prng_below(&r->g, KEYS));
		if (step % 1000 == 0) {
			check_tree(&r->map);
			check_walks(r);
		}
	}
	check_tree(&r->map);
	omap_release(&r->map);
	for (size_t i = 0; i < KEYS; i++)
		free(r->keys[i]);
	free(keys);
	free(r);
}

static void a_walk_that_removes_resumes_after_the_last_key(void **state)
{
	char *keys = make_keys(KEYS);
	struct str last = STR_NULL;
	struct omap_cursor c;
	struct omap m;
	size_t n = 0;

	omap_init(&m);
	for (size_t i = 0; i < KEYS; i++)
		omap_put(&m, key_of(keys, i), keys);
	while (omap_seek_after(&m, &c, last)) {
		last = omap_key(&c);
		assert_true(str_eq(last, key_of(keys, n)));
		if (n++ % 2)
			omap_remove(&m, last);
	}
	assert_int_equal(n, KEYS);
	assert_int_equal(m.n, KEYS / 2);
	omap_release(&m);
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_no_entries),
		cmocka_unit_test(put_returns_what_was_there_and_borrows_the_new_key),
		cmocka_unit_test(keys_come_in_byte_order),
		cmocka_unit_test(cursors_turn_round_at_both_ends),
		cmocka_unit_test(a_prefix_yields_its_entries_and_no_others),
		cmocka_unit_test(sorted_loading_fills_the_nodes),
		cmocka_unit_test(unsorted_loading_keeps_within_the_memory_bound),
		cmocka_unit_test(removing_all_in_any_direction_leaves_nothing),
		cmocka_unit_test(thinning_out_gives_memory_back),
		cmocka_unit_test(random_changes_agree_with_a_sorted_array),
		cmocka_unit_test(a_walk_that_removes_resumes_after_the_last_key),
	};

	return cmocka_run_group_tests_name("base/omap", tests, NULL, NULL);
}
