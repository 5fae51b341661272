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
#include "dra/availability/device_health.h"
#include "dra/availability/device_state.h"

enum { CAPACITIES_MAX = 32 }; /* capacities of one slice that are counted */

struct free_capacity {
	struct str name; /* heap */
	double amount;
	bool counted; /* the place has a series for it */
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
	struct place_capacity capacities[DEVICE_METRICS_CAPACITIES_MAX];
	size_t ncapacities;
};

struct device_counts {
	struct place *place;
	uint32_t n[DEVICE_STATES][DEVICE_HEALTHS];
	VEC(struct free_capacity) capacities;
};

/* --- reading a status ------------------------------------------------------------------------ */

static enum device_state device_metrics_state_of(struct str name)
{
	enum device_state s = DEVICE_AVAILABLE;

	while (s < DEVICE_UNAVAILABLE && !str_eqz(name, device_state_name(s)))
		s++;
	return s;
}

static void add_capacity(struct device_counts *c, struct str name, double amount)
{
	struct free_capacity new = { .amount = amount };

	for (size_t i = 0; i < c->capacities.n; i++) {
		if (str_eq(c->capacities.v[i].name, name)) {
			c->capacities.v[i].amount += amount;
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
	JSON_FOREACH (v, json_getz(device, "availableCapacity")) {
		struct quantity q;

		if (quantity_read(v, &q))
			add_capacity(c, json_key(v), free ? (double)q.nano / 1e9 : 0);
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
				const struct str labels[3])
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
	(void)map_put(map, p->key, p);
	return p;
}

/* Returns the sum of a driver's devices, or that of all further drivers. */
static struct place *place_of_driver(struct device_metrics *m, struct str driver)
{
	const struct str other = STR("other");
	struct place *p = place_find(&m->others, DEVICE_METRICS_DRIVERS_MAX, driver,
				     (struct str[]){ driver, other, other });

	return p ? p
		 : place_find(&m->others, SIZE_MAX, other, (struct str[]){ other, other, other });
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
			       (struct str[]){ driver, pool, node });
	if (!p)
		p = place_of_driver(m, driver);
	p->shares++;
	return p;
}

static void place_drop(struct device_metrics *m, struct place *p)
{
	if (--p->shares > 0)
		return;
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
	return c;
}

static void counts_free(struct device_metrics *m, struct device_counts *c)
{
	for (size_t i = 0; i < c->capacities.n; i++)
		free((char *)c->capacities.v[i].name.p);
	vec_release(&c->capacities);
	place_drop(m, c->place);
	free(c);
}

/* Adds the devices of the share (sign 1), or subtracts them (-1). */
static void apply_devices(struct device_metrics *m, const struct device_counts *c, int sign)
{
	const struct place *p = c->place;

	for (unsigned i = 0; i < DEVICE_STATES * DEVICE_HEALTHS; i++) {
		enum device_state s = i / DEVICE_HEALTHS;
		enum device_health h = i % DEVICE_HEALTHS;

		if (c->n[s][h] > 0)
			metrics_gauge_add(metrics_gauge(m->devices, p->driver, p->pool, p->node,
							str_from(device_state_name(s)),
							str_from(device_health_name(h))),
					  sign * (double)c->n[s][h]);
	}
}

static void apply_capacity(struct device_metrics *m, const struct place *p,
			   const struct free_capacity *c, int sign)
{
	metrics_gauge_add(metrics_gauge(m->capacity, p->driver, p->pool, p->node, c->name),
			  sign * c->amount);
}

static void counts_add(struct device_metrics *m, struct device_counts *c)
{
	apply_devices(m, c, 1);
	for (size_t i = 0; i < c->capacities.n; i++) {
		struct free_capacity *f = &c->capacities.v[i];

		f->counted = place_add_capacity(c->place, f->name);
		if (f->counted)
			apply_capacity(m, c->place, f, 1);
	}
}

static void counts_subtract(struct device_metrics *m, const struct device_counts *c)
{
	apply_devices(m, c, -1);
	for (size_t i = 0; i < c->capacities.n; i++) {
		const struct free_capacity *f = &c->capacities.v[i];

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
		       a->capacities.v[i].amount == b->capacities.v[i].amount;
	return same;
}

static bool device_metrics_same(const struct device_counts *a, const struct device_counts *b)
{
	return a->place == b->place && memcmp(a->n, b->n, sizeof(a->n)) == 0 &&
	       same_capacities(a, b);
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
	if (before && now && device_metrics_same(before, now)) {
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

void device_metrics_init(struct device_metrics *m, struct metrics *metrics)
{
	static const char *const devices[] = { "driver", "pool", "node", "state", "health" };
	static const char *const capacity[] = { "driver", "pool", "node", "capacity" };

	*m = (struct device_metrics){ 0 };
	map_init(&m->places);
	map_init(&m->others);
	if (!metrics)
		return;
	(void)metrics_register(metrics,
			       &(struct metrics_spec){ .name = "devplane_devices",
						       .help = "Devices by state and health.",
						       .type = METRICS_GAUGE,
						       .labels = devices,
						       .labels_n = ARRAY_SIZE(devices) },
			       &m->devices, NULL);
	(void)metrics_register(metrics,
			       &(struct metrics_spec){ .name = "devplane_device_free_capacity",
						       .help = "Free capacity of shared devices.",
						       .type = METRICS_GAUGE,
						       .labels = capacity,
						       .labels_n = ARRAY_SIZE(capacity) },
			       &m->capacity, NULL);
}

void device_metrics_release(struct device_metrics *m)
{
	assert(m->places.n == 0 && m->others.n == 0);
	map_release(&m->places);
	map_release(&m->others);
}
