/* A map is only worth its memory for many children: most lists have less than ten elements. */
#include "base/json/index.h"

enum { FEW = 16 }; /* up to this many are searched linearly */

static struct str index_text_of(const struct json_index *x, const struct json *child)
{
	if (json_is(x->of, JSON_OBJECT))
		return json_key(child);
	return x->member ? json_text_at(child, x->member) : json_str(child);
}

/* Keys of a map have bytes. */
static struct str as_key(struct str text)
{
	return text.p ? text : STR("");
}

static void index_fill(struct json_index *x)
{
	map_reserve(&x->map, json_count(x->of));
	JSON_FOREACH (child, x->of) {
		struct str key = as_key(index_text_of(x, child));

		if (!map_get(&x->map, key))
			(void)map_put(&x->map, key, child);
	}
	x->mapped = true;
}

void json_index_init(struct json_index *x, const struct json *of, const char *member)
{
	*x = (struct json_index){ .of = of, .member = member };
	map_init(&x->map);
}

void json_index_release(struct json_index *x)
{
	map_release(&x->map);
}

struct json *json_index_get(struct json_index *x, struct str text)
{
	if (json_count(x->of) > FEW) {
		if (!x->mapped)
			index_fill(x);
		return map_get(&x->map, as_key(text));
	}
	JSON_FOREACH (child, x->of)
		if (str_eq(index_text_of(x, child), text))
			return child;
	return NULL;
}

bool json_index_came_before(struct json_index *x, const struct json *child)
{
	return json_index_get(x, index_text_of(x, child)) != child;
}
