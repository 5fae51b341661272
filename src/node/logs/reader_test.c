/*
 * Logs as kubelet's reader prints them.
 */
#include "node/logs/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ONE   "2023-11-14T22:13:20.5Z stdout F one\n"
#define TWO_A "2023-11-14T22:13:21.000000001+02:00 stderr P two-\n"
#define TWO_B "2023-11-14T22:13:21.2+02:00 stderr F and more\n"
#define THREE "2023-11-14T22:13:22Z stdout F three\n"
#define ALL   ONE TWO_A TWO_B THREE

/* In pieces of every size up to the whole. */
static void expect(struct log_reader_opts o, const char *log, const char *want)
{
	struct str in = str_from(log);

	for (size_t piece = 1; piece <= in.n; piece++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(64 * 1024);
		struct log_reader r;

		log_reader_init(&r, &o);
		for (size_t at = 0; at < in.n; at += piece) {
			if (log_reader_feed(&r, str_of(in.p + at, MIN(piece, in.n - at)), &out))
				break;
		}
		assert_string_equal(out.p ? out.p : "", want);
	}
}

static void text_is_what_the_container_wrote(void **state)
{
	expect((struct log_reader_opts){ .records = -1 }, ALL, "one\ntwo-and more\nthree\n");
	expect((struct log_reader_opts){ .records = -1 }, "2023-11-14T22:13:20Z stdout F \n", "\n");
}

static void a_line_that_is_being_written_is_handed_on(void **state)
{
	expect((struct log_reader_opts){ .records = -1 }, ONE "2023-11-14T22:13:20Z stdout F tw",
	       "one\ntw");
}

static void a_time_is_put_before_each_line_of_the_container(void **state)
{
	expect((struct log_reader_opts){ .records = -1, .timestamps = true }, ALL,
	       "2023-11-14T22:13:20.500000000Z one\n"
	       "2023-11-14T22:13:21.000000001+02:00 two-and more\n"
	       "2023-11-14T22:13:22.000000000Z three\n");
}

static void one_stream_may_be_asked_for(void **state)
{
	expect((struct log_reader_opts){ .records = -1, .no_stdout = true }, ALL, "two-and more\n");
	expect((struct log_reader_opts){ .records = -1, .no_stderr = true }, ALL, "one\nthree\n");
}

static void older_records_are_left_out(void **state)
{
	/* 20:13:21.2 UTC; the second is in another time zone. */
	expect((struct log_reader_opts){ .records = -1,
					 .has_since = true,
					 .since = { .seconds = 1700000000, .ns = 500000000 } },
	       ALL, "one\nthree\n");
	expect((struct log_reader_opts){ .records = -1,
					 .has_since = true,
					 .since = { .seconds = 1700000000, .ns = 500000001 } },
	       ALL, "three\n");
}

static void limits_are_exact(void **state)
{
	expect((struct log_reader_opts){ .records = -1, .limit_bytes = 1 }, ALL, "o");
	expect((struct log_reader_opts){ .records = -1, .limit_bytes = 4 }, ALL, "one\n");
	expect((struct log_reader_opts){ .records = -1, .limit_bytes = 5 }, ALL, "one\nt");
	expect((struct log_reader_opts){ .records = -1, .limit_bytes = 5, .timestamps = true }, ALL,
	       "2023-");
	/* Records that are left out are not counted. */
	expect((struct log_reader_opts){ .records = -1, .limit_bytes = 3, .no_stdout = true }, ALL,
	       "two");
}

static void lines_are_counted_as_records(void **state)
{
	expect((struct log_reader_opts){ .records = 0 }, ALL, "");
	expect((struct log_reader_opts){ .records = 1 }, ALL, "one\n");
	expect((struct log_reader_opts){ .records = 2 }, ALL, "one\ntwo-");
	expect((struct log_reader_opts){ .records = 3 }, ALL, "one\ntwo-and more\n");
}

static void invalid_records_are_skipped(void **state)
{
	expect((struct log_reader_opts){ .records = 2 },
	       "\nno record\n2023-11-14T22:13:20Z stdout F\n"
	       "2023-11-14T22:13:20Z stdin F x\n2023-13-14T22:13:20Z stdout F x\n" ONE
	       "a-word-that-is-longer-than-any-head-of-a-record-can-be-which-is-a-hundred-and-"
	       "twenty-eight-bytes-and-so-it-is-no-record-but-something-else stdout F x\n" THREE
		       ONE,
	       "one\nthree\n");
}

static void another_file_begins_with_a_record(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(1024);
	struct log_reader r;

	log_reader_init(&r, &(struct log_reader_opts){ .records = -1 });
	(void)log_reader_feed(&r, STR("2023-11-14T22:"), &out);
	log_reader_restart(&r);
	(void)log_reader_feed(&r, STR(ONE), &out);
	assert_string_equal(out.p, "one\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_what_the_container_wrote),
		cmocka_unit_test(a_line_that_is_being_written_is_handed_on),
		cmocka_unit_test(a_time_is_put_before_each_line_of_the_container),
		cmocka_unit_test(one_stream_may_be_asked_for),
		cmocka_unit_test(older_records_are_left_out),
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(lines_are_counted_as_records),
		cmocka_unit_test(invalid_records_are_skipped),
		cmocka_unit_test(another_file_begins_with_a_record),
	};

	return cmocka_run_group_tests_name("node/log_reader", tests, NULL, NULL);
}
