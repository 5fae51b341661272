/*
 * JSON Merge Patch (RFC 7386), with a list of pairs still to be merged instead of recursion. If a
 * patch has many members, the object is merged through a map, so that the time stays linear in the
 * size of both documents.
 *
 * As upstream's library does, null members are dropped below a value that is new, or that replaces
 * a value that is not an object; even inside lists.
 */
#include "api/patch/patch.h"

#include "base/core/map.h"
#include "base/core/vec.h"

enum { FEW_MEMBERS = 16 }; /* up to so many are looked up one by one */

struct merge_pair {
	struct json *object;
	const struct json *patch;
};

struct merging {
	struct arena *arena;
	struct error *err;
	VEC(struct merge_pair) todo;
	VEC(struct json *) prune;
};

/* Removes null members from every object below `root`. */
static void prune_nulls(struct merging *m, struct json *root)
{
	struct json *v, *child, *next;

	m->prune.n = 0;
	(void)vec_push(&m->prune, root);
	while (m->prune.n) {
		v = m->prune.v[--m->prune.n];
		child = json_first(v);
		if (v->type == JSON_OBJECT)
			json_assign(v, &(struct json){ .type = JSON_OBJECT });
		for (; child; child = next) {
			next = child->next;
			if (json_is_container(child))
				(void)vec_push(&m->prune, child);
			if (v->type == JSON_OBJECT && child->type != JSON_NULL)
				json_add(v, json_key(child), child);
		}
	}
}

/*
 * Merges a member of the patch that is not null into `current` (may be NULL). *ret_added: the new
 * member.
 */
static int merge_member(struct merging *m, struct json *object, struct json *current,
			const struct json *value, struct json **ret_added)
{
	struct json *copy;
	int r;

	*ret_added = NULL;
	if (json_is(current, JSON_OBJECT) && value->type == JSON_OBJECT) {
		(void)vec_push(&m->todo, (struct merge_pair){ current, value });
		return 0;
	}
	r = json_copy(m->arena, value, &copy, m->err);
	if (r < 0)
		return r;
	if (!json_is(current, JSON_OBJECT) && json_is_container(copy))
		prune_nulls(m, copy);
	if (current) {
		json_assign(current, copy);
	} else {
		json_add(object, arena_str(m->arena, json_key(value)), copy);
		*ret_added = copy;
	}
	return 0;
}

static int merge_few(struct merging *m, struct json *object, const struct json *patch)
{
	struct json *current, *added;
	int r;

	JSON_FOREACH (value, patch) {
		current = json_get(object, json_key(value));
		if (value->type == JSON_NULL) {
			if (current)
				json_unlink(object, current);
			continue;
		}
		r = merge_member(m, object, current, value, &added);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Keeps the members that the map still has. */
static void keep_mapped(struct json *object, const struct map *members)
{
	struct json *child = object->first, *next;

	json_assign(object, &(struct json){ .type = JSON_OBJECT });
	for (; child; child = next) {
		next = child->next;
		if (map_get(members, json_key(child)) == child)
			json_add(object, json_key(child), child);
	}
}

static int merge_many(struct merging *m, struct json *object, const struct json *patch)
{
	CLEANUP(map_release) struct map members;
	struct json *current, *added;
	int r;

	map_init(&members);
	map_reserve(&members, (size_t)object->n + patch->n);
	JSON_FOREACH (member, object)
		map_put(&members, json_key(member), member);
	JSON_FOREACH (value, patch) {
		if (value->type == JSON_NULL) {
			(void)map_remove(&members, json_key(value));
			continue;
		}
		current = map_get(&members, json_key(value));
		r = merge_member(m, object, current, value, &added);
		if (r < 0)
			return r;
		if (added)
			map_put(&members, json_key(added), added);
	}
	keep_mapped(object, &members);
	return 0;
}

int patch_merge(struct arena *a, struct json **doc, const struct json *patch, struct error *err)
{
	struct merging m = { .arena = a, .err = err };
	struct merge_pair pair;
	int r = 0;

	if (!json_is(patch, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST, "Invalid JSON Patch");
	if (!json_is(*doc, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "Invalid JSON Document");
	vec_init(&m.todo, SIZE_MAX);
	vec_init(&m.prune, SIZE_MAX);
	(void)vec_push(&m.todo, (struct merge_pair){ *doc, patch });
	while (r == 0 && m.todo.n) {
		pair = m.todo.v[--m.todo.n];
		r = (pair.patch->n <= FEW_MEMBERS ? merge_few : merge_many)(&m, pair.object,
									    pair.patch);
	}
	vec_release(&m.todo);
	vec_release(&m.prune);
	return r;
}
