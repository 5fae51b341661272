/*
 * podres_calls - List of PodResources, called as fast as it is answered.
 *
 * Works on HTTP streams: an answer is checked by its status and length, and only the first one is
 * unpacked, so that what is measured is the server.
 */
#ifndef BENCH_PODRES_CALLS_H
#define BENCH_PODRES_CALLS_H

#include "load.h"
#include "net/loop/addr.h"

struct podres_calls_result {
	struct load_times ms; /* of each call */
	double s; /* from the first to the last */
	size_t bytes, pods, devices; /* of one answer */
};

struct podres_calls_opts {
	struct loop *loop;
	struct addr to;
	size_t calls, connections, flight; /* calls under way on each connection */
	/* The result is borrowed. */
	void (*on_done)(void *arg, struct podres_calls_result *r);
	void *arg;
};

/* A failure ends the program. */
void podres_calls_run(const struct podres_calls_opts *opts);

#endif
