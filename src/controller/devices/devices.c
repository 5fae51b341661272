/*
 * Events are collected during a turn and put into the inventory at its end, all together. The
 * affected slices are determined before and after, and each pool is evaluated once, however many
 * of its slices changed. dra/availability/availability.h says what a claim affects, and
 * devices_touch.h what a slice affects. Until the initial state is complete, events are only put
 * in, because every slice is reported then anyway. Only the parts that the inventory reads are
 * parsed: the status of a slice can be much larger than the rest.
 */
#include "controller/devices/devices.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "client/api/discovery.h"
#include "client/informer/informer.h"
#include "controller/devices/devices_health.h"
#include "controller/devices/devices_touch.h"
#include "dra/availability/availability.h"
#include "dra/availability/device_health.h"
#include "net/loop/loop.h"

#define GROUP STR("resource.k8s.io")

struct followed {
	struct devices *owner;
	struct resource resource;
	struct informer *informer; /* NULL: not followed */
	struct informer_handler handler;
};

struct devices {
	struct devices_opts opts;
	struct inventory *inventory;
	struct followed slices, claims, rules;
	struct devices_health *health; /* NULL: neither health nor nodes are tracked */
	struct list watchers;
	struct arena texts; /* for the resources */
	struct arena scratch; /* for one object */
	/* Collected during this turn: */
	struct devices_names changed_slices, changed_claims, changed_rules, told;
	struct devices_names changed_nodes;
	struct devices_names anew; /* slices whose generation cannot be trusted */
	struct devices_names changed_health; /* devices, by id */
	struct loop_task task;
	bool nodes_known; /* the inventory has the set of nodes */
	bool synced;
};

/* --- objects --------------------------------------------------------------------------------- */

/* Parses the value at a path and makes it a member of `to`; does nothing if it is absent. */
static int add_part(struct json *to, const char *name, const struct cached *o, const char *path,
		    struct arena *a, struct error *err)
{
	struct str text = cached_field(o, path, NULL);
	struct json *v;
	int r;

	if (!str_starts(text, STR("{")) && !str_starts(text, STR("[")))
		return 0;
	r = json_parse(a, text, NULL, &v, err);
	if (r == 0)
		json_setz(to, name, v);
	return r;
}

static int put_slice(struct devices *d, const struct cached *o, struct error *err)
{
	struct json *tree = json_make_object(&d->scratch);
	int r;

	r = add_part(tree, "metadata", o, "metadata", &d->scratch, err);
	if (r == 0)
		r = add_part(tree, "spec", o, "spec", &d->scratch, err);
	return r < 0 ? r : inventory_put_slice(d->inventory, tree, err);
}

static int put_claim(struct devices *d, const struct cached *o, struct error *err)
{
	struct json *tree = json_make_object(&d->scratch);
	struct json *status = json_need_object(&d->scratch, tree, "status");
	int r;

	r = add_part(tree, "metadata", o, "metadata", &d->scratch, err);
	if (r == 0)
		r = add_part(status, "allocation", o, "status.allocation", &d->scratch, err);
	if (r == 0)
		r = add_part(status, "reservedFor", o, "status.reservedFor", &d->scratch, err);
	return r < 0 ? r : inventory_put_claim(d->inventory, tree, err);
}

static void devices_refuse(const struct devices *d, const char *what, struct str key,
			   const struct error *err)
{
	if (d->opts.refused)
		d->opts.refused(d->opts.arg, what, key, err);
}

/* Puts in the slice's current state; removes it if our copy does not have it. */
static void apply_slice(struct devices *d, struct str name)
{
	const struct cached *o = devices_find_slice(d, name);
	struct error err = { 0 };

	if (!o || devices_names_has(&d->anew, name))
		inventory_remove_slice(d->inventory, name);
	if (o && put_slice(d, o, &err) < 0)
		devices_refuse(d, "ResourceSlice", name, &err);
	arena_clear(&d->scratch);
}

static void split_key(struct str key, struct str *ret_ns, struct str *ret_name)
{
	*ret_name = key;
	*ret_ns = STR("");
	(void)str_split(ret_name, '/', ret_ns);
}

static void apply_claim(struct devices *d, struct str key)
{
	const struct cached *o = cache_get(informer_cache(d->claims.informer), key);
	struct str ns, name;
	struct error err = { 0 };

	split_key(key, &ns, &name);
	if (!o)
		inventory_remove_claim(d->inventory, ns, name);
	else if (put_claim(d, o, &err) < 0)
		devices_refuse(d, "ResourceClaim", key, &err);
	arena_clear(&d->scratch);
}

static void apply_rule(struct devices *d, struct str name)
{
	const struct cached *o = cache_get(informer_cache(d->rules.informer), name);
	struct error err = { 0 };
	struct json *tree;
	int r = 0;

	if (!o)
		inventory_remove_taint_rule(d->inventory, name);
	else
		r = cached_tree(o, &d->scratch, &tree, &err);
	if (o && r == 0)
		r = inventory_put_taint_rule(d->inventory, tree, &err);
	if (r < 0)
		devices_refuse(d, "DeviceTaintRule", name, &err);
	arena_clear(&d->scratch);
}

static void tell_node(struct devices *d, struct str name)
{
	struct str *slices;
	size_t n;

	if (!d->synced)
		return;
	n = availability_node_slices(d->inventory, name, &d->scratch, &slices);
	for (size_t i = 0; i < n; i++)
		devices_names_add(&d->told, slices[i]);
	arena_clear(&d->scratch);
}

static void put_node(struct devices *d, const struct cached *o)
{
	struct str text = cached_field(o, "metadata.labels", NULL);
	struct json *labels = NULL, *tree;
	int64_t lost = 0;

	/* Most nodes have no taints, and only their labels are parsed. */
	if (cached_field(o, "spec.taints", NULL).n > 0 &&
	    cached_tree(o, &d->scratch, &tree, NULL) == 0)
		lost = inventory_node_lost_since(tree);
	if (lost) {
		inventory_put_lost_node(d->inventory, o->key, lost);
		arena_clear(&d->scratch);
		return;
	}
	if (text.n > 0 && json_parse(&d->scratch, text, NULL, &labels, NULL) < 0)
		labels = NULL;
	inventory_put_node(d->inventory, o->key, labels);
	arena_clear(&d->scratch);
}

/*
 * Records the affected slices before and after each node: of two nodes that a selector matches,
 * the change of the first may affect nothing, and that of the second everything.
 */
static void apply_node(struct devices *d, struct str name)
{
	const struct cached *o = devices_health_node(d->health, name);

	tell_node(d, name);
	if (o)
		put_node(d, o);
	else
		inventory_remove_node(d->inventory, name);
	tell_node(d, name);
}

/* --- a turn's changes ------------------------------------------------------------------------ */

static void tell_claims(struct devices *d)
{
	for (size_t i = 0; i < d->changed_claims.v.n; i++) {
		struct str ns, name, *slices;
		size_t n;

		split_key(d->changed_claims.v.v[i], &ns, &name);
		n = availability_claim_slices(d->inventory, ns, name, &d->scratch, &slices);
		for (size_t k = 0; k < n; k++)
			devices_names_add(&d->told, slices[k]);
		arena_clear(&d->scratch);
	}
}

static void tell_rules(struct devices *d)
{
	for (size_t i = 0; i < d->changed_rules.v.n; i++) {
		struct str *slices;
		size_t n = availability_rule_slices(d->inventory, d->changed_rules.v.v[i],
						    &d->scratch, &slices);

		for (size_t k = 0; k < n; k++)
			devices_names_add(&d->told, slices[k]);
		arena_clear(&d->scratch);
	}
}

/* Called after the inventory was updated. */
static void tell_health(struct devices *d)
{
	for (size_t i = 0; i < d->changed_health.v.n; i++) {
		struct str driver, pool, device, slice = STR_NULL;

		if (device_health_split_id(d->changed_health.v.v[i], &driver, &pool, &device))
			slice = availability_device_slice(d->inventory, driver, pool, device);
		if (slice.n > 0)
			devices_names_add(&d->told, slice);
	}
}

static void before_slices(struct devices *d, struct devices_touch *t)
{
	for (size_t i = 0; i < d->changed_slices.v.n; i++) {
		struct str name = d->changed_slices.v.v[i];
		const struct cached *o = devices_find_slice(d, name);

		devices_touch_slice(t, name);
		if (o)
			devices_touch_pool(t, cached_field(o, "spec.driver", t->arena),
					   cached_field(o, "spec.pool.name", t->arena));
	}
}

static void devices_apply(struct devices *d)
{
	for (size_t i = 0; i < d->changed_slices.v.n; i++)
		apply_slice(d, d->changed_slices.v.v[i]);
	for (size_t i = 0; i < d->changed_claims.v.n; i++)
		apply_claim(d, d->changed_claims.v.v[i]);
	for (size_t i = 0; i < d->changed_rules.v.n; i++)
		apply_rule(d, d->changed_rules.v.v[i]);
	for (size_t i = 0; i < d->changed_nodes.v.n; i++)
		apply_node(d, d->changed_nodes.v.v[i]);
}

/* All nodes are known now. Any device may belong to a node that does not exist. */
static void know_nodes(struct devices *d)
{
	const struct cache *cache = informer_cache(d->slices.informer);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	d->nodes_known = true;
	inventory_know_nodes(d->inventory);
	while (d->synced && (o = cache_next(cache, &walk)))
		devices_names_add(&d->told, o->key);
}

/* Updates the inventory from our copies, and records the affected slices. */
static void take_in(struct devices *d)
{
	struct devices_touch touch;
	struct arena a;

	if (d->changed_slices.v.n + d->changed_claims.v.n + d->changed_rules.v.n +
		    d->changed_nodes.v.n + d->changed_health.v.n ==
	    0)
		return;
	if (d->synced) {
		arena_init(&a, SIZE_MAX);
		devices_touch_init(&touch, d->inventory, &a);
		tell_claims(d);
		tell_rules(d);
		before_slices(d, &touch);
		devices_apply(d);
		tell_claims(d);
		tell_rules(d);
		devices_touch_tell(&touch, &d->changed_slices, &d->told);
		tell_health(d);
		devices_touch_release(&touch);
		arena_release(&a);
	} else {
		devices_apply(d);
	}
	devices_names_clear(&d->changed_slices);
	devices_names_clear(&d->changed_claims);
	devices_names_clear(&d->changed_rules);
	devices_names_clear(&d->changed_nodes);
	devices_names_clear(&d->anew);
	devices_names_clear(&d->changed_health);
}

static bool all_synced(const struct devices *d)
{
	const struct followed *const all[] = { &d->slices, &d->claims, &d->rules };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->informer && !all[i]->handler.synced)
			return false;
	return !d->health || devices_health_synced(d->health);
}

static void devices_tell(struct devices *d, struct str slice)
{
	LIST_FOREACH_SAFE (it, &d->watchers) {
		struct devices_watcher *w = LIST_ENTRY(it, struct devices_watcher, link);

		if (w->synced && w->on_slice)
			w->on_slice(w, slice);
	}
}

static void tell_everything(struct devices *d, struct devices_watcher *w)
{
	const struct cache *cache = informer_cache(d->slices.informer);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	w->synced = true;
	while (w->on_slice && (o = cache_next(cache, &walk)))
		w->on_slice(w, o->key);
	if (w->on_synced)
		w->on_synced(w);
}

/* The end of a turn with events. Watchers may read the inventory meanwhile. */
static void devices_on_turn(struct loop_task *t)
{
	struct devices *d = CONTAINER_OF(t, struct devices, task);

	take_in(d);
	if (!d->nodes_known && d->health && devices_health_knows_nodes(d->health))
		know_nodes(d);
	for (size_t i = 0; i < d->told.v.n; i++)
		devices_tell(d, d->told.v.v[i]);
	devices_names_clear(&d->told);
	if (!d->synced && !all_synced(d))
		return;
	d->synced = true;
	LIST_FOREACH_SAFE (it, &d->watchers) {
		struct devices_watcher *w = LIST_ENTRY(it, struct devices_watcher, link);

		if (!w->synced)
			tell_everything(d, w);
	}
	LIST_FOREACH_SAFE (it, &d->watchers) {
		struct devices_watcher *w = LIST_ENTRY(it, struct devices_watcher, link);

		if (w->synced && w->on_turn)
			w->on_turn(w);
	}
}

/* --- events ---------------------------------------------------------------------------------- */

static struct devices *devices_owner_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct followed, handler)->owner;
}

static void devices_on_synced(struct informer_handler *h)
{
	struct devices *d = devices_owner_of(h);

	loop_defer(d->opts.loop, &d->task);
}

static void devices_note(struct devices *d, struct devices_names *set, struct str key)
{
	devices_names_add(set, key);
	loop_defer(d->opts.loop, &d->task);
}

static void on_slice_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct devices *d = devices_owner_of(h);

	devices_note(d, &d->changed_slices, o->key);
}

/*
 * The generation counts changes of the spec, and nothing else in a slice matters. If the server
 * was restored to an earlier state, it counts again and may reach the same number with another
 * spec.
 */
static void on_slice_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct devices *d = devices_owner_of(h);
	struct str before = cached_field(old, "metadata.generation", NULL);
	bool put_back = o->revision > 0 && o->revision <= old->revision;

	if (put_back)
		devices_names_add(&d->anew, o->key);
	if (put_back || before.n == 0 ||
	    !str_eq(before, cached_field(o, "metadata.generation", NULL)) ||
	    !str_eq(old->uid, o->uid))
		devices_note(d, &d->changed_slices, o->key);
}

static void on_slice_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct devices *d = devices_owner_of(h);

	devices_note(d, &d->changed_slices, last->key);
}

static struct str allocation_of(const struct cached *claim)
{
	return cached_field(claim, "status.allocation", NULL);
}

static struct str users_of(const struct cached *claim)
{
	return cached_field(claim, "status.reservedFor", NULL);
}

static void say_health(struct devices *d, const struct cached *old, const struct cached *o)
{
	if (d->opts.health)
		devices_health_claim(d->health, old, o);
}

static void on_claim_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct devices *d = devices_owner_of(h);

	say_health(d, NULL, o);
	if (str_starts(allocation_of(o), STR("{")))
		devices_note(d, &d->changed_claims, o->key);
}

static void devices_on_claim_update(struct informer_handler *h, struct cached *old,
				    struct cached *o)
{
	struct devices *d = devices_owner_of(h);

	say_health(d, old, o);
	if (!str_eq(allocation_of(old), allocation_of(o)) || !str_eq(old->uid, o->uid) ||
	    (d->opts.health && !str_eq(users_of(old), users_of(o))))
		devices_note(d, &d->changed_claims, o->key);
}

static void on_claim_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct devices *d = devices_owner_of(h);

	say_health(d, last, NULL);
	devices_note(d, &d->changed_claims, last->key);
}

static void on_rule_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct devices *d = devices_owner_of(h);

	devices_note(d, &d->changed_rules, o->key);
}

static void on_rule_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	on_rule_add(h, o, false);
}

static void on_rule_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct devices *d = devices_owner_of(h);

	devices_note(d, &d->changed_rules, last->key);
}

static void devices_on_health(void *arg, struct str driver, struct str pool, struct str device)
{
	struct devices *d = arg;

	devices_note(d, &d->changed_health,
		     str_from(arena_printf(&d->scratch, "%.*s/%.*s/%.*s", STR_ARG(driver),
					   STR_ARG(pool), STR_ARG(device))));
	arena_clear(&d->scratch);
}

static void devices_on_node(void *arg, struct str name)
{
	struct devices *d = arg;

	devices_note(d, &d->changed_nodes, name);
}

static void on_health_synced(void *arg)
{
	struct devices *d = arg;

	loop_defer(d->opts.loop, &d->task);
}

static void on_health_refused(void *arg, const char *what, struct str key, const struct error *err)
{
	devices_refuse(arg, what, key, err);
}

/* --- resources that are served ---------------------------------------------------------------- */

static const struct discovery_resource *find_readable(const struct discovery *d, struct str name)
{
	const struct discovery_resource *r = discovery_find(d, GROUP, STR("v1"), name);

	return r ? r : discovery_find(d, GROUP, STR("v1beta2"), name);
}

static bool has_word(struct str list, struct str word)
{
	struct str w;

	while (str_split(&list, ',', &w))
		if (str_eq(w, word))
			return true;
	return false;
}

struct devices_served devices_find_served(const struct discovery *d)
{
	const struct discovery_resource *slices = find_readable(d, STR("resourceslices"));
	const struct discovery_resource *claims = find_readable(d, STR("resourceclaims"));
	const struct discovery_resource *rules = discovery_find(d, GROUP, STR(""),
								STR("devicetaintrules"));
	struct devices_served served = { 0 };

	if (!slices || !claims)
		return served;
	served.slices = slices->resource;
	served.claims = claims->resource;
	served.slice_status = has_word(slices->subresources, STR("status"));
	if (rules)
		served.rules = rules->resource;
	return served;
}

/* --- life ------------------------------------------------------------------------------------ */

static void index_pool(const struct cached *o, struct arena *a, struct cache_values *v)
{
	cache_values_add(v, devices_pool_key_of(o, a));
}

static void devices_follow(struct devices *d, struct followed *f, const struct resource *resource,
			   const struct informer_handler *handler)
{
	f->owner = d;
	f->resource = resource_copy(&d->texts, resource);
	f->handler = *handler;
	f->handler.on_synced = devices_on_synced;
	f->informer = informers_get(d->opts.informers, &(struct informer_spec){
							       .resource = &f->resource,
							       .slim = true,
						       });
	informer_add_handler(f->informer, &f->handler);
}

static void follow_all(struct devices *d)
{
	static const struct cache_index by_pool = { DEVICES_BY_POOL, index_pool, NULL };
	static const struct informer_handler slices = { .on_add = on_slice_add,
							.on_update = on_slice_update,
							.on_delete = on_slice_delete };
	static const struct informer_handler claims = { .on_add = on_claim_add,
							.on_update = devices_on_claim_update,
							.on_delete = on_claim_delete };
	static const struct informer_handler rules = { .on_add = on_rule_add,
						       .on_update = on_rule_update,
						       .on_delete = on_rule_delete };
	const struct devices_served *served = &d->opts.served;

	devices_follow(d, &d->slices, &served->slices, &slices);
	informer_add_index(d->slices.informer, &by_pool);
	devices_follow(d, &d->claims, &served->claims, &claims);
	if (served->rules.resource.n > 0)
		devices_follow(d, &d->rules, &served->rules, &rules);
	if (d->opts.health || d->opts.nodes)
		d->health = devices_health_new(
			&(struct devices_health_opts){ .loop = d->opts.loop,
						       .informers = d->opts.informers,
						       .pods = d->opts.health,
						       .changed = devices_on_health,
						       .node = devices_on_node,
						       .synced = on_health_synced,
						       .refused = on_health_refused,
						       .arg = d });
}

struct devices *devices_new(const struct devices_opts *opts)
{
	struct devices *d = XNEW(struct devices);

	d->opts = *opts;
	d->inventory = inventory_new(inventory_everything);
	list_init(&d->watchers);
	arena_init(&d->texts, SIZE_MAX);
	arena_init(&d->scratch, REQUEST_WORK_MAX);
	devices_names_init(&d->changed_slices);
	devices_names_init(&d->changed_claims);
	devices_names_init(&d->changed_rules);
	devices_names_init(&d->changed_nodes);
	devices_names_init(&d->told);
	devices_names_init(&d->anew);
	devices_names_init(&d->changed_health);
	loop_task_init(&d->task, devices_on_turn);
	follow_all(d);
	return d;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	informer_remove_handler(&d->slices.handler);
	informer_remove_handler(&d->claims.handler);
	informer_remove_handler(&d->rules.handler);
	devices_health_free(d->health);
	loop_task_cancel(&d->task);
	LIST_FOREACH_SAFE (it, &d->watchers)
		devices_unwatch(LIST_ENTRY(it, struct devices_watcher, link));
	devices_names_release(&d->changed_slices);
	devices_names_release(&d->changed_claims);
	devices_names_release(&d->changed_rules);
	devices_names_release(&d->changed_nodes);
	devices_names_release(&d->told);
	devices_names_release(&d->anew);
	devices_names_release(&d->changed_health);
	inventory_free(d->inventory);
	arena_release(&d->scratch);
	arena_release(&d->texts);
	free(d);
}

void devices_watch(struct devices *d, struct devices_watcher *w)
{
	w->synced = false;
	list_push_back(&d->watchers, &w->link);
	loop_defer(d->opts.loop, &d->task);
}

void devices_unwatch(struct devices_watcher *w)
{
	if (!w->link.next)
		return;
	list_remove(&w->link);
	w->link.next = NULL;
}

bool devices_synced(const struct devices *d)
{
	return d->synced;
}

struct inventory *devices_inventory(struct devices *d)
{
	take_in(d);
	return d->inventory;
}

struct device_health_book *devices_health(struct devices *d)
{
	return d->opts.health ? devices_health_book(d->health) : NULL;
}

struct informer *devices_slices(struct devices *d)
{
	return d->slices.informer;
}

struct informer *devices_claims(struct devices *d)
{
	return d->claims.informer;
}

struct informer *devices_rules(struct devices *d)
{
	return d->rules.informer;
}

size_t devices_claims_held(const struct devices *d)
{
	return inventory_claims(d->inventory);
}

const struct cached *devices_find_slice(const struct devices *d, struct str name)
{
	return cache_get(informer_cache(d->slices.informer), name);
}

struct str devices_pool_key(struct str driver, struct str pool, struct arena *a)
{
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(driver), STR_ARG(pool)));
}

struct str devices_pool_key_of(const struct cached *slice, struct arena *a)
{
	return devices_pool_key(cached_field(slice, "spec.driver", a),
				cached_field(slice, "spec.pool.name", a), a);
}
