/*
 * deployment_status - the status of a Deployment: counts, conditions, progress.
 *
 * The rules are upstream's. Pure. Times are wall clock, in nanoseconds, and are written in seconds.
 */
#ifndef CONTROLLER_DEPLOYMENT_STATUS_H
#define CONTROLLER_DEPLOYMENT_STATUS_H

#include "controller/deployment/sets.h"

#define DEPLOYMENT_PROGRESSING "Progressing"
#define DEPLOYMENT_AVAILABLE   "Available"
#define DEPLOYMENT_FAILURE     "ReplicaFailure"

/* Reasons of the condition Progressing. */
#define DEPLOYMENT_SET_CREATED   "NewReplicaSetCreated"
#define DEPLOYMENT_SET_FOUND     "FoundNewReplicaSet"
#define DEPLOYMENT_SET_UPDATED   "ReplicaSetUpdated"
#define DEPLOYMENT_SET_AVAILABLE "NewReplicaSetAvailable"
#define DEPLOYMENT_SET_ERROR     "ReplicaSetCreateError"
#define DEPLOYMENT_TIMED_OUT     "ProgressDeadlineExceeded"
#define DEPLOYMENT_PAUSED        "DeploymentPaused"
#define DEPLOYMENT_RESUMED       "DeploymentResumed"

struct deployment_condition {
	const char *type, *status, *reason;
	struct str message;
};

/*
 * Sets a condition in a status. If it has the same status and reason already, it stays as it is. If
 * only the status is the same, its lastTransitionTime stays.
 */
void deployment_set_condition(struct arena *a, struct json *status,
			      const struct deployment_condition *c, int64_t now_ns);

const struct json *deployment_find_condition(const struct json *status, const char *type);

/* spec.progressDeadlineSeconds; -1 if it is absent or INT32_MAX. */
int64_t deployment_deadline_s(const struct json *deployment);

/* The Deployment and its ReplicaSets, for a status. */
struct deployment_world {
	const struct json *tree; /* the Deployment */
	const struct deployment_limits *limits;
	struct deployment_set *now; /* the new ReplicaSet, or NULL */
	struct deployment_set **sets; /* all, including the new one */
	size_t n;
	int64_t now_ns;
};

/*
 * The status of the tree with the counts of the ReplicaSets and the condition Available; a copy in
 * the arena.
 */
struct json *deployment_counts(struct arena *a, const struct deployment_world *w);

/* The same during a rollout, with the conditions Progressing and ReplicaFailure. */
struct json *deployment_rollout_status(struct arena *a, const struct deployment_world *w);

/* Whether all replicas are updated and available and no old ones are left, by this status. */
bool deployment_complete(const struct deployment_world *w, const struct json *status);

/* Nanoseconds until the progress must be checked again; -1: never. */
int64_t deployment_check_after(const struct deployment_world *w, const struct json *status);

#endif
