/*
 * container_config - builds the specs of sandboxes and containers (runtime.h).
 *
 * Input: the pod, its environment, mounts and devices. Pure, except that it reads CDI files and
 * checks which parts of /sys to hide. An unsupported field is rejected with a message that names
 * it; nothing is silently left out.
 */
#ifndef NODE_CONTAINER_CONFIG_H
#define NODE_CONTAINER_CONFIG_H

#include "node/container/cdi.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct container_parts {
	unsigned attempt;
	struct str image_ref; /* from runtime_ops.image */
	int64_t image_user; /* for runAsNonRoot; -1: unknown */
	struct str image_username;
	struct runtime_pairs env;
	struct runtime_mount *mounts;
	size_t nmounts;
	/*
	 * Packed ContainerAllocateResponse of each resource; the first one wins, as upstream
	 * merges.
	 */
	const struct str *answers;
	size_t nanswers;
	struct str plugin_devices; /* for RUNTIME_PLUGIN_DEVICES; or empty */
	const struct str *cdi_ids; /* from its claims */
	size_t ncdi_ids;
	bool runtime_does_cdi;
	struct cdi_dirs cdi_dirs;
	struct str cpus, mems; /* pinned; or empty */
	int64_t node_memory; /* capacity, for oom_score_adj */
	struct str seccomp_root; /* folder of Localhost profiles; empty: /var/lib/kubelet/seccomp */
	/* containers without a profile get the runtime's default; false: none */
	bool seccomp_default;
};

/*
 * Results are in `a`, or borrowed from pod and parts. Environment: variables of plugins first; the
 * pod's override them; CDI's replace both. Returns -ERR_INVALID with upstream's message if the pod
 * forbids it (runAsNonRoot).
 */
int container_config_make(const struct pod *pod, const struct json *container,
			  const struct container_parts *parts, struct arena *a,
			  struct container_spec *ret_spec, struct error *err);

struct sandbox_parts {
	unsigned attempt;
	struct str log_root; /* "/var/log/pods": NAMESPACE_NAME_UID below it */
	/* from the node's resolv.conf */
	struct runtime_strs dns_servers, dns_searches, dns_options;
	struct str cluster_domain;
	struct runtime_strs cluster_dns;
	struct str cgroup_root; /* or empty: the runtime's default */
};

int container_config_sandbox(const struct pod *pod, const struct sandbox_parts *parts,
			     struct arena *a, struct sandbox_spec *ret_spec, struct error *err);

/* Fills the dns_* of `parts` from the text of a resolv.conf, which is borrowed. */
void container_config_resolv(struct str text, struct arena *a, struct sandbox_parts *parts);

/* The pod's host name, without and with its domain (empty if it has none). In `a`. */
int container_config_hostname(const struct pod *pod, struct str cluster_domain, struct arena *a,
			      struct str *ret_host, struct str *ret_domain, struct error *err);

/*
 * Checks, before anything is created, whether the pod uses features that we do not support.
 * -ERR_UNIMPLEMENTED names the feature. -ERR_FORBIDDEN: a sysctl that is not safe, with upstream's
 * message.
 */
int container_config_check(const struct pod *pod, struct error *err);

#endif
