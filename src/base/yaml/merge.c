/*
 * The merged value is copied, and the copy taken apart: the value itself may have an anchor that is
 * used later.
 */
#include "base/yaml/merge.h"

#include "base/json/building.h"

/* Moves the members of `from` behind the last of `object`. */
static void move_members(struct json *object, struct json *from)
{
	if (!from->first)
		return;
	if (object->last)
		object->last->next = from->first;
	else
		object->first = from->first;
	object->last = from->last;
	object->n += from->n;
}

/* In a list the first wins, and later members override: so start with the last. */
static void add_merged(struct json *object, struct json *value)
{
	struct json *reversed = NULL, *next;

	if (value->type == JSON_OBJECT) {
		move_members(object, value);
		return;
	}
	for (struct json *v = value->first; v; v = next) {
		next = v->next;
		v->next = reversed;
		reversed = v;
	}
	for (; reversed; reversed = next) {
		next = reversed->next;
		move_members(object, reversed);
	}
}

static bool is_mergeable(const struct json *value)
{
	if (json_is(value, JSON_OBJECT))
		return true;
	if (!json_is(value, JSON_ARRAY))
		return false;
	for (const struct json *v = value->first; v; v = v->next)
		if (!json_is(v, JSON_OBJECT))
			return false;
	return true;
}

int yaml_merge(struct arena *a, struct json *object)
{
	struct json *v = object->first, *next, *copy;

	object->first = object->last = NULL;
	object->n = 0;
	for (; v; v = next) {
		next = v->next;
		v->next = NULL;
		if (v->key) {
			json_link(object, v);
			continue;
		}
		if (!is_mergeable(v))
			return -ERR_BAD_REQUEST;
		if (json_copy(a, v, &copy, NULL) < 0)
			return -ERR_TOO_LARGE;
		add_merged(object, copy);
	}
	return 0;
}
