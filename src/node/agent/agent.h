/*
 * agent - one node: everything of this folder put together.
 *
 * Registers the node, watches its pods, runs a worker (worker.h) for each, and serves the kubelet's
 * API (kubelet/server.h). Pods in a file system folder are not read.
 * Threads: the loop's. Several agents may live on one loop (hollow nodes).
 */
#ifndef NODE_AGENT_AGENT_H
#define NODE_AGENT_AGENT_H

#include "api/schema/gates.h"
#include "base/core/error.h"
#include "net/loop/addr.h"
#include "node/worker/device_policy.h"
#include "node/assign/assign.h"
#include "node/container/cdi.h"
#include "node/host/machine.h"
#include "node/podresources/server.h"

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
	const char *cert_file, *key_file; /* NULL: the agent makes its own */
	const char *client_ca_file; /* or NULL: no client certificates */
	bool anonymous;
};

/* When containers' logs are rotated, as kubelet's settings of these names say. */
struct agent_log_opts {
	int64_t max_size; /* bytes */
	size_t max_files; /* at least 2 */
	int64_t interval_ms; /* between two looks; 0: never */
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
	bool no_seccomp_default; /* containers that name no seccomp profile have none */
	const char *resolv_conf; /* the node's; NULL: ETC/resolv.conf */
	const char *cluster_domain; /* or NULL */
	const char *const *cluster_dns;
	size_t ncluster_dns;
	/* Roots; NULL: /sys, /proc, /etc. A hollow node reads its machine only if one is given. */
	const char *sysfs, *procfs, *etc;
	int64_t machine_check_ms; /* it is read again so often; 0: never */
	const char *const *labels, *const *taints;
	size_t nlabels, ntaints;
	int64_t max_pods;
	struct assign_opts assign; /* machine is the agent's */
	int64_t reserved_cpu_milli, reserved_memory;
	int64_t hollow_cpus, hollow_memory, hollow_numa; /* the machine of a hollow node */
	unsigned hollow_net; /* of its pods' addresses */
	struct gates gates;
	struct device_policy device_policy; /* of pods that have none of their own */
	/* PodResources; path NULL: below root_dir. Loop, book, gate, metrics and log are ours. */
	struct podres_server_opts podres;
	struct agent_api_opts api;
	struct agent_log_opts logs;
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

int agent_new(const struct agent_opts *opts, struct agent **ret_agent, struct error *err);

/* Stops watching and closes sockets; pods go on. `done` comes once, later. Then free it. */
void agent_stop(struct agent *a, void (*done)(void *arg), void *arg);
/*
 * Also before `done`, which then may not come, where it has no kubelet API: the loop must run a
 * few more turns before it can be freed.
 */
void agent_free(struct agent *a); /* NULL allowed */

/*
 * Whether the server has the pod's own field for device health: pod_level.h. Once is enough for all
 * nodes of a process, as its answer is large.
 */
void agent_set_pod_level(struct agent *a, bool known);

/* Where the kubelet's API is; NULL: nowhere. */
const struct addr *agent_api_addr(const struct agent *a);

/*
 * For /healthz: -ERR_IO while the state of devices or of their health cannot be saved, which is
 * tried again every five seconds; -ERR_UNAVAILABLE when the container runtime has not answered for
 * three minutes, as kubelet has it. An agent that cannot reach the API server is healthy.
 */
int agent_check(const struct agent *a, struct error *err);
/* For /readyz. */
int agent_check_ready(const struct agent *a, struct error *err);

#endif
