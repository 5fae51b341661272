/*
 * Separate from api/write, so that a table that names a strategy does not pull in all of write.
 */
#include "api/schema/tree.h"

#include "base/time/timestamp.h"

void tree_set_time(struct arena *a, struct json *object, const char *key, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	json_put_str(a, object, key, arena_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text)));
}

struct json *tree_copy(struct arena *a, const struct json *tree)
{
	struct json *copy = NULL;

	if (json_copy(a, tree, &copy, NULL) < 0)
		copy = json_make_object(a);
	return copy;
}

void tree_carry_key(struct arena *a, struct json *object, const struct json *from, struct str key)
{
	const struct json *value = json_get(from, key);

	if (value)
		json_set(object, arena_str(a, key), tree_copy(a, value));
	else
		json_remove(object, key);
}

void tree_carry(struct arena *a, struct json *object, const struct json *from, const char *key)
{
	tree_carry_key(a, object, from, str_from(key));
}

bool tree_same(const struct json *a, const struct json *b, const char *key)
{
	return json_equal(json_getz(a, key), json_getz(b, key));
}

bool tree_condition_is_true(const struct json *object, struct str type)
{
	const struct json *list = json_getz(json_getz(object, "status"), "conditions");

	return str_eqz(json_text_at(json_find(list, "type", type), "status"), "True");
}
