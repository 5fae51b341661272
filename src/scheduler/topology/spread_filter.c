/*
 * Required constraints: the node's domain, including the new pod, may have at most maxSkew pods
 * more than the emptiest domain. Pods are counted per domain once. A what-if shares these counts,
 * and keeps the few domains that its pods changed, and the two emptiest domains. All changes are on
 * one node, so the emptiest domain is always one of the two.
 */
#include "base/core/map.h"
#include "base/core/mem.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/spread.h"

static const struct str skewed[] = { REASON(
	"node(s) didn't match pod topology spread constraints") };
static const struct str unlabelled[] = { REASON(
	"node(s) didn't match pod topology spread constraints (missing required label)") };

struct domain {
	struct str value;
	int64_t pods;
};

/* One constraint. */
struct balance {
	const struct map *counts; /* of struct domain by value; not changed after pre_filter */
	struct domain *changed; /* goes before counts */
	size_t nchanged, room;
	size_t domains;
	struct domain emptiest[2]; /* value.p NULL: none */
	bool self; /* the constraint selects the pod itself */
};

struct spread_filter {
	struct spread_constraints constraints;
	struct balance *v;
};

/* --- counts --------------------------------------------------------------------------------- */

static void spread_filter_note(struct balance *b, struct str value, int64_t pods)
{
	struct domain *e = b->emptiest;
	int at = -1;

	for (int i = 0; i < 2 && at < 0; i++)
		if (e[i].value.p && str_eq(e[i].value, value))
			at = i;
	if (at >= 0) {
		e[at].pods = pods;
		if (e[0].pods > e[1].pods) {
			struct domain first = e[0];

			e[0] = e[1];
			e[1] = first;
		}
	} else if (pods < e[0].pods) {
		e[1] = e[0];
		e[0] = (struct domain){ value, pods };
	} else if (pods < e[1].pods) {
		e[1] = (struct domain){ value, pods };
	}
}

static const struct domain *find_domain(const struct balance *b, struct str value)
{
	for (size_t i = 0; i < b->nchanged; i++)
		if (str_eq(b->changed[i].value, value))
			return &b->changed[i];
	return map_get(b->counts, value);
}

static void spread_filter_change(struct balance *b, struct arena *a, struct str value, int64_t by)
{
	const struct domain *d = find_domain(b, value);
	struct domain *own = NULL;

	for (size_t i = 0; i < b->nchanged; i++)
		if (d == &b->changed[i])
			own = &b->changed[i];
	if (!own) {
		if (b->nchanged == b->room) {
			struct domain *more;

			b->room = MAX(4, 2 * b->room);
			more = ARENA_ARRAY(a, struct domain, b->room);
			if (b->nchanged > 0)
				memcpy(more, b->changed, b->nchanged * sizeof(*more));
			b->changed = more;
		}
		own = &b->changed[b->nchanged++];
		*own = (struct domain){ value, d ? d->pods : 0 };
		b->domains += d == NULL;
	}
	own->pods += by;
	spread_filter_note(b, value, own->pods);
}

static void drop_map(void *object)
{
	map_release(object);
}

/* While pods are counted: a constraint's domains by value, and by their number in its view. */
struct counting {
	struct spread_view view;
	struct map *by_value;
	struct domain **by_number;
	size_t room;
	struct node_seen seen; /* of the node at hand */
};

static struct domain *need_domain(struct cycle *c, struct counting *k, struct str key,
				  const struct nodeinfo *n)
{
	struct domain **d;

	if (k->seen.domain >= k->room) {
		size_t room = MAX(2 * k->room, node_view_domains(k->view.view));
		struct domain **more = ARENA_ARRAY(&c->arena, struct domain *, room);

		if (k->room > 0)
			memcpy(more, k->by_number, k->room * sizeof(*more));
		k->by_number = more;
		k->room = room;
	}
	d = &k->by_number[k->seen.domain];
	if (!*d) {
		*d = arena_alloc(&c->arena, sizeof(**d));
		**d = (struct domain){ .value = labels_get(n->node->labels, key) };
		map_put(k->by_value, (*d)->value, *d);
	}
	return *d;
}

/* Only nodes that have all keys count. */
static void count_node(struct cycle *c, struct spread_constraints constraints, struct counting *k,
		       const struct nodeinfo *n)
{
	for (size_t i = 0; i < constraints.n; i++) {
		k[i].seen = spread_look(&k[i].view, n);
		if (k[i].seen.domain == NODE_VIEW_NOWHERE)
			return;
	}
	for (size_t i = 0; i < constraints.n; i++)
		if (spread_counts_node(&constraints.v[i], c->pod, n->node))
			need_domain(c, &k[i], constraints.v[i].topology_key, n)->pods +=
				k[i].seen.pods;
}

static struct map *new_map(struct cycle *c)
{
	struct map *m = ARENA_NEW(&c->arena, struct map);

	map_init(m);
	arena_hold(&c->arena, drop_map, m);
	return m;
}

static void spread_filter_begin(struct plugin *p, struct cycle *c,
				struct spread_constraints constraints, struct counting *counting)
{
	const struct spread_args *args = p->state;

	node_views_begin(args->views);
	for (size_t i = 0; i < constraints.n; i++)
		counting[i] = (struct counting){
			.view = spread_view(p, &constraints.v[i], c),
			.by_value = new_map(c),
		};
}

static void spread_filter_finish(struct cycle *c, const struct spread_constraint *k,
				 const struct counting *counting, struct balance *b)
{
	size_t at = 0;
	struct str value;
	void *d;

	b->counts = counting->by_value;
	b->domains = counting->by_value->n;
	b->self = spread_selects(k, c->pod->labels);
	b->emptiest[0].pods = b->emptiest[1].pods = INT32_MAX;
	while (map_next(b->counts, &at, &value, &d))
		spread_filter_note(b, value, ((struct domain *)d)->pods);
}

static struct spread_filter *count_all(struct plugin *p, struct cycle *c,
				       struct spread_constraints constraints)
{
	struct spread_filter *s = ARENA_NEW(&c->arena, struct spread_filter);
	struct counting *counting = ARENA_ARRAY(&c->arena, struct counting, constraints.n);

	s->constraints = constraints;
	s->v = ARENA_ARRAY(&c->arena, struct balance, constraints.n);
	spread_filter_begin(p, c, constraints, counting);
	for (size_t i = 0; i < c->snapshot->n; i++)
		count_node(c, constraints, counting, c->snapshot->nodes[i]);
	for (size_t i = 0; i < constraints.n; i++)
		spread_filter_finish(c, &constraints.v[i], &counting[i], &s->v[i]);
	return s;
}

/* --- the plugin ----------------------------------------------------------------------------- */

struct verdict spread_pre_filter(struct plugin *p, struct cycle *c)
{
	struct spread_constraints constraints = spread_constraints(p, c->pod, false, &c->arena);
	struct spread_state *state;

	if (constraints.n == 0)
		return (struct verdict){ .code = VERDICT_SKIP };
	state = ARENA_NEW(&c->arena, struct spread_state);
	state->filter = count_all(p, c, constraints);
	*cycle_state(c, p) = state;
	return VERDICT_OK;
}

void *spread_clone_state(const struct plugin *p, struct cycle *c, void *state)
{
	const struct spread_state *from = state;
	struct spread_state *to;
	size_t n;

	if (!from || !from->filter)
		return state;
	n = from->filter->constraints.n;
	to = ARENA_NEW(&c->arena, struct spread_state);
	to->score = from->score;
	to->filter = ARENA_NEW(&c->arena, struct spread_filter);
	*to->filter = *from->filter;
	to->filter->v = ARENA_ARRAY(&c->arena, struct balance, n);
	for (size_t i = 0; i < n; i++) {
		struct balance *b = &to->filter->v[i];

		*b = from->filter->v[i];
		if (b->nchanged == 0)
			continue;
		b->changed = ARENA_ARRAY(&c->arena, struct domain, b->room);
		memcpy(b->changed, from->filter->v[i].changed, b->nchanged * sizeof(*b->changed));
	}
	return to;
}

static void change_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n, int64_t by)
{
	const struct spread_state *state = *cycle_state(c, p);
	const struct spread_filter *s = state ? state->filter : NULL;

	if (!s || !n->node || !str_eq(other->ns, c->pod->ns) ||
	    !spread_has_keys(s->constraints, n->node))
		return;
	for (size_t i = 0; i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];

		if (spread_selects(k, other->labels) && spread_counts_node(k, c->pod, n->node))
			spread_filter_change(&s->v[i], &c->arena,
					     labels_get(n->node->labels, k->topology_key), by);
	}
}

void spread_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		    const struct nodeinfo *n)
{
	change_pod(p, c, other, n, 1);
}

void spread_remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n)
{
	change_pod(p, c, other, n, -1);
}

struct verdict spread_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	const struct spread_state *state = *cycle_state(c, p);
	const struct spread_filter *s = state ? state->filter : NULL;

	for (size_t i = 0; s && i < s->constraints.n; i++) {
		const struct spread_constraint *k = &s->constraints.v[i];
		const struct balance *b = &s->v[i];
		struct str value = labels_get(n->node->labels, k->topology_key);
		const struct domain *d;
		int64_t least;

		if (!value.p)
			return VERDICT_STATIC(VERDICT_UNRESOLVABLE, unlabelled);
		/* Too few domains: the missing ones count as empty. */
		least = (int64_t)b->domains < k->min_domains ? 0 : b->emptiest[0].pods;
		d = find_domain(b, value);
		if ((d ? d->pods : 0) + b->self - least > k->max_skew)
			return VERDICT_STATIC(VERDICT_UNSCHEDULABLE, skewed);
	}
	return VERDICT_OK;
}
