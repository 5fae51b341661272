/*
 * The informer passes the old claim with each change, so no claim's devices are remembered: those
 * of the old are subtracted, those of the new are added. Only claims that wait for something have
 * an entry of their own.
 */
#include "controller/devices/claim_metrics.h"

#include "api/api_limits.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"

enum claim_phase { CLAIM_PENDING, CLAIM_DELETING, CLAIM_PHASES, CLAIM_SETTLED = CLAIM_PHASES };

/* A claim that is pending or being deleted. */
struct tracked {
	struct str uid; /* stored after the struct */
	enum claim_phase phase;
	int64_t since_ms; /* loop time */
	bool for_pod;
};

/* A namespace's devices of one driver. */
struct holder {
	struct str key, ns, driver; /* stored after the struct */
	int64_t n;
	bool own; /* it has its own series */
	struct list idle; /* in claim_metrics.idle, if it has its own series and holds nothing */
	int64_t added_ms; /* until when their time is in the counter */
	struct metrics_gauge *held;
	struct metrics_counter *seconds;
};

struct claim_metrics {
	struct loop *loop;
	struct informer_handler handler;
	struct map tracked, holders;
	size_t own; /* holders that have their own series */
	struct list idle; /* those of them that hold nothing, longest first */
	struct metrics_family *held, *seconds;
	struct metrics_histogram *durations;
	struct metrics_gauge *oldest[CLAIM_PHASES];
	struct loop_timer tick;
	struct arena scratch; /* for one claim */
};

/* --- holders --------------------------------------------------------------------------------- */

static void holder_add_time(struct claim_metrics *m, struct holder *h)
{
	int64_t now = loop_now(m->loop);

	if (h->n > 0 && now > h->added_ms)
		metrics_counter_add_f64(h->seconds,
					(double)h->n * (double)(now - h->added_ms) / 1000);
	h->added_ms = now;
}

/* `own`: it gets its own series, otherwise that of all others. */
static struct holder *holder_new(struct claim_metrics *m, struct str ns, struct str driver,
				 bool own)
{
	const struct str other = STR("other");
	struct holder *h = xcalloc(1, sizeof(*h) + ns.n + driver.n + 1);
	char *text = (char *)(h + 1);

	str_put(text, ns);
	text[ns.n] = '/';
	str_put(text + ns.n + 1, driver);
	h->key = str_of(text, ns.n + 1 + driver.n);
	h->ns = str_of(text, ns.n);
	h->driver = str_of(text + ns.n + 1, driver.n);
	h->own = own;
	list_init(&h->idle);
	h->added_ms = loop_now(m->loop);
	h->held = metrics_gauge(m->held, own ? ns : other, own ? driver : other);
	h->seconds = metrics_counter(m->seconds, own ? ns : other, own ? driver : other);
	m->own += own;
	return h;
}

static void holder_free(struct claim_metrics *m, struct holder *h)
{
	(void)map_remove(&m->holders, h->key);
	list_remove(&h->idle);
	if (h->own) {
		m->own--;
		metrics_remove(m->held, h->ns, h->driver);
		metrics_remove(m->seconds, h->ns, h->driver);
	}
	free(h);
}

/* Removes the series of a holder that holds nothing. Returns false if all hold something. */
static bool holder_make_room(struct claim_metrics *m)
{
	if (m->own < CLAIM_METRICS_HOLDERS_MAX)
		return true;
	if (list_empty(&m->idle))
		return false;
	holder_free(m, LIST_ENTRY(m->idle.next, struct holder, idle));
	return true;
}

static struct holder *holder_find(struct claim_metrics *m, struct str ns, struct str driver)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(OBJECT_MAX);
	struct holder *h;

	(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(ns), STR_ARG(driver));
	h = map_get(&m->holders, buf_str(&key));
	if (!h) {
		h = holder_new(m, ns, driver, holder_make_room(m));
		(void)map_put(&m->holders, h->key, h);
	}
	return h;
}

static void holder_change(struct claim_metrics *m, struct str ns, struct str driver, int sign)
{
	struct holder *h = holder_find(m, ns, driver);

	holder_add_time(m, h);
	h->n += sign;
	metrics_gauge_add(h->held, sign);
	list_remove(&h->idle);
	if (h->own && h->n == 0)
		list_push_back(&m->idle, &h->idle);
	else if (h->n == 0)
		holder_free(m, h);
}

static void claim_metrics_hold(struct claim_metrics *m, const struct cached *o, int sign)
{
	struct str text = cached_field(o, "status.allocation.devices.results", NULL);
	struct json *results;

	if (text.n == 0 || json_parse(&m->scratch, text, NULL, &results, NULL) < 0)
		return;
	JSON_FOREACH (r, results)
		if (!json_true_at(r, "adminAccess"))
			holder_change(m, cached_ns(o), json_text_at(r, "driver"), sign);
	arena_clear(&m->scratch);
}

/* --- claims that wait ------------------------------------------------------------------------ */

static bool claim_metrics_allocated(const struct cached *o)
{
	return cached_field(o, "status.allocation", NULL).n > 0;
}

static enum claim_phase claim_phase_of(const struct cached *o)
{
	if (o->deleting)
		return CLAIM_DELETING;
	return claim_metrics_allocated(o) ? CLAIM_SETTLED : CLAIM_PENDING;
}

/* The loop time at which the phase began. Timestamps have whole seconds. */
static int64_t claim_metrics_since(const struct claim_metrics *m, const struct cached *o,
				   enum claim_phase phase)
{
	const char *path = phase == CLAIM_DELETING ? "metadata.deletionTimestamp"
						   : "metadata.creationTimestamp";
	int64_t ns, age;

	if (timestamp_parse(cached_field(o, path, NULL), &ns, NULL) < 0)
		return loop_now(m->loop);
	age = (clock_wall(loop_clock(m->loop)) - ns) / CLOCK_MS;
	return loop_now(m->loop) - (age < 2000 ? 0 : age);
}

static void claim_metrics_untrack(struct claim_metrics *m, struct str uid)
{
	free(map_remove(&m->tracked, uid));
}

/* `is_new`: its phase began before, as the timestamps say. */
static void claim_metrics_track(struct claim_metrics *m, const struct cached *o, bool is_new)
{
	enum claim_phase phase = claim_phase_of(o);
	struct tracked *t = map_get(&m->tracked, o->uid);

	if (phase == CLAIM_SETTLED || m->tracked.n >= CLAIM_METRICS_TRACKED_MAX)
		return;
	if (!t) {
		t = xcalloc(1, sizeof(*t) + o->uid.n);
		str_put((char *)(t + 1), o->uid);
		t->uid = str_of((char *)(t + 1), o->uid.n);
		(void)map_put(&m->tracked, t->uid, t);
	} else if (t->phase == phase) {
		return;
	}
	t->phase = phase;
	t->since_ms = is_new ? claim_metrics_since(m, o, phase) : loop_now(m->loop);
	t->for_pod = str_find(cached_field(o, "metadata.ownerReferences", NULL), STR("\"Pod\"")) >=
		     0;
}

static void claim_metrics_on_allocated(struct claim_metrics *m, const struct cached *o)
{
	const struct tracked *t = map_get(&m->tracked, o->uid);

	if (t && t->phase == CLAIM_PENDING)
		metrics_histogram_observe(m->durations,
					  (double)(loop_now(m->loop) - t->since_ms) / 1000);
}

static double claim_metrics_age(const struct claim_metrics *m, enum claim_phase phase)
{
	int64_t now = loop_now(m->loop), oldest = now;
	struct str uid;
	size_t at = 0;
	void *v;

	while (map_next(&m->tracked, &at, &uid, &v)) {
		const struct tracked *t = v;

		if (t->phase == phase && (t->for_pod || phase == CLAIM_DELETING))
			oldest = MIN(oldest, t->since_ms);
	}
	return (double)(now - oldest) / 1000;
}

/* --- events ---------------------------------------------------------------------------------- */

static void claim_metrics_on_add(struct informer_handler *handler, struct cached *o,
				 bool initial UNUSED)
{
	struct claim_metrics *m = CONTAINER_OF(handler, struct claim_metrics, handler);

	claim_metrics_hold(m, o, 1);
	claim_metrics_track(m, o, true);
}

static void claim_metrics_on_delete(struct informer_handler *handler, struct cached *last,
				    bool unknown UNUSED)
{
	struct claim_metrics *m = CONTAINER_OF(handler, struct claim_metrics, handler);

	claim_metrics_hold(m, last, -1);
	claim_metrics_untrack(m, last->uid);
}

static void claim_metrics_on_update(struct informer_handler *handler, struct cached *old,
				    struct cached *o)
{
	struct claim_metrics *m = CONTAINER_OF(handler, struct claim_metrics, handler);

	if (!str_eq(old->uid, o->uid)) {
		claim_metrics_on_delete(handler, old, false);
		claim_metrics_on_add(handler, o, false);
		return;
	}
	if (!str_eq(cached_field(old, "status.allocation.devices.results", NULL),
		    cached_field(o, "status.allocation.devices.results", NULL))) {
		claim_metrics_hold(m, o, 1);
		claim_metrics_hold(m, old, -1);
	}
	if (!claim_metrics_allocated(old) && claim_metrics_allocated(o))
		claim_metrics_on_allocated(m, o);
	if (claim_phase_of(o) == CLAIM_SETTLED)
		claim_metrics_untrack(m, o->uid);
	else
		claim_metrics_track(m, o, false);
}

static void claim_metrics_on_tick(struct loop_timer *t)
{
	struct claim_metrics *m = CONTAINER_OF(t, struct claim_metrics, tick);
	size_t at = 0;
	struct str key;
	void *h;

	while (map_next(&m->holders, &at, &key, &h))
		holder_add_time(m, h);
	for (enum claim_phase p = 0; p < CLAIM_PHASES; p++)
		metrics_gauge_set(m->oldest[p], claim_metrics_age(m, p));
	loop_timer_start(t, CLAIM_METRICS_TICK_MS);
}

/* --- life ------------------------------------------------------------------------------------ */

static struct metrics_family *claim_metrics_family(struct metrics *metrics,
						   const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(metrics, spec, &f, NULL);
	return f;
}

static void claim_metrics_register(struct claim_metrics *m, struct metrics *metrics)
{
	static const char *const holder[] = { "namespace", "driver" };
	static const char *const state[] = { "state" };
	static const double bounds[] = {
		0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400
	};
	struct metrics_spec spec = { .name = "devplane_devices_held",
				     .help = "Devices that claims of a namespace hold.",
				     .type = METRICS_GAUGE,
				     .labels = holder,
				     .labels_n = ARRAY_SIZE(holder) };
	struct metrics_family *f;

	m->held = claim_metrics_family(metrics, &spec);
	spec.name = "devplane_device_held_seconds_total";
	spec.help = "Time for which claims of a namespace have held devices.";
	spec.type = METRICS_COUNTER;
	m->seconds = claim_metrics_family(metrics, &spec);
	f = claim_metrics_family(
		metrics, &(struct metrics_spec){ .name = "devplane_claim_oldest_seconds",
						 .help = "Age of the oldest claim in a state.",
						 .type = METRICS_GAUGE,
						 .labels = state,
						 .labels_n = ARRAY_SIZE(state) });
	m->oldest[CLAIM_PENDING] = metrics_gauge(f, STR("pending"));
	m->oldest[CLAIM_DELETING] = metrics_gauge(f, STR("deleting"));
	f = claim_metrics_family(
		metrics,
		&(struct metrics_spec){ .name = "devplane_claim_allocation_duration_seconds",
					.help = "Time from a claim's creation to its allocation.",
					.type = METRICS_HISTOGRAM,
					.bounds = bounds,
					.bounds_n = ARRAY_SIZE(bounds) });
	m->durations = metrics_histogram_of(f, NULL, 0);
}

struct claim_metrics *claim_metrics_new(struct loop *loop, struct informer *claims,
					struct metrics *metrics)
{
	struct claim_metrics *m;

	if (!metrics)
		return NULL;
	m = XNEW(struct claim_metrics);
	m->loop = loop;
	map_init(&m->tracked);
	map_init(&m->holders);
	list_init(&m->idle);
	arena_init(&m->scratch, REQUEST_WORK_MAX);
	claim_metrics_register(m, metrics);
	m->handler = (struct informer_handler){ .on_add = claim_metrics_on_add,
						.on_update = claim_metrics_on_update,
						.on_delete = claim_metrics_on_delete };
	informer_add_handler(claims, &m->handler);
	loop_timer_init(&m->tick, loop, claim_metrics_on_tick);
	loop_timer_start(&m->tick, CLAIM_METRICS_TICK_MS);
	return m;
}

void claim_metrics_free(struct claim_metrics *m)
{
	struct str key;
	void *v;

	if (!m)
		return;
	informer_remove_handler(&m->handler);
	loop_timer_stop(&m->tick);
	for (size_t at = 0; map_next(&m->holders, &at, &key, &v); at = 0)
		holder_free(m, v);
	metrics_remove(m->held, STR("other"), STR("other"));
	metrics_remove(m->seconds, STR("other"), STR("other"));
	for (enum claim_phase p = 0; p < CLAIM_PHASES; p++)
		metrics_gauge_set(m->oldest[p], 0);
	map_free_values(&m->tracked);
	map_release(&m->holders);
	arena_release(&m->scratch);
	free(m);
}
