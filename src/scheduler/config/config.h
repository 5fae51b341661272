/*
 * config - reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) and adds the
 * defaults.
 *
 * Supported fields of upstream's file: profiles, leaderElection, clientConnection,
 * podInitialBackoffSeconds, podMaxBackoffSeconds, percentageOfNodesToScore, and parallelism
 * (accepted without effect). A profile has schedulerName, plugins (multiPoint and every extension
 * point, enabled and disabled with "*", weights), pluginConfig, and percentageOfNodesToScore. In
 * addition the file may list shared objects: `devplane: {plugins: [{path:
 * /usr/lib/devplane/scheduler/disk_io.so}]}`. Unknown fields and plugins are errors that name the
 * field. No I/O.
 */
#ifndef SCHEDULER_CONFIG_CONFIG_H
#define SCHEDULER_CONFIG_CONFIG_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/vec.h"
#include "base/json/json.h"

/* Extension points in the order of upstream's struct Plugins. */
enum config_point {
	POINT_PRE_ENQUEUE,
	POINT_QUEUE_SORT,
	POINT_PRE_FILTER,
	POINT_FILTER,
	POINT_POST_FILTER,
	POINT_PRE_SCORE,
	POINT_SCORE,
	POINT_RESERVE,
	POINT_PERMIT,
	POINT_PRE_BIND,
	POINT_BIND,
	POINT_POST_BIND,
	POINT_MULTI,
	POINTS
};

struct config_plugin {
	struct str name;
	int32_t weight; /* 0: not given */
};

struct config_set {
	struct config_plugin *enabled, *disabled;
	size_t nenabled, ndisabled;
};

struct config_profile {
	struct str name; /* schedulerName */
	struct config_set points[POINTS]; /* merged with upstream's defaults */
	int32_t percentage_of_nodes; /* 0: adaptive; defaults to the value of the configuration */
	struct config_plugin_args {
		struct str name;
		struct json *args; /* NULL: none */
	} * args;
	size_t nargs;
};

struct config {
	struct arena arena;
	struct config_profile *profiles; /* at least one */
	size_t nprofiles;
	struct str *plugin_paths; /* shared objects */
	size_t nplugin_paths;
	int32_t percentage_of_nodes; /* 0: adaptive */
	int64_t initial_backoff_ms, max_backoff_ms;
	/* leaderElection; ms */
	bool leader_elect;
	struct str lease_name, lease_namespace;
	int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
	/*
	 * clientConnection; requests are only limited if qps is set, since servers have their own
	 * limits
	 */
	struct str kubeconfig;
	double qps;
	int32_t burst;
};

/* Sets the defaults, as without a file. */
void config_init(struct config *c);
/*
 * Reads YAML or JSON text and replaces the contents of `c`, which must be initialised. On failure
 * `c` is unchanged. Returns -ERR_INVALID with the path of the field.
 */
int config_read(struct config *c, struct str text, struct error *err);
void config_release(struct config *c);

/* Returns the pluginConfig args of a plugin, or NULL. */
const struct json *config_args(const struct config_profile *p, struct str plugin);

/* Names of upstream's default plugins with their weights, ended by an empty name. */
extern const struct config_plugin config_default_plugins[];

#endif
