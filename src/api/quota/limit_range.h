/*
 * limit_range - applies a LimitRange to a pod or a volume claim.
 *
 * Upstream's LimitRanger as pure functions: defaults for containers that set no resources, and
 * minimum, maximum and ratio for containers, pods and claims. Trees are of the storage version.
 */
#ifndef API_QUOTA_LIMIT_RANGE_H
#define API_QUOTA_LIMIT_RANGE_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

/*
 * Sets the defaults of a pod's containers, and records that in an annotation. -ERR_TOO_LARGE if the
 * result exceeds the size of a stored object.
 */
int limit_range_fill(const struct json *range, struct json *pod, struct arena *a,
		     struct error *err);

/* -ERR_FORBIDDEN with all violations. If the arena refused memory, the result means nothing. */
int limit_range_check_pod(const struct json *range, const struct json *pod, struct arena *a,
			  struct error *err);
int limit_range_check_volume_claim(const struct json *range, const struct json *claim,
				   struct arena *a, struct error *err);

#endif
