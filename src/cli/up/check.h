/*
 * up_check - what `devplane up` and `devplane doctor` look at before anything runs.
 */
#ifndef CLI_UP_CHECK_H
#define CLI_UP_CHECK_H

#include "base/system/flags.h"
#include "cli/program/cli.h"

/* The name of this machine's node: the host's in lower case. */
int up_check_host_name(struct arena *a, const char **ret_name, struct error *err);

/*
 * A CRI runtime that answers: at `endpoint`, or where the usual ones are. -ERR_NOT_FOUND and
 * a sentence when there is none, or when only root could use it.
 */
int up_check_runtime(struct cli *cli, const char *endpoint, const char **ret_endpoint,
		     const char **ret_what, struct error *err);

/* The scheduler's plugin of that name: beside the program, or where it is installed; or NULL. */
const char *up_check_plugin(struct arena *a, const char *name);

/* The first folder above an absolute path that other users may not pass; or NULL. */
const char *up_check_wall(struct arena *a, const char *path);

/* Whether somebody answers at one of them, at all. */
int up_check_etcd(const struct flag_list *urls, struct error *err);

#endif
