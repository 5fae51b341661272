/*
 * The spec of resource slices: its node selection, and rules that depend on several of its parts.
 * Rules of a single device are in device.c.
 */
#include "api/api_limits.h"
#include "api/devices/checks.h"
#include "api/schema/names.h"

void check_resource_pool(struct validation *v, const struct json *pool,
			 const struct field_path *path)
{
	struct field_path count_at = field_path_name(path, "resourceSliceCount");
	struct field_path generation_at = field_path_name(path, "generation");
	int64_t count = 0, generation = 0;

	(void)json_i64(json_getz(pool, "resourceSliceCount"), &count);
	(void)json_i64(json_getz(pool, "generation"), &generation);
	if (count <= 0)
		field_errors_invalid(v->errs, &count_at, FIELD_I64(count),
				     "must be greater than zero");
	if (generation < 0)
		field_errors_invalid(v->errs, &generation_at, FIELD_I64(generation),
				     "must be greater than or equal to zero");
}

/* The ways to select nodes: in a slice, or in each of its devices. */
struct selection {
	const char *names[4]; /* the fields that are set, for the error */
	size_t n;
};

static void select_node_name(struct validation *v, const struct json *holder,
			     const char *empty_words, struct selection *s,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "nodeName");
	struct str name = json_text_at(holder, "nodeName");

	if (!name.p)
		return;
	if (name.n == 0) {
		field_errors_invalid(v->errs, &at, FIELD_STR(name), empty_words);
		return;
	}
	s->names[s->n++] = "nodeName";
	validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &at);
}

static void select_flag(struct validation *v, const struct json *holder, const char *flag,
			struct selection *s, const struct field_path *path)
{
	struct field_path at = field_path_name(path, flag);
	bool set;

	if (!json_bool(json_getz(holder, flag), &set))
		return;
	if (set)
		s->names[s->n++] = flag;
	else
		field_errors_invalid(v->errs, &at, FIELD_BOOL(false),
				     "must be either unset or set to true");
}

static void report_several(struct validation *v, const struct selection *s, const char *words,
			   const struct field_path *path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(VALIDATE_SHOWN_MAX);

	for (size_t i = 0; i < s->n; i++)
		(void)buf_printf(&b, "%s`%s`", i ? ", " : "{", s->names[i]);
	(void)buf_addc(&b, '}');
	field_errors_invalid(v->errs, path, FIELD_STR(buf_str(&b)), words);
}

static void check_slice_nodes(struct validation *v, const struct json *spec,
			      const struct field_path *path)
{
	static const char one_of[] = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
				     "`perDeviceNodeSelection` is required";
	struct field_path selector_at = field_path_name(path, "nodeSelector");
	struct field_path terms_at = field_path_name(&selector_at, "nodeSelectorTerms");
	const struct json *selector = json_getz(spec, "nodeSelector");
	const struct json *terms = json_getz(selector, "nodeSelectorTerms");
	struct selection s = { .n = 0 };

	select_node_name(v, spec, "must be either unset or set to a non-empty string", &s, path);
	if (selector) {
		s.names[s.n++] = "nodeSelector";
		if (json_count(terms) != 1)
			field_errors_invalid(v->errs, &terms_at, validate_shown(v, terms),
					     "must have exactly one node selector term");
	}
	select_flag(v, spec, "allNodes", &s, path);
	select_flag(v, spec, "perDeviceNodeSelection", &s, path);
	if (s.n == 0)
		field_errors_required(v->errs, path, one_of);
	else if (s.n > 1)
		report_several(v, &s,
			       "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
			       "`perDeviceNodeSelection` is required, but multiple fields are set",
			       path);
}

static void check_device_nodes(struct validation *v, const struct json *device,
			       const struct field_path *path)
{
	static const char one_of[] =
		"exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
		"`perDeviceNodeSelection` is set to true in the ResourceSlice spec";
	struct selection s = { .n = 0 };

	select_node_name(v, device, "must not be empty", &s, path);
	if (json_getz(device, "nodeSelector"))
		s.names[s.n++] = "nodeSelector";
	select_flag(v, device, "allNodes", &s, path);
	if (s.n == 0)
		field_errors_required(v->errs, path, one_of);
	else if (s.n > 1)
		report_several(v, &s, one_of, path);
}

static bool has_node_selection(const struct json *device)
{
	return json_getz(device, "nodeName") || json_getz(device, "nodeSelector") ||
	       json_getz(device, "allNodes");
}

static void check_devices_nodes(struct validation *v, const struct json *spec,
				const struct field_path *path)
{
	struct field_path list = field_path_name(path, "devices");
	bool per_device = json_true_at(spec, "perDeviceNodeSelection");
	size_t i = 0;

	JSON_FOREACH (device, json_getz(spec, "devices")) {
		struct field_path at = field_path_index(&list, i++);

		if (per_device)
			check_device_nodes(v, device, &at);
		else if (has_node_selection(device))
			field_errors_invalid(
				v->errs, &at, FIELD_JSON(STR("null")),
				"`nodeName`, `nodeSelector` and `allNodes` can only be set if "
				"`perDeviceNodeSelection` is set to true in the ResourceSlice "
				"spec");
	}
}

static bool has_list_attribute(const struct json *device)
{
	JSON_FOREACH (attribute, json_getz(device, "attributes")) {
		if (json_getz(attribute, "ints") || json_getz(attribute, "bools") ||
		    json_getz(attribute, "strings") || json_getz(attribute, "versions"))
			return true;
	}
	return false;
}

/* Devices that cost more to read are limited to smaller numbers. */
static bool has_costly_device(const struct json *devices)
{
	JSON_FOREACH (device, devices) {
		if (json_count(json_getz(device, "taints")) ||
		    json_count(json_getz(device, "consumesCounters")) || has_list_attribute(device))
			return true;
	}
	return false;
}

static void check_device_number(struct validation *v, const struct json *spec,
				const struct field_path *path)
{
	struct field_path at = field_path_name(path, "devices");
	const struct json *devices = json_getz(spec, "devices");
	size_t n = json_count(devices);

	if (n > SLICE_COSTLY_DEVICES_MAX && n <= SLICE_DEVICES_MAX && has_costly_device(devices))
		field_errors_too_many(v->errs, &at, (int64_t)n, SLICE_COSTLY_DEVICES_MAX);
}

static bool consumes_counters(const struct json *devices)
{
	JSON_FOREACH (device, devices) {
		if (json_count(json_getz(device, "consumesCounters")))
			return true;
	}
	return false;
}

/* Finds an attribute by its full name, or without the domain if that is the driver's own. */
static const struct json *find_attribute(const struct json *device, struct str name,
					 struct str driver)
{
	const struct json *attributes = json_getz(device, "attributes");
	const struct json *found = json_get(attributes, name);
	bool own = name.n > driver.n && str_starts(name, driver) && name.p[driver.n] == '/';

	if (found || !own)
		return found;
	return json_get(attributes, str_skip(name, driver.n + 1));
}

static void check_partition_attribute(struct validation *v, const struct json *device,
				      struct str name, const struct json *spec,
				      const struct field_path *path)
{
	struct field_path attributes = field_path_name(path, "attributes");
	struct field_path at = field_path_key(&attributes, name);
	struct str driver = json_text_at(spec, "driver");
	const struct json *attribute = find_attribute(device, name, driver);

	if (!attribute)
		field_errors_required(v->errs, &at,
				      "device consumes counters and `partitionTypeAttribute` names "
				      "this attribute, so it must be set");
	else if (!json_getz(attribute, "string"))
		field_errors_invalid(v->errs, &at, validate_shown(v, attribute),
				     "must be a string value because `partitionTypeAttribute` "
				     "names this attribute");
}

static void check_partition_type(struct validation *v, const struct json *spec,
				 const struct field_path *path)
{
	struct field_path at = field_path_name(path, "partitionTypeAttribute");
	struct field_path list = field_path_name(path, "devices");
	const struct json *devices = json_getz(spec, "devices");
	struct str name = json_text_at(spec, "partitionTypeAttribute");
	size_t i = 0;

	if (!name.p)
		return;
	if (!consumes_counters(devices)) {
		field_errors_invalid(v->errs, &at, FIELD_STR(name),
				     "may only be set on a slice which declares devices that "
				     "consume counters");
		return;
	}
	if (names_check(SCHEMA_FORMAT_FULLY_QUALIFIED_NAME, name))
		return;
	JSON_FOREACH (device, devices) {
		struct field_path item = field_path_index(&list, i++);

		if (json_count(json_getz(device, "consumesCounters")))
			check_partition_attribute(v, device, name, spec, &item);
	}
}

static bool has_upper_case(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] >= 'A' && s.p[i] <= 'Z')
			return true;
	}
	return false;
}

void check_resource_slice_spec(struct validation *v, const struct json *spec,
			       const struct field_path *path)
{
	struct str driver = json_text_at(spec, "driver");

	check_slice_nodes(v, spec, path);
	if (json_count(json_getz(spec, "sharedCounters")) && json_count(json_getz(spec, "devices")))
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")),
				     "only one of `sharedCounters` or `devices` is allowed");
	check_device_number(v, spec, path);
	check_devices_nodes(v, spec, path);
	check_partition_type(v, spec, path);
	if (has_upper_case(driver))
		validation_warn(v,
				"spec.driver: driver names should be lowercase; \"%.*s\" contains "
				"uppercase characters",
				STR_ARG(driver));
}

void check_skip_node_operations(struct validation *v, const struct json *operations,
				const struct field_path *path)
{
	bool prepare = false, unprepare = false;

	JSON_FOREACH (operation, operations) {
		struct str name = json_str(operation);

		prepare |= str_eqz(name, "NodePrepareResources");
		unprepare |= str_eqz(name, "NodeUnprepareResources") || str_eqz(name, "*");
	}
	if (prepare && !unprepare)
		field_errors_invalid(v->errs, path, validate_shown(v, operations),
				     "NodePrepareResources cannot be skipped unless "
				     "NodeUnprepareResources is also skipped");
}
