/*
 * Each container becomes a list of items, a key and a value each, whatever it
 * is: members by name, elements by their keys or their value. The two lists are
 * matched (mostly in order, else by a map when they are long), and the pairs
 * are compared in turn.
 *
 * Go's structs print some fields always, so upstream never sees those come or
 * go: absence of such a field is an empty value here, too. That is why a
 * created object owns "f:labels" with its "." but "f:spec" without.
 */
#include "api/managed_diff.h"

#include "api/managed_set.h"
#include "base/limits.h"
#include "base/map.h"

enum { FEW_ITEMS = 16 }; /* so few are searched one by one */

enum container { LEAF, STRUCT, MAP, SET, KEYED };

/* How deep metadata's own fields lie: there some are nobody's. */
enum level { ROOT, METADATA, BELOW };

struct item {
	struct str key; /* name of a member; step of an element */
	const struct json *value;
	bool matched;
};

struct items {
	struct item *v;
	size_t n, at; /* `at`: where the next one is expected */
	struct map *map; /* made at the first search of many */
};

struct differ {
	struct arena *arena;
	struct str skip;
	unsigned depth;
};

/* What a type that preserves unknown fields says of them: objects all the way down. */
static const struct schema_type deduced_type = { .preserve = true };
static const struct schema_field deduced = { .type = &deduced_type, .value = SCHEMA_OBJECT };

static const struct json null_value = { .type = JSON_NULL };
static const struct json empty_object = { .type = JSON_OBJECT };

static struct managed_diff compare(struct differ *d, const struct schema_field *field, bool single,
				   const struct json *l, const struct json *r, enum level level);

/* What the value of a field is; `single`: of one element of it. */
static enum container container_of(const struct schema_field *field, bool single)
{
	if (!field)
		return LEAF;
	if (!single && field->shape == SCHEMA_LIST)
		return field->merge == SCHEMA_LIST_SET   ? SET
		       : field->merge == SCHEMA_LIST_MAP ? KEYED
							 : LEAF;
	if (!single && field->shape != SCHEMA_ONE)
		return field->merge == SCHEMA_ATOMIC ? LEAF : MAP;
	if (field->value != SCHEMA_OBJECT || field->type->atomic)
		return LEAF;
	/* An atomic list is a leaf already, so this is of an object. */
	return field->shape == SCHEMA_ONE && field->merge == SCHEMA_ATOMIC ? LEAF : STRUCT;
}

/* What upstream has where a field of a struct is absent; NULL: nothing. */
static const struct json *absent(const struct schema_field *field)
{
	if (!field || !(field->flags & SCHEMA_ALWAYS))
		return NULL;
	if (field->value == SCHEMA_OBJECT && field->shape == SCHEMA_ONE &&
	    !(field->flags & SCHEMA_POINTER))
		return &empty_object;
	return &null_value;
}

static bool is_zero(const struct json *v)
{
	switch (v->type) {
	case JSON_BOOL:
		return !v->boolean;
	case JSON_INT:
		return v->i64 == 0;
	case JSON_STRING:
	case JSON_ARRAY:
	case JSON_OBJECT:
		return v->n == 0;
	default:
		return v->type == JSON_NULL;
	}
}

/* Null stands for the zero value of what is always there. */
static bool same_leaf(const struct json *l, const struct json *r)
{
	if (l->type == JSON_NULL || r->type == JSON_NULL)
		return is_zero(l) && is_zero(r);
	return json_equal(l, r);
}

static struct managed_diff compare_leaf(struct differ *d, const struct json *l,
					const struct json *r)
{
	struct managed_diff diff = { 0 };

	if (!r)
		diff.removed = json_make_object(d->arena);
	else if (!l || !same_leaf(l, r))
		diff.changed = json_make_object(d->arena);
	return diff;
}

static void add_key(struct buf *b, const struct schema_field *field, const struct json *element,
		    struct str name)
{
	static const struct json_style html = { .html = true };
	const struct json *value = json_get(element, name);
	const struct schema_field *key = schema_field(field->type, name);
	struct str initial = key && key->rules ? key->rules->initial : STR_NULL;

	if (!value && !initial.p)
		return;
	if (b->n > 3)
		(void)buf_addc(b, ',');
	(void)json_print_str(b, name, NULL);
	(void)buf_addc(b, ':');
	if (value)
		(void)json_print(b, value, &html);
	else
		(void)buf_add_str(b, initial);
}

/* The next of the keys in byte order behind `last`; they are few and in any order. */
static struct str next_key(const struct str *keys, struct str last)
{
	struct str best = STR_NULL;

	for (; keys->p; keys++)
		if ((!last.p || str_cmp(*keys, last) > 0) && (!best.p || str_cmp(*keys, best) < 0))
			best = *keys;
	return best;
}

/* The step that names an element of a list. */
static struct str element_step(struct differ *d, const struct schema_field *field,
			       enum container container, const struct json *element)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	static const struct json_style html = { .html = true };

	if (container == SET) {
		(void)buf_addz(&b, "v:");
		(void)json_print(&b, element, &html);
	} else {
		(void)buf_addz(&b, "k:{");
		for (struct str key = next_key(field->list_keys, STR_NULL); key.p;
		     key = next_key(field->list_keys, key))
			add_key(&b, field, element, key);
		(void)buf_addc(&b, '}');
	}
	return arena_str(d->arena, buf_str(&b));
}

static struct items items_of(struct differ *d, const struct schema_field *field,
			     enum container container, const struct json *v)
{
	struct items items = { .v = ARENA_ARRAY(d->arena, struct item, json_count(v)) };

	JSON_FOREACH (child, v) {
		struct item *item = &items.v[items.n++];

		item->value = child;
		item->key = container == SET || container == KEYED
				    ? element_step(d, field, container, child)
				    : json_key(child);
	}
	return items;
}

static struct item *items_search(struct items *items, struct str key, struct map *room)
{
	if (items->n <= FEW_ITEMS) {
		for (size_t i = 0; i < items->n; i++)
			if (str_eq(items->v[i].key, key))
				return &items->v[i];
		return NULL;
	}
	if (!items->map) {
		items->map = room;
		map_init(room);
		map_reserve(room, items->n);
		for (size_t i = 0; i < items->n; i++)
			(void)map_put(room, items->v[i].key, &items->v[i]);
	}
	return map_get(items->map, key);
}

static struct item *items_find(struct items *items, struct str key, struct map *room)
{
	struct item *item = items->at < items->n ? &items->v[items->at] : NULL;

	if (!item || !str_eq(item->key, key))
		item = items_search(items, key, room);
	if (item)
		items->at = (size_t)(item - items->v) + 1;
	return item;
}

/* Fields that are nobody's: upstream strips them from every set. */
static bool is_nobodys(const struct differ *d, enum level level, struct str name)
{
	static const struct str root[] = { { "apiVersion", 10 }, { "kind", 4 } };
	static const struct str metadata[] = {
		{ "name", 4 },
		{ "namespace", 9 },
		{ "creationTimestamp", 17 },
		{ "selfLink", 8 },
		{ "uid", 3 },
		{ "clusterName", 11 },
		{ "generation", 10 },
		{ "managedFields", 13 },
		{ "resourceVersion", 15 },
	};
	const struct str *names = level == ROOT ? root : metadata;
	size_t n = level == ROOT ? ARRAY_SIZE(root) : ARRAY_SIZE(metadata);

	if (level == BELOW)
		return false;
	if (level == ROOT && d->skip.n && str_eq(name, d->skip))
		return true;
	for (size_t i = 0; i < n; i++)
		if (str_eq(name, names[i]))
			return true;
	return false;
}

/* Puts what differs below one child into the sets of its container. */
static void add_child(struct differ *d, struct managed_diff *into, struct str key, bool named,
		      struct managed_diff child)
{
	struct str step = key;
	char *text;

	if (!child.changed && !child.removed)
		return;
	if (named) {
		text = arena_alloc(d->arena, key.n + 2);
		memcpy(text, "f:", 2);
		memcpy(text + 2, key.p, key.n);
		step = str_of(text, key.n + 2);
	}
	if (child.changed && !into->changed)
		into->changed = json_make_object(d->arena);
	if (child.changed)
		json_add(into->changed, step, child.changed);
	if (child.removed && !into->removed)
		into->removed = json_make_object(d->arena);
	if (child.removed)
		json_add(into->removed, step, child.removed);
}

/* A value of another nature than its field is owned as a whole; null is the absence of one. */
static bool is_other(const struct json *v, enum container container)
{
	enum json_type type = container == STRUCT || container == MAP ? JSON_OBJECT : JSON_ARRAY;

	return v && v->type != type && v->type != JSON_NULL;
}

/* The field of a member of a struct; NULL: nothing is known of it. */
static const struct schema_field *field_of(const struct schema_type *type, struct str name)
{
	const struct schema_field *field = schema_field(type, name);

	return !field && type->preserve ? &deduced : field;
}

struct comparing {
	const struct schema_field *field;
	enum container container;
	enum level level;
	bool left, right; /* the container is there */
};

static void compare_pair(struct differ *d, const struct comparing *c, struct str key,
			 const struct json *l, const struct json *r, struct managed_diff *into)
{
	bool named = c->container == STRUCT || c->container == MAP;
	const struct schema_field *field = c->field;
	enum level below = BELOW;
	bool single = true;

	if (c->container == STRUCT) {
		if (is_nobodys(d, c->level, key))
			return;
		if (c->level == ROOT && str_eqz(key, "metadata"))
			below = METADATA;
		field = field_of(c->field->type, key);
		single = false;
		l = l || !c->left ? l : absent(field);
		r = r || !c->right ? r : absent(field);
	} else if (c->field->shape == SCHEMA_MAP_OF_LISTS) {
		field = NULL;
	}
	add_child(d, into, key, named, compare(d, field, single, l, r, below));
}

static void compare_items(struct differ *d, const struct comparing *c, struct items *left,
			  struct items *right, struct managed_diff *into)
{
	CLEANUP(map_release) struct map room = { 0 };
	struct item *other;

	for (size_t i = 0; i < right->n; i++) {
		struct item *item = &right->v[i];

		other = left->n ? items_find(left, item->key, &room) : NULL;
		/* A repeated element was compared already. */
		if (other && other->matched)
			continue;
		if (other)
			other->matched = true;
		compare_pair(d, c, item->key, other ? other->value : NULL, item->value, into);
	}
	for (size_t i = 0; i < left->n; i++)
		if (!left->v[i].matched)
			compare_pair(d, c, left->v[i].key, left->v[i].value, NULL, into);
}

/* The container itself came or went: "." beside what is below it. */
static void add_self(struct differ *d, struct json **set)
{
	if (!*set)
		*set = json_make_object(d->arena);
	else if ((*set)->n)
		json_add(*set, STR("."), json_make_object(d->arena));
}

static struct managed_diff compare(struct differ *d, const struct schema_field *field, bool single,
				   const struct json *l, const struct json *r, enum level level)
{
	struct comparing c = { .level = level };
	struct managed_diff diff = { 0 };
	struct items left, right;

	if (single && field && field->value == SCHEMA_NESTED) {
		field = schema_element(field);
		single = false;
	}
	c.field = field;
	c.container = container_of(field, single);
	c.left = json_is(l, JSON_OBJECT);
	c.right = json_is(r, JSON_OBJECT);
	if (c.container == LEAF || (json_count(l) == 0 && json_count(r) == 0 && level == BELOW) ||
	    d->depth >= OBJECT_DEPTH_MAX || is_other(l, c.container) || is_other(r, c.container))
		return compare_leaf(d, l, r);
	d->depth++;
	left = items_of(d, field, c.container, l);
	right = items_of(d, field, c.container, r);
	compare_items(d, &c, &left, &right, &diff);
	d->depth--;
	if (level == BELOW && !l)
		add_self(d, &diff.changed);
	if (level == BELOW && !r)
		add_self(d, &diff.removed);
	if (diff.changed)
		managed_set_sort(d->arena, diff.changed);
	if (diff.removed)
		managed_set_sort(d->arena, diff.removed);
	return diff;
}

struct managed_diff managed_diff(struct arena *a, const struct schema_type *type,
				 const struct json *old, const struct json *object, struct str skip)
{
	const struct schema_field root = { .type = type, .value = SCHEMA_OBJECT };
	struct differ d = { .arena = a, .skip = skip };

	return compare(&d, &root, true, old ? old : &empty_object, object, ROOT);
}
