#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/time/timestamp.h"
#include "base/time/zone.h"

static void put_u32(struct buf *b, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		assert_return_code(buf_addc(b, (char)(v >> shift)), 0);
}

static void put_header(struct buf *b, char version, uint32_t ntimes, uint32_t ntypes)
{
	assert_return_code(buf_add(b, "TZif", 4), 0);
	assert_return_code(buf_addc(b, version), 0);
	assert_return_code(buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15), 0);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, ntimes);
	put_u32(b, ntypes);
	put_u32(b, 4);
}

/* A file of transitions to types 1, 2, 1, 2 .. and a footer. */
static void make(struct buf *b, const int64_t *times, uint32_t ntimes, const int32_t *offsets,
		 uint32_t ntypes, const char *footer)
{
	buf_init(b, 65536);
	put_header(b, '2', 0, 1);
	assert_return_code(buf_add(b, "\0\0\0\0\0\0UTC", 10), 0);
	put_header(b, '2', ntimes, ntypes);
	for (uint32_t i = 0; i < ntimes; i++) {
		put_u32(b, (uint32_t)((uint64_t)times[i] >> 32));
		put_u32(b, (uint32_t)times[i]);
	}
	for (uint32_t i = 0; i < ntimes; i++)
		assert_return_code(buf_addc(b, (char)(1 + i % 2)), 0);
	for (uint32_t i = 0; i < ntypes; i++) {
		put_u32(b, (uint32_t)offsets[i]);
		assert_return_code(buf_add(b, "\0\0", 2), 0);
	}
	assert_return_code(buf_add(b, "ABC", 4), 0);
	assert_return_code(buf_printf(b, "\n%s\n", footer), 0);
}

static int64_t at(const char *text)
{
	struct timestamp t;
	struct error err;

	if (timestamp_parse_wide(str_from(text), &t, &err) < 0)
		fail_msg("%s", err.msg);
	return t.seconds;
}

static void a_file_gives_the_offset_between_its_transitions(void **state)
{
	static const int64_t times[] = { -1000, 0, 5000 };
	static const int32_t offsets[] = { 77, 3600, -7200 };
	struct buf b;
	struct zone z;

	(void)state;
	make(&b, times, 3, offsets, 3, "");
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), 0);
	assert_int_equal(zone_offset(&z, INT64_MIN), 77);
	assert_int_equal(zone_offset(&z, -1001), 77);
	assert_int_equal(zone_offset(&z, -1000), 3600);
	assert_int_equal(zone_offset(&z, -1), 3600);
	assert_int_equal(zone_offset(&z, 0), -7200);
	assert_int_equal(zone_offset(&z, 4999), -7200);
	assert_int_equal(zone_offset(&z, 5000), 3600);
	assert_int_equal(zone_offset(&z, INT64_MAX), 3600);
	buf_release(&b);
}

static void the_footer_holds_after_the_last_transition(void **state)
{
	static const int64_t times[] = { 0, 1000 };
	static const int32_t offsets[] = { 0, 3600, 7200 };
	struct buf b;
	struct zone z;

	(void)state;
	make(&b, times, 2, offsets, 3, "CET-1CEST,M3.5.0,M10.5.0/3");
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), 0);
	assert_int_equal(zone_offset(&z, 999), 3600);
	assert_int_equal(zone_offset(&z, at("2024-01-15T00:00:00Z")), 3600);
	assert_int_equal(zone_offset(&z, at("2024-03-31T00:59:59Z")), 3600);
	assert_int_equal(zone_offset(&z, at("2024-03-31T01:00:00Z")), 7200);
	assert_int_equal(zone_offset(&z, at("2024-10-27T00:59:59Z")), 7200);
	assert_int_equal(zone_offset(&z, at("2024-10-27T01:00:00Z")), 3600);
	buf_release(&b);
}

static int32_t offset_of(const char *rule, const char *time)
{
	struct zone z;
	struct error err;

	if (zone_of_rule(str_from(rule), &z, &err) < 0)
		fail_msg("%s", err.msg);
	return zone_offset(&z, at(time));
}

static void rules_are_read_in_all_their_forms(void **state)
{
	(void)state;
	assert_int_equal(offset_of("UTC0", "2024-06-01T00:00:00Z"), 0);
	assert_int_equal(offset_of("<+0545>-5:45", "2024-06-01T00:00:00Z"), 20700);
	assert_int_equal(offset_of("<-03>3", "2024-06-01T00:00:00Z"), -10800);
	assert_int_equal(offset_of("LMT-0:53:28", "1880-01-01T00:00:00Z"), 3208);
	/* South of the equator summer is at the turn of the year. */
	assert_int_equal(offset_of("AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-01-01T00:00:00Z"), 39600);
	assert_int_equal(offset_of("AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-06-01T00:00:00Z"), 36000);
	assert_int_equal(offset_of("AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-12-31T23:59:59Z"), 39600);
	/* Without dates, and with a summer of another length. */
	assert_int_equal(offset_of("PST8PDT", "2024-03-10T09:59:59Z"), -28800);
	assert_int_equal(offset_of("PST8PDT", "2024-03-10T10:00:00Z"), -25200);
	assert_int_equal(offset_of("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2024-01-01T00:00:00Z"),
			 39600);
	/* Days by number: 60 is 1 March, or with leap days counted from 0 the 59th. */
	assert_int_equal(offset_of("AAA0BBB,J60/0,J305", "2024-02-29T23:59:59Z"), 0);
	assert_int_equal(offset_of("AAA0BBB,J60/0,J305", "2024-03-01T00:00:00Z"), 3600);
	assert_int_equal(offset_of("AAA0BBB,59/0,J305", "2024-02-29T00:00:00Z"), 3600);
	assert_int_equal(offset_of("AAA0BBB,59/0,J305", "2023-02-28T23:59:59Z"), 0);
	/* Hours before the day and behind it. */
	assert_int_equal(offset_of("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T00:59:59Z"),
			 -7200);
	assert_int_equal(offset_of("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T01:00:00Z"),
			 -3600);
	assert_int_equal(offset_of("EET-2EEST,M3.4.4/50,M10.4.4/50", "2024-03-30T00:00:00Z"),
			 10800);
}

static void a_summer_of_a_whole_year_never_ends(void **state)
{
	(void)state;
	assert_int_equal(offset_of("XXX5EDT4,0/0,J365/23", "2024-06-01T00:00:00Z"), -14400);
	assert_int_equal(offset_of("EST5EDT,0/0,J365/25", "2024-01-01T04:59:59Z"), -14400);
	assert_int_equal(offset_of("EST5EDT,0/0,J365/25", "2024-01-01T05:00:00Z"), -14400);
	assert_int_equal(offset_of("EST5EDT,0/0,J365/25", "2023-12-31T23:59:59Z"), -14400);
}

static void times_outside_the_calendar_have_an_offset(void **state)
{
	struct zone z;

	(void)state;
	assert_int_equal(zone_of_rule(STR("CET-1CEST,M3.5.0,M10.5.0/3"), &z, NULL), 0);
	assert_int_equal(zone_offset(&z, INT64_MIN), 3600);
	assert_int_equal(zone_offset(&z, INT64_MAX), 3600);
	assert_int_equal(zone_offset(&z, at("0001-01-01T00:00:00Z")), 3600);
}

static void broken_rules_are_refused(void **state)
{
	static const char *const rules[] = {
		"",
		"U0",
		"UTC",
		"UTC25",
		"UTC0:60",
		"<>0",
		"<UTC0",
		"A1C0",
		"CET-1CEST,",
		"CET-1CEST,M3.5.0",
		"CET-1CE",
		"CET-1CEST,M13.1.0,M1.1.0",
		"CET-1CEST,M3.6.0,M1.1.0",
		"CET-1CEST,M3.0.0,M1.1.0",
		"CET-1CEST,M3.5.7,M1.1.0",
		"CET-1CEST,J0,J1",
		"CET-1CEST,J366,J1",
		"CET-1CEST,366,1",
		"CET-1CEST,1/168,2",
		"CET-1CEST,1,2,",
		"CET-1CEST,1,2/",
		"CET-1CEST2000,1,2",
	};
	struct zone z;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (zone_of_rule(str_from(rules[i]), &z, NULL) == 0)
			fail_msg("%s", rules[i]);
}

/* Every shorter file and every file with one byte changed is read without a fault. */
static void broken_files_are_refused(void **state)
{
	static const int64_t times[] = { 0, 1000 };
	static const int32_t offsets[] = { 0, 3600, 7200 };
	struct buf b;
	struct zone z;

	(void)state;
	make(&b, times, 2, offsets, 3, "CET-1CEST,M3.5.0,M10.5.0/3");
	for (size_t n = 0; n < b.n; n++)
		assert_int_equal(zone_parse(str_of(b.p, n), &z, NULL), -ERR_BAD_REQUEST);
	for (size_t i = 0; i < b.n; i++) {
		b.p[i] = (char)(b.p[i] ^ 0x81);
		if (zone_parse(buf_str(&b), &z, NULL) == 0)
			(void)zone_offset(&z, 1720000000);
		b.p[i] = (char)(b.p[i] ^ 0x81);
	}
	b.p[4] = '\0'; /* version 1 */
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), -ERR_BAD_REQUEST);
	buf_release(&b);
}

static void unsound_tables_are_refused(void **state)
{
	static const int64_t falling[] = { 5, 5 };
	static const int64_t times[] = { 0, 5 };
	static const int32_t offsets[] = { 0, 3600, 7200 }, far[] = { 0, 3600, 93600 };
	struct buf b;
	struct zone z;

	(void)state;
	make(&b, falling, 2, offsets, 3, "");
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), -ERR_BAD_REQUEST);
	buf_release(&b);
	make(&b, times, 2, offsets, 2, ""); /* the second transition is to type 2 of 0 and 1 */
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), -ERR_BAD_REQUEST);
	buf_release(&b);
	make(&b, times, 2, far, 3, "");
	assert_int_equal(zone_parse(buf_str(&b), &z, NULL), -ERR_BAD_REQUEST);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_gives_the_offset_between_its_transitions),
		cmocka_unit_test(the_footer_holds_after_the_last_transition),
		cmocka_unit_test(rules_are_read_in_all_their_forms),
		cmocka_unit_test(a_summer_of_a_whole_year_never_ends),
		cmocka_unit_test(times_outside_the_calendar_have_an_offset),
		cmocka_unit_test(broken_rules_are_refused),
		cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(unsound_tables_are_refused),
	};

	return cmocka_run_group_tests_name("base/zone", tests, NULL, NULL);
}
