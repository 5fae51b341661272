/*
 * Results of reviews, and how long they are valid.
 */
#include "client/reviews/review_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void an_answer_is_good_until_its_time(void **state)
{
	struct review_cache c;
	struct str text;
	bool yes;

	review_cache_init(&c);
	assert_false(review_cache_get(&c, STR("a"), 0, &yes, &text));
	review_cache_put(&c, STR("a"), true, STR("user"), 10);
	review_cache_put(&c, STR("b"), false, STR_NULL, 20);
	assert_true(review_cache_get(&c, STR("a"), 9, &yes, &text));
	assert_true(yes);
	assert_true(str_eqz(text, "user"));
	assert_false(review_cache_get(&c, STR("a"), 10, &yes, &text));
	assert_true(review_cache_get(&c, STR("b"), 10, &yes, &text));
	assert_false(yes);
	review_cache_release(&c);
}

static void a_new_answer_takes_the_place_of_the_old(void **state)
{
	struct review_cache c;
	struct str text;
	bool yes;

	review_cache_init(&c);
	review_cache_put(&c, STR("a"), true, STR("one"), 10);
	review_cache_put(&c, STR("a"), false, STR("two"), 30);
	assert_true(review_cache_get(&c, STR("a"), 20, &yes, &text));
	assert_false(yes);
	assert_true(str_eqz(text, "two"));
	review_cache_release(&c);
}

static void the_oldest_makes_room(void **state)
{
	struct review_cache c;
	struct str text;
	char key[16];
	bool yes;

	review_cache_init(&c);
	for (int i = 0; i <= REVIEW_CACHE_MAX; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		review_cache_put(&c, str_from(key), true, STR_NULL, 10);
	}
	assert_false(review_cache_get(&c, STR("0"), 0, &yes, &text));
	assert_true(review_cache_get(&c, STR("1"), 0, &yes, &text));
	assert_true(review_cache_get(&c, str_from(key), 0, &yes, &text));
	review_cache_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_good_until_its_time),
		cmocka_unit_test(a_new_answer_takes_the_place_of_the_old),
		cmocka_unit_test(the_oldest_makes_room),
	};

	return cmocka_run_group_tests_name("client/reviews_review_cache", tests, NULL, NULL);
}
