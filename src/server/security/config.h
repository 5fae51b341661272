/*
 * security_config - what PodSecurity does where no label says it, and to whom it does not apply.
 *
 * Read from the section of the plugin PodSecurity in upstream's configuration of admission, once,
 * at the start. Threads: immutable afterwards.
 */
#ifndef SERVER_SECURITY_CONFIG_H
#define SERVER_SECURITY_CONFIG_H

#include "api/security/standard.h"

struct json;

struct security_exempt {
	struct str *v;
	size_t n;
};

struct security_config {
	struct security_policy defaults;
	struct security_exempt users, namespaces, runtime_classes;
};

/* Without a configuration: nothing is restricted, nobody is exempt. */
void security_config_init(struct security_config *c);

/*
 * Reads a PodSecurityConfiguration (v1, v1beta1 or v1alpha1), which lives in the same arena.
 * -ERR_INVALID names the first faults.
 */
int security_config_read(const struct json *tree, struct arena *a,
			 struct security_config *ret_config, struct error *err);

/* An empty text is never exempt. */
bool security_is_exempt(const struct security_exempt *list, struct str text);

#endif
