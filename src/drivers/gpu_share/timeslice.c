/* nvidia-smi reports failures on its standard output, and ends with a status above zero. */
#include "drivers/gpu_share/timeslice.h"

#include <stdio.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/text/quote.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_share/tool.h"
#include "net/loop/program.h"

enum { TIMESLICE_TIMEOUT_MS = 10000 };

struct gpu_timeslice {
	struct program *program;
	char uuid[96];
	int64_t timeout_ms;
	void (*on_done)(void *arg, const struct error *err);
	void *arg;
};

static int timeslice_judge(const struct gpu_timeslice *t, const struct program_end *end,
			   struct error *err)
{
	struct str text = program_last_line(end->err.n > 0 ? end->err : end->out);
	char shown[QUOTE_SIZE];

	if (end->timed_out)
		return error_set(err, ERR_TIMEOUT,
				 "nvidia-smi did not end within %lld ms, and was killed; check the "
				 "GPU",
				 (long long)t->timeout_ms);
	if (end->signum == 0 && end->status == 0)
		return 0;
	if (end->signum != 0)
		return error_set(err, ERR_IO, "nvidia-smi was ended by signal %d", end->signum);
	return error_set(err, ERR_IO, "nvidia-smi failed with status %d: %s", end->status,
			 quote_text(str_cut(text, 200), shown));
}

static void timeslice_on_end(void *arg, const struct program_end *end)
{
	struct gpu_timeslice *t = arg;
	struct error err;
	int r = timeslice_judge(t, end, &err);

	if (r < 0)
		(void)error_wrap(&err, r, "cannot set the time slice of %s", t->uuid);
	t->on_done(t->arg, r < 0 ? &err : NULL);
}

int gpu_timeslice_new(struct loop *l, const struct gpu_timeslice_opts *opts,
		      struct gpu_timeslice **ret_timeslice, struct error *err)
{
	struct gpu_timeslice *t = XNEW(struct gpu_timeslice);
	CLEANUP(arena_release) struct arena a;
	char option[48];
	const char *argv[] = { opts->program ? opts->program : "nvidia-smi",
			       "compute-policy",
			       option,
			       "-i",
			       t->uuid,
			       NULL };
	struct program_opts o = { .argv = argv,
				  .output_max = GPU_TOOL_OUTPUT_MAX,
				  .on_end = timeslice_on_end,
				  .arg = t };
	int r;

	t->timeout_ms = o.timeout_ms = opts->timeout_ms > 0 ? opts->timeout_ms
							    : TIMESLICE_TIMEOUT_MS;
	t->on_done = opts->on_done;
	t->arg = opts->arg;
	(void)snprintf(t->uuid, sizeof(t->uuid), "%s", opts->uuid);
	(void)snprintf(option, sizeof(option), "--set-timeslice=%u", opts->interval);
	arena_init(&a, MIB);
	o.env = gpu_tool_env(&a, argv[0], opts->libraries, NULL);
	r = program_new(l, &o, &t->program, err);
	if (r < 0) {
		free(t);
		return error_wrap(err, r, "cannot start %s", argv[0]);
	}
	*ret_timeslice = t;
	return 0;
}

void gpu_timeslice_free(struct gpu_timeslice *t)
{
	if (!t)
		return;
	program_free(t->program);
	free(t);
}
