/*
 * Redirects of proxied servers.
 */
#include "server/connect/location.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"

static const struct connect_place place = { .proxy = STR("/p/proxy"),
					    .asked = STR("api.example:6443"),
					    .backend = STR("10.1.0.9:8080") };

static void paths_of_theirs_lead_through_the_proxy(void **state UNUSED)
{
	static const struct {
		const char *location, *told;
	} v[] = {
		{ "/there", "/p/proxy/there" },
		{ "/there/?a=/b#c", "/p/proxy/there/?a=/b#c" },
		{ "/p/proxy/there", "/p/proxy/there" },
		{ "http://10.1.0.9:8080/there", "/p/proxy/there" },
		{ "//10.1.0.9:8080/there", "/p/proxy/there" },
		{ "http://10.1.0.9:8080/p/proxy/x", "/p/proxy/x" },
		{ "https://api.example:6443/there", "https://api.example:6443/p/proxy/there" },
		{ "//api.example:6443/p/proxy/x", "//api.example:6443/p/proxy/x" },
		{ "http:/there", "/p/proxy/there" },
		{ "http:///there", "/p/proxy/there" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct arena a;
		struct str got;

		arena_init(&a, SIZE_MAX);
		got = connect_location(&a, str_from(v[i].location), &place);
		assert_string_equal(arena_strdup(&a, got), v[i].told);
		arena_release(&a);
	}
}

static void relative_locations_and_those_of_others_stay(void **state UNUSED)
{
	static const char *const v[] = {
		"",
		"there",
		"../there",
		"?a=b",
		"#c",
		"//else.example/there",
		"https://else.example",
		"https://else.example/p/proxy/x",
		"http://10.1.0.9:8081/x",
		"http://10.1.0.9:8080",
		"http://10.1.0.9:8080?a=/b",
		"http://u@10.1.0.9:8080/x",
		"mailto:a@b",
		"1http:/x",
		":/x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct str got = connect_location(NULL, str_from(v[i]), &place);

		assert_true(str_eqz(got, v[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_theirs_lead_through_the_proxy),
		cmocka_unit_test(relative_locations_and_those_of_others_stay),
	};

	return cmocka_run_group_tests_name("server/connect_location", tests, NULL, NULL);
}
