/*
 * EventRateLimit at the whole server, with the clock of the simulated world.
 */
#include "server/plugins/event_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/testing/verb_world.h"

#define EVENTS "/api/v1/namespaces/default/events"

static int configure(struct verb_world *w, const char *limits, struct error *err)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"apiVersion\":\"eventratelimit.admission.k8s.io/v1alpha1\",\"kind\":"
		"\"Configuration\",\"limits\":%s}",
		limits);
	struct json *tree;

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &tree, NULL), 0);
	return event_limits_of(tree, loop_clock(w->lanes[0]), &w->server.event_limits, err);
}

static void limit(struct verb_world *w, const char *limits)
{
	struct error err = { 0 };

	if (configure(w, limits, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(admission_switch(&w->admission, STR("EventRateLimit"), true));
}

/* Creates the n-th event, of that component about a pod of that name. */
static struct json *event(struct verb_world *w, int n, const char *component, const char *pod,
			  const char *query, int status)
{
	return verb_world_call(
		w, "POST", arena_printf(&w->arena, EVENTS "%s", query),
		arena_printf(&w->arena,
			     "{\"metadata\":{\"name\":\"e%d\"},\"reason\":\"R\",\"source\":{"
			     "\"component\":\"%s\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":"
			     "\"%s\",\"namespace\":\"default\",\"apiVersion\":\"v1\"}}",
			     n, component, pod),
		status);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void a_full_bucket_is_taken_from_and_refills(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	limit(w, "[{\"type\":\"Server\",\"qps\":1,\"burst\":2}]");
	(void)event(w, 1, "c", "p", "", 201);
	(void)event(w, 2, "c", "p", "", 201);
	got = event(w, 3, "c", "p", "", 429);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Too many requests: limit reached on type Server for key ");
	assert_string_equal(verb_world_text(w, got, "/reason"), "TooManyRequests");
	(void)event(w, 3, "c", "p", "?dryRun=All", 201);
	(void)verb_world_call(w, "POST", "/api/v1/namespaces/default/configmaps",
			      "{\"metadata\":{\"name\":\"m\"}}", 201);
	assert_false(sim_run_until(w->sim, never, NULL, 1100));
	(void)event(w, 3, "c", "p", "", 201);
}

static void each_source_and_object_has_a_bucket(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	limit(w, "[{\"type\":\"SourceAndObject\",\"qps\":1,\"burst\":1},"
		 "{\"type\":\"Namespace\",\"qps\":100,\"burst\":3}]");
	(void)event(w, 1, "c", "p", "", 201);
	(void)event(w, 2, "c", "q", "", 201);
	got = event(w, 3, "c", "p", "", 429);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Too many requests: limit reached on type SourceAndObject for key "
			    "cPoddefaultpv1");
}

/* The bucket of p was forgotten, so it is full again. */
static void the_oldest_bucket_goes_first(void **state)
{
	struct verb_world *w = *state;

	limit(w, "[{\"type\":\"SourceAndObject\",\"qps\":1,\"burst\":1,\"cacheSize\":2}]");
	(void)event(w, 1, "c", "p", "", 201);
	(void)event(w, 2, "c", "q", "", 201);
	(void)event(w, 3, "c", "r", "", 201);
	(void)event(w, 4, "c", "r", "", 429);
	(void)event(w, 5, "c", "p", "", 201);
}

static void a_plugin_that_is_off_limits_nothing(void **state)
{
	struct verb_world *w = *state;

	limit(w, "[{\"type\":\"User\",\"qps\":1,\"burst\":1}]");
	assert_true(admission_switch(&w->admission, STR("EventRateLimit"), false));
	for (int i = 0; i < 5; i++)
		(void)event(w, i, "c", "p", "", 201);
}

static void a_wrong_configuration_is_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "[]", "limits: Invalid value: \"\": must not be empty" },
		{ "[{\"type\":\"User\",\"qps\":1}]",
		  "limits[0].burst: Invalid value: 0: must be positive" },
		{ "[{\"type\":\"User\",\"burst\":1}]",
		  "limits[0].qps: Invalid value: 0: must be positive" },
		{ "[{\"type\":\"X\",\"qps\":1,\"burst\":1}]",
		  "limits[0].type: Unsupported value: \"X\": supported values: \"Server\", "
		  "\"Namespace\", \"User\", \"SourceAndObject\"" },
		{ "[{\"type\":\"User\",\"qps\":1,\"burst\":1,\"cacheSize\":-1}]",
		  "limits[0].cacheSize: Invalid value: -1: must not be negative" },
	};
	struct verb_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error err = { 0 };

		assert_int_equal(configure(w, wrong[i][0], &err), -ERR_INVALID);
		assert_string_equal(err.msg, wrong[i][1]);
	}
}

static void without_a_configuration_it_cannot_be_on(void **state)
{
	struct event_limits *l = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(event_limits_new(NULL, true, NULL, &l, &err), -ERR_INVALID);
	assert_int_equal(event_limits_new(NULL, false, NULL, &l, &err), 0);
	assert_null(l);
}

static int tear_down(void **state)
{
	struct verb_world *w = *state;
	struct event_limits *l = w->server.event_limits;
	int r = verb_world_tear_down(state);

	event_limits_free(l);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, tear_down)
		TEST(a_full_bucket_is_taken_from_and_refills),
		TEST(each_source_and_object_has_a_bucket),
		TEST(the_oldest_bucket_goes_first),
		TEST(a_plugin_that_is_off_limits_nothing),
		TEST(a_wrong_configuration_is_refused),
		TEST(without_a_configuration_it_cannot_be_on),
	};

	return cmocka_run_group_tests_name("server/event_limits", tests, NULL, NULL);
}
