/*
 * One device of a resource slice. The tables check attributes and counters. This file checks what
 * depends on several of them, and binding conditions, capacity and the node resources that a device
 * uses.
 */
#include "api/devices/checks.h"
#include "base/core/limits.h"
#include "base/json/index.h"
#include "base/json/quantity.h"

static size_t attribute_values(const struct json *attribute)
{
	static const char *const lists[] = { "ints", "bools", "strings", "versions" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		n += json_count(json_getz(attribute, lists[i]));
	return n ? n : 1;
}

static void check_attribute_number(struct validation *v, const struct json *device,
				   const struct field_path *path)
{
	const struct json *attributes = json_getz(device, "attributes");
	size_t n = json_count(attributes) + json_count(json_getz(device, "capacity"));
	size_t values = 0;

	JSON_FOREACH (attribute, attributes)
		values += attribute_values(attribute);
	if (n > DEVICE_ATTRIBUTES_MAX)
		field_errors_addf(
			v->errs, FIELD_INVALID, path, FIELD_I64((int64_t)n),
			"the total number of attributes and capacities must not exceed %d",
			DEVICE_ATTRIBUTES_MAX);
	if (values > DEVICE_ATTRIBUTE_VALUES_MAX)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_I64((int64_t)values),
				  "the total number of attribute values must not exceed %d",
				  DEVICE_ATTRIBUTE_VALUES_MAX);
}

static void check_repeats(struct validation *v, const struct json *list, const struct json *others,
			  const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index own;
	CLEANUP(json_index_release) struct json_index other;
	size_t i = 0;

	json_index_init(&own, list, NULL);
	json_index_init(&other, others, NULL);
	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		if (json_index_came_before(&own, item))
			field_errors_duplicate(v->errs, &at, FIELD_STR(json_str(item)));
		if (json_index_get(&other, json_str(item)))
			field_errors_invalid(v->errs, &at, FIELD_STR(json_str(item)),
					     "bindingFailureConditions must not overlap with "
					     "bindingConditions");
	}
}

void check_binding_conditions(struct validation *v, const struct json *holder,
			      const struct field_path *path)
{
	struct field_path binding_at = field_path_name(path, "bindingConditions");
	struct field_path failure_at = field_path_name(path, "bindingFailureConditions");
	const struct json *binding = json_getz(holder, "bindingConditions");
	const struct json *failure = json_getz(holder, "bindingFailureConditions");

	check_repeats(v, binding, NULL, &binding_at);
	check_repeats(v, failure, binding, &failure_at);
	if (json_count(binding) == 0 && json_count(failure) > 0)
		field_errors_invalid(v->errs, &binding_at, validate_shown(v, binding),
				     "bindingConditions are required to use "
				     "bindingFailureConditions");
	if (json_count(failure) == 0 && json_count(binding) > 0)
		field_errors_invalid(v->errs, &failure_at, validate_shown(v, failure),
				     "bindingFailureConditions are required to use "
				     "bindingConditions");
}

/* Returns -1, 0 or 1; also 0 if it is missing or malformed: then *ret_there is false. */
static int sign_of(const struct json *quantity, bool *ret_there)
{
	struct quantity q = { 0 };

	*ret_there = json_is(quantity, JSON_STRING) &&
		     quantity_parse(json_str(quantity), &q, NULL) == 0;
	return (q.nano > 0) - (q.nano < 0);
}

static void check_sign(struct validation *v, const struct json *holder, const char *name, int least,
		       const char *words, const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);
	const struct json *quantity = json_getz(holder, name);
	bool there;

	if (sign_of(quantity, &there) < least && there)
		field_errors_invalid(v->errs, &at, validate_shown(v, quantity), words);
}

static void check_capacity_key(struct validation *v, const struct json *key,
			       const struct json *capacity, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "capacityKey");
	struct str name = json_str(key);

	if (name.n == 0)
		field_errors_invalid(v->errs, &at, FIELD_STR(name),
				     "capacityKey must not be an empty string");
	else if (!json_get(capacity, name))
		field_errors_not_found(v->errs, &at, FIELD_STR(name));
}

static void check_mapping(struct validation *v, const struct json *mapping,
			  const struct json *capacity, const struct field_path *path)
{
	struct field_path key_at = field_path_name(path, "capacityKey");
	struct field_path multiplier_at = field_path_name(path, "capacityMultiplier");
	const struct json *key = json_getz(mapping, "capacityKey");
	const struct json *multiplier = json_getz(mapping, "capacityMultiplier");

	if (key)
		check_capacity_key(v, key, capacity, path);
	if (key && !multiplier)
		field_errors_required(v->errs, &multiplier_at,
				      "capacityMultiplier is required when capacityKey is set");
	if (key)
		check_sign(v, mapping, "capacityMultiplier", 1, "must be positive", path);
	check_sign(v, mapping, "deviceMultiplier", 1, "must be positive", path);
	if (multiplier && !key)
		field_errors_required(v->errs, &key_at,
				      "capacityKey is required when capacityMultiplier is set");
}

static void check_overhead(struct validation *v, const struct json *overhead,
			   const struct field_path *path)
{
	if (!json_getz(overhead, "perPod") && !json_getz(overhead, "perContainer")) {
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")),
				     "at least one of perPod or perContainer must be set");
		return;
	}
	check_sign(v, overhead, "perPod", 0, "must be non-negative", path);
	check_sign(v, overhead, "perContainer", 0, "must be non-negative", path);
}

/* Resources that nodes count themselves: cpu, memory, ephemeral-storage and huge pages. */
static bool is_node_allocatable(struct str name)
{
	return str_eqz(name, "cpu") || str_eqz(name, "memory") ||
	       str_eqz(name, "ephemeral-storage") || str_starts(name, STR("hugepages-"));
}

static void check_node_allocatable(struct validation *v, const struct json *device,
				   const struct field_path *path)
{
	struct field_path map = field_path_name(path, "nodeAllocatableResources");

	JSON_FOREACH (resource, json_getz(device, "nodeAllocatableResources")) {
		struct field_path at = field_path_key(&map, json_key(resource));
		struct field_path mapping_at = field_path_name(&at, "mapping");
		struct field_path overhead_at = field_path_name(&at, "overhead");
		const struct json *mapping = json_getz(resource, "mapping");
		const struct json *overhead = json_getz(resource, "overhead");

		if (!is_node_allocatable(json_key(resource)))
			field_errors_invalid(v->errs, &at, FIELD_STR(json_key(resource)),
					     "must be a node allocatable resource name");
		if (!mapping && !overhead)
			field_errors_required(v->errs, &at,
					      "at least one of mapping or overhead must be set");
		if (mapping)
			check_mapping(v, mapping, json_getz(device, "capacity"), &mapping_at);
		if (overhead)
			check_overhead(v, overhead, &overhead_at);
	}
}

void check_device(struct validation *v, const struct json *device, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "capacity");
	const struct json *capacity = json_getz(device, "capacity");
	const struct json *old = json_getz(v->old_value, "capacity");
	bool several = json_true_at(device, "allowMultipleAllocations");

	check_attribute_number(v, device, path);
	if (capacity && !json_equal(capacity, old))
		check_device_capacity(v, capacity, several, &at);
	check_binding_conditions(v, device, path);
	check_node_allocatable(v, device, path);
}
