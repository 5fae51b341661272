/*
 * The walker descends object by object: first the present members, each with its stored
 * counterpart, then missing members, then unions, then the type's check. It recurses as deep as the
 * tree, up to a limit; only a CRD's schema can nest without end.
 *
 * A valid object needs no allocation.
 */
#include "api/validate/validate.h"

#include "api/api_limits.h"
#include "api/validate/validate_impl.h"

static const struct json empty = { .type = JSON_OBJECT };

static void walk_object(struct validation *v, const struct json *tree, const struct json *old,
			const struct schema_type *type, const struct field_path *path);

/* Whether the field treats the value as not set. */
static bool is_unset(const struct schema_field *field, const struct json *value)
{
	if (field->shape == SCHEMA_ONE && value && value->type != JSON_NULL &&
	    ((field->flags & SCHEMA_POINTER) || field->value == SCHEMA_OBJECT ||
	     field->value == SCHEMA_RAW_OBJECT))
		return false;
	return validate_is_unset(value);
}

static void call_check(struct validation *v, schema_check *check, const struct json *value,
		       const struct json *old, const struct field_path *path)
{
	const struct json *outer = v->old_value;

	v->old_value = old;
	check(v, value, path);
	v->old_value = outer;
}

static void walk_value(struct validation *v, const struct schema_field *field,
		       const struct json *value, const struct json *old,
		       const struct field_path *path)
{
	if (old && json_equal(value, old))
		return;
	if (field->value == SCHEMA_OBJECT && value->type == JSON_OBJECT)
		walk_object(v, value, old, field->type, path);
	else
		validate_scalar(v, field, value, path);
}

static void walk_list(struct validation *v, const struct schema_field *field,
		      const struct json *list, const struct json *old,
		      const struct field_path *path)
{
	const struct schema_rules *rules = field->rules;
	const struct str *keys = validate_keys(field);
	struct validate_old stored;
	size_t i = 0;

	if (rules && rules->max_items && list->n > rules->max_items) {
		field_errors_too_many(v->errs, path, list->n, rules->max_items);
		return;
	}
	if (rules && list->n < rules->min_items)
		field_errors_too_few(v->errs, path, list->n, rules->min_items);
	validate_old_init(&stored, keys, old);
	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		walk_value(v, field, item, validate_old_next(v, &stored, item), &at);
	}
	validate_old_release(&stored);
	if (field->flags & SCHEMA_UNIQUE)
		validate_unique(v, field, list, path);
}

static void validate_check_key(struct validation *v, const struct schema_rules *rules,
			       struct str key, const struct field_path *path)
{
	if (rules->key_max_length && key.n > rules->key_max_length)
		field_errors_too_long(v->errs, path, rules->key_max_length);
	if (rules->key_format)
		validate_format(v, rules->key_format, key, path);
}

static void walk_map(struct validation *v, const struct schema_field *field, const struct json *map,
		     const struct json *old, const struct field_path *path)
{
	const struct schema_rules *rules = field->rules;
	struct validate_old stored;

	if (rules && rules->max_items && map->n > rules->max_items) {
		field_errors_too_many(v->errs, path, map->n, rules->max_items);
		return;
	}
	if (rules && map->n < rules->min_items)
		field_errors_too_few(v->errs, path, map->n, rules->min_items);
	validate_old_init(&stored, NULL, old);
	JSON_FOREACH (item, map) {
		struct field_path at = field_path_key(path, json_key(item));
		const struct json *old_value = validate_old_next(v, &stored, item);

		if (rules && !old_value)
			validate_check_key(v, rules, json_key(item), path);
		walk_value(v, field, item, old_value, &at);
	}
	validate_old_release(&stored);
}

static void walk_field(struct validation *v, const struct schema_field *field,
		       const struct json *value, const struct json *old,
		       const struct field_path *path)
{
	if (old && json_equal(value, old))
		return;
	if (field->shape == SCHEMA_LIST && value->type == JSON_ARRAY)
		walk_list(v, field, value, old, path);
	else if (field->shape == SCHEMA_MAP && value->type == JSON_OBJECT)
		walk_map(v, field, value, old, path);
	else if (field->shape == SCHEMA_ONE)
		walk_value(v, field, value, old, path);
	if (field->rules && field->rules->check)
		call_check(v, field->rules->check, value, old, path);
}

/*
 * If the field is immutable, compares it with the stored one, set or not. Returns true if the value
 * needs no further check: it differs from the stored one, or one of both is absent.
 */
static bool refused_as_immutable(struct validation *v, const struct schema_field *field,
				 const struct json *value, const struct json *old_parent,
				 const struct field_path *path)
{
	const struct json *old;

	if (!(field->flags & (SCHEMA_IMMUTABLE | SCHEMA_NO_MODIFY)) || !old_parent)
		return false;
	old = json_get(old_parent, field->name);
	if (!(field->flags & SCHEMA_IMMUTABLE) && (is_unset(field, value) || is_unset(field, old)))
		return false;
	validate_immutable(v, value, old, path);
	return !(value && old && json_equal(value, old));
}

/*
 * Whether upstream's field is a struct, not a pointer: if absent, it is validated as an empty one.
 */
static bool is_struct(const struct schema_field *field)
{
	return field->value == SCHEMA_OBJECT && field->shape == SCHEMA_ONE &&
	       (field->flags & (SCHEMA_ALWAYS | SCHEMA_POINTER)) == SCHEMA_ALWAYS;
}

static void walk_unset(struct validation *v, const struct schema_field *field,
		       const struct json *value, const struct json *old_parent,
		       const struct field_path *path)
{
	if (refused_as_immutable(v, field, value, old_parent, path))
		return;
	if (old_parent && is_unset(field, json_get(old_parent, field->name)))
		return;
	if (field->flags & SCHEMA_REQUIRED)
		field_errors_required(v->errs, path, NULL);
	else if (is_struct(field))
		walk_object(v, &empty, NULL, field->type, path);
	else if (field->flags & SCHEMA_ALWAYS)
		validate_unset_scalar(v, field, path);
}

static bool is_member_set(const struct schema_type *type, size_t i, const struct json *tree)
{
	return !is_unset(&type->fields[i], json_get(tree, type->fields[i].name));
}

/* Lists the members of a union, all or those that are set: "`a`, `b`". */
static void list_members(const struct schema_type *type, uint8_t oneof, const struct json *set_in,
			 struct buf *out)
{
	for (size_t i = 0; i < type->nfields; i++) {
		if (type->fields[i].oneof != oneof || (set_in && !is_member_set(type, i, set_in)))
			continue;
		(void)buf_printf(out, "%s`%.*s`", out->n ? ", " : "",
				 STR_ARG(type->fields[i].name));
	}
}

static void report_union(struct validation *v, const struct schema_type *type, uint8_t oneof,
			 const struct json *tree, const char *words, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT(VALIDATE_SHOWN_MAX);
	CLEANUP(buf_release) struct buf set = BUF_INIT(VALIDATE_SHOWN_MAX);
	CLEANUP(buf_release) struct buf value = BUF_INIT(VALIDATE_SHOWN_MAX);

	list_members(type, oneof, NULL, &all);
	list_members(type, oneof, tree, &set);
	if (set.n)
		(void)buf_printf(&value, "{%s}", set.p);
	field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(buf_str(&value)), "%s: %s", words,
			  all.p ? all.p : "");
}

static void check_union(struct validation *v, const struct schema_type *type, uint8_t oneof,
			const struct json *tree, const struct field_path *path)
{
	bool required = type->unions[oneof - 1].required;
	size_t n = 0;

	for (size_t i = 0; i < type->nfields; i++)
		n += type->fields[i].oneof == oneof && is_member_set(type, i, tree);
	if (n == 0 && required)
		report_union(v, type, oneof, tree, "must specify one of", path);
	else if (n > 1)
		report_union(v, type, oneof, tree,
			     required ? "must specify exactly one of"
				      : "must specify at most one of",
			     path);
}

static void walk_members(struct validation *v, const struct json *tree, const struct json *old,
			 const struct schema_type *type, const struct field_path *path)
{
	JSON_FOREACH (member, tree) {
		const struct schema_field *field = schema_field(type, json_key(member));
		struct field_path at = { .parent = path, .kind = FIELD_PATH_NAME };

		if (!field || is_unset(field, member))
			continue;
		at.text = field->name;
		if (!refused_as_immutable(v, field, member, old, &at))
			walk_field(v, field, member, json_get(old, field->name), &at);
	}
}

static void walk_absent(struct validation *v, const struct json *tree, const struct json *old,
			const struct schema_type *type, const struct field_path *path)
{
	const unsigned heeded = SCHEMA_REQUIRED | SCHEMA_IMMUTABLE | SCHEMA_ALWAYS;

	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_field *field = &type->fields[i];
		struct field_path at = { path, field->name, 0, FIELD_PATH_NAME };
		const struct json *value;

		if (!(field->flags & heeded))
			continue;
		value = json_get(tree, field->name);
		if (is_unset(field, value))
			walk_unset(v, field, value, old, &at);
	}
}

static void walk_object(struct validation *v, const struct json *tree, const struct json *old,
			const struct schema_type *type, const struct field_path *path)
{
	if (v->depth >= VALIDATE_DEPTH_MAX) {
		field_errors_invalid(v->errs, path, FIELD_OMITTED, "nested too deeply");
		return;
	}
	v->depth++;
	walk_members(v, tree, old, type, path);
	walk_absent(v, tree, old, type, path);
	for (uint8_t i = 1; i <= type->nunions; i++)
		check_union(v, type, i, tree, path);
	if (type->check)
		call_check(v, type->check, tree, old, path);
	v->depth--;
}

void validate_type(struct validation *v, const struct json *tree, const struct schema_type *type,
		   const struct field_path *path)
{
	walk_object(v, tree, NULL, type, path);
}

/* --- whole objects ----------------------------------------------------------------- */

static bool is_named(const struct schema_field *field, const char *name)
{
	return str_eqz(field->name, name);
}

/* Whether this kind of write validates the object's own field. */
static bool is_concerned(const struct validation *v, const struct schema_field *field,
			 bool status_only)
{
	bool apart = v->kind->flags & SCHEMA_STATUS;

	if (is_named(field, "metadata") || is_named(field, "apiVersion") || is_named(field, "kind"))
		return false;
	return status_only ? is_named(field, "status") : !apart || !is_named(field, "status");
}

static void walk_top(struct validation *v, bool status_only)
{
	const struct schema_type *type = v->kind->type;

	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_field *field = &type->fields[i];
		struct field_path at = { NULL, field->name, 0, FIELD_PATH_NAME };
		const struct json *value, *old;

		if (!is_concerned(v, field, status_only))
			continue;
		value = json_get(v->object, field->name);
		old = json_get(v->old, field->name);
		if (v->old && is_named(field, "spec") && (v->kind->flags & SCHEMA_IMMUTABLE_SPEC))
			validate_immutable(v, value, old, &at);
		else if (is_unset(field, value))
			walk_unset(v, field, value, v->old, &at);
		else if (!refused_as_immutable(v, field, value, v->old, &at))
			walk_field(v, field, value, old, &at);
	}
	for (uint8_t i = 1; i <= type->nunions && !status_only; i++)
		check_union(v, type, i, v->object, NULL);
	if (type->check && !status_only)
		call_check(v, type->check, v->object, v->old, NULL);
}

static void check_meta(struct validation *v)
{
	validate_meta(v, json_getz(v->object, "metadata"), json_getz(v->old, "metadata"));
}

void validate_create(struct validation *v)
{
	check_meta(v);
	walk_top(v, false);
	if (v->kind->check)
		v->kind->check(v, v->object);
}

void validate_update(struct validation *v)
{
	check_meta(v);
	walk_top(v, false);
	if (v->kind->check)
		v->kind->check(v, v->object);
	if (v->kind->check_update)
		v->kind->check_update(v, v->object, v->old);
}

void validate_status_update(struct validation *v)
{
	check_meta(v);
	walk_top(v, true);
	if (v->kind->check_status_update)
		v->kind->check_status_update(v, v->object, v->old);
}
