/*
 * container_config_impl - the parts of a spec; for the files of src/node/container only.
 */
#ifndef NODE_CONTAINER_CONFIG_IMPL_H
#define NODE_CONTAINER_CONFIG_IMPL_H

#include "node/container/config.h"

/* The strings of an array, borrowed from the tree. */
struct runtime_strs config_strs(const struct json *array, struct arena *a);

/* --- container/config_security.c ------------------------------------------------------------ */

int config_security(const struct pod *pod, const struct json *container,
		    const struct container_parts *parts, struct arena *a,
		    struct runtime_security *ret, struct error *err);
void config_sandbox_security(const struct pod *pod, struct arena *a, struct runtime_security *ret);

/* --- container/config_limits.c -------------------------------------------------------------- */

void config_limits(const struct pod *pod, const struct json *container,
		   const struct container_parts *parts, struct arena *a,
		   struct runtime_limits *ret);

/* --- container/config_devices.c ------------------------------------------------------------- */

/*
 * Adds the plugins' replies to env, mounts, devices and annotations; returns names of CDI devices.
 */
int config_answers(const struct container_parts *parts, struct arena *a, struct container_spec *io,
		   struct runtime_strs *ret_cdi, struct error *err);

/* --- container/config_dns.c ----------------------------------------------------------------- */

void config_dns(const struct pod *pod, const struct sandbox_parts *parts, struct arena *a,
		struct sandbox_spec *io);

#endif
