/*
 * demo_stories - what `devplane demo` tells, as tables.
 *
 * A step says something, runs a command, and holds when all that it waits for is so. Commands are
 * lines of shell that a user could have typed in the cluster's folder; ${NAME} in any text is what
 * a wait has found out before.
 */
#ifndef CLI_DEMO_STORIES_H
#define CLI_DEMO_STORIES_H

#include <stdbool.h>

enum { DEMO_WAITS_MAX = 5 };

/* Something to come true. */
struct demo_wait {
	const char *ask; /* a command; what it prints, without spaces around, is the answer */
	const char *want; /* the answer that is waited for; NULL: any but nothing */
	const char *as; /* the name under which the answer is kept; or NULL */
};

struct demo_step {
	const char *text; /* what happens, and why; or NULL */
	const char *command;
	struct demo_wait waits[DEMO_WAITS_MAX]; /* in order; ends with a row without `ask` */
	bool first; /* before all stories */
	bool background; /* it runs until the end; the line ends in "&" */
	bool may_fail; /* its exit code is part of what it says */
};

struct demo_story {
	const char *name, *kep, *title;
	const char *needs; /* a command that succeeds where the story can be told; or NULL */
	const char *without; /* why not, where it fails */
	const struct demo_step *steps; /* ends with a row without `command` */
	/* A command that takes back what the story did beyond objects; skipped as long as it names
	 * what is not known. NULL: nothing. */
	const char *undo;
};

/* Ends with a row without a name. */
extern const struct demo_story demo_stories[];

/* Before all of them. */
extern const struct demo_step demo_prologue[];

/* After all of them, unless it is a cluster of the demo's own. */
extern const char demo_cleanup[];

#endif
