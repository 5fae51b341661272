/*
 * A share is subtracted from the place to which it was added, so it stores the place. A place
 * counts its shares, and each of its capacities counts those that have it, so that series are
 * removed with the last of them. Amounts are summed as doubles, as Prometheus does.
 */
#include "controller/devices/device_metrics.h"

#include <assert.h>

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "base/json/quantity.h"
#include "base/report/metrics.h"
#include "controller/devices/device_marks.h"
#include "dra/availability/device_health.h"
#include "dra/availability/device_state.h"
#include "dra/inventory/content.h"

enum { CAPACITIES_MAX = 32 }; /* capacities of one slice that are counted */

struct shared_capacity {
	struct str name; /* heap */
	double total, left; /* in all shareable devices; in those that can be had */
	bool counted; /* the place has series for it */
};

/* A capacity of a place. */
struct place_capacity {
	struct str name; /* heap */
	size_t shares;
};

struct place {
	struct map *map; /* that has it: places or others */
	struct str key, driver, pool, node; /* the labels; stored after the struct */
	size_t shares;
	uint32_t in_state[DEVICE_STATES]; /* devices */
	int64_t added_ms; /* until when their time is in the metrics */
	struct place_capacity capacities[DEVICE_METRICS_CAPACITIES_MAX];
	size_t ncapacities;
};

struct device_counts {
	struct place *place;
	uint32_t n[DEVICE_STATES][DEVICE_HEALTHS];
	VEC(struct shared_capacity) capacities;
	uint32_t shareable, held_shares; /* devices; shares of them that claims hold */
	struct device_marks marks;
};

/* --- reading a status ------------------------------------------------------------------------ */

static enum device_state device_metrics_state_of(struct str name)
{
	enum device_state s = DEVICE_AVAILABLE;

	while (s < DEVICE_UNAVAILABLE && !str_eqz(name, device_state_name(s)))
		s++;
	return s;
}

static void add_capacity(struct device_counts *c, struct str name, double total, double left)
{
	struct shared_capacity new = { .total = total, .left = left };

	for (size_t i = 0; i < c->capacities.n; i++) {
		if (str_eq(c->capacities.v[i].name, name)) {
			c->capacities.v[i].total += total;
			c->capacities.v[i].left += left;
			return;
		}
	}
	new.name = str_of(str_dup(name), name.n);
	if (!vec_push(&c->capacities, new))
		free((char *)new.name.p);
}

static void count_device(struct device_counts *c, const struct json *device)
{
	enum device_state state = device_metrics_state_of(json_text_at(device, "state"));
	bool free = state == DEVICE_AVAILABLE || state == DEVICE_PARTIALLY_ALLOCATED;

	c->n[state][device_health_of_name(json_text_at(device, "health"))]++;
	/* A status has both amounts, or neither if it has no room for them. */
	JSON_FOREACH (v, json_getz(device, "capacity")) {
		const struct json *rest = json_get(json_getz(device, "availableCapacity"),
						   json_key(v));
		struct quantity total, left;

		if (quantity_read(v, &total) && rest && quantity_read(rest, &left))
			add_capacity(c, json_key(v), (double)total.nano / 1e9,
				     free ? (double)left.nano / 1e9 : 0);
	}
}

static void count_shares(struct device_counts *c, const struct inventory_slice *slice)
{
	for (size_t i = 0; i < slice->ndevices; i++) {
		const struct inventory_device *d = &slice->devices[i];

		if (!d->view.allow_multiple)
			continue;
		c->shareable++;
		c->held_shares += d->use ? d->use->shares : 0;
	}
}

/* --- places ---------------------------------------------------------------------------------- */

static struct str device_metrics_keep(char **at, struct str text)
{
	struct str copy = str_of(*at, text.n);

	str_put(*at, text);
	*at += text.n;
	return copy;
}

/* Returns the place with that key, or a new one; NULL: the map has `max` places already. */
static struct place *place_find(struct map *map, size_t max, struct str key,
				const struct str labels[3], int64_t now_ms)
{
	struct place *p = map_get(map, key);
	char *at;

	if (p || map->n >= max)
		return p;
	p = xcalloc(1, sizeof(*p) + key.n + labels[0].n + labels[1].n + labels[2].n);
	at = (char *)(p + 1);
	p->map = map;
	p->key = device_metrics_keep(&at, key);
	p->driver = device_metrics_keep(&at, labels[0]);
	p->pool = device_metrics_keep(&at, labels[1]);
	p->node = device_metrics_keep(&at, labels[2]);
	p->added_ms = now_ms;
	(void)map_put(map, p->key, p);
	return p;
}

/* Returns the sum of a driver's devices, or that of all further drivers. */
static struct place *place_of_driver(struct device_metrics *m, struct str driver)
{
	const struct str other = STR("other");
	struct place *p = place_find(&m->others, DEVICE_METRICS_DRIVERS_MAX, driver,
				     (struct str[]){ driver, other, other }, loop_now(m->loop));

	return p ? p
		 : place_find(&m->others, SIZE_MAX, other, (struct str[]){ other, other, other },
			      loop_now(m->loop));
}

static struct place *place_take(struct device_metrics *m, const struct inventory_slice *slice)
{
	struct str driver = slice->pool->driver, pool = slice->pool->name;
	bool on_node = slice->nodes.kind == INVENTORY_NODES_NAME;
	struct str node = on_node ? slice->nodes.name : STR("");
	CLEANUP(buf_release) struct buf key = BUF_INIT(SIZE_MAX / 2);
	struct place *p = NULL;

	(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(slice->pool->key), STR_ARG(node));
	/* A pool of that name on a node of that name has the labels of the sum. */
	if (!str_eqz(pool, "other") || !str_eqz(node, "other"))
		p = place_find(&m->places, DEVICE_METRICS_PLACES_MAX, buf_str(&key),
			       (struct str[]){ driver, pool, node }, loop_now(m->loop));
	if (!p)
		p = place_of_driver(m, driver);
	p->shares++;
	return p;
}

/* Adds the time that its devices have been in their states since the last call. */
static void place_add_time(struct device_metrics *m, struct place *p)
{
	int64_t now = loop_now(m->loop);
	double seconds = (double)(now - p->added_ms) / 1000;

	p->added_ms = now;
	for (enum device_state s = 0; seconds > 0 && s < DEVICE_STATES; s++)
		if (p->in_state[s] > 0)
			metrics_counter_add_f64(metrics_counter(m->seconds, p->driver, p->pool,
								p->node,
								str_from(device_state_name(s))),
						seconds * p->in_state[s]);
}

static void place_drop_counters(struct device_metrics *m, const struct place *p)
{
	for (enum device_state s = 0; s < DEVICE_STATES; s++)
		metrics_remove(m->seconds, p->driver, p->pool, p->node,
			       str_from(device_state_name(s)));
	for (enum device_health h = 0; h < DEVICE_HEALTHS; h++)
		metrics_remove(m->changes, p->driver, p->pool, p->node,
			       str_from(device_health_name(h)));
	metrics_remove(m->flaps, p->driver, p->pool, p->node);
	metrics_remove(m->held_shares, p->driver, p->pool, p->node);
}

static void place_drop(struct device_metrics *m, struct place *p)
{
	if (--p->shares > 0)
		return;
	place_drop_counters(m, p);
	for (unsigned i = 0; i < DEVICE_STATES * DEVICE_HEALTHS; i++)
		metrics_remove(m->devices, p->driver, p->pool, p->node,
			       str_from(device_state_name(i / DEVICE_HEALTHS)),
			       str_from(device_health_name(i % DEVICE_HEALTHS)));
	assert(p->ncapacities == 0);
	(void)map_remove(p->map, p->key);
	free(p);
}

/* --- capacities of a place ------------------------------------------------------------------- */

/* Returns its position, or the number of capacities. */
static size_t place_capacity_at(const struct place *p, struct str name)
{
	size_t i = 0;

	while (i < p->ncapacities && !str_eq(p->capacities[i].name, name))
		i++;
	return i;
}

/* Returns false if the place has too many capacities. */
static bool place_add_capacity(struct place *p, struct str name)
{
	size_t i = place_capacity_at(p, name);

	if (i == ARRAY_SIZE(p->capacities))
		return false;
	if (i == p->ncapacities)
		p->capacities[p->ncapacities++] = (struct place_capacity){
			.name = str_of(str_dup(name), name.n)
		};
	p->capacities[i].shares++;
	return true;
}

static void place_drop_capacity(struct device_metrics *m, struct place *p, struct str name)
{
	size_t i = place_capacity_at(p, name);

	if (--p->capacities[i].shares > 0)
		return;
	metrics_remove(m->capacity, p->driver, p->pool, p->node, name);
	metrics_remove(m->left, p->driver, p->pool, p->node, name);
	free((char *)p->capacities[i].name.p);
	p->capacities[i] = p->capacities[--p->ncapacities];
}

/* --- shares ---------------------------------------------------------------------------------- */

static struct device_counts *counts_new(struct device_metrics *m,
					const struct inventory_slice *slice,
					const struct json *status)
{
	struct device_counts *c = XNEW(struct device_counts);

	c->place = place_take(m, slice);
	vec_init(&c->capacities, CAPACITIES_MAX);
	JSON_FOREACH (device, json_getz(status, "devices"))
		count_device(c, device);
	count_shares(c, slice);
	device_marks_init(&c->marks, status);
	return c;
}

static void counts_free(struct device_metrics *m, struct device_counts *c)
{
	for (size_t i = 0; i < c->capacities.n; i++)
		free((char *)c->capacities.v[i].name.p);
	vec_release(&c->capacities);
	device_marks_release(&c->marks);
	place_drop(m, c->place);
	free(c);
}

/* Adds the devices of the share (sign 1), or subtracts them (-1). */
static void apply_devices(struct device_metrics *m, const struct device_counts *c, int sign)
{
	struct place *p = c->place;

	place_add_time(m, p);
	for (unsigned i = 0; i < DEVICE_STATES * DEVICE_HEALTHS; i++) {
		enum device_state s = i / DEVICE_HEALTHS;
		enum device_health h = i % DEVICE_HEALTHS;

		p->in_state[s] += (uint32_t)sign * c->n[s][h];
		if (c->n[s][h] > 0)
			metrics_gauge_add(metrics_gauge(m->devices, p->driver, p->pool, p->node,
							str_from(device_state_name(s)),
							str_from(device_health_name(h))),
					  sign * (double)c->n[s][h]);
	}
	/* Where devices can be shared, no shares are a value, too. */
	if (c->shareable > 0)
		metrics_gauge_add(metrics_gauge(m->held_shares, p->driver, p->pool, p->node),
				  sign * (double)c->held_shares);
}

static void apply_capacity(struct device_metrics *m, const struct place *p,
			   const struct shared_capacity *c, int sign)
{
	metrics_gauge_add(metrics_gauge(m->capacity, p->driver, p->pool, p->node, c->name),
			  sign * c->total);
	metrics_gauge_add(metrics_gauge(m->left, p->driver, p->pool, p->node, c->name),
			  sign * c->left);
}

static void counts_add(struct device_metrics *m, struct device_counts *c)
{
	apply_devices(m, c, 1);
	for (size_t i = 0; i < c->capacities.n; i++) {
		struct shared_capacity *f = &c->capacities.v[i];

		f->counted = place_add_capacity(c->place, f->name);
		if (f->counted)
			apply_capacity(m, c->place, f, 1);
	}
}

static void counts_subtract(struct device_metrics *m, const struct device_counts *c)
{
	apply_devices(m, c, -1);
	for (size_t i = 0; i < c->capacities.n; i++) {
		const struct shared_capacity *f = &c->capacities.v[i];

		if (!f->counted)
			continue;
		apply_capacity(m, c->place, f, -1);
		place_drop_capacity(m, c->place, f->name);
	}
}

static bool same_capacities(const struct device_counts *a, const struct device_counts *b)
{
	bool same = a->capacities.n == b->capacities.n;

	for (size_t i = 0; same && i < a->capacities.n; i++)
		same = str_eq(a->capacities.v[i].name, b->capacities.v[i].name) &&
		       a->capacities.v[i].total == b->capacities.v[i].total &&
		       a->capacities.v[i].left == b->capacities.v[i].left;
	return same;
}

static bool device_metrics_same(const struct device_counts *a, const struct device_counts *b)
{
	return a->place == b->place && memcmp(a->n, b->n, sizeof(a->n)) == 0 &&
	       a->shareable == b->shareable && a->held_shares == b->held_shares &&
	       same_capacities(a, b);
}

/* Every place has a series from its first device on, so that increases are seen. */
static void count_changes(struct device_metrics *m, struct device_counts *now,
			  const struct device_counts *before)
{
	static const struct device_marks none;
	const struct place *p = now->place;
	struct device_marks_changes c = device_marks_compare(
		&now->marks, before ? &before->marks : &none, loop_now(m->loop));

	for (enum device_health h = 0; h < DEVICE_HEALTHS; h++)
		metrics_counter_add(metrics_counter(m->changes, p->driver, p->pool, p->node,
						    str_from(device_health_name(h))),
				    c.to[h]);
	metrics_counter_add(metrics_counter(m->flaps, p->driver, p->pool, p->node), c.flaps);
}

/* Adds the new share before it subtracts the old, so that no scrape in between misses a device. */
void device_metrics_note(struct device_metrics *m, struct device_counts **counts,
			 const struct inventory_slice *slice, const struct json *status)
{
	struct device_counts *before = *counts, *now = NULL;

	if (!m->devices)
		return;
	if (slice && status)
		now = counts_new(m, slice, status);
	if (now)
		count_changes(m, now, before);
	if (before && now && device_metrics_same(before, now)) {
		device_marks_release(&before->marks);
		before->marks = now->marks;
		now->marks = (struct device_marks){ 0 };
		counts_free(m, now);
		return;
	}
	if (now)
		counts_add(m, now);
	if (before) {
		counts_subtract(m, before);
		counts_free(m, before);
	}
	*counts = now;
}

/* --- life ------------------------------------------------------------------------------------ */

static void device_metrics_on_tick(struct loop_timer *t)
{
	struct device_metrics *m = CONTAINER_OF(t, struct device_metrics, tick);
	int64_t wall = clock_wall(loop_clock(m->loop));
	const struct map *maps[] = { &m->places, &m->others };
	struct str key;
	void *p;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		for (size_t at = 0; map_next(maps[i], &at, &key, &p);)
			place_add_time(m, p);
	metrics_gauge_set(m->timestamp, (double)wall / CLOCK_SEC);
	loop_timer_start(t, DEVICE_METRICS_TICK_MS);
}

/* Registers a family with the first `n` of these labels. */
static struct metrics_family *device_metrics_family(struct metrics *metrics, const char *name,
						    const char *help, enum metrics_type type,
						    const char *const *labels, size_t n)
{
	struct metrics_family *f = NULL;

	(void)metrics_register(
		metrics,
		&(struct metrics_spec){
			.name = name, .help = help, .type = type, .labels = labels, .labels_n = n },
		&f, NULL);
	return f;
}

static void device_metrics_register(struct device_metrics *m, struct metrics *metrics)
{
	static const char *const devices[] = { "driver", "pool", "node", "state", "health" };
	static const char *const capacity[] = { "driver", "pool", "node", "capacity" };
	static const char *const health[] = { "driver", "pool", "node", "health" };

	m->devices = device_metrics_family(metrics, "devplane_devices",
					   "Devices by state and health.", METRICS_GAUGE, devices,
					   5);
	m->capacity = device_metrics_family(metrics, "devplane_device_capacity",
					    "Capacity of shared devices.", METRICS_GAUGE, capacity,
					    4);
	m->left = device_metrics_family(metrics, "devplane_device_free_capacity",
					"Free capacity of shared devices.", METRICS_GAUGE, capacity,
					4);
	m->held_shares = device_metrics_family(metrics, "devplane_device_shares",
					       "Shares of shared devices that claims hold.",
					       METRICS_GAUGE, capacity, 3);
	m->seconds = device_metrics_family(metrics, "devplane_device_state_seconds_total",
					   "Time that devices have been in a state.",
					   METRICS_COUNTER, devices, 4);
	m->changes = device_metrics_family(metrics, "devplane_device_health_changes_total",
					   "Changes of devices to a health.", METRICS_COUNTER,
					   health, 4);
	m->flaps = device_metrics_family(metrics, "devplane_device_health_flaps_total",
					 "Failures of devices that have failed repeatedly.",
					 METRICS_COUNTER, health, 3);
	m->timestamp = metrics_gauge_of(
		device_metrics_family(metrics, "devplane_device_metrics_timestamp_seconds",
				      "When the metrics of devices were last brought up to date.",
				      METRICS_GAUGE, NULL, 0),
		NULL, 0);
}

void device_metrics_init(struct device_metrics *m, struct metrics *metrics, struct loop *loop)
{
	*m = (struct device_metrics){ .loop = loop };
	map_init(&m->places);
	map_init(&m->others);
	loop_timer_init(&m->tick, loop, device_metrics_on_tick);
	if (!metrics)
		return;
	device_metrics_register(m, metrics);
	device_metrics_on_tick(&m->tick);
}

void device_metrics_release(struct device_metrics *m)
{
	assert(m->places.n == 0 && m->others.n == 0);
	loop_timer_stop(&m->tick);
	map_release(&m->places);
	map_release(&m->others);
}
