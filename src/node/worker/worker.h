/*
 * worker - brings one pod to what its object wants: the hands of lifecycle.h.
 *
 * Steps, each begun when the one before is done, each tried again when it fails: admission (devices
 * chosen, held, asked for from plugins), claims prepared, volumes made; then the life cycle's
 * actions; after the last container claims are unprepared, volumes removed, devices released. A pod
 * that is deleted skips to its end from wherever it is. Device health is written whenever it
 * changes, also after the end, as long as the pod's object is there.
 * Threads: the loop's.
 */
#ifndef NODE_WORKER_WORKER_H
#define NODE_WORKER_WORKER_H

#include "api/schema/gates.h"
#include "node/assign/assign.h"
#include "node/container/cdi.h"
#include "node/container/config.h"
#include "node/lifecycle/lifecycle.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"
#include "node/worker/device_policy.h"

struct claims;
struct client;
struct device_events;
struct device_status_change;
struct fit_sum;
struct health;
struct log;
struct loop;
struct metrics_counter;
struct node_object;
struct plugins;
struct probes;
struct recorder;
struct sources;
struct status_writer;
struct volumes;
struct worker;

/* What the workers of an agent share; the agent's. */
struct worker_host {
	struct loop *loop;
	struct runtime *runtime;
	struct assign *assign;
	struct health *health;
	struct plugins *plugins;
	struct claims *claims;
	struct sources *sources;
	struct volumes *volumes;
	struct probes *probes;
	struct status_writer *writer;
	struct device_events *events;
	struct recorder *recorder;
	struct node_object *node;
	struct client *client;
	struct device_policy policy; /* of pods that have none of their own */
	const struct gates *gates;
	const struct log *log;
	struct cdi_dirs cdi_dirs;
	const char *node_name;
	struct sandbox_parts sandbox; /* what all sandboxes share: logs, DNS */
	struct str seccomp_root;
	bool seccomp_default;
	bool hollow; /* the runtime runs nothing: volumes, environment and probes are left out */
	bool runtime_does_cdi, pod_level; /* learnt later */
	struct str id_prefix;
	struct metrics_counter *problems; /* status that could not be made or written; or NULL */

	/* Makes the log of assignments durable. */
	void (*save)(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
	/* Whether the pod fits beside the others: fit_check(). */
	int (*fits)(void *arg, const struct pod *pod, char *ret_reason, struct error *err);
	/* The runtime's state has changed by our doing: ask it. Returns the number of that look. */
	uint64_t (*relist)(void *arg);
	/*
	 * Pods of earlier agents may not all be known, and the log of what they hold was lost: new
	 * ones are not let in yet.
	 */
	bool (*recovering)(void *arg);
	/* The plugin of a resource has not come back since the agent's start, and may yet. */
	bool (*settling)(void *arg, struct str resource);
	/* The pod's object is gone and nothing of it is left: free the worker. */
	void (*over)(void *arg, struct worker *w);
	void *arg;
};

/* `admitted`: an earlier agent let it in (it holds devices or has containers). */
struct worker *worker_new(struct worker_host *host, struct pod *pod, bool admitted);

/* Forgets it, whatever runs: calls that are under way must not come back. NULL allowed. */
void worker_free(struct worker *w);

/* The pod's uid, for as long as the worker lives. */
struct str worker_uid(const struct worker *w);
struct pod *worker_pod(const struct worker *w);
/* What the runtime was last seen to have of it; NULL: nothing. Until the next look. */
const struct runtime_pod *worker_runtime(const struct worker *w);
/* What the pod asks for, added up. */
const struct fit_sum *worker_asks(const struct worker *w);

/* It holds its devices and claims, or may come to. */
bool worker_active(const struct worker *w);
/* It was let in and has not ended: what it asks for is taken. */
bool worker_admitted(const struct worker *w);

/* Its object has changed, or has gone. */
void worker_update(struct worker *w, struct pod *pod);
void worker_gone(struct worker *w);

/* What the runtime had of it at its look of that number; copied. NULL: nothing. */
void worker_seen(struct worker *w, const struct runtime_pod *seen, uint64_t look);

/* assign_cpus() of its containers may have changed: those that run are moved. */
void worker_cpus_follow(struct worker *w);

/* Config maps, secrets or tokens that it uses have changed. */
void worker_sources_changed(struct worker *w);

void worker_probed(struct worker *w, struct str container_id, enum lifecycle_probe probe, bool good,
		   struct str message);

/* One attempt of a probe failed: an event. */
void worker_probe_failed(struct worker *w, struct str container, struct str message);
void worker_probe_warned(struct worker *w, struct str container, struct str message);

/*
 * The log of assignments was lost. Ends the doubt about the pod's devices if none of its containers
 * runs; to be called once the runtime was asked.
 */
void worker_settle(struct worker *w);
/* New pods may be let in. */
void worker_recovered(struct worker *w);

/* A plugin, a driver or the runtime is back: what waits for a retry is tried now. */
void worker_retry(struct worker *w);

/*
 * The health of one of its devices may have changed: status again. worker_mark() says so first and
 * is true for the first of several: then worker_health_changed() is owed.
 */
bool worker_mark(struct worker *w);
void worker_health_changed(struct worker *w);

/* An event that names resource, device, old and new health and the driver's words. */
void worker_tell_device(struct worker *w, const struct device_status_change *c);

/* A warning of the given reason as an event of the pod. */
void worker_warn(struct worker *w, const char *reason, struct str message);
/* The same, and counted. */
void worker_problem(struct worker *w, const char *reason, struct str message);

#endif
