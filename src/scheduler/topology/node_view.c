/*
 * A hash table with linear probing, at least four times as large as the number of nodes. Answers
 * for old states stay until there might not be room for all nodes; then it is cleared and refilled.
 * This happens once in about as many changes as there are nodes.
 */
#include "scheduler/topology/node_view.h"

#include "api/selector/selector.h"
#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"

enum {
	VIEWS = 16, /* more only for a pod with more questions */
	VIEWS_MAX = 1 << 16,
	ROOM_MIN = 64,
	KEY_MAX = 1 << 16,
	VIEW_MEMORY_MAX = 1 << 30,
};

struct known {
	uint64_t generation; /* 0: free */
	struct node_seen seen;
};

struct domain_number {
	uint32_t number;
};

struct node_view {
	struct buf key; /* the question; empty: never reused */
	struct known *table;
	size_t mask, used;
	struct map domains; /* of struct domain_number by value */
	struct arena arena; /* of domains; emptied with the table */
	uint64_t last_use;
};

struct node_views {
	VEC(struct node_view *) all;
	uint64_t uses, begun; /* counts of questions: so far, and at the last begin */
	struct buf key; /* of the question that is being put */
};

/* --- one view ------------------------------------------------------------------------------- */

static void empty(struct node_view *v)
{
	map_clear(&v->domains);
	arena_clear(&v->arena);
	memset(v->table, 0, (v->mask + 1) * sizeof(*v->table));
	v->used = 0;
}

static void node_view_make_room(struct node_view *v, size_t nodes)
{
	size_t room = ROOM_MIN;

	while (room < 4 * nodes)
		room *= 2;
	if (v->table && room <= v->mask + 1)
		return;
	free(v->table);
	v->table = xmalloc(room * sizeof(*v->table));
	v->mask = room - 1;
	empty(v);
}

static void view_free(struct node_view *v)
{
	map_release(&v->domains);
	arena_release(&v->arena);
	buf_release(&v->key);
	free(v->table);
	free(v);
}

static struct node_view *view_new(struct str key)
{
	struct node_view *v = XNEW(struct node_view);

	buf_init(&v->key, KEY_MAX);
	(void)buf_add_str(&v->key, key);
	arena_init(&v->arena, VIEW_MEMORY_MAX);
	map_init(&v->domains);
	return v;
}

static uint32_t number_of(struct node_view *v, struct str value)
{
	struct domain_number *d;

	if (!value.p)
		return NODE_VIEW_NOWHERE;
	d = map_get(&v->domains, value);
	if (d)
		return d->number;
	d = ARENA_NEW(&v->arena, struct domain_number);
	d->number = v->domains.n;
	map_put(&v->domains, arena_str(&v->arena, value), d);
	return d->number;
}

/* Generations are consecutive numbers: they need no mixing to be spread evenly. */
struct node_seen node_view_node(struct node_view *v, const struct nodeinfo *n, node_view_fn *look,
				const void *question)
{
	size_t at = n->generation & v->mask;
	struct str domain = STR_NULL;
	struct node_seen seen;

	while (n->generation != 0 && v->table[at].generation != 0) {
		if (v->table[at].generation == n->generation)
			return v->table[at].seen;
		at = (at + 1) & v->mask;
	}
	seen.pods = look(question, n, &domain);
	seen.domain = number_of(v, domain);
	/*
	 * A node of a what-if has no generation, since it may change at any time: do not cache it.
	 */
	if (n->generation != 0) {
		v->table[at] = (struct known){ n->generation, seen };
		v->used++;
	}
	return seen;
}

uint32_t node_view_domains(const struct node_view *v)
{
	return v->domains.n;
}

/* --- all of them ---------------------------------------------------------------------------- */

struct node_views *node_views_new(void)
{
	struct node_views *v = XNEW(struct node_views);

	buf_init(&v->key, KEY_MAX);
	vec_init(&v->all, VIEWS_MAX);
	return v;
}

void node_views_free(struct node_views *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->all.n; i++)
		view_free(v->all.v[i]);
	vec_release(&v->all);
	buf_release(&v->key);
	free(v);
}

void node_views_begin(struct node_views *v)
{
	v->begun = v->uses;
}

struct buf *node_views_question(struct node_views *v)
{
	buf_clear(&v->key);
	return &v->key;
}

void node_views_add(struct buf *question, struct str part)
{
	(void)buf_printf(question, "%zu:", part.n);
	(void)buf_add_str(question, part);
}

void node_views_add_selector(struct buf *question, const struct selector *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = &s->terms[i];

		(void)buf_printf(question, "%d,%zu,", (int)t->op, t->nvalues);
		node_views_add(question, t->key);
		for (size_t j = 0; j < t->nvalues; j++)
			node_views_add(question, t->values[j]);
	}
	(void)buf_addc(question, ';');
}

static struct node_view *find_view(const struct node_views *v, struct str key)
{
	for (size_t i = 0; key.n > 0 && i < v->all.n; i++)
		if (str_eq(buf_str(&v->all.v[i]->key), key))
			return v->all.v[i];
	return NULL;
}

/* Those in use now stay; of the others the oldest goes. */
static void drop_oldest(struct node_views *v)
{
	size_t oldest = 0;

	for (size_t i = 1; i < v->all.n; i++)
		if (v->all.v[i]->last_use < v->all.v[oldest]->last_use)
			oldest = i;
	if (v->all.v[oldest]->last_use > v->begun)
		return;
	view_free(v->all.v[oldest]);
	vec_remove_swap(&v->all, oldest);
}

struct node_view *node_views_get(struct node_views *v, size_t nodes)
{
	struct str key = v->key.overflow ? STR_NULL : buf_str(&v->key);
	struct node_view *view = find_view(v, key);

	if (!view) {
		if (v->all.n >= VIEWS)
			drop_oldest(v);
		view = view_new(key);
		(void)vec_push(&v->all, view);
	}
	/* All nodes may be new in this cycle, and no domain may change its number then. */
	if (view->last_use <= v->begun) {
		node_view_make_room(view, nodes);
		if (view->used + nodes > (view->mask + 1) / 4 * 3)
			empty(view);
	}
	view->last_use = ++v->uses;
	return view;
}
