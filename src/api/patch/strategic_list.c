/*
 * Lists of a strategic merge: which elements match, and the order of the result.
 *
 * Elements are found by comparing keys one by one, because lists that merge are short. A budget of
 * comparisons limits the cost of a malicious patch.
 *
 * The order is upstream's: the elements of the patch (or of $setElementOrder) in their order, and
 * between them, by the stored order, those that only the object has.
 */
#include <stdlib.h>

#include "api/patch/strategic_impl.h"

/* --- elements ------------------------------------------------------------------------ */

/* Returns the key of an element; NULL if it has none. */
static const struct json *strategic_list_key_of(const struct schema_field *field,
						const struct json *element)
{
	return field->patch_key.p ? json_get(element, field->patch_key) : element;
}

struct merge_keys merge_keys_of(struct merge *m, const struct schema_field *field,
				const struct json *list)
{
	struct merge_keys keys = { ARENA_ARRAY(m->arena, const struct json *, json_count(list) + 1),
				   0 };

	JSON_FOREACH (element, list) {
		const struct json *key = strategic_list_key_of(field, element);

		if (key)
			keys.v[keys.n++] = key;
	}
	return keys;
}

static bool equals(struct merge *m, const struct json *a, const struct json *b)
{
	if (m->budget == 0)
		return false;
	m->budget--;
	return json_equal(a, b);
}

ptrdiff_t merge_find_key(struct merge *m, const struct merge_keys *keys, const struct json *key)
{
	for (size_t i = 0; i < keys->n && m->budget; i++)
		if (equals(m, keys->v[i], key))
			return (ptrdiff_t)i;
	return -1;
}

static struct json *find_element(struct merge *m, const struct schema_field *field,
				 const struct json *list, const struct json *key)
{
	JSON_FOREACH (element, list) {
		const struct json *other = strategic_list_key_of(field, element);

		if (m->budget == 0)
			return NULL;
		if (other && equals(m, other, key))
			return element;
	}
	return NULL;
}

int merge_check_keys(struct merge *m, const struct schema_field *field, const struct json *list)
{
	if (!field->patch_key.p)
		return 0;
	JSON_FOREACH (element, list) {
		if (element->type != JSON_OBJECT)
			return merge_fail_type(m, JSON_OBJECT, element);
		if (!strategic_list_key_of(field, element))
			return merge_fail_key(m, element, field->patch_key);
	}
	return 0;
}

/* --- order --------------------------------------------------------------------------- */

struct ordered {
	struct json *element;
	ptrdiff_t wanted; /* index in the requested order; -1: not in it */
	ptrdiff_t stored; /* index in the stored list; -1: new */
	size_t at; /* index in the merged list: decides between equals */
};

static int by_wanted(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->wanted != y->wanted)
		return x->wanted < y->wanted ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_stored(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	/* Compared as unsigned, so that new elements come last. */
	if (x->stored != y->stored)
		return (size_t)x->stored < (size_t)y->stored ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Whether an element that only the object has comes before the next one of the patch. */
static bool comes_first(const struct ordered *kept, const struct ordered *patched)
{
	return kept->stored >= 0 && patched->stored >= 0 && kept->stored < patched->stored;
}

void merge_order(struct merge *m, const struct schema_field *field, struct json *list,
		 const struct merge_keys *wanted, const struct merge_keys *stored)
{
	size_t n = json_count(list), npatched = 0, nkept = 0, i = 0, k = 0;
	struct ordered *patched = ARENA_ARRAY(m->arena, struct ordered, n + 1);
	struct ordered *kept = ARENA_ARRAY(m->arena, struct ordered, n + 1);

	JSON_FOREACH_SAFE (element, list) {
		const struct json *key = strategic_list_key_of(field, element);
		struct ordered o = { element, key ? merge_find_key(m, wanted, key) : -1,
				     key ? merge_find_key(m, stored, key) : -1, npatched + nkept };

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

static bool is_deletion(const struct json *element)
{
	return str_eq(json_text_at(element, "$patch"), STR("delete"));
}

/* Returns the next element of the patch, starting at `element`, that is not deleted. */
static const struct json *next_kept(const struct schema_field *field, const struct json *element)
{
	while (element && field->patch_key.p && is_deletion(element))
		element = element->next;
	return element;
}

/* Whether the next element is the wanted one in the order. *r: the error, if it has no key. */
static bool meets(struct merge *m, const struct schema_field *field, const struct json *next,
		  const struct json *wanted, int *r)
{
	if (field->patch_key.p && !strategic_list_key_of(field, next))
		*r = merge_fail_key(m, next, field->patch_key);
	else
		return equals(m, strategic_list_key_of(field, next),
			      strategic_list_key_of(field, wanted));
	return false;
}

int merge_check_order(struct merge *m, const struct merge_list *how, const struct json *patch)
{
	const struct schema_field *field = how->field;
	const struct json *next;
	int r = 0;

	if (!json_first(how->order))
		return 0;
	JSON_FOREACH (element, patch)
		if (field->patch_key.p && element->type != JSON_OBJECT)
			return merge_fail_type(m, JSON_OBJECT, element);
	next = next_kept(field, json_first(patch));
	r = merge_check_keys(m, field, how->order);
	JSON_FOREACH (wanted, how->order) {
		/* Other directives are skipped, but only before the end of the order. */
		while (next && field->patch_key.p && json_getz(next, "$patch"))
			next = next_kept(field, next->next);
		if (r < 0 || !next)
			return r;
		if (meets(m, field, next, wanted, &r))
			next = next_kept(field, next->next);
	}
	if (r == 0 && next)
		r = error_set(m->err, ERR_INVALID,
			      "The order in patch list:\n%s\n doesn't match $setElementOrder "
			      "list:\n%s\n",
			      merge_text(m, patch), merge_text(m, how->order));
	return r;
}

/* --- directives ---------------------------------------------------------------------- */

/* Handles an element with $patch. *ret_replace: the patch is the whole new list. */
static int take_directive(struct merge *m, const struct schema_field *field, struct json *list,
			  const struct json *element, bool *ret_replace)
{
	const struct json *directive = json_getz(element, "$patch");
	const struct json *key = strategic_list_key_of(field, element);
	struct json *found;

	if (str_eq(json_str(directive), STR("replace"))) {
		*ret_replace = true;
		return 0;
	}
	if (str_eq(json_str(directive), STR("merge")))
		return error_set(m->err, ERR_INVALID,
				 "merging lists cannot yet be specified in the patch");
	if (!is_deletion(element))
		return error_set(m->err, ERR_INVALID, "unknown patch type: %s in map: %s",
				 merge_text(m, directive), merge_text(m, element));
	if (!key)
		return merge_fail_key(m, element, field->patch_key);
	while ((found = find_element(m, field, list, key)))
		json_unlink(list, found);
	return 0;
}

static int take_directives(struct merge *m, const struct schema_field *field, struct json *list,
			   struct json *patch, bool *ret_replace)
{
	int r;

	JSON_FOREACH_SAFE (element, patch) {
		if (!json_getz(element, "$patch"))
			continue;
		r = take_directive(m, field, list, element, ret_replace);
		if (r < 0)
			return r;
		json_unlink(patch, element);
	}
	return 0;
}

/* --- merging ------------------------------------------------------------------------- */

static void move_elements(struct json *list, struct json *patch)
{
	JSON_FOREACH_SAFE (element, patch)
		json_append(list, json_unlink(patch, element));
}

static int merge_element(struct merge *m, const struct schema_field *field, struct json *list,
			 struct json *element)
{
	const struct json *key = strategic_list_key_of(field, element);
	struct json *found;

	if (!key)
		return merge_fail_key(m, element, field->patch_key);
	found = find_element(m, field, list, key);
	if (found)
		return merge_object(m, found, element, (struct place){ field->type, false });
	json_append(list, element);
	return 0;
}

/* Executes the elements with $patch and removes them from the patch. */
static int prepare_objects(struct merge *m, const struct schema_field *field, struct json *list,
			   struct json *patch)
{
	bool replace = false;
	int r;

	if (!field || !field->patch_key.p)
		return error_set(m->err, ERR_INVALID,
				 "cannot merge lists without merge key for struct");
	r = take_directives(m, field, list, patch, &replace);
	if (r == 0 && replace) {
		json_assign(list, json_make_array(m->arena));
		move_elements(list, patch);
	}
	return r;
}

static int merge_objects(struct merge *m, const struct schema_field *field, struct json *list,
			 struct json *patch)
{
	int r;

	JSON_FOREACH_SAFE (element, patch) {
		json_unlink(patch, element);
		r = merge_element(m, field, list, element);
		if (r < 0)
			return r;
	}
	return merge_check_keys(m, field, list);
}

/* Appends the values that the list does not have yet. */
static int merge_scalars(struct merge *m, const struct schema_field *field, struct json *list,
			 struct json *patch)
{
	struct merge_keys seen = {
		ARENA_ARRAY(m->arena, const struct json *, json_count(list) + json_count(patch)), 0
	};

	move_elements(list, patch);
	JSON_FOREACH_SAFE (element, list) {
		if (merge_find_key(m, &seen, element) >= 0)
			json_unlink(list, element);
		else
			seen.v[seen.n++] = element;
	}
	return merge_check_keys(m, field, list);
}

static void remove_scalars(struct merge *m, struct json *list, const struct json *patch)
{
	JSON_FOREACH_SAFE (element, list)
		JSON_FOREACH (gone, patch)
			if (equals(m, element, gone)) {
				json_unlink(list, element);
				break;
			}
}

int merge_list(struct merge *m, const struct merge_list *how, struct json *list, struct json *patch)
{
	const struct json *first = json_first(list) ? json_first(list) : json_first(patch);
	bool objects = json_is(first, JSON_OBJECT);
	size_t n = json_count(list), left;
	struct merge_keys stored, wanted;
	int r;

	if (!first)
		return 0;
	r = merge_check_types(m, list, patch);
	if (r == 0 && objects)
		r = prepare_objects(m, how->field, list, patch);
	if (r < 0)
		return r;
	if (how->removes && !objects) {
		remove_scalars(m, list, patch);
		return 0;
	}
	left = json_count(list);
	stored = merge_keys_of(m, how->field, list);
	wanted = merge_keys_of(m, how->field, how->order ? how->order : patch);
	if (objects)
		r = merge_objects(m, how->field, list, patch);
	else
		r = merge_scalars(m, how->field, list, patch);
	if (r < 0)
		return r;
	/*
	 * Upstream deletes in place, appends where the deleted elements were, and then uses the
	 * same memory for the stored order. So that many new elements count as stored.
	 */
	if (how->order && left < n) {
		stored = merge_keys_of(m, how->field, list);
		stored.n = stored.n < n ? stored.n : n;
	}
	merge_order(m, how->field, list, &wanted, &stored);
	return 0;
}
