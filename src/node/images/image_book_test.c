#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "node/images/image_book.h"

enum { MINUTE = 60000 };

static const struct image_policy policy = { .high_percent = 85,
					    .low_percent = 80,
					    .min_age_ms = 2 * MINUTE };

/* Looks at images a, b, .. of the text; `used` names those of containers. 'P' is pinned. */
static void look(struct image_book *b, const char *images, const char *used, int64_t minute)
{
	static const struct str digests[] = { { "repo@sha256:1", 13 } };
	struct runtime_image_info v[16];
	struct runtime_container c[16];
	struct runtime_pod pod = { .containers = c };
	struct runtime_pods pods = { &pod, 1 };
	size_t n = 0;

	for (; images[n]; n++)
		v[n] = (struct runtime_image_info){ .id = str_of(&images[n], 1),
						    .names = digests,
						    .nnames = images[n] == 'd',
						    .size = 100,
						    .pinned = images[n] == 'P' };
	for (; used[pod.ncontainers]; pod.ncontainers++) {
		struct str name = str_of(&used[pod.ncontainers], 1);

		/* The image d is named by its digest. */
		c[pod.ncontainers] = (struct runtime_container){
			.image_id = name.p[0] == 'd' ? digests[0] : name, .state = RUNTIME_EXITED
		};
	}
	image_book_look(b, v, n, &pods, minute * MINUTE);
}

static void expect(const struct image_book *b, const struct image_policy *p, int64_t minute,
		   const char *want)
{
	struct image_choice *v;
	char got[32] = "";
	struct arena a;
	size_t n;

	arena_init(&a, MIB);
	n = image_book_choose(b, p, 0, minute * MINUTE, &a, &v);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(got);

		(void)snprintf(got + len, sizeof(got) - len, "%.*s%s", STR_ARG(v[i].id),
			       v[i].aged ? "!" : "");
	}
	assert_string_equal(got, want);
	arena_release(&a);
}

static void the_image_unused_for_longest_goes_first(void **state)
{
	struct image_book *b = image_book_new();

	(void)state;
	look(b, "ab", "a", 0);
	look(b, "abc", "b", 1);
	expect(b, &policy, 1, ""); /* b in use, a and c too new */
	look(b, "abcde", "", 10);
	expect(b, &policy, 10, "cab"); /* d and e are new; c was never used */
	expect(b, &policy, 12, "cdeab");
	image_book_free(b);
}

static void images_in_use_and_pinned_ones_stay(void **state)
{
	struct image_book *b = image_book_new();

	(void)state;
	look(b, "aPd", "", 0);
	look(b, "aPd", "d", 60);
	expect(b, &policy, 60, "a");
	look(b, "aPd", "ad", 61);
	expect(b, &policy, 61, "");
	image_book_free(b);
}

static void an_image_that_came_back_is_new(void **state)
{
	struct image_book *b = image_book_new();

	(void)state;
	look(b, "a", "", 0);
	look(b, "", "", 5);
	look(b, "a", "", 6);
	expect(b, &policy, 7, "");
	expect(b, &policy, 8, "a");
	image_book_free(b);
}

static void the_maximum_age_removes_without_pressure(void **state)
{
	struct image_policy p = { .min_age_ms = 2 * MINUTE, .max_age_ms = 60 * MINUTE };
	struct image_book *b = image_book_new();

	(void)state;
	look(b, "ab", "b", 0);
	look(b, "ab", "b", 30);
	look(b, "ab", "", 61);
	expect(b, &p, 60, "ab");
	expect(b, &p, 61, "a!b");
	expect(b, &p, 91, "a!b!");
	image_book_free(b);
}

static void the_excess_is_above_the_low_threshold(void **state)
{
	static const struct {
		int64_t capacity, available, excess;
		int percent;
	} cases[] = {
		{ 1000, 500, 0, 50 },
		{ 1000, 160, 0, 84 },
		{ 1000, 151, 49, 85 }, /* upstream's rounding */
		{ 1000, 150, 50, 85 },
		{ 1000, 0, 200, 100 },
		{ 1000, 2000, 0, 0 },
		{ 1000, -5, 200, 100 },
		{ 0, 0, -1, 0 },
		{ -1, 0, -1, 0 },
		{ INT64_MAX, 0, INT64_MAX / 100 * 20 + 1, 100 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int percent;
		int64_t got = image_book_excess(&policy, cases[i].capacity, cases[i].available,
						&percent);

		if (percent != cases[i].percent || got != cases[i].excess)
			fail_msg("case %zu: %lld, %d", i, (long long)got, percent);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_image_unused_for_longest_goes_first),
		cmocka_unit_test(images_in_use_and_pinned_ones_stay),
		cmocka_unit_test(an_image_that_came_back_is_new),
		cmocka_unit_test(the_maximum_age_removes_without_pressure),
		cmocka_unit_test(the_excess_is_above_the_low_threshold),
	};

	return cmocka_run_group_tests_name("node/image_book", tests, NULL, NULL);
}
