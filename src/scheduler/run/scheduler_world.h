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
	/* Faults of bind requests and of condition patches: enum fakeapi_fault. */
	int on_bind, on_status;
	unsigned fault_count; /* remaining faults; 0: all requests fail */
	unsigned bindings, patches, leases; /* requests received */
};

/*
 * `config` is a KubeSchedulerConfiguration without apiVersion and kind. "": defaults, without
 * election.
 */
struct scheduler_world *scheduler_world_new(uint64_t seed, const char *config);
/* Also stops the scheduler, if it runs. */
void scheduler_world_free(struct scheduler_world *w);

/* Starts the scheduler and waits until it is ready, unless another one leads. */
void scheduler_world_start(struct scheduler_world *w);
void scheduler_world_stop(struct scheduler_world *w);
/* Frees the scheduler without stopping it, as if the process was killed. */
void scheduler_world_drop(struct scheduler_world *w);
void scheduler_world_run(struct scheduler_world *w, int64_t ms);

/* --- objects ------------------------------------------------------------------------------ */

/* Create a node with, or a pod requesting, so many whole CPUs. */
void scheduler_world_node(struct scheduler_world *w, const char *name, int cpu);
void scheduler_world_pod(struct scheduler_world *w, const char *name, int cpu);
/* The same with more of its metadata: ",\"finalizers\":[..]". */
void scheduler_world_pod_with(struct scheduler_world *w, const char *name, int cpu,
			      const char *meta);
void scheduler_world_remove_node(struct scheduler_world *w, const char *name);
/* Deletes the pod at once, even if it is bound. */
void scheduler_world_remove_pod(struct scheduler_world *w, const char *name);
/* Binds a pod as another scheduler would. Returns the HTTP status. */
int scheduler_world_bind(struct scheduler_world *w, const char *pod, const char *node);

/* --- what has become of it ----------------------------------------------------------------- */

/* Whether the server has the pod on this node; "": on no node. */
bool scheduler_world_is_on(const struct scheduler_world *w, const char *pod, const char *node);
/* Returns the number of events that contain the text. Repeated events count once. */
size_t scheduler_world_events(const struct scheduler_world *w, const char *text);
/* Fails the test unless all sums of the cache are right. */
void scheduler_world_check(const struct scheduler_world *w);
/* The same, and checks that nothing is assumed, being bound or being written. */
void scheduler_world_check_quiet(const struct scheduler_world *w);
/* Returns the milli-CPUs requested on a node in the scheduler's cache; -1 for an unknown node. */
int64_t scheduler_world_taken(const struct scheduler_world *w, const char *node);

#endif
