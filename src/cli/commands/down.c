/*
 * `devplane down`: stops what `devplane up` runs, and waits until it has ended. The lock shows
 * that: it is released when the supervisor ends, and the supervisor ends last.
 */
#include <errno.h>
#include <signal.h>

#include "base/core/clock.h"
#include "base/time/duration.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/up/state.h"

enum { LOOK_MS = 5, SIGN_LOOKS = 100 };

struct down_options {
	const char *data_dir;
	int64_t timeout; /* ns */
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct down_options),
	{ "timeout", 0, FLAG_DURATION(struct down_options, timeout), .arg = "TIME", .initial = "1m",
	  .min = CLOCK_SEC, .max = 3600 * CLOCK_SEC, .seconds = true,
	  .help = "stop waiting after this time" },
	{ NULL },
};

static void look_later(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * CLOCK_MS }, NULL);
}

/* A process signs the lock at once after taking it, and clears its pid before releasing it. */
static int64_t find_holder(const struct up_layout *l)
{
	int64_t pid;

	for (int looks = 0; (pid = up_state_holder(l)) < 0 && looks < SIGN_LOOKS; looks++)
		look_later();
	return pid;
}

static bool wait_for_end(const struct up_layout *l, int64_t pid, int64_t timeout_ns)
{
	int64_t end = clock_monotonic(clock_system()) + timeout_ns;

	for (;;) {
		int64_t now = up_state_holder(l);

		if (now >= 0 && now != pid)
			return true;
		if (clock_monotonic(clock_system()) > end)
			return false;
		look_later();
	}
}

static int down_run(struct cli *cli, struct error *err)
{
	const struct down_options *o = cli->options;
	char time[DURATION_SIZE];
	struct up_layout l;
	int64_t pid;
	int r = up_layout_init(&l, &cli->arena, o->data_dir, err);

	if (r < 0)
		return r;
	pid = find_holder(&l);
	if (pid < 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "devplane is starting in %s, and cannot be stopped yet: try "
				 "again in a moment",
				 l.dir);
	if (pid == 0) {
		(void)fprintf(cli->out,
			      "devplane is not running in %s; use --data-dir to name another "
			      "folder\n",
			      l.dir);
		return 0;
	}
	if (kill((pid_t)pid, SIGTERM) < 0 && errno != ESRCH)
		return error_set_errno(err, ERR_FORBIDDEN, errno,
				       "cannot stop the process %lld; whoever started it can",
				       (long long)pid);
	if (!wait_for_end(&l, pid, o->timeout))
		return error_set(err, ERR_TIMEOUT,
				 "the process %lld has not ended after %s; see %s/up.log",
				 (long long)pid, duration_print(o->timeout, time).p, l.logs);
	(void)fprintf(cli->out, "devplane is down; all objects stay in %s\n", l.dir);
	return 0;
}

const struct command cmd_down = {
	.name = "down",
	.summary = "stop the cluster of `devplane up`",
	.group = COMMAND_CLUSTER,
	.about = "Stops the parts in order: drivers, nodes, scheduler, controller, server. Objects "
		 "are kept, and the next `devplane up` continues with them.",
	.examples = "  devplane down\n  devplane down --data-dir d --timeout 2m\n",
	.flags = flags,
	.options_size = sizeof(struct down_options),
	.run = down_run,
};
