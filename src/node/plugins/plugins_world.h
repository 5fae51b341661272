/*
 * plugins_world - for tests: plugins.h in a simulated world, and fake plugins with knobs.
 *
 * Network and time are simulated. The folders are real, below /tmp, with socket files that only the
 * simulation listens on. Events of plugins.h are recorded as lines of text, to be compared whole:
 *
 *	resource example.com/gpu gpu0:Healthy gpu1:Unhealthy/hot
 *	resource-gone example.com/gpu
 *	driver gpu.example.com registered | gone
 *	health gpu.example.com pool/gpu0:Healthy pool/gpu1:Unhealthy/hot
 *	no-health gpu.example.com
 *	problem WHAT: ERROR
 */
#ifndef NODE_PLUGINS_PLUGINS_WORLD_H
#define NODE_PLUGINS_PLUGINS_WORLD_H

#include "base/core/buf.h"
#include "base/core/list.h"
#include "grpc/grpc.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/plugins/plugins.h"
#include "node/plugins/wire.h"

struct metrics;

struct plugins_world {
	struct sim *sim;
	struct loop *loop;
	struct plugins *plugins;
	struct metrics *metrics;
	char dir[64];
	struct buf lines; /* events, without problems */
	struct buf problems;
	struct list fakes;
	struct plugins_opts opts;
	bool free_at_event; /* the next event frees plugins */
	bool closed;
};

void plugins_world_init(struct plugins_world *w, uint64_t seed);
/* Starts plugins.h; can be called again after plugins_world_stop(). */
void plugins_world_start(struct plugins_world *w);
void plugins_world_stop(struct plugins_world *w);
void plugins_world_release(struct plugins_world *w);

/* Lets time pass; settle() runs just until everything that needs no time is done. */
void plugins_world_run(struct plugins_world *w, int64_t ms);
void plugins_world_settle(struct plugins_world *w);

/* Compares the events since the last call, without problems, and clears them. */
void plugins_world_expect(struct plugins_world *w, const char *lines);
/* Asserts that a problem contains these words, and clears all problems. */
void plugins_world_expect_problem(struct plugins_world *w, const char *words);

/* Services of a fake plugin. */
enum {
	FAKE_REGISTRATION = 1,
	FAKE_DEVICE = 2,
	FAKE_DRA = 4, /* v1 */
	FAKE_DRA_BETA = 8, /* v1beta1 */
	FAKE_HEALTH = 16, /* v1, and the next bits for v1alpha1 and NodeHealth */
	FAKE_HEALTH_ALPHA = 32,
	FAKE_NODE_HEALTH = 64,
};

struct fake_plugin {
	struct list link;
	struct plugins_world *w;
	struct loop *loop;
	struct http_server *http;
	struct grpc_server *grpc;
	struct grpc_channel *channel; /* to the agent's Registration; NULL: none yet */
	char path[128];
	bool drained;

	/* Its reply to GetInfo. */
	const char *type, *name, *endpoint;
	const char *versions[6];
	bool preferred, prestart;

	/* Knobs: hang_*: these calls get no reply; fail_*: they fail with this code. */
	bool hang_info, hang_notify, hang_options, hang_calls;
	enum grpc_code fail_notify, fail_calls;
	bool skip_claim, add_claim; /* in DRA replies */
	enum grpc_code fail_health;

	/* Recorded calls. */
	unsigned infos, notifies, options, lists, calls, health_opens[PLUGIN_WIRE_HEALTH];
	bool registered; /* by the last Notify */
	char error[512];
	char asked[512]; /* the ids or claims of the last call */
	struct grpc_call *list, *health[PLUGIN_WIRE_HEALTH]; /* open streams */
	/* Result of Register. */
	unsigned answers;
	enum grpc_code code;
	char message[512];
};

/* Listens at a path below the world's folder; the socket file exists. `services`: FAKE_*. */
struct fake_plugin *fake_plugin_new(struct plugins_world *w, const char *path, unsigned services);
/*
 * A DRA driver of this name at plugins_registry/<file>; it advertises `versions` (up to 6, NULL
 * ends).
 */
struct fake_plugin *fake_driver_new(struct plugins_world *w, const char *file, const char *name,
				    unsigned services, const char *const *versions);

/* Creates or removes its file, and triggers a notification. */
void fake_plugin_file(struct fake_plugin *f, bool there);
/* Replaces its file by another one. */
void fake_plugin_renew_file(struct fake_plugin *f);
/* Stops it: cuts its connections, and removes the file if requested. */
void fake_plugin_stop(struct fake_plugin *f, bool remove_file);

/* Calls Register; the result is in code and message. */
void fake_plugin_register(struct fake_plugin *f, const char *version, const char *resource,
			  const char *endpoint);

/* "gpu0:Healthy gpu1:Unhealthy/hot"; an entry without a slash has no message. */
void fake_plugin_send_list(struct fake_plugin *f, const char *devices);
/* The same for health, with "pool/device:Healthy|message". */
void fake_plugin_send_health(struct fake_plugin *f, unsigned dialect, const char *devices);
/*
 * Sends bytes that are not a valid message, or a prefix that announces a message over the size
 * limit.
 */
void fake_plugin_send_garbage(struct grpc_call *stream);

#endif
