/*
 * Objects of a strategic merge. One function merges an object, one (in patch/strategic_list.c) a
 * list. They call each other as deep as the patch is, which is limited. The patch is copied first,
 * so that its nodes can be moved into the result.
 *
 * If the object lacks a member, the patch's value is used, without its nulls. Directives in it have
 * nothing to refer to: objects with $patch are left out, and other directives stay as unknown
 * fields, which decoding then warns of or rejects, as upstream does.
 */
#include "api/patch/strategic.h"

#include "api/api_limits.h"
#include "api/patch/strategic_impl.h"

static const struct str deletes = STR("$deleteFromPrimitiveList");
static const struct str orders = STR("$setElementOrder");

/* --- new values ------------------------------------------------------------------ */

/* Removes nulls, and objects with $patch, from a value that is used unchanged. */
static int strategic_clean(struct merge *m, struct json *value)
{
	int r = 0;

	if (!json_is_container(value))
		return 0;
	if (m->depth >= OBJECT_DEPTH_MAX)
		return error_set(m->err, ERR_BAD_REQUEST, "the patch is nested too deeply");
	m->depth++;
	JSON_FOREACH_SAFE (child, value) {
		bool null = value->type == JSON_OBJECT && child->type == JSON_NULL;

		if (null || json_getz(child, "$patch"))
			json_unlink(value, child);
		else
			r = strategic_clean(m, child);
		if (r < 0)
			break;
	}
	m->depth--;
	return r;
}

/* Sets the member to the patch's value; removes it if that is only a directive. */
static int take_over(struct merge *m, struct json *object, struct str key, struct json *value)
{
	int r = strategic_clean(m, value);

	if (r == 0 && json_getz(value, "$patch"))
		(void)json_remove(object, key);
	else if (r == 0)
		json_set(object, key, value);
	return r;
}

/* --- directives ------------------------------------------------------------------ */

/* Returns the field of "$prefix/field"; false if it is malformed. */
static bool strategic_name_of(struct str key, struct str prefix, struct str *ret_name)
{
	struct str rest = str_skip(key, prefix.n);

	if (!rest.n || rest.p[0] != '/')
		return false;
	*ret_name = str_skip(rest, 1);
	return true;
}

static bool has_key(struct merge *m, const struct merge_keys *keys, const struct json *member)
{
	struct json name = { .type = JSON_STRING, .text = member->key, .n = member->key_n };

	return merge_find_key(m, keys, &name) >= 0;
}

static int retain_keys(struct merge *m, struct json *object, struct json *patch)
{
	static const struct schema_field plain = { 0 };
	const struct json *retain = json_remove(patch, STR("$retainKeys"));
	struct merge_keys keys;

	if (!retain)
		return 0;
	if (retain->type != JSON_ARRAY)
		return error_set(m->err, ERR_BAD_REQUEST, "invalid patch format of retainKeys");
	keys = merge_keys_of(m, &plain, retain);
	JSON_FOREACH (member, patch) {
		if (member->type != JSON_NULL && !str_starts(json_key(member), deletes) &&
		    !str_starts(json_key(member), orders) && !has_key(m, &keys, member))
			return error_set(m->err, ERR_BAD_REQUEST,
					 "invalid patch format of retainKeys");
	}
	JSON_FOREACH_SAFE (member, object)
		if (!has_key(m, &keys, member))
			json_unlink(object, member);
	return 0;
}

static int fail_field(struct merge *m, struct place place, const struct schema_field *field,
		      struct str name)
{
	if (!place.type || place.map)
		return error_set(m->err, ERR_INVALID,
				 "merging an object in json but data type is not struct, instead "
				 "is: map");
	if (!field)
		return error_set(m->err, ERR_INVALID,
				 "unable to find api field in struct %.*s for the json field "
				 "\"%.*s\"",
				 STR_ARG(place.type->name), STR_ARG(name));
	return error_set(m->err, ERR_INVALID, "expected slice or array type, but got: struct");
}

/* Merges the patch's changes (or NULL) into the list, and orders it. */
static int merge_ordered(struct merge *m, const struct merge_list *how, struct json *list,
			 struct json *changes, const struct merge_keys *stored)
{
	struct merge_keys wanted;
	int r;

	if (merges(how->field) && changes)
		return merge_list(m, how, list, changes);
	if (changes)
		json_assign(list, changes);
	if (!how->field->patch_key.p && json_is(json_first(list), JSON_OBJECT))
		return error_set(m->err, ERR_INVALID,
				 "cannot merge lists without merge key for struct");
	r = merge_check_keys(m, how->field, list);
	if (r < 0)
		return r;
	wanted = merge_keys_of(m, how->field, how->order);
	merge_order(m, how->field, list, &wanted, stored);
	return 0;
}

/* $setElementOrder/<field>: merges the patch's value of the field, and orders the result. */
static int set_order(struct merge *m, struct json *object, struct json *patch,
		     const struct json *order, struct place place)
{
	struct json *changes, *list;
	struct str name;
	struct merge_list how = { .order = order };
	struct merge_keys stored;
	int r;

	if (order->type != JSON_ARRAY)
		return merge_fail_type(m, JSON_ARRAY, order);
	if (!strategic_name_of(json_key(order), orders, &name))
		return error_set(m->err, ERR_BAD_REQUEST,
				 "invalid patch format of setElementOrder list");
	list = json_get(object, name);
	changes = json_remove(patch, name);
	if (list && list->type != JSON_ARRAY)
		return merge_fail_type(m, JSON_ARRAY, list);
	if (changes && changes->type != JSON_ARRAY)
		return merge_fail_type(m, JSON_ARRAY, changes);
	how.field = field_of(place, name);
	if (!how.field || how.field->shape != SCHEMA_LIST)
		return fail_field(m, place, how.field, name);
	r = merge_check_order(m, &how, changes);
	if (r < 0 || (!list && !changes))
		return r;
	r = merge_check_types(m, list, changes);
	stored = merge_keys_of(m, how.field, list);
	if (r == 0 && !list) {
		r = take_over(m, object, name, changes);
		list = changes;
		changes = NULL;
	}
	return r < 0 ? r : merge_ordered(m, &how, list, changes, &stored);
}

/* Handles the members that order others, and removes them from the patch. */
static int set_orders(struct merge *m, struct json *object, struct json *patch, struct place place)
{
	struct json *found = json_make_object(m->arena);
	int r = 0;

	JSON_FOREACH_SAFE (member, patch)
		if (str_starts(json_key(member), orders))
			json_add(found, json_key(member), json_unlink(patch, member));
	JSON_FOREACH (order, found)
		if (r == 0)
			r = set_order(m, object, patch, order, place);
	return r;
}

/* --- members --------------------------------------------------------------------- */

/* `removes`: the patch lists scalars to remove. */
static int merge_member(struct merge *m, struct json *object, struct str key, struct json *value,
			struct place place, bool removes)
{
	const struct schema_field *field = field_of(place, key);
	struct json *current = json_get(object, key);

	if (value->type == JSON_NULL) {
		if (current)
			json_unlink(object, current);
		return 0;
	}
	if (removes && (!current || current->type != value->type))
		return 0;
	if (json_is(current, JSON_OBJECT) && value->type == JSON_OBJECT) {
		if (!field || !field->patch_replace)
			return merge_object(m, current, value, place_of(place, field));
		json_assign(current, value);
		return 0;
	}
	if (json_is(current, JSON_ARRAY) && value->type == JSON_ARRAY) {
		struct merge_list how = { .field = field, .removes = removes };

		if (merges(field) || removes)
			return merge_list(m, &how, current, value);
		json_assign(current, value);
		return 0;
	}
	return take_over(m, object, key, value);
}

/*
 * $deleteFromPrimitiveList/<field>: runs before the rest, so that a removed value can be added
 * again.
 */
static int remove_members(struct merge *m, struct json *object, struct json *patch,
			  struct place place)
{
	struct str name;
	int r;

	JSON_FOREACH_SAFE (value, patch) {
		if (!str_starts(json_key(value), deletes))
			continue;
		if (!strategic_name_of(json_key(value), deletes, &name))
			return error_set(m->err, ERR_BAD_REQUEST,
					 "invalid patch format of primitive list");
		json_unlink(patch, value);
		r = merge_member(m, object, name, value, place, true);
		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_members(struct merge *m, struct json *object, struct json *patch,
			 struct place place)
{
	int r;

	r = retain_keys(m, object, patch);
	if (r == 0)
		r = set_orders(m, object, patch, place);
	if (r == 0)
		r = remove_members(m, object, patch, place);
	if (r < 0)
		return r;
	JSON_FOREACH_SAFE (value, patch) {
		json_unlink(patch, value);
		r = merge_member(m, object, json_key(value), value, place, false);
		if (r < 0)
			return r;
	}
	return 0;
}

int merge_object(struct merge *m, struct json *object, struct json *patch, struct place place)
{
	const struct json *directive = json_getz(patch, "$patch");
	int r;

	if (m->depth >= OBJECT_DEPTH_MAX)
		return error_set(m->err, ERR_BAD_REQUEST, "the patch is nested too deeply");
	if (str_eq(json_str(directive), STR("replace"))) {
		(void)json_remove(patch, STR("$patch"));
		json_assign(object, patch);
		return 0;
	}
	if (str_eq(json_str(directive), STR("delete"))) {
		json_assign(object, json_make_object(m->arena));
		return 0;
	}
	if (directive)
		return error_set(m->err, ERR_INVALID, "unknown patch type: %s in map: %s",
				 merge_text(m, directive), merge_text(m, patch));
	m->depth++;
	r = merge_members(m, object, patch, place);
	m->depth--;
	return r;
}

static const char *name_of_type(const struct json *value)
{
	if (json_is(value, JSON_ARRAY))
		return "array";
	if (json_is(value, JSON_STRING))
		return "string";
	return json_is(value, JSON_BOOL) ? "bool" : "number";
}

int patch_strategic(struct arena *a, struct json **doc, const struct schema_type *type,
		    const struct json *patch, struct error *err)
{
	struct merge m = { .arena = a, .err = err, .budget = PATCH_COMPARISONS_MAX };
	struct json *copy;
	int r;

	if (json_is(patch, JSON_NULL))
		return 0;
	if (!json_is(patch, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST,
				 "json: cannot unmarshal %s into Go value of type "
				 "map[string]interface {}",
				 name_of_type(patch));
	if (!json_is(*doc, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST, "invalid JSON document");
	r = json_copy(a, patch, &copy, err);
	if (r == 0)
		r = merge_object(&m, *doc, copy, (struct place){ type, false });
	if (r == 0 && m.budget == 0)
		r = error_set(err, ERR_TOO_LARGE, "the lists of the patch are too long to merge");
	return r;
}
