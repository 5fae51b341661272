/*
 * Finds repeated elements of a list. Most lists are short, so up to SMALL elements are compared
 * each with each; longer ones use a map of the keys, which avoids quadratic time.
 */
#include <inttypes.h>

#include "api/api_limits.h"
#include "api/validate/validate_impl.h"
#include "base/core/map.h"

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

/* A single key is shown itself; several keys as the whole element. */
static struct field_value unique_shown(struct validation *v, const struct str *keys,
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

/* Joins the keys; p NULL if one of them is neither a string nor a number. */
static struct str joined_keys(struct arena *a, const struct str *keys, const struct json *item)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(VALIDATE_SHOWN_MAX);

	for (const struct str *key = keys; key->p; key++) {
		const struct json *value = json_get(item, *key);
		bool unset = validate_is_unset(value), number = json_is(value, JSON_INT);

		if (!unset && !number && !json_is(value, JSON_STRING))
			return STR_NULL;
		/* Strings contain neither the byte that starts a number nor the separator. */
		if (!unset && number)
			(void)buf_printf(&b, "\xfe%" PRId64, value->i64);
		else if (!unset)
			(void)buf_add_str(&b, json_str(value));
		(void)buf_addz(&b, "\xff");
	}
	return b.overflow ? STR_NULL : arena_str(a, buf_str(&b));
}

struct str validate_key_text(struct arena *a, const struct str *keys, const struct json *item)
{
	if (keys)
		return joined_keys(a, keys, item);
	return validate_is_unset(item) ? STR("") : json_str(item);
}

static bool seen(struct validation *v, struct map *map, const struct str *keys,
		 const struct json *list, const struct json *item)
{
	struct str key = list->n > SMALL ? validate_key_text(v->arena, keys, item) : STR_NULL;

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

		if (seen(v, &map, keys, list, item))
			field_errors_duplicate(v->errs, &at, unique_shown(v, keys, item));
	}
}
