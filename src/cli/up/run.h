/*
 * up_run - the supervisor: starts the roles of a plan, keeps them running, stops them in order.
 *
 * The server starts first. When it is ready, the objects that the roles need are created, and the
 * roles start all at once. Drivers start after their node, because their token is bound to it.
 * When all roles are ready and all nodes are Ready, `on_ready` is called. If a role ends before
 * that, everything is stopped.
 */
#ifndef CLI_UP_RUN_H
#define CLI_UP_RUN_H

#include "cli/program/cli.h"
#include "cli/up/roles.h"

/* The result of the start; borrowed. */
struct up_ready {
	const char *server; /* URL */
	const char *code; /* for the page; "": not requested, or there is no page */
	int64_t ms; /* duration of the start */
};

struct up_run_opts {
	struct cli *cli;
	struct up_plan *plan;
	int64_t began_ns; /* monotonic */
	bool want_code; /* request a code that logs an administrator in to the page */
	void (*on_ready)(void *arg, const struct up_ready *ready);
	/* Reports to the user that a role ended. NULL: only log it. */
	void (*on_trouble)(void *arg, const char *text);
	void *arg;
};

/*
 * Runs until SIGTERM, SIGINT or SIGHUP (unless that was ignored, as by nohup), or a failed start.
 */
int up_run(const struct up_run_opts *opts, struct error *err);

#endif
