/*
 * An Object keeps the names and values of its literal. Types are not checked against a schema: as
 * upstream, only the names of the types are compared with the path, when the tree is made.
 */
#include "cel/kubernetes/mutation.h"

#include <math.h>
#include <stdarg.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"

enum { NODE_BYTES = 64 }; /* what a value of the tree counts, beside its text */

/* A literal's value, in scratch memory. */
struct made {
	const struct cel_message *message;
	const struct str *fields;
	const struct cel_value *values;
	size_t n;
};

/* The last of a name counts. */
static const struct cel_value *made_get(const struct made *m, struct str field)
{
	for (size_t i = m->n; i > 0; i--)
		if (str_eq(m->fields[i - 1], field))
			return &m->values[i - 1];
	return NULL;
}

static const struct cel_type *made_type(const void *self)
{
	return &((const struct made *)self)->message->type;
}

static bool made_equal(struct cel_eval *ev, const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (!str_eq(x->message->type.name, y->message->type.name) || x->n != y->n ||
	    !cel_work(ev, (uint64_t)x->n * y->n))
		return false;
	for (size_t i = 0; i < x->n; i++) {
		const struct cel_value *other = made_get(y, x->fields[i]);

		if (!other || !cel_equal(ev, &x->values[i], other))
			return false;
	}
	return true;
}

static struct cel_value make(struct cel_eval *ev, const struct cel_message *message,
			     const struct cel_object_class *class, const struct str *fields,
			     const struct cel_value *values, size_t n)
{
	struct made *m = cel_alloc(ev, sizeof(*m));

	if (!m)
		return cel_too_large();
	*m = (struct made){ message, fields, values, n };
	return (struct cel_value){ .kind = CEL_OBJECT, .object = { class, m } };
}

/* --- Object ------------------------------------------------------------------------- */

static struct cel_value object_get(struct cel_eval *ev, const void *self, struct str field)
{
	(void)self;
	(void)field;
	return cel_no_overload(ev);
}

static const struct cel_object_class object_class = { made_type, object_get, made_equal };

static struct cel_value make_object(struct cel_eval *ev, const struct cel_message *m,
				    const struct str *fields, const struct cel_value *values,
				    size_t n)
{
	return make(ev, m, &object_class, fields, values, n);
}

static const struct cel_message *object_message(struct arena *a, struct str name)
{
	struct cel_message *m = ARENA_NEW(a, struct cel_message);

	m->type = (struct cel_type){ .kind = CEL_TYPE_OBJECT,
				     .name = arena_str(a, name),
				     .message = m };
	m->open = true;
	m->make = make_object;
	return m;
}

/* --- JSONPatch ---------------------------------------------------------------------- */

static struct cel_value patch_get(struct cel_eval *ev, const void *self, struct str field)
{
	const struct cel_value *v = made_get(self, field);

	(void)ev;
	if (v)
		return *v;
	return str_eqz(field, "value") ? CEL_NOTHING : CEL_STRING_V(STR(""));
}

static const struct cel_object_class patch_class = { made_type, patch_get, made_equal };

static struct cel_value make_patch(struct cel_eval *ev, const struct cel_message *m,
				   const struct str *fields, const struct cel_value *values,
				   size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!str_eqz(fields[i], "value") && values[i].kind != CEL_STRING)
			return cel_errorf(ev, "unexpected type %.*s for JSONPatchType '%.*s' field",
					  STR_ARG(cel_value_type(&values[i])->name),
					  STR_ARG(fields[i]));
	return make(ev, m, &patch_class, fields, values, n);
}

static const struct cel_field patch_fields[] = {
	{ STR("from"), &cel_string },
	{ STR("op"), &cel_string },
	{ STR("path"), &cel_string },
	{ STR("value"), &cel_dyn },
};
static const struct cel_message patch_message = {
	.type = { .kind = CEL_TYPE_OBJECT,
		  .name = STR("JSONPatch"),
		  .fields = patch_fields,
		  .nfields = ARRAY_SIZE(patch_fields),
		  .message = &patch_message },
	.fields = patch_fields,
	.nfields = ARRAY_SIZE(patch_fields),
	.make = make_patch,
};

const struct cel_message *cel_mutation_message(struct arena *a, struct str name)
{
	if (str_eq(name, patch_message.type.name))
		return &patch_message;
	if (str_eqz(name, "Object") || str_starts(name, STR("Object.")))
		return object_message(a, name);
	return NULL;
}

bool cel_is_object_type(const struct cel_type *type)
{
	return type->kind == CEL_TYPE_OBJECT && str_eqz(type->name, "Object");
}

bool cel_is_patch_type(const struct cel_type *type)
{
	return type->kind == CEL_TYPE_LIST && type->params[0]->kind == CEL_TYPE_OBJECT &&
	       str_eq(type->params[0]->name, patch_message.type.name);
}

/* --- trees -------------------------------------------------------------------------- */

struct conversion {
	struct cel_eval *ev;
	struct arena *arena;
	size_t left; /* bytes that the tree may still take */
	struct buf path; /* the name that the type of an Object must have here */
	bool named; /* whether it must */
	struct buf mismatches; /* of these names */
	const char *fault; /* the first one */
};

static struct json *tree_of(struct conversion *c, const struct cel_value *v);

static struct json *PRINTF_LIKE(2, 3) give_up(struct conversion *c, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (!c->fault)
		c->fault = arena_strdup(c->arena, buf_str(&text));
	return NULL;
}

/* Values share parts, so a small one may stand for a huge tree. */
static bool take(struct conversion *c, size_t bytes)
{
	if (cel_work(c->ev, 1) && bytes <= c->left) {
		c->left -= bytes;
		return true;
	}
	(void)give_up(c, "%s", c->ev->exhausted ? c->ev->exhausted : CEL_TOO_LARGE);
	return false;
}

static struct json *text_of(struct conversion *c, struct str text)
{
	return take(c, text.n) ? json_make_str(c->arena, arena_str(c->arena, text)) : NULL;
}

/* Bytes and times, as protobuf's JSON has them. */
static struct json *printed(struct conversion *c, const struct cel_value *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CEL_MUTATION_MAX);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	cel_write_json(c->ev, v, &w);
	if (json_writer_finish(&w) < 0 || text.n < 2)
		return give_up(c, CEL_TOO_LARGE);
	return text_of(c, str_of(text.p + 1, text.n - 2)); /* without quotes */
}

static struct json *list_tree(struct conversion *c, const struct cel_value *v)
{
	struct json *list = json_make_array(c->arena);
	size_t n = cel_list_size(v);

	for (size_t i = 0; i < n; i++) {
		struct cel_value item = cel_list_at(c->ev, v, i);
		struct json *tree = tree_of(c, &item);

		if (!tree)
			return NULL;
		json_append(list, tree);
	}
	return list;
}

static struct json *map_tree(struct conversion *c, const struct cel_value *v)
{
	struct json *object = json_make_object(c->arena), *tree;
	struct cel_value key, value;
	size_t at = 0;

	while (cel_map_next(c->ev, v, &at, &key, &value)) {
		if (key.kind != CEL_STRING)
			return give_up(c, "map key is of type %.*s, not string",
				       STR_ARG(cel_value_type(&key)->name));
		tree = take(c, key.s.n) ? tree_of(c, &value) : NULL;
		if (!tree)
			return NULL;
		json_add(object, arena_str(c->arena, key.s), tree);
	}
	return object;
}

static void compare_name(struct conversion *c, const struct made *m)
{
	struct str name = m->message->type.name;

	if (c->named && !str_eq(name, buf_str(&c->path)))
		(void)buf_printf(&c->mismatches,
				 "%sunexpected type name \"%.*s\", expected \"%.*s\", which "
				 "matches field name path from root Object type",
				 c->mismatches.n ? "\n" : "", STR_ARG(name),
				 STR_ARG(buf_str(&c->path)));
}

/* Member i, below its name on the path. */
static struct json *member_tree(struct conversion *c, const struct made *m, size_t i)
{
	size_t before = c->path.n;
	struct json *tree;

	(void)buf_printf(&c->path, ".%.*s", STR_ARG(m->fields[i]));
	tree = take(c, m->fields[i].n) ? tree_of(c, &m->values[i]) : NULL;
	c->path.n = before;
	return tree;
}

/* The last of a name counts. */
static struct json *object_tree_of(struct conversion *c, const struct made *m)
{
	CLEANUP(map_release) struct map seen;
	struct json *object = json_make_object(c->arena), *tree;

	map_init(&seen);
	compare_name(c, m);
	for (size_t i = 0; i < m->n; i++)
		(void)map_put(&seen, m->fields[i], (void *)(uintptr_t)&m->values[i]);
	for (size_t i = 0; i < m->n; i++) {
		if (map_get(&seen, m->fields[i]) != &m->values[i])
			continue;
		tree = member_tree(c, m, i);
		if (!tree)
			return NULL;
		json_add(object, arena_str(c->arena, m->fields[i]), tree);
	}
	return object;
}

static struct json *unsupported(struct conversion *c, const struct cel_value *v)
{
	return give_up(c, "unsupported type %.*s", STR_ARG(cel_value_type(v)->name));
}

static struct json *parts_tree(struct conversion *c, const struct cel_value *v)
{
	struct json *tree = NULL;

	if (!cel_enter(c->ev))
		(void)give_up(c, "%s", c->ev->exhausted);
	else if (v->kind == CEL_LIST)
		tree = list_tree(c, v);
	else if (v->kind == CEL_MAP)
		tree = map_tree(c, v);
	else if (v->object.class == &object_class)
		tree = object_tree_of(c, v->object.self);
	else
		tree = unsupported(c, v);
	cel_leave(c->ev);
	return tree;
}

static struct json *tree_of(struct conversion *c, const struct cel_value *v)
{
	if (!take(c, NODE_BYTES))
		return NULL;
	switch (v->kind) {
	case CEL_ERROR:
		return give_up(c, "%s", v->error ? v->error : "no such attribute");
	case CEL_NULL:
		return json_make_null(c->arena);
	case CEL_BOOL:
		return json_make_bool(c->arena, v->b);
	case CEL_INT:
		return json_make_i64(c->arena, v->i);
	case CEL_UINT:
		return json_make_u64(c->arena, v->u);
	case CEL_DOUBLE:
		return isfinite(v->d) ? json_make_f64(c->arena, v->d) : unsupported(c, v);
	case CEL_STRING:
		return text_of(c, v->s);
	case CEL_BYTES:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		return printed(c, v);
	case CEL_LIST:
	case CEL_MAP:
	case CEL_OBJECT:
		return parts_tree(c, v);
	default:
		return unsupported(c, v);
	}
}

static void conversion_init(struct conversion *c, struct cel_eval *ev, struct arena *a)
{
	*c = (struct conversion){
		.ev = ev,
		.arena = a,
		.left = CEL_MUTATION_MAX,
		.path = BUF_INIT(CEL_TEXT_MAX * 4UL),
		.mismatches = BUF_INIT(4 * KIB),
	};
}

/* The tree, unless the names of types do not fit; their faults come first. */
static struct json *conversion_end(struct conversion *c, struct json *tree, const char **ret_fault)
{
	if (c->mismatches.n) {
		c->fault = arena_printf(c->arena, "type mismatch: %.*s",
					STR_ARG(buf_str(&c->mismatches)));
		tree = NULL;
	}
	if (!tree)
		*ret_fault = c->fault;
	buf_release(&c->path);
	buf_release(&c->mismatches);
	return tree;
}

struct json *cel_mutation_object(struct cel_eval *ev, const struct cel_value *v, struct arena *a,
				 const char **ret_fault)
{
	struct conversion c;

	conversion_init(&c, ev, a);
	c.named = true;
	(void)buf_addz(&c.path, "Object");
	return conversion_end(&c, tree_of(&c, v), ret_fault);
}

/* --- JSON patches ------------------------------------------------------------------- */

/* The names in the value of an operation begin with that of the value itself. */
static struct json *value_tree(struct conversion *c, const struct cel_value *v)
{
	c->named = v->kind == CEL_OBJECT && v->object.class == &object_class;
	buf_clear(&c->path);
	if (c->named)
		(void)buf_add_str(&c->path, cel_value_type(v)->name);
	return tree_of(c, v);
}

static struct json *operation_tree(struct conversion *c, const struct cel_value *v)
{
	static const char *const texts[] = { "op", "path", "from" };
	struct json *object = json_make_object(c->arena), *tree;
	const struct made *m = v->object.self;
	const struct cel_value *part;

	if (v->kind != CEL_OBJECT || v->object.class != &patch_class)
		return give_up(c, "type mismatch: JSONPatchType.expression should evaluate to "
				  "array of JSONPatch");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		part = made_get(m, str_from(texts[i]));
		if (!part && i == 2)
			continue;
		tree = text_of(c, part ? part->s : STR(""));
		if (!tree)
			return NULL;
		json_setz(object, texts[i], tree);
	}
	part = made_get(m, STR("value"));
	tree = part ? value_tree(c, part) : NULL;
	if (tree)
		json_setz(object, "value", tree);
	return part && !tree ? NULL : object;
}

struct json *cel_mutation_patch(struct cel_eval *ev, const struct cel_value *v, struct arena *a,
				const char **ret_fault)
{
	struct json *list = json_make_array(a), *operation = NULL;
	struct conversion c;
	size_t n = v->kind == CEL_LIST ? cel_list_size(v) : 0;

	conversion_init(&c, ev, a);
	if (v->kind != CEL_LIST)
		list = give_up(&c, "type mismatch: JSONPatchType.expression should evaluate to "
				   "array");
	for (size_t i = 0; i < n && list; i++) {
		struct cel_value item = cel_list_at(ev, v, i);

		operation = take(&c, 4UL * NODE_BYTES) ? operation_tree(&c, &item) : NULL;
		if (operation)
			json_append(list, operation);
		else
			list = NULL;
	}
	return conversion_end(&c, list, ret_fault);
}
