/*
 * Device classes, and what classes share with claims: expressions about devices and opaque
 * configuration.
 *
 * An expression is compiled to be judged and the program thrown away: those who run it keep
 * one of their own. What is stored already is not looked at again, and selectors that were
 * right a while ago are remembered.
 */
#include "api/check_claim.h"
#include "api/checks.h"
#include "api/known_selectors.h"
#include "api/names.h"
#include "base/limits.h"
#include "cel/device.h"

/* --- expressions -------------------------------------------------------------------- */

static struct cel_device_features features_of(const struct validation *v)
{
	return (struct cel_device_features){
		.consumable_capacity = gates_on(v->gates, GATE_DRAConsumableCapacity),
		.list_attributes = gates_on(v->gates, GATE_DRAListTypeAttributes),
	};
}

static void env_of(const struct validation *v, struct cel_env *env)
{
	cel_device_env(env, features_of(v));
	env->budget = v->budget;
}

/* Whether the object's expressions take too much already. */
static bool is_spent(const struct validation *v)
{
	return v->budget && v->budget->spent;
}

void check_report_spent(struct validation *v, const struct field_path *path)
{
	field_errors_forbidden(v->errs, path, "too complex, " CEL_COMPILE_EXCEEDED);
}

/*
 * A constant part that can only fail, int("x"), is found when all else is right, and is an
 * internal error upstream.
 */
static void report_issues(struct validation *v, struct str text, const struct cel_issues *issues,
			  const struct field_path *path)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT(CEL_PROGRAM_MAX);
	struct str first = issues->first ? issues->first->message : STR_NULL;

	if (is_spent(v)) {
		check_report_spent(v, path);
		return;
	}
	if (str_starts(first, STR("program instantiation failed: "))) {
		field_errors_add(v->errs, FIELD_INTERNAL, path, FIELD_OMITTED, first);
		return;
	}
	(void)buf_addz(&words, "compilation failed: ");
	cel_issues_print(issues, &words);
	field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(text), buf_str(&words));
}

/* NULL when it was refused. */
static const struct cel_program *compile(struct validation *v, struct str text,
					 enum cel_device_use use, struct arena *a,
					 const struct field_path *path)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT(CEL_PROGRAM_MAX);
	const struct cel_program *p;
	struct cel_issues issues;
	struct cel_env env;

	env_of(v, &env);
	cel_issues_init(&issues, a, text);
	p = cel_compile(&env, text, a, &issues);
	if (!p) {
		report_issues(v, text, &issues, path);
		return NULL;
	}
	if (cel_device_yields(p, features_of(v), use, &why))
		return p;
	field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(text), buf_str(&why));
	return NULL;
}

static uint64_t cost_of(const struct validation *v, const struct cel_program *p)
{
	struct cel_env env;

	cel_device_env(&env, features_of(v));
	return cel_cost_estimate(&env, cel_program_tree(p)).max;
}

/* Whether it is right. What is too long, or beyond the budget, is not compiled. */
static bool check_device_expression(struct validation *v, struct str text, enum cel_device_use use,
				    const struct field_path *path)
{
	CLEANUP(arena_release) struct arena a;
	const struct cel_program *p;

	arena_init(&a, CEL_PROGRAM_MAX);
	if (text.n > CEL_EXPRESSION_MAX) {
		field_errors_too_long(v->errs, path, CEL_EXPRESSION_MAX);
		return false;
	}
	if (is_spent(v))
		return false;
	p = compile(v, text, use, &a, path);
	if (!p || cost_of(v, p) <= CEL_DEVICE_COST_MAX)
		return p;
	field_errors_forbidden(v->errs, path, "too complex, exceeds cost limit");
	return false;
}

uint64_t check_derived_attribute_cost(const struct validation *v, struct str text)
{
	CLEANUP(arena_release) struct arena a;
	const struct cel_program *p;
	struct cel_issues issues;
	struct cel_env env;

	arena_init(&a, CEL_PROGRAM_MAX);
	if (text.n > CEL_EXPRESSION_MAX)
		return 0;
	env_of(v, &env);
	cel_issues_init(&issues, &a, text);
	p = cel_compile(&env, text, &a, &issues);
	return p ? MIN(cost_of(v, p), CEL_DEVICE_COST_MAX + 1) : 0;
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
