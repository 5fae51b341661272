/*
 * Informers against a server that behaves, misbehaves, dies and comes back: one scenario at a
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "client/informer/informer_fixture.h"

static struct informer_stats stats_of(const struct informer_fixture *t)
{
	struct informer_stats st;

	informer_stats(t->informer, &st);
	return st;
}

static void put_many(struct informer_fixture *t, unsigned n)
{
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "thing-%05u", i);
		(void)api_world_put(&t->w, name);
	}
}

/* --- normal operation ---------------------------------------------------------------------- */

static void the_first_state_comes_by_watch_list(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 1 });
	put_many(&t, 20);
	assert_false(informers_synced(t.set));
	informers_start(t.set);
	informer_fixture_wait(&t);
	assert_int_equal(t.account.adds, 20);
	assert_int_equal(t.account.initial, 20);
	assert_int_equal(t.account.synced, 1);
	assert_true(informers_synced(t.set));
	assert_int_equal(t.w.lists, 0);
	assert_int_equal(t.w.streams, 1);
	assert_int_equal(stats_of(&t).watches, 1);
	assert_true(str_eq(informer_resource_version(t.informer), STR("120")));
	informer_fixture_release(&t);
}

static void changes_are_told_one_by_one(void **state UNUSED)
{
	struct informer_fixture t;
	const struct cached *o;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 2 });
	informers_start(t.set);
	informer_fixture_wait(&t);
	(void)api_world_put(&t.w, "a");
	(void)api_world_put(&t.w, "b");
	(void)api_world_put(&t.w, "a");
	api_world_delete(&t.w, "b");
	informer_fixture_wait(&t);
	assert_int_equal(t.account.adds, 2);
	assert_int_equal(t.account.initial, 0);
	assert_int_equal(t.account.updates, 1);
	assert_int_equal(t.account.deletes, 1);
	assert_int_equal(t.account.unknown, 0);
	o = cache_get(informer_cache(t.informer), STR("a"));
	assert_true(str_eq(cached_field(o, "kind", NULL), STR("Thing")));
	assert_true(str_eq(informer_resource_version(t.informer), STR("104")));
	informer_fixture_release(&t);
}

static void requests_for_the_same_objects_share_an_informer(void **state UNUSED)
{
	struct informer_spec spec = { .resource = &api_world_things };
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 3 });
	assert_ptr_equal(informers_get(t.set, &spec), t.informer);
	spec.label_selector = STR("odd=yes");
	assert_ptr_not_equal(informers_get(t.set, &spec), t.informer);
	assert_ptr_equal(informers_get(t.set, &spec), informers_get(t.set, &spec));
	informers_drop(t.set, informers_get(t.set, &spec));
	informer_fixture_release(&t);
}

static void a_copy_of_whole_objects_serves_metadata_too(void **state UNUSED)
{
	struct informer_spec spec = { .resource = &api_world_things, .metadata_only = true };
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 3 });
	assert_ptr_equal(informers_get(t.set, &spec), t.informer);
	spec.slim = true;
	assert_ptr_equal(informers_get(t.set, &spec), t.informer);
	informers_drop(t.set, t.informer); /* has a handler: stays */
	assert_ptr_equal(informers_get(t.set, &spec), t.informer);
	spec.label_selector = STR("odd=yes"); /* other objects */
	assert_ptr_not_equal(informers_get(t.set, &spec), t.informer);
	informer_fixture_release(&t);
}

static void selectors_are_sent_escaped(void **state UNUSED)
{
	struct informer_spec spec = { .resource = &api_world_things,
				      .label_selector = STR("a in (x,y)"),
				      .field_selector = STR("metadata.name=z") };
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 4 });
	(void)informers_get(t.set, &spec);
	informer_remove_handler(&t.account.handler);
	informers_drop(t.set, t.informer);
	t.informer = informers_get(t.set, &spec);
	informers_start(t.set);
	sim_run_for(t.w.sim, 1000);
	assert_non_null(strstr(t.w.last_query, "labelSelector=a%20in%20%28x%2Cy%29&"
					       "fieldSelector=metadata.name%3Dz"));
	assert_non_null(strstr(t.w.last_query, "sendInitialEvents=true"));
	assert_non_null(strstr(t.w.last_query, "resourceVersionMatch=NotOlderThan"));
	assert_non_null(strstr(t.w.last_query, "allowWatchBookmarks=true"));
	informer_fixture_release(&t);
}

static void late_handlers_are_told_what_is_there(void **state UNUSED)
{
	struct account late;
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 5 });
	put_many(&t, 10);
	informers_start(t.set);
	informer_fixture_wait(&t);
	account_init(&late);
	informer_add_handler(t.informer, &late.handler);
	assert_int_equal(late.adds, 0); /* never from within the call */
	(void)api_world_put(&t.w, "one-more");
	informer_fixture_wait(&t);
	assert_true(informer_fixture_matches(&t, &late));
	assert_int_equal(late.adds, 11);
	assert_int_equal(late.synced, 1);
	informer_remove_handler(&late.handler);
	informer_remove_handler(&late.handler);
	(void)api_world_put(&t.w, "unheard");
	informer_fixture_wait(&t);
	assert_int_equal(late.adds, 11);
	account_release(&late);
	informer_fixture_release(&t);
}

static void resync_tells_all_again(void **state UNUSED)
{
	struct account again;
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 6 });
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
	informer_fixture_release(&t);
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
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 7 });
	self.victim = &self.handler;
	informer_add_handler(t.informer, &self.handler);
	informer_add_handler(t.informer, &other.handler);
	informers_start(t.set);
	put_many(&t, 5);
	informer_fixture_wait(&t);
	assert_int_equal(self.adds, 1);
	assert_int_equal(other.adds, 5);
	other.victim = &t.account.handler;
	(void)api_world_put(&t.w, "x");
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(t.account.adds, 6); /* it was called before the meddler */
	(void)api_world_put(&t.w, "y");
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(t.account.adds, 6);
	assert_int_equal(other.adds, 7);
	informer_fixture_release(&t);
}

static void a_handler_may_stop_the_set(void **state UNUSED)
{
	struct meddler m = { .handler.on_add = meddle };
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 8 });
	m.stop = t.set;
	informer_add_handler(t.informer, &m.handler);
	put_many(&t, 5);
	informers_start(t.set);
	sim_run_for(t.w.sim, 10 * 1000);
	/* The state that was being delivered is delivered completely. */
	assert_int_equal(t.account.adds, 5);
	(void)api_world_put(&t.w, "x");
	sim_run_for(t.w.sim, 60 * 1000);
	assert_int_equal(t.account.adds, 5);
	m.stop = NULL;
	informers_start(t.set);
	informer_fixture_wait(&t);
	assert_int_equal(stats_of(&t).relists, 0); /* it was resumed */
	informer_fixture_release(&t);
}

/* --- older servers ---------------------------------------------------------------------- */

static void without_watch_list_it_lists_in_pages(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 10 });
	t.w.no_watch_list = true;
	put_many(&t, 1234);
	informers_start(t.set);
	informer_fixture_wait(&t);
	assert_int_equal(t.w.lists, 3);
	assert_int_equal(stats_of(&t).lists, 1);
	assert_int_equal(t.account.initial, 1234);
	(void)api_world_put(&t.w, "later");
	informer_fixture_wait(&t);
	assert_int_equal(t.w.lists, 3);
	informer_fixture_release(&t);
}

static void a_watch_list_that_fails_inside_is_replaced_by_a_list(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 10 });
	t.w.broken_watch_list = true;
	put_many(&t, 3);
	informers_start(t.set);
	informer_fixture_wait(&t);
	assert_int_equal(t.w.lists, 1);
	assert_int_equal(t.account.initial, 3);
	(void)api_world_put(&t.w, "later");
	informer_fixture_wait(&t);
	assert_int_equal(t.w.lists, 1);
	informer_fixture_release(&t);
}

static void listed_objects_get_their_kind(void **state UNUSED)
{
	const struct cached *o;
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 11 });
	t.w.no_watch_list = true;
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	informer_fixture_wait(&t);
	o = cache_get(informer_cache(t.informer), STR("a"));
	assert_true(str_eq(cached_field(o, "kind", NULL), STR("Thing")));
	assert_true(str_eq(cached_field(o, "apiVersion", NULL), STR("v1")));
	informer_fixture_release(&t);
}

static void pages_that_expire_are_asked_for_again_as_a_whole(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 12 });
	t.w.no_watch_list = true;
	t.w.page_max = 10;
	put_many(&t, 30);
	informers_start(t.set);
	while (t.w.lists < 2)
		assert_true(sim_step(t.w.sim));
	(void)api_world_put(&t.w, "a-late-one");
	api_world_compact(&t.w);
	t.w.page_max = 0;
	informer_fixture_wait(&t);
	assert_null(strstr(t.w.last_query, "limit="));
	informer_fixture_release(&t);
}

/* --- ends of watches -------------------------------------------------------------------- */

static void a_watch_that_ends_is_resumed(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 20 });
	put_many(&t, 3);
	informers_start(t.set);
	informer_fixture_wait(&t);
	for (int i = 0; i < 5; i++) {
		sim_run_for(t.w.sim, 5000);
		api_world_end_watches(&t.w, NULL, 0);
		(void)api_world_put(&t.w, "in-between");
		informer_fixture_wait(&t);
	}
	assert_int_equal(t.w.streams, 1);
	assert_int_equal(stats_of(&t).relists, 0);
	assert_int_equal(stats_of(&t).watches, 6);
	informer_fixture_release(&t);
}

static void bookmarks_spare_a_new_list(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 21 });
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	informer_fixture_wait(&t);
	t.w.rv += 50; /* changes of other resources */
	api_world_bookmark(&t.w);
	sim_run_for(t.w.sim, 2000);
	assert_true(str_eq(informer_resource_version(t.informer), STR("151")));
	api_world_compact(&t.w);
	api_world_end_watches(&t.w, NULL, 0);
	(void)api_world_put(&t.w, "b");
	informer_fixture_wait(&t);
	assert_int_equal(stats_of(&t).relists, 0);
	informer_fixture_release(&t);
}

static void a_version_that_is_gone_makes_exact_differences(void **state UNUSED)
{
	for (int how = 0; how < 2; how++) {
		struct informer_fixture t;

		informer_fixture_init(&t, &(struct sim_opts){ .seed = 22 });
		t.w.no_watch_list = how;
		put_many(&t, 6);
		informers_start(t.set);
		informer_fixture_wait(&t);
		sim_cut(t.w.sim, "server", "outside");
		api_world_delete(&t.w, "thing-00001");
		(void)api_world_put(&t.w, "thing-00002");
		(void)api_world_put(&t.w, "new");
		api_world_replace(&t.w, "thing-00003");
		api_world_compact(&t.w);
		(void)sim_break_conns(t.w.sim, 1);
		sim_heal(t.w.sim, "server", "outside");
		informer_fixture_wait(&t);
		assert_int_equal(stats_of(&t).relists, 1);
		assert_int_equal(t.account.adds, 7);
		assert_int_equal(t.account.updates, 2);
		assert_int_equal(t.account.deletes, 1);
		assert_int_equal(t.account.unknown, 1);
		informer_fixture_release(&t);
	}
}

static void an_error_event_of_expiry_makes_a_new_list(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 23 });
	put_many(&t, 3);
	informers_start(t.set);
	informer_fixture_wait(&t);
	api_world_end_watches(&t.w, "Expired", 410);
	sim_run_for(t.w.sim, 5000);
	assert_int_equal(stats_of(&t).relists, 1);
	assert_int_equal(t.account.updates, 0); /* nothing differs */
	assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
	api_world_end_watches(&t.w, "InternalError", 500);
	(void)api_world_put(&t.w, "x");
	informer_fixture_wait(&t);
	assert_int_equal(stats_of(&t).relists, 1);
	informer_fixture_release(&t);
}

static void repetitions_are_ignored(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 24 });
	t.w.repeats = true;
	informers_start(t.set);
	informer_fixture_wait(&t);
	put_many(&t, 50);
	put_many(&t, 50);
	informer_fixture_wait(&t);
	assert_int_equal(t.account.adds, 50);
	assert_int_equal(t.account.updates, 50);
	assert_true(stats_of(&t).events > 100);
	informer_fixture_release(&t);
}

static void nonsense_ends_the_watch_not_the_copy(void **state UNUSED)
{
	static const char *const nonsense[] = { "}{\n", "{\"type\":\"ADDED\"}\n",
						"{\"type\":\"ADDED\",\"object\":{}}\n",
						"{\"type\":\"BOOKMARK\",\"object\":{}}\n" };

	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		struct informer_fixture t;

		informer_fixture_init(&t, &(struct sim_opts){ .seed = 25 });
		put_many(&t, 2);
		informers_start(t.set);
		informer_fixture_wait(&t);
		api_world_send_raw(&t.w, "{\"type\":\"NEW\",\"object\":{}}\n\n");
		api_world_send_raw(&t.w, nonsense[i]);
		sim_run_for(t.w.sim, 100);
		assert_int_equal(informer_failure(t.informer)->code, ERR_PROTOCOL);
		(void)api_world_put(&t.w, "x");
		informer_fixture_wait(&t);
		assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
		informer_fixture_release(&t);
	}
}

static void a_server_whose_versions_went_back_is_believed(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 26 });
	put_many(&t, 5);
	informers_start(t.set);
	informer_fixture_wait(&t);
	api_world_crash(&t.w);
	t.w.rv = 50; /* restored from a backup: the objects have older versions */
	put_many(&t, 5);
	api_world_delete(&t.w, "thing-00004");
	api_world_compact(&t.w);
	api_world_begin(&t.w);
	informer_fixture_wait(&t);
	assert_int_equal(t.account.updates, 4);
	assert_int_equal(t.account.unknown, 1);
	(void)api_world_put(&t.w, "thing-00002");
	informer_fixture_wait(&t);
	informer_fixture_release(&t);
}

static void failures_back_off_and_recover(void **state UNUSED)
{
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 27 });
	api_world_crash(&t.w);
	(void)api_world_put(&t.w, "a");
	informers_start(t.set);
	sim_run_for(t.w.sim, 120 * 1000);
	assert_int_equal(informer_failure(t.informer)->code, ERR_UNAVAILABLE);
	/* 0.4 to 0.8 s, doubled each time, up to 30 s: about ten in two minutes. */
	assert_in_range(stats_of(&t).watches, 6, 14);
	api_world_begin(&t.w);
	informer_fixture_wait(&t);
	assert_int_equal(informer_failure(t.informer)->code, ERR_OK);
	informer_fixture_release(&t);
}

static void a_silent_connection_is_noticed(void **state UNUSED)
{
	struct informer_fixture t;
	int64_t before;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 28 });
	put_many(&t, 2);
	informers_start(t.set);
	informer_fixture_wait(&t);
	sim_cut(t.w.sim, "server", "outside");
	before = sim_elapsed_ms(t.w.sim);
	while (informer_failure(t.informer)->code == ERR_OK)
		assert_true(sim_step(t.w.sim));
	assert_in_range(sim_elapsed_ms(t.w.sim) - before, 30 * 1000, 90 * 1000);
	sim_heal(t.w.sim, "server", "outside");
	(void)api_world_put(&t.w, "x");
	informer_fixture_wait(&t);
	informer_fixture_release(&t);
}

static void metrics_tell_how_it_goes(void **state UNUSED)
{
	struct buf b = BUF_INIT(MIB);
	struct informer_fixture t;

	informer_fixture_init(&t, &(struct sim_opts){ .seed = 29 });
	put_many(&t, 2);
	informers_start(t.set);
	informer_fixture_wait(&t);
	assert_int_equal(metrics_print(t.metrics, &b), 0);
	assert_non_null(strstr(b.p, "reflector_watches_total{name=\"things\"} 1\n"));
	assert_non_null(strstr(b.p, "reflector_watch_events_total{name=\"things\"} 3\n"));
	assert_non_null(strstr(b.p, "reflector_last_resource_version{name=\"things\"} 102\n"));
	assert_non_null(strstr(b.p, "informer_objects{name=\"things\"} 2\n"));
	buf_release(&b);
	informer_fixture_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_state_comes_by_watch_list),
		cmocka_unit_test(changes_are_told_one_by_one),
		cmocka_unit_test(requests_for_the_same_objects_share_an_informer),
		cmocka_unit_test(a_copy_of_whole_objects_serves_metadata_too),
		cmocka_unit_test(selectors_are_sent_escaped),
		cmocka_unit_test(late_handlers_are_told_what_is_there),
		cmocka_unit_test(resync_tells_all_again),
		cmocka_unit_test(handlers_may_remove_themselves_and_others),
		cmocka_unit_test(a_handler_may_stop_the_set),
		cmocka_unit_test(without_watch_list_it_lists_in_pages),
		cmocka_unit_test(a_watch_list_that_fails_inside_is_replaced_by_a_list),
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
	};

	return cmocka_run_group_tests_name("client/informer", tests, NULL, NULL);
}
