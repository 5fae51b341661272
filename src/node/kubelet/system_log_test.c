/*
 * Paths below a folder, by both ways of opening them; and lists. node_static_test.mjs sends files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "node/kubelet/system_log.h"

static char dir[64], top[80];

static const char *at(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/system-log-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(top, sizeof(top), "%s/log", dir);
	assert_int_equal(mkdir(top, 0700), 0);
	assert_int_equal(mkdir(at("sub"), 0700), 0);
	assert_int_equal(file_write_atomic(at("../secret"), STR("secret"), 0600, NULL), 0);
	assert_int_equal(file_write_atomic(at("a.log"), STR("a"), 0600, NULL), 0);
	assert_int_equal(file_write_atomic(at("sub/b.log"), STR("b"), 0600, NULL), 0);
	assert_int_equal(file_write_atomic(at("<i> \"&:.log"), STR("c"), 0600, NULL), 0);
	assert_int_equal(symlink("sub/b.log", at("inside")), 0);
	assert_int_equal(symlink("../secret", at("outside")), 0);
	assert_int_equal(symlink("/etc/passwd", at("absolute")), 0);
	assert_int_equal(symlink("..", at("up")), 0);
	assert_int_equal(symlink("/proc/self/root", at("magic")), 0);
	assert_int_equal(symlink("loop", at("loop")), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_fixture_remove(dir);
	return 0;
}

static const struct {
	const char *path;
	bool beneath, plain; /* whether it opens */
} cases[] = {
	{ "", true, true },
	{ "/", true, true },
	{ "a.log", true, true },
	{ "//a.log", true, true },
	{ "./a.log", true, true },
	{ "sub", true, true },
	{ "sub/", true, true },
	{ "sub/b.log", true, true },
	{ "sub//b.log", true, true },
	{ "inside", true, false },
	{ "sub/../a.log", true, false },
	{ "none", false, false },
	{ "a.log/x", false, false },
	{ "..", false, false },
	{ "../secret", false, false },
	{ "/../secret", false, false },
	{ "sub/../../secret", false, false },
	{ "outside", false, false },
	{ "absolute", false, false },
	{ "up/secret", false, false },
	{ "up", false, false },
	{ "magic/etc/passwd", false, false },
	{ "loop", false, false },
	{ "sub/../..", false, false },
};

static void check_opening(size_t i, bool plain)
{
	struct error err;
	int fd = -1;
	int r = system_log_open(top, str_from(cases[i].path), plain, &fd, &err);
	bool want = plain ? cases[i].plain : cases[i].beneath;

	if ((r == 0) != want)
		fail_msg("%s (%d): %d", cases[i].path, plain, r);
	if (r == 0)
		(void)close(fd);
	else
		assert_int_equal(r, -ERR_NOT_FOUND);
}

static void only_what_lies_below_the_folder_opens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_opening(i, false);
		check_opening(i, true);
	}
}

static void a_list_is_sorted_and_escaped(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct arena a;
	struct error err;
	int fd = -1;

	(void)state;
	arena_init(&a, MIB);
	assert_int_equal(system_log_open(top, STR(""), false, &fd, &err), 0);
	assert_int_equal(system_log_list(fd, &a, &out, &err), 0);
	assert_non_null(strstr(out.p, "<pre>\n<a href=\"./%3Ci%3E%20%22%26%3A.log\">&lt;i&gt; "
				      "&#34;&amp;:.log</a>\n<a href=\"./a.log\">a.log</a>\n"));
	assert_non_null(strstr(out.p, "<a href=\"./sub/\">sub/</a>\n<a href=\"./up\">up</a>\n"
				      "</pre>\n"));
	arena_release(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_lies_below_the_folder_opens),
		cmocka_unit_test(a_list_is_sorted_and_escaped),
	};

	return cmocka_run_group_tests_name("node/system_log", tests, set_up, tear_down);
}
