/*
 * pod_refs - the objects that a pod refers to by name, from its tree. Pure.
 */
#ifndef API_CHECK_POD_REFS_H
#define API_CHECK_POD_REFS_H

#include "base/json/json.h"

struct arena;

enum pod_refs_what {
	POD_REFS_SECRET,
	POD_REFS_CONFIG_MAP,
	POD_REFS_VOLUME_CLAIM,
	POD_REFS_RESOURCE_CLAIM,
	POD_REFS_ACCOUNT,
};

/* Whether the pod refers to that object; if `name` is empty, to any object of that type. */
bool pod_refs_has(const struct json *pod, enum pod_refs_what what, struct str name);

/*
 * The first kind of reference that a static pod, and the mirror pod of one, must not have, in
 * upstream's wording; NULL if it has none.
 */
const char *pod_refs_any(const struct json *pod);

/* The claim of a volume; empty if it has none. The claim of an ephemeral volume is POD-VOLUME. */
struct str pod_refs_volume_claim(struct arena *a, const struct json *pod,
				 const struct json *volume);

/* Whether a node created the pod to show a static pod in the API. */
bool pod_refs_is_mirror(const struct json *pod);

#endif
