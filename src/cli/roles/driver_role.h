/*
 * driver_role - shared by the commands that run a device driver: options, health and metrics,
 * start and stop.
 *
 * SIGTERM shuts it down in order: first the driver's sockets, then the health and metrics
 * endpoint.
 */
#ifndef CLI_ROLES_DRIVER_ROLE_H
#define CLI_ROLES_DRIVER_ROLE_H

#include <stdio.h>

#include "base/core/clock.h"
#include "cli/roles/endpoint.h"
#include "cli/roles/endpoint_guard.h"
#include "cli/roles/role.h"

struct cli;
struct metrics;

/* Embed it in the options of a driver's command. */
struct driver_options {
	struct role_options role;
	struct endpoint_guard_options guard;
	const char *root_dir, *cdi_dir, *metrics_address;
	int64_t timeout, heartbeat; /* of health; ns */
	bool no_health, no_taint;
};

/* The rows for it; `member` is its name in the options struct. */
#define DRIVER_FLAGS(type, member)                                                              \
	{ "root-dir",                                                                           \
	  0,                                                                                    \
	  FLAG_STRING(type, member.root_dir),                                                   \
	  .arg = "DIR",                                                                         \
	  .initial = "/var/lib/kubelet",                                                        \
	  .help = "root folder of the kubelet or of devplane node" },                           \
		{ "cdi-dir",                                                                    \
		  0,                                                                            \
		  FLAG_STRING(type, member.cdi_dir),                                            \
		  .arg = "DIR",                                                                 \
		  .initial = "/var/run/cdi",                                                    \
		  .help = "folder to write CDI files to" },                                     \
		{ "health-timeout",                                                             \
		  0,                                                                            \
		  FLAG_DURATION(type, member.timeout),                                          \
		  .arg = "TIME",                                                                \
		  .initial = "30s",                                                             \
		  .min = CLOCK_SEC,                                                             \
		  .max = DRIVER_ROLE_DAY,                                                       \
		  .help = "how long a health report is valid, in whole seconds" },              \
		{ "health-heartbeat",                                                           \
		  0,                                                                            \
		  FLAG_DURATION(type, member.heartbeat),                                        \
		  .arg = "TIME",                                                                \
		  .initial = "0s",                                                              \
		  .max = DRIVER_ROLE_DAY,                                                       \
		  .help = "interval between health reports without changes; 0s: a third of "    \
			  "--health-timeout" },                                                 \
		{ "no-health", 0, FLAG_BOOL(type, member.no_health),                            \
		  .help = "do not serve health reports" },                                      \
		{ "no-taint", 0, FLAG_BOOL(type, member.no_taint),                              \
		  .help = "do not taint failed devices in their ResourceSlice" },               \
		{ "metrics-bind-address",                                                       \
		  0,                                                                            \
		  FLAG_STRING(type, member.metrics_address),                                    \
		  .arg = "ADDRESS",                                                             \
		  .initial = "127.0.0.1:0",                                                     \
		  .help = "address that serves /healthz, /readyz and /metrics; port 0 picks a " \
			  "free one, \"0\" disables it" },                                      \
		ENDPOINT_GUARD_FLAGS(type, member.guard), ROLE_FLAGS(type, member.role)

#define DRIVER_ROLE_DAY (86400 * CLOCK_SEC)

/* A running driver's command. `arg` of the callbacks is `arg` of driver_role_run(). */
struct driver_role {
	struct cli *cli;
	struct role role; /* its loop and log */
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: disabled */
	struct endpoint_check checks[3];
	const char *root_dir;
	const struct driver_role_ops *ops;
	void *arg;
	const char *kubeconfig; /* set by `start`: the flag's value, or NULL */
	struct error failure; /* why it did not start */
	bool stopping;
};

struct driver_role_ops {
	int (*start)(void *arg, struct driver_role *role, struct error *err);
	/* Prints what the user should know once it runs. */
	void (*announce)(void *arg, FILE *out);
	/* Whether it is ready; not called while it stops. */
	int (*check)(void *arg, struct error *err);
	/* Whether the kubelet has registered it; NULL: it registers with nobody. */
	int (*check_registered)(void *arg, struct error *err);
	/* Stops it, even if start() failed half-way; then calls driver_role_stopped(). */
	void (*stop)(void *arg);
	const char *check_name; /* the name of `check` in /readyz; NULL: "resourceslices" */
};

/* Runs until it is stopped, or fails to start. */
int driver_role_run(struct cli *cli, const struct driver_options *o,
		    const struct driver_role_ops *ops, void *arg, struct error *err);

/* Everything that `start` created has been freed. */
void driver_role_stopped(struct driver_role *r);

#endif
