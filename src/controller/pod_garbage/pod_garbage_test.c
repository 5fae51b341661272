/*
 * Garbage collection of pods against a fake API server and a simulated clock.
 */
#include "controller/pod_garbage/pod_garbage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define PODS "/api/v1/namespaces/x/pods"

struct bench {
	struct controller_world *w;
	struct pod_garbage *garbage;
	struct pod_garbage_opts opts;
	int fault;
	unsigned faults; /* left, of writes to pods */
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;
	bool writes = str_starts(q->path, STR(PODS)) && !str_eq(q->method, STR("GET"));

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
	b->garbage = pod_garbage_new(&b->w->ctx, &b->opts);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	pod_garbage_free(TAKE(b->garbage));
	controller_world_stop(b->w);
}

static struct bench bench_new(void)
{
	struct bench b = { .w = controller_world_new(11) };

	fakeapi_add(b.w->api, "nodes", "", "n1", "", "");
	return b;
}

static void bench_free(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct bench *b, int64_t seconds)
{
	controller_world_run(b->w, seconds * 1000);
}

static void add_pod(struct bench *b, const char *name, const char *node, const char *phase,
		    const char *meta)
{
	char all[300], rest[300];

	(void)snprintf(all, sizeof(all), ",\"uid\":\"u-%s\"%s", name, meta);
	(void)snprintf(rest, sizeof(rest), ",\"spec\":{\"nodeName\":\"%s\"},\"status\":{%s%s%s}",
		       node, *phase ? "\"phase\":\"" : "", phase, *phase ? "\"" : "");
	fakeapi_add(b->w->api, "pods", "x", name, all, rest);
}

static bool pod_is_there(const struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "pods", "x", name) != NULL;
}

static void call(struct bench *b, const char *method, const char *target, const char *body)
{
	int status = fakeapi_call(b->w->api, method, target, str_from(body), NULL);

	if (status != 200)
		fail_msg("%s %s: %d", method, target, status);
}

static void orphans_go_after_the_quarantine(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", "n1", "Running", "");
	add_pod(&b, "kept", "n1", "Running", ",\"finalizers\":[\"a/b\"]");
	bench_start(&b);
	run(&b, 100);
	assert_true(pod_is_there(&b, "p"));
	call(&b, "DELETE", "/api/v1/nodes/n1", NULL);
	run(&b, 35);
	assert_true(pod_is_there(&b, "p"));
	run(&b, 10);
	assert_false(pod_is_there(&b, "p"));
	assert_true(fakeapi_has(b.w->api, "pods", "x", "kept", "\"Failed\""));
	assert_true(fakeapi_has(b.w->api, "pods", "x", "kept", "\"DeletionByPodGC\""));
	assert_true(fakeapi_has(b.w->api, "pods", "x", "kept", "PodGC: node no longer exists"));
	bench_free(&b);
}

static void orphans_from_before_the_start_go_too(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", "nowhere", "Running", "");
	bench_start(&b);
	run(&b, 50);
	assert_false(pod_is_there(&b, "p"));
	/* The node is known to be gone now, until it appears. */
	add_pod(&b, "q", "nowhere", "Running", "");
	run(&b, 50);
	assert_false(pod_is_there(&b, "q"));
	fakeapi_add(b.w->api, "nodes", "", "nowhere", "", "");
	run(&b, 1);
	add_pod(&b, "r", "nowhere", "Running", "");
	run(&b, 200);
	assert_true(pod_is_there(&b, "r"));
	bench_free(&b);
}

static void a_node_that_comes_back_keeps_its_pods(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "p", "n1", "Running", "");
	bench_start(&b);
	run(&b, 10);
	call(&b, "DELETE", "/api/v1/nodes/n1", NULL);
	run(&b, 20);
	fakeapi_add(b.w->api, "nodes", "", "n1", "", "");
	run(&b, 200);
	assert_true(pod_is_there(&b, "p"));
	bench_free(&b);
}

/* Our watch does not show the node, but the server has it. */
static void a_late_watch_collects_nothing(void **state UNUSED)
{
	struct bench b = bench_new();

	bench_start(&b);
	run(&b, 10);
	fakeapi_hold_back(b.w->api, "nodes");
	fakeapi_add(b.w->api, "nodes", "", "n2", "", "");
	add_pod(&b, "p", "n2", "Running", "");
	run(&b, 200);
	assert_true(pod_is_there(&b, "p"));
	fakeapi_catch_up(b.w->api);
	run(&b, 100);
	assert_true(pod_is_there(&b, "p"));
	bench_free(&b);
}

#define DELETED ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\""

static void deleted_pods_without_a_node_go(void **state UNUSED)
{
	struct bench b = bench_new();

	bench_start(&b);
	add_pod(&b, "deleted", "", "Pending", DELETED);
	add_pod(&b, "waiting", "", "Pending", "");
	add_pod(&b, "running", "n1", "Running", DELETED);
	run(&b, 30);
	assert_false(pod_is_there(&b, "deleted"));
	assert_true(pod_is_there(&b, "waiting"));
	assert_true(pod_is_there(&b, "running"));
	bench_free(&b);
}

static void out_of_service_ends_the_waiting(void **state UNUSED)
{
	struct bench b = bench_new();

	add_pod(&b, "deleted", "n1", "Running", DELETED);
	add_pod(&b, "running", "n1", "Running", "");
	bench_start(&b);
	run(&b, 30);
	assert_true(pod_is_there(&b, "deleted"));
	call(&b, "PATCH", "/api/v1/nodes/n1",
	     "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\","
	     "\"effect\":\"NoExecute\"}]}}");
	run(&b, 30);
	assert_false(pod_is_there(&b, "deleted"));
	assert_true(pod_is_there(&b, "running"));
	bench_free(&b);
}

static void the_oldest_finished_pods_go(void **state UNUSED)
{
	struct bench b = bench_new();

	b.opts.threshold = 2;
	for (int i = 0; i < 5; i++) {
		char name[] = { 'p', (char)('0' + i), 0 }, meta[100];

		(void)snprintf(meta, sizeof(meta),
			       ",\"creationTimestamp\":\"2026-01-0%dT00:00:00Z\"", 9 - i);
		add_pod(&b, name, "n1", i % 2 ? "Succeeded" : "Failed", meta);
	}
	add_pod(&b, "running", "n1", "Running", ",\"creationTimestamp\":\"2020-01-01T00:00:00Z\"");
	bench_start(&b);
	run(&b, 60);
	assert_int_equal(fakeapi_count(b.w->api, "pods"), 3);
	assert_true(pod_is_there(&b, "p0"));
	assert_true(pod_is_there(&b, "p1"));
	assert_true(pod_is_there(&b, "running"));
	call(&b, "PATCH", PODS "/running/status", "{\"status\":{\"phase\":\"Failed\"}}");
	run(&b, 60);
	assert_false(pod_is_there(&b, "running"));
	bench_free(&b);
}

static void a_finished_pod_with_a_finalizer_counts_once(void **state UNUSED)
{
	struct bench b = bench_new();

	b.opts.threshold = 1;
	add_pod(&b, "a", "n1", "Failed", ",\"finalizers\":[\"a/b\"]");
	add_pod(&b, "b", "n1", "Failed", "");
	bench_start(&b);
	run(&b, 600);
	assert_true(fakeapi_has(b.w->api, "pods", "x", "a", "deletionTimestamp"));
	assert_true(pod_is_there(&b, "b"));
	bench_free(&b);
}

/* The controller ends after each lost write; the next one does the rest. */
static void the_pod_goes_whatever_is_lost(void **state UNUSED)
{
	static const int faults[] = { 500, 409, FAKEAPI_CUT, FAKEAPI_DO_AND_CUT };

	for (size_t i = 0; i < ARRAY_SIZE(faults) * 3; i++) {
		struct bench b = bench_new();

		b.fault = faults[i / 3];
		b.faults = (unsigned)(i % 3) + 1;
		add_pod(&b, "p", "nowhere", "Running", "");
		add_pod(&b, "kept", "n1", "Running", "");
		bench_start(&b);
		for (size_t step = 0; step < 100 && b.faults > 0; step++)
			run(&b, 1);
		bench_stop(&b);
		bench_start(&b);
		run(&b, 100);
		if (pod_is_there(&b, "p"))
			fail_msg("fault %d: the pod is still there", b.fault);
		assert_true(pod_is_there(&b, "kept"));
		bench_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orphans_go_after_the_quarantine),
		cmocka_unit_test(orphans_from_before_the_start_go_too),
		cmocka_unit_test(a_node_that_comes_back_keeps_its_pods),
		cmocka_unit_test(a_late_watch_collects_nothing),
		cmocka_unit_test(deleted_pods_without_a_node_go),
		cmocka_unit_test(out_of_service_ends_the_waiting),
		cmocka_unit_test(the_oldest_finished_pods_go),
		cmocka_unit_test(a_finished_pod_with_a_finalizer_counts_once),
		cmocka_unit_test(the_pod_goes_whatever_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
