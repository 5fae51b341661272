/*
 * The parts of the load of workloads: requests, and the texts of objects. Names say what an object
 * is: job-ok-7, dep-8 (a rolling Deployment), rec-9 (Recreate), ds-1, od-2 (OnDelete), su-3 (with
 * surge), svc-4.
 */
#ifndef SIM_CLUSTER_WORKLOADS_IMPL_H
#define SIM_CLUSTER_WORKLOADS_IMPL_H

#include "base/core/str.h"
#include "base/core/vec.h"
#include "cluster_workloads.h"

enum { RESOURCE_JOBS, RESOURCE_DEPLOYMENTS, RESOURCE_DAEMON_SETS, RESOURCE_SERVICES, RESOURCES };

enum job_kind {
	JOB_OK,
	JOB_INDEXED,
	JOB_BAD,
	JOB_PER_INDEX,
	JOB_POLICY, /* fails at the first failed pod, by a condition of the pod */
	JOB_IGNORE, /* does not count pods that were evicted */
	JOB_TTL, /* is deleted some seconds after it has finished */
	JOB_KINDS
};

const char *workloads_resource(unsigned resource);

/* --- what is there ---------------------------------------------------------------------------- */

/* Names and versions of templates, in the world's arena. */
struct workload_look {
	VEC(struct str) names; /* of those that are not being deleted */
	VEC(struct str) versions; /* of the same */
	VEC(int64_t) sizes; /* their spec.replicas, or 0 */
	size_t n; /* all */
	const char *app; /* only objects with this label; NULL: all */
};

void workloads_look(struct workloads *x, const char *resource, const char *app,
		    struct workload_look *l);
void workload_look_release(struct workload_look *l);

/* --- requests, each sent once ----------------------------------------------------------------- */

size_t workloads_under_way(const struct workloads *x);
void workloads_create_job(struct workloads *x, enum job_kind kind);
void workloads_create(struct workloads *x, unsigned resource); /* of some kind */
void workloads_create_deployment(struct workloads *x, bool recreate);
void workloads_create_daemon_set(struct workloads *x, const char *prefix);
void workloads_create_service(struct workloads *x, const char *app);

/* A new template; of a Service: other pods. */
void workloads_roll(struct workloads *x, unsigned resource, struct str name);
void workloads_scale(struct workloads *x, struct str name);
void workloads_suspend(struct workloads *x, struct str job, bool suspend);
/* `held`: the version of the template that its pods keep; or empty */
void workloads_pause(struct workloads *x, struct str deployment, bool pause, struct str held);
void workloads_nudge(struct workloads *x, unsigned resource);
void workloads_delete(struct workloads *x, unsigned resource, struct str name);
/* Deletes the pods of an OnDelete DaemonSet; `all`, or some. */
void workloads_replace(struct workloads *x, struct str daemon_set, bool all);
void workloads_delete_node(struct workloads *x, const char *name);

/* --- the model: cluster_workloads_history.c --------------------------------------------------- */

#define WORKLOADS_TRACKING "batch.kubernetes.io/job-tracking"

struct json;

/* The node of a pod, or the one that it has to go to. */
struct str workloads_node_of(const struct json *pod);
bool workload_is_ready(const struct json *pod);
/* The number in the name of an object or of its app. */
int64_t workload_number(struct str name);
bool workload_was_suspended(const struct workloads *x, struct str job);

#endif
