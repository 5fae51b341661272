/*
 * plugins - everything that registers with the agent: device plugins and DRA drivers.
 *
 * Below the root folder:
 *
 *	device-plugins/kubelet.sock  the Registration service of device plugins; sockets that an
 *	                             earlier agent left there are removed at start, as upstream does
 *	plugins_registry/            watched, with its subfolders, for sockets that answer GetInfo
 *
 * A device plugin is one endpoint of a resource: the newest that is connected is asked, and its
 * list counts. A DRA driver may have several instances (a rolling update): each has its own
 * connection and state; the newest that is connected prepares claims, the newest that is
 * registered is the one whose health is watched.
 *
 * Health streams come in three dialects: v1.DRAResourceHealth, v1alpha1.DRAResourceHealth and
 * v1alpha1.NodeHealth. The best that the driver advertises is taken; a driver that advertises
 * none is asked once each. Unimplemented ends it until the driver registers again. A stream that
 * breaks is opened again, with back-off, while the instance is registered.
 *
 * Verbs are asynchronous: `done` comes exactly once, never from within, unless it is freed
 * before. Threads: the loop's.
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
	/* The complete list of a resource's newest plugin: it sent it, or became the newest. */
	void (*on_resource)(void *arg, struct str resource, const struct assign_device *v,
			    size_t n);
	/* The newest endpoint has gone, and there is no other that has sent a list. */
	void (*on_resource_gone)(void *arg, struct str resource);
	/* The first instance of a driver is registered, or the last one has gone. */
	void (*on_driver)(void *arg, struct str driver, bool registered);
	/* A complete report of the instance that is watched. */
	void (*on_health)(void *arg, struct str driver, const struct plugin_health *v, size_t n);
	/* The watched instance tells no health: no such service. Devices are Unknown. */
	void (*on_no_health)(void *arg, struct str driver);
	/* A plugin or driver could not be registered, or sent what cannot be used: for the log. */
	void (*on_problem)(void *arg, struct str what, const struct error *err);
};

struct plugins_opts {
	struct loop *loop;
	const char *root_dir; /* made when missing */
	bool watch_health; /* gate ResourceHealthStatus */
	const struct plugins_events *events;
	void *arg;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/* For tests; 0: upstream's values. */
	int64_t rpc_timeout_ms; /* DRA calls; 45 s */
	int64_t health_retry_ms; /* first delay before a broken stream is opened again; 1 s */
};

/* Listens and looks at what is there; -ERR_IO when a folder or socket cannot be made. */
int plugins_new(const struct plugins_opts *opts, struct plugins **ret_plugins, struct error *err);

/*
 * Closes all; nothing is told and no `done` comes any more. The loop must run a few more turns,
 * until `closed` comes (which may be NULL), before it can be freed.
 */
void plugins_close(struct plugins *p, void (*closed)(void *arg), void *arg);
/* The same without notice. NULL allowed. */
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
/* 30 s at most. */
void plugins_prestart(struct plugins *p, struct str resource, const struct str *ids, size_t n,
		      plugins_done *done, void *arg);

/* --- DRA drivers --------------------------------------------------------------------- */

struct plugin_claim {
	struct str ns, uid, name;
};

/* What a driver says to one claim. */
struct plugin_claim_result {
	struct str uid;
	struct str error; /* empty: prepared */
	const struct assign_claim_device *devices;
	size_t ndevices;
};
/* One result for each claim that was asked for, in that order; with `err` none. */
typedef void plugins_claims_done(void *arg, const struct plugin_claim_result *v, size_t n,
				 const struct error *err);

bool plugins_has_driver(const struct plugins *p, struct str driver);

/* -ERR_UNAVAILABLE by `done` when no instance is registered. A missing or unknown uid fails all. */
void plugins_prepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		     plugins_claims_done *done, void *arg);
void plugins_unprepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		       plugins_claims_done *done, void *arg);

/* --- what is there, for status pages and metrics ------------------------------------- */

struct plugins_driver {
	struct str name, endpoint, service, health_service; /* health: empty when it has none */
	bool connected;
};
/* Walks registered drivers' newest instances; *at begins with empty. */
bool plugins_next_driver(const struct plugins *p, struct str *at, struct plugins_driver *ret);

#endif
