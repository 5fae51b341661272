/*
 * One map holds all kinds of places. Its key is a letter for the kind of place, the number of the
 * field for WATCH_PLACE_FIELD, and the value. A second map finds the group of a filter by the
 * filter's text.
 */
#include "server/engine/watch_index.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "server/engine/sequencer.h"

enum { KEY_MAX = 600 };

/* Filters come from a request's target; each term needs a few more bytes here. */
#define FILTER_TEXT_MAX (1UL * MIB)

struct watch_bucket {
	struct list groups;
	enum watch_place place;
	size_t field; /* for WATCH_PLACE_FIELD; for labels the slot */
	struct str key; /* stored after the struct */
};

/* Watches with the same filter. */
struct watch_group {
	struct list link; /* in its bucket */
	struct list watches; /* never empty */
	struct watch_bucket *bucket;
	struct str key; /* text of the filter; stored after the struct */
};

struct place_key {
	enum watch_place place;
	size_t field;
	size_t n;
	bool cut; /* the value is too long for an index key */
	char p[KEY_MAX];
};

static void key_begin(struct place_key *k, enum watch_place place, size_t field)
{
	k->place = place;
	k->field = field;
	k->p[0] = (char)('0' + place);
	k->p[1] = (char)field;
	k->n = 2;
	k->cut = false;
}

static void key_add(struct place_key *k, struct str s)
{
	k->cut |= s.n > sizeof(k->p) - k->n;
	if (k->cut || !s.n)
		return;
	memcpy(k->p + k->n, s.p, s.n);
	k->n += s.n;
}

static size_t slot_of(struct str key)
{
	unsigned sum = (unsigned)key.n;

	if (key.n)
		sum = sum * 7 + (unsigned char)key.p[0] * 3 + (unsigned char)key.p[key.n - 1];
	return sum & (WATCH_INDEX_SLOTS - 1);
}

/*
 * The key for a label, or if value.p is NULL for its key alone; in one namespace unless `ns` is
 * empty.
 */
static void key_label(struct place_key *k, struct str ns, struct str key, struct str value)
{
	enum watch_place all = value.p ? WATCH_PLACE_LABEL : WATCH_PLACE_KEY;
	enum watch_place one = value.p ? WATCH_PLACE_SPACE_LABEL : WATCH_PLACE_SPACE_KEY;

	key_begin(k, ns.n ? one : all, slot_of(key));
	if (ns.n) {
		key_add(k, ns);
		key_add(k, STR("/"));
	}
	key_add(k, key);
	if (value.p) {
		key_add(k, STR("="));
		key_add(k, value);
	}
}

void watch_index_init(struct watch_index *x)
{
	*x = (struct watch_index){ 0 };
	map_init(&x->buckets);
	map_init(&x->groups);
}

void watch_index_release(struct watch_index *x)
{
	map_release(&x->buckets);
	map_release(&x->groups);
}

/* --- the place of a watch --------------------------------------------------------- */

static bool key_of_name(const struct resource_filter *f, struct place_key *k)
{
	struct str name = selector_required_value(&f->fields, STR("metadata.name"));
	bool every = !f->ns.n && (f->kind->flags & SCHEMA_NAMESPACED);

	if (!name.n)
		return false;
	key_begin(k, every ? WATCH_PLACE_NAME : WATCH_PLACE_OBJECT, 0);
	if (f->ns.n) {
		key_add(k, f->ns);
		key_add(k, STR("/"));
	}
	key_add(k, name);
	return !k->cut;
}

static bool key_of_field(const struct resource_filter *f, struct place_key *k)
{
	size_t n = f->fields.n ? MIN(f->kind->nselectables, (size_t)WATCH_INDEX_FIELDS) : 0;

	for (size_t i = 0; i < n; i++) {
		struct str value = selector_required_value(&f->fields,
							   f->kind->selectables[i].path);

		if (!value.p)
			continue;
		key_begin(k, WATCH_PLACE_FIELD, i);
		key_add(k, value);
		if (!k->cut)
			return true;
	}
	return false;
}

static bool requires_key(const struct selector_term *t)
{
	return t->op == SELECTOR_IN || t->op == SELECTOR_EQUALS || t->op == SELECTOR_EXISTS ||
	       t->op == SELECTOR_GREATER || t->op == SELECTOR_LESS;
}

/* By a label's value if the filter requires one, else by a label's key. */
static bool key_of_label(const struct resource_filter *f, struct place_key *k)
{
	const struct selector_term *best = NULL;
	bool value = false;

	for (size_t i = 0; i < f->labels.n && !value; i++) {
		const struct selector_term *t = &f->labels.terms[i];

		value = (t->op == SELECTOR_EQUALS || t->op == SELECTOR_IN) && t->nvalues == 1;
		if (value || (!best && requires_key(t)))
			best = t;
	}
	if (!best)
		return false;
	key_label(k, f->ns, best->key, value ? best->values[0] : STR_NULL);
	return !k->cut;
}

static void watch_index_key_of(const struct resource_filter *f, bool whole, struct place_key *k)
{
	if (key_of_name(f, k) || key_of_field(f, k) || key_of_label(f, k))
		return;
	if (f->ns.n) {
		key_begin(k, whole ? WATCH_PLACE_WHOLE : WATCH_PLACE_SPACE, 0);
		key_add(k, f->ns);
		if (!k->cut)
			return;
	}
	key_begin(k, WATCH_PLACE_ANY, 0);
}

static struct watch_bucket *bucket_get(struct watch_index *x, const struct place_key *k)
{
	struct watch_bucket *b = map_get(&x->buckets, str_of(k->p, k->n));

	if (b)
		return b;
	b = xmalloc(sizeof(*b) + k->n);
	list_init(&b->groups);
	b->place = k->place;
	b->field = k->field;
	memcpy(b + 1, k->p, k->n);
	b->key = str_of(b + 1, k->n);
	(void)map_put(&x->buckets, b->key, b);
	if (k->place == WATCH_PLACE_ANY)
		x->any = b;
	return b;
}

/* --- groups ----------------------------------------------------------------------- */

static void text_add(struct buf *b, struct str s)
{
	uint32_t n = (uint32_t)s.n;

	(void)buf_add(b, (const char *)&n, sizeof(n));
	(void)buf_add_str(b, s);
}

static void text_selector(struct buf *b, const struct selector *s)
{
	uint32_t n = (uint32_t)s->n;

	(void)buf_add(b, (const char *)&n, sizeof(n));
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = &s->terms[i];

		(void)buf_addc(b, (char)t->op);
		text_add(b, t->key);
		n = (uint32_t)t->nvalues;
		(void)buf_add(b, (const char *)&n, sizeof(n));
		for (size_t k = 0; k < t->nvalues; k++)
			text_add(b, t->values[k]);
	}
}

/* A text that is equal only for equal filters. */
static void filter_text(struct buf *b, const struct resource_filter *f, bool whole)
{
	(void)buf_addc(b, whole ? 'w' : 'f');
	text_add(b, f->ns);
	text_selector(b, &f->labels);
	text_selector(b, &f->fields);
}

/* Counts one group more or less (`n` is 1 or -1) in a bucket. */
static void watch_index_count(struct watch_index *x, const struct watch_bucket *b, int n)
{
	x->counts[b->place] += (size_t)n;
	if (b->place == WATCH_PLACE_FIELD)
		x->fields[b->field] += (size_t)n;
	else if (b->place >= WATCH_PLACE_LABEL && b->place <= WATCH_PLACE_SPACE_KEY)
		x->labels[b->field] += (size_t)n;
}

static struct watch_group *group_new(struct watch_index *x, struct str text,
				     const struct place_key *k)
{
	struct watch_group *g = xmalloc(sizeof(*g) + text.n);

	list_init(&g->watches);
	memcpy(g + 1, text.p, text.n);
	g->key = str_of(g + 1, text.n);
	(void)map_put(&x->groups, g->key, g);
	g->bucket = bucket_get(x, k);
	list_push_back(&g->bucket->groups, &g->link);
	watch_index_count(x, g->bucket, 1);
	return g;
}

static void group_free(struct watch_index *x, struct watch_group *g)
{
	struct watch_bucket *b = g->bucket;

	(void)map_remove(&x->groups, g->key);
	list_remove(&g->link);
	free(g);
	watch_index_count(x, b, -1);
	if (!list_empty(&b->groups))
		return;
	if (b == x->any)
		x->any = NULL;
	(void)map_remove(&x->buckets, b->key);
	free(b);
}

void watch_index_add(struct watch_index *x, struct watch_spot *spot,
		     const struct resource_filter *filter, bool whole)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(FILTER_TEXT_MAX);
	struct place_key key;

	filter_text(&text, filter, whole);
	spot->filter = filter;
	spot->group = map_get(&x->groups, buf_str(&text));
	if (!spot->group) {
		watch_index_key_of(filter, whole, &key);
		spot->group = group_new(x, buf_str(&text), &key);
	}
	list_push_back(&spot->group->watches, &spot->link);
}

void watch_index_remove(struct watch_index *x, struct watch_spot *spot)
{
	struct watch_group *g = spot->group;

	list_remove(&spot->link);
	spot->group = NULL;
	if (g && list_empty(&g->watches))
		group_free(x, g);
}

/* --- events ----------------------------------------------------------------------- */

bool watch_index_match(struct watch_index *x, const struct resource_filter *f,
		       const struct ring_event *e, enum ring_type *ret_type)
{
	bool now, before;

	*ret_type = e->type;
	if (f->ns.n && !str_eq(f->ns, object_ns(e->object)))
		return false;
	if (!f->labels.n && !f->fields.n)
		return true;
	now = e->type != RING_DELETED && resource_filter_matches(f, e->object);
	before = e->prev && resource_filter_matches(f, e->prev);
	x->evaluated += (e->type != RING_DELETED) + (e->prev != NULL);
	if (!now && !before)
		return false;
	*ret_type = !now ? RING_DELETED : before ? RING_MODIFIED : RING_ADDED;
	return true;
}

struct visit {
	struct watch_index *index;
	const struct schema_kind *kind;
	const struct ring_event *event; /* NULL: visit all watches of a bucket */
	void (*fn)(struct watch_spot *spot, enum ring_type type, void *arg);
	void (*fn_all)(struct watch_spot *spot, void *arg);
	void *arg;
};

/*
 * fn may remove the last watch, and that frees the group: so the end is determined before the
 * call.
 */
static void visit_group(struct visit *v, struct watch_group *g)
{
	struct list *head = &g->watches;
	const struct resource_filter *f = LIST_ENTRY(head->next, struct watch_spot, link)->filter;
	enum ring_type type = RING_ADDED;

	if (v->event && !watch_index_match(v->index, f, v->event, &type))
		return;
	for (struct list *it = head->next, *next; it; it = next) {
		struct watch_spot *spot = LIST_ENTRY(it, struct watch_spot, link);

		next = it->next == head ? NULL : it->next;
		if (v->event)
			v->fn(spot, type, v->arg);
		else
			v->fn_all(spot, v->arg);
	}
}

/* The same for the last group of a bucket. `b` may be NULL. */
static void visit_groups(struct visit *v, struct watch_bucket *b)
{
	struct list *head = b ? &b->groups : NULL;

	for (struct list *it = b ? head->next : NULL, *next; it; it = next) {
		next = it->next == head ? NULL : it->next;
		visit_group(v, LIST_ENTRY(it, struct watch_group, link));
	}
}

static void visit_bucket(struct visit *v, const struct place_key *k)
{
	if (!k->cut)
		visit_groups(v, map_get(&v->index->buckets, str_of(k->p, k->n)));
}

static void visit_place(struct visit *v, enum watch_place place, size_t field, struct str value)
{
	struct place_key key;

	if (!v->index->counts[place])
		return;
	key_begin(&key, place, field);
	key_add(&key, value);
	visit_bucket(v, &key);
}

static void visit_fields(struct visit *v)
{
	size_t n = MIN(v->kind->nselectables, (size_t)WATCH_INDEX_FIELDS);
	const struct ring_event *e = v->event;

	for (size_t i = 0; i < n && v->index->counts[WATCH_PLACE_FIELD]; i++) {
		struct str now, before;

		if (!v->index->fields[i])
			continue;
		now = object_field_at(e->object, v->kind, i);
		before = e->prev ? object_field_at(e->prev, v->kind, i) : now;
		visit_place(v, WATCH_PLACE_FIELD, i, now);
		if (!str_eq(now, before))
			visit_place(v, WATCH_PLACE_FIELD, i, before);
	}
}

/* In all namespaces, and in the object's. */
static void visit_label(struct visit *v, struct str key, struct str value)
{
	const size_t *counts = v->index->counts;
	struct place_key k;

	if (counts[value.p ? WATCH_PLACE_LABEL : WATCH_PLACE_KEY]) {
		key_label(&k, STR_NULL, key, value);
		visit_bucket(v, &k);
	}
	if (v->event->object->ns_n &&
	    counts[value.p ? WATCH_PLACE_SPACE_LABEL : WATCH_PLACE_SPACE_KEY]) {
		key_label(&k, object_ns(v->event->object), key, value);
		visit_bucket(v, &k);
	}
}

/* Visits the labels of `o`, except those that `but` has too; but NULL: all. */
static void visit_labels(struct visit *v, const struct object *o, const struct object *but)
{
	struct object_source other = { but, v->kind };

	for (size_t i = 0; i < o->nlabels; i++) {
		const struct object_label *l = &o->labels[i];
		struct str key = str_of(o->json->data + l->key, l->key_n);
		struct str value = str_of(o->json->data + l->value, l->value_n), there = STR_NULL;

		if (!v->index->labels[slot_of(key)])
			continue;
		if (but)
			there = object_label(&other, key);
		if (!there.p)
			visit_label(v, key, STR_NULL);
		if (!there.p || !str_eq(there, value))
			visit_label(v, key, value);
	}
}

static bool has_labels(const struct watch_index *x)
{
	return x->counts[WATCH_PLACE_LABEL] || x->counts[WATCH_PLACE_SPACE_LABEL] ||
	       x->counts[WATCH_PLACE_KEY] || x->counts[WATCH_PLACE_SPACE_KEY];
}

void watch_index_visit_whole(struct watch_index *x, struct str ns,
			     void (*fn)(struct watch_spot *spot, void *arg), void *arg)
{
	struct visit v = { .index = x, .fn_all = fn, .arg = arg };

	visit_place(&v, WATCH_PLACE_WHOLE, 0, ns);
}

void watch_index_visit(struct watch_index *x, const struct schema_kind *kind,
		       const struct ring_event *e,
		       void (*fn)(struct watch_spot *spot, enum ring_type type, void *arg),
		       void *arg)
{
	struct visit v = { .index = x, .kind = kind, .event = e, .fn = fn, .arg = arg };

	visit_place(&v, WATCH_PLACE_OBJECT, 0, e->object->key);
	visit_place(&v, WATCH_PLACE_NAME, 0, object_name(e->object));
	visit_place(&v, WATCH_PLACE_SPACE, 0, object_ns(e->object));
	visit_fields(&v);
	if (has_labels(x)) {
		visit_labels(&v, e->object, NULL);
		if (e->prev)
			visit_labels(&v, e->prev, e->object);
	}
	visit_groups(&v, x->any);
}
