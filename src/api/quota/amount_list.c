/*
 * Reading a list sorts it once. Every other operation merges two sorted lists into a new array, so
 * names that clients choose, in whatever number and order, never cost a search per name. Merging
 * many lists one by one costs their number times the result; callers with many lists sort all
 * amounts at once.
 */
#include "api/quota/amount_list.h"

#include <stdlib.h>

#include "base/json/json.h"

enum merge { MERGE_ADD, MERGE_MAX, MERGE_PUT, MERGE_SUB, MERGE_REDUCE };

struct amount_list amount_list_new(struct arena *a)
{
	return (struct amount_list){ .arena = a };
}

bool amount_list_reserve(struct amount_list *l, size_t n)
{
	l->v = arena_try_alloc(l->arena, n * sizeof(*l->v));
	return l->v != NULL;
}

static int amount_list_by_name(const void *a, const void *b)
{
	return str_cmp(((const struct amount *)a)->name, ((const struct amount *)b)->name);
}

struct amount_list amount_list_read(struct arena *a, const struct json *map)
{
	struct amount_list l = { .arena = a };

	if (!json_is(map, JSON_OBJECT) || !map->n || !amount_list_reserve(&l, map->n))
		return l;
	JSON_FOREACH (it, map)
		if (quantity_read(it, &l.v[l.n].q))
			l.v[l.n++].name = json_key(it);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), amount_list_by_name);
	return l;
}

static struct str amount_list_shown(struct quantity q, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(256);

	(void)quantity_print(q, &b);
	return arena_str(a, buf_str(&b));
}

struct json *amount_list_tree(const struct amount_list *l, struct arena *a)
{
	struct json *map = json_make_object(a);

	for (size_t i = 0; i < l->n; i++)
		json_add(map, l->v[i].name, json_make_str(a, amount_list_shown(l->v[i].q, a)));
	return map;
}

const struct quantity *amount_list_get(const struct amount_list *l, struct str name)
{
	size_t from = 0, to = l->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int c = str_cmp(name, l->v[middle].name);

		if (c == 0)
			return &l->v[middle].q;
		if (c < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

void amount_list_set(struct amount_list *l, struct str name, struct quantity q)
{
	struct amount one = { name, q };
	struct amount_list other = { l->arena, &one, 1 };

	amount_list_put(l, &other);
}

static struct quantity formatted(struct quantity a, struct quantity b)
{
	if (a.nano == 0)
		a.format = b.format;
	return a;
}

struct quantity amount_sum(struct quantity a, struct quantity b)
{
	return quantity_add(formatted(a, b), b);
}

struct quantity amount_most(struct quantity a, struct quantity b)
{
	return quantity_cmp(b, a) > 0 ? b : a;
}

static struct quantity joined(struct quantity a, struct quantity b, enum merge how)
{
	static const struct quantity zero;
	struct quantity q;

	switch (how) {
	case MERGE_ADD:
		return amount_sum(a, b);
	case MERGE_MAX:
		return amount_most(a, b);
	case MERGE_SUB:
		return quantity_sub(formatted(a, b), b);
	case MERGE_REDUCE:
		q = quantity_sub(formatted(a, b), b);
		return quantity_sign(q) > 0 ? q : zero;
	default:
		return b;
	}
}

/* The result for a name that only the other list has. */
static struct quantity alone(struct quantity b, enum merge how)
{
	static const struct quantity zero;

	if (how == MERGE_SUB || how == MERGE_REDUCE)
		return joined(zero, b, how);
	return b;
}

static void amount_list_merge(struct amount_list *l, const struct amount_list *other,
			      enum merge how)
{
	struct amount *v;
	size_t i = 0, j = 0, n = 0;

	if (!other->n)
		return;
	v = arena_try_alloc(l->arena, (l->n + other->n) * sizeof(*v));
	if (!v)
		return;
	while (i < l->n || j < other->n) {
		int c = i == l->n       ? 1
			: j == other->n ? -1
					: str_cmp(l->v[i].name, other->v[j].name);

		if (c < 0) {
			v[n++] = l->v[i++];
		} else if (c > 0) {
			v[n] = other->v[j++];
			v[n].q = alone(v[n].q, how);
			n++;
		} else {
			v[n] = l->v[i++];
			v[n].q = joined(v[n].q, other->v[j++].q, how);
			n++;
		}
	}
	l->v = v;
	l->n = n;
}

void amount_list_add(struct amount_list *l, const struct amount_list *other)
{
	amount_list_merge(l, other, MERGE_ADD);
}

void amount_list_max(struct amount_list *l, const struct amount_list *other)
{
	amount_list_merge(l, other, MERGE_MAX);
}

void amount_list_put(struct amount_list *l, const struct amount_list *other)
{
	amount_list_merge(l, other, MERGE_PUT);
}

void amount_list_sub(struct amount_list *l, const struct amount_list *other)
{
	amount_list_merge(l, other, MERGE_SUB);
}

void amount_list_reduce(struct amount_list *l, const struct amount_list *other)
{
	amount_list_merge(l, other, MERGE_REDUCE);
}

bool amount_list_equal(const struct amount_list *a, const struct amount_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_eq(a->v[i].name, b->v[i].name) || quantity_cmp(a->v[i].q, b->v[i].q) != 0)
			return false;
	return true;
}

struct amount_list amount_list_copy(const struct amount_list *l, struct arena *a)
{
	struct amount_list copy = { .arena = a };

	if (!l->n || !amount_list_reserve(&copy, l->n))
		return copy;
	for (; copy.n < l->n; copy.n++) {
		const struct amount *from = &l->v[copy.n];

		copy.v[copy.n] = (struct amount){ arena_str(a, from->name), from->q };
	}
	return copy;
}

void amount_list_print(const struct amount_list *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		(void)buf_printf(out, "%s%.*s=", i ? "," : "", STR_ARG(l->v[i].name));
		(void)quantity_print(l->v[i].q, out);
	}
}
