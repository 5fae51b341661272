/*
 * Devices at the server: one holder at a time, whatever comes at once, whichever writes fail and
 * whichever server is first.
 */
#include "server/plugins/devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "net/sim/sim.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
#define MERGE  "application/merge-patch+json"
#define GPU                                                                 \
	"\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\"," \
	"\"device\":\"gpu-0\""
#define SHARE "123e4567-e89b-12d3-a456-42661417400"

enum { RACERS = 16 };

static const char plain[] = "{" GPU "}";
static const char admin[] = "{" GPU ",\"adminAccess\":true}";
static const char share0[] = "{" GPU ",\"shareID\":\"" SHARE "0\"}";
static const char share1[] = "{" GPU ",\"shareID\":\"" SHARE "1\"}";
static const char shares[] = "{" GPU ",\"shareID\":\"" SHARE "2\"},{" GPU ",\"shareID\":\"" SHARE
			     "3\"}";
static const char freed[] = "{\"status\":{\"allocation\":null}}";

/* A server whose store other servers write to as well. */
static int set_up_shared(void **state)
{
	struct verb_world *w = XNEW(struct verb_world);

	verb_world_init(w, 7, HTTP_PROTOCOL_2, false);
	*state = w;
	return 0;
}

static void make(struct verb_world *w, const char *name)
{
	(void)verb_world_call(w, "POST", CLAIMS,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"devices\":{"
					   "\"requests\":[{\"name\":\"r\",\"exactly\":{"
					   "\"deviceClassName\":\"gpu\"}}]}}}",
					   name),
			      201);
}

static const char *status_of(struct verb_world *w, const char *name)
{
	return arena_printf(&w->arena, CLAIMS "/%s/status", name);
}

static const char *allocation(struct verb_world *w, const char *results)
{
	return arena_printf(&w->arena,
			    "{\"status\":{\"allocation\":{\"devices\":{\"results\":[%s]}}}}",
			    results);
}

static struct json *allocate(struct verb_world *w, const char *name, const char *results,
			     int status)
{
	return verb_world_patch(w, status_of(w, name), MERGE, allocation(w, results), status);
}

static void begin(struct verb_world *w, struct verb_ask *ask, const char *name, const char *body)
{
	*ask = (struct verb_ask){
		.method = "PATCH", .target = status_of(w, name), .content_type = MERGE, .body = body
	};
	verb_world_begin(w, ask);
	sim_run_for(w->sim, 50);
}

static int end(struct verb_world *w, struct verb_ask *ask)
{
	verb_world_finish(w, ask);
	verb_ask_release(ask);
	return ask->status;
}

static void a_second_claim_is_refused_with_the_holder(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	got = allocate(w, "b", plain, 409);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Conflict");
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Operation cannot be fulfilled on resourceclaims.resource.k8s.io \"b\": "
		"device gpu.example.com/n1/gpu-0 is held by claim default/a");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"), "DeviceHeld");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"), "default/a");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"),
			    "status.allocation.devices.results[0]");
	got = verb_world_call(w, "GET", CLAIMS "/b", NULL, 200);
	assert_null(json_pointer(got, STR("/status/allocation")));
}

static void every_kind_of_write_is_checked(void **state)
{
	struct verb_world *w = *state;
	struct json *claim;
	struct buf b = BUF_INIT(65536);

	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	(void)verb_world_patch(w, status_of(w, "b"), "application/strategic-merge-patch+json",
			       allocation(w, plain), 409);
	(void)verb_world_patch(w, status_of(w, "b"), "application/json-patch+json",
			       "[{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"allocation\":{"
			       "\"devices\":{\"results\":[{" GPU "}]}}}}]",
			       409);
	(void)verb_world_patch(
		w, arena_printf(&w->arena, "%s?fieldManager=m", status_of(w, "b")),
		"application/apply-patch+yaml",
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
		"\"name\":\"b\"},\"status\":{\"allocation\":{\"devices\":{\"results\":[{" GPU
		"}]}}}}",
		409);
	claim = verb_world_call(w, "GET", CLAIMS "/a", NULL, 200);
	json_put_str(&w->arena, json_getz(claim, "metadata"), "name", STR("b"));
	(void)json_remove(json_getz(claim, "metadata"), STR("uid"));
	(void)json_remove(json_getz(claim, "metadata"), STR("resourceVersion"));
	assert_int_equal(json_print(&b, claim, NULL), 0);
	(void)verb_world_call(w, "PUT", status_of(w, "b"), b.p, 409);
	/* These do not change the status. */
	(void)verb_world_call(w, "PUT", CLAIMS "/b", b.p, 200);
	(void)verb_world_call(w, "DELETE", CLAIMS "/b", NULL, 200);
	(void)verb_world_call(w, "POST", CLAIMS, b.p, 201);
	claim = verb_world_call(w, "GET", CLAIMS "/b", NULL, 200);
	assert_null(json_pointer(claim, STR("/status/allocation")));
	buf_release(&b);
}

static void a_holder_may_write_its_status_as_before(void **state)
{
	struct verb_world *w = *state;

	make(w, "a");
	(void)allocate(w, "a", plain, 200);
	(void)allocate(w, "a", plain, 200);
	(void)verb_world_patch(
		w, status_of(w, "a"), MERGE,
		"{\"status\":{\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\","
		"\"uid\":\"u\"}]}}",
		200);
	(void)verb_world_patch(w, status_of(w, "a"), MERGE,
			       "{\"status\":{\"devices\":[{\"driver\":\"gpu.example.com\",\"pool\":"
			       "\"n1\",\"device\":\"gpu-0\"}]}}",
			       200);
	(void)verb_world_patch(w, CLAIMS "/a", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
			       200);
}

static void a_freed_device_may_be_taken(void **state)
{
	struct verb_world *w = *state;

	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	(void)verb_world_patch(w, status_of(w, "a"), MERGE, freed, 200);
	(void)allocate(w, "b", plain, 200);
	(void)allocate(w, "a", plain, 409);
	(void)verb_world_call(w, "DELETE", CLAIMS "/b", NULL, 200);
	(void)allocate(w, "a", plain, 200);
}

static void a_claim_that_is_being_deleted_holds_its_devices(void **state)
{
	struct verb_world *w = *state;

	make(w, "a");
	make(w, "b");
	(void)verb_world_patch(w, CLAIMS "/a", MERGE,
			       "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}", 200);
	(void)allocate(w, "a", plain, 200);
	(void)verb_world_call(w, "DELETE", CLAIMS "/a", NULL, 200);
	(void)allocate(w, "b", plain, 409);
	(void)verb_world_patch(w, CLAIMS "/a", MERGE, "{\"metadata\":{\"finalizers\":null}}", 200);
	(void)allocate(w, "b", plain, 200);
}

static void shares_and_admin_access_are_told_apart(void **state)
{
	struct verb_world *w = *state;
	static const char *const names[] = { "a", "b", "c", "d", "e" };

	(void)verb_world_patch(
		w, "/api/v1/namespaces/default", MERGE,
		"{\"metadata\":{\"labels\":{\"resource.kubernetes.io/admin-access\":\"true\"}}}",
		200);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		make(w, names[i]);
	(void)allocate(w, "a", share0, 200);
	(void)allocate(w, "b", share1, 200);
	(void)allocate(w, "c", shares, 200);
	(void)allocate(w, "d", admin, 200);
	(void)allocate(w, "e", plain, 409);
	for (size_t i = 0; i < 3; i++)
		(void)verb_world_patch(w, status_of(w, names[i]), MERGE, freed, 200);
	(void)allocate(w, "e", plain, 200);
	(void)allocate(w, "a", share0, 409);
	(void)verb_world_patch(w, status_of(w, "d"), MERGE, freed, 200);
	(void)allocate(w, "d", admin, 200);
}

static void of_many_at_once_one_wins(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[RACERS];
	int won = 0;

	for (size_t i = 0; i < RACERS; i++)
		make(w, arena_printf(&w->arena, "c%zu", i));
	for (int round = 0; round < 3; round++) {
		fake_store_hold(w->server.store, true);
		for (size_t i = 0; i < RACERS; i++)
			begin(w, &asks[i], arena_printf(&w->arena, "c%zu", i),
			      allocation(w, plain));
		fake_store_hold(w->server.store, false);
		won = 0;
		for (size_t i = 0; i < RACERS; i++) {
			int status = end(w, &asks[i]);

			assert_true(status == 200 || status == 409);
			won += status == 200;
		}
		assert_int_equal(won, 1);
		for (size_t i = 0; i < RACERS; i++)
			(void)verb_world_patch(w, status_of(w, arena_printf(&w->arena, "c%zu", i)),
					       MERGE, freed, 200);
	}
}

static void an_allocation_that_fails_leaves_the_device_to_the_next(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask first, second;

	make(w, "a");
	make(w, "b");
	fake_store_hold(w->server.store, true);
	begin(w, &first, "a", allocation(w, plain));
	begin(w, &second, "b", allocation(w, plain));
	assert_false(second.over);
	fake_store_fail(w->server.store, 1, ERR_UNAVAILABLE);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &first), 503);
	assert_int_equal(end(w, &second), 200);
}

static void a_release_frees_nothing_before_it_is_committed(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask release, taking;

	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	fake_store_hold(w->server.store, true);
	begin(w, &release, "a", freed);
	begin(w, &taking, "b", allocation(w, plain));
	fake_store_fail(w->server.store, 1, ERR_UNAVAILABLE);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &release), 503);
	assert_int_equal(end(w, &taking), 409);
	(void)allocate(w, "b", plain, 409);
	(void)verb_world_patch(w, status_of(w, "a"), MERGE, freed, 200);
	(void)allocate(w, "b", plain, 200);
}

/* A claim that releases its device and takes it again, all of it pending. */
static void a_claim_may_take_back_its_own_device(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask release, again, other;

	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	fake_store_hold(w->server.store, true);
	begin(w, &release, "a", freed);
	begin(w, &again, "a", allocation(w, plain));
	begin(w, &other, "b", allocation(w, plain));
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &release), 200);
	assert_int_equal(end(w, &again), 200);
	assert_int_equal(end(w, &other), 409);
}

/* A write by another server. */
static void put_elsewhere(struct verb_world *w, const char *name, const char *results)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
		"\"name\":\"%s\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{},\"status\":{"
		"\"allocation\":{\"devices\":{\"results\":[%s]}}}}",
		name, results);

	(void)fake_data_put_guarded(w->data,
				    &(struct store_key){ STR("resource.k8s.io/resourceclaims"),
							 STR("default"), str_from(name) },
				    str_from(text), STR("gpu.example.com/n1/gpu-0"));
}

static void another_server_that_is_first_wins(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	make(w, "a");
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, plain));
	put_elsewhere(w, "x", plain);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &ask), 409);
	(void)allocate(w, "a", share0, 409);
	(void)verb_world_call(w, "DELETE", CLAIMS "/x", NULL, 200);
	(void)allocate(w, "a", plain, 200);
}

static void another_server_that_took_a_share_leaves_others(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	make(w, "a");
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, shares));
	put_elsewhere(w, "x", share0);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &ask), 200);
}

static void without_the_gate_all_is_as_upstream(void **state)
{
	struct verb_world *w = *state;
	struct error err;

	assert_int_equal(gates_set(&w->server.gates, STR("DeviceAllocationFence=false"), &err), 0);
	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	(void)allocate(w, "b", plain, 200);
}

static void without_the_plugin_all_is_as_upstream(void **state)
{
	struct verb_world *w = *state;

	assert_true(admission_switch(&w->admission, STR("DeviceAllocationFence"), false));
	make(w, "a");
	make(w, "b");
	(void)allocate(w, "a", plain, 200);
	(void)allocate(w, "b", plain, 200);
}

#define TEST(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down), \
		cmocka_unit_test_setup_teardown(name, set_up_shared, verb_world_tear_down)
#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_shared, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_claim_is_refused_with_the_holder),
		TEST(every_kind_of_write_is_checked),
		TEST(a_holder_may_write_its_status_as_before),
		TEST(a_freed_device_may_be_taken),
		TEST(a_claim_that_is_being_deleted_holds_its_devices),
		TEST(shares_and_admin_access_are_told_apart),
		TEST(of_many_at_once_one_wins),
		TEST(an_allocation_that_fails_leaves_the_device_to_the_next),
		TEST(a_release_frees_nothing_before_it_is_committed),
		TEST(a_claim_may_take_back_its_own_device),
		SHARED_TEST(another_server_that_is_first_wins),
		SHARED_TEST(another_server_that_took_a_share_leaves_others),
		TEST(without_the_gate_all_is_as_upstream),
		TEST(without_the_plugin_all_is_as_upstream),
	};

	return cmocka_run_group_tests_name("server/admit_devices", tests, NULL, NULL);
}
