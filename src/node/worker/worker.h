/*
 * worker - carries out the life cycle of one pod (lifecycle.h).
 *
 * The steps run one after the other, and a failed step is retried: admission (devices chosen, held,
 * requested from plugins), claims prepared, volumes set up. Then it carries out the life cycle's
 * actions. After the last container has ended, claims are unprepared, volumes removed, devices
 * released. A deleted pod skips from any step to its end. Device health (KEP-4680) is written
 * whenever it changes, also after the pod has ended, until the pod object is deleted.
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

/* Shared by the workers of an agent; owned by the agent. */
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
	struct device_policy policy; /* for pods without a policy of their own */
	const struct gates *gates;
	const struct log *log;
	struct cdi_dirs cdi_dirs;
	const char *node_name;
	struct sandbox_parts sandbox; /* shared by all sandboxes: logs, DNS */
	struct str seccomp_root;
	bool seccomp_default;
	bool hollow; /* the runtime runs nothing: skip volumes, environment and probes */
	bool runtime_does_cdi, pod_level; /* set later */
	struct str id_prefix;
	/* counts statuses that could not be built or written; or NULL */
	struct metrics_counter *problems;

	/* Saves the assignment log to disk, then calls done. */
	void (*save)(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
	/* Whether the pod fits beside the others: fit_check(). */
	int (*fits)(void *arg, const struct pod *pod, char *ret_reason, struct error *err);
	/* We changed the runtime's state: list it again. Returns the number of that listing. */
	uint64_t (*relist)(void *arg);
	/*
	 * The assignment log was lost, and pods of an earlier agent may still be unknown: new pods
	 * are not admitted yet.
	 */
	bool (*recovering)(void *arg);
	/* The resource's plugin has not come back since the agent started, but still may. */
	bool (*settling)(void *arg, struct str resource);
	/* The pod object is deleted and nothing is left of it: free the worker. */
	void (*over)(void *arg, struct worker *w);
	void *arg;
};

/* `admitted`: an earlier agent admitted it (it holds devices or has containers). */
struct worker *worker_new(struct worker_host *host, struct pod *pod, bool admitted);

/*
 * Frees the worker, whatever it is doing. Calls in flight must not return after this. NULL allowed.
 */
void worker_free(struct worker *w);

/* The pod's uid; valid while the worker lives. */
struct str worker_uid(const struct worker *w);
struct pod *worker_pod(const struct worker *w);
/* The runtime's last known state of the pod; NULL: nothing. Borrowed until the next listing. */
const struct runtime_pod *worker_runtime(const struct worker *w);
/* The sum of the pod's requests. */
const struct fit_sum *worker_asks(const struct worker *w);

/* Whether it holds devices and claims, or may still get them. */
bool worker_active(const struct worker *w);
/* Whether it was admitted and has not ended. */
bool worker_admitted(const struct worker *w);
/*
 * Whether its requests count as used at the admission of others: it was admitted, has not ended,
 * and its object exists. As in kubelet, a pod whose object was deleted does not count while its
 * containers end: the scheduler has given its room away.
 */
bool worker_counts(const struct worker *w);

/* The pod object has changed, or is deleted. */
void worker_update(struct worker *w, struct pod *pod);
void worker_gone(struct worker *w);

/*
 * The mirror pod of a static pod, as the API shows it; or NULL. The pod's status is
 * written to it.
 */
void worker_set_mirror(struct worker *w, struct pod *mirror);

/* The runtime's state of the pod in the listing of that number; copied. NULL: nothing. */
void worker_seen(struct worker *w, const struct runtime_pod *seen, uint64_t look);

/* assign_cpus() of its containers may have changed: running containers are moved. */
void worker_cpus_follow(struct worker *w);

/* ConfigMaps, Secrets or tokens that it uses have changed. */
void worker_sources_changed(struct worker *w);

void worker_probed(struct worker *w, struct str container_id, enum lifecycle_probe probe, bool good,
		   struct str message);

/* Reports one failed attempt of a probe as an event. */
void worker_probe_failed(struct worker *w, struct str container, struct str message);
void worker_probe_warned(struct worker *w, struct str container, struct str message);

/*
 * For a lost assignment log. Ends the doubt about the pod's devices if none of its containers runs.
 * Call it after the runtime was listed.
 */
void worker_settle(struct worker *w);
/* An earlier agent admitted the pod: its containers run. */
void worker_was_admitted(struct worker *w);
/* New pods may be admitted. */
void worker_recovered(struct worker *w);

/* A plugin, a driver or the runtime is back: retries waiting steps now. */
void worker_retry(struct worker *w);

/*
 * The health of one of its devices may have changed: write the status again. Call worker_mark()
 * first. If it returns true (the first of several changes), call worker_health_changed() later in
 * the turn.
 */
bool worker_mark(struct worker *w);
void worker_health_changed(struct worker *w);

/* Whether the pod runs and nothing ends it yet, so that worker_evict() may be called. */
bool worker_evictable(const struct worker *w);
/*
 * Fails the pod because the node lacks a resource, with the reason Evicted and upstream's condition
 * DisruptionTarget. Its containers get at most `grace_s`.
 */
void worker_evict(struct worker *w, struct str message, int64_t grace_s);

/* Writes an event with resource, device, old and new health and the driver's message. */
void worker_tell_device(struct worker *w, const struct device_status_change *c);

/* Writes a warning event of the pod. */
void worker_warn(struct worker *w, const char *reason, struct str message);
/* The same, and counts it. */
void worker_problem(struct worker *w, const char *reason, struct str message);

#endif
