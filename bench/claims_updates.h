/*
 * claims_updates - writes the status of claims, as fast as that is answered.
 *
 * All claims of the namespace "default", by turns, none twice at a time. Each has one device with a
 * condition, whose message begins with a digit: every write changes that, so none is in vain.
 */
#ifndef BENCH_CLAIMS_UPDATES_H
#define BENCH_CLAIMS_UPDATES_H

#include "load.h"

struct claims_updates_result {
	struct load_times ms; /* of each write */
	double s; /* from the first to the last */
	size_t claims;
	size_t sent, answered; /* bytes of a body, and of its answer's */
};

struct claims_updates_opts {
	struct client *client;
	bool put; /* the whole object; else a merge patch of the list of devices */
	size_t count, flight; /* writes under way */
	/* The result is borrowed. */
	void (*on_done)(void *arg, struct claims_updates_result *r);
	void *arg;
};

/* A failure ends the program. */
void claims_updates_run(const struct claims_updates_opts *opts);

#endif
