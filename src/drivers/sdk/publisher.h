/*
 * publisher - keeps a driver's ResourceSlices on the API server as its table says.
 *
 * Follows the slices of its driver and node, and writes one after the other what slice_plan.h
 * finds to be done; each write is awaited in the copy before the next is decided, so nothing is
 * made twice. What somebody deletes or changes is restored. New slices are owned by the Node,
 * which is waited for when it does not exist yet. Failures are tried again with a back-off.
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

/* Text in `opts` must outlive it. Follows at once, writes nothing before a table is set. */
struct publisher *publisher_new(const struct publisher_opts *opts);
void publisher_free(struct publisher *p); /* NULL allowed; before the client */

/* The table is borrowed until the next one is set. */
void publisher_set(struct publisher *p, const struct device_table *t);

/* Something in the table has changed. */
void publisher_changed(struct publisher *p);

/* Everything is as the table says; else why not, as far as is known. */
int publisher_check(const struct publisher *p, struct error *err);

#endif
