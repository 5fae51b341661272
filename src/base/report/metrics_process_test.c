/*
 * The parser on lines as the kernel writes them, then the figures of this very
 * process, which can be checked from inside.
 */
#include "base/report/metrics_process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/report/metrics.h"

static void a_stat_line_is_read_whatever_the_name(void **state)
{
	struct metrics_process_stat stat;

	assert_true(metrics_process_parse(
		STR("42 (a) b (c)) S 1 42 42 0 -1 4194304 500 0 0 0 17 25 3 4 20 0 8 0 "
		    "123456 987654321 2048 18446744073709551615 1 1 0 0 0\n"),
		&stat));
	assert_int_equal(stat.cpu_ticks, 42);
	assert_int_equal(stat.start_ticks, 123456);
	assert_int_equal(stat.virtual_bytes, 987654321);
	assert_int_equal(stat.resident_pages, 2048);
}

static void an_invalid_stat_line_is_rejected(void **state)
{
	static const char *const bad[] = {
		"",
		"42",
		"42 (a",
		"42 (a)",
		"42 (a) S 1 42",
		"42 (a) S 1 42 42 0 -1 4194304 500 0 0 0 x 25 3 4 20 0 8 0 1 2 3 4",
		"42 (a) S 1 42 42 0 -1 4194304 500 0 0 0 17 25 3 4 20 0 8 0 1 2",
	};
	struct metrics_process_stat stat = { .cpu_ticks = 7 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(metrics_process_parse(str_from(bad[i]), &stat));
	assert_int_equal(stat.cpu_ticks, 7);
}

static double figure(struct metrics *m, const char *name)
{
	struct buf out = BUF_INIT(64 * KIB), line = BUF_INIT(256);
	const char *at;
	double v;

	assert_int_equal(metrics_print(m, &out), 0);
	assert_int_equal(buf_printf(&line, "\n%s ", name), 0);
	at = strstr(out.p, line.p);
	assert_non_null(at);
	v = strtod(at + line.n, NULL);
	buf_release(&out);
	buf_release(&line);
	return v;
}

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void the_figures_are_those_of_this_process(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	double now = (double)clock_wall(clock_system()) / 1e9, fds;
	int fd;

	assert_int_equal(metrics_process_register(m, NULL), 0);
	assert_int_equal(metrics_process_register(m, NULL), 0);
	fds = figure(m, "process_open_fds");
	assert_int_equal((int)fds, count_open());
	fd = open("/dev/null", O_RDONLY);
	assert_true(figure(m, "process_open_fds") == fds + 1);
	(void)close(fd);
	assert_true(figure(m, "process_max_fds") >= fds);
	assert_true(figure(m, "process_resident_memory_bytes") > 100e3);
	assert_true(figure(m, "process_virtual_memory_bytes") >
		    figure(m, "process_resident_memory_bytes"));
	assert_true(figure(m, "process_cpu_seconds_total") >= 0);
	assert_true(figure(m, "process_start_time_seconds") > now - 3600);
	assert_true(figure(m, "process_start_time_seconds") < now + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_line_is_read_whatever_the_name),
		cmocka_unit_test(an_invalid_stat_line_is_rejected),
		cmocka_unit_test(the_figures_are_those_of_this_process),
	};

	return cmocka_run_group_tests_name("base/metrics_process", tests, NULL, NULL);
}
