/*
 * Includes map.c to see the slots: after every change of the random test the
 * table must be in Robin Hood order, reachable and counted.
 */
#include "map.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"

static void the_hash_matches_the_published_vectors(void **state)
{
	/* Key and message of the SipHash paper, appendix A: bytes 00, 01, 02 ... */
	const uint64_t k0 = UINT64_C(0x0706050403020100), k1 = UINT64_C(0x0f0e0d0c0b0a0908);
	char message[15];

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (char)i;
	assert_int_equal(sip_hash(str_of(message, 15), k0, k1, 2, 4), 0xa129ca6149be45e5);
	assert_int_equal(sip_hash(STR_NULL, k0, k1, 2, 4), 0x726fdb47dd0e0e31);
}

static void the_hash_with_fewer_rounds_agrees_with_another_implementation(void **state)
{
	/* CPython 3.11 hashes bytes by SipHash-1-3, with a zero key for PYTHONHASHSEED=0. */
	assert_int_equal(sip_hash(STR("a"), 0, 0, 1, 3), 0x407448d2b89b1813);
	assert_int_equal(sip_hash(STR("abcdefg"), 0, 0, 1, 3), 0x6db12aae9070f506);
	assert_int_equal(sip_hash(STR("abcdefgh"), 0, 0, 1, 3), 0x3f7b849c0b8e35ea);
	assert_int_equal(sip_hash(STR("abcdefghi"), 0, 0, 1, 3), 0xf89b34a3d11eb6e5);
	assert_int_equal(sip_hash(STR("resource.k8s.io/v1/resourceclaims"), 0, 0, 1, 3),
			 0x64f99bfd09e9dda2);
}

static void the_hash_depends_on_seed_and_length(void **state)
{
	assert_true(hash_bytes(STR("pods"), 1) != hash_bytes(STR("pods"), 2));
	assert_true(hash_bytes(STR("\0"), 1) != hash_bytes(STR("\0\0"), 1));
	assert_int_equal(hash_bytes(STR("pods"), 1), hash_bytes(str_of("podsX", 4), 1));
	assert_int_equal(hash_process_seed(), hash_process_seed());
}

static void an_empty_map_has_nothing(void **state)
{
	struct str key;
	struct map m;
	size_t at = 0;
	void *value;

	map_init(&m);
	assert_null(map_get(&m, STR("a")));
	assert_null(map_remove(&m, STR("a")));
	assert_false(map_next(&m, &at, &key, &value));
	map_clear(&m);
	map_release(&m);
}

static void put_returns_what_was_there_and_borrows_the_new_key(void **state)
{
	char old_key[] = "node-1", new_key[] = "node-1";
	struct map m;
	int a, b;

	map_init(&m);
	assert_null(map_put(&m, str_from(old_key), &a));
	assert_ptr_equal(map_put(&m, str_from(new_key), &b), &a);
	memset(old_key, 'x', sizeof(old_key) - 1); /* the old value's key is gone */
	assert_ptr_equal(map_get(&m, STR("node-1")), &b);
	assert_int_equal(m.n, 1);
	map_release(&m);
}

static void the_empty_key_and_keys_with_nul_are_keys(void **state)
{
	struct map m;
	int a, b, c;

	map_init(&m);
	assert_null(map_put(&m, STR_NULL, &a));
	assert_null(map_put(&m, STR("\0"), &b));
	assert_null(map_put(&m, STR("\0\0"), &c));
	assert_ptr_equal(map_get(&m, STR("")), &a);
	assert_ptr_equal(map_get(&m, STR("\0")), &b);
	assert_ptr_equal(map_remove(&m, STR("\0\0")), &c);
	assert_null(map_get(&m, STR("\0\0")));
	map_release(&m);
}

static void a_cleared_map_is_empty_and_keeps_its_memory(void **state)
{
	struct map_slot *slots;
	struct map m;
	int a;

	map_init(&m);
	map_reserve(&m, 100);
	slots = m.slots;
	map_put(&m, STR("a"), &a);
	map_clear(&m);
	assert_int_equal(m.n, 0);
	assert_null(map_get(&m, STR("a")));
	assert_ptr_equal(m.slots, slots);
	map_release(&m);
}

static void reserved_room_is_enough_and_the_load_stays_below_seven_eighths(void **state)
{
	char keys[1000][8];
	struct map_slot *slots;
	struct map m;

	map_init(&m);
	map_reserve(&m, 1000);
	slots = m.slots;
	for (size_t i = 0; i < 1000; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "%zu", i);
		map_put(&m, str_from(keys[i]), keys[i]);
		assert_true(m.n <= (m.mask + 1) / 8 * 7);
	}
	assert_ptr_equal(m.slots, slots);
	map_release(&m);
}

/* The order in which a map with that seed yields the ten digits. */
static void digits_in_order(uint64_t seed, char order[static 11])
{
	static const char digits[] = "0123456789";
	struct str key;
	size_t at = 0;
	struct map m;
	void *value;

	map_init_seeded(&m, seed);
	for (size_t i = 0; i < 10; i++)
		map_put(&m, str_of(&digits[i], 1), &m);
	while (map_next(&m, &at, &key, &value))
		*order++ = *key.p;
	*order = '\0';
	map_release(&m);
}

static void the_seed_decides_the_order_of_iteration(void **state)
{
	char a[11], b[11], c[11];

	digits_in_order(5, a);
	digits_in_order(5, b);
	digits_in_order(6, c);
	assert_int_equal(strlen(a), 10);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
}

enum { KEYS = 1500, STEPS = 300000 };

static void check_order(const struct map *m)
{
	uint32_t n = 0;

	for (uint32_t at = 0; m->slots && at <= m->mask; at++) {
		uint32_t before = (at - 1) & m->mask;

		if (!m->slots[at].hash)
			continue;
		n++;
		if (distance(m, at) == 0)
			continue;
		assert_true(m->slots[before].hash != 0);
		assert_true(distance(m, at) <= distance(m, before) + 1);
	}
	assert_int_equal(n, m->n);
}

static void check_iteration(const struct map *m, char *const *model)
{
	struct str key;
	size_t at = 0, n = 0;
	void *value;

	while (map_next(m, &at, &key, &value)) {
		assert_ptr_equal(model[strtoul(key.p + 1, NULL, 10)], value);
		n++;
	}
	assert_int_equal(n, m->n);
}

static void random_changes_agree_with_a_plain_array(void **state)
{
	static char keys[KEYS][12];
	char *model[KEYS] = { 0 };
	struct prng g;
	struct map m;

	prng_init(&g, 11);
	map_init_seeded(&m, 12);
	for (int i = 0; i < KEYS; i++)
		(void)snprintf(keys[i], sizeof(keys[i]), "k%d", i);
	for (int step = 0; step < STEPS; step++) {
		/* The set breathes: puts win for a while, then removals. */
		bool put = prng_below(&g, 100) < (step / 20000 % 2 ? 30 : 70);
		size_t i = prng_below(&g, KEYS);
		struct str key = str_from(keys[i]);

		assert_ptr_equal(map_get(&m, key), model[i]);
		if (put)
			assert_ptr_equal(map_put(&m, key, keys[i]), model[i]);
		else
			assert_ptr_equal(map_remove(&m, key), model[i]);
		model[i] = put ? keys[i] : NULL;
		if (step % 500 == 0) {
			check_order(&m);
			check_iteration(&m, model);
		}
	}
	check_order(&m);
	map_release(&m);
}

/* Under AddressSanitizer a value that is not freed, or freed twice, fails the test. */
static void values_are_freed_with_the_map(void **state)
{
	struct map m;

	map_init(&m);
	for (int i = 0; i < 100; i++) {
		char *value = xmalloc(16);

		(void)snprintf(value, 16, "key %d", i);
		assert_null(map_put(&m, str_from(value), value));
	}
	map_free_values(&m);
	assert_int_equal(m.n, 0);
	assert_null(map_get(&m, STR("key 1")));
	assert_null(map_put(&m, STR("key 1"), &m));
	map_release(&m);
}

static void colliding_hashes_are_told_apart_by_key(void **state)
{
	struct map_slot twin;
	struct map m;
	int a, b;

	map_init_seeded(&m, 1);
	map_put(&m, STR("one"), &a);
	twin = (struct map_slot){ .key = "two", .len = 3, .value = &b };
	twin.hash = hash_of(&m, STR("one"));
	map_insert(&m, map_place(&m, twin.hash), twin);
	assert_ptr_equal(map_get(&m, STR("one")), &a);
	assert_ptr_equal(map_remove(&m, STR("one")), &a);
	assert_null(map_get(&m, STR("one")));
	assert_int_equal(m.n, 1);
	check_order(&m);
	map_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_matches_the_published_vectors),
		cmocka_unit_test(the_hash_with_fewer_rounds_agrees_with_another_implementation),
		cmocka_unit_test(the_hash_depends_on_seed_and_length),
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(put_returns_what_was_there_and_borrows_the_new_key),
		cmocka_unit_test(the_empty_key_and_keys_with_nul_are_keys),
		cmocka_unit_test(a_cleared_map_is_empty_and_keeps_its_memory),
		cmocka_unit_test(reserved_room_is_enough_and_the_load_stays_below_seven_eighths),
		cmocka_unit_test(the_seed_decides_the_order_of_iteration),
		cmocka_unit_test(random_changes_agree_with_a_plain_array),
		cmocka_unit_test(values_are_freed_with_the_map),
		cmocka_unit_test(colliding_hashes_are_told_apart_by_key),
	};

	return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
