/*
 * Statistical bounds are wide enough to fail about never by chance (beyond
 * eight standard deviations) and still catch a wrong constant or a bias.
 */
#include "base/core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/compiler.h"

static void the_prng_reproduces_the_published_sequence(void **state)
{
	/* xoshiro256** from the state 1, 2, 3, 4: the first outputs by hand. */
	struct prng g = { .s = { 1, 2, 3, 4 } };

	assert_int_equal(prng_u64(&g), 11520);
	assert_int_equal(prng_u64(&g), 0);
	assert_int_equal(prng_u64(&g), 1509978240);
	assert_int_equal(prng_u64(&g), 1215971899390074240);
}

static void a_seed_is_spread_by_splitmix(void **state)
{
	struct prng g;

	prng_init(&g, 0);
	assert_int_equal(g.s[0], 0xe220a8397b1dcdaf);
	assert_int_equal(g.s[1], 0x6e789e6aa1b965f4);
}

static void equal_seeds_give_equal_numbers_and_others_do_not(void **state)
{
	struct prng a, b, c;
	int same = 0;

	prng_init(&a, 7);
	prng_init(&b, 7);
	prng_init(&c, 8);
	for (int i = 0; i < 100; i++) {
		uint64_t v = prng_u64(&a);

		assert_int_equal(v, prng_u64(&b));
		same += v == prng_u64(&c);
	}
	assert_int_equal(same, 0);
}

static void bounded_numbers_are_uniform_and_below_the_bound(void **state)
{
	enum { N = 7, DRAWS = 70000 };
	int seen[N] = { 0 };
	struct prng g;

	prng_init(&g, 1);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t v = prng_below(&g, N);

		assert_in_range(v, 0, N - 1);
		seen[v]++;
	}
	for (int i = 0; i < N; i++)
		assert_in_range(seen[i], DRAWS / N - 750, DRAWS / N + 750);
}

static void a_bound_of_two_thirds_of_the_range_has_no_bias(void **state)
{
	/* u64 % n would prefer the lower half, u64 * n >> 64 the odd numbers in it. */
	const uint64_t n = UINT64_MAX / 3 * 2;
	struct prng g;
	int low = 0, even = 0;

	prng_init(&g, 2);
	for (int i = 0; i < 40000; i++) {
		uint64_t v = prng_below(&g, n);

		low += v < n / 2;
		even += v < n / 2 && v % 2 == 0;
	}
	assert_in_range(low, 20000 - 800, 20000 + 800);
	assert_in_range(even, 10000 - 700, 10000 + 700);
}

static void a_bound_of_one_leaves_no_choice(void **state)
{
	struct prng g;

	prng_init(&g, 3);
	assert_int_equal(prng_below(&g, 1), 0);
	assert_int_equal(random_below(1), 0);
}

static void unit_numbers_stay_in_the_half_open_interval(void **state)
{
	struct prng g;
	double sum = 0;

	prng_init(&g, 4);
	for (int i = 0; i < 10000; i++) {
		double v = prng_unit(&g);

		assert_true(v >= 0 && v < 1);
		sum += v;
	}
	assert_true(sum > 4750 && sum < 5250);
}

static void bytes_fill_exactly_what_was_asked(void **state)
{
	unsigned char a[40], b[40];
	struct prng g;

	for (size_t n = 0; n <= 32; n++) {
		memset(a, 0xaa, sizeof(a));
		memset(b, 0xaa, sizeof(b));
		prng_init(&g, n);
		prng_bytes(&g, a, n);
		random_bytes(b, n);
		assert_int_equal(a[n], 0xaa);
		assert_int_equal(b[n], 0xaa);
	}
	assert_memory_not_equal(a, b, 32);
}

static void kernel_numbers_differ(void **state)
{
	uint64_t a = random_u64(), b = random_u64();

	assert_true(a != b);
	for (int i = 0; i < 1000; i++)
		assert_in_range(random_below(10), 0, 9);
}

static void a_forked_child_draws_other_numbers(void **state)
{
	uint64_t theirs, ours;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		theirs = random_u64();
		_exit(write(fds[1], &theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
	}
	(void)close(fds[1]);
	ours = random_u64();
	assert_int_equal(read(fds[0], &theirs, sizeof(theirs)), sizeof(theirs));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(ours != theirs);
	(void)close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_prng_reproduces_the_published_sequence),
		cmocka_unit_test(a_seed_is_spread_by_splitmix),
		cmocka_unit_test(equal_seeds_give_equal_numbers_and_others_do_not),
		cmocka_unit_test(bounded_numbers_are_uniform_and_below_the_bound),
		cmocka_unit_test(a_bound_of_two_thirds_of_the_range_has_no_bias),
		cmocka_unit_test(a_bound_of_one_leaves_no_choice),
		cmocka_unit_test(unit_numbers_stay_in_the_half_open_interval),
		cmocka_unit_test(bytes_fill_exactly_what_was_asked),
		cmocka_unit_test(kernel_numbers_differ),
		cmocka_unit_test(a_forked_child_draws_other_numbers),
	};

	return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
