/*
 * Checks the status of pools: the answer to a ResourcePoolStatusRequest, which is written once, and
 * the status of a ResourceSlice (KEP-5677), which the controller keeps up to date.
 */
#include "api/devices/checks.h"
#include "base/core/map.h"
#include "base/json/quantity.h"

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

/* Sums over the devices of a capacity. */
struct capacity_sum {
	struct quantity total, left;
	bool used_up; /* nothing is left of it in some device, whose shares may exceed it */
};

static bool add_quantity(struct quantity *sum, const struct json *amount)
{
	struct quantity q;

	if (!amount || !quantity_read(amount, &q))
		return false;
	sum->format = q.format;
	*sum = quantity_add(*sum, q);
	return true;
}

/* Returns false if the devices do not tell all of it. */
static bool sum_capacity(const struct json *devices, struct str name, struct capacity_sum *ret_sum)
{
	*ret_sum = (struct capacity_sum){ .used_up = false };
	JSON_FOREACH (it, devices) {
		const struct json *capacity = json_get(json_getz(it, "capacity"), name);
		struct quantity before = ret_sum->left;

		if (!capacity)
			continue;
		if (!add_quantity(&ret_sum->total, capacity) ||
		    !add_quantity(&ret_sum->left,
				  json_get(json_getz(it, "availableCapacity"), name)))
			return false;
		ret_sum->used_up |= quantity_cmp(before, ret_sum->left) == 0;
	}
	return true;
}

static void check_sum(struct validation *v, const struct json *summary, const char *field,
		      struct str name, struct quantity want, bool or_more,
		      const struct field_path *path)
{
	struct field_path sums_at = field_path_name(path, field);
	struct field_path at = field_path_key(&sums_at, name);
	const struct json *is = json_get(json_getz(summary, field), name);
	struct quantity q;
	struct buf text = BUF_INIT(64);
	int c;

	if (!is || !quantity_read(is, &q))
		return;
	c = quantity_cmp(q, want);
	(void)quantity_print(want, &text);
	if (c < 0 || (c > 0 && !or_more))
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(json_str(is)),
				  "must be %sthe sum over the devices (%.*s)",
				  or_more ? "at least " : "", STR_ARG(buf_str(&text)));
	buf_release(&text);
}

/*
 * Where all devices are listed with capacities, their sums are those of the summary. So allocated
 * and available amounts add up to the total, except that shares may take more than a device has (if
 * its capacity became smaller).
 */
static void check_capacities(struct validation *v, const struct json *devices,
			     const struct json *summary, const struct field_path *path)
{
	bool listed = false;

	JSON_FOREACH (it, devices)
		listed |= json_getz(it, "capacity") != NULL;
	JSON_FOREACH (it, listed ? json_getz(summary, "totalCapacity") : NULL) {
		struct str name = json_key(it);
		struct capacity_sum sum;

		if (!sum_capacity(devices, name, &sum))
			continue;
		check_sum(v, summary, "totalCapacity", name, sum.total, false, path);
		check_sum(v, summary, "availableCapacity", name, sum.left, false, path);
		check_sum(v, summary, "allocatedCapacity", name, quantity_sub(sum.total, sum.left),
			  sum.used_up, path);
	}
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
	if (all)
		check_capacities(v, devices, summary, &summary_at);
	if (total > (int64_t)json_count(offered))
		field_errors_addf(v->errs, FIELD_INVALID, &total_at, FIELD_I64(total),
				  "must not be more than the devices in the slice (%zu)",
				  json_count(offered));
	if (seen > generation && generation > 0)
		field_errors_addf(v->errs, FIELD_INVALID, &seen_at, FIELD_I64(seen),
				  "must not be greater than the slice's generation (%lld)",
				  (long long)generation);
}
