/*
 * job_status - conditions and counters in the tree of a Job's status.
 *
 * Fields are written as upstream writes them: a counter of zero is left out.
 */
#ifndef CONTROLLER_JOB_STATUS_H
#define CONTROLLER_JOB_STATUS_H

#include "base/json/json.h"

struct job_condition {
	const char *type; /* "FailureTarget"; NULL: none */
	struct str reason, message;
};

/* Whether the condition of this type is True. `job` is the whole tree. */
bool job_status_has(const struct json *job, const char *type);
bool job_status_finished(const struct json *job); /* Complete or Failed */

/* Reads the condition of this type if it is True; otherwise the result's type is NULL. */
struct job_condition job_status_condition(const struct json *job, const char *type);

/*
 * Adds or changes a condition; returns whether that changed anything. A condition that is not there
 * and would be False is not added.
 */
bool job_status_set(struct arena *a, struct json *status, const struct job_condition *c, bool value,
		    int64_t now_ns);

/* A counter that is not negative; zero removes it unless `keep`. Whether that is a change. */
bool job_status_count(struct arena *a, struct json *status, const char *name, int64_t n, bool keep);

/* A time in seconds; 0 removes it. */
void job_status_time(struct arena *a, struct json *status, const char *name, int64_t ns);

/* A text; empty removes it. Whether that is a change. */
bool job_status_text(struct arena *a, struct json *status, const char *name, struct str text);

#endif
