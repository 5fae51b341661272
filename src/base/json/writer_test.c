/*
 * The writer: what it prints, and that it refuses what is no JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/json/writer.h"

static void write_sample(struct json_writer *w, struct arena *a)
{
	struct json *tree = json_make_array(a);

	json_append(tree, json_make_i64(a, 1));
	json_append(tree, json_make_object(a));
	json_writer_begin_object(w);
	json_writer_keyz(w, "s");
	json_writer_strz(w, "a\"b");
	json_writer_key(w, STR("n\n"));
	json_writer_null(w);
	json_writer_keyz(w, "list");
	json_writer_begin_array(w);
	json_writer_bool(w, true);
	json_writer_i64(w, INT64_MIN);
	json_writer_u64(w, UINT64_MAX);
	json_writer_f64(w, 0.5);
	json_writer_begin_object(w);
	json_writer_end_object(w);
	json_writer_begin_array(w);
	json_writer_end_array(w);
	json_writer_raw(w, STR("{\"r\":1}"));
	json_writer_end_array(w);
	json_writer_keyz(w, "tree");
	json_writer_tree(w, tree);
	json_writer_keyz(w, "z");
	json_writer_bool(w, false);
	json_writer_end_object(w);
}

static void assert_sample(const struct json_style *style, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json_writer w;

	arena_init(&a, MIB);
	json_writer_init(&w, &b, style);
	write_sample(&w, &a);
	assert_int_equal(json_writer_finish(&w), 0);
	assert_string_equal(b.p, expected);
}

static void values_are_written_compactly(void **state)
{
	assert_sample(NULL,
		      "{\"s\":\"a\\\"b\",\"n\\n\":null,\"list\":[true,-9223372036854775808,"
		      "18446744073709551615,0.5,{},[],{\"r\":1}],\"tree\":[1,{}],\"z\":false}");
}

static void values_are_written_indented(void **state)
{
	assert_sample(&(struct json_style){ .indent = 2 },
		      "{\n  \"s\": \"a\\\"b\",\n  \"n\\n\": null,\n  \"list\": [\n    true,\n"
		      "    -9223372036854775808,\n    18446744073709551615,\n    0.5,\n    {},\n"
		      "    [],\n    {\"r\":1}\n  ],\n  \"tree\": [\n    1,\n    {}\n  ],\n"
		      "  \"z\": false\n}");
}

static void the_style_reaches_strings(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json_writer w;

	json_writer_init(&w, &b, &(struct json_style){ .html = true });
	json_writer_strz(&w, "<");
	assert_int_equal(json_writer_finish(&w), 0);
	assert_string_equal(b.p, "\"\\u003c\"");
}

static void overflow_is_told_at_the_end(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(20);
	CLEANUP(arena_release) struct arena a;
	struct json_writer w;

	arena_init(&a, MIB);
	json_writer_init(&w, &b, NULL);
	write_sample(&w, &a);
	assert_int_equal(json_writer_finish(&w), -ERR_TOO_LARGE);
	assert_true(b.n <= 20);
}

static void value_without_key(struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_null(w);
}

static void key_in_array(struct json_writer *w)
{
	json_writer_begin_array(w);
	json_writer_keyz(w, "a");
}

static void key_after_key(struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "a");
	json_writer_keyz(w, "b");
}

static void key_without_value(struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "a");
	json_writer_end_object(w);
}

static void mismatched_end(struct json_writer *w)
{
	json_writer_begin_array(w);
	json_writer_end_object(w);
}

static void end_of_nothing(struct json_writer *w)
{
	json_writer_end_array(w);
}

static void two_values(struct json_writer *w)
{
	json_writer_null(w);
	json_writer_null(w);
}

static void unfinished(struct json_writer *w)
{
	json_writer_begin_array(w);
	(void)json_writer_finish(w);
}

static void no_value(struct json_writer *w)
{
	(void)json_writer_finish(w);
}

static void too_deep(struct json_writer *w)
{
	for (int i = 0; i <= JSON_WRITER_DEPTH_MAX; i++)
		json_writer_begin_array(w);
}

/* In a child process, whose end by abort() is what assert leads to. */
static bool aborts(void (*misuse)(struct json_writer *w))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct buf b = BUF_INIT(MIB);
		struct json_writer w;

		(void)signal(SIGABRT, SIG_DFL);
		(void)close(STDERR_FILENO);
		json_writer_init(&w, &b, NULL);
		misuse(&w);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void misuse_asserts(void **state)
{
	assert_true(aborts(value_without_key));
	assert_true(aborts(key_in_array));
	assert_true(aborts(key_after_key));
	assert_true(aborts(key_without_value));
	assert_true(aborts(mismatched_end));
	assert_true(aborts(end_of_nothing));
	assert_true(aborts(two_values));
	assert_true(aborts(unfinished));
	assert_true(aborts(no_value));
	assert_true(aborts(too_deep));
}

static void all_levels_are_remembered(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json_writer w;
	struct json *v = NULL;

	json_writer_init(&w, &b, NULL);
	for (int i = 0; i < JSON_WRITER_DEPTH_MAX; i += 2) {
		json_writer_begin_object(&w);
		json_writer_keyz(&w, "k");
		json_writer_begin_array(&w);
	}
	for (int i = 0; i < JSON_WRITER_DEPTH_MAX; i += 2) {
		json_writer_end_array(&w);
		json_writer_end_object(&w);
	}
	assert_int_equal(json_writer_finish(&w), 0);
	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_written_compactly),
		cmocka_unit_test(values_are_written_indented),
		cmocka_unit_test(the_style_reaches_strings),
		cmocka_unit_test(overflow_is_told_at_the_end),
		cmocka_unit_test(misuse_asserts),
		cmocka_unit_test(all_levels_are_remembered),
	};

	return cmocka_run_group_tests_name("base/json_writer", tests, NULL, NULL);
}
