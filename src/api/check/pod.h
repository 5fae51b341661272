/*
 * check_pod - functions that the checks of pods share.
 */
#ifndef API_CHECK_POD_H
#define API_CHECK_POD_H

#include "api/check/checks.h"
#include "base/json/index.h"

/* The objects that the containers of a pod refer to by name. */
struct check_pod {
	const struct json *spec;
	struct json_index volumes, claims;
	struct str claim_names; /* as an error lists them; p NULL until first needed */
};

void check_container(struct validation *v, const struct json *container, struct check_pod *pod,
		     const struct field_path *path);

/* Checks that an update of a pod or its status does not change the annotation of a mirror pod. */
void check_pod_mirror(struct validation *v, const struct json *pod, const struct json *old);

/* Checks for 1 to 65535. */
void check_port_number(struct validation *v, int64_t port, const struct field_path *path);

#endif
