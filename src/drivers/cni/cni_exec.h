/*
 * cni_exec - runs a CNI plugin as a child process and returns its result.
 *
 * The plugin is the configuration's "type", which must not contain a '/'. It is searched in the
 * folders of `path` (CNI_PATH). Its standard input is the configuration. If missing, the network's
 * name and cniVersion 0.4.0 are added; all plugins of recent years support that version, so the
 * plugin is not queried. Its environment is ours with the variables of CNI's specification;
 * CNI_ARGS names the pod, as container runtimes do.
 *
 * The plugin and all its children are killed after the timeout, and also if it prints more than
 * CNI_OUTPUT_MAX and blocks.
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
	const char *network; /* used if the configuration has no name; NULL: "devplane" */
	const char *container_id, *ifname, *path;
	const char *netns; /* DEL: NULL or "" if it no longer exists */
	const char *pod_uid, *pod_name, *pod_namespace; /* NULL or "": not passed to the plugin */
	int64_t timeout_ms; /* 0: 30 s */
	/*
	 * Called once, later, unless the cni_exec is freed before. You may free it in here, else
	 * free it afterwards. `result` (an object for ADD, else NULL) is borrowed until it returns.
	 * `err` is NULL on success, else it has the plugin's type and error message.
	 */
	void (*on_done)(void *arg, const struct json *result, const struct error *err);
	void *arg;
};

/* -ERR_NOT_FOUND: no such plugin in `path`, which the error names. -ERR_INVALID: invalid "type". */
int cni_exec_new(struct loop *l, const struct cni_exec_opts *opts, struct cni_exec **ret_exec,
		 struct error *err);
/* Kills a running plugin and all its children, without waiting. NULL allowed. */
void cni_exec_free(struct cni_exec *x);

#endif
