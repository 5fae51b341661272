/*
 * Device classes, and what classes share with claims: selectors and opaque
 * configuration.
 */
#include "api/checks.h"
#include "api/names.h"
#include "base/limits.h"

/*
 * One CEL expression that picks devices. Only its size is judged here; whether
 * it compiles and what it costs is for the CEL layer to say, at this place.
 */
static void check_cel_expression(struct validation *v, const struct json *expression,
				 const struct field_path *path)
{
	struct str text = json_str(expression);

	if (text.n == 0)
		field_errors_required(v->errs, path, NULL);
	else if (text.n > CEL_EXPRESSION_MAX)
		field_errors_too_long(v->errs, path, CEL_EXPRESSION_MAX);
}

void check_cel_selector(struct validation *v, const struct json *cel, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "expression");

	check_cel_expression(v, json_getz(cel, "expression"), &at);
}

void check_derived_attribute(struct validation *v, const struct json *attribute,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "expression");
	const struct json *expression = json_getz(attribute, "expression");

	if (!validate_is_unset(expression))
		check_cel_expression(v, expression, &at);
}

void check_opaque_configuration(struct validation *v, const struct json *opaque,
				const struct field_path *path)
{
	struct field_path at = field_path_name(path, "parameters");

	validate_raw_object(v, json_getz(opaque, "parameters"), OPAQUE_PARAMETERS_MAX, &at);
}

void check_extended_resource_name(struct validation *v, const struct json *name,
				  const struct field_path *path)
{
	if (!names_is_extended_resource(json_str(name)))
		field_errors_invalid(v->errs, path, FIELD_STR(json_str(name)),
				     "must be a valid extended resource name");
}
