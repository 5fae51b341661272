/*
 * CEL rules of a definition: checks that each is well-formed, compiles to the right type, and does
 * not cost too much, alone or with the others. Costs are estimates for the largest object that the
 * schema allows, times how often the rule's node can occur in it.
 */
#include "api/api_limits.h"
#include "api/crd/definition_rules.h"

/* Units of cost. */
#define COST_MAX       UINT64_C(10000000) /* of one expression */
#define COST_TOTAL_MAX UINT64_C(100000000) /* of all in a schema */

static bool has_line_break(struct str s)
{
	return str_chr(s, '\n') >= 0 || str_chr(s, '\r') >= 0;
}

/* --- form --------------------------------------------------------------------------- */

static void check_text(struct validation *v, const struct json *rule, const struct field_path *path)
{
	struct field_path rule_at = field_path_name(path, "rule");
	struct field_path message_at = field_path_name(path, "message");
	struct field_path expression_at = field_path_name(path, "messageExpression");
	struct str text = str_trim_space(json_text_at(rule, "rule")),
		   given = json_text_at(rule, "message");
	struct str message = str_trim_space(given),
		   expression = json_text_at(rule, "messageExpression");

	if (text.n == 0)
		field_errors_required(v->errs, &rule_at, "rule is not specified");
	else if (given.n && message.n == 0)
		field_errors_invalid(v->errs, &message_at, FIELD_STR(given),
				     "must be non-empty if specified");
	else if (has_line_break(message))
		field_errors_invalid(v->errs, &message_at, FIELD_STR(given),
				     "must not contain line breaks");
	else if (has_line_break(text) && message.n == 0)
		field_errors_required(v->errs, &message_at,
				      "message must be specified if rule contains line breaks");
	if (expression.n && str_trim_space(expression).n == 0)
		field_errors_required(v->errs, &expression_at,
				      "messageExpression must be non-empty if specified");
}

static void check_form(struct validation *v, const struct json *schema, const struct json *rule,
		       const struct field_path *path)
{
	static const struct str reasons[] = { STR("FieldValueDuplicate"),
					      STR("FieldValueForbidden"), STR("FieldValueInvalid"),
					      STR("FieldValueRequired") };
	struct field_path reason_at = field_path_name(path, "reason");
	struct field_path field_at = field_path_name(path, "fieldPath");
	struct str reason = json_text_at(rule, "reason"), field = json_text_at(rule, "fieldPath");
	bool known = !reason.p;
	const char *why;

	check_text(v, rule, path);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		known |= str_eq(reason, reasons[i]);
	if (!known)
		field_errors_not_supported(v->errs, &reason_at, FIELD_STR(reason), reasons,
					   ARRAY_SIZE(reasons));
	if (field.n && str_trim_space(field).n == 0)
		field_errors_invalid(v->errs, &field_at, FIELD_STR(field),
				     "must be non-empty if specified");
	if (has_line_break(field))
		field_errors_invalid(v->errs, &field_at, FIELD_STR(field),
				     "must not contain line breaks");
	if (field.n && !crd_field_path(v->arena, schema, field, true, NULL, &why))
		field_errors_invalid(v->errs, &field_at, FIELD_STR(field), "must be a valid path");
}

void check_crd_rule_forms(struct validation *v, const struct json *schema,
			  const struct field_path *path)
{
	struct field_path list = field_path_name(path, "x-kubernetes-validations");
	size_t i = 0;

	JSON_FOREACH (rule, json_getz(schema, "x-kubernetes-validations")) {
		struct field_path at = field_path_index(&list, i++);

		check_form(v, schema, rule, &at);
	}
}

/* --- costs -------------------------------------------------------------------------- */

static uint64_t times(uint64_t cost, uint64_t count)
{
	uint64_t product;

	return __builtin_mul_overflow(cost, count, &product) ? UINT64_MAX : product;
}

static const char *excess(struct arena *a, const char *what, uint64_t cost, uint64_t max)
{
	double factor = (double)cost / (double)max;
	const char *text = "more than 100x";

	if (factor < 1.5)
		text = arena_printf(a, "%fx", factor);
	else if (factor <= 100.0)
		text = arena_printf(a, "%.1fx", factor);
	return arena_printf(a,
			    "%s exceeds budget by factor of %s (try simplifying the rule, or "
			    "adding maxItems, maxProperties, and maxLength where arrays, maps, and "
			    "strings are declared)",
			    what, text);
}

/* Remembers the most expensive rules, which are reported if the total is too high. */
static void observe(struct check_crd_costs *costs, struct arena *a, const struct field_path *path,
		    uint64_t cost)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);
	size_t i = costs->n;

	costs->total = UINT64_MAX - costs->total < cost ? UINT64_MAX : costs->total + cost;
	if (cost < COST_TOTAL_MAX / 100)
		return;
	while (i > 0 && costs->most[i - 1].cost < cost)
		i--;
	if (i == ARRAY_SIZE(costs->most))
		return;
	costs->n = MIN(costs->n + 1, ARRAY_SIZE(costs->most));
	memmove(&costs->most[i + 1], &costs->most[i], (costs->n - i - 1) * sizeof(costs->most[0]));
	(void)field_path_print(path, &text);
	costs->most[i].path = arena_str(a, buf_str(&text));
	costs->most[i].cost = cost;
}

void check_crd_costs(struct validation *v, const struct check_crd_costs *costs,
		     const struct field_path *path)
{
	if (costs->total <= COST_TOTAL_MAX)
		return;
	for (size_t i = 0; i < costs->n; i++) {
		struct field_path at = { NULL, costs->most[i].path, 0, FIELD_PATH_NAME };

		field_errors_forbidden(v->errs, &at,
				       "contributed to estimated rule cost total exceeding cost "
				       "limit for entire OpenAPIv3 schema");
	}
	field_errors_forbidden(v->errs, path,
			       excess(v->arena,
				      "x-kubernetes-validations estimated rule cost total for "
				      "entire OpenAPIv3 schema",
				      costs->total, COST_TOTAL_MAX));
}

/* --- meaning ------------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *name, const struct json *value, bool nullable)
{
	(void)buf_printf(out, "%s\"%s\":", out->n > 1 ? "," : "", name);
	if (value)
		(void)json_print(out, value, &(struct json_style){ .html = true });
	else
		(void)buf_addz(out, nullable ? "null" : "\"\"");
}

/* Formats the rule as upstream does: with Go's names. */
static struct field_value definition_rules_shown(struct validation *v, const struct json *rule)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);

	(void)buf_addc(&text, '{');
	add_member(&text, "Rule", json_getz(rule, "rule"), false);
	add_member(&text, "Message", json_getz(rule, "message"), false);
	add_member(&text, "MessageExpression", json_getz(rule, "messageExpression"), false);
	add_member(&text, "Reason", json_getz(rule, "reason"), true);
	add_member(&text, "FieldPath", json_getz(rule, "fieldPath"), false);
	add_member(&text, "OptionalOldSelf", json_getz(rule, "optionalOldSelf"), true);
	(void)buf_addc(&text, '}');
	return FIELD_JSON(arena_str(v->arena, buf_str(&text)));
}

/*
 * Reports a rule that does not compile. If the budget was exceeded, leaves out its text, because
 * there may be many.
 */
static void report_fault(struct validation *v, const struct check_crd_scope *scope,
			 const struct json *given, const char *fault, const struct field_path *path)
{
	if (strcmp(fault, CEL_COMPILE_EXCEEDED) == 0)
		field_errors_forbidden(scope->errs, path, "too complex, " CEL_COMPILE_EXCEEDED);
	else
		field_errors_invalid(scope->errs, path, definition_rules_shown(v, given), fault);
}

static void check_message(struct validation *v, const struct crd_rule *rule,
			  const struct json *given, const struct check_crd_scope *scope,
			  const struct field_path *path)
{
	struct field_path at = field_path_name(path, "messageExpression");

	if (rule->message_fault)
		report_fault(v, scope, given, rule->message_fault, &at);
	if (!rule->message_program)
		return;
	if (rule->message_cost > COST_MAX && !scope->stored)
		field_errors_forbidden(scope->errs, &at,
				       excess(v->arena, "estimated messageExpression cost",
					      rule->message_cost, COST_MAX));
	observe(scope->costs, v->arena, &at, rule->message_cost);
}

static void check_old(struct validation *v, const struct crd_rule *rule, const struct json *given,
		      const struct check_crd_scope *scope, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);
	struct field_path rule_at = field_path_name(path, "rule");
	struct field_path optional_at = field_path_name(path, "optionalOldSelf");

	if (!rule->uses_old) {
		if (json_getz(given, "optionalOldSelf"))
			field_errors_invalid(scope->errs, &optional_at,
					     FIELD_BOOL(rule->optional_old),
					     "may not be set if oldSelf is not used in rule");
		return;
	}
	if (!scope->uncorrelatable)
		return;
	(void)field_path_print(scope->uncorrelatable, &text);
	field_errors_addf(scope->errs, FIELD_INVALID, &rule_at,
			  FIELD_STR(json_text_at(given, "rule")),
			  "oldSelf cannot be used on the uncorrelatable portion of the schema "
			  "within %s",
			  text.p);
}

static void check_rule(struct validation *v, const struct crd_cel *cel, const struct crd_rule *rule,
		       const struct json *given, const struct check_crd_scope *scope,
		       const struct field_path *path)
{
	struct field_path at = field_path_name(path, "rule");
	uint64_t count = scope->bounded ? scope->cardinality : crd_cel_cardinality(cel->min_size);
	uint64_t cost = times(rule->cost, count);

	if (cost > COST_MAX && !scope->stored)
		field_errors_forbidden(scope->errs, &at,
				       excess(v->arena, "estimated rule cost", cost, COST_MAX));
	observe(scope->costs, v->arena, &at, cost);
	if (rule->fault)
		report_fault(v, scope, given, rule->fault, &at);
	check_message(v, rule, given, scope, path);
	check_old(v, rule, given, scope, path);
}

void check_crd_rules(struct validation *v, const struct json *schema,
		     const struct check_crd_scope *scope, const struct field_path *path)
{
	const struct json *rules = json_getz(schema, "x-kubernetes-validations");
	const struct crd_cel *cel = scope->node ? scope->node->cel : NULL;
	struct field_path list = field_path_name(path, "x-kubernetes-validations");
	size_t i = 0;

	if (!cel || json_count(rules) == 0)
		return;
	if (!cel->type) {
		field_errors_add(scope->errs, FIELD_INTERNAL, &list, FIELD_OMITTED,
				 STR("internal error: failed to construct type information for "
				     "x-kubernetes-validations rules: unable to convert "
				     "structural schema to CEL declarations"));
		return;
	}
	JSON_FOREACH (given, rules) {
		struct field_path at = field_path_index(&list, i);

		check_rule(v, cel, &cel->rules[i++], given, scope, &at);
	}
}

/* --- scopes ------------------------------------------------------------------------- */

/*
 * Returns the maximum number of children of a node; false: limited only by the size of a request.
 */
static bool multiplicity(const struct json *schema, uint64_t *ret_n)
{
	struct str type = json_text_at(schema, "type");
	const char *limit = NULL;

	if (str_eqz(type, "array"))
		limit = "maxItems";
	else if (str_eqz(type, "object") && json_getz(schema, "additionalProperties"))
		limit = "maxProperties";
	*ret_n = 1;
	if (!limit)
		return true;
	if (!json_getz(schema, limit))
		return false;
	*ret_n = (uint64_t)MAX(json_i64_at(schema, limit, 0), INT64_C(0));
	return true;
}

struct check_crd_scope check_crd_below(const struct check_crd_scope *scope,
				       const struct json *schema, const struct crd_schema *node)
{
	struct check_crd_scope below = *scope;
	uint64_t n;

	below.node = node;
	below.bounded = multiplicity(schema, &n) && scope->bounded;
	below.cardinality = times(scope->cardinality, n);
	return below;
}
