/*
 * Each container becomes a list of items with a key and a value: members by name, elements by their
 * keys or their value. The two lists are matched (mostly in order, else by a map if they are long),
 * and the pairs are compared in turn.
 *
 * Go's structs always print some fields, so upstream never sees those added or removed. Therefore
 * an absent field of this kind is an empty value here, too. That is why a created object owns
 * "f:labels" with its "." but "f:spec" without.
 */
#include "api/managed/diff.h"

#include "api/api_limits.h"
#include "api/managed/set.h"
#include "api/managed/type.h"

/* How deep a field is: nobody owns some fields of the root and of metadata. */
enum level { ROOT, METADATA, BELOW };

struct differ {
	struct arena *arena;
	const struct str *resets;
	unsigned depth;
};

static const struct json null_value = { .type = JSON_NULL };
static const struct json empty_object = { .type = JSON_OBJECT };

static struct managed_diff diff_compare(struct differ *d, struct managed_place place,
					const struct json *l, const struct json *r,
					enum level level);

/* Returns upstream's value of an absent field of a struct; NULL if there is no such value. */
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

/* An absent field that is always printed has its zero value; an explicit null is another value. */
static bool same_leaf(const struct json *l, const struct json *r)
{
	if (l == &null_value || r == &null_value)
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

/* Whether the path names this member of the root, or of metadata. */
static bool is_path_of(struct str path, enum level level, struct str name)
{
	static const struct str metadata = STR("metadata.");

	if (level == ROOT)
		return str_eq(path, name);
	return path.n == metadata.n + name.n && str_starts(path, metadata) &&
	       str_eq(str_skip(path, metadata.n), name);
}

static bool is_listed(const struct str *paths, enum level level, struct str name)
{
	for (; paths && paths->p; paths++)
		if (is_path_of(*paths, level, name))
			return true;
	return false;
}

/* Fields that nobody owns, and those that the request cannot write. */
static bool is_nobodys(const struct differ *d, enum level level, struct str name)
{
	return level != BELOW &&
	       (is_listed(managed_nobodys, level, name) || is_listed(d->resets, level, name));
}

static void add_to(struct differ *d, struct json **set, struct str step, struct json *below)
{
	if (!below)
		return;
	if (!*set)
		*set = json_make_object(d->arena);
	json_add(*set, step, below);
}

/* Adds the differences below one part to the sets of its container. */
static void add_part(struct differ *d, struct managed_diff *into, enum managed_container container,
		     struct str step, struct managed_diff part)
{
	if (!part.changed && !part.removed)
		return;
	step = managed_step(d->arena, container, step);
	add_to(d, &into->changed, step, part.changed);
	add_to(d, &into->removed, step, part.removed);
}

struct comparing {
	struct managed_place place;
	enum managed_container container;
	enum level level;
	bool left, right; /* the container is present */
};

static struct managed_diff compare_pair(struct differ *d, const struct comparing *c,
					struct str step, const struct json *l, const struct json *r)
{
	struct managed_place part;
	enum level below = BELOW;

	if (c->container == MANAGED_STRUCT && is_nobodys(d, c->level, step))
		return (struct managed_diff){ 0 };
	part = managed_part(c->place, c->container, step, NULL);
	if (c->container == MANAGED_STRUCT) {
		if (c->level == ROOT && str_eqz(step, "metadata"))
			below = METADATA;
		l = l || !c->left ? l : absent(part.field);
		r = r || !c->right ? r : absent(part.field);
	}
	return diff_compare(d, part, l, r, below);
}

static bool same_twins(const struct managed_item *l, const struct managed_item *r)
{
	for (; l && r; l = l->twin, r = r->twin)
		if (!json_equal(l->value, r->value))
			return false;
	return !l && !r;
}

/* Elements with the same step are one field without parts. */
static struct managed_diff compare_twins(struct differ *d, const struct comparing *c,
					 const struct managed_item *l, const struct managed_item *r)
{
	struct managed_diff diff = { 0 };

	if (l && l->twin && r && r->twin) {
		if (!same_twins(l, r))
			diff.changed = json_make_object(d->arena);
		return diff;
	}
	if (l && l->twin) {
		if (r)
			diff = compare_pair(d, c, r->step, NULL, r->value);
		diff.removed = json_make_object(d->arena);
		return diff;
	}
	if (l)
		diff = compare_pair(d, c, l->step, l->value, NULL);
	diff.changed = json_make_object(d->arena);
	return diff;
}

static struct managed_diff compare_item(struct differ *d, const struct comparing *c,
					const struct managed_item *l, const struct managed_item *r)
{
	if ((l && l->twin) || (r && r->twin))
		return compare_twins(d, c, l, r);
	return compare_pair(d, c, l ? l->step : r->step, l ? l->value : NULL, r ? r->value : NULL);
}

static void compare_items(struct differ *d, const struct comparing *c, struct managed_items *left,
			  struct managed_items *right, struct managed_diff *into)
{
	struct managed_item *other;

	for (size_t i = 0; i < right->n; i++) {
		struct managed_item *item = &right->v[i];

		if (item->later)
			continue;
		other = left->n ? managed_items_find(left, item->step) : NULL;
		if (other)
			other->matched = true;
		add_part(d, into, c->container, item->step, compare_item(d, c, other, item));
	}
	for (size_t i = 0; i < left->n; i++)
		if (!left->v[i].matched && !left->v[i].later)
			add_part(d, into, c->container, left->v[i].step,
				 compare_item(d, c, &left->v[i], NULL));
}

/* The container itself was added or removed: adds "." next to the fields below it. */
static void add_self(struct differ *d, struct json **set)
{
	if (!*set)
		*set = json_make_object(d->arena);
	else if ((*set)->n)
		json_add(*set, STR("."), json_make_object(d->arena));
}

/* Compares part by part; a value that does not fit the container has no parts. */
static struct managed_diff compare_parts(struct differ *d, const struct comparing *c,
					 const struct json *l, const struct json *r)
{
	CLEANUP(managed_items_release) struct managed_items left = { 0 }, right = { 0 };
	struct managed_diff diff = { 0 };

	d->depth++;
	if (l && managed_fits(c->container, l))
		left = managed_items(d->arena, c->place, c->container, l);
	if (r && managed_fits(c->container, r))
		right = managed_items(d->arena, c->place, c->container, r);
	compare_items(d, c, &left, &right, &diff);
	d->depth--;
	return diff;
}

static struct managed_diff diff_compare(struct differ *d, struct managed_place place,
					const struct json *l, const struct json *r,
					enum level level)
{
	struct comparing c = { .place = place, .level = level };
	struct managed_diff diff;
	bool other; /* a value does not fit its field, and is owned as a whole */

	c.container = managed_container(&c.place);
	c.left = json_is(l, JSON_OBJECT);
	c.right = json_is(r, JSON_OBJECT);
	other = (l && !managed_fits(c.container, l)) || (r && !managed_fits(c.container, r));
	if (c.container == MANAGED_LEAF ||
	    (json_count(l) == 0 && json_count(r) == 0 && level == BELOW) ||
	    d->depth >= OBJECT_DEPTH_MAX)
		return compare_leaf(d, l, r);
	diff = compare_parts(d, &c, l, r);
	if (level == BELOW && (!l || (other && r && !json_equal(l, r))))
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
				 const struct json *old, const struct json *object,
				 const struct str *resets)
{
	const struct schema_field root = managed_root(type);
	struct differ d = { .arena = a, .resets = resets };

	return diff_compare(&d, (struct managed_place){ &root, true }, old ? old : &empty_object,
			    object, ROOT);
}
