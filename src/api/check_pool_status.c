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

/* Free and taken devices may not be more than there are. */
void check_resource_summary(struct validation *v, const struct json *summary,
			    const struct field_path *path)
{
	static const char *const parts[] = { "allocatedDevices", "availableDevices",
					     "partiallyAllocatedDevices" };
	struct field_path at = field_path_name(path, "totalDevices");
	int64_t total = 0, sum = 0;

	(void)json_i64(json_getz(summary, "totalDevices"), &total);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int64_t n = 0;

		(void)json_i64(json_getz(summary, parts[i]), &n);
		sum += n;
	}
	if (sum > total)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(total),
				  "must not be less than the devices it is made of (%lld)",
				  (long long)sum);
}
