/*
 * Every walk descends a value and its type side by side. Sets and configurations are at most
 * OBJECT_DEPTH_MAX deep, and so are walks along them. A stored object may be deeper; as in
 * managed/diff.c, content beyond that depth is owned as a whole.
 */
#include "api/managed/tree.h"

#include "api/api_limits.h"
#include "api/managed/set.h"
#include "api/managed/type.h"

/* A value that does not fit its place is owned as a whole. */
static enum managed_container container_of(struct managed_place *place, const struct json *value)
{
	enum managed_container container = managed_container(place);

	return managed_fits(container, value) ? container : MANAGED_LEAF;
}

static struct json *tree_copy_of(struct arena *a, const struct json *v)
{
	struct json *copy;

	return json_copy(a, v, &copy, NULL) == 0 ? copy : json_make_null(a);
}

/* --- fields of a tree ------------------------------------------------------------------ */

static bool add_fields(struct arena *a, struct managed_place place, const struct json *value,
		       unsigned depth, struct json *set);

/* Whether a part is itself in the set, whatever is below it. */
static bool is_own(enum managed_container container, const struct json *value, bool known)
{
	if (container == MANAGED_SET || container == MANAGED_KEYED)
		return true;
	return !known || value->type == JSON_NULL || (value->type == JSON_OBJECT && value->n == 0);
}

static void add_part(struct arena *a, struct managed_place place, enum managed_container container,
		     const struct managed_item *item, unsigned depth, struct json *set)
{
	struct json *below = json_make_object(a);
	struct managed_place part;
	bool known, member;

	part = managed_part(place, container, item->step, &known);
	member = item->twin || add_fields(a, part, item->value, depth + 1, below);
	member |= is_own(container, item->value, known);
	if (!member && below->n == 0)
		return;
	if (member && below->n)
		json_add(below, STR("."), json_make_object(a));
	managed_set_sort(a, below);
	json_add(set, managed_step(a, container, item->step), below);
}

/* Adds the fields below the value. Returns true if the value is a field itself. */
static bool add_fields(struct arena *a, struct managed_place place, const struct json *value,
		       unsigned depth, struct json *set)
{
	enum managed_container container = container_of(&place, value);
	CLEANUP(managed_items_release) struct managed_items items = { 0 };

	if (container == MANAGED_LEAF || depth >= OBJECT_DEPTH_MAX)
		return true;
	items = managed_items(a, place, container, value);
	for (size_t i = 0; i < items.n; i++)
		if (!items.v[i].later)
			add_part(a, place, container, &items.v[i], depth, set);
	return false;
}

struct json *managed_fields(struct arena *a, const struct schema_type *type,
			    const struct json *tree)
{
	const struct schema_field root = managed_root(type);
	struct json *set = json_make_object(a);

	(void)add_fields(a, (struct managed_place){ &root, true }, tree, 0, set);
	managed_set_sort(a, set);
	return set;
}

/* --- merging --------------------------------------------------------------------------- */

struct merging {
	struct arena *arena;
	struct managed_place place;
	enum managed_container container;
	struct managed_items left, right;
	struct json *out; /* of lists: the elements in their new order */
};

static void tree_merge(struct arena *a, struct managed_place place, struct json *left,
		       const struct json *right);

static void merge_members(struct merging *m, struct json *left)
{
	for (size_t i = 0; i < m->right.n; i++) {
		struct managed_item *item = &m->right.v[i];
		struct managed_item *other = managed_items_find(&m->left, item->step);
		struct managed_place part = managed_part(m->place, m->container, item->step, NULL);

		if (other)
			tree_merge(m->arena, part, other->value, item->value);
		else
			json_add(left, item->step, tree_copy_of(m->arena, item->value));
	}
}

/* Takes the right's element, merged with the left's if there is exactly one. */
static void take_right(struct merging *m, struct managed_item *item)
{
	struct managed_item *other = managed_items_find(&m->left, item->step);
	struct json *value;

	item->matched = true;
	if (!other || other->twin) {
		json_append(m->out, tree_copy_of(m->arena, item->value));
		return;
	}
	value = other->value;
	tree_merge(m->arena, managed_part(m->place, m->container, STR_NULL, NULL), value,
		   item->value);
	json_append(m->out, value);
}

/* Returns the next element of the right, at or after `at`, that the left has, too. */
static struct str next_shared(struct merging *m, size_t *at)
{
	while (*at < m->right.n) {
		struct str step = m->right.v[(*at)++].step;

		if (managed_items_find(&m->left, step))
			return step;
	}
	return STR_NULL;
}

/*
 * Shared elements come in the right's order. The left's own elements stay after those that they
 * followed; the right's new ones come where the right has them. Elements move from the left's list
 * to `out`; that list is then unusable.
 */
static void merge_elements(struct merging *m)
{
	size_t l = 0, r = 0, at = 0;
	struct str shared = next_shared(m, &at);
	struct managed_item *ours, *theirs, *same;

	while (l < m->left.n || r < m->right.n) {
		ours = l < m->left.n ? &m->left.v[l] : NULL;
		theirs = r < m->right.n ? &m->right.v[r] : NULL;
		same = ours ? managed_items_find(&m->right, ours->step) : NULL;
		if (ours && theirs && str_eq(ours->step, theirs->step)) {
			take_right(m, theirs);
			l++, r++;
			shared = next_shared(m, &at);
			continue;
		}
		if (ours && theirs && same && shared.p && !str_eq(shared, ours->step)) {
			l++;
			continue;
		}
		if (ours && !same) {
			json_append(m->out, ours->value);
			l++;
			continue;
		}
		if (ours && same->matched)
			l++;
		if (!theirs)
			continue;
		take_right(m, theirs);
		r++;
		if (shared.p && str_eq(shared, theirs->step))
			shared = next_shared(m, &at);
	}
}

static void tree_merge(struct arena *a, struct managed_place place, struct json *left,
		       const struct json *right)
{
	struct merging m = { .arena = a, .place = place, .out = json_make_array(a) };

	m.container = container_of(&m.place, right);
	/*
	 * If the left value is atomic, does not fit or is empty, takes the right value unchanged.
	 */
	if (m.container == MANAGED_LEAF || !managed_fits(m.container, left) ||
	    json_count(left) == 0) {
		json_assign(left, tree_copy_of(a, right));
		return;
	}
	if (json_count(right) == 0)
		return;
	m.left = managed_items(a, m.place, m.container, left);
	m.right = managed_items(a, m.place, m.container, right);
	if (m.container == MANAGED_STRUCT || m.container == MANAGED_MAP) {
		merge_members(&m, left);
	} else {
		merge_elements(&m);
		json_assign(left, m.out);
	}
	managed_items_release(&m.left);
	managed_items_release(&m.right);
}

bool managed_is_deeper(const struct json *v, unsigned limit)
{
	if (!json_is_container(v))
		return false;
	if (limit == 0)
		return true;
	JSON_FOREACH (child, v)
		if (managed_is_deeper(child, limit - 1))
			return true;
	return false;
}

void managed_merge(struct arena *a, const struct schema_type *type, struct json *tree,
		   const struct json *config)
{
	const struct schema_field root = managed_root(type);

	tree_merge(a, (struct managed_place){ &root, true }, tree, config);
}

/* --- removing -------------------------------------------------------------------------- */

static void remove_fields(struct arena *a, struct managed_place place, struct json *value,
			  const struct json *set);

/* Marks the items that the set has; removes the set's fields below the others. */
static void remove_below(struct arena *a, struct managed_place place,
			 enum managed_container container, struct managed_items *items,
			 const struct json *set)
{
	bool named = container == MANAGED_STRUCT || container == MANAGED_MAP;
	struct str step;

	JSON_FOREACH (node, set) {
		step = json_key(node);
		if (step.n < 2 || named != (step.p[0] == 'f'))
			continue;
		step = named ? str_skip(step, 2) : step;
		for (struct managed_item *it = managed_items_find(items, step); it; it = it->twin) {
			it->matched = managed_set_has_node(node);
			if (!it->matched)
				remove_fields(a, managed_part(place, container, step, NULL),
					      it->value, node);
		}
	}
}

static void remove_fields(struct arena *a, struct managed_place place, struct json *value,
			  const struct json *set)
{
	enum managed_container container = container_of(&place, value);
	CLEANUP(managed_items_release) struct managed_items items = { 0 };
	struct json kept = { .type = value->type };

	if (container == MANAGED_LEAF || json_count(value) == 0)
		return;
	items = managed_items(a, place, container, value);
	remove_below(a, place, container, &items, set);
	for (size_t i = 0; i < items.n; i++) {
		if (items.v[i].matched)
			continue;
		if (kept.type == JSON_OBJECT)
			json_add(&kept, items.v[i].step, items.v[i].value);
		else
			json_append(&kept, items.v[i].value);
	}
	/* A container that lost all its content becomes null. */
	if (kept.n == 0)
		kept.type = JSON_NULL;
	json_assign(value, &kept);
}

void managed_remove(struct arena *a, const struct schema_type *type, struct json *tree,
		    const struct json *set)
{
	const struct schema_field root = managed_root(type);

	remove_fields(a, (struct managed_place){ &root, true }, tree, set);
}

/* --- sets and types --------------------------------------------------------------------- */

/* Returns the place below a step of a set; field NULL if the type does not know it. */
static struct managed_place place_below(struct managed_place place,
					enum managed_container container, struct str step,
					bool *ret_known)
{
	bool named = container == MANAGED_STRUCT || container == MANAGED_MAP;
	char kind = step.n ? step.p[0] : '\0';

	*ret_known = false;
	if (container == MANAGED_LEAF || named != (kind == 'f'))
		return (struct managed_place){ 0 };
	return managed_part(place, container, str_skip(step, 2), ret_known);
}

static void name_members(struct arena *a, struct managed_place place, struct json *set)
{
	enum managed_container container = managed_container(&place);
	struct managed_place part;
	bool known;

	JSON_FOREACH (node, set) {
		if (node->n == 0)
			continue;
		part = place_below(place, container, json_key(node), &known);
		name_members(a, part, node);
		if (known && !managed_set_has_node(node)) {
			json_add(node, STR("."), json_make_object(a));
			managed_set_sort(a, node);
		}
	}
}

void managed_name_members(struct arena *a, const struct schema_type *type, struct json *set)
{
	const struct schema_field root = managed_root(type);

	name_members(a, (struct managed_place){ &root, true }, set);
}

static void reconcile(struct managed_place place, struct json *set)
{
	enum managed_container container = managed_container(&place);
	struct managed_place part;
	bool known;

	JSON_FOREACH (node, set) {
		part = place_below(place, container, json_key(node), &known);
		if (node->n == 0 || !part.field)
			continue;
		if (managed_container(&part) == MANAGED_LEAF)
			json_assign(node, &(struct json){ .type = JSON_OBJECT });
		else
			reconcile(part, node);
	}
}

void managed_reconcile(const struct schema_type *type, struct json *set)
{
	const struct schema_field root = managed_root(type);

	reconcile((struct managed_place){ &root, true }, set);
}
