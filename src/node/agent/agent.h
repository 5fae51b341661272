/*
 * agent - a node agent: combines all parts of src/node.
 *
 * Registers the node, watches its pods, runs a worker (worker.h) for each pod, and serves the
 * kubelet's API (kubelet/server.h). It also runs the static pods of a folder (statics.h).
 * Threads: the loop's. Several agents may share one loop (hollow nodes).
 */
#ifndef NODE_AGENT_AGENT_H
#define NODE_AGENT_AGENT_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "net/loop/addr.h"
#include "node/assign/assign.h"
#include "node/container/cdi.h"
#include "node/eviction/eviction.h"
#include "node/host/machine.h"
#include "node/images/image_book.h"
#include "node/podresources/server.h"
#include "node/worker/device_policy.h"

struct agent;
struct client;
struct log;
struct loop;
struct metrics;
struct saver;

/* The kubelet's API. */
struct agent_api_opts {
	bool serve;
	struct addr at; /* port 0: any */
	const char *cert_file, *key_file; /* NULL: the agent generates its own */
	const char *client_ca_file; /* or NULL: no client certificates */
	const char *log_dir; /* of the machine, served as /logs/; NULL: not served */
	bool anonymous;
};

/* Rotation of container logs, as kubelet's settings of these names. */
struct agent_log_opts {
	int64_t max_size; /* bytes */
	size_t max_files; /* at least 2 */
	int64_t interval_ms; /* between two checks; 0: never */
};

struct agent_opts {
	struct loop *loop;
	struct client *client; /* shared by hollow nodes */
	struct saver *saver;
	const char *node_name, *root_dir;
	const char *runtime_endpoint; /* NULL: hollow */
	struct cdi_dirs cdi_dirs;
	const char *log_root; /* of pods' logs; NULL: /var/log/pods */
	const char *node_ip; /* or NULL */
	const char *manifest_path; /* folder or file of static pods; NULL: none */
	int64_t manifest_period_ms; /* how often it is looked at; 0: 20 s */
	bool no_seccomp_default; /* containers that name no seccomp profile get none */
	const char *resolv_conf; /* the node's; NULL: ETC/resolv.conf */
	const char *cluster_domain; /* or NULL */
	const char *const *cluster_dns;
	size_t ncluster_dns;
	/*
	 * Root folders; NULL: /sys, /proc, /etc. A hollow node reads its machine only if one is
	 * set.
	 */
	const char *sysfs, *procfs, *etc;
	int64_t machine_check_ms; /* interval of reading the machine again; 0: never */
	const char *const *labels, *const *taints;
	size_t nlabels, ntaints;
	int64_t max_pods;
	struct assign_opts assign; /* `machine` is set by the agent */
	int64_t reserved_cpu_milli, reserved_memory;
	int64_t hollow_cpus, hollow_memory, hollow_numa; /* the machine of a hollow node */
	unsigned hollow_net; /* network of its pods' addresses (runtime/hollow.h) */
	struct gates gates;
	struct device_policy device_policy; /* for pods without a policy of their own */
	/*
	 * PodResources; path NULL: below root_dir. The agent sets loop, book, gate, metrics and
	 * log.
	 */
	struct podres_server_opts podres;
	struct agent_api_opts api;
	struct agent_log_opts logs;
	struct image_policy images;
	struct eviction_config eviction;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int agent_new(const struct agent_opts *opts, struct agent **ret_agent, struct error *err);

/*
 * Stops watching and closes sockets; pods keep running. `done` is called once, later. Then free it.
 */
void agent_stop(struct agent *a, void (*done)(void *arg), void *arg);
/*
 * May be called before `done`, which then may not come, if the agent has no kubelet API. The loop
 * must run a few more turns before it can be freed.
 */
void agent_free(struct agent *a); /* NULL allowed */

/*
 * Whether the server has the pod-level field for device health: pod_level.h. One lookup serves all
 * nodes of a process, because the reply is large.
 */
void agent_set_pod_level(struct agent *a, bool known);

/* Address of the kubelet's API; NULL: not served. */
const struct addr *agent_api_addr(const struct agent *a);

/*
 * For /healthz. Returns -ERR_IO while the state of devices or of their health cannot be saved
 * (retried every five seconds). Returns -ERR_UNAVAILABLE if the container runtime has not answered
 * for three minutes, as kubelet does. An agent that cannot reach the API server is healthy.
 */
int agent_check(const struct agent *a, struct error *err);
/* For /readyz. */
int agent_check_ready(const struct agent *a, struct error *err);

#endif
