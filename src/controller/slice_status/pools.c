/*
 * A pool has a reference from each slice that has joined. It is freed with the last, unless the
 * inventory has slices of it that are about to join.
 */
#include "controller/slice_status/pools.h"

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "controller/devices/devices.h"
#include "controller/slice_status/metrics.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_status_impl.h"
#include "dra/availability/availability.h"
#include "dra/inventory/content.h"

struct slice_status_pool {
	unsigned refs;
	bool seeded; /* the stored conditions were read */
	struct str key;
	struct buf told; /* the published conditions as text; or empty */
	/* The slice that last reported the pool's faults; or NULL. */
	const struct slice_state *teller;
	struct slice_status_faults faults;
	char text[]; /* the key */
};

void slice_status_pools_init(struct slice_status_pools *p, struct devices *devices,
			     struct slice_sink *sink, struct slice_status_metrics *metrics)
{
	map_init(&p->all);
	p->devices = devices;
	p->sink = sink;
	p->metrics = metrics;
}

static void pool_free(struct slice_status_pools *p, struct slice_status_pool *pool)
{
	slice_status_metrics_faults(p->metrics, &pool->faults, pool->key, 0);
	buf_release(&pool->told);
	free(pool);
}

void slice_status_pools_release(struct slice_status_pools *p)
{
	struct str key;
	size_t at = 0;
	void *pool;

	while (map_next(&p->all, &at, &key, &pool))
		pool_free(p, pool);
	map_release(&p->all);
}

/* --- membership ------------------------------------------------------------------------------ */

static struct slice_status_pool *pools_need(struct slice_status_pools *p, struct str key)
{
	struct slice_status_pool *pool = map_get(&p->all, key);

	if (!pool) {
		pool = xcalloc(1, sizeof(*pool) + key.n + 1);
		str_put(pool->text, key);
		pool->key = str_of(pool->text, key.n);
		buf_init(&pool->told, OBJECT_MAX);
		(void)map_put(&p->all, pool->key, pool);
	}
	pool->refs++;
	return pool;
}

static struct inventory_pool *find_pool(const struct slice_status_pools *p, struct str key)
{
	struct str name = key, driver;

	(void)str_split(&name, '/', &driver);
	return inventory_pool(devices_inventory(p->devices), driver, name);
}

/* The slice that last reported the faults may not report any more. */
static void forget_teller(struct slice_status_pools *p, const struct slice_state *st)
{
	struct slice_status_pool *pool = st->pool;

	if (pool->teller != st)
		return;
	pool->teller = NULL;
	slice_status_metrics_faults(p->metrics, &pool->faults, pool->key, 0);
}

void slice_status_pools_leave(struct slice_status_pools *p, struct slice_state *st)
{
	struct slice_status_pool *pool = st->pool;
	const struct inventory_pool *now;

	if (!pool)
		return;
	forget_teller(p, st);
	st->pool = NULL;
	if (--pool->refs > 0)
		return;
	now = find_pool(p, pool->key);
	if (now && now->nslices + now->nolder > 0)
		return;
	(void)map_remove(&p->all, pool->key);
	pool_free(p, pool);
}

void slice_status_pools_join(struct slice_status_pools *p, struct slice_state *st)
{
	const struct inventory_slice *slice = inventory_slice(devices_inventory(p->devices),
							      st->name);

	if (slice && st->pool && str_eq(st->pool->key, slice->pool->key))
		return;
	slice_status_pools_leave(p, st);
	if (slice)
		st->pool = pools_need(p, slice->pool->key);
}

/* --- conditions ------------------------------------------------------------------------------ */

/* The conditions in the text of a status; NULL: none. */
static const struct json *read_conditions(struct str status, struct arena *a)
{
	struct json_cursor c = json_cursor_of(status);
	enum json_cursor_type type;
	struct str raw;
	struct json *v;

	if (status.n == 0 || !json_cursor_find(&c, STR("poolStatus")) ||
	    !json_cursor_value(&c, &raw, &type) || type != JSON_CURSOR_NESTED ||
	    json_parse(a, raw, NULL, &v, NULL) < 0)
		return NULL;
	return json_getz(v, "conditions");
}

/* The latest change wins: an older one is left from a slice that used to be the first. */
static void merge_conditions(struct json *to, const struct json *from, struct arena *a)
{
	JSON_FOREACH (c, from) {
		struct str type = json_text_at(c, "type");
		struct str time = json_text_at(c, "lastTransitionTime");
		struct json *known = json_find(to, "type", type);

		if (known && str_cmp(time, json_text_at(known, "lastTransitionTime")) <= 0)
			continue;
		if (!known) {
			known = json_make_object(a);
			json_put_str(a, known, "type", type);
			json_append(to, known);
		}
		json_put_str(a, known, "status", json_text_at(c, "status"));
		json_put_str(a, known, "lastTransitionTime", time);
	}
}

static void seed(struct slice_status_pools *p, struct slice_status_pool *pool, struct arena *a)
{
	struct str name = pool->key, driver, *slices;
	struct json *all = json_make_array(a);
	size_t n;

	(void)str_split(&name, '/', &driver);
	n = availability_pool_slices(devices_inventory(p->devices), driver, name, a, &slices);
	for (size_t i = 0; i < n; i++)
		merge_conditions(
			all, read_conditions(p->sink->ops->read(p->sink, slices[i]).status, a), a);
	pool->seeded = true;
	if (json_count(all) > 0 && json_print(&pool->told, all, NULL) < 0)
		buf_clear(&pool->told);
}

struct json *slice_status_pools_before(struct slice_status_pools *p, const struct slice_state *st,
				       struct arena *a)
{
	struct slice_status_pool *pool = st->pool;
	struct json *v, *status;

	if (!pool)
		return NULL;
	if (!pool->seeded)
		seed(p, pool, a);
	if (pool->told.n == 0 || json_parse(a, arena_str(a, buf_str(&pool->told)), NULL, &v, NULL))
		return NULL;
	status = json_make_object(a);
	json_setz(json_need_object(a, status, "poolStatus"), "conditions", v);
	return status;
}

void slice_status_pools_note(struct slice_status_pools *p, const struct slice_state *st,
			     const struct json *status)
{
	const struct json *v = json_getz(status, "poolStatus");
	struct slice_status_pool *pool = st->pool;

	if (!pool)
		return;
	if (!v) {
		forget_teller(p, st);
		return;
	}
	pool->teller = st;
	slice_status_metrics_faults(p->metrics, &pool->faults, pool->key,
				    json_count(json_getz(v, "validationErrors")));
	buf_clear(&pool->told);
	if (json_print(&pool->told, json_getz(v, "conditions"), NULL) < 0)
		buf_clear(&pool->told);
}
