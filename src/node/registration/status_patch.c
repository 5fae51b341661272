/*
 * The difference between two Nodes as a strategic merge patch. Maps are merged by key, so keys to
 * remove are null. Upstream merges addresses by type, which breaks two addresses of one type, so
 * the list is replaced as a whole.
 */
#include "base/json/quantity.h"
#include "dra/availability/device_health.h"
#include "node/registration/status.h"

static const struct json *status_patch_below(const struct json *node, const char *part,
					     const char *key)
{
	return json_getz(json_getz(node, part), key);
}

/* Adds patch.PART.KEY, unless `v` is NULL. */
static void status_patch_add(struct arena *a, struct json *patch, const char *part, const char *key,
			     struct json *v)
{
	if (v)
		json_setz(json_need_object(a, patch, part), key, v);
}

/* Returns NULL for an empty object. */
static struct json *unless_empty(struct json *v)
{
	return json_count(v) > 0 ? v : NULL;
}

/* Members of `wanted` that `known` lacks, or has with another value. */
static struct json *differing(struct arena *a, const struct json *known, const struct json *wanted,
			      bool (*same)(const struct json *x, const struct json *y))
{
	struct json *v = json_make_object(a);

	JSON_FOREACH (it, wanted) {
		const struct json *old = json_get(known, json_key(it));

		if (!old || !same(old, it))
			json_add(v, json_key(it), json_alias(a, it));
	}
	return v;
}

static bool same_value(const struct json *x, const struct json *y)
{
	return json_equal(x, y);
}

static bool same_quantity(const struct json *x, const struct json *y)
{
	struct quantity p, q;

	if (json_equal(x, y))
		return true;
	return quantity_parse(json_str(x), &p, NULL) == 0 &&
	       quantity_parse(json_str(y), &q, NULL) == 0 && quantity_cmp(p, q) == 0;
}

static void put_null(struct arena *a, struct json *map, struct str key)
{
	json_set(map, key, json_make_null(a));
}

/* --- resources ------------------------------------------------------------------------------- */

/* Whether this agent, or the one before it, advertised the resource. */
static bool status_patch_is_ours(const struct json *node, struct str resource)
{
	const struct json *annotations = status_patch_below(node, "metadata", "annotations");
	struct str rest = json_text_at(annotations, NODE_STATUS_RESOURCES), name;

	if (str_starts(resource, STR("hugepages-")))
		return true;
	while (str_split(&rest, ',', &name)) {
		if (str_eq(name, resource))
			return true;
	}
	return false;
}

static struct json *resources(struct arena *a, const struct json *known, const struct json *wanted,
			      const char *field)
{
	const struct json *has = status_patch_below(known, "status", field);
	const struct json *wants = status_patch_below(wanted, "status", field);
	struct json *v = differing(a, has, wants, same_quantity);

	JSON_FOREACH (it, has) {
		if (!json_get(wants, json_key(it)) && status_patch_is_ours(known, json_key(it)))
			put_null(a, v, json_key(it));
	}
	return unless_empty(v);
}

static struct json *annotations_of(struct arena *a, const struct json *known,
				   const struct json *wanted)
{
	const struct json *has = status_patch_below(known, "metadata", "annotations");
	const struct json *wants = status_patch_below(wanted, "metadata", "annotations");
	static const char *const ours[] = { NODE_STATUS_RESOURCES, NODE_STATUS_HOLLOW,
					    DEVICE_HEALTH_ANNOTATION };
	struct json *v = differing(a, has, wants, same_value);

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (json_getz(has, ours[i]) && !json_getz(wants, ours[i]))
			put_null(a, v, str_from(ours[i]));
	}
	return unless_empty(v);
}

static struct json *labels_of(struct arena *a, const struct json *known, const struct json *wanted)
{
	const struct json *has = status_patch_below(known, "metadata", "labels");
	const struct json *wants = status_patch_below(wanted, "metadata", "labels");
	struct json *v = differing(a, has, wants, same_value);

	if (json_getz(has, NODE_STATUS_RUNTIME_LABEL) &&
	    !json_getz(wants, NODE_STATUS_RUNTIME_LABEL))
		put_null(a, v, STR(NODE_STATUS_RUNTIME_LABEL));
	return unless_empty(v);
}

/* --- other fields ---------------------------------------------------------------------------- */

static bool same_but_for_heartbeat(const struct json *x, const struct json *y)
{
	static const char *const members[] = { "status", "lastTransitionTime", "reason",
					       "message" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (!str_eq(json_text_at(x, members[i]), json_text_at(y, members[i])))
			return false;
	}
	return true;
}

static struct json *without_heartbeat(struct arena *a, const struct json *condition)
{
	struct json *v = json_make_object(a);

	JSON_FOREACH (it, condition) {
		if (!str_eqz(json_key(it), "lastHeartbeatTime"))
			json_add(v, json_key(it), json_alias(a, it));
	}
	return v;
}

static struct json *conditions(struct arena *a, const struct json *known, const struct json *wanted)
{
	struct json *list = json_make_array(a);

	JSON_FOREACH (it, status_patch_below(wanted, "status", "conditions")) {
		const struct json *old = node_status_condition(known, json_text_at(it, "type"));

		if (!old || !same_but_for_heartbeat(old, it))
			json_append(list, without_heartbeat(a, it));
	}
	return unless_empty(list);
}

static struct json *addresses(struct arena *a, const struct json *known, const struct json *wanted)
{
	const struct json *wants = status_patch_below(wanted, "status", "addresses");
	struct json *list, *directive;

	if (json_equal(status_patch_below(known, "status", "addresses"), wants))
		return NULL;
	list = json_make_array(a);
	directive = json_make_object(a);
	json_put_str(a, directive, "$patch", STR("replace"));
	json_append(list, directive);
	JSON_FOREACH (it, wants)
		json_append(list, json_alias(a, it));
	return list;
}

static struct json *info(struct arena *a, const struct json *known, const struct json *wanted)
{
	const struct json *has = status_patch_below(known, "status", "nodeInfo");
	const struct json *wants = status_patch_below(wanted, "status", "nodeInfo");
	struct json *v = differing(a, has, wants, same_value);

	if (json_getz(has, "swap") && !json_getz(wants, "swap"))
		put_null(a, v, STR("swap"));
	return unless_empty(v);
}

static int64_t port_of(const struct json *node)
{
	return json_i64_at(
		json_getz(status_patch_below(node, "status", "daemonEndpoints"), "kubeletEndpoint"),
		"Port", 0);
}

static struct json *endpoints(struct arena *a, const struct json *known, const struct json *wanted)
{
	struct json *v;

	if (port_of(known) == port_of(wanted))
		return NULL;
	v = json_make_object(a);
	json_put_i64(a, json_need_object(a, v, "kubeletEndpoint"), "Port", port_of(wanted));
	return v;
}

struct json *node_status_patch(struct arena *a, const struct json *known, const struct json *wanted)
{
	struct json *patch = json_make_object(a);

	status_patch_add(a, patch, "metadata", "labels", labels_of(a, known, wanted));
	status_patch_add(a, patch, "metadata", "annotations", annotations_of(a, known, wanted));
	status_patch_add(a, patch, "status", "capacity", resources(a, known, wanted, "capacity"));
	status_patch_add(a, patch, "status", "allocatable",
			 resources(a, known, wanted, "allocatable"));
	status_patch_add(a, patch, "status", "conditions", conditions(a, known, wanted));
	status_patch_add(a, patch, "status", "addresses", addresses(a, known, wanted));
	status_patch_add(a, patch, "status", "nodeInfo", info(a, known, wanted));
	status_patch_add(a, patch, "status", "daemonEndpoints", endpoints(a, known, wanted));
	return unless_empty(patch);
}

struct json *node_status_beat(struct arena *a, struct json *patch, const struct json *wanted)
{
	struct json *v = patch ? patch : json_make_object(a);
	const struct json *all = status_patch_below(wanted, "status", "conditions");

	json_setz(json_need_object(a, v, "status"), "conditions", json_alias(a, all));
	return v;
}
