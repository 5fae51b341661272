#include "base/json/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"

static struct quantity parsed(const char *text)
{
	struct quantity q = { 0 };
	struct error err;

	if (quantity_parse(str_from(text), &q, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return q;
}

static void prints_the_canonical_form(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "0", "0" },
		{ "0Ki", "0" },
		{ "-0", "0" },
		{ ".", "0" },
		{ "+", "0" },
		{ "1", "1" },
		{ "+1", "1" },
		{ "100m", "100m" },
		{ "0.1", "100m" },
		{ ".1", "100m" },
		{ "1.", "1" },
		{ "1.5", "1500m" },
		{ "1000", "1k" },
		{ "1500", "1500" },
		{ "12e6", "12e6" },
		{ "12E6", "12e6" },
		{ "1e3", "1e3" },
		{ "1000e3", "1e6" },
		{ "1e-3", "1e-3" },
		{ "1e0", "1" },
		{ "1e+2", "100" },
		{ "1E", "1E" },
		{ "1000E", "1000E" },
		{ "1Gi", "1Gi" },
		{ "1.5Gi", "1536Mi" },
		{ "0.5Ki", "512" },
		{ "1024", "1024" },
		{ "1024Ki", "1Mi" },
		{ "1023Ki", "1023Ki" },
		{ "0.0001Ki", "102400u" },
		{ "1.1Ki", "1126400m" },
		{ "1n", "1n" },
		{ "0.1n", "1n" },
		{ "1.0000000001", "1000000001n" },
		{ "-1.5", "-1500m" },
		{ "-0.1n", "-1n" },
		{ "-2Ki", "-2Ki" },
		{ "9Ei", "9223372036854775807" },
		{ "100000000000000000000", "100E" },
		{ "0001", "1" },
		{ "123456789.123456789", "123456789123456789n" },
		{ "1u", "1u" },
		{ "2500k", "2500k" },
		{ "80Gi", "80Gi" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(100);

		assert_int_equal(quantity_print(parsed(rows[i].in), &b), 0);
		if (!str_eqz(buf_str(&b), rows[i].out))
			fail_msg("%s printed as %s, not %s", rows[i].in, b.p, rows[i].out);
	}
}

static void refuses_what_upstream_refuses(void **state)
{
	static const struct {
		const char *in, *words;
	} rows[] = {
		{ "", "regular expression" },
		{ "x", "regular expression" },
		{ "1.2.3", "regular expression" },
		{ "1 ", "regular expression" },
		{ " 1", "regular expression" },
		{ "1,5", "regular expression" },
		{ "--1", "suffix" },
		{ "1K", "suffix" },
		{ "1ki", "suffix" },
		{ "1e", "suffix" },
		{ "1Kib", "regular expression" },
		{ "1mm", "suffix" },
		{ "1e1.5", "regular expression" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct quantity q;
		struct error err = { 0 };

		if (quantity_parse(str_from(rows[i].in), &q, &err) != -ERR_INVALID)
			fail_msg("\"%s\" was taken", rows[i].in);
		if (!strstr(err.msg, rows[i].words))
			fail_msg("\"%s\": %s", rows[i].in, err.msg);
	}
}

static void compares_across_formats(void **state)
{
	(void)state;
	assert_int_equal(quantity_cmp(parsed("1Ki"), parsed("1024")), 0);
	assert_int_equal(quantity_cmp(parsed("1000m"), parsed("1")), 0);
	assert_int_equal(quantity_cmp(parsed("1G"), parsed("1Gi")), -1);
	assert_int_equal(quantity_cmp(parsed("-1"), parsed("-2")), 1);
	assert_int_equal(quantity_cmp(parsed("1e-9"), parsed("0")), 1);
	assert_int_equal(quantity_cmp(parsed("9223372036854775808"), parsed("9223372036854775807")),
			 1);
}

static void adds_and_subtracts_in_the_format_of_the_first(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(100);

	(void)state;
	(void)quantity_print(quantity_add(parsed("1Gi"), parsed("1024Mi")), &b);
	assert_string_equal(b.p, "2Gi");
	buf_clear(&b);
	(void)quantity_print(quantity_sub(parsed("1"), parsed("100m")), &b);
	assert_string_equal(b.p, "900m");
	buf_clear(&b);
	(void)quantity_print(quantity_add(parsed("0"), parsed("4Ki")), &b);
	assert_string_equal(b.p, "4Ki");
}

static void rounds_up_to_whole_units_and_thousandths(void **state)
{
	(void)state;
	assert_int_equal(quantity_value(parsed("1.1")), 2);
	assert_int_equal(quantity_value(parsed("-1.1")), -2);
	assert_int_equal(quantity_milli(parsed("1.0001")), 1001);
	assert_int_equal(quantity_milli(parsed("250m")), 250);
	assert_int_equal(quantity_value(parsed("1e40")), INT64_MAX);
	assert_int_equal(quantity_value(parsed("-1e40")), INT64_MIN);
	assert_int_equal(quantity_value(parsed("1e-40")), 1);
}

static void reads_text_and_whole_numbers_of_a_tree(void **state)
{
	static const char text[] = "[\"1500m\", 3, -2, \"1Ki\", \"\", \"x\", 1.5, true, null]";
	static const int64_t milli[] = { 1500, 3000, -2000, 1024000 };
	CLEANUP(arena_release) struct arena a;
	struct quantity q = quantity_of_milli(7);
	struct json *tree;

	arena_init(&a, KIB * 64);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &tree, NULL), 0);
	for (size_t i = 0; i < json_count(tree); i++) {
		assert_int_equal(quantity_read(json_at(tree, i), &q), i < ARRAY_SIZE(milli));
		assert_int_equal(quantity_milli(q), milli[MIN(i, ARRAY_SIZE(milli) - 1)]);
	}
	assert_false(quantity_read(NULL, &q));
	assert_int_equal(quantity_cmp(quantity_of(INT64_MIN, QUANTITY_BINARY_SI),
				      quantity_of_milli(INT64_MIN)),
			 -1);
}

static void tells_the_sign(void **state)
{
	(void)state;
	assert_int_equal(quantity_sign(parsed("-1n")), -1);
	assert_int_equal(quantity_sign(parsed("-0")), 0);
	assert_int_equal(quantity_sign(parsed("1Ki")), 1);
}

/* By how it is written, not by its value: upstream looks at the form that it keeps. */
static void takes_for_an_integer_what_upstream_does(void **state)
{
	static const struct {
		const char *text;
		bool integer;
		int64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "50k", true, 50000 },
		{ "-7", true, -7 },
		{ "1Ti", true, INT64_C(1) << 40 },
		{ "3e5", true, 300000 },
		{ "9E", true, INT64_C(9000000000000000000) },
		{ "000000000000000000000000000001", true, 1 },
		{ "1000m", false, 0 },
		{ "1.0", false, 0 },
		{ "0.5k", true, 500 },
		{ "1.5Ki", false, 0 },
		{ "1Pi", false, 0 },
		{ "10E", false, 0 },
		{ "1234567890123456789", false, 0 },
	};
	int64_t value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool integer = quantity_integer(parsed(rows[i].text), &value);

		if (integer != rows[i].integer)
			fail_msg("%s: %d", rows[i].text, integer);
		if (integer)
			assert_int_equal(value, rows[i].value);
	}
}

static void keeps_the_finer_form_when_adding(void **state)
{
	struct quantity half = parsed("0.5"), one = quantity_add(half, half);
	int64_t value;

	(void)state;
	assert_int_equal(quantity_cmp(one, parsed("1")), 0);
	assert_false(quantity_integer(one, &value));
	assert_true(quantity_integer(quantity_add(parsed("1"), parsed("0.0")), &value));
	assert_false(quantity_integer(quantity_add(parsed("0"), parsed("1.0")), &value));
	assert_false(quantity_integer(quantity_sub(parsed("1Pi"), parsed("1Pi")), &value));
	assert_false(quantity_integer(quantity_add(parsed("9E"), parsed("9E")), &value));
}

static void is_about_a_double(void **state)
{
	(void)state;
	assert_true(quantity_double(parsed("0.3")) == 3 * 0.1);
	assert_true(quantity_double(parsed("50k")) == 50000.0);
	assert_true(quantity_double(parsed("-1.5Gi")) == -1610612736.0);
	assert_true(quantity_double(parsed("100m")) == 0.1);
	assert_true(quantity_double(parsed("1e20")) == 1e20);
}

/* 1 when it says yes: it is then what parsing and printing make of it. */
static size_t assert_canonical(const char *text)
{
	struct buf out = BUF_INIT(64);
	struct str s = str_from(text);
	bool yes = quantity_is_canonical(s);

	if (yes) {
		assert_int_equal(quantity_print(parsed(text), &out), 0);
		assert_true(str_eq(buf_str(&out), s));
	}
	buf_release(&out);
	return yes;
}

static void knows_canonical_forms_at_sight(void **state)
{
	static const char *const suffixes[] = { "",  "m",  "k",  "M",  "G",  "T",   "P",  "E",
						"u", "Ki", "Mi", "Gi", "Ti", "Ei",  "e3", "i",
						"K", "mi", "ki", " ",  ".5", "Kii", "Gib" };
	size_t yes = 0;
	char text[32];

	(void)state;
	for (int n = -2; n < 1100; n++) {
		for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
			(void)snprintf(text, sizeof(text), "%d%s", n, suffixes[i]);
			yes += assert_canonical(text);
		}
	}
	assert_int_equal(yes, 999 * 10 + 1);
	assert_false(quantity_is_canonical(STR("")));
	assert_false(quantity_is_canonical(STR("00")));
	assert_false(quantity_is_canonical(STR("0Gi")));
	assert_false(quantity_is_canonical(STR("007")));
	assert_false(quantity_is_canonical(STR("1\0")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_the_canonical_form),
		cmocka_unit_test(refuses_what_upstream_refuses),
		cmocka_unit_test(compares_across_formats),
		cmocka_unit_test(adds_and_subtracts_in_the_format_of_the_first),
		cmocka_unit_test(rounds_up_to_whole_units_and_thousandths),
		cmocka_unit_test(reads_text_and_whole_numbers_of_a_tree),
		cmocka_unit_test(tells_the_sign),
		cmocka_unit_test(takes_for_an_integer_what_upstream_does),
		cmocka_unit_test(keeps_the_finer_form_when_adding),
		cmocka_unit_test(is_about_a_double),
		cmocka_unit_test(knows_canonical_forms_at_sight),
	};

	return cmocka_run_group_tests_name("base/quantity", tests, NULL, NULL);
}
