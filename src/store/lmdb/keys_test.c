/*
 * The layout of keys and values in the tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/lmdb/keys.h"

static struct lmdb_key make(uint32_t id, const char *ns, const char *name)
{
	struct lmdb_key k;

	assert_true(lmdb_key_make(&k, id, str_from(ns), str_from(name)));
	return k;
}

static void keys_come_apart_as_they_were_put_together(void **state UNUSED)
{
	struct lmdb_key k = make(0x01020304, "ns", "name");
	struct str ns, name, key;
	int64_t revision;
	uint32_t id;

	assert_true(lmdb_key_parse(lmdb_key_str(&k), &id, &ns, &name));
	assert_int_equal(id, 0x01020304);
	assert_true(str_eqz(ns, "ns") && str_eqz(name, "name"));
	lmdb_key_add_revision(&k, 77);
	assert_true(lmdb_key_split(lmdb_key_str(&k), &key, &revision));
	assert_int_equal(revision, 77);
	assert_int_equal(key.n, k.n - LMDB_NUMBER);
}

static void keys_are_ordered_by_resource_namespace_name_and_revision(void **state UNUSED)
{
	struct lmdb_key k[] = { make(1, "", "z"),    make(1, "a", "x"),  make(1, "a", "xy"),
				make(1, "a-b", "a"), make(1, "ab", "a"), make(2, "", "a"),
				make(256, "", "a") };
	struct lmdb_key last, first;

	for (size_t i = 1; i < ARRAY_SIZE(k); i++) {
		assert_true(str_cmp(lmdb_key_str(&k[i - 1]), lmdb_key_str(&k[i])) < 0);
		last = k[i - 1];
		first = k[i];
		lmdb_key_add_revision(&last, LMDB_REVISION_MAX);
		lmdb_key_add_revision(&first, 1);
		assert_true(str_cmp(lmdb_key_str(&last), lmdb_key_str(&first)) < 0);
	}
	first = k[0];
	last = k[0];
	lmdb_key_add_revision(&first, 255);
	lmdb_key_add_revision(&last, 256);
	assert_true(str_cmp(lmdb_key_str(&first), lmdb_key_str(&last)) < 0);
}

static void keys_that_cannot_be_stored_are_refused(void **state UNUSED)
{
	struct lmdb_key k;
	char longest[LMDB_KEY_MAX];

	memset(longest, 'a', sizeof(longest));
	assert_false(lmdb_key_make(&k, 1, STR("ns"), STR("")));
	assert_false(lmdb_key_make(&k, 1, STR("n\0s"), STR("a")));
	assert_false(lmdb_key_make(&k, 1, STR("ns"), STR("a\0")));
	assert_true(lmdb_key_make(&k, 1, str_of(longest, 63), str_of(longest, 253)));
	assert_true(lmdb_key_make(&k, 1, STR_NULL, str_of(longest, 511 - 4 - 1 - 8)));
	assert_false(lmdb_key_make(&k, 1, STR_NULL, str_of(longest, 511 - 4 - 1 - 8 + 1)));
	assert_false(lmdb_key_prefix(&k, 1, str_of(longest, 511)));
}

static void damaged_entries_are_not_taken_for_good_ones(void **state UNUSED)
{
	struct lmdb_change c = { .revision = 5,
				 .time_ms = 9,
				 .prev = 4,
				 .deleted = true,
				 .key = STR("\0\0\0\1ns\0name") },
			   got;
	char revision[LMDB_NUMBER], value[64];
	struct str bytes, ns, name;
	int64_t number;
	uint32_t id;

	lmdb_number_put(revision, 5);
	lmdb_change_put(value, &c);
	assert_true(
		lmdb_change_parse(str_of(revision, 8), str_of(value, lmdb_change_size(&c)), &got));
	assert_true(got.revision == 5 && got.time_ms == 9 && got.prev == 4 && got.deleted);
	assert_true(str_eq(got.key, c.key));
	assert_false(lmdb_change_parse(str_of(revision, 7), str_of(value, 30), &got));
	assert_false(lmdb_change_parse(str_of(revision, 8), str_of(value, 17), &got));
	value[16] = 3;
	assert_false(lmdb_change_parse(str_of(revision, 8), str_of(value, 30), &got));
	value[16] = 1;
	lmdb_number_put(value + 8, 5);
	assert_false(lmdb_change_parse(str_of(revision, 8), str_of(value, 30), &got));
	assert_false(lmdb_value_split(STR("1234567"), &number, &bytes));
	assert_false(lmdb_value_split(STR("\0\0\0\0\0\0\0\0x"), &number, &bytes));
	assert_false(lmdb_key_parse(STR("\0\0\0\1ns"), &id, &ns, &name));
	assert_false(lmdb_key_parse(STR("\0\0\0\1ns\0"), &id, &ns, &name));
	assert_false(lmdb_key_parse(STR("\0\0"), &id, &ns, &name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_apart_as_they_were_put_together),
		cmocka_unit_test(keys_are_ordered_by_resource_namespace_name_and_revision),
		cmocka_unit_test(keys_that_cannot_be_stored_are_refused),
		cmocka_unit_test(damaged_entries_are_not_taken_for_good_ones),
	};

	return cmocka_run_group_tests_name("store/lmdb_keys", tests, NULL, NULL);
}
