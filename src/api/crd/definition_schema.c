/*
 * Rules of a definition's schema besides being structural: no unsupported keywords, matching list
 * types and keys, well-formed rules in CEL. The tree is walked once; each level copies the context
 * that applies from there down.
 */
#include "api/crd/definition.h"

#include "api/crd/definition_rules.h"
#include "base/core/map.h"
#include "base/json/index.h"

struct context {
	const char *no_defaults; /* why defaults are forbidden here; NULL: they are allowed */
	bool inside_meta; /* apiVersion, kind or metadata of a resource, and below */
	bool root;
	struct check_crd_scope rules;
};

static void definition_schema_check_node(struct validation *v, const struct json *schema,
					 struct context context, const struct field_path *path);

static bool definition_schema_is_set(const struct json *object, const char *key)
{
	const struct json *value = json_getz(object, key);

	return value && value->type != JSON_NULL;
}

/* --- keywords --------------------------------------------------------------------- */

static void check_keywords(struct validation *v, const struct json *schema,
			   const struct field_path *path)
{
	static const struct {
		const char *key, *why;
	} rows[] = {
		{ "id", "id is not supported" },
		{ "additionalItems", "additionalItems is not supported" },
		{ "patternProperties", "patternProperties is not supported" },
		{ "definitions", "definitions is not supported" },
		{ "dependencies", "dependencies is not supported" },
		{ "$ref", "$ref is not supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct field_path at = field_path_name(path, rows[i].key);

		if (definition_schema_is_set(schema, rows[i].key))
			field_errors_forbidden(v->errs, &at, rows[i].why);
	}
}

static void check_standard(struct validation *v, const struct json *schema,
			   const struct context *context, const struct field_path *path)
{
	static const struct str types[] = { STR("array"),  STR("boolean"), STR("integer"),
					    STR("number"), STR("object"),  STR("string") };
	struct field_path type = field_path_name(path, "type");
	struct field_path initial = field_path_name(path, "default");
	struct field_path items = field_path_name(path, "items");
	struct field_path embedded = field_path_name(path, "x-kubernetes-embedded-resource");
	struct str given = json_text_at(schema, "type");
	bool known = given.n == 0;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		known |= str_eq(given, types[i]);
	if (!known)
		field_errors_not_supported(v->errs, &type, FIELD_STR(given), types,
					   ARRAY_SIZE(types));
	if (definition_schema_is_set(schema, "default") && context->no_defaults)
		field_errors_forbidden(
			v->errs, &initial,
			arena_printf(v->arena, "must not be set %s", context->no_defaults));
	check_keywords(v, schema, path);
	if (str_eqz(given, "null"))
		field_errors_forbidden(v->errs, &type,
				       "type cannot be set to null, use nullable as an "
				       "alternative");
	if (json_is(json_getz(schema, "items"), JSON_ARRAY))
		field_errors_forbidden(v->errs, &items,
				       "items must be a schema object and not an array");
	if (context->inside_meta && json_true_at(schema, "x-kubernetes-embedded-resource"))
		field_errors_forbidden(v->errs, &embedded,
				       "must not be used inside of resource meta");
}

/* --- list and map types ----------------------------------------------------------- */

/* Checks the type that an extension needs; a missing type is another error than a wrong one. */
static void check_wanted_type(struct validation *v, const struct json *schema, const char *want,
			      const char *extension, const struct field_path *path)
{
	struct field_path at = field_path_name(path, "type");
	struct str type = json_text_at(schema, "type");
	const char *why = arena_printf(v->arena, "must be %s if %s is specified", want, extension);

	if (!json_getz(schema, extension) || str_eqz(type, want))
		return;
	if (type.n)
		field_errors_invalid(v->errs, &at, FIELD_STR(type), why);
	else
		field_errors_required(v->errs, &at, why);
}

static void check_map_type(struct validation *v, const struct json *schema,
			   const struct field_path *path)
{
	static const struct str types[] = { STR("atomic"), STR("granular") };
	struct field_path at = field_path_name(path, "x-kubernetes-map-type");
	struct str given = json_text_at(schema, "x-kubernetes-map-type");

	check_wanted_type(v, schema, "object", "x-kubernetes-map-type", path);
	if (json_getz(schema, "x-kubernetes-map-type") && !str_eq(given, types[0]) &&
	    !str_eq(given, types[1]))
		field_errors_not_supported(v->errs, &at, FIELD_STR(given), types,
					   ARRAY_SIZE(types));
}

/* Checks that elements of a set are atomic. */
static void check_set_items(struct validation *v, const struct json *items,
			    const struct field_path *path)
{
	static const char why[] = "must be atomic as item of a list with "
				  "x-kubernetes-list-type=set";
	struct field_path list = field_path_name(path, "x-kubernetes-list-type");
	struct field_path map = field_path_name(path, "x-kubernetes-map-type");
	const struct json *list_type = json_getz(items, "x-kubernetes-list-type");
	struct str type = json_text_at(items, "type");

	if (str_eqz(type, "array") && list_type && !str_eqz(json_str(list_type), "atomic"))
		field_errors_invalid(v->errs, &list, validate_shown(v, list_type), why);
	if (str_eqz(type, "object") &&
	    !str_eqz(json_text_at(items, "x-kubernetes-map-type"), "atomic"))
		field_errors_invalid(v->errs, &map, validate_shown(v, list_type), why);
}

/* Checks one key of a keyed list: it must be a scalar field, listed once. */
static void definition_schema_check_key(struct validation *v, const struct json *items,
					struct json_index *keys, struct json_index *known,
					const struct json *key, const struct field_path *path)
{
	const struct json *property = json_index_get(known, json_str(key));
	struct field_path keys_at = field_path_name(path, "x-kubernetes-list-map-keys");
	struct field_path items_at = field_path_name(path, "items");
	struct field_path properties = field_path_name(&items_at, "properties");
	struct field_path at = field_path_key(&properties, json_str(key));
	struct field_path type = field_path_name(&at, "type");
	struct str given = json_text_at(property, "type");

	if (!property)
		field_errors_invalid(v->errs, &keys_at, validate_shown(v, keys->of),
				     "entries must all be names of item properties");
	else if (str_eqz(given, "array") || str_eqz(given, "object"))
		field_errors_invalid(v->errs, &type, FIELD_STR(json_text_at(items, "type")),
				     "must be a scalar type if parent array's "
				     "x-kubernetes-list-type is map");
	if (json_index_came_before(keys, key))
		field_errors_invalid(v->errs, &keys_at, validate_shown(v, keys->of),
				     "must not contain duplicate entries");
}

static void check_keys(struct validation *v, const struct json *items, const struct json *list,
		       const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index keys;
	CLEANUP(json_index_release) struct json_index known;

	json_index_init(&keys, list, NULL);
	json_index_init(&known, json_getz(items, "properties"), NULL);
	JSON_FOREACH (key, list)
		definition_schema_check_key(v, items, &keys, &known, key, path);
}

static void check_keyed_list(struct validation *v, const struct json *schema,
			     const struct field_path *path)
{
	const struct json *items = json_getz(schema, "items");
	struct field_path keys_at = field_path_name(path, "x-kubernetes-list-map-keys");
	struct field_path items_at = field_path_name(path, "items");
	struct field_path type = field_path_name(&items_at, "type");
	const struct json *keys = json_getz(schema, "x-kubernetes-list-map-keys");

	if (json_count(keys) == 0)
		field_errors_required(v->errs, &keys_at,
				      "must not be empty if x-kubernetes-list-type is map");
	if (!items) {
		field_errors_required(v->errs, &items_at,
				      "must have a schema if x-kubernetes-list-type is map");
	} else if (items->type != JSON_OBJECT) {
		field_errors_invalid(v->errs, &items_at, validate_shown(v, items),
				     "must only have a single schema if x-kubernetes-list-type is "
				     "map");
	} else if (!str_eqz(json_text_at(items, "type"), "object")) {
		field_errors_invalid(v->errs, &type, FIELD_STR(json_text_at(items, "type")),
				     "must be object if parent array's x-kubernetes-list-type is "
				     "map");
	} else {
		check_keys(v, items, keys, path);
	}
}

/* Checks that keys are always present, and never null. */
static void check_key_presence(struct validation *v, const struct json *schema,
			       const struct field_path *path)
{
	const struct json *items = json_getz(schema, "items");
	struct field_path items_at = field_path_name(path, "items");
	struct field_path properties = field_path_name(&items_at, "properties");
	struct field_path nullable = field_path_name(&items_at, "nullable");
	struct str list = json_text_at(schema, "x-kubernetes-list-type");
	CLEANUP(json_index_release) struct json_index known;
	CLEANUP(json_index_release) struct json_index needed;

	json_index_init(&known, json_getz(items, "properties"), NULL);
	json_index_init(&needed, json_getz(items, "required"), NULL);
	if (!json_is(items, JSON_OBJECT) || (!str_eqz(list, "set") && !str_eqz(list, "map")))
		return;
	if (json_true_at(items, "nullable"))
		field_errors_forbidden(
			v->errs, &nullable,
			arena_printf(v->arena,
				     "cannot be nullable when x-kubernetes-list-type is %.*s",
				     STR_ARG(list)));
	if (str_eqz(list, "set"))
		return;
	JSON_FOREACH (key, json_getz(schema, "x-kubernetes-list-map-keys")) {
		const struct json *property = json_index_get(&known, json_str(key));
		struct field_path at = field_path_key(&properties, json_str(key));
		struct field_path initial = field_path_name(&at, "default");
		struct field_path null = field_path_name(&at, "nullable");
		bool required = json_index_get(&needed, json_str(key));

		if (property && !required && !definition_schema_is_set(property, "default"))
			field_errors_required(v->errs, &initial,
					      "this property is in x-kubernetes-list-map-keys, so "
					      "it must have a default or be a required property");
		if (json_true_at(property, "nullable"))
			field_errors_forbidden(v->errs, &null,
					       "this property is in x-kubernetes-list-map-keys, so "
					       "it cannot be nullable");
	}
}

static void check_list_type(struct validation *v, const struct json *schema,
			    const struct field_path *path)
{
	static const struct str types[] = { STR("atomic"), STR("set"), STR("map") };
	struct field_path at = field_path_name(path, "x-kubernetes-list-type");
	struct field_path items = field_path_name(path, "items");
	struct str given = json_text_at(schema, "x-kubernetes-list-type");
	bool is_list = str_eqz(json_text_at(schema, "type"), "array");

	check_wanted_type(v, schema, "array", "x-kubernetes-list-type", path);
	if (is_list && str_eq(given, types[1]) && json_is(json_getz(schema, "items"), JSON_OBJECT))
		check_set_items(v, json_getz(schema, "items"), &items);
	if (given.n && !str_eq(given, types[0]) && !str_eq(given, types[1]) &&
	    !str_eq(given, types[2]))
		field_errors_not_supported(v->errs, &at, FIELD_STR(given), types,
					   ARRAY_SIZE(types));
	if (json_count(json_getz(schema, "x-kubernetes-list-map-keys"))) {
		static const char why[] = "must be map if x-kubernetes-list-map-keys is non-empty";

		if (given.n == 0)
			field_errors_required(v->errs, &at, why);
		else if (!str_eq(given, types[2]))
			field_errors_invalid(v->errs, &at, FIELD_STR(given), why);
	}
	if (str_eq(given, types[2]))
		check_keyed_list(v, schema, path);
	check_key_presence(v, schema, path);
}

/* --- the tree --------------------------------------------------------------------- */

static void check_properties(struct validation *v, const struct json *schema,
			     struct context context, const struct field_path *path)
{
	struct field_path properties = field_path_name(path, "properties");
	bool resource = context.root || json_true_at(schema, "x-kubernetes-embedded-resource");

	JSON_FOREACH (property, json_getz(schema, "properties")) {
		struct field_path at = field_path_key(&properties, json_key(property));
		const struct crd_schema *node = context.rules.node;
		struct context below = context;

		below.root = false;
		below.rules = check_crd_below(&context.rules, schema,
					      node ? crd_property(node, json_key(property)) : NULL);
		if (resource && crd_is_meta(json_key(property))) {
			below.inside_meta = true;
			if (context.root)
				below.no_defaults = arena_printf(v->arena, "in top-level %.*s",
								 STR_ARG(json_key(property)));
		}
		definition_schema_check_node(v, property, below, &at);
	}
}

static void check_additional(struct validation *v, const struct json *schema,
			     struct context context, const struct field_path *path)
{
	const struct json *additional = json_getz(schema, "additionalProperties");
	struct field_path at = field_path_name(path, "additionalProperties");

	if (!additional)
		return;
	if (json_count(json_getz(schema, "properties")) &&
	    !json_true_at(schema, "additionalProperties"))
		field_errors_forbidden(v->errs, &at,
				       "additionalProperties and properties are mutual exclusive");
	if (context.inside_meta)
		context.no_defaults = "inside additionalProperties applying to object metadata";
	context.root = false;
	context.rules = check_crd_below(&context.rules, schema,
					context.rules.node ? context.rules.node->additional : NULL);
	if (additional->type == JSON_OBJECT)
		definition_schema_check_node(v, additional, context, &at);
}

static void check_branches(struct validation *v, const struct json *schema, struct context context,
			   const struct field_path *path)
{
	static const char *const lists[] = { "allOf", "oneOf", "anyOf" };
	struct field_path not = field_path_name(path, "not");

	context.root = false;
	context.rules.node = NULL;
	if (json_is(json_getz(schema, "not"), JSON_OBJECT))
		definition_schema_check_node(v, json_getz(schema, "not"), context, &not );
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct field_path list = field_path_name(path, lists[i]);
		size_t k = 0;

		JSON_FOREACH (branch, json_getz(schema, lists[i])) {
			struct field_path at = field_path_index(&list, k++);

			definition_schema_check_node(v, branch, context, &at);
		}
	}
}

static void check_items(struct validation *v, const struct json *schema, struct context context,
			const struct field_path *path)
{
	struct field_path at = field_path_name(path, "items");

	context.root = false;
	/* Only elements of keyed lists have a stored counterpart. */
	if (!str_eqz(json_text_at(schema, "x-kubernetes-list-type"), "map") &&
	    !context.rules.uncorrelatable)
		context.rules.uncorrelatable = path;
	context.rules = check_crd_below(&context.rules, schema,
					context.rules.node ? context.rules.node->items : NULL);
	if (json_is(json_getz(schema, "items"), JSON_OBJECT))
		definition_schema_check_node(v, json_getz(schema, "items"), context, &at);
}

static size_t count_faults(const struct validation *v)
{
	return v->errs->n + v->errs->dropped;
}

static void definition_schema_check_node(struct validation *v, const struct json *schema,
					 struct context context, const struct field_path *path)
{
	struct field_path unique = field_path_name(path, "uniqueItems");
	struct field_path preserve = field_path_name(path, "x-kubernetes-preserve-unknown-fields");
	size_t before = count_faults(v);
	bool value;

	check_standard(v, schema, &context, path);
	if (json_true_at(schema, "uniqueItems"))
		field_errors_forbidden(v->errs, &unique,
				       "uniqueItems cannot be set to true since the runtime "
				       "complexity becomes quadratic");
	check_additional(v, schema, context, path);
	check_properties(v, schema, context, path);
	check_branches(v, schema, context, path);
	check_items(v, schema, context, path);
	if (json_bool(json_getz(schema, "x-kubernetes-preserve-unknown-fields"), &value) && !value)
		field_errors_invalid(v->errs, &preserve, FIELD_BOOL(false),
				     "must be true or undefined");
	check_map_type(v, schema, path);
	check_list_type(v, schema, path);
	check_crd_rule_forms(v, schema, path);
	if (count_faults(v) == before)
		check_crd_rules(v, schema, &context.rules, path);
}

/* --- the schema of a version ------------------------------------------------------ */

/*
 * If the kind has a status subresource, checks that the root has no rule that would be lost when
 * status is cut out.
 */
static void check_root(struct validation *v, const struct json *schema,
		       const struct field_path *path)
{
	static const char *const allowed[] = {
		"description",
		"type",
		"format",
		"title",
		"maximum",
		"exclusiveMaximum",
		"minimum",
		"exclusiveMinimum",
		"maxLength",
		"minLength",
		"pattern",
		"maxItems",
		"minItems",
		"uniqueItems",
		"multipleOf",
		"required",
		"items",
		"properties",
		"externalDocs",
		"example",
		"x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-validations",
	};
	struct field_path type = field_path_name(path, "type");
	struct str given = json_text_at(schema, "type");

	if (given.n && !str_eqz(given, "object"))
		field_errors_invalid(v->errs, &type, FIELD_STR(given),
				     "only \"object\" is allowed as the type at the root of the "
				     "schema if the status subresource is enabled");
	JSON_FOREACH (member, schema) {
		bool fine = false;

		for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
			fine |= str_eqz(json_key(member), allowed[i]);
		if (fine)
			continue;
		field_errors_invalid(
			v->errs, path, validate_shown(v, schema),
			"only [Description Type Format Title Maximum ExclusiveMaximum Minimum "
			"ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems "
			"UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
			"XPreserveUnknownFields XValidations] fields are allowed at the root of "
			"the schema if the status subresource is enabled");
		return;
	}
}

/* Returns the compiled schema; NULL if it is invalid. */
static const struct crd_schema *check_structure(struct validation *v, const struct json *schema,
						const struct field_path *path, const char **ret_why)
{
	const struct crd_schema *compiled;
	size_t before = count_faults(v);
	struct error err;

	if (!check_crd_structural(v, schema, path, ret_why))
		return NULL;
	if (crd_schema_compile(v->arena, schema, v->budget, &compiled, &err) < 0) {
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")), err.msg);
		return NULL;
	}
	check_crd_defaults(v, compiled, path);
	return count_faults(v) == before ? compiled : NULL;
}

static void definition_schema_add_all(struct field_errors *into, const struct field_errors *from)
{
	into->dropped += from->dropped;
	for (const struct field_error *e = from->first; e; e = e->next) {
		struct field_path at = { NULL, e->path, 0, FIELD_PATH_NAME };

		field_errors_add(into, e->type, &at,
				 e->value.p ? FIELD_JSON(e->value) : FIELD_OMITTED, e->detail);
	}
}

/* Checks the tree, then reports the errors of its CEL rules. */
static void check_tree(struct validation *v, const struct json *schema,
		       const struct crd_schema *compiled, bool stored,
		       const struct field_path *path)
{
	struct check_crd_costs costs = { 0 };
	struct field_errors errs;
	struct context context = { .root = true,
				   .rules = { .node = compiled,
					      .cardinality = 1,
					      .bounded = true,
					      .stored = stored,
					      .costs = &costs,
					      .errs = &errs } };

	field_errors_init(&errs, v->arena);
	definition_schema_check_node(v, schema, context, path);
	definition_schema_add_all(v->errs, &errs);
	check_crd_costs(v, &costs, path);
}

void check_crd_validation(struct validation *v, const struct json *validation, bool status,
			  bool stored, const struct field_path *path)
{
	const struct json *schema = json_getz(validation, "openAPIV3Schema");
	struct field_path at = field_path_name(path, "openAPIV3Schema");
	struct field_path nullable = field_path_name(&at, "nullable");
	const struct crd_schema *compiled;
	size_t before = count_faults(v);
	const char *why = NULL;

	if (!json_is(schema, JSON_OBJECT))
		return;
	if (status)
		check_root(v, schema, &at);
	if (json_true_at(schema, "nullable"))
		field_errors_forbidden(v->errs, &nullable, "nullable cannot be true at the root");
	compiled = check_structure(v, schema, &at, &why);
	check_tree(v, schema, compiled, stored, &at);
	if (why && count_faults(v) == before)
		field_errors_invalid(v->errs, &at, FIELD_STR(STR("")), why);
}
