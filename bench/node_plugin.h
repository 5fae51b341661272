/*
 * node_plugin - a device plugin whose reports the benchmark controls.
 *
 * Registers with a node agent once, and gives out whatever it is asked for. Its devices are near
 * two NUMA nodes by turns. Nothing is kept and nothing checked: what is measured is the agent.
 */
#ifndef BENCH_NODE_PLUGIN_H
#define BENCH_NODE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/error.h"

struct loop;
struct node_plugin;

#define NODE_PLUGIN_RESOURCE "bench.devplane.dev/device"

struct node_plugin_opts {
	struct loop *loop;
	const char *root; /* of the agent */
	size_t devices;
	void (*on_watched)(void *arg); /* the agent has been sent the devices */
	void *arg;
};

/* Lives as long as the process. */
int node_plugin_new(const struct node_plugin_opts *opts, struct node_plugin **ret_plugin,
		    struct error *err);

/*
 * Changes one device's health and sends all devices, now: the time at which the message was ready
 * and its sending began, in ns of the monotonic clock. 0 when nobody watches.
 */
int64_t node_plugin_set(struct node_plugin *p, size_t device, bool healthy);

#endif
