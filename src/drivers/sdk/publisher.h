/*
 * publisher - keeps a driver's ResourceSlices on the API server in line with its device table.
 *
 * Watches the slices of its driver and node, and executes the steps of slice_plan.h one at a time.
 * Once a pool can be reached from other nodes, it also watches the driver's slices of no node.
 * It waits until the local copy shows a write before it decides on the next one, so nothing is
 * created twice. It restores slices that somebody deletes or changes. New slices are owned by the
 * Node; if the Node does not exist yet, the publisher waits for it. Failures are retried with
 * back-off.
 * Threads: the loop's.
 */
#ifndef DRIVERS_SDK_PUBLISHER_H
#define DRIVERS_SDK_PUBLISHER_H

#include "client/api/client.h"
#include "drivers/prepare/device_table.h"
#include "drivers/prepare/driver_log.h"

struct metrics;
struct publisher;

struct publisher_opts {
	struct client *client;
	struct str driver, node;
	struct str instance, started; /* as in slice_plan.h */
	bool taint_unhealthy;
	const struct driver_log *log;
	struct metrics *metrics; /* or NULL */
};

/* Text in `opts` must outlive it. Starts watching at once; writes only after a table is set. */
struct publisher *publisher_new(const struct publisher_opts *opts);
void publisher_free(struct publisher *p); /* NULL allowed; before the client */

/* The table is borrowed until the next one is set. */
void publisher_set(struct publisher *p, const struct device_table *t);

/* Call it after changing the table. */
void publisher_changed(struct publisher *p);

/* Returns 0 if the slices match the table; else an error that says why not, as far as known. */
int publisher_check(const struct publisher *p, struct error *err);

#endif
