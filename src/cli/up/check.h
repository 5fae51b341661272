/*
 * up_check - checks by `devplane up` and `devplane doctor` before anything runs.
 */
#ifndef CLI_UP_CHECK_H
#define CLI_UP_CHECK_H

#include "base/system/flags.h"
#include "cli/program/cli.h"

/* The name of this machine's node: the host name in lower case. */
int up_check_host_name(struct arena *a, const char **ret_name, struct error *err);

/*
 * Finds a CRI runtime that responds: at `endpoint`, or at the usual places. *ret_what is such as
 * "containerd 1.7.24 (cgroup driver systemd, CDI)". Returns -ERR_NOT_FOUND
 * with an explanation if none does, or if only root may use it.
 */
int up_check_runtime(struct cli *cli, const char *endpoint, const char **ret_endpoint,
		     const char **ret_what, struct error *err);

/* The scheduler's plugin of that name: next to the program, or where it is installed; or NULL. */
const char *up_check_plugin(struct arena *a, const char *name);

/* The first folder above an absolute path that other users may not traverse; or NULL. */
const char *up_check_wall(struct arena *a, const char *path);

/* Whether one of the URLs responds at all. */
int up_check_etcd(const struct flag_list *urls, struct error *err);

#endif
