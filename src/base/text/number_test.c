/*
 * Doubles: what they are printed as, what text is read as, and that the one
 * undoes the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/core/mem.h"
#include "base/text/number.h"

struct printed {
	double value;
	const char *json;
	const char *general;
};

static const struct printed printed[] = {
	{ 0.0, "0", "0" },
	{ -0.0, "-0", "-0" },
	{ 1.0, "1", "1" },
	{ -1.5, "-1.5", "-1.5" },
	{ 0.1, "0.1", "0.1" },
	{ 0.5, "0.5", "0.5" },
	{ 100.0, "100", "100" },
	{ 123456.0, "123456", "123456" },
	{ 1234567.0, "1234567", "1.234567e+06" },
	{ 1000000.5, "1000000.5", "1.0000005e+06" },
	{ 1e15, "1000000000000000", "1e+15" },
	{ 1e20, "100000000000000000000", "1e+20" },
	{ 1e21, "1e+21", "1e+21" },
	{ 1.5e300, "1.5e+300", "1.5e+300" },
	{ 0.001, "0.001", "0.001" },
	{ 0.0001, "0.0001", "0.0001" },
	{ 0.00001, "0.00001", "1e-05" },
	{ 0.000001, "0.000001", "1e-06" },
	{ 0.0000001, "1e-7", "1e-07" },
	{ -1.25e-10, "-1.25e-10", "-1.25e-10" },
	{ 0.1 + 0.2, "0.30000000000000004", "0.30000000000000004" },
	{ 1.0 / 3, "0.3333333333333333", "0.3333333333333333" },
	{ 2.0 / 3, "0.6666666666666666", "0.6666666666666666" },
	{ 9007199254740992.0, "9007199254740992", "9.007199254740992e+15" },
	{ 9223372036854775808.0, "9223372036854776000", "9.223372036854776e+18" },
	{ 18446744073709551616.0, "18446744073709552000", "1.8446744073709552e+19" },
	{ DBL_MAX, "1.7976931348623157e+308", "1.7976931348623157e+308" },
	{ DBL_MIN, "2.2250738585072014e-308", "2.2250738585072014e-308" },
	{ 5e-324, "5e-324", "5e-324" },
	{ 1e23, "1e+23", "1e+23" },
	{ 123456789012345680.0, "123456789012345680", "1.2345678901234568e+17" },
	{ 4.35, "4.35", "4.35" },
	{ 0.000035, "0.000035", "3.5e-05" },
	/* The nearest sixteen digits to 2^-44 do not read back, but the next ones do. */
	{ 0x1p-44, "5.684341886080802e-14", "5.684341886080802e-14" },
	{ 0x1p-1074, "5e-324", "5e-324" },
	{ 0x1.8p-1073, "1.5e-323", "1.5e-323" },
};

static void doubles_are_printed_as_upstream_does(void **state)
{
	struct json_digits digits;
	char text[JSON_NUMBER_MAX];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(printed); i++) {
		n = json_number_print(printed[i].value, text);
		if (!str_eqz(str_of(text, n), printed[i].json))
			fail_msg("%a: %.*s, expected %s", printed[i].value, (int)n, text,
				 printed[i].json);
		json_digits_f64(printed[i].value, &digits);
		n = json_digits_print_general(&digits, text);
		if (!str_eqz(str_of(text, n), printed[i].general))
			fail_msg("%a: %.*s, expected %s", printed[i].value, (int)n, text,
				 printed[i].general);
	}
}

struct parsed {
	const char *text;
	double value;
};

static const struct parsed parsed[] = {
	{ "0", 0.0 },
	{ "1", 1.0 },
	{ "+1", 1.0 },
	{ "-1.", -1.0 },
	{ ".5", 0.5 },
	{ "-.5e1", -5.0 },
	{ "1e22", 1e22 },
	{ "1e23", 1e23 },
	{ "9007199254740993", 9007199254740992.0 },
	{ "9007199254740993e-1", 900719925474099.3 },
	{ "123456789012345678901234567890", 123456789012345678901234567890.0 },
	{ "0.00000000000000000000000000000000000001", 1e-38 },
	{ "1e-22", 1e-22 },
	{ "1e-23", 1e-23 },
	{ "4.9406564584124654e-324", 5e-324 },
	{ "2.4703282292062327e-324", 0.0 },
	{ "2.4703282292062328e-324", 5e-324 },
	{ "1.7976931348623158e308", DBL_MAX },
	{ "179769313486231580793e288", DBL_MAX },
	{ "0.1e1", 1.0 },
	{ "100000000000000016777215", 1.0000000000000001e23 },
	{ "100000000000000016777216", 1.0000000000000003e23 },
	{ "1e-400", 0.0 },
	{ "0e999999999", 0.0 },
	{ "8.5e-1", 0.85 },
};

static void text_is_read_to_the_nearest_double(void **state)
{
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(parsed); i++) {
		assert_true(json_number_parse(str_from(parsed[i].text), &v));
		if (v != parsed[i].value)
			fail_msg("%s: %a, expected %a", parsed[i].text, v, parsed[i].value);
	}
}

static void a_number_that_is_too_large_is_rejected(void **state)
{
	double v = 7;

	assert_false(json_number_parse(STR("1e309"), &v));
	assert_false(json_number_parse(STR("-1.7976931348623159e308"), &v));
	assert_false(json_number_parse(STR("1e99999999999999999999"), &v));
	assert_true(v == 7);
}

/* Half way between 1 and the next double, then zeros, then perhaps a one far behind. */
static double tail_decides(size_t zeros, const char *tail)
{
	CLEANUP(free) char *text = xmalloc(zeros + 100);
	int n = snprintf(text, 100, "1.00000000000000011102230246251565404236316680908203125");
	double v = 0;

	memset(text + n, '0', zeros);
	memcpy(text + n + zeros, tail, strlen(tail));
	assert_true(json_number_parse(str_of(text, (size_t)n + zeros + strlen(tail)), &v));
	return v;
}

static void a_digit_far_behind_decides_the_rounding(void **state)
{
	assert_true(tail_decides(0, "") == 1.0);
	assert_true(tail_decides(600, "") == 1.0);
	assert_true(tail_decides(600, "1") == 1.0 + DBL_EPSILON);
	assert_true(tail_decides(5000, "") == 1.0);
	assert_true(tail_decides(5000, "1") == 1.0 + DBL_EPSILON);
	assert_true(tail_decides(5000, "1e5") == 100000.00000000001);
	assert_true(tail_decides(100000, "0000001") == 1.0 + DBL_EPSILON);
}

static void leading_zeros_do_not_count(void **state)
{
	CLEANUP(free) char *text = xmalloc(5020);
	double v = 0;

	memset(text, '0', 5000);
	text[1] = '.';
	memcpy(text + 5000, "123e4999", 8);
	assert_true(json_number_parse(str_of(text, 5008), &v));
	assert_true(v == 1.23);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void check_round_trip(double v)
{
	char text[JSON_NUMBER_MAX];
	size_t n = json_number_print(v, text);
	double back = 0;

	assert_in_range(n, 1, 25);
	assert_true(json_number_parse(str_of(text, n), &back));
	if (memcmp(&v, &back, sizeof(v)) != 0)
		fail_msg("%a: printed %.*s, read %a", v, (int)n, text, back);
}

static void any_double_survives_a_round_trip(void **state)
{
	uint64_t seed = 88172645463325252, bits;
	double v;

	for (int i = 0; i < 30000; i++) {
		bits = next_random(&seed);
		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			check_round_trip(v);
		check_round_trip((double)(int64_t)(bits >> 20) / 1000);
	}
	for (int e = -1074; e < 1024; e++) {
		v = ldexp(1, e);
		check_round_trip(v);
		memcpy(&bits, &v, sizeof(bits));
		bits--; /* the double just below */
		memcpy(&v, &bits, sizeof(v));
		check_round_trip(v);
	}
}

static void no_shorter_digits_would_do(void **state)
{
	uint64_t seed = 1234567890123, bits;
	struct json_digits digits;
	char text[40];
	double v;

	for (int i = 0; i < 20000; i++) {
		bits = next_random(&seed);
		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v) || v == 0)
			continue;
		json_digits_f64(v, &digits);
		assert_in_range(digits.count, 1, 17);
		assert_true(digits.digits[0] != '0' && digits.digits[digits.count - 1] != '0');
		if (digits.count == 1)
			continue;
		(void)snprintf(text, sizeof(text), "%.*e", digits.count - 2, v);
		assert_true(strtod(text, NULL) != v);
	}
}

static void floats_have_few_digits(void **state)
{
	struct json_digits digits;
	char text[JSON_NUMBER_MAX];

	json_digits_f32(0.1F, &digits);
	assert_true(str_eqz(str_of(text, json_digits_print_general(&digits, text)), "0.1"));
	json_digits_f32(-16777216.0F, &digits);
	assert_true(
		str_eqz(str_of(text, json_digits_print_general(&digits, text)), "-1.6777216e+07"));
	json_digits_f32(0.0F, &digits);
	assert_true(str_eqz(str_of(text, json_digits_print_general(&digits, text)), "0"));
}

static void the_locale_makes_no_difference(void **state)
{
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8" };
	size_t i = 0;

	while (i < ARRAY_SIZE(commas) && !setlocale(LC_ALL, commas[i]))
		i++;
	check_round_trip(0.1 + 0.2);
	check_round_trip(1.5e-300);
	check_round_trip(123456.789);
	(void)setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles_are_printed_as_upstream_does),
		cmocka_unit_test(text_is_read_to_the_nearest_double),
		cmocka_unit_test(a_number_that_is_too_large_is_rejected),
		cmocka_unit_test(a_digit_far_behind_decides_the_rounding),
		cmocka_unit_test(leading_zeros_do_not_count),
		cmocka_unit_test(any_double_survives_a_round_trip),
		cmocka_unit_test(no_shorter_digits_would_do),
		cmocka_unit_test(floats_have_few_digits),
		cmocka_unit_test(the_locale_makes_no_difference),
	};

	return cmocka_run_group_tests_name("base/json_number", tests, NULL, NULL);
}
