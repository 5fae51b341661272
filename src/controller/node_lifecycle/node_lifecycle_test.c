/*
 * Nodes that die and come back, against a fake API server and a simulated clock.
 */
#include "controller/node_lifecycle/node_lifecycle.h"

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

#define UNREACHABLE "{\"key\":\"node.kubernetes.io/unreachable\",\"effect\":\"NoExecute\""
#define NO_NEW_PODS "{\"key\":\"node.kubernetes.io/unreachable\",\"effect\":\"NoSchedule\""

enum { NODES = 8 };

struct bench {
	struct controller_world *w;
	struct node_lifecycle *lifecycle;
	bool dead[NODES]; /* sends no heartbeats */
	size_t n, beats;
	int fault;
	unsigned faults; /* left, of writes */
	size_t node_writes;
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;
	bool writes = str_eq(q->method, STR("PATCH"));

	if (writes && str_starts(q->path, STR("/api/v1/nodes/")))
		b->node_writes++;
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
	b->lifecycle = node_lifecycle_new(&b->w->ctx, &(struct node_lifecycle_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	node_lifecycle_free(TAKE(b->lifecycle));
	controller_world_stop(b->w);
}

static void bench_free(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void change(struct bench *b, const char *target, const char *text)
{
	int status = fakeapi_call(b->w->api, "PATCH", target, str_from(text), NULL);

	if (status != 200)
		fail_msg("%s: %d", target, status);
}

static void renew(struct bench *b, size_t i)
{
	char target[200], text[100];

	(void)snprintf(target, sizeof(target),
		       "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n%zu", i);
	(void)snprintf(text, sizeof(text), "{\"spec\":{\"renewTime\":\"beat %zu\"}}", b->beats++);
	change(b, target, text);
}

static void run(struct bench *b, int64_t seconds)
{
	for (; seconds > 0; seconds -= 10) {
		for (size_t i = 0; i < b->n; i++)
			if (!b->dead[i] && fakeapi_has(b->w->api, "leases", "kube-node-lease",
						       (char[]){ 'n', (char)('0' + i), 0 }, "beat"))
				renew(b, i);
		controller_world_run(b->w, MIN(seconds, 10) * 1000);
	}
}

#define READY "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}"

static struct bench bench_new(size_t nodes)
{
	struct bench b = { .w = controller_world_new(5), .n = nodes };

	for (size_t i = 0; i < nodes; i++) {
		char name[] = { 'n', (char)('0' + i), 0 }, uid[32];

		(void)snprintf(uid, sizeof(uid), ",\"uid\":\"u%zu\"", i);
		fakeapi_add(b.w->api, "nodes", "", name, uid, "," READY);
		fakeapi_add(b.w->api, "leases", "kube-node-lease", name, "",
			    ",\"spec\":{\"renewTime\":\"beat\"}");
	}
	return b;
}

static bool node_has(const struct bench *b, const char *name, const char *text)
{
	return fakeapi_has(b->w->api, "nodes", "", name, text);
}

static void post_ready(struct bench *b, const char *name)
{
	char target[100], text[200];

	(void)snprintf(target, sizeof(target), "/api/v1/nodes/%s/status", name);
	(void)snprintf(text, sizeof(text),
		       "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
		       "\"lastHeartbeatTime\":\"beat %zu\"}]}}",
		       b->beats++);
	change(b, target, text);
}

static size_t events(const struct bench *b, const char *text)
{
	return fakeapi_count_with(b->w->api, "events", text);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void heartbeats_cost_no_write(void **state UNUSED)
{
	struct bench b = bench_new(3);

	bench_start(&b);
	run(&b, 600);
	assert_true(node_lifecycle_synced(b.lifecycle));
	assert_int_equal(b.node_writes, 0);
	bench_free(&b);
}

static void a_silent_node_is_marked_and_recovers(void **state UNUSED)
{
	struct bench b = bench_new(3);

	bench_start(&b);
	run(&b, 30);
	b.dead[1] = true;
	run(&b, 40);
	assert_false(node_has(&b, "n1", "Unknown"));
	run(&b, 20);
	assert_true(node_has(&b, "n1", "\"NodeStatusUnknown\""));
	assert_true(node_has(&b, "n1", NO_NEW_PODS));
	assert_true(node_has(&b, "n1", UNREACHABLE));
	assert_false(node_has(&b, "n0", "Unknown"));
	assert_int_equal(events(&b, "Node n1 status is now: NodeNotReady"), 1);
	b.dead[1] = false;
	post_ready(&b, "n1");
	run(&b, 10);
	assert_false(node_has(&b, "n1", "unreachable"));
	assert_int_equal(b.node_writes, 4);
	run(&b, 300);
	assert_int_equal(b.node_writes, 4);
	bench_free(&b);
}

static void its_pods_are_not_ready(void **state UNUSED)
{
	struct bench b = bench_new(2);
	const char *pod = ",\"spec\":{\"nodeName\":\"n1\"}," READY;

	fakeapi_add(b.w->api, "pods", "x", "there", ",\"uid\":\"p1\"", pod);
	fakeapi_add(b.w->api, "pods", "x", "elsewhere", ",\"uid\":\"p2\"",
		    ",\"spec\":{\"nodeName\":\"n0\"}," READY);
	bench_start(&b);
	run(&b, 20);
	b.dead[1] = true;
	run(&b, 70);
	assert_true(fakeapi_has(b.w->api, "pods", "x", "there", "\"status\":\"False\""));
	assert_true(fakeapi_has(b.w->api, "pods", "x", "elsewhere", "\"status\":\"True\""));
	fakeapi_add(b.w->api, "pods", "x", "late", ",\"uid\":\"p3\"", pod);
	run(&b, 10);
	assert_true(fakeapi_has(b.w->api, "pods", "x", "late", "\"status\":\"False\""));
	assert_int_equal(events(&b, "Node is not ready"), 2);
	bench_free(&b);
}

static void a_node_without_status_gets_its_time(void **state UNUSED)
{
	struct bench b = bench_new(1);
	char time[TIMESTAMP_SIZE], meta[100];

	bench_start(&b);
	run(&b, 10);
	(void)timestamp_print(clock_wall(loop_clock(b.w->loop)), TIMESTAMP_SECONDS, time);
	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"u\",\"creationTimestamp\":\"%s\"", time);
	fakeapi_add(b.w->api, "nodes", "", "new", meta, "");
	run(&b, 50);
	assert_false(node_has(&b, "new", "Unknown"));
	run(&b, 20);
	assert_true(node_has(&b, "new", "NodeStatusNeverUpdated"));
	assert_int_equal(events(&b, "event: Registered Node new in Controller"), 1);
	bench_free(&b);
}

/* The lease on the server is newer than the one that a late watch has shown. */
static void a_late_watch_kills_nobody(void **state UNUSED)
{
	struct bench b = bench_new(2);

	bench_start(&b);
	run(&b, 20);
	fakeapi_hold_back(b.w->api, "leases");
	run(&b, 200);
	assert_int_equal(b.node_writes, 0);
	fakeapi_catch_up(b.w->api);
	b.dead[1] = true;
	run(&b, 120);
	assert_true(node_has(&b, "n1", "NodeStatusUnknown"));
	bench_free(&b);
}

static void taints_of_effect_no_execute_come_one_by_one(void **state UNUSED)
{
	struct bench b = bench_new(8);
	size_t tainted = 0;

	bench_start(&b);
	run(&b, 20);
	b.dead[1] = b.dead[2] = b.dead[3] = true;
	run(&b, 45);
	for (size_t i = 1; i < 4; i++)
		tainted += node_has(&b, (char[]){ 'n', (char)('0' + i), 0 }, UNREACHABLE);
	assert_int_equal(tainted, 1);
	run(&b, 30);
	for (size_t i = 1; i < 4; i++)
		assert_true(node_has(&b, (char[]){ 'n', (char)('0' + i), 0 }, UNREACHABLE));
	bench_free(&b);
}

static void nothing_is_evicted_when_all_are_lost(void **state UNUSED)
{
	struct bench b = bench_new(2);

	bench_start(&b);
	run(&b, 20);
	b.dead[1] = true;
	run(&b, 70);
	assert_true(node_has(&b, "n1", UNREACHABLE));
	b.dead[0] = true;
	run(&b, 70);
	assert_true(node_has(&b, "n0", NO_NEW_PODS));
	assert_false(node_has(&b, "n0", UNREACHABLE));
	assert_false(node_has(&b, "n1", UNREACHABLE));
	run(&b, 300);
	assert_false(node_has(&b, "n0", UNREACHABLE));
	b.dead[0] = false;
	post_ready(&b, "n0");
	run(&b, 30);
	assert_false(node_has(&b, "n0", "unreachable"));
	assert_true(node_has(&b, "n1", UNREACHABLE));
	bench_free(&b);
}

static void the_taint_of_admission_goes(void **state UNUSED)
{
	struct bench b = bench_new(1);

	bench_start(&b);
	run(&b, 10);
	fakeapi_add(b.w->api, "nodes", "", "new", ",\"uid\":\"u\"",
		    ",\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":"
		    "\"NoSchedule\"}]}," READY);
	run(&b, 10);
	assert_false(node_has(&b, "new", "not-ready"));
	bench_free(&b);
}

/* The controller ends after each number of writes; the next one does the rest. */
static void a_crash_changes_nothing(void **state UNUSED)
{
	static const int faults[] = { 500, 409, FAKEAPI_CUT, FAKEAPI_DO_AND_CUT };

	for (size_t i = 0; i < ARRAY_SIZE(faults) * 3; i++) {
		struct bench b = bench_new(3);

		fakeapi_add(b.w->api, "pods", "x", "p", ",\"uid\":\"p1\"",
			    ",\"spec\":{\"nodeName\":\"n1\"}," READY);
		b.dead[1] = true;
		bench_start(&b);
		b.fault = faults[i / 3];
		b.faults = (unsigned)(i % 3) + 1;
		for (size_t step = 0; step < 200 && b.faults > 0; step++)
			run(&b, 1);
		bench_stop(&b);
		bench_start(&b);
		run(&b, 120);
		if (!node_has(&b, "n1", "NodeStatusUnknown") || !node_has(&b, "n1", UNREACHABLE) ||
		    !fakeapi_has(b.w->api, "pods", "x", "p", "\"status\":\"False\""))
			fail_msg("fault %d, case %zu", b.fault, i);
		assert_false(node_has(&b, "n0", "Unknown"));
		bench_free(&b);
	}
}

/* A new controller gives a grace period, but takes no taint away and adds none. */
static void a_restart_keeps_taints(void **state UNUSED)
{
	struct bench b = bench_new(2);
	size_t writes;

	bench_start(&b);
	b.dead[1] = true;
	run(&b, 90);
	assert_true(node_has(&b, "n1", UNREACHABLE));
	writes = b.node_writes;
	bench_stop(&b);
	bench_start(&b);
	run(&b, 200);
	assert_int_equal(b.node_writes, writes);
	bench_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heartbeats_cost_no_write),
		cmocka_unit_test(a_silent_node_is_marked_and_recovers),
		cmocka_unit_test(its_pods_are_not_ready),
		cmocka_unit_test(a_node_without_status_gets_its_time),
		cmocka_unit_test(a_late_watch_kills_nobody),
		cmocka_unit_test(taints_of_effect_no_execute_come_one_by_one),
		cmocka_unit_test(nothing_is_evicted_when_all_are_lost),
		cmocka_unit_test(the_taint_of_admission_goes),
		cmocka_unit_test(a_crash_changes_nothing),
		cmocka_unit_test(a_restart_keeps_taints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
