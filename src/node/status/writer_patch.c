/*
 * Each row gives the merge rule of a field in upstream's schema. Lists that merge by key are
 * replaced as a whole ($patch: replace), because only we write them and their order matters (the
 * first of podIPs is podIP). Only conditions are shared with other writers. An element of a merging
 * list is merged member by member, so members that a condition has lost are sent as null.
 */
#include "node/status/writer_patch.h"

#include "node/pod/pod_condition.h"

enum merge {
	ATOMIC, /* sent whole, and replaced whole by the server */
	REPLACED, /* a list that the server would merge */
	CONDITIONS,
};

static const struct field {
	const char *name;
	enum merge merge;
} fields[] = {
	{ "phase", ATOMIC },
	{ "conditions", CONDITIONS },
	{ "message", ATOMIC },
	{ "reason", ATOMIC },
	{ "hostIP", ATOMIC },
	{ "hostIPs", REPLACED },
	{ "podIP", ATOMIC },
	{ "podIPs", REPLACED },
	{ "startTime", ATOMIC },
	{ "qosClass", ATOMIC },
	{ "containerStatuses", ATOMIC },
	{ "initContainerStatuses", ATOMIC },
	{ "ephemeralContainerStatuses", ATOMIC },
	{ "observedGeneration", ATOMIC },
	{ "allocatedResourcesStatus", REPLACED },
};

/* --- parts of a patch ------------------------------------------------------------------------ */

/* Returns an object with the same members, to which more can be added. */
static struct json *members(struct arena *a, const struct json *object)
{
	struct json *copy = json_make_object(a);

	JSON_FOREACH (it, object)
		json_add(copy, json_key(it), json_alias(a, it));
	return copy;
}

/* A missing value and null are the same: metav1.Time prints null if it is not set. */
static bool is_absent(const struct json *v)
{
	return !v || v->type == JSON_NULL;
}

static bool same_condition(const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		const struct json *other = json_get(b, json_key(it));

		if (is_absent(it) ? !is_absent(other) : !json_equal(it, other))
			return false;
	}
	JSON_FOREACH (it, b) {
		if (!is_absent(it) && !json_get(a, json_key(it)))
			return false;
	}
	return true;
}

static struct json *merged_condition(struct arena *a, const struct json *server,
				     const struct json *wanted)
{
	struct json *c = members(a, wanted);

	JSON_FOREACH (it, server) {
		if (!is_absent(it) && !json_get(wanted, json_key(it)))
			json_set(c, json_key(it), json_make_null(a));
	}
	return c;
}

static struct json *deleted_condition(struct arena *a, struct str type)
{
	struct json *c = json_make_object(a);

	json_put_str(a, c, "$patch", STR("delete"));
	json_put_str(a, c, "type", type);
	return c;
}

static struct json *patch_conditions(struct arena *a, const struct json *server,
				     const struct json *wanted)
{
	struct json *list = json_make_array(a);

	JSON_FOREACH (it, wanted) {
		struct str type = json_text_at(it, "type");
		const struct json *old = json_find(server, "type", type);

		/*
		 * The wanted status has other writers' conditions as the pod had them a moment ago.
		 * Writing them would undo their owners' later changes, and two writers would
		 * overwrite each other for ever.
		 */
		if ((pod_condition_is_own(type) || pod_condition_is_eviction(it)) &&
		    (!old || !same_condition(old, it)))
			json_append(list, merged_condition(a, old, it));
	}
	JSON_FOREACH (it, server) {
		struct str type = json_text_at(it, "type");

		if (pod_condition_is_exclusive(type) && !json_find(wanted, "type", type))
			json_append(list, deleted_condition(a, type));
	}
	return json_count(list) > 0 ? list : NULL;
}

static struct json *replaced_list(struct arena *a, const struct json *wanted)
{
	struct json *list = json_make_array(a);
	struct json *directive = json_make_object(a);

	json_put_str(a, directive, "$patch", STR("replace"));
	json_append(list, directive);
	JSON_FOREACH (it, wanted)
		json_append(list, json_alias(a, it));
	return list;
}

/* Returns NULL if nothing differs. An empty list equals no list: the server prints neither. */
static struct json *patch_field(struct arena *a, enum merge merge, const struct json *server,
				const struct json *wanted)
{
	bool none = is_absent(server) || (json_is(server, JSON_ARRAY) && json_count(server) == 0);
	bool wants_none = is_absent(wanted) ||
			  (json_is(wanted, JSON_ARRAY) && json_count(wanted) == 0);

	if (merge == CONDITIONS)
		return patch_conditions(a, server, wanted);
	if (wants_none)
		return none ? NULL : json_make_null(a);
	if (json_equal(server, wanted))
		return NULL;
	return merge == REPLACED ? replaced_list(a, wanted) : json_alias(a, wanted);
}

/* --- public ---------------------------------------------------------------------------------- */

struct json *status_patch_make(struct arena *a, const struct json *server,
			       const struct json *wanted, bool pod_level)
{
	struct json *patch = json_make_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *name = fields[i].name;
		struct json *v;

		if (!pod_level && str_eqz(STR("allocatedResourcesStatus"), name))
			continue;
		v = patch_field(a, fields[i].merge, json_getz(server, name),
				json_getz(wanted, name));
		if (v)
			json_add(patch, str_from(name), v);
	}
	return json_count(patch) > 0 ? patch : NULL;
}

struct json *status_patch_condition(struct arena *a, const struct json *server,
				    const struct json *wanted, struct str type)
{
	const struct json *old = json_find(json_getz(server, "conditions"), "type", type);
	const struct json *now = json_find(json_getz(wanted, "conditions"), "type", type);
	struct json *patch = json_make_object(a), *list = json_make_array(a);

	if (now && (!old || !same_condition(old, now)))
		json_append(list, merged_condition(a, old, now));
	if (old && !now)
		json_append(list, deleted_condition(a, type));
	json_add(patch, STR("conditions"), list);
	return json_count(list) > 0 ? patch : NULL;
}

void status_patch_reduce(struct arena *a, const struct json *status, struct buf *out)
{
	struct json *reduced = json_make_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct json *v = json_getz(status, fields[i].name);

		if (!is_absent(v))
			json_add(reduced, str_from(fields[i].name), json_alias(a, v));
	}
	(void)json_print(out, reduced, NULL);
}
