#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_share/timeslice.h"
#include "net/loop/loop.h"

struct world {
	char dir[64], smi[96];
	struct loop *loop;
	struct gpu_timeslice *slice;
	bool failed;
	struct error err;
};

static int setup(void **state)
{
	struct world *w = XNEW(struct world);

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/gpu-slice-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->smi, sizeof(w->smi), "%s/smi", w->dir);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	gpu_timeslice_free(w->slice);
	loop_free(w->loop);
	folder_fixture_remove(w->dir);
	free(w);
	return 0;
}

static void on_done(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->failed = err != NULL;
	if (err)
		w->err = *err;
	loop_stop(w->loop);
}

static int start(struct world *w, const char *script, int64_t timeout_ms)
{
	struct gpu_timeslice_opts o = { .program = w->smi,
					.uuid = "GPU-1",
					.interval = 3,
					.timeout_ms = timeout_ms,
					.on_done = on_done,
					.arg = w };

	if (script)
		assert_int_equal(file_write_atomic(w->smi, str_from(script), 0755, NULL), 0);
	return gpu_timeslice_new(w->loop, &o, &w->slice, &w->err);
}

static void the_program_gets_its_arguments_without_a_shell(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
	struct world *w = *state;
	char seen[128];

	assert_int_equal(start(w, "#!/bin/sh\necho \"$#: $*\" >\"$0.seen\"\n", 0), 0);
	loop_run(w->loop);
	assert_false(w->failed);
	(void)snprintf(seen, sizeof(seen), "%s.seen", w->smi);
	assert_int_equal(file_read(seen, &text, NULL), 0);
	assert_string_equal(text.p, "4: compute-policy --set-timeslice=3 -i GPU-1\n");
}

static void a_failure_has_the_programs_output(void **state)
{
	struct world *w = *state;

	assert_int_equal(start(w, "#!/bin/sh\necho 'Invalid Argument'\nexit 2\n", 0), 0);
	loop_run(w->loop);
	assert_true(w->failed);
	assert_string_equal(w->err.msg,
			    "cannot set the time slice of GPU-1: nvidia-smi failed with "
			    "status 2: \"Invalid Argument\"");
}

static void a_program_that_hangs_is_killed(void **state)
{
	struct world *w = *state;

	assert_int_equal(start(w, "#!/bin/sh\nexec sleep 1000\n", 50), 0);
	loop_run(w->loop);
	assert_true(w->failed);
	assert_int_equal(w->err.code, ERR_TIMEOUT);
	assert_string_equal(w->err.msg,
			    "cannot set the time slice of GPU-1: nvidia-smi did not end "
			    "within 50 ms, and was killed; check the GPU");
}

static void a_missing_program_is_named(void **state)
{
	struct world *w = *state;

	assert_true(start(w, NULL, 0) < 0);
	assert_non_null(strstr(w->err.msg, w->smi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_program_gets_its_arguments_without_a_shell,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_failure_has_the_programs_output, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_hangs_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_program_is_named, setup, teardown),
	};

	return cmocka_run_group_tests_name("timeslice", tests, NULL, NULL);
}
