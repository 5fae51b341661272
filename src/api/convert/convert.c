/*
 * Versions grow wrappers and lose them: members that lay in an object move into
 * an object within it, or out. A row says where; one pair of functions does it both
 * ways. What was in the order of its type stays so, and an answer reads as upstream's.
 */
#include "api/convert/convert.h"

#include <string.h>

#include "api/schema/schema.h"
#include "base/json/json.h"

static bool is_among(const struct str *names, const struct json *member)
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

static void wrap(struct arena *a, const struct schema_convert *row, struct json *object)
{
	struct json *inner = json_make_object(a);
	bool blank = true;

	JSON_FOREACH_SAFE (v, object) {
		if (is_among(row->outside, v))
			continue;
		json_add(inner, json_key(v), json_unlink(object, v));
		blank = blank && v->type == JSON_STRING && v->n == 0;
	}
	/* What is stored without it is a choice that was not made (`firstAvailable` was). */
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

/* A choice that was made comes behind the blanks of the one that was not. */
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
		convert_fn *convert = row->wraps == to_storage ? wrap : unwrap;
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
