/*
 * env - the environment of a container, as kubelet makes it: services, envFrom, env with $(VAR)
 * expansion, fields of the pod, resources of containers, keys of config maps and secrets.
 */
#ifndef NODE_ENV_H
#define NODE_ENV_H

#include "node/pod.h"
#include "node/runtime.h"

struct sources;

struct env_context {
	const struct sources *sources;
	struct str node_name, host_ip, pod_ip;
	const struct str *pod_ips;
	size_t npod_ips;
	int64_t node_cpu_milli, node_memory; /* allocatable: limits that are not set come to it */
};

/* -ERR_NOT_FOUND names the config map, secret or key that is missing. In `a`. */
int env_make(const struct pod *pod, const struct json *container, const struct env_context *c,
	     struct arena *a, struct runtime_pairs *ret_env, struct error *err);

/* $(VAR) by `env`, $$(VAR) literally; for command and args. */
struct str env_expand(struct str text, const struct runtime_pairs *env, struct arena *a);

/* A downward API field ("metadata.labels['x']", "status.podIP"); for volumes, too. */
int env_field(const struct pod *pod, struct str path, const struct env_context *c, struct arena *a,
	      struct str *ret_value, struct error *err);
/* A resourceFieldRef ("limits.cpu", divisor). */
int env_resource(const struct pod *pod, const struct json *container, const struct json *ref,
		 const struct env_context *c, struct arena *a, struct str *ret_value,
		 struct error *err);

#endif
