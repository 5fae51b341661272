/*
 * The objects of one resource in key order, with two caches that make reads cheap: a count per
 * namespace, and the last complete list as long as nothing has changed. A cached list holds its
 * objects, so the first change drops it. It is dropped before the objects change, because then
 * fewer blocks must be copied.
 *
 * If lanes have loops of their own, the objects of compiled-in kinds are in an index, too, which
 * lanes read without a job (resource_look()). It changes together with the blocks. That happens
 * before the store answers the writer, so whoever knows of the answer finds the object.
 */
#include "server/engine/sequencer.h"

#include <assert.h>
#include <stdlib.h>

#include "api/crd/crd.h"
#include "base/core/mem.h"
#include "server/cache/index.h"
#include "server/cache/reclaim.h"
#include "server/engine/lane.h"

enum { RING_BYTES = 64 * 1024 * 1024, KEY_MAX = 512 };

static void feeds_new(struct resource *r)
{
	size_t n = r->state->nlanes;

	r->subs = xcalloc(MAX(n, (size_t)1), sizeof(*r->subs));
	for (size_t i = 0; i < n; i++)
		r->subs[i].feed = lane_feed_new(r->state->lanes[i], r);
}

/*
 * A definition may change within a batch that also changed objects. These objects belong to the
 * past.
 */
void resource_forget_past(struct resource *r)
{
	ring_restart(&r->ring, MAX(r->state->revision, r->state->applying));
}

struct resource *resource_new(struct state *st, const struct schema_kind *kind)
{
	struct resource *r = XNEW(struct resource);

	r->state = st;
	r->kind = kind;
	r->name = str_of(xstrndup(kind->storage_name.p, kind->storage_name.n),
			 kind->storage_name.n);
	if (kind->custom)
		r->custom = crd_ref(crd_of(kind));
	resource_blocks_init(&r->objects);
	resource_blocks_init(&r->loading);
	if (st->reclaim && !kind->custom)
		r->index = resource_index_new(st->reclaim);
	omap_init(&r->spaces);
	map_init(&r->tips);
	ring_init(&r->ring, st->opts.ring_bytes ? st->opts.ring_bytes : RING_BYTES);
	resource_forget_past(r); /* a custom kind may have had objects before this server knew it */
	list_init(&r->dirty);
	feeds_new(r);
	if (kind->flags & SCHEMA_EVENTS)
		r->expire = expire_new(r);
	store_note_seal(st->store, r->name, &r->seal);
	state_observe_find(r);
	state_metrics_add_resource(r);
	return r;
}

bool resource_seal_is_old(const struct resource *r, const struct object *o)
{
	unsigned seal = atomic_load_explicit(&r->seal, memory_order_relaxed);

	return o->revision && o->seal != seal && seal != STORE_SEAL_UNKNOWN;
}

static void space_free(struct resource_space *s)
{
	resource_snapshot_unref(s->all);
	free(s);
}

static void spaces_clear(struct resource *r)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&r->spaces, &c); ok; ok = omap_next(&c))
		space_free(omap_value(&c));
	omap_clear(&r->spaces);
}

void resource_free(struct resource *r)
{
	for (size_t i = 0; i < r->state->nlanes; i++)
		lane_feed_free(r->subs[i].feed);
	expire_free(r->expire);
	resource_forget_lists(r);
	resource_blocks_clear(&r->objects);
	resource_blocks_clear(&r->loading);
	resource_index_free(r->index);
	omap_release(&r->spaces);
	map_release(&r->tips);
	ring_release(&r->ring);
	free(r->subs);
	free(r->observers);
	crd_unref(r->custom);
	free((char *)r->name.p);
	free(r);
}

/* --- keys and spaces -------------------------------------------------------------- */

struct str resource_key(struct arena *a, struct str ns, struct str name)
{
	size_t n = ns.n ? ns.n + 1 : 0;
	char *key = arena_alloc(a, n + name.n + 1);

	if (ns.n) {
		str_put(key, ns);
		key[ns.n] = '/';
	}
	str_put(key + n, name);
	key[n + name.n] = '\0';
	return str_of(key, n + name.n);
}

/* The same on the stack; empty if such a key cannot exist. */
static struct str key_in(char buffer[KEY_MAX], struct str ns, struct str name)
{
	size_t n = ns.n ? ns.n + 1 : 0;

	if (n + name.n > KEY_MAX || name.n == 0)
		return STR_NULL;
	if (ns.n) {
		str_put(buffer, ns);
		buffer[ns.n] = '/';
	}
	str_put(buffer + n, name);
	return str_of(buffer, n + name.n);
}

static struct resource_space *space_of(struct resource *r, const struct object *o)
{
	return o->ns_n ? omap_get(&r->spaces, str_of(o->key.p, o->ns_n + 1U)) : NULL;
}

static struct resource_space *space_new(struct resource *r, const struct object *o)
{
	size_t n = o->ns_n + 1U;
	struct resource_space *s = xcalloc(1, sizeof(*s) + n);

	memcpy(s + 1, o->key.p, n);
	s->key = str_of(s + 1, n);
	(void)omap_put(&r->spaces, s->key, s);
	return s;
}

static void drop_lists(struct resource *r, struct resource_space *s)
{
	resource_unshow(r);
	if (r->all) {
		resource_snapshot_unref(r->all);
		r->all = NULL;
	}
	if (s && s->all) {
		resource_snapshot_unref(s->all);
		s->all = NULL;
	}
}

static void count_added(struct resource *r, const struct object *o)
{
	struct resource_space *s = space_of(r, o);

	if (!o->ns_n)
		return;
	if (!s)
		s = space_new(r, o);
	s->count++;
}

static void count_removed(struct resource *r, struct resource_space *s)
{
	if (!s || --s->count > 0)
		return;
	(void)omap_remove(&r->spaces, s->key);
	space_free(s);
}

/* --- content ---------------------------------------------------------------------- */

struct object *resource_find(const struct resource *r, struct str key)
{
	return r->index ? resource_index_find(r->index, key)
			: resource_blocks_find(&r->objects, key);
}

struct object *resource_put(struct resource *r, struct object *o)
{
	struct object *old;

	drop_lists(r, space_of(r, o));
	old = resource_blocks_put(&r->objects, o);
	if (r->index)
		resource_index_put(r->index, o);
	if (!old)
		count_added(r, o);
	return old;
}

struct object *resource_remove(struct resource *r, struct str key)
{
	struct object *old = resource_find(r, key);
	struct resource_space *s;

	if (!old)
		return NULL;
	s = space_of(r, old);
	drop_lists(r, s);
	if (r->index)
		resource_index_remove(r->index, key);
	resource_blocks_remove(&r->objects, old);
	count_removed(r, s);
	return old;
}

void resource_forget_lists(struct resource *r)
{
	drop_lists(r, NULL);
	spaces_clear(r);
}

void resource_swap(struct resource *r)
{
	struct resource_place at = { 0 };
	const struct object *o;

	resource_forget_lists(r);
	resource_blocks_clear(&r->objects);
	r->objects = r->loading;
	resource_blocks_init(&r->loading);
	if (r->index)
		resource_index_reset(r->index, &r->objects);
	while ((o = resource_blocks_next(&r->objects, &at)))
		count_added(r, o);
}

void resource_clear(struct resource *r)
{
	resource_forget_lists(r);
	resource_blocks_clear(&r->objects);
	if (r->index)
		resource_index_reset(r->index, &r->objects);
}

struct object *resource_get(const struct resource *r, struct str ns, struct str name)
{
	char buffer[KEY_MAX] UNZEROED;
	struct str key = key_in(buffer, ns, name);

	return key.n ? resource_find(r, key) : NULL;
}

struct object *resource_look(const struct resource *r, size_t lane, struct str ns, struct str name)
{
	char buffer[KEY_MAX] UNZEROED;
	struct str key = key_in(buffer, ns, name);
	struct object *o;

	if (!key.n)
		return NULL;
	if (!r->index) {
		o = resource_find(r, key);
		return o ? object_ref(o) : NULL;
	}
	reclaim_enter(r->state->reclaim, lane);
	o = resource_index_find(r->index, key);
	if (o)
		(void)object_ref(o);
	reclaim_leave(r->state->reclaim, lane);
	return o;
}

size_t resource_count(const struct resource *r)
{
	return r->objects.count;
}

struct object *resource_tip(const struct resource *r, struct str ns, struct str name)
{
	char buffer[KEY_MAX] UNZEROED;
	struct str key = key_in(buffer, ns, name);
	struct state_write *w;

	if (!key.n)
		return NULL;
	w = r->tips.n ? map_get(&r->tips, key) : NULL;
	return w ? w->pending : resource_find(r, key);
}

struct state_write *resource_pending(const struct resource *r, struct str ns, struct str name)
{
	char buffer[KEY_MAX] UNZEROED;
	struct str key = r->tips.n ? key_in(buffer, ns, name) : STR_NULL;

	return key.n ? map_get(&r->tips, key) : NULL;
}

/*
 * On any thread for compiled-in kinds: their table does not change after state_new(), and neither
 * does the kind of their resources. Custom kinds, which have place 0, are found by name.
 */
struct resource *state_resource(struct state *st, const struct schema_kind *kind)
{
	struct resource *r = kind->place < st->nplaces ? st->by_place[kind->place] : NULL;

	return r && r->kind == kind->storage ? r : map_get(&st->by_name, kind->storage_name);
}

bool resource_filter_matches(const struct resource_filter *f, const struct object *o)
{
	struct object_source source = { o, f->kind };

	if (f->ns.n && !str_eq(f->ns, object_ns(o)))
		return false;
	return (f->fields.n == 0 || selector_matches(&f->fields, object_field, &source)) &&
	       (f->labels.n == 0 || selector_matches(&f->labels, object_label, &source));
}
