/*
 * Makes the tables of schema.h from a structural schema: what managedFields and apply need, without
 * validation. Objects with properties are types. Maps and lists are shapes of fields; if they nest,
 * their elements are fields of their own (SCHEMA_NESTED). A value that may be anything, or that
 * keeps unknown fields, has a type with `preserve`: its structure is deduced from the value.
 */
#include "api/crd/crd_impl.h"

struct builder {
	struct arena *arena;
	struct error *err;
	/* Number of schemas above that keep unknown fields, which also applies below. */
	unsigned preserving;
};

static int build_type(struct builder *b, const struct crd_schema *s, bool root,
		      const struct schema_type **ret_type);

static uint8_t type_value_of(const struct crd_schema *s)
{
	if (s->int_or_string)
		return SCHEMA_INT_OR_STRING;
	switch (s->types) {
	case CRD_STRING:
		return SCHEMA_STRING;
	case CRD_BOOLEAN:
		return SCHEMA_BOOL;
	case CRD_INTEGER:
		return SCHEMA_INT64;
	case CRD_NUMBER:
		return SCHEMA_DOUBLE;
	default:
		return SCHEMA_ANY;
	}
}

static bool is_map(const struct crd_schema *s)
{
	return s->types == CRD_OBJECT && s->open && s->nproperties == 0;
}

static bool is_object(const struct crd_schema *s)
{
	return s->types == CRD_OBJECT || (s->types == 0 && !s->int_or_string);
}

static int build_field(struct builder *b, const struct crd_schema *s, struct schema_field *field);

/* The type of members that additionalProperties allows without a schema. */
static const struct schema_type anything = { .preserve = true };

/* Describes the elements of a list or map. */
static int build_elements(struct builder *b, const struct crd_schema *s, struct schema_field *field)
{
	struct schema_type *holder;
	struct schema_field *element;

	if (!s) {
		field->value = field->shape == SCHEMA_MAP ? SCHEMA_OBJECT : SCHEMA_ANY;
		field->type = field->shape == SCHEMA_MAP ? &anything : NULL;
		return 0;
	}
	if (s->types != CRD_ARRAY && !is_map(s)) {
		field->value = is_object(s) ? SCHEMA_OBJECT : type_value_of(s);
		return field->value == SCHEMA_OBJECT ? build_type(b, s, false, &field->type) : 0;
	}
	holder = ARENA_NEW(b->arena, struct schema_type);
	element = ARENA_NEW(b->arena, struct schema_field);
	holder->fields = element;
	holder->nfields = 1;
	holder->by_name = ARENA_NEW(b->arena, uint16_t);
	field->value = SCHEMA_NESTED;
	field->type = holder;
	return build_field(b, s, element);
}

static int build_field(struct builder *b, const struct crd_schema *s, struct schema_field *field)
{
	static const uint8_t merges[] = { [CRD_LIST_ATOMIC] = SCHEMA_ATOMIC,
					  [CRD_LIST_SET] = SCHEMA_LIST_SET,
					  [CRD_LIST_MAP] = SCHEMA_LIST_MAP };

	if (s->types == CRD_ARRAY) {
		field->shape = SCHEMA_LIST;
		field->merge = merges[s->list];
		if (s->list == CRD_LIST_MAP && (!s->items || !is_object(s->items)))
			field->merge = SCHEMA_ATOMIC;
		field->list_keys = field->merge == SCHEMA_LIST_MAP ? s->keys : NULL;
		return build_elements(b, s->items, field);
	}
	field->merge = s->atomic_map ? SCHEMA_ATOMIC : SCHEMA_GRANULAR;
	if (is_map(s)) {
		field->shape = SCHEMA_MAP;
		return build_elements(b, s->additional, field);
	}
	if (!is_object(s)) {
		field->value = type_value_of(s);
		return 0;
	}
	field->value = SCHEMA_OBJECT;
	return build_type(b, s, false, &field->type);
}

/* Sets the default of a scalar: a key's default is part of an element's name. */
static int set_initial(struct builder *b, const struct crd_schema *s, struct schema_field *field)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(b->arena->max);
	struct schema_rules *rules;

	if (!s->initial || json_is_container(s->initial))
		return 0;
	rules = ARENA_NEW(b->arena, struct schema_rules);
	(void)json_print(&text, s->initial, NULL);
	rules->initial = arena_str(b->arena, buf_str(&text));
	field->rules = rules;
	return 0;
}

/* Adds the fields that every API object has, whatever its schema. */
static size_t add_meta(struct schema_field *fields)
{
	static const char *const texts[] = { "apiVersion", "kind" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		fields[n++] = (struct schema_field){ .name = str_from(texts[i]),
						     .value = SCHEMA_STRING };
	fields[n++] = (struct schema_field){
		.name = STR("metadata"),
		.type = schema_object_meta(),
		.value = SCHEMA_OBJECT,
		.flags = SCHEMA_ALWAYS,
	};
	return n;
}

static const uint16_t *type_index_of(struct builder *b, const struct schema_field *fields, size_t n)
{
	uint16_t *by_name = ARENA_ARRAY(b->arena, uint16_t, n + 1);

	/* Properties are sorted; inserts the few fields before them at their places. */
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && str_cmp(fields[by_name[at - 1]].name, fields[i].name) > 0; at--)
			by_name[at] = by_name[at - 1];
		by_name[at] = (uint16_t)i;
	}
	return by_name;
}

static int build_type(struct builder *b, const struct crd_schema *s, bool root,
		      const struct schema_type **ret_type)
{
	struct schema_type *type = ARENA_NEW(b->arena, struct schema_type);
	struct schema_field *fields;
	size_t n = 0;
	int r;

	if (s->nproperties > UINT16_MAX - 3)
		return error_set(b->err, ERR_INVALID, "the schema has too many properties");
	b->preserving += s->preserve;
	fields = ARENA_ARRAY(b->arena, struct schema_field, s->nproperties + 3);
	if (root || s->embedded)
		n = add_meta(fields);
	for (size_t i = 0; i < s->nproperties; i++) {
		const struct crd_property *p = &s->properties[i];

		if ((root || s->embedded) && crd_is_meta(p->name))
			continue;
		fields[n].name = p->name;
		r = build_field(b, p->schema, &fields[n]);
		if (r == 0)
			r = set_initial(b, p->schema, &fields[n]);
		if (r < 0)
			return r;
		n++;
	}
	type->fields = fields;
	type->nfields = (uint16_t)n;
	type->by_name = type_index_of(b, fields, n);
	type->atomic = s->atomic_map;
	type->preserve = b->preserving || s->types == 0 || (s->nproperties == 0 && !s->closed);
	b->preserving -= s->preserve;
	*ret_type = type;
	return 0;
}

int crd_type_build(struct arena *a, const struct crd_schema *root, struct str name,
		   struct str openapi, const struct schema_type **ret_type, struct error *err)
{
	struct builder b = { .arena = a, .err = err };
	const struct schema_type *built;
	struct schema_type *type;
	int r;

	r = build_type(&b, root, true, &built);
	if (r < 0)
		return r;
	type = ARENA_NEW(a, struct schema_type);
	*type = *built;
	type->name = name;
	type->openapi = openapi;
	*ret_type = type;
	return 0;
}
