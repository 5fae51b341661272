/*
 * Turns a JSONSchemaProps tree into nodes. On the way up it records whether anything below a node
 * has defaults, embedded objects or keyed lists, so that walks for them can skip the rest; most
 * schemas have few of each.
 */
#include "api/crd/crd_impl.h"

#include "api/api_limits.h"
#include "api/crd/rule.h"
#include "cel/core/env.h"

enum { FEW_PROPERTIES = 8 }; /* up to so many are compared one by one */

struct compiling {
	struct arena *arena;
	unsigned depth;
	struct error *err;
	bool rules_in_cel; /* the schema has such rules: types are needed */
	unsigned nodes; /* so far */
	struct cel_budget *budget; /* for patterns and rules; NULL: no limit */
};

static int schema_compile(struct compiling *c, const struct json *props,
			  const struct crd_schema **ret_schema);

static const struct {
	const char *name;
	enum crd_type type;
} type_names[] = {
	{ "object", CRD_OBJECT },   { "array", CRD_ARRAY },   { "string", CRD_STRING },
	{ "integer", CRD_INTEGER }, { "number", CRD_NUMBER }, { "boolean", CRD_BOOLEAN },
};

bool crd_is_meta(struct str name)
{
	return str_eqz(name, "metadata") || str_eqz(name, "apiVersion") || str_eqz(name, "kind");
}

struct str crd_type_names(const struct crd_schema *s)
{
	if (s->types == (CRD_INTEGER | CRD_STRING))
		return STR("integer,string");
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		if (s->types == type_names[i].type)
			return str_from(type_names[i].name);
	return STR("");
}

static uint8_t types_of(const struct json *props, bool int_or_string)
{
	struct str name = json_text_at(props, "type");

	if (int_or_string)
		return CRD_INTEGER | CRD_STRING;
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		if (str_eqz(name, type_names[i].name))
			return type_names[i].type;
	return 0;
}

/* --- finding ---------------------------------------------------------------------- */

const struct crd_schema *crd_property(const struct crd_schema *s, struct str name)
{
	size_t low = 0, high = s->nproperties;

	if (high <= FEW_PROPERTIES) {
		for (size_t i = 0; i < high; i++)
			if (str_eq(s->properties[i].name, name))
				return s->properties[i].schema;
		return NULL;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(name, s->properties[middle].name);

		if (order == 0)
			return s->properties[middle].schema;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct crd_schema *crd_member(const struct crd_schema *s, struct str name)
{
	const struct crd_schema *property = crd_property(s, name);

	return property ? property : s->additional;
}

/* --- rules ------------------------------------------------------------------------ */

const struct str *crd_texts(struct arena *a, const struct json *list)
{
	struct str *texts;
	size_t n = 0;

	if (json_count(list) == 0)
		return NULL;
	texts = ARENA_ARRAY(a, struct str, json_count(list) + 1);
	JSON_FOREACH (item, list)
		texts[n++] = json_str(item).p ? json_str(item) : STR("");
	return texts;
}

static int compile_list(struct compiling *c, const struct json *list, struct crd_schemas *ret_list)
{
	struct crd_schemas schemas = { 0 };
	int r;

	if (json_count(list) == 0)
		return 0;
	schemas.v = ARENA_ARRAY(c->arena, const struct crd_schema *, json_count(list));
	JSON_FOREACH (item, list) {
		r = schema_compile(c, item, &schemas.v[schemas.n++]);
		if (r < 0)
			return r;
	}
	*ret_list = schemas;
	return 0;
}

/* Compiles the format. One that is unknown, or not for this type, is ignored. */
static int compile_format(struct compiling *c, const struct json *props, const struct crd_schema *s,
			  struct crd_rules *rules)
{
	struct str name = json_text_at(props, "format"), pattern;

	if (name.n == 0)
		return 0;
	if (s->types == CRD_INTEGER) {
		if (str_eqz(name, "int32") || str_eqz(name, "int64"))
			rules->format_name = name;
		return 0;
	}
	if (s->types == CRD_NUMBER) {
		if (str_eqz(name, "float") || str_eqz(name, "double"))
			rules->format_name = name;
		return 0;
	}
	if (s->types & ~(CRD_STRING | CRD_INTEGER))
		return 0;
	rules->format = crd_format_find(name);
	if (!rules->format)
		return 0;
	rules->format_name = name;
	pattern = crd_format_pattern(rules->format);
	return pattern.p ? regex_compile(c->arena, pattern, &rules->format_pattern, c->err) : 0;
}

static int compile_pattern(struct compiling *c, const struct json *props, struct crd_rules *rules)
{
	rules->pattern_text = json_text_at(props, "pattern");
	if (rules->pattern_text.n == 0)
		return 0;
	return regex_compile_within(c->arena, rules->pattern_text,
				    c->budget ? &c->budget->left : NULL, &rules->pattern, c->err);
}

static int compile_junctors(struct compiling *c, const struct json *props, struct crd_rules *rules)
{
	const struct json *not = json_getz(props, "not");
	bool outer = c->rules_in_cel;
	int r;

	c->rules_in_cel = false; /* branches get no types and rules */
	r = compile_list(c, json_getz(props, "allOf"), &rules->all_of);
	if (r == 0)
		r = compile_list(c, json_getz(props, "anyOf"), &rules->any_of);
	if (r == 0)
		r = compile_list(c, json_getz(props, "oneOf"), &rules->one_of);
	if (r == 0 && json_is(not, JSON_OBJECT))
		r = schema_compile(c, not, &rules->not );
	c->rules_in_cel = outer;
	return r;
}

/* Whether the node has any rules on values. */
static bool has_rules(const struct json *props)
{
	static const struct str words[] = {
		STR("format"),    STR("maximum"),     STR("minimum"),       STR("multipleOf"),
		STR("maxLength"), STR("minLength"),   STR("pattern"),       STR("maxItems"),
		STR("minItems"),  STR("uniqueItems"), STR("maxProperties"), STR("minProperties"),
		STR("enum"),      STR("required"),    STR("allOf"),         STR("anyOf"),
		STR("oneOf"),     STR("not"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (json_get(props, words[i]))
			return true;
	return false;
}

static int compile_rules(struct compiling *c, const struct json *props, struct crd_schema *s)
{
	struct crd_rules *rules;
	int r;

	if (!has_rules(props))
		return 0;
	rules = ARENA_NEW(c->arena, struct crd_rules);
	s->rules = rules;
	rules->has_maximum = json_f64(json_getz(props, "maximum"), &rules->maximum);
	rules->has_minimum = json_f64(json_getz(props, "minimum"), &rules->minimum);
	rules->has_multiple_of = json_f64(json_getz(props, "multipleOf"), &rules->multiple_of);
	rules->exclusive_maximum = json_true_at(props, "exclusiveMaximum");
	rules->exclusive_minimum = json_true_at(props, "exclusiveMinimum");
	rules->unique = json_true_at(props, "uniqueItems");
	rules->max_length = json_i64_at(props, "maxLength", -1);
	rules->min_length = json_i64_at(props, "minLength", -1);
	rules->max_items = json_i64_at(props, "maxItems", -1);
	rules->min_items = json_i64_at(props, "minItems", -1);
	rules->max_properties = json_i64_at(props, "maxProperties", -1);
	rules->min_properties = json_i64_at(props, "minProperties", -1);
	rules->required = crd_texts(c->arena, json_getz(props, "required"));
	if (json_count(json_getz(props, "enum")))
		rules->values = json_getz(props, "enum");
	r = compile_format(c, props, s, rules);
	if (r == 0)
		r = compile_pattern(c, props, rules);
	return r == 0 ? compile_junctors(c, props, rules) : r;
}

/* --- shape ------------------------------------------------------------------------ */

static int property_cmp(const void *a, const void *b)
{
	const struct crd_property *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

static int compile_properties(struct compiling *c, const struct json *map, struct crd_schema *s)
{
	struct crd_property *properties;
	size_t n = 0;
	int r;

	if (json_count(map) == 0)
		return 0;
	properties = ARENA_ARRAY(c->arena, struct crd_property, json_count(map));
	JSON_FOREACH (member, map) {
		properties[n].name = json_key(member);
		r = schema_compile(c, member, &properties[n++].schema);
		if (r < 0)
			return r;
	}
	qsort(properties, n, sizeof(*properties), property_cmp);
	s->properties = properties;
	s->nproperties = (uint32_t)n;
	return 0;
}

static int compile_additional(struct compiling *c, const struct json *value, struct crd_schema *s)
{
	bool allowed;

	if (json_is(value, JSON_OBJECT)) {
		s->open = true;
		return schema_compile(c, value, &s->additional);
	}
	/* Either way pruning keeps unknown members; validation rejects them later. */
	s->open = json_bool(value, &allowed);
	s->closed = s->open && !allowed;
	return 0;
}

static enum crd_list list_of(const struct json *props)
{
	struct str name = json_text_at(props, "x-kubernetes-list-type");

	if (str_eqz(name, "set"))
		return CRD_LIST_SET;
	return str_eqz(name, "map") ? CRD_LIST_MAP : CRD_LIST_ATOMIC;
}

static void schema_gather(struct crd_schema *s, const struct crd_schema *child)
{
	s->has_defaults |= child->has_defaults || child->initial;
	s->has_embedded |= child->has_embedded || child->embedded;
	s->has_keyed |= child->has_keyed || child->list != CRD_LIST_ATOMIC;
	s->has_validations |= child->has_validations || child->validations;
}

static void gather_all(struct crd_schema *s)
{
	for (size_t i = 0; i < s->nproperties; i++)
		schema_gather(s, s->properties[i].schema);
	if (s->additional)
		schema_gather(s, s->additional);
	if (s->items)
		schema_gather(s, s->items);
}

static int compile_shape(struct compiling *c, const struct json *props, struct crd_schema *s)
{
	const struct json *items = json_getz(props, "items"),
			  *initial = json_getz(props, "default");
	int r;

	s->nullable = json_true_at(props, "nullable");
	s->preserve = json_true_at(props, "x-kubernetes-preserve-unknown-fields");
	s->embedded = json_true_at(props, "x-kubernetes-embedded-resource");
	s->int_or_string = json_true_at(props, "x-kubernetes-int-or-string");
	s->types = types_of(props, s->int_or_string);
	s->atomic_map = str_eqz(json_text_at(props, "x-kubernetes-map-type"), "atomic");
	s->list = (uint8_t)list_of(props);
	s->keys = crd_texts(c->arena, json_getz(props, "x-kubernetes-list-map-keys"));
	if (s->list == CRD_LIST_MAP && !s->keys)
		s->list = CRD_LIST_ATOMIC;
	s->initial = initial && initial->type != JSON_NULL ? initial : NULL;
	if (json_count(json_getz(props, "x-kubernetes-validations")))
		s->validations = json_getz(props, "x-kubernetes-validations");
	r = compile_properties(c, json_getz(props, "properties"), s);
	if (r == 0)
		r = compile_additional(c, json_getz(props, "additionalProperties"), s);
	if (r == 0 && json_is(items, JSON_OBJECT))
		r = schema_compile(c, items, &s->items);
	if (r == 0)
		gather_all(s);
	return r;
}

static int schema_compile(struct compiling *c, const struct json *props,
			  const struct crd_schema **ret_schema)
{
	struct crd_schema *s = ARENA_NEW(c->arena, struct crd_schema);
	int r;

	if (c->depth >= CRD_SCHEMA_DEPTH_MAX)
		return error_set(c->err, ERR_INVALID, "the schema is nested too deeply");
	c->depth++;
	r = compile_shape(c, props, s);
	if (r == 0)
		r = compile_rules(c, props, s);
	c->depth--;
	if (r < 0)
		return r;
	if (c->rules_in_cel)
		crd_cel_build(c->arena, s, props, c->depth == 0, c->nodes++, c->budget);
	*ret_schema = s;
	return 0;
}

/* Whether x-kubernetes-validations occur anywhere except in branches. */
static bool has_rules_in_cel(const struct json *props, unsigned depth)
{
	static const char *const single[] = { "items", "additionalProperties" };

	if (!json_is(props, JSON_OBJECT) || depth >= CRD_SCHEMA_DEPTH_MAX)
		return false;
	if (json_count(json_getz(props, "x-kubernetes-validations")))
		return true;
	JSON_FOREACH (property, json_getz(props, "properties"))
		if (has_rules_in_cel(property, depth + 1))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (has_rules_in_cel(json_getz(props, single[i]), depth + 1))
			return true;
	return false;
}

int crd_schema_compile(struct arena *a, const struct json *props, struct cel_budget *budget,
		       const struct crd_schema **ret_schema, struct error *err)
{
	struct compiling c = {
		.arena = a, .err = err, .rules_in_cel = has_rules_in_cel(props, 0), .budget = budget
	};
	int r;

	r = schema_compile(&c, props, ret_schema);
	return r < 0 ? error_recode(err, ERR_INVALID) : 0;
}
