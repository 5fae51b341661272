/*
 * node_pods - the administrator of a benchmark: makes pods that are bound to nodes already.
 *
 * With devices, pod "bench-I" has the claim "bench-I" with `per_claim` devices of a driver, by
 * default that of node_driver.h, allocated and reserved for it as a scheduler would: the first pod
 * has the first ones. Or it asks for so many of a device plugin (node_plugin.h). Some are made at a
 * time, so that the server is kept busy and nothing waits long. A failure ends the program.
 */
#ifndef BENCH_NODE_PODS_H
#define BENCH_NODE_PODS_H

#include <stddef.h>

struct client;

struct node_pods_devices {
	const char *driver, *pool;
	const char *device; /* and its number */
	const char *parameters; /* for the driver, as JSON; NULL: none */
};

struct node_pods_opts {
	struct client *client;
	size_t first, count;
	const char *node; /* "NODE" for all, or "NODE-I" for pod I when it ends in '-' */
	size_t per_claim; /* 0: without a claim */
	const struct node_pods_devices *devices; /* NULL: those of node_driver.h */
	size_t per_plugin; /* 0: without devices of a plugin */
};

/* Text is borrowed for ever. */
void node_pods_make(const struct node_pods_opts *opts);

/* Pod "bench-I" is to end, as when a person deletes it. */
void node_pods_delete(struct client *c, size_t pod);

#endif
