/*
 * The driver dies before each write of preparing and of unpreparing a claim, in a process of its
 * own. After the next start the kubelet may ask for either: a prepared claim is whole then, and of
 * an unprepared one nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/prepare/prepare_world.h"

enum { CRASHED = 99, STEPS_MAX = 60 };

/* Steps until the process ends; 0: never. */
static unsigned crash_at;

static void crash_step(void)
{
	if (crash_at > 0 && --crash_at == 0)
		_exit(CRASHED);
}

/* --- functions of the C library that change files, with a step before each ---------------- */

int rename(const char *from, const char *to)
{
	crash_step();
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path)
{
	crash_step();
	return unlinkat(AT_FDCWD, path, 0);
}

int fsync(int fd)
{
	crash_step();
	return (int)syscall(SYS_fsync, fd);
}

/* --- a vendor with something to lose ------------------------------------------------------ */

static void instance_path(const struct prepare_world *t, const struct dp_claim *c, char path[128])
{
	(void)snprintf(path, 128, "%s/instance-%s", t->dir, dp_claim_uid(c));
}

/* Makes an instance, like one of a GPU. Idempotent. */
static int crash_prepare(void *arg, struct dp_claim *c)
{
	static const char *const env[] = { "A=1", NULL };
	struct dp_edits e = { .size = sizeof(e), .env = env };
	char path[128];
	int fd;

	instance_path(arg, c, path);
	crash_step();
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return dp_claim_fail(c, "cannot make the instance");
	(void)close(fd);
	crash_step();
	return dp_claim_edit(c, 0, &e);
}

static int crash_unprepare(void *arg, struct dp_claim *c)
{
	char path[128];

	instance_path(arg, c, path);
	(void)unlink(path);
	crash_step();
	return 0;
}

static int crash_setup(void **state)
{
	struct prepare_world *t;

	if (prepare_world_setup(state) < 0)
		return -1;
	t = *state;
	t->opts.prepare = crash_prepare;
	t->opts.unprepare = crash_unprepare;
	prepare_free(t->prepare);
	prepare_world_begin(t);
	return 0;
}

/* --- crashes ------------------------------------------------------------------------------ */

/*
 * Another process does it and ends before step n. Returns true if it came to its end. This process
 * drops its state before, and reads the checkpoint again afterwards.
 */
static bool dies_at(struct prepare_world *t, bool unprepare, unsigned n)
{
	int status;
	pid_t child;

	prepare_free(t->prepare);
	t->prepare = NULL;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prepare_world_begin(t);
		t->answers = 0;
		crash_at = n;
		(void)prepare_world_ask(t, unprepare, "a");
		prepare_world_settle(t);
		_exit(t->answers == 1 && t->error[0][0] == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CRASHED);
	prepare_world_begin(t);
	return WEXITSTATUS(status) == 0;
}

/* The names in a folder, except those of the folders themselves. */
static unsigned count_files(const char *path, const char *except)
{
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.' && strcmp(e->d_name, except) != 0;
	if (d)
		(void)closedir(d);
	return n;
}

/* The checkpoint, the CDI folder and the instance; and the claim's CDI file. */
static void assert_prepared(struct prepare_world *t, unsigned n)
{
	if (!prepare_world_file_has(t, "prepared.json", "\"prepared\":true") ||
	    !prepare_world_file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1") ||
	    count_files(t->dir, "cdi") != 2 || count_files(t->cdi, "") != 1)
		fail_msg("not whole after a crash before step %u", n);
	assert_int_equal(t->devices, 1);
}

static void assert_nothing_left(struct prepare_world *t, unsigned n)
{
	if (!prepare_world_file_has(t, "prepared.json", "\"claims\":[]") ||
	    count_files(t->dir, "cdi") != 1 || count_files(t->cdi, "") != 0)
		fail_msg("something is left after a crash before step %u", n);
}

static void a_crash_of_preparing_is_followed_by_preparing(void **state)
{
	struct prepare_world *t = *state;
	bool whole = false;

	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		whole = dies_at(t, false, n);
		assert_true(n > 8 || !whole);
		prepare_world_expect(t, false, "a", "");
		assert_prepared(t, n);
		prepare_world_expect(t, true, "a", "");
		assert_nothing_left(t, n);
	}
}

static void a_crash_of_preparing_is_followed_by_unpreparing(void **state)
{
	struct prepare_world *t = *state;
	bool whole = false;

	/* So that there is a checkpoint from the first crash on. */
	prepare_world_expect(t, false, "a", "");
	prepare_world_expect(t, true, "a", "");
	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		whole = dies_at(t, false, n);
		prepare_world_expect(t, true, "a", "");
		assert_nothing_left(t, n);
	}
}

static void a_crash_of_unpreparing_is_followed_by_either(void **state)
{
	struct prepare_world *t = *state;
	bool whole = false;

	for (unsigned n = 1; !whole; n++) {
		assert_true(n < STEPS_MAX);
		prepare_world_expect(t, false, "a", "");
		whole = dies_at(t, true, n);
		assert_true(n > 4 || !whole);
		if (n % 2 == 0) {
			prepare_world_expect(t, false, "a", "");
			assert_prepared(t, n);
		}
		prepare_world_expect(t, true, "a", "");
		assert_nothing_left(t, n);
	}
}

#define CRASH_TEST(f) cmocka_unit_test_setup_teardown(f, crash_setup, prepare_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CRASH_TEST(a_crash_of_preparing_is_followed_by_preparing),
		CRASH_TEST(a_crash_of_preparing_is_followed_by_unpreparing),
		CRASH_TEST(a_crash_of_unpreparing_is_followed_by_either),
	};

	return cmocka_run_group_tests_name("drivers/prepare_crash", tests, NULL, NULL);
}
