/*
 * Warnings about parts of a schema without effect: formats that are not checked, sets whose
 * elements cannot be distinguished. A schema that was stored before does not get them again.
 */
#include "api/crd/definition.h"

static bool is_known_format(const struct json *schema)
{
	struct str format = json_text_at(schema, "format"), type = json_text_at(schema, "type");

	if (str_eqz(type, "integer"))
		return str_eqz(format, "int32") || str_eqz(format, "int64");
	if (str_eqz(type, "number"))
		return str_eqz(format, "float") || str_eqz(format, "double");
	return (type.n == 0 || str_eqz(type, "string")) && crd_format_find(format) != NULL;
}

static bool has_warning(const struct validation *v, struct str text)
{
	for (const struct text_list *t = *v->warnings; t; t = t->next)
		if (str_eq(t->text, text))
			return true;
	return false;
}

static void warn_once(struct validation *v, const char *text)
{
	if (!has_warning(v, str_from(text)))
		validation_warn(v, "%s", text);
}

static void warn_node(struct validation *v, const struct json *schema)
{
	const struct json *items = json_getz(schema, "items");
	struct str format = json_text_at(schema, "format"), type = json_text_at(items, "type");

	if (format.n && !is_known_format(schema))
		warn_once(v,
			  arena_printf(v->arena, "unrecognized format \"%.*s\"", STR_ARG(format)));
	if (str_eqz(json_text_at(schema, "x-kubernetes-list-type"), "set") &&
	    (str_eqz(type, "object") || str_eqz(type, "array")))
		warn_once(v, arena_printf(v->arena,
					  "x-kubernetes-list-type: set for items of type \"%.*s\" "
					  "is not supported by server-side apply or CEL validation "
					  "rules",
					  STR_ARG(type)));
}

static void warn_all(struct validation *v, const struct json *schema)
{
	static const char *const many[] = { "properties", "allOf", "anyOf", "oneOf" };
	static const char *const single[] = { "items", "additionalProperties", "not" };

	warn_node(v, schema);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		JSON_FOREACH (child, json_getz(schema, many[i]))
			if (child->type == JSON_OBJECT)
				warn_all(v, child);
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (json_is(json_getz(schema, single[i]), JSON_OBJECT))
			warn_all(v, json_getz(schema, single[i]));
}

static const struct json *schema_of(const struct json *version)
{
	return json_getz(json_getz(version, "schema"), "openAPIV3Schema");
}

/* Whether the schema was stored before, and so had its warnings. */
static bool was_stored(const struct json *old, const struct json *schema)
{
	JSON_FOREACH (version, json_getz(json_getz(old, "spec"), "versions"))
		if (schema_of(version) && json_equal(schema_of(version), schema))
			return true;
	return false;
}

void check_crd_warn(struct validation *v)
{
	JSON_FOREACH (version, json_getz(json_getz(v->object, "spec"), "versions"))
		if (schema_of(version) && !was_stored(v->old, schema_of(version)))
			warn_all(v, schema_of(version));
}
