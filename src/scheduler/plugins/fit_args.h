/*
 * fit_args - NodeResourcesFitArgs: ignored resources, and the scoring strategy.
 */
#ifndef SCHEDULER_PLUGINS_FIT_ARGS_H
#define SCHEDULER_PLUGINS_FIT_ARGS_H

#include "scheduler/framework/resource_score.h"

struct fit_args {
	struct arena arena; /* initialised by the caller */
	const struct json *ignored, *ignored_groups; /* arrays of names; NULL: none */
	struct resource_scores scores;
};

/* Returns -ERR_INVALID with upstream's message. `args` may be NULL, and is copied. */
int fit_args_read(struct fit_args *s, struct amount_names *names, const struct json *args,
		  struct error *err);

#endif
