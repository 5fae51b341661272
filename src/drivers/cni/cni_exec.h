/*
 * cni_exec - runs a CNI plugin as a child and hands over its result.
 *
 * The plugin is looked for in the folders of `path` (CNI_PATH) by the configuration's "type",
 * which may not have a '/'. Its standard input is the configuration, with what is missing filled
 * in: cniVersion 0.4.0, which every plugin of the last years understands (a plugin's own versions
 * are not asked for), and the network's name. Its environment is ours with CNI's variables as the
 * specification says; CNI_ARGS names the pod as container runtimes do. It is killed after the
 * time-out, with all that it has started, and so it is when it prints more than CNI_OUTPUT_MAX and
 * waits to be read.
 * Threads: the loop's.
 */
#ifndef DRIVERS_CNI_CNI_EXEC_H
#define DRIVERS_CNI_CNI_EXEC_H

#include "base/json/json.h"
#include "drivers/cni/cni_plugin.h"

struct cni_exec;
struct loop;

struct cni_exec_opts {
	enum cni_command command; /* ADD, DEL or CHECK */
	const struct json *config; /* an object; copied */
	const struct json *prev_result; /* DEL and CHECK: the result of ADD; or NULL */
	const char *network; /* name where the configuration has none; NULL: "devplane" */
	const char *container_id, *ifname, *path;
	const char *netns; /* DEL: NULL or "" when it is gone */
	const char *pod_uid, *pod_name, *pod_namespace; /* NULL or "": not told to the plugin */
	int64_t timeout_ms; /* 0: 30 s */
	/*
	 * Once, later, unless freed before; free it then, or here. `result` (ADD: an object; else
	 * NULL) is borrowed until return; `err` is NULL on success, else has the plugin's type
	 * and its own words.
	 */
	void (*on_done)(void *arg, const struct json *result, const struct error *err);
	void *arg;
};

/* -ERR_NOT_FOUND: no such plugin in the path, which is named. -ERR_INVALID: no such "type". */
int cni_exec_new(struct loop *l, const struct cni_exec_opts *opts, struct cni_exec **ret_exec,
		 struct error *err);
/* Kills it when it still runs, with all that it has started; does not wait. NULL allowed. */
void cni_exec_free(struct cni_exec *x);

#endif
