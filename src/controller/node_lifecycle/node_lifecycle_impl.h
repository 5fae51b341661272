/*
 * node_lifecycle_impl - shared by its files: what is known of nodes, and the jobs that write.
 */
#ifndef CONTROLLER_NODE_LIFECYCLE_NODE_LIFECYCLE_IMPL_H
#define CONTROLLER_NODE_LIFECYCLE_NODE_LIFECYCLE_IMPL_H

#include "base/core/map.h"
#include "controller/node_lifecycle/decide.h"
#include "controller/node_lifecycle/node_lifecycle.h"
#include "controller/node_lifecycle/node_zones.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"
#include "net/loop/loop.h"

struct metrics_counter;
struct workqueue;

#define NODE_LEASES "kube-node-lease"

struct node_lifecycle {
	struct context ctx;
	struct node_lifecycle_opts opts;
	struct following following;
	struct followed nodes, pods, leases;
	struct map by_name; /* struct lifecycle_node */
	struct node_zones zones;
	struct loop_timer pass; /* settles zones and lets nodes out of their queues */
	struct workqueue *node_queue, *pod_queue; /* keys */
	struct works node_jobs, pod_jobs;
	struct arena scratch; /* for one event */
	struct metrics_counter *evictions; /* or NULL */
	bool working;
};

/* A Node, for as long as it exists. */
struct lifecycle_node {
	struct node_lifecycle *owner;
	struct zone_node zone;
	struct loop_timer heartbeat; /* fires when heartbeats have stopped */
	enum node_ready ready; /* as the object says */
	bool lost; /* no heartbeat for too long; the object may not say so yet */
	bool granted; /* may get its taint of effect NoExecute */
	bool tainted; /* has that taint, or the opposite one, which is replaced at once */
	struct str name, uid;
	char text[];
};

struct lifecycle_node *lifecycle_node_find(struct node_lifecycle *n, struct str name);

/* A sign of life, seen now. */
void lifecycle_node_beat(struct lifecycle_node *node);

/* Runs the pass in `ms` at the latest. */
void node_lifecycle_plan(struct node_lifecycle *n, int64_t ms);

/* The handlers of the queues: they write what is missing. */
void lifecycle_node_handle(void *arg, struct str name);
void lifecycle_pod_handle(void *arg, struct str key);

/* The `release` of the jobs. */
void lifecycle_job_release(struct work *w);

/* Events of Nodes: "Node NAME WHAT". */
void lifecycle_event(struct node_lifecycle *n, struct str name, struct str uid, const char *reason,
		     const char *what);

#endif
