/*
 * Real folders, and looks that the test asks for: the loop does not run, so no time passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "net/loop/loop.h"
#include "node/manifests/folder.h"

struct test {
	struct loop *loop;
	struct manifest_folder *folder;
	char dir[64], sub[80];
	struct buf lines; /* "+a=text -b !c " */
};

static void test_note(struct test *t, char sign, struct str path, struct str text)
{
	(void)buf_printf(&t->lines, "%c%.*s%s%.*s ", sign,
			 STR_ARG(str_skip(path, strlen(t->sub) + (path.n > strlen(t->sub)))),
			 text.n > 0 ? "=" : "", STR_ARG(text));
}

static void on_file(void *arg, struct str path, struct str text)
{
	test_note(arg, '+', path, text);
}

static void on_gone(void *arg, struct str path)
{
	test_note(arg, '-', path, STR(""));
}

static void on_problem(void *arg, struct str path, const struct error *err)
{
	(void)err;
	test_note(arg, '!', path, STR(""));
}

static void test_begin(struct test *t)
{
	*t = (struct test){ .lines = BUF_INIT(65536) };
	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/manifests-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->sub, sizeof(t->sub), "%s/m", t->dir);
	assert_int_equal(loop_new(&t->loop, NULL), 0);
	t->folder = manifest_folder_new(&(struct manifest_folder_opts){ .loop = t->loop,
									.path = t->sub,
									.on_file = on_file,
									.on_gone = on_gone,
									.on_problem = on_problem,
									.arg = t });
}

static void on_end(struct loop_timer *t)
{
	loop_stop(t->loop);
}

static void test_end(struct test *t)
{
	struct loop_timer end;

	manifest_folder_free(t->folder);
	/* Closes the watch. */
	loop_timer_init(&end, t->loop, on_end);
	loop_timer_start(&end, 0);
	loop_run(t->loop);
	loop_free(t->loop);
	folder_fixture_remove(t->dir);
	buf_release(&t->lines);
}

static char *test_path(const struct test *t, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", t->sub, name);
	return path;
}

static void put(const struct test *t, const char *name, const char *text)
{
	assert_int_equal(file_write_atomic(test_path(t, name), str_from(text), 0600, NULL), 0);
}

static void expect_look(struct test *t, const char *lines)
{
	buf_clear(&t->lines);
	manifest_folder_look(t->folder);
	if (!str_eqz(buf_str(&t->lines), lines))
		fail_msg("\"%.*s\" instead of \"%s\"", STR_ARG(buf_str(&t->lines)), lines);
}

static void files_come_change_and_go(void **state)
{
	struct test t;

	(void)state;
	test_begin(&t);
	assert_false(manifest_folder_known(t.folder));
	expect_look(&t, ""); /* no folder yet */
	assert_true(manifest_folder_known(t.folder));
	assert_int_equal(mkdir(t.sub, 0700), 0);
	put(&t, "b", "1");
	put(&t, "a", "2");
	put(&t, ".hidden", "3");
	expect_look(&t, "+a=2 +b=1 ");
	expect_look(&t, "");
	put(&t, "b", "4");
	expect_look(&t, "+b=4 ");
	assert_int_equal(unlink(test_path(&t, "a")), 0);
	expect_look(&t, ""); /* an editor may be about to write it again */
	expect_look(&t, "-a ");
	put(&t, "a", "5");
	expect_look(&t, "+a=5 ");
	assert_int_equal(unlink(test_path(&t, "a")), 0);
	expect_look(&t, "");
	put(&t, "a", "6");
	expect_look(&t, "+a=6 ");
	test_end(&t);
}

static void a_folder_that_vanishes_has_no_files(void **state)
{
	struct test t;

	(void)state;
	test_begin(&t);
	assert_int_equal(mkdir(t.sub, 0700), 0);
	put(&t, "a", "1");
	expect_look(&t, "+a=1 ");
	assert_int_equal(unlink(test_path(&t, "a")), 0);
	assert_int_equal(rmdir(t.sub), 0);
	expect_look(&t, "");
	expect_look(&t, "-a ");
	test_end(&t);
}

static void only_regular_files_count(void **state)
{
	struct test t;

	(void)state;
	test_begin(&t);
	assert_int_equal(mkdir(t.sub, 0700), 0);
	assert_int_equal(mkfifo(test_path(&t, "pipe"), 0600), 0);
	assert_int_equal(mkdir(test_path(&t, "folder"), 0700), 0);
	assert_int_equal(symlink("/dev/zero", test_path(&t, "zero")), 0);
	assert_int_equal(symlink("nowhere", test_path(&t, "dangling")), 0);
	put(&t, "real", "1");
	assert_int_equal(symlink("real", test_path(&t, "link")), 0);
	expect_look(&t, "+link=1 +real=1 ");
	test_end(&t);
}

static void a_file_that_cannot_be_read_stays(void **state)
{
	struct test t;

	(void)state;
	if (geteuid() == 0)
		skip(); /* root reads everything */
	test_begin(&t);
	assert_int_equal(mkdir(t.sub, 0700), 0);
	put(&t, "a", "1");
	expect_look(&t, "+a=1 ");
	assert_int_equal(chmod(test_path(&t, "a"), 0), 0);
	expect_look(&t, "!a ");
	expect_look(&t, "");
	assert_int_equal(chmod(t.sub, 0), 0);
	expect_look(&t, "! ");
	expect_look(&t, "");
	assert_int_equal(chmod(t.sub, 0700), 0);
	assert_int_equal(chmod(test_path(&t, "a"), 0600), 0);
	expect_look(&t, "+a=1 ");
	test_end(&t);
}

static void a_path_may_be_one_file(void **state)
{
	struct test t;

	(void)state;
	test_begin(&t);
	assert_int_equal(file_write_atomic(t.sub, STR("1"), 0600, NULL), 0);
	expect_look(&t, "+=1 ");
	assert_int_equal(unlink(t.sub), 0);
	expect_look(&t, "");
	expect_look(&t, "- ");
	test_end(&t);
}

static void a_file_without_end_is_refused(void **state)
{
	struct test t;

	(void)state;
	test_begin(&t);
	assert_int_equal(mkdir(t.sub, 0700), 0);
	put(&t, "large", "1");
	assert_int_equal(truncate(test_path(&t, "large"), INT64_C(1) << 40), 0);
	put(&t, "small", "2");
	expect_look(&t, "!large +small=2 ");
	test_end(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_come_change_and_go),
		cmocka_unit_test(a_folder_that_vanishes_has_no_files),
		cmocka_unit_test(only_regular_files_count),
		cmocka_unit_test(a_file_that_cannot_be_read_stays),
		cmocka_unit_test(a_path_may_be_one_file),
		cmocka_unit_test(a_file_without_end_is_refused),
	};

	return cmocka_run_group_tests_name("node/manifest_folder", tests, NULL, NULL);
}
