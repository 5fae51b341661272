/*
 * cni_exec - runs a CNI plugin as a child and hands over its result.
 *
 * The plugin is looked for in the folders of `path` (CNI_PATH) by its "type", which may not have a
 * '/'. Its standard input is the configuration, with cniVersion and name filled in when they are
 * missing ("1.0.0" or what the plugin can, the network's name). It is killed after the time-out.
 * Threads: the loop's.
 */
#ifndef DRIVERS_CNI_EXEC_H
#define DRIVERS_CNI_EXEC_H

#include "base/json.h"
#include "drivers/cni_plugin.h"

struct cni_exec;
struct loop;

struct cni_exec_opts {
	enum cni_command command; /* ADD, DEL or CHECK */
	const struct json *config; /* copied */
	const struct json *prev_result; /* DEL and CHECK: the result of ADD; or NULL */
	const char *network; /* name where the configuration has none; NULL: "devplane" */
	const char *container_id, *netns, *ifname, *path;
	const char *pod_uid, *pod_name, *pod_namespace;
	int64_t timeout_ms; /* 0: 30 s */
	/*
	 * Once, later, unless freed before. `result` (ADD: an object; else NULL) is borrowed; `err` is
	 * NULL on success, else has the plugin's own words.
	 */
	void (*on_done)(void *arg, const struct json *result, const struct error *err);
	void *arg;
};

/* -ERR_NOT_FOUND: no such plugin in the path, which is named. */
int cni_exec_new(struct loop *l, const struct cni_exec_opts *opts, struct cni_exec **ret_exec,
		 struct error *err);
/* Kills it when it still runs. NULL allowed. */
void cni_exec_free(struct cni_exec *x);

#endif
