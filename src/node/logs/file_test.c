/*
 * Log files: their last lines, and other files in their place.
 */
#include "node/logs/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/file.h"

struct world {
	char dir[64], path[96];
	int fd;
	unsigned steps; /* of the last search */
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->fd = -1;
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/log_file_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/0.log", w->dir);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	if (w->fd >= 0)
		(void)close(w->fd);
	(void)unlink(w->path);
	(void)rmdir(w->dir);
	free(w);
	return 0;
}

static void fill(struct world *w, struct str text)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	assert_int_equal(file_write_atomic(w->path, text, 0600, NULL), 0);
	assert_int_equal(log_file_open(w->path, &w->fd, NULL), 0);
}

static int64_t tail(struct world *w, int64_t lines)
{
	struct log_file_tail t = log_file_tail_begin(w->fd, lines);
	int64_t at = -1;
	int r = 0;

	for (w->steps = 0; r == 0; w->steps++)
		r = log_file_tail_step(w->fd, &t, &at, NULL);
	assert_int_equal(r, 1);
	return at;
}

static void the_last_lines_are_found_from_the_end(void **state)
{
	struct world *w = *state;

	fill(w, STR("one\ntwo\nthree\n"));
	assert_int_equal(tail(w, 0), 14);
	assert_int_equal(tail(w, 1), 8);
	assert_int_equal(tail(w, 2), 4);
	assert_int_equal(tail(w, 3), 0);
	assert_int_equal(tail(w, INT64_MAX), 0);
	fill(w, STR(""));
	assert_int_equal(tail(w, 0), 0);
	assert_int_equal(tail(w, 1), 0);
}

static void a_line_without_its_end_is_not_counted(void **state)
{
	struct world *w = *state;

	fill(w, STR("one\ntwo\nthr"));
	assert_int_equal(tail(w, 0), 8);
	assert_int_equal(tail(w, 1), 4);
}

static void lines_may_be_longer_than_a_block(void **state)
{
	enum { LINES = 9, LENGTH = 10001 };
	struct world *w = *state;
	char *text = malloc((size_t)LINES * LENGTH);

	for (size_t i = 0; i < (size_t)LINES * LENGTH; i++)
		text[i] = i % LENGTH == LENGTH - 1 ? '\n' : 'x';
	fill(w, str_of(text, (size_t)LINES * LENGTH));
	for (int64_t i = 0; i <= LINES; i++)
		assert_int_equal(tail(w, i), (LINES - i) * LENGTH);
	free(text);
}

static void a_long_search_has_many_steps(void **state)
{
	enum { SIZE = 3 << 20 };
	struct world *w = *state;
	char *text = malloc(SIZE);

	memset(text, 'x', SIZE);
	text[SIZE - 1] = text[100] = '\n';
	fill(w, str_of(text, SIZE));
	assert_int_equal(tail(w, 0), SIZE);
	assert_int_equal(w->steps, 1);
	assert_int_equal(tail(w, 1), 101);
	assert_true(w->steps > 4);
	assert_int_equal(tail(w, 2000000000), 0);
	free(text);
}

static void another_file_in_its_place_is_noticed(void **state)
{
	struct world *w = *state;

	fill(w, STR("x"));
	assert_false(log_file_replaced(w->fd, w->path));
	assert_int_equal(file_write_atomic(w->path, STR_NULL, 0600, NULL), 0);
	assert_false(log_file_replaced(w->fd, w->path));
	assert_int_equal(file_write_atomic(w->path, STR("y"), 0600, NULL), 0);
	assert_true(log_file_replaced(w->fd, w->path));
	assert_int_equal(unlink(w->path), 0);
	assert_false(log_file_replaced(w->fd, w->path));
}

static void only_files_are_opened(void **state)
{
	struct world *w = *state;
	int fd;

	assert_int_equal(log_file_open(w->path, &fd, NULL), -ERR_NOT_FOUND);
	assert_int_equal(log_file_open(w->dir, &fd, NULL), -ERR_IO);
	assert_int_equal(mkfifo(w->path, 0600), 0);
	assert_int_equal(log_file_open(w->path, &fd, NULL), -ERR_IO);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_last_lines_are_found_from_the_end),
		CASE(a_line_without_its_end_is_not_counted),
		CASE(lines_may_be_longer_than_a_block),
		CASE(a_long_search_has_many_steps),
		CASE(another_file_in_its_place_is_noticed),
		CASE(only_files_are_opened),
	};

	return cmocka_run_group_tests_name("node/log_file", tests, NULL, NULL);
}
