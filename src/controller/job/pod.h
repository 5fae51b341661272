/*
 * job_pod - what the Job controller needs to know of a pod, and the pods that it creates.
 *
 * A pod is parsed once per check of its Job; its facts stay in a small struct. Pure.
 */
#ifndef CONTROLLER_JOB_POD_H
#define CONTROLLER_JOB_POD_H

#include "controller/job/policy.h"

struct cached;
struct job_spec;
struct owner;

#define JOB_FINALIZER       "batch.kubernetes.io/job-tracking"
#define JOB_INDEX           "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES  "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED   "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_CONTROLLER_NAME "kubernetes.io/job-controller" /* in spec.managedBy */
#define JOB_UNKNOWN_INDEX   (-1)

/* Where status.uncountedTerminatedPods has the pod. */
enum job_counted { JOB_UNCOUNTED, JOB_COUNTED_SUCCEEDED, JOB_COUNTED_FAILED };

struct job_pod {
	struct cached *object; /* borrowed; NULL in tests */
	struct str uid, name;
	int64_t index; /* JOB_UNKNOWN_INDEX: none */
	int64_t index_failures, index_ignored; /* of the pods that it replaces */
	int64_t end_ns; /* when it ended, or so */
	int64_t restarts; /* of its containers, while it is pending or running */
	struct job_verdict verdict; /* of a failed pod */
	bool active, terminating, ready, succeeded;
	bool failed; /* counts as a failure, perhaps because it is being deleted */
	bool finalizer;

	/* Set by job_view. */
	enum job_counted counted;
	bool held; /* it has the finalizer, and we have not removed it */
	bool valid; /* its index is one of the Job's; true without indexes */
	bool delayed; /* keeps its finalizer until it is replaced, for its failure count */
};

/* Reads the facts. Texts are borrowed from the tree, messages live in `a`. */
struct job_pod job_pod_read(struct arena *a, const struct job_spec *spec, const struct json *tree);

/* A pod for the Job; `replaced` is the failed pod of this index, or NULL. */
struct json *job_pod_make(struct arena *a, const struct job_spec *spec, const struct owner *owner,
			  int64_t index, const struct job_pod *replaced);

/* The patch that removes our finalizer from that very pod. */
struct json *job_pod_release_patch(struct arena *a, struct str uid);

#endif
