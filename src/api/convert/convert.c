/*
 * Versions add and remove wrappers: members of an object move into an inner object, or out of it. A
 * row says where, and one pair of functions converts in both directions. Members stay in the order
 * of their type, so that replies read like upstream's.
 */
#include "api/convert/convert.h"

#include <string.h>

#include "api/schema/schema.h"
#include "base/json/json.h"

static bool convert_is_among(const struct str *names, const struct json *member)
{
	for (; names->p; names++)
		if (names->n == member->key_n && memcmp(names->p, member->key, names->n) == 0)
			return true;
	return false;
}

static void add_blanks(struct arena *a, const struct schema_convert *row, struct json *object)
{
	for (const struct str *name = row->blanks; name->p; name++)
		if (!json_get(object, *name))
			json_add(object, *name, json_make_str(a, STR("")));
}

static void convert_wrap(struct arena *a, const struct schema_convert *row, struct json *object)
{
	struct json *inner = json_make_object(a);
	bool blank = true;

	JSON_FOREACH_SAFE (v, object) {
		if (convert_is_among(row->outside, v))
			continue;
		json_add(inner, json_key(v), json_unlink(object, v));
		blank = blank && v->type == JSON_STRING && v->n == 0;
	}
	/*
	 * If the wrapper would be blank, the object uses the other choice (`firstAvailable`), so
	 * omit it.
	 */
	if (row->wraps && blank)
		return;
	if (row->blanks)
		add_blanks(a, row, inner);
	json_add(object, row->wrapper, inner);
}

static void move_members(struct json *from, struct json *to)
{
	JSON_FOREACH_SAFE (v, from)
		json_set(to, json_key(v), json_unlink(from, v));
}

/*
 * Moves the members of `after` to the end: the choice that was made follows the blanks of the
 * other.
 */
static struct json *take_after(struct arena *a, const struct schema_convert *row,
			       struct json *object)
{
	struct json *taken = json_make_object(a), *v;

	for (const struct str *name = row->after; name->p; name++) {
		v = json_remove(object, *name);
		if (v)
			json_add(taken, *name, v);
	}
	return taken;
}

static void unwrap(struct arena *a, const struct schema_convert *row, struct json *object)
{
	struct json *inner = json_remove(object, row->wrapper);
	struct json *after = row->after ? take_after(a, row, object) : NULL;

	if (json_is(inner, JSON_OBJECT))
		move_members(inner, object);
	if (row->blanks)
		add_blanks(a, row, object);
	if (after)
		move_members(after, object);
}

typedef void convert_fn(struct arena *a, const struct schema_convert *row, struct json *object);

static void run_rows(struct arena *a, struct json *object, const struct schema_kind *kind,
		     bool to_storage)
{
	for (size_t i = 0; i < kind->nconverts; i++) {
		const struct schema_convert *row = &kind->converts[i];
		convert_fn *convert = row->wraps == to_storage ? convert_wrap : unwrap;
		struct json *at = object;

		for (const struct str *name = row->path; name->p; name++)
			at = json_get(at, *name);
		if (json_is(at, JSON_OBJECT))
			convert(a, row, at);
		JSON_FOREACH (element, json_is(at, JSON_ARRAY) ? at : NULL)
			if (element->type == JSON_OBJECT)
				convert(a, row, element);
	}
}

bool convert_differs(const struct schema_kind *kind)
{
	return kind->nconverts > 0 || kind->to_storage;
}

void convert_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind)
{
	run_rows(a, object, kind, true);
	if (kind->to_storage)
		kind->to_storage(a, object);
}

void convert_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind)
{
	if (kind->from_storage)
		kind->from_storage(a, object);
	run_rows(a, object, kind, false);
}
