/*
 * agent_impl - what an agent is inside. For agent*.c only.
 */
#ifndef NODE_AGENT_AGENT_IMPL_H
#define NODE_AGENT_AGENT_IMPL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/time/backoff.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"
#include "node/agent/agent.h"
#include "node/health/health.h"
#include "node/worker/worker.h"

struct kubelet_server;
struct log_keeper;
struct slice_cleaner;

/* Somebody who waits for the log of assignments to be on the disk. */
struct agent_waiter {
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* One write of the log of assignments, and who waits for it. */
struct agent_saving {
	struct list link;
	struct agent *agent;
	VEC(struct agent_waiter) waiters;
	uint64_t hash;
};

/* A pod that the runtime has and the API does not: its sandboxes go, one after the other. */
struct agent_orphan {
	struct list link;
	struct agent *agent;
	struct arena arena;
	struct runtime_pod *pod;
	size_t next; /* of its sandboxes; of its containers when it has none */
	bool failed; /* something of it cannot be removed: all of it again after a while */
	struct loop_timer timer;
	struct backoff backoff;
};

/* A resource that has no plugin: its last one has gone, or none has come back since the agent's
 * start. */
struct agent_lost {
	struct list link;
	struct agent *agent;
	struct loop_timer timer; /* ends the settling, then its stay in the node's capacity */
	char *resource;
	bool settling; /* its plugin needs a moment to notice that the agent is back */
};

struct agent {
	struct agent_opts opts;
	struct worker_host host;
	struct machine machine;
	struct informers *informers;
	struct informer *pods;
	struct informer_handler handler;
	struct assign_watcher watcher;
	struct slice_cleaner *cleaner;
	struct map workers; /* pod's uid to worker */
	struct json *node; /* the Node as it was last seen */
	struct arena node_arena;
	struct arena arena; /* texts that live as long as the agent */
	char *id_prefix;

	/* The runtime. */
	struct loop_timer condition_timer;
	bool listing, list_again, list_failed, runtime_ready;
	int64_t runtime_heard_ms; /* its last good answer; at first, the agent's start */
	uint64_t looks; /* lists begun */
	struct loop_task list_task;
	struct list orphans; /* struct agent_orphan: pods of the runtime that are being ended */
	bool left_over; /* an earlier agent may have left something of pods that are gone */

	struct loop_timer machine_timer; /* until it is read again */
	struct loop_task cpus_task; /* containers follow the CPUs that are shared */

	/* State on the disk. */
	VEC(struct agent_waiter) waiters;
	struct loop_task save_task;
	bool save_due; /* it has been put off once */
	/* There was no log to load: until pods and the runtime are known, see agent_recover(). */
	bool recovering;
	struct list savings; /* struct agent_saving: writes of the log under way */
	uint64_t saved; /* hash of what was written last without a fault; 0: nothing */
	struct loop_timer health_save_timer, save_again_timer;
	struct error unsaved, health_unsaved; /* why the last save failed; code 0: it did not */
	struct loop_timer health_told_timer; /* until the Node is looked at */
	const char *assign_path, *health_path;

	/* Health. */
	struct loop_timer expiry_timer, events_timer;
	VEC(struct worker *) dirty; /* workers whose devices' health has changed in this turn */
	struct loop_task dirty_task;
	struct list lost; /* struct agent_lost */
	struct metrics_counter *health_changes;
	uint64_t counted_changes; /* of assign_health_changes(), in the counter */

	/* PodResources. */
	struct podres *book;
	struct podres_server *podres;
	struct assign_watcher podres_watcher;
	struct loop_task offers_task; /* allocatable devices of drivers have changed */

	struct kubelet_server *api; /* NULL: not served */

	struct log_keeper *logs; /* NULL: nobody looks after them */

	struct loop_timer stop_timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool stopping;
	bool closing; /* the plugins, until they say that they are closed */
	bool freed; /* meanwhile */
};

/* --- agent/pods.c: pods of the API and of the runtime ----------------------------- */

void agent_pods_init(struct agent *a);
void agent_pods_start(struct agent *a);
void agent_pods_release(struct agent *a);
uint64_t agent_relist(void *arg);
int agent_fits(void *arg, const struct pod *pod, char *ret_reason, struct error *err);
bool agent_pod_active(void *arg, struct str pod_uid);
bool agent_pod_here(void *arg, struct str pod_uid);
bool agent_settling(void *arg, struct str resource);
bool agent_recovering(void *arg);
void agent_worker_over(void *arg, struct worker *w);
void agent_retry_all(struct agent *a);
void agent_refresh_all(struct agent *a); /* statuses */
struct worker *agent_worker(const struct agent *a, struct str pod_uid);

/* --- agent/devices.c: plugins, drivers, health, state on the disk ----------------- */

extern const struct plugins_events agent_plugin_events;
void agent_devices_init(struct agent *a);
void agent_devices_release(struct agent *a);
/* Reads what an earlier agent left; a broken file is set aside and told. */
int agent_load(struct agent *a, struct error *err);
void agent_save(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
void agent_health_changed(void *arg, const struct health_device *now, enum assign_health before);
/* The log was lost: holds the devices that the status of a pod of an earlier agent names. */
void agent_recover(struct agent *a, struct worker *w);
/* Health that has not been saved yet, at the end. */
void agent_save_health(struct agent *a);
/* Events that were held back may be due. */
void agent_events_follow(struct agent *a);

/* --- agent/podres.c: what PodResources tells ---------------------------------------- */

/* After the log was loaded. */
int agent_podres_start(struct agent *a, struct error *err);
/* The pod's spec has become known: its containers' claims, too. */
void agent_podres_refresh(struct agent *a, struct str pod_uid);
/* The health of a driver's device has changed, or the device has come or gone. */
void agent_podres_health(struct agent *a);
void agent_podres_release(struct agent *a);

/* --- agent/api.c: the kubelet's API ------------------------------------------------- */

/* After runtime and node are there; serves nothing unless it is asked to. */
int agent_api_start(struct agent *a, struct error *err);

/* --- agent/logs.c: logs of containers ----------------------------------------------- */

void agent_logs_start(struct agent *a);
void agent_logs_stop(struct agent *a);
/* A log is between its old file and its new one; not for long. */
bool agent_logs_pending(const struct agent *a);
/* After the runtime is gone. */
void agent_logs_release(struct agent *a);
/* All logs of a pod that is gone. */
void agent_logs_remove(struct agent *a, struct str ns, struct str name, struct str uid);

/* --- agent/machine.c: CPUs and memory --------------------------------------------- */

int agent_read_machine(const struct agent *a, struct machine *m, struct error *err);
void agent_machine_init(struct agent *a);
void agent_machine_release(struct agent *a);
/* assign_cpus() of containers that share CPUs has changed. */
void agent_cpus_changed(struct agent *a);

#endif
