/*
 * The status of claims: the allocation, its consumers, and the device status that drivers report
 * (KEP-4817).
 *
 * An allocation never changes while it is set (the table says so). A new one is checked against the
 * claim's requests. Rules for new allocations may be stricter than those that stored ones were made
 * under.
 */
#include "api/api_limits.h"
#include "api/devices/checks.h"
#include "api/devices/claim_rules.h"
#include "base/text/print.h"

static bool same_member(const struct json *a, const struct json *b, const char *name)
{
	return str_eq(json_text_at(a, name), json_text_at(b, name));
}

static bool is_allocated(const struct json *results, const struct json *device)
{
	JSON_FOREACH (result, results) {
		if (same_member(result, device, "device") && same_member(result, device, "pool") &&
		    same_member(result, device, "driver") && same_member(result, device, "shareID"))
			return true;
	}
	return false;
}

/* Formats a device as upstream does: with the names of its Go type, not those of the API. */
static void print_device(struct buf *out, const struct json *device)
{
	static const char *const members[][2] = { { "Driver", "driver" },
						  { "Pool", "pool" },
						  { "Device", "device" },
						  { "ShareID", "shareID" } };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		(void)buf_printf(out, "%s\"%s\":", i ? "," : "{", members[i][0]);
		(void)print_json(out, json_text_at(device, members[i][1]));
	}
	(void)buf_addc(out, '}');
}

static void refuse_device(struct validation *v, const struct json *device,
			  const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);

	print_device(&text, device);
	field_errors_invalid(v->errs, path, FIELD_JSON(buf_str(&text)),
			     "must be an allocated device in the claim");
}

static void check_devices(struct validation *v, const struct json *status,
			  const struct field_path *path)
{
	const struct json *allocation = json_getz(status, "allocation");
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");
	struct field_path list = field_path_name(path, "devices");
	size_t i = 0;

	JSON_FOREACH (device, json_getz(status, "devices")) {
		struct field_path at = field_path_index(&list, i++);

		if (!is_allocated(results, device))
			refuse_device(v, device, &at);
	}
}

/* Upstream compares whole references, not only their uid. */
static bool was_reserved(const struct json *old, const struct json *reference)
{
	JSON_FOREACH (other, old) {
		if (json_equal(other, reference))
			return true;
	}
	return false;
}

static void check_reserved_for(struct validation *v, const struct json *status,
			       const struct field_path *path)
{
	const struct json *reserved = json_getz(status, "reservedFor");
	const struct json *old = json_getz(v->old_value, "reservedFor");
	const struct json *meta = json_getz(v->object, "metadata");
	struct field_path at = field_path_name(path, "reservedFor");

	if (json_count(reserved) == 0)
		return;
	if (!json_is(json_getz(status, "allocation"), JSON_OBJECT)) {
		field_errors_forbidden(v->errs, &at,
				       "may not be specified when `allocated` is not set");
		return;
	}
	if (validate_is_unset(json_getz(meta, "deletionTimestamp")))
		return;
	JSON_FOREACH (reference, reserved) {
		if (was_reserved(old, reference))
			continue;
		field_errors_forbidden(v->errs, &at,
				       "new entries may not be added while "
				       "`deallocationRequested` or `deletionTimestamp` are set");
		return;
	}
}

static void check_results(struct validation *v, const struct json *results,
			  const struct json *requests, const struct field_path *path)
{
	struct field_path list = field_path_name(path, "results");
	bool reported = check_admin_namespace(v);
	size_t i = 0;

	JSON_FOREACH (result, results) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path request = field_path_name(&item, "request");
		struct field_path admin = field_path_name(&item, "adminAccess");

		check_request_reference(v, requests, json_text_at(result, "request"), &request);
		if (reported || !check_wants_admin_access(result))
			continue;
		check_report_admin_access(v, &admin);
		reported = true;
	}
}

static void check_new_allocation(struct validation *v, const struct json *status,
				 const struct field_path *path)
{
	const struct json *spec = json_getz(v->object, "spec");
	const struct json *requests = json_getz(json_getz(spec, "devices"), "requests");
	const struct json *devices = json_getz(json_getz(status, "allocation"), "devices");
	struct field_path allocation = field_path_name(path, "allocation");
	struct field_path at = field_path_name(&allocation, "devices");
	struct field_path list = field_path_name(&at, "config");
	size_t i = 0;

	check_results(v, json_getz(devices, "results"), requests, &at);
	JSON_FOREACH (config, json_getz(devices, "config")) {
		struct field_path item = field_path_index(&list, i++);

		check_request_references(v, requests, config, &item);
	}
}

void check_claim_status(struct validation *v, const struct json *status,
			const struct field_path *path)
{
	check_devices(v, status, path);
	check_reserved_for(v, status, path);
	if (!json_is(json_getz(v->old_value, "allocation"), JSON_OBJECT))
		check_new_allocation(v, status, path);
}

void check_device_data(struct validation *v, const struct json *data, const struct field_path *path)
{
	validate_raw_object(v, data, OPAQUE_PARAMETERS_MAX, path);
}
