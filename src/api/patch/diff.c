/*
 * One walk over the three trees at once: it follows the wanted tree, with the corresponding nodes
 * of the others where they exist. Upstream makes two patches (live to wanted without deletions,
 * last to wanted with only deletions) and merges them; one walk gives the same result without
 * merging directives.
 */
#include "api/patch/diff.h"

#include "api/api_limits.h"
#include "api/patch/strategic_impl.h"

struct diff {
	struct arena *arena;
	struct error *err;
	int result; /* the first error; nothing is done after it */
	unsigned depth;
	bool strategic;
};

static struct json *diff_object(struct diff *d, struct patch_sides s, struct place place);

static struct json *diff_copy(struct diff *d, const struct json *v)
{
	struct json *c = NULL;

	if (d->result == 0)
		d->result = json_copy(d->arena, v, &c, d->err);
	return c ? c : json_make_null(d->arena);
}

static struct str word(struct diff *d, const char *directive, struct str key)
{
	return str_from(arena_printf(d->arena, "%s/%.*s", directive, STR_ARG(key)));
}

/* --- lists ------------------------------------------------------------------------------- */

/* Returns the element with that key, and its index. */
static const struct json *diff_find(const struct json *list, struct str name,
				    const struct json *key, ptrdiff_t *ret_at)
{
	ptrdiff_t at = 0;

	JSON_FOREACH (element, list) {
		const struct json *k = name.p ? json_get(element, name) : element;

		if (k && json_equal(k, key)) {
			*ret_at = at;
			return element;
		}
		at++;
	}
	return NULL;
}

static bool diff_has(const struct json *list, struct str name, const struct json *key)
{
	ptrdiff_t at;

	return diff_find(list, name, key, &at);
}

/* Whether each element has a key, without duplicates. */
static bool is_keyed(const struct json *list, struct str name)
{
	ptrdiff_t at, i = 0;

	JSON_FOREACH (element, list) {
		const struct json *key = name.p ? json_get(element, name) : element;

		if (!key || !diff_find(list, name, key, &at) || at != i++)
			return false;
	}
	return true;
}

/* Whether the live list has all wanted elements in their order. */
static bool is_in_order(const struct patch_sides *s, struct str name)
{
	ptrdiff_t at, before = -1;

	JSON_FOREACH (element, s->wanted) {
		const struct json *key = name.p ? json_get(element, name) : element;

		if (!diff_find(s->live, name, key, &at) || at < before)
			return false;
		before = at;
	}
	return true;
}

static void set_order(struct diff *d, struct json *patch, struct str key, const struct json *wanted,
		      struct str name)
{
	struct json *order = json_make_array(d->arena);

	JSON_FOREACH (element, wanted) {
		struct json *entry = name.p ? json_make_object(d->arena) : diff_copy(d, element);

		if (name.p)
			json_add(entry, name, diff_copy(d, json_get(element, name)));
		json_append(order, entry);
	}
	if (json_first(order))
		json_set(patch, word(d, "$setElementOrder", key), order);
}

static void retain_keys(struct diff *d, struct json *patch, const struct json *wanted)
{
	struct json *keys = json_make_array(d->arena);

	JSON_FOREACH (member, wanted)
		if (member->type != JSON_NULL)
			json_append(keys, json_make_str(d->arena, json_key(member)));
	json_setz(patch, "$retainKeys", keys);
}

static void diff_element(struct diff *d, struct json *changes, struct patch_sides s,
			 const struct schema_field *field)
{
	struct json *inner;

	if (!s.live) {
		json_append(changes, diff_copy(d, s.wanted));
		return;
	}
	inner = diff_object(d, s, (struct place){ field->type, false });
	if (!json_first(inner))
		return;
	if (field->patch_retain_keys)
		retain_keys(d, inner, s.wanted);
	json_set(inner, field->patch_key, diff_copy(d, json_get(s.wanted, field->patch_key)));
	json_append(changes, inner);
}

static void diff_objects(struct diff *d, struct json *patch, struct str key,
			 const struct patch_sides *s, const struct schema_field *field)
{
	struct json *changes = json_make_array(d->arena);
	struct str name = field->patch_key;
	ptrdiff_t at;

	JSON_FOREACH (wanted, s->wanted) {
		const struct json *k = json_get(wanted, name);
		struct patch_sides inner = { diff_find(s->last, name, k, &at), wanted,
					     diff_find(s->live, name, k, &at) };

		diff_element(d, changes, inner, field);
	}
	JSON_FOREACH (last, s->last) {
		const struct json *k = json_get(last, name);
		struct json *gone;

		if (!k || diff_has(s->wanted, name, k) || !diff_has(s->live, name, k))
			continue;
		gone = json_make_object(d->arena);
		json_put_str(d->arena, gone, "$patch", STR("delete"));
		json_set(gone, name, diff_copy(d, k));
		json_append(changes, gone);
	}
	if (!json_first(changes) && is_in_order(s, name))
		return;
	set_order(d, patch, key, s->wanted, name);
	if (json_first(changes))
		json_set(patch, key, changes);
}

static void diff_scalars(struct diff *d, struct json *patch, struct str key,
			 const struct patch_sides *s)
{
	struct json *more = json_make_array(d->arena), *gone = json_make_array(d->arena);

	JSON_FOREACH (wanted, s->wanted)
		if (!diff_has(s->live, STR_NULL, wanted))
			json_append(more, diff_copy(d, wanted));
	JSON_FOREACH (last, s->last)
		if (!diff_has(s->wanted, STR_NULL, last) && diff_has(s->live, STR_NULL, last))
			json_append(gone, diff_copy(d, last));
	if (!json_first(more) && !json_first(gone) && is_in_order(s, STR_NULL))
		return;
	set_order(d, patch, key, s->wanted, STR_NULL);
	if (json_first(more))
		json_set(patch, key, more);
	if (json_first(gone))
		json_set(patch, word(d, "$deleteFromPrimitiveList", key), gone);
}

/* Replaces the whole list. */
static void replace_objects(struct diff *d, struct json *patch, struct str key,
			    const struct json *wanted)
{
	struct json *list = diff_copy(d, wanted), *directive = json_make_object(d->arena);

	json_put_str(d->arena, directive, "$patch", STR("replace"));
	if (list->type == JSON_ARRAY)
		json_insert(list, 0, directive);
	json_set(patch, key, list);
}

static void diff_list(struct diff *d, struct json *patch, struct str key,
		      const struct patch_sides *s, const struct schema_field *field)
{
	if (!d->strategic || !merges(field))
		json_set(patch, key, diff_copy(d, s->wanted));
	else if (!field->patch_key.p)
		diff_scalars(d, patch, key, s);
	else if (is_keyed(s->wanted, field->patch_key) && is_keyed(s->live, field->patch_key))
		diff_objects(d, patch, key, s, field);
	else
		replace_objects(d, patch, key, s->wanted);
}

/* --- members ----------------------------------------------------------------------------- */

/* Compares a wanted member. */
static void diff_member(struct diff *d, struct json *patch, struct str key, struct patch_sides s,
			struct place place)
{
	const struct schema_field *field = field_of(place, key);
	enum json_type type = s.wanted->type;
	struct json *inner;

	if (type == JSON_NULL) {
		if (s.live && s.live->type != JSON_NULL)
			json_set(patch, key, json_make_null(d->arena));
		return;
	}
	if (s.live && json_equal(s.live, s.wanted))
		return;
	if (!json_is(s.last, type))
		s.last = NULL;
	if (type == JSON_ARRAY && json_is(s.live, JSON_ARRAY)) {
		diff_list(d, patch, key, &s, field);
		return;
	}
	if (type != JSON_OBJECT || !json_is(s.live, JSON_OBJECT) ||
	    (d->strategic && field && field->patch_replace)) {
		json_set(patch, key, diff_copy(d, s.wanted));
		return;
	}
	inner = diff_object(d, s, place_of(place, field));
	if (!json_first(inner))
		return;
	if (d->strategic && field && field->patch_retain_keys)
		retain_keys(d, inner, s.wanted);
	json_set(patch, key, inner);
}

static struct json *diff_object(struct diff *d, struct patch_sides s, struct place place)
{
	struct json *patch = json_make_object(d->arena);

	if (d->result == 0 && d->depth >= OBJECT_DEPTH_MAX)
		d->result = error_set(d->err, ERR_TOO_LARGE, "the object is nested too deeply");
	if (d->result < 0)
		return patch;
	d->depth++;
	JSON_FOREACH (wanted, s.wanted) {
		struct str key = json_key(wanted);
		struct patch_sides inner = { json_get(s.last, key), wanted, json_get(s.live, key) };

		diff_member(d, patch, key, inner, place);
	}
	JSON_FOREACH (last, s.last)
		if (!json_get(s.wanted, json_key(last)) && json_get(s.live, json_key(last)))
			json_set(patch, arena_str(d->arena, json_key(last)),
				 json_make_null(d->arena));
	d->depth--;
	return patch;
}

int patch_diff(struct arena *a, const struct schema_type *type, const struct patch_sides *sides,
	       struct json **ret_patch, struct error *err)
{
	struct diff d = { .arena = a, .err = err, .strategic = type };
	struct json *patch = diff_object(&d, *sides, (struct place){ type, false });

	if (d.result < 0)
		return d.result;
	*ret_patch = patch;
	return 0;
}
