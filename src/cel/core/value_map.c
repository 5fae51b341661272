/*
 * Maps that expressions build. Few entries are searched one after the other; with more
 * there is an order of the keys beside them, in which a key is found by halving. The
 * order is made by a merge sort in scratch memory: no key, however chosen, makes
 * it slow, and the heap is not touched.
 *
 * Keys are compared by equality, by which 1, 1u and 1.0 are one: a number is brought to its sign
 * and magnitude first, and what is no whole number of 64 bits is no key at all.
 */
#include <math.h>

#include "cel/core/value.h"

enum {
	SEARCH_MAX = 8, /* entries that are searched one after the other */
};

struct built_map {
	const struct cel_value *pairs;
	size_t n;
	const uint32_t *order; /* of the entries by key; NULL: few */
};

/* A key in sortable form: by class, then by number or text. */
struct key {
	enum { KEY_NONE, KEY_BOOL, KEY_NEGATIVE, KEY_NUMBER, KEY_TEXT } class;
	uint64_t number; /* two's complement when negative */
	struct str text;
};

static struct key key_of_double(double d)
{
	/* 2^64 and 2^63 are doubles, the largest integers below them are not. */
	if (!(d >= -0x1p63 && d < 0x1p64) || d != trunc(d))
		return (struct key){ .class = KEY_NONE };
	if (d < 0)
		return (struct key){ KEY_NEGATIVE, (uint64_t)(int64_t)d, STR_NULL };
	return (struct key){ KEY_NUMBER, (uint64_t)d, STR_NULL };
}

static struct key value_map_key_of(const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_BOOL:
		return (struct key){ KEY_BOOL, v->b, STR_NULL };
	case CEL_INT:
		return (struct key){ v->i < 0 ? KEY_NEGATIVE : KEY_NUMBER, (uint64_t)v->i,
				     STR_NULL };
	case CEL_UINT:
		return (struct key){ KEY_NUMBER, v->u, STR_NULL };
	case CEL_DOUBLE:
		return key_of_double(v->d);
	case CEL_STRING:
		return (struct key){ KEY_TEXT, 0, v->s };
	default:
		return (struct key){ .class = KEY_NONE };
	}
}

static int key_cmp(const struct key *a, const struct key *b)
{
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->class == KEY_TEXT)
		return str_cmp(a->text, b->text);
	return a->number < b->number ? -1 : a->number > b->number;
}

static bool keys_in_order(const void *pairs, uint32_t a, uint32_t b)
{
	const struct cel_value *v = pairs;
	struct key ka = value_map_key_of(&v[2 * (size_t)a]),
		   kb = value_map_key_of(&v[2 * (size_t)b]);

	return key_cmp(&ka, &kb) <= 0;
}

/* Arguments of the sort. */
struct sorting {
	bool (*in_order)(const void *of, uint32_t a, uint32_t b);
	const void *of;
};

/* Merges [from, middle) and [middle, end) of v into `out`. */
static void value_map_merge(const struct sorting *s, const uint32_t *v, uint32_t *out, size_t from,
			    size_t middle, size_t end)
{
	size_t a = from, b = middle;

	for (size_t i = from; i < end; i++)
		if (b == end || (a < middle && s->in_order(s->of, v[a], v[b])))
			out[i] = v[a++];
		else
			out[i] = v[b++];
}

const uint32_t *cel_order(struct cel_eval *ev, size_t n,
			  bool (*in_order)(const void *of, uint32_t a, uint32_t b), const void *of)
{
	uint32_t *v = cel_alloc(ev, 2 * n * sizeof(*v)), *other = v + n;
	struct sorting s = { in_order, of };

	/* Twice for each time that n can be halved. */
	if (!v || !cel_work(ev, 2 * n * (uint64_t)(64 - __builtin_clzll(n | 1))))
		return NULL;
	for (size_t i = 0; i < n; i++)
		v[i] = (uint32_t)i;
	for (size_t width = 1; width < n; width *= 2) {
		uint32_t *swap = v;

		for (size_t i = 0; i < n; i += 2 * width)
			value_map_merge(&s, v, other, i, MIN(i + width, n), MIN(i + 2 * width, n));
		v = other;
		other = swap;
	}
	return v;
}

static size_t built_map_size(const void *self)
{
	return ((const struct built_map *)self)->n;
}

/* The same string or integer, which nearly all keys are, without a detour. */
static bool same_key(const struct cel_value *a, const struct cel_value *b)
{
	struct key ka, kb;

	if (a->kind == CEL_STRING || b->kind == CEL_STRING)
		return a->kind == b->kind && str_eq(a->s, b->s);
	if (a->kind == CEL_INT && b->kind == CEL_INT)
		return a->i == b->i;
	ka = value_map_key_of(a);
	kb = value_map_key_of(b);
	return ka.class != KEY_NONE && key_cmp(&ka, &kb) == 0;
}

static struct cel_value value_map_search(const struct built_map *m, const struct cel_value *key)
{
	for (size_t i = 0; i < m->n; i++)
		if (same_key(&m->pairs[2 * i], key))
			return m->pairs[2 * i + 1];
	return CEL_NOTHING;
}

static struct cel_value halve(const struct built_map *m, const struct cel_value *key)
{
	struct key wanted = value_map_key_of(key), there;
	size_t low = 0, high = m->n, middle;
	int order;

	while (low < high && wanted.class != KEY_NONE) {
		middle = low + (high - low) / 2;
		there = value_map_key_of(&m->pairs[2 * (size_t)m->order[middle]]);
		order = key_cmp(&wanted, &there);
		if (order == 0)
			return m->pairs[2 * (size_t)m->order[middle] + 1];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return CEL_NOTHING;
}

static struct cel_value built_map_find(struct cel_eval *ev, const void *self,
				       const struct cel_value *key)
{
	const struct built_map *m = self;

	(void)ev;
	return m->order ? halve(m, key) : value_map_search(m, key);
}

static bool built_map_next(struct cel_eval *ev, const void *self, size_t *at,
			   struct cel_value *ret_key, struct cel_value *ret_value)
{
	const struct built_map *m = self;

	(void)ev;
	if (*at >= m->n)
		return false;
	*ret_key = m->pairs[2 * *at];
	*ret_value = m->pairs[2 * *at + 1];
	(*at)++;
	return true;
}

static const struct cel_map_class built_map_class = {
	.size = built_map_size,
	.find = built_map_find,
	.next = built_map_next,
};

struct cel_value cel_map(struct cel_eval *ev, const struct cel_value *pairs, size_t n)
{
	struct built_map *built = cel_alloc(ev, sizeof(*built));

	if (!built || n > UINT32_MAX)
		return cel_too_large();
	*built = (struct built_map){ pairs, n, NULL };
	if (n > SEARCH_MAX)
		built->order = cel_order(ev, n, keys_in_order, pairs);
	if (n > SEARCH_MAX && !built->order)
		return cel_too_large();
	return (struct cel_value){ .kind = CEL_MAP, .map = { &built_map_class, built } };
}
