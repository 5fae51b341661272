/*
 * job_controller - runs the pods of Jobs.
 *
 * Upstream's Job controller: parallelism and completions, indexes, back-off, failure and success
 * policies, suspension, deadlines, replacement policies, and the exact count of pods that ended.
 * job/view.h has the decisions and the order of the writes, job/sync.c the requests.
 *
 * It follows Jobs and pods. A change of a pod costs one check of its Job, at most one per second
 * for each Job; an index finds the Job's pods. A Job that somebody else manages (spec.managedBy) is
 * left alone. Pods whose Job is gone or has ended lose their tracking finalizer (job/orphans.c).
 */
#ifndef CONTROLLER_JOB_JOB_CONTROLLER_H
#define CONTROLLER_JOB_JOB_CONTROLLER_H

struct context;
struct job_controller;

struct job_controller *job_controller_new(const struct context *ctx);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void job_controller_free(struct job_controller *c);

#endif
