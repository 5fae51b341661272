/*
 * agent_impl - the agent from inside; for the files of src/node/agent only.
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

struct agent_statics;
struct agent_upkeep;
struct kubelet_server;
struct log_keeper;
struct slice_cleaner;

/* A callback that waits until the assignment log is saved. */
struct agent_waiter {
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* One write of the assignment log, and the callbacks that wait for it. */
struct agent_saving {
	struct list link;
	struct agent *agent;
	VEC(struct agent_waiter) waiters;
	uint64_t hash;
};

/*
 * A pod that the runtime has and the API does not. Its sandboxes are removed one after the other.
 */
struct agent_orphan {
	struct list link;
	struct agent *agent;
	struct arena arena;
	struct runtime_pod *pod;
	size_t next; /* index of the next sandbox, or container if it has no sandboxes */
	bool failed; /* a part could not be removed: everything is retried after a while */
	struct loop_timer timer;
	struct backoff backoff;
};

/*
 * A resource without a plugin: its last one has gone, or none has come back since the agent
 * started.
 */
struct agent_lost {
	struct list link;
	struct agent *agent;
	/* ends the settling, then removes the resource from the node's capacity */
	struct loop_timer timer;
	char *resource;
	bool settling; /* its plugin may still notice that the agent is back */
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
	struct json *node; /* the Node as last seen */
	struct arena node_arena;
	struct arena arena; /* texts that live as long as the agent */
	char *id_prefix;

	struct agent_statics *statics;
	struct agent_upkeep *upkeep;

	/* The runtime. */
	struct loop_timer condition_timer;
	bool listing, list_again, list_failed, runtime_ready;
	/* time of its last successful reply; at first, the agent's start */
	int64_t runtime_heard_ms;
	uint64_t looks; /* number of listings begun */
	struct loop_task list_task;
	struct list orphans; /* struct agent_orphan: pods of the runtime that are being removed */
	bool left_over; /* an earlier agent may have left volumes, assignments, claims */

	struct loop_timer machine_timer; /* until the machine is read again */
	struct loop_task cpus_task; /* updates containers that share CPUs */

	/* State on the disk. */
	VEC(struct agent_waiter) waiters;
	struct loop_task save_task;
	bool save_due; /* the save was postponed once */
	/*
	 * There was no log to load; set until pods and the runtime are known. See agent_recover().
	 */
	bool recovering;
	struct list savings; /* struct agent_saving: writes of the log in flight */
	uint64_t saved; /* hash of the last successful write; 0: none */
	struct loop_timer health_save_timer, save_again_timer;
	struct error unsaved, health_unsaved; /* why the last save failed; code 0: it succeeded */
	const char *assign_path, *health_path;

	/* Health. */
	struct loop_timer expiry_timer, events_timer;
	VEC(struct worker *) dirty; /* workers with changed device health in this turn */
	struct loop_task dirty_task;
	struct list lost; /* struct agent_lost */
	struct metrics_counter *health_changes;
	uint64_t counted_changes; /* part of assign_health_changes() that the counter has */

	/* PodResources. */
	struct podres *book;
	struct podres_server *podres;
	struct assign_watcher podres_watcher;
	struct loop_timer offers_timer; /* allocatable devices of DRA drivers have changed */

	struct kubelet_server *api; /* NULL: not served */

	struct log_keeper *logs; /* NULL: logs are not managed */

	struct loop_timer stop_timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool stopping;
	bool closing; /* plugins are closing */
	bool freed; /* freed while closing */
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
/* Loads the state of an earlier agent. A broken file is set aside and reported. */
int agent_load(struct agent *a, struct error *err);
void agent_save(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
void agent_health_changed(void *arg, const struct health_device *now, enum assign_health before);
/* The log was lost: holds the devices named in the status of an earlier agent's pod. */
void agent_recover(struct agent *a, struct worker *w);
/*
 * The same when the runtime was listed, for a pod whose status was not written, or does not name
 * all of its devices: holds those that its running containers carry.
 */
void agent_recover_running(struct agent *a, struct worker *w);
/* Saves health that has not been saved yet, at the end. */
void agent_save_health(struct agent *a);
/* Sets the timer for events that were held back. */
void agent_events_follow(struct agent *a);

/* --- agent/podres.c: the state behind PodResources ----------------------------------- */

/* Call after the log is loaded. */
int agent_podres_start(struct agent *a, struct error *err);
/* The pod's spec is known now, and with it the claims of its containers. */
void agent_podres_refresh(struct agent *a, struct str pod_uid);
/* The health of a DRA device has changed, or the device has appeared or vanished. */
void agent_podres_health(struct agent *a);
void agent_podres_release(struct agent *a);

/* --- agent/api.c: the kubelet's API ------------------------------------------------- */

/* Call after runtime and node are set up; serves only if opts.api.serve is set. */
int agent_api_start(struct agent *a, struct error *err);

/* --- agent/logs.c: logs of containers ----------------------------------------------- */

void agent_logs_start(struct agent *a);
void agent_logs_stop(struct agent *a);
/* Whether a log is between its old and its new file; that is short. */
bool agent_logs_pending(const struct agent *a);
/* Call after the runtime is freed. */
void agent_logs_release(struct agent *a);
/* Removes all logs of a deleted pod. */
void agent_logs_remove(struct agent *a, struct str ns, struct str name, struct str uid);

/* --- agent/machine.c: CPUs and memory --------------------------------------------- */

int agent_read_machine(const struct agent *a, struct machine *m, struct error *err);
void agent_machine_init(struct agent *a);
void agent_machine_release(struct agent *a);
/* assign_cpus() of containers that share CPUs has changed. */
void agent_cpus_changed(struct agent *a);

#endif
