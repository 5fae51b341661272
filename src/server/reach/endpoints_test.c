/*
 * Which endpoint of a service is picked.
 */
#include "server/reach/endpoints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/loop/loop.h"
#include "server/testing/verb_world.h"

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

static void make_slice(struct verb_world *w, const char *type, const char *endpoints)
{
	(void)verb_world_call(w, "POST", SLICES,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"generateName\":\"s-\",\"labels\":"
					   "{\"kubernetes.io/service-name\":\"s\"}},"
					   "\"addressType\":\"%s\",\"ports\":[{\"name\":\"other\","
					   "\"port\":1},{\"name\":\"no-port\"},{\"name\":\"web\","
					   "\"port\":80}],\"endpoints\":[%s]}",
					   type, endpoints),
			      201);
}

static bool is_not_6(void *arg UNUSED, const struct json *endpoint UNUSED, const struct addr *to)
{
	return strcmp(to->host, "10.0.0.6") != 0;
}

/* The picked address, or the error. */
static const char *pick(struct verb_world *w, const char *port, const char *family)
{
	struct endpoints_query q = { .ns = STR("default"),
				     .service = STR("s"),
				     .port = str_from(port),
				     .family = str_from(family),
				     .accepts = is_not_6 };
	struct addr to;
	struct error err;

	if (endpoints_pick(w->server.state, &q, loop_prng(w->lanes[0]), &w->arena, &to, &err) < 0)
		return arena_printf(&w->arena, "%s", err.msg);
	return arena_printf(&w->arena, "%s", to.text);
}

static void all_that_are_ready_have_their_turn(void **state)
{
	static const char *const v[] = { "10.0.0.1:80", "10.0.0.2:80", "10.0.0.4:80" };
	int seen[ARRAY_SIZE(v)] = { 0 };
	struct verb_world *w = *state;

	assert_string_equal(pick(w, "web", ""), "no endpoints available for service \"s\"");
	make_slice(w, "IPv4",
		   "{\"addresses\":[\"10.0.0.1\",\"10.0.0.7\"]},"
		   "{\"addresses\":[\"10.0.0.2\"],\"conditions\":{\"ready\":true}},"
		   "{\"addresses\":[\"10.0.0.3\"],\"conditions\":{\"ready\":false}}");
	make_slice(w, "IPv4", "{\"addresses\":[\"10.0.0.6\"]},{\"addresses\":[\"10.0.0.4\"]}");
	make_slice(w, "IPv4", "");
	for (int i = 0; i < 200; i++) {
		const char *got = pick(w, "web", "");
		size_t at = 0;

		while (at < ARRAY_SIZE(v) && strcmp(got, v[at]) != 0)
			at++;
		assert_true(at < ARRAY_SIZE(v));
		seen[at]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_in_range(seen[i], 20, 140);
	assert_string_equal(pick(w, "", ""), "no endpoints available for service \"s\"");
	assert_string_equal(pick(w, "no-port", ""), "no endpoints available for service \"s\"");
}

static void the_preferred_family_comes_first_and_the_other_after_it(void **state)
{
	struct verb_world *w = *state;

	for (int i = 0; i < 4; i++)
		make_slice(w, "IPv6", "{\"addresses\":[\"fd00::1\"]}");
	assert_string_equal(pick(w, "web", "IPv4"), "[fd00::1]:80");
	make_slice(w, "IPv4", "{\"addresses\":[\"10.0.0.1\"]}");
	for (int i = 0; i < 20; i++) {
		assert_string_equal(pick(w, "web", "IPv4"), "10.0.0.1:80");
		assert_string_equal(pick(w, "web", "IPv6"), "[fd00::1]:80");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_that_are_ready_have_their_turn,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			the_preferred_family_comes_first_and_the_other_after_it, verb_world_set_up,
			verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/endpoints", tests, NULL, NULL);
}
