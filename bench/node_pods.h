/*
 * node_pods - the administrator of a benchmark: makes pods that are bound to nodes already.
 *
 * With devices, pod "bench-I" has the claim "bench-I" with the I-th `per_claim` devices of
 * node_driver.h, allocated and reserved for it as a scheduler would. Some are made at a time, so
 * that the server is kept busy and nothing waits long. What fails ends the program.
 */
#ifndef BENCH_NODE_PODS_H
#define BENCH_NODE_PODS_H

#include <stddef.h>

struct client;

struct node_pods_opts {
	struct client *client;
	size_t count;
	const char *node; /* "NODE" for all, or "NODE-I" for pod I when it ends in '-' */
	size_t per_claim; /* 0: without devices */
};

/* Text is borrowed for ever. */
void node_pods_make(const struct node_pods_opts *opts);

#endif
