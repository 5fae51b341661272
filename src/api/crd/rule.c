/*
 * Rules are compiled to programs with their schema. The environment has two variables, `self` and
 * `oldSelf`, of the node's type. A resource shows its apiVersion, its kind and the names in its
 * metadata, whether its schema has them or not.
 */
#include "api/crd/rule.h"

#include "api/api_limits.h"
#include "api/crd/cel_type.h"
#include "cel/lib/libraries.h"

enum {
	NAME_MAX_LENGTH = 253, /* of metadata.name; a generated suffix takes at least one */
};

/* --- resources ---------------------------------------------------------------------- */

static const struct crd_schema *text_node(struct arena *a, int64_t max_length)
{
	struct crd_schema *s = ARENA_NEW(a, struct crd_schema);
	struct crd_rules *rules = ARENA_NEW(a, struct crd_rules);

	*rules = (struct crd_rules){ .max_length = max_length,
				     .min_length = -1,
				     .max_items = -1,
				     .min_items = -1,
				     .max_properties = -1,
				     .min_properties = -1 };
	s->types = CRD_STRING;
	s->rules = rules;
	crd_cel_build(a, s, NULL, false, 0, NULL);
	return s;
}

static bool is_text(const struct crd_schema *s, const char *name)
{
	const struct crd_schema *property = s ? crd_property(s, str_from(name)) : NULL;

	return property && property->types == CRD_STRING && !property->int_or_string;
}

/* Returns the maximum length of a name in metadata; the schema may lower it. */
static int64_t name_max(const struct crd_schema *metadata, const char *name, int64_t max)
{
	const struct crd_schema *s = metadata ? crd_property(metadata, str_from(name)) : NULL;

	if (!s || !s->rules || s->rules->max_length < 0)
		return max;
	return MIN(max, s->rules->max_length);
}

static const struct crd_schema *metadata_node(struct arena *a, const struct crd_schema *given,
					      unsigned number)
{
	struct crd_schema *s = ARENA_NEW(a, struct crd_schema);
	struct crd_property *properties = ARENA_ARRAY(a, struct crd_property, 2);

	properties[0] = (struct crd_property){ STR("generateName"),
					       text_node(a, name_max(given, "generateName",
								     NAME_MAX_LENGTH - 1)) };
	properties[1] = (struct crd_property){
		STR("name"), text_node(a, name_max(given, "name", NAME_MAX_LENGTH))
	};
	s->types = CRD_OBJECT;
	s->properties = properties;
	s->nproperties = 2;
	crd_cel_build(a, s, NULL, false, number, NULL);
	return s;
}

static int property_order(const void *a, const void *b)
{
	const struct crd_property *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

/* Returns the node with type and names; the node itself if it has all of them. */
static const struct crd_schema *as_resource(struct arena *a, const struct crd_schema *s,
					    unsigned number)
{
	const struct crd_schema *metadata = crd_property(s, STR("metadata"));
	struct crd_schema *resource = ARENA_NEW(a, struct crd_schema);
	struct crd_property *p;

	if (is_text(s, "kind") && is_text(s, "apiVersion") && metadata &&
	    metadata->types == CRD_OBJECT && is_text(metadata, "name") &&
	    is_text(metadata, "generateName"))
		return NULL;
	*resource = *s;
	resource->properties = p = ARENA_ARRAY(a, struct crd_property, s->nproperties + 3UL);
	resource->nproperties = 0;
	for (size_t i = 0; i < s->nproperties; i++)
		if (!crd_is_meta(s->properties[i].name))
			p[resource->nproperties++] = s->properties[i];
	p[resource->nproperties++] = (struct crd_property){ STR("apiVersion"), text_node(a, -1) };
	p[resource->nproperties++] = (struct crd_property){ STR("kind"), text_node(a, -1) };
	p[resource->nproperties++] = (struct crd_property){ STR("metadata"),
							    metadata_node(a, metadata, number) };
	qsort(p, resource->nproperties, sizeof(*p), property_order);
	return resource;
}

/* --- one rule ----------------------------------------------------------------------- */

/* Whether a name occurs. Recurses as deep as the expression: CEL_HEIGHT_MAX. */
static bool mentions(const struct cel_expr *e, struct str name)
{
	const struct cel_fold *f = e->fold;

	if (e->kind == CEL_EXPR_IDENT && str_eq(e->name, name))
		return true;
	for (uint32_t i = 0; i < e->n; i++)
		if (mentions(e->children[i], name))
			return true;
	return e->kind == CEL_EXPR_FOLD && (mentions(f->range, name) || mentions(f->init, name) ||
					    mentions(f->condition, name) ||
					    mentions(f->step, name) || mentions(f->result, name));
}

/* Returns the program, or NULL with the error. */
static const struct cel_program *compile_text(struct arena *a, const struct cel_env *env,
					      struct str text, const char *what,
					      const char **ret_fault)
{
	CLEANUP(buf_release) struct buf fault = BUF_INIT(REQUEST_WORK_MAX);
	const struct cel_program *program;
	struct cel_issues issues;

	cel_issues_init(&issues, a, text);
	program = cel_compile(env, text, a, &issues);
	if (program)
		return program;
	if (issues.first && issues.first->offset == SIZE_MAX) {
		(void)buf_add_str(&fault, issues.first->message);
	} else {
		(void)buf_printf(&fault, "%scompilation failed: ", what);
		cel_issues_print(&issues, &fault);
	}
	*ret_fault = arena_strdup(a, buf_str(&fault));
	return NULL;
}

static void compile_message(struct arena *a, const struct cel_env *env, struct str text,
			    struct crd_rule *rule)
{
	const struct cel_program *program = compile_text(a, env, text, "messageExpression ",
							 &rule->message_fault);

	if (!program)
		return;
	if (cel_program_type(program)->kind != CEL_TYPE_STRING) {
		rule->message_fault = "messageExpression must evaluate to a string";
		return;
	}
	rule->message_program = program;
	rule->message_cost = cel_cost_estimate(env, cel_program_tree(program)).max;
}

static void compile_rule(struct arena *a, const struct cel_env *env, const struct json *given,
			 struct crd_rule *rule)
{
	struct str message = json_text_at(given, "messageExpression");
	const struct cel_program *program;

	if (rule->text.n == 0)
		return;
	program = compile_text(a, env, json_text_at(given, "rule"), "", &rule->fault);
	if (!program)
		return;
	if (cel_program_type(program)->kind != CEL_TYPE_BOOL) {
		rule->fault = "cel expression must evaluate to a bool";
		return;
	}
	rule->program = program;
	rule->uses_old = mentions(cel_program_tree(program), STR("oldSelf"));
	rule->cost = cel_cost_estimate(env, cel_program_tree(program)).max;
	if (message.n)
		compile_message(a, env, message, rule);
}

static enum field_error_type rule_reason_of(struct str name)
{
	if (str_eqz(name, "FieldValueForbidden"))
		return FIELD_FORBIDDEN;
	if (str_eqz(name, "FieldValueRequired"))
		return FIELD_REQUIRED;
	return str_eqz(name, "FieldValueDuplicate") ? FIELD_DUPLICATE : FIELD_INVALID;
}

static void read_rule(struct arena *a, const struct json *props, const struct json *given,
		      struct crd_rule *rule)
{
	CLEANUP(buf_release) struct buf normal = BUF_INIT(REQUEST_WORK_MAX);
	struct str field = json_text_at(given, "fieldPath");
	const char *why;

	rule->text = str_trim_space(json_text_at(given, "rule"));
	rule->message = str_trim_space(json_text_at(given, "message"));
	rule->optional_old = json_true_at(given, "optionalOldSelf");
	rule->reason = rule_reason_of(json_text_at(given, "reason"));
	if (field.n && crd_field_path(a, props, field, true, &normal, &why))
		rule->field = arena_str(a, buf_str(&normal));
}

/* --- a node ------------------------------------------------------------------------- */

static void compile_rules(struct arena *a, const struct json *props, const struct json *list,
			  struct crd_cel *cel, struct cel_budget *budget)
{
	const struct cel_type *optional = NULL;
	struct crd_rule *rule = ARENA_ARRAY(a, struct crd_rule, json_count(list));

	cel->rules = rule;
	cel->nrules = json_count(list);
	if (cel->type)
		optional = cel_type_sized(a, cel_optional_of(a, cel->type), cel->type->max_size);
	JSON_FOREACH (given, list) {
		bool optional_old = json_true_at(given, "optionalOldSelf");
		const struct cel_variable variables[] = {
			{ STR("self"), cel->type },
			{ STR("oldSelf"), optional_old ? optional : cel->type },
		};
		const struct cel_env env = { .libraries = cel_libraries_kubernetes,
					     .variables = variables,
					     .nvariables = ARRAY_SIZE(variables),
					     .flags = CEL_HOMOGENEOUS | CEL_LITERALS |
						      CEL_HAS_IS_FREE | CEL_SIZED,
					     .budget = budget };

		read_rule(a, props, given, rule);
		if (cel->type)
			compile_rule(a, &env, given, rule);
		cel->uses_old |= rule->uses_old;
		rule++;
	}
}

void crd_cel_build(struct arena *a, struct crd_schema *s, const struct json *props, bool root,
		   unsigned number, struct cel_budget *budget)
{
	struct crd_cel *cel = ARENA_NEW(a, struct crd_cel);
	struct str name = str_from(
		arena_printf(a, "selfType%u%s", number, props ? "" : ".metadata"));

	if (root || s->embedded)
		s->resource = as_resource(a, s, number);
	cel->type = crd_cel_type(a, s->resource ? s->resource : s, name, &cel->min_size);
	s->cel = cel;
	if (s->validations)
		compile_rules(a, props, s->validations, cel, budget);
}

uint64_t crd_cel_cardinality(int64_t min_size)
{
	return CRD_CEL_REQUEST_MAX / ((uint64_t)min_size + 1);
}
