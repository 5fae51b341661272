/*
 * job_impl - shared by the files of the Job controller: its state, and the check of one Job.
 */
#ifndef CONTROLLER_JOB_JOB_IMPL_H
#define CONTROLLER_JOB_JOB_IMPL_H

#include "controller/job/metrics.h"
#include "controller/job/view.h"
#include "controller/pods/batch.h"
#include "controller/pods/expectations.h"
#include "controller/pods/owned.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"

struct workqueue;

struct job_controller {
	struct context ctx;
	struct following following;
	struct followed jobs; /* index JOB_MANUAL: those with their own selector, by namespace */
	struct followed pods; /* owned_indexes */
	struct workqueue *queue; /* keys of Jobs */
	struct workqueue *orphans; /* keys of pods that may have to lose the finalizer */
	struct works syncs, releases;
	/* By the Jobs' uids: pods created and deleted; pods whose finalizer was removed. */
	struct expectations expected, finalizers;
	struct map records; /* uid of a Job to struct job_record */
	struct job_metrics metrics;
	struct arena scratch; /* for one event */
};

#define JOB_MANUAL "manual-selector"

enum {
	JOB_BATCH_MS = 1000, /* pods' events of one Job are handled together, as upstream */
	JOB_RETRY_MIN_MS = 1000, /* after failures, as upstream */
	JOB_RETRY_MAX_MS = 60 * 1000,
};

/* A Job's state between checks; a new controller starts without it. */
struct job_record {
	struct job_backoff backoff;
	uint64_t written; /* the revision that our last write of the status made */
	char uid[];
};

/* --- job_controller.c -------------------------------------------------------------------- */

/* The Job that controls a pod, if the cache has it; else NULL. */
struct cached *job_controller_owner(struct job_controller *c, const struct cached *pod);

/* NULL if the Job has no record and `create` is false. */
struct job_record *job_controller_record(struct job_controller *c, struct str uid, bool create);
void job_controller_drop_record(struct job_controller *c, struct str uid);

/* --- sync.c ---------------------------------------------------------------------------------- */

/* The queue's handler: checks one Job. */
void job_sync_handle(void *arg, struct str key);

/* The `release` of the checks. */
void job_sync_release(struct work *w);

/* --- orphans.c ------------------------------------------------------------------------------- */

/* The queue's handler: removes the finalizer of one pod, if its Job is gone or has ended. */
void job_orphan_handle(void *arg, struct str key);

/* Queues the pods of this Job. */
void job_orphans_add_all(struct job_controller *c, struct str uid);

#endif
