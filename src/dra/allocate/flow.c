/*
 * Computes a flow with three layers by augmenting paths. First each source takes the units that are
 * free. For the missing units, a breadth-first search looks for a path along which other sources
 * move aside. The path goes from a source to a sink, from a full sink to a source that it serves,
 * and from a sink in a full crowd to another sink of that crowd, whose source may have an
 * alternative.
 */
#include "dra/allocate/outlook.h"

#include <string.h>

/*
 * The graph's nodes: sources; sinks that must serve one unit more; sinks that must serve one less;
 * crowds.
 */
struct flow_state {
	const struct allocate_flow *f;
	uint32_t *flow; /* source x sink */
	uint32_t *load; /* by sink */
	uint32_t *crowd_load;
	uint32_t *parent; /* by node; ALLOCATE_NONE: not reached */
	uint32_t *queue;
	uint32_t head, tail;
	uint64_t work;
};

static uint32_t node_more(const struct allocate_flow *f, uint32_t sink)
{
	return f->nsources + sink;
}

static uint32_t node_less(const struct allocate_flow *f, uint32_t sink)
{
	return f->nsources + f->nsinks + sink;
}

static uint32_t node_crowd(const struct allocate_flow *f, uint32_t crowd)
{
	return f->nsources + 2 * f->nsinks + crowd;
}

static bool crowd_full(const struct flow_state *s, uint32_t sink)
{
	uint32_t c = s->f->crowd[sink];

	return c != ALLOCATE_NONE && s->crowd_load[c] >= s->f->crowd_room[c];
}

static void add_load(struct flow_state *s, uint32_t sink, uint32_t n)
{
	s->load[sink] += n;
	if (s->f->crowd[sink] != ALLOCATE_NONE)
		s->crowd_load[s->f->crowd[sink]] += n;
}

/* Takes free units for a source, without moving others. Returns how many are still missing. */
static uint32_t take_free(struct flow_state *s, uint32_t source, uint32_t need)
{
	const struct allocate_flow *f = s->f;

	for (uint32_t k = 0; k < f->nsinks && need; k++) {
		size_t edge = (size_t)source * f->nsinks + k;
		uint32_t n = MIN(need, f->limit[edge] - s->flow[edge]), c = f->crowd[k];

		s->work++;
		n = MIN(n, f->room[k] > s->load[k] ? f->room[k] - s->load[k] : 0);
		if (c != ALLOCATE_NONE)
			n = MIN(n, f->crowd_room[c] > s->crowd_load[c]
					   ? f->crowd_room[c] - s->crowd_load[c]
					   : 0);
		s->flow[edge] += n;
		add_load(s, k, n);
		need -= n;
	}
	return need;
}

static void reach(struct flow_state *s, uint32_t node, uint32_t from)
{
	if (s->parent[node] != ALLOCATE_NONE)
		return;
	s->parent[node] = from;
	s->queue[s->tail++] = node;
}

static void expand_source(struct flow_state *s, uint32_t source)
{
	const struct allocate_flow *f = s->f;

	for (uint32_t k = 0; k < f->nsinks; k++) {
		size_t edge = (size_t)source * f->nsinks + k;

		if (s->flow[edge] < f->limit[edge])
			reach(s, node_more(f, k), source);
	}
	s->work += f->nsinks;
}

/* Visits the sources that the sink serves, since they may use another sink. */
static void expand_served(struct flow_state *s, uint32_t sink, uint32_t from)
{
	const struct allocate_flow *f = s->f;

	for (uint32_t i = 0; i < f->nsources; i++)
		if (s->flow[(size_t)i * f->nsinks + sink])
			reach(s, i, from);
	s->work += f->nsources;
}

static void expand_crowd(struct flow_state *s, uint32_t crowd)
{
	const struct allocate_flow *f = s->f;

	for (uint32_t k = 0; k < f->nsinks; k++)
		if (f->crowd[k] == crowd && s->load[k])
			reach(s, node_less(f, k), node_crowd(f, crowd));
	s->work += f->nsinks;
}

/*
 * Adds one unit along the path from the source in need to a sink with room, following parents back.
 */
static void flow_apply(struct flow_state *s, uint32_t sink)
{
	const struct allocate_flow *f = s->f;
	uint32_t node = node_more(f, sink);

	add_load(s, sink, 1);
	while (s->parent[node] != node) {
		uint32_t from = s->parent[node];

		if (node < f->nsources) {
			/* Remove a unit from a sink of either kind. */
			uint32_t k = (from - f->nsources) % f->nsinks;

			s->flow[(size_t)node * f->nsinks + k]--;
		} else if (from < f->nsources) {
			s->flow[(size_t)from * f->nsinks + (node - f->nsources)]++;
		} else if (node >= node_crowd(f, 0)) {
			add_load(s, from - f->nsources, 1);
		} else {
			add_load(s, node - f->nsources - f->nsinks, (uint32_t)-1);
		}
		node = from;
	}
}

/* Visits a sink that must serve one more. Returns true if it has room, after applying the path. */
static bool expand_sink(struct flow_state *s, uint32_t sink)
{
	const struct allocate_flow *f = s->f;
	bool room = s->load[sink] < f->room[sink];

	if (room && !crowd_full(s, sink)) {
		flow_apply(s, sink);
		return true;
	}
	expand_served(s, sink, node_more(f, sink));
	if (room)
		reach(s, node_crowd(f, f->crowd[sink]), node_more(f, sink));
	return false;
}

static bool augment(struct flow_state *s, uint32_t source)
{
	const struct allocate_flow *f = s->f;

	memset(s->parent, 0xff, sizeof(*s->parent) * (node_crowd(f, 0) + f->ncrowds));
	s->head = s->tail = 0;
	reach(s, source, source);
	while (s->head < s->tail) {
		uint32_t node = s->queue[s->head++], k = node - f->nsources;

		if (node < f->nsources) {
			expand_source(s, node);
		} else if (node >= node_crowd(f, 0)) {
			expand_crowd(s, node - node_crowd(f, 0));
		} else if (k >= f->nsinks) {
			expand_served(s, k - f->nsinks, node);
		} else if (expand_sink(s, k)) {
			return true;
		}
	}
	return false;
}

bool allocate_flow_fits(const struct allocate_flow *f, struct arena *a, uint64_t *work)
{
	uint32_t nodes = f->nsources + 2 * f->nsinks + f->ncrowds;
	struct flow_state s = { .f = f };
	bool fits = true;

	s.flow = ARENA_ARRAY(a, uint32_t, (size_t)f->nsources * f->nsinks);
	s.load = ARENA_ARRAY(a, uint32_t, f->nsinks);
	s.crowd_load = ARENA_ARRAY(a, uint32_t, f->ncrowds);
	s.parent = arena_alloc(a, sizeof(*s.parent) * nodes);
	s.queue = arena_alloc(a, sizeof(*s.queue) * nodes);
	for (uint32_t i = 0; fits && i < f->nsources; i++) {
		uint32_t need = take_free(&s, i, f->need[i]);

		while (need && augment(&s, i))
			need--;
		fits = need == 0;
	}
	*work += s.work;
	return fits;
}
