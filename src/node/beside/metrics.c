/*
 * The health of a device is a label, so that a query can count devices by health. Series of a pod
 * are exported again only if they differ.
 */
#include "base/core/mem.h"
#include "base/report/log.h"
#include "node/beside/beside_impl.h"
#include "node/node_limits.h"

static struct metrics_family *beside_family(struct beside *b, enum metrics_type type,
					    const char *name, const char *help,
					    const char *const *labels, size_t n)
{
	struct metrics_spec spec = {
		.name = name, .help = help, .type = type, .labels = labels, .labels_n = n
	};
	struct metrics_family *f = NULL;

	return metrics_register(b->opts.metrics, &spec, &f, NULL) < 0 ? NULL : f;
}

static struct metrics_gauge *beside_gauge(struct beside *b, const char *name, const char *help)
{
	struct metrics_family *f = beside_family(b, METRICS_GAUGE, name, help, NULL, 0);

	return f ? metrics_gauge_of(f, NULL, 0) : NULL;
}

void beside_metrics_init(struct beside *b)
{
	static const char *const device[] = { "namespace", "pod",    "driver",
					      "pool",      "device", "health" };
	static const char *const both[] = { "kubelet", "driver" };
	struct beside_metrics *m = &b->metrics;
	struct metrics_family *f;

	if (!b->opts.metrics)
		return;
	f = beside_family(b, METRICS_COUNTER, "devplane_node_device_health_changes_total",
			  "Changes of device health that device plugins and DRA drivers reported.",
			  NULL, 0);
	m->changes = f ? metrics_counter_of(f, NULL, 0) : NULL;
	m->health = beside_family(b, METRICS_GAUGE, "devplane_attach_device_health",
				  "1 for each device of a pod, with its health as a label.", device,
				  ARRAY_SIZE(device));
	m->left_out = beside_gauge(b, "devplane_attach_device_health_left_out",
				   "Devices of pods without a series, because there are too many.");
	m->differences = beside_family(b, METRICS_COUNTER,
				       "devplane_attach_health_differences_total",
				       "Reports of device health by the kubelet that differed from "
				       "the driver's for longer than the grace period.",
				       both, ARRAY_SIZE(both));
	m->differs = beside_gauge(b, "devplane_attach_health_differs",
				  "Devices of pods whose health the kubelet reports differently "
				  "now.");
}

/* --- devices --------------------------------------------------------------------------------- */

static struct beside_series series_of(const struct beside *b, const struct assign_use *u)
{
	const struct assign_claim_device *c = &u->device;
	struct health_device d;
	struct beside_series s = { .driver = u->resource,
				   .device = u->id,
				   .health = ASSIGN_UNKNOWN };

	if (u->pod_claim.n == 0) {
		(void)assign_device_health(b->assign, u->resource, u->id, &s.health, NULL);
		return s;
	}
	(void)health_get(b->health, c->driver, c->pool, c->device, &d);
	return (struct beside_series){ c->driver, c->pool, c->device, d.health };
}

static bool same_series(const struct beside_pod *p, const struct beside_series *v, size_t n)
{
	bool same = p->nseries == n;

	for (size_t i = 0; same && i < n; i++)
		same = p->series[i].health == v[i].health &&
		       str_eq(p->series[i].driver, v[i].driver) &&
		       str_eq(p->series[i].pool, v[i].pool) &&
		       str_eq(p->series[i].device, v[i].device);
	return same;
}

static void series_remove(struct beside_metrics *m, struct beside_pod *p)
{
	for (size_t i = 0; i < p->nseries; i++)
		metrics_remove(m->health, str_from(p->ns), str_from(p->name), p->series[i].driver,
			       p->series[i].pool, p->series[i].device,
			       str_from(assign_health_name(p->series[i].health)));
	m->nseries -= p->nseries;
	p->nseries = 0;
	arena_clear(&p->series_arena);
}

static void series_add(struct beside_metrics *m, struct beside_pod *p,
		       const struct beside_series *v, size_t n)
{
	struct beside_series *copy = ARENA_ARRAY(&p->series_arena, struct beside_series, n);

	for (size_t i = 0; i < n; i++) {
		copy[i] = (struct beside_series){ arena_str(&p->series_arena, v[i].driver),
						  arena_str(&p->series_arena, v[i].pool),
						  arena_str(&p->series_arena, v[i].device),
						  v[i].health };
		metrics_gauge_set(metrics_gauge(m->health, str_from(p->ns), str_from(p->name),
						v[i].driver, v[i].pool, v[i].device,
						str_from(assign_health_name(v[i].health))),
				  1);
	}
	p->series = copy;
	p->nseries = n;
	m->nseries += n;
}

static void series_name(struct beside_pod *p)
{
	free(p->ns);
	free(p->name);
	p->ns = str_dup(cached_ns(p->object));
	p->name = str_dup(cached_name(p->object));
}

void beside_metrics_pod(struct beside *b, struct beside_pod *p, const struct assign_use *uses,
			size_t n)
{
	CLEANUP(arena_release) struct arena a;
	struct beside_metrics *m = &b->metrics;
	struct beside_series *v;
	size_t room;

	arena_init(&a, SIZE_MAX);
	if (!m->health)
		return;
	v = ARENA_ARRAY(&a, struct beside_series, n);
	for (size_t i = 0; i < n; i++)
		v[i] = series_of(b, &uses[i]);
	room = ATTACH_HEALTH_SERIES_MAX - (m->nseries - p->nseries);
	m->nleft_out -= p->left_out;
	p->left_out = n - MIN(n, room);
	m->nleft_out += p->left_out;
	metrics_gauge_set(m->left_out, (double)m->nleft_out);
	n = MIN(n, room);
	if (same_series(p, v, n))
		return;
	series_remove(m, p);
	if (n == 0)
		return;
	series_name(p);
	series_add(m, p, v, n);
}

/* --- differences ----------------------------------------------------------------------------- */

static void on_difference(void *arg, const struct beside_difference *d, bool over)
{
	const struct beside_pod *p = arg;
	struct beside *b = p->b;
	struct str kubelet = str_from(assign_health_name(d->kubelet));
	struct str driver = str_from(assign_health_name(d->driver));
	struct str key = p->object ? p->object->key : str_from(p->uid);

	if (over) {
		log_info(b->opts.log, "the kubelet's device health is as the driver's again",
			 LOG_STR("pod", key), LOG_Z("device", d->id));
		return;
	}
	log_warn(b->opts.log, "the kubelet's device health differs from the driver's",
		 LOG_STR("pod", key), LOG_Z("device", d->id), LOG_STR("kubelet", kubelet),
		 LOG_STR("driver", driver));
	if (b->metrics.differences)
		metrics_counter_add(metrics_counter(b->metrics.differences, kubelet, driver), 1);
}

void beside_compare(struct beside *b, struct beside_pod *p, const struct json *kubelet,
		    const struct json *ours)
{
	beside_differences_compare(&p->differences, kubelet, ours, loop_now(b->opts.loop),
				   on_difference, p);
}

void beside_differences_look(struct beside *b)
{
	int64_t now = loop_now(b->opts.loop), next = INT64_MAX;
	size_t at = 0, n = 0;
	struct str key;
	void *v;

	while (map_next(&b->pods, &at, &key, &v)) {
		struct beside_pod *p = v;

		next = MIN(next, beside_differences_due(&p->differences, b->opts.grace_ms, now,
							on_difference, p));
		n += p->differences.counted;
	}
	if (b->metrics.differs)
		metrics_gauge_set(b->metrics.differs, (double)n);
	if (next != INT64_MAX)
		loop_timer_start(&b->differ_timer, next - now);
}
