/*
 * check_pod - what the checks of pods share.
 */
#ifndef API_CHECK_POD_H
#define API_CHECK_POD_H

#include "api/check/checks.h"
#include "base/json/index.h"

/* What the containers of a pod refer to, by name. */
struct check_pod {
	const struct json *spec;
	struct json_index volumes, claims;
	struct str claim_names; /* as a fault lists them; p NULL until there is one */
};

/* The first element whose `member` is that text, or NULL. */
const struct json *check_find(const struct json *list, const char *member, struct str text);

void check_container(struct validation *v, const struct json *container, struct check_pod *pod,
		     const struct field_path *path);

/* Updates of a pod and of its status leave its annotation of a mirror pod alone. */
void check_pod_mirror(struct validation *v, const struct json *pod, const struct json *old);

/* 1 to 65535. */
void check_port_number(struct validation *v, int64_t port, const struct field_path *path);

#endif
