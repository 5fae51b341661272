/*
 * Waiting pods by reason, from pods on a fake API server.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/devices/waiting_metrics.h"

#define PODS "/api/v1/namespaces/a/pods"

struct waiting_bench {
	struct bench b;
	struct waiting_metrics *metrics;
};

static void waiting_begin(struct waiting_bench *w)
{
	*w = (struct waiting_bench){ .b = { .metrics = metrics_new() } };
	bench_init(&w->b, 1);
	w->metrics = waiting_metrics_new(w->b.w->loop, w->b.w->ctx.informers, w->b.metrics);
	run(&w->b);
}

static void waiting_end(struct waiting_bench *w)
{
	waiting_metrics_free(w->metrics);
	bench_release(&w->b);
}

static void waiting_post(struct waiting_bench *w, const char *name, const char *spec)
{
	char body[512];

	(void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name,
		       spec);
	assert_int_equal(fakeapi_call(w->b.w->api, "POST", PODS, str_from(body), NULL), 201);
}

static double waiting_value(struct waiting_bench *w, const char *family, const char *reason)
{
	struct buf text = BUF_INIT(16 * MIB);
	struct str rest, line;
	char series[128];
	double v = -1;

	(void)snprintf(series, sizeof(series), "%s{reason=\"%s\"} ", family, reason);
	assert_int_equal(metrics_print(w->b.metrics, &text), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, str_from(series)))
			v = strtod(line.p + strlen(series), NULL);
	buf_release(&text);
	return v;
}

static void assert_waiting(struct waiting_bench *w, const char *reason, double expected)
{
	double got = waiting_value(w, "devplane_waiting_pods", reason);

	if (got != expected)
		fail_msg("%f pods wait because of %s, and not %f", got, reason, expected);
}

#define CLAIMED "\"resourceClaims\":[{\"name\":\"c\",\"resourceClaimName\":\"c\"}]"

static void pods_are_counted_by_reason(void **state)
{
	struct waiting_bench w;

	(void)state;
	waiting_begin(&w);
	waiting_post(&w, "plain", "");
	waiting_post(&w, "bound", CLAIMED ",\"nodeName\":\"n1\"");
	waiting_post(&w, "p", CLAIMED);
	run(&w.b);
	assert_waiting(&w, "NotTried", 1);
	merge(&w.b, PODS "/p",
	      "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"reason\":"
	      "\"Unschedulable\","
	      "\"message\":\"0/3 nodes are available: 3 cannot allocate all claims.\"}]}}");
	run(&w.b);
	assert_waiting(&w, "NotTried", 0);
	assert_waiting(&w, "NoDevice", 1);
	controller_world_run(w.b.w, 100 * 1000);
	assert_true(waiting_value(&w, "devplane_waiting_pods_oldest_seconds", "NoDevice") > 90);
	merge(&w.b, PODS "/p", "{\"spec\":{\"nodeName\":\"n1\"}}");
	controller_world_run(w.b.w, 10 * 1000);
	assert_waiting(&w, "NoDevice", 0);
	assert_true(waiting_value(&w, "devplane_waiting_pods_oldest_seconds", "NoDevice") == 0);
	waiting_end(&w);
}

static void a_deleted_pod_does_not_wait(void **state)
{
	struct waiting_bench w;

	(void)state;
	waiting_begin(&w);
	waiting_post(&w, "p", CLAIMED);
	run(&w.b);
	assert_waiting(&w, "NotTried", 1);
	(void)fakeapi_call(w.b.w->api, "DELETE", PODS "/p", STR_NULL, NULL);
	run(&w.b);
	assert_waiting(&w, "NotTried", 0);
	waiting_end(&w);
}

static void the_condition_gives_the_reason(void **state)
{
	static const struct {
		const char *reason, *message, *expected;
	} cases[] = {
		{ "", "", "NotTried" },
		{ "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates",
		  "Gated" },
		{ "SchedulerError", "running Reserve plugin", "SchedulerError" },
		{ "Unschedulable", "0/1 nodes are available: 1 cannot allocate all claims.",
		  "NoDevice" },
		{ "Unschedulable", "0/1 nodes are available: resourceclaim in use.", "Claim" },
		{ "Unschedulable", "could not find ResourceClaim \"c\"", "Claim" },
		{ "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.", "Other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(waiting_reason_name(waiting_reason_of(
					    str_from(cases[i].reason), str_from(cases[i].message))),
				    cases[i].expected);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_counted_by_reason),
		cmocka_unit_test(a_deleted_pod_does_not_wait),
		cmocka_unit_test(the_condition_gives_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
