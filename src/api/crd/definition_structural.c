/*
 * Structural schemas: every field has a type outside of allOf, anyOf, oneOf and not, and inside
 * those there are only rules on values. Upstream sorts the errors, because its maps have no order;
 * so do we.
 */
#include "api/crd/definition.h"

#include "api/api_limits.h"
#include "cel/core/env.h"

enum level { ROOT, ITEM, FIELD };

struct checker {
	struct validation *v;
	struct field_errors errs; /* sorted before they are reported */
};

/* Returns the schema of additionalProperties or items; NULL if that is not an object. */
static const struct json *schema_at(const struct json *schema, const char *key)
{
	const struct json *value = json_getz(schema, key);

	return json_is(value, JSON_OBJECT) ? value : NULL;
}

/* --- can it be read at all -------------------------------------------------------- */

static const char *unreadable(const struct json *schema);

static const char *unreadable_in(const struct json *children)
{
	const char *why = NULL;

	JSON_FOREACH (child, children)
		why = why ? why : unreadable(child);
	return why;
}

/* Returns why a schema cannot be structural at all, or NULL. */
static const char *unreadable(const struct json *schema)
{
	static const struct {
		const char *key, *why;
	} rows[] = {
		{ "id", "OpenAPIV3Schema 'id' is not supported" },
		{ "$schema", "OpenAPIV3Schema 'schema' is not supported" },
		{ "$ref", "OpenAPIV3Schema '$ref' is not supported" },
		{ "patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported" },
		{ "additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported" },
		{ "definitions", "OpenAPIV3Schema 'definitions' is not supported" },
		{ "dependencies", "OpenAPIV3Schema 'dependencies' is not supported" },
	};
	static const char *const lists[] = { "allOf", "anyOf", "oneOf", "properties" };
	static const char *const single[] = { "not", "items", "additionalProperties" };
	const char *why = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (json_getz(schema, rows[i].key))
			return rows[i].why;
	if (json_is(json_getz(schema, "items"), JSON_ARRAY))
		return "OpenAPIV3Schema 'items' must be a schema, but is an array";
	for (size_t i = 0; i < ARRAY_SIZE(lists) && !why; i++)
		why = unreadable_in(json_getz(schema, lists[i]));
	for (size_t i = 0; i < ARRAY_SIZE(single) && !why; i++)
		why = schema_at(schema, single[i]) ? unreadable(schema_at(schema, single[i]))
						   : NULL;
	return why;
}

/* --- rules on values -------------------------------------------------------------- */

static void check_nested(struct checker *c, const struct json *schema, bool skip_any_of,
			 const struct field_path *path);

static void check_nested_list(struct checker *c, const struct json *schema, const char *key,
			      bool skip_first_any_of, const struct field_path *path)
{
	struct field_path list = field_path_name(path, key);
	size_t i = 0;

	JSON_FOREACH (item, json_getz(schema, key)) {
		struct field_path at = field_path_index(&list, i);

		check_nested(c, item, skip_first_any_of && i == 0, &at);
		i++;
	}
}

static void check_values(struct checker *c, const struct json *schema, bool skip_any_of,
			 bool skip_first_all_of, const struct field_path *path)
{
	struct field_path not = field_path_name(path, "not");
	struct field_path pattern = field_path_name(path, "pattern");
	struct str text = json_text_at(schema, "pattern");
	uint64_t *steps = c->v->budget ? &c->v->budget->left : NULL;
	struct error err;

	if (!skip_any_of)
		check_nested_list(c, schema, "anyOf", false, path);
	check_nested_list(c, schema, "allOf", skip_first_all_of, path);
	check_nested_list(c, schema, "oneOf", false, path);
	if (schema_at(schema, "not"))
		check_nested(c, schema_at(schema, "not"), false, &not );
	if (text.n && regex_compile_within(NULL, text, steps, NULL, &err) < 0)
		field_errors_addf(&c->errs, FIELD_INVALID, &pattern, FIELD_STR(text),
				  "must be a valid regular expression, but isn't: %s", err.msg);
}

/* Reports members that define a value, which are not allowed within allOf and the like. */
static void check_forbidden(struct checker *c, const struct json *schema,
			    const struct field_path *path)
{
	static const char empty[] = "must be empty to be structural";
	static const char undefined[] = "must be undefined to be structural";
	static const char off[] = "must be false to be structural";
	static const struct {
		const char *key, *why;
		bool flag; /* only true is forbidden */
	} rows[] = {
		{ "type", empty, false },
		{ "additionalProperties", undefined, false },
		{ "default", undefined, false },
		{ "title", empty, false },
		{ "description", empty, false },
		{ "nullable", off, true },
		{ "x-kubernetes-preserve-unknown-fields", off, true },
		{ "x-kubernetes-embedded-resource", off, true },
		{ "x-kubernetes-int-or-string", off, true },
		{ "x-kubernetes-list-map-keys", empty, false },
		{ "x-kubernetes-list-type", undefined, false },
		{ "x-kubernetes-map-type", undefined, false },
		{ "x-kubernetes-validations", empty, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct field_path at = field_path_name(path, rows[i].key);
		const struct json *value = json_getz(schema, rows[i].key);

		if (value && value->type != JSON_NULL &&
		    (!rows[i].flag || json_true_at(schema, rows[i].key)))
			field_errors_forbidden(&c->errs, &at, rows[i].why);
	}
}

static void check_nested(struct checker *c, const struct json *schema, bool skip_any_of,
			 const struct field_path *path)
{
	struct field_path items = field_path_name(path, "items");
	struct field_path properties = field_path_name(path, "properties");
	struct field_path metadata = field_path_key(&properties, STR("metadata"));

	check_values(c, schema, skip_any_of, false, path);
	if (schema_at(schema, "items"))
		check_nested(c, schema_at(schema, "items"), false, &items);
	JSON_FOREACH (property, json_getz(schema, "properties")) {
		struct field_path at = field_path_key(&properties, json_key(property));

		check_nested(c, property, false, &at);
	}
	check_forbidden(c, schema, path);
	/* It could restrict metadata in unwanted ways. */
	if (json_getz(json_getz(schema, "properties"), "metadata"))
		field_errors_forbidden(&c->errs, &metadata,
				       "must not be specified in a nested context");
}

/* --- shape ------------------------------------------------------------------------ */

/*
 * Whether it is [{type: integer}, {type: string}], as controller-gen writes next to int-or-string.
 */
static bool is_int_or_string(const struct json *any_of)
{
	const struct json *first = json_at(any_of, 0), *second = json_at(any_of, 1);

	return json_count(any_of) == 2 && json_count(first) == 1 && json_count(second) == 1 &&
	       str_eqz(json_text_at(first, "type"), "integer") &&
	       str_eqz(json_text_at(second, "type"), "string");
}

static void check_text_type(struct checker *c, const struct json *schema, const char *name,
			    const struct field_path *path)
{
	const struct json *property = json_getz(json_getz(schema, "properties"), name);
	struct field_path properties = field_path_name(path, "properties");
	struct field_path at = field_path_key(&properties, str_from(name));
	struct field_path type = field_path_name(&at, "type");

	if (property && !str_eqz(json_text_at(property, "type"), "string"))
		field_errors_invalid(&c->errs, &type, FIELD_STR(json_text_at(property, "type")),
				     "must be string");
}

/* Whether it restricts more of the object's own metadata than name and generateName. */
static bool says_too_much(const struct json *metadata)
{
	const struct json *properties = json_getz(metadata, "properties");

	JSON_FOREACH (member, metadata)
		if (!str_eqz(json_key(member), "type") &&
		    !str_eqz(json_key(member), "properties") &&
		    !str_eqz(json_key(member), "default"))
			return true;
	JSON_FOREACH (property, properties)
		if (!str_eqz(json_key(property), "name") &&
		    !str_eqz(json_key(property), "generateName"))
			return true;
	return false;
}

static void check_metadata(struct checker *c, const struct json *schema, enum level level,
			   const struct field_path *path)
{
	const struct json *metadata = json_getz(json_getz(schema, "properties"), "metadata");
	bool own = level == ROOT || json_true_at(schema, "x-kubernetes-embedded-resource");
	struct field_path properties = field_path_name(path, "properties");
	struct field_path at = field_path_key(&properties, STR("metadata"));
	struct field_path type = field_path_name(&at, "type");

	if (own) {
		check_text_type(c, schema, "kind", path);
		check_text_type(c, schema, "apiVersion", path);
	}
	if (!metadata)
		return;
	if (own && !str_eqz(json_text_at(metadata, "type"), "object"))
		field_errors_invalid(&c->errs, &type, FIELD_STR(json_text_at(metadata, "type")),
				     "must be object");
	if (level == ROOT && says_too_much(metadata))
		field_errors_forbidden(&c->errs, &at,
				       "must not specify anything other than name and "
				       "generateName, but metadata is implicitly specified");
}

static void definition_structural_check_type(struct checker *c, const struct json *schema,
					     enum level level, const struct field_path *path)
{
	static const char *const missing[] = {
		[ROOT] = "must not be empty at the root",
		[ITEM] = "must not be empty for specified array items",
		[FIELD] = "must not be empty for specified object fields",
	};
	static const char embedded[] = "must be object if x-kubernetes-embedded-resource is true";
	struct field_path at = field_path_name(path, "type");
	struct str type = json_text_at(schema, "type");

	if (json_true_at(schema, "x-kubernetes-embedded-resource") && !str_eqz(type, "object")) {
		if (type.n)
			field_errors_invalid(&c->errs, &at, FIELD_STR(type), embedded);
		else
			field_errors_required(&c->errs, &at, embedded);
	} else if (type.n == 0 && !json_true_at(schema, "x-kubernetes-int-or-string") &&
		   !json_true_at(schema, "x-kubernetes-preserve-unknown-fields")) {
		field_errors_required(&c->errs, &at, missing[level]);
	}
	if (level == ROOT && type.n && !str_eqz(type, "object"))
		field_errors_invalid(&c->errs, &at, FIELD_STR(type), "must be object at the root");
}

/* Checks extensions that exclude each other. */
static void check_extensions(struct checker *c, const struct json *schema,
			     const struct field_path *path)
{
	static const char why[] = "must be false if x-kubernetes-int-or-string is true";
	struct field_path preserve = field_path_name(path, "x-kubernetes-preserve-unknown-fields");
	struct field_path embedded = field_path_name(path, "x-kubernetes-embedded-resource");
	struct field_path additional = field_path_name(path, "additionalProperties");
	struct field_path properties = field_path_name(path, "properties");
	bool preserves = json_true_at(schema, "x-kubernetes-preserve-unknown-fields");
	bool embeds = json_true_at(schema, "x-kubernetes-embedded-resource");

	if (json_true_at(schema, "x-kubernetes-int-or-string") && preserves)
		field_errors_invalid(&c->errs, &preserve, FIELD_BOOL(true), why);
	if (json_true_at(schema, "x-kubernetes-int-or-string") && embeds)
		field_errors_invalid(&c->errs, &embedded, FIELD_BOOL(true), why);
	if (embeds && json_getz(schema, "additionalProperties"))
		field_errors_forbidden(&c->errs, &additional,
				       "must not be used if x-kubernetes-embedded-resource is set");
	if (embeds && !preserves && json_count(json_getz(schema, "properties")) == 0)
		field_errors_required(&c->errs, &properties,
				      "must not be empty if x-kubernetes-embedded-resource is true "
				      "without x-kubernetes-preserve-unknown-fields");
}

static void check_shape(struct checker *c, const struct json *schema, enum level level,
			const struct field_path *path)
{
	struct field_path items = field_path_name(path, "items");
	struct field_path properties = field_path_name(path, "properties");
	struct field_path additional = field_path_name(path, "additionalProperties");
	const struct json *all_of = json_getz(schema, "allOf");

	if (str_eqz(json_text_at(schema, "type"), "array") && !json_getz(schema, "items"))
		field_errors_required(&c->errs, &items, "must be specified");
	if (schema_at(schema, "items"))
		check_shape(c, schema_at(schema, "items"), ITEM, &items);
	JSON_FOREACH (property, json_getz(schema, "properties")) {
		struct field_path at = field_path_key(&properties, json_key(property));

		check_shape(c, property, FIELD, &at);
	}
	if (level == ROOT && json_getz(schema, "additionalProperties"))
		field_errors_forbidden(&c->errs, &additional, "must not be used at the root");
	if (schema_at(schema, "additionalProperties"))
		check_shape(c, schema_at(schema, "additionalProperties"), FIELD, &additional);
	check_extensions(c, schema, path);
	check_values(c, schema, is_int_or_string(json_getz(schema, "anyOf")),
		     is_int_or_string(json_getz(json_first(all_of), "anyOf")), path);
	definition_structural_check_type(c, schema, level, path);
	check_metadata(c, schema, level, path);
}

/* --- completeness ----------------------------------------------------------------- */

/* The place of a rule, and the schema that it applies to. */
struct place {
	const struct json *schema; /* structural; or NULL */
	const struct field_path *path, *rule_path;
};

static void check_complete(struct checker *c, const struct json *rule, const struct place *place);

static void add_incomplete(struct checker *c, const struct field_path *path,
			   const struct field_path *rule_path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);

	(void)buf_addz(&text, "because it is defined in ");
	(void)field_path_print(rule_path, &text);
	field_errors_required(&c->errs, path, text.p);
}

static void check_complete_nested(struct checker *c, const struct json *rule,
				  const struct place *place)
{
	struct field_path items = field_path_name(place->path, "items");
	struct field_path rule_items = field_path_name(place->rule_path, "items");
	struct field_path properties = field_path_name(place->path, "properties");
	struct field_path rule_properties = field_path_name(place->rule_path, "properties");

	if (!place->schema) {
		add_incomplete(c, place->path, place->rule_path);
		return;
	}
	check_complete(c, rule, place);
	if (schema_at(rule, "items")) {
		struct place below = { schema_at(place->schema, "items"), &items, &rule_items };

		check_complete_nested(c, schema_at(rule, "items"), &below);
	}
	JSON_FOREACH (property, json_getz(rule, "properties")) {
		struct field_path at = field_path_key(&properties, json_key(property));
		struct field_path rule_at = field_path_key(&rule_properties, json_key(property));
		struct place below = { json_get(json_getz(place->schema, "properties"),
						json_key(property)),
				       &at, &rule_at };

		check_complete_nested(c, property, &below);
	}
}

static void check_complete(struct checker *c, const struct json *rule, const struct place *place)
{
	static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
	struct field_path not = field_path_name(place->rule_path, "not");
	struct place below = *place;

	below.rule_path = &not ;
	if (schema_at(rule, "not"))
		check_complete_nested(c, schema_at(rule, "not"), &below);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct field_path list = field_path_name(place->rule_path, lists[i]);
		size_t k = 0;

		JSON_FOREACH (item, json_getz(rule, lists[i])) {
			struct field_path at = field_path_index(&list, k++);

			below.rule_path = &at;
			check_complete_nested(c, item, &below);
		}
	}
}

/* --- the whole -------------------------------------------------------------------- */

static struct str fault_text(struct arena *a, const struct field_error *e)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(a->max);

	(void)buf_printf(&text, "%.*s: ", STR_ARG(e->path));
	(void)field_error_print_body(e, &text);
	return arena_str(a, buf_str(&text));
}

struct fault {
	struct field_error *error;
	struct str text;
};

static int fault_cmp(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;

	return str_cmp(x->text, y->text);
}

static void definition_structural_hand_over(struct checker *c)
{
	struct field_errors *into = c->v->errs;
	struct fault *faults = ARENA_ARRAY(c->v->arena, struct fault, c->errs.n + 1);
	size_t n = 0;

	for (struct field_error *e = c->errs.first; e; e = e->next)
		faults[n++] = (struct fault){ e, fault_text(c->v->arena, e) };
	qsort(faults, n, sizeof(*faults), fault_cmp);
	for (size_t i = 0; i < n; i++) {
		faults[i].error->next = NULL;
		if (into->last)
			into->last->next = faults[i].error;
		else
			into->first = faults[i].error;
		into->last = faults[i].error;
		into->n++;
	}
	into->dropped += c->errs.dropped;
}

bool check_crd_structural(struct validation *v, const struct json *schema,
			  const struct field_path *path, const char **ret_why)
{
	const struct place root = { schema, path, path };
	struct checker c = { .v = v };

	*ret_why = unreadable(schema);
	if (*ret_why)
		return false;
	field_errors_init(&c.errs, v->arena);
	check_shape(&c, schema, ROOT, path);
	check_complete(&c, schema, &root);
	definition_structural_hand_over(&c);
	return !field_errors_any(&c.errs);
}
