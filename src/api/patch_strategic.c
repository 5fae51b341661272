/*
 * One function merges an object, one a list; they call each other as deep as
 * the patch goes, which is bounded. The patch is copied first, so that its
 * nodes can be moved into the result.
 *
 * Elements of lists are found by comparing keys one by one: lists that merge
 * are short. A budget of comparisons bounds what a patch made for it can cost.
 *
 * The order of a merged list is upstream's: the elements of the patch (or of
 * $setElementOrder) in their order, and between them, where the stored order
 * puts them, those that only the object has.
 */
#include "api/patch_strategic.h"

#include <stdlib.h>

#include "base/limits.h"

struct merge {
	struct arena *arena;
	struct error *err;
	size_t budget; /* comparisons left */
	unsigned depth;
};

/* What the members of an object are: fields of a type, or values of a map. */
struct place {
	const struct schema_type *type; /* NULL: nothing is known */
	bool map;
};

static int merge_object(struct merge *m, struct json *object, struct json *patch,
			struct place place);

static const struct schema_field *field_of(struct place place, struct str key)
{
	return place.type && !place.map ? schema_field(place.type, key) : NULL;
}

/* Where the value of a member is, or each element of it. */
static struct place place_of(struct place place, const struct schema_field *field)
{
	if (place.map)
		return (struct place){ place.type, false };
	if (!field)
		return (struct place){ 0 };
	return (struct place){ field->type, field->shape == SCHEMA_MAP };
}

static bool merges(const struct schema_field *field)
{
	return field && field->shape == SCHEMA_LIST && (field->patch_key.p || field->patch_merge);
}

/* --- values that are new --------------------------------------------------------- */

static bool is_directive(struct str key)
{
	return str_eq(key, STR("$patch")) || str_eq(key, STR("$retainKeys")) ||
	       str_starts(key, STR("$setElementOrder/")) ||
	       str_starts(key, STR("$deleteFromPrimitiveList/"));
}

/* What is taken over as it is loses its nulls and directives, all through. */
static int clean(struct merge *m, struct json *value)
{
	int r = 0;

	if (!json_is_container(value))
		return 0;
	if (m->depth >= OBJECT_DEPTH_MAX)
		return error_set(m->err, ERR_BAD_REQUEST, "the patch is nested too deeply");
	m->depth++;
	JSON_FOREACH_SAFE (child, value) {
		bool drop = value->type == JSON_OBJECT &&
			    (child->type == JSON_NULL || is_directive(json_key(child)));

		if (drop)
			json_unlink(value, child);
		else
			r = clean(m, child);
		if (r < 0)
			break;
	}
	m->depth--;
	return r;
}

/* --- elements ------------------------------------------------------------ */

/* What an element is known by; NULL when it has no key. */
static const struct json *key_of(const struct schema_field *field, const struct json *element)
{
	return field->patch_key.p ? json_get(element, field->patch_key) : element;
}

struct keys {
	const struct json **v;
	size_t n;
};

static struct keys keys_of(struct merge *m, const struct schema_field *field,
			   const struct json *list)
{
	struct keys keys = { ARENA_ARRAY(m->arena, const struct json *, json_count(list) + 1), 0 };

	JSON_FOREACH (element, list) {
		const struct json *key = key_of(field, element);

		if (key)
			keys.v[keys.n++] = key;
	}
	return keys;
}

/* The place of a key, or -1. */
static ptrdiff_t find_key(struct merge *m, const struct keys *keys, const struct json *key)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (m->budget == 0)
			return -1;
		m->budget--;
		if (json_equal(keys->v[i], key))
			return (ptrdiff_t)i;
	}
	return -1;
}

static struct json *find_element(struct merge *m, const struct schema_field *field,
				 const struct json *list, const struct json *key)
{
	JSON_FOREACH (element, list) {
		const struct json *other = key_of(field, element);

		if (m->budget == 0)
			return NULL;
		m->budget--;
		if (other && json_equal(other, key))
			return element;
	}
	return NULL;
}

/* --- order ------------------------------------------------------------ */

struct ordered {
	struct json *element;
	ptrdiff_t wanted; /* place in the order that was asked for; -1: none */
	ptrdiff_t stored; /* place in the stored list; -1: new */
};

static int by_wanted(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return (x->wanted > y->wanted) - (x->wanted < y->wanted);
}

static int by_stored(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return (x->stored > y->stored) - (x->stored < y->stored);
}

/* Whether an element that only the object has comes before the next one of the patch. */
static bool comes_first(const struct ordered *kept, const struct ordered *patched)
{
	return kept->stored >= 0 && patched->stored >= 0 && kept->stored < patched->stored;
}

static void order_list(struct merge *m, const struct schema_field *field, struct json *list,
		       const struct keys *wanted, const struct keys *stored)
{
	size_t n = json_count(list), npatched = 0, nkept = 0, i = 0, k = 0;
	struct ordered *patched = ARENA_ARRAY(m->arena, struct ordered, n + 1);
	struct ordered *kept = ARENA_ARRAY(m->arena, struct ordered, n + 1);

	JSON_FOREACH_SAFE (element, list) {
		const struct json *key = key_of(field, element);
		struct ordered o = { element, key ? find_key(m, wanted, key) : -1,
				     key ? find_key(m, stored, key) : -1 };

		json_unlink(list, element);
		if (o.wanted >= 0)
			patched[npatched++] = o;
		else
			kept[nkept++] = o;
	}
	qsort(patched, npatched, sizeof(*patched), by_wanted);
	qsort(kept, nkept, sizeof(*kept), by_stored);
	while (i < nkept || k < npatched) {
		bool left = k == npatched || (i < nkept && comes_first(&kept[i], &patched[k]));

		json_append(list, left ? kept[i++].element : patched[k++].element);
	}
}

/* --- lists ------------------------------------------------------------ */

/* An element with $patch. *ret_replace: the patch is the whole new list. */
static int take_directive(struct merge *m, const struct schema_field *field, struct json *list,
			  const struct json *element, bool *ret_replace)
{
	struct str directive = json_str(json_getz(element, "$patch"));
	const struct json *key = key_of(field, element);
	struct json *found;

	if (str_eq(directive, STR("replace"))) {
		*ret_replace = true;
		return 0;
	}
	if (str_eq(directive, STR("merge")))
		return error_set(m->err, ERR_INVALID,
				 "merging lists cannot yet be specified in the patch");
	if (!str_eq(directive, STR("delete")))
		return error_set(m->err, ERR_INVALID, "unknown patch type: %.*s",
				 STR_ARG(directive));
	if (!key)
		return error_set(m->err, ERR_INVALID,
				 "delete patch type with no merge key defined");
	while ((found = find_element(m, field, list, key)))
		json_unlink(list, found);
	return 0;
}

static int take_directives(struct merge *m, const struct schema_field *field, struct json *list,
			   struct json *patch)
{
	bool replace = false;
	int r;

	JSON_FOREACH_SAFE (element, patch) {
		if (!json_getz(element, "$patch"))
			continue;
		r = take_directive(m, field, list, element, &replace);
		if (r < 0)
			return r;
		json_unlink(patch, element);
	}
	if (replace)
		json_assign(list, json_make_array(m->arena));
	return 0;
}

static int merge_element(struct merge *m, const struct schema_field *field, struct json *list,
			 struct json *element)
{
	const struct json *key = key_of(field, element);
	struct json *found;
	int r;

	if (field->patch_key.p && !json_is(element, JSON_OBJECT))
		return error_set(m->err, ERR_BAD_REQUEST, "invalid JSON document");
	if (!key)
		return error_set(m->err, ERR_INVALID,
				 "map: map[] does not contain declared merge key: %.*s",
				 STR_ARG(field->patch_key));
	found = find_element(m, field, list, key);
	if (!found) {
		r = clean(m, element);
		if (r == 0)
			json_append(list, element);
		return r;
	}
	if (!field->patch_key.p)
		return 0;
	return merge_object(m, found, element, (struct place){ field->type, false });
}

/* `order` is the list that $setElementOrder gives, or NULL. */
static int merge_list(struct merge *m, const struct schema_field *field, struct json *list,
		      struct json *patch, const struct json *order)
{
	struct keys stored = keys_of(m, field, list), wanted;
	int r;

	if (field->patch_key.p) {
		r = take_directives(m, field, list, patch);
		if (r < 0)
			return r;
	}
	wanted = keys_of(m, field, order ? order : patch);
	JSON_FOREACH_SAFE (element, patch) {
		json_unlink(patch, element);
		r = merge_element(m, field, list, element);
		if (r < 0)
			return r;
	}
	order_list(m, field, list, &wanted, &stored);
	return 0;
}

/* --- objects ------------------------------------------------------------ */

static int retain_keys(struct merge *m, struct json *object, struct json *patch)
{
	const struct json *retain = json_remove(patch, STR("$retainKeys"));
	struct keys keys = { 0 };

	if (!retain)
		return 0;
	if (retain->type != JSON_ARRAY)
		return error_set(m->err, ERR_BAD_REQUEST, "invalid patch format of retainKeys");
	keys.v = ARENA_ARRAY(m->arena, const struct json *, json_count(retain) + 1);
	JSON_FOREACH (key, retain)
		keys.v[keys.n++] = key;
	JSON_FOREACH (member, patch) {
		struct json name = { .type = JSON_STRING, .text = member->key, .n = member->key_n };

		if (!is_directive(json_key(member)) && find_key(m, &keys, &name) < 0)
			return error_set(m->err, ERR_BAD_REQUEST,
					 "patch content doesn't match retainKeys list");
	}
	JSON_FOREACH_SAFE (member, object) {
		struct json name = { .type = JSON_STRING, .text = member->key, .n = member->key_n };

		if (find_key(m, &keys, &name) < 0)
			json_unlink(object, member);
	}
	return 0;
}

/* $deleteFromPrimitiveList/<field>: these go. */
static int delete_scalars(struct merge *m, struct json *object, const struct json *directive,
			  struct str name)
{
	struct json *list = json_get(object, name);
	struct keys keys = { 0 };

	if (directive->type != JSON_ARRAY)
		return error_set(m->err, ERR_BAD_REQUEST, "invalid patch format of primitive list");
	keys.v = ARENA_ARRAY(m->arena, const struct json *, json_count(directive) + 1);
	JSON_FOREACH (item, directive)
		keys.v[keys.n++] = item;
	if (!json_is(list, JSON_ARRAY))
		return 0;
	JSON_FOREACH_SAFE (item, list)
		if (find_key(m, &keys, item) >= 0)
			json_unlink(list, item);
	return 0;
}

/* $setElementOrder/<field>: merges what the patch has of the field, and orders the result. */
static int set_order(struct merge *m, struct json *object, struct json *patch,
		     const struct json *order, struct str name, struct place place)
{
	const struct schema_field *field = field_of(place, name);
	struct json *changes = json_remove(patch, name), *list = json_get(object, name);

	if (order->type != JSON_ARRAY || (changes && changes->type != JSON_ARRAY))
		return error_set(m->err, ERR_BAD_REQUEST,
				 "invalid patch format of setElementOrder list");
	if (!merges(field) || (!list && !changes))
		return 0;
	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(m->arena);
		json_set(object, name, list);
	}
	return merge_list(m, field, list, changes ? changes : json_make_array(m->arena), order);
}

/* Members that speak of others. They are taken out of the patch. */
static int take_member_directives(struct merge *m, struct json *object, struct json *patch,
				  struct place place)
{
	static const struct str deletes = STR("$deleteFromPrimitiveList/");
	static const struct str orders = STR("$setElementOrder/");
	struct json *found = json_make_object(m->arena);
	int r = 0;

	JSON_FOREACH_SAFE (member, patch) {
		struct str key = json_key(member);

		if (str_starts(key, deletes) || str_starts(key, orders))
			json_add(found, key, json_unlink(patch, member));
	}
	JSON_FOREACH (directive, found) {
		struct str key = json_key(directive);

		if (r == 0 && str_starts(key, deletes))
			r = delete_scalars(m, object, directive, str_skip(key, deletes.n));
	}
	JSON_FOREACH (directive, found) {
		struct str key = json_key(directive);

		if (r == 0 && str_starts(key, orders))
			r = set_order(m, object, patch, directive, str_skip(key, orders.n), place);
	}
	return r;
}

static int merge_member(struct merge *m, struct json *object, struct json *value,
			struct place place)
{
	struct str key = str_of(value->key, value->key_n);
	const struct schema_field *field = field_of(place, key);
	struct json *current = json_get(object, key);
	int r;

	if (value->type == JSON_NULL) {
		if (current)
			json_unlink(object, current);
		return 0;
	}
	if (json_is(current, JSON_OBJECT) && value->type == JSON_OBJECT)
		return merge_object(m, current, value, place_of(place, field));
	if (json_is(current, JSON_ARRAY) && value->type == JSON_ARRAY && merges(field))
		return merge_list(m, field, current, value, NULL);
	r = clean(m, value);
	if (r == 0)
		json_set(object, key, value);
	return r;
}

static int merge_members(struct merge *m, struct json *object, struct json *patch,
			 struct place place)
{
	int r;

	r = retain_keys(m, object, patch);
	if (r == 0)
		r = take_member_directives(m, object, patch, place);
	if (r < 0)
		return r;
	JSON_FOREACH_SAFE (value, patch) {
		json_unlink(patch, value);
		r = merge_member(m, object, value, place);
		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_object(struct merge *m, struct json *object, struct json *patch,
			struct place place)
{
	const struct json *directive = json_remove(patch, STR("$patch"));
	int r;

	if (m->depth >= OBJECT_DEPTH_MAX)
		return error_set(m->err, ERR_BAD_REQUEST, "the patch is nested too deeply");
	if (str_eq(json_str(directive), STR("replace"))) {
		r = clean(m, patch);
		json_assign(object, patch);
		return r;
	}
	if (str_eq(json_str(directive), STR("delete"))) {
		json_assign(object, json_make_object(m->arena));
		return 0;
	}
	if (directive)
		return error_set(m->err, ERR_INVALID, "unknown patch type: %.*s",
				 STR_ARG(json_str(directive)));
	m->depth++;
	r = merge_members(m, object, patch, place);
	m->depth--;
	return r;
}

int patch_strategic(struct arena *a, struct json **doc, const struct schema_type *type,
		    const struct json *patch, struct error *err)
{
	struct merge m = { .arena = a, .err = err, .budget = PATCH_COMPARISONS_MAX };
	struct json *copy;
	int r;

	if (!json_is(patch, JSON_OBJECT) || !json_is(*doc, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST, "invalid JSON document");
	r = json_copy(a, patch, &copy, err);
	if (r == 0)
		r = merge_object(&m, *doc, copy, (struct place){ type, false });
	if (r == 0 && m.budget == 0)
		r = error_set(err, ERR_TOO_LARGE, "the lists of the patch are too long to merge");
	return r;
}
