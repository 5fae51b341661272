/*
 * The delay is reset by the time it ran, not by being ready: a child that becomes ready and dies
 * after a second, again and again, is restarted more and more slowly.
 */
#include "cli/up/supervisor.h"

#include "base/core/compiler.h"
#include "cli/program/cli.h"

const char *supervised_state_name(enum supervised_state s)
{
	static const char *const names[] = {
		[SUPERVISED_WAITING] = "waiting",   [SUPERVISED_STARTING] = "starting",
		[SUPERVISED_READY] = "ready",       [SUPERVISED_BACKOFF] = "restarting",
		[SUPERVISED_STOPPING] = "stopping", [SUPERVISED_STOPPED] = "stopped",
		[SUPERVISED_FAILED] = "failed",
	};

	return names[s];
}

static void become(struct supervised *s, enum supervised_state state, int64_t now_ms)
{
	s->state = state;
	s->since_ms = now_ms;
}

void supervised_init(struct supervised *s, int64_t now_ms)
{
	*s = (struct supervised){ .backoff = { .initial_ms = SUPERVISOR_FIRST_MS,
					       .max_ms = SUPERVISOR_MOST_MS,
					       .factor = 2,
					       .jitter = 0.2 } };
	become(s, SUPERVISED_WAITING, now_ms);
}

void supervised_started(struct supervised *s, int64_t now_ms)
{
	s->restarts += s->state == SUPERVISED_BACKOFF;
	s->started_ms = now_ms;
	become(s, SUPERVISED_STARTING, now_ms);
}

void supervised_ready(struct supervised *s, int64_t now_ms)
{
	if (s->state == SUPERVISED_STARTING)
		become(s, SUPERVISED_READY, now_ms);
}

void supervised_stopping(struct supervised *s, int64_t now_ms)
{
	become(s, supervised_runs(s) ? SUPERVISED_STOPPING : SUPERVISED_STOPPED, now_ms);
}

enum supervised_verdict supervised_ended(struct supervised *s, const struct supervised_end *end,
					 int64_t now_ms, struct prng *g, int64_t *ret_delay_ms)
{
	if (s->state == SUPERVISED_STOPPING) {
		become(s, SUPERVISED_STOPPED, now_ms);
		return SUPERVISED_DONE;
	}
	if (end->first && end->signum == 0) {
		become(s, SUPERVISED_FAILED, now_ms);
		return SUPERVISED_GIVE_ALL_UP;
	}
	if (end->signum == 0 && end->status == CLI_USAGE) {
		become(s, SUPERVISED_FAILED, now_ms);
		return SUPERVISED_GIVE_UP;
	}
	if (now_ms - s->started_ms >= SUPERVISOR_GOOD_MS)
		backoff_reset(&s->backoff);
	*ret_delay_ms = backoff_next(&s->backoff, g);
	become(s, SUPERVISED_BACKOFF, now_ms);
	return SUPERVISED_AGAIN;
}
