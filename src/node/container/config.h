/*
 * container_config - what a container is started with: pod, environment, mounts, devices become
 * specs.
 *
 * Pure but for reading CDI files, and looking for what of /sys is to be hidden. What we cannot do
 * is refused with a message that names the field: nothing is silently left out.
 */
#ifndef NODE_CONTAINER_CONFIG_H
#define NODE_CONTAINER_CONFIG_H

#include "node/container/cdi.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct container_parts {
	unsigned attempt;
	struct str image_ref; /* of runtime_image() */
	int64_t image_user; /* for runAsNonRoot; -1: unknown */
	struct str image_username;
	struct runtime_pairs env;
	struct runtime_mount *mounts;
	size_t nmounts;
	/* Packed ContainerAllocateResponse of each resource: first one wins, as upstream merges. */
	const struct str *answers;
	size_t nanswers;
	const struct str *cdi_ids; /* of its claims */
	size_t ncdi_ids;
	bool runtime_does_cdi;
	struct cdi_dirs cdi_dirs;
	struct str cpus, mems; /* pinned; or empty */
	int64_t node_memory; /* capacity, for oom_score_adj */
	struct str seccomp_root; /* of Localhost profiles; empty: /var/lib/kubelet/seccomp */
	bool seccomp_default; /* containers that name no profile have the runtime's, else none */
};

/*
 * Everything in `a`, or borrowed from pod and parts. Environment: what plugins give, then the
 * pod's, which wins, then CDI's, which replaces. -ERR_INVALID: the pod forbids it (runAsNonRoot),
 * with upstream's text.
 */
int container_config_make(const struct pod *pod, const struct json *container,
			  const struct container_parts *parts, struct arena *a,
			  struct container_spec *ret_spec, struct error *err);

struct sandbox_parts {
	unsigned attempt;
	struct str log_root; /* "/var/log/pods": NAMESPACE_NAME_UID below it */
	struct runtime_strs dns_servers, dns_searches, dns_options; /* the node's resolv.conf */
	struct str cluster_domain;
	struct runtime_strs cluster_dns;
	struct str cgroup_root; /* or empty: the runtime's default */
};

int container_config_sandbox(const struct pod *pod, const struct sandbox_parts *parts,
			     struct arena *a, struct sandbox_spec *ret_spec, struct error *err);

/* Fills the dns_* of `parts` from the text of a resolv.conf, which is borrowed. */
void container_config_resolv(struct str text, struct arena *a, struct sandbox_parts *parts);

/* What the pod's host is called, without and with its domain (empty: it has none). In `a`. */
int container_config_hostname(const struct pod *pod, struct str cluster_domain, struct arena *a,
			      struct str *ret_host, struct str *ret_domain, struct error *err);

/*
 * What of the pod we cannot run at all; asked before anything is made. -ERR_UNIMPLEMENTED names it;
 * -ERR_FORBIDDEN: a sysctl that is not safe, with upstream's text.
 */
int container_config_check(const struct pod *pod, struct error *err);

#endif
