/*
 * ResourcePoolStatusRequests against a fake API server: answered once, retried, abandoned, and
 * finally deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/pool_requests/pool_requests.h"
#include "controller/run/controller_world.h"
#include "net/loop/loop.h"

#define REQUESTS "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests"
#define HOUR_S   3600

struct bench {
	struct controller_world *w;
	struct devices *devices;
	struct pool_requests *requests;
	struct metrics *metrics;
	int fault; /* the HTTP status of status writes; 0: normal */
	unsigned faults, status_writes;
};

static void bench_start(struct bench *b)
{
	struct resource requests = resource_builtin("resource.k8s.io", "v1alpha3",
						    "resourcepoolstatusrequests");

	controller_world_start(b->w);
	b->w->ctx.metrics = b->metrics;
	b->devices = controller_world_devices(b->w, false);
	b->requests = pool_requests_new(&b->w->ctx, b->devices, &requests);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	pool_requests_free(TAKE(b->requests));
	devices_free(TAKE(b->devices));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	metrics_free(b->metrics);
}

static void run(struct bench *b)
{
	controller_world_run(b->w, 3000);
}

static void run_s(struct bench *b, int64_t seconds)
{
	controller_world_run(b->w, seconds * 1000);
}

/* A slice of driver "d" with this number of devices "NAME-0", "NAME-1", .. */
static void add_slice(struct bench *b, const char *name, const char *pool, int slices, int devices)
{
	struct buf rest = BUF_INIT(64 * KIB);

	(void)buf_printf(&rest,
			 ",\"spec\":{\"driver\":\"d\",\"allNodes\":true,\"pool\":{\"name\":\"%s\","
			 "\"generation\":1,\"resourceSliceCount\":%d},\"devices\":[",
			 pool, slices);
	for (int i = 0; i < devices; i++)
		(void)buf_printf(&rest, "%s{\"name\":\"%s-%d\"}", i ? "," : "", name, i);
	(void)buf_addz(&rest, "]}");
	fakeapi_add(b->w->api, "resourceslices", "", name, ",\"generation\":1", rest.p);
	buf_release(&rest);
}

static void add_request(struct bench *b, const char *name, const char *meta, const char *spec)
{
	char rest[256];

	(void)snprintf(rest, sizeof(rest), ",\"spec\":{\"driver\":\"d\"%s}", spec);
	fakeapi_add(b->w->api, "resourcepoolstatusrequests", "", name, meta, rest);
}

static bool is_there(struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "resourcepoolstatusrequests", "", name) != NULL;
}

static bool has(struct bench *b, const char *name, const char *text)
{
	return fakeapi_has(b->w->api, "resourcepoolstatusrequests", "", name, text);
}

static void assert_has(struct bench *b, const char *name, const char *text)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "resourcepoolstatusrequests", "",
						      name);

	if (!o || !strstr(o->text, text))
		fail_msg("there is no %s in %s", text, o ? o->text : "nothing");
}

static void touch(struct bench *b, const char *name)
{
	char target[128];

	(void)snprintf(target, sizeof(target), REQUESTS "/%s", name);
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", target,
				      STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), NULL),
			 200);
}

/* ",\"creationTimestamp\":..": this number of seconds ago. */
static const char *created(struct bench *b, char out[static 128], int64_t ago_s)
{
	int64_t now = clock_wall(loop_clock(b->w->loop));
	char text[TIMESTAMP_SIZE];

	(void)timestamp_print(now - ago_s * CLOCK_SEC, TIMESTAMP_SECONDS, text);
	(void)snprintf(out, 128, ",\"creationTimestamp\":\"%s\"", text);
	return out;
}

static int on_write(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (!str_eq(q->method, STR("PUT")))
		return FAKEAPI_WELL;
	b->status_writes++;
	if (b->faults == 0)
		return FAKEAPI_WELL;
	b->faults--;
	return b->fault;
}

static void fail_writes(struct bench *b, int fault, unsigned times)
{
	b->fault = fault;
	b->faults = times;
	b->w->api->fault = on_write;
	b->w->api->fault_arg = b;
}

/* --- answers --------------------------------------------------------------------------------- */

static void a_request_is_answered_once(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };
	uint64_t writes;

	add_slice(&b, "s", "p", 1, 2);
	add_request(&b, "r", "", "");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r",
		   "\"status\":{\"pools\":[{\"driver\":\"d\",\"poolName\":\"p\",\"generation\":1,"
		   "\"totalDevices\":2,\"allocatedDevices\":0,\"availableDevices\":2,"
		   "\"unavailableDevices\":0,\"resourceSliceCount\":1}],\"conditions\":[{"
		   "\"type\":\"Complete\",\"status\":\"True\",\"lastTransitionTime\":\"");
	assert_has(&b, "r",
		   "Z\",\"reason\":\"CalculationComplete\",\"message\":"
		   "\"Calculated status for 1 pools\"}],\"poolCount\":1}");
	/* Later changes and a restart do not affect it. */
	writes = b.w->api->writes;
	add_slice(&b, "t", "q", 1, 1);
	touch(&b, "r");
	run(&b);
	bench_stop(&b);
	bench_start(&b);
	run(&b);
	assert_int_equal(b.w->api->writes, writes);
	/* A later request gets the state of its time. */
	add_request(&b, "later", "", "");
	run(&b);
	assert_has(&b, "later", "\"poolCount\":2");
	bench_release(&b);
}

#define IN_POOL                                           \
	",\"spec\":{\"driver\":\"d\",\"nodeName\":\"n\"," \
	"\"pool\":{\"name\":\"p\",\"generation\":2,\"resourceSliceCount\":3}"
#define HALF(name)                                                                \
	"{\"name\":\"" name "\",\"attributes\":{\"kind\":{\"string\":\"Half\"}}," \
	"\"consumesCounters\":[{\"counterSet\":\"c\",\"counters\":{\"m\":{\"value\":\"2\"}}}]}"
#define RESULT(device) \
	"{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"" device "\""

static void add_mixed_pool(struct bench *b)
{
	struct fakeapi *f = b->w->api;

	fakeapi_add(f, "resourceslices", "", "a", ",\"generation\":1",
		    IN_POOL ",\"devices\":[{\"name\":\"bad\",\"taints\":[{\"key\":\"k\","
			    "\"effect\":\"NoSchedule\"}]},{\"name\":\"held\"},{\"name\":\"shared\","
			    "\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{"
			    "\"value\":\"10Gi\"}}},{\"name\":\"ruled\"},{\"name\":\"seen\"}]}");
	fakeapi_add(f, "resourceslices", "", "b", ",\"generation\":1",
		    IN_POOL ",\"partitionTypeAttribute\":\"d/kind\",\"devices\":[" HALF(
			    "h0") "," HALF("h1") "]}");
	fakeapi_add(f, "resourceslices", "", "c", ",\"generation\":1",
		    IN_POOL ",\"sharedCounters\":[{\"name\":\"c\",\"counters\":{\"m\":{"
			    "\"value\":\"4\"}}}]}");
	add_slice(b, "old", "p", 1, 7);
	fakeapi_add(f, "devicetaintrules", "", "rule", "",
		    ",\"spec\":{\"deviceSelector\":{\"pool\":\"p\",\"device\":\"ruled\"},"
		    "\"taint\":{\"key\":\"k\",\"effect\":\"NoExecute\"}}");
	fakeapi_add(
		f, "resourceclaims", "n", "claim", "",
		",\"status\":{\"allocation\":{\"devices\":{\"results\":[" RESULT(
			"held") "}," RESULT("h0") "}," RESULT("seen") ",\"adminAccess\":true}"
								      "," RESULT("shared") ",\"shar"
											   "eID\":"
											   "\"7b5f6"
											   "c1e-"
											   "0f0e-"
											   "4a3c-"
											   "9f53-"
											   "7d0f6f1"
											   "f0a01\""
											   ","
											   "\"consu"
											   "medCapa"
											   "city\":"
											   "{\"memo"
											   "ry\":"
											   "\"4Gi\""
											   "}}]}}"
											   "}");
}

static void every_sort_of_device_is_counted(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };

	add_mixed_pool(&b);
	add_request(&b, "r", "", ",\"poolName\":\"p\"");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r",
		   "\"pools\":[{\"driver\":\"d\",\"poolName\":\"p\",\"nodeName\":\"n\","
		   "\"generation\":2,\"totalDevices\":7,\"allocatedDevices\":3,"
		   "\"availableDevices\":2,\"unavailableDevices\":2,\"resourceSliceCount\":3,"
		   "\"partitionSummary\":[{\"type\":\"Half\",\"total\":2,\"allocatable\":1,"
		   "\"attribute\":\"d/kind\"}],\"shareableSummary\":{\"fullyAvailableDevices\":0,"
		   "\"partiallyAvailableDevices\":1,\"capacity\":[{\"name\":\"memory\","
		   "\"total\":\"10Gi\",\"consumed\":\"4Gi\",\"available\":\"6Gi\"}]}}]");
	bench_release(&b);
}

static void pools_beyond_the_limit_are_counted_only(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	add_slice(&b, "s1", "p1", 1, 1);
	add_slice(&b, "s2", "p2", 1, 1);
	add_slice(&b, "s3", "p3", 2, 1);
	add_request(&b, "r", "", ",\"limit\":2");
	add_request(&b, "one", "", ",\"poolName\":\"p2\"");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r", "\"poolCount\":3");
	assert_has(&b, "r", "Calculated status for 2 pools\"");
	assert_has(&b, "r", "\"poolName\":\"p2\"");
	assert_false(has(&b, "r", "p3"));
	assert_has(&b, "one", "\"poolCount\":1");
	assert_false(has(&b, "one", "p1"));
	bench_release(&b);
}

static void a_driver_that_nobody_knows_has_no_pools(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	add_slice(&b, "s", "p", 1, 1);
	fakeapi_add(b.w->api, "resourcepoolstatusrequests", "", "r", "",
		    ",\"spec\":{\"driver\":\"other\"}");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r", "\"status\":{\"conditions\":[{\"type\":\"Complete\"");
	assert_has(&b, "r", "\"message\":\"Calculated status for 0 pools\"}],\"poolCount\":0}");
	bench_release(&b);
}

static void partitions_without_their_attribute_are_told_as_an_error(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };

	add_slice(&b, "s", "p", 1, 1);
	add_request(&b, "r", "", ",\"defaultPartitionTypeAttribute\":\"d/kind\"");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r", "\"validationError\":\"PartitionTypeMissing: pool d/p declares");
	assert_has(&b, "r", "Calculated status for 1 pools (1 incomplete)");
	bench_release(&b);
}

/* --- again ----------------------------------------------------------------------------------- */

static void an_incomplete_pool_is_answered_when_it_is_complete_at_the_next_event(
	void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };

	add_slice(&b, "s", "p", 2, 1);
	add_request(&b, "r", "", "");
	bench_start(&b);
	run_s(&b, 60);
	assert_false(has(&b, "r", "\"status\""));
	assert_int_equal(b.w->api->writes, 0);
	/* A change of slices does not trigger it. */
	add_slice(&b, "t", "p", 2, 1);
	run_s(&b, 60);
	assert_false(has(&b, "r", "\"status\""));
	touch(&b, "r");
	run(&b);
	assert_has(&b, "r", "\"totalDevices\":2");
	bench_release(&b);
}

static void a_pool_that_becomes_complete_at_once_is_answered_by_a_retry(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7) };

	add_slice(&b, "s", "p", 2, 1);
	bench_start(&b);
	run(&b);
	add_request(&b, "r", "", "");
	controller_world_run(b.w, 50);
	assert_false(has(&b, "r", "\"status\""));
	add_slice(&b, "t", "p", 2, 1);
	run(&b);
	assert_has(&b, "r", "\"totalDevices\":2");
	bench_release(&b);
}

static void a_failing_write_is_tried_five_times_more(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(8), .metrics = metrics_new() };
	struct buf text = BUF_INIT(MIB);

	fail_writes(&b, 500, 6);
	add_slice(&b, "s", "p", 1, 1);
	add_request(&b, "r", "", "");
	bench_start(&b);
	run_s(&b, 600);
	assert_int_equal(b.status_writes, 6);
	assert_false(has(&b, "r", "\"status\""));
	/* Its failures are forgotten: it has five more attempts. */
	b.faults = 5;
	touch(&b, "r");
	run_s(&b, 60);
	assert_int_equal(b.status_writes, 12);
	assert_has(&b, "r", "\"poolCount\":1");
	assert_int_equal(metrics_print(b.metrics, &text), 0);
	(void)buf_addc(&text, '\0');
#define PREFIX "resourcepoolstatusrequest_controller_"
	assert_non_null(strstr(text.p, PREFIX "requests_processed_total{driver_name=\"d\"} 12\n"));
	assert_non_null(
		strstr(text.p, PREFIX "request_processing_errors_total{driver_name=\"d\"} 11\n"));
	assert_non_null(
		strstr(text.p,
		       PREFIX "request_processing_duration_seconds_count{driver_name=\"d\"} 12\n"));
	buf_release(&text);
	bench_release(&b);
}

static void an_answer_that_is_refused_says_so(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(9) };

	fail_writes(&b, 413, 1);
	add_slice(&b, "s", "p", 1, 1);
	add_request(&b, "r", "", "");
	bench_start(&b);
	run(&b);
	assert_has(&b, "r", "\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\"");
	assert_has(&b, "r",
		   "\"reason\":\"CalculationFailed\",\"message\":\"Failed to store the status: "
		   "as told\"}],\"poolCount\":0}");
	assert_int_equal(b.status_writes, 2);
	bench_release(&b);
}

/* --- clean-up -------------------------------------------------------------------------------- */

static void an_answered_request_is_deleted_after_an_hour(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(10) };

	add_request(&b, "r", "", "");
	bench_start(&b);
	run_s(&b, HOUR_S - 10);
	assert_true(is_there(&b, "r"));
	run_s(&b, 11 * 60);
	assert_false(is_there(&b, "r"));
	bench_release(&b);
}

static void a_request_that_cannot_be_answered_is_deleted_after_a_day(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(11) };
	char meta[128];

	add_slice(&b, "s", "p", 2, 1);
	add_request(&b, "old", created(&b, meta, 24 * HOUR_S + 5), "");
	add_request(&b, "young", created(&b, meta, 24 * HOUR_S - 15 * 60), "");
	add_request(&b, "new", created(&b, meta, 0), "");
	bench_start(&b);
	run(&b);
	assert_false(is_there(&b, "old"));
	run_s(&b, 14 * 60);
	assert_true(is_there(&b, "young"));
	run_s(&b, 8 * 60);
	assert_false(is_there(&b, "young"));
	assert_true(is_there(&b, "new"));
	bench_release(&b);
}

static void a_new_request_of_the_same_name_is_not_deleted(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(12) };

	add_request(&b, "r", "", "");
	add_request(&b, "s", "", "");
	bench_start(&b);
	run_s(&b, HOUR_S - 60);
	/* Our copy does not show that it was replaced. */
	fakeapi_hold_back(b.w->api, "resourcepoolstatusrequests");
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", REQUESTS "/r", STR_NULL, NULL), 200);
	add_request(&b, "r", "", "");
	run_s(&b, 20 * 60);
	assert_true(is_there(&b, "r"));
	/* It does not delay the next one. */
	assert_false(is_there(&b, "s"));
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_has(&b, "r", "\"poolCount\":0");
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered_once),
		cmocka_unit_test(every_sort_of_device_is_counted),
		cmocka_unit_test(pools_beyond_the_limit_are_counted_only),
		cmocka_unit_test(a_driver_that_nobody_knows_has_no_pools),
		cmocka_unit_test(partitions_without_their_attribute_are_told_as_an_error),
		cmocka_unit_test(
			an_incomplete_pool_is_answered_when_it_is_complete_at_the_next_event),
		cmocka_unit_test(a_pool_that_becomes_complete_at_once_is_answered_by_a_retry),
		cmocka_unit_test(a_failing_write_is_tried_five_times_more),
		cmocka_unit_test(an_answer_that_is_refused_says_so),
		cmocka_unit_test(an_answered_request_is_deleted_after_an_hour),
		cmocka_unit_test(a_request_that_cannot_be_answered_is_deleted_after_a_day),
		cmocka_unit_test(a_new_request_of_the_same_name_is_not_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
