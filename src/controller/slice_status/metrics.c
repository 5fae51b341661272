/*
 * Each driver has a list of states that are out of date, oldest first; the metric shows the first.
 * There are few drivers, and they are kept.
 */
#include "controller/slice_status/metrics.h"

#include "base/core/mem.h"
#include "base/report/metrics.h"

enum { TICK_MS = 1000 };

struct slice_status_driver {
	struct list waiting; /* struct slice_state */
	struct metrics_gauge *gauge;
	struct str name;
	char text[];
};

static struct metrics_family *slice_status_metrics_family(struct metrics *m,
							  const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(m, spec, &f, NULL);
	return f;
}

static void metrics_tick(struct loop_timer *t)
{
	struct slice_status_metrics *m = CONTAINER_OF(t, struct slice_status_metrics, tick);
	int64_t now = loop_now(m->loop);
	bool any = false;
	struct str name;
	size_t at = 0;
	void *v;

	while (map_next(&m->drivers, &at, &name, &v)) {
		struct slice_status_driver *d = v;
		int64_t since = now;

		if (!list_empty(&d->waiting)) {
			since = LIST_ENTRY(d->waiting.next, struct slice_state, link)->since;
			any = true;
		}
		metrics_gauge_set(d->gauge, (double)(now - since) / 1000);
	}
	if (any)
		loop_timer_start(&m->tick, TICK_MS);
}

static void register_writes(struct slice_status_metrics *m, struct metrics *metrics)
{
	static const double bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
					 0.25,  0.5,    1,     2.5,  5,     10,   30 };
	static const char *const by_reason[] = { "reason" };
	struct metrics_family *errors;

	m->durations = metrics_histogram_of(
		slice_status_metrics_family(
			metrics,
			&(struct metrics_spec){
				.name = "dra_resourceslice_status_update_duration_seconds",
				.help = "Time from when a ResourceSlice's status became out of "
					"date "
					"until it was written.",
				.type = METRICS_HISTOGRAM,
				.bounds = bounds,
				.bounds_n = ARRAY_SIZE(bounds) }),
		NULL, 0);
	errors = slice_status_metrics_family(
		metrics,
		&(struct metrics_spec){ .name = "dra_resourceslice_status_update_errors_total",
					.help = "Writes of a ResourceSlice's status that failed.",
					.type = METRICS_COUNTER,
					.labels = by_reason,
					.labels_n = ARRAY_SIZE(by_reason) });
	m->conflicts = metrics_counter(errors, STR("conflict"));
	m->errors = metrics_counter(errors, STR("error"));
}

void slice_status_metrics_init(struct slice_status_metrics *m, struct metrics *metrics,
			       struct loop *loop)
{
	static const char *const by_driver[] = { "driver" };
	static const char *const by_pool[] = { "driver", "pool" };

	*m = (struct slice_status_metrics){ .loop = loop };
	map_init(&m->drivers);
	loop_timer_init(&m->tick, loop, metrics_tick);
	if (!metrics)
		return;
	register_writes(m, metrics);
	m->looks = metrics_counter_of(
		slice_status_metrics_family(
			metrics,
			&(struct metrics_spec){
				.name = "dra_resourceslice_status_controller_sync_total",
				.help = "Checks of whether a ResourceSlice's status is up to date.",
				.type = METRICS_COUNTER }),
		NULL, 0);
	m->claims = metrics_gauge_of(
		slice_status_metrics_family(
			metrics,
			&(struct metrics_spec){ .name = "dra_resourceslice_claims_tracked_total",
						.help = "ResourceClaims that hold devices.",
						.type = METRICS_GAUGE }),
		NULL, 0);
	m->stale = slice_status_metrics_family(
		metrics, &(struct metrics_spec){
				 .name = "dra_resourceslice_status_staleness_seconds",
				 .help = "Age of the driver's oldest pending ResourceSlice status "
					 "update; 0 if all are current.",
				 .type = METRICS_GAUGE,
				 .labels = by_driver,
				 .labels_n = ARRAY_SIZE(by_driver) });
	m->faults = slice_status_metrics_family(
		metrics, &(struct metrics_spec){ .name = "dra_pool_validation_errors_total",
						 .help = "Current validation errors of a pool.",
						 .type = METRICS_GAUGE,
						 .labels = by_pool,
						 .labels_n = ARRAY_SIZE(by_pool) });
}

void slice_status_metrics_release(struct slice_status_metrics *m)
{
	struct str key;
	size_t at = 0;
	void *v;

	loop_timer_stop(&m->tick);
	while (map_next(&m->drivers, &at, &key, &v)) {
		metrics_gauge_set(((struct slice_status_driver *)v)->gauge, 0);
		free(v);
	}
	map_release(&m->drivers);
	slice_status_metrics_claims(m, 0);
}

/* --- staleness ------------------------------------------------------------------------------- */

static struct slice_status_driver *need_driver(struct slice_status_metrics *m, struct str name)
{
	struct slice_status_driver *d = map_get(&m->drivers, name);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + name.n + 1);
	str_put(d->text, name);
	d->name = str_of(d->text, name.n);
	d->gauge = metrics_gauge(m->stale, d->name);
	list_init(&d->waiting);
	(void)map_put(&m->drivers, d->name, d);
	return d;
}

void slice_status_metrics_add(struct slice_status_metrics *m, struct slice_state *st,
			      const struct cached *slice)
{
	list_init(&st->link);
	if (m->stale)
		st->driver = need_driver(m, cached_field(slice, "spec.driver", NULL));
}

void slice_status_metrics_since(struct slice_status_metrics *m, struct slice_state *st)
{
	struct list *at;

	if (!st->driver)
		return;
	list_remove(&st->link);
	if (st->since < 0)
		return;
	/* Time only grows: nearly always this is the last place. */
	at = st->driver->waiting.prev;
	while (at != &st->driver->waiting &&
	       LIST_ENTRY(at, struct slice_state, link)->since > st->since)
		at = at->prev;
	list_insert_after(at, &st->link);
	if (!loop_timer_running(&m->tick))
		loop_timer_start(&m->tick, TICK_MS);
}

/* --- faults ---------------------------------------------------------------------------------- */

/* Summed up, because pools may share a series. */
void slice_status_metrics_faults(struct slice_status_metrics *m, struct slice_status_faults *f,
				 struct str pool, size_t n)
{
	struct str driver;

	if (!m->faults || n == f->n)
		return;
	if (!f->gauge) {
		(void)str_split(&pool, '/', &driver);
		f->gauge = metrics_gauge(m->faults, driver, pool);
	}
	metrics_gauge_add(f->gauge, (double)n - (double)f->n);
	f->n = n;
}

void slice_status_metrics_forget(struct slice_status_metrics *m UNUSED, struct slice_state *st)
{
	list_remove(&st->link);
}

/* --- the rest -------------------------------------------------------------------------------- */

void slice_status_metrics_look(struct slice_status_metrics *m)
{
	if (m->looks)
		metrics_counter_add(m->looks, 1);
}

void slice_status_metrics_claims(struct slice_status_metrics *m, size_t claims)
{
	if (m->claims)
		metrics_gauge_set(m->claims, (double)claims);
}

void slice_status_metrics_write(struct slice_status_metrics *m, int64_t ms, const struct error *err)
{
	if (!m->looks)
		return;
	if (!err)
		metrics_histogram_observe(m->durations, (double)ms / 1000);
	else
		metrics_counter_add(err->code == ERR_CONFLICT ? m->conflicts : m->errors, 1);
}
