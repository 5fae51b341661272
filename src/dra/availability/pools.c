/*
 * Counts pools like upstream's controller for ResourcePoolStatusRequests, including its oddities. A
 * device that is both tainted and held is subtracted twice. Allocations of devices that no slice
 * has are counted. Each kind of partition is measured alone against the free counters, so their
 * numbers do not add up.
 */
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "dra/availability/availability_impl.h"
#include "dra/dra_limits.h"

/* A kind of partition: devices that consume counters and have one value of one attribute. */
struct group {
	struct str attribute, type;
	const struct inventory_device *first;
	int64_t total;
	VEC(const struct inventory_device *) fresh; /* devices that no claim holds */
};

struct pool_view {
	const struct inventory_pool *pool;
	struct str standard; /* the request's defaultPartitionTypeAttribute */
	struct arena *arena;
	struct str error; /* the first; or empty */
	VEC(struct group) groups;
};

/* Cuts the text at the field's maximum, between characters. */
static struct str pools_cut(struct str s)
{
	size_t n = MIN(s.n, (size_t)POOL_STATUS_ERROR_MAX);

	while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_of(s.p, n);
}

static struct str quoted(struct arena *a, struct str s)
{
	struct buf text = BUF_INIT(KIB);
	struct str copy;

	(void)print_quoted(&text, s);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

/* --- partitions --------------------------------------------------------------------- */

static bool declares(const struct inventory_pool *pool)
{
	for (size_t i = 0; i < pool->nslices; i++)
		if (pool->slices[i]->partition_attribute.n > 0 && pool->slices[i]->ndevices > 0)
			return true;
	return false;
}

/* Returns the attribute that groups the devices of a slice, or an empty text. */
static struct str attribute_of(const struct pool_view *v, const struct inventory_slice *s,
			       bool declared)
{
	if (s->partition_attribute.n > 0 || declared)
		return s->partition_attribute;
	return v->standard;
}

static bool same_text(struct quantity a, struct quantity b)
{
	struct buf x = BUF_INIT(64), y = BUF_INIT(64);
	bool same;

	(void)quantity_print(a, &x);
	(void)quantity_print(b, &y);
	same = str_eq(buf_str(&x), buf_str(&y));
	buf_release(&x);
	buf_release(&y);
	return same;
}

static bool consumes(const struct inventory_device *d, const struct inventory_consumption *c)
{
	for (size_t i = 0; i < d->ncounters; i++)
		if (str_eq(d->counters[i].set, c->set) &&
		    str_eq(d->counters[i].counter, c->counter))
			return same_text(d->counters[i].amount, c->amount);
	return false;
}

static bool same_cost(const struct inventory_device *a, const struct inventory_device *b)
{
	if (a->ncounters != b->ncounters)
		return false;
	for (size_t i = 0; i < a->ncounters; i++)
		if (!consumes(b, &a->counters[i]))
			return false;
	return true;
}

static struct group *group_need(struct pool_view *v, struct str attribute, struct str type)
{
	for (size_t i = 0; i < v->groups.n; i++)
		if (str_eq(v->groups.v[i].attribute, attribute) &&
		    str_eq(v->groups.v[i].type, type))
			return &v->groups.v[i];
	vec_push(&v->groups, (struct group){ .attribute = attribute, .type = type });
	vec_init(&v->groups.v[v->groups.n - 1].fresh, SIZE_MAX);
	return &v->groups.v[v->groups.n - 1];
}

/* Returns false and sets v->error on failure. */
static bool group_device(struct pool_view *v, const struct inventory_device *d,
			 struct str attribute)
{
	const struct inventory_pool *pool = v->pool;
	struct cel_device_name name = cel_device_name(attribute, pool->driver);
	const struct cel_value *value = cel_device_attribute(&d->view, name.domain, name.id);
	struct group *g;

	if (!value || value->kind != CEL_STRING) {
		v->error = str_from(arena_printf(
			v->arena,
			"PartitionTypeMissing: device \"%.*s\" in pool %.*s does not carry "
			"partition type attribute \"%.*s\"",
			STR_ARG(d->name), STR_ARG(pool->key), STR_ARG(attribute)));
		return false;
	}
	g = group_need(v, attribute, value->s);
	if (!g->first)
		g->first = d;
	if (!same_cost(g->first, d)) {
		v->error = str_from(arena_printf(
			v->arena,
			"PartitionCostMismatch: devices of partition type %.*s in pool %.*s "
			"consume different counters",
			STR_ARG(quoted(v->arena, value->s)), STR_ARG(pool->key)));
		return false;
	}
	g->total++;
	if (!inventory_device_held(d))
		vec_push(&g->fresh, d);
	return true;
}

static bool group_slice(struct pool_view *v, const struct inventory_slice *s, struct str attribute)
{
	for (size_t i = 0; i < s->ndevices; i++)
		if (s->devices[i].ncounters > 0 && !group_device(v, &s->devices[i], attribute))
			return false;
	return true;
}

static bool pools_fits(const struct inventory_device *d, const struct quantity *free)
{
	for (size_t i = 0; i < d->ncounters; i++)
		if (d->counters[i].index == UINT32_MAX ||
		    quantity_cmp(free[d->counters[i].index], d->counters[i].amount) < 0)
			return false;
	return true;
}

/* Returns how many devices of the group fit one after the other into the free counters. */
static int64_t allocatable(const struct pool_view *v, const struct group *g)
{
	const struct inventory_pool *pool = v->pool;
	struct quantity *free = ARENA_ARRAY(v->arena, struct quantity, pool->ncounters);
	int64_t n = 0;

	for (size_t i = 0; i < pool->ncounters; i++)
		free[i] = inventory_counter_remaining(&pool->counters[i]);
	for (size_t k = 0; k < g->fresh.n; k++) {
		const struct inventory_device *d = g->fresh.v[k];

		if (!pools_fits(d, free))
			continue;
		n++;
		for (size_t i = 0; i < d->ncounters; i++)
			free[d->counters[i].index] = quantity_sub(free[d->counters[i].index],
								  d->counters[i].amount);
	}
	return n;
}

static int by_attribute(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int c = str_cmp(x->attribute, y->attribute);

	return c ? c : str_cmp(x->type, y->type);
}

static struct json *write_groups(struct pool_view *v)
{
	struct json *array = json_make_array(v->arena);

	qsort(v->groups.v, v->groups.n, sizeof(*v->groups.v), by_attribute);
	for (size_t i = 0; i < v->groups.n; i++) {
		const struct group *g = &v->groups.v[i];
		struct json *item = json_make_object(v->arena);

		json_put_str(v->arena, item, "type", g->type);
		json_put_i64(v->arena, item, "total", g->total);
		json_put_i64(v->arena, item, "allocatable", allocatable(v, g));
		json_put_str(v->arena, item, "attribute", g->attribute);
		json_append(array, item);
	}
	return array;
}

/* Returns NULL if there are no groups, or if they cannot be counted (with v->error set). */
static struct json *partitions(struct pool_view *v)
{
	bool declared = declares(v->pool), grouped = false;

	for (size_t i = 0; i < v->pool->nslices; i++)
		grouped |= v->pool->slices[i]->ndevices > 0 &&
			   attribute_of(v, v->pool->slices[i], declared).n > 0;
	if (!grouped)
		return NULL;
	if (v->pool->ncounters == 0) {
		v->error = str_from(arena_printf(v->arena,
						 "PartitionTypeMissing: pool %.*s declares "
						 "partitionTypeAttribute but publishes no "
						 "sharedCounters",
						 STR_ARG(v->pool->key)));
		return NULL;
	}
	for (size_t i = 0; i < v->pool->nslices; i++) {
		struct str attribute = attribute_of(v, v->pool->slices[i], declared);

		if (attribute.n > 0 && !group_slice(v, v->pool->slices[i], attribute))
			return NULL;
	}
	if (v->groups.n <= POOL_STATUS_ITEMS_MAX)
		return v->groups.n ? write_groups(v) : NULL;
	v->error = str_from(arena_printf(v->arena,
					 "PartitionSummaryOverCap: pool %.*s has %zu partition "
					 "types, exceeding the maximum of %d",
					 STR_ARG(v->pool->key), v->groups.n,
					 POOL_STATUS_ITEMS_MAX));
	return NULL;
}

/* --- devices that may be shared ------------------------------------------------------ */

/* Sums up the capacities that all claims consume in the pool. */
static void sum_consumed(const struct inventory_pool *pool, struct availability_sums *sums)
{
	struct str name;
	size_t at = 0;
	void *value;

	while (map_next(&pool->uses, &at, &name, &value)) {
		LIST_FOREACH (it, &((const struct inventory_use *)value)->holders) {
			const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder,
								      link);

			for (size_t i = 0; !h->admin && i < h->nconsumed; i++)
				availability_sum(sums, h->consumed[i].name, h->consumed[i].value);
		}
	}
}

static struct quantity find_sum(const struct availability_sums *sums, struct str name)
{
	for (size_t i = 0; i < sums->n; i++)
		if (str_eq(sums->v[i].name, name))
			return sums->v[i].value;
	return quantity_of(0, QUANTITY_DECIMAL_SI);
}

static void write_capacities(struct pool_view *v, struct json *summary,
			     struct availability_sums *total)
{
	struct availability_sums consumed = { .arena = v->arena };
	struct json *array;

	if (total->n == 0)
		return;
	sum_consumed(v->pool, &consumed);
	availability_sums_sort(total);
	array = json_need_array(v->arena, summary, "capacity");
	for (size_t i = 0; i < total->n; i++) {
		struct json *item = json_make_object(v->arena);
		struct quantity taken = find_sum(&consumed, total->v[i].name);
		struct quantity left = availability_positive(
			quantity_sub(total->v[i].value, taken));

		json_put_str(v->arena, item, "name", total->v[i].name);
		json_setz(item, "total", availability_quantity(v->arena, total->v[i].value));
		json_setz(item, "consumed", availability_quantity(v->arena, taken));
		json_setz(item, "available", availability_quantity(v->arena, left));
		json_append(array, item);
	}
}

/* Returns NULL if no device is shareable, or if there are too many capacities. */
static struct json *shareable(struct pool_view *v)
{
	struct availability_sums total = { .arena = v->arena };
	int64_t full = 0, partial = 0;
	struct json *summary;

	for (size_t i = 0; i < v->pool->nslices; i++) {
		for (size_t k = 0; k < v->pool->slices[i]->ndevices; k++) {
			const struct inventory_device *d = &v->pool->slices[i]->devices[k];

			if (!d->view.allow_multiple)
				continue;
			*(inventory_device_held(d) ? &partial : &full) += 1;
			for (size_t c = 0; c < d->view.ncapacity; c++)
				availability_sum(&total, d->capacities[c].name,
						 *d->capacities[c].value);
		}
	}
	if (full + partial == 0)
		return NULL;
	if (total.n > POOL_STATUS_ITEMS_MAX) {
		if (v->error.n == 0)
			v->error = str_from(arena_printf(
				v->arena,
				"ShareableSummaryOverCap: pool %.*s has %zu shareable capacity "
				"keys, exceeding the maximum of %d",
				STR_ARG(v->pool->key), total.n, POOL_STATUS_ITEMS_MAX));
		return NULL;
	}
	summary = json_make_object(v->arena);
	json_put_i64(v->arena, summary, "fullyAvailableDevices", full);
	json_put_i64(v->arena, summary, "partiallyAvailableDevices", partial);
	write_capacities(v, summary, &total);
	return summary;
}

/* --- pools -------------------------------------------------------------------------- */

static bool tainted(const struct inventory_device *d)
{
	const struct inventory_taint *taint;
	size_t at = 0;

	while ((taint = inventory_next_taint(d, &at)))
		if (taint->effect != INVENTORY_EFFECT_OTHER)
			return true;
	return false;
}

static int64_t count_tainted(const struct inventory_pool *pool)
{
	int64_t n = 0;

	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			n += tainted(&pool->slices[i]->devices[k]);
	return n;
}

static int64_t count_held(const struct inventory_pool *pool)
{
	struct str name;
	size_t at = 0;
	int64_t n = 0;
	void *value;

	while (map_next(&pool->uses, &at, &name, &value)) {
		const struct inventory_use *use = value;

		n += use->whole || use->shares;
	}
	return n;
}

/* Returns the node that all slices name, or an empty text. */
static struct str pools_node_of(const struct inventory_pool *pool)
{
	struct str name = pool->slices[0]->nodes.name;

	for (size_t i = 1; i < pool->nslices; i++)
		if (!str_eq(pool->slices[i]->nodes.name, name))
			return STR("");
	return name;
}

static void add_counts(struct pool_view *v, struct json *out)
{
	int64_t total = (int64_t)v->pool->ndevices, held = count_held(v->pool);
	int64_t unavailable = count_tainted(v->pool);

	json_put_i64(v->arena, out, "totalDevices", total);
	json_put_i64(v->arena, out, "allocatedDevices", held);
	json_put_i64(v->arena, out, "availableDevices", MAX(total - held - unavailable, 0));
	json_put_i64(v->arena, out, "unavailableDevices", unavailable);
	json_put_i64(v->arena, out, "resourceSliceCount", v->pool->nslices);
}

static void add_views(struct pool_view *v, struct json *out)
{
	struct json *parts = partitions(v), *shares = shareable(v);

	if (v->error.n > 0)
		json_put_str(v->arena, out, "validationError", pools_cut(v->error));
	else if (parts)
		json_setz(out, "partitionSummary", parts);
	if (shares)
		json_setz(out, "shareableSummary", shares);
}

static struct json *pool_status(const struct inventory_pool *pool, struct str standard,
				struct arena *a)
{
	struct pool_view v = { .pool = pool, .standard = standard, .arena = a };
	struct json *out = json_make_object(a);

	vec_init(&v.groups, SIZE_MAX);
	json_put_str(a, out, "driver", pool->driver);
	json_put_str(a, out, "poolName", pool->name);
	if (pools_node_of(pool).n > 0)
		json_put_str(a, out, "nodeName", pools_node_of(pool));
	json_put_i64(a, out, "generation", pool->generation);
	if ((int64_t)pool->nslices < pool->expected) {
		json_put_str(a, out, "validationError",
			     pools_cut(str_from(arena_printf(
				     a,
				     "PoolIncomplete: pool %.*s is incomplete: observed %u/%lld "
				     "slices at generation %lld",
				     STR_ARG(pool->key), pool->nslices, (long long)pool->expected,
				     (long long)pool->generation))));
		return out;
	}
	add_counts(&v, out);
	add_views(&v, out);
	for (size_t i = 0; i < v.groups.n; i++)
		vec_release(&v.groups.v[i].fresh);
	vec_release(&v.groups);
	return out;
}

struct json *availability_pools(struct inventory *inv, const struct json *request_spec,
				struct arena *a, int64_t *ret_total)
{
	struct str driver = json_text_at(request_spec, "driver");
	struct str name = json_text_at(request_spec, "poolName");
	struct str standard = json_text_at(request_spec, "defaultPartitionTypeAttribute");
	int64_t limit = json_i64_at(request_spec, "limit", POOL_STATUS_LIMIT);
	struct str key = str_from(arena_printf(a, "%.*s/", STR_ARG(driver)));
	struct json *array = json_make_array(a);
	struct inventory_pool *pool;

	*ret_total = 0;
	while ((pool = inventory_pool_after(inv, key)) && str_eq(pool->driver, driver)) {
		key = pool->key;
		if (pool->nslices == 0 || (name.n > 0 && !str_eq(pool->name, name)))
			continue;
		if (++*ret_total <= limit)
			json_append(array, pool_status(pool, standard, a));
	}
	return array;
}
