/*
 * job_view_impl - shared by the files of job_view: counters and sets in the status.
 */
#ifndef CONTROLLER_JOB_VIEW_IMPL_H
#define CONTROLLER_JOB_VIEW_IMPL_H

#include "controller/job/view.h"

/* A counter of the status, between 0 and INT32_MAX. */
int64_t job_view_counter(const struct job_view *v, const char *name);

/* status.uncountedTerminatedPods.NAME; or NULL. */
struct json *job_view_uncounted(const struct job_view *v, const char *name);

/* When the Job started; 0: it has not. */
int64_t job_view_start_ns(const struct job_view *v);

#endif
