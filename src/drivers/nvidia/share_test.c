/*
 * nvidia-smi is a shell script that keeps its arguments in a file, and fails for GPU-bad. The
 * control program of MPS is one as well: with -f it is the daemon, else it reads commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_config/config.h"
#include "drivers/gpu_share/mps_process.h"
#include "drivers/nvidia/share.h"
#include "net/loop/loop.h"

#define UID STR("claim-1")

static const char smi[] = "#!/bin/sh\n"
			  "d=${0%/*}\n"
			  "case $* in *GPU-bad) echo refused; exit 3 ;; esac\n"
			  "echo \"$2 $4\" >>\"$d/seen\"\n";

static const char control[] = "#!/bin/sh\n"
			      "p=$CUDA_MPS_PIPE_DIRECTORY\n"
			      "if [ \"$1\" = -f ]; then\n"
			      "	: >\"$p/control\"\n"
			      "	while [ ! -e \"$p/quit\" ]; do sleep 0.01; done\n"
			      "	exit 0\n"
			      "fi\n"
			      "while read -r line; do\n"
			      "	case $line in\n"
			      "	*thread_percentage*) echo 50.0 ;;\n"
			      "	get_server_list) echo 77 ;;\n"
			      "	quit) : >\"$p/quit\" ;;\n"
			      "	esac\n"
			      "done\n";

struct world {
	char root[64], dir[96], record[160], seen[96];
	struct loop *loop;
	struct nvidia_shares *shares;
	int ready, failed, ended;
	bool runs; /* the loop */
	char why[512];
};

static void write_program(struct world *w, const char *name, const char *text)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/usr/bin/%s", w->root, name);
	assert_int_equal(file_write_atomic(path, str_from(text), 0755, NULL), 0);
}

/* As a run of the driver: the memory of an earlier one is lost. */
static void run_driver(struct world *w)
{
	nvidia_shares_free(w->shares);
	w->shares = nvidia_shares_new(w->loop, log_null(), w->dir, w->root, NULL);
}

static int setup(void **state)
{
	struct world *w = XNEW(struct world);
	char bin[96];

	(void)snprintf(w->root, sizeof(w->root), "/tmp/nv-share-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	(void)snprintf(bin, sizeof(bin), "%s/usr/bin", w->root);
	(void)snprintf(w->seen, sizeof(w->seen), "%s/usr/bin/seen", w->root);
	(void)snprintf(w->dir, sizeof(w->dir), "%s/mps", w->root);
	(void)snprintf(w->record, sizeof(w->record), "%s/claim-1/" MPS_OWNER_FILE, w->dir);
	assert_int_equal(folder_make(bin, 0755, NULL), 0);
	write_program(w, "nvidia-smi", smi);
	write_program(w, "nvidia-cuda-mps-control", control);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	run_driver(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	nvidia_shares_free(w->shares);
	loop_free(w->loop);
	folder_fixture_remove(w->root);
	free(w);
	return 0;
}

static void on_ready(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->ready += !err;
	w->failed += err != NULL;
	(void)snprintf(w->why, sizeof(w->why), "%s", err ? err->msg : "");
	if (w->runs)
		loop_stop(w->loop);
}

static void on_ended(void *arg)
{
	struct world *w = arg;

	w->ended++;
	if (w->runs)
		loop_stop(w->loop);
}

/* Runs the loop until a callback ends it. */
static void run(struct world *w)
{
	w->runs = true;
	loop_run(w->loop);
	w->runs = false;
}

static void begin(struct world *w, const struct nvidia_share_device *v, size_t n)
{
	int before = w->ready + w->failed;

	nvidia_share_begin(w->shares, UID, v, n, on_ready, w);
	if (w->ready + w->failed == before)
		run(w);
}

static void end(struct world *w)
{
	nvidia_share_end(w->shares, UID, on_ended, w);
	if (!w->ended)
		run(w);
	assert_int_equal(w->ended, 1);
}

static const char *seen(struct world *w)
{
	static char text[1024];
	CLEANUP(buf_release) struct buf read = BUF_INIT(sizeof(text) - 1);

	text[0] = '\0';
	if (file_read(w->seen, &read, NULL) == 0)
		(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_str(&read)));
	return text;
}

struct wait {
	struct loop_timer timer;
	struct world *world;
};

static void stop_when_forgotten(struct loop_timer *t)
{
	struct wait *x = CONTAINER_OF(t, struct wait, timer);

	if (access(x->world->record, F_OK) == 0)
		loop_timer_start(t, 5);
	else
		loop_stop(x->world->loop);
}

/* Runs until the record of the claim is gone. */
static void await_forgotten(struct world *w)
{
	struct wait x = { .world = w };

	loop_timer_init(&x.timer, w->loop, stop_when_forgotten);
	loop_timer_start(&x.timer, 1);
	run(w);
	loop_timer_stop(&x.timer);
}

static bool knows(void *arg UNUSED, const char *uid)
{
	return strcmp(uid, "claim-1") == 0;
}

static bool knows_none(void *arg UNUSED, const char *uid UNUSED)
{
	return false;
}

static const struct nvidia_share_device slices[] = {
	{ .uuid = "GPU-a", .interval = 3, .threads = GPU_THREADS_UNSET },
	{ .uuid = "GPU-b", .interval = 1, .threads = GPU_THREADS_UNSET },
};

static void time_slices_are_set_and_set_back(void **state)
{
	struct world *w = *state;

	begin(w, slices, 2);
	assert_int_equal(w->ready, 1);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=1 GPU-b\n");
	assert_int_equal(access(w->record, F_OK), 0);
	/* The kubelet may ask again. */
	begin(w, slices, 2);
	assert_int_equal(w->ready, 2);
	end(w);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=1 GPU-b\n"
				     "--set-timeslice=0 GPU-b\n--set-timeslice=0 GPU-a\n");
	assert_int_equal(access(w->record, F_OK), -1);
}

static void a_failure_leaves_nothing(void **state)
{
	const struct nvidia_share_device v[] = {
		slices[0],
		{ .uuid = "GPU-bad", .interval = 2, .threads = GPU_THREADS_UNSET },
	};
	struct world *w = *state;

	begin(w, v, 2);
	assert_int_equal(w->failed, 1);
	assert_non_null(strstr(w->why, "refused"));
	await_forgotten(w);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=0 GPU-a\n");
}

static void the_next_run_ends_what_a_claim_shares(void **state)
{
	struct world *w = *state;

	begin(w, slices, 1);
	run_driver(w);
	nvidia_shares_sweep(w->shares, knows, NULL);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n");
	end(w);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=0 GPU-a\n");
}

static void an_end_before_the_sweep_finds_the_record(void **state)
{
	struct world *w = *state;

	begin(w, slices, 1);
	run_driver(w);
	end(w);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=0 GPU-a\n");
	assert_int_equal(access(w->record, F_OK), -1);
}

static void the_next_run_undoes_what_a_claim_shared_that_is_gone(void **state)
{
	struct world *w = *state;

	begin(w, slices, 2);
	run_driver(w);
	nvidia_shares_sweep(w->shares, knows_none, NULL);
	await_forgotten(w);
	assert_string_equal(seen(w), "--set-timeslice=3 GPU-a\n--set-timeslice=1 GPU-b\n"
				     "--set-timeslice=0 GPU-b\n--set-timeslice=0 GPU-a\n");
}

static void a_damaged_record_of_a_claim_that_is_gone_is_removed(void **state)
{
	struct world *w = *state;

	begin(w, slices, 1);
	run_driver(w);
	assert_int_equal(file_write_atomic(w->record, STR("[{\"interval\":3}]"), 0600, NULL), 0);
	nvidia_shares_sweep(w->shares, knows_none, NULL);
	assert_int_equal(access(w->record, F_OK), -1);
	end(w);
}

static void a_claim_that_shares_nothing_ends_at_once(void **state)
{
	struct world *w = *state;

	end(w);
	assert_string_equal(seen(w), "");
}

static void the_next_run_takes_over_a_daemon(void **state)
{
	const struct nvidia_share_device v[] = {
		{ .uuid = "MIG-a", .mps = true, .memory_mib = 3072, .threads = 50 },
	};
	CLEANUP(arena_release) struct arena a;
	struct world *w = *state;
	const char *const *env = NULL;
	const char *pipe = NULL;

	arena_init(&a, MIB);
	assert_false(nvidia_share_mps(w->shares, UID, &a, &env, &pipe));
	begin(w, v, 1);
	assert_string_equal(w->why, "");
	assert_int_equal(w->ready, 1);
	run_driver(w);
	nvidia_shares_sweep(w->shares, knows, NULL);
	assert_true(nvidia_share_mps(w->shares, UID, &a, &env, &pipe));
	assert_true(str_starts(str_from(pipe), str_from(w->dir)));
	/* It has its limits again: the record has them. */
	begin(w, v, 1);
	assert_int_equal(w->ready, 2);
	end(w);
	assert_false(nvidia_share_mps(w->shares, UID, &a, &env, &pipe));
	assert_int_equal(access(w->record, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(time_slices_are_set_and_set_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failure_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(the_next_run_ends_what_a_claim_shares, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_end_before_the_sweep_finds_the_record, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			the_next_run_undoes_what_a_claim_shared_that_is_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_record_of_a_claim_that_is_gone_is_removed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_claim_that_shares_nothing_ends_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_next_run_takes_over_a_daemon, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
