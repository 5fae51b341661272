/*
 * node_driver - a DRA driver whose reports the benchmark controls.
 *
 * Registers with a node agent by a socket in its plugins_registry, prepares every claim at once
 * and reports the health of all its devices in one message. Claims are those of node_pods.h: the
 * claim "bench-I" has the I-th `per_claim` devices. Nothing is kept and nothing checked: what is
 * measured is the agent.
 */
#ifndef BENCH_NODE_DRIVER_H
#define BENCH_NODE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

struct loop;
struct node_driver;

#define NODE_DRIVER        "bench.devplane.dev"
#define NODE_DRIVER_POOL   "pool"
#define NODE_DRIVER_DEVICE "device-" /* and its number */
#define NODE_DRIVER_CLAIM  "bench-" /* and its number */
#define NODE_DRIVER_SAYS   "report " /* and the number that node_driver_set() was given */

/* `on_watched` is called when an agent asks for health; the first report is for the caller to
 * send. */
struct node_driver_opts {
	struct loop *loop;
	const char *socket;
	size_t devices, per_claim;
	void (*on_watched)(void *arg);
	void *arg;
};

/* Lives as long as the process. */
int node_driver_new(const struct node_driver_opts *opts, struct node_driver **ret_driver,
		    struct error *err);

/* Sets a device's health in the next report. `timeout_s` 0: the default. */
void node_driver_set(struct node_driver *d, size_t device, uint64_t report, bool healthy,
		     int64_t timeout_s);

/*
 * Sends all devices, now: the time at which the message was ready and its sending began, in ns of
 * the monotonic clock. 0 when nobody watches.
 */
int64_t node_driver_report(struct node_driver *d);

#endif
