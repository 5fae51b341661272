/*
 * The queue at random against a model that walks everything: no pod is lost, no event missed, the
 * order kept.
 */
#include "base/core/random.h"
#include "scheduler/queue/podqueue_fixture.h"

enum { MODEL_EVENTS = 4000 };

/* The queue as one would explain it: a list of pods and a list of all that ever happened. */
struct model_pod {
	bool there, deleted, settled, pending, error;
	enum queue_place place;
	struct shape shape, newest; /* newest: with updates while in flight */
	int64_t since, until, flushed;
	uint64_t rejectors, order;
	unsigned failures, errors;
	size_t popped; /* number of events before the pop */
};

struct model_event {
	enum event_kind kind;
	unsigned actions;
	int priority; /* of the pod that went */
	int self; /* number of the pod that changed itself, or is activated; -1 */
};

struct model {
	struct model_pod pods[PODS];
	struct model_event events[MODEL_EVENTS];
	size_t nevents;
	uint64_t order;
};

static bool model_matches(const struct model_pod *p, unsigned number, const struct model_event *e)
{
	if (!p->rejectors)
		return true;
	if (e->self >= 0 && e->self != (int)number)
		return false;
	if (e->kind == EVENT_WILDCARD)
		return true;
	if (p->rejectors & BIT(ANY))
		return true;
	if ((p->rejectors & BIT(CLAIM)) && e->kind == EVENT_CLAIM && !(e->actions & EVENT_DELETE))
		return true;
	if ((p->rejectors & BIT(GATE)) && e->kind == EVENT_UNSCHEDULED_POD &&
	    (e->actions & EVENT_UPDATE_POD_GATES))
		return true;
	if (!(p->rejectors & BIT(FIT)))
		return false;
	return (e->kind == EVENT_NODE && (e->actions & EVENT_ADD)) ||
	       (e->kind == EVENT_ASSIGNED_POD && e->priority == p->shape.priority) ||
	       (e->kind == EVENT_UNSCHEDULED_POD && (e->actions & EVENT_UPDATE_POD_SCALE_DOWN));
}

static bool model_gated(struct world *w, struct model_pod *p, unsigned number)
{
	if (!p->shape.gated && !w->shut[number])
		return false;
	p->rejectors |= BIT(GATE);
	p->place = QUEUE_GATED;
	return true;
}

static bool model_backing_off(const struct model_pod *p, int64_t now)
{
	return (p->failures || p->errors) && p->until >= now / 1000 * 1000;
}

static void model_wake(struct world *w, struct model_pod *p, unsigned number, bool at_once)
{
	bool back_off = !at_once && model_backing_off(p, w->now);

	if (!model_gated(w, p, number))
		p->place = back_off ? QUEUE_BACKOFF : QUEUE_ACTIVE;
}

static void model_event(struct world *w, struct model *m, struct model_event e)
{
	for (unsigned i = 0; i < PODS; i++) {
		struct model_pod *p = &m->pods[i];
		bool gated = p->place == QUEUE_GATED;

		if (!p->there || (p->place != QUEUE_UNSCHEDULABLE && !gated))
			continue;
		if (gated && e.self < 0 && e.kind != EVENT_WILDCARD)
			continue;
		if (model_matches(p, i, &e))
			model_wake(w, p, i, p->pending && e.kind != EVENT_WILDCARD);
	}
	assert_true(m->nevents < MODEL_EVENTS);
	m->events[m->nevents++] = e;
}

static void model_return(struct world *w, struct model *m, unsigned number)
{
	struct model_pod *p = &m->pods[number];
	bool woken = false, at_once = false;
	unsigned n;

	if (p->deleted) {
		p->there = false;
		return;
	}
	p->shape = p->newest;
	p->error = !p->rejectors;
	n = p->error ? ++p->errors : ++p->failures;
	if (!p->error)
		p->errors = 0;
	p->since = w->now;
	p->order = m->order++;
	p->flushed = 0;
	p->until = (w->now + MIN(INT64_C(1000) << MIN(n - 1, 20), 10000)) / 1000 * 1000;
	p->place = QUEUE_UNSCHEDULABLE;
	if (p->error || p->settled) {
		model_wake(w, p, number, p->settled && p->pending);
		return;
	}
	/* A pending pod is woken at once by its plugin's event, after back-off by force. */
	for (size_t i = p->popped; i < m->nevents; i++) {
		if (!model_matches(p, number, &m->events[i]))
			continue;
		woken = true;
		at_once |= p->pending && m->events[i].kind != EVENT_WILDCARD;
	}
	if (woken)
		model_wake(w, p, number, at_once);
}

static void model_tick(struct world *w, struct model *m)
{
	for (unsigned i = 0; i < PODS; i++) {
		struct model_pod *p = &m->pods[i];

		if (!p->there)
			continue;
		if (p->place == QUEUE_BACKOFF && !model_backing_off(p, w->now))
			p->place = QUEUE_ACTIVE;
		if ((p->place == QUEUE_UNSCHEDULABLE || p->place == QUEUE_GATED) &&
		    MAX(p->since, p->flushed) + 300000 <= w->now) {
			p->flushed = w->now;
			model_wake(w, p, i, false);
		}
	}
}

/* Returns the pod to be popped, or -1. */
static int model_first(const struct model *m)
{
	int best = -1;

	for (int i = 0; i < PODS; i++) {
		const struct model_pod *p = &m->pods[i], *b = best < 0 ? NULL : &m->pods[best];
		bool backoff = p->place == QUEUE_BACKOFF && p->rejectors;

		if (!p->there || (p->place != QUEUE_ACTIVE && !backoff))
			continue;
		if (!b || (b->place == QUEUE_BACKOFF && !backoff)) {
			best = i;
			continue;
		}
		if (backoff && b->place == QUEUE_ACTIVE)
			continue;
		if (backoff && p->until != b->until) {
			best = p->until < b->until ? i : best;
			continue;
		}
		if (p->shape.priority != b->shape.priority)
			best = p->shape.priority > b->shape.priority ? i : best;
		else if (p->order < b->order)
			best = i;
	}
	return best;
}

static int64_t model_next_tick(const struct model *m)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (p->there && p->place == QUEUE_BACKOFF)
			next = MIN(next, p->until + 1000);
		if (p->there && (p->place == QUEUE_UNSCHEDULABLE || p->place == QUEUE_GATED))
			next = MIN(next, MAX(p->since, p->flushed) + 300000);
	}
	return next;
}

static void compare(struct world *w, const struct model *m, unsigned step)
{
	for (unsigned i = 0; i < PODS; i++) {
		const struct model_pod *p = &m->pods[i];
		enum queue_place want = p->there ? p->place : QUEUE_NOWHERE;

		if (place_of(w, i) != want)
			fail_msg("step %u: pod %u is in %d, not %d", step, i, place_of(w, i), want);
		if (p->there && p->place != QUEUE_IN_FLIGHT)
			assert_int_equal(find(w, i)->rejectors, p->rejectors);
	}
	assert_int_equal(podqueue_next_tick(w->q), model_next_tick(m));
}

static void step_event(struct world *w, struct model *m, struct prng *g)
{
	CLEANUP(podinfo_unref) struct podinfo *gone = NULL;
	static const enum event_kind which[] = { EVENT_NODE, EVENT_ASSIGNED_POD, EVENT_CLAIM,
						 EVENT_PV, EVENT_WILDCARD };
	struct model_event e = { .kind = which[prng_below(g, 5)],
				 .priority = (int)prng_below(g, 3),
				 .self = -1 };
	struct cluster_event real = { .kind = e.kind };

	if (e.kind == EVENT_WILDCARD && prng_below(g, 4))
		return;
	e.actions = e.kind == EVENT_ASSIGNED_POD ? EVENT_DELETE
		    : prng_below(g, 2)           ? EVENT_ADD
						 : EVENT_DELETE;
	if (e.kind == EVENT_WILDCARD)
		e.actions = EVENT_ALL;
	real.actions = e.actions;
	gone = make_pod(w, 99, (struct shape){ .priority = e.priority });
	if (e.kind == EVENT_ASSIGNED_POD)
		real.old_pod = gone;
	podqueue_event(w->q, &real, w->now);
	model_event(w, m, e);
}

static void step_update(struct world *w, struct model *m, unsigned number, struct prng *g)
{
	struct model_pod *p = &m->pods[number];
	struct shape s = p->newest;
	struct model_event e = { .kind = EVENT_UNSCHEDULED_POD, .self = (int)number };

	if (prng_below(g, 2))
		s.cpu = 100 + (int)prng_below(g, 5) * 100;
	else
		s.gated = false;
	e.actions = s.cpu < p->newest.cpu ? EVENT_UPDATE_POD_SCALE_DOWN : EVENT_UPDATE_OTHER;
	if (p->newest.gated && !s.gated)
		e.actions = EVENT_UPDATE_POD_GATES;
	update(w, number, s);
	p->newest = s;
	if (p->place != QUEUE_IN_FLIGHT)
		p->shape = s;
	model_event(w, m, e);
}

static void step_add(struct world *w, struct model *m, unsigned number, struct prng *g)
{
	struct shape s = { .priority = (int)prng_below(g, 3),
			   .cpu = 300,
			   .gated = !prng_below(g, 6) };

	w->shut[number] = false;
	m->pods[number] = (struct model_pod){
		.there = true, .shape = s, .newest = s, .since = w->now, .order = m->order++
	};
	add(w, number, s);
	if (!model_gated(w, &m->pods[number], number))
		m->pods[number].place = QUEUE_ACTIVE;
}

static void step_pop(struct world *w, struct model *m)
{
	struct queued_pod *p = podqueue_pop(w->q, w->now);
	int want = model_first(m);

	assert_int_equal(p ? (int)number_of(p->pod) : -1, want);
	if (!p)
		return;
	m->pods[want].place = QUEUE_IN_FLIGHT;
	m->pods[want].popped = m->nevents;
	m->pods[want].rejectors = 0;
	m->pods[want].pending = m->pods[want].settled = false;
}

static void step_land(struct world *w, struct model *m, unsigned number, struct prng *g)
{
	static const uint64_t sets[] = {
		0, BIT(FIT), BIT(CLAIM), BIT(NEVER), BIT(FIT) | BIT(CLAIM), BIT(ANY)
	};
	struct queued_pod *q = find(w, number);
	struct model_pod *p = &m->pods[number];
	uint64_t what = prng_below(g, 12);

	if (what == 0) {
		podqueue_done(w->q, q);
		p->there = false;
		return;
	}
	if (what == 1) {
		podqueue_settle(w->q, q);
		p->settled = true;
		return;
	}
	p->rejectors = sets[prng_below(g, ARRAY_SIZE(sets))];
	p->pending = p->rejectors && !prng_below(g, 5);
	q->pending = p->pending;
	give_back(w, q, p->rejectors);
	model_return(w, m, number);
}

static void step_activate(struct world *w, struct model *m, unsigned number)
{
	struct model_pod *p = &m->pods[number];
	char room[16];

	podqueue_activate(w->q, uid_of(number, room), w->now);
	if (p->place == QUEUE_IN_FLIGHT)
		m->events[m->nevents++] = (struct model_event){ .kind = EVENT_WILDCARD,
								.self = (int)number };
	else if (p->place == QUEUE_BACKOFF || !model_gated(w, p, number))
		p->place = QUEUE_ACTIVE;
}

static void step_remove(struct world *w, struct model *m, unsigned number)
{
	struct model_pod *p = &m->pods[number];
	char room[16];

	podqueue_remove(w->q, uid_of(number, room));
	if (p->place == QUEUE_IN_FLIGHT)
		p->deleted = true;
	else
		p->there = false;
}

static void step(struct world *w, struct model *m, struct prng *g)
{
	unsigned number = (unsigned)prng_below(g, PODS);
	struct model_pod *p = &m->pods[number];
	uint64_t what = prng_below(g, 20);

	if (what < 5)
		step_pop(w, m);
	else if (what < 9)
		step_event(w, m, g);
	else if (what == 9)
		pass(w, prng_below(g, 40) ? (int64_t)prng_below(g, 1500) : 200000),
			model_tick(w, m);
	else if (!p->there)
		step_add(w, m, number, g);
	else if (what == 10)
		step_remove(w, m, number);
	else if (what == 11)
		w->shut[number] = !w->shut[number];
	else if (what == 12 && p->place != QUEUE_ACTIVE)
		step_activate(w, m, number);
	else if (what < 15 && !p->settled)
		step_update(w, m, number, g);
	else if (p->place == QUEUE_IN_FLIGHT)
		step_land(w, m, number, g);
}

static void any_course_of_events_goes_as_the_model_says(void **state)
{
	struct model *m = xcalloc(1, sizeof(*m));

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world *w;
		struct prng g;

		*m = (struct model){ .nevents = 0 };
		prng_init(&g, seed);
		setup(state);
		w = *state;
		for (unsigned i = 0; i < 3000; i++) {
			step(w, m, &g);
			compare(w, m, i);
		}
		teardown(state);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_course_of_events_goes_as_the_model_says),
	};

	return cmocka_run_group_tests_name("podqueue_model", tests, NULL, NULL);
}
