/*
 * replica_set_decide - the rules for ReplicaSets: how many pods to create or delete, which ones,
 * and the status.
 *
 * The rules are upstream's. No I/O and no clock: trees in, decisions out. Objects may hold
 * nonsense: numbers are read within the bounds of their types, and missing parts count as empty.
 */
#ifndef CONTROLLER_REPLICA_SET_DECIDE_H
#define CONTROLLER_REPLICA_SET_DECIDE_H

#include "controller/pods/pod_state.h"

enum { REPLICA_SET_BURST = 500 /* pods to create or delete in one step */ };

/* The numbers that a ReplicaSet's spec has; within 0 and INT32_MAX. */
struct replica_set_spec {
	int64_t replicas, min_ready_s;
};
struct replica_set_spec replica_set_spec(const struct json *set);

/* How many pods to create (positive) or to delete (negative), at most REPLICA_SET_BURST. */
int64_t replica_set_difference(const struct replica_set_spec *spec, size_t active);

/* The parts of a pod that the status counts. */
struct replica_pod {
	bool active, terminating, ready;
	bool labeled; /* it has all labels of the template */
	int64_t ready_since_ns; /* 0: unknown */
};
struct replica_pod replica_pod_of(const struct json *pod);

struct replica_counts {
	int64_t replicas, labeled, ready, available, terminating;
	/* Until the next pod becomes available by time alone; 0: none will. */
	int64_t next_ns;
};

/* Adds a pod to the counts. */
void replica_counts_add(struct replica_counts *c, const struct replica_pod *pod,
			const struct replica_set_spec *spec, int64_t now_ns);

/*
 * The new status of a ReplicaSet, or NULL if the one it has is right. `failure` is the message of
 * the creation or deletion that failed in this step, or p NULL; `active` is how many pods there
 * were before. Nodes are made in the arena; parts of the old status are copied.
 *
 * `observed`: the counts include every pod that we have created, so they hold for this generation.
 * Upstream always says so; then a Deployment takes an old ReplicaSet for empty whose pods are new.
 */
struct json *replica_set_status(struct arena *a, const struct json *set,
				const struct replica_counts *counts, struct str failure,
				bool observed, int64_t now_ns);

/* Sorts, so that the pods to delete first are first. */
void replica_pods_sort(struct pod_rank *ranks, size_t n);

/*
 * Sets `beside` of each rank: how many active pods among `related` are on its node. Both arrays
 * hold pods' trees.
 */
void replica_pods_rank(struct pod_rank *ranks, size_t n, const struct json *const *related,
		       size_t nrelated);

#endif
