/*
 * Whole files: what is read is what was written, limits hold, a failed write
 * leaves the old content and no litter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "base/system/file.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state UNUSED)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/devplane-file-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state UNUSED)
{
	(void)unlink(in_folder("a"));
	return rmdir(folder);
}

static void assert_content(const char *path, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);

	assert_int_equal(file_read(path, &b, NULL), 0);
	assert_string_equal(b.p ? b.p : "", want);
}

static void a_written_file_is_read_back(void **state UNUSED)
{
	struct stat st;

	assert_int_equal(file_write_atomic(in_folder("a"), STR("one"), 0600, NULL), 0);
	assert_content(in_folder("a"), "one");
	assert_int_equal(stat(in_folder("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(file_write_atomic(in_folder("a"), STR(""), 0644, NULL), 0);
	assert_content(in_folder("a"), "");
}

static void a_missing_file_is_not_found_and_named(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1000);
	struct error err;

	assert_int_equal(file_read("/nonexistent/x", &b, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/nonexistent/x"));
	assert_int_equal(file_write_atomic("/nonexistent/x", STR("y"), 0600, &err), -ERR_IO);
}

static void a_file_beyond_the_limit_is_refused(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4);
	struct error err;

	assert_int_equal(file_write_atomic(in_folder("a"), STR("12345"), 0600, NULL), 0);
	assert_int_equal(file_read(in_folder("a"), &b, &err), -ERR_TOO_LARGE);
}

static int count_entries(void)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2; /* . and .. */
}

static void a_write_that_fails_leaves_the_old_content(void **state UNUSED)
{
	static char large[100000];
	struct rlimit old, low;
	struct error err;
	int r;

	assert_int_equal(file_write_atomic(in_folder("a"), STR("old"), 0600, NULL), 0);
	/* A file size limit fails the write half-way, as a full disk does. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	low = old;
	low.rlim_cur = 50000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	r = file_write_atomic(in_folder("a"), str_of(large, sizeof(large)), 0600, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -ERR_IO);
	assert_content(in_folder("a"), "old");
	assert_int_equal(count_entries(), 1);
}

static void a_file_is_made_for_another_user(void **state UNUSED)
{
	struct stat st;

	if (geteuid() != 0)
		skip();
	assert_int_equal(file_write_atomic_for(in_folder("a"), STR("x"), 0600, 1234, 5678, NULL),
			 0);
	assert_int_equal(stat(in_folder("a"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 5678);
	assert_int_equal(st.st_mode & 07777, 0600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_written_file_is_read_back),
		cmocka_unit_test(a_missing_file_is_not_found_and_named),
		cmocka_unit_test(a_file_beyond_the_limit_is_refused),
		cmocka_unit_test(a_write_that_fails_leaves_the_old_content),
		cmocka_unit_test(a_file_is_made_for_another_user),
	};

	return cmocka_run_group_tests_name("base/file", tests, make_folder, remove_folder);
}
