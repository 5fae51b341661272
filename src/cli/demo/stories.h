/*
 * demo_stories - the stories of `devplane demo`, as tables.
 *
 * A step prints a text, runs a command, and succeeds when all its waits are fulfilled. Commands
 * are shell lines that a user could have typed in the cluster's folder. ${NAME} in any text is
 * replaced by the answer that an earlier wait stored under that name.
 */
#ifndef CLI_DEMO_STORIES_H
#define CLI_DEMO_STORIES_H

#include <stdbool.h>

enum { DEMO_WAITS_MAX = 5 };

/* A condition to wait for. */
struct demo_wait {
	const char *ask; /* a command; its output, trimmed, is the answer */
	const char *want; /* the expected answer; NULL: any that is not empty */
	const char *as; /* the name under which the answer is stored; or NULL */
};

struct demo_step {
	const char *text; /* what happens, and why; or NULL */
	const char *command;
	struct demo_wait waits[DEMO_WAITS_MAX]; /* in order; ends with a row without `ask` */
	bool first; /* runs before all stories */
	bool background; /* runs until the end; the line is shown with "&" */
	bool may_fail; /* its exit code is part of the story */
};

struct demo_story {
	const char *name, *kep, *title;
	const char *needs; /* a command that succeeds if the story can run; or NULL */
	const char *without; /* the reason to print if it fails */
	const struct demo_step *steps; /* ends with a row without `command` */
	/*
	 * A command that undoes what the story changed besides objects. It is skipped while it
	 * refers to a ${NAME} that is not known. NULL: nothing to undo.
	 */
	const char *undo;
};

/* Ends with a row without a name. */
extern const struct demo_story demo_stories[];

/* Steps before all stories. */
extern const struct demo_step demo_prologue[];

/* A command after all stories, unless the cluster is the demo's own. */
extern const char demo_cleanup[];

#endif
