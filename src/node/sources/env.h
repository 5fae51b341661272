/*
 * env - the environment of a container, as kubelet makes it: services, envFrom, env with $(VAR)
 * expansion, fields of the pod, resources of containers, keys of config maps and secrets.
 */
#ifndef NODE_SOURCES_ENV_H
#define NODE_SOURCES_ENV_H

#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct sources;

struct env_context {
	const struct sources *sources;
	struct str node_name, host_ip, pod_ip;
	const struct str *pod_ips;
	size_t npod_ips;
	/* Allocatable: limits that are not set come to it; 0: not known. */
	int64_t node_cpu_milli, node_memory, node_storage;
};

/*
 * Variables of envFrom and env in their order, a name where it came first with the value that
 * came last; then those of services that nothing of these replaced, by name. -ERR_NOT_FOUND names
 * the config map, secret or key that is missing, -ERR_UNIMPLEMENTED a source that we cannot read.
 * In `a`.
 */
int env_make(const struct pod *pod, const struct json *container, const struct env_context *c,
	     struct arena *a, struct runtime_pairs *ret_env, struct error *err);

/*
 * $(VAR) by `env`, $$(VAR) literally; for command and args. A variable that is not there stays as
 * it is written. So does all of the text when it would become longer than ENV_VALUE_MAX.
 */
struct str env_expand(struct str text, const struct runtime_pairs *env, struct arena *a);

/*
 * The same for subPathExpr, where a variable that is not there or empty is -ERR_INVALID, with all
 * such names in the message, as is a text that grows too long.
 */
int env_expand_all(struct str text, const struct runtime_pairs *env, struct arena *a,
		   struct str *ret_text, struct error *err);

/* A downward API field ("metadata.labels['x']", "status.podIP"); for volumes, too. */
int env_field(const struct pod *pod, struct str path, const struct env_context *c, struct arena *a,
	      struct str *ret_value, struct error *err);
/*
 * A resourceFieldRef ("limits.cpu", divisor). `container` may be NULL where the reference names
 * it.
 */
int env_resource(const struct pod *pod, const struct json *container, const struct json *ref,
		 const struct env_context *c, struct arena *a, struct str *ret_value,
		 struct error *err);

/*
 * The bytes of a key of a Secret's `data` (or a ConfigMap's `binaryData`), in `a`. False: there
 * is none. The server has seen to it that it is base64; what is not is -ERR_INVALID.
 */
int env_binary(const struct json *data, struct str key, struct arena *a, bool *ret_found,
	       struct str *ret_value, struct error *err);

#endif
