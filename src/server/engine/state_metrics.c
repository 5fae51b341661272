/*
 * Metrics of the state, with upstream's names where they exist.
 */
#include <stdio.h>

#include "base/report/metrics.h"
#include "server/engine/sequencer.h"

/* The storage label as upstream has it: "pods", "resourceclaims.resource.k8s.io". */
static struct str storage_label(const struct schema_kind *k, char *buffer, size_t size)
{
	int n = snprintf(buffer, size, k->group.n ? "%.*s.%.*s" : "%.*s%.*s", STR_ARG(k->resource),
			 STR_ARG(k->group));

	return str_of(buffer, MIN((size_t)MAX(n, 0), size - 1));
}

static struct metrics_family *state_metrics_family(struct metrics *m, const char *name,
						   const char *help, enum metrics_type type,
						   const char *const *labels, size_t n)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(
		m,
		&(struct metrics_spec){
			.name = name, .help = help, .type = type, .labels = labels, .labels_n = n },
		&f, NULL);
	return f;
}

void state_metrics_add(struct state *st)
{
	static const char *const by_resource[] = { "resource" };
	static const char *const by_group[] = { "group", "resource" };
	struct metrics *m = st->opts.metrics;
	struct metrics_family *f;

	if (!m)
		return;
	st->objects_family = state_metrics_family(m, "apiserver_storage_objects",
						  "Objects stored, by resource.", METRICS_GAUGE,
						  by_resource, 1);
	st->events_family = state_metrics_family(m, "apiserver_watch_cache_events_received_total",
						 "Events received from the store, by resource.",
						 METRICS_COUNTER, by_group, 2);
	st->revision_family = state_metrics_family(m, "apiserver_watch_cache_resource_version",
						   "Revision of the last change, by resource.",
						   METRICS_GAUGE, by_group, 2);
	f = state_metrics_family(m, "devplane_committed_revision",
				 "Committed revision, which reads and watches see.", METRICS_GAUGE,
				 NULL, 0);
	st->revision_gauge = f ? metrics_gauge_of(f, NULL, 0) : NULL;
	f = state_metrics_family(
		m, "apiserver_storage_decode_errors_total",
		"Stored values that could not be decoded as an object of their resource.",
		METRICS_COUNTER, NULL, 0);
	st->damaged_counter = f ? metrics_counter_of(f, NULL, 0) : NULL;
	f = state_metrics_family(m, "devplane_watch_evaluations_total",
				 "Evaluations of a watch's selectors for an event's object.",
				 METRICS_COUNTER, NULL, 0);
	st->evaluations_counter = f ? metrics_counter_of(f, NULL, 0) : NULL;
}

void state_metrics_add_resource(struct resource *r)
{
	const struct state *st = r->state;
	const struct schema_kind *k = r->kind;
	char name[512];

	if (!st->objects_family || !st->events_family || !st->revision_family)
		return;
	r->objects_gauge = metrics_gauge(st->objects_family, storage_label(k, name, sizeof(name)));
	r->events_counter = metrics_counter(st->events_family, k->group, k->resource);
	r->revision_gauge = metrics_gauge(st->revision_family, k->group, k->resource);
}
