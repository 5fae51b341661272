/*
 * elected_role - shared by the commands that use leader election: health and metrics, start and
 * stop.
 *
 * SIGTERM shuts it down in order: first the role, then the health and metrics endpoint.
 */
#ifndef CLI_ROLES_ELECTED_ROLE_H
#define CLI_ROLES_ELECTED_ROLE_H

#include "cli/roles/endpoint.h"
#include "cli/roles/endpoint_guard.h"
#include "cli/roles/role.h"
#include "client/kubeconfig/kubeconfig.h"

struct cli;
struct metrics;

/* `arg` of all functions is that of elected_role_run(). */
struct elected_role_ops {
	const char *name; /* of the command: "controller" */
	const char *ready_check; /* the name of check_ready in /readyz */
	const struct endpoint_page *pages; /* or NULL; their argument is the elected_role */
	/* Reads options and files; fills the role's kubeconfig. */
	int (*read)(void *arg, struct error *err);
	int (*start)(void *arg, struct error *err);
	/* Only called after a successful start: */
	int (*check)(void *arg, struct error *err);
	int (*check_ready)(void *arg, struct error *err);
	void (*stop)(void *arg, void (*done)(void *arg), void *done_arg);
	void (*free)(void *arg);
};

/* The health and metrics endpoint. */
struct elected_role_serving {
	const char *address; /* "0": disabled */
	const struct endpoint_guard_options *guard;
};

/* Embed it in the struct of a command; set by elected_role_run(). */
struct elected_role {
	struct cli *cli;
	struct role role; /* its loop and log */
	struct kubeconfig kubeconfig;
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: disabled */
	char identity[ROLE_IDENTITY_SIZE];
	struct endpoint_check checks[3];
	const struct elected_role_ops *ops;
	void *arg;
	struct error failure; /* why it ended by itself */
	bool started, stopping;
};

/* Runs until it is stopped, fails to start, or loses the lease. */
int elected_role_run(struct elected_role *r, struct cli *cli, const struct role_options *o,
		     const struct elected_role_serving *serving, const struct elected_role_ops *ops,
		     void *arg, struct error *err);

/*
 * The role cannot continue, for example because it lost the lease. `role` is the struct
 * elected_role.
 */
void elected_role_lost(void *role, const struct error *why);

#endif
