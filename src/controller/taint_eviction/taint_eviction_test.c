/*
 * Eviction from tainted devices against a fake API server: in time, once, reported, and correct
 * whatever is lost on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/run/controller_world.h"
#include "controller/taint_eviction/taint_eviction.h"

#define RULES  "/apis/resource.k8s.io/v1/devicetaintrules"
#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims"
#define PODS   "/api/v1/namespaces/n/pods"
#define SLICES "/apis/resource.k8s.io/v1/resourceslices"

#define NO_EXECUTE "\"key\":\"k\",\"effect\":\"NoExecute\""

struct bench {
	struct controller_world *w;
	struct devices *devices;
	struct taint_eviction *eviction;
	struct metrics *metrics;
	int (*fault)(struct bench *b, const struct fakeapi_query *q); /* or NULL */
	int faults; /* left */
	size_t status_writes, deletes;
};

static int on_query(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (str_eq(q->method, STR("PATCH")) && str_starts(q->path, STR(RULES)))
		b->status_writes++;
	if (str_eq(q->method, STR("DELETE")) && str_starts(q->path, STR(PODS)))
		b->deletes++;
	return b->fault ? b->fault(b, q) : FAKEAPI_WELL;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->w->ctx.metrics = b->metrics;
	b->w->api->fault = on_query;
	b->w->api->fault_arg = b;
	b->devices = controller_world_devices(b->w, false);
	b->eviction = taint_eviction_new(&b->w->ctx, b->devices,
					 &(struct taint_eviction_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	taint_eviction_free(TAKE(b->eviction));
	devices_free(TAKE(b->devices));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	metrics_free(b->metrics);
}

static void run(struct bench *b, int64_t ms)
{
	controller_world_run(b->w, ms);
}

/* --- objects --------------------------------------------------------------------------------- */

/* A time `seconds` from now. */
static const char *time_in(struct bench *b, int64_t seconds, char out[static TIMESTAMP_SIZE])
{
	(void)timestamp_print(clock_wall(loop_clock(b->w->loop)) + seconds * CLOCK_SEC,
			      TIMESTAMP_SECONDS, out);
	return out;
}

static void add_rule(struct bench *b, const char *name, const char *selector, const char *effect,
		     int64_t since)
{
	char time[TIMESTAMP_SIZE], rest[512];

	(void)snprintf(
		rest, sizeof(rest),
		",\"spec\":{\"deviceSelector\":{%s},\"taint\":{\"key\":\"k\",\"effect\":\"%s\","
		"\"timeAdded\":\"%s\"}}",
		selector, effect, time_in(b, since, time));
	fakeapi_add(b->w->api, "devicetaintrules", "", name, "", rest);
}

/* Pod NAME uses claim NAME, which holds device NAME of pool p. */
static void add_pod(struct bench *b, const char *name, const char *toleration)
{
	char meta[64], rest[600];

	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"u-%s\"", name);
	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"nodeName\":\"n1\",\"resourceClaims\":[{\"name\":\"x\","
		       "\"resourceClaimName\":\"%s\"}]}",
		       name);
	fakeapi_add(b->w->api, "pods", "n", name, meta, rest);
	(void)snprintf(
		rest, sizeof(rest),
		",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
		"\"driver\":\"d\",\"pool\":\"p\",\"device\":\"%s\",\"tolerations\":[%s]}]}},"
		"\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"%s\",\"uid\":\"u-%s\"}]}",
		name, toleration, name, name);
	fakeapi_add(b->w->api, "resourceclaims", "n", name, "", rest);
}

static void add_slice(struct bench *b, const char *name, int generation, const char *devices)
{
	char rest[600];

	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"p\","
		       "\"generation\":%d,\"resourceSliceCount\":1},\"devices\":[%s]}",
		       generation, devices);
	fakeapi_add(b->w->api, "resourceslices", "", name, "", rest);
}

static void patch(struct bench *b, const char *target, const char *change)
{
	int status = fakeapi_call(b->w->api, "PATCH", target, str_from(change), NULL);

	if (status != 200)
		fail_msg("%s: %d", target, status);
}

static void delete_it(struct bench *b, const char *target)
{
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

/* Whether it exists and is not being deleted: the fake server waits for a node. */
static bool has_pod(struct bench *b, const char *name)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "pods", "n", name);

	return o && !strstr(o->text, "\"deletionTimestamp\"");
}

/* Whether the rule's text contains it. */
static void assert_rule(struct bench *b, const char *name, const char *text)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "devicetaintrules", "", name);

	if (!o || !strstr(o->text, text))
		fail_msg("no %s in %s", text, o ? o->text : "nothing");
}

static size_t count_events(struct bench *b, const char *message)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	size_t n = 0;

	(void)fakeapi_call(b->w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	for (const char *at = out.p; (at = strstr(at, message)); at++)
		n++;
	buf_release(&out);
	return n;
}

/* Whether the pod was marked, in its text at the deletion or before. */
static bool was_marked(struct bench *b, const char *name)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "pods/n/%s", name);
	for (size_t i = 0; i < b->w->api->log.n; i++) {
		const struct fakeapi_event *e = &b->w->api->log.v[i];

		if (strcmp(e->key, key) == 0 && strstr(e->text, "\"DisruptionTarget\"") &&
		    strstr(e->text, "\"DeletionByDeviceTaintManager\""))
			return true;
	}
	return false;
}

/* --- rules ----------------------------------------------------------------------------------- */

static void a_rule_evicts_and_is_told_how_far_it_is(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1), .metrics = metrics_new() };
	struct buf text = BUF_INIT(SIZE_MAX);

	add_pod(&b, "a", "");
	add_pod(&b, "other", "");
	bench_start(&b);
	run(&b, 1000);
	add_rule(&b, "r", "\"driver\":\"d\",\"device\":\"a\"", "NoExecute", 0);
	run(&b, 2000);
	assert_false(has_pod(&b, "a"));
	assert_true(has_pod(&b, "other"));
	assert_true(was_marked(&b, "a"));
	assert_int_equal(count_events(&b, "\"message\":\"Marking for deletion\""), 1);
	assert_rule(&b, "r", "\"reason\":\"PodsPendingEviction\"");
	assert_rule(&b, "r", "\"message\":\"1 pod needs to be evicted in 1 namespace.\"");
	assert_rule(&b, "r", "\"observedGeneration\":1");
	run(&b, 30 * 1000);
	assert_rule(&b, "r", "\"reason\":\"Completed\"");
	assert_rule(&b, "r", "\"message\":\"1 pod evicted since starting the controller.\"");
	assert_int_equal(b.status_writes, 2);
	assert_int_equal(b.deletes, 1);
	metrics_print(b.metrics, &text);
	assert_non_null(strstr(text.p, "device_taint_eviction_controller_pod_deletions_total 1\n"));
	assert_non_null(strstr(text.p, "device_taint_eviction_controller_pod_deletion_duration_"
				       "seconds_count 1\n"));
	buf_release(&text);
	bench_release(&b);
}

static void a_status_is_written_at_most_every_ten_seconds(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };
	char name[16];

	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	for (unsigned i = 0; i < 60; i++) {
		(void)snprintf(name, sizeof(name), "p%u", i);
		add_pod(&b, name, "");
		run(&b, 500);
	}
	run(&b, 20 * 1000);
	assert_int_equal(b.deletes, 60);
	assert_rule(&b, "r", "60 pods evicted since");
	assert_in_range(b.status_writes, 4, 6);
	bench_release(&b);
}

static void a_rule_without_effect_says_what_it_would_do(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	add_slice(&b, "s", 1, "{\"name\":\"a\"},{\"name\":\"c\"},{\"name\":\"free\"}");
	add_pod(&b, "a", "");
	add_pod(&b, "c", "{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}");
	bench_start(&b);
	add_rule(&b, "r", "\"pool\":\"p\"", "None", 0);
	run(&b, 3000);
	assert_rule(&b, "r", "\"reason\":\"NoEffect\"");
	assert_rule(&b, "r",
		    "3 published devices selected. 2 allocated devices selected. 1 pod would be "
		    "evicted in 1 namespace if the effect was NoExecute.");
	assert_true(has_pod(&b, "a"));
	patch(&b, RULES "/r", "{\"spec\":{\"taint\":{\"effect\":\"NoExecute\"}}}");
	run(&b, 3000);
	assert_false(has_pod(&b, "a"));
	assert_true(has_pod(&b, "c"));
	assert_rule(&b, "r", "\"observedGeneration\":2");
	patch(&b, RULES "/r", "{\"spec\":{\"taint\":{\"effect\":\"NoSchedule\"}}}");
	run(&b, 3000);
	assert_rule(&b, "r",
		    "Eviction only happens for the NoExecute effect. 1 pod evicted since starting");
	bench_release(&b);
}

static void a_rule_of_the_same_name_begins_anew(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	add_pod(&b, "a", "");
	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	run(&b, 15 * 1000);
	assert_rule(&b, "r", "\"reason\":\"Completed\"");
	fakeapi_hold_back(b.w->api, "devicetaintrules");
	delete_it(&b, RULES "/r");
	add_rule(&b, "r", "", "NoExecute", 0);
	fakeapi_catch_up(b.w->api);
	run(&b, 5 * 1000);
	assert_rule(&b, "r", "\"reason\":\"NotStarted\"");
	bench_release(&b);
}

/* --- time ------------------------------------------------------------------------------------ */

static void tolerations_are_counted_from_the_taint_whoever_counts(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };

	add_pod(&b, "a",
		"{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":60}");
	add_rule(&b, "r", "", "NoExecute", -20);
	bench_start(&b);
	run(&b, 20 * 1000);
	assert_true(has_pod(&b, "a"));
	assert_rule(&b, "r", "\"reason\":\"PodsPendingEviction\"");
	bench_stop(&b);
	run(&b, 5 * 1000);
	bench_start(&b);
	run(&b, 13 * 1000);
	assert_true(has_pod(&b, "a"));
	run(&b, 4 * 1000);
	assert_false(has_pod(&b, "a"));
	bench_release(&b);
}

/* The server's clock is an hour ahead of ours. (SIM_SEED=17000016) */
static void a_taint_that_nobody_tolerates_evicts_whatever_the_clocks_say(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(14) };

	add_pod(&b, "a", "");
	add_rule(&b, "r", "", "NoExecute", 3600);
	bench_start(&b);
	run(&b, 5000);
	assert_false(has_pod(&b, "a"));
	bench_release(&b);
}

static void a_rule_withdrawn_in_time_evicts_no_pod(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };

	add_pod(&b, "a",
		"{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":60}");
	bench_start(&b);
	add_rule(&b, "r", "", "NoExecute", 0);
	run(&b, 50 * 1000);
	delete_it(&b, RULES "/r");
	run(&b, 60 * 1000);
	assert_true(has_pod(&b, "a"));
	assert_false(was_marked(&b, "a"));
	assert_int_equal(count_events(&b, "\"message\":\"Cancelling deletion\""), 1);
	bench_release(&b);
}

static void a_status_tells_that_pods_left_by_themselves(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7) };

	add_pod(&b, "a",
		"{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":600}");
	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	run(&b, 20 * 1000);
	assert_rule(&b, "r", "\"reason\":\"PodsPendingEviction\"");
	delete_it(&b, PODS "/a");
	run(&b, 20 * 1000);
	assert_rule(&b, "r", "\"reason\":\"NotStarted\"");
	assert_int_equal(b.deletes, 0);
	bench_release(&b);
}

/* --- slices ---------------------------------------------------------------------------------- */

static void a_taint_in_a_slice_evicts(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(8) };
	char time[TIMESTAMP_SIZE], change[512];

	add_slice(&b, "s", 1, "{\"name\":\"a\"},{\"name\":\"c\"}");
	add_pod(&b, "a", "");
	add_pod(&b, "c", "");
	bench_start(&b);
	run(&b, 1000);
	(void)snprintf(change, sizeof(change),
		       "{\"spec\":{\"devices\":[{\"name\":\"a\",\"taints\":[{" NO_EXECUTE
		       ",\"timeAdded\":\"%s\"}]},{\"name\":\"c\"}]}}",
		       time_in(&b, 0, time));
	patch(&b, SLICES "/s", change);
	run(&b, 2000);
	assert_false(has_pod(&b, "a"));
	assert_true(has_pod(&b, "c"));
	bench_release(&b);
}

static void taints_of_an_older_generation_do_not_count_any_more(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(9) };
	char time[TIMESTAMP_SIZE], devices[300];

	(void)snprintf(devices, sizeof(devices),
		       "{\"name\":\"a\",\"taints\":[{" NO_EXECUTE ",\"timeAdded\":\"%s\"}]}",
		       time_in(&b, 0, time));
	add_slice(&b, "s", 1, devices);
	add_pod(&b, "a",
		"{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":60}");
	bench_start(&b);
	run(&b, 30 * 1000);
	add_slice(&b, "t", 2, "{\"name\":\"a\"}");
	run(&b, 5 * 1000);
	assert_int_equal(count_events(&b, "\"message\":\"Cancelling deletion\""), 1);
	/* The newer one is withdrawn. */
	delete_it(&b, SLICES "/t");
	run(&b, 20 * 1000);
	assert_true(has_pod(&b, "a"));
	run(&b, 10 * 1000);
	assert_false(has_pod(&b, "a"));
	bench_release(&b);
}

static void a_claim_that_gets_a_tainted_device_evicts_its_pod(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(10) };

	add_rule(&b, "r", "\"device\":\"a\"", "NoExecute", -100);
	add_pod(&b, "a", "");
	patch(&b, CLAIMS "/a", "{\"status\":{\"reservedFor\":null}}");
	bench_start(&b);
	run(&b, 3000);
	assert_true(has_pod(&b, "a"));
	patch(&b, CLAIMS "/a",
	      "{\"status\":{\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"a\",\"uid\":"
	      "\"u-a\"}]}}");
	run(&b, 3000);
	assert_false(has_pod(&b, "a"));
	bench_release(&b);
}

/* --- faults ---------------------------------------------------------------------------------- */

static int lose_deletes(struct bench *b, const struct fakeapi_query *q)
{
	if (!str_eq(q->method, STR("DELETE")) || b->faults == 0)
		return FAKEAPI_WELL;
	return b->faults-- % 2 ? FAKEAPI_CUT : FAKEAPI_DO_AND_CUT;
}

static void a_lost_answer_is_made_up_for(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(11), .fault = lose_deletes, .faults = 3 };

	add_pod(&b, "a", "");
	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	run(&b, 20 * 1000);
	assert_false(has_pod(&b, "a"));
	run(&b, 20 * 1000);
	/* A second delete finds nothing, and is not counted. */
	assert_rule(&b, "r", "\"status\":\"False\"");
	bench_release(&b);
}

static void a_new_pod_of_that_name_is_left_alone(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(12) };

	add_pod(&b, "a",
		"{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":10}");
	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	run(&b, 5 * 1000);
	/* Our copy does not show it at that time. */
	fakeapi_hold_back(b.w->api, "pods");
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	delete_it(&b, PODS "/a");
	fakeapi_add(b.w->api, "pods", "n", "a", ",\"uid\":\"another\"", ",\"spec\":{}");
	run(&b, 10 * 1000);
	assert_true(has_pod(&b, "a"));
	assert_false(was_marked(&b, "a"));
	fakeapi_catch_up(b.w->api);
	run(&b, 10 * 1000);
	assert_true(has_pod(&b, "a"));
	assert_int_equal(b.deletes, 0);
	bench_release(&b);
}

static int hold_marks(struct bench *b, const struct fakeapi_query *q)
{
	if (!str_eq(q->method, STR("PATCH")) || !str_starts(q->path, STR(PODS)) || b->faults == 0)
		return FAKEAPI_WELL;
	b->faults--;
	return FAKEAPI_HOLD_ANSWER;
}

static void a_pod_that_is_spared_while_it_is_marked_stays(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(13), .fault = hold_marks, .faults = 1 };

	add_pod(&b, "a", "");
	add_rule(&b, "r", "", "NoExecute", 0);
	bench_start(&b);
	run(&b, 2000);
	assert_true(was_marked(&b, "a"));
	delete_it(&b, RULES "/r");
	run(&b, 1000);
	fakeapi_let_go(b.w->api);
	run(&b, 5000);
	assert_true(has_pod(&b, "a"));
	assert_int_equal(b.deletes, 0);
	bench_release(&b);
}

/* Every fourth of 40 pods tolerates the taint. */
static void add_pods(struct bench *b)
{
	char name[16];

	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "p%u", i);
		add_pod(b, name, i % 4 ? "" : "{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}");
	}
}

/* A rule for every second device; meanwhile the watches break, and the controller is restarted. */
static void add_rules(struct bench *b)
{
	char name[16], selector[64];

	for (unsigned i = 0; i < 40; i += 2) {
		(void)snprintf(name, sizeof(name), "r%u", i);
		(void)snprintf(selector, sizeof(selector), "\"device\":\"p%u\"", i);
		add_rule(b, name, selector, "NoExecute", 0);
		if (i % 10 == 0)
			fakeapi_forget_past(b->w->api);
		run(b, 300);
		if (i == 20) {
			bench_stop(b);
			bench_start(b);
		}
	}
}

static void the_right_pods_go_whatever_fails(void **state UNUSED)
{
	for (uint64_t seed = 20; seed < 30; seed++) {
		struct bench b = { .w = controller_world_new(seed) };
		char name[16];

		add_pods(&b);
		b.w->api->fail = 0.2;
		bench_start(&b);
		add_rules(&b);
		run(&b, 60 * 1000);
		b.w->api->fail = 0;
		run(&b, 60 * 1000);
		for (unsigned i = 0; i < 40; i++) {
			(void)snprintf(name, sizeof(name), "p%u", i);
			assert_int_equal(has_pod(&b, name), i % 2 || i % 4 == 0);
		}
		bench_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_evicts_and_is_told_how_far_it_is),
		cmocka_unit_test(a_status_is_written_at_most_every_ten_seconds),
		cmocka_unit_test(a_rule_without_effect_says_what_it_would_do),
		cmocka_unit_test(a_rule_of_the_same_name_begins_anew),
		cmocka_unit_test(tolerations_are_counted_from_the_taint_whoever_counts),
		cmocka_unit_test(a_taint_that_nobody_tolerates_evicts_whatever_the_clocks_say),
		cmocka_unit_test(a_rule_withdrawn_in_time_evicts_no_pod),
		cmocka_unit_test(a_status_tells_that_pods_left_by_themselves),
		cmocka_unit_test(a_taint_in_a_slice_evicts),
		cmocka_unit_test(taints_of_an_older_generation_do_not_count_any_more),
		cmocka_unit_test(a_claim_that_gets_a_tainted_device_evicts_its_pod),
		cmocka_unit_test(a_lost_answer_is_made_up_for),
		cmocka_unit_test(a_new_pod_of_that_name_is_left_alone),
		cmocka_unit_test(a_pod_that_is_spared_while_it_is_marked_stays),
		cmocka_unit_test(the_right_pods_go_whatever_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
