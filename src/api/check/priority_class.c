/*
 * Priority classes: names and values reserved for the system.
 */
#include "api/check/checks.h"

enum { HIGHEST_USER = 1000000000 };

static const struct system_class {
	const char *name;
	int64_t value;
} system_classes[] = {
	{ "system-node-critical", 2000001000 },
	{ "system-cluster-critical", 2000000000 },
};

static const char *fault_of(struct validation *v, const struct json *class, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_classes); i++) {
		const struct system_class *s = &system_classes[i];

		if (!str_eqz(name, s->name))
			continue;
		if (json_i64_at(class, "value", 0) != s->value)
			return arena_printf(v->arena, "value of %s PriorityClass must be %lld",
					    s->name, (long long)s->value);
		return json_true_at(class, "globalDefault")
			       ? arena_printf(v->arena,
					      "globalDefault of %s PriorityClass must be false",
					      s->name)
			       : NULL;
	}
	return arena_printf(v->arena, "%.*s is not a known system priority class", STR_ARG(name));
}

/* Checks only new ones: upstream's update checks only immutable fields. */
void check_priority_class(struct validation *v, const struct json *class)
{
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path name_at = field_path_name(&meta_at, "name");
	struct field_path value_at = field_path_name(NULL, "value");
	struct str name = json_text_at(json_getz(class, "metadata"), "name");
	const char *fault;

	if (v->old)
		return;
	if (!str_starts(name, STR("system-"))) {
		if (json_i64_at(class, "value", 0) > HIGHEST_USER)
			field_errors_addf(v->errs, FIELD_FORBIDDEN, &value_at, FIELD_OMITTED,
					  "maximum allowed value of a user defined priority is %d",
					  HIGHEST_USER);
		return;
	}
	fault = fault_of(v, class, name);
	if (fault)
		field_errors_addf(v->errs, FIELD_FORBIDDEN, &name_at, FIELD_OMITTED,
				  "priority class names with 'system-' prefix are reserved for "
				  "system use only. error: %s",
				  fault);
}

void check_priority_class_update(struct validation *v, const struct json *class,
				 const struct json *old)
{
	struct field_path value_at = field_path_name(NULL, "value");
	struct field_path policy_at = field_path_name(NULL, "preemptionPolicy");

	if (json_i64_at(class, "value", 0) != json_i64_at(old, "value", 0))
		field_errors_forbidden(v->errs, &value_at, "may not be changed in an update.");
	validate_immutable(v, json_getz(class, "preemptionPolicy"),
			   json_getz(old, "preemptionPolicy"), &policy_at);
}
