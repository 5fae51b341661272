/*
 * replica_sets_impl - shared by its files: the controller's state, and the job for one ReplicaSet.
 */
#ifndef CONTROLLER_REPLICA_SET_REPLICA_SETS_IMPL_H
#define CONTROLLER_REPLICA_SET_REPLICA_SETS_IMPL_H

#include "controller/pods/batch.h"
#include "controller/pods/expectations.h"
#include "controller/pods/owned.h"
#include "controller/replica_set/decide.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"

struct workqueue;

struct replica_sets {
	struct context ctx;
	struct following following;
	struct followed sets; /* indexes: OWNED_BY_CONTROLLER, SELECTING */
	struct followed pods; /* owned_indexes */
	struct workqueue *queue; /* keys of ReplicaSets */
	struct expectations expectations; /* by key of the ReplicaSet */
	struct map seen; /* by uid of a pod: struct replica_seen */
	struct works jobs;
	struct arena scratch; /* for one event, or one pod */
};

/* The digest of one version of a pod, so that no sync parses it again. */
struct replica_seen {
	uint64_t revision; /* of the pod */
	int64_t generation; /* of the ReplicaSet for whose template `labeled` holds */
	struct replica_pod pod;
	char uid[];
};

/* The work for one key. */
struct replica_job {
	struct work work;
	struct replica_sets *owner;
	struct cached *object; /* reference */
	struct json *set;
	struct replica_set_spec spec;
	struct owner identity;
	struct selector selector, labels; /* labels: those of the template */
	bool may_manage; /* expectations were met when it began */
	bool failed; /* a pod could not be created or deleted */
	struct error failure;
	struct owned_claim claim;
	struct replica_counts counts;
	struct batch batch;
	struct loop_timer again; /* repeats deletions whose replies were lost */
	unsigned attempts;
};

/* The queue's handler. */
void replica_sets_handle(void *arg, struct str key);

/* The `release` of the jobs. */
void replica_job_release(struct work *w);

/* Forgets what was read from the pod. */
void replica_sets_unsee(struct replica_sets *c, struct str uid);

/* The digest of a pod for the status; parses the pod if its version is new. */
struct replica_pod replica_sets_see(struct replica_job *j, const struct cached *pod);

/* The trees of pods, for ranking; they live in the job's arena. */
struct replica_trees {
	const struct json **v;
	size_t n;
};

/* The active pods among the job's own; in their order, NULL where a pod is not active. */
struct replica_trees replica_job_trees(struct replica_job *j);

/* The pods of all ReplicaSets of the same controller; none without a controller. */
struct replica_trees replica_job_related(struct replica_job *j);

#endif
