/*
 * Lists of committed. The complete one, of all or of one namespace, is kept until
 * something changes and shared by whoever asks meanwhile, pages included; one
 * object by its name is looked up; everything else walks.
 */
#include "server/resource_walk.h"

static struct resource_snapshot *complete(const struct resource *r, struct str prefix, size_t n)
{
	struct resource_snapshot *s = resource_snapshot_new(n);
	struct resource_walk w;
	struct object *o;

	resource_walk_init(&w, &r->objects, NULL, prefix, STR_NULL);
	while ((o = resource_walk_next(&w)))
		resource_snapshot_add(&s, o);
	return s;
}

/* The complete list of a namespace, or of all; a new reference. */
static struct resource_snapshot *list_all(struct resource *r, struct str ns)
{
	struct resource_snapshot **kept = &r->all;
	struct str prefix = STR_NULL;
	size_t n = r->objects.n;

	if (ns.n) {
		char key[256];
		struct resource_space *space = NULL;

		if (ns.n < sizeof(key)) {
			memcpy(key, ns.p, ns.n);
			key[ns.n] = '/';
			space = omap_get(&r->spaces, str_of(key, ns.n + 1));
		}
		if (!space)
			return resource_snapshot_new(0);
		kept = &space->all;
		prefix = space->key;
		n = space->count;
	}
	if (!*kept)
		*kept = complete(r, prefix, n);
	return resource_snapshot_ref(*kept);
}

/* All objects of that name: one in each namespace at most. */
static struct resource_snapshot *list_named(struct resource *r, const struct resource_filter *f,
					    struct str name)
{
	struct resource_snapshot *s = resource_snapshot_new(1);
	struct omap_cursor c;
	struct object *o;

	if (f->ns.n || !(r->kind->flags & SCHEMA_NAMESPACED)) {
		o = resource_get(r, f->ns, name);
		if (o && resource_filter_matches(f, o))
			resource_snapshot_add(&s, o);
		return s;
	}
	for (bool ok = omap_first(&r->spaces, &c); ok; ok = omap_next(&c)) {
		struct str space = omap_key(&c);

		o = resource_get(r, str_of(space.p, space.n - 1), name);
		if (o && resource_filter_matches(f, o))
			resource_snapshot_add(&s, o);
	}
	return s;
}

/* What to look up, when the selector names one object; p NULL otherwise. */
static struct str name_of(const struct resource_filter *f)
{
	return f->fields.n ? selector_required_value(&f->fields, STR("metadata.name")) : STR_NULL;
}

struct resource_snapshot *resource_select(struct resource *r, const struct resource_filter *f)
{
	struct resource_snapshot *s;
	struct str name = name_of(f);
	struct omap_cursor c;

	if (!f->labels.n && !f->fields.n)
		return list_all(r, f->ns);
	if (name.p)
		return list_named(r, f, name);
	s = resource_snapshot_new(16);
	for (bool ok = omap_seek(&r->objects, &c, f->ns); ok; ok = omap_next(&c)) {
		if (f->ns.n && !str_starts(omap_key(&c), f->ns))
			break;
		if (resource_filter_matches(f, omap_value(&c)))
			resource_snapshot_add(&s, omap_value(&c));
	}
	return s;
}

void resource_list_cut(const struct resource_snapshot *s, const struct list_query *q,
		       struct arena *a, struct list_result *ret_list)
{
	size_t at = resource_snapshot_after(s, q->after), rest = s->n - at;
	size_t n = q->limit ? MIN(q->limit, rest) : rest;

	*ret_list = (struct list_result){ .items = (struct object **)s->items + at,
					  .n = n,
					  .more = n < rest,
					  .remaining = (int64_t)(rest - n) };
	if (q->labels.n || q->fields.n)
		ret_list->remaining = -1;
	if (ret_list->more)
		ret_list->last = arena_str(a, ret_list->items[n - 1]->key);
}

/*
 * Whether all that matches is worth having for this page: always when the limit cuts nothing, and
 * behind the first page of everything, because the next ones want it, too.
 */
static bool wants_all(const struct resource *r, const struct list_query *q,
		      const struct resource_filter *f)
{
	if (!q->limit || q->limit >= r->objects.n || name_of(f).p)
		return true;
	return q->after.n && !f->labels.n && !f->fields.n;
}

void resource_list_present(struct resource *r, const struct list_query *q, struct arena *a,
			   struct list_result *ret_list)
{
	struct resource_filter f = resource_filter_of(r, q);
	struct resource_snapshot *s;

	if (!wants_all(r, q, &f)) {
		resource_walk_list(r, NULL, q, a, ret_list);
		return;
	}
	s = resource_select(r, &f);
	resource_snapshot_hold(a, s);
	resource_list_cut(s, q, a, ret_list);
}

void resource_list(struct resource *r, const struct list_query *q, struct arena *a,
		   void (*done)(void *arg, const struct list_result *result,
				const struct error *err),
		   void *arg)
{
	struct list_result list;

	if (q->revision && q->revision != r->state->revision) {
		resource_list_past(r, q, a, done, arg);
		return;
	}
	resource_list_present(r, q, a, &list);
	list.revision = r->state->revision;
	done(arg, &list, NULL);
}
