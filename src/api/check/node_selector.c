/*
 * core/v1 NodeSelector, which pods, persistent volumes, resource slices and
 * allocations use.
 */
#include "api/check/checks.h"

static void check_values(struct validation *v, struct str how, size_t n,
			 const struct field_path *path)
{
	struct field_path values_at = field_path_name(path, "values");
	struct field_path operator_at = field_path_name(path, "operator");

	if (str_eqz(how, "In") || str_eqz(how, "NotIn")) {
		if (n == 0)
			field_errors_required(v->errs, &values_at,
					      "must be specified when `operator` is 'In' or "
					      "'NotIn'");
	} else if (str_eqz(how, "Exists") || str_eqz(how, "DoesNotExist")) {
		if (n > 0)
			field_errors_forbidden(v->errs, &values_at,
					       "may not be specified when `operator` is 'Exists' "
					       "or 'DoesNotExist'");
	} else if (str_eqz(how, "Gt") || str_eqz(how, "Lt")) {
		if (n != 1)
			field_errors_required(v->errs, &values_at,
					      "must be specified single value when `operator` is "
					      "'Lt' or 'Gt'");
	} else {
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(how),
				     "not a valid selector operator");
	}
}

static void check_expression(struct validation *v, const struct json *requirement,
			     const struct field_path *path)
{
	struct field_path values_at = field_path_name(path, "values");
	struct field_path key_at = field_path_name(path, "key");
	const struct json *values = json_getz(requirement, "values");
	size_t i = 0;

	check_values(v, json_text_at(requirement, "operator"), json_count(values), path);
	validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(requirement, "key"), &key_at);
	JSON_FOREACH (value, values) {
		struct field_path at = field_path_index(&values_at, i++);

		validate_format(v, SCHEMA_FORMAT_LABEL_VALUE, json_str(value), &at);
	}
}

/* The only field that can be matched is metadata.name. */
static void check_field(struct validation *v, const struct json *requirement,
			const struct field_path *path)
{
	struct field_path values_at = field_path_name(path, "values");
	struct field_path operator_at = field_path_name(path, "operator");
	struct field_path key_at = field_path_name(path, "key");
	const struct json *values = json_getz(requirement, "values");
	struct str how = json_text_at(requirement, "operator"),
		   key = json_text_at(requirement, "key");
	size_t i = 0;

	if (!str_eqz(how, "In") && !str_eqz(how, "NotIn"))
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(how),
				     "not a valid selector operator");
	else if (json_count(values) != 1)
		field_errors_required(v->errs, &values_at,
				      "must be only one value when `operator` is 'In' or 'NotIn' "
				      "for node field selector");
	if (!str_eqz(key, "metadata.name")) {
		field_errors_invalid(v->errs, &key_at, FIELD_STR(key),
				     "not a valid field selector key");
		return;
	}
	JSON_FOREACH (value, values) {
		struct field_path at = field_path_index(&values_at, i++);

		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, json_str(value), &at);
	}
}

void check_node_selector_term(struct validation *v, const struct json *term,
			      const struct field_path *path)
{
	struct field_path expressions = field_path_name(path, "matchExpressions");
	struct field_path fields = field_path_name(path, "matchFields");
	size_t i = 0;

	JSON_FOREACH (requirement, json_getz(term, "matchExpressions")) {
		struct field_path at = field_path_index(&expressions, i++);

		check_expression(v, requirement, &at);
	}
	i = 0;
	JSON_FOREACH (requirement, json_getz(term, "matchFields")) {
		struct field_path at = field_path_index(&fields, i++);

		check_field(v, requirement, &at);
	}
}

void check_node_selector(struct validation *v, const struct json *selector,
			 const struct field_path *path)
{
	struct field_path at = field_path_name(path, "nodeSelectorTerms");

	if (json_count(json_getz(selector, "nodeSelectorTerms")) == 0)
		field_errors_required(v->errs, &at, "must have at least one node selector term");
}
