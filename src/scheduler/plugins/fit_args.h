/*
 * fit_args - NodeResourcesFitArgs: what is ignored, and how nodes are scored.
 */
#ifndef SCHEDULER_PLUGINS_FIT_ARGS_H
#define SCHEDULER_PLUGINS_FIT_ARGS_H

#include "scheduler/framework/resource_score.h"

struct fit_args {
	struct arena arena; /* initialised by the caller */
	const struct json *ignored, *ignored_groups; /* arrays of names; NULL: none */
	struct resource_scores scores;
};

/* -ERR_INVALID with upstream's words. `args` may be NULL; nothing of it is kept. */
int fit_args_read(struct fit_args *s, struct amount_names *names, const struct json *args,
		  struct error *err);

#endif
