/*
 * Sets as lists of paths, objects as lists of nodes.
 */
#include "api/managed/reference_impl.h"

#include "base/core/limits.h"

/* A place of the schema; `single`: one element of the field's list or map. */
struct place {
	const struct schema_field *field; /* NULL: a leaf */
	bool single;
};

enum nature { LEAF, STRUCT, MAP, SET, KEYED };

static const struct schema_type deduced_type = { .preserve = true };
static const struct schema_field deduced = { .type = &deduced_type, .value = SCHEMA_OBJECT };

/* --- sets -------------------------------------------------------------------------- */

bool reference_set_has(const struct reference_set *set, struct str path)
{
	return set->n && bsearch(&path, set->v, set->n, sizeof(path), str_order);
}

/* The members of `a` that are, or are not, in `b`. */
static struct reference_set set_pick(struct arena *arena, const struct reference_set *a,
				     const struct reference_set *b, bool in)
{
	struct reference_set out = { .v = ARENA_ARRAY(arena, struct str, a->n + 1) };

	for (size_t i = 0; i < a->n; i++)
		if (reference_set_has(b, a->v[i]) == in)
			out.v[out.n++] = a->v[i];
	return out;
}

struct reference_set reference_minus(struct arena *arena, const struct reference_set *a,
				     const struct reference_set *b)
{
	return set_pick(arena, a, b, false);
}

struct reference_set reference_both(struct arena *arena, const struct reference_set *a,
				    const struct reference_set *b)
{
	return set_pick(arena, a, b, true);
}

/* Sorted, without duplicates. */
struct reference_set reference_set_of(struct reference_set set)
{
	size_t n = 0;

	if (set.n)
		qsort(set.v, set.n, sizeof(*set.v), str_order);
	for (size_t i = 0; i < set.n; i++)
		if (n == 0 || !str_eq(set.v[n - 1], set.v[i]))
			set.v[n++] = set.v[i];
	set.n = n;
	return set;
}

struct reference_set reference_either(struct arena *arena, const struct reference_set *a,
				      const struct reference_set *b)
{
	struct reference_set out = { .v = ARENA_ARRAY(arena, struct str, a->n + b->n + 1) };

	for (size_t i = 0; i < a->n; i++)
		out.v[out.n++] = a->v[i];
	for (size_t i = 0; i < b->n; i++)
		out.v[out.n++] = b->v[i];
	return reference_set_of(out);
}

struct str reference_join(struct arena *a, struct str path, struct str step)
{
	char *text = arena_alloc(a, path.n + step.n + 2);
	size_t n = 0;

	if (path.n) {
		str_put(text, path);
		n = path.n;
		text[n++] = REFERENCE_JOIN;
	}
	str_put(text + n, step);
	return str_of(text, n + step.n);
}

/* Returns the path of the parent; "" above the first step. */
struct str reference_parent(struct str path)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != REFERENCE_JOIN)
		n--;
	return str_of(path.p, n ? n - 1 : 0);
}

static struct str step_of(struct str path)
{
	struct str parent = reference_parent(path);

	return str_skip(path, parent.n ? parent.n + 1 : 0);
}

bool reference_is_below(struct str path, struct str above)
{
	return path.n > above.n &&
	       (above.n == 0 || (str_starts(path, above) && path.p[above.n] == REFERENCE_JOIN));
}

static void read_fields(struct arena *a, const struct json *fields, struct str path,
			struct reference_set *set)
{
	JSON_FOREACH (child, fields) {
		struct str below = reference_join(a, path, json_key(child));

		if (str_eqz(json_key(child), "."))
			continue;
		if (json_count(child) == 0 || json_getz(child, "."))
			set->v[set->n++] = below;
		read_fields(a, child, below, set);
	}
}

static size_t count_nodes(const struct json *v)
{
	size_t n = 1;

	JSON_FOREACH (child, v)
		n += count_nodes(child);
	return n;
}

struct reference_set reference_set_read(struct arena *a, const struct json *fields)
{
	struct reference_set set = { .v = ARENA_ARRAY(a, struct str, count_nodes(fields)) };

	read_fields(a, fields, STR(""), &set);
	return reference_set_of(set);
}

/* --- the schema --------------------------------------------------------------------- */

static enum nature nature_of(struct place *p)
{
	const struct schema_field *f;

	while (p->field && p->single && p->field->value == SCHEMA_NESTED)
		*p = (struct place){ schema_element(p->field), false };
	f = p->field;
	if (!f)
		return LEAF;
	if (!p->single && f->shape == SCHEMA_LIST && f->merge == SCHEMA_LIST_SET)
		return SET;
	if (!p->single && f->shape == SCHEMA_LIST)
		return f->merge == SCHEMA_LIST_MAP ? KEYED : LEAF;
	if (!p->single && f->shape != SCHEMA_ONE)
		return f->merge == SCHEMA_ATOMIC ? LEAF : MAP;
	if (f->value != SCHEMA_OBJECT || f->type->atomic)
		return LEAF;
	return f->shape == SCHEMA_ONE && f->merge == SCHEMA_ATOMIC ? LEAF : STRUCT;
}

/* Returns the place of a member or element, and whether the schema names it. */
static struct place part_of(struct place p, enum nature nature, struct str name, bool *ret_named)
{
	const struct schema_field *f;

	*ret_named = false;
	if (nature != STRUCT)
		return (struct place){ p.field->shape == SCHEMA_MAP_OF_LISTS ? NULL : p.field,
				       true };
	f = schema_field(p.field->type, name);
	*ret_named = f != NULL;
	if (!f && p.field->type->preserve)
		f = &deduced;
	return (struct place){ f, false };
}

/* Whether the last step of a path is a field that the schema names. */
static bool is_named(const struct schema_kind *kind, struct str path)
{
	const struct schema_field root = { .type = kind->type, .value = SCHEMA_OBJECT };
	struct place p = { &root, true };
	struct str rest = path, step;
	bool named = false;

	while (str_split(&rest, REFERENCE_JOIN, &step)) {
		bool field = str_starts(step, STR("f:"));
		enum nature nature = nature_of(&p);

		if (nature == LEAF || field != (nature == STRUCT || nature == MAP))
			return false;
		p = part_of(p, nature, str_skip(step, field ? 2 : 0), &named);
	}
	return named;
}

/* Adds all fields on the paths to the set's fields that the schema names. */
struct reference_set reference_named(struct arena *a, const struct schema_kind *kind,
				     const struct reference_set *set)
{
	struct reference_set out;
	size_t n = 1;

	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->v[i].n; k++)
			n += k == 0 || set->v[i].p[k] == REFERENCE_JOIN;
	out = (struct reference_set){ .v = ARENA_ARRAY(a, struct str, n) };
	for (size_t i = 0; i < set->n; i++) {
		out.v[out.n++] = set->v[i];
		for (struct str up = reference_parent(set->v[i]); up.n; up = reference_parent(up))
			if (is_named(kind, up))
				out.v[out.n++] = up;
	}
	return reference_set_of(out);
}

/* --- objects ------------------------------------------------------------------------- */

static void print_key(struct buf *b, const struct schema_field *list, const struct json *element,
		      struct str name)
{
	static const struct json_style html = { .html = true };
	const struct schema_field *key = schema_field(list->type, name);
	const struct json *value = json_get(element, name);

	if (!value && !(key && key->rules && key->rules->initial.p))
		return;
	(void)buf_addz(b, b->n > 3 ? "," : "");
	(void)json_print_str(b, name, NULL);
	(void)buf_addc(b, ':');
	if (value)
		(void)json_print(b, value, &html);
	else
		(void)buf_add_str(b, key->rules->initial);
}

/* Returns the name of an element; keys are sorted by name. */
static struct str element_step(struct arena *a, struct place p, enum nature nature,
			       const struct json *element)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	static const struct json_style html = { .html = true };
	struct str names[8];
	size_t n = 0;

	(void)buf_addz(&b, nature == SET ? "v:" : "k:{");
	if (nature == SET) {
		(void)json_print(&b, element, &html);
		return arena_str(a, buf_str(&b));
	}
	for (const struct str *key = p.field->list_keys; key->p && n < ARRAY_SIZE(names); key++)
		names[n++] = *key;
	qsort(names, n, sizeof(*names), str_order);
	for (size_t i = 0; i < n; i++)
		print_key(&b, p.field, element, names[i]);
	(void)buf_addc(&b, '}');
	return arena_str(a, buf_str(&b));
}

/* Marked by a member that nulls do not use. */
static struct json *assumed_null(struct arena *a)
{
	struct json *v = json_make_null(a);

	v->boolean = true;
	return v;
}

static bool is_assumed(const struct json *v)
{
	return v->type == JSON_NULL && v->boolean;
}

/* Returns the value that Go prints for an absent field without omitempty. */
static struct json *go_zero(struct arena *a, const struct schema_field *f)
{
	if (f->shape != SCHEMA_ONE || (f->flags & SCHEMA_POINTER))
		return assumed_null(a);
	switch (f->value) {
	case SCHEMA_OBJECT:
		return json_make_object(a);
	case SCHEMA_STRING:
		return json_make_str(a, STR(""));
	case SCHEMA_BOOL:
		return json_make_bool(a, false);
	case SCHEMA_INT32:
	case SCHEMA_INT64:
	case SCHEMA_INT_OR_STRING:
		return json_make_i64(a, 0);
	case SCHEMA_QUANTITY:
		return json_make_str(a, STR("0"));
	default:
		return assumed_null(a);
	}
}

static bool reference_nodes_has(const struct json *v, const struct schema_field *f, bool null)
{
	const struct json *member = json_get(v, f->name);

	return member && (null || member->type != JSON_NULL);
}

/*
 * Adds the values that upstream's typed objects always have; custom kinds are not typed. With
 * `nulls`, also nulls that our objects do not have. Without, a null in place of such a value
 * becomes the value.
 */
static void add_zeros(struct arena *a, struct place p, struct json *v, bool nulls)
{
	enum nature nature = nature_of(&p);
	struct json *zero;
	bool named;

	if (nature == LEAF || !json_is_container(v))
		return;
	for (size_t i = 0; nature == STRUCT && i < p.field->type->nfields; i++) {
		const struct schema_field *f = &p.field->type->fields[i];

		if (!(f->flags & SCHEMA_ALWAYS) || reference_nodes_has(v, f, nulls))
			continue;
		zero = go_zero(a, f);
		if (nulls || !is_assumed(zero))
			json_set(v, f->name, zero);
	}
	JSON_FOREACH (child, v)
		add_zeros(a, part_of(p, nature, json_key(child), &named), child, nulls);
}

struct json *reference_whole(struct arena *a, const struct schema_kind *kind, const struct json *v)
{
	const struct schema_field root = { .type = kind->type, .value = SCHEMA_OBJECT };
	struct json *copy = NULL;

	if (v)
		(void)json_copy(a, v, &copy, NULL);
	if (v && !kind->custom)
		add_zeros(a, (struct place){ &root, true }, copy, false);
	return copy;
}

/* --- values -------------------------------------------------------------------------- */

static double as_double(const struct json *v)
{
	switch (v->type) {
	case JSON_INT:
		return (double)v->i64;
	case JSON_UINT:
		return (double)v->u64;
	default:
		return v->f64;
	}
}

static bool is_number(const struct json *v)
{
	return v->type == JSON_INT || v->type == JSON_UINT || v->type == JSON_DOUBLE;
}

/* Compares as upstream does: as integers if both are, else as floating point. */
static bool same_number(const struct json *a, const struct json *b)
{
	if (a->type == JSON_DOUBLE || b->type == JSON_DOUBLE)
		return as_double(a) == as_double(b);
	if (a->type != b->type)
		return false;
	return a->type == JSON_INT ? a->i64 == b->i64 : a->u64 == b->u64;
}

static bool same_members(const struct json *a, const struct json *b)
{
	JSON_FOREACH (left, a) {
		bool found = false;

		JSON_FOREACH (right, b)
			found |= str_eq(json_key(left), json_key(right)) &&
				 reference_equal(left, right);
		if (!found)
			return false;
	}
	return true;
}

static bool same_elements(const struct json *a, const struct json *b)
{
	const struct json *right = b->first;

	for (const struct json *left = a->first; left; left = left->next, right = right->next)
		if (!reference_equal(left, right))
			return false;
	return true;
}

bool reference_equal(const struct json *a, const struct json *b)
{
	if (!a || !b)
		return a == b;
	if (is_number(a) && is_number(b))
		return same_number(a, b);
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_STRING:
		return str_eq(json_str(a), json_str(b));
	case JSON_ARRAY:
		return a->n == b->n && same_elements(a, b);
	case JSON_OBJECT:
		return a->n == b->n && same_members(a, b);
	default:
		return true;
	}
}

/* --- nodes --------------------------------------------------------------------------- */

void reference_push(struct reference_nodes *nodes, struct reference_node node)
{
	struct reference_node *grown;

	if ((nodes->n & (nodes->n - 1)) == 0) {
		grown = ARENA_ARRAY(nodes->arena, struct reference_node,
				    nodes->n ? 2 * nodes->n : 1);
		if (nodes->n)
			memcpy(grown, nodes->v, nodes->n * sizeof(*grown));
		nodes->v = grown;
	}
	nodes->v[nodes->n] = node;
	nodes->n++;
}

static void flatten(struct reference_nodes *nodes, struct place p, struct reference_node at,
		    const struct json *v)
{
	enum nature nature = nature_of(&p);
	bool list = nature == SET || nature == KEYED;

	if (nature == LEAF || !json_is(v, list ? JSON_ARRAY : JSON_OBJECT)) {
		at.value = v;
		at.assumed = is_assumed(v);
		reference_push(nodes, at);
		return;
	}
	at.content = list ? LIST : OBJECT;
	reference_push(nodes, at);
	JSON_FOREACH (child, v) {
		struct reference_node part = { .content = VALUE };
		struct place below = part_of(p, nature, json_key(child), &part.named);
		struct str step = list ? element_step(nodes->arena, p, nature, child)
				       : reference_join(nodes->arena, STR_NULL, json_key(child));

		if (!list)
			step = str_from(arena_printf(nodes->arena, "f:%.*s", STR_ARG(step)));
		part.path = reference_join(nodes->arena, at.path, step);
		flatten(nodes, below, part, child);
	}
}

/* `typed`: as upstream's typed objects are printed. */
struct reference_nodes reference_nodes_of(struct arena *a, const struct schema_kind *kind,
					  const struct json *v, bool typed)
{
	const struct schema_field root = { .type = kind->type, .value = SCHEMA_OBJECT };
	struct reference_nodes nodes = { .arena = a };
	struct json *copy = json_make_object(a);

	if (v)
		(void)json_copy(a, v, &copy, NULL);
	if (typed && !kind->custom)
		add_zeros(a, (struct place){ &root, true }, copy, true);
	flatten(&nodes, (struct place){ &root, true }, (struct reference_node){ .path = STR("") },
		copy);
	return nodes;
}

const struct reference_node *reference_find(const struct reference_nodes *nodes, struct str path)
{
	for (size_t i = 0; i < nodes->n; i++)
		if (str_eq(nodes->v[i].path, path))
			return &nodes->v[i];
	return NULL;
}

size_t reference_children(const struct reference_nodes *nodes, struct str path)
{
	size_t n = 0;

	for (size_t i = 0; i < nodes->n; i++)
		n += nodes->v[i].path.n > 0 && str_eq(reference_parent(nodes->v[i].path), path);
	return n;
}

/* Makes the tree from nodes. */
struct json *reference_tree(const struct reference_nodes *nodes)
{
	struct json **made = ARENA_ARRAY(nodes->arena, struct json *, nodes->n);

	for (size_t i = 0; i < nodes->n; i++) {
		const struct reference_node *node = &nodes->v[i],
					    *up = reference_find(nodes,
								 reference_parent(node->path));
		struct json *parent = made[up - nodes->v];

		if (node->assumed)
			continue;
		if (node->content == VALUE)
			(void)json_copy(nodes->arena, node->value, &made[i], NULL);
		else
			made[i] = node->content == LIST ? json_make_array(nodes->arena)
							: json_make_object(nodes->arena);
		if (i && up->content == LIST)
			json_append(parent, made[i]);
		else if (i)
			json_add(parent, str_skip(step_of(node->path), 2), made[i]);
	}
	return made[0];
}

/* --- fields ----------------------------------------------------------------------------- */

/*
 * The fields that their writer owns: values, elements, keys of maps. A field that the schema names
 * is owned through its content, and itself if that is {} or null.
 */
struct reference_set reference_fields_of(const struct reference_nodes *nodes)
{
	struct reference_set set = { .v = ARENA_ARRAY(nodes->arena, struct str, nodes->n) };

	for (size_t i = 1; i < nodes->n; i++) {
		const struct reference_node *node = &nodes->v[i];

		if (node->content == VALUE || !node->named ||
		    (node->content == OBJECT && reference_children(nodes, node->path) == 0))
			set.v[set.n++] = node->path;
	}
	return reference_set_of(set);
}

struct reference_set reference_fields(struct arena *a, const struct schema_kind *kind,
				      const struct json *config)
{
	struct reference_nodes nodes = reference_nodes_of(a, kind, config, false);

	return reference_fields_of(&nodes);
}

bool reference_is_null(struct arena *a, const struct schema_kind *kind, const struct json *object,
		       struct str path)
{
	struct reference_nodes nodes = reference_nodes_of(a, kind, object, false);
	const struct reference_node *node = reference_find(&nodes, path);

	return node && node->content == VALUE && node->value->type == JSON_NULL;
}
