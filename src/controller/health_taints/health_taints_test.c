/*
 * Taints of unhealthy devices, on a fake API server.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/health_taints/health_taints.h"

#define NODES "/api/v1/nodes"

struct world {
	struct bench bench;
	struct health_taints *taints;
};

static void start(struct world *w)
{
	*w = (struct world){ .bench = { .health = true, .metrics = metrics_new() } };
	bench_init(&w->bench, 1);
	w->taints = health_taints_new(&w->bench.w->ctx, w->bench.devices,
				      &(struct health_taints_limits){ 0 });
	tell(&w->bench, "slice s p 1/1 n g0 g1 g2 g3");
	assert_int_equal(fakeapi_call(w->bench.w->api, "POST", NODES,
				      STR("{\"metadata\":{\"name\":\"n\"}}"), NULL),
			 201);
	run(&w->bench);
}

static void stop(struct world *w)
{
	health_taints_free(w->taints);
	bench_release(&w->bench);
}

/* Makes exactly these devices of pool p unhealthy. */
static void break_devices(struct world *w, const char *devices)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct str rest = str_from(devices), name;

	buf_addz(&text, "{\"metadata\":{\"name\":\"n\",\"annotations\":{"
			"\"devplane.dev/device-health\":\"[");
	for (bool more = false; rest.n > 0 && str_split(&rest, ' ', &name); more = true)
		(void)buf_printf(&text,
				 "%s{\\\"id\\\":\\\"" WORLD_DRIVER "/p/%.*s\\\",\\\"health\\\":"
				 "\\\"Unhealthy\\\",\\\"message\\\":\\\"Xid 79\\\"}",
				 more ? "," : "", STR_ARG(name));
	buf_addz(&text, "]\"}}}");
	assert_int_equal(fakeapi_call(w->bench.w->api, "PUT", NODES "/n", buf_str(&text), NULL),
			 200);
	buf_release(&text);
}

static void pass(struct world *w, int64_t seconds)
{
	controller_world_run(w->bench.w, seconds * 1000);
}

static struct json *rule_of(struct world *w, const char *device, struct arena *a)
{
	struct str id = str_from(arena_printf(a, WORLD_DRIVER "/p/%s", device));
	const char *name = arena_strdup(a, health_taints_name(id, a));

	if (!fakeapi_find(w->bench.w->api, "devicetaintrules", "", name))
		return NULL;
	return bench_object(&w->bench, "devicetaintrules", name, a);
}

static bool has_rule(struct world *w, const char *device)
{
	struct arena a;
	bool has;

	arena_init(&a, MIB);
	has = rule_of(w, device, &a) != NULL;
	arena_release(&a);
	return has;
}

static void assert_at(const struct json *v, const char *pointer, const char *expected)
{
	struct str got = json_str(json_pointer(v, str_from(pointer)));

	if (!str_eqz(got, expected))
		fail_msg("%s is %.*s and not %s", pointer, STR_ARG(got), expected);
}

static void a_broken_device_is_tainted_and_freed_after_recovery(void **state)
{
	struct world w;
	struct json *rule;
	struct arena a;

	(void)state;
	start(&w);
	arena_init(&a, MIB);
	break_devices(&w, "g1");
	pass(&w, 8);
	assert_false(has_rule(&w, "g1"));
	pass(&w, 5);
	rule = rule_of(&w, "g1", &a);
	assert_non_null(rule);
	assert_at(rule, "/spec/deviceSelector/driver", WORLD_DRIVER);
	assert_at(rule, "/spec/deviceSelector/pool", "p");
	assert_at(rule, "/spec/deviceSelector/device", "g1");
	assert_at(rule, "/spec/taint/key", "devplane.dev/unhealthy");
	assert_at(rule, "/spec/taint/effect", "NoSchedule");
	assert_at(rule, "/metadata/labels/devplane.dev~1managed-by", "device-health-taints");
	assert_at(rule, "/metadata/annotations/devplane.dev~1health-message", "Xid 79");
	run(&w.bench);
	assert_status(&w.bench, "s", "/devices/1/stateReason",
		      "\"Tainted: devplane.dev/unhealthy\"");
	assert_false(has_rule(&w, "g0"));
	break_devices(&w, "");
	pass(&w, 55);
	assert_true(has_rule(&w, "g1"));
	pass(&w, 10);
	assert_false(has_rule(&w, "g1"));
	arena_release(&a);
	stop(&w);
}

static void a_lying_driver_takes_half_of_a_pool_at_most(void **state)
{
	struct world w;
	unsigned n = 0;

	(void)state;
	start(&w);
	break_devices(&w, "g0 g1 g2 g3");
	pass(&w, 30);
	n += has_rule(&w, "g0");
	n += has_rule(&w, "g1");
	n += has_rule(&w, "g2");
	n += has_rule(&w, "g3");
	assert_int_equal(n, 2);
	stop(&w);
}

static void another_controller_goes_on(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	break_devices(&w, "g1 g2");
	pass(&w, 15);
	assert_true(has_rule(&w, "g1") && has_rule(&w, "g2"));
	health_taints_free(TAKE(w.taints));
	break_devices(&w, "g2");
	w.taints = health_taints_new(&w.bench.w->ctx, w.bench.devices,
				     &(struct health_taints_limits){ 0 });
	pass(&w, 50);
	assert_true(has_rule(&w, "g1"));
	pass(&w, 15);
	assert_false(has_rule(&w, "g1"));
	assert_true(has_rule(&w, "g2"));
	stop(&w);
}

/* Condition Ready of g1, in the status of the claim that holds it. */
static void put_ready(struct world *w, const char *status)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"status\":{\"devices\":[{\"driver\":\"" WORLD_DRIVER "\",\"pool\":\"p\","
		 "\"device\":\"g1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
		 "\"message\":\"setting up\",\"lastTransitionTime\":\"2000-01-01T00:00:00Z\"}]}]}}",
		 status);
	merge(&w->bench, CLAIMS "ns/resourceclaims/c", body);
}

static void a_claims_condition_taints_nothing_and_keeps_no_taint(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g1");
	put_ready(&w, "False");
	pass(&w, 30);
	assert_status(&w.bench, "s", "/devices/1/health", "\"Unhealthy\"");
	assert_status(&w.bench, "s", "/devices/1/healthMessage", "\"setting up\"");
	assert_false(has_rule(&w, "g1"));
	break_devices(&w, "g1");
	pass(&w, 15);
	assert_true(has_rule(&w, "g1"));
	break_devices(&w, "");
	pass(&w, 70);
	assert_status(&w.bench, "s", "/devices/1/health", "\"Unhealthy\"");
	assert_false(has_rule(&w, "g1"));
	stop(&w);
}

static void rules_of_others_are_left_alone(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "rule mine p g0 NoSchedule");
	pass(&w, 100);
	assert_non_null(fakeapi_find(w.bench.w->api, "devicetaintrules", "", "mine"));
	stop(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broken_device_is_tainted_and_freed_after_recovery),
		cmocka_unit_test(a_lying_driver_takes_half_of_a_pool_at_most),
		cmocka_unit_test(another_controller_goes_on),
		cmocka_unit_test(a_claims_condition_taints_nothing_and_keeps_no_taint),
		cmocka_unit_test(rules_of_others_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
