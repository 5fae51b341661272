/*
 * Lists and maps made by expressions are arrays in scratch memory, with the same function tables as
 * JSON trees and devices. A map with more than a few entries has a sorted order of its keys. So
 * construction takes n log n steps for any keys, which a hash without a secret cannot guarantee.
 */
#include "cel/core/value.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* --- making ------------------------------------------------------------------------- */

void *cel_alloc(struct cel_eval *ev, size_t n)
{
	void *p = arena_try_alloc(ev->scratch, n);

	if (UNLIKELY(!p))
		(void)cel_exhaust(ev, CEL_TOO_LARGE);
	return p;
}

bool cel_exhaust(struct cel_eval *ev, const char *why)
{
	if (!ev->exhausted)
		ev->exhausted = why;
	ev->bound = 0;
	return false;
}

struct cel_value cel_too_large(void)
{
	return (struct cel_value){ .kind = CEL_ERROR, .error = CEL_TOO_LARGE };
}

struct cel_value cel_no_overload(struct cel_eval *ev)
{
	(void)ev;
	return (struct cel_value){ .kind = CEL_ERROR, .error = "no such overload" };
}

struct cel_value cel_errorf(struct cel_eval *ev, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = n < 0 ? NULL : cel_alloc(ev, (size_t)n + 1);
	if (!text)
		return cel_too_large();
	va_start(ap, fmt);
	(void)vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return (struct cel_value){ .kind = CEL_ERROR, .error = text };
}

static size_t built_list_size(const void *self)
{
	return ((const struct cel_built_list *)self)->n;
}

static struct cel_value built_list_at(struct cel_eval *ev, const void *self, size_t index)
{
	(void)ev;
	return ((const struct cel_built_list *)self)->items[index];
}

const struct cel_list_class cel_built_list_class = {
	.size = built_list_size,
	.at = built_list_at,
};

struct cel_value cel_list(struct cel_eval *ev, const struct cel_value *items, size_t n)
{
	struct cel_built_list *built = cel_alloc(ev, sizeof(*built));

	if (!built)
		return cel_too_large();
	*built = (struct cel_built_list){ items, n, NULL };
	return (struct cel_value){ .kind = CEL_LIST, .list = { &cel_built_list_class, built } };
}

/*
 * The array behind a list that was appended to. Lists share it: each sees its own first n
 * items, and only one that ends where the array does may grow into the rest.
 */
struct cel_list_room {
	size_t used, max;
	struct cel_value items[];
};

static struct cel_list_room *room_new(struct cel_eval *ev, size_t n)
{
	size_t max = MAX(2 * n, (size_t)8);
	struct cel_list_room *room = cel_alloc(ev, sizeof(*room) + max * sizeof(room->items[0]));

	if (room)
		*room = (struct cel_list_room){ .max = max };
	return room;
}

static void room_add(struct cel_eval *ev, struct cel_list_room *room, const struct cel_value *list)
{
	const struct cel_value *items = cel_list_items(list);
	size_t n = cel_list_size(list);

	(void)cel_work(ev, n);
	if (items && n > 0)
		memcpy(room->items + room->used, items, n * sizeof(*items));
	for (size_t i = 0; i < n && !items; i++)
		room->items[room->used + i] = cel_list_at(ev, list, i);
	room->used += n;
}

/* Returns the room of list `a` if `more` items fit behind it, or NULL. */
static struct cel_list_room *room_behind(const struct cel_value *a, size_t more)
{
	const struct cel_built_list *built = a->list.self;
	struct cel_list_room *room = cel_list_items(a) ? built->room : NULL;

	return room && built->n == room->used && more <= room->max - room->used ? room : NULL;
}

struct cel_value cel_list_append(struct cel_eval *ev, const struct cel_value *a,
				 const struct cel_value *b)
{
	size_t n = cel_list_size(a), more = cel_list_size(b);
	struct cel_built_list *built;
	struct cel_list_room *room;

	if (more == 0 || n == 0)
		return more == 0 ? *a : *b;
	built = cel_alloc(ev, sizeof(*built));
	room = room_behind(a, more);
	if (built && !room) {
		room = room_new(ev, n + more);
		if (room)
			room_add(ev, room, a);
	}
	if (!built || !room)
		return cel_too_large();
	room_add(ev, room, b);
	*built = (struct cel_built_list){ room->items, n + more, room };
	return (struct cel_value){ .kind = CEL_LIST, .list = { &cel_built_list_class, built } };
}

struct cel_value cel_optional(struct cel_eval *ev, struct cel_value v)
{
	struct cel_value *copy = cel_alloc(ev, sizeof(*copy));

	if (!copy)
		return cel_too_large();
	*copy = v;
	return (struct cel_value){ .kind = CEL_OPTIONAL, .optional = copy };
}

struct cel_value cel_none(void)
{
	return (struct cel_value){ .kind = CEL_OPTIONAL };
}

/* --- reading ------------------------------------------------------------------------ */

const struct cel_type *cel_value_type(const struct cel_value *v)
{
	static const struct cel_type *const types[CEL_KINDS] = {
		[CEL_ERROR] = &cel_type_error,
		[CEL_NULL] = &cel_null,
		[CEL_BOOL] = &cel_bool,
		[CEL_INT] = &cel_int,
		[CEL_UINT] = &cel_uint,
		[CEL_DOUBLE] = &cel_double,
		[CEL_STRING] = &cel_string,
		[CEL_BYTES] = &cel_bytes,
		[CEL_TIMESTAMP] = &cel_timestamp,
		[CEL_DURATION] = &cel_duration,
		[CEL_LIST] = &cel_list_dyn,
		[CEL_MAP] = &cel_map_dyn,
		[CEL_TYPE] = &cel_type_type,
		[CEL_OPTIONAL] = &cel_optional_a,
		[CEL_QUANTITY] = &cel_quantity,
		[CEL_SEMVER] = &cel_semver,
		[CEL_IP] = &cel_ip,
		[CEL_CIDR] = &cel_cidr,
		[CEL_URL] = &cel_url,
		[CEL_FORMAT] = &cel_format,
	};

	assert(v->kind < CEL_KINDS);
	return v->kind == CEL_OBJECT ? v->object.class->type(v->object.self) : types[v->kind];
}

uint64_t cel_value_size(const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_STRING:
		return str_characters(v->s);
	case CEL_BYTES:
		return v->s.n;
	case CEL_LIST:
		return cel_list_size(v);
	case CEL_MAP:
		return cel_map_size(v);
	default:
		return 1;
	}
}

size_t cel_list_size(const struct cel_value *list)
{
	return list->list.class->size(list->list.self);
}

struct cel_value cel_list_at(struct cel_eval *ev, const struct cel_value *list, size_t i)
{
	return list->list.class->at(ev, list->list.self, i);
}

size_t cel_map_size(const struct cel_value *map)
{
	return map->map.class->size(map->map.self);
}

struct cel_value cel_map_find(struct cel_eval *ev, const struct cel_value *map,
			      const struct cel_value *key)
{
	return map->map.class->find(ev, map->map.self, key);
}

bool cel_map_next(struct cel_eval *ev, const struct cel_value *map, size_t *at,
		  struct cel_value *ret_key, struct cel_value *ret_value)
{
	return map->map.class->next(ev, map->map.self, at, ret_key, ret_value);
}
