/*
 * Events only record names of slices. A claim's change that leaves its allocation alone (pods that
 * use it, health of its devices) records the slices of the claim's devices. A change of a taint
 * rule records all slices, because it may affect any.
 */
#include "cli/live/device_feed.h"

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "cli/devices/view.h"
#include "client/api/discovery.h"
#include "client/informer/cache.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/devices/devices_touch.h"
#include "dra/availability/availability.h"
#include "dra/inventory/content.h"

/* Published slices or statuses; both have the slice's name. */
struct published {
	struct informer_handler handler;
	struct informer *informer; /* NULL: not followed */
	struct device_feed *feed;
};

struct device_feed {
	struct kube *kube;
	struct device_feed_opts opts;
	struct informers *informers;
	struct resource status_kind; /* text is the feed's */
	struct devices_served served;
	struct arena texts;
	struct str source;

	/* For users who may list claims: */
	struct devices *devices;
	struct devices_watcher watcher;
	struct informer_handler on_claim, on_rule;
	struct informer *rules; /* or NULL */
	bool all; /* check all slices */
	bool health_known; /* statuses have health */
	bool nodes_known; /* the set of nodes is known */
	bool lacks_nodes; /* a state was computed without knowing the nodes */

	/* For other users: */
	struct published slices, statuses;

	struct devices_names dirty; /* slices */
	struct arena scratch;
	bool told;
};

/* --- changes --------------------------------------------------------------------------------- */

static void device_feed_wake(struct device_feed *f)
{
	if (f->told)
		return;
	f->told = true;
	f->opts.on_change(f->opts.arg);
}

static void device_feed_note(struct device_feed *f, struct str slice)
{
	devices_names_add(&f->dirty, slice);
	device_feed_wake(f);
}

static void device_feed_on_slice(struct devices_watcher *w, struct str slice)
{
	device_feed_note(CONTAINER_OF(w, struct device_feed, watcher), slice);
}

static void device_feed_on_synced(struct devices_watcher *w)
{
	device_feed_wake(CONTAINER_OF(w, struct device_feed, watcher));
}

static void device_feed_on_claim_update(struct informer_handler *h, struct cached *old UNUSED,
					struct cached *o)
{
	struct device_feed *f = CONTAINER_OF(h, struct device_feed, on_claim);
	struct str *names;
	size_t n;

	n = availability_claim_slices(devices_inventory(f->devices), cached_ns(o), cached_name(o),
				      &f->scratch, &names);
	for (size_t i = 0; i < n; i++)
		device_feed_note(f, names[i]);
	arena_clear(&f->scratch);
}

static void on_rule_change(struct informer_handler *h)
{
	struct device_feed *f = CONTAINER_OF(h, struct device_feed, on_rule);

	f->all = true;
	device_feed_wake(f);
}

static void on_rule_add(struct informer_handler *h, struct cached *o UNUSED, bool initial)
{
	if (!initial)
		on_rule_change(h);
}

static void on_rule_update(struct informer_handler *h, struct cached *old UNUSED,
			   struct cached *o UNUSED)
{
	on_rule_change(h);
}

static void on_rule_delete(struct informer_handler *h, struct cached *last UNUSED,
			   bool unknown UNUSED)
{
	on_rule_change(h);
}

static struct device_feed *feed_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct published, handler)->feed;
}

/*
 * Whether slices count depends on others of their pool. If `devices` exists, it reports that
 * itself.
 */
static bool concerns_pool(const struct device_feed *f, const struct informer_handler *h)
{
	return h == &f->slices.handler && !f->devices;
}

static void on_published_add(struct informer_handler *h, struct cached *o, bool initial)
{
	struct device_feed *f = feed_of(h);

	f->all |= !initial && concerns_pool(f, h);
	device_feed_note(f, o->key);
}

static void on_published_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct device_feed *f = feed_of(h);

	if (concerns_pool(f, h) && !str_eq(cached_field(old, "metadata.generation", NULL),
					   cached_field(o, "metadata.generation", NULL)))
		f->all = true;
	device_feed_note(f, o->key);
}

static void on_published_delete(struct informer_handler *h, struct cached *last,
				bool unknown UNUSED)
{
	on_published_add(h, last, false);
}

static void on_published_synced(struct informer_handler *h)
{
	device_feed_wake(feed_of(h));
}

/* --- taints and holders --------------------------------------------------------------------- */

static struct str taint_of(const struct inventory_device *d, struct arena *a)
{
	const struct inventory_taint *t;
	size_t at = 0;

	while ((t = inventory_next_taint(d, &at)))
		if (t->effect != INVENTORY_EFFECT_OTHER)
			return device_view_taint(a, t->key, t->value, t->effect_text);
	return STR_NULL;
}

/* NULL: the device does not count. */
static const struct inventory_device *find_device(struct device_feed *f, const struct json *spec,
						  struct str name)
{
	if (!f->devices)
		return NULL;
	return inventory_device(devices_inventory(f->devices), json_text_at(spec, "driver"),
				json_text_at(json_getz(spec, "pool"), "name"), name);
}

static struct str taint(void *arg, const struct json *spec, const struct json *device,
			struct arena *a)
{
	const struct inventory_device *d = find_device(arg, spec, json_text_at(device, "name"));

	return d ? taint_of(d, a) : top_taint(device, a);
}

static size_t holders(void *arg, const struct json *spec, struct str device, struct arena *a,
		      struct top_holder **ret_holders)
{
	const struct inventory_device *d = find_device(arg, spec, device);
	const struct inventory_claim *last = NULL;
	size_t n = 0;

	if (!d || !d->use)
		return 0;
	*ret_holders = ARENA_ARRAY(a, struct top_holder, d->use->whole + d->use->shares);
	LIST_FOREACH (it, &d->use->holders) {
		const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

		if (h->admin || h->claim == last)
			continue;
		last = h->claim;
		(*ret_holders)[n++] = (struct top_holder){ .ns = arena_str(a, last->namespace),
							   .claim = arena_str(a, last->name) };
	}
	return n;
}

static struct str pods(void *arg, struct str ns, struct str claim, struct arena *a)
{
	struct device_feed *f = arg;
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	const struct cached *o;
	struct json *users;
	struct str text;

	if (!f->devices)
		return STR_NULL;
	o = cache_get_in(informer_cache(devices_claims(f->devices)), ns, claim);
	text = o ? cached_field(o, "status.reservedFor", NULL) : STR_NULL;
	if (!text.n || json_parse(&f->scratch, text, NULL, &users, NULL) < 0)
		return STR_NULL;
	JSON_FOREACH (it, users)
		if (str_eqz(json_text_at(it, "resource"), "pods"))
			(void)buf_printf(&out, "%s%.*s", out.n ? ", " : "",
					 STR_ARG(json_text_at(it, "name")));
	return arena_str(a, buf_str(&out));
}

/* --- slices ---------------------------------------------------------------------------------- */

static const struct cache *slice_cache(const struct device_feed *f)
{
	return informer_cache(f->devices ? devices_slices(f->devices) : f->slices.informer);
}

static struct json *parse_field(struct device_feed *f, const struct cached *o, const char *path)
{
	struct str text = cached_field(o, path, NULL);
	struct json *v;

	if (!str_starts(text, STR("{")) || json_parse(&f->scratch, text, NULL, &v, NULL) < 0)
		return NULL;
	return v;
}

static bool device_feed_is_wanted(const struct device_feed *f, const struct json *spec)
{
	const struct device_feed_opts *o = &f->opts;

	return (!o->driver.n || str_eq(o->driver, json_text_at(spec, "driver"))) &&
	       (!o->pool.n || str_eq(o->pool, json_text_at(json_getz(spec, "pool"), "name")));
}

static struct str pool_key(struct device_feed *f, const struct json *spec)
{
	return devices_pool_key(json_text_at(spec, "driver"),
				json_text_at(json_getz(spec, "pool"), "name"), &f->scratch);
}

/* Whether some slice of the pool is on the requested node. */
static bool is_pool_wanted(struct device_feed *f, const struct json *spec)
{
	struct str key = pool_key(f, spec);
	struct cache_walk w = { 0 };
	const struct cached *o;
	bool found = false;

	while ((o = cache_next_by(slice_cache(f), DEVICES_BY_POOL, key, &w)))
		found |= str_eq(cached_field(o, "spec.nodeName", &f->scratch), f->opts.node);
	return found;
}

static bool has_newer(struct device_feed *f, const struct json *spec)
{
	int64_t own = json_i64_at(json_getz(spec, "pool"), "generation", 0), other;
	struct str key = pool_key(f, spec);
	struct cache_walk w = { 0 };
	const struct cached *o;
	bool newer = false;

	while ((o = cache_next_by(slice_cache(f), DEVICES_BY_POOL, key, &w)))
		newer |= str_to_i64(cached_field(o, "spec.pool.generation", NULL), &other) &&
			 other > own;
	return newer;
}

static struct json *one_tree(struct device_feed *f, const struct cached *o)
{
	struct json *list = json_make_array(&f->scratch), *tree;

	if (o && cached_tree(o, &f->scratch, &tree, NULL) == 0)
		json_append(list, tree);
	return list;
}

/* The published status, as in commands that print once. */
static struct device_view_slice published_slice(struct device_feed *f, const struct cached *o)
{
	static const struct device_view_slice none;
	const struct cached *own = NULL;
	struct device_view v;

	if (f->statuses.informer)
		own = cache_get(informer_cache(f->statuses.informer), o->key);
	device_view_make(&f->scratch, one_tree(f, o), &v);
	device_view_adopt(&v, one_tree(f, own));
	return v.n > 0 ? v.slices[0] : none;
}

/* The slice's status, or NULL if unknown; sets the facts that come with it. */
static const struct json *read_status(struct device_feed *f, const struct cached *o,
				      struct top_facts *facts)
{
	struct device_view_slice published = { 0 };

	if (!f->health_known || !f->devices)
		published = published_slice(f, o);
	if (!f->devices) {
		facts->stale = published.stale;
		return published.status;
	}
	/* The publisher knew what this user may not read: health, and the set of nodes. */
	if (device_view_has_health(&published)) {
		facts->health_known = true;
		facts->computed = false;
		return published.status;
	}
	f->lacks_nodes |= !f->nodes_known;
	return availability_slice_status(devices_inventory(f->devices), devices_health(f->devices),
					 o->key, NULL, 0, &f->scratch);
}

/* NULL: the slice does not exist, is not selected or does not count. */
static struct top_slice *make_slice(struct device_feed *f, struct str name)
{
	const struct cached *o = cache_get(slice_cache(f), name);
	const struct json *spec = o ? parse_field(f, o, "spec") : NULL, *status;
	struct top_facts facts = { .taint = taint,
				   .holders = f->devices ? holders : NULL,
				   .pods = pods,
				   .health_known = f->health_known,
				   .computed = f->devices != NULL,
				   .arg = f };
	bool gone;

	if (!spec || !device_feed_is_wanted(f, spec))
		return NULL;
	status = read_status(f, o, &facts);
	gone = f->devices ? !status : has_newer(f, spec);
	facts.elsewhere = f->opts.node.n && !str_eq(f->opts.node, json_text_at(spec, "nodeName"));
	if (gone ||
	    (facts.elsewhere && (!json_getz(status, "poolStatus") || !is_pool_wanted(f, spec))))
		return NULL;
	return top_slice_new(name, spec, status, &facts);
}

typedef VEC(struct top_slice *) slice_list;

static void update_slice(struct device_feed *f, struct top_model *m, struct str name,
			 slice_list *old, slice_list *now)
{
	struct top_slice *s = make_slice(f, name), *was;

	arena_clear(&f->scratch);
	was = top_model_put(m, name, s);
	if (was)
		(void)vec_push(old, was);
	if (s)
		(void)vec_push(now, s);
}

static void note_all(struct device_feed *f)
{
	struct cache_walk w = { 0 };
	const struct cached *o;

	while ((o = cache_next(slice_cache(f), &w)))
		device_feed_note(f, o->key);
}

void device_feed_update(struct device_feed *f, struct top_model *m,
			void (*tell)(void *arg, const struct top_change *c), void *arg)
{
	slice_list old, now;

	f->told = true; /* changes recorded here need no call of on_change */
	if (!device_feed_synced(f)) {
		f->told = false;
		return;
	}
	vec_init(&old, SIZE_MAX);
	vec_init(&now, SIZE_MAX);
	if (f->all)
		note_all(f);
	f->all = false;
	for (size_t i = 0; i < f->dirty.v.n; i++)
		update_slice(f, m, f->dirty.v.v[i], &old, &now);
	devices_names_clear(&f->dirty);
	f->told = false;
	if (tell)
		top_changes(old.v, old.n, now.v, now.n, tell, arg);
	for (size_t i = 0; i < old.n; i++)
		top_slice_free(old.v[i]);
	vec_release(&old);
	vec_release(&now);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Whether we may list all of them; assumes yes if the review fails. */
static bool may_list(struct kube *k, const struct resource *kind)
{
	struct error err;
	bool may = false;

	return kube_may(k, "list", kind, STR_NULL, &may, &err) < 0 || may;
}

static void follow_published(struct device_feed *f, struct published *p, struct informer *informer)
{
	p->feed = f;
	p->handler = (struct informer_handler){ .on_add = on_published_add,
						.on_update = on_published_update,
						.on_delete = on_published_delete,
						.on_synced = on_published_synced };
	p->informer = informer;
	informer_add_handler(p->informer, &p->handler);
}

static struct informer *informer_of(struct device_feed *f, const struct resource *kind)
{
	return informers_get(f->informers,
			     &(struct informer_spec){ .resource = kind, .slim = true });
}

/* The objects that store slices' status, if slices have none. */
static const struct discovery_resource *status_objects(const struct device_feed *f)
{
	return discovery_find(f->kube->discovery, STR("devplane.dev"), STR_NULL,
			      STR("resourceslicestatuses"));
}

/* Returns false if the user may not list them, or if the server does not serve them. */
static bool follow_objects(struct device_feed *f)
{
	const struct discovery_resource *d = status_objects(f);

	if (!d || !may_list(f->kube, &d->resource))
		return false;
	f->status_kind = resource_copy(&f->texts, &d->resource);
	follow_published(f, &f->statuses, informer_of(f, &f->status_kind));
	return true;
}

/* Follows published statuses, for a user who may not read health reports. False: none exist. */
static bool follow_health(struct device_feed *f)
{
	if (!f->served.slice_status)
		return follow_objects(f);
	follow_published(f, &f->slices, devices_slices(f->devices));
	return true;
}

static void follow_rules(struct device_feed *f)
{
	f->rules = informer_of(f, &f->served.rules);
	f->on_rule = (struct informer_handler){ .on_add = on_rule_add,
						.on_update = on_rule_update,
						.on_delete = on_rule_delete };
	informer_add_handler(f->rules, &f->on_rule);
}

static void follow_claims(struct device_feed *f)
{
	bool served = f->served.rules.resource.n > 0;
	bool rules = !served || may_list(f->kube, &f->served.rules);
	struct resource pods = resource_builtin("", "v1", "pods");
	struct resource nodes = resource_builtin("", "v1", "nodes");
	const char *health = "";
	struct devices_opts o = { .loop = f->kube->loop, .informers = f->informers };

	if (!rules)
		f->served.rules = (struct resource){ 0 };
	o.served = f->served;
	o.nodes = may_list(f->kube, &nodes);
	o.health = o.nodes && may_list(f->kube, &pods);
	f->health_known = o.health;
	f->nodes_known = o.nodes;
	f->devices = devices_new(&o);
	f->watcher = (struct devices_watcher){ .on_slice = device_feed_on_slice,
					       .on_synced = device_feed_on_synced };
	devices_watch(f->devices, &f->watcher);
	f->on_claim = (struct informer_handler){ .on_update = device_feed_on_claim_update };
	informer_add_handler(devices_claims(f->devices), &f->on_claim);
	if (f->served.rules.resource.n > 0)
		follow_rules(f);
	if (!f->health_known)
		health =
			follow_health(f)
				? ", with health only as published: you may not list pods and nodes"
				: ", without health: you may not list pods and nodes";
	f->source = str_from(arena_printf(
		&f->texts, "from slices and claims of %.*s%s%s", STR_ARG(f->kube->config.server),
		rules ? "" : ", without taint rules: you may not list them", health));
}

static void index_pool(const struct cached *o, struct arena *a, struct cache_values *v)
{
	cache_values_add(v, devices_pool_key_of(o, a));
}

static void follow_what_is_published(struct device_feed *f)
{
	static const struct cache_index by_pool = { DEVICES_BY_POOL, index_pool, NULL };

	f->health_known = true;
	follow_published(f, &f->slices, informer_of(f, &f->served.slices));
	informer_add_index(f->slices.informer, &by_pool);
	if (f->served.slice_status) {
		f->source = STR("as published in the status of slices: you may not list claims of "
				"all namespaces");
	} else if (follow_objects(f)) {
		f->source = STR("as published in ResourceSliceStatus objects: you may not list "
				"claims of all namespaces");
	} else if (status_objects(f)) {
		f->source = STR("states are not known: you may list neither claims of all "
				"namespaces nor ResourceSliceStatus objects");
	} else {
		f->source = STR("states are not known: nobody publishes them here, and you may not "
				"list claims of all namespaces");
	}
}

static void copy_served(struct device_feed *f)
{
	struct devices_served s = devices_find_served(f->kube->discovery);
	struct resource *all[] = { &s.slices, &s.claims, &s.rules };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		*all[i] = resource_copy(&f->texts, all[i]);
	f->served = s;
}

int device_feed_open(struct kube *k, const struct device_feed_opts *opts,
		     struct device_feed **ret_feed, struct error *err)
{
	const struct discovery_resource *any;
	struct device_feed *f;
	int r = kube_resource(k, STR("resourceslices.resource.k8s.io"), &any, err);

	if (r < 0)
		return r;
	f = XNEW(struct device_feed);
	f->kube = k;
	f->opts = *opts;
	arena_init(&f->texts, SIZE_MAX);
	arena_init(&f->scratch, SIZE_MAX);
	devices_names_init(&f->dirty);
	copy_served(f);
	if (f->served.slices.resource.n == 0) {
		device_feed_close(f);
		return error_set(err, ERR_UNIMPLEMENTED,
				 "the server has resource.k8s.io in version %.*s only: v1 or "
				 "v1beta2 is needed",
				 STR_ARG(any->resource.version));
	}
	f->informers = informers_new(k->client, NULL);
	if (may_list(k, &f->served.claims))
		follow_claims(f);
	else
		follow_what_is_published(f);
	informers_start(f->informers);
	*ret_feed = f;
	return 0;
}

void device_feed_close(struct device_feed *f)
{
	if (!f)
		return;
	informer_remove_handler(&f->on_claim);
	informer_remove_handler(&f->on_rule);
	informer_remove_handler(&f->slices.handler);
	informer_remove_handler(&f->statuses.handler);
	devices_free(f->devices);
	informers_free(f->informers);
	devices_names_release(&f->dirty);
	arena_release(&f->scratch);
	arena_release(&f->texts);
	free(f);
}

bool device_feed_synced(const struct device_feed *f)
{
	return (f->devices ? devices_synced(f->devices) : informer_synced(f->slices.informer)) &&
	       (!f->statuses.informer || informer_synced(f->statuses.informer));
}

const struct error *device_feed_failure(const struct device_feed *f)
{
	static const struct error none;
	const struct informer *all[] = { f->devices ? devices_slices(f->devices)
						    : f->slices.informer,
					 f->devices ? devices_claims(f->devices) : NULL,
					 f->statuses.informer, f->rules };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] && informer_failure(all[i])->code != ERR_OK)
			return informer_failure(all[i]);
	return &none;
}

struct str device_feed_source(const struct device_feed *f)
{
	return f->source;
}

bool device_feed_lacks_nodes(const struct device_feed *f)
{
	return f->lacks_nodes;
}
