/*
 * A device enters the book when a pod or a node reports it as Unhealthy, and when a rule of ours
 * exists for it. While the book has entries, all of them are checked every second; they are only
 * the cluster's broken devices. A device is queued if its entry wants something else than our copy
 * of the rules shows.
 */
#include "controller/health_taints/health_taints.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/shared/work.h"
#include "dra/inventory/content.h"
#include "net/loop/loop.h"

enum { LOOK_MS = 1000, WORKERS = 4, BACKOFF_MAX_MS = 30 * 1000 };

struct health_taints {
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	struct informer_handler rules;
	struct health_taints_book *book;
	struct workqueue *queue; /* ids of devices */
	struct loop_timer timer; /* runs while the book has entries */
	struct works jobs;
	struct arena scratch;
	struct metrics_gauge *tainted, *withheld; /* or NULL */
	bool complained; /* withheld devices were logged */
};

struct job {
	struct work work; /* its key is the id of a device */
	bool creates; /* the rule; else it deletes it */
};

/* --- lookups --------------------------------------------------------------------------------- */

static int64_t now(const struct health_taints *t)
{
	return loop_now(t->ctx.loop);
}

static const struct inventory_device *health_taints_find(struct health_taints *t, struct str id)
{
	struct str driver, pool, device;

	if (!device_health_split_id(id, &driver, &pool, &device))
		return NULL;
	return inventory_device(devices_inventory(t->devices), driver, pool, device);
}

static struct device_health_report health_of(struct health_taints *t,
					     const struct inventory_device *d)
{
	return device_health_without_claims(devices_health(t->devices),
					    devices_inventory(t->devices), d);
}

static const struct cached *rule_of(struct health_taints *t, struct str id)
{
	return cache_get(informer_cache(t->rules.informer), health_taints_name(id, &t->scratch));
}

/* A device that does not exist has no health. */
static bool wants(struct health_taints *t, struct str id)
{
	const struct inventory_device *d = health_taints_find(t, id);

	health_taints_see(t->book, id, d ? health_of(t, d).health : DEVICE_NOT_REPORTED, now(t));
	return health_taints_wants(t->book, id, d ? d->slice->pool->ndevices : 0, now(t));
}

static void tell_counts(struct health_taints *t)
{
	size_t withheld = health_taints_withheld(t->book);

	if (t->tainted) {
		metrics_gauge_set(t->tainted, (double)health_taints_tainted(t->book));
		metrics_gauge_set(t->withheld, (double)withheld);
	}
	if (withheld > 0 && !t->complained)
		log_warn(t->ctx.log,
			 "too many devices of a pool are unhealthy: some are not tainted",
			 LOG_INT("devices", (int64_t)withheld));
	t->complained = withheld > 0;
}

static void health_taints_on_timer(struct loop_timer *timer)
{
	struct health_taints *t = CONTAINER_OF(timer, struct health_taints, timer);
	struct str *ids;
	size_t n = health_taints_ids(t->book, &t->scratch, &ids);

	for (size_t i = 0; i < n; i++)
		if (wants(t, ids[i]) != (rule_of(t, ids[i]) != NULL))
			workqueue_add(t->queue, ids[i]);
	arena_clear(&t->scratch);
	tell_counts(t);
	if (n > 0)
		loop_timer_start(timer, LOOK_MS);
}

static void look_soon(struct health_taints *t)
{
	if (!loop_timer_running(&t->timer))
		loop_timer_start(&t->timer, LOOK_MS);
}

static void health_taints_on_slice(struct devices_watcher *w, struct str name)
{
	struct health_taints *t = CONTAINER_OF(w, struct health_taints, watcher);
	const struct inventory_slice *s = inventory_slice(devices_inventory(t->devices), name);

	for (size_t i = 0; s && s->current && i < s->ndevices; i++) {
		const struct inventory_device *d = &s->devices[i];

		if (health_of(t, d).health != DEVICE_UNHEALTHY)
			continue;
		health_taints_see(t->book,
				  str_from(arena_printf(&t->scratch, "%.*s/%.*s",
							STR_ARG(s->pool->key), STR_ARG(d->name))),
				  DEVICE_UNHEALTHY, now(t));
		look_soon(t);
	}
	arena_clear(&t->scratch);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* The device that our rule is for, in scratch memory; empty: the rule is not ours. */
static struct str health_taints_id_of(struct health_taints *t, const struct cached *rule)
{
	struct arena *a = &t->scratch;
	struct str driver = cached_field(rule, "spec.deviceSelector.driver", a);
	struct str pool = cached_field(rule, "spec.deviceSelector.pool", a);
	struct str device = cached_field(rule, "spec.deviceSelector.device", a);
	struct str id;

	if (!str_eqz(cached_label(rule, STR(HEALTH_TAINTS_LABEL), a), HEALTH_TAINTS_MANAGER))
		return STR_NULL;
	id = str_from(
		arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(driver), STR_ARG(pool), STR_ARG(device)));
	return str_eq(health_taints_name(id, a), rule->key) ? id : STR_NULL;
}

static void note_rule(struct informer_handler *h, const struct cached *rule, bool there)
{
	struct health_taints *t = CONTAINER_OF(h, struct health_taints, rules);
	struct str id = health_taints_id_of(t, rule);

	if (id.n > 0) {
		health_taints_rule(t->book, id, there, now(t));
		look_soon(t);
	}
	arena_clear(&t->scratch);
}

static void on_rule(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	note_rule(h, o, true);
}

static void on_rule_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	note_rule(h, o, true);
}

static void on_rule_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	note_rule(h, last, false);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Done as well if the rule already exists, another rule has its name, or it is already deleted. */
static void health_taints_on_done(struct client_request *r, const struct client_answer *a UNUSED,
				  const struct error *err)
{
	struct job *j = r->arg;
	const struct log *log = j->work.of->log;
	bool fine = !err || err->code == (j->creates ? ERR_ALREADY_EXISTS : ERR_NOT_FOUND) ||
		    (!j->creates && err->code == ERR_CONFLICT);

	if (!fine)
		log_warn(log,
			 j->creates ? "cannot taint an unhealthy device"
				    : "cannot remove the taint of a device that has recovered",
			 LOG_STR("device", j->work.key), LOG_ERR(err));
	else if (!err)
		log_info(log,
			 j->creates ? "tainted an unhealthy device"
				    : "removed the taint of a device",
			 LOG_STR("device", j->work.key));
	work_end(&j->work, !fine);
}

static struct json *make_rule(struct health_taints *t, const struct inventory_device *d,
			      struct str name)
{
	const struct resource *what = informer_resource(t->rules.informer);
	struct arena *a = &t->scratch;
	struct json *rule = json_make_object(a), *meta, *spec, *selector, *taint;
	struct str message = health_of(t, d).message;

	json_put_str(a, rule, "apiVersion",
		     str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(what->group),
					   STR_ARG(what->version))));
	json_put_str(a, rule, "kind", STR("DeviceTaintRule"));
	meta = json_need_object(a, rule, "metadata");
	json_put_str(a, meta, "name", name);
	json_put_str(a, json_need_object(a, meta, "labels"), HEALTH_TAINTS_LABEL,
		     STR(HEALTH_TAINTS_MANAGER));
	if (message.n > 0)
		json_put_str(a, json_need_object(a, meta, "annotations"), HEALTH_TAINTS_ANNOTATION,
			     message);
	spec = json_need_object(a, rule, "spec");
	selector = json_need_object(a, spec, "deviceSelector");
	json_put_str(a, selector, "driver", d->slice->pool->driver);
	json_put_str(a, selector, "pool", d->slice->pool->name);
	json_put_str(a, selector, "device", d->name);
	taint = json_need_object(a, spec, "taint");
	json_put_str(a, taint, "key", STR(HEALTH_TAINTS_KEY));
	json_put_str(a, taint, "value", STR("Unhealthy"));
	json_put_str(a, taint, "effect", STR("NoSchedule"));
	return rule;
}

/* Decides again: the reason for queueing the device may be outdated. */
static bool health_taints_begin(struct health_taints *t, struct str id)
{
	const struct resource *what = informer_resource(t->rules.informer);
	struct str name = health_taints_name(id, &t->scratch);
	const struct cached *rule = rule_of(t, id);
	const struct inventory_device *d = health_taints_find(t, id);
	bool wanted = wants(t, id);
	struct job *j;

	if (wanted == (rule != NULL) || (wanted && !d))
		return false;
	j = work_new(&t->jobs, sizeof(*j), id);
	j->creates = wanted;
	j->work.request.on_done = health_taints_on_done;
	if (wanted)
		client_create(t->ctx.client, &j->work.request, what, STR_NULL,
			      make_rule(t, d, name));
	else
		client_delete(t->ctx.client, &j->work.request, what, STR_NULL, name,
			      &(struct client_delete_opts){ .uid = rule->uid });
	return true;
}

static void health_taints_handle(void *arg, struct str id)
{
	struct health_taints *t = arg;

	if (!health_taints_begin(t, id))
		workqueue_finish(t->queue, id, false);
	arena_clear(&t->scratch);
}

/* --- life ------------------------------------------------------------------------------------ */

static struct metrics_gauge *gauge(struct metrics *m, const char *name, const char *help)
{
	struct metrics_spec spec = { .name = name, .help = help, .type = METRICS_GAUGE };
	struct metrics_family *f;

	return metrics_register(m, &spec, &f, NULL) == 0 ? metrics_gauge_of(f, NULL, 0) : NULL;
}

static void health_taints_make_metrics(struct health_taints *t)
{
	struct metrics_gauge *withheld;

	if (!t->ctx.metrics)
		return;
	withheld = gauge(t->ctx.metrics, "devplane_device_health_taints_withheld",
			 "Unhealthy devices not tainted because of the limit of their pool.");
	t->withheld = withheld;
	if (withheld)
		t->tainted = gauge(t->ctx.metrics, "devplane_device_health_taints",
				   "Devices that are tainted because they are unhealthy.");
}

struct health_taints *health_taints_new(const struct context *ctx, struct devices *devices,
					const struct health_taints_limits *limits)
{
	struct health_taints *t = XNEW(struct health_taints);

	t->ctx = *ctx;
	t->devices = devices;
	t->book = health_taints_book_new(limits);
	arena_init(&t->scratch, REQUEST_WORK_MAX);
	health_taints_make_metrics(t);
	loop_timer_init(&t->timer, ctx->loop, health_taints_on_timer);
	t->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "device_health_taints",
							   .workers = WORKERS,
							   .handle = health_taints_handle,
							   .arg = t,
							   .backoff_max_ms = BACKOFF_MAX_MS,
							   .metrics = ctx->metrics });
	works_init(&t->jobs, t->queue, ctx->log, "device", NULL);
	t->rules = (struct informer_handler){ .on_add = on_rule,
					      .on_update = on_rule_update,
					      .on_delete = on_rule_delete };
	informer_add_handler(devices_rules(devices), &t->rules);
	t->watcher.on_slice = health_taints_on_slice;
	devices_watch(devices, &t->watcher);
	return t;
}

void health_taints_free(struct health_taints *t)
{
	if (!t)
		return;
	devices_unwatch(&t->watcher);
	informer_remove_handler(&t->rules);
	loop_timer_stop(&t->timer);
	works_release(&t->jobs);
	workqueue_free(t->queue);
	if (t->tainted) {
		metrics_gauge_set(t->tainted, 0);
		metrics_gauge_set(t->withheld, 0);
	}
	health_taints_book_free(t->book);
	arena_release(&t->scratch);
	free(t);
}
