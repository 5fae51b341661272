/*
 * cluster_role - one process of a simulated cluster, on a host of its own, and who watches it.
 *
 * A role is started, stopped in order (SIGTERM), or killed; whatever ends by itself, or cannot
 * start, is started again, as a supervisor does it.
 */
#ifndef SIM_CLUSTER_ROLE_H
#define SIM_CLUSTER_ROLE_H

#include "base/core/error.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

struct cluster_role;
struct log;

enum { CLUSTER_PORT = 6443, CLUSTER_LOOPS = 2 };

struct cluster_role_ops {
	/* Also when it fails `impl` may be set: then it is stopped and dropped. */
	int (*start)(struct cluster_role *role, struct error *err);
	void (*stop)(struct cluster_role *role, void (*done)(void *arg), void *arg);
	void (*drop)(struct cluster_role *role); /* frees impl */
	/*
	 * Its host has crashed; `stopped` was asked to stop before. Calls `done` while it is
	 * buried, then it is dropped. NULL: it can be dropped as it is.
	 */
	void (*die)(struct cluster_role *role, bool stopping, void (*done)(void *arg), void *arg);
	size_t nloops; /* 0: as many as CLUSTER_LOOPS */
};

enum cluster_state { CLUSTER_DOWN, CLUSTER_UP, CLUSTER_STOPPING };

struct cluster_role {
	/* Set before the first start. */
	const struct cluster_role_ops *ops;
	struct sim *sim;
	const struct log *log;
	char host[32]; /* its name, too */
	char dir[128]; /* its files; or empty */
	char kubeconfig[128]; /* path */
	char tokens[128]; /* the server's */
	void *arg; /* the kind's own */
	int64_t skew_ns; /* of its clock */
	bool disk_full; /* a node's: state files cannot be written */

	enum cluster_state state;
	struct loop *loops[CLUSTER_LOOPS];
	size_t nloops;
	void *impl;
	bool failed; /* it ended by itself: to be stopped and started again */
	bool stopped; /* stop() is done */
	struct error failure;
	int64_t since_ms; /* in this state */
	int64_t start_ms; /* when it is to be started again; INT64_MAX: not by itself */
	unsigned starts, kills;
};

/* Its log: nothing, or, where SIM_LOG is set, standard error. */
struct log *cluster_role_log(const struct cluster_role *role);

/* Starts it unless it is up; it is tried again in a second when it cannot. */
void cluster_role_start(struct cluster_role *role);
/* SIGTERM, and SIGKILL if that takes longer than 20 s; it is started again after `pause_ms`. */
void cluster_role_stop(struct cluster_role *role, int64_t pause_ms);
/* Dies. It is started again after `pause_ms`. */
void cluster_role_kill(struct cluster_role *role, enum sim_crash how, int64_t pause_ms);

/* The work of the supervisor: call it between turns, now and then. */
void cluster_role_watch(struct cluster_role *role);

/* The end of the world: killed and not started again. */
void cluster_role_release(struct cluster_role *role);

#endif
