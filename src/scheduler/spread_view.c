/*
 * An open table with linear probing, at least four times as large as there are nodes. Answers for
 * states that are gone stay until there might not be room for all nodes; then it is emptied and
 * filled anew, which happens once in about as many changes as there are nodes.
 */
#include "scheduler/spread_view.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "scheduler/spread.h"

enum {
	VIEWS = 16, /* more only for a pod that asks for more */
	VIEWS_MAX = 1 << 16,
	ROOM_MIN = 64,
	KEY_MAX = 1 << 16,
	VIEW_MEMORY_MAX = 1 << 30,
};

struct known {
	uint64_t generation; /* 0: free */
	struct spread_seen seen;
};

struct domain_number {
	uint32_t number;
};

struct spread_view {
	struct buf key; /* the question as text */
	struct arena arena; /* of all below; emptied with the table */
	struct spread_constraint constraint; /* its selector is in `own` */
	struct str ns;
	struct arena own;
	struct known *table;
	size_t mask, used;
	struct map domains; /* of struct domain_number by value */
	uint64_t last_use;
};

struct spread_views {
	VEC(struct spread_view *) all;
	uint64_t uses, begun; /* counts of questions: so far, and at the last begin */
	struct buf key; /* scratch */
};

/* --- one view ------------------------------------------------------------------------------- */

static void empty(struct spread_view *v)
{
	map_clear(&v->domains);
	arena_clear(&v->arena);
	memset(v->table, 0, (v->mask + 1) * sizeof(*v->table));
	v->used = 0;
}

static void make_room(struct spread_view *v, size_t nodes)
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

static void view_free(struct spread_view *v)
{
	map_release(&v->domains);
	arena_release(&v->arena);
	arena_release(&v->own);
	buf_release(&v->key);
	free(v->table);
	free(v);
}

static struct spread_view *view_new(const struct spread_constraint *k, struct str ns,
				    struct str key)
{
	struct spread_view *v = XNEW(struct spread_view);

	buf_init(&v->key, KEY_MAX);
	(void)buf_add_str(&v->key, key);
	arena_init(&v->arena, VIEW_MEMORY_MAX);
	arena_init(&v->own, VIEW_MEMORY_MAX);
	map_init(&v->domains);
	v->constraint = *k;
	v->constraint.pods = selector_copy(&v->own, &k->pods);
	v->constraint.topology_key = arena_str(&v->own, k->topology_key);
	v->ns = arena_str(&v->own, ns);
	return v;
}

static uint32_t number_of(struct spread_view *v, struct str value)
{
	struct domain_number *d;

	if (!value.p)
		return SPREAD_NOWHERE;
	d = map_get(&v->domains, value);
	if (d)
		return d->number;
	d = ARENA_NEW(&v->arena, struct domain_number);
	d->number = v->domains.n;
	map_put(&v->domains, arena_str(&v->arena, value), d);
	return d->number;
}

static struct spread_seen look(struct spread_view *v, const struct nodeinfo *n)
{
	struct str value = labels_get(n->node->labels, v->constraint.topology_key);

	return (struct spread_seen){
		.domain = number_of(v, value),
		.pods = (uint32_t)spread_count(&v->constraint, v->ns, n),
	};
}

/* Generations are consecutive numbers: they need no mixing to be spread evenly. */
struct spread_seen spread_view_node(struct spread_view *v, const struct nodeinfo *n)
{
	size_t at = n->generation & v->mask;

	if (n->generation == 0)
		return look(v, n);
	while (v->table[at].generation != n->generation) {
		if (v->table[at].generation == 0) {
			v->table[at] = (struct known){ n->generation, look(v, n) };
			v->used++;
			break;
		}
		at = (at + 1) & v->mask;
	}
	return v->table[at].seen;
}

uint32_t spread_view_domains(const struct spread_view *v)
{
	return v->domains.n;
}

/* --- all of them ---------------------------------------------------------------------------- */

struct spread_views *spread_views_new(void)
{
	struct spread_views *v = XNEW(struct spread_views);

	buf_init(&v->key, KEY_MAX);
	vec_init(&v->all, VIEWS_MAX);
	return v;
}

void spread_views_free(struct spread_views *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->all.n; i++)
		view_free(v->all.v[i]);
	vec_release(&v->all);
	buf_release(&v->key);
	free(v);
}

void spread_views_begin(struct spread_views *v)
{
	v->begun = v->uses;
}

/* Each part with its length before it, so that no two questions read the same. */
static void add_part(struct buf *key, struct str part)
{
	(void)buf_printf(key, "%zu:", part.n);
	(void)buf_add_str(key, part);
}

static void write_key(struct buf *key, const struct spread_constraint *k, struct str ns)
{
	buf_clear(key);
	add_part(key, ns);
	add_part(key, k->topology_key);
	(void)buf_addc(key, k->nothing ? '-' : '+');
	for (size_t i = 0; i < k->pods.n; i++) {
		const struct selector_term *t = &k->pods.terms[i];

		(void)buf_printf(key, "%d,%zu,", (int)t->op, t->nvalues);
		add_part(key, t->key);
		for (size_t j = 0; j < t->nvalues; j++)
			add_part(key, t->values[j]);
	}
}

static struct spread_view *find_view(const struct spread_views *v)
{
	for (size_t i = 0; i < v->all.n; i++)
		if (str_eq(buf_str(&v->all.v[i]->key), buf_str(&v->key)))
			return v->all.v[i];
	return NULL;
}

/* Those in use now stay; of the others the oldest goes. */
static void drop_oldest(struct spread_views *v)
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

struct spread_view *spread_views_get(struct spread_views *v, const struct spread_constraint *k,
				     struct str ns, size_t nodes)
{
	struct spread_view *view;

	write_key(&v->key, k, ns);
	view = find_view(v);
	if (!view) {
		if (v->all.n >= VIEWS)
			drop_oldest(v);
		view = view_new(k, ns, buf_str(&v->key));
		(void)vec_push(&v->all, view);
	}
	/* All nodes may be new in this cycle, and no domain may change its number then. */
	if (view->last_use <= v->begun) {
		make_room(view, nodes);
		if (view->used + nodes > (view->mask + 1) / 4 * 3)
			empty(view);
	}
	view->last_use = ++v->uses;
	return view;
}
