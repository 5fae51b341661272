/*
 * Types of metadata's group that kinds embed: metav1.Condition, metav1.LabelSelector and the
 * metadata of templates.
 */
#include "api/api_limits.h"
#include "api/check/checks.h"
#include "api/schema/names.h"
#include "base/json/index.h"

static void check_condition_status(struct validation *v, struct str status,
				   const struct field_path *path)
{
	static const struct str statuses[] = { { "False", 5 }, { "True", 4 }, { "Unknown", 7 } };

	if (status.n == 0) {
		field_errors_required(v->errs, path, NULL);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (str_eq(status, statuses[i]))
			return;
	}
	field_errors_not_supported(v->errs, path, FIELD_STR(status), statuses,
				   ARRAY_SIZE(statuses));
}

static void check_condition_reason(struct validation *v, struct str reason,
				   const struct field_path *path)
{
	const char *fault = names_condition_reason(reason);

	if (reason.n == 0) {
		field_errors_required(v->errs, path, NULL);
		return;
	}
	if (fault)
		field_errors_invalid(v->errs, path, FIELD_STR(reason), fault);
}

static void check_condition(struct validation *v, const struct json *condition,
			    const struct field_path *path)
{
	struct field_path type_at = field_path_name(path, "type");
	struct field_path status_at = field_path_name(path, "status");
	struct field_path generation_at = field_path_name(path, "observedGeneration");
	struct field_path time_at = field_path_name(path, "lastTransitionTime");
	struct field_path reason_at = field_path_name(path, "reason");
	struct field_path message_at = field_path_name(path, "message");
	int64_t generation = 0;

	if (json_text_at(condition, "type").n == 0)
		field_errors_required(v->errs, &type_at, "is required");
	else
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(condition, "type"),
				&type_at);
	check_condition_status(v, json_text_at(condition, "status"), &status_at);
	if (json_i64(json_getz(condition, "observedGeneration"), &generation) && generation < 0)
		field_errors_invalid(v->errs, &generation_at, FIELD_I64(generation),
				     "must be greater than or equal to zero");
	if (validate_is_unset(json_getz(condition, "lastTransitionTime")))
		field_errors_required(v->errs, &time_at, NULL);
	check_condition_reason(v, json_text_at(condition, "reason"), &reason_at);
	if (json_text_at(condition, "message").n > CONDITION_MESSAGE_MAX)
		field_errors_too_long(v->errs, &message_at, CONDITION_MESSAGE_MAX);
}

/* The table rejects too many conditions already. */
void check_conditions(struct validation *v, const struct json *conditions,
		      const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index types;
	size_t i = 0;

	json_index_init(&types, conditions, "type");
	if (json_count(conditions) > CONDITIONS_MAX)
		return;
	JSON_FOREACH (condition, conditions) {
		struct field_path at = field_path_index(path, i++);

		if (json_index_came_before(&types, condition))
			field_errors_duplicate(v->errs, &at,
					       FIELD_STR(json_text_at(condition, "type")));
		check_condition(v, condition, &at);
	}
}

static void check_requirement(struct validation *v, const struct json *requirement,
			      const struct field_path *path)
{
	struct field_path values_at = field_path_name(path, "values");
	struct field_path operator_at = field_path_name(path, "operator");
	struct field_path key_at = field_path_name(path, "key");
	const struct json *values = json_getz(requirement, "values");
	struct str how = json_text_at(requirement, "operator");
	size_t i = 0;

	if (str_eqz(how, "In") || str_eqz(how, "NotIn")) {
		if (json_count(values) == 0)
			field_errors_required(v->errs, &values_at,
					      "must be specified when `operator` is 'In' or "
					      "'NotIn'");
	} else if (str_eqz(how, "Exists") || str_eqz(how, "DoesNotExist")) {
		if (json_count(values) > 0)
			field_errors_forbidden(v->errs, &values_at,
					       "may not be specified when `operator` is 'Exists' "
					       "or 'DoesNotExist'");
	} else {
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(how),
				     "not a valid selector operator");
	}
	validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(requirement, "key"), &key_at);
	JSON_FOREACH (value, values) {
		struct field_path at = field_path_index(&values_at, i++);

		validate_format(v, SCHEMA_FORMAT_LABEL_VALUE, json_str(value), &at);
	}
}

void check_label_selector(struct validation *v, const struct json *selector,
			  const struct field_path *path)
{
	struct field_path labels_at = field_path_name(path, "matchLabels");
	struct field_path list = field_path_name(path, "matchExpressions");
	size_t i = 0;

	validate_labels(v, json_getz(selector, "matchLabels"), &labels_at);
	JSON_FOREACH (requirement, json_getz(selector, "matchExpressions")) {
		struct field_path at = field_path_index(&list, i++);

		check_requirement(v, requirement, &at);
	}
}

void check_pod_template_metadata(struct validation *v, const struct json *meta,
				 const struct field_path *path)
{
	struct field_path labels_at = field_path_name(path, "labels");
	struct field_path annotations_at = field_path_name(path, "annotations");

	validate_labels(v, json_getz(meta, "labels"), &labels_at);
	validate_annotations(v, json_getz(meta, "annotations"), &annotations_at);
}

void check_template_metadata(struct validation *v, const struct json *meta,
			     const struct field_path *path)
{
	check_pod_template_metadata(v, meta, path);
	JSON_FOREACH (member, meta) {
		struct field_path at = { path, json_key(member), 0, FIELD_PATH_NAME };

		if (!str_eqz(at.text, "labels") && !str_eqz(at.text, "annotations") &&
		    !validate_is_unset(member))
			field_errors_forbidden(v->errs, &at, "cannot be set");
	}
}
