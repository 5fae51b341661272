/*
 * Each waiting pod has an entry. Pods without claims, and those that have a node, cost a lookup of
 * two fields.
 */
#include "controller/devices/waiting_metrics.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/api/resource.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"

struct waiting_pod {
	struct str uid; /* stored after the struct */
	enum waiting_reason reason;
	int64_t since_ns; /* its creation; wall clock */
};

struct waiting_metrics {
	struct loop *loop;
	struct resource pods_resource;
	struct informer_handler handler;
	struct map pods; /* uid -> struct waiting_pod */
	struct metrics_gauge *number[WAITING_REASONS], *oldest[WAITING_REASONS];
	struct loop_timer tick;
	struct arena scratch; /* for one pod */
};

const char *waiting_reason_name(enum waiting_reason r)
{
	static const char *const names[] = {
		[WAITING_NOT_TRIED] = "NotTried",   [WAITING_GATED] = "Gated",
		[WAITING_NO_DEVICE] = "NoDevice",   [WAITING_CLAIM] = "Claim",
		[WAITING_ERROR] = "SchedulerError", [WAITING_OTHER] = "Other",
	};

	return names[r];
}

/* The texts are the scheduler's, which are the same upstream. */
enum waiting_reason waiting_reason_of(struct str reason, struct str message)
{
	static const char *const claim[] = { "resourceclaim", "ResourceClaim", "resource claim" };

	if (reason.n == 0 && message.n == 0)
		return WAITING_NOT_TRIED;
	if (str_eqz(reason, "SchedulingGated"))
		return WAITING_GATED;
	if (str_eqz(reason, "SchedulerError"))
		return WAITING_ERROR;
	if (str_find(message, STR("cannot allocate all claims")) >= 0)
		return WAITING_NO_DEVICE;
	for (size_t i = 0; i < ARRAY_SIZE(claim); i++)
		if (str_find(message, str_from(claim[i])) >= 0)
			return WAITING_CLAIM;
	return WAITING_OTHER;
}

static bool waiting_metrics_waits(const struct cached *o)
{
	return !o->deleting && cached_field(o, "spec.resourceClaims", NULL).n > 0 &&
	       cached_field(o, "spec.nodeName", NULL).n == 0 &&
	       !str_eqz(cached_field(o, "status.phase", NULL), "Succeeded") &&
	       !str_eqz(cached_field(o, "status.phase", NULL), "Failed");
}

static enum waiting_reason waiting_metrics_reason(struct waiting_metrics *m, const struct cached *o)
{
	struct str text = cached_field(o, "status.conditions", NULL);
	enum waiting_reason reason = WAITING_NOT_TRIED;
	struct json *conditions;

	if (text.n == 0 || json_parse(&m->scratch, text, NULL, &conditions, NULL) < 0)
		return reason;
	JSON_FOREACH (c, conditions)
		if (str_eqz(json_text_at(c, "type"), "PodScheduled"))
			reason = waiting_reason_of(json_text_at(c, "reason"),
						   json_text_at(c, "message"));
	arena_clear(&m->scratch);
	return reason;
}

static void waiting_metrics_forget(struct waiting_metrics *m, struct str uid)
{
	struct waiting_pod *p = map_remove(&m->pods, uid);

	if (p)
		metrics_gauge_add(m->number[p->reason], -1);
	free(p);
}

static struct waiting_pod *waiting_pod_new(const struct waiting_metrics *m, const struct cached *o)
{
	struct waiting_pod *p = xcalloc(1, sizeof(*p) + o->uid.n);

	str_put((char *)(p + 1), o->uid);
	p->uid = str_of((char *)(p + 1), o->uid.n);
	if (timestamp_parse(cached_field(o, "metadata.creationTimestamp", NULL), &p->since_ns,
			    NULL) < 0)
		p->since_ns = clock_wall(loop_clock(m->loop));
	return p;
}

static void waiting_metrics_look(struct waiting_metrics *m, const struct cached *o)
{
	struct waiting_pod *p = map_get(&m->pods, o->uid);

	if (!waiting_metrics_waits(o)) {
		waiting_metrics_forget(m, o->uid);
		return;
	}
	if (p) {
		metrics_gauge_add(m->number[p->reason], -1);
	} else {
		p = waiting_pod_new(m, o);
		(void)map_put(&m->pods, p->uid, p);
	}
	p->reason = waiting_metrics_reason(m, o);
	metrics_gauge_add(m->number[p->reason], 1);
}

/* --- events ---------------------------------------------------------------------------------- */

static void waiting_metrics_on_add(struct informer_handler *h, struct cached *o,
				   bool initial UNUSED)
{
	waiting_metrics_look(CONTAINER_OF(h, struct waiting_metrics, handler), o);
}

static void waiting_metrics_on_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	struct waiting_metrics *m = CONTAINER_OF(h, struct waiting_metrics, handler);

	if (!str_eq(old->uid, o->uid))
		waiting_metrics_forget(m, old->uid);
	waiting_metrics_look(m, o);
}

static void waiting_metrics_on_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	waiting_metrics_forget(CONTAINER_OF(h, struct waiting_metrics, handler), last->uid);
}

static void waiting_metrics_on_tick(struct loop_timer *t)
{
	struct waiting_metrics *m = CONTAINER_OF(t, struct waiting_metrics, tick);
	int64_t now = clock_wall(loop_clock(m->loop)), oldest[WAITING_REASONS];
	struct str uid;
	size_t at = 0;
	void *v;

	for (size_t i = 0; i < WAITING_REASONS; i++)
		oldest[i] = now;
	while (map_next(&m->pods, &at, &uid, &v)) {
		const struct waiting_pod *p = v;

		oldest[p->reason] = MIN(oldest[p->reason], p->since_ns);
	}
	for (size_t i = 0; i < WAITING_REASONS; i++)
		metrics_gauge_set(m->oldest[i], (double)(now - oldest[i]) / (double)CLOCK_SEC);
	loop_timer_start(t, WAITING_METRICS_TICK_MS);
}

/* --- life ------------------------------------------------------------------------------------ */

static void waiting_metrics_register(struct metrics *metrics, const char *name, const char *help,
				     struct metrics_gauge **ret_gauges)
{
	static const char *const labels[] = { "reason" };
	struct metrics_family *f = NULL;

	(void)metrics_register(metrics,
			       &(struct metrics_spec){ .name = name,
						       .help = help,
						       .type = METRICS_GAUGE,
						       .labels = labels,
						       .labels_n = ARRAY_SIZE(labels) },
			       &f, NULL);
	for (enum waiting_reason r = 0; r < WAITING_REASONS; r++)
		ret_gauges[r] = metrics_gauge(f, str_from(waiting_reason_name(r)));
}

struct waiting_metrics *waiting_metrics_new(struct loop *loop, struct informers *informers,
					    struct metrics *metrics)
{
	struct waiting_metrics *m;

	if (!metrics)
		return NULL;
	m = XNEW(struct waiting_metrics);
	m->loop = loop;
	map_init(&m->pods);
	arena_init(&m->scratch, REQUEST_WORK_MAX);
	waiting_metrics_register(metrics, "devplane_waiting_pods",
				 "Pods with claims that wait for a node.", m->number);
	waiting_metrics_register(metrics, "devplane_waiting_pods_oldest_seconds",
				 "Age of the oldest pod that waits for a node.", m->oldest);
	m->pods_resource = resource_builtin("", "v1", "pods");
	m->handler = (struct informer_handler){ .on_add = waiting_metrics_on_add,
						.on_update = waiting_metrics_on_update,
						.on_delete = waiting_metrics_on_delete };
	informer_add_handler(
		informers_get(informers, &(struct informer_spec){ .resource = &m->pods_resource,
								  .slim = true }),
		&m->handler);
	loop_timer_init(&m->tick, loop, waiting_metrics_on_tick);
	loop_timer_start(&m->tick, WAITING_METRICS_TICK_MS);
	return m;
}

void waiting_metrics_free(struct waiting_metrics *m)
{
	if (!m)
		return;
	informer_remove_handler(&m->handler);
	loop_timer_stop(&m->tick);
	for (size_t i = 0; i < WAITING_REASONS; i++) {
		metrics_gauge_set(m->number[i], 0);
		metrics_gauge_set(m->oldest[i], 0);
	}
	map_free_values(&m->pods);
	arena_release(&m->scratch);
	free(m);
}
