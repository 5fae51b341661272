/*
 * A share is subtracted with the same labels with which it was added, so it stores them. Amounts
 * are summed as doubles, as Prometheus does.
 */
#include "controller/devices/device_metrics.h"

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
};

struct device_counts {
	struct str driver, pool, node; /* labels; stored after the struct */
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

/* --- shares ---------------------------------------------------------------------------------- */

/* Whether the pool has its own series: the first pools do, for ever. */
static bool has_series(struct device_metrics *m, struct str key)
{
	char *copy;

	if (map_get(&m->pools, key))
		return true;
	if (m->pools.n >= DEVICE_METRICS_POOLS_MAX)
		return false;
	copy = str_dup(key);
	(void)map_put(&m->pools, str_of(copy, key.n), copy);
	return true;
}

static struct str device_metrics_keep(char **at, struct str text)
{
	struct str copy = str_of(*at, text.n);

	str_put(*at, text);
	*at += text.n;
	return copy;
}

static struct device_counts *counts_new(struct device_metrics *m,
					const struct inventory_slice *slice,
					const struct json *status)
{
	bool own = has_series(m, slice->pool->key);
	bool on_node = slice->nodes.kind == INVENTORY_NODES_NAME;
	struct str pool = own ? slice->pool->name : STR("other");
	struct str node = own ? (on_node ? slice->nodes.name : STR("")) : STR("other");
	struct str driver = slice->pool->driver;
	struct device_counts *c = xcalloc(1, sizeof(*c) + driver.n + pool.n + node.n);
	char *at = (char *)(c + 1);

	c->driver = device_metrics_keep(&at, driver);
	c->pool = device_metrics_keep(&at, pool);
	c->node = device_metrics_keep(&at, node);
	vec_init(&c->capacities, CAPACITIES_MAX);
	JSON_FOREACH (device, json_getz(status, "devices"))
		count_device(c, device);
	return c;
}

static void counts_free(struct device_counts *c)
{
	for (size_t i = 0; i < c->capacities.n; i++)
		free((char *)c->capacities.v[i].name.p);
	vec_release(&c->capacities);
	free(c);
}

/* Adds the share (sign 1), or subtracts it (-1). */
static void device_metrics_apply(struct device_metrics *m, const struct device_counts *c, int sign)
{
	for (unsigned i = 0; i < DEVICE_STATES * DEVICE_HEALTHS; i++) {
		enum device_state s = i / DEVICE_HEALTHS;
		enum device_health h = i % DEVICE_HEALTHS;

		if (c->n[s][h] > 0)
			metrics_gauge_add(metrics_gauge(m->devices, c->driver, c->pool, c->node,
							str_from(device_state_name(s)),
							str_from(device_health_name(h))),
					  sign * (double)c->n[s][h]);
	}
	for (size_t i = 0; i < c->capacities.n; i++)
		metrics_gauge_add(metrics_gauge(m->capacity, c->driver, c->pool, c->node,
						c->capacities.v[i].name),
				  sign * c->capacities.v[i].amount);
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
	return str_eq(a->driver, b->driver) && str_eq(a->pool, b->pool) &&
	       str_eq(a->node, b->node) && memcmp(a->n, b->n, sizeof(a->n)) == 0 &&
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
		counts_free(now);
		return;
	}
	if (now)
		device_metrics_apply(m, now, 1);
	if (before) {
		device_metrics_apply(m, before, -1);
		counts_free(before);
	}
	*counts = now;
}

/* --- life ------------------------------------------------------------------------------------ */

void device_metrics_init(struct device_metrics *m, struct metrics *metrics)
{
	static const char *const devices[] = { "driver", "pool", "node", "state", "health" };
	static const char *const capacity[] = { "driver", "pool", "node", "capacity" };

	*m = (struct device_metrics){ 0 };
	map_init(&m->pools);
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
	struct str key;
	size_t at = 0;
	void *text;

	while (map_next(&m->pools, &at, &key, &text))
		free(text);
	map_release(&m->pools);
}
