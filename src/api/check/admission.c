/*
 * Checks rules, selectors and conditions. The tables check enumerated values and selectors.
 */
#include "api/check/admission.h"

#include "api/schema/names.h"

bool check_admission_seen(struct map *seen, struct str text)
{
	static const char there;

	if (!text.p)
		text = STR("");
	if (map_get(seen, text))
		return true;
	(void)map_put(seen, text, (void *)(uintptr_t)&there);
	return false;
}

/* --- rules -------------------------------------------------------------------------- */

/* Checks that a list is not empty, and has "*" only alone. `what` names the other values. */
static void check_wildcards(struct validation *v, const struct json *rule, const char *name,
			    const char *what, const struct field_path *path)
{
	const struct json *list = json_getz(rule, name);
	struct field_path at = field_path_name(path, name);

	if (json_count(list) == 0)
		field_errors_required(v->errs, &at, NULL);
	if (json_count(list) > 1 && json_has_text(list, STR("*")))
		field_errors_addf(v->errs, FIELD_INVALID, &at, validate_shown(v, list),
				  "if '*' is present, must not specify other %s", what);
}

/* `seen` has the earlier ones, which may already cover this one. */
static void check_subresource(struct validation *v, const struct map *seen, struct str text,
			      const struct field_path *path)
{
	ptrdiff_t slash = str_chr(text, '/');
	struct str resource = str_of(text.p, (size_t)slash);
	struct str sub = str_skip(text, (size_t)slash + 1);
	const char *all = arena_printf(v->arena, "%.*s/*", STR_ARG(resource));
	const char *any = arena_printf(v->arena, "*/%.*s", STR_ARG(sub));

	if (map_get(seen, str_from(all)))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "if '%s' is present, must not specify %.*s", all, STR_ARG(text));
	if (map_get(seen, str_from(any)))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "if '%s' is present, must not specify %.*s", any, STR_ARG(text));
}

static void check_resources(struct validation *v, const struct json *list,
			    const struct field_path *path)
{
	CLEANUP(map_release) struct map seen;
	bool plain = false;
	size_t i = 0;

	map_init(&seen);

	if (json_count(list) == 0)
		field_errors_required(v->errs, path, NULL);
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(path, i++);
		struct str text = json_str(it);

		if (!text.n)
			field_errors_required(v->errs, &at, NULL);
		else if (str_chr(text, '/') >= 0)
			check_subresource(v, &seen, text, &at);
		else
			plain = !str_eqz(text, "*"); /* of the last one, as upstream */
		(void)check_admission_seen(&seen, text);
	}
	if (json_count(list) > 1 && json_has_text(list, STR("*/*")))
		field_errors_invalid(v->errs, path, validate_shown(v, list),
				     "if '*/*' is present, must not specify other resources");
	if (plain && json_has_text(list, STR("*")))
		field_errors_invalid(v->errs, path, validate_shown(v, list),
				     "if '*' is present, must not specify other resources without "
				     "subresources");
}

void check_admission_rule(struct validation *v, const struct json *rule,
			  const struct field_path *path)
{
	struct field_path versions_at = field_path_name(path, "apiVersions");
	struct field_path resources_at = field_path_name(path, "resources");
	size_t i = 0;

	check_wildcards(v, rule, "operations", "operations", path);
	check_wildcards(v, rule, "apiGroups", "API groups", path);
	check_wildcards(v, rule, "apiVersions", "API versions", path);
	JSON_FOREACH (it, json_getz(rule, "apiVersions")) {
		struct field_path at = field_path_index(&versions_at, i++);

		if (!json_str(it).n)
			field_errors_required(v->errs, &at, NULL);
	}
	check_resources(v, json_getz(rule, "resources"), &resources_at);
}

static void check_resource_names(struct validation *v, const struct json *names,
				 const struct field_path *path)
{
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	JSON_FOREACH (it, names) {
		struct field_path at = field_path_index(path, i++);
		struct str name = json_str(it);
		const char *fault = names_path_segment(name);

		if (fault)
			field_errors_invalid(v->errs, &at, FIELD_STR(name), fault);
		if (check_admission_seen(&seen, name))
			field_errors_duplicate(v->errs, &at, FIELD_STR(name));
	}
}

static void check_named_rules(struct validation *v, const struct json *match, const char *name,
			      const struct field_path *path)
{
	struct field_path list_at = field_path_name(path, name);
	size_t i = 0;

	JSON_FOREACH (it, json_getz(match, name)) {
		struct field_path at = field_path_index(&list_at, i++);
		struct field_path names_at = field_path_name(&at, "resourceNames");

		check_resource_names(v, json_getz(it, "resourceNames"), &names_at);
		check_admission_rule(v, it, &at);
	}
}

void check_match_resources(struct validation *v, const struct json *match,
			   const struct field_path *path)
{
	check_named_rules(v, match, "resourceRules", path);
	check_named_rules(v, match, "excludeResourceRules", path);
}

/* --- expressions -------------------------------------------------------------------- */

const struct cel_program *check_admission_expr(struct validation *v,
					       struct cel_policy_options options, struct str text,
					       struct str shown, enum cel_policy_use use,
					       const struct field_path *path)
{
	const char *fault = NULL;
	const struct cel_program *program;
	struct error err;

	if (v->budget && v->budget->spent)
		return NULL;
	options.budget = v->budget;
	program = cel_policy_compile(options, text, use, v->arena, &fault);
	if (program)
		return program;
	if (v->budget && v->budget->spent) {
		field_errors_forbidden(v->errs, path, "too complex, " CEL_COMPILE_EXCEEDED);
	} else if (str_starts(str_from(fault), STR("program instantiation failed"))) {
		(void)error_set(&err, ERR_INTERNAL, "%s", fault);
		field_errors_internal(v->errs, path, &err);
	} else {
		field_errors_invalid(v->errs, path, FIELD_STR(shown), fault);
	}
	return NULL;
}

static void check_condition(struct validation *v, const struct json *condition, bool params,
			    const struct field_path *path)
{
	const struct cel_policy_options options = { .params = params, .authorizer = true };
	struct field_path expression_at = field_path_name(path, "expression");
	struct field_path name_at = field_path_name(path, "name");
	struct str text = str_trim_space(json_text_at(condition, "expression"));
	struct str name = json_text_at(condition, "name");

	if (!text.n)
		field_errors_required(v->errs, &expression_at, NULL);
	else
		(void)check_admission_expr(v, options, text, text, CEL_POLICY_CONDITION,
					   &expression_at);
	if (!name.n)
		field_errors_required(v->errs, &name_at, NULL);
	else
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, name, &name_at);
}

void check_match_conditions(struct validation *v, const struct json *list, bool params,
			    const struct field_path *path)
{
	enum { MATCH_CONDITIONS_MAX = 64 };
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	/* Too many are rejected without compiling them. */
	if (json_count(list) > MATCH_CONDITIONS_MAX) {
		field_errors_too_many(v->errs, path, (int64_t)json_count(list),
				      MATCH_CONDITIONS_MAX);
		return;
	}
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(path, i++);
		struct field_path name_at = field_path_name(&at, "name");
		struct str name = json_text_at(it, "name");

		check_condition(v, it, params, &at);
		if (name.n && check_admission_seen(&seen, name))
			field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
	}
}
