/*
 * supervisor - when a child is started, started again, or given up. Decisions only: no process, no
 * clock, no file is touched here.
 *
 * A child that ends is started again after a delay that doubles from SUPERVISOR_FIRST_MS up to
 * SUPERVISOR_MOST_MS, and begins anew once a child ran for SUPERVISOR_GOOD_MS. One that was called
 * wrongly will be so again, and is not started any more. Before everything was ready once, one that
 * ends by itself ends the whole start: whoever typed the command is there to read why.
 */
#ifndef CLI_UP_SUPERVISOR_H
#define CLI_UP_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time/backoff.h"

enum { SUPERVISOR_FIRST_MS = 100, SUPERVISOR_MOST_MS = 30 * 1000, SUPERVISOR_GOOD_MS = 10 * 1000 };

enum supervised_state {
	SUPERVISED_WAITING, /* for others, before its first start */
	SUPERVISED_STARTING, /* it runs, and is not ready yet */
	SUPERVISED_READY,
	SUPERVISED_BACKOFF, /* it ended, and will be started again */
	SUPERVISED_STOPPING, /* it was told to */
	SUPERVISED_STOPPED,
	SUPERVISED_FAILED, /* it ended, and will not be started again */
};

/* "waiting", "starting", "ready", "restarting", "stopping", "stopped", "failed". */
const char *supervised_state_name(enum supervised_state s);

struct supervised {
	enum supervised_state state;
	struct backoff backoff;
	int64_t since_ms; /* when the state began */
	int64_t started_ms; /* when the process began */
	unsigned restarts;
};

void supervised_init(struct supervised *s, int64_t now_ms);
void supervised_started(struct supervised *s, int64_t now_ms);
void supervised_ready(struct supervised *s, int64_t now_ms);
void supervised_stopping(struct supervised *s, int64_t now_ms);

/* How a process ended. */
struct supervised_end {
	int status, signum; /* signum 0: it exited */
	bool first; /* not all was ready yet, ever */
};

enum supervised_verdict {
	SUPERVISED_AGAIN, /* after *ret_delay_ms */
	SUPERVISED_GIVE_UP, /* it stays away, the others go on */
	SUPERVISED_GIVE_ALL_UP, /* the whole start has failed */
	SUPERVISED_DONE, /* as it was told */
};

enum supervised_verdict supervised_ended(struct supervised *s, const struct supervised_end *end,
					 int64_t now_ms, struct prng *g, int64_t *ret_delay_ms);

/* It runs, as far as is known. */
static inline bool supervised_runs(const struct supervised *s)
{
	return s->state == SUPERVISED_STARTING || s->state == SUPERVISED_READY ||
	       s->state == SUPERVISED_STOPPING;
}

#endif
