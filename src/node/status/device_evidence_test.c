/*
 * The health that devices had when containers ended is kept, whatever happens to the devices
 * (KEP-4680).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/limits.h"
#include "node/host/machine.h"
#include "node/status/device_status_fixture.h"

#define DRIVER STR("gpu.example.com")

struct test {
	struct machine machine;
	struct assign *assign;
	struct health *health;
	struct arena arena;
	struct pod *pod;
	struct device_status_opts opts;
};

#define CONTAINER(name) \
	"{\"name\":\"" name "\",\"image\":\"i\",\"resources\":{\"claims\":[{\"name\":\"gpu\"}]}}"
#define POD(init, main)                                                                       \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":" \
	"\"default\","                                                                        \
	"\"uid\":\"p\"},\"spec\":{\"nodeName\":\"n\",\"initContainers\":[" init               \
	"],\"containers\":[" main                                                             \
	"],\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c1\"}]},\"status\":{}}"

static void health_changed(void *arg UNUSED, const struct health_device *now UNUSED,
			   enum assign_health before UNUSED)
{
}

/* The pod holds a claim with the device d. */
static void begin(struct test *t, const char *pod)
{
	struct str driver = DRIVER;
	const struct assign_claim_device d = { .driver = driver,
					       .pool = STR("pool"),
					       .device = STR("d") };
	const struct assign_claim claim = { .uid = STR("c1"),
					    .ns = STR("default"),
					    .name = STR("c1"),
					    .drivers = &driver,
					    .ndrivers = 1 };

	*t = (struct test){ 0 };
	machine_make(&t->machine, 4, 1 << 30, 1);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &t->machine }, &t->assign, NULL), 0);
	t->health = health_new(&(struct health_opts){ .on_change = health_changed });
	arena_init(&t->arena, 64 * MIB);
	assert_int_equal(pod_parse(str_from(pod), &t->pod, NULL), 0);
	t->opts = (struct device_status_opts){ .assign = t->assign,
					       .health = t->health,
					       .messages = true,
					       .pod_level = true,
					       .wall_ns = INT64_C(1700000000000000000) };
	assert_int_equal(assign_claim_use(t->assign, t->pod, STR("gpu"), &claim, NULL), 0);
	assign_claim_set_devices(t->assign, claim.uid, driver, &d, 1);
	assign_claim_set_state(t->assign, claim.uid, ASSIGN_CLAIM_PREPARED);
}

static void end(struct test *t)
{
	pod_unref(t->pod);
	health_free(t->health);
	assign_free(t->assign);
	machine_release(&t->machine);
	arena_release(&t->arena);
}

static const char simple_pod[] = POD("", CONTAINER("main"));

#define ENDED(name, id, code)                                                          \
	"{\"name\":\"" name "\",\"image\":\"i\",\"imageID\":\"\",\"ready\":false,"     \
	"\"restartCount\":0,\"containerID\":\"x://" id "\",\"state\":{\"terminated\":" \
	"{\"exitCode\":" code ",\"startedAt\":null,\"finishedAt\":null}}}"
#define RUNS(name, id)                                                              \
	"{\"name\":\"" name "\",\"image\":\"i\",\"imageID\":\"\",\"ready\":true,"   \
	"\"restartCount\":0,\"containerID\":\"x://" id "\",\"state\":{\"running\":" \
	"{\"startedAt\":null}}}"

static void hear(struct test *t, enum assign_health health, const char *message)
{
	struct plugin_health v = { .pool = STR("pool"),
				   .device = STR("d"),
				   .health = health,
				   .message = str_from(message) };

	(void)health_report(t->health, DRIVER, &v, 1, 0);
}

/* The status that follows `before` if containers are as in this text. */
static struct json *fill_next(struct test *t, const char *status, const struct json *before)
{
	struct json *now = NULL;

	assert_int_equal(json_parse(&t->arena, str_from(status), NULL, &now, NULL), 0);
	device_status_fill(&t->arena, t->pod, &t->opts, now, before);
	return now;
}

static void assert_shows(struct test *t, const struct json *status, const char *container,
			 const char *text)
{
	const char *list = text_of(&t->arena,
				   container_field(status, "containerStatuses", container));

	if (!strstr(list, text))
		fail_msg("%s is not in %s", text, list);
}

#define TOO_HOT "\"health\":\"Unhealthy\",\"message\":\"too hot\""

static void a_failed_container_keeps_the_health_at_its_end(void **state UNUSED)
{
	static const char ended[] = "{\"containerStatuses\":[" ENDED("main", "1", "1") "]}";
	struct json *status;
	struct test t;

	begin(&t, simple_pod);
	hear(&t, ASSIGN_UNHEALTHY, "too hot");
	status = fill_next(&t, "{\"containerStatuses\":[" RUNS("main", "1") "]}", NULL);
	/* The driver resets the device before the end of the container is seen. */
	hear(&t, ASSIGN_HEALTHY, NULL);
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", TOO_HOT);
	assert_true(str_eqz(json_text_at(condition(status), "status"), "False"));
	assert_non_null(strstr(text_of(&t.arena, condition(status)), "pool/d: too hot"));
	health_driver_gone(t.health, DRIVER);
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", TOO_HOT);
	/* A later fault is not the one that this container failed from. */
	hear(&t, ASSIGN_UNHEALTHY, "later");
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", TOO_HOT);
	assert_non_null(strstr(text_of(&t.arena, condition(status)), "pool/d: too hot"));
	/* The next container shows the present health. */
	hear(&t, ASSIGN_HEALTHY, NULL);
	status = fill_next(&t, "{\"containerStatuses\":[" RUNS("main", "2") "]}", status);
	assert_shows(&t, status, "main", "\"health\":\"Healthy\"");
	assert_true(str_eqz(json_text_at(condition(status), "status"), "True"));
	end(&t);
}

static void a_fault_that_is_found_after_the_end_is_added(void **state UNUSED)
{
	static const char ended[] = "{\"phase\":\"Failed\",\"containerStatuses\":[" ENDED(
		"main", "1", "0") "]}";
	struct json *status;
	struct test t;

	begin(&t, simple_pod);
	hear(&t, ASSIGN_HEALTHY, NULL);
	status = fill_next(&t, ended, NULL);
	health_driver_gone(t.health, DRIVER);
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", "\"health\":\"Healthy\"");
	assert_true(str_eqz(json_text_at(condition(status), "status"), "True"));
	hear(&t, ASSIGN_UNHEALTHY, "too hot");
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", TOO_HOT);
	assert_true(str_eqz(json_text_at(condition(status), "status"), "False"));
	/* Also if its devices are no longer known. */
	(void)assign_claim_unuse(t.assign, STR("c1"), STR("p"));
	assign_claim_forget(t.assign, STR("c1"));
	assign_forget_pod(t.assign, STR("p"));
	status = fill_next(&t, ended, status);
	assert_shows(&t, status, "main", TOO_HOT);
	assert_true(str_eqz(json_text_at(condition(status), "status"), "False"));
	end(&t);
}

static void a_container_that_still_runs_shows_the_present_health(void **state UNUSED)
{
	static const char one_ended[] = "{\"initContainerStatuses\":[" ENDED(
		"init", "0", "0") "],"
				  "\"containerStatuses\":[" ENDED("a", "1", "1") "," RUNS("b",
											  "2") "]}";
	struct json *status;
	struct test t;

	begin(&t, POD(CONTAINER("init"), CONTAINER("a") "," CONTAINER("b")));
	hear(&t, ASSIGN_UNHEALTHY, "too hot");
	status = fill_next(&t, one_ended, NULL);
	hear(&t, ASSIGN_HEALTHY, NULL);
	status = fill_next(&t, one_ended, status);
	assert_shows(&t, status, "a", TOO_HOT);
	assert_shows(&t, status, "b", "\"health\":\"Healthy\"");
	assert_non_null(
		strstr(text_of(&t.arena, container_field(status, "initContainerStatuses", "init")),
		       "\"health\":\"Healthy\""));
	assert_true(str_eqz(json_text_at(condition(status), "status"), "False"));
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_container_keeps_the_health_at_its_end),
		cmocka_unit_test(a_fault_that_is_found_after_the_end_is_added),
		cmocka_unit_test(a_container_that_still_runs_shows_the_present_health),
	};

	return cmocka_run_group_tests_name("node/device_evidence", tests, NULL, NULL);
}
