/*
 * A pool has a struct history_pool while changes of it wait, while a device of it is missing, and
 * until its pace is over. The record itself is only in our copy of the objects: each write adds to
 * what the copy shows, and fails if that is outdated.
 *
 * A write may succeed although its reply is lost. So each batch of changes has an identifier, which
 * is stored with it, and the batch stays the same until its fate is known.
 */
#include "controller/device_history/device_history.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/index.h"
#include "base/report/log.h"
#include "base/system/uuid.h"
#include "base/time/timestamp.h"
#include "client/api/bucket.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/device_history/device_history_definition.h"
#include "controller/device_history/pool.h"
#include "controller/device_history/record.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/shared/custom_kind.h"
#include "dra/availability/device_health.h"

enum {
	BATCH_MAX = HISTORY_POOL_PENDING_MAX / 2,
	WORKERS = 4,
	BACKOFF_MIN_MS = 100,
	BACKOFF_MAX_MS = 30 * 1000,
	SWEEP_MS = 3600 * 1000, /* between searches for records that are too old */
	SLOT_MS = 100, /* how long a write waits if there are too many */
};

struct device_history {
	struct context ctx;
	struct informer *published;
	struct informer_handler on_published, on_records;
	struct resource resource;
	struct custom_kind *records;
	struct workqueue *queue; /* keys of pools */
	struct map pools; /* "driver/pool" -> struct history_pool */
	struct bucket writes;
	struct loop_timer sweep;
	struct arena scratch; /* for one event */
	char writer[UUID_TEXT_SIZE]; /* identifies this process in batches */
	uint64_t batches;
	bool synced; /* both copies have their initial state */
	bool failing; /* a write failed, and that was logged */
	bool full; /* there are too many objects, and that was logged */
};

static const struct resource record_resource = { .group = STR("devplane.dev"),
						 .version = STR("v1alpha1"),
						 .resource = STR("devicehistories"),
						 .kind = STR("DeviceHistory") };

/* --- lookups --------------------------------------------------------------------------------- */

static int64_t device_history_wall(const struct device_history *h)
{
	return clock_wall(loop_clock(h->ctx.loop));
}

static struct str device_history_key_of(const struct cached *record, struct arena *a)
{
	return devices_pool_key_of(record, a);
}

/* The pool's record in our copy; NULL: none, or its name belongs to another pool. */
static const struct cached *device_history_record(struct device_history *h, struct str key)
{
	const struct cached *o = custom_kind_find(h->records, device_record_name(key, &h->scratch));

	return o && str_eq(device_history_key_of(o, &h->scratch), key) ? o : NULL;
}

static struct json *device_history_devices(const struct cached *o, struct arena *a)
{
	struct json *devices = NULL;

	(void)json_parse(a, cached_field(o, "status.devices", NULL), NULL, &devices, NULL);
	return devices;
}

/* The pool's devices now, by name; in `h->scratch`. */
static void device_history_load(struct device_history *h, struct str key, struct map *ret_devices)
{
	struct cache_walk walk = { 0 };
	struct cached *o;

	map_init(ret_devices);
	while ((o = cache_next_by(informer_cache(h->published), DEVICES_BY_POOL, key, &walk)))
		JSON_FOREACH (d, device_history_devices(o, &h->scratch))
			(void)map_put(ret_devices, json_text_at(d, "name"), d);
}

static void device_history_on_written(struct client_request *r, const struct client_answer *a,
				      const struct error *err);

static struct history_pool *device_history_need(struct device_history *h, struct str key,
						struct str node)
{
	struct history_pool *p = map_get(&h->pools, key);

	if (!p) {
		p = history_pool_new(h, key, node);
		p->request = (struct client_request){ .on_done = device_history_on_written,
						      .arg = p };
		(void)map_put(&h->pools, p->key, p);
	}
	return p;
}

/* --- changes --------------------------------------------------------------------------------- */

/* One event of a slice. */
struct device_history_event {
	struct device_history *h;
	struct str key, node;
	int64_t now;
	struct json *record; /* the record's devices, once needed */
	bool recorded; /* `record` is read */
};

static void device_history_compare(struct device_history_event *e,
				   const struct device_sight *before,
				   const struct device_sight *after)
{
	struct device_change changes[DEVICE_SIGHT_CHANGES_MAX];
	size_t n = device_sight_compare(before, after, changes);

	for (size_t i = 0; i < n; i++)
		history_pool_add(device_history_need(e->h, e->key, e->node), &changes[i], e->now);
	if (n > 0)
		workqueue_add(e->h->queue, e->key);
}

static const struct json *device_history_recorded(struct device_history_event *e, struct str name)
{
	const struct cached *o;

	if (!e->recorded) {
		e->recorded = true;
		o = device_history_record(e->h, e->key);
		/* Most records have no device that was gone, or whose illness ended unseen. */
		if (o && (str_find(o->json, STR("\"Gone\"")) >= 0 ||
			  str_find(o->json, STR("\"to\":\"NotReported\"")) >= 0))
			e->record = device_history_devices(o, &e->h->scratch);
	}
	return json_find(e->record, "name", name);
}

/* A device that was missing has changed if its state has; one that was gone is back. */
static void device_history_appear(struct device_history_event *e, const struct device_sight *sight)
{
	struct history_pool *p = map_get(&e->h->pools, e->key);
	struct history_missing *m = p ? history_pool_find(p, sight->name) : NULL;
	const struct json *record;

	if (m) {
		device_history_compare(e, &m->last, sight);
		free(m);
		return;
	}
	record = device_history_recorded(e, sight->name);
	if (str_eq(device_record_last(record, "state"), DEVICE_SIGHT_GONE))
		device_history_compare(
			e,
			&(struct device_sight){ .state = DEVICE_SIGHT_GONE,
						.health = device_record_last(record, "health") },
			sight);
}

/* Whether the device's record ends with a health that is no longer reported. */
static bool device_history_is_unsettled(struct device_history_event *e, struct str name)
{
	const struct history_pool *p = map_get(&e->h->pools, e->key);
	struct str last = p ? history_pool_health(p, name, &e->h->scratch) : STR("");

	if (last.n == 0)
		last = device_record_last(device_history_recorded(e, name), "health");
	return str_eqz(last, device_health_name(DEVICE_NOT_REPORTED));
}

static void device_history_compare_now(struct device_history_event *e, const struct json *before,
				       const struct device_sight *now)
{
	struct device_sight then = device_sight_read(before, &e->h->scratch);

	then.unsettled = !str_eq(then.health, now->health) &&
			 str_eqz(then.health, device_health_name(DEVICE_NOT_REPORTED)) &&
			 device_history_is_unsettled(e, then.name);
	device_history_compare(e, &then, now);
}

static void device_history_vanish(struct device_history_event *e, const struct device_sight *sight)
{
	history_pool_lose(device_history_need(e->h, e->key, e->node), sight, e->now);
	workqueue_add_after(e->h->queue, e->key, DEVICE_HISTORY_GONE_MS);
}

static void device_history_compare_lists(struct device_history_event *e, const struct json *before,
					 const struct json *after)
{
	struct arena *a = &e->h->scratch;
	struct json_index old, new;

	json_index_init(&old, before, "name");
	json_index_init(&new, after, "name");
	JSON_FOREACH (d, after) {
		const struct json *was = json_index_get(&old, json_text_at(d, "name"));
		struct device_sight now = device_sight_read(d, a);

		if (was)
			device_history_compare_now(e, was, &now);
		else
			device_history_appear(e, &now);
	}
	JSON_FOREACH (d, before) {
		struct device_sight then = device_sight_read(d, a);

		if (!json_index_get(&new, then.name))
			device_history_vanish(e, &then);
	}
	json_index_release(&old);
	json_index_release(&new);
}

/* `old` is NULL for a new slice, `o` for one that is deleted. */
static void device_history_on_event(struct device_history *h, const struct cached *old,
				    const struct cached *o)
{
	const struct cached *slice = o ? o : old;
	struct device_history_event e = { .h = h, .now = device_history_wall(h) };

	if (!h->synced)
		return;
	e.key = devices_pool_key_of(slice, &h->scratch);
	e.node = cached_field(slice, "spec.nodeName", &h->scratch);
	device_history_compare_lists(&e, old ? device_history_devices(old, &h->scratch) : NULL,
				     o ? device_history_devices(o, &h->scratch) : NULL);
	arena_clear(&h->scratch);
}

static void device_history_on_add(struct informer_handler *handler, struct cached *o,
				  bool initial UNUSED)
{
	device_history_on_event(CONTAINER_OF(handler, struct device_history, on_published), NULL,
				o);
}

static void device_history_on_update(struct informer_handler *handler, struct cached *old,
				     struct cached *o)
{
	struct device_history *h = CONTAINER_OF(handler, struct device_history, on_published);
	bool moved = !str_eq(cached_field(old, "spec.pool.name", NULL),
			     cached_field(o, "spec.pool.name", NULL));

	if (!moved && str_eq(cached_field(old, "status.devices", NULL),
			     cached_field(o, "status.devices", NULL)))
		return;
	device_history_on_event(h, old, moved ? NULL : o);
	if (moved)
		device_history_on_event(h, NULL, o);
}

static void device_history_on_delete(struct informer_handler *handler, struct cached *last,
				     bool unknown UNUSED)
{
	device_history_on_event(CONTAINER_OF(handler, struct device_history, on_published), last,
				NULL);
}

/* --- the beginning --------------------------------------------------------------------------- */

/* Only what the record has: it knows neither the reason nor the holder now. */
static void device_history_compare_record(struct device_history_event *e, const struct json *record,
					  const struct json *device)
{
	struct device_sight now = device_sight_read(device, &e->h->scratch);
	struct device_sight then = { .name = now.name,
				     .state = device_record_last(record, "state"),
				     .health = device_record_last(record, "health") };

	then.unsettled = str_eqz(then.health, device_health_name(DEVICE_NOT_REPORTED));
	if (str_eq(then.state, now.state)) {
		then.reason = now.reason;
		then.holder = now.holder;
	}
	device_history_compare(e, &then, &now);
}

/* Changes that happened while no controller worked, or that it could not write. */
static void device_history_catch_up(struct device_history *h, const struct cached *record)
{
	struct device_history_event e = { .h = h, .now = device_history_wall(h) };
	struct map devices;

	e.key = device_history_key_of(record, &h->scratch);
	e.node = cached_field(record, "spec.nodeName", &h->scratch);
	device_history_load(h, e.key, &devices);
	JSON_FOREACH (d, device_history_devices(record, &h->scratch)) {
		const struct json *now = map_get(&devices, json_text_at(d, "name"));
		struct device_sight last = { .name = json_text_at(d, "name"),
					     .state = device_record_last(d, "state"),
					     .health = device_record_last(d, "health") };

		if (now)
			device_history_compare_record(&e, d, now);
		else if (last.state.n > 0 && !str_eq(last.state, DEVICE_SIGHT_GONE))
			device_history_vanish(&e, &last);
	}
	map_release(&devices);
	arena_clear(&h->scratch);
}

static void device_history_on_copy(struct device_history *h)
{
	struct cache_walk walk = { 0 };
	const struct cached *o;

	if (h->synced || !h->on_published.synced || !h->on_records.synced)
		return;
	h->synced = true;
	while ((o = cache_next(informer_cache(custom_kind_informer(h->records)), &walk)))
		device_history_catch_up(h, o);
	workqueue_hold(h->queue, false);
	loop_timer_start(&h->sweep, 0);
}

static void device_history_on_published_synced(struct informer_handler *handler)
{
	device_history_on_copy(CONTAINER_OF(handler, struct device_history, on_published));
}

static void device_history_on_records_synced(struct informer_handler *handler)
{
	device_history_on_copy(CONTAINER_OF(handler, struct device_history, on_records));
}

/* --- missing devices ------------------------------------------------------------------------- */

static void device_history_resolve(struct history_pool *p, struct str name, const struct json *now)
{
	struct device_history_event e = { .h = p->owner,
					  .key = p->key,
					  .now = device_history_wall(p->owner) };
	struct history_missing *m = history_pool_find(p, name);
	struct device_sight sight;

	if (now) {
		sight = device_sight_read(now, &p->owner->scratch);
		device_history_compare(&e, &m->last, &sight);
	} else {
		history_pool_add(p,
				 &(struct device_change){ .device = m->last.name,
							  .field = "state",
							  .from = m->last.state,
							  .to = DEVICE_SIGHT_GONE,
							  .holder = m->last.holder },
				 m->since);
	}
	free(m);
}

/* Finds the devices whose time is over. Returns how long the next one has left, in ms; 0: none. */
static int64_t device_history_due(struct history_pool *p, struct str **ret_due, size_t *ret_n)
{
	int64_t now = device_history_wall(p->owner), next = 0;
	struct str *due = ARENA_ARRAY(&p->owner->scratch, struct str, p->missing.n + 1), name;
	size_t at = 0;
	void *v;

	*ret_due = due;
	*ret_n = 0;
	while (map_next(&p->missing, &at, &name, &v)) {
		int64_t left = ((struct history_missing *)v)->since / CLOCK_MS +
			       DEVICE_HISTORY_GONE_MS - now / CLOCK_MS;

		if (left <= 0)
			due[(*ret_n)++] = arena_str(&p->owner->scratch, name);
		else
			next = next == 0 ? left : MIN(next, left);
	}
	return next;
}

/* Returns how long the next missing device has left, in ms; 0: none is missing. */
static int64_t device_history_resolve_all(struct history_pool *p)
{
	struct device_history *h = p->owner;
	struct map devices;
	struct str *due;
	size_t n;
	int64_t next = device_history_due(p, &due, &n);

	if (n == 0)
		return next;
	device_history_load(h, p->key, &devices);
	/* A pool that is too large to be read whole has not lost the devices that were left out. */
	if (h->scratch.refused) {
		map_release(&devices);
		return DEVICE_HISTORY_GONE_MS;
	}
	for (size_t i = 0; i < n; i++)
		device_history_resolve(p, due[i], map_get(&devices, due[i]));
	map_release(&devices);
	return next;
}

/* --- writes ---------------------------------------------------------------------------------- */

static struct str device_history_batch_name(const struct history_pool *p, struct arena *a)
{
	return str_from(
		arena_printf(a, "%s/%llu", p->owner->writer, (unsigned long long)p->batch_id));
}

/* A write whose reply was lost may have succeeded. */
static void device_history_confirm(struct history_pool *p, const struct cached *record)
{
	struct arena *a = &p->owner->scratch;

	if (p->batch > 0 && record &&
	    str_eq(cached_field(record, "status.batch", a), device_history_batch_name(p, a)))
		history_pool_written(p, p->batch);
}

static struct json *device_history_new_record(const struct history_pool *p, struct arena *a)
{
	struct json *tree = json_make_object(a), *spec;
	struct str pool = p->key, driver;

	(void)str_split(&pool, '/', &driver);
	json_put_str(a, tree, "apiVersion", resource_api_version(a, &record_resource));
	json_put_str(a, tree, "kind", record_resource.kind);
	json_put_str(a, json_need_object(a, tree, "metadata"), "name",
		     device_record_name(p->key, a));
	spec = json_need_object(a, tree, "spec");
	json_put_str(a, spec, "driver", driver);
	json_put_str(a, json_need_object(a, spec, "pool"), "name", pool);
	if (p->node)
		json_put_str(a, spec, "nodeName", str_from(p->node));
	return tree;
}

static size_t device_history_room(const struct device_history *h)
{
	size_t n = cache_count(informer_cache(custom_kind_informer(h->records)));
	size_t share = DEVICE_HISTORY_BYTES_MAX / MAX(n, (size_t)1);

	return MIN(MAX(share, (size_t)DEVICE_HISTORY_OBJECT_MIN),
		   (size_t)DEVICE_HISTORY_OBJECT_MAX);
}

static struct json *device_history_make(struct history_pool *p, const struct cached *record,
					struct arena *a)
{
	struct json *tree = NULL, *change;

	if (record)
		(void)cached_tree(record, a, &tree, NULL);
	if (!tree)
		tree = device_history_new_record(p, a);
	for (size_t i = 0; i < p->batch; i++)
		if (json_parse(a, str_from(p->pending.v[i].text), NULL, &change, NULL) == 0)
			device_record_add(tree, str_from(p->pending.v[i].device), change, a);
	json_put_str(a, json_need_object(a, tree, "status"), "batch",
		     device_history_batch_name(p, a));
	device_record_trim(tree, device_history_room(p->owner), a);
	return tree;
}

static void device_history_write(struct history_pool *p, const struct cached *record)
{
	struct device_history *h = p->owner;
	struct json *tree;

	if (p->batch == 0) {
		p->batch = MIN(p->pending.n, (size_t)BATCH_MAX);
		p->batch_id = ++h->batches;
	}
	tree = device_history_make(p, record, &h->scratch);
	if (record)
		client_update(h->ctx.client, &p->request, &record_resource, STR_NULL, record->key,
			      tree);
	else
		client_create(h->ctx.client, &p->request, &record_resource, STR_NULL, tree);
}

/* An expected failure: the server was ahead of our copy. */
static bool device_history_is_usual(const struct error *err)
{
	return err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND ||
	       err->code == ERR_ALREADY_EXISTS;
}

/* The server will not accept these changes later, either. */
static bool device_history_is_final(const struct error *err)
{
	return err->code == ERR_INVALID || err->code == ERR_TOO_LARGE ||
	       err->code == ERR_BAD_REQUEST;
}

static void device_history_on_written(struct client_request *r,
				      const struct client_answer *a UNUSED, const struct error *err)
{
	struct history_pool *p = r->arg;
	struct device_history *h = p->owner;
	bool again = err && !device_history_is_final(err);

	if (err && !device_history_is_usual(err) && !h->failing)
		log_warn(h->ctx.log, "cannot write the history of devices", LOG_STR("pool", p->key),
			 LOG_ERR(err));
	h->failing = err && (h->failing || !device_history_is_usual(err));
	if (!again) {
		history_pool_written(p, p->batch);
		p->next_write_at = loop_now(h->ctx.loop) + DEVICE_HISTORY_PACE_MS;
		workqueue_add_after(h->queue, p->key, DEVICE_HISTORY_PACE_MS);
	}
	workqueue_finish(h->queue, p->key, again);
}

/* --- records of pools that are gone ---------------------------------------------------------- */

static bool device_history_is_old(struct device_history *h, const struct cached *record,
				  struct str key)
{
	struct cache_walk walk = { 0 };
	int64_t last = 0;

	if (cache_next_by(informer_cache(h->published), DEVICES_BY_POOL, key, &walk)) {
		cache_walk_end(&walk);
		return false;
	}
	(void)timestamp_parse(cached_field(record, "status.lastChangeTime", NULL), &last, NULL);
	return device_history_wall(h) - last > DEVICE_HISTORY_KEEP_MS * CLOCK_MS;
}

static void device_history_remove(struct device_history *h, struct str key,
				  const struct cached *record)
{
	struct history_pool *p = device_history_need(h, key, STR(""));

	client_delete(h->ctx.client, &p->request, &record_resource, STR_NULL, record->key,
		      &(struct client_delete_opts){ .uid = record->uid,
						    .resource_version = record->resource_version });
}

static void device_history_on_sweep(struct loop_timer *t)
{
	struct device_history *h = CONTAINER_OF(t, struct device_history, sweep);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while ((o = cache_next(informer_cache(custom_kind_informer(h->records)), &walk))) {
		struct str key = device_history_key_of(o, &h->scratch);

		if (device_history_is_old(h, o, key))
			workqueue_add(h->queue, key);
		arena_clear(&h->scratch);
	}
	loop_timer_start(t, SWEEP_MS);
}

/* --- one look -------------------------------------------------------------------------------- */

static void device_history_forget(struct device_history *h, struct history_pool *p)
{
	(void)map_remove(&h->pools, p->key);
	history_pool_free(p);
}

/* There is no room for another record. */
static bool device_history_is_full(struct device_history *h, const struct cached *record)
{
	bool full = !record && cache_count(informer_cache(custom_kind_informer(h->records))) >=
				       DEVICE_HISTORY_OBJECTS_MAX;

	if (full && !h->full)
		log_warn(h->ctx.log, "too many pools: the history of further pools is not kept",
			 LOG_INT("pools", DEVICE_HISTORY_OBJECTS_MAX));
	h->full |= full;
	return full;
}

/* Returns how long the write must wait. */
static int64_t device_history_wait(struct device_history *h, const struct history_pool *p)
{
	int64_t wait = p->next_write_at - loop_now(h->ctx.loop);

	if (wait > 0)
		return wait;
	return bucket_take(&h->writes, loop_now(h->ctx.loop) * CLOCK_MS) ? 0 : SLOT_MS;
}

/* Returns whether a request was sent; then its end finishes the key. */
static bool device_history_look_at(struct device_history *h, struct history_pool *p)
{
	const struct cached *record = device_history_record(h, p->key);
	int64_t next = device_history_resolve_all(p), wait;

	if (next > 0)
		workqueue_add_after(h->queue, p->key, next);
	device_history_confirm(p, record);
	if (p->pending.n > 0 && device_history_is_full(h, record))
		history_pool_written(p, p->pending.n);
	wait = p->next_write_at - loop_now(h->ctx.loop);
	if (p->pending.n == 0 && next == 0 && wait <= 0) {
		workqueue_forget(h->queue, p->key);
		return false;
	}
	if (p->pending.n > 0)
		wait = device_history_wait(h, p);
	if (wait > 0)
		workqueue_add_after(h->queue, p->key, wait);
	if (p->pending.n == 0 || wait > 0)
		return false;
	device_history_write(p, record);
	return true;
}

static bool device_history_is_idle(const struct device_history *h, const struct history_pool *p)
{
	return p->pending.n == 0 && p->missing.n == 0 && p->next_write_at <= loop_now(h->ctx.loop);
}

static void device_history_look(void *arg, struct str key)
{
	struct device_history *h = arg;
	struct history_pool *p = map_get(&h->pools, key);
	const struct cached *record = device_history_record(h, key);
	bool sent;

	if (!p && record && device_history_is_old(h, record, key)) {
		device_history_remove(h, key, record);
		arena_clear(&h->scratch);
		return;
	}
	sent = p && device_history_look_at(h, p);
	if (p && !sent && device_history_is_idle(h, p))
		device_history_forget(h, p);
	arena_clear(&h->scratch);
	if (!sent)
		workqueue_done(h->queue, key);
}

/* --- life ------------------------------------------------------------------------------------ */

static void device_history_index_pool(const struct cached *o, struct arena *a,
				      struct cache_values *v)
{
	cache_values_add(v, devices_pool_key_of(o, a));
}

static void device_history_follow(struct device_history *h, const struct resource *published)
{
	static const struct cache_index by_pool = { DEVICES_BY_POOL, device_history_index_pool,
						    NULL };

	h->published = informers_get(
		h->ctx.informers, &(struct informer_spec){ .resource = published, .slim = true });
	informer_add_index(h->published, &by_pool);
	h->on_published = (struct informer_handler){
		.on_add = device_history_on_add,
		.on_update = device_history_on_update,
		.on_delete = device_history_on_delete,
		.on_synced = device_history_on_published_synced
	};
	informer_add_handler(h->published, &h->on_published);
	h->on_records = (struct informer_handler){ .on_synced = device_history_on_records_synced };
	h->records = custom_kind_new(&(struct custom_kind_opts){
		.ctx = &h->ctx,
		.resource = &record_resource,
		.name = "devicehistories.devplane.dev",
		.definition = device_history_definition,
		.refused = "cannot define devicehistories.devplane.dev: grant create on "
			   "customresourcedefinitions, or create deploy/availability/history.yaml; "
			   "until then the history of devices is not kept",
		.handler = &h->on_records });
}

struct device_history *device_history_new(const struct context *ctx,
					  const struct resource *published)
{
	struct device_history *h = XNEW(struct device_history);
	struct uuid writer;

	h->ctx = *ctx;
	uuid_make(&writer);
	(void)uuid_print(&writer, h->writer);
	map_init(&h->pools);
	arena_init(&h->scratch, REQUEST_WORK_MAX);
	bucket_init(&h->writes, DEVICE_HISTORY_WRITES_PER_S, DEVICE_HISTORY_WRITES_PER_S);
	h->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "device_history",
							   .workers = WORKERS,
							   .handle = device_history_look,
							   .arg = h,
							   .backoff_base_ms = BACKOFF_MIN_MS,
							   .backoff_max_ms = BACKOFF_MAX_MS,
							   .metrics = ctx->metrics });
	workqueue_hold(h->queue, true);
	loop_timer_init(&h->sweep, ctx->loop, device_history_on_sweep);
	device_history_follow(h, published);
	return h;
}

void device_history_free(struct device_history *h)
{
	struct str key;
	size_t at = 0;
	void *p;

	if (!h)
		return;
	loop_timer_stop(&h->sweep);
	informer_remove_handler(&h->on_published);
	custom_kind_free(h->records);
	while (map_next(&h->pools, &at, &key, &p))
		history_pool_free(p);
	map_release(&h->pools);
	workqueue_free(h->queue);
	arena_release(&h->scratch);
	free(h);
}
