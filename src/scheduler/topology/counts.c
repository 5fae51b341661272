/*
 * Keys are few and compared one by one; values may be as many as there are nodes and are in maps.
 */
#include "scheduler/topology/counts.h"

static struct str label(const struct json *labels, struct str key)
{
	return json_str(json_get(labels, key));
}

static struct topology_key *find_key(const struct topology_counts *t, struct str key)
{
	for (size_t i = 0; i < t->nkeys; i++)
		if (str_eq(t->keys[i]->key, key))
			return t->keys[i];
	return NULL;
}

static const struct topology_count *find_base(const struct topology_counts *t, struct str key,
					      struct str value)
{
	const struct topology_key *k = find_key(t, key);

	return k ? map_get(&k->values, value) : NULL;
}

static struct topology_count *find_changed(const struct topology_counts *t, struct str key,
					   struct str value)
{
	for (size_t i = 0; i < t->nchanged; i++)
		if (str_eq(t->changed[i].key, key) && str_eq(t->changed[i].value, value))
			return &t->changed[i];
	return NULL;
}

/* An array of `size` bytes each, in the arena, with room for one more. */
static void *counts_grow(struct arena *a, void *v, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return v;
	*room = MAX(4, 2 * *room);
	more = arena_calloc(a, *room * size);
	if (n > 0)
		memcpy(more, v, n * size);
	return more;
}

static void drop_key(void *object)
{
	struct topology_key *k = object;

	map_release(&k->values);
}

static struct topology_count *need_base(struct topology_counts *t, struct arena *a, struct str key,
					struct str value)
{
	struct topology_key *k = find_key(t, key);
	struct topology_count *c;

	if (!k) {
		k = ARENA_NEW(a, struct topology_key);
		k->key = key;
		map_init(&k->values);
		arena_hold(a, drop_key, k);
		t->keys = counts_grow(a, t->keys, t->nkeys, &t->room,
				      sizeof(struct topology_key *));
		t->keys[t->nkeys++] = k;
	}
	c = map_get(&k->values, value);
	if (c)
		return c;
	c = arena_alloc(a, sizeof(*c));
	*c = (struct topology_count){ key, value, 0 };
	map_put(&k->values, value, c);
	return c;
}

static struct topology_count *need_changed(struct topology_counts *t, struct arena *a,
					   struct str key, struct str value)
{
	struct topology_count *c = find_changed(t, key, value);
	const struct topology_count *base;

	if (c)
		return c;
	base = find_base(t, key, value);
	t->changed = counts_grow(a, t->changed, t->nchanged, &t->changed_room, sizeof(*c));
	c = &t->changed[t->nchanged++];
	*c = (struct topology_count){ key, value, base ? base->n : 0 };
	return c;
}

void topology_counts_add(struct topology_counts *t, struct arena *a, struct str key,
			 const struct json *labels, int64_t by)
{
	struct str value = label(labels, key);
	struct topology_count *c;

	if (!value.p)
		return;
	c = t->clone ? need_changed(t, a, key, value) : need_base(t, a, key, value);
	t->entries -= c->n != 0;
	c->n += by;
	t->entries += c->n != 0;
}

int64_t topology_counts_get(const struct topology_counts *t, struct str key, struct str value)
{
	const struct topology_count *c = find_changed(t, key, value);

	if (!c)
		c = find_base(t, key, value);
	return c ? c->n : 0;
}

bool topology_counts_any(const struct topology_counts *t, const struct json *labels)
{
	for (size_t i = 0; i < t->nkeys; i++) {
		struct str value = label(labels, t->keys[i]->key);

		if (value.p && topology_counts_get(t, t->keys[i]->key, value) > 0)
			return true;
	}
	for (size_t i = 0; i < t->nchanged; i++) {
		struct str value = label(labels, t->changed[i].key);

		if (value.p && t->changed[i].n > 0 && str_eq(value, t->changed[i].value))
			return true;
	}
	return false;
}

int64_t topology_counts_sum(const struct topology_counts *t, const struct json *labels)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->nkeys; i++) {
		struct str value = label(labels, t->keys[i]->key);

		if (value.p)
			sum += topology_counts_get(t, t->keys[i]->key, value);
	}
	return sum;
}

void topology_counts_clone(struct topology_counts *to, const struct topology_counts *from,
			   struct arena *a)
{
	*to = *from;
	to->clone = true;
	to->changed = NULL;
	to->changed_room = from->nchanged;
	if (from->nchanged == 0)
		return;
	to->changed = arena_alloc(a, from->nchanged * sizeof(*to->changed));
	memcpy(to->changed, from->changed, from->nchanged * sizeof(*to->changed));
}
