#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/priority.h"

static void another_process_yields_and_we_do_not(void **state UNUSED)
{
	int before = getpriority(PRIO_PROCESS, 0), status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(1);
	}
	assert_true(pid > 0);
	priority_lower(pid);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), PRIORITY_LOW_NICE);
	assert_int_equal(sched_getscheduler(pid), SCHED_BATCH);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void a_process_that_is_gone_is_no_error(void **state UNUSED)
{
	errno = 0;
	priority_lower(INT32_MAX);
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_yields_and_we_do_not),
		cmocka_unit_test(a_process_that_is_gone_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
