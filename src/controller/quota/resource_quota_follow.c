/*
 * The kinds that are watched, and how their objects get into the book. A kind is followed from the
 * first quota that names it, for ever. Kinds that are only counted are copied without spec and
 * status. If a kind is not served, discovery is checked again from time to time, because its
 * definition may be added.
 */
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/discovery.h"
#include "controller/quota/resource_quota_impl.h"

enum {
	KINDS_MAX = 10000,
	LOOK_AGAIN_MS = 30 * 1000,
	RETRY_MS = 2 * 1000,
	CLASSES_MS = 200, /* several classes change together: one recount */
};

/* An object of which only the existence matters. */
static const struct json nothing = { .type = JSON_OBJECT };

/* --- lookups for evaluators ------------------------------------------------------------------ */

static const struct cache *classes(const struct resource_quotas *r)
{
	return r->on_classes.informer ? informer_cache(r->on_classes.informer) : NULL;
}

static struct str resource_of(const struct quota_context *ctx, struct str device_class)
{
	const struct cache *c = classes(ctx->arg);
	const struct cached *o = c ? cache_get(c, device_class) : NULL;

	return o ? cached_field(o, "spec.extendedResourceName", ctx->arena) : STR("");
}

static bool is_device(const struct quota_context *ctx, struct str extended_resource)
{
	const struct cache *c = classes(ctx->arg);
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while (c && (o = cache_next(c, &walk))) {
		if (!str_eq(cached_field(o, "spec.extendedResourceName", ctx->arena),
			    extended_resource))
			continue;
		cache_walk_end(&walk);
		return true;
	}
	return false;
}

static struct quota_followed *find_kind(const struct resource_quotas *r, struct str group,
					struct str resource)
{
	for (size_t i = 0; i < r->kinds.n; i++)
		if (str_eq(r->kinds.v[i]->kind.group, group) &&
		    str_eq(r->kinds.v[i]->kind.resource, resource))
			return r->kinds.v[i];
	return NULL;
}

static const struct json *find_pod(const struct quota_context *ctx, struct str ns, struct str name)
{
	struct quota_followed *pods = find_kind(ctx->arg, STR(""), STR("pods"));
	struct cached *o = NULL;
	struct json *tree;

	if (pods && pods->handler.informer)
		o = cache_get_in(informer_cache(pods->handler.informer), ns, name);
	return o && cached_tree_held(o, ctx->arena, &tree, NULL) == 0 ? tree : NULL;
}

struct quota_context resource_quotas_context(struct resource_quotas *r)
{
	return (struct quota_context){ .now_ns = clock_wall(loop_clock(r->ctx.loop)),
				       .arena = &r->context_arena,
				       .resource_of = resource_of,
				       .is_device = is_device,
				       .pod = find_pod,
				       .arg = r };
}

/* --- objects --------------------------------------------------------------------------------- */

static void resource_quota_follow_on_changed(void *arg, struct str ns, struct str quota, bool less)
{
	struct resource_quotas *r = arg;

	if (!r->muted)
		resource_quotas_touch(r, ns, quota, less);
}

static void on_freed(void *arg, struct str ns, struct str quota, const struct amount *amount)
{
	resource_quotas_freed(arg, ns, quota, amount);
}

static void resource_quota_follow_put(struct quota_followed *f, const struct cached *o, bool gone)
{
	struct resource_quotas *r = f->owner;
	struct quota_book_listener listener = { resource_quota_follow_on_changed, on_freed, r };
	struct quota_context ctx;
	const struct json *object = gone ? NULL : &nothing;
	struct json *tree;

	if (!quota_book_has(r->book, cached_ns(o)))
		return;
	if (!gone && f->kind.sort != QUOTA_COUNTED) {
		if (cached_tree(o, &r->scratch, &tree, NULL) < 0)
			return;
		object = tree;
	}
	ctx = resource_quotas_context(r);
	quota_book_put(r->book, f->id, &f->kind, &ctx, cached_ns(o), cached_name(o), object,
		       &listener);
	arena_clear(&r->scratch);
	arena_clear(&r->context_arena);
}

static void resource_quota_follow_on_add(struct informer_handler *h, struct cached *o,
					 bool initial UNUSED)
{
	resource_quota_follow_put(CONTAINER_OF(h, struct quota_followed, handler), o, false);
}

/* The object may have been replaced by another of its name: both were charged. */
static void resource_quota_follow_on_update(struct informer_handler *h, struct cached *old,
					    struct cached *o)
{
	struct quota_followed *f = CONTAINER_OF(h, struct quota_followed, handler);
	bool replaced = !str_eq(old->uid, o->uid);

	if (replaced)
		resource_quota_follow_put(f, old, true);
	if (replaced || f->kind.sort != QUOTA_COUNTED)
		resource_quota_follow_put(f, o, false);
}

static void resource_quota_follow_on_delete(struct informer_handler *h, struct cached *last,
					    bool unknown UNUSED)
{
	resource_quota_follow_put(CONTAINER_OF(h, struct quota_followed, handler), last, true);
}

static void resource_quota_follow_on_synced(struct informer_handler *h)
{
	resource_quotas_touch_all(CONTAINER_OF(h, struct quota_followed, handler)->owner);
}

void resource_quotas_refill(struct resource_quotas *r, struct str ns)
{
	r->muted = true;
	for (size_t i = 0; i < r->kinds.n; i++) {
		struct quota_followed *f = r->kinds.v[i];
		struct cache_walk walk = { 0 };
		const struct cached *o;

		while (f->handler.informer &&
		       (o = cache_next_in(informer_cache(f->handler.informer), ns, &walk)))
			resource_quota_follow_put(f, o, false);
	}
	r->muted = false;
}

/* --- kinds ----------------------------------------------------------------------------------- */

bool resource_quotas_knows(const struct quota_followed *f, bool *ret_counts)
{
	*ret_counts = f->handler.informer != NULL;
	return f->handler.informer ? f->handler.synced : f->looked;
}

static void on_class(struct informer_handler *h, struct cached *o UNUSED, bool initial)
{
	struct resource_quotas *r = CONTAINER_OF(h, struct resource_quotas, on_classes);

	if (!initial)
		loop_timer_start(&r->recount, CLASSES_MS);
}

static void on_class_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	if (!cached_same_field(old, o, "spec.extendedResourceName"))
		on_class(h, o, false);
}

static void on_class_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	on_class(h, last, false);
}

static void on_classes_synced(struct informer_handler *h)
{
	loop_timer_start(&CONTAINER_OF(h, struct resource_quotas, on_classes)->recount, 0);
}

static void follow_classes(struct resource_quotas *r)
{
	struct informer_spec spec = { .resource = &r->class_resource, .slim = true };

	if (r->on_classes.informer)
		return;
	r->on_classes = (struct informer_handler){ .on_add = on_class,
						   .on_update = on_class_update,
						   .on_delete = on_class_delete,
						   .on_synced = on_classes_synced };
	informer_add_handler(informers_get(r->ctx.informers, &spec), &r->on_classes);
}

/*
 * Device kinds are read in the format of v1. For others only their number counts, in any version.
 */
static void follow_kind(struct quota_followed *f, const struct discovery *d)
{
	bool counted = f->kind.sort == QUOTA_COUNTED;
	const struct discovery_resource *found;
	struct informer_spec spec = { .resource = &f->resource,
				      .metadata_only = counted,
				      .slim = true };
	const unsigned needs = DISCOVERY_LIST | DISCOVERY_WATCH;

	found = discovery_find(d, f->kind.group, counted ? STR("") : STR("v1"), f->kind.resource);
	f->looked = true;
	if (!found || (found->verbs & needs) != needs || !found->resource.namespaced)
		return;
	f->resource = resource_copy(&f->arena, &found->resource);
	f->handler = (struct informer_handler){ .on_add = resource_quota_follow_on_add,
						.on_update = resource_quota_follow_on_update,
						.on_delete = resource_quota_follow_on_delete,
						.on_synced = resource_quota_follow_on_synced };
	informer_add_handler(informers_get(f->owner->ctx.informers, &spec), &f->handler);
	if (f->kind.sort == QUOTA_DEVICE_CLAIMS)
		follow_classes(f->owner);
}

static void on_served(struct served_wait *w, const struct error *err)
{
	struct resource_quotas *r = CONTAINER_OF(w, struct resource_quotas, wait);
	const struct discovery *d = served_discovery(r->ctx.served);
	bool missing = false;

	if (err) {
		loop_timer_start(&r->look, RETRY_MS);
		return;
	}
	for (size_t i = 0; i < r->kinds.n; i++) {
		if (!r->kinds.v[i]->handler.informer)
			follow_kind(r->kinds.v[i], d);
		missing |= !r->kinds.v[i]->handler.informer;
	}
	if (missing)
		loop_timer_start(&r->look, LOOK_AGAIN_MS);
	resource_quotas_touch_all(r);
}

static void resource_quota_follow_on_look(struct loop_timer *t)
{
	struct resource_quotas *r = CONTAINER_OF(t, struct resource_quotas, look);

	if (!r->wait.link.next)
		served_look(r->ctx.served, &r->wait);
}

static void add_kind(struct resource_quotas *r, const struct quota_kind *k)
{
	struct quota_followed *f;

	if (find_kind(r, k->group, k->resource))
		return;
	f = XNEW(struct quota_followed);
	f->owner = r;
	f->id = (unsigned)r->kinds.n;
	arena_init(&f->arena, SIZE_MAX);
	f->kind = *k;
	f->kind.group = arena_str(&f->arena, k->group);
	f->kind.resource = arena_str(&f->arena, k->resource);
	if (!vec_push(&r->kinds, f)) {
		arena_release(&f->arena);
		free(f);
		return;
	}
	loop_timer_start(&r->look, 0);
}

/* Kinds that are measured, not only counted. */
static const struct {
	struct str group, resource;
} measured[] = {
	{ STR(""), STR("pods") },
	{ STR(""), STR("services") },
	{ STR(""), STR("persistentvolumeclaims") },
	{ STR("resource.k8s.io"), STR("resourceclaims") },
};

/* Any extended resource may belong to a device class: then its claims count, too. */
static bool any_device(const struct quota_context *ctx UNUSED, struct str name UNUSED)
{
	return true;
}

static struct str any_resource(const struct quota_context *ctx UNUSED, struct str name UNUSED)
{
	return STR("x");
}

void resource_quotas_follow(struct resource_quotas *r, const struct amount_list *names)
{
	struct quota_context ctx = { .is_device = any_device, .resource_of = any_resource };
	struct quota_kind k;

	for (size_t i = 0; i < names->n; i++) {
		struct str name = names->v[i].name;

		if (quota_kind_counted(name, &k))
			add_kind(r, &k);
		for (size_t j = 0; j < ARRAY_SIZE(measured); j++)
			if (quota_kind_of(measured[j].group, measured[j].resource, &k) &&
			    quota_kind_has(&k, &ctx, name))
				add_kind(r, &k);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

void resource_quotas_follow_init(struct resource_quotas *r)
{
	vec_init(&r->kinds, KINDS_MAX);
	arena_init(&r->scratch, REQUEST_WORK_MAX);
	arena_init(&r->context_arena, REQUEST_WORK_MAX);
	r->class_resource = resource_builtin("resource.k8s.io", "v1", "deviceclasses");
	r->wait.done = on_served;
	loop_timer_init(&r->look, r->ctx.loop, resource_quota_follow_on_look);
}

void resource_quotas_follow_release(struct resource_quotas *r)
{
	loop_timer_stop(&r->look);
	served_cancel(&r->wait);
	informer_remove_handler(&r->on_classes);
	for (size_t i = 0; i < r->kinds.n; i++) {
		informer_remove_handler(&r->kinds.v[i]->handler);
		arena_release(&r->kinds.v[i]->arena);
		free(r->kinds.v[i]);
	}
	vec_release(&r->kinds);
	arena_release(&r->scratch);
	arena_release(&r->context_arena);
}
