/*
 * container_config - what a container is started with: pod, environment, mounts, devices become specs.
 *
 * Pure but for reading CDI files. What we cannot do is refused with a message that names the field:
 * nothing is silently left out.
 */
#ifndef NODE_CONTAINER_CONFIG_H
#define NODE_CONTAINER_CONFIG_H

#include "node/cdi.h"
#include "node/pod.h"
#include "node/runtime.h"

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
};

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

/* What of the pod we cannot run at all; -ERR_UNIMPLEMENTED names it. Asked before anything is made. */
int container_config_check(const struct pod *pod, struct error *err);

#endif
