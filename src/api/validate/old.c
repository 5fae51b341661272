/*
 * Most updates keep lists and maps in their order, so the value at the same position is tried
 * first. If that is another one, a small list is searched; for a large one, a map is built once.
 */
#include "api/validate/validate_impl.h"

enum { FEW = 24 };

void validate_old_init(struct validate_old *o, const struct str *keys, const struct json *old)
{
	*o = (struct validate_old){ .old = old, .keys = keys, .place = json_first(old) };
	json_index_init(&o->names, old, NULL);
	map_init(&o->map);
	if (json_count(old) <= FEW)
		o->how = OLD_SEARCHED;
}

void validate_old_release(struct validate_old *o)
{
	json_index_release(&o->names);
	map_release(&o->map);
}

/* If an element has no text for its keys, the list is searched instead. */
static void old_fill(struct validation *v, struct validate_old *o)
{
	o->how = OLD_MAPPED;
	JSON_FOREACH (item, o->old) {
		struct str key = validate_key_text(v->arena, o->keys, item);

		if (!key.p)
			o->how = OLD_SEARCHED;
		else if (!map_get(&o->map, key))
			(void)map_put(&o->map, key, item);
	}
}

static const struct json *find_item(struct validation *v, struct validate_old *o,
				    const struct json *item)
{
	struct str key = STR_NULL;

	if (o->how == OLD_UNMAPPED)
		old_fill(v, o);
	if (o->how == OLD_MAPPED)
		key = validate_key_text(v->arena, o->keys, item);
	if (key.p)
		return map_get(&o->map, key);
	JSON_FOREACH (other, o->old) {
		if (validate_same_keys(o->keys, other, item))
			return other;
	}
	return NULL;
}

const struct json *validate_old_next(struct validation *v, struct validate_old *o,
				     const struct json *value)
{
	const struct json *place = o->place;

	o->place = place ? place->next : NULL;
	if (json_is(o->old, JSON_OBJECT)) {
		if (place && str_eq(json_key(place), json_key(value)))
			return place;
		return json_index_get(&o->names, json_key(value));
	}
	if (!o->keys || (place && validate_same_keys(o->keys, place, value)))
		return place;
	return find_item(v, o, value);
}
