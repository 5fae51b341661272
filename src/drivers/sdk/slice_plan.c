/*
 * Each step looks at all slices and devices. There are at most a few hundred slices and some
 * thousand devices, and steps are as rare as writes.
 */
#include "drivers/sdk/slice_plan.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/sdk/slice_equal.h"

enum { SLICES_MAX = 4096 /* of one pool, in an index of three hexadecimal digits */ };

/* The actual and the wanted state of one pool, for one step. */
struct pool_view {
	struct slice_plan *plan;
	struct slice_pool *pool;
	const struct device_pool *source; /* NULL: the pool is gone from the table */
	struct arena *a;
	const struct device **devices;
	size_t ndevices, per_slice;
	size_t counters, want; /* number of slices: with counter sets, and of all */
	struct cached **there; /* by index; NULL: missing */
	struct json **trees; /* of `there` */
	struct cached *surplus; /* a slice to delete, or NULL */
	bool surplus_common; /* it names no node */
	int64_t newest; /* generation */
};

void slice_plan_init(struct slice_plan *p)
{
	vec_init(&p->pools, DRIVER_DEVICES_MAX);
}

void slice_plan_release(struct slice_plan *p)
{
	for (size_t i = 0; i < p->pools.n; i++)
		free(p->pools.v[i].name);
	vec_release(&p->pools);
}

void slice_plan_reset(struct slice_plan *p)
{
	for (size_t i = 0; i < p->pools.n; i++)
		p->pools.v[i].target = 0;
}

static struct slice_pool *find_pool(struct slice_plan *p, struct str name)
{
	for (size_t i = 0; i < p->pools.n; i++)
		if (str_eqz(name, p->pools.v[i].name))
			return &p->pools.v[i];
	if (!vec_push(&p->pools, (struct slice_pool){ .name = str_dup(name) }))
		return NULL;
	return &p->pools.v[p->pools.n - 1];
}

/* --- what is there ------------------------------------------------------------------------ */

static bool name_index(struct str name, size_t *ret_index)
{
	size_t index = 0;

	for (size_t i = 0; i < 3; i++) {
		int digit = i < name.n ? str_hex_digit(name.p[i]) : -1;

		if (digit < 0)
			return false;
		index = index * 16 + (size_t)digit;
	}
	*ret_index = index;
	return name.n > 3 && name.p[3] == '-';
}

static int64_t generation_of(const struct json *tree)
{
	return json_i64_at(json_getz(json_getz(tree, "spec"), "pool"), "generation", 0);
}

/* The field cannot be changed, so a slice that differs in it is replaced. */
static bool is_on_node(const struct pool_view *v, const struct json *tree)
{
	struct str node = json_text_at(json_getz(tree, "spec"), "nodeName");

	return v->source->common ? node.n == 0 : str_eq(node, v->plan->node);
}

/* Whether another driver may have made the slice, so that it is not ours to delete. */
static bool is_foreign(const struct pool_view *v, struct cached *o)
{
	struct str by = cached_annotation(o, STR(SLICE_PLAN_PUBLISHER), NULL);

	return (!v->source || !v->source->common) && !str_eq(by, v->plan->node);
}

/* Whether the slice wins over another one with the same index. All drivers must choose the same. */
static bool is_better(const struct pool_view *v, size_t i, struct cached *o, int64_t generation)
{
	int64_t other = generation_of(v->trees[i]);

	return generation > other ||
	       (generation == other && str_cmp(cached_name(o), cached_name(v->there[i])) < 0);
}

/* Stores a slice by its index. */
static void slice_plan_place(struct pool_view *v, struct cached *o, struct json *tree)
{
	int64_t generation = generation_of(tree);
	size_t i;

	v->newest = MAX(v->newest, generation);
	if (!name_index(cached_name(o), &i) || i >= v->want || !is_on_node(v, tree) ||
	    (v->there[i] && !is_better(v, i, o, generation))) {
		v->surplus = o;
		return;
	}
	if (v->there[i])
		v->surplus = v->there[i];
	v->there[i] = o;
	v->trees[i] = tree;
}

static int place_all(struct pool_view *v, const struct cache *existing, bool common,
		     struct error *err)
{
	struct cache_walk w = { 0 };
	struct json *tree;
	struct cached *o;
	struct cached *before = v->surplus;
	int r;

	while (existing && (o = cache_next(existing, &w))) {
		if (!str_eqz(cached_field(o, "spec.pool.name", NULL), v->pool->name) ||
		    (common && is_foreign(v, o)))
			continue;
		r = cached_tree(o, v->a, &tree, err);
		if (r < 0) {
			cache_walk_end(&w);
			return r;
		}
		slice_plan_place(v, o, tree);
		if (v->surplus && v->surplus != before)
			v->surplus_common = common;
		before = v->surplus;
	}
	return 0;
}

/* --- what should be there ----------------------------------------------------------------- */

static void replace_taints(const struct pool_view *v, struct json *tree, const struct json *list)
{
	struct json *copy;

	(void)json_remove(tree, STR("taints"));
	if (list && json_copy(v->a, list, &copy, NULL) == 0)
		json_setz(tree, "taints", copy);
}

static struct json *device_tree(const struct pool_view *v, const struct device *d)
{
	struct json *tree, *taint;

	(void)json_copy(v->a, d->spec, &tree, NULL);
	if (d->taints)
		replace_taints(v, tree, device_taints_of(d));
	if (!v->plan->taint_unhealthy || d->health != DP_UNHEALTHY)
		return tree;
	taint = json_make_object(v->a);
	json_put_str(v->a, taint, "key",
		     str_from(arena_printf(v->a, "%.*s/unhealthy", STR_ARG(v->plan->driver))));
	json_put_str(v->a, taint, "effect", STR("NoSchedule"));
	json_append(json_need_array(v->a, tree, "taints"), taint);
	return tree;
}

/* Empty for a slice with counter sets. */
static struct json *slice_devices(const struct pool_view *v, size_t index)
{
	struct json *list = json_make_array(v->a);
	size_t at, end;

	if (index < v->counters)
		return list;
	at = (index - v->counters) * v->per_slice;
	end = MIN(v->ndevices, at + v->per_slice);
	for (; at < end; at++)
		json_append(list, device_tree(v, v->devices[at]));
	return list;
}

static struct json *slice_counters(const struct pool_view *v, size_t index)
{
	struct json *list = json_make_array(v->a), *copy;
	size_t end = index < v->counters ? MIN(v->source->nsets, (index + 1) * SLICE_COUNTERS_MAX)
					 : 0;

	for (size_t i = index * SLICE_COUNTERS_MAX; i < end; i++) {
		(void)json_copy(v->a, v->source->sets[i], &copy, NULL);
		json_append(list, copy);
	}
	return list;
}

static const char *const node_members[] = { "nodeName", "nodeSelector", "allNodes",
					    "perDeviceNodeSelection" };

/*
 * The slice's node selection. Where devices select nodes themselves, counters must be visible on
 * all of these nodes.
 */
static struct json *slice_nodes(const struct pool_view *v, size_t index)
{
	struct json *nodes = json_make_object(v->a);

	if (!v->source->per_device)
		(void)json_copy(v->a, v->source->nodes, &nodes, NULL);
	else if (index < v->counters)
		json_put_bool(v->a, nodes, "allNodes", true);
	else
		json_put_bool(v->a, nodes, "perDeviceNodeSelection", true);
	return nodes;
}

static bool has_nodes(const struct pool_view *v, size_t index, const struct json *spec)
{
	const struct json *wanted = slice_nodes(v, index);

	for (size_t i = 0; i < ARRAY_SIZE(node_members); i++) {
		const struct json *want = json_getz(wanted, node_members[i]);
		const struct json *there = json_getz(spec, node_members[i]);

		if (!want != !there || (want && !json_equal(want, there)))
			return false;
	}
	return true;
}

/* A mark of another driver stays: two that publish the same pool must not fight over it. */
static bool has_publisher(const struct pool_view *v, const struct json *tree)
{
	const struct json *notes = json_getz(json_getz(tree, "metadata"), "annotations");

	return !v->source->common || json_text_at(notes, SLICE_PLAN_PUBLISHER).n > 0;
}

static bool is_marked(const struct slice_plan *p, const struct json *tree)
{
	const struct json *notes = json_getz(json_getz(tree, "metadata"), "annotations");

	return p->instance.n == 0 ||
	       (str_eq(json_text_at(notes, SLICE_PLAN_INSTANCE), p->instance) &&
		str_eq(json_text_at(notes, SLICE_PLAN_STARTED), p->started));
}

static bool slice_is_right(const struct pool_view *v, size_t i, int64_t generation)
{
	const struct json *spec = json_getz(v->trees[i], "spec"), *pool = json_getz(spec, "pool");

	return json_i64_at(pool, "generation", 0) == generation &&
	       json_i64_at(pool, "resourceSliceCount", 0) == (int64_t)v->want &&
	       is_marked(v->plan, v->trees[i]) && has_publisher(v, v->trees[i]) &&
	       has_nodes(v, i, spec) &&
	       slice_equal_counters(slice_counters(v, i), json_getz(spec, "sharedCounters")) &&
	       slice_equal(slice_devices(v, i), json_getz(spec, "devices"));
}

/* A change that needs only one write keeps the generation. */
static void choose_generation(struct pool_view *v)
{
	size_t wrong = 0;

	if (v->pool->target > 0)
		return;
	v->pool->target = v->newest;
	for (size_t i = 0; i < v->want && wrong < 2; i++) {
		if (!v->there[i])
			wrong = 2;
		else if (!slice_is_right(v, i, v->newest))
			wrong++;
	}
	if (wrong > 1)
		v->pool->target++;
}

/* --- trees to send ------------------------------------------------------------------------ */

static void slice_plan_mark(const struct pool_view *v, struct json *meta)
{
	const struct slice_plan *p = v->plan;
	struct json *notes;

	if (p->instance.n == 0 && !v->source->common)
		return;
	notes = json_need_object(v->a, meta, "annotations");
	if (v->source->common && json_text_at(notes, SLICE_PLAN_PUBLISHER).n == 0)
		json_put_str(v->a, notes, SLICE_PLAN_PUBLISHER, p->node);
	if (p->instance.n == 0)
		return;
	json_put_str(v->a, notes, SLICE_PLAN_INSTANCE, p->instance);
	json_put_str(v->a, notes, SLICE_PLAN_STARTED, p->started);
}

static void set_pool(const struct pool_view *v, struct json *spec)
{
	struct json *pool = json_make_object(v->a);

	json_put_str(v->a, pool, "name", str_from(v->pool->name));
	json_put_i64(v->a, pool, "generation", v->pool->target);
	json_put_i64(v->a, pool, "resourceSliceCount", (int64_t)v->want);
	json_setz(spec, "pool", pool);
}

static void set_nodes(const struct pool_view *v, struct json *spec, size_t index)
{
	struct json *nodes = slice_nodes(v, index);

	for (size_t i = 0; i < ARRAY_SIZE(node_members); i++) {
		struct json *want = json_remove(nodes, str_from(node_members[i]));

		(void)json_remove(spec, str_from(node_members[i]));
		if (want)
			json_setz(spec, node_members[i], want);
	}
}

/* Taints keep their times, also when a device moves to another slice. */
static void set_content(const struct pool_view *v, struct json *spec, size_t index)
{
	struct json *devices = slice_devices(v, index), *counters = slice_counters(v, index);

	for (size_t i = 0; i < v->want; i++)
		if (v->trees[i])
			slice_keep_times(v->a, devices,
					 json_getz(json_getz(v->trees[i], "spec"), "devices"));
	(void)json_remove(spec, STR("devices"));
	(void)json_remove(spec, STR("sharedCounters"));
	if (json_count(counters) > 0)
		json_setz(spec, "sharedCounters", counters);
	else
		json_setz(spec, "devices", devices);
}

static struct json *updated(const struct pool_view *v, size_t i)
{
	struct json *tree = v->trees[i], *spec = json_need_object(v->a, tree, "spec");

	set_nodes(v, spec, i);
	set_pool(v, spec);
	set_content(v, spec, i);
	slice_plan_mark(v, json_need_object(v->a, tree, "metadata"));
	return tree;
}

static struct json *created(const struct pool_view *v, size_t i)
{
	const struct slice_plan *p = v->plan;
	struct json *tree = json_make_object(v->a), *meta, *spec;

	json_put_str(v->a, tree, "apiVersion", STR("resource.k8s.io/v1"));
	json_put_str(v->a, tree, "kind", STR("ResourceSlice"));
	meta = json_need_object(v->a, tree, "metadata");
	json_put_str(v->a, meta, "generateName",
		     str_from(arena_printf(v->a, "%03zx-%.*s-%.*s-", i, STR_ARG(p->driver),
					   STR_ARG(p->node))));
	slice_plan_mark(v, meta);
	spec = json_need_object(v->a, tree, "spec");
	json_put_str(v->a, spec, "driver", p->driver);
	set_nodes(v, spec, i);
	set_pool(v, spec);
	set_content(v, spec, i);
	return tree;
}

void slice_plan_own(const struct slice_plan *p, struct arena *a, struct json *object,
		    struct str node_uid)
{
	struct json *owner = json_make_object(a);

	json_put_str(a, owner, "apiVersion", STR("v1"));
	json_put_str(a, owner, "kind", STR("Node"));
	json_put_str(a, owner, "name", p->node);
	json_put_str(a, owner, "uid", node_uid);
	json_put_bool(a, owner, "controller", true);
	json_append(json_need_array(a, json_need_object(a, object, "metadata"), "ownerReferences"),
		    owner);
}

/* --- steps -------------------------------------------------------------------------------- */

static bool pool_step(struct pool_view *v, struct slice_step *ret)
{
	if (v->surplus) {
		*ret = (struct slice_step){ .action = SLICE_DELETE,
					    .of = v->surplus,
					    .common = v->surplus_common };
		return true;
	}
	choose_generation(v);
	for (size_t i = 0; i < v->want; i++) {
		if (v->there[i] && slice_is_right(v, i, v->pool->target))
			continue;
		*ret = (struct slice_step){ .action = v->there[i] ? SLICE_UPDATE : SLICE_CREATE,
					    .of = v->there[i],
					    .common = v->source->common,
					    .object = v->there[i] ? updated(v, i) : created(v, i) };
		return true;
	}
	v->pool->target = 0;
	return false;
}

static void slice_plan_gather(struct pool_view *v, const struct device_table *t)
{
	bool costly = v->plan->taint_unhealthy;

	v->source = device_table_pool(t, str_from(v->pool->name));
	v->devices = ARENA_ARRAY(v->a, const struct device *, t->n + 1);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].in == v->source)
			v->devices[v->ndevices++] = &t->v[i];
	/*
	 * If taints may appear later, use their limit from the start, so that slices are not
	 * redivided.
	 */
	costly = costly || (v->source && v->source->costly);
	v->per_slice = costly ? SLICE_COSTLY_DEVICES_MAX : SLICE_DEVICES_MAX;
	/* A pool without devices needs no counters. */
	if (v->source && v->ndevices > 0)
		v->counters = (v->source->nsets + SLICE_COUNTERS_MAX - 1) / SLICE_COUNTERS_MAX;
	v->want = MIN(v->counters + (v->ndevices + v->per_slice - 1) / v->per_slice,
		      (size_t)SLICES_MAX);
	v->there = ARENA_ARRAY(v->a, struct cached *, v->want + 1);
	v->trees = ARENA_ARRAY(v->a, struct json *, v->want + 1);
}

static void list_existing(struct slice_plan *p, const struct cache *existing)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	while (existing && (o = cache_next(existing, &w))) {
		struct str name = cached_field(o, "spec.pool.name", NULL);

		if (name.n > 0)
			(void)find_pool(p, name);
	}
}

/* All pools that are wanted or exist. */
static void list_pools(struct slice_plan *p, const struct device_table *t,
		       const struct slice_caches *existing)
{
	for (size_t i = 0; i < t->npools; i++)
		(void)find_pool(p, t->pools[i].name);
	list_existing(p, existing->node);
	list_existing(p, existing->common);
}

/* An instance of this node that was started after us has written slices, so ours must not. */
static bool must_yield(const struct slice_plan *p, const struct cache *existing, bool common)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	while (p->instance.n > 0 && existing && (o = cache_next(existing, &w))) {
		struct str by = cached_annotation(o, STR(SLICE_PLAN_INSTANCE), NULL);
		struct str at = cached_annotation(o, STR(SLICE_PLAN_STARTED), NULL);

		if (common &&
		    !str_eq(cached_annotation(o, STR(SLICE_PLAN_PUBLISHER), NULL), p->node))
			continue;
		if (by.n > 0 && !str_eq(by, p->instance) && str_cmp(at, p->started) > 0) {
			cache_walk_end(&w);
			return true;
		}
	}
	return false;
}

/* Pools that others publish are theirs; common ones need the copy of common slices. */
static bool is_ours(const struct pool_view *v, const struct slice_caches *existing)
{
	return !v->source || (!v->source->prepare_only && (!v->source->common || existing->common));
}

static int plan_pools(struct slice_plan *p, const struct device_table *t,
		      const struct slice_caches *existing, bool common, struct arena *a,
		      struct slice_step *ret_step, struct error *err)
{
	for (size_t i = 0; i < p->pools.n; i++) {
		struct pool_view v = { .plan = p, .pool = &p->pools.v[i], .a = a };
		int r;

		slice_plan_gather(&v, t);
		if ((v.source && v.source->common) != common || !is_ours(&v, existing))
			continue;
		r = place_all(&v, existing->node, false, err);
		if (r == 0)
			r = place_all(&v, existing->common, true, err);
		if (r < 0)
			return r;
		if (pool_step(&v, ret_step))
			return 0;
	}
	return 0;
}

int slice_plan_next(struct slice_plan *p, const struct device_table *t,
		    const struct slice_caches *existing, struct arena *a,
		    struct slice_step *ret_step, struct error *err)
{
	int r;

	*ret_step = (struct slice_step){ .action = SLICE_NONE };
	if (must_yield(p, existing->node, false) || must_yield(p, existing->common, true))
		return 0;
	list_pools(p, t, existing);
	/* The node's own pools first: they must not wait if others cannot be written. */
	r = plan_pools(p, t, existing, false, a, ret_step, err);
	if (r == 0 && ret_step->action == SLICE_NONE)
		r = plan_pools(p, t, existing, true, a, ret_step, err);
	return r;
}
