/*
 * job_view - a Job and its pods at one moment, and what follows from them.
 *
 * These are the decisions of upstream's Job controller, in its order, without requests and without
 * a clock. A check of a Job calls, in this order:
 *
 *	job_view_init(), job_view_pods()  read the Job and its pods
 *	job_assess()                      counts, and whether the Job ends
 *	job_manage()                      which pods to delete or to create
 *	  .. the requests; then active, ready and terminating are corrected by what was done ..
 *	job_settle()                      completion; the condition Suspended
 *	job_track()                       which pods to count: their uids go into the status
 *	  .. write the status, then remove the finalizers of `release`; clear `held` of each ..
 *	job_count()                       moves uids of pods without finalizer into the counters
 *	job_enact()                       Complete or Failed, when all pods have ended
 *	  .. write the status again ..
 *
 * The order of the writes makes the count exact: a uid is in the status before its finalizer goes,
 * and in a counter only after that. A crash between two steps leaves a state from which the next
 * check goes on.
 */
#ifndef CONTROLLER_JOB_VIEW_H
#define CONTROLLER_JOB_VIEW_H

#include "base/core/map.h"
#include "controller/job/backoff.h"
#include "controller/job/indexes.h"
#include "controller/job/pod.h"
#include "controller/job/status.h"

enum {
	JOB_PODS_PER_CHECK = 500, /* created or deleted at once */
	JOB_UNCOUNTED_MAX = 500, /* uids in the status */
};

/* Absent fields have the server's defaults. Counts are never negative. */
struct job_spec {
	bool indexed, bad_mode, suspended, per_index, restarts_on_failure;
	bool replace_failed_only; /* podReplacementPolicy: Failed */
	int64_t parallelism, backoff_limit, index_limit;
	int64_t completions, max_failed_indexes, deadline_s; /* -1: not set */
	const struct json *template, *failure_policy, *success_policy; /* policies: or NULL */
};

struct job_spec job_spec_read(const struct json *job);

/* Whether somebody else manages the Job. */
bool job_spec_foreign(const struct json *job);

struct job_view {
	/* Set by job_view_init(); the tree is changed in place. */
	struct arena *arena;
	struct json *job, *status;
	struct job_spec spec;
	int64_t now_ns;
	bool deleting;

	/* Set by the caller between job_view_init() and job_view_pods(). */
	struct job_pod *pods;
	size_t n;
	bool expected; /* the cache shows all that we created and deleted */
	struct job_backoff backoff; /* job_assess() updates it */

	/* Results. */
	struct map by_uid; /* to struct job_pod */
	int64_t active, ready, terminating, succeeded, failed;
	struct job_indexes succeeded_before, succeeded_indexes, failed_indexes;
	struct job_condition end; /* FailureTarget, SuccessCriteriaMet, Failed, Complete */
	int64_t check_after_ns; /* 0: no timer; else check again after this */
	bool changed; /* the status must be written */

	/* Of job_manage(). */
	struct job_pod **removed; /* pods to delete */
	size_t nremoved;
	size_t created; /* how many pods to create */
	int64_t *indexes; /* their indexes, or NULL */
	bool managed; /* it was called */

	/* Of job_settle(): an event to report; type "Suspended" or "Resumed" */
	const char *event;

	/* Of job_track(). */
	struct job_pod **release; /* pods whose finalizer is to be removed */
	size_t nrelease;
	bool more; /* there are more pods to count than the status may hold */
};

void job_view_init(struct job_view *v, struct arena *a, struct json *job, int64_t now_ns);
void job_view_pods(struct job_view *v);
void job_view_release(struct job_view *v); /* the rest belongs to the arena */

void job_assess(struct job_view *v);
void job_manage(struct job_view *v);
void job_settle(struct job_view *v);
void job_track(struct job_view *v);

/* Returns whether a counter changed; then the status must be written. */
bool job_count(struct job_view *v);

/* Returns whether the Job has ended now. */
bool job_enact(struct job_view *v);

/* The failed pod that a new pod of this index replaces; NULL: none. */
const struct job_pod *job_view_replaced(const struct job_view *v, int64_t index);

#endif
