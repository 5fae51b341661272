#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/nearest.h"

static void distance_counts_each_kind_of_mistake_once(void **state)
{
	static const struct {
		const char *a, *b;
		size_t want;
	} cases[] = {
		{ "", "", 0 },
		{ "server", "server", 0 },
		{ "SERVER", "server", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "sevrer", "server", 1 }, /* swapped */
		{ "sever", "server", 1 }, /* lost */
		{ "servver", "server", 1 }, /* added */
		{ "servar", "server", 1 }, /* changed */
		{ "ca", "abc", 3 }, /* the restricted form: no edit inside a swap */
		{ "kitten", "sitting", 3 },
		{ "secure-prot", "secure-port", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str a = str_from(cases[i].a), b = str_from(cases[i].b);

		assert_int_equal(nearest_distance(a, b), cases[i].want);
		assert_int_equal(nearest_distance(b, a), cases[i].want);
	}
}

static void distance_of_an_overlong_word_is_infinite(void **state)
{
	char word[NEAREST_WORD_MAX + 1];

	memset(word, 'a', sizeof(word));
	assert_int_equal(nearest_distance(str_of(word, NEAREST_WORD_MAX), STR("")),
			 NEAREST_WORD_MAX);
	assert_true(nearest_distance(str_of(word, sizeof(word)), STR("a")) == SIZE_MAX);
	assert_true(nearest_distance(STR("a"), str_of(word, sizeof(word))) == SIZE_MAX);
}

static const char *nearest_of(const char *word)
{
	static const char *const commands[] = { "server", "controller", "scheduler", "node",
						"get",    "describe",   "version" };
	struct nearest n;

	nearest_init(&n, str_from(word));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		nearest_offer(&n, str_from(commands[i]));
	return nearest_get(&n).p;
}

static void nearest_names_what_was_meant(void **state)
{
	assert_string_equal(nearest_of("sevrer"), "server");
	assert_string_equal(nearest_of("Server"), "server");
	assert_string_equal(nearest_of("shceduler"), "scheduler");
	assert_string_equal(nearest_of("contoller"), "controller");
	assert_string_equal(nearest_of("gte"), "get");
	assert_string_equal(nearest_of("ndoe"), "node");
	assert_string_equal(nearest_of("versoin"), "version");
}

static void nearest_takes_an_abbreviation(void **state)
{
	assert_string_equal(nearest_of("sched"), "scheduler");
	assert_string_equal(nearest_of("desc"), "describe");
	assert_string_equal(nearest_of("ver"), "version");
}

static void nearest_is_silent_about_strangers(void **state)
{
	assert_null(nearest_of("frobnicate"));
	assert_null(nearest_of("xyz"));
	assert_null(nearest_of("q"));
	assert_null(nearest_of(""));
}

static void nearest_prefers_the_first_of_equals(void **state)
{
	struct nearest n;

	nearest_init(&n, STR("bat"));
	nearest_offer(&n, STR("cat"));
	nearest_offer(&n, STR("hat"));
	assert_string_equal(nearest_get(&n).p, "cat");
	nearest_offer(&n, STR("bat"));
	assert_string_equal(nearest_get(&n).p, "bat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_each_kind_of_mistake_once),
		cmocka_unit_test(distance_of_an_overlong_word_is_infinite),
		cmocka_unit_test(nearest_names_what_was_meant),
		cmocka_unit_test(nearest_takes_an_abbreviation),
		cmocka_unit_test(nearest_is_silent_about_strangers),
		cmocka_unit_test(nearest_prefers_the_first_of_equals),
	};

	return cmocka_run_group_tests_name("base/nearest", tests, NULL, NULL);
}
