/*
 * Metrics of claims, from objects on a fake API server.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/devices/claim_metrics.h"

struct claim_bench {
	struct bench b;
	struct claim_metrics *metrics;
};

static void claim_begin(struct claim_bench *c)
{
	*c = (struct claim_bench){ .b = { .metrics = metrics_new() } };
	bench_init(&c->b, 1);
	c->metrics = claim_metrics_new(c->b.w->loop, devices_claims(c->b.devices), c->b.metrics);
	tell(&c->b, "node n1");
	run(&c->b);
}

static void claim_end(struct claim_bench *c)
{
	claim_metrics_free(c->metrics);
	bench_release(&c->b);
}

/* The value of a series, by its printed labels; -1: not found. */
static double claim_value(struct claim_bench *c, const char *series)
{
	struct buf text = BUF_INIT(16 * MIB);
	struct str rest, line;
	double v = -1;

	assert_int_equal(metrics_print(c->b.metrics, &text), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, str_from(series)))
			v = strtod(line.p + strlen(series), NULL);
	buf_release(&text);
	return v;
}

static void assert_near(struct claim_bench *c, const char *series, double expected, double slack)
{
	double got = claim_value(c, series);

	if (got < expected - slack || got > expected + slack)
		fail_msg("%s is %f and not %f", series, got, expected);
}

#define HELD(ns) "devplane_devices_held{namespace=\"" ns "\",driver=\"" WORLD_DRIVER "\"} "
#define SECONDS(ns) \
	"devplane_device_held_seconds_total{namespace=\"" ns "\",driver=\"" WORLD_DRIVER "\"} "

static void devices_are_counted_for_their_namespace(void **state)
{
	struct claim_bench c;

	(void)state;
	claim_begin(&c);
	tell(&c.b, "claim a/c1 p/g0 p/g1");
	tell(&c.b, "claim b/c2 p/g2 p/g3(admin)");
	run(&c.b);
	assert_near(&c, HELD("a"), 2, 0);
	assert_near(&c, HELD("b"), 1, 0);
	controller_world_run(c.b.w, 60 * 1000);
	assert_near(&c, SECONDS("a"), 120, 12);
	assert_near(&c, SECONDS("b"), 60, 6);
	tell(&c.b, "remove claim a/c1");
	run(&c.b);
	assert_near(&c, HELD("a"), 0, 0);
	controller_world_run(c.b.w, 60 * 1000);
	assert_near(&c, SECONDS("a"), 122, 14);
	claim_end(&c);
}

static void claim_post(struct claim_bench *c, const char *name, const char *more)
{
	char body[512];

	(void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{}}", name,
		       more);
	assert_int_equal(
		fakeapi_call(c->b.w->api, "POST", CLAIMS "a/resourceclaims", str_from(body), NULL),
		201);
}

static void the_time_to_allocation_is_measured(void **state)
{
	struct claim_bench c;

	(void)state;
	claim_begin(&c);
	claim_post(&c, "c1", "");
	run(&c.b);
	assert_near(&c, "devplane_claim_allocation_duration_seconds_count ", 0, 0);
	controller_world_run(c.b.w, 100 * 1000);
	merge(&c.b, CLAIMS "a/resourceclaims/c1",
	      "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"driver\":\"" WORLD_DRIVER
	      "\",\"pool\":\"p\",\"device\":\"g0\",\"request\":\"r\"}]}}}}");
	run(&c.b);
	assert_near(&c, "devplane_claim_allocation_duration_seconds_count ", 1, 0);
	assert_near(&c, "devplane_claim_allocation_duration_seconds_sum ", 101, 3);
	assert_near(&c, HELD("a"), 1, 0);
	claim_end(&c);
}

static void the_oldest_pending_claim_of_a_pod_has_an_age(void **state)
{
	struct claim_bench c;

	(void)state;
	claim_begin(&c);
	claim_post(&c, "alone", "");
	controller_world_run(c.b.w, 50 * 1000);
	claim_post(&c, "wanted",
		   ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\","
		   "\"uid\":\"u\"}]");
	controller_world_run(c.b.w, 100 * 1000);
	assert_near(&c, "devplane_claim_oldest_seconds{state=\"pending\"} ", 98, 8);
	assert_near(&c, "devplane_claim_oldest_seconds{state=\"deleting\"} ", 0, 0);
	tell(&c.b, "remove claim a/wanted");
	controller_world_run(c.b.w, 10 * 1000);
	assert_near(&c, "devplane_claim_oldest_seconds{state=\"pending\"} ", 0, 0);
	claim_end(&c);
}

static void many_namespaces_share_a_series(void **state)
{
	enum { NAMESPACES = CLAIM_METRICS_HOLDERS_MAX + 3 };
	struct claim_bench c;
	char line[64];

	(void)state;
	claim_begin(&c);
	for (unsigned i = 0; i < NAMESPACES; i++) {
		(void)snprintf(line, sizeof(line), "claim n%u/c p/g%u", i, i);
		tell_line(&c.b, str_from(line));
	}
	run(&c.b);
	assert_near(&c, "devplane_devices_held{namespace=\"other\",driver=\"other\"} ", 3, 0);
	assert_near(&c, HELD("n7"), 1, 0);
	tell(&c.b, "remove claim n7/c");
	tell(&c.b, "claim new/c p/g7");
	run(&c.b);
	assert_near(&c, HELD("n7"), -1, 0);
	assert_near(&c, HELD("new"), 1, 0);
	for (unsigned i = CLAIM_METRICS_HOLDERS_MAX; i < NAMESPACES; i++) {
		(void)snprintf(line, sizeof(line), "remove claim n%u/c", i);
		tell_line(&c.b, str_from(line));
	}
	run(&c.b);
	assert_near(&c, "devplane_devices_held{namespace=\"other\",driver=\"other\"} ", 0, 0);
	claim_end(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_counted_for_their_namespace),
		cmocka_unit_test(the_time_to_allocation_is_measured),
		cmocka_unit_test(the_oldest_pending_claim_of_a_pod_has_an_age),
		cmocka_unit_test(many_namespaces_share_a_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
