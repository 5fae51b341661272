/*
 * The control program is a shell script. With -f it is the daemon, which has a child of its own as
 * MPS has; else it reads commands, keeps them in a file, and answers like MPS. Files in the folder
 * of the script choose how it misbehaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_share/mps.h"
#include "drivers/gpu_share/mps_process.h"
#include "net/loop/loop.h"

static const char fake[] =
	"#!/bin/sh\n"
	"d=${0%/*}; p=$CUDA_MPS_PIPE_DIRECTORY\n"
	"if [ \"$1\" = -f ]; then\n"
	"	echo \"start $* $CUDA_VISIBLE_DEVICES\" >>\"$d/seen\"\n"
	"	[ -e \"$d/fails\" ] && { echo broken; exit 7; }\n"
	"	sleep 1000 & echo $! >>\"$d/servers\"\n"
	"	[ -e \"$d/mute\" ] || : >\"$p/control\"\n"
	"	while [ ! -e \"$p/quit\" ]; do sleep 0.01; done\n"
	"	rm \"$p/quit\"; kill %1 2>/dev/null; kill $(tail -n 1 \"$d/servers\"); exit 0\n"
	"fi\n"
	"while read -r line; do\n"
	"	echo \"$line\" >>\"$d/seen\"\n"
	"	case $line in\n"
	"	*thread_percentage*) echo 50.0 ;;\n"
	"	get_server_list) [ -e \"$d/ended\" ] || [ ! -e \"$d/started\" ] || echo 77;"
	" rm -f \"$d/ended\"; : >\"$d/started\" ;;\n"
	"	quit) [ -e \"$d/stubborn\" ] || : >\"$p/quit\" ;;\n"
	"	esac\n"
	"done\n"
	"[ ! -e \"$d/refuses\" ] || { echo Cannot find MPS control daemon process; exit 1; }\n";

struct world {
	char dir[64], program[96], folder[96];
	struct loop *loop;
	struct mps *mps;
	struct mps_opts opts;
	int ready, broken, stopped;
	int pids[8]; /* of the daemon at each report that it is ready */
	char message[512];
};

static void on_change(void *arg, bool ready, const char *message)
{
	struct world *w = arg;

	if (ready) {
		w->pids[w->ready++] = mps_pid(w->mps);
	} else {
		w->broken++;
		(void)snprintf(w->message, sizeof(w->message), "%s", message);
	}
	loop_stop(w->loop);
}

static void on_stopped(void *arg)
{
	struct world *w = arg;

	w->stopped++;
	mps_free(w->mps);
	w->mps = NULL;
	loop_stop(w->loop);
}

static int setup(void **state)
{
	static const struct mps_device device = { "GPU-1", 2048 };
	struct world *w = XNEW(struct world);

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/mps-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->program, sizeof(w->program), "%s/control", w->dir);
	(void)snprintf(w->folder, sizeof(w->folder), "%s/mps/claim", w->dir);
	assert_int_equal(file_write_atomic(w->program, str_from(fake), 0755, NULL), 0);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	w->opts = (struct mps_opts){ .program = w->program,
				     .dir = w->folder,
				     .devices = &device,
				     .ndevices = 1,
				     .threads = 50,
				     .on_change = on_change,
				     .arg = w };
	*state = w;
	return 0;
}

static bool sweep_all(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return false;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char base[96];

	mps_free(w->mps);
	(void)snprintf(base, sizeof(base), "%s/mps", w->dir);
	(void)mps_sweep(base, sweep_all, NULL);
	loop_free(w->loop);
	folder_fixture_remove(w->dir);
	free(w);
	return 0;
}

static void flag(struct world *w, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(file_write_atomic(path, STR(""), 0600, NULL), 0);
}

static void unflag(struct world *w, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(unlink(path), 0);
}

static const char *seen(struct world *w)
{
	static struct buf text = BUF_INIT(65536);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/seen", w->dir);
	buf_clear(&text);
	assert_int_equal(file_read(path, &text, NULL), 0);
	return text.p;
}

static void start(struct world *w)
{
	struct error err;

	if (mps_new(w->loop, &w->opts, &w->mps, &err) < 0)
		fail_msg("%s", err.msg);
}

static void stop(struct world *w)
{
	mps_stop(w->mps, on_stopped, w);
	while (!w->stopped)
		loop_run(w->loop);
}

/* Waits for the end of a process that another one reaps. */
static void await_end(int pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (p.fd < 0)
		return;
	while (poll(&p, 1, -1) < 0)
		assert_int_equal(errno, EINTR);
	(void)close(p.fd);
}

/* The daemon's child, which stands for the MPS server. */
static int server_pid(struct world *w)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct str rest, line, last = STR_NULL;
	char path[128];
	uint64_t pid;

	(void)snprintf(path, sizeof(path), "%s/servers", w->dir);
	assert_int_equal(file_read(path, &text, NULL), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		if (line.n > 0)
			last = line;
	assert_true(str_to_u64(last, &pid));
	return (int)pid;
}

static void limits_are_set_before_it_is_ready(void **state)
{
	struct world *w = *state;
	int server;

	start(w);
	loop_run(w->loop);
	assert_int_equal(w->ready, 1);
	assert_string_equal(seen(w), "start -f GPU-1\n"
				     "set_default_active_thread_percentage 50\n"
				     "set_default_device_pinned_mem_limit GPU-1 2048M\n"
				     "get_default_active_thread_percentage\n");
	server = server_pid(w);
	stop(w);
	await_end(w->pids[0]);
	await_end(server);
	assert_int_equal(access(w->folder, F_OK), -1);
	assert_int_equal(w->broken, 0);
}

static void a_held_gpu_has_its_server_first(void **state)
{
	struct world *w = *state;

	w->opts.hold = true;
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->ready, 1);
	assert_string_equal(seen(w), "start -f -M GPU-1\n"
				     "set_default_active_thread_percentage 50\n"
				     "set_default_device_pinned_mem_limit GPU-1 2048M\n"
				     "start_server -uid 0\n"
				     "get_default_active_thread_percentage\n"
				     "get_server_list\n"
				     "get_server_list\n");
	stop(w);
}

static void a_held_gpu_whose_server_ends_gets_another_one(void **state)
{
	struct world *w = *state;
	const char *first;

	w->opts.hold = true;
	w->opts.check_ms = 20;
	start(w);
	loop_run(w->loop);
	flag(w, "ended");
	while (w->ready < 2)
		loop_run(w->loop);
	first = strstr(seen(w), "start_server -uid 0\n");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "start_server -uid 0\n"));
	assert_int_equal(w->pids[0], w->pids[1]);
	assert_int_equal(w->broken, 0);
	stop(w);
}

static void a_daemon_that_crashes_is_started_again(void **state)
{
	struct world *w = *state;
	int server;

	start(w);
	loop_run(w->loop);
	server = server_pid(w);
	assert_int_equal(kill(w->pids[0], SIGKILL), 0);
	loop_run(w->loop);
	assert_int_equal(w->broken, 1);
	assert_non_null(strstr(w->message, "the MPS daemon was ended by signal 9; see "));
	await_end(server);
	while (w->ready < 2)
		loop_run(w->loop);
	assert_int_not_equal(w->pids[0], w->pids[1]);
	stop(w);
}

static void a_daemon_that_does_not_start_is_reported_and_tried_again(void **state)
{
	struct world *w = *state;

	flag(w, "fails");
	start(w);
	loop_run(w->loop);
	assert_true(w->broken >= 1);
	assert_non_null(strstr(w->message, "the MPS daemon has ended with status 7; see "));
	unflag(w, "fails");
	while (!w->ready)
		loop_run(w->loop);
	stop(w);
}

static void a_daemon_without_a_socket_is_killed(void **state)
{
	struct world *w = *state;

	flag(w, "mute");
	w->opts.start_ms = 200;
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->broken, 1);
	assert_non_null(strstr(w->message, "the MPS daemon does not answer after 200 ms; see "));
	assert_int_equal(mps_pid(w->mps), 0);
	mps_stop(w->mps, on_stopped, w);
	loop_run(w->loop);
	assert_int_equal(w->stopped, 1);
}

static void a_failed_check_starts_it_again(void **state)
{
	struct world *w = *state;

	w->opts.check_ms = 1;
	start(w);
	loop_run(w->loop);
	flag(w, "refuses");
	loop_run(w->loop);
	assert_int_equal(w->broken, 1);
	assert_string_equal(w->message,
			    "a command to the MPS daemon failed: Cannot find MPS control "
			    "daemon process");
	await_end(w->pids[0]);
	unflag(w, "refuses");
	while (w->ready < 2)
		loop_run(w->loop);
	stop(w);
}

static void a_stubborn_daemon_is_killed_at_the_deadline(void **state)
{
	struct world *w = *state;
	int server;

	flag(w, "stubborn");
	w->opts.stop_ms = 50;
	w->opts.check_ms = INT32_MAX;
	start(w);
	loop_run(w->loop);
	server = server_pid(w);
	stop(w);
	await_end(w->pids[0]);
	await_end(server);
}

static void another_run_takes_the_daemon_over(void **state)
{
	struct world *w = *state;

	start(w);
	loop_run(w->loop);
	mps_free(w->mps);
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->ready, 2);
	assert_int_equal(w->pids[0], w->pids[1]);
	/* Its end is seen, although it is not a child of this run. */
	assert_int_equal(kill(w->pids[1], SIGKILL), 0);
	loop_run(w->loop);
	assert_int_equal(w->broken, 1);
	assert_string_equal(w->message, "the MPS daemon has ended");
	while (w->ready < 3)
		loop_run(w->loop);
	stop(w);
}

/* Starts a daemon as a driver does that is killed before it writes the file. */
static int stray(struct world *w)
{
	char variable[160];
	int ends[2];
	int pid;

	assert_int_equal(pipe(ends), 0);
	(void)snprintf(variable, sizeof(variable), "CUDA_MPS_PIPE_DIRECTORY=%s/pipe", w->folder);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const char *const env[] = { variable, "PATH=/usr/bin:/bin", NULL };
		const char *const argv[] = { "/bin/sh", "-c", "echo; sleep 1000", NULL };

		(void)setsid();
		(void)dup2(ends[1], 1);
		(void)execve("/bin/sh", (char *const *)argv, (char *const *)env);
		_exit(1);
	}
	/* It has its new environment when it writes. */
	assert_int_equal(read(ends[0], variable, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static void a_daemon_without_a_file_is_found_and_killed(void **state)
{
	struct world *w = *state;
	int pid = stray(w), status;

	start(w);
	loop_run(w->loop);
	assert_int_equal(w->ready, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	stop(w);
}

static bool keep_other(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "claim") != 0;
}

static void a_sweep_ends_daemons_of_unknown_claims(void **state)
{
	struct world *w = *state;
	char base[96], other[96];

	(void)snprintf(base, sizeof(base), "%s/mps", w->dir);
	(void)snprintf(other, sizeof(other), "%s/mps/other", w->dir);
	assert_int_equal(folder_make(other, 0755, NULL), 0);
	start(w);
	loop_run(w->loop);
	mps_free(w->mps);
	w->mps = NULL;
	assert_int_equal(mps_sweep(base, sweep_all, NULL) > 0, true);
	await_end(w->pids[0]);
	assert_int_equal(access(w->folder, F_OK), -1);
	assert_int_equal(folder_make(other, 0755, NULL), 0);
	assert_int_equal(mps_sweep(base, keep_other, NULL), 0);
	assert_int_equal(access(other, F_OK), 0);
}

static void a_file_of_another_process_is_not_believed(void **state)
{
	struct world *w = *state;
	struct mps_paths p;
	char text[128];

	assert_int_equal(mps_paths_init(&p, w->folder, NULL), 0);
	assert_int_equal(mps_paths_prepare(&p, NULL), 0);
	assert_int_equal(mps_pid_save(&p, getpid(), NULL), 0);
	assert_int_equal(mps_pid_load(&p), getpid());
	(void)snprintf(text, sizeof(text), "{\"pid\":%d,\"startTime\":1,\"bootID\":\"x\"}",
		       getpid());
	assert_int_equal(file_write_atomic(p.pid_file, str_from(text), 0600, NULL), 0);
	assert_int_equal(mps_pid_load(&p), 0);
	assert_int_equal(file_write_atomic(p.pid_file, STR("{"), 0600, NULL), 0);
	assert_int_equal(mps_pid_load(&p), 0);
	mps_paths_remove(&p);
}

static void a_folder_too_long_for_sockets_is_an_error(void **state)
{
	struct world *w = *state;
	struct error err = { .msg = "" };

	w->opts.dir = "/tmp/0123456789012345678901234567890123456789012345678901234567890123456789"
		      "0123456789";
	assert_int_equal(mps_new(w->loop, &w->opts, &w->mps, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "too long for a socket"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_set_before_it_is_ready),
		cmocka_unit_test(a_held_gpu_has_its_server_first),
		cmocka_unit_test(a_held_gpu_whose_server_ends_gets_another_one),
		cmocka_unit_test(a_daemon_that_crashes_is_started_again),
		cmocka_unit_test(a_daemon_that_does_not_start_is_reported_and_tried_again),
		cmocka_unit_test(a_daemon_without_a_socket_is_killed),
		cmocka_unit_test(a_failed_check_starts_it_again),
		cmocka_unit_test(a_stubborn_daemon_is_killed_at_the_deadline),
		cmocka_unit_test(another_run_takes_the_daemon_over),
		cmocka_unit_test(a_daemon_without_a_file_is_found_and_killed),
		cmocka_unit_test(a_sweep_ends_daemons_of_unknown_claims),
		cmocka_unit_test(a_file_of_another_process_is_not_believed),
		cmocka_unit_test(a_folder_too_long_for_sockets_is_an_error),
	};
	struct CMUnitTest all[ARRAY_SIZE(tests)];

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		all[i] = tests[i];
		all[i].setup_func = setup;
		all[i].teardown_func = teardown;
	}
	return cmocka_run_group_tests_name("mps", all, NULL, NULL);
}
