/*
 * controller - `devplane controller`: namespaces, garbage collection, service accounts, pods'
 * claims, Jobs, quotas, availability of devices and eviction from tainted ones. On request also
 * claims, quotas, the life cycle of nodes, availability of devices and eviction from tainted ones
 * and from tainted nodes, garbage collection of pods. On request also
 * endpoints on secondary networks, taints of unhealthy devices and the history of devices.
 *
 * It works with any API server that a kubeconfig names. With leader election, one of several
 * processes works and the others wait; stopping releases the lease. After losing the lease it
 * never works again: work that was begun cannot be undone, so the process should exit and be
 * restarted.
 */
#ifndef CONTROLLER_RUN_CONTROLLER_H
#define CONTROLLER_RUN_CONTROLLER_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "controller/garbage/garbage.h"
#include "controller/health_taints/book.h"
#include "controller/namespace/namespace.h"
#include "controller/node_lifecycle/node_lifecycle.h"
#include "controller/pod_claims/pod_claims.h"
#include "controller/pod_garbage/pod_garbage.h"

struct controller;
struct kubeconfig;
struct log;
struct loop;
struct metrics;

enum controller_part {
	CONTROLLER_NAMESPACE = 1 << 0,
	CONTROLLER_GARBAGE = 1 << 1,
	CONTROLLER_SERVICE_ACCOUNT = 1 << 2,
	CONTROLLER_ROOT_CA = 1 << 3,
	CONTROLLER_CLAIMS = 1 << 4,
	CONTROLLER_SLICE_STATUS = 1 << 5,
	CONTROLLER_POOL_REQUESTS = 1 << 6,
	CONTROLLER_TAINT_EVICTION = 1 << 7,
	CONTROLLER_QUOTAS = 1 << 8,
	CONTROLLER_NETWORK_ENDPOINTS = 1 << 9,
	CONTROLLER_HEALTH_TAINTS = 1 << 10,
	CONTROLLER_DEVICE_HISTORY = 1 << 11,
	CONTROLLER_JOB = 1 << 12,
	CONTROLLER_TTL = 1 << 13,
	CONTROLLER_REPLICA_SETS = 1 << 14,
	CONTROLLER_DEPLOYMENTS = 1 << 15,
	CONTROLLER_DAEMON_SETS = 1 << 16,
	CONTROLLER_NODE_LIFECYCLE = 1 << 17,
	CONTROLLER_NODE_TAINTS = 1 << 18, /* evicts pods from tainted nodes */
	CONTROLLER_POD_GARBAGE = 1 << 19,
	CONTROLLER_ENDPOINT_SLICES = 1 << 20,
	/* The parts that run only if they are named, and those that run by default. */
	CONTROLLER_OPTIONAL = CONTROLLER_NETWORK_ENDPOINTS | CONTROLLER_HEALTH_TAINTS |
			      CONTROLLER_DEVICE_HISTORY,
	CONTROLLER_ALL = ((1 << 21) - 1) & ~CONTROLLER_OPTIONAL,
};

/* Zero means the default. Everything is borrowed until controller_free(). */
struct controller_opts {
	struct loop *loop;
	const struct kubeconfig *kubeconfig;
	struct str root_ca; /* PEM for pods; empty: the kubeconfig's */
	unsigned parts; /* enum controller_part */
	double qps, burst; /* rate limit for all requests but those of the lease; 0: no limit */
	bool no_election; /* start work immediately */
	const char *identity; /* in the election */
	const char *lease_namespace, *lease_name; /* "kube-system", "devplane-controller" */
	int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
	struct namespaces_opts namespaces;
	struct garbage_opts garbage;
	struct pod_claims_opts claims;
	unsigned slice_status_workers, taint_eviction_workers;
	unsigned deployment_workers, replica_set_workers;
	struct node_lifecycle_opts node_lifecycle;
	unsigned node_taints_workers;
	struct pod_garbage_opts pod_garbage;
	struct health_taints_limits health_taints;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/* The lease was lost. All work has stopped for good. */
	void (*on_lost)(void *arg, const struct error *why);
	void *arg;
};

/* Starts immediately. */
int controller_new(const struct controller_opts *opts, struct controller **ret_controller,
		   struct error *err);

/* Ends all work, releases the lease, then calls `done` once, later. */
void controller_stop(struct controller *c, void (*done)(void *arg), void *arg);

/* Call after `done`, or before the loop ran. The loop must run one more turn. NULL allowed. */
void controller_free(struct controller *c);

/* For liveness. Returns -ERR_INTERNAL if a lease that we hold has expired. */
int controller_check(const struct controller *c, struct error *err);

/* For readiness: it waits for the lease, or it works and has the initial state. */
int controller_check_ready(const struct controller *c, struct error *err);

/* The names for --controllers, which are upstream's where upstream has the controller. */
struct controller_name {
	const char *name; /* NULL: the end of the table */
	unsigned part;
	bool upstream; /* kube-controller-manager has it, too, on by default */
};
const struct controller_name *controller_names(void);

/* Returns 0 if no controller has this name. */
unsigned controller_part_find(struct str name);

#endif
