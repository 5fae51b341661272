/*
 * The status of slices against a fake API server: KEP-5677's cases, and the timing of writes.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/run/availability.h"
#include "controller/slice_status/metrics.h"

#define AVAILABLE "\"Available\""
#define ALLOCATED "\"Allocated\""

/* --- content --------------------------------------------------------------------------------- */

static void a_device_is_allocated_and_freed(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 1);
	tell(&b, "slice a p 1/1 n g0 g1");
	run(&b);
	assert_status(&b, "a", "/devices/0", "{\"name\":\"g0\",\"state\":\"Available\"}");
	assert_status(&b, "a", "/summary/availableDevices", "2");
	assert_status(&b, "a", "/observedGeneration", "1");
	tell(&b, "claim ns/c p/g0(request=gpu)");
	run(&b);
	assert_status(&b, "a", "/devices/0",
		      "{\"name\":\"g0\",\"state\":\"Allocated\",\"allocations\":[{"
		      "\"claimNamespace\":\"ns\",\"claimName\":\"c\",\"claimUID\":\"uid-c\","
		      "\"request\":\"gpu\"}]}");
	assert_status(&b, "a", "/summary/allocatedDevices", "1");
	tell(&b, "claim ns/c");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", AVAILABLE);
	tell(&b, "claim ns/c p/g1");
	run(&b);
	tell(&b, "remove claim ns/c");
	run(&b);
	assert_status(&b, "a", "/devices/1/state", AVAILABLE);
	assert_int_equal(b.writes.n, 5);
	assert_false(b.carried_spec);
	/* The spec was not changed. */
	assert_true(fakeapi_has(b.w->api, "resourceslices", "", "a", "\"generation\":1,"));
	bench_release(&b);
}

static void a_shared_device_tells_what_is_left(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 2);
	tell(&b, "slice a p 1/1 n g0(multi,memory=10Gi)");
	tell(&b, "claim ns/c p/g0(share=1,memory=4Gi)");
	tell(&b, "claim ns/d p/g0(share=2,memory=2Gi)");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", "\"PartiallyAllocated\"");
	assert_status(&b, "a", "/devices/0/availableCapacity/memory", "\"4Gi\"");
	assert_status(&b, "a", "/devices/0/allocations/1/capacity/memory", "\"2Gi\"");
	tell(&b, "claim ns/e p/g0(share=3,memory=4Gi)");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", ALLOCATED);
	bench_release(&b);
}

static void counters_reach_over_slices(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 3);
	tell(&b, "counters a p 1/3 n s.x=10");
	tell(&b, "slice b p 1/3 n g0(s.x:6)");
	tell(&b, "slice c p 1/3 n g1(s.x:6)");
	run(&b);
	assert_status(&b, "c", "/devices/0/state", AVAILABLE);
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_status(&b, "c", "/devices/0",
		      "{\"name\":\"g1\",\"state\":\"Unavailable\","
		      "\"stateReason\":\"CountersExhausted\"}");
	tell(&b, "counters a p 1/3 n s.x=12");
	run(&b);
	assert_status(&b, "c", "/devices/0/state", AVAILABLE);
	tell(&b, "slice b p 1/3 n g0(s.x:7)");
	run(&b);
	assert_status(&b, "c", "/devices/0/state", "\"Unavailable\"");
	bench_release(&b);
}

static void taint_rules_make_their_devices_unavailable(void **state)
{
	struct bench b = { 0 };
	size_t writes;

	(void)state;
	bench_init(&b, 3);
	tell(&b, "slice a p 1/1 n g0 g1");
	tell(&b, "slice b q 1/1 n g0");
	run(&b);
	writes = writes_of(&b, "b");
	tell(&b, "rule r p g1 NoSchedule");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", AVAILABLE);
	assert_status(&b, "a", "/devices/1",
		      "{\"name\":\"g1\",\"state\":\"Unavailable\",\"stateReason\":\"Tainted: r\"}");
	tell(&b, "rule r * g0 NoExecute");
	run(&b);
	assert_status(&b, "a", "/devices/0/state", "\"Unavailable\"");
	assert_status(&b, "a", "/devices/1/state", AVAILABLE);
	assert_status(&b, "b", "/devices/0/state", "\"Unavailable\"");
	tell(&b, "remove rule r");
	run(&b);
	assert_status(&b, "a", "/summary/availableDevices", "2");
	assert_status(&b, "b", "/devices/0/state", AVAILABLE);
	assert_int_equal(writes_of(&b, "b"), writes + 2);
	bench_release(&b);
}

static void an_older_generation_has_no_status(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 6);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	assert_status(&b, "a", "/poolStatus/observedSliceCount", "2");
	tell(&b, "slice b p 2/1 n g1");
	run(&b);
	assert_status(&b, "a", "", "null");
	assert_status(&b, "b", "/poolStatus/validationErrors",
		      "[\"ResourceSlice a has generation 1, the pool has 2\"]");
	tell(&b, "remove slice a");
	run(&b);
	assert_status(&b, "b", "/poolStatus/validationErrors", "null");
	assert_status(&b, "b", "/observedGeneration", "2");
	/* The pool returns to its earlier state. */
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	assert_status(&b, "a", "/poolStatus/observedSliceCount", "2");
	bench_release(&b);
}

/* Upstream's drivers update slices one by one, and abandon those that changed meanwhile. */
static void slices_are_left_alone_while_their_driver_updates_the_pool(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 26);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	tell(&b, "slice b p 2/2 n g1");
	controller_world_run(b.w, 1000);
	assert_false(slice_status_settled(b.status));
	assert_status(&b, "a", "/observedGeneration", "1");
	assert_status(&b, "b", "/poolStatus/observedSliceCount", "1");
	tell(&b, "slice a p 2/2 n g0");
	run(&b);
	assert_status(&b, "a", "/poolStatus/observedSliceCount", "2");
	assert_status(&b, "b", "/poolStatus", "null");
	/* A driver that stops there is not waited for. */
	tell(&b, "slice b p 3/2 n g1");
	controller_world_run(b.w, 1000);
	assert_status(&b, "a", "/observedGeneration", "2");
	run(&b);
	assert_status(&b, "a", "", "null");
	/* Once it has all new slices, those it left behind are updated at once. */
	tell(&b, "slice c p 4/2 n g2");
	controller_world_run(b.w, 1000);
	assert_status(&b, "b", "/observedGeneration", "3");
	tell(&b, "slice d p 4/2 n g3");
	controller_world_run(b.w, 1000);
	assert_status(&b, "b", "", "null");
	bench_release(&b);
}

/* There, drivers do not see our writes. */
static void drivers_are_not_waited_for_where_slices_have_no_status(void **state)
{
	struct bench b = { .objects = true };

	(void)state;
	bench_init(&b, 27);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	assert_non_null(fakeapi_find(b.w->api, "resourceslicestatuses", "", "a"));
	tell(&b, "slice b p 2/2 n g1");
	controller_world_run(b.w, 1000);
	assert_null(fakeapi_find(b.w->api, "resourceslicestatuses", "", "a"));
	assert_true(slice_status_settled(b.status));
	bench_release(&b);
}

static void attributes_and_emptiness_are_observed(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 7);
	tell(&b, "slice a p 1/1 n g0(@model=x)");
	run(&b);
	tell(&b, "slice a p 1/1 n g0(@model=y)");
	run(&b);
	assert_status(&b, "a", "/observedGeneration", "2");
	assert_status(&b, "a", "/devices/0/state", AVAILABLE);
	tell(&b, "slice a p 1/1 n");
	run(&b);
	assert_status(&b, "a", "/devices", "null");
	assert_status(&b, "a", "/summary",
		      "{\"totalDevices\":0,\"allocatedDevices\":0,\"availableDevices\":0,"
		      "\"partiallyAllocatedDevices\":0}");
	/* A slice moves to another pool. */
	tell(&b, "slice b q 1/1 n g1");
	tell(&b, "slice a q 1/2 n");
	run(&b);
	assert_status(&b, "a", "/poolStatus/observedSliceCount", "2");
	assert_status(&b, "b", "/poolStatus", "null");
	bench_release(&b);
}

static void an_admin_looks_on(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 8);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	tell(&b, "claim ns/c p/g0(admin)");
	run(&b);
	assert_status(&b, "a", "/devices/0", "{\"name\":\"g0\",\"state\":\"Available\"}");
	assert_int_equal(b.writes.n, 1);
	bench_release(&b);
}

/* --- when it is written ---------------------------------------------------------------------- */

static void an_unchanged_status_is_not_written(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 9);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "slice b p 1/2 n g1");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_int_equal(b.writes.n, 2);
	merge(&b, CLAIMS "ns/resourceclaims/c",
	      "{\"status\":{\"reservedFor\":[{\"name\":\"x\"}]}}");
	merge(&b, SLICES "/a", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
	run(&b);
	assert_int_equal(b.writes.n, 2);
	bench_stop(&b);
	bench_start(&b);
	run(&b);
	assert_int_equal(b.writes.n, 2);
	/* The same status, in another order and with another number. */
	merge(&b, SLICES "/b/status",
	      "{\"status\":{\"devices\":[{\"state\":\"Available\",\"name\":\"g1\"}]}}");
	run(&b);
	assert_int_equal(b.writes.n, 2);
	bench_release(&b);
}

static void a_status_that_somebody_else_changed_is_put_right(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 10);
	tell(&b, "slice a p 1/1 n g0");
	run(&b);
	merge(&b, SLICES "/a/status", "{\"status\":{\"summary\":{\"totalDevices\":7}}}");
	run(&b);
	assert_all_right(&b, "changed");
	merge(&b, SLICES "/a/status", "{\"status\":null}");
	run(&b);
	assert_all_right(&b, "removed");
	merge(&b, SLICES "/a/status", "{\"status\":{\"poolStatus\":\"x\"}}");
	run(&b);
	assert_all_right(&b, "damaged");
	assert_int_equal(b.writes.n, 4);
	bench_release(&b);
}

static bool has_written(void *arg)
{
	return ((struct bench *)arg)->writes.n > 0;
}

static void a_burst_becomes_few_writes(void **state)
{
	struct bench b = { 0 };
	int64_t began;

	(void)state;
	bench_init(&b, 11);
	tell(&b, "slice a p 1/1 n g0(multi)");
	run(&b);
	b.writes.n = 0;
	began = sim_elapsed_ms(b.w->sim);
	for (int i = 0; i < 100; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "claim ns/c%d p/g0(share=%d)", i, i);
		tell_line(&b, str_from(line));
		if (i == 0)
			assert_true(sim_run_until(b.w->sim, has_written, &b, 10));
		controller_world_run(b.w, 1);
	}
	run(&b);
	assert_all_right(&b, "burst");
	/* The first at once, the others paced. */
	assert_true(b.writes.v[0].at - began <= 10);
	assert_in_range(b.writes.n, 3, 8);
	for (size_t i = 1; i < b.writes.n; i++)
		assert_true(b.writes.v[i].at - b.writes.v[i - 1].at >= 20);
	bench_release(&b);
}

/* Slices of one pool do not wait for each other. */
static void slices_are_written_side_by_side(void **state)
{
	struct bench b = { 0 };

	(void)state;
	bench_init(&b, 12);
	for (int i = 0; i < 20; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "slice s%02d p%d 1/1 n%d g0 g1", i, i, i);
		tell_line(&b, str_from(line));
	}
	run(&b);
	assert_int_equal(b.writes.n, 20);
	assert_true(b.writes.v[19].at - b.writes.v[0].at <= 10);
	bench_release(&b);
}

static double sum_of(struct metrics *m, const char *series)
{
	struct buf text = BUF_INIT(4 * MIB);
	const char *at;
	double v = -1;

	assert_int_equal(metrics_print(m, &text), 0);
	buf_addc(&text, '\0');
	at = strstr(text.p, series);
	if (at)
		v = strtod(at + strlen(series), NULL);
	buf_release(&text);
	return v;
}

static void a_change_looks_at_what_it_concerns(void **state)
{
	struct bench b = { .metrics = metrics_new() };
	double before;

	(void)state;
	bench_init(&b, 13);
	for (int i = 0; i < 60; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "slice s%02d p%d 1/30 n%d g%d", i, i / 30, i, i);
		tell_line(&b, str_from(line));
	}
	run(&b);
	before = sum_of(b.metrics, "\ndra_resourceslice_status_controller_sync_total ");
	tell(&b, "claim ns/c p1/g40");
	run(&b);
	/* One for the change, and one for our own write. */
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_status_controller_sync_total ") -
			    before <=
		    2);
	before = sum_of(b.metrics, "\ndra_resourceslice_status_controller_sync_total ");
	tell(&b, "slice s45 p1 1/30 n45 g45 h45");
	run(&b);
	/* Also for the first slice of the pool. */
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_status_controller_sync_total ") -
			    before <=
		    3);
	bench_release(&b);
}

/* Pools without their own series share one, which has the sum of their faults. */
static void faults_of_many_pools_are_added_up(void **state)
{
	enum { MORE = 3 };
	struct controller_world *w = controller_world_new(32);
	struct metrics *metrics = metrics_new();
	struct slice_status_faults faults[METRICS_SERIES_MAX + MORE] = { 0 };
	const char *other = "\ndra_pool_validation_errors_total{driver=\"other\",pool=\"other\"} ";
	struct slice_status_metrics m;
	char key[32];

	(void)state;
	slice_status_metrics_init(&m, metrics, w->loop);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		(void)snprintf(key, sizeof(key), "d/p%zu", i);
		slice_status_metrics_faults(&m, &faults[i], str_from(key), 0);
		slice_status_metrics_faults(&m, &faults[i], str_from(key), 2);
	}
	assert_true(sum_of(metrics, other) == 2 * MORE);
	slice_status_metrics_faults(&m, &faults[ARRAY_SIZE(faults) - 1], STR("d/p"), 0);
	assert_true(sum_of(metrics, other) == 2 * (MORE - 1));
	assert_true(sum_of(metrics, "{driver=\"d\",pool=\"p7\"} ") == 2);
	slice_status_metrics_release(&m);
	metrics_free(metrics);
	controller_world_free(w);
}

static void a_pool_that_is_gone_has_no_faults(void **state)
{
	struct bench b = { .metrics = metrics_new() };

	(void)state;
	bench_init(&b, 33);
	tell(&b, "slice a p 1/2 n g0");
	run(&b);
	assert_true(sum_of(b.metrics, "pool=\"p\"} ") == 1);
	tell(&b, "slice a q 1/2 n g0");
	run(&b);
	assert_true(sum_of(b.metrics, "pool=\"p\"} ") == 0);
	assert_true(sum_of(b.metrics, "pool=\"q\"} ") == 1);
	tell(&b, "remove slice a");
	run(&b);
	assert_true(sum_of(b.metrics, "pool=\"q\"} ") == 0);
	bench_release(&b);
}

static void metrics_tell_how_it_is(void **state)
{
	struct bench b = { .metrics = metrics_new() };

	(void)state;
	bench_init(&b, 14);
	tell(&b, "slice a p 1/2 n g0");
	tell(&b, "claim ns/c p/g0");
	tell(&b, "claim ns/d");
	run(&b);
	controller_world_run(b.w, 2000);
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_claims_tracked_total ") == 1);
	assert_true(
		sum_of(b.metrics, "\ndra_resourceslice_status_update_duration_seconds_count ") ==
		(double)b.writes.n);
	assert_true(sum_of(b.metrics,
			   "\ndra_resourceslice_status_staleness_seconds{driver=\"" WORLD_DRIVER
			   "\"} ") == 0);
	assert_true(sum_of(b.metrics, "\ndra_pool_validation_errors_total{driver=\"" WORLD_DRIVER
				      "\",pool=\"p\"} ") == 1);
	/* A claim that affects no slice is tracked as well. */
	tell(&b, "claim ns/e nowhere/g0");
	run(&b);
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_claims_tracked_total ") == 2);
	tell(&b, "slice b p 1/2 n g1");
	run(&b);
	assert_true(sum_of(b.metrics, "\ndra_pool_validation_errors_total{driver=\"" WORLD_DRIVER
				      "\",pool=\"p\"} ") == 0);
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_status_update_errors_total{reason=\""
				      "error\"} ") == 0);
	/* The server is unreachable. */
	b.w->api->fail = 1;
	tell(&b, "remove claim ns/c");
	controller_world_run(b.w, 10000);
	assert_true(sum_of(b.metrics,
			   "\ndra_resourceslice_status_staleness_seconds{driver=\"" WORLD_DRIVER
			   "\"} ") >= 8);
	assert_true(sum_of(b.metrics, "\ndra_resourceslice_status_update_errors_total{reason=\""
				      "error\"} ") >= 3);
	b.w->api->fail = 0;
	controller_world_run(b.w, 60000);
	assert_true(sum_of(b.metrics,
			   "\ndra_resourceslice_status_staleness_seconds{driver=\"" WORLD_DRIVER
			   "\"} ") == 0);
	assert_all_right(&b, "at last");
	bench_release(&b);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void add_slice(struct controller_world *w)
{
	fakeapi_add(w->api, "resourceslices", "", "a", "",
		    ",\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\",\"generation\":1,"
		    "\"resourceSliceCount\":1},\"nodeName\":\"n\",\"devices\":["
		    "{\"name\":\"g0\"}]}");
}

static void the_served_api_decides_where_the_status_is_kept(void **state)
{
	struct availability_opts opts = { .slice_status = true, .pool_requests = true };

	(void)state;
	for (int own = 0; own < 2; own++) {
		struct controller_world *w = controller_world_new(20);
		struct availability *v;

		w->api->slice_status = !own;
		w->api->hide_claims = true;
		fakeapi_add(w->api, "nodes", "", "n", "", "");
		add_slice(w);
		controller_world_start(w);
		v = availability_new(&w->ctx, &opts);
		informers_start(w->ctx.informers);
		assert_false(availability_synced(v));
		controller_world_run(w, 2000);
		assert_true(availability_synced(v));
		assert_false(fakeapi_has(w->api, "resourceslices", "", "a", "\"status\""));
		/* The group is served later. */
		w->api->hide_claims = false;
		controller_world_run(w, 60 * 1000);
		assert_true(availability_synced(v));
		assert_int_equal(fakeapi_has(w->api, "resourceslices", "", "a", "\"status\""),
				 !own);
		assert_int_equal(fakeapi_has(w->api, "resourceslicestatuses", "", "a",
					     "\"availableDevices\":1"),
				 own);
		availability_free(v);
		controller_world_stop(w);
		controller_world_free(w);
	}
}

/* If a slice is replaced by one with the same devices, it gets its own object. */
static void an_object_belongs_to_the_slice_that_is_there(void **state)
{
	struct availability_opts opts = { .slice_status = true };
	struct controller_world *w = controller_world_new(23);
	struct availability *v;
	struct str uid;
	char text[64];

	(void)state;
	add_slice(w);
	controller_world_start(w);
	v = availability_new(&w->ctx, &opts);
	informers_start(w->ctx.informers);
	controller_world_run(w, 60 * 1000);
	assert_int_equal(fakeapi_count(w->api, "resourceslicestatuses"), 1);
	assert_int_equal(fakeapi_call(w->api, "DELETE", SLICES "/a", STR_NULL, NULL), 200);
	add_slice(w);
	controller_world_run(w, 60 * 1000);
	uid = str_from(strstr(fakeapi_find(w->api, "resourceslices", "", "a")->text, "\"uid\""));
	(void)snprintf(text, sizeof(text), "%.*s", 44, uid.p);
	assert_true(fakeapi_has(w->api, "resourceslicestatuses", "", "a", text));
	availability_free(v);
	controller_world_stop(w);
	controller_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_allocated_and_freed),
		cmocka_unit_test(a_shared_device_tells_what_is_left),
		cmocka_unit_test(counters_reach_over_slices),
		cmocka_unit_test(taint_rules_make_their_devices_unavailable),
		cmocka_unit_test(an_older_generation_has_no_status),
		cmocka_unit_test(slices_are_left_alone_while_their_driver_updates_the_pool),
		cmocka_unit_test(drivers_are_not_waited_for_where_slices_have_no_status),
		cmocka_unit_test(attributes_and_emptiness_are_observed),
		cmocka_unit_test(an_admin_looks_on),
		cmocka_unit_test(an_unchanged_status_is_not_written),
		cmocka_unit_test(a_status_that_somebody_else_changed_is_put_right),
		cmocka_unit_test(a_burst_becomes_few_writes),
		cmocka_unit_test(slices_are_written_side_by_side),
		cmocka_unit_test(a_change_looks_at_what_it_concerns),
		cmocka_unit_test(faults_of_many_pools_are_added_up),
		cmocka_unit_test(a_pool_that_is_gone_has_no_faults),
		cmocka_unit_test(metrics_tell_how_it_is),
		cmocka_unit_test(the_served_api_decides_where_the_status_is_kept),
		cmocka_unit_test(an_object_belongs_to_the_slice_that_is_there),
	};

	return cmocka_run_group_tests_name("controller/slice_status", tests, NULL, NULL);
}
