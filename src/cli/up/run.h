/*
 * up_run - the supervisor: starts the roles of a plan, keeps them running, stops them in order.
 *
 * The server comes first; when it is ready, what the roles need is made, and they start at once.
 * Drivers follow their node, to which their token is bound. When all are ready and all nodes are
 * Ready, `on_ready` is told. Until then a role that ends ends everything.
 */
#ifndef CLI_UP_RUN_H
#define CLI_UP_RUN_H

#include "cli/program/cli.h"
#include "cli/up/roles.h"

/* What became of the start; borrowed. */
struct up_ready {
	const char *server; /* URL */
	const char *code; /* for the page; "" where none was wanted, or there is none */
	int64_t ms; /* how long it took */
};

struct up_run_opts {
	struct cli *cli;
	struct up_plan *plan;
	int64_t began_ns; /* monotonic */
	bool want_code; /* for the page: a login of an administrator */
	void (*on_ready)(void *arg, const struct up_ready *ready);
	/* For people: a role ended. NULL: only the log is told. */
	void (*on_trouble)(void *arg, const char *text);
	void *arg;
};

/* Until SIGTERM, SIGINT or SIGHUP (unless that was ignored, as by nohup), or a start that fails. */
int up_run(const struct up_run_opts *opts, struct error *err);

#endif
