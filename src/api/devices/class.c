/*
 * Device classes, and what classes share with claims: expressions about devices and opaque
 * configuration.
 *
 * An expression is compiled to check it, and the program is discarded: components that run it keep
 * their own. Stored expressions are not checked again, and recently checked selectors are cached.
 */
#include "api/api_limits.h"
#include "api/devices/checks.h"
#include "api/devices/claim_rules.h"
#include "api/devices/known_selectors.h"
#include "api/devices/selector_trial.h"
#include "api/schema/names.h"
#include "cel/kubernetes/device.h"

/* --- expressions -------------------------------------------------------------------- */

/* Whether the object's expressions have used up the budget already. */
static bool is_spent(const struct validation *v)
{
	return v->budget && v->budget->spent;
}

void check_report_spent(struct validation *v, const struct field_path *path)
{
	field_errors_forbidden(v->errs, path, "too complex, " CEL_COMPILE_EXCEEDED);
}

/* A verdict of the trial costs the budget as much as compiling the expression now. */
static struct selector_verdict class_judge(const struct validation *v, struct str text)
{
	const struct selector_verdict *known = selector_trial_find(v->trial, text);
	struct cel_env env = { .budget = v->budget };

	if (!known)
		return selector_judge(text, v->gates, v->budget, v->arena);
	(void)cel_spend(&env, known->steps);
	return *known;
}

/* Returns whether it is valid; if not, reports why. */
static bool class_report(struct validation *v, const struct selector_verdict *j, struct str misuse,
			 const struct field_path *path)
{
	if (is_spent(v)) {
		check_report_spent(v, path);
	} else if (j->complex) {
		field_errors_forbidden(
			v->errs, path,
			"too complex, compiling the CEL expression exceeds cost limit");
	} else if (j->internal) {
		field_errors_add(v->errs, FIELD_INTERNAL, path, FIELD_OMITTED, j->fault);
	} else if (!j->compiled || misuse.n) {
		field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(j->text),
				 j->compiled ? misuse : j->fault);
	} else if (j->cost > CEL_DEVICE_COST_MAX) {
		field_errors_forbidden(v->errs, path, "too complex, exceeds cost limit");
	} else {
		return true;
	}
	return false;
}

/*
 * Returns whether it is valid. An expression that is too long, or beyond the budget, is not
 * compiled.
 */
static bool check_device_expression(struct validation *v, struct str text, enum cel_device_use use,
				    const struct field_path *path)
{
	struct selector_verdict j;

	if (text.n > CEL_EXPRESSION_MAX) {
		field_errors_too_long(v->errs, path, CEL_EXPRESSION_MAX);
		return false;
	}
	if (is_spent(v))
		return false;
	j = class_judge(v, text);
	return class_report(v, &j, use == CEL_DEVICE_SELECTOR ? j.unselecting : j.underivable,
			    path);
}

uint64_t check_derived_attribute_cost(const struct validation *v, struct str text)
{
	struct selector_verdict j;

	if (text.n > CEL_EXPRESSION_MAX)
		return 0;
	j = class_judge(v, text);
	return j.compiled ? MIN(j.cost, CEL_DEVICE_COST_MAX + 1) : 0;
}

void check_cel_selector(struct validation *v, const struct json *cel, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "expression");
	struct str text = json_text_at(cel, "expression");

	if (known_selectors_have(v->selectors, text))
		return;
	if (check_device_expression(v, text, CEL_DEVICE_SELECTOR, &at))
		known_selectors_add(v->selectors, text);
}

void check_derived_attribute(struct validation *v, const struct json *attribute,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "expression");
	struct str text = json_text_at(attribute, "expression");

	if (text.n > 0)
		(void)check_device_expression(v, text, CEL_DEVICE_DERIVED, &at);
}

/* --- configuration ------------------------------------------------------------------ */

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
