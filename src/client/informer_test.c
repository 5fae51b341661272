/*
 * Informers against a server that behaves, misbehaves, dies and comes back. The last test is
 * the one that counts: whatever happened, the copy equals the server's state and what handlers
 * were told adds up to the copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "client/api_world.h"
#include "client/informer.h"

enum { HANG_MS = 600 * 1000 };

/* A handler that keeps its own account and checks every word it is told. */
struct account {
	struct informer_handler handler;
	struct map objects; /* key to struct cached: what it believes */
	unsigned adds, initial, updates, resyncs, deletes, unknown, synced;
};

static struct account *account_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct account, handler);
}

static void on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	struct account *a = account_of(h);

	assert_null(map_put(&a->objects, o->key, cached_ref(o)));
	a->adds++;
	a->initial += initial;
	if (initial)
		assert_int_equal(a->synced, 0);
}

static void on_update(struct informer_handler *h, struct cached *old, struct cached *o)
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

static void on_delete(struct informer_handler *h, struct cached *last, bool unknown)
{
	struct account *a = account_of(h);
	struct cached *known = map_remove(&a->objects, last->key);

	assert_non_null(known);
	assert_true(str_eq(known->uid, last->uid));
	cached_unref(known);
	a->deletes++;
	a->unknown += unknown;
}

static void on_synced(struct informer_handler *h)
{
	account_of(h)->synced++;
}

static void account_init(struct account *a)
{
	*a = (struct account){ .handler = { .on_add = on_add,
					    .on_update = on_update,
					    .on_delete = on_delete,
					    .on_synced = on_synced } };
	map_init(&a->objects);
}

static void account_release(struct account *a)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&a->objects, &at, &key, &value))
		cached_unref(value);
	map_release(&a->objects);
}

struct test {
	struct api_world w;
	struct metrics *metrics;
	struct informers *set;
	struct informer *informer;
	struct account account;
	uint64_t until;
};

static void begin(struct test *t, const struct sim_opts *opts)
{
	struct informer_spec spec = { .resource = &api_world_things };

	api_world_init(&t->w, opts, HTTP_PROTOCOL_2);
	t->metrics = metrics_new();
	t->set = informers_new(t->w.client, t->metrics);
	t->informer = informers_get(t->set, &spec);
	account_init(&t->account);
	informer_add_handler(t->informer, &t->account.handler);
}

static void end(struct test *t)
{
	informers_free(t->set);
	account_release(&t->account);
	api_world_release(&t->w);
	metrics_free(t->metrics);
}

/* The copy, and the handler's account of it, equal the server's objects. */
static bool matches(const struct test *t, const struct account *a)
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

static bool is_same(void *arg)
{
	struct test *t = arg;

	return matches(t, &t->account);
}

static void wait_same(struct test *t)
{
	if (!sim_run_until(t->w.sim, is_same, t, HANG_MS))
		fail_msg("the copy has %zu objects, the server %zu: %s",
			 cache_count(informer_cache(t->informer)), t->w.objects.n,
			 informer_failure(t->informer)->msg);
}

static struct informer_stats stats_of(const struct test *t)
{
	struct informer_stats st;

	informer_stats(t->informer, &st);
	return st;
}

static void put_many(struct test *t, unsigned n)
{
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "thing-%05u", i);
		(void)api_world_put(&t->w, name);
	}
}

/* --- the usual course ---------------------------------------------------------------------- */

static void the_first_state_comes_by_watch_list(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 1 });
	put_many(&t, 20);
	assert_false(informers_synced(t.set));
	informers_start(t.set);
	wait_same(&t);
	assert_int_equal(t.account.adds, 20);
	assert_int_equal(t.account.initial, 20);
	assert_int_equal(t.account.synced, 1);
	assert_true(informers_synced(t.set));
	assert_int_equal(t.w.lists, 0);
	assert_int_equal(t.w.streams, 1);
	assert_int_equal(stats_of(&t).watches, 1);
	assert_true(str_eq(informer_resource_version(t.informer), STR("120")));
	end(&t);
}

static void changes_are_told_one_by_one(void **state UNUSED)
{
	struct test t;
	const struct cached *o;

	begin(&t, &(struct sim_opts){ .seed = 2 });
	informers_start(t.set);
	wait_same(&t);
	(void)api_world_put(&t.w, "a");
	(void)api_world_put(&t.w, "b");
	(void)api_world_put(&t.w, "a");
	api_world_delete(&t.w, "b");
	wait_same(&t);
	assert_int_equal(t.account.adds, 2);
	assert_int_equal(t.account.initial, 0);
	assert_int_equal(t.account.updates, 1);
	assert_int_equal(t.account.deletes, 1);
	assert_int_equal(t.account.unknown, 0);
	o = cache_get(informer_cache(t.informer), STR("a"));
	assert_true(str_eq(cached_field(o, "kind", NULL), STR("Thing")));
	assert_true(str_eq(informer_resource_version(t.informer), STR("104")));
	end(&t);
}

static void what_is_shared_is_the_same_informer(void **state UNUSED)
{
	struct informer_spec spec = { .resource = &api_world_things };
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 3 });
	assert_ptr_equal(informers_get(t.set, &spec), t.informer);
	spec.label_selector = STR("odd=yes");
	assert_ptr_not_equal(informers_get(t.set, &spec), t.informer);
	assert_ptr_equal(informers_get(t.set, &spec), informers_get(t.set, &spec));
	informers_drop(t.set, informers_get(t.set, &spec));
	spec.label_selector = STR_NULL;
	spec.metadata_only = true;
	assert_ptr_not_equal(informers_get(t.set, &spec), t.informer);
	end(&t);
}

static void selectors_are_sent_escaped(void **state UNUSED)
{
	struct informer_spec spec = { .resource = &api_world_things,
				      .label_selector = STR("a in (x,y)"),
				      .field_selector = STR("metadata.name=z") };
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 4 });
	(void)informers_get(t.set, &spec);
	informers_drop(t.set, t.informer);
	t.informer = informers_get(t.set, &spec);
	informers_start(t.set);
	sim_run_for(t.w.sim, 1000);
	assert_non_null(strstr(t.w.last_query, "labelSelector=a%20in%20%28x%2Cy%29&"
					       "fieldSelector=metadata.name%3Dz"));
	assert_non_null(strstr(t.w.last_query, "sendInitialEvents=true"));
	assert_non_null(strstr(t.w.last_query, "resourceVersionMatch=NotOlderThan"));
	assert_non_null(strstr(t.w.last_query, "allowWatchBookmarks=true"));
	end(&t);
}

static void late_handlers_are_told_what_is_there(void **state UNUSED)
{
	struct account late;
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 5 });
	put_many(&t, 10);
	informers_start(t.set);
	wait_same(&t);
	account_init(&late);
	informer_add_handler(t.informer, &late.handler);
	assert_int_equal(late.adds, 0); /* never from within */
	(void)api_world_put(&t.w, "one-more");
	wait_same(&t);
	assert_true(matches(&t, &late));
	assert_int_equal(late.adds, 11);
	assert_int_equal(late.synced, 1);
	informer_remove_handler(&late.handler);
	informer_remove_handler(&late.handler);
	(void)api_world_put(&t.w, "unheard");
	wait_same(&t);
	assert_int_equal(late.adds, 11);
	account_release(&late);
	end(&t);
}

static void resync_tells_all_again(void **state UNUSED)
{
	struct account again;
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 6 });
	put_many(&t, 3);
	account_init(&again);
	again.handler.resync_ms = 60 * 1000;
	informer_add_handler(t.informer, &again.handler);
	informers_start(t.set);
	sim_run_for(t.w.sim, 59 * 1000);
	assert_int_equal(again.resyncs, 0);
	sim_run_for(t.w.sim, 62 * 1000);
	assert_int_equal(again.resyncs, 6);
	assert_int_equal(t.account.resyncs, 0);
	informer_remove_handler(&again.handler);
	account_release(&again);
	end(&t);
}

/* --- handlers that do things --------------------------------------------------------------- */

struct meddler {
	struct informer_handler handler;
	struct informer_handler *victim;
	struct informers *stop;
	unsigned adds;
};

static void meddle(struct informer_handler *h, struct cached *o UNUSED, bool initial UNUSED)
{
	struct meddler *m = CONTAINER_OF(h, struct meddler, handler);

	m->adds++;
	if (m->victim)
		informer_remove_handler(m->victim);
	if (m->stop)
		informers_stop(m->stop);
}

static void handlers_may_remove_themselves_and_others(void **state UNUSED)
{
	struct meddler other = { .handler.on_add = meddle }, self = { .handler.on_add = meddle };
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 7 });
	self.victim = &self.handler;
	informer_add_handler(t.informer, &self.handler);
	informer_add_handler(t.informer, &other.handler);
	informers_start(t.set);
	put_many(&t, 5);
	wait_same(&t);
	assert_int_equal(self.adds, 1);
	assert_int_equal(other.adds, 5);
	other.victim = &t.account.handler;
	(void)api_world_put(&t.w, "x");
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(t.account.adds, 6); /* it came before the meddler */
	(void)api_world_put(&t.w, "y");
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(t.account.adds, 6);
	assert_int_equal(other.adds, 7);
	end(&t);
}

static void a_handler_may_stop_the_set(void **state UNUSED)
{
	struct meddler m = { .handler.on_add = meddle };
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 8 });
	m.stop = t.set;
	informer_add_handler(t.informer, &m.handler);
	put_many(&t, 5);
	informers_start(t.set);
	sim_run_for(t.w.sim, 10 * 1000);
	/* The state that was under way is told whole. */
	assert_int_equal(t.account.adds, 5);
	(void)api_world_put(&t.w, "x");
	sim_run_for(t.w.sim, 60 * 1000);
	assert_int_equal(t.account.adds, 5);
	m.stop = NULL;
	informers_start(t.set);
	wait_same(&t);
	assert_int_equal(stats_of(&t).relists, 0); /* it went on where it was */
	end(&t);
}

/* --- older servers ---------------------------------------------------------------------------- */

static void without_watch_list_it_lists_in_pages(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 10 });
	t.w.no_watch_list = true;
	put_many(&t, 1234);
	informers_start(t.set);
	wait_same(&t);
	assert_int_equal(t.w.lists, 3);
	assert_int_equal(stats_of(&t).lists, 1);
	assert_int_equal(t.account.initial, 1234);
	(void)api_world_put(&t.w, "later");
	wait_same(&t);
	assert_int_equal(t.w.lists, 3);
	end(&t);
}

static void listed_objects_get_their_kind(void **state UNUSED)
{
	const struct cached *o;
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 11 });
	t.w.no_watch_list = true;
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	wait_same(&t);
	o = cache_get(informer_cache(t.informer), STR("a"));
	assert_true(str_eq(cached_field(o, "kind", NULL), STR("Thing")));
	assert_true(str_eq(cached_field(o, "apiVersion", NULL), STR("v1")));
	end(&t);
}

static void pages_that_expire_are_asked_for_again_as_a_whole(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 12 });
	t.w.no_watch_list = true;
	t.w.page_max = 10;
	put_many(&t, 30);
	informers_start(t.set);
	while (t.w.lists < 2)
		assert_true(sim_step(t.w.sim));
	(void)api_world_put(&t.w, "a-late-one");
	api_world_compact(&t.w);
	t.w.page_max = 0;
	wait_same(&t);
	assert_null(strstr(t.w.last_query, "limit="));
	end(&t);
}

/* --- ends of watches ------------------------------------------------------------------------------ */

static void a_watch_that_ends_is_resumed(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 20 });
	put_many(&t, 3);
	informers_start(t.set);
	wait_same(&t);
	for (int i = 0; i < 5; i++) {
		sim_run_for(t.w.sim, 5000);
		api_world_end_watches(&t.w, NULL, 0);
		(void)api_world_put(&t.w, "in-between");
		wait_same(&t);
	}
	assert_int_equal(t.w.streams, 1);
	assert_int_equal(stats_of(&t).relists, 0);
	assert_int_equal(stats_of(&t).watches, 6);
	end(&t);
}

static void bookmarks_spare_a_new_list(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 21 });
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	wait_same(&t);
	t.w.rv += 50; /* changes of other resources */
	api_world_bookmark(&t.w);
	sim_run_for(t.w.sim, 2000);
	assert_true(str_eq(informer_resource_version(t.informer), STR("151")));
	api_world_compact(&t.w);
	api_world_end_watches(&t.w, NULL, 0);
	(void)api_world_put(&t.w, "b");
	wait_same(&t);
	assert_int_equal(stats_of(&t).relists, 0);
	end(&t);
}

static void a_version_that_is_gone_makes_exact_differences(void **state UNUSED)
{
	for (int how = 0; how < 2; how++) {
		struct test t;

		begin(&t, &(struct sim_opts){ .seed = 22 });
		t.w.no_watch_list = how;
		put_many(&t, 6);
		informers_start(t.set);
		wait_same(&t);
		sim_cut(t.w.sim, "server", "outside");
		api_world_delete(&t.w, "thing-00001");
		(void)api_world_put(&t.w, "thing-00002");
		(void)api_world_put(&t.w, "new");
		api_world_replace(&t.w, "thing-00003");
		api_world_compact(&t.w);
		(void)sim_break_conns(t.w.sim, 1);
		sim_heal(t.w.sim, "server", "outside");
		wait_same(&t);
		assert_int_equal(stats_of(&t).relists, 1);
		assert_int_equal(t.account.adds, 7);
		assert_int_equal(t.account.updates, 2);
		assert_int_equal(t.account.deletes, 1);
		assert_int_equal(t.account.unknown, 1);
		end(&t);
	}
}

static void an_error_event_of_expiry_makes_a_new_list(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 23 });
	put_many(&t, 3);
	informers_start(t.set);
	wait_same(&t);
	api_world_end_watches(&t.w, "Expired", 410);
	sim_run_for(t.w.sim, 5000);
	assert_int_equal(stats_of(&t).relists, 1);
	assert_int_equal(t.account.updates, 0); /* nothing differs */
	assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
	api_world_end_watches(&t.w, "InternalError", 500);
	(void)api_world_put(&t.w, "x");
	wait_same(&t);
	assert_int_equal(stats_of(&t).relists, 1);
	end(&t);
}

static void repetitions_are_ignored(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 24 });
	t.w.repeats = true;
	informers_start(t.set);
	wait_same(&t);
	put_many(&t, 50);
	put_many(&t, 50);
	wait_same(&t);
	assert_int_equal(t.account.adds, 50);
	assert_int_equal(t.account.updates, 50);
	assert_true(stats_of(&t).events > 100);
	end(&t);
}

static void nonsense_ends_the_watch_not_the_copy(void **state UNUSED)
{
	static const char *const nonsense[] = { "}{\n", "{\"type\":\"ADDED\"}\n",
						"{\"type\":\"ADDED\",\"object\":{}}\n",
						"{\"type\":\"BOOKMARK\",\"object\":{}}\n" };

	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		struct test t;

		begin(&t, &(struct sim_opts){ .seed = 25 });
		put_many(&t, 2);
		informers_start(t.set);
		wait_same(&t);
		api_world_send_raw(&t.w, "{\"type\":\"NEW\",\"object\":{}}\n\n");
		api_world_send_raw(&t.w, nonsense[i]);
		sim_run_for(t.w.sim, 100);
		assert_int_equal(informer_failure(t.informer)->code, ERR_PROTOCOL);
		(void)api_world_put(&t.w, "x");
		wait_same(&t);
		assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
		end(&t);
	}
}

static void a_server_whose_versions_went_back_is_believed(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 26 });
	put_many(&t, 5);
	informers_start(t.set);
	wait_same(&t);
	api_world_crash(&t.w);
	t.w.rv = 50; /* restored from a backup: what is there has older versions */
	put_many(&t, 5);
	api_world_delete(&t.w, "thing-00004");
	api_world_compact(&t.w);
	api_world_begin(&t.w);
	wait_same(&t);
	assert_int_equal(t.account.updates, 4);
	assert_int_equal(t.account.unknown, 1);
	(void)api_world_put(&t.w, "thing-00002");
	wait_same(&t);
	end(&t);
}

static void failures_back_off_and_recover(void **state UNUSED)
{
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 27 });
	api_world_crash(&t.w);
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	sim_run_for(t.w.sim, 120 * 1000);
	assert_int_equal(informer_failure(t.informer)->code, ERR_UNAVAILABLE);
	/* 0.4 to 0.8 s, doubled each time, up to 30 s: about ten in two minutes. */
	assert_in_range(stats_of(&t).watches, 6, 14);
	api_world_begin(&t.w);
	wait_same(&t);
	assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
	end(&t);
}

static void a_silent_connection_is_noticed(void **state UNUSED)
{
	struct test t;
	int64_t before;

	begin(&t, &(struct sim_opts){ .seed = 28 });
	put_many(&t, 2);
	informers_start(t.set);
	wait_same(&t);
	sim_cut(t.w.sim, "server", "outside");
	before = sim_elapsed_ms(t.w.sim);
	while (informer_failure(t.informer)->code == ERR_OK)
		assert_true(sim_step(t.w.sim));
	assert_in_range(sim_elapsed_ms(t.w.sim) - before, 30 * 1000, 90 * 1000);
	sim_heal(t.w.sim, "server", "outside");
	(void)api_world_put(&t.w, "x");
	wait_same(&t);
	end(&t);
}

static void metrics_tell_how_it_goes(void **state UNUSED)
{
	struct buf b = BUF_INIT(MIB);
	struct test t;

	begin(&t, &(struct sim_opts){ .seed = 29 });
	put_many(&t, 2);
	informers_start(t.set);
	wait_same(&t);
	assert_int_equal(metrics_print(t.metrics, &b), 0);
	assert_non_null(strstr(b.p, "reflector_watches_total{name=\"things\"} 1\n"));
	assert_non_null(strstr(b.p, "reflector_watch_events_total{name=\"things\"} 3\n"));
	assert_non_null(strstr(b.p, "reflector_last_resource_version{name=\"things\"} 102\n"));
	assert_non_null(strstr(b.p, "informer_objects{name=\"things\"} 2\n"));
	buf_release(&b);
	end(&t);
}

/* --- whatever happens -------------------------------------------------------------------------------- */

static void mishap(struct test *t)
{
	static const struct {
		const char *reason;
		int code;
	} errors[] = { { NULL, 0 },
		       { "Expired", 410 },
		       { "InternalError", 500 },
		       { "TooManyRequests", 429 } };
	struct api_world *w = &t->w;
	size_t which = (size_t)prng_below(&w->prng, ARRAY_SIZE(errors));

	switch (prng_below(&w->prng, 9)) {
	case 0:
		(void)sim_break_conns(w->sim, 0.7);
		break;
	case 1:
		if (w->loop)
			api_world_compact(w);
		break;
	case 2:
		api_world_end_watches(w, errors[which].reason, errors[which].code);
		break;
	case 3:
		sim_cut(w->sim, "server", "outside");
		break;
	case 4:
		sim_heal(w->sim, NULL, NULL);
		break;
	case 5:
		if (w->loop)
			api_world_crash(w);
		else
			api_world_begin(w);
		break;
	case 6:
		w->fail_status = prng_below(&w->prng, 2) ? 503 : 429;
		w->fail_retry_after = prng_below(&w->prng, 2) ? 1 : -1;
		w->fail_count = (unsigned)prng_below(&w->prng, 3);
		break;
	case 7:
		w->no_watch_list = prng_below(&w->prng, 2);
		w->page_max = (size_t)prng_below(&w->prng, 4);
		break;
	default:
		if (w->slow_initial)
			w->slow_initial = false, api_world_end_watches(w, NULL, 0);
		else
			w->slow_initial = prng_below(&w->prng, 3) == 0;
		api_world_bookmark(w);
	}
}

static void change(struct test *t)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "o%llu", (unsigned long long)prng_below(&t->w.prng, 12));
	switch (prng_below(&t->w.prng, 5)) {
	case 0:
		api_world_delete(&t->w, name);
		break;
	case 1:
		api_world_replace(&t->w, name);
		break;
	default:
		(void)api_world_put(&t->w, name);
	}
}

static void calm(struct test *t)
{
	struct api_world *w = &t->w;

	sim_heal(w->sim, NULL, NULL);
	if (!w->loop)
		api_world_begin(w);
	w->fail_count = 0;
	if (w->slow_initial) {
		w->slow_initial = false;
		api_world_end_watches(w, NULL, 0);
	}
}

/* Every object is found by its index, and the index has no others. */
static void check_index(const struct test *t)
{
	const struct cache *c = informer_cache(t->informer);
	static const char *const groups[] = { "g0", "g1", "g2" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct cache_walk walk = { 0 };
		struct cached *o;

		while ((o = cache_next_by(c, "group", str_from(groups[i]), &walk))) {
			assert_ptr_equal(cache_get(c, o->key), o);
			assert_true(str_eqz(cached_field(o, "spec.group", NULL), groups[i]));
			n++;
		}
	}
	assert_int_equal(n, cache_count(c));
}

static void run_seed(uint64_t seed)
{
	struct sim_opts opts = { .seed = seed,
				 .pipe_max = seed % 3 ? 0 : 700,
				 .lose = seed % 4 == 1 ? 0.002 : 0,
				 .refuse = seed % 4 == 1 ? 0.1 : 0 };
	static const struct cache_index by_group = { .name = "group", .path = "spec.group" };
	struct account late;
	struct test t;

	begin(&t, &opts);
	t.w.repeats = seed % 2;
	informer_add_index(t.informer, &by_group);
	informers_start(t.set);
	account_init(&late);
	for (unsigned i = 0; i < 60; i++) {
		unsigned n = (unsigned)prng_below(&t.w.prng, 6);

		while (n--)
			change(&t);
		if (prng_below(&t.w.prng, 2))
			mishap(&t);
		sim_run_for(t.w.sim, (int64_t)prng_below(&t.w.prng, i % 10 ? 3000 : 200000));
		if (i == 30)
			informer_add_handler(t.informer, &late.handler);
		if (i == 40)
			informers_stop(t.set);
		if (i == 43)
			informers_start(t.set);
	}
	calm(&t);
	wait_same(&t);
	assert_true(matches(&t, &late));
	check_index(&t);
	informer_remove_handler(&late.handler);
	account_release(&late);
	end(&t);
}

static void after_any_mishaps_the_copy_equals_the_server(void **state UNUSED)
{
	const char *one = getenv("SIM_SEED"), *many = getenv("SIM_SEEDS");
	uint64_t from = one ? strtoull(one, NULL, 10) : 0;
	uint64_t n = one ? 1 : many ? strtoull(many, NULL, 10) : 300;

	for (uint64_t seed = from; seed < from + n; seed++) {
		if (many || one)
			(void)fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		run_seed(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_state_comes_by_watch_list),
		cmocka_unit_test(changes_are_told_one_by_one),
		cmocka_unit_test(what_is_shared_is_the_same_informer),
		cmocka_unit_test(selectors_are_sent_escaped),
		cmocka_unit_test(late_handlers_are_told_what_is_there),
		cmocka_unit_test(resync_tells_all_again),
		cmocka_unit_test(handlers_may_remove_themselves_and_others),
		cmocka_unit_test(a_handler_may_stop_the_set),
		cmocka_unit_test(without_watch_list_it_lists_in_pages),
		cmocka_unit_test(listed_objects_get_their_kind),
		cmocka_unit_test(pages_that_expire_are_asked_for_again_as_a_whole),
		cmocka_unit_test(a_watch_that_ends_is_resumed),
		cmocka_unit_test(bookmarks_spare_a_new_list),
		cmocka_unit_test(a_version_that_is_gone_makes_exact_differences),
		cmocka_unit_test(an_error_event_of_expiry_makes_a_new_list),
		cmocka_unit_test(repetitions_are_ignored),
		cmocka_unit_test(nonsense_ends_the_watch_not_the_copy),
		cmocka_unit_test(a_server_whose_versions_went_back_is_believed),
		cmocka_unit_test(failures_back_off_and_recover),
		cmocka_unit_test(a_silent_connection_is_noticed),
		cmocka_unit_test(metrics_tell_how_it_goes),
		cmocka_unit_test(after_any_mishaps_the_copy_equals_the_server),
	};

	return cmocka_run_group_tests_name("client/informer", tests, NULL, NULL);
}
