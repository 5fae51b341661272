/*
 * Text forms and version bits; randomness itself is random_test's matter.
 */
#include "base/system/uuid.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/random.h"

static void a_new_uuid_is_version_4_in_lower_case(void **state)
{
	char text[UUID_TEXT_SIZE];
	struct uuid u;

	for (int i = 0; i < 100; i++) {
		uuid_make(&u);
		assert_int_equal(uuid_print(&u, text).n, 36);
		assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
		assert_int_equal(text[14], '4');
		assert_non_null(strchr("89ab", text[19]));
	}
}

static void two_uuids_differ_but_not_from_one_seed(void **state)
{
	struct uuid a, b;
	struct prng g;

	uuid_make(&a);
	uuid_make(&b);
	assert_memory_not_equal(&a, &b, sizeof(a));
	prng_init(&g, 1);
	uuid_make_seeded(&a, &g);
	prng_init(&g, 1);
	uuid_make_seeded(&b, &g);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void text_is_read_in_either_case_and_written_in_lower(void **state)
{
	char text[UUID_TEXT_SIZE];
	struct uuid u;

	assert_true(uuid_parse(STR("F81D4FAE-7dec-11D0-a765-00A0C91E6BF6"), &u));
	assert_int_equal(u.bytes[0], 0xf8);
	assert_int_equal(u.bytes[15], 0xf6);
	(void)uuid_print(&u, text);
	assert_string_equal(text, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
}

static void other_forms_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf67",
		"f81d4fae7dec11d0a76500a0c91e6bf6",
		"{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
		"f81d4fae-7dec-11d0-a765+00a0c91e6bf6",
		"f81d4fa-e7dec-11d0-a765-00a0c91e6bf6",
		"f81d4fae-7dec-11d0-a765-00a0c91e 6b6",
	};
	struct uuid u = { .bytes = { 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(uuid_parse(str_from(bad[i]), &u));
	assert_int_equal(u.bytes[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_uuid_is_version_4_in_lower_case),
		cmocka_unit_test(two_uuids_differ_but_not_from_one_seed),
		cmocka_unit_test(text_is_read_in_either_case_and_written_in_lower),
		cmocka_unit_test(other_forms_are_refused),
	};

	return cmocka_run_group_tests_name("base/uuid", tests, NULL, NULL);
}
