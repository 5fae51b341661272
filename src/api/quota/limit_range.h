/*
 * limit_range - what a LimitRange makes of a pod or a volume claim, or has against it.
 *
 * Upstream's LimitRanger, pure: defaults for containers that do not say, and least, most and
 * ratio for containers, pods and claims. Trees are of the storage version.
 */
#ifndef API_QUOTA_LIMIT_RANGE_H
#define API_QUOTA_LIMIT_RANGE_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

/*
 * Gives a pod's containers what they do not say, and notes that in an annotation. -ERR_TOO_LARGE
 * when that makes more of it than can be stored.
 */
int limit_range_fill(const struct json *range, struct json *pod, struct arena *a,
		     struct error *err);

/* -ERR_FORBIDDEN with all that is wrong. Of an arena that refused, nothing was decided. */
int limit_range_check_pod(const struct json *range, const struct json *pod, struct arena *a,
			  struct error *err);
int limit_range_check_volume_claim(const struct json *range, const struct json *claim,
				   struct arena *a, struct error *err);

#endif
