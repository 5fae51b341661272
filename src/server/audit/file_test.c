/*
 * The file of the audit log: names of older files, which of them are kept, writing from several
 * threads while it is rotated.
 */
#include "server/audit/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/bytes.h"
#include "base/core/clock.h"
#include "base/core/queue.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "net/loop/gzip.h"

#define DAY (86400 * CLOCK_SEC)

static const struct log quiet = { .level = LOG_LEVEL_NONE };

struct scene {
	struct arena arena;
	char dir[32];
	const char *path;
	atomic_size_t written, failed;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .dir = "/tmp/audit-file-XXXXXX" };
	arena_init(&s->arena, SIZE_MAX);
	assert_non_null(mkdtemp(s->dir));
	s->path = arena_printf(&s->arena, "%s/audit.log", s->dir);
}

static void scene_release(struct scene *s)
{
	folder_fixture_remove(s->dir);
	arena_release(&s->arena);
}

static const char *inside(struct scene *s, const char *name)
{
	return arena_printf(&s->arena, "%s/%s", s->dir, name);
}

static void put(struct scene *s, const char *name, const char *text)
{
	assert_int_equal(file_write_atomic(inside(s, name), str_from(text), 0600, NULL), 0);
}

static bool exists(struct scene *s, const char *name)
{
	return access(inside(s, name), F_OK) == 0;
}

static void older_files_have_upstreams_names(void **state UNUSED)
{
	static const char *const foreign[] = {
		"audit.log",
		"audit-.log",
		"audit-2026-02-03T04-05-06.007",
		"audit-2026-02-03T04-05-06.007.txt",
		"audit-2026-02-03T04:05:06.007.log",
		"audit-2026-13-03T04-05-06.007.log",
		"other-2026-02-03T04-05-06.007.log",
		"audit-2026-02-03T04-05-06.007.log.gz.tmp",
	};
	int64_t ns = 0, at = INT64_C(1770091506007) * CLOCK_MS;
	struct arena a;
	bool zipped;

	arena_init(&a, SIZE_MAX);
	assert_string_equal(audit_rotate_name(&a, "/x.y/audit.log", at),
			    "/x.y/audit-2026-02-03T04-05-06.007.log");
	assert_string_equal(audit_rotate_name(&a, "audit", at), "audit-2026-02-03T04-05-06.007");
	assert_true(audit_rotate_time("/x/audit.log", STR("audit-2026-02-03T04-05-06.007.log"), &ns,
				      &zipped));
	assert_true(ns == at && !zipped);
	assert_true(audit_rotate_time("audit.log", STR("audit-2026-02-03T04-05-06.007.log.gz"), &ns,
				      &zipped));
	assert_true(ns == at && zipped);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		if (audit_rotate_time("audit.log", str_from(foreign[i]), &ns, &zipped))
			fail_msg("%s is taken for an older file", foreign[i]);
	arena_release(&a);
}

static void old_and_surplus_files_are_removed(void **state UNUSED)
{
	struct audit_rotation r = { .max_backups = 2, .max_age_days = 3 };
	int64_t now = INT64_C(1770091506007) * CLOCK_MS; /* 2026-02-03 */
	struct scene s;

	scene_init(&s);
	put(&s, "audit-2026-02-03T01-00-00.000.log", "a");
	put(&s, "audit-2026-02-02T01-00-00.000.log.gz", "b");
	put(&s, "audit-2026-02-01T01-00-00.000.log", "c");
	put(&s, "audit-2026-02-01T01-00-00.000.log.gz.tmp", "d");
	put(&s, "audit.log", "e");
	put(&s, "audit-x.log", "f");
	assert_int_equal(audit_rotate_tidy(s.path, &r, now, NULL), 0);
	assert_true(exists(&s, "audit-2026-02-03T01-00-00.000.log"));
	assert_true(exists(&s, "audit-2026-02-02T01-00-00.000.log.gz"));
	assert_false(exists(&s, "audit-2026-02-01T01-00-00.000.log"));
	assert_false(exists(&s, "audit-2026-02-01T01-00-00.000.log.gz.tmp"));
	assert_int_equal(audit_rotate_tidy(s.path, &r, now + 2 * DAY, NULL), 0);
	assert_true(exists(&s, "audit-2026-02-03T01-00-00.000.log"));
	assert_false(exists(&s, "audit-2026-02-02T01-00-00.000.log.gz"));
	assert_true(exists(&s, "audit.log") && exists(&s, "audit-x.log"));
	scene_release(&s);
}

static void a_compressed_file_has_the_same_content(void **state UNUSED)
{
	struct audit_rotation r = { .compress = true };
	struct buf text = BUF_INIT(1 << 21), packed = BUF_INIT(1 << 21), got = BUF_INIT(1 << 21);
	struct scene s;

	scene_init(&s);
	for (unsigned i = 0; text.n < 1000000; i++)
		(void)buf_printf(&text, "%u line %u\n", i * 2654435761u, i);
	put(&s, "audit-2026-02-03T01-00-00.000.log", text.p);
	assert_int_equal(audit_rotate_tidy(s.path, &r, 0, NULL), 0);
	assert_false(exists(&s, "audit-2026-02-03T01-00-00.000.log"));
	assert_int_equal(
		file_read(inside(&s, "audit-2026-02-03T01-00-00.000.log.gz"), &packed, NULL), 0);
	assert_int_equal(gzip_inflate(buf_str(&packed), &got, 1 << 21, NULL), 0);
	assert_true(packed.n < text.n && str_eq(buf_str(&got), buf_str(&text)));
	buf_release(&text);
	buf_release(&packed);
	buf_release(&got);
	scene_release(&s);
}

/* --- writing ------------------------------------------------------------------------------ */

enum { THREADS = 3, LINES = 2000 };

struct writer {
	struct thread thread;
	struct audit_file *file;
	int number;
};

static void write_lines(void *arg)
{
	struct writer *w = arg;
	char line[64];

	for (int i = 0; i < LINES; i++) {
		int n = snprintf(line, sizeof(line), "%d %d ....................\n", w->number, i);

		assert_true(audit_file_write(w->file, str_of(line, (size_t)n)));
	}
}

/* The lines in all files together. Each is whole. */
static size_t count_lines(struct scene *s)
{
	DIR *d = opendir(s->dir);
	const struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d))) {
		struct buf text = BUF_INIT(1 << 22);

		if (e->d_name[0] != '.' && file_read(inside(s, e->d_name), &text, NULL) == 0)
			for (size_t i = 0; i < text.n; i++)
				n += text.p[i] == '\n' && i > 0 && text.p[i - 1] == '.';
		buf_release(&text);
	}
	(void)closedir(d);
	return n;
}

static size_t count_files(struct scene *s)
{
	DIR *d = opendir(s->dir);
	const struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	(void)closedir(d);
	return n;
}

static void no_line_is_lost_while_the_file_is_rotated(void **state UNUSED)
{
	struct writer writers[THREADS];
	struct audit_file_opts opts = { .rotation = { .max_bytes = 20000 }, .log = &quiet };
	struct audit_file *f = NULL;
	struct scene s;

	scene_init(&s);
	opts.path = s.path;
	assert_int_equal(audit_file_open(&opts, &f, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ .file = f, .number = i };
		assert_int_equal(
			thread_start(&writers[i].thread, "w", write_lines, &writers[i], NULL), 0);
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(&writers[i].thread);
	audit_file_close(f);
	assert_int_equal(count_lines(&s), THREADS * LINES);
	scene_release(&s);
}

static void on_sent(void *arg, bool written)
{
	struct scene *s = arg;

	(void)atomic_fetch_add(written ? &s->written : &s->failed, 1);
}

static void sent_lines_are_written_or_refused(void **state UNUSED)
{
	struct audit_file_opts opts = { .queue_max = 100, .sent = on_sent, .log = &quiet };
	struct bytes *line = bytes_copy(STR("one line.\n"));
	struct audit_file *f = NULL;
	size_t taken = 0;
	struct scene s;

	scene_init(&s);
	opts.path = s.path;
	opts.arg = &s;
	assert_int_equal(audit_file_open(&opts, &f, NULL), 0);
	for (int i = 0; i < 5000; i++)
		taken += audit_file_send(f, line);
	audit_file_close(f);
	assert_true(taken >= 100);
	assert_int_equal(s.written, taken);
	assert_int_equal(s.failed, 0);
	assert_int_equal(count_lines(&s), taken);
	bytes_unref(line);
	scene_release(&s);
}

static void a_full_disk_fails_each_line(void **state UNUSED)
{
	struct audit_file_opts opts = { .path = "/dev/full",
					.rotation = { .max_bytes = 10 },
					.log = &quiet };
	struct audit_file *f = NULL;

	assert_int_equal(audit_file_open(&opts, &f, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_false(audit_file_write(f, STR("one line.\n")));
	audit_file_close(f);
}

/* A limit on the size of files stands for a full disk. */
static void lines_that_fail_do_not_rotate_the_file(void **state UNUSED)
{
	struct audit_file_opts opts = { .rotation = { .max_bytes = 100 }, .log = &quiet };
	struct rlimit before, small = { .rlim_cur = 50 };
	struct audit_file *f = NULL;
	size_t written = 0;
	struct scene s;

	scene_init(&s);
	opts.path = s.path;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(audit_file_open(&opts, &f, NULL), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 100; i++)
		written += audit_file_write(f, STR("one line.\n"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(written, 5);
	assert_int_equal(count_files(&s), 1);
	for (int i = 0; i < 10; i++)
		assert_true(audit_file_write(f, STR("one line.\n")));
	audit_file_close(f);
	assert_int_equal(count_files(&s), 2);
	assert_int_equal(count_lines(&s), 15);
	scene_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(older_files_have_upstreams_names),
		cmocka_unit_test(old_and_surplus_files_are_removed),
		cmocka_unit_test(a_compressed_file_has_the_same_content),
		cmocka_unit_test(no_line_is_lost_while_the_file_is_rotated),
		cmocka_unit_test(sent_lines_are_written_or_refused),
		cmocka_unit_test(a_full_disk_fails_each_line),
		cmocka_unit_test(lines_that_fail_do_not_rotate_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
