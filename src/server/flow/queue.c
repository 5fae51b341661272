/*
 * The next level is the one with the least service time relative to its weight. A level that
 * begins to wait starts at the others' time, so that it cannot save up credit. A level has two
 * lists of flows: those that have just arrived, and those that already had a turn. The first flow
 * is served until its deficit is used up, and then goes to the end of the second list.
 */
#include "server/flow/queue.h"

#include <stdlib.h>

#include "base/core/mem.h"

enum { QUANTUM = 25 * 1000 }; /* ns that a flow may use per turn */

/* A flow with waiting requests. */
struct flow_source {
	struct list link; /* in its level's fresh or stale */
	struct list items;
	size_t n;
	int64_t deficit;
	struct level *level;
	struct str name; /* stored after the struct */
};

struct level {
	struct map sources; /* name -> struct flow_source */
	struct list fresh, stale;
	size_t n; /* number of items */
	double had; /* service time by weight */
	int64_t weight;
};

struct flow_queue {
	struct level *levels;
	size_t nlevels;
	size_t n;
	double now; /* `had` of the level that was served last */
};

struct flow_queue *flow_queue_new(void)
{
	return XNEW(struct flow_queue);
}

void flow_queue_free(struct flow_queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nlevels; i++)
		map_release(&q->levels[i].sources);
	free(q->levels);
	free(q);
}

/* List heads point to themselves: after levels move, they must be fixed. */
static void relink(struct list *l, struct list *was)
{
	if (l->next == was) {
		list_init(l);
		return;
	}
	l->next->prev = l;
	l->prev->next = l;
}

static void queue_grow(struct flow_queue *q, size_t need)
{
	struct level *v = xcalloc(need, sizeof(*v));

	for (size_t i = 0; i < need; i++) {
		struct level *old = i < q->nlevels ? &q->levels[i] : NULL;

		if (!old) {
			map_init(&v[i].sources);
			list_init(&v[i].fresh);
			list_init(&v[i].stale);
			continue;
		}
		v[i] = *old;
		relink(&v[i].fresh, &old->fresh);
		relink(&v[i].stale, &old->stale);
		LIST_FOREACH (it, &v[i].fresh)
			LIST_ENTRY(it, struct flow_source, link)->level = &v[i];
		LIST_FOREACH (it, &v[i].stale)
			LIST_ENTRY(it, struct flow_source, link)->level = &v[i];
	}
	free(q->levels);
	q->levels = v;
	q->nlevels = need;
}

static struct flow_source *source_of(struct level *l, struct str name)
{
	struct flow_source *s = map_get(&l->sources, name);
	char *text;

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s) + name.n + 1);
	text = (char *)(s + 1);
	str_put(text, name);
	s->name = str_of(text, name.n);
	s->level = l;
	list_init(&s->items);
	list_push_back(&l->fresh, &s->link);
	(void)map_put(&l->sources, s->name, s);
	return s;
}

static void source_free(struct flow_source *s)
{
	list_remove(&s->link);
	(void)map_remove(&s->level->sources, s->name);
	free(s);
}

static void forget_all(struct list *sources)
{
	LIST_FOREACH_SAFE (it, sources)
		source_free(LIST_ENTRY(it, struct flow_source, link));
}

/*
 * A flow without requests is remembered until its next turn. Otherwise it would return as a new
 * one, and flows with a permanent backlog would starve.
 */
static void source_tidy(struct flow_source *s)
{
	struct level *l = s->level;

	if (!l->n) {
		forget_all(&l->fresh);
		forget_all(&l->stale);
	} else if (!s->n) {
		list_remove(&s->link);
		list_push_back(&l->stale, &s->link);
	}
}

void flow_queue_add(struct flow_queue *q, struct flow_item *item, size_t level, int64_t weight,
		    struct str flow)
{
	struct flow_source *s;
	struct level *l;

	if (level >= q->nlevels)
		queue_grow(q, level + 8);
	l = &q->levels[level];
	l->weight = weight;
	if (!l->n)
		l->had = MAX(l->had, q->now);
	s = source_of(l, flow);
	item->source = s;
	list_push_back(&s->items, &item->link);
	s->n++;
	l->n++;
	q->n++;
}

static void unlink_item(struct flow_queue *q, struct flow_item *item)
{
	struct flow_source *s = item->source;

	list_remove(&item->link);
	item->source = NULL;
	s->n--;
	s->level->n--;
	q->n--;
}

void flow_queue_remove(struct flow_queue *q, struct flow_item *item)
{
	struct flow_source *s = item->source;

	unlink_item(q, item);
	source_tidy(s);
}

/* The flow whose turn it is; refills deficits on the way. */
static struct flow_source *turn_of(struct level *l)
{
	for (;;) {
		struct list *from = list_empty(&l->fresh) ? &l->stale : &l->fresh;
		struct flow_source *s = LIST_ENTRY(from->next, struct flow_source, link);

		if (from == &l->fresh && s->deficit == 0)
			s->deficit = QUANTUM;
		if (s->n && s->deficit > 0)
			return s;
		if (!s->n && s->deficit >= 0) {
			source_free(s);
			continue;
		}
		s->deficit += QUANTUM;
		list_remove(&s->link);
		list_push_back(&l->stale, &s->link);
	}
}

static struct flow_item *queue_take(struct flow_queue *q, struct level *l)
{
	struct flow_source *s = turn_of(l);
	struct flow_item *item = LIST_ENTRY(s->items.next, struct flow_item, link);

	s->deficit -= item->cost;
	if (s->deficit == 0)
		s->deficit = -1; /* 0 means that it has just arrived */
	q->now = MAX(q->now, l->had);
	l->had += (double)item->cost / (double)l->weight;
	unlink_item(q, item);
	source_tidy(s);
	return item;
}

static bool comes_before(const struct level *a, const struct level *b)
{
	if (a->had < b->had)
		return true;
	return !(b->had < a->had) && a < b;
}

struct flow_item *flow_queue_next(struct flow_queue *q, bool (*may)(void *arg, size_t level),
				  void *arg)
{
	const struct level *last = NULL; /* the last one tried */

	/* Tries levels from the least to the most served, without sorting: there are few. */
	for (size_t tries = 0; tries < q->nlevels && q->n; tries++) {
		struct level *best = NULL;

		for (struct level *l = q->levels; l < q->levels + q->nlevels; l++)
			if (l->n && (!last || comes_before(last, l)) &&
			    (!best || comes_before(l, best)))
				best = l;
		if (!best)
			return NULL;
		if (may(arg, (size_t)(best - q->levels)))
			return queue_take(q, best);
		last = best;
	}
	return NULL;
}

size_t flow_queue_count(const struct flow_queue *q)
{
	return q->n;
}

size_t flow_queue_flow_count(const struct flow_queue *q, size_t level, struct str flow)
{
	const struct flow_source *s;

	s = level < q->nlevels ? map_get(&q->levels[level].sources, flow) : NULL;
	return s ? s->n : 0;
}
