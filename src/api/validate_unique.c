/*
 * Which elements of a list came before. Most lists are short, so the few
 * compare each with each; from SMALL on a map of the keys spares the square.
 */
#include "api/validate_impl.h"
#include "base/map.h"

enum { SMALL = 24 };

static bool same_key(const struct json *a, const struct json *b, struct str key)
{
	const struct json *x = json_get(a, key), *y = json_get(b, key);

	if (validate_is_unset(x) || validate_is_unset(y))
		return validate_is_unset(x) && validate_is_unset(y);
	return json_equal(x, y);
}

const struct str *validate_keys(const struct schema_field *field)
{
	if (field->rules && field->rules->unique_keys)
		return field->rules->unique_keys;
	return field->list_keys;
}

bool validate_same_keys(const struct str *keys, const struct json *a, const struct json *b)
{
	if (!keys)
		return json_equal(a, b);
	for (const struct str *key = keys; key->p; key++) {
		if (!same_key(a, b, *key))
			return false;
	}
	return true;
}

/* One key is shown itself; several only with all of the element. */
static struct field_value shown(struct validation *v, const struct str *keys,
				const struct json *item)
{
	if (keys && !keys[1].p)
		item = json_get(item, keys[0]);
	return validate_shown(v, item);
}

static bool came_before(const struct str *keys, const struct json *list, const struct json *item)
{
	JSON_FOREACH (other, list) {
		if (other == item)
			return false;
		if (validate_same_keys(keys, other, item))
			return true;
	}
	return false;
}

/* The text that tells elements apart, when there is just one. */
static struct str single_key(const struct str *keys, const struct json *item)
{
	if (!keys)
		return json_str(item);
	return keys[1].p ? STR_NULL : json_str(json_get(item, keys[0]));
}

static bool seen(struct map *map, const struct str *keys, const struct json *list,
		 const struct json *item)
{
	struct str key = list->n > SMALL ? single_key(keys, item) : STR_NULL;

	if (!key.p)
		return came_before(keys, list, item);
	if (map_get(map, key))
		return true;
	map_put(map, key, (void *)(uintptr_t)item);
	return false;
}

void validate_unique(struct validation *v, const struct schema_field *field,
		     const struct json *list, const struct field_path *path)
{
	CLEANUP(map_release) struct map map;
	const struct str *keys = validate_keys(field);
	size_t i = 0;

	map_init(&map);
	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		if (seen(&map, keys, list, item))
			field_errors_duplicate(v->errs, &at, shown(v, keys, item));
	}
}
