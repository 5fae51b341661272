/*
 * Devices at the server: one holder at a time, whatever comes at once, whichever writes fail and
 * whichever server is first.
 */
#include "server/fence/devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
#define GUARD "gpu.example.com/n1/gpu-0"
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
static void put_elsewhere(struct verb_world *w, const char *name, const char *results,
			  const char *guard)
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
				    str_from(text), str_from(guard));
}

static void another_server_that_is_first_wins(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	make(w, "a");
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, plain));
	put_elsewhere(w, "x", plain, GUARD);
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
	put_elsewhere(w, "x", share0, GUARD);
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

/* --- capacity and counters ---------------------------------------------------------- */

#define SLICES "/apis/resource.k8s.io/v1/resourceslices"
#define RESULT(device, rest)                                                            \
	"{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\",\"device\":" \
	"\"" device "\"" rest "}"
#define TAKES(id, memory, cores)                                                                   \
	RESULT("gpu-0", ",\"shareID\":\"" SHARE id "\",\"consumedCapacity\":{\"memory\":\"" memory \
			"\",\"cores\":\"" cores "\"}")

/* Makes a slice of pool n1; `content` is its devices or sharedCounters. */
static void make_slice(struct verb_world *w, const char *name, int generation, const char *content)
{
	(void)verb_world_call(
		w, "POST", SLICES,
		arena_printf(&w->arena,
			     "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"driver\":"
			     "\"gpu.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
			     "\"generation\":%d,\"resourceSliceCount\":1},%s}}",
			     name, generation, content),
		201);
}

/* Makes a slice whose gpu-0 can be shared. */
static void offer_shares(struct verb_world *w, const char *name, int generation, const char *memory,
			 const char *cores)
{
	make_slice(
		w, name, generation,
		arena_printf(&w->arena,
			     "\"devices\":[{\"name\":\"gpu-0\",\"allowMultipleAllocations\":true,"
			     "\"capacity\":{\"memory\":{\"value\":\"%s\"},\"cores\":{\"value\":"
			     "\"%s\"}}},{\"name\":\"plain\"}]",
			     memory, cores));
}

/* Makes slices with partitions part-0 .. of 10Gi each, and counters for some of them. */
static void offer_partitions(struct verb_world *w, int generation, const char *memory)
{
	struct buf b = BUF_INIT(65536);

	make_slice(w, arena_printf(&w->arena, "counters-%d", generation), generation,
		   arena_printf(&w->arena,
				"\"sharedCounters\":[{\"name\":\"card\",\"counters\":{\"memory\":{"
				"\"value\":\"%s\"}}}]",
				memory));
	for (int i = 0; i < RACERS; i++)
		buf_printf(&b,
			   "%s{\"name\":\"part-%d\",\"consumesCounters\":[{\"counterSet\":\"card\","
			   "\"counters\":{\"memory\":{\"value\":\"10Gi\"}}}]}",
			   i ? "," : "", i);
	make_slice(w, arena_printf(&w->arena, "parts-%d", generation), generation,
		   arena_printf(&w->arena, "\"devices\":[%.*s]", STR_ARG(buf_str(&b))));
	buf_release(&b);
}

static void make_all(struct verb_world *w, const char *names)
{
	for (; *names; names++)
		make(w, arena_printf(&w->arena, "%c", *names));
}

static void shares_fit_into_the_capacity_of_their_device(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	offer_shares(w, "s", 1, "40Gi", "10");
	make_all(w, "abc");
	(void)allocate(w, "a", TAKES("0", "30Gi", "1"), 200);
	got = allocate(w, "b", RESULT("plain", "") "," TAKES("1", "11Gi", "1"), 409);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Operation cannot be fulfilled on resourceclaims.resource.k8s.io \"b\": "
		"device gpu.example.com/n1/gpu-0 has 10Gi left of 40Gi of the capacity memory, "
		"and the claim would consume 11Gi");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "DeviceCapacityExceeded");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "memory: 10Gi left of 40Gi");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"),
			    "status.allocation.devices.results[1]");
	got = allocate(w, "b", TAKES("1", "10Gi", "10"), 409);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "cores: 9 left of 10");
	(void)allocate(w, "b", TAKES("1", "10Gi", "9"), 200);
	(void)allocate(w, "c", TAKES("2", "1Gi", "0"), 409);
	(void)allocate(w, "c", TAKES("2", "0", "0"), 200);
}

static void a_freed_share_may_be_taken_at_once(void **state)
{
	struct verb_world *w = *state;

	offer_shares(w, "s", 1, "40Gi", "10");
	make_all(w, "abc");
	(void)allocate(w, "a", TAKES("0", "30Gi", "1"), 200);
	(void)allocate(w, "b", TAKES("1", "30Gi", "1"), 409);
	(void)verb_world_patch(w, status_of(w, "a"), MERGE, freed, 200);
	(void)allocate(w, "b", TAKES("1", "30Gi", "1"), 200);
	(void)allocate(w, "c", TAKES("2", "30Gi", "1"), 409);
	(void)verb_world_call(w, "DELETE", CLAIMS "/b", NULL, 200);
	(void)allocate(w, "c", TAKES("2", "30Gi", "1") "," TAKES("3", "11Gi", "1"), 409);
	(void)allocate(w, "c", TAKES("2", "30Gi", "1") "," TAKES("3", "10Gi", "1"), 200);
}

static void partitions_fit_into_the_counters_of_their_pool(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	offer_partitions(w, 1, "30Gi");
	make_all(w, "abc");
	(void)allocate(w, "a", RESULT("part-0", "") "," RESULT("part-1", ""), 200);
	got = allocate(w, "b", RESULT("part-2", "") "," RESULT("part-3", ""), 409);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Operation cannot be fulfilled on resourceclaims.resource.k8s.io \"b\": "
		"pool gpu.example.com/n1 has 10Gi left of 30Gi of the counter card/memory, "
		"and the claim would consume 20Gi");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "DeviceCountersExceeded");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "card/memory: 10Gi left of 30Gi");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"),
			    "status.allocation.devices.results[0]");
	(void)allocate(w, "b", RESULT("part-2", ""), 200);
	(void)allocate(w, "c", RESULT("part-3", ""), 409);
	(void)verb_world_patch(w, status_of(w, "b"), MERGE, freed, 200);
	(void)allocate(w, "c", RESULT("part-3", ""), 200);
}

static void admin_access_consumes_nothing(void **state)
{
	struct verb_world *w = *state;

	(void)verb_world_patch(
		w, "/api/v1/namespaces/default", MERGE,
		"{\"metadata\":{\"labels\":{\"resource.kubernetes.io/admin-access\":\"true\"}}}",
		200);
	offer_partitions(w, 1, "10Gi");
	make_all(w, "abc");
	(void)allocate(w, "a", RESULT("part-0", ",\"adminAccess\":true"), 200);
	(void)allocate(w, "b", RESULT("part-1", ""), 200);
	(void)allocate(w, "c", RESULT("part-2", ",\"adminAccess\":true"), 200);
}

/* Lets RACERS claims take something at once, and returns how many got it. */
static int race(struct verb_world *w, const char *(*results)(struct verb_world *w, size_t i))
{
	struct verb_ask asks[RACERS];
	int won = 0;

	fake_store_hold(w->server.store, true);
	for (size_t i = 0; i < RACERS; i++)
		begin(w, &asks[i], arena_printf(&w->arena, "c%zu", i),
		      allocation(w, results(w, i)));
	fake_store_hold(w->server.store, false);
	for (size_t i = 0; i < RACERS; i++) {
		int status = end(w, &asks[i]);

		assert_true(status == 200 || status == 409);
		won += status == 200;
	}
	for (size_t i = 0; i < RACERS; i++)
		(void)verb_world_patch(w, status_of(w, arena_printf(&w->arena, "c%zu", i)), MERGE,
				       freed, 200);
	return won;
}

static const char *a_share(struct verb_world *w, size_t i)
{
	return arena_printf(&w->arena,
			    "{" GPU ",\"shareID\":\"123e4567-e89b-12d3-a456-4266141740%02zu\","
			    "\"consumedCapacity\":{\"memory\":\"10Gi\"}}",
			    i);
}

static const char *a_partition(struct verb_world *w, size_t i)
{
	return arena_printf(&w->arena,
			    "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\","
			    "\"device\":\"part-%zu\"}",
			    i);
}

static void of_many_at_once_as_many_win_as_fit(void **state)
{
	struct verb_world *w = *state;

	for (size_t i = 0; i < RACERS; i++)
		make(w, arena_printf(&w->arena, "c%zu", i));
	offer_shares(w, "s", 1, "45Gi", "10");
	for (int round = 0; round < 2; round++)
		assert_int_equal(race(w, a_share), 4);
	(void)verb_world_call(w, "DELETE", SLICES "/s", NULL, 200);
	offer_partitions(w, 1, "55Gi");
	for (int round = 0; round < 2; round++)
		assert_int_equal(race(w, a_partition), 5);
}

static void what_no_slice_offers_is_not_checked(void **state)
{
	struct verb_world *w = *state;

	make_all(w, "abcd");
	(void)allocate(w, "a", TAKES("0", "30Gi", "1"), 200);
	(void)allocate(w, "b", TAKES("1", "30Gi", "1"), 200);
	/* The slice comes later: holders stay and write, and nobody takes more. */
	offer_shares(w, "s", 1, "40Gi", "10");
	(void)verb_world_patch(
		w, status_of(w, "a"), MERGE,
		"{\"status\":{\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\","
		"\"uid\":\"u\"}]}}",
		200);
	(void)allocate(w, "c", TAKES("2", "1Gi", "1"), 409);
	(void)allocate(w, "c", TAKES("2", "0", "1"), 200);
	(void)verb_world_patch(w, status_of(w, "b"), MERGE, freed, 200);
	(void)allocate(w, "d", TAKES("3", "10Gi", "1"), 200);
}

static void the_newest_generation_of_a_pool_counts(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	offer_shares(w, "s1", 1, "40Gi", "10");
	make_all(w, "abcde");
	(void)allocate(w, "a", TAKES("0", "30Gi", "1"), 200);
	offer_shares(w, "s2", 2, "80Gi", "10");
	(void)allocate(w, "b", TAKES("1", "50Gi", "1"), 200);
	/* A newer one without such devices: nothing is known of gpu-0. */
	make_slice(w, "s3", 3, "\"devices\":[{\"name\":\"plain\"}]");
	(void)allocate(w, "c", TAKES("2", "50Gi", "1"), 200);
	(void)verb_world_call(w, "DELETE", SLICES "/s3", NULL, 200);
	(void)allocate(w, "d", TAKES("3", "1Gi", "1"), 409);
	/* A change of a slice, and one of its metadata. */
	(void)verb_world_patch(w, SLICES "/s2", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
			       200);
	got = allocate(w, "d", TAKES("3", "1Gi", "1"), 409);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "memory: 0 left of 80Gi");
	(void)verb_world_patch(
		w, SLICES "/s2", "application/json-patch+json",
		"[{\"op\":\"replace\",\"path\":\"/spec/devices/0/capacity/memory/value\","
		"\"value\":\"140Gi\"}]",
		200);
	got = allocate(w, "e", TAKES("4", "11Gi", "1"), 409);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "memory: 10Gi left of 140Gi");
	(void)allocate(w, "d", TAKES("3", "10Gi", "1"), 200);
}

static void another_server_that_took_a_share_leaves_the_rest(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	offer_shares(w, "s", 1, "40Gi", "10");
	make_all(w, "ab");
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, TAKES("0", "20Gi", "1")));
	put_elsewhere(w, "x", TAKES("1", "30Gi", "1"), GUARD);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &ask), 409);
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, TAKES("0", "5Gi", "1")));
	put_elsewhere(w, "y", TAKES("2", "5Gi", "1"), GUARD);
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &ask), 200);
	(void)allocate(w, "b", TAKES("3", "1Gi", "1"), 409);
}

/* Both take the guard of the counter set, though the devices differ. */
static void another_server_that_took_a_partition_leaves_the_rest(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	offer_partitions(w, 1, "20Gi");
	make_all(w, "a");
	fake_store_hold(w->server.store, true);
	begin(w, &ask, "a", allocation(w, RESULT("part-0", "")));
	put_elsewhere(w, "x", RESULT("part-1", "") "," RESULT("part-2", ""),
		      "gpu.example.com/n1//card");
	fake_store_hold(w->server.store, false);
	assert_int_equal(end(w, &ask), 409);
	(void)verb_world_call(w, "DELETE", CLAIMS "/x", NULL, 200);
	(void)allocate(w, "a", RESULT("part-0", ""), 200);
}

/* 32 devices of 40 counter sets. */
static void a_claim_that_needs_too_many_guards_is_refused(void **state)
{
	struct verb_world *w = *state;
	struct buf devices = BUF_INIT(65536), results = BUF_INIT(65536);
	struct json *got;

	for (int slice = 0; slice < 5; slice++) {
		struct buf b = BUF_INIT(65536);

		for (int i = 8 * slice; i < 8 * slice + 8; i++)
			buf_printf(&b,
				   "%s{\"name\":\"s%d\",\"counters\":{\"m\":{\"value\":\"1\"}}}",
				   i % 8 ? "," : "", i);
		make_slice(
			w, arena_printf(&w->arena, "s%d", slice), 1,
			arena_printf(&w->arena, "\"sharedCounters\":[%.*s]", STR_ARG(buf_str(&b))));
		buf_release(&b);
	}
	for (int i = 0; i < 32; i++) {
		buf_printf(&devices,
			   "%s{\"name\":\"d%d\",\"consumesCounters\":[{\"counterSet\":\"s%d\","
			   "\"counters\":{\"m\":{\"value\":\"1\"}}}",
			   i ? "," : "", i, i);
		if (i >= 24)
			buf_printf(
				&devices,
				",{\"counterSet\":\"s%d\",\"counters\":{\"m\":{\"value\":\"1\"}}}",
				i + 8);
		buf_printf(&devices, "]}");
		buf_printf(&results,
			   "%s{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\","
			   "\"device\":\"d%d\"}",
			   i ? "," : "", i);
	}
	make_slice(w, "d", 1,
		   arena_printf(&w->arena, "\"devices\":[%.*s]", STR_ARG(buf_str(&devices))));
	make_all(w, "ab");
	buf_addc(&results, 0);
	got = allocate(w, "a", results.p, 413);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Request entity too large: the claim adds 32 devices that consume counters of 40 "
		"sets; the server can check "
		"64 devices and sets in one write: use several claims");
	*strstr(results.p, ",{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1\","
			   "\"device\":\"d24\"") = 0;
	(void)allocate(w, "b", results.p, 200);
	buf_release(&devices);
	buf_release(&results);
}

static void without_the_fence_shares_are_not_added_up(struct verb_world *w)
{
	offer_shares(w, "s", 1, "40Gi", "10");
	make_all(w, "ab");
	(void)allocate(w, "a", TAKES("0", "30Gi", "1"), 200);
	(void)allocate(w, "b", TAKES("1", "30Gi", "1"), 200);
}

static void without_the_gate_shares_are_not_added_up(void **state)
{
	struct verb_world *w = *state;
	struct error err;

	assert_int_equal(gates_set(&w->server.gates, STR("DeviceAllocationFence=false"), &err), 0);
	without_the_fence_shares_are_not_added_up(w);
}

static void without_the_plugin_shares_are_not_added_up(void **state)
{
	struct verb_world *w = *state;

	assert_true(admission_switch(&w->admission, STR("DeviceAllocationFence"), false));
	without_the_fence_shares_are_not_added_up(w);
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
		TEST(shares_fit_into_the_capacity_of_their_device),
		TEST(a_freed_share_may_be_taken_at_once),
		TEST(partitions_fit_into_the_counters_of_their_pool),
		TEST(admin_access_consumes_nothing),
		TEST(of_many_at_once_as_many_win_as_fit),
		TEST(what_no_slice_offers_is_not_checked),
		TEST(the_newest_generation_of_a_pool_counts),
		SHARED_TEST(another_server_that_took_a_share_leaves_the_rest),
		SHARED_TEST(another_server_that_took_a_partition_leaves_the_rest),
		TEST(a_claim_that_needs_too_many_guards_is_refused),
		TEST(without_the_gate_shares_are_not_added_up),
		TEST(without_the_plugin_shares_are_not_added_up),
	};

	return cmocka_run_group_tests_name("server/admit_devices", tests, NULL, NULL);
}
