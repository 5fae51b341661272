/*
 * ReplicaSets against a fake API server: creation, deletion, adoption, failures, stale caches and
 * crashes.
 */
#include "controller/replica_set/replica_sets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define PODS "/api/v1/namespaces/n/pods"
#define SETS "/apis/apps/v1/namespaces/n/replicasets"

struct bench {
	struct controller_world *w;
	struct replica_sets *sets;
	/* The fault of the at-th to upto-th write of pods (from 1). */
	unsigned at, upto, writes, created;
	int fault;
	bool crash; /* a request was reached at which the controller dies */
	unsigned crash_at, requests;
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;
	bool get = str_eq(q->method, STR("GET"));

	if (get || str_find(q->path, STR("/events")) >= 0)
		return FAKEAPI_WELL;
	b->requests++;
	if (b->crash_at && b->requests == b->crash_at) {
		b->crash = true;
		return b->fault;
	}
	if (str_find(q->path, STR("/pods")) < 0 || b->crash_at)
		return FAKEAPI_WELL;
	b->writes++;
	return b->writes >= b->at && b->writes <= b->upto ? b->fault : FAKEAPI_WELL;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->sets = replica_sets_new(&b->w->ctx, &(struct replica_sets_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	replica_sets_free(TAKE(b->sets));
	controller_world_stop(b->w);
}

static struct bench *bench_new(uint64_t seed)
{
	struct bench *b = XNEW(struct bench);

	b->w = controller_world_new(seed);
	b->w->api->fault = bench_fault;
	b->w->api->fault_arg = b;
	bench_start(b);
	return b;
}

static void bench_free(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	free(b);
}

static void run(struct bench *b)
{
	controller_world_run(b->w, 3000);
}

static void add_set_with(struct bench *b, const char *name, int replicas, const char *spec)
{
	char rest[512];

	(void)snprintf(
		rest, sizeof(rest),
		",\"spec\":{\"replicas\":%d,%s\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
		"\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
		"\"containers\":[{\"name\":\"c\"}]}}}",
		replicas, spec);
	fakeapi_add(b->w->api, "replicasets", "n", name, ",\"generation\":1,\"uid\":\"set-1\"",
		    rest);
}

static void add_set(struct bench *b, const char *name, int replicas)
{
	add_set_with(b, name, replicas, "");
}

static void patch(struct bench *b, const char *target, const char *change)
{
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", target, str_from(change), NULL), 200);
}

static void scale(struct bench *b, const char *name, int replicas)
{
	char target[128], change[64];

	(void)snprintf(target, sizeof(target), SETS "/%s", name);
	(void)snprintf(change, sizeof(change), "{\"spec\":{\"replicas\":%d}}", replicas);
	patch(b, target, change);
}

static size_t count_pods(struct bench *b)
{
	return fakeapi_count(b->w->api, "pods");
}

/* Counts pods that have this text. */
static size_t count_pods_with(struct bench *b, const char *text)
{
	return fakeapi_count_with(b->w->api, "pods", text);
}

static bool has_event(struct bench *b, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	bool has;

	(void)fakeapi_call(b->w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	has = strstr(out.p, text) != NULL;
	buf_release(&out);
	return has;
}

static bool has_status(struct bench *b, const char *text)
{
	return fakeapi_has(b->w->api, "replicasets", "n", "web", text);
}

static void set_ready(struct bench *b, size_t index, const char *since)
{
	char target[128], change[256];

	(void)snprintf(target, sizeof(target), PODS "/%s",
		       fakeapi_name_at(b->w->api, "pods", index));
	(void)snprintf(change, sizeof(change),
		       "{\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\","
		       "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
		       "\"lastTransitionTime\":\"%s\"}]}}",
		       since);
	patch(b, target, change);
}

static void delete_pod(struct bench *b, const char *name)
{
	char target[128];

	(void)snprintf(target, sizeof(target), PODS "/%s", name);
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

/* --- as it should be ------------------------------------------------------------------------- */

static void pods_follow_replicas(void **state UNUSED)
{
	struct bench *b = bench_new(1);

	add_set(b, "web", 3);
	run(b);
	assert_int_equal(count_pods(b), 3);
	assert_int_equal(count_pods_with(b, "\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":"
					    "\"set-1\",\"controller\":true"),
			 3);
	assert_true(has_status(b, "\"replicas\":3,\"terminatingReplicas\":0"));
	assert_true(has_status(b, "\"observedGeneration\":1"));
	assert_true(has_event(b, "\"reason\":\"SuccessfulCreate\""));
	scale(b, "web", 1);
	run(b);
	assert_int_equal(count_pods(b), 1);
	assert_true(has_status(b, "\"observedGeneration\":2"));
	assert_true(has_event(b, "\"reason\":\"SuccessfulDelete\""));
	delete_pod(b, fakeapi_name_at(b->w->api, "pods", 0));
	run(b);
	assert_int_equal(count_pods(b), 1);
	bench_free(b);
}

static void ready_pods_are_counted_and_kept(void **state UNUSED)
{
	struct bench *b = bench_new(2);
	char kept[64];

	add_set(b, "web", 3);
	run(b);
	set_ready(b, 1, "2024-01-01T00:00:00Z");
	(void)snprintf(kept, sizeof(kept), "%s", fakeapi_name_at(b->w->api, "pods", 1));
	run(b);
	assert_true(has_status(b, "\"readyReplicas\":1,\"availableReplicas\":1"));
	scale(b, "web", 1);
	run(b);
	assert_int_equal(count_pods(b), 1);
	assert_string_equal(fakeapi_name_at(b->w->api, "pods", 0), kept);
	bench_free(b);
}

static void availability_comes_with_time(void **state UNUSED)
{
	struct bench *b = bench_new(3);
	char since[TIMESTAMP_SIZE];

	add_set_with(b, "web", 1, "\"minReadySeconds\":30,");
	run(b);
	(void)timestamp_print(clock_wall(loop_clock(b->w->loop)), TIMESTAMP_SECONDS, since);
	set_ready(b, 0, since);
	run(b);
	assert_true(has_status(b, "\"readyReplicas\":1"));
	assert_false(has_status(b, "\"availableReplicas\":1"));
	controller_world_run(b->w, 30000);
	assert_true(has_status(b, "\"availableReplicas\":1"));
	bench_free(b);
}

static void orphans_are_adopted_and_strangers_released(void **state UNUSED)
{
	struct bench *b = bench_new(4);
	char target[128];

	fakeapi_add(b->w->api, "pods", "n", "orphan", ",\"labels\":{\"app\":\"web\"}", "");
	fakeapi_add(b->w->api, "pods", "n", "done", ",\"labels\":{\"app\":\"web\"}",
		    ",\"status\":{\"phase\":\"Succeeded\"}");
	fakeapi_add(b->w->api, "pods", "n", "stranger", ",\"labels\":{\"app\":\"db\"}", "");
	add_set(b, "web", 2);
	run(b);
	assert_int_equal(count_pods_with(b, "\"uid\":\"set-1\""), 2);
	assert_true(fakeapi_has(b->w->api, "pods", "n", "orphan", "set-1"));
	assert_false(fakeapi_has(b->w->api, "pods", "n", "done", "set-1"));
	/* One that loses the label is released and replaced. */
	(void)snprintf(target, sizeof(target), PODS "/orphan");
	patch(b, target, "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}");
	run(b);
	assert_false(fakeapi_has(b->w->api, "pods", "n", "orphan", "set-1"));
	assert_int_equal(count_pods_with(b, "\"uid\":\"set-1\""), 2);
	/* It comes back, so that there is one too many. */
	patch(b, target, "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
	run(b);
	assert_int_equal(count_pods_with(b, "\"uid\":\"set-1\""), 2);
	bench_free(b);
}

static void a_set_that_is_deleted_creates_nothing(void **state UNUSED)
{
	struct bench *b = bench_new(5);

	add_set(b, "web", 2);
	run(b);
	patch(b, SETS "/web", "{\"metadata\":{\"finalizers\":[\"x/y\"]}}");
	(void)fakeapi_call(b->w->api, "DELETE", SETS "/web", STR_NULL, NULL);
	delete_pod(b, fakeapi_name_at(b->w->api, "pods", 0));
	run(b);
	assert_int_equal(count_pods(b), 1);
	assert_true(has_status(b, "\"replicas\":1"));
	bench_free(b);
}

static void finished_pods_are_replaced_and_stay(void **state UNUSED)
{
	struct bench *b = bench_new(6);
	char target[128];

	add_set(b, "web", 1);
	run(b);
	(void)snprintf(target, sizeof(target), PODS "/%s", fakeapi_name_at(b->w->api, "pods", 0));
	patch(b, target, "{\"status\":{\"phase\":\"Failed\"}}");
	run(b);
	assert_int_equal(count_pods(b), 2);
	assert_true(has_status(b, "\"replicas\":1"));
	bench_free(b);
}

static void selectors_that_select_nothing_create_nothing(void **state UNUSED)
{
	static const char *const selectors[] = { "{}", "null", "7", "{\"matchLabels\":[]}" };
	struct bench *b = bench_new(7);

	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++) {
		char name[8], rest[128];

		(void)snprintf(name, sizeof(name), "s%zu", i);
		(void)snprintf(rest, sizeof(rest), ",\"spec\":{\"replicas\":1,\"selector\":%s}",
			       selectors[i]);
		fakeapi_add(b->w->api, "replicasets", "n", name, "", rest);
	}
	run(b);
	assert_int_equal(count_pods(b), 0);
	bench_free(b);
}

/* --- as it should not be --------------------------------------------------------------------- */

static void a_quota_costs_one_rejection_and_an_event(void **state UNUSED)
{
	struct bench *b = bench_new(8);

	b->at = 4;
	b->upto = UINT32_MAX;
	b->fault = 403;
	add_set(b, "web", 100);
	run(b);
	/* Windows of 1, 2 and 4: all of the third one fail, and then one per attempt. */
	assert_int_equal(count_pods(b), 3);
	assert_true(has_status(b, "\"type\":\"ReplicaFailure\",\"status\":\"True\""));
	assert_true(has_status(b, "\"reason\":\"FailedCreate\""));
	assert_true(has_event(b, "\"reason\":\"FailedCreate\""));
	/* With the back-off there are few more. */
	assert_in_range(b->writes, 8, 30);
	b->upto = 0;
	controller_world_run(b->w, 60000);
	assert_int_equal(count_pods(b), 100);
	assert_false(has_status(b, "ReplicaFailure"));
	bench_free(b);
}

static void a_namespace_that_ends_is_no_failure(void **state UNUSED)
{
	struct bench *b = bench_new(18);

	add_set(b, "web", 50);
	fakeapi_add(b->w->api, "namespaces", "", "n",
		    ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\"", "");
	controller_world_run(b->w, 60000);
	assert_int_equal(count_pods(b), 0);
	/* The second one follows from the write of the status. */
	assert_in_range(b->writes, 1, 2);
	assert_false(has_status(b, "ReplicaFailure"));
	bench_free(b);
}

static void a_stale_cache_creates_nothing_twice(void **state UNUSED)
{
	struct bench *b = bench_new(9);

	fakeapi_hold_back(b->w->api, "pods");
	add_set(b, "web", 5);
	run(b);
	assert_int_equal(count_pods(b), 5);
	patch(b, SETS "/web", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	run(b);
	assert_int_equal(count_pods(b), 5);
	fakeapi_catch_up(b->w->api);
	run(b);
	/* The same for deletions. */
	fakeapi_hold_back(b->w->api, "pods");
	scale(b, "web", 3);
	run(b);
	patch(b, SETS "/web", "{\"metadata\":{\"labels\":{\"a\":\"c\"}}}");
	run(b);
	assert_int_equal(count_pods(b), 3);
	fakeapi_catch_up(b->w->api);
	run(b);
	assert_int_equal(count_pods(b), 3);
	assert_true(has_status(b, "\"replicas\":3"));
	bench_free(b);
}

static void lost_replies_make_nothing_twice(void **state UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, 500, 503 };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		for (unsigned at = 1; at <= 4; at++) {
			struct bench *b = bench_new(10 + at);

			b->at = b->upto = at;
			b->fault = faults[i];
			fakeapi_hold_back(b->w->api, "pods");
			add_set(b, "web", 4);
			controller_world_run(b->w, 20000);
			assert_in_range(count_pods(b), 0, 4);
			fakeapi_catch_up(b->w->api);
			controller_world_run(b->w, 60000);
			assert_int_equal(count_pods(b), 4);
			/* And nothing more is deleted than should be. */
			b->at = b->upto = b->writes + (at + 1) / 2;
			fakeapi_hold_back(b->w->api, "pods");
			scale(b, "web", 2);
			controller_world_run(b->w, 20000);
			assert_in_range(count_pods(b), 2, 4);
			fakeapi_catch_up(b->w->api);
			controller_world_run(b->w, 60000);
			assert_int_equal(count_pods(b), 2);
			bench_free(b);
		}
	}
}

/* Dies at the n-th write: before it, or after it without its reply. False beyond the last one. */
static bool dies_at(unsigned n, int fault)
{
	struct bench *b = bench_new(n);
	bool died;

	b->crash_at = n;
	b->fault = fault;
	fakeapi_add(b->w->api, "pods", "n", "orphan", ",\"labels\":{\"app\":\"web\"}", "");
	add_set(b, "web", 5);
	for (int i = 0; i < 4000 && !b->crash; i++) {
		if (i == 2000)
			scale(b, "web", 2);
		controller_world_run(b->w, 1);
		assert_in_range(count_pods(b), 0, 5);
	}
	died = b->crash;
	bench_stop(b);
	b->crash_at = 0;
	scale(b, "web", 2);
	bench_start(b);
	for (int i = 0; i < 100; i++) {
		controller_world_run(b->w, 100);
		assert_in_range(count_pods(b), 1, 5);
	}
	assert_int_equal(count_pods(b), 2);
	assert_true(has_status(b, "\"replicas\":2"));
	bench_free(b);
	return died;
}

static void a_crash_at_any_write_makes_nothing_twice(void **state UNUSED)
{
	unsigned n = 1;

	while (dies_at(n, FAKEAPI_CUT) && dies_at(n, FAKEAPI_DO_AND_CUT))
		n++;
	assert_in_range(n, 8, 40);
}

static void it_comes_right_whatever_fails(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bench *b = bench_new(seed);

		b->w->api->fail = 0.2;
		add_set(b, "web", 6);
		for (int i = 0; i < 20; i++) {
			scale(b, "web", 3 + i % 5);
			controller_world_run(b->w, 300);
			if (i % 3 == 0)
				(void)sim_break_conns(b->w->sim, 0.7);
			if (i % 7 == 0)
				fakeapi_forget_past(b->w->api);
			if (i != 10)
				continue;
			bench_stop(b);
			bench_start(b);
		}
		b->w->api->fail = 0;
		scale(b, "web", 4);
		controller_world_run(b->w, 400000);
		assert_int_equal(count_pods(b), 4);
		assert_true(has_status(b, "\"replicas\":4"));
		bench_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_follow_replicas),
		cmocka_unit_test(ready_pods_are_counted_and_kept),
		cmocka_unit_test(availability_comes_with_time),
		cmocka_unit_test(orphans_are_adopted_and_strangers_released),
		cmocka_unit_test(a_set_that_is_deleted_creates_nothing),
		cmocka_unit_test(finished_pods_are_replaced_and_stay),
		cmocka_unit_test(selectors_that_select_nothing_create_nothing),
		cmocka_unit_test(a_quota_costs_one_rejection_and_an_event),
		cmocka_unit_test(a_namespace_that_ends_is_no_failure),
		cmocka_unit_test(a_stale_cache_creates_nothing_twice),
		cmocka_unit_test(lost_replies_make_nothing_twice),
		cmocka_unit_test(a_crash_at_any_write_makes_nothing_twice),
		cmocka_unit_test(it_comes_right_whatever_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
