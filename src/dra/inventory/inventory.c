/*
 * Puts, removes and looks up objects. The other files of this folder handle each kind: slices,
 * pools, nodes, claims, classes.
 */
#include "dra/inventory/inventory.h"

#include "base/core/mem.h"
#include "dra/inventory/store.h"

const struct inventory_features inventory_defaults = {
	.admin_access = true,
	.prioritized_list = true,
	.partitionable = true,
	.taints = true,
	.binding_conditions = true,
	.consumable_capacity = true,
	.fractional_range = true,
};

const struct inventory_features inventory_everything = {
	.admin_access = true,
	.prioritized_list = true,
	.partitionable = true,
	.taints = true,
	.binding_conditions = true,
	.consumable_capacity = true,
	.fractional_range = true,
	.list_attributes = true,
	.derived_attributes = true,
	.compatibility_groups = true,
	.observer = true,
};

struct inventory *inventory_new(struct inventory_features features)
{
	struct inventory *inv = XNEW(struct inventory);

	inv->features = features;
	map_init(&inv->slices);
	omap_init(&inv->pools);
	map_init(&inv->pool_keys);
	map_init(&inv->claims);
	map_init(&inv->classes);
	omap_init(&inv->rules);
	map_init(&inv->programs);
	list_init(&inv->programs_used);
	list_init(&inv->dirty);
	map_init(&inv->nodes);
	map_init(&inv->existing);
	map_init(&inv->lost);
	map_init(&inv->choices);
	vec_init(&inv->wide, SIZE_MAX);
	return inv;
}

const struct inventory_features *inventory_features(const struct inventory *inv)
{
	return &inv->features;
}

/* --- slices ------------------------------------------------------------------------- */

/* Frees a slice that is no longer in the map. */
static void slice_drop(struct inventory *inv, struct inventory_slice *slice)
{
	struct inventory_pool *pool = slice->pool;

	inventory_index_remove(inv, slice);
	list_remove(&slice->link);
	inv->bytes -= slice->block;
	free(slice);
	inventory_pool_dirty(inv, pool);
	inventory_pool_drop(inv, pool);
}

/*
 * The API server increments metadata.generation with every change of the spec; other changes do not
 * matter here.
 */
static bool same_spec(const struct inventory *inv, const struct json *slice)
{
	const struct json *meta = json_getz(slice, "metadata");
	const struct inventory_slice *old = map_get(&inv->slices, json_text_at(meta, "name"));

	return old && old->uid.n > 0 && str_eq(old->uid, json_text_at(meta, "uid")) &&
	       old->meta_generation > 0 &&
	       old->meta_generation == json_i64_at(meta, "generation", 0);
}

int inventory_put_slice(struct inventory *inv, const struct json *slice, struct error *err)
{
	struct inventory_slice *s;
	struct str driver, pool;
	int r;

	if (same_spec(inv, slice))
		return 0;
	r = inventory_slice_read(&inv->features, slice, &s, &driver, &pool, err);
	inventory_remove_slice(inv, json_text_at(json_getz(slice, "metadata"), "name"));
	if (r < 0)
		return r;
	s->id = ++inv->ids;
	s->pool = inventory_pool_need(inv, driver, pool);
	list_push_back(&s->pool->all, &s->link);
	map_put(&inv->slices, s->name, s);
	inv->bytes += s->block;
	inventory_pool_dirty(inv, s->pool);
	return 0;
}

void inventory_remove_slice(struct inventory *inv, struct str name)
{
	struct inventory_slice *slice = map_remove(&inv->slices, name);

	if (slice)
		slice_drop(inv, slice);
}

void inventory_remove_slices(struct inventory *inv)
{
	struct str name;
	size_t at = 0;
	void *value;

	while (map_next(&inv->slices, &at, &name, &value))
		slice_drop(inv, value);
	map_clear(&inv->slices);
}

/* --- taint rules -------------------------------------------------------------------- */

static void rule_read(struct pack *p, const struct json *v, struct inventory_rule **ret_rule)
{
	struct inventory_rule *rule = PACK_NEW(p, struct inventory_rule);
	const struct json *spec = json_getz(v, "spec");
	const struct json *selector = json_getz(spec, "deviceSelector");
	const struct {
		const char *key;
		struct str *to;
	} parts[] = { { "driver", &rule->driver },
		      { "pool", &rule->pool },
		      { "device", &rule->device } };

	rule->name = pack_text(p, json_text_at(json_getz(v, "metadata"), "name"));
	rule->any = json_is(selector, JSON_OBJECT);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (json_is(json_getz(selector, parts[i].key), JSON_STRING))
			*parts[i].to = pack_text(p, json_text_at(selector, parts[i].key));
	inventory_taint_read(p, json_getz(spec, "taint"), &rule->taint);
	*ret_rule = rule;
}

static bool rule_concerns(const struct inventory_rule *rule, const struct inventory_pool *pool)
{
	return rule->any && (!rule->driver.p || str_eq(rule->driver, pool->driver)) &&
	       (!rule->pool.p || str_eq(rule->pool, pool->name));
}

static void pool_add_rule(struct inventory_pool *pool, const struct inventory_rule *rule)
{
	size_t at = pool->nrules;

	pool->rules = xrealloc(pool->rules, (pool->nrules + 1) * sizeof(*pool->rules));
	for (; at > 0 && str_cmp(pool->rules[at - 1]->name, rule->name) > 0; at--)
		pool->rules[at] = pool->rules[at - 1];
	pool->rules[at] = rule;
	pool->nrules++;
}

static void pool_remove_rule(struct inventory_pool *pool, const struct inventory_rule *rule)
{
	size_t at = 0;

	while (pool->rules[at] != rule)
		at++;
	pool->nrules--;
	memmove(&pool->rules[at], &pool->rules[at + 1], (pool->nrules - at) * sizeof(*pool->rules));
	if (pool->nrules > 0)
		return;
	free(pool->rules);
	pool->rules = NULL;
}

void inventory_pool_rules(const struct inventory *inv, struct inventory_pool *pool)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&inv->rules, &c); ok; ok = omap_next(&c))
		if (rule_concerns(omap_value(&c), pool))
			pool_add_rule(pool, omap_value(&c));
}

/*
 * Calls `tell` for the pools that a rule may apply to: those whose key starts with its driver and
 * pool.
 */
static void rule_tell(struct inventory *inv, const struct inventory_rule *rule,
		      void (*tell)(struct inventory_pool *, const struct inventory_rule *))
{
	struct str prefix = STR("");
	struct omap_cursor c;
	struct arena a;
	char block[512] UNZEROED;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (rule->driver.p)
		prefix = str_from(
			arena_printf(&a, "%.*s/%.*s", STR_ARG(rule->driver), STR_ARG(rule->pool)));
	for (bool ok = omap_seek_prefix(&inv->pools, &c, prefix); ok;
	     ok = omap_next_prefix(&c, prefix))
		if (rule_concerns(rule, omap_value(&c)))
			tell(omap_value(&c), rule);
	arena_release(&a);
}

static void rule_drop(struct inventory *inv, struct str name)
{
	struct inventory_rule *rule = omap_remove(&inv->rules, name);

	if (!rule)
		return;
	rule_tell(inv, rule, pool_remove_rule);
	inv->bytes -= rule->block;
	free(rule);
}

int inventory_put_taint_rule(struct inventory *inv, const struct json *rule, struct error *err)
{
	struct str name = json_text_at(json_getz(rule, "metadata"), "name");
	struct inventory_rule *made;
	struct pack pack;

	if (name.n == 0)
		return error_set(err, ERR_INVALID, "a DeviceTaintRule needs a name");
	pack_init(&pack);
	rule_read(&pack, rule, &made);
	pack_allocate(&pack);
	rule_read(&pack, rule, &made);
	made->block = pack.split + pack.back;
	pack_release(&pack);
	rule_drop(inv, name);
	omap_put(&inv->rules, made->name, made);
	inv->bytes += made->block;
	rule_tell(inv, made, pool_add_rule);
	return 0;
}

void inventory_remove_taint_rule(struct inventory *inv, struct str name)
{
	rule_drop(inv, name);
}

const struct inventory_rule *inventory_rule(const struct inventory *inv, struct str name)
{
	return omap_get(&inv->rules, name);
}

bool inventory_has_rules(const struct inventory *inv)
{
	return inv->rules.n > 0;
}

const struct inventory_taint *inventory_next_taint(const struct inventory_device *d, size_t *at)
{
	const struct inventory_pool *pool = d->slice->pool;

	if (*at < d->ntaints)
		return &d->taints[(*at)++];
	while (*at - d->ntaints < pool->nrules) {
		const struct inventory_rule *rule = pool->rules[(*at)++ - d->ntaints];

		if (!rule->device.p || str_eq(rule->device, d->name))
			return &rule->taint;
	}
	return NULL;
}

/* --- finding ------------------------------------------------------------------------ */

void inventory_settle(struct inventory *inv)
{
	while (!list_empty(&inv->dirty))
		inventory_pool_settle(
			inv, LIST_ENTRY(inv->dirty.next, struct inventory_pool, dirty_link));
}

struct inventory_pool *inventory_pool(struct inventory *inv, struct str driver, struct str name)
{
	inventory_settle(inv);
	return inventory_pool_find(inv, driver, name);
}

struct inventory_pool *inventory_pool_after(struct inventory *inv, struct str after)
{
	struct omap_cursor c;

	inventory_settle(inv);
	return omap_seek_after(&inv->pools, &c, after) ? omap_value(&c) : NULL;
}

struct inventory_slice *inventory_slice(struct inventory *inv, struct str name)
{
	inventory_settle(inv);
	return map_get(&inv->slices, name);
}

struct inventory_device *inventory_device(struct inventory *inv, struct str driver, struct str pool,
					  struct str device)
{
	struct inventory_pool *p = inventory_pool(inv, driver, pool);

	return p ? inventory_pool_device(p, device) : NULL;
}

/* --- sizes, end --------------------------------------------------------------------- */

size_t inventory_devices(struct inventory *inv)
{
	inventory_settle(inv);
	return inv->ndevices;
}

/* A slot of a map is a key and a value. */
static size_t map_bytes(const struct map *m)
{
	return m->slots ? ((size_t)m->mask + 1) * (sizeof(struct str) + sizeof(void *)) : 0;
}

enum { OMAP_ENTRY = 30 }; /* see omap.h */

static size_t use_bytes(const struct inventory_pool *pool)
{
	size_t bytes = map_bytes(&pool->uses), at = 0;
	struct str name;
	void *value;

	while (map_next(&pool->uses, &at, &name, &value)) {
		const struct inventory_use *use = value;

		bytes += sizeof(*use) + use->name.n + use->nconsumed * sizeof(*use->consumed);
		for (size_t i = 0; i < use->nconsumed; i++)
			bytes += use->consumed[i].name.n + 1;
		bytes += use->order ? sizeof(*use->order) + use->order->n * OMAP_ENTRY : 0;
	}
	return bytes;
}

static size_t consumer_bytes(const struct inventory_pool *pool)
{
	return pool->consumers_end
		       ? sizeof(*pool->consumers) *
				 (pool->ncounters + pool->consumers_end[pool->ncounters - 1])
		       : 0;
}

size_t inventory_bytes(struct inventory *inv)
{
	size_t bytes = sizeof(*inv) + inv->bytes + map_bytes(&inv->slices) +
		       map_bytes(&inv->pool_keys) + map_bytes(&inv->claims) +
		       map_bytes(&inv->classes) + map_bytes(&inv->programs) +
		       map_bytes(&inv->nodes) + map_bytes(&inv->existing) + map_bytes(&inv->lost) +
		       map_bytes(&inv->choices);
	struct omap_cursor c;

	inventory_settle(inv);
	bytes += inventory_index_bytes(inv) + inventory_existing_bytes(inv);
	bytes += (inv->pools.n + inv->rules.n) * OMAP_ENTRY;
	for (bool ok = omap_first(&inv->pools, &c); ok; ok = omap_next(&c)) {
		const struct inventory_pool *pool = omap_value(&c);

		bytes += sizeof(*pool) + pool->key.n + map_bytes(&pool->devices) + use_bytes(pool) +
			 pool->nslices * sizeof(*pool->slices) +
			 pool->ncounters * sizeof(*pool->counters) +
			 pool->nrules * sizeof(*pool->rules) + consumer_bytes(pool) +
			 inventory_verdicts_bytes(pool->verdicts);
	}
	return bytes;
}

static void slices_release(struct inventory *inv)
{
	struct str name;
	size_t at = 0;
	void *value;

	while (map_next(&inv->slices, &at, &name, &value))
		free(value);
	map_release(&inv->slices);
}

void inventory_free(struct inventory *inv)
{
	struct omap_cursor c;

	if (!inv)
		return;
	inventory_settle(inv);
	inventory_claims_release(inv);
	inventory_classes_release(inv);
	inventory_answers_release(inv);
	for (bool ok = omap_first(&inv->pools, &c); ok; ok = omap_next(&c))
		inventory_pool_free(omap_value(&c));
	omap_release(&inv->pools);
	map_release(&inv->pool_keys);
	slices_release(inv);
	inventory_index_release(inv);
	inventory_existing_release(inv);
	inventory_lost_release(inv);
	for (bool ok = omap_first(&inv->rules, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_release(&inv->rules);
	free(inv);
}
