/*
 * File rules, enforced in a separate process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/compiler.h"
#include "cli/roles/landlock.h"

static char folder[] = "/tmp/landlock-XXXXXX";

static const char *in_folder(char path[static 128], const char *name)
{
	(void)snprintf(path, 128, "%s/%s", folder, name);
	return path;
}

static int make_file(const char *name)
{
	char path[128];
	int fd = open(in_folder(path, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int setup(void **state UNUSED)
{
	static const char *const folders[] = { "mine", "shown", "other" };
	char path[128];

	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (mkdir(in_folder(path, folders[i]), 0700) < 0)
			return -1;
	return make_file("mine/a") < 0 || make_file("shown/a") < 0 || make_file("other/a") < 0 ? -1
											       : 0;
}

static int teardown(void **state UNUSED)
{
	static const char *const files[] = { "mine/a", "mine/b", "shown/a", "other/a" };
	static const char *const folders[] = { "mine", "shown", "other", "" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlink(in_folder(path, files[i]));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		(void)rmdir(in_folder(path, folders[i]));
	return 0;
}

/* Returns 0, or errno. */
static int try_open(const char *name, int flags)
{
	char path[128];
	int fd = open(in_folder(path, name), flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : close(fd);
}

static int look(void)
{
	char path[128];
	struct landlock l;

	if (landlock_begin(&l, NULL) < 0 ||
	    landlock_allow(&l, in_folder(path, "mine"), LANDLOCK_WRITE, NULL) < 0 ||
	    landlock_allow(&l, in_folder(path, "shown/a"), LANDLOCK_READ, NULL) < 0 ||
	    landlock_allow(&l, in_folder(path, "nowhere"), LANDLOCK_READ, NULL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enforce(&l, NULL) < 0)
		return 1;
	if (try_open("mine/a", O_RDWR) || try_open("mine/b", O_WRONLY | O_CREAT) ||
	    try_open("shown/a", O_RDONLY))
		return 2;
	if (try_open("shown/a", O_WRONLY) != EACCES ||
	    try_open("shown/b", O_WRONLY | O_CREAT) != EACCES)
		return 3;
	if (try_open("other/a", O_RDONLY) != EACCES || unlink(in_folder(path, "other/a")) == 0)
		return 4;
	return execl("/bin/true", "true", (char *)NULL) < 0 && errno == EACCES ? 0 : 5;
}

static void files_without_a_rule_are_refused(void **state UNUSED)
{
	struct landlock l;
	int status = 0;
	pid_t child;

	assert_int_equal(landlock_begin(&l, NULL), 0);
	if (l.abi == 0)
		skip();
	(void)close(l.fd);
	child = fork();
	if (child == 0)
		_exit(look());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_without_a_rule_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
