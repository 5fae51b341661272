/*
 * steps - what plugin_steps.c asks the test, which decides everything.
 */
#ifndef ABI_STEPS_H
#define ABI_STEPS_H

#include <devplane/scheduler.h>

struct step {
	const char *plugin; /* "First" */
	const char *point; /* "reserve" */
	const struct dp_scheduler_host *host; /* the plugin's */
	const struct dp_object *pod;
	const char *node;
	struct dp_binding *binding; /* pre_bind, bind */
	int64_t *timeout_ms; /* permit */
	struct dp_reason *why; /* NULL where there is nothing to say */
};

/* Set by the test before the first call. */
struct steps {
	uint32_t (*ask)(void *arg, const struct step *step);
	void *arg;
};

#endif
