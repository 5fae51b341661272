/*
 * The calendar is checked day by day against counting, not against another
 * formula; single values are from the C library or from Go.
 */
#include "timestamp.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/random.h"

static void every_day_of_the_range_follows_the_one_before(void **state)
{
	struct civil c = { .year = 1677, .month = 9, .day = 22 }, got;

	for (int64_t day = days_from_civil(&c); c.year < 2263; day++) {
		assert_int_equal(days_from_civil(&c), day);
		civil_from_days(day, &got);
		assert_int_equal(got.year, c.year);
		assert_int_equal(got.month, c.month);
		assert_int_equal(got.day, c.day);
		if (++c.day > days_in_month(c.year, c.month)) {
			c.day = 1;
			c.month = c.month % 12 + 1;
			c.year += c.month == 1;
		}
	}
	assert_int_equal(days_from_civil(&(struct civil){ .year = 1970, .month = 1, .day = 1 }), 0);
	assert_int_equal(days_from_civil(&(struct civil){ .year = 0, .month = 1, .day = 1 }),
			 -719528);
}

static void leap_years_follow_the_gregorian_rule(void **state)
{
	assert_int_equal(days_in_month(2024, 2), 29);
	assert_int_equal(days_in_month(2023, 2), 28);
	assert_int_equal(days_in_month(1900, 2), 28);
	assert_int_equal(days_in_month(2000, 2), 29);
}

static void printing_has_the_forms_of_the_api(void **state)
{
	const int64_t ns = INT64_C(1136214245987654321);
	char out[TIMESTAMP_SIZE];

	assert_string_equal(timestamp_print(ns, TIMESTAMP_SECONDS, out).p, "2006-01-02T15:04:05Z");
	assert_string_equal(timestamp_print(ns, TIMESTAMP_MICRO, out).p,
			    "2006-01-02T15:04:05.987654Z");
	assert_string_equal(timestamp_print(ns, TIMESTAMP_NANO, out).p,
			    "2006-01-02T15:04:05.987654321Z");
	assert_int_equal(timestamp_print(ns, TIMESTAMP_SECONDS, out).n, 20);
}

static void times_before_1970_round_down(void **state)
{
	char out[TIMESTAMP_SIZE];

	assert_string_equal(timestamp_print(-1, TIMESTAMP_NANO, out).p,
			    "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(timestamp_print(INT64_MIN, TIMESTAMP_NANO, out).p,
			    "1677-09-21T00:12:43.145224192Z");
	assert_string_equal(timestamp_print(INT64_MAX, TIMESTAMP_NANO, out).p,
			    "2262-04-11T23:47:16.854775807Z");
}

static void timestamps_that_go_accepts_are_accepted(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2006-01-02T15:04:05Z", INT64_C(1136214245000000000) },
		{ "2006-01-02T15:04:05+07:00", INT64_C(1136189045000000000) },
		{ "2006-01-02T15:04:05-07:30", INT64_C(1136241245000000000) },
		{ "2006-01-02T15:04:05.9Z", INT64_C(1136214245900000000) },
		{ "2006-01-02T15:04:05,25Z", INT64_C(1136214245250000000) },
		{ "2006-01-02T15:04:05.0000000019Z", INT64_C(1136214245000000001) },
		{ "2006-01-02T5:04:05Z", INT64_C(1136178245000000000) },
		{ "2006-01-02T15:04:05+24:00", INT64_C(1136127845000000000) },
		{ "2006-01-02T15:04:05-00:60", INT64_C(1136217845000000000) },
		{ "2024-02-29T00:00:00Z", INT64_C(1709164800000000000) },
		{ "1677-09-21T00:12:43.145224192Z", INT64_MIN },
		{ "2262-04-11T23:47:16.854775807Z", INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 1;

		assert_int_equal(timestamp_parse(str_from(rows[i].text), &ns, NULL), 0);
		assert_int_equal(ns, rows[i].ns);
	}
}

static void timestamps_that_go_rejects_are_rejected(void **state)
{
	static const char *const bad[] = {
		"",
		"2006",
		"2006-01-02",
		"2006-01-02T15:04:05",
		"2006-01-02 15:04:05Z",
		"2006-01-02t15:04:05Z",
		"2006-01-02T15:04:05z",
		"2006-1-02T15:04:05Z",
		"2006-01-2T15:04:05Z",
		"2006-01-02T15:4:05Z",
		"2006-01-02T15:04:5Z",
		"06-01-02T15:04:05Z",
		"+006-01-02T15:04:05Z",
		"2006-01-02T15:04:05.Z",
		"2006-01-02T15:04:05+0700",
		"2006-01-02T15:04:05+07",
		"2006-01-02T15:04:05Z ",
		" 2006-01-02T15:04:05Z",
		"2006-01-02T15:04:05ZZ",
		"2006-01-02T15:04:05+7:00",
		/* out of range */
		"2006-00-02T15:04:05Z",
		"2006-13-02T15:04:05Z",
		"2006-01-00T15:04:05Z",
		"2006-01-32T15:04:05Z",
		"2006-04-31T15:04:05Z",
		"2023-02-29T15:04:05Z",
		"1900-02-29T15:04:05Z",
		"2006-01-02T24:00:00Z",
		"2006-01-02T15:60:05Z",
		"2016-12-31T23:59:60Z",
		"2006-01-02T15:04:05+25:00",
		"2006-01-02T15:04:05+00:61",
		/* what nanoseconds cannot hold */
		"1677-09-21T00:12:43.145224191Z",
		"2262-04-11T23:47:16.854775808Z",
		"0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z",
		"0000-01-01T00:00:00Z",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int64_t ns = 7;
		struct error err;

		assert_int_equal(timestamp_parse(str_from(bad[i]), &ns, &err), -ERR_BAD_REQUEST);
		assert_int_equal(ns, 7);
	}
}

static void the_error_names_the_field(void **state)
{
	struct error err;
	int64_t ns;

	assert_int_equal(timestamp_parse(STR("2023-02-29T15:04:05Z"), &ns, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "time \"2023-02-29T15:04:05Z\": day out of range");
}

static void printed_times_read_back(void **state)
{
	char out[TIMESTAMP_SIZE];
	struct prng g;

	prng_init(&g, 5);
	for (int i = 0; i < 20000; i++) {
		int64_t ns = (int64_t)prng_u64(&g), back = 0;

		assert_int_equal(
			timestamp_parse(timestamp_print(ns, TIMESTAMP_NANO, out), &back, NULL), 0);
		assert_int_equal(back, ns);
	}
}

static void assert_wide(const char *text, int64_t seconds, uint32_t ns, const char *printed)
{
	char out[TIMESTAMP_SIZE];
	struct timestamp t;
	struct error err;

	if (timestamp_parse_wide(str_from(text), &t, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(t.seconds, seconds);
	assert_int_equal(t.ns, ns);
	assert_string_equal(timestamp_print_wide(t, out).p, printed);
	assert_int_equal(strlen(out), timestamp_print_wide(t, out).n);
}

static void wide_times_reach_through_all_years(void **state)
{
	assert_wide("0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z");
	assert_wide("9999-12-31T23:59:59.999999999Z", 253402300799, 999999999,
		    "9999-12-31T23:59:59.999999999Z");
	assert_wide("1969-12-31T23:59:59.5Z", -1, 500000000, "1969-12-31T23:59:59.5Z");
	assert_wide("2009-02-13T23:31:30.120Z", 1234567890, 120000000, "2009-02-13T23:31:30.12Z");
}

static void wide_times_keep_their_offset(void **state)
{
	assert_wide("2009-02-14T01:31:30+02:00", 1234567890, 0, "2009-02-14T01:31:30+02:00");
	assert_wide("2009-02-13T19:01:30.000000001-04:30", 1234567890, 1,
		    "2009-02-13T19:01:30.000000001-04:30");
	assert_wide("2009-02-13T23:31:30+00:00", 1234567890, 0, "2009-02-13T23:31:30Z");
	assert_wide("0001-01-01T00:00:00+14:00", -62135647200, 0, "0001-01-01T00:00:00+14:00");
}

static void the_calendar_shows_days_of_week_and_year(void **state)
{
	struct timestamp_civil c = timestamp_civil(1234567890);

	assert_int_equal(c.year, 2009);
	assert_int_equal(c.month, 2);
	assert_int_equal(c.day, 13);
	assert_int_equal(c.hour, 23);
	assert_int_equal(c.minute, 31);
	assert_int_equal(c.second, 30);
	assert_int_equal(c.weekday, 5);
	assert_int_equal(c.yearday, 43);
	c = timestamp_civil(timestamp_of_date(2000, 12, 31) + 86399);
	assert_int_equal(c.weekday, 0);
	assert_int_equal(c.yearday, 365);
	c = timestamp_civil(timestamp_of_date(1, 1, 1));
	assert_int_equal(c.weekday, 1);
	assert_int_equal(c.yearday, 0);
	c = timestamp_civil(-1);
	assert_int_equal(c.year, 1969);
	assert_int_equal(c.weekday, 3);
	assert_int_equal(c.yearday, 364);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day_of_the_range_follows_the_one_before),
		cmocka_unit_test(leap_years_follow_the_gregorian_rule),
		cmocka_unit_test(printing_has_the_forms_of_the_api),
		cmocka_unit_test(times_before_1970_round_down),
		cmocka_unit_test(timestamps_that_go_accepts_are_accepted),
		cmocka_unit_test(timestamps_that_go_rejects_are_rejected),
		cmocka_unit_test(the_error_names_the_field),
		cmocka_unit_test(printed_times_read_back),
		cmocka_unit_test(wide_times_reach_through_all_years),
		cmocka_unit_test(wide_times_keep_their_offset),
		cmocka_unit_test(the_calendar_shows_days_of_week_and_year),
	};

	return cmocka_run_group_tests_name("base/timestamp", tests, NULL, NULL);
}
