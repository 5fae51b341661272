/*
 * The shown list is published like an object of the index (cache/reclaim.h): a lane takes its
 * reference within a read section, and the state retires the list after it was withdrawn.
 */
#include "server/engine/looks.h"

#include "server/cache/reclaim.h"
#include "server/cache/snapshot.h"
#include "server/engine/sequencer.h"

/* --- on a lane -------------------------------------------------------------------- */

static struct look *look_add(struct looks *l, const struct resource *r)
{
	if (l->n == LOOKS_MAX) {
		l->failed = true;
		return NULL;
	}
	l->v[l->n] = (struct look){ .resource = r };
	return &l->v[l->n++];
}

struct object *looks_object(struct looks *l, const struct resource *r, struct str ns,
			    struct str name)
{
	struct look *look = look_add(l, r);

	if (!look)
		return NULL;
	look->ns = ns;
	look->name = name;
	look->object = resource_look(r, l->lane, ns, name);
	return look->object;
}

/* A new reference; NULL if the resource is not shown. */
static struct resource_snapshot *look_shown(const struct resource *r, size_t lane)
{
	struct resource_snapshot *s;

	if (!r->index)
		return NULL;
	reclaim_enter(r->state->reclaim, lane);
	s = atomic_load(&r->shown);
	if (s)
		(void)resource_snapshot_ref(s);
	reclaim_leave(r->state->reclaim, lane);
	return s;
}

/* The objects of a namespace are a range of keys. */
static size_t namespace_in(const struct resource_snapshot *s, struct str ns,
			   struct object *const **ret_v)
{
	char key[256];
	size_t from, to;

	*ret_v = s->items;
	if (!ns.n)
		return s->n;
	if (ns.n >= sizeof(key))
		return 0;
	str_put(key, ns);
	key[ns.n] = '/';
	from = to = resource_snapshot_after(s, str_of(key, ns.n + 1));
	while (to < s->n && str_eq(object_ns(s->items[to]), ns))
		to++;
	*ret_v = s->items + from;
	return to - from;
}

size_t looks_list(struct looks *l, const struct resource *r, struct str ns,
		  struct object *const **ret_v)
{
	struct resource_snapshot *s = look_shown(r, l->lane);
	struct look *look = s ? look_add(l, r) : NULL;

	*ret_v = NULL;
	if (!look) {
		resource_snapshot_unref(s);
		l->failed = true;
		return 0;
	}
	look->list = s;
	return namespace_in(s, ns, ret_v);
}

void looks_release(struct looks *l)
{
	for (size_t i = 0; i < l->n; i++) {
		object_unref(l->v[i].object);
		resource_snapshot_unref(l->v[i].list);
	}
	l->n = 0;
	l->failed = false;
}

/* --- on the state's loop ---------------------------------------------------------- */

void resource_show(struct resource *r)
{
	struct resource_filter all = { .kind = r->kind };

	if (r->index && !atomic_load_explicit(&r->shown, memory_order_relaxed))
		atomic_store(&r->shown, resource_select(r, &all));
}

static void shown_drop(void *snapshot)
{
	resource_snapshot_unref(snapshot);
}

void resource_unshow(struct resource *r)
{
	struct resource_snapshot *s = atomic_load_explicit(&r->shown, memory_order_relaxed);

	if (!s)
		return;
	atomic_store(&r->shown, NULL);
	reclaim_retire(r->state->reclaim, s, shown_drop);
}

static bool look_is_current(const struct look *l)
{
	const struct resource *r = l->resource;

	if (l->list)
		return atomic_load_explicit(&r->shown, memory_order_relaxed) == l->list &&
		       !r->tips.n;
	return resource_get(r, l->ns, l->name) == l->object && !resource_pending(r, l->ns, l->name);
}

bool looks_are_current(const struct looks *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!look_is_current(&l->v[i]))
			return false;
	return true;
}
