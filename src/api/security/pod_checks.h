/*
 * security_checks - compares a pod with a Pod Security Standard.
 *
 * The checks are upstream's, by version and with their wording: clients compare the text.
 */
#ifndef API_SECURITY_POD_CHECKS_H
#define API_SECURITY_POD_CHECKS_H

#include <stdbool.h>

#include "base/core/arena.h"

struct json;
struct security_standard;

/* What a pod violates; in the arena. */
struct security_findings {
	struct str reasons; /* "host namespaces, privileged" */
	struct str details; /* the same, each with its details in parentheses */
};

/*
 * Whether the pod, or the template of one, meets the standard. Its spec has its defaults, in the
 * storage version. ret_findings is set if it does not.
 */
bool security_check_pod(const struct json *metadata, const struct json *spec,
			const struct security_standard *s, struct arena *a,
			struct security_findings *ret_findings);

#endif
