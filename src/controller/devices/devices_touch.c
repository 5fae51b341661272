/*
 * A pool is recorded when it is first touched, and compared with its state at the end.
 */
#include "controller/devices/devices_touch.h"

#include "controller/devices/devices.h"
#include "dra/availability/availability.h"
#include "dra/inventory/content.h"

enum soundness {
	SOUND,
	WAITING, /* slices are missing: no node uses the pool, whichever slice arrives next */
	ODD, /* any change may make it usable for some node */
};

struct devices_pool {
	struct str key, driver, name;
	struct str first; /* name of the first slice; or empty */
	int64_t generation;
	enum soundness soundness;
	bool all; /* affects every slice, whatever changed */
};

/* --- names ----------------------------------------------------------------------------------- */

void devices_names_init(struct devices_names *n)
{
	map_init(&n->seen);
	vec_init(&n->v, SIZE_MAX);
	arena_init(&n->arena, SIZE_MAX);
}

void devices_names_release(struct devices_names *n)
{
	map_release(&n->seen);
	vec_release(&n->v);
	arena_release(&n->arena);
}

void devices_names_add(struct devices_names *n, struct str name)
{
	struct str copy;

	if (map_get(&n->seen, name))
		return;
	copy = arena_str(&n->arena, name);
	(void)map_put(&n->seen, copy, n);
	(void)vec_push(&n->v, copy);
}

bool devices_names_has(const struct devices_names *n, struct str name)
{
	return map_get(&n->seen, name) != NULL;
}

/* Frees the memory of a large initial state. */
void devices_names_clear(struct devices_names *n)
{
	enum { KEPT = 4096 };

	if (n->v.n > KEPT) {
		devices_names_release(n);
		devices_names_init(n);
		return;
	}
	map_clear(&n->seen);
	n->v.n = 0;
	arena_clear(&n->arena);
}

/* --- pools ----------------------------------------------------------------------------------- */

void devices_touch_init(struct devices_touch *t, struct inventory *inv, struct arena *a)
{
	t->inventory = inv;
	t->arena = a;
	map_init(&t->pools);
	vec_init(&t->list, SIZE_MAX);
}

void devices_touch_release(struct devices_touch *t)
{
	map_release(&t->pools);
	vec_release(&t->list);
}

static enum soundness soundness_of(const struct inventory_pool *pool)
{
	bool agree = true;

	if (!pool || pool->sound)
		return SOUND;
	for (size_t i = 0; i < pool->nslices; i++)
		agree &= pool->slices[i]->expected == pool->expected;
	return agree && pool->observed < pool->expected ? WAITING : ODD;
}

static struct devices_pool *touch(struct devices_touch *t, struct str driver, struct str name)
{
	struct str key = devices_pool_key(driver, name, t->arena);
	struct devices_pool *p = map_get(&t->pools, key);
	const struct inventory_pool *now;

	if (p)
		return p;
	now = inventory_pool(t->inventory, driver, name);
	p = ARENA_NEW(t->arena, struct devices_pool);
	p->key = key;
	p->driver = arena_str(t->arena, driver);
	p->name = arena_str(t->arena, name);
	p->generation = now ? now->generation : INT64_MIN;
	p->soundness = soundness_of(now);
	if (now && now->nslices > 0)
		p->first = arena_str(t->arena, now->slices[0]->name);
	(void)map_put(&t->pools, p->key, p);
	(void)vec_push(&t->list, p);
	return p;
}

void devices_touch_pool(struct devices_touch *t, struct str driver, struct str pool)
{
	(void)touch(t, driver, pool);
}

void devices_touch_slice(struct devices_touch *t, struct str slice)
{
	const struct inventory_slice *s = inventory_slice(t->inventory, slice);
	struct devices_pool *p;

	if (!s)
		return;
	p = touch(t, s->pool->driver, s->pool->name);
	p->all |= availability_counts(s);
}

/* Includes slices of older generations, whose status is kept until the newest is complete. */
static bool concerns_all(const struct devices_pool *p, const struct inventory_pool *now)
{
	enum soundness soundness = soundness_of(now);

	return p->all || p->generation != now->generation || soundness == ODD ||
	       soundness != p->soundness;
}

static void tell_pool(struct devices_touch *t, const struct devices_pool *p,
		      struct devices_names *told)
{
	const struct inventory_pool *now = inventory_pool(t->inventory, p->driver, p->name);
	struct str *names;
	size_t n;

	if (p->first.n > 0)
		devices_names_add(told, p->first);
	if (!now || now->nslices == 0)
		return;
	devices_names_add(told, now->slices[0]->name);
	if (!concerns_all(p, now))
		return;
	n = availability_pool_slices(t->inventory, p->driver, p->name, t->arena, &names);
	for (size_t i = 0; i < n; i++)
		devices_names_add(told, names[i]);
}

void devices_touch_tell(struct devices_touch *t, const struct devices_names *changed,
			struct devices_names *told)
{
	for (size_t i = 0; i < changed->v.n; i++) {
		devices_names_add(told, changed->v.v[i]);
		devices_touch_slice(t, changed->v.v[i]);
	}
	for (size_t i = 0; i < t->list.n; i++)
		tell_pool(t, t->list.v[i], told);
}
