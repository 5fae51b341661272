/*
 * Checks the status of pools: the answer to a ResourcePoolStatusRequest, which is written once, and
 * the status of a ResourceSlice (KEP-5677), which the controller keeps up to date.
 */
#include "api/devices/checks.h"
#include "base/core/map.h"

/* The table rejects a change; this rejects the removal of the answer. */
void check_pool_request_status(struct validation *v, const struct json *object,
			       const struct json *old)
{
	struct field_path at = field_path_name(NULL, "status");
	const struct json *status = json_getz(object, "status");

	if (validate_is_unset(status))
		validate_immutable(v, status, json_getz(old, "status"), &at);
}

/*
 * Available and allocated devices together may not exceed the total. Partially allocated devices
 * are among the allocated ones.
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
		field_errors_addf(
			v->errs, FIELD_INVALID, &total_at, FIELD_I64(total),
			"must not be less than allocated and available devices together (%lld)",
			(long long)sum);
	if (partial > allocated)
		field_errors_addf(v->errs, FIELD_INVALID, &partial_at, FIELD_I64(partial),
				  "must not be more than the allocated devices (%lld)",
				  (long long)allocated);
}

/* --- the status of a slice ------------------------------------------------------------------- */

/* Counts the devices whose `field` has one of these two values. */
static int64_t count_in(const struct json *devices, const char *field, const char *one,
			const char *other)
{
	int64_t n = 0;

	JSON_FOREACH (it, devices) {
		struct str state = json_text_at(it, field);

		n += state.n > 0 && (str_eqz(state, one) || str_eqz(state, other));
	}
	return n;
}

/* The count is at least the number of listed devices; if all devices are listed, it is equal. */
static void check_count(struct validation *v, const struct json *summary, const char *name,
			int64_t listed, bool all, const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);
	int64_t n = json_i64_at(summary, name, 0);

	if (json_getz(summary, name) && n >= 0 && (listed > n || (all && listed != n)))
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(n),
				  "must be the number of devices in that state (%lld)",
				  (long long)listed);
}

static void check_listed(struct validation *v, const struct json *listed,
			 const struct json *offered, const struct field_path *path)
{
	struct field_path devices_at = field_path_name(path, "devices");
	struct map names;
	size_t i = 0;

	map_init(&names);
	JSON_FOREACH (it, offered)
		(void)map_put(&names, json_text_at(it, "name"), it);
	JSON_FOREACH (it, listed) {
		struct field_path at = field_path_index(&devices_at, i++);
		struct field_path name_at = field_path_name(&at, "name");
		struct str name = json_text_at(it, "name");

		if (name.n > 0 && !map_get(&names, name))
			field_errors_not_found(v->errs, &name_at, FIELD_STR(name));
	}
	map_release(&names);
}

/* Checks that the status is about the slice that it is stored with. */
void check_slice_status(struct validation *v, const struct json *status,
			const struct field_path *path)
{
	const struct json *offered = json_getz(json_getz(v->object, "spec"), "devices");
	const struct json *devices = json_getz(status, "devices");
	const struct json *summary = json_getz(status, "summary");
	struct field_path summary_at = field_path_name(path, "summary");
	struct field_path total_at = field_path_name(&summary_at, "totalDevices");
	struct field_path seen_at = field_path_name(path, "observedGeneration");
	int64_t generation = json_i64_at(json_getz(v->object, "metadata"), "generation", 0);
	int64_t total = json_i64_at(summary, "totalDevices", 0);
	int64_t seen = json_i64_at(status, "observedGeneration", 0);
	bool all = json_count(devices) == json_count(offered);

	check_listed(v, devices, offered, path);
	check_count(v, summary, "availableDevices", count_in(devices, "state", "Available", ""),
		    all, &summary_at);
	check_count(v, summary, "allocatedDevices",
		    count_in(devices, "state", "Allocated", "PartiallyAllocated"), all,
		    &summary_at);
	check_count(v, summary, "partiallyAllocatedDevices",
		    count_in(devices, "state", "PartiallyAllocated", ""), all, &summary_at);
	check_count(v, summary, "unhealthyDevices", count_in(devices, "health", "Unhealthy", ""),
		    all, &summary_at);
	if (total > (int64_t)json_count(offered))
		field_errors_addf(v->errs, FIELD_INVALID, &total_at, FIELD_I64(total),
				  "must not be more than the devices in the slice (%zu)",
				  json_count(offered));
	if (seen > generation && generation > 0)
		field_errors_addf(v->errs, FIELD_INVALID, &seen_at, FIELD_I64(seen),
				  "must not be greater than the slice's generation (%lld)",
				  (long long)generation);
}
