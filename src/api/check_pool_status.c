/*
 * What is told about pools: the answer to a ResourcePoolStatusRequest, which is
 * written once, and the status of a ResourceSlice (KEP-5677), which the
 * controller keeps up to date.
 */
#include "api/checks.h"

/* The table refuses a change; taking the answer away is refused here. */
void check_pool_request_status(struct validation *v, const struct json *object,
			       const struct json *old)
{
	struct field_path at = field_path_name(NULL, "status");
	const struct json *status = json_getz(object, "status");

	if (validate_is_unset(status))
		validate_immutable(v, status, json_getz(old, "status"), &at);
}

/*
 * Free and taken devices may not be more than there are; those of which something is left are among
 * the taken.
 */
void check_resource_summary(struct validation *v, const struct json *summary,
			    const struct field_path *path)
{
	struct field_path total_at = field_path_name(path, "totalDevices");
	struct field_path partial_at = field_path_name(path, "partiallyAllocatedDevices");
	int64_t total = json_i64_at(summary, "totalDevices", 0);
	int64_t allocated = json_i64_at(summary, "allocatedDevices", 0);
	int64_t partial = json_i64_at(summary, "partiallyAllocatedDevices", 0);
	int64_t sum = allocated + json_i64_at(summary, "availableDevices", 0);

	if (sum > total)
		field_errors_addf(v->errs, FIELD_INVALID, &total_at, FIELD_I64(total),
				  "must not be less than the devices it is made of (%lld)",
				  (long long)sum);
	if (partial > allocated)
		field_errors_addf(v->errs, FIELD_INVALID, &partial_at, FIELD_I64(partial),
				  "must not be more than the allocated devices (%lld)",
				  (long long)allocated);
}
