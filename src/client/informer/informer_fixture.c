/*
 * The account relies only on the calls of its handler; if it differs from the cache, a test fails.
 */
#include "client/informer/informer_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report/metrics.h"

enum { HANG_MS = 600 * 1000 };

static struct account *account_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct account, handler);
}

static void informer_fixture_on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	struct account *a = account_of(h);

	assert_null(map_put(&a->objects, o->key, cached_ref(o)));
	a->adds++;
	a->initial += initial;
	if (initial)
		assert_int_equal(a->synced, 0);
}

static void informer_fixture_on_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	struct account *a = account_of(h);

	assert_ptr_equal(map_get(&a->objects, o->key), old);
	a->updates++;
	if (old == o) {
		a->resyncs++;
		return;
	}
	assert_string_not_equal(old->json.p, o->json.p);
	(void)map_put(&a->objects, o->key, cached_ref(o));
	cached_unref(old);
}

static void informer_fixture_on_delete(struct informer_handler *h, struct cached *last,
				       bool unknown)
{
	struct account *a = account_of(h);
	struct cached *known = map_remove(&a->objects, last->key);

	assert_non_null(known);
	assert_true(str_eq(known->uid, last->uid));
	cached_unref(known);
	a->deletes++;
	a->unknown += unknown;
}

static void informer_fixture_on_synced(struct informer_handler *h)
{
	account_of(h)->synced++;
}

void account_init(struct account *a)
{
	*a = (struct account){ .handler = { .on_add = informer_fixture_on_add,
					    .on_update = informer_fixture_on_update,
					    .on_delete = informer_fixture_on_delete,
					    .on_synced = informer_fixture_on_synced } };
	map_init(&a->objects);
}

void account_release(struct account *a)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&a->objects, &at, &key, &value))
		cached_unref(value);
	map_release(&a->objects);
}

void informer_fixture_init(struct informer_fixture *t, const struct sim_opts *opts)
{
	struct informer_spec spec = { .resource = &api_world_things };

	api_world_init(&t->w, opts, HTTP_PROTOCOL_2);
	t->metrics = metrics_new();
	t->set = informers_new(t->w.client, t->metrics);
	t->informer = informers_get(t->set, &spec);
	account_init(&t->account);
	informer_add_handler(t->informer, &t->account.handler);
}

void informer_fixture_release(struct informer_fixture *t)
{
	informers_free(t->set);
	account_release(&t->account);
	api_world_release(&t->w);
	metrics_free(t->metrics);
}

bool informer_fixture_matches(const struct informer_fixture *t, const struct account *a)
{
	const struct cache *c = informer_cache(t->informer);
	struct omap_cursor at;

	if (!informer_synced(t->informer) || cache_count(c) != t->w.objects.n ||
	    a->objects.n != t->w.objects.n)
		return false;
	for (bool ok = omap_first(&t->w.objects, &at); ok; ok = omap_next(&at)) {
		const struct api_object *o = omap_value(&at);
		const struct cached *copy = cache_get(c, omap_key(&at));

		if (!copy || copy->revision != o->rv || map_get(&a->objects, copy->key) != copy)
			return false;
	}
	return true;
}

static bool informer_fixture_is_same(void *arg)
{
	struct informer_fixture *t = arg;

	return informer_fixture_matches(t, &t->account);
}

void informer_fixture_wait(struct informer_fixture *t)
{
	if (!sim_run_until(t->w.sim, informer_fixture_is_same, t, HANG_MS))
		fail_msg("the copy has %zu objects, the server %zu: %s",
			 cache_count(informer_cache(t->informer)), t->w.objects.n,
			 informer_failure(t->informer)->msg);
}
