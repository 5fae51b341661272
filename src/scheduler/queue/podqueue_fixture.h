/*
 * podqueue_fixture - a queue with a profile of plugins that wait for different things, for tests.
 */
#ifndef SCHEDULER_QUEUE_PODQUEUE_FIXTURE_H
#define SCHEDULER_QUEUE_PODQUEUE_FIXTURE_H

#include "scheduler/queue/podqueue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/informer/cached.h"
#include "scheduler/queue/podqueue_impl.h"

enum { GATE, FIT, CLAIM, NEVER, ANY, EXTENSION, PLUGINS };
enum { PODS = 24 };

struct world {
	struct amount_names names;
	struct profile profile;
	struct plugin plugins[PLUGINS + 1];
	struct podqueue *q;
	struct metrics *metrics;
	int64_t now;
	bool shut[PODS]; /* by the pod's number: gated, whatever its spec says */
	unsigned ready, hints;
};

/* --- plugins --------------------------------------------------------------------------------- */

static unsigned number_of(const struct podinfo *p)
{
	return (unsigned)strtoul(p->name.p + 1, NULL, 10);
}

static struct verdict gate(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	const struct world *w = p->state;

	if (pod->ngates || (number_of(pod) < PODS && w->shut[number_of(pod)]))
		return verdict_of(a, VERDICT_UNSCHEDULABLE, STR("gated"));
	return VERDICT_OK;
}

static enum event_hint gates_gone(const struct plugin *p, const struct podinfo *waiting,
				  const struct cluster_event *e)
{
	return e->pod && !e->pod->ngates ? HINT_QUEUE : HINT_SKIP;
}

static struct verdict accept(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	return VERDICT_OK;
}

/* A deleted pod helps waiting pods of the same priority. */
static enum event_hint same_priority(const struct plugin *p, const struct podinfo *waiting,
				     const struct cluster_event *e)
{
	((struct world *)p->state)->hints++;
	return e->old_pod->priority == waiting->priority ? HINT_QUEUE : HINT_SKIP;
}

static bool by_priority(const struct plugin *p, const struct queued_pod *a,
			const struct queued_pod *b)
{
	if (a->pod->priority != b->pod->priority)
		return a->pod->priority > b->pod->priority;
	return a->since_ms < b->since_ms;
}

static const struct plugin_event gate_events[] = {
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_GATES, .hint = gates_gone },
	{ .actions = 0 },
};
static const struct plugin_event fit_events[] = {
	{ .kind = EVENT_NODE, .actions = EVENT_ADD | EVENT_UPDATE_NODE_ALLOCATABLE },
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = same_priority },
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_SCALE_DOWN },
	{ .actions = 0 },
};
static const struct plugin_event claim_events[] = {
	{ .kind = EVENT_CLAIM, .actions = EVENT_ADD | EVENT_UPDATE },
	{ .actions = 0 },
};
static const struct plugin_event no_events[] = { { .actions = 0 } };
static const struct plugin_event extension_events[] = {
	{ .kind = EVENT_EXTENSION, .actions = EVENT_UPDATE, .extension = 7 },
	{ .actions = 0 },
};
static const struct plugin_kind kinds[] = {
	[GATE] = { .name = "Gate", .pre_enqueue = gate, .events = gate_events },
	[FIT] = { .name = "Fit", .filter = accept, .events = fit_events },
	[CLAIM] = { .name = "Claim", .filter = accept, .events = claim_events },
	[NEVER] = { .name = "Never", .filter = accept, .events = no_events },
	[ANY] = { .name = "Any", .filter = accept },
	[EXTENSION] = { .name = "Extension", .filter = accept, .events = extension_events },
	[PLUGINS] = { .name = "Sort", .less = by_priority },
};

#define BIT(plugin) (UINT64_C(1) << (plugin))

/* --- the world ------------------------------------------------------------------------------- */

static struct profile *profile_by_name(void *arg, struct str scheduler)
{
	struct world *w = arg;

	return str_eq(scheduler, w->profile.name) ? &w->profile : NULL;
}

static void on_ready(void *arg)
{
	((struct world *)arg)->ready++;
}

static int setup(void **state)
{
	struct world *w = XNEW(struct world);

	amount_names_init(&w->names);
	w->now = 1000000;
	w->metrics = metrics_new();
	for (unsigned i = 0; i <= PLUGINS; i++)
		w->plugins[i] = (struct plugin){
			.kind = &kinds[i], .name = kinds[i].name, .state = w, .at = i
		};
	w->profile = (struct profile){ .name = STR("default-scheduler"),
				       .plugins = w->plugins,
				       .n = PLUGINS + 1,
				       .pre_enqueue = { .at = { GATE }, .n = 1 },
				       .queue_sort = &w->plugins[PLUGINS] };
	w->q = podqueue_new(&(struct podqueue_opts){ .profile = profile_by_name,
						     .on_ready = on_ready,
						     .metrics = w->metrics,
						     .arg = w });
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	podqueue_free(w->q);
	metrics_free(w->metrics);
	amount_names_release(&w->names);
	free(w);
	return 0;
}

struct shape {
	int priority, cpu; /* thousandths; 0: 100 */
	bool gated, labelled;
	const char *nominated, *scheduler;
};

static struct podinfo *make_pod(struct world *w, unsigned number, struct shape s)
{
	struct arena a;
	struct podinfo *p = NULL;
	struct cached *o = NULL;
	struct error err = { 0 };
	char *text;

	arena_init(&a, SIZE_MAX);
	text = arena_printf(
		&a,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\","
		"\"name\":\"p%u\","
		"\"uid\":\"u%u\"%s},\"spec\":{\"schedulerName\":\"%s\",\"priority\":%d,%"
		"s\"containers\":[{"
		"\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%dm\"}}}]},"
		"\"status\":{\"phase\":\"Pending\",\"nominatedNodeName\":\"%s\"}}",
		number, number, s.labelled ? ",\"labels\":{\"a\":\"b\"}" : "",
		s.scheduler ? s.scheduler : "default-scheduler", s.priority,
		s.gated ? "\"schedulingGates\":[{\"name\":\"g\"}]," : "", s.cpu ? s.cpu : 100,
		s.nominated ? s.nominated : "");
	assert_int_equal(cached_new(str_from(text), NULL, &o, &err), 0);
	if (podinfo_new(o, &w->names, &p, &err) < 0)
		fail_msg("%s", err.msg);
	cached_unref(o);
	arena_release(&a);
	return p;
}

static void add(struct world *w, unsigned number, struct shape s)
{
	CLEANUP(podinfo_unref) struct podinfo *p = make_pod(w, number, s);

	podqueue_add(w->q, p, w->now);
}

static void update(struct world *w, unsigned number, struct shape s)
{
	CLEANUP(podinfo_unref) struct podinfo *p = make_pod(w, number, s);

	podqueue_update(w->q, NULL, p, w->now);
}

static struct str uid_of(unsigned number, char room[16])
{
	int n = snprintf(room, 16, "u%u", number);

	return str_of(room, (size_t)n);
}

static struct queued_pod *find(struct world *w, unsigned number)
{
	char room[16];

	return podqueue_find(w->q, uid_of(number, room));
}

static enum queue_place place_of(struct world *w, unsigned number)
{
	struct queued_pod *p = find(w, number);

	return p ? p->place : QUEUE_NOWHERE;
}

static UNUSED struct queued_pod *pop(struct world *w, unsigned number)
{
	struct queued_pod *p = podqueue_pop(w->q, w->now);

	assert_non_null(p);
	assert_int_equal(number_of(p->pod), number);
	assert_int_equal(p->place, QUEUE_IN_FLIGHT);
	return p;
}

static void give_back(struct world *w, struct queued_pod *p, uint64_t rejectors)
{
	p->rejectors = rejectors;
	podqueue_return(w->q, p, w->now);
}

/* Adds a pod that was tried and rejected. */
static UNUSED void rejected(struct world *w, unsigned number, struct shape s, uint64_t rejectors)
{
	add(w, number, s);
	give_back(w, pop(w, number), rejectors);
}

static UNUSED void tell(struct world *w, enum event_kind kind, unsigned actions)
{
	podqueue_event(w->q, &(struct cluster_event){ .kind = kind, .actions = actions }, w->now);
}

static void pass(struct world *w, int64_t ms)
{
	w->now += ms;
	podqueue_tick(w->q, w->now);
}

#endif
