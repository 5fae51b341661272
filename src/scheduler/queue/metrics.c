/*
 * Names, helps and labels are upstream's (pkg/scheduler/metrics), so that dashboards for it serve
 * here. How long hints take is not measured: the queue reads no clock.
 */
#include "scheduler/queue/podqueue_impl.h"

static const char *const places[QUEUE_IN_FLIGHT] = {
	[QUEUE_ACTIVE] = "active",
	[QUEUE_BACKOFF] = "backoff",
	[QUEUE_UNSCHEDULABLE] = "unschedulable",
	[QUEUE_GATED] = "gated",
};

static struct metrics_family *queue_metrics_family(struct metrics *m, const char *name,
						   const char *help, enum metrics_type type,
						   const char *const *labels, size_t n)
{
	struct metrics_spec spec = {
		.name = name, .help = help, .type = type, .labels = labels, .labels_n = n
	};
	struct metrics_family *f = NULL;

	(void)metrics_register(m, &spec, &f, NULL);
	return f;
}

void queue_metrics_init(struct podqueue_metrics *m, struct metrics *registry)
{
	static const char *const queue[] = { "queue" };
	static const char *const incoming[] = { "queue", "event" };
	static const char *const reasons[] = { "plugin", "profile" };
	static const char *const event[] = { "event" };
	struct metrics_family *pending;

	*m = (struct podqueue_metrics){ { NULL } };
	if (!registry)
		return;
	pending = queue_metrics_family(
		registry, "scheduler_pending_pods",
		"Number of pending pods, by the queue type. 'active' means number of pods in "
		"activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means "
		"number of pods in unschedulableEntities that the scheduler attempted to "
		"schedule and failed; 'gated' is the number of unschedulable pods that the "
		"scheduler never attempted to schedule because they are gated.",
		METRICS_GAUGE, queue, 1);
	for (unsigned i = QUEUE_ACTIVE; i < QUEUE_IN_FLIGHT; i++)
		m->pending[i] = metrics_gauge(pending, str_from(places[i]));
	m->incoming = queue_metrics_family(
		registry, "scheduler_queue_incoming_pods_total",
		"Number of pods added to scheduling queues by event and queue type.",
		METRICS_COUNTER, incoming, 2);
	m->reasons = queue_metrics_family(
		registry, "scheduler_unschedulable_pods",
		"The number of unschedulable pods broken down by plugin name. A pod will "
		"increment the gauge for all plugins that caused it to not schedule and so "
		"this metric have meaning only when broken down by plugin.",
		METRICS_GAUGE, reasons, 2);
	m->flight = queue_metrics_family(
		registry, "scheduler_inflight_events",
		"Number of events currently tracked in the scheduling queue.", METRICS_GAUGE, event,
		1);
	m->popped = metrics_gauge(m->flight, STR("PodPopped"));
}

void queue_metrics_place(struct podqueue *q, enum queue_place place, int by)
{
	if (q->metrics.popped && place == QUEUE_IN_FLIGHT)
		metrics_gauge_add(q->metrics.popped, by);
	else if (q->metrics.popped && place != QUEUE_NOWHERE)
		metrics_gauge_add(q->metrics.pending[place], by);
}

/* Upstream counts gated pods as incoming among the unschedulable. */
void queue_metrics_incoming(struct podqueue *q, enum queue_place place, const char *event)
{
	struct podqueue_metrics *m = &q->metrics;

	if (place == QUEUE_GATED)
		place = QUEUE_UNSCHEDULABLE;
	if (m->incoming)
		metrics_counter_add(
			metrics_counter(m->incoming, str_from(places[place]), str_from(event)), 1);
}

void queue_metrics_reasons(struct podqueue *q, struct queue_profile *view, uint64_t plugins, int by)
{
	if (!q->metrics.reasons)
		return;
	for (; plugins; plugins &= plugins - 1) {
		unsigned at = (unsigned)__builtin_ctzll(plugins);
		const struct plugin *p = &view->profile->plugins[at];

		if (!view->reasons[at])
			view->reasons[at] = metrics_gauge(q->metrics.reasons, str_from(p->name),
							  view->profile->name);
		metrics_gauge_add(view->reasons[at], by);
	}
}

struct metrics_gauge *queue_metrics_flight(struct podqueue *q, const char *event)
{
	return q->metrics.flight ? metrics_gauge(q->metrics.flight, str_from(event)) : NULL;
}
