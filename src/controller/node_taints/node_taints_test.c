/*
 * Eviction from tainted nodes against a fake API server: in time, once, with condition and event,
 * cancelled when the taint goes, and right whatever is lost.
 */
#include "controller/node_taints/node_taints.h"

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

#define PODS  "/api/v1/namespaces/n/pods"
#define TAINT "{\"key\":\"k\",\"effect\":\"NoExecute\"}"

struct bench {
	struct controller_world *w;
	struct node_taints *taints;
	int fault; /* of the next writes to pods */
	unsigned faults; /* left */
	size_t deletes;
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;
	bool writes = !str_eq(q->method, STR("GET")) && str_starts(q->path, STR(PODS));

	if (str_eq(q->method, STR("DELETE")) && writes)
		b->deletes++;
	if (!writes || b->faults == 0)
		return FAKEAPI_WELL;
	b->faults--;
	return b->fault;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->w->api->fault = bench_fault;
	b->w->api->fault_arg = b;
	b->taints = node_taints_new(&b->w->ctx, 0);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	node_taints_free(TAKE(b->taints));
	controller_world_stop(b->w);
}

static struct bench bench_new(void)
{
	struct bench b = { .w = controller_world_new(3) };

	fakeapi_add(b.w->api, "nodes", "", "n1", "", "");
	return b;
}

static void bench_free(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct bench *b, int64_t ms)
{
	controller_world_run(b->w, ms);
}

static void taint(struct bench *b, const char *taints)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "{\"spec\":{\"taints\":[%s]}}", taints);
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", "/api/v1/nodes/n1", str_from(text), NULL),
			 200);
}

/* A pod on the node; `seconds` < 0: it does not tolerate the taint. */
static void add_pod(struct bench *b, const char *name, int seconds)
{
	char uid[64], rest[400], toleration[200] = "";

	if (seconds >= 0)
		(void)snprintf(toleration, sizeof(toleration),
			       "{\"key\":\"k\",\"operator\":\"Exists\",\"tolerationSeconds\":%d}",
			       seconds);
	(void)snprintf(uid, sizeof(uid), ",\"uid\":\"u-%s\"", name);
	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"nodeName\":\"n1\",\"tolerations\":[%s]},"
		       "\"status\":{\"phase\":\"Running\"}",
		       toleration);
	fakeapi_add(b->w->api, "pods", "n", name, uid, rest);
}

static bool pod_is_there(const struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "pods", "n", name) &&
	       !fakeapi_has(b->w->api, "pods", "n", name, "deletionTimestamp");
}

static size_t events(const struct bench *b, const char *text)
{
	return fakeapi_count_with(b->w->api, "events", text);
}

static void pods_leave_when_their_time_is_over(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "now", -1);
	add_pod(&b, "soon", 30);
	add_pod(&b, "later", 300);
	bench_start(&b);
	run(&b, 2000);
	assert_int_equal(b.deletes, 0);
	taint(&b, TAINT);
	run(&b, 5000);
	assert_false(pod_is_there(&b, "now"));
	assert_true(pod_is_there(&b, "soon"));
	assert_int_equal(events(&b, "Marking for deletion Pod n/now"), 1);
	run(&b, 30000);
	assert_false(pod_is_there(&b, "soon"));
	assert_true(pod_is_there(&b, "later"));
	run(&b, 300000);
	assert_false(pod_is_there(&b, "later"));
	assert_int_equal(b.deletes, 3);
	bench_free(&b);
}

static void the_condition_is_written_first(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", -1);
	taint(&b, TAINT);
	b.fault = FAKEAPI_WELL;
	bench_start(&b);
	fakeapi_call(b.w->api, "PATCH", PODS "/p", STR("{\"metadata\":{\"finalizers\":[\"x/y\"]}}"),
		     NULL);
	run(&b, 2000);
	assert_true(fakeapi_has(b.w->api, "pods", "n", "p", "\"DeletionByTaintManager\""));
	assert_true(fakeapi_has(b.w->api, "pods", "n", "p",
				"Taint manager: deleting due to NoExecute taint"));
	assert_true(fakeapi_has(b.w->api, "pods", "n", "p", "deletionTimestamp"));
	assert_int_equal(b.deletes, 1);
	bench_free(&b);
}

static void a_taint_that_goes_cancels(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", 60);
	bench_start(&b);
	taint(&b, TAINT);
	run(&b, 30000);
	taint(&b, "");
	run(&b, 100000);
	assert_true(pod_is_there(&b, "p"));
	assert_int_equal(events(&b, "Cancelling deletion of Pod n/p"), 1);
	taint(&b, TAINT);
	run(&b, 50000);
	assert_true(pod_is_there(&b, "p"));
	run(&b, 15000);
	assert_false(pod_is_there(&b, "p"));
	bench_free(&b);
}

static void a_pod_that_comes_to_a_tainted_node_leaves(void **state UNUSED)
{
	struct bench b = bench_new();

	taint(&b, TAINT);
	bench_start(&b);
	run(&b, 1000);
	add_pod(&b, "p", -1);
	run(&b, 1000);
	assert_false(pod_is_there(&b, "p"));
	bench_free(&b);
}

/* The start of a taint is in the object, so a new controller does not begin anew. */
static void a_restart_extends_nothing(void **state UNUSED)
{
	struct bench b = bench_new();
	char time[TIMESTAMP_SIZE], text[200];

	add_pod(&b, "p", 60);
	bench_start(&b);
	(void)timestamp_print(clock_wall(loop_clock(b.w->loop)), TIMESTAMP_SECONDS, time);
	(void)snprintf(text, sizeof(text),
		       "{\"key\":\"k\",\"effect\":\"NoExecute\",\"timeAdded\":\"%s\"}", time);
	taint(&b, text);
	run(&b, 40000);
	bench_stop(&b);
	bench_start(&b);
	run(&b, 10000);
	assert_true(pod_is_there(&b, "p"));
	run(&b, 12000);
	assert_false(pod_is_there(&b, "p"));
	bench_free(&b);
}

/* Each write in turn fails, is lost, or is cut off while the controller ends. */
static void the_pod_goes_whatever_is_lost(void **state UNUSED)
{
	static const int faults[] = { 500, 409, FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, FAKEAPI_HOLD };

	for (size_t i = 0; i < ARRAY_SIZE(faults) * 3; i++) {
		struct bench b = bench_new();

		b.fault = faults[i / 3];
		b.faults = (unsigned)(i % 3) + 1;
		add_pod(&b, "p", -1);
		add_pod(&b, "kept", 100000);
		taint(&b, TAINT);
		bench_start(&b);
		run(&b, 100);
		bench_stop(&b);
		fakeapi_let_go(b.w->api);
		b.faults = b.fault == FAKEAPI_HOLD ? 0 : b.faults;
		bench_start(&b);
		run(&b, 60000);
		if (pod_is_there(&b, "p"))
			fail_msg("fault %d: the pod is still there", b.fault);
		assert_true(pod_is_there(&b, "kept"));
		bench_free(&b);
	}
}

/* A pod of the same name that replaces it without being on the node is not touched. */
static void another_pod_of_that_name_stays(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", 10);
	bench_start(&b);
	taint(&b, TAINT);
	run(&b, 5000);
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", PODS "/p",
				      STR("{\"gracePeriodSeconds\":0}"), NULL),
			 200);
	fakeapi_add(b.w->api, "pods", "n", "p", ",\"uid\":\"other\"", ",\"spec\":{}");
	run(&b, 60000);
	assert_true(pod_is_there(&b, "p"));
	assert_int_equal(b.deletes, 0);
	bench_free(&b);
}

static void a_node_that_is_gone_leaves_its_pods_to_the_collector(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", 10);
	bench_start(&b);
	taint(&b, TAINT);
	run(&b, 5000);
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", "/api/v1/nodes/n1", STR_NULL, NULL), 200);
	run(&b, 60000);
	assert_true(pod_is_there(&b, "p"));
	bench_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_leave_when_their_time_is_over),
		cmocka_unit_test(the_condition_is_written_first),
		cmocka_unit_test(a_taint_that_goes_cancels),
		cmocka_unit_test(a_pod_that_comes_to_a_tainted_node_leaves),
		cmocka_unit_test(a_restart_extends_nothing),
		cmocka_unit_test(the_pod_goes_whatever_is_lost),
		cmocka_unit_test(another_pod_of_that_name_stays),
		cmocka_unit_test(a_node_that_is_gone_leaves_its_pods_to_the_collector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
