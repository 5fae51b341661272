/*
 * up_leftover - processes of a supervisor that was killed.
 *
 * The roles die with their supervisor, but that takes a moment. Until then they hold the port and
 * the store, so the next supervisor has to wait for them.
 */
#ifndef CLI_UP_LEFTOVER_H
#define CLI_UP_LEFTOVER_H

#include "cli/up/state.h"

/* The parts of /proc/PID/stat that are used here. */
struct up_process {
	char state; /* 'R', 'S', .., or 'Z' for one that has ended */
	uint64_t threads;
	uint64_t start_ticks; /* since boot */
};

/* Returns false if the text is not a stat line. */
bool up_process_parse(struct str text, struct up_process *ret_process);

/* A role of the state whose process still runs; or NULL. */
const struct up_state_role *up_leftover_find(const struct up_state *s);

/*
 * Waits until none is left, for half a minute at most. `say` is called once if the wait takes
 * longer than a reader would notice.
 */
void up_leftover_wait(const struct up_state *s,
		      void (*say)(void *arg, const struct up_state_role *left), void *arg);

#endif
