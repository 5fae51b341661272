/*
 * One map for all sorts of places: a key is a letter for the sort, the number of the
 * field where there are several, and the value.
 */
#include "server/watch_index.h"

#include <stdlib.h>

#include "base/mem.h"
#include "server/state_impl.h"

enum { KEY_MAX = 600 };

struct watch_bucket {
	struct list watches;
	enum watch_place place;
	struct str key; /* behind the struct */
};

struct place_key {
	enum watch_place place;
	size_t n;
	char p[KEY_MAX];
};

/* False when the value is too long to be an index. */
static bool key_make(struct place_key *k, enum watch_place place, size_t field, struct str value)
{
	if (value.n + 2 > sizeof(k->p))
		return false;
	k->place = place;
	k->p[0] = (char)('0' + place);
	k->p[1] = (char)field;
	if (value.n)
		memcpy(k->p + 2, value.p, value.n);
	k->n = value.n + 2;
	return true;
}

void watch_index_init(struct watch_index *x)
{
	*x = (struct watch_index){ 0 };
	map_init(&x->buckets);
	list_init(&x->any);
}

void watch_index_release(struct watch_index *x)
{
	map_release(&x->buckets);
}

/* --- where a watch stands --------------------------------------------------------- */

static bool key_of_name(const struct resource_filter *f, struct place_key *ret_key)
{
	struct str name = f->fields.n ? selector_required_value(&f->fields, STR("metadata.name"))
				      : STR_NULL;
	char key[KEY_MAX];
	size_t n = f->ns.n ? f->ns.n + 1 : 0;

	if (!name.n || n + name.n > sizeof(key) ||
	    (!f->ns.n && (f->kind->flags & SCHEMA_NAMESPACED)))
		return false;
	if (f->ns.n) {
		memcpy(key, f->ns.p, f->ns.n);
		key[f->ns.n] = '/';
	}
	memcpy(key + n, name.p, name.n);
	return key_make(ret_key, WATCH_PLACE_OBJECT, 0, str_of(key, n + name.n));
}

static bool key_of_field(const struct resource_filter *f, struct place_key *ret_key)
{
	for (size_t i = 0; i < f->kind->nselectables && f->fields.n; i++) {
		struct str value = STR_NULL;

		if (f->kind->selectables[i].indexed)
			value = selector_required_value(&f->fields, f->kind->selectables[i].path);
		if (value.p && key_make(ret_key, WATCH_PLACE_FIELD, i, value))
			return true;
	}
	return false;
}

static bool key_of(const struct resource_filter *f, bool whole, struct place_key *ret_key)
{
	return key_of_name(f, ret_key) || key_of_field(f, ret_key) ||
	       (f->ns.n &&
		key_make(ret_key, whole ? WATCH_PLACE_WHOLE : WATCH_PLACE_SPACE, 0, f->ns));
}

static struct watch_bucket *bucket_get(struct watch_index *x, const struct place_key *k)
{
	struct watch_bucket *b = map_get(&x->buckets, str_of(k->p, k->n));

	if (b)
		return b;
	b = xmalloc(sizeof(*b) + k->n);
	list_init(&b->watches);
	b->place = k->place;
	memcpy(b + 1, k->p, k->n);
	b->key = str_of(b + 1, k->n);
	(void)map_put(&x->buckets, b->key, b);
	return b;
}

void watch_index_add(struct watch_index *x, struct watch_spot *spot,
		     const struct resource_filter *filter, bool whole)
{
	struct place_key key;

	spot->bucket = NULL;
	if (!key_of(filter, whole, &key)) {
		list_push_back(&x->any, &spot->link);
		return;
	}
	spot->bucket = bucket_get(x, &key);
	list_push_back(&spot->bucket->watches, &spot->link);
	x->counts[spot->bucket->place]++;
}

void watch_index_remove(struct watch_index *x, struct watch_spot *spot)
{
	struct watch_bucket *b = spot->bucket;

	list_remove(&spot->link);
	spot->bucket = NULL;
	if (!b)
		return;
	x->counts[b->place]--;
	if (!list_empty(&b->watches))
		return;
	(void)map_remove(&x->buckets, b->key);
	free(b);
}

/* --- what an event concerns ------------------------------------------------------- */

struct visit {
	struct watch_index *index;
	const struct schema_kind *kind;
	void (*fn)(struct watch_spot *spot, void *arg);
	void *arg;
};

/* The last watch of a bucket may take it along: the end is known before the call. */
static void visit_list(struct visit *v, struct list *head)
{
	for (struct list *it = head->next, *next; it != head; it = next) {
		bool last = it->next == head;

		next = it->next;
		v->fn(LIST_ENTRY(it, struct watch_spot, link), v->arg);
		if (last)
			return;
	}
}

static void visit_bucket(struct visit *v, enum watch_place place, size_t field, struct str value)
{
	struct watch_bucket *b;
	struct place_key key;

	if (!v->index->counts[place] || !key_make(&key, place, field, value))
		return;
	b = map_get(&v->index->buckets, str_of(key.p, key.n));
	if (b)
		visit_list(v, &b->watches);
}

static void visit_field(struct visit *v, size_t i, const struct ring_event *e)
{
	struct str now = object_field_at(e->object, v->kind, i);
	struct str before = e->prev ? object_field_at(e->prev, v->kind, i) : now;

	visit_bucket(v, WATCH_PLACE_FIELD, i, now);
	if (!str_eq(now, before))
		visit_bucket(v, WATCH_PLACE_FIELD, i, before);
}

void watch_index_visit_whole(struct watch_index *x, struct str ns,
			     void (*fn)(struct watch_spot *spot, void *arg), void *arg)
{
	struct visit v = { .index = x, .fn = fn, .arg = arg };

	visit_bucket(&v, WATCH_PLACE_WHOLE, 0, ns);
}

void watch_index_visit(struct watch_index *x, const struct schema_kind *kind,
		       const struct ring_event *e, void (*fn)(struct watch_spot *spot, void *arg),
		       void *arg)
{
	struct visit v = { x, kind, fn, arg };

	visit_bucket(&v, WATCH_PLACE_OBJECT, 0, e->object->key);
	visit_bucket(&v, WATCH_PLACE_SPACE, 0, object_ns(e->object));
	for (size_t i = 0; i < kind->nselectables && x->counts[WATCH_PLACE_FIELD]; i++)
		if (kind->selectables[i].indexed)
			visit_field(&v, i, e);
	visit_list(&v, &x->any);
}
