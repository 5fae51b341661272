/*
 * The texts are Go's and kubectl's own for the same values.
 */
#include "base/time/duration.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/random.h"

#define S      CLOCK_SEC
#define MINUTE (60 * S)
#define H      (60 * MINUTE)
#define D      (24 * H)
#define Y      (365 * D)

struct row {
	int64_t ns;
	const char *text;
};

static void check(struct str (*print)(int64_t, char *), const struct row *rows, size_t n)
{
	char out[DURATION_SIZE];

	for (size_t i = 0; i < n; i++) {
		struct str s = print(rows[i].ns, out);

		assert_string_equal(s.p, rows[i].text);
		assert_int_equal(s.n, strlen(rows[i].text));
	}
}

static void durations_print_as_go_prints_them(void **state)
{
	static const struct row rows[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 1100, "1.1\xc2\xb5s" },
		{ 2200000, "2.2ms" },
		{ 300000000, "300ms" },
		{ 1500000000, "1.5s" },
		{ 3300000000, "3.3s" },
		{ 4 * MINUTE + 5 * S, "4m5s" },
		{ 4 * MINUTE + 5001000000, "4m5.001s" },
		{ 5 * H + 6 * MINUTE + 7001000000, "5h6m7.001s" },
		{ 8 * MINUTE + 1, "8m0.000000001s" },
		{ 2 * MINUTE, "2m0s" },
		{ H + 30 * MINUTE, "1h30m0s" },
		{ 100 * H, "100h0m0s" },
		{ -S, "-1s" },
		{ -1, "-1ns" },
		{ INT64_MAX, "2562047h47m16.854775807s" },
		{ INT64_MIN, "-2562047h47m16.854775808s" },
	};

	check(duration_print, rows, ARRAY_SIZE(rows));
}

static void ages_print_as_kubectl_prints_them(void **state)
{
	static const struct row rows[] = {
		{ -2 * S, "<invalid>" },
		{ -2 * S + 1, "0s" },
		{ 0, "0s" },
		{ S - 1, "0s" },
		{ 5 * S, "5s" },
		{ 2 * MINUTE - 1, "119s" },
		{ 2 * MINUTE, "2m" },
		{ 3 * MINUTE + 20 * S, "3m20s" },
		{ 10 * MINUTE - 1, "9m59s" },
		{ 10 * MINUTE + S, "10m" },
		{ 3 * H - 1, "179m" },
		{ 3 * H, "3h" },
		{ 3 * H + MINUTE, "3h1m" },
		{ 8 * H - 1, "7h59m" },
		{ 8 * H + 59 * MINUTE, "8h" },
		{ 2 * D - 1, "47h" },
		{ 2 * D, "2d" },
		{ 2 * D + 3 * H, "2d3h" },
		{ 8 * D - 1, "7d23h" },
		{ 8 * D + 23 * H, "8d" },
		{ 2 * Y - 1, "729d" },
		{ 2 * Y, "2y" },
		{ 2 * Y + D - 1, "2y" },
		{ 2 * Y + D, "2y1d" },
		{ 8 * Y - 1, "7y364d" },
		{ 8 * Y + 364 * D, "8y" },
		{ INT64_MAX, "292y" },
		{ INT64_MIN, "<invalid>" },
	};

	check(duration_print_age, rows, ARRAY_SIZE(rows));
}

static void durations_that_go_accepts_are_accepted(void **state)
{
	static const struct row rows[] = {
		{ 0, "0" },
		{ 0, "-0" },
		{ 0, "+0" },
		{ 5 * S, "5s" },
		{ 30 * S, "30s" },
		{ 1478 * S, "1478s" },
		{ -5 * S, "-5s" },
		{ 5 * S, "+5s" },
		{ 5600000000, "5.6s" },
		{ 5 * S, "5.s" },
		{ 500000000, ".5s" },
		{ 1004000000, "1.00400s" },
		{ 100001000000, "100.00100s" },
		{ 10, "10ns" },
		{ 11000, "11us" },
		{ 12000, "12\xc2\xb5s" },
		{ 12000, "12\xce\xbcs" },
		{ 13000000, "13ms" },
		{ 15 * MINUTE, "15m" },
		{ 16 * H, "16h" },
		{ 3 * H + 30 * MINUTE, "3h30m" },
		{ 4 * MINUTE + 10500000000, "10.5s4m" },
		{ -(2 * MINUTE + 3400000000), "-2m3.4s" },
		{ 39 * H + 9 * MINUTE + 14425000000, "39h9m14.425s" },
		{ 52763797000, "52763797000ns" },
		{ 20 * MINUTE, "0.3333333333333333333h" },
		{ 200000000, "0.20000000000000000000s" },
		{ S, "0.99999999999999999999999999999s" },
		{ INT64_MAX, "9223372036854775807ns" },
		{ INT64_MAX, "9223372036854775.807us" },
		{ INT64_MIN, "-9223372036854775808ns" },
		{ INT64_MIN, "-2562047h47m16.854775808s" },
		{ 6 * MINUTE, "0.100000000000000000000h" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 7;

		if (duration_parse(str_from(rows[i].text), &ns, NULL) != 0)
			fail_msg("%s is refused", rows[i].text);
		assert_int_equal(ns, rows[i].ns);
	}
}

static void durations_that_go_rejects_are_rejected(void **state)
{
	static const char *const bad[] = {
		"",
		"3",
		"-",
		"s",
		".",
		"-.",
		".s",
		"+.s",
		"1d",
		"\x85\x85",
		"1 s",
		" 1s",
		"1s ",
		"1S",
		"--1s",
		"1h-2m",
		"1..5s",
		"1.5.s",
		"0x1s",
		"9223372036854775808ns",
		"9223372036854775.808us",
		"9223372036854ms775us808ns",
		"-9223372036854775809ns",
		"18446744073709551616s",
		"3000000h",
		"99999999999999999999999s",
		"9223372036854775807ns9223372036854775807ns9223372036854775807ns",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int64_t ns = 7;

		if (duration_parse(str_from(bad[i]), &ns, NULL) != -ERR_BAD_REQUEST)
			fail_msg("%s is accepted", bad[i]);
		assert_int_equal(ns, 7);
	}
}

static void printed_durations_read_back(void **state)
{
	char out[DURATION_SIZE];
	struct prng g;

	prng_init(&g, 6);
	for (int i = 0; i < 20000; i++) {
		/* All magnitudes, not mostly the largest. */
		int64_t ns = (int64_t)prng_u64(&g) >> prng_below(&g, 64), back = 0;

		assert_int_equal(duration_parse(duration_print(ns, out), &back, NULL), 0);
		assert_int_equal(back, ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_print_as_go_prints_them),
		cmocka_unit_test(ages_print_as_kubectl_prints_them),
		cmocka_unit_test(durations_that_go_accepts_are_accepted),
		cmocka_unit_test(durations_that_go_rejects_are_rejected),
		cmocka_unit_test(printed_durations_read_back),
	};

	return cmocka_run_group_tests_name("base/duration", tests, NULL, NULL);
}
