/*
 * Checks policies and their bindings, in upstream's order. Unchanged parts are not checked again.
 */
#include "api/api_limits.h"
#include "api/check/admission.h"
#include "api/check/checks.h"
#include "api/schema/names.h"

enum {
	AUDIT_ANNOTATIONS_MAX = 20,
	ANNOTATION_EXPRESSION_MAX = 5 * 1024, /* bytes */
};

static bool is_as_it_was(const struct validation *v, const struct json *object)
{
	return v->old && json_equal(json_getz(object, "spec"), json_getz(v->old, "spec"));
}

/* --- parameters --------------------------------------------------------------------- */

/* Reports all faults of a format in one detail, as upstream joins them here. */
static void check_joined(struct validation *v, enum schema_format format, struct str text,
			 struct str shown, const char *before, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct names_faults faults;

	names_find_faults(format, text, &faults);
	if (!faults.n)
		return;
	(void)buf_addz(&detail, before);
	for (size_t i = 0; i < faults.n; i++)
		(void)buf_printf(&detail, "%s%s", i ? "," : "", faults.text[i]);
	field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(shown), buf_str(&detail));
}

static void admission_policy_check_version(struct validation *v, struct str text,
					   const struct field_path *path)
{
	ptrdiff_t slash = str_chr(text, '/');
	struct str group = slash < 0 ? STR("") : str_of(text.p, (size_t)slash);
	struct str version = slash < 0 ? text : str_skip(text, (size_t)slash + 1);

	if (str_chr(version, '/') >= 0) {
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "unexpected GroupVersion string: %.*s", STR_ARG(text));
		return;
	}
	if (group.n)
		check_joined(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, group, group, "", path);
	if (!version.n)
		field_errors_invalid(v->errs, path, FIELD_STR(text), "version must be specified");
	else
		check_joined(v, SCHEMA_FORMAT_DNS1035_LABEL, version, version, "", path);
}

static void check_param_kind(struct validation *v, const struct json *kind,
			     const struct field_path *path)
{
	struct field_path version_at = field_path_name(path, "apiVersion");
	struct field_path kind_at = field_path_name(path, "kind");
	struct str version = json_text_at(kind, "apiVersion"), name = json_text_at(kind, "kind");

	if (!version.n)
		field_errors_required(v->errs, &version_at, NULL);
	else
		admission_policy_check_version(v, version, &version_at);
	if (!name.n)
		field_errors_required(v->errs, &kind_at, NULL);
	else
		check_joined(v, SCHEMA_FORMAT_DNS1035_LABEL, arena_lower(v->arena, name), name,
			     "may have mixed case, but should otherwise match: ", &kind_at);
}

static void check_param_ref(struct validation *v, const struct json *ref,
			    const struct field_path *path)
{
	static const struct str actions[] = { STR("Deny"), STR("Allow") };
	struct field_path name_at = field_path_name(path, "name");
	struct field_path selector_at = field_path_name(path, "selector");
	struct field_path action_at = field_path_name(path, "parameterNotFoundAction");
	struct str name = json_text_at(ref, "name");
	struct str action = json_text_at(ref, "parameterNotFoundAction");
	const struct json *selector = json_getz(ref, "selector");
	const char *fault = name.n ? names_path_segment(name) : NULL;

	if (fault)
		field_errors_invalid(v->errs, &name_at, FIELD_STR(name), fault);
	if (name.n && selector) {
		field_errors_forbidden(v->errs, &name_at,
				       "name and selector are mutually exclusive");
		field_errors_forbidden(v->errs, &selector_at,
				       "name and selector are mutually exclusive");
	}
	if (!name.n && !selector)
		field_errors_required(v->errs, path, "one of name or selector must be specified");
	if (!action.n)
		field_errors_required(v->errs, &action_at, NULL);
	else if (!str_eq(action, actions[0]) && !str_eq(action, actions[1]))
		field_errors_not_supported(v->errs, &action_at, FIELD_STR(action), actions,
					   ARRAY_SIZE(actions));
}

/* --- expressions -------------------------------------------------------------------- */

static bool is_identifier(struct str s)
{
	static const char *const reserved[] = {
		"true",     "false",   "null",      "in",       "as",  "break",  "const",
		"continue", "else",    "for",       "function", "if",  "import", "let",
		"loop",     "package", "namespace", "return",   "var", "void",   "while",
	};

	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (str_eqz(s, reserved[i]))
			return false;
	return s.n && names_c_identifier(s) == NULL;
}

/* Declares each variable for the later ones, whether it compiles or not. */
static void check_variable(struct validation *v, const struct json *variable,
			   struct cel_policy_options options, struct cel_policy_named *named,
			   const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path expression_at = field_path_name(path, "expression");
	struct str name = json_text_at(variable, "name");
	struct str text = json_text_at(variable, "expression");
	const struct cel_program *program = NULL;

	if (!str_trim_space(name).n)
		field_errors_required(v->errs, &name_at, "name is not specified");
	else if (!is_identifier(name))
		field_errors_invalid(v->errs, &name_at, FIELD_STR(name),
				     "must be a valid CEL identifier");
	if (!str_trim_space(text).n) {
		field_errors_required(v->errs, &expression_at, "expression is not specified");
		return;
	}
	program = check_admission_expr(v, options, text, text, CEL_POLICY_VALUE, &expression_at);
	cel_policy_declare(named, name, program ? cel_program_type(program) : NULL);
}

static void check_variables(struct validation *v, const struct json *list,
			    struct cel_policy_options *options, const struct field_path *path)
{
	struct cel_policy_named *named = ARENA_NEW(v->arena, struct cel_policy_named);
	size_t i = 0;

	if (!json_count(list))
		return;
	cel_policy_named_init(named, v->arena, list);
	options->named = &named->type;
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(path, i++);

		check_variable(v, it, *options, named, &at);
	}
}

static void check_message(struct validation *v, const struct json *validation,
			  struct cel_policy_options options, const struct field_path *path)
{
	struct field_path expression_at = field_path_name(path, "messageExpression");
	struct field_path message_at = field_path_name(path, "message");
	struct str expression = json_text_at(validation, "messageExpression");
	struct str message = json_text_at(validation, "message");
	struct str shown = str_trim_space(message);

	options.authorizer = false;
	if (expression.n && !str_trim_space(expression).n)
		field_errors_invalid(v->errs, &expression_at, FIELD_STR(expression),
				     "must be non-empty if specified");
	else if (expression.n)
		(void)check_admission_expr(v, options, expression, expression, CEL_POLICY_MESSAGE,
					   &expression_at);
	if (message.n && !shown.n)
		field_errors_invalid(v->errs, &message_at, FIELD_STR(message),
				     "must be non-empty if specified");
	else if (str_chr(shown, '\n') >= 0 || str_chr(shown, '\r') >= 0)
		field_errors_invalid(v->errs, &message_at, FIELD_STR(message),
				     "must not contain line breaks");
}

static void check_validation(struct validation *v, const struct json *validation,
			     struct cel_policy_options options, const struct field_path *path)
{
	static const struct str reasons[] = { STR("Forbidden"), STR("Invalid"),
					      STR("RequestEntityTooLarge") };
	struct field_path expression_at = field_path_name(path, "expression");
	struct field_path reason_at = field_path_name(path, "reason");
	struct str text = json_text_at(validation, "expression");
	struct str reason = json_text_at(validation, "reason");
	bool known = !reason.p;

	if (!str_trim_space(text).n)
		field_errors_required(v->errs, &expression_at, "expression is not specified");
	else
		(void)check_admission_expr(v, options, text, text, CEL_POLICY_CONDITION,
					   &expression_at);
	check_message(v, validation, options, path);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		known |= str_eq(reason, reasons[i]);
	if (!known)
		field_errors_not_supported(v->errs, &reason_at, FIELD_STR(reason), reasons,
					   ARRAY_SIZE(reasons));
}

static void check_annotation(struct validation *v, const struct json *annotation,
			     struct cel_policy_options options, const struct field_path *path)
{
	struct field_path key_at = field_path_name(path, "key");
	struct field_path value_at = field_path_name(path, "valueExpression");
	struct str name = json_text_at(json_getz(v->object, "metadata"), "name");
	struct str key = json_text_at(annotation, "key");
	struct str given = json_text_at(annotation, "valueExpression");
	struct str text = str_trim_space(given);

	if (name.n)
		validate_format(
			v, SCHEMA_FORMAT_LABEL_KEY,
			str_from(arena_printf(v->arena, "%.*s/%.*s", STR_ARG(name), STR_ARG(key))),
			&key_at);
	if (!text.n)
		field_errors_required(v->errs, &value_at, "valueExpression is not specified");
	else if (text.n > ANNOTATION_EXPRESSION_MAX)
		field_errors_required(v->errs, &value_at, "must not exceed 5120 bytes in length");
	else
		(void)check_admission_expr(v, options, text, given, CEL_POLICY_ANNOTATION,
					   &value_at);
}

/* Formats the list as upstream does: with Go's names. */
static struct field_value shown_annotations(struct validation *v, const struct json *list)
{
	struct json *shown = json_make_array(v->arena);

	JSON_FOREACH (it, list) {
		struct json *item = json_make_object(v->arena);

		json_put_str(v->arena, item, "Key", json_text_at(it, "key"));
		json_put_str(v->arena, item, "ValueExpression",
			     json_text_at(it, "valueExpression"));
		json_append(shown, item);
	}
	return validate_shown(v, shown);
}

static void check_annotations(struct validation *v, const struct json *list,
			      struct cel_policy_options options, const struct field_path *path)
{
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	/* Too many are rejected without compiling them. */
	if (json_count(list) > AUDIT_ANNOTATIONS_MAX) {
		field_errors_addf(v->errs, FIELD_INVALID, path, shown_annotations(v, list),
				  "must not have more than %d auditAnnotations",
				  AUDIT_ANNOTATIONS_MAX);
		return;
	}
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(path, i++);
		struct field_path key_at = field_path_name(&at, "key");
		struct str key = json_text_at(it, "key");

		check_annotation(v, it, options, &at);
		if (check_admission_seen(&seen, key))
			field_errors_duplicate(v->errs, &key_at, FIELD_STR(key));
	}
}

/* --- policies ----------------------------------------------------------------------- */

/* Checks that validating and mutating policies share; *ret_options is for the later expressions. */
static void check_policy(struct validation *v, const struct json *spec,
			 const struct field_path *path, struct cel_policy_options *ret_options)
{
	const struct json *kind = json_getz(spec, "paramKind");
	const struct json *match = json_getz(spec, "matchConstraints");
	struct field_path kind_at = field_path_name(path, "paramKind");
	struct field_path match_at = field_path_name(path, "matchConstraints");
	struct field_path rules_at = field_path_name(&match_at, "resourceRules");
	struct field_path conditions_at = field_path_name(path, "matchConditions");
	struct field_path variables_at = field_path_name(path, "variables");

	*ret_options = (struct cel_policy_options){ .params = kind != NULL, .authorizer = true };
	if (kind)
		check_param_kind(v, kind, &kind_at);
	if (match)
		check_match_resources(v, match, &match_at);
	else
		field_errors_required(v->errs, &match_at, NULL);
	if (match && !json_count(json_getz(match, "resourceRules")))
		field_errors_required(v->errs, &rules_at, NULL);
	check_match_conditions(v, json_getz(spec, "matchConditions"), kind != NULL, &conditions_at);
	check_variables(v, json_getz(spec, "variables"), ret_options, &variables_at);
}

void check_validating_policy(struct validation *v, const struct json *object)
{
	static const char *const nothing =
		"validations or auditAnnotations must contain at least one item";
	const struct json *spec = json_getz(object, "spec");
	const struct json *validations = json_getz(spec, "validations");
	const struct json *annotations = json_getz(spec, "auditAnnotations");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path validations_at = field_path_name(&path, "validations");
	struct field_path annotations_at = field_path_name(&path, "auditAnnotations");
	struct cel_policy_options options;
	size_t i = 0;

	if (is_as_it_was(v, object))
		return;
	check_policy(v, spec, &path, &options);
	if (!json_count(validations) && !json_count(annotations)) {
		field_errors_required(v->errs, &validations_at, nothing);
		field_errors_required(v->errs, &annotations_at, nothing);
		return;
	}
	JSON_FOREACH (it, validations) {
		struct field_path at = field_path_index(&validations_at, i++);

		check_validation(v, it, options, &at);
	}
	check_annotations(v, annotations, options, &annotations_at);
}

/* --- bindings ----------------------------------------------------------------------- */

static void check_binding(struct validation *v, const struct json *spec,
			  const struct field_path *path)
{
	const struct json *ref = json_getz(spec, "paramRef");
	struct str name = json_text_at(spec, "policyName");
	struct field_path name_at = field_path_name(path, "policyName");
	struct field_path ref_at = field_path_name(path, "paramRef");
	struct field_path match_at = field_path_name(path, "matchResources");

	if (!name.n)
		field_errors_required(v->errs, &name_at, NULL);
	else
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &name_at);
	if (ref)
		check_param_ref(v, ref, &ref_at);
	check_match_resources(v, json_getz(spec, "matchResources"), &match_at);
}

static void check_actions(struct validation *v, const struct json *actions,
			  const struct field_path *path)
{
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	JSON_FOREACH (it, actions) {
		struct field_path at = field_path_index(path, i++);

		if (check_admission_seen(&seen, json_str(it)))
			field_errors_duplicate(v->errs, &at, FIELD_STR(json_str(it)));
	}
	if (json_has_text(actions, STR("Deny")) && json_has_text(actions, STR("Warn")))
		field_errors_invalid(v->errs, path, validate_shown(v, actions),
				     "must not contain both Deny and Warn (repeating the same "
				     "validation failure information in the API response and "
				     "headers serves no purpose)");
	if (!i)
		field_errors_required(v->errs, path, NULL);
}

void check_validating_binding(struct validation *v, const struct json *object)
{
	const struct json *spec = json_getz(object, "spec");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path actions_at = field_path_name(&path, "validationActions");

	if (is_as_it_was(v, object))
		return;
	check_binding(v, spec, &path);
	check_actions(v, json_getz(spec, "validationActions"), &actions_at);
}

/* --- mutating ----------------------------------------------------------------------- */

/* Only requests that create or update (or connect) can be mutated. */
static void check_operations(struct validation *v, const struct json *match,
			     const struct field_path *path)
{
	static const struct str known[] = { STR("*"), STR("CONNECT"), STR("CREATE"),
					    STR("UPDATE") };
	struct field_path rules_at = field_path_name(path, "resourceRules");
	struct field_path at = field_path_name(&rules_at, "operations");

	JSON_FOREACH (rule, json_getz(match, "resourceRules"))
		if (json_has_text(json_getz(rule, "operations"), STR("DELETE")))
			field_errors_not_supported(v->errs, &at, FIELD_STR(STR("DELETE")), known,
						   ARRAY_SIZE(known));
}

static void check_patch_expr(struct validation *v, const struct json *part, bool applies,
			     struct cel_policy_options options, const struct field_path *path)
{
	struct field_path expression_at = field_path_name(path, "expression");
	struct str text = str_trim_space(json_text_at(part, "expression"));

	options.mutates = true;
	if (!text.n)
		field_errors_required(v->errs, &expression_at, NULL);
	else
		(void)check_admission_expr(v, options, text, text,
					   applies ? CEL_POLICY_APPLY : CEL_POLICY_PATCH,
					   &expression_at);
}

/* Each patch type needs its own part, and forbids the other. */
static void check_mutation(struct validation *v, const struct json *mutation,
			   struct cel_policy_options options, const struct field_path *path)
{
	struct str type = json_text_at(mutation, "patchType");
	bool apply = str_eqz(type, "ApplyConfiguration");
	const char *mine = apply ? "applyConfiguration" : "jsonPatch";
	const char *other = apply ? "jsonPatch" : "applyConfiguration";
	const struct json *part = json_getz(mutation, mine);
	struct field_path type_at = field_path_name(path, "patchType");
	struct field_path mine_at = field_path_name(path, mine);
	struct field_path other_at = field_path_name(path, other);

	if (!type.n) {
		field_errors_required(v->errs, &type_at, NULL);
		return;
	}
	if (!apply && !str_eqz(type, "JSONPatch"))
		return; /* the tables report it */
	if (part)
		check_patch_expr(v, part, apply, options, &mine_at);
	else
		field_errors_required(v->errs, &mine_at,
				      arena_printf(v->arena,
						   "must be specified when patchType is %.*s",
						   STR_ARG(type)));
	if (json_getz(mutation, other))
		field_errors_addf(v->errs, FIELD_INVALID, &other_at,
				  FIELD_STR(str_from(arena_printf(v->arena, "{%s}", other))),
				  "must not be specified when patchType is %.*s", STR_ARG(type));
}

void check_mutating_policy(struct validation *v, const struct json *object)
{
	const struct json *spec = json_getz(object, "spec");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path match_at = field_path_name(&path, "matchConstraints");
	struct field_path mutations_at = field_path_name(&path, "mutations");
	struct field_path again_at = field_path_name(&path, "reinvocationPolicy");
	struct cel_policy_options options;
	size_t i = 0;

	if (is_as_it_was(v, object))
		return;
	check_policy(v, spec, &path, &options);
	check_operations(v, json_getz(spec, "matchConstraints"), &match_at);
	if (!json_count(json_getz(spec, "mutations")))
		field_errors_required(v->errs, &mutations_at,
				      "mutations must contain at least one item");
	JSON_FOREACH (it, json_getz(spec, "mutations")) {
		struct field_path at = field_path_index(&mutations_at, i++);

		check_mutation(v, it, options, &at);
	}
	if (!json_text_at(spec, "reinvocationPolicy").n)
		field_errors_required(v->errs, &again_at, NULL);
}

void check_mutating_binding(struct validation *v, const struct json *object)
{
	const struct json *spec = json_getz(object, "spec");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path match_at = field_path_name(&path, "matchResources");

	if (is_as_it_was(v, object))
		return;
	check_binding(v, spec, &path);
	check_operations(v, json_getz(spec, "matchResources"), &match_at);
}
