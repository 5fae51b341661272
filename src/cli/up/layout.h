/*
 * up_layout - the files of `devplane up`: one folder, the server's --data-dir.
 *
 *   admin.kubeconfig, pki/, store/   the server's own
 *   kubeconfig/ROLE.kubeconfig       one per child, with the least rights
 *   log/ROLE.log                     the output of each child
 *   nodes/NAME/                      --root-dir of node agents and their drivers
 *   cdi/                             CDI files of hollow nodes
 *   scheduler.yaml, scheduler-plugin.so   configuration and plugin of the scheduler, for --demo
 *   up.json                          the current state
 *   prometheus.json                  metrics endpoints of the children, for Prometheus
 *   up.lock                          locked while a supervisor runs
 */
#ifndef CLI_UP_LAYOUT_H
#define CLI_UP_LAYOUT_H

#include "base/core/arena.h"
#include "base/core/error.h"

/* Absolute paths, in the arena. */
struct up_layout {
	struct arena *arena;
	const char *dir;
	const char *admin, *kubeconfigs, *logs, *nodes, *cdi, *state, *lock, *prometheus;
};

/* The flag's row; `type` has the member `data_dir`. */
#define UP_DIR_FLAG(type)                                                                      \
	{                                                                                      \
		"data-dir", 'd', FLAG_STRING(type, data_dir),                                  \
			.arg = "DIR",                                                          \
			.help = "folder of this cluster; default /var/lib/devplane for root, " \
				"else $XDG_STATE_HOME/devplane or ~/.local/state/devplane"     \
	}

/*
 * `dir` is the value of --data-dir, or NULL for the user's default. Returns -ERR_INVALID without a
 * home.
 */
int up_layout_init(struct up_layout *l, struct arena *a, const char *dir, struct error *err);

/*
 * Creates missing folders, with mode 0700. Rejects, with an explanation, a folder that cannot be
 * written, that holds something else, that belongs to somebody else, or that others can write.
 * up_layout_check_sockets() rejects a folder whose sockets' paths would be too long if the longest
 * node name is `node`.
 */
int up_layout_make(const struct up_layout *l, struct error *err);
int up_layout_check_sockets(const struct up_layout *l, const char *node, bool drivers,
			    struct error *err);

const char *up_layout_kubeconfig(const struct up_layout *l, const char *role);
const char *up_layout_token(const struct up_layout *l, const char *role);
const char *up_layout_serving(const struct up_layout *l, const char *role); /* with its key */
const char *up_layout_ca(const struct up_layout *l); /* the certificate of the cluster's CA */
const char *up_layout_log(const struct up_layout *l, const char *role);
const char *up_layout_node(const struct up_layout *l, const char *node);

#endif
