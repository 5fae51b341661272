/*
 * reporter - streams device health to every client that watches (the driver's side of KEP-4680).
 *
 * A report is the complete list of devices, as the protocols require. All changes of one turn of
 * the loop make one report. A client that does not read gets the latest state once it does, so
 * nothing queues up. Unchanged reports are repeated before clients time them out. Device plugins
 * report the same way through ListAndWatch.
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

/* `heartbeat_ms` 0: reports are not repeated. `metrics` may be NULL. */
struct reporter *reporter_new(struct loop *l, int64_t heartbeat_ms, struct metrics *metrics);
/* Ends the streams. NULL allowed. */
void reporter_free(struct reporter *r);

/* The table is borrowed until the next call. */
void reporter_set(struct reporter *r, const struct device_table *t);
void reporter_changed(struct reporter *r);
void reporter_pause(struct reporter *r, bool paused);

/* Takes over the call: sends a report now, unless paused, and every later one. */
void reporter_watch(struct reporter *r, struct grpc_call *call, enum reporter_dialect dialect);

/* Rows of a grpc_server that serves such streams must set these callbacks. */
void reporter_on_writable(struct grpc_call *c);
void reporter_on_end(struct grpc_call *c, const struct grpc_status *st);

/* Ends all streams: the driver stops. */
void reporter_end(struct reporter *r);

#endif
