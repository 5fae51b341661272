/*
 * Lists of committed objects. Without a selector, objects are taken in blocks. The complete list,
 * of everything or of one namespace, is cached until something changes, and shared by all readers
 * meanwhile. A selector for one name looks that object up. Other selectors scan the complete
 * list; if the caller can wait, a limited number of objects per turn.
 */
#include "api/crd/crd.h"
#include "server/engine/resource_walk.h"

enum {
	LOOK_STEP = 512, /* objects scanned per turn */
	/* Up to this many matches are held one by one, more through the list that they are from. */
	FOUND_FEW = 1024,
};

/* --- without selectors ------------------------------------------------------------ */

/* The range of a namespace, or of everything: its start, and its number of objects. */
struct range {
	struct resource_place from;
	size_t n;
	struct resource_snapshot **kept; /* where its complete list is cached; NULL: no objects */
};

static struct range range_of(struct resource *r, struct str ns)
{
	struct resource_space *space = NULL;
	char key[256];

	if (!ns.n)
		return (struct range){ .n = r->objects.count, .kept = &r->all };
	if (ns.n < sizeof(key)) {
		str_put(key, ns);
		key[ns.n] = '/';
		space = omap_get(&r->spaces, str_of(key, ns.n + 1));
	}
	if (!space)
		return (struct range){ 0 };
	return (struct range){ .from = resource_blocks_seek(&r->objects, space->key, false),
			       .n = space->count,
			       .kept = &space->all };
}

/* The complete list; a new reference. */
static struct resource_snapshot *list_all(struct resource *r, struct str ns)
{
	struct range range = range_of(r, ns);

	if (!range.kept)
		return resource_snapshot_new(0, 0);
	if (!*range.kept)
		*range.kept = resource_blocks_take(&r->objects, range.from, range.n);
	return resource_snapshot_ref(*range.kept);
}

/* A page of the list, which is not cached: takes only the requested number of objects. */
static void list_page(struct resource *r, const struct list_query *q, struct arena *a,
		      struct list_result *ret_list)
{
	struct range range = range_of(r, q->ns);
	struct resource_snapshot *s;
	size_t before, rest, n;

	if (q->after.n) {
		struct resource_place at = resource_blocks_seek(&r->objects, q->after, true);

		before = MIN(resource_blocks_between(&r->objects, range.from, at), range.n);
		range.from = before ? at : range.from;
		range.n -= before;
	}
	rest = range.n;
	n = q->limit ? MIN(q->limit, rest) : rest;
	s = resource_blocks_take(&r->objects, range.from, n);
	resource_snapshot_hold(a, s);
	*ret_list = (struct list_result){ .items = s->items,
					  .n = n,
					  .bytes = s->bytes,
					  .more = n < rest,
					  .remaining = (int64_t)(rest - n) };
	if (ret_list->more)
		ret_list->last = arena_str(a, s->items[n - 1]->key);
}

/* --- by name ---------------------------------------------------------------------- */

/* All objects of that name: at most one per namespace. */
static struct resource_snapshot *list_named(struct resource *r, const struct resource_filter *f,
					    struct str name)
{
	struct resource_snapshot *s = resource_snapshot_new(1, 0);
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

/* The name if the selector requires a particular one; else p NULL. */
static struct str resource_list_name_of(const struct resource_filter *f)
{
	return f->fields.n ? selector_required_value(&f->fields, STR("metadata.name")) : STR_NULL;
}

/* --- by other selectors ----------------------------------------------------------- */

/* Scans a complete list for matches. */
struct look {
	struct resource_filter filter;
	struct resource_snapshot *all; /* a reference */
	size_t at; /* next index in `all` */
	size_t limit; /* of matches; 0: no limit */
	struct resource_snapshot *found;
};

static void look_init(struct look *l, struct resource *r, const struct resource_filter *f)
{
	*l = (struct look){ .filter = *f,
			    .all = list_all(r, f->ns),
			    .found = resource_snapshot_new(16, 0) };
}

/*
 * A few matches are held one by one, so that they do not keep the whole list alive. Many matches
 * hold the list instead, because releasing them one by one is slow.
 */
static void look_found(struct look *l, struct object *o)
{
	if (l->found->n == FOUND_FEW && !l->found->base)
		resource_snapshot_lean(l->found, l->all);
	resource_snapshot_add(&l->found, o);
}

/* Scans up to n objects; returns true at the end of the list. */
static bool look_some(struct look *l, size_t n)
{
	const struct resource_snapshot *all = l->all;
	size_t end = l->at + MIN(n, all->n - l->at);

	while (l->at < end && !(l->limit && l->found->n == l->limit)) {
		resource_fetch_ahead(all->items, all->n, l->at);
		if (resource_filter_matches(&l->filter, all->items[l->at]))
			look_found(l, all->items[l->at]);
		l->at++;
	}
	return l->at < end || l->at == all->n;
}

/* A scan for a list request, in the request's arena. */
struct search {
	struct look look;
	struct state *state;
	struct crd *custom; /* definition of the filter's kind; or NULL */
	int64_t revision;
	struct arena *arena;
	void (*done)(void *arg, const struct list_result *result, const struct error *err);
	void *arg;
	struct loop_task task;
};

static void search_end(struct search *s)
{
	struct resource_snapshot *found = s->look.found;
	struct list_result list = { .items = found->items,
				    .n = found->n,
				    .bytes = found->bytes,
				    .revision = s->revision,
				    .more = s->look.at < s->look.all->n,
				    .remaining = -1 };

	if (list.more)
		list.last = arena_str(s->arena, found->items[found->n - 1]->key);
	resource_snapshot_hold(s->arena, found);
	resource_snapshot_unref(s->look.all);
	crd_unref(s->custom);
	s->done(s->arg, &list, NULL);
}

static void search_step(struct loop_task *t)
{
	struct search *s = CONTAINER_OF(t, struct search, task);
	struct state *st = s->state;

	if (!look_some(&s->look, LOOK_STEP)) {
		loop_defer_large(st->loop, &s->task);
		return;
	}
	search_end(s); /* may free its arena too */
	st->looking--;
	state_stop_step(st);
}

static struct search *search_new(struct resource *r, const struct list_query *q, int64_t revision,
				 struct arena *a)
{
	struct resource_filter f = resource_filter_of(r, q);
	struct search *s = ARENA_NEW(a, struct search);

	look_init(&s->look, r, &f);
	s->look.at = resource_snapshot_after(s->look.all, q->after);
	s->look.limit = q->limit;
	s->state = r->state;
	s->custom = r->custom ? crd_ref(r->custom) : NULL;
	s->revision = revision;
	s->arena = a;
	loop_task_init(&s->task, search_step);
	return s;
}

/* --- all of them ------------------------------------------------------------------ */

struct resource_snapshot *resource_select(struct resource *r, const struct resource_filter *f)
{
	struct str name = resource_list_name_of(f);
	struct look l;

	if (!f->labels.n && !f->fields.n)
		return list_all(r, f->ns);
	if (name.p)
		return list_named(r, f, name);
	look_init(&l, r, f);
	(void)look_some(&l, SIZE_MAX);
	resource_snapshot_unref(l.all);
	return l.found;
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
	if (n == s->n)
		ret_list->bytes = s->bytes;
	for (size_t i = 0; i < n && n < s->n; i++)
		ret_list->bytes += object_item_size(ret_list->items[i]);
}

/* Lists without a scan; returns false if a scan is needed. */
static bool list_at_once(struct resource *r, const struct list_query *q, struct arena *a,
			 struct list_result *ret_list)
{
	struct resource_filter f = resource_filter_of(r, q);
	bool all = !f.labels.n && !f.fields.n;
	struct resource_snapshot *s;

	if (!all && !resource_list_name_of(&f).p)
		return false;
	if (all && (q->limit || q->after.n)) {
		list_page(r, q, a, ret_list);
		return true;
	}
	s = resource_select(r, &f);
	resource_snapshot_hold(a, s);
	resource_list_cut(s, q, a, ret_list);
	return true;
}

void resource_list_present(struct resource *r, const struct list_query *q, int64_t revision,
			   struct arena *a,
			   void (*done)(void *arg, const struct list_result *result,
					const struct error *err),
			   void *arg)
{
	struct list_result list;
	struct search *s;

	if (list_at_once(r, q, a, &list)) {
		list.revision = revision;
		done(arg, &list, NULL);
		return;
	}
	s = search_new(r, q, revision, a);
	s->done = done;
	s->arg = arg;
	/* A stopping state begins nothing that it would have to wait for. */
	if (q->in_turns && !r->state->stopping) {
		r->state->looking++;
		search_step(&s->task);
		return;
	}
	(void)look_some(&s->look, SIZE_MAX);
	search_end(s);
}

void resource_list(struct resource *r, const struct list_query *q, struct arena *a,
		   void (*done)(void *arg, const struct list_result *result,
				const struct error *err),
		   void *arg)
{
	int64_t now = r->state->revision;

	if (q->revision && q->revision != now)
		resource_list_past(r, q, a, done, arg);
	else
		resource_list_present(r, q, now, a, done, arg);
}
