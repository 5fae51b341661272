/*
 * Lines go through a pipe or a file, so what is checked is what write(2) got.
 * JSON lines are read back with the parser.
 */
#include "base/report/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/queue.h"
#include "base/json/json.h"

#define TIME "2006-01-02T15:04:05.987654Z"

struct fixture {
	struct clock_manual clock;
	struct log log;
	int fds[2];
	char line[LOG_LINE_MAX + 1];
};

static void fixture_init(struct fixture *f, enum log_format format, enum log_level level)
{
	assert_int_equal(pipe(f->fds), 0);
	/* A line of the greatest length must fit, or the writer would wait for ever. */
	assert_true(fcntl(f->fds[1], F_SETPIPE_SZ, 1 << 16) > 0);
	clock_manual_init(&f->clock, 0, INT64_C(1136214245987654321));
	log_init(&f->log, &(struct log_options){ .level = level,
						 .format = format,
						 .fd = f->fds[1],
						 .clock = &f->clock.clock });
}

static void fixture_release(struct fixture *f)
{
	log_release(&f->log);
	(void)close(f->fds[0]);
	(void)close(f->fds[1]);
}

/* The output since the last call, which must be one line. */
static const char *take_line(struct fixture *f)
{
	ssize_t n = read(f->fds[0], f->line, sizeof(f->line));

	assert_in_range(n, 1, LOG_LINE_MAX);
	assert_int_equal(f->line[n - 1], '\n');
	f->line[n - 1] = '\0';
	assert_null(strchr(f->line, '\n'));
	assert_true(str_is_utf8(str_from(f->line)));
	return f->line;
}

static void json_lines_have_typed_fields(void **state)
{
	struct fixture f;
	struct error err;

	fixture_init(&f, LOG_FORMAT_JSON, LOG_LEVEL_INFO);
	error_set(&err, ERR_IO, "no space");
	log_info(&f.log, "listening", LOG_Z("address", "::1"), LOG_INT("port", -1),
		 LOG_UINT("max", UINT64_MAX), LOG_F64("load", 0.5), LOG_BOOL("tls", true),
		 LOG_NS("took", 1500 * CLOCK_MS), LOG_ERR(&err));
	assert_string_equal(take_line(&f),
			    "{\"ts\":\"" TIME "\",\"level\":\"info\",\"msg\":\"listening\","
			    "\"address\":\"::1\",\"port\":-1,\"max\":18446744073709551615,"
			    "\"load\":0.5,\"tls\":true,\"took\":\"1.5s\",\"error\":\"no space\"}");
	log_error(&f.log, "bare");
	assert_string_equal(take_line(&f),
			    "{\"ts\":\"" TIME "\",\"level\":\"error\",\"msg\":\"bare\"}");
	log_warn(&f.log, "odd numbers", LOG_F64("a", NAN), LOG_F64("b", -INFINITY));
	assert_string_equal(take_line(&f), "{\"ts\":\"" TIME "\",\"level\":\"warn\","
					   "\"msg\":\"odd numbers\",\"a\":\"NaN\",\"b\":\"-Inf\"}");
	fixture_release(&f);
}

static void text_lines_quote_what_could_be_misread(void **state)
{
	struct fixture f;

	fixture_init(&f, LOG_FORMAT_TEXT, LOG_LEVEL_TRACE);
	log_info(&f.log, "two words", LOG_Z("a", "plain/1.2:3"), LOG_Z("b", "two words"),
		 LOG_Z("c", ""), LOG_Z("d", "x=y"), LOG_Z("e", "\"q\""), LOG_Z("f", "\033[31m"),
		 LOG_Z("g", "caf\xc3\xa9"), LOG_STR("h", STR("a\0\xff")), LOG_INT("i", 7));
	assert_string_equal(take_line(&f),
			    TIME " INFO  two words a=plain/1.2:3 b=\"two words\" c=\"\" d=\"x=y\" "
				 "e=\"\\\"q\\\"\" f=\"\\x1b[31m\" g=caf\xc3\xa9 "
				 "h=\"a\\x00\\xff\" i=7");
	log_trace(&f.log, "a\nb");
	assert_string_equal(take_line(&f), TIME " TRACE \"a\\nb\"");
	fixture_release(&f);
}

static void disabled_levels_write_nothing_and_evaluate_nothing(void **state)
{
	struct fixture f;
	int evaluated = 0;

	fixture_init(&f, LOG_FORMAT_TEXT, LOG_LEVEL_WARN);
	log_info(&f.log, "hidden", LOG_INT("n", ++evaluated));
	log_debug(&f.log, "hidden", LOG_INT("n", ++evaluated));
	log_error(log_null(), "hidden", LOG_INT("n", ++evaluated));
	assert_int_equal(evaluated, 0);
	log_warn(&f.log, "shown", LOG_INT("n", ++evaluated));
	assert_string_equal(take_line(&f), TIME " WARN  shown n=1");
	fixture_release(&f);
}

static void secrets_are_redacted_by_kind_and_by_key(void **state)
{
	static const char *const keys[] = {
		"authorization",
		"Authorization",
		"token",
		"bearerToken",
		"X-Auth-Token",
		"password",
		"dbPASSWORD",
		"clientSecret",
		"secret",
		"cookie",
		"Set-Cookie",
		"client-key-data",
		"proxy-authorization",
	};
	struct fixture f;

	fixture_init(&f, LOG_FORMAT_JSON, LOG_LEVEL_INFO);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		log_info(&f.log, "m", LOG_Z(keys[i], "hunter2"));
		assert_null(strstr(take_line(&f), "hunter2"));
		assert_non_null(strstr(f.line, "\"(redacted)\"}"));
	}
	log_info(&f.log, "m", LOG_SECRET("pin", STR("1234")), LOG_INT("password", 1234));
	assert_null(strstr(take_line(&f), "1234"));
	log_info(&f.log, "m", LOG_Z("tokens", "3"), LOG_Z("secretName", "s"));
	assert_non_null(strstr(take_line(&f), "\"tokens\":\"3\",\"secretName\":\"s\""));
	fixture_release(&f);
}

static void children_add_their_fields_after_their_parents(void **state)
{
	struct log_field outer[] = { LOG_Z("role", "server") };
	struct log_field inner[] = { LOG_INT("conn", 3), LOG_Z("token", "t0p") };
	struct log parent, child;
	struct fixture f;

	fixture_init(&f, LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
	log_child(&parent, &f.log, outer, ARRAY_SIZE(outer));
	log_child(&child, &parent, inner, ARRAY_SIZE(inner));
	log_info(&child, "hello", LOG_INT("n", 1));
	assert_string_equal(take_line(&f),
			    TIME " INFO  hello role=server conn=3 token=(redacted) n=1");
	log_info(&parent, "hello");
	assert_string_equal(take_line(&f), TIME " INFO  hello role=server");
	fixture_release(&f);
}

static void check_json(const char *line)
{
	struct arena a;
	struct json *v;

	arena_init(&a, 1 * MIB);
	assert_int_equal(json_parse(&a, str_from(line), NULL, &v, NULL), 0);
	arena_release(&a);
}

static void json_is_valid_for_any_bytes(void **state)
{
	struct fixture f;
	char bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	fixture_init(&f, LOG_FORMAT_JSON, LOG_LEVEL_INFO);
	log_info(&f.log, "\xff\"\n", LOG_STR("all", str_of(bytes, sizeof(bytes))));
	check_json(take_line(&f));
	fixture_release(&f);
}

/* At any position of the limit, the line stays valid and is marked as cut. */
static void long_lines_are_cut_and_marked(void **state)
{
	static char filler[LOG_LINE_MAX];
	struct fixture f;

	fixture_init(&f, LOG_FORMAT_JSON, LOG_LEVEL_INFO);
	memset(filler, 'x', sizeof(filler));
	for (size_t n = LOG_LINE_MAX - 300; n < LOG_LINE_MAX; n++) {
		log_info(&f.log, "m", LOG_STR("fill", str_of(filler, n)), LOG_INT("number", 12345),
			 LOG_Z("text", "\xff\xff\xff\xff"), LOG_BOOL("last", true));
		check_json(take_line(&f));
		assert_true(strstr(f.line, "truncated") || strstr(f.line, "\"last\":true}"));
	}
	assert_non_null(strstr(f.line, "xxx...(truncated)\"}"));
	fixture_release(&f);
}

static void long_text_lines_and_messages_are_cut_too(void **state)
{
	static char filler[2 * LOG_LINE_MAX];
	struct fixture f;

	fixture_init(&f, LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
	memset(filler, 'y', sizeof(filler) - 1);
	log_info(&f.log, filler, LOG_INT("n", 1));
	assert_true(str_ends(str_from(take_line(&f)), STR("yyy...(truncated)\"")));
	log_info(&f.log, "m", LOG_Z("v", filler), LOG_INT("n", 1));
	assert_true(str_ends(str_from(take_line(&f)), STR("yyy...(truncated)\"")));
	fixture_release(&f);
}

static void levels_follow_the_v_flag(void **state)
{
	assert_int_equal(log_level_from_v(-1), LOG_LEVEL_WARN);
	assert_int_equal(log_level_from_v(0), LOG_LEVEL_INFO);
	assert_int_equal(log_level_from_v(1), LOG_LEVEL_INFO);
	assert_int_equal(log_level_from_v(2), LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_from_v(4), LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_from_v(5), LOG_LEVEL_TRACE);
	assert_int_equal(log_level_from_v(10), LOG_LEVEL_TRACE);
}

static void the_format_follows_flag_and_file(void **state)
{
	enum log_format format = LOG_FORMAT_AUTO;
	struct fixture f;

	assert_true(log_format_parse(STR("json"), &format));
	assert_int_equal(format, LOG_FORMAT_JSON);
	assert_true(log_format_parse(STR("text"), &format));
	assert_int_equal(format, LOG_FORMAT_TEXT);
	assert_false(log_format_parse(STR("JSON"), &format));
	fixture_init(&f, LOG_FORMAT_AUTO, LOG_LEVEL_INFO);
	assert_true(f.log.json); /* a pipe is no terminal */
	assert_false(f.log.colour);
	fixture_release(&f);
}

static bool colour_on_terminal(int fd)
{
	struct log lg;
	bool colour;

	log_init(&lg, &(struct log_options){ .level = LOG_LEVEL_INFO, .fd = fd });
	assert_false(lg.json);
	colour = lg.colour;
	log_release(&lg);
	return colour;
}

static void colour_needs_a_terminal_and_obeys_no_color(void **state)
{
	struct clock_manual clock;
	struct log_options options = { .level = LOG_LEVEL_INFO, .clock = &clock.clock };
	int master = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	char seen[100] = "";
	struct log lg;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		skip();
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
	assert_false(colour_on_terminal(terminal));
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_true(colour_on_terminal(terminal));
	clock_manual_init(&clock, 0, 0);
	options.fd = terminal;
	log_init(&lg, &options);
	log_error(&lg, "m");
	log_release(&lg);
	assert_true(read(master, seen, sizeof(seen) - 1) > 0);
	assert_non_null(strstr(seen, "Z \033[31mERROR\033[0m m\r\n"));
	(void)close(terminal);
	(void)close(master);
}

static void a_limit_allows_n_per_second_and_tells_how_many_it_ate(void **state)
{
	struct log_limit limit = { .per_s = 2 };
	int64_t now = 5 * CLOCK_SEC;
	uint64_t suppressed = 9;
	struct fixture f;

	assert_true(log_limit_allow(&limit, now, &suppressed));
	assert_int_equal(suppressed, 0);
	assert_true(log_limit_allow(&limit, now + 1, &suppressed));
	for (int i = 0; i < 5; i++)
		assert_false(log_limit_allow(&limit, now + CLOCK_SEC - 1, &suppressed));
	assert_true(log_limit_allow(&limit, now + CLOCK_SEC, &suppressed));
	assert_int_equal(suppressed, 5);
	assert_true(log_limit_allow(&limit, now + CLOCK_SEC, &(uint64_t){ 0 }));
	assert_int_equal(limit.suppressed, 0);
	fixture_init(&f, LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
	log_info(&f.log, "m", LOG_SUPPRESSED(suppressed));
	assert_string_equal(take_line(&f), TIME " INFO  m suppressed=5");
	log_info(&f.log, "m", LOG_SUPPRESSED(0), LOG_INT("n", 1));
	assert_string_equal(take_line(&f), TIME " INFO  m n=1");
	fixture_release(&f);
}

static void logging_leaves_errno_alone_and_survives_a_closed_file(void **state)
{
	struct log lg;
	int fd = dup(STDERR_FILENO);

	log_init(&lg, &(struct log_options){ .level = LOG_LEVEL_INFO, .fd = fd });
	(void)close(fd);
	errno = ENOENT;
	log_info(&lg, "nobody hears this");
	assert_int_equal(errno, ENOENT);
	log_release(&lg);
}

enum { WRITERS = 4, LINES = 200 };

struct writer {
	const struct log *log;
	char text[6000]; /* beyond PIPE_BUF: such writes may interleave without a lock */
};

static void write_lines(void *arg)
{
	struct writer *w = arg;

	for (int i = 0; i < LINES; i++)
		log_info(w->log, "m", LOG_Z("text", w->text));
}

struct reader {
	int fd;
	int whole[WRITERS]; /* texts of each writer that arrived unbroken */
};

static void read_all(void *arg)
{
	const size_t text_n = sizeof(((struct writer *)0)->text) - 1;
	struct reader *r = arg;
	size_t lines = 0, run = 0;
	char bytes[4096], last = 0;
	ssize_t n;

	while (lines < WRITERS * LINES && (n = read(r->fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; last = bytes[i++]) {
			run = bytes[i] == last ? run + 1 : 1;
			lines += bytes[i] == '\n';
			if (run == text_n)
				r->whole[bytes[i] - 'a']++;
		}
	}
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	static struct writer writers[WRITERS];
	struct thread threads[WRITERS], reader;
	struct fixture f;
	struct reader r = { .fd = -1 };

	fixture_init(&f, LOG_FORMAT_JSON, LOG_LEVEL_INFO);
	r.fd = f.fds[0];
	assert_int_equal(thread_start(&reader, "reader", read_all, &r, NULL), 0);
	for (int i = 0; i < WRITERS; i++) {
		writers[i].log = &f.log;
		memset(writers[i].text, 'a' + i, sizeof(writers[i].text) - 1);
		assert_int_equal(
			thread_start(&threads[i], "writer", write_lines, &writers[i], NULL), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		thread_join(&threads[i]);
	thread_join(&reader);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(r.whole[i], LINES);
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_lines_have_typed_fields),
		cmocka_unit_test(text_lines_quote_what_could_be_misread),
		cmocka_unit_test(disabled_levels_write_nothing_and_evaluate_nothing),
		cmocka_unit_test(secrets_are_redacted_by_kind_and_by_key),
		cmocka_unit_test(children_add_their_fields_after_their_parents),
		cmocka_unit_test(json_is_valid_for_any_bytes),
		cmocka_unit_test(long_lines_are_cut_and_marked),
		cmocka_unit_test(long_text_lines_and_messages_are_cut_too),
		cmocka_unit_test(levels_follow_the_v_flag),
		cmocka_unit_test(the_format_follows_flag_and_file),
		cmocka_unit_test(colour_needs_a_terminal_and_obeys_no_color),
		cmocka_unit_test(a_limit_allows_n_per_second_and_tells_how_many_it_ate),
		cmocka_unit_test(logging_leaves_errno_alone_and_survives_a_closed_file),
		cmocka_unit_test(lines_of_several_threads_do_not_mix),
	};

	return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
