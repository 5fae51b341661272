/*
 * Decides by the informers alone. A write names the resourceVersion that was read: if a server has
 * charged meanwhile, the write conflicts and is decided again on the newer quota. quota/tally.h has
 * the rules by which `used` is lowered.
 */
#include "controller/quota/resource_quota.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/work/workqueue.h"
#include "controller/quota/resource_quota_impl.h"
#include "controller/quota/tally.h"

enum {
	WORKERS = 5, /* as upstream's */
	RECOUNT_MS = 5 * 60 * 1000,
	LESS_MS = 50, /* objects deleted together are released together */
	MORE_MS = 1000, /* the server has usually charged it already */
	KEY_MAX = 512,
};

struct tallied {
	struct quota_tally *tally;
	uint64_t relists; /* of the informer, when the quota last changed */
	struct str key; /* stored after the struct */
};

/* --- tallies --------------------------------------------------------------------------------- */

static struct tallied *tallied_of(struct resource_quotas *r, struct str key)
{
	struct tallied *t = map_get(&r->tallies, key);
	char *text;

	if (t)
		return t;
	t = xcalloc(1, sizeof(*t) + key.n);
	text = (char *)(t + 1);
	str_put(text, key);
	t->key = str_of(text, key.n);
	t->tally = quota_tally_new();
	(void)map_put(&r->tallies, t->key, t);
	return t;
}

static struct quota_tally *tally_of(struct resource_quotas *r, struct str key)
{
	return tallied_of(r, key)->tally;
}

static void tallied_free(struct tallied *t)
{
	if (t)
		quota_tally_free(t->tally);
	free(t);
}

/*
 * Whether the informer has relisted since the quota's last change, so that changes may be missing.
 */
static bool has_relisted(struct resource_quotas *r, struct tallied *t)
{
	struct informer_stats stats;
	bool again;

	informer_stats(r->quotas, &stats);
	again = stats.relists != t->relists;
	t->relists = stats.relists;
	return again;
}

/* --- counting -------------------------------------------------------------------------------- */

/* Whether a followed kind counts towards the name; *ret_wait: such a kind is not known yet. */
static bool is_counted(struct resource_quotas *r, const struct quota_context *ctx, struct str name,
		       bool *ret_wait)
{
	bool counted = false;

	for (size_t i = 0; i < r->kinds.n; i++) {
		bool counts;

		if (!quota_kind_has(&r->kinds.v[i]->kind, ctx, name))
			continue;
		*ret_wait |= !resource_quotas_knows(r->kinds.v[i], &counts);
		counted |= counts;
	}
	return counted;
}

struct count {
	struct quota quota;
	struct amount_list sums;
	struct amount_list used; /* the desired value */
	bool wait; /* not everything is known yet */
};

static void resource_quota_count(struct resource_quotas *r, struct str ns,
				 const struct json *object, struct arena *a,
				 struct count *ret_count)
{
	struct quota_context ctx = resource_quotas_context(r);
	struct count c = { .sums = amount_list_new(a) };
	struct amount_list sums;

	quota_read(object, a, &c.quota);
	if (!quota_book_sums(r->book, ns, c.quota.name, a, &sums))
		sums = amount_list_new(a);
	for (size_t i = 0; i < c.quota.wanted.n; i++) {
		struct str name = c.quota.wanted.v[i].name;
		const struct quantity *before = amount_list_get(&c.quota.used, name);
		const struct quantity *now = amount_list_get(&sums, name);

		/* A name that nobody counts keeps its value. */
		if (!is_counted(r, &ctx, name, &c.wait))
			now = before;
		if (!now)
			continue;
		amount_list_set(&c.sums, name, *now);
	}
	arena_clear(&r->context_arena);
	*ret_count = c;
}

static bool is_right(const struct count *c, const struct json *object)
{
	const struct json *status = json_getz(object, "status");

	return amount_list_equal(&c->quota.wanted, &c->quota.hard) &&
	       amount_list_equal(&c->used, &c->quota.used) &&
	       (json_getz(status, "hard") || !c->quota.wanted.n) &&
	       (json_getz(status, "used") || !c->used.n);
}

/* --- writing --------------------------------------------------------------------------------- */

static void resource_quota_on_written(struct client_request *q,
				      const struct client_answer *a UNUSED, const struct error *err)
{
	struct work *w = q->arg;
	struct resource_quotas *r = CONTAINER_OF(w->of, struct resource_quotas, jobs);
	struct tallied *t = map_get(&r->tallies, w->key);
	bool again = err && err->code != ERR_NOT_FOUND;

	/* Conflicts are expected: a server may charge at the same time. */
	if (again && err->code != ERR_CONFLICT)
		log_warn(r->ctx.log, "cannot write the status of a quota", LOG_STR("quota", w->key),
			 LOG_ERR(err));
	/* The request was sent once, so a conflict is about this write, not an earlier try. */
	if (t)
		quota_tally_end_write(t->tally, err && err->code == ERR_CONFLICT);
	work_end(w, again);
}

static void resource_quota_write_status(struct resource_quotas *r, const struct cached *o,
					struct str key, struct json *object, const struct count *c,
					struct arena *a)
{
	struct work *w = work_new(&r->jobs, sizeof(*w), key);
	struct json *status = json_make_object(a);

	json_setz(status, "hard", amount_list_tree(&c->quota.wanted, a));
	json_setz(status, "used", amount_list_tree(&c->used, a));
	json_setz(object, "status", status);
	w->request.on_done = resource_quota_on_written;
	w->request.no_retry = true;
	quota_tally_begin_write(tally_of(r, key));
	client_update_status(r->ctx.client, &w->request, &r->resource, cached_ns(o), cached_name(o),
			     object);
}

/* Returns true if its write will finish the key. */
static bool resource_quota_settle(struct resource_quotas *r, const struct cached *o, struct str key,
				  struct arena *a)
{
	struct json *object;
	struct count c;
	int64_t wait;

	/* Also if it is being deleted: the server charges it until its finalizers are gone. */
	if (cached_tree(o, a, &object, NULL) < 0)
		return false;
	resource_quota_count(r, cached_ns(o), object, a, &c);
	if (c.wait)
		return false;
	c.used = quota_tally_decide(tally_of(r, key), &c.quota.used, &c.sums, loop_now(r->ctx.loop),
				    a, &wait);
	if (wait >= 0)
		workqueue_add_after(r->queue, key, wait);
	if (is_right(&c, object))
		return false;
	resource_quota_write_status(r, o, key, object, &c, a);
	return true;
}

static void resource_quota_handle(void *arg, struct str key)
{
	struct resource_quotas *r = arg;
	const struct cached *o = cache_get(informer_cache(r->quotas), key);
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!o || !resource_quota_settle(r, o, key, &a))
		workqueue_finish(r->queue, key, false);
	arena_release(&a);
}

/* --- changes --------------------------------------------------------------------------------- */

/* "namespace/name" in `key`; empty: too long to be valid. */
static struct str resource_quota_key_of(char key[KEY_MAX], struct str ns, struct str name)
{
	int n = snprintf(key, KEY_MAX, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));

	return n > 0 && n < KEY_MAX ? str_of(key, (size_t)n) : STR("");
}

void resource_quotas_touch(struct resource_quotas *r, struct str ns, struct str name, bool less)
{
	char text[KEY_MAX];
	struct str key = resource_quota_key_of(text, ns, name);

	if (key.n)
		workqueue_add_after(r->queue, key, less ? LESS_MS : MORE_MS);
}

void resource_quotas_freed(struct resource_quotas *r, struct str ns, struct str name,
			   const struct amount *amount)
{
	char text[KEY_MAX];
	struct str key = resource_quota_key_of(text, ns, name);

	if (key.n)
		quota_tally_add_freed(tally_of(r, key), amount->name, amount->q);
}

void resource_quotas_touch_all(struct resource_quotas *r)
{
	struct cache_walk walk = { 0 };
	const struct cached *o;

	while ((o = cache_next(informer_cache(r->quotas), &walk)))
		workqueue_add(r->queue, o->key);
}

/* Recounts all quotas. */
static void resource_quotas_recount(struct resource_quotas *r)
{
	struct cache_walk walk = { 0 };
	struct str last = STR_NULL;
	const struct cached *o;

	while ((o = cache_next(informer_cache(r->quotas), &walk))) {
		workqueue_add(r->queue, o->key);
		if (last.p && str_eq(cached_ns(o), last))
			continue;
		quota_book_clear(r->book, cached_ns(o));
		resource_quotas_refill(r, cached_ns(o));
		last = cached_ns(o);
	}
}

static void on_recount(struct loop_timer *t)
{
	struct resource_quotas *r = CONTAINER_OF(t, struct resource_quotas, recount);

	resource_quotas_recount(r);
	loop_timer_start(&r->look, 0); /* a kind may be served again */
	loop_timer_start(&r->recount, RECOUNT_MS);
}

/* `old` is the quota one change earlier; NULL: none, or unknown. */
static void see(struct resource_quotas *r, const struct cached *old, const struct cached *o,
		const struct quota *now, struct arena *a)
{
	struct json *object;
	struct quota before;
	bool known = old && cached_tree(old, a, &object, NULL) == 0;

	if (known)
		quota_read(object, a, &before);
	quota_tally_see(tally_of(r, o->key), known ? &before.used : NULL, &now->used,
			loop_now(r->ctx.loop));
}

static void follow_quota(struct resource_quotas *r, const struct cached *old,
			 const struct cached *o, struct arena *a)
{
	struct json *object;
	struct quota q;

	if (cached_tree(o, a, &object, NULL) < 0)
		return;
	quota_read(object, a, &q);
	if (quota_book_set_quota(r->book, cached_ns(o), cached_name(o), object)) {
		see(r, NULL, o, &q, a);
		resource_quotas_follow(r, &q.wanted);
		resource_quotas_refill(r, cached_ns(o));
		workqueue_add(r->queue, o->key);
	} else {
		see(r, old, o, &q, a);
		workqueue_add_after(r->queue, o->key, MORE_MS);
	}
}

static void on_quota_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct resource_quotas *r = CONTAINER_OF(h, struct resource_quotas, on_quotas);
	bool adjoins = !has_relisted(r, tallied_of(r, o->key)) && old && str_eq(old->uid, o->uid);
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	follow_quota(r, adjoins ? old : NULL, o, &a);
	arena_release(&a);
}

static void on_quota(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	on_quota_update(h, NULL, o);
}

static void on_quota_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct resource_quotas *r = CONTAINER_OF(h, struct resource_quotas, on_quotas);

	tallied_free(map_remove(&r->tallies, last->key));
	if (quota_book_set_quota(r->book, cached_ns(last), cached_name(last), NULL))
		resource_quotas_refill(r, cached_ns(last));
}

static void on_quotas_synced(struct informer_handler *h)
{
	workqueue_hold(CONTAINER_OF(h, struct resource_quotas, on_quotas)->queue, false);
}

/* --- life ------------------------------------------------------------------------------------ */

struct resource_quotas *resource_quotas_new(const struct context *ctx)
{
	struct resource_quotas *r = XNEW(struct resource_quotas);

	r->ctx = *ctx;
	r->resource = resource_builtin("", "v1", "resourcequotas");
	r->book = quota_book_new();
	map_init(&r->tallies);
	r->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "resourcequota_primary",
							   .workers = WORKERS,
							   .handle = resource_quota_handle,
							   .arg = r,
							   .metrics = ctx->metrics });
	works_init(&r->jobs, r->queue, ctx->log, "quota", NULL);
	workqueue_hold(r->queue, true);
	resource_quotas_follow_init(r);
	loop_timer_init(&r->recount, ctx->loop, on_recount);
	loop_timer_start(&r->recount, RECOUNT_MS);
	r->quotas = informers_get(ctx->informers,
				  &(struct informer_spec){ .resource = &r->resource });
	r->on_quotas = (struct informer_handler){ .on_add = on_quota,
						  .on_update = on_quota_update,
						  .on_delete = on_quota_delete,
						  .on_synced = on_quotas_synced };
	informer_add_handler(r->quotas, &r->on_quotas);
	return r;
}

void resource_quotas_free(struct resource_quotas *r)
{
	struct str key;
	void *t;

	if (!r)
		return;
	informer_remove_handler(&r->on_quotas);
	resource_quotas_follow_release(r);
	loop_timer_stop(&r->recount);
	works_release(&r->jobs);
	workqueue_free(r->queue);
	for (size_t at = 0; map_next(&r->tallies, &at, &key, &t);)
		tallied_free(t);
	map_release(&r->tallies);
	quota_book_free(r->book);
	free(r);
}
