/*
 * The set of informers of a role, and their metrics, under client-go's names where it has them.
 * There are a few dozen informers, so a linear search is enough.
 */
#include "base/core/mem.h"
#include "client/informer/informer_impl.h"

struct informers *informers_new(struct client *c, struct metrics *metrics)
{
	struct informers *s = XNEW(struct informers);

	s->client = c;
	s->metrics = metrics;
	list_init(&s->all);
	return s;
}

void informers_free(struct informers *s)
{
	if (!s)
		return;
	while (!list_empty(&s->all))
		informer_free(LIST_ENTRY(s->all.next, struct informer, link));
	free(s);
}

void informers_trim(struct informers *s, const struct resource *what,
		    const struct cached_trim *trim)
{
	s->trimmed = *what;
	s->trim = trim;
}

static struct informer *informers_find(struct informers *s, const struct informer_spec *spec)
{
	LIST_FOREACH (it, &s->all) {
		struct informer *i = LIST_ENTRY(it, struct informer, link);

		if (informer_is(i, spec))
			return i;
	}
	return NULL;
}

/* A copy of whole objects has their metadata, too. */
static struct informer *find_whole(struct informers *s, const struct informer_spec *spec)
{
	struct informer_spec whole = *spec;
	struct informer *i;

	whole.metadata_only = false;
	i = informers_find(s, &whole);
	if (i || !spec->slim)
		return i;
	whole.slim = false;
	return informers_find(s, &whole);
}

struct informer *informers_get(struct informers *s, const struct informer_spec *spec)
{
	struct informer *i = informers_find(s, spec);

	if (!i && spec->metadata_only)
		i = find_whole(s, spec);
	if (i)
		return i;
	i = informer_new(s, spec);
	if (s->started)
		reflector_start(&i->reflector);
	return i;
}

void informers_start(struct informers *s)
{
	s->started = true;
	LIST_FOREACH (it, &s->all)
		reflector_start(&LIST_ENTRY(it, struct informer, link)->reflector);
}

void informers_stop(struct informers *s)
{
	s->started = false;
	LIST_FOREACH (it, &s->all)
		reflector_stop(&LIST_ENTRY(it, struct informer, link)->reflector);
}

bool informers_synced(const struct informers *s)
{
	LIST_FOREACH (it, &s->all)
		if (!LIST_ENTRY(it, struct informer, link)->synced)
			return false;
	return true;
}

void informers_drop(struct informers *s UNUSED, struct informer *i)
{
	if (list_empty(&i->handlers))
		informer_free(i);
}

/* --- metrics --------------------------------------------------------------------------- */

static struct str metrics_name(struct informer *i)
{
	const struct reflector *r = &i->reflector;

	return str_from(arena_printf(&i->arena, "%.*s%s%.*s%s%.*s%s%.*s%s%.*s",
				     STR_ARG(i->resource.resource), i->resource.group.n ? "." : "",
				     STR_ARG(i->resource.group), r->ns.n ? "/" : "", STR_ARG(r->ns),
				     r->label_selector.n ? "," : "", STR_ARG(r->label_selector),
				     r->field_selector.n ? "," : "", STR_ARG(r->field_selector)));
}

static struct metrics_family *informers_family(struct informer *i, const char *name,
					       const char *help, enum metrics_type type)
{
	static const char *const labels[] = { "name" };
	struct metrics_spec spec = { .name = name,
				     .help = help,
				     .type = type,
				     .labels = labels,
				     .labels_n = ARRAY_SIZE(labels) };
	struct metrics_family *f = NULL;

	(void)metrics_register(i->set->metrics, &spec, &f, NULL);
	return f;
}

static struct metrics_counter *counter(struct informer *i, const char *name, const char *help,
				       struct str label)
{
	struct metrics_family *f = informers_family(i, name, help, METRICS_COUNTER);

	return f ? metrics_counter(f, label) : NULL;
}

static struct metrics_gauge *gauge(struct informer *i, const char *name, const char *help,
				   struct str label)
{
	struct metrics_family *f = informers_family(i, name, help, METRICS_GAUGE);

	return f ? metrics_gauge(f, label) : NULL;
}

void informer_metrics_init(struct informer *i)
{
	struct informer_metrics *m = &i->metrics;
	struct str name;

	if (!i->set->metrics)
		return;
	name = metrics_name(i);
	m->lists = counter(i, "reflector_lists_total",
			   "List requests started, not counting further pages.", name);
	m->watches = counter(i, "reflector_watches_total", "Watch requests started.", name);
	m->events = counter(i, "reflector_watch_events_total", "Watch events received.", name);
	m->rv = gauge(i, "reflector_last_resource_version", "Last resourceVersion received.", name);
	m->objects = gauge(i, "informer_objects", "Objects in the informer's cache.", name);
	m->bytes = gauge(i, "informer_object_bytes", "Size of the cached objects, in bytes.", name);
}

void informer_metrics_update(struct informer *i)
{
	struct informer_metrics *m = &i->metrics;

	if (!m->rv || !m->objects || !m->bytes || !m->events)
		return;
	metrics_gauge_set(m->rv, (double)i->revision);
	metrics_gauge_set(m->objects, (double)cache_count(&i->cache));
	metrics_gauge_set(m->bytes, (double)i->cache.bytes);
	metrics_counter_add(m->events, i->reflector.events - i->counted);
	i->counted = i->reflector.events;
}
