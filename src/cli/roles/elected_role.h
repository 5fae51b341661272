/*
 * elected_role - what the commands share of which several may run and one works: health and
 * metrics, beginning and end.
 *
 * SIGTERM ends it in order: the role first, then where it tells how it is.
 */
#ifndef CLI_ROLES_ELECTED_ROLE_H
#define CLI_ROLES_ELECTED_ROLE_H

#include "cli/roles/endpoint.h"
#include "cli/roles/role.h"
#include "client/kubeconfig/kubeconfig.h"

struct cli;
struct metrics;

/* `arg` of all is that of elected_role_run(). */
struct elected_role_ops {
	const char *name; /* of the command: "controller" */
	const char *ready_check; /* of check_ready in /readyz */
	const struct endpoint_page *pages; /* or NULL; their argument is the elected_role */
	/* Reads options and files; fills the role's kubeconfig. */
	int (*read)(void *arg, struct error *err);
	int (*start)(void *arg, struct error *err);
	/* These are called for one that was started. */
	int (*check)(void *arg, struct error *err);
	int (*check_ready)(void *arg, struct error *err);
	void (*stop)(void *arg, void (*done)(void *arg), void *done_arg);
	void (*free)(void *arg);
};

/* Embed it in the struct of a command; set by elected_role_run(). */
struct elected_role {
	struct cli *cli;
	struct role role; /* its loop and log */
	struct kubeconfig kubeconfig;
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: nowhere */
	char identity[ROLE_IDENTITY_SIZE];
	struct endpoint_check checks[3];
	const struct elected_role_ops *ops;
	void *arg;
	struct error failure; /* why it ended by itself */
	bool started, stopping;
};

/* Runs until it is told to stop, does not start, or loses the lease. */
int elected_role_run(struct elected_role *r, struct cli *cli, const struct role_options *o,
		     const char *metrics_address, const struct elected_role_ops *ops, void *arg,
		     struct error *err);

/* It cannot go on: `role` is the struct elected_role. */
void elected_role_lost(void *role, const struct error *why);

#endif
