/*
 * Finds the pods that an event may help. An event is first compared with the registrations of a
 * group's rejectors. Only if one of them matches, the pods of the group are visited and hints are
 * called. A gated pod only waits for events of its gate.
 *
 * Events that arrive while pods are in flight are kept with their objects in one numbered list. A
 * pod has the number of the first event that it has not seen, and events before the oldest pod's
 * number are dropped. A pod that stays in flight for long (permit may take minutes) would keep too
 * many events. Beyond FLIGHT_EVENTS_MAX it is marked instead, and is tried again when it returns,
 * as if a missed event had helped.
 */
#include "scheduler/queue/podqueue_impl.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "client/informer/cached.h"
#include "scheduler/cache/nodeobject.h"

/* For plugins without registrations: any event may help. */
static const struct plugin_event anything[] = {
	{ .kind = EVENT_WILDCARD, .actions = EVENT_ALL },
	{ .actions = 0 },
};

static const struct plugin_event *rows_of(const struct plugin *p)
{
	const struct plugin_event *rows = p->kind->events_of ? p->kind->events_of(p)
							     : p->kind->events;

	return rows ? rows : anything;
}

static void add_interest(unsigned actions[EVENT_KINDS], const struct plugin *p)
{
	for (const struct plugin_event *e = rows_of(p); e->actions; e++) {
		if (e->kind != EVENT_WILDCARD) {
			actions[e->kind] |= e->actions;
			continue;
		}
		for (unsigned i = 0; i < EVENT_WILDCARD; i++)
			actions[i] |= e->actions;
	}
}

/* Only these can be why a pod waits. */
static bool can_reject(const struct plugin_kind *k)
{
	return k->pre_enqueue || k->pre_filter || k->filter || k->reserve || k->permit ||
	       k->pre_bind;
}

struct queue_profile *queue_profile_of(struct podqueue *q, struct profile *p)
{
	struct queue_profile *view;

	for (size_t i = 0; i < q->profiles.n; i++)
		if (q->profiles.v[i]->profile == p)
			return q->profiles.v[i];
	view = XNEW(struct queue_profile);
	view->profile = p;
	for (size_t i = 0; i < p->n; i++)
		if (can_reject(p->plugins[i].kind))
			add_interest(view->actions, &p->plugins[i]);
	(void)vec_push(&q->profiles, view);
	return view;
}

/* --- groups -------------------------------------------------------------------------------- */

static struct str key_text(const struct wait_key *k)
{
	return str_of(k, sizeof(*k));
}

static struct wait_group *group_new(struct podqueue *q, const struct wait_key *key)
{
	struct wait_group *g = XNEW(struct wait_group);

	g->key = *key;
	list_init(&g->pods);
	if (key->gated_by)
		add_interest(g->actions, key->gated_by);
	else
		for (uint64_t r = key->rejectors; r; r &= r - 1)
			add_interest(g->actions, &key->profile->plugins[__builtin_ctzll(r)]);
	g->at = q->groups.n;
	(void)vec_push(&q->groups, g);
	(void)map_put(&q->group_by_key, key_text(&g->key), g);
	return g;
}

void queue_group_join(struct podqueue *q, struct queued_pod *p)
{
	struct wait_key key = { p->profile, p->rejectors, p->gated_by };
	struct wait_group *g = map_get(&q->group_by_key, key_text(&key));

	p->group = g ? g : group_new(q, &key);
	list_push_back(&p->group->pods, &p->link);
}

void queue_group_leave(struct podqueue *q, struct queued_pod *p)
{
	struct wait_group *g = p->group;

	list_remove(&p->link);
	p->group = NULL;
	if (!list_empty(&g->pods))
		return;
	(void)map_remove(&q->group_by_key, key_text(&g->key));
	vec_remove_swap(&q->groups, g->at);
	if (g->at < q->groups.n)
		q->groups.v[g->at]->at = g->at;
	free(g);
}

/* --- hints ----------------------------------------------------------------------------------- */

static bool row_matches(const struct plugin_event *row, const struct cluster_event *e)
{
	if (!(row->actions & e->actions))
		return false;
	if (row->kind == EVENT_WILDCARD)
		return true;
	return row->kind == e->kind &&
	       (e->kind != EVENT_EXTENSION || row->extension == e->extension);
}

static bool plugin_wakes(const struct plugin *p, const struct podinfo *waiting,
			 const struct cluster_event *e)
{
	for (const struct plugin_event *row = rows_of(p); row->actions; row++)
		if (row_matches(row, e) && (!row->hint || row->hint(p, waiting, e) == HINT_QUEUE))
			return true;
	return false;
}

enum queue_wake queue_worth(const struct queued_pod *p, const struct cluster_event *e)
{
	if (!p->rejectors)
		return WAKE_AFTER_BACKOFF;
	/* A wildcard with a pod, and a change of a waiting pod, are for that pod alone. */
	if ((e->kind == EVENT_WILDCARD || e->kind == EVENT_UNSCHEDULED_POD) && e->pod &&
	    !str_eq(e->pod->uid, p->pod->uid))
		return WAKE_NOT;
	if (e->kind == EVENT_WILDCARD)
		return WAKE_AFTER_BACKOFF;
	/* Resources that the pod itself released (rejected in permit) do not help it. */
	if (e->kind == EVENT_ASSIGNED_POD && !e->pod && e->old_pod &&
	    str_eq(e->old_pod->uid, p->pod->uid))
		return WAKE_NOT;
	for (uint64_t r = p->rejectors; r; r &= r - 1)
		if (plugin_wakes(&p->profile->plugins[__builtin_ctzll(r)], p->pod, e))
			return p->pending ? WAKE_NOW : WAKE_AFTER_BACKOFF;
	return WAKE_NOT;
}

/* Extension events have one kind and many types, so the rows decide whether this type matches. */
static bool group_cares(const struct wait_group *g, const struct cluster_event *e)
{
	if (e->kind == EVENT_WILDCARD)
		return true;
	if (!(g->actions[e->kind] & e->actions))
		return false;
	for (uint64_t r = g->key.rejectors; r; r &= r - 1) {
		const struct plugin *p = &g->key.profile->plugins[__builtin_ctzll(r)];

		for (const struct plugin_event *row = rows_of(p); row->actions; row++)
			if (row_matches(row, e))
				return true;
	}
	return !g->key.rejectors;
}

void queue_collect(struct podqueue *q, const struct cluster_event *e)
{
	q->moving.n = 0;
	for (size_t i = 0; i < q->groups.n; i++) {
		if (!group_cares(q->groups.v[i], e))
			continue;
		LIST_FOREACH (it, &q->groups.v[i]->pods) {
			struct queued_pod *p = LIST_ENTRY(it, struct queued_pod, link);

			if (queue_worth(p, e) != WAKE_NOT)
				(void)vec_push(&q->moving, p);
		}
	}
}

/* --- in flight ------------------------------------------------------------------------------- */

static void event_free(struct podqueue *q, struct flight_event *f)
{
	struct cluster_event *e = &f->event;

	list_remove(&f->link);
	q->nevents--;
	if (f->gauge)
		metrics_gauge_add(f->gauge, -1);
	podinfo_unref((struct podinfo *)e->old_pod);
	podinfo_unref((struct podinfo *)e->pod);
	nodeobject_unref((struct nodeobject *)e->old_node);
	nodeobject_unref((struct nodeobject *)e->node);
	cached_unref(e->old_object);
	cached_unref(e->object);
	free(f);
}

/* Drops the events that all pods in flight have seen. */
static void prune(struct podqueue *q)
{
	uint64_t needed = UINT64_MAX;

	if (!list_empty(&q->flight))
		needed = LIST_ENTRY(q->flight.next, struct queued_pod, link)->flight;
	while (!list_empty(&q->events)) {
		struct flight_event *f = LIST_ENTRY(q->events.next, struct flight_event, link);

		if (f->number >= needed)
			return;
		event_free(q, f);
	}
}

void queue_flight_release(struct podqueue *q)
{
	while (!list_empty(&q->events))
		event_free(q, LIST_ENTRY(q->events.next, struct flight_event, link));
}

/* Half of the oldest events go; pods that would have needed them know that they missed some. */
static void forget_oldest(struct podqueue *q)
{
	uint64_t from = q->next_event - FLIGHT_EVENTS_MAX / 2;

	LIST_FOREACH (it, &q->flight) {
		struct queued_pod *p = LIST_ENTRY(it, struct queued_pod, link);

		if (p->flight >= from)
			break;
		p->flight = from;
		p->missed = true;
	}
	prune(q);
}

void queue_flight_begin(struct podqueue *q, struct queued_pod *p)
{
	p->flight = q->next_event;
	p->missed = p->settled = false;
	p->view->in_flight++;
	list_push_back(&q->flight, &p->link);
}

void podqueue_settle(struct podqueue *q, struct queued_pod *p)
{
	if (p->settled)
		return;
	list_remove(&p->link);
	p->view->in_flight--;
	p->settled = true;
	p->missed = true;
	prune(q);
}

void queue_flight_end(struct podqueue *q, struct queued_pod *p)
{
	podqueue_settle(q, p);
	p->settled = false;
}

static bool flight_cares(const struct podqueue *q, const struct cluster_event *e)
{
	for (size_t i = 0; i < q->profiles.n; i++) {
		const struct queue_profile *v = q->profiles.v[i];

		if (v->in_flight &&
		    (e->kind == EVENT_WILDCARD || (v->actions[e->kind] & e->actions)))
			return true;
	}
	return false;
}

#define REF(fn, o) ((o) ? fn((__typeof__(fn(NULL)))(o)) : NULL)

void queue_flight_note(struct podqueue *q, const struct cluster_event *e)
{
	struct flight_event *f;

	if (!flight_cares(q, e))
		return;
	if (q->nevents >= FLIGHT_EVENTS_MAX)
		forget_oldest(q);
	f = XNEW(struct flight_event);
	f->number = q->next_event++;
	f->event = (struct cluster_event){ .kind = e->kind,
					   .actions = e->actions,
					   .extension = e->extension,
					   .old_pod = REF(podinfo_ref, e->old_pod),
					   .pod = REF(podinfo_ref, e->pod),
					   .old_node = REF(nodeobject_ref, e->old_node),
					   .node = REF(nodeobject_ref, e->node),
					   .old_object = REF(cached_ref, e->old_object),
					   .object = REF(cached_ref, e->object) };
	f->gauge = queue_metrics_flight(q, cluster_event_label(e));
	if (f->gauge)
		metrics_gauge_add(f->gauge, 1);
	list_push_back(&q->events, &f->link);
	q->nevents++;
}

enum queue_wake queue_flight_worth(const struct podqueue *q, const struct queued_pod *p)
{
	enum queue_wake best;

	/* After an error nothing else would wake the pod, and the error may be temporary. */
	if (!p->rejectors)
		return WAKE_AFTER_BACKOFF;
	if (p->missed)
		return p->pending ? WAKE_NOW : WAKE_AFTER_BACKOFF;
	best = WAKE_NOT;
	for (struct list *it = q->events.prev; it != &q->events; it = it->prev) {
		const struct flight_event *f = LIST_ENTRY(it, struct flight_event, link);

		if (f->number < p->flight)
			break;
		best = MAX(best, queue_worth(p, &f->event));
		if (best == WAKE_NOW || (best == WAKE_AFTER_BACKOFF && !p->pending))
			break;
	}
	return best;
}
