/*
 * plugins_world - for tests: plugins.h in a simulated world, and plugins with knobs.
 *
 * Network and time are simulated; the folders are real, below /tmp, with socket files that nobody
 * listens on but the simulation. What plugins.h tells is kept as lines of text, to be compared
 * whole:
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
	struct buf lines; /* without problems */
	struct buf problems;
	struct list fakes;
	struct plugins_opts opts;
	bool free_at_event; /* the next event frees plugins */
	bool closed;
};

void plugins_world_init(struct plugins_world *w, uint64_t seed);
/* Starts it, again after plugins_world_stop(). */
void plugins_world_start(struct plugins_world *w);
void plugins_world_stop(struct plugins_world *w);
void plugins_world_release(struct plugins_world *w);

/* Lets so much time pass; and enough for what needs none. */
void plugins_world_run(struct plugins_world *w, int64_t ms);
void plugins_world_settle(struct plugins_world *w);

/* Compares what was told since the last time, problems apart, and forgets it. */
void plugins_world_expect(struct plugins_world *w, const char *lines);
/* That a problem holds these words, and forgets all problems. */
void plugins_world_expect_problem(struct plugins_world *w, const char *words);

/* Services of a fake. */
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

	/* What it says of itself. */
	const char *type, *name, *endpoint;
	const char *versions[6];
	bool preferred, prestart;

	/* Knobs: these calls are not answered; this is their failure. */
	bool hang_info, hang_notify, hang_options, hang_calls;
	enum grpc_code fail_notify, fail_calls;
	bool skip_claim, add_claim; /* in answers of DRA */
	enum grpc_code fail_health;

	/* What it has seen. */
	unsigned infos, notifies, options, lists, calls, health_opens[PLUGIN_WIRE_HEALTH];
	bool registered; /* by the last Notify */
	char error[512];
	char asked[512]; /* the ids or claims of the last call */
	struct grpc_call *list, *health[PLUGIN_WIRE_HEALTH]; /* open streams */
	/* Register's end. */
	unsigned answers;
	enum grpc_code code;
	char message[512];
};

/* Listens at a path below the world's folder, and the file is there. `services`: FAKE_*. */
struct fake_plugin *fake_plugin_new(struct plugins_world *w, const char *path, unsigned services);
/*
 * A DRA driver of this name at plugins_registry/<file>; it advertises `versions` (up to 6, NULL
 * ends).
 */
struct fake_plugin *fake_driver_new(struct plugins_world *w, const char *file, const char *name,
				    unsigned services, const char *const *versions);

/* Makes or removes its file, and says so. */
void fake_plugin_file(struct fake_plugin *f, bool there);
/* Another file takes the place of its file. */
void fake_plugin_renew_file(struct fake_plugin *f);
/* Ends it: connections are cut; the file goes when asked to. */
void fake_plugin_stop(struct fake_plugin *f, bool remove_file);

/* Calls Register; the answer is in code and message. */
void fake_plugin_register(struct fake_plugin *f, const char *version, const char *resource,
			  const char *endpoint);

/* "gpu0:Healthy gpu1:Unhealthy/hot"; without a message where no slash is. */
void fake_plugin_send_list(struct fake_plugin *f, const char *devices);
/* The same for health, with "pool/device:Healthy|message". */
void fake_plugin_send_health(struct fake_plugin *f, unsigned dialect, const char *devices);
/* Bytes that are no message; or a prefix that announces more than anybody takes. */
void fake_plugin_send_garbage(struct grpc_call *stream);

#endif
