/*
 * Lists of system calls, each in a separate process, because a limit is permanent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/compiler.h"
#include "cli/roles/syscalls.h"

/* Exit codes of a child. */
enum { FINE, NO_LIMIT = 99 };

/* Runs `fn` in a child with the list. Returns 0, or the line where a check failed. */
static int run_with(const char *list, int (*fn)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (syscalls_limit(list, NULL) < 0)
			_exit(NO_LIMIT);
		_exit(fn());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int look_at_limit(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return child < 0 ? FINE : NO_LIMIT;
}

/* Builds with sanitizers, and kernels without filters, have no limits. */
static void need_limits(void)
{
	if (run_with("controller", look_at_limit) == NO_LIMIT)
		skip();
}

static bool is_refused(long r)
{
	return r < 0 && errno == EPERM;
}

static int look_at_attacks(void)
{
	if (!is_refused(fork()))
		return 1;
	if (!is_refused(execl("/bin/true", "true", (char *)NULL)))
		return 2;
	if (!is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)))
		return 3;
	if (!is_refused(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)) ||
	    !is_refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0)) ||
	    !is_refused(syscall(SYS_bpf, 0, NULL, 0)) || !is_refused(syscall(SYS_unshare, 0)) ||
	    !is_refused(syscall(SYS_userfaultfd, 0)) ||
	    !is_refused(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)) ||
	    !is_refused(syscall(SYS_io_uring_setup, 1, NULL)) ||
	    !is_refused(syscall(SYS_init_module, NULL, 0, NULL)) ||
	    !is_refused(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)) ||
	    !is_refused(syscall(SYS_setuid, getuid())))
		return 4;
	if (!is_refused(socket(AF_PACKET, SOCK_RAW, 0)) ||
	    !is_refused(socket(AF_VSOCK, SOCK_STREAM, 0)))
		return 5;
	if (!is_refused(kill(getpid(), 0)))
		return 6;
	return FINE;
}

static void attacks_are_refused_to_every_role(void **state UNUSED)
{
	static const char *const lists[] = { "server", "controller", "scheduler",
					     "node",   "driver",     "explain" };

	need_limits();
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		assert_int_equal(run_with(lists[i], look_at_attacks), FINE);
}

static void *set_flag(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static int look_at_ordinary_work(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	pthread_t thread;
	int flag = 0, fd;
	void *memory = malloc((size_t)64 << 20);

	if (!memory || pthread_create(&thread, NULL, set_flag, &flag) != 0 ||
	    pthread_join(thread, NULL) != 0 || !flag)
		return 1;
	if (getaddrinfo("localhost", "80", &hints, &found) != 0)
		return 2;
	freeaddrinfo(found);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || close(fd) < 0)
		return 3;
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || close(fd) < 0)
		return 4;
	free(memory);
	return FINE;
}

static void threads_names_and_sockets_work(void **state UNUSED)
{
	need_limits();
	assert_int_equal(run_with("controller", look_at_ordinary_work), FINE);
}

static int look_at_writing(void)
{
	return mkdir("/", 0700) < 0 && errno == EPERM ? FINE : errno;
}

static void lists_differ(void **state UNUSED)
{
	need_limits();
	assert_int_equal(run_with("scheduler", look_at_writing), FINE);
	assert_int_equal(run_with("server", look_at_writing), EEXIST);
}

static int look_at_the_future(void)
{
	return syscall(600) < 0 && errno == ENOSYS && syscall(SYS_clone3, NULL, 0) < 0 &&
			       errno == ENOSYS
		       ? FINE
		       : 1;
}

/* So that the C library falls back to older calls. */
static void calls_of_newer_kernels_seem_not_to_exist(void **state UNUSED)
{
	need_limits();
	assert_int_equal(run_with("server", look_at_the_future), FINE);
}

static void an_unknown_list_is_an_error(void **state UNUSED)
{
	struct error err;

	assert_int_equal(syscalls_limit("nobody", &err), -ERR_INVALID);
	assert_int_equal(syscalls_limit("all", &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attacks_are_refused_to_every_role),
		cmocka_unit_test(threads_names_and_sockets_work),
		cmocka_unit_test(lists_differ),
		cmocka_unit_test(calls_of_newer_kernels_seem_not_to_exist),
		cmocka_unit_test(an_unknown_list_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
