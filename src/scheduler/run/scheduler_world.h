/*
 * scheduler_world - for tests: a fake API server and a whole scheduler on another host.
 *
 * Nodes and pods are made by one line each; all are in the namespace "default". Failures are
 * cmocka's.
 */
#ifndef SCHEDULER_RUN_SCHEDULER_WORLD_H
#define SCHEDULER_RUN_SCHEDULER_WORLD_H

#include "api/schema/gates.h"
#include "client/kubeconfig/kubeconfig.h"
#include "client/testing/fakeapi_world.h"
#include "scheduler/config/config.h"
#include "scheduler/run/scheduler_impl.h"

struct scheduler_world {
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct kubeconfig kubeconfig;
	struct config config;
	struct gates gates;
	struct scheduler *scheduler; /* NULL: none runs */
	unsigned lost; /* leases */
	bool stopped;
	/* What becomes of requests to bind, and of the conditions' patches: enum fakeapi_fault. */
	int on_bind, on_status;
	unsigned fault_count; /* how many yet; 0: all of them */
	unsigned bindings, patches, leases; /* requests that came */
};

/* `config`: KubeSchedulerConfiguration without its head, "" for the defaults without election. */
struct scheduler_world *scheduler_world_new(uint64_t seed, const char *config);
/* Stops the scheduler, too, if it runs. */
void scheduler_world_free(struct scheduler_world *w);

/* Begins, and waits until it knows the state, unless another leads. */
void scheduler_world_start(struct scheduler_world *w);
void scheduler_world_stop(struct scheduler_world *w);
/* Without stopping: as if the process ended. */
void scheduler_world_drop(struct scheduler_world *w);
void scheduler_world_run(struct scheduler_world *w, int64_t ms);

/* --- objects ------------------------------------------------------------------------------ */

/* `cpu` is what it has and what it asks for, in whole ones. */
void scheduler_world_node(struct scheduler_world *w, const char *name, int cpu);
void scheduler_world_pod(struct scheduler_world *w, const char *name, int cpu);
/* The same with more of its metadata: ",\"finalizers\":[..]". */
void scheduler_world_pod_with(struct scheduler_world *w, const char *name, int cpu,
			      const char *meta);
void scheduler_world_remove_node(struct scheduler_world *w, const char *name);
/* At once, also when it is bound. */
void scheduler_world_remove_pod(struct scheduler_world *w, const char *name);
/* As another scheduler would. Returns the HTTP status. */
int scheduler_world_bind(struct scheduler_world *w, const char *pod, const char *node);

/* --- what has become of it ----------------------------------------------------------------- */

/* Whether the server has the pod on this node; "" is: on none. */
bool scheduler_world_is_on(const struct scheduler_world *w, const char *pod, const char *node);
/* How many events there are with this text in them; repeated ones count once. */
size_t scheduler_world_events(const struct scheduler_world *w, const char *text);
/* Fails unless all sums are right. */
void scheduler_world_check(const struct scheduler_world *w);
/* The same, and nothing is assumed, on its way or being written. */
void scheduler_world_check_quiet(const struct scheduler_world *w);
/* Thousandths that are taken on a node, as the scheduler has it; -1: it has no such node. */
int64_t scheduler_world_taken(const struct scheduler_world *w, const char *node);

#endif
