/*
 * plugins_impl - shared by the files behind plugins.h. For src/node/plugins only.
 *
 * A callback (an event or a `done`) may free everything. Code that runs after a callback must check
 * `freed` first. The memory stays valid until the end of the turn.
 */
#ifndef NODE_PLUGINS_PLUGINS_IMPL_H
#define NODE_PLUGINS_PLUGINS_IMPL_H

#include "base/core/arena.h"
#include "base/core/list.h"
#include "base/report/metrics.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/plugins/plugins.h"

struct device_plugins;
struct plugin_server;
struct dra_drivers;
struct plugin_registry;

enum {
	PLUGIN_DIAL_MS = 10 * 1000, /* time-out for connecting to a plugin's socket */
	PLUGIN_PATH_MAX = 512,
};

struct plugin_metrics {
	struct metrics_family *registrations, *allocations, *dra_calls; /* NULL: not counted */
};

struct plugins {
	struct loop *loop;
	struct plugins_events events;
	void *arg;
	int64_t rpc_timeout_ms; /* 0: each call has its own */
	int64_t health_retry_ms;
	bool watch_health, beside;
	struct plugin_metrics metrics;
	char *device_dir, *registry_dir;
	struct device_plugins *devices;
	struct plugin_server *server;
	struct dra_drivers *drivers;
	struct plugin_registry *registry;
	struct list follows; /* struct plugin_follow: device plugins of a kubelet */
	struct list requests; /* calls in flight */
	bool freed;
	struct loop_task release;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* Calls on_problem; the format gives its `what`. */
void plugins_problem(struct plugins *p, const struct error *err, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/*
 * Opens a channel to a local socket, with a short retry delay. Returns -ERR_INVALID if the path
 * cannot be a socket's. on_state and arg may be NULL.
 */
int plugins_channel(struct plugins *p, const char *path,
		    void (*on_state)(void *arg, enum grpc_channel_state state,
				     const struct error *err),
		    void *arg, struct grpc_channel **ret_channel, struct error *err);

/*
 * One call in flight: its data until the reply, and its `done`. It ends exactly once, with the call
 * or by plugin_request_fail(). plugins_free() drops requests that are still in flight.
 */
struct plugin_request {
	struct list link;
	struct plugins *p;
	struct arena arena;
	int64_t began_ms;
	/* Ends the request by calling `done`. If `err` is set there is no reply. */
	void (*end)(struct plugin_request *q, const void *reply, const struct error *err);
	union {
		plugins_ids_done *ids;
		plugins_done *plain;
		plugins_packed_done *packed;
		plugins_claims_done *claims;
	} done;
	void *arg;
	struct str subject; /* the resource or driver */
	const struct grpc_method *method;
	const struct plugin_claim *claims; /* for prepare and unprepare */
	size_t nclaims;
	struct loop_task task; /* reports a failure that was known at once */
	struct error failure;
};

struct plugin_request *plugin_request_new(struct plugins *p, const struct grpc_method *method,
					  struct str subject,
					  void (*end)(struct plugin_request *q, const void *reply,
						      const struct error *err),
					  void *arg);
/* Fails the request at the end of the turn. */
void plugin_request_fail(struct plugin_request *q, const struct error *err);
void plugin_request_call(struct plugin_request *q, struct grpc_channel *ch,
			 const ProtobufCMessage *message, int64_t deadline_ms);

#endif
