/*
 * env - the environment of a container, built as kubelet does.
 *
 * Sources: Services, envFrom, env with $(VAR) expansion, fields of the pod, resources of
 * containers, keys of ConfigMaps and Secrets.
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
	/* Allocatable: used for limits that are not set; 0: unknown. */
	int64_t node_cpu_milli, node_memory, node_storage;
};

/*
 * Returns the variables of envFrom and env in order; a repeated name keeps its first place and gets
 * the last value. Then come variables of Services that were not overridden, by name. -ERR_NOT_FOUND
 * names the missing ConfigMap, Secret or key; -ERR_UNIMPLEMENTED an unsupported source. In `a`.
 */
int env_make(const struct pod *pod, const struct json *container, const struct env_context *c,
	     struct arena *a, struct runtime_pairs *ret_env, struct error *err);

/*
 * Expands $(VAR) with `env`, and $$(VAR) to a literal; for command and args. An unknown variable
 * stays as written. So does the whole text if it would become longer than ENV_VALUE_MAX.
 */
struct str env_expand(struct str text, const struct runtime_pairs *env, struct arena *a);

/*
 * The same for subPathExpr. Unknown or empty variables are -ERR_INVALID, with all such names in the
 * message; so is a text that becomes too long.
 */
int env_expand_all(struct str text, const struct runtime_pairs *env, struct arena *a,
		   struct str *ret_text, struct error *err);

/* A downward API field ("metadata.labels['x']", "status.podIP"); for volumes, too. */
int env_field(const struct pod *pod, struct str path, const struct env_context *c, struct arena *a,
	      struct str *ret_value, struct error *err);
/* A resourceFieldRef ("limits.cpu", divisor). `container` may be NULL if the reference names it. */
int env_resource(const struct pod *pod, const struct json *container, const struct json *ref,
		 const struct env_context *c, struct arena *a, struct str *ret_value,
		 struct error *err);

/*
 * The bytes of a key of a Secret's `data` (or a ConfigMap's `binaryData`), in `a`. Sets *ret_found
 * to false if there is no such key. The server has checked the base64; invalid base64 is
 * -ERR_INVALID.
 */
int env_binary(const struct json *data, struct str key, struct arena *a, bool *ret_found,
	       struct str *ret_value, struct error *err);

#endif
