/*
 * Defaults come from the tables: first a field's initial value if it is unset, then the row's
 * function, which may depend on siblings. Then the same for the levels below, so that an object
 * that was added gets its own defaults.
 *
 * Zero counts as unset unless the field is a pointer upstream, where zero is a valid choice.
 */
#include "api/defaults/defaults.h"

#include "api/api_limits.h"
#include "api/validate/validate.h"

static bool wants_initial(const struct schema_field *field, const struct json *value)
{
	if (!value || value->type == JSON_NULL)
		return true;
	if (field->flags & SCHEMA_POINTER)
		return false;
	return field->shape == SCHEMA_ONE && field->value != SCHEMA_OBJECT &&
	       validate_is_unset(value);
}

/* Quoted text without escapes, the usual case, is used without a copy. */
static struct json *make_initial(struct arena *a, struct str text)
{
	struct json *value = NULL;
	bool quoted = text.n >= 2 && text.p[0] == '"' && str_chr(text, '\\') < 0;

	if (quoted)
		return json_make_str(a, str_of(text.p + 1, text.n - 2));
	if (json_parse(a, text, NULL, &value, NULL) < 0)
		return NULL;
	return value;
}

static void fill_initials(struct arena *a, struct json *tree, const struct schema_type *type)
{
	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_field *field = &type->fields[i];
		struct json *value;

		if (!field->rules || !field->rules->initial.p ||
		    !wants_initial(field, json_get(tree, field->name)))
			continue;
		value = make_initial(a, field->rules->initial);
		if (value)
			json_set(tree, field->name, value);
	}
}

static void call_fills(struct arena *a, struct json *tree, const struct schema_type *type,
		       int64_t now_ns)
{
	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_rules *rules = type->fields[i].rules;

		if (rules && rules->fill)
			rules->fill(a, tree, now_ns);
	}
}

static void fill_object(struct arena *a, struct json *tree, const struct schema_type *type,
			int64_t now_ns, unsigned depth);

static void fill_field(struct arena *a, struct json *value, const struct schema_field *field,
		       int64_t now_ns, unsigned depth)
{
	if (field->shape == SCHEMA_ONE) {
		if (value->type == JSON_OBJECT)
			fill_object(a, value, field->type, now_ns, depth);
		return;
	}
	JSON_FOREACH (item, value) {
		if (item->type == JSON_OBJECT)
			fill_object(a, item, field->type, now_ns, depth);
	}
}

static void fill_object(struct arena *a, struct json *tree, const struct schema_type *type,
			int64_t now_ns, unsigned depth)
{
	if (depth >= VALIDATE_DEPTH_MAX)
		return;
	fill_initials(a, tree, type);
	call_fills(a, tree, type, now_ns);
	JSON_FOREACH (member, tree) {
		const struct schema_field *field = schema_field(type, json_key(member));

		if (field && field->value == SCHEMA_OBJECT && field->shape != SCHEMA_MAP_OF_LISTS)
			fill_field(a, member, field, now_ns, depth + 1);
	}
}

void defaults_fill(struct arena *a, struct json *tree, const struct schema_type *type,
		   int64_t now_ns)
{
	if (tree->type == JSON_OBJECT)
		fill_object(a, tree, type, now_ns, 0);
}
