/*
 * reporter - device health, told to every client that watches, in each dialect.
 *
 * A report is the complete list, as the protocols want it. Changes of one turn make one report; a
 * client that does not read gets the latest state when it does, and nothing piles up. Without
 * news it is repeated, so that no client's time-out passes. Device plugins report the same
 * way by ListAndWatch.
 * Threads: the loop's.
 */
#ifndef DRIVERS_SDK_REPORTER_H
#define DRIVERS_SDK_REPORTER_H

#include <protobuf-c/protobuf-c.h>

#include "drivers/prepare/device_table.h"
#include "net/loop/loop.h"

struct grpc_call;
struct grpc_status;
struct metrics;
struct reporter;

enum reporter_dialect {
	REPORTER_DRA, /* NodeWatchResources, both versions */
	REPORTER_NODE, /* WatchResources */
	REPORTER_PLUGIN, /* ListAndWatch */
	REPORTER_DIALECTS,
};

/* `heartbeat_ms` 0: none. `metrics` may be NULL. */
struct reporter *reporter_new(struct loop *l, int64_t heartbeat_ms, struct metrics *metrics);
/* Ends the streams. NULL allowed. */
void reporter_free(struct reporter *r);

/* Borrowed until the next one. */
void reporter_set(struct reporter *r, const struct device_table *t);
void reporter_changed(struct reporter *r);
void reporter_pause(struct reporter *r, bool paused);

/* Takes the call over: a report now, if not paused, and whenever there is one. */
void reporter_watch(struct reporter *r, struct grpc_call *call, enum reporter_dialect dialect);

/* Rows of a grpc_server that has such streams need these as their callbacks. */
void reporter_on_writable(struct grpc_call *c);
void reporter_on_end(struct grpc_call *c, const struct grpc_status *st);

/* Ends all streams: the driver stops. */
void reporter_end(struct reporter *r);

#endif
