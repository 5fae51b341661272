/*
 * An index is an ordered map whose keys are VALUE NUL KEY, so all objects with a value form a
 * range in the order of their keys. Rows own their key text. The values of an object are not
 * stored: the index function computes them again.
 */
#include "client/informer/cache.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "client/client_limits.h"

struct cache_row {
	struct cached *object; /* the cache's reference */
	size_t n;
	char text[]; /* VALUE NUL KEY */
};

struct cache_table {
	struct cache_index index;
	struct omap rows; /* row text to row */
};

struct cache_values {
	struct arena *arena;
	VEC(struct str) list;
};

void cache_values_add(struct cache_values *v, struct str value)
{
	(void)vec_push(&v->list, arena_str(v->arena, value));
}

void cache_index_owner_uid(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct json_cursor s = json_cursor_of(o->json);
	enum json_cursor_type type;
	struct str raw;

	if (!json_cursor_find(&s, STR("metadata")) ||
	    !json_cursor_find(&s, STR("ownerReferences")) || !json_cursor_enter(&s, '['))
		return;
	while (json_cursor_element(&s)) {
		struct json_cursor owner = s;

		if (json_cursor_find(&owner, STR("uid")) &&
		    json_cursor_value(&owner, &raw, &type)) {
			raw = json_cursor_text(raw, type, a);
			if (raw.n)
				cache_values_add(v, raw);
		}
		if (!json_cursor_value(&s, &raw, &type))
			return;
	}
}

/* --- rows ---------------------------------------------------------------------------- */

static void index_values(struct cache *c, const struct cache_table *t, const struct cached *o,
			 struct cache_values *v)
{
	struct str value;

	v->arena = &c->scratch;
	vec_init(&v->list, CACHE_INDEX_VALUES_MAX);
	if (t->index.fn) {
		t->index.fn(o, &c->scratch, v);
		return;
	}
	value = cached_field(o, t->index.path, &c->scratch);
	if (value.n)
		cache_values_add(v, value);
}

static struct str row_key(struct arena *a, struct str value, struct str key)
{
	char *text = arena_alloc(a, value.n + 1 + key.n);

	str_put(text, value);
	text[value.n] = '\0';
	str_put(text + value.n + 1, key);
	return str_of(text, value.n + 1 + key.n);
}

/* A value that an object has twice makes one row. */
static void cache_add_row(struct cache_table *t, struct str text, struct cached *o)
{
	struct cache_row *row = omap_get(&t->rows, text);

	if (row) {
		row->object = o;
		return;
	}
	row = xmalloc(sizeof(*row) + text.n);
	row->object = o;
	row->n = text.n;
	str_put(row->text, text);
	(void)omap_put(&t->rows, str_of(row->text, row->n), row);
}

static void table_add(struct cache *c, struct cache_table *t, struct cached *o)
{
	struct cache_values v;

	index_values(c, t, o, &v);
	for (size_t i = 0; i < v.list.n; i++)
		cache_add_row(t, row_key(&c->scratch, v.list.v[i], o->key), o);
	vec_release(&v.list);
	arena_clear(&c->scratch);
}

/* Keeps rows that belong to another object meanwhile. */
static void table_remove(struct cache *c, struct cache_table *t, const struct cached *o)
{
	struct cache_values v;

	index_values(c, t, o, &v);
	for (size_t i = 0; i < v.list.n; i++) {
		struct str text = row_key(&c->scratch, v.list.v[i], o->key);
		struct cache_row *row = omap_get(&t->rows, text);

		if (row && row->object == o)
			free(omap_remove(&t->rows, text));
	}
	vec_release(&v.list);
	arena_clear(&c->scratch);
}

static void free_rows(struct cache_table *t)
{
	struct omap_cursor at;

	for (bool ok = omap_first(&t->rows, &at); ok; ok = omap_next(&at))
		free(omap_value(&at));
	omap_release(&t->rows);
}

static struct cache_table *find_table(const struct cache *c, const char *name)
{
	for (size_t i = 0; i < c->tables.n; i++)
		if (strcmp(c->tables.v[i]->index.name, name) == 0)
			return c->tables.v[i];
	return NULL;
}

/* --- objects -------------------------------------------------------------------------- */

void cache_init(struct cache *c)
{
	*c = (struct cache){ 0 };
	omap_init(&c->objects);
	vec_init(&c->tables, CACHE_INDEXES_MAX);
	arena_init(&c->scratch, OBJECT_MAX);
}

void cache_release(struct cache *c)
{
	struct omap_cursor at;

	for (size_t i = 0; i < c->tables.n; i++) {
		free_rows(c->tables.v[i]);
		free(c->tables.v[i]);
	}
	vec_release(&c->tables);
	for (bool ok = omap_first(&c->objects, &at); ok; ok = omap_next(&at))
		cached_unref(omap_value(&at));
	omap_release(&c->objects);
	arena_release(&c->scratch);
}

void cache_add_index(struct cache *c, const struct cache_index *index)
{
	struct cache_table *t = XNEW(struct cache_table);
	struct omap_cursor at;

	t->index = *index;
	omap_init(&t->rows);
	if (!vec_push(&c->tables, t))
		abort(); /* more indexes than our code ever makes */
	for (bool ok = omap_first(&c->objects, &at); ok; ok = omap_next(&at))
		table_add(c, t, omap_value(&at));
}

bool cache_has_index(const struct cache *c, const char *name)
{
	return find_table(c, name) != NULL;
}

struct cached *cache_get(const struct cache *c, struct str key)
{
	return omap_get(&c->objects, key);
}

struct cached *cache_get_in(const struct cache *c, struct str ns, struct str name)
{
	char text[512];

	if (!ns.n)
		return cache_get(c, name);
	/* Longer than any valid name. A NUL in a name must not end the key. */
	if (ns.n >= sizeof(text) || name.n >= sizeof(text) - ns.n)
		return NULL;
	str_put(text, ns);
	text[ns.n] = '/';
	str_put(text + ns.n + 1, name);
	return cache_get(c, str_of(text, ns.n + 1 + name.n));
}

size_t cache_count(const struct cache *c)
{
	return c->objects.n;
}

struct cached *cache_put(struct cache *c, struct cached *o)
{
	struct cached *old = omap_put(&c->objects, o->key, o);

	c->changes++;
	c->bytes += o->json.n - (old ? old->json.n : 0);
	for (size_t i = 0; i < c->tables.n; i++) {
		/* Add first: a value that did not change keeps its row. */
		table_add(c, c->tables.v[i], o);
		if (old)
			table_remove(c, c->tables.v[i], old);
	}
	return old;
}

struct cached *cache_remove(struct cache *c, struct str key)
{
	struct cached *old = omap_remove(&c->objects, key);

	if (!old)
		return NULL;
	c->changes++;
	c->bytes -= old->json.n;
	for (size_t i = 0; i < c->tables.n; i++)
		table_remove(c, c->tables.v[i], old);
	return old;
}

/* --- walks ----------------------------------------------------------------------------- */

void cache_walk_end(struct cache_walk *w)
{
	cached_unref(TAKE(w->last));
	w->over = true;
}

/* Whether the cursor is where the last step left it. */
static bool walk_is_fresh(const struct cache *c, const struct cache_walk *w)
{
	return w->last && w->changes == c->changes;
}

/* Remembers the position of the walk; NULL: the end. */
static struct cached *walk_at(const struct cache *c, struct cache_walk *w, struct cached *o)
{
	if (!o) {
		cache_walk_end(w);
		return NULL;
	}
	cached_unref(w->last);
	w->last = cached_ref(o);
	w->changes = c->changes;
	return o;
}

static bool seek_object(const struct cache *c, struct cache_walk *w, struct str first)
{
	if (walk_is_fresh(c, w))
		return omap_next(&w->at);
	return w->last ? omap_seek_after(&c->objects, &w->at, w->last->key)
		       : omap_seek(&c->objects, &w->at, first);
}

struct cached *cache_next(const struct cache *c, struct cache_walk *w)
{
	if (w->over)
		return NULL;
	return walk_at(c, w, seek_object(c, w, STR("")) ? omap_value(&w->at) : NULL);
}

struct cached *cache_next_in(const struct cache *c, struct str ns, struct cache_walk *w)
{
	char prefix[256];
	int n;
	bool ok;

	if (!ns.n || w->over)
		return cache_next(c, w);
	n = snprintf(prefix, sizeof(prefix), "%.*s/", STR_ARG(ns));
	if (n >= (int)sizeof(prefix)) /* longer than any valid namespace */
		return walk_at(c, w, NULL);
	ok = seek_object(c, w, str_of(prefix, (size_t)n)) &&
	     str_starts(omap_key(&w->at), str_of(prefix, (size_t)n));
	return walk_at(c, w, ok ? omap_value(&w->at) : NULL);
}

static bool cache_has_value(struct str row, struct str value)
{
	return row.n > value.n && row.p[value.n] == '\0' && str_starts(row, value);
}

static bool seek_row(const struct cache *c, const struct cache_table *t, struct str value,
		     struct cache_walk *w)
{
	CLEANUP(arena_release) struct arena a;
	struct str from;
	char room[512] UNZEROED;

	arena_init_in(&a, MIB, room, sizeof(room));
	if (walk_is_fresh(c, w))
		return omap_next(&w->at);
	from = row_key(&a, value, w->last ? w->last->key : STR_NULL);
	return w->last ? omap_seek_after(&t->rows, &w->at, from)
		       : omap_seek(&t->rows, &w->at, from);
}

struct cached *cache_next_by(const struct cache *c, const char *index, struct str value,
			     struct cache_walk *w)
{
	const struct cache_table *t = find_table(c, index);

	if (w->over || !t)
		return NULL;
	if (!seek_row(c, t, value, w) || !cache_has_value(omap_key(&w->at), value))
		return walk_at(c, w, NULL);
	return walk_at(c, w, ((struct cache_row *)omap_value(&w->at))->object);
}
