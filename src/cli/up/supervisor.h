/*
 * supervisor - decides when a child is started, restarted, or abandoned. Decisions only: it
 * touches no process, clock or file.
 *
 * A child that ends is restarted after a delay that doubles from SUPERVISOR_FIRST_MS up to
 * SUPERVISOR_MOST_MS, and resets after a child ran for SUPERVISOR_GOOD_MS. A child that exits
 * because of bad usage is not restarted, as it would fail again. Until everything has been ready
 * once, a child that ends by itself fails the whole start, because the user who typed the command
 * is there to read why.
 */
#ifndef CLI_UP_SUPERVISOR_H
#define CLI_UP_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time/backoff.h"

enum { SUPERVISOR_FIRST_MS = 100, SUPERVISOR_MOST_MS = 30 * 1000, SUPERVISOR_GOOD_MS = 10 * 1000 };

enum supervised_state {
	SUPERVISED_WAITING, /* for others, before its first start */
	SUPERVISED_STARTING, /* running, but not ready */
	SUPERVISED_READY,
	SUPERVISED_BACKOFF, /* it ended, and will be restarted */
	SUPERVISED_STOPPING, /* it was asked to stop */
	SUPERVISED_STOPPED,
	SUPERVISED_FAILED, /* it ended, and will not be restarted */
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
	bool first; /* never was everything ready so far */
};

enum supervised_verdict {
	SUPERVISED_AGAIN, /* restart after *ret_delay_ms */
	SUPERVISED_GIVE_UP, /* abandon it; the others continue */
	SUPERVISED_GIVE_ALL_UP, /* the whole start has failed */
	SUPERVISED_DONE, /* it stopped as requested */
};

enum supervised_verdict supervised_ended(struct supervised *s, const struct supervised_end *end,
					 int64_t now_ms, struct prng *g, int64_t *ret_delay_ms);

/* Whether it runs, as far as is known. */
static inline bool supervised_runs(const struct supervised *s)
{
	return s->state == SUPERVISED_STARTING || s->state == SUPERVISED_READY ||
	       s->state == SUPERVISED_STOPPING;
}

#endif
