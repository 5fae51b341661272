/*
 * check_job - shared by the checks of a Job's spec and of its status.
 */
#ifndef API_CHECK_JOB_H
#define API_CHECK_JOB_H

#include "api/validate/validate.h"

/* One interval of a list of completion indexes: "3" or "3-5". */
struct check_interval {
	int64_t first, last;
};

/* Returns -ERR_INVALID, with upstream's words, if it is malformed or goes beyond `completions`. */
int check_job_interval(struct str text, int64_t completions, struct check_interval *ret,
		       struct error *err);

/* The same for the whole list, which must be in order; *ret_total is the number of indexes. */
int check_job_indexes(struct str text, int64_t completions, int64_t *ret_total, struct error *err);

/* Name, uid, selector and labels of a Job must belong together; and its name may get indexes. */
void check_job_identity(struct validation *v, const struct json *job);

#endif
