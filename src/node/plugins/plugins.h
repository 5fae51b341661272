/*
 * plugins - connections to device plugins and DRA drivers, which register with the agent.
 *
 * Below the root folder:
 *
 *	device-plugins/kubelet.sock  the Registration service of device plugins; sockets that an
 *	                             earlier agent left there are removed at start, as upstream does
 *	plugins_registry/            watched, with its subfolders, for sockets that answer GetInfo
 *
 * A device plugin is one endpoint of a resource. The newest connected endpoint gets the calls, and
 * its list is the resource's. A DRA driver may have several instances (a rolling update), each with
 * its own connection and state. The newest connected instance prepares claims. The newest
 * registered instance is the one whose health is watched.
 *
 * Health streams (KEP-4680) have three dialects: v1.DRAResourceHealth, v1alpha1.DRAResourceHealth
 * and v1alpha1.NodeHealth. The agent uses the best one that the driver advertises. If the driver
 * advertises none, the agent tries each once. Unimplemented ends the attempts until the driver
 * registers again. A broken stream is opened again, with back-off, while the instance is
 * registered.
 *
 * Calls are asynchronous: `done` is called exactly once, never from within the call, and not after
 * plugins_close() or plugins_free(). Threads: the loop's.
 */
#ifndef NODE_PLUGINS_PLUGINS_H
#define NODE_PLUGINS_PLUGINS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "node/assign/assign.h"
#include "node/health/health.h"

struct log;
struct loop;
struct metrics;
struct plugins;

/* Text is borrowed until return. All may be NULL. */
struct plugins_events {
	/*
	 * The complete list of a resource's newest plugin, which has sent it or has become the
	 * newest.
	 */
	void (*on_resource)(void *arg, struct str resource, const struct assign_device *v,
			    size_t n);
	/* The newest endpoint has gone, and no other endpoint has sent a list. */
	void (*on_resource_gone)(void *arg, struct str resource);
	/* The first instance of a driver is registered, or the last one has gone. */
	void (*on_driver)(void *arg, struct str driver, bool registered);
	/* A complete report of the watched instance. */
	void (*on_health)(void *arg, struct str driver, const struct plugin_health *v, size_t n);
	/* The watched instance has no health service. Its devices are Unknown. */
	void (*on_no_health)(void *arg, struct str driver);
	/* A plugin or driver could not be registered, or sent invalid data. Meant for the log. */
	void (*on_problem)(void *arg, struct str what, const struct error *err);
};

struct plugins_opts {
	struct loop *loop;
	const char *root_dir; /* created if missing */
	/*
	 * A kubelet owns the folders, and this is a second client beside it. Nothing is created or
	 * removed in the folders, and device plugins cannot register. Of plugins_registry only DRA
	 * drivers are used. They get GetInfo and health streams, but no NotifyRegistrationStatus,
	 * because that would replace the kubelet's.
	 */
	bool beside;
	bool watch_health; /* gate ResourceHealthStatus */
	const struct plugins_events *events;
	void *arg;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/* For tests; 0: upstream's values. */
	int64_t rpc_timeout_ms; /* DRA calls; 45 s */
	int64_t health_retry_ms; /* first delay before a broken stream is opened again; 1 s */
};

/*
 * Starts to listen and scans the folders. Returns -ERR_IO if a folder or socket cannot be created.
 */
int plugins_new(const struct plugins_opts *opts, struct plugins **ret_plugins, struct error *err);

/*
 * Closes everything; no event or `done` is called any more. The loop must run a few more turns,
 * until `closed` (may be NULL) is called, before the loop can be freed.
 */
void plugins_close(struct plugins *p, void (*closed)(void *arg), void *arg);
/* The same without a callback. NULL allowed. */
void plugins_free(struct plugins *p);

/* --- device plugins ------------------------------------------------------------------ */

bool plugins_has_resource(const struct plugins *p, struct str resource); /* connected */
bool plugins_wants_preferred(const struct plugins *p, struct str resource);
bool plugins_wants_prestart(const struct plugins *p, struct str resource);

typedef void plugins_ids_done(void *arg, const struct str *ids, size_t n, const struct error *err);
typedef void plugins_done(void *arg, const struct error *err);
/* `packed`: the first ContainerAllocateResponse, borrowed. */
typedef void plugins_packed_done(void *arg, struct str packed, const struct error *err);

void plugins_preferred(struct plugins *p, const struct assign_wish *wish, plugins_ids_done *done,
		       void *arg);
void plugins_allocate(struct plugins *p, struct str resource, const struct str *ids, size_t n,
		      plugins_packed_done *done, void *arg);
/* Time-out: 30 s. */
void plugins_prestart(struct plugins *p, struct str resource, const struct str *ids, size_t n,
		      plugins_done *done, void *arg);

/*
 * Reads the lists of a device plugin that is registered elsewhere (`beside`): ListAndWatch at this
 * path, opened again while the plugin is away. The lists arrive as on_resource. Some plugins send
 * each update to one caller only, so a second caller takes updates from the kubelet: call this only
 * if the user asks for it.
 */
void plugins_follow(struct plugins *p, struct str resource, const char *socket);

/* --- DRA drivers --------------------------------------------------------------------- */

struct plugin_claim {
	struct str ns, uid, name;
};

/* A driver's reply for one claim. */
struct plugin_claim_result {
	struct str uid;
	struct str error; /* empty: success */
	const struct assign_claim_device *devices;
	size_t ndevices;
};
/* One result for each requested claim, in that order; no results if `err` is set. */
typedef void plugins_claims_done(void *arg, const struct plugin_claim_result *v, size_t n,
				 const struct error *err);

bool plugins_has_driver(const struct plugins *p, struct str driver);

/*
 * `done` gets -ERR_UNAVAILABLE if no instance is registered. A missing or unknown uid in the reply
 * fails the whole call.
 */
void plugins_prepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		     plugins_claims_done *done, void *arg);
void plugins_unprepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		       plugins_claims_done *done, void *arg);

/* --- registered drivers, for status pages and metrics --------------------------------- */

/* Returns 0 if plugins_registry and its subfolders can be read and watched; else an error. */
int plugins_check_registry(const struct plugins *p, struct error *err);

struct plugins_driver {
	/* health_service is empty if it has none */
	struct str name, endpoint, service, health_service;
	bool connected;
};
/* Walks the newest instance of each registered driver; start with an empty *at. */
bool plugins_next_driver(const struct plugins *p, struct str *at, struct plugins_driver *ret);

#endif
