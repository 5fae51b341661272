/*
 * A server on a store that others share, or that rejects writes.
 */
#include "server/startup/storage_versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/startup/identity.h"
#include "server/startup/storage_watch.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define RECORDS "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
#define PODS    RECORDS "/core.pods"

struct fixture {
	struct verb_world world;
	bool done;
	struct error err; /* of the last call; ERR_OK: success */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct server *s = &f->world.server;

	verb_world_init(&f->world, 1, HTTP_PROTOCOL_2, false);
	s->opts.netcd_servers = 1;
	s->identity = identity_new(s);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	verb_world_release(&f->world);
	identity_free(f->world.server.identity);
	free(f);
	return 0;
}

static void on_done(void *arg, const struct error *err)
{
	struct fixture *f = arg;

	assert_false(f->done);
	f->done = true;
	f->err = err ? *err : (struct error){ 0 };
}

static bool is_done(void *arg)
{
	return ((struct fixture *)arg)->done;
}

static enum error_code ensure(struct fixture *f)
{
	f->done = false;
	storage_versions_ensure(&f->world.server, on_done, f);
	assert_true(sim_run_until(f->world.sim, is_done, f, 100 * 1000));
	return f->err.code;
}

static const struct json *status_at(struct fixture *f, const char *path)
{
	return json_getz(verb_world_call(&f->world, "GET", path, NULL, 200), "status");
}

/* Whether the record has an entry of this server. */
static bool names(struct fixture *f, const char *path, struct str server)
{
	return json_find(json_getz(status_at(f, path), "storageVersions"), "apiServerID", server);
}

/* A record as another server wrote it. */
static const char *record(struct fixture *f, const char *name, const char *server)
{
	return arena_printf(
		&f->world.arena,
		"{\"apiVersion\":\"internal.apiserver.k8s.io/"
		"v1alpha1\",\"kind\":\"StorageVersion\","
		"\"metadata\":{\"name\":\"%s\"},\"spec\":{},\"status\":{\"storageVersions\":[{"
		"\"apiServerID\":\"%s\",\"encodingVersion\":\"v0\",\"decodableVersions\":[\"v0\"]}]"
		","
		"\"commonEncodingVersion\":\"v0\",\"conditions\":[{\"type\":\"Mine\",\"status\":"
		"\"True\",\"reason\":\"R\",\"message\":\"m\"}]}}",
		name, server);
}

static void put_record(struct fixture *f, const char *name, const char *server)
{
	(void)fake_data_put(f->world.data, STR("internal.apiserver.k8s.io/storageversions"),
			    STR(""), str_from(name), str_from(record(f, name, server)));
}

static void make_lease(struct fixture *f, const char *name)
{
	verb_world_call(&f->world, "POST",
			"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
			arena_printf(&f->world.arena,
				     "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
				     "\"leaseDurationSeconds\":3600,"
				     "\"renewTime\":\"2100-01-01T00:00:00.000000Z\"}}",
				     name),
			201);
}

static struct str own(struct fixture *f)
{
	return identity_name(f->world.server.identity);
}

static void a_correct_record_is_not_written_again(void **state)
{
	struct fixture *f = *state;
	int64_t revision;

	assert_int_equal(ensure(f), ERR_OK);
	assert_true(names(f, PODS, own(f)));
	assert_string_equal(
		verb_world_text(&f->world, status_at(f, PODS), "/commonEncodingVersion"), "v1");
	revision = fake_data_revision(f->world.data);
	assert_int_equal(ensure(f), ERR_OK);
	assert_int_equal(fake_data_revision(f->world.data), revision);
	verb_world_call(&f->world, "DELETE", PODS, NULL, 200);
	assert_int_equal(ensure(f), ERR_OK);
	assert_true(names(f, PODS, own(f)));
}

static void a_store_that_refuses_is_told(void **state)
{
	struct fixture *f = *state;

	fake_store_fail(f->world.server.store, 1000, ERR_IO);
	assert_int_equal(ensure(f), ERR_IO);
	fake_store_fail(f->world.server.store, 0, ERR_IO);
	assert_int_equal(ensure(f), ERR_OK);
}

static void entries_of_others_stay_while_they_are_there(void **state)
{
	struct fixture *f = *state;
	const struct json *conditions;

	make_lease(f, "b");
	put_record(f, "core.pods", "b");
	put_record(f, "core.nodes", "gone");
	assert_int_equal(ensure(f), ERR_OK);
	assert_true(names(f, PODS, own(f)));
	assert_true(names(f, PODS, STR("b")));
	assert_null(json_getz(status_at(f, PODS), "commonEncodingVersion"));
	conditions = json_getz(status_at(f, PODS), "conditions");
	assert_int_equal(json_count(conditions), 2);
	assert_string_equal(verb_world_text(&f->world, conditions, "/0/type"), "Mine");
	assert_string_equal(verb_world_text(&f->world, conditions, "/1/status"), "False");
	assert_false(names(f, RECORDS "/core.nodes", STR("gone")));
	assert_true(names(f, RECORDS "/core.nodes", own(f)));
}

static void records_of_other_kinds_lose_who_is_gone(void **state)
{
	struct fixture *f = *state;

	make_lease(f, "b");
	put_record(f, "example.com.theirs", "b");
	put_record(f, "example.com.nobodys", "gone");
	put_record(f, "example.com.ours", own(f).p);
	verb_world_call(&f->world, "POST", RECORDS, "{\"metadata\":{\"name\":\"a.empty\"}}", 201);
	assert_int_equal(ensure(f), ERR_OK);
	assert_true(names(f, RECORDS "/example.com.theirs", STR("b")));
	verb_world_call(&f->world, "GET", RECORDS "/example.com.nobodys", NULL, 404);
	verb_world_call(&f->world, "GET", RECORDS "/example.com.ours", NULL, 404);
	verb_world_call(&f->world, "GET", RECORDS "/a.empty", NULL, 200);
}

static void a_server_that_lost_a_race_reads_again(void **state)
{
	struct fixture *f = *state;

	make_lease(f, "b");
	f->done = false;
	fake_store_hold(f->world.server.store, true);
	storage_versions_ensure(&f->world.server, on_done, f);
	put_record(f, "core.pods", "b");
	fake_store_hold(f->world.server.store, false);
	assert_true(sim_run_until(f->world.sim, is_done, f, 100 * 1000));
	assert_int_equal(f->err.code, ERR_OK);
	assert_true(names(f, PODS, own(f)));
	assert_true(names(f, PODS, STR("b")));
}

static void a_server_that_keeps_losing_the_race_reports_it(void **state)
{
	struct fixture *f = *state;

	fake_store_fail(f->world.server.store, 1000 * 1000, ERR_CONFLICT);
	assert_int_equal(ensure(f), ERR_CONFLICT);
	fake_store_fail(f->world.server.store, 0, ERR_CONFLICT);
}

static bool is_gone(void *arg)
{
	struct fixture *f = arg;
	struct resource *r = state_resource(f->world.server.state,
					    schema_find_resource(STR("internal.apiserver.k8s.io"),
								 STR("v1alpha1"),
								 STR("storageversions")));

	return !resource_get(r, STR(""), STR("example.com.foos"));
}

static bool is_there(void *arg)
{
	return !is_gone(arg);
}

/* Nobody waits ten minutes for it, and many changes are one run. */
static void a_record_of_nobody_goes_soon_after_it_was_written(void **state)
{
	struct fixture *f = *state;
	struct storage_watch *w = storage_watch_new(&f->world.server);
	struct state_observer observer = storage_watch_observer(w);
	struct resource *r = state_resource(f->world.server.state,
					    schema_find_resource(STR("internal.apiserver.k8s.io"),
								 STR("v1alpha1"),
								 STR("storageversions")));

	put_record(f, "example.com.foos", "nobody");
	assert_true(sim_run_until(f->world.sim, is_there, f, 1000));
	for (int i = 0; i < 3; i++)
		observer.changed(observer.arg, resource_get(r, STR(""), STR("example.com.foos")),
				 NULL);
	assert_true(sim_run_until(f->world.sim, is_gone, f, 3 * STORAGE_WATCH_MS));
	storage_watch_stop(w);
	storage_watch_free(w);
}

/* Otherwise two servers that take each other for gone would never come to rest. */
static void tidying_adds_no_entry(void **state)
{
	struct fixture *f = *state;
	int64_t revision = 0;

	make_lease(f, "b");
	put_record(f, "core.pods", "b");
	put_record(f, "core.nodes", "gone");
	put_record(f, "core.secrets", own(f).p);
	assert_true(names(f, RECORDS "/core.secrets", own(f))); /* the state has seen them */
	for (int i = 0; i < 2; i++) {
		f->done = false;
		storage_versions_tidy(&f->world.server, on_done, f);
		assert_true(sim_run_until(f->world.sim, is_done, f, 100 * 1000));
		assert_int_equal(f->err.code, ERR_OK);
		if (i == 0)
			revision = fake_data_revision(f->world.data);
	}
	assert_int_equal(fake_data_revision(f->world.data), revision);
	assert_true(names(f, PODS, STR("b")));
	assert_false(names(f, PODS, own(f)));
	assert_true(names(f, RECORDS "/core.secrets", own(f)));
	verb_world_call(&f->world, "GET", RECORDS "/core.nodes", NULL, 404);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_correct_record_is_not_written_again),
		TEST(a_store_that_refuses_is_told),
		TEST(entries_of_others_stay_while_they_are_there),
		TEST(records_of_other_kinds_lose_who_is_gone),
		TEST(a_server_that_lost_a_race_reads_again),
		TEST(a_server_that_keeps_losing_the_race_reports_it),
		TEST(a_record_of_nobody_goes_soon_after_it_was_written),
		TEST(tidying_adds_no_entry),
	};

	return cmocka_run_group_tests_name("server/storage_versions", tests, NULL, NULL);
}
