/* What /metrics tells of the state, with upstream's names where it has one. */
#include <stdio.h>

#include "base/metrics.h"
#include "server/state_impl.h"

/* "pods", "resourceclaims.resource.k8s.io": as upstream labels storage. */
static struct str storage_label(const struct schema_kind *k, char *buffer, size_t size)
{
	int n = snprintf(buffer, size, k->group.n ? "%.*s.%.*s" : "%.*s%.*s", STR_ARG(k->resource),
			 STR_ARG(k->group));

	return str_of(buffer, MIN((size_t)MAX(n, 0), size - 1));
}

static struct metrics_family *family(struct metrics *m, const char *name, const char *help,
				     enum metrics_type type, const char *const *labels, size_t n)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(
		m,
		&(struct metrics_spec){
			.name = name, .help = help, .type = type, .labels = labels, .labels_n = n },
		&f, NULL);
	return f;
}

static void add_own(struct state *st, struct metrics *m)
{
	struct metrics_family *f = family(m, "devplane_committed_revision",
					  "Revision that every read and watch has reached.",
					  METRICS_GAUGE, NULL, 0);

	if (f)
		st->revision_gauge = metrics_gauge_of(f, NULL, 0);
	f = family(m, "apiserver_storage_decode_errors_total",
		   "Stored values that are no object of their resource.", METRICS_COUNTER, NULL, 0);
	if (f)
		st->damaged_counter = metrics_counter_of(f, NULL, 0);
}

void state_metrics_add(struct state *st, struct metrics *m)
{
	static const char *const by_resource[] = { "resource" };
	static const char *const by_group[] = { "group", "resource" };
	struct metrics_family *objects, *events, *revision;

	objects = family(m, "apiserver_storage_objects", "Objects stored, by resource.",
			 METRICS_GAUGE, by_resource, 1);
	events = family(m, "apiserver_watch_cache_events_received_total",
			"Events that came from the store, by resource.", METRICS_COUNTER, by_group,
			2);
	revision = family(m, "apiserver_watch_cache_resource_version",
			  "Revision of the last change, by resource.", METRICS_GAUGE, by_group, 2);
	if (!objects || !events || !revision)
		return;
	add_own(st, m);
	for (size_t i = 0; i < st->nresources; i++) {
		struct resource *r = &st->resources[i];
		char name[256];
		struct str label = storage_label(r->kind, name, sizeof(name));

		r->objects_gauge = metrics_gauge(objects, label);
		r->events_counter = metrics_counter(events, r->kind->group, r->kind->resource);
		r->revision_gauge = metrics_gauge(revision, r->kind->group, r->kind->resource);
	}
}
