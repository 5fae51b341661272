/*
 * Differences between two sights of a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "controller/device_history/sight.h"

static struct device_sight sight_of(const char *text, struct arena *a)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return device_sight_read(v, a);
}

/* Compares two devices; the changes as "field from to reason message holder|..". */
static void assert_changes(const char *before, const char *after, const char *expected)
{
	struct device_change changes[DEVICE_SIGHT_CHANGES_MAX];
	struct device_sight old, new;
	struct buf text = BUF_INIT(64 * KIB);
	struct arena a;
	size_t n;

	arena_init(&a, MIB);
	old = sight_of(before, &a);
	new = sight_of(after, &a);
	n = device_sight_compare(&old, &new, changes);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&text, "%s%s %.*s %.*s [%.*s] [%.*s] [%.*s]", i > 0 ? "|" : "",
				 changes[i].field, STR_ARG(changes[i].from), STR_ARG(changes[i].to),
				 STR_ARG(changes[i].reason), STR_ARG(changes[i].message),
				 STR_ARG(changes[i].holder));
	(void)buf_addc(&text, '\0');
	assert_string_equal(text.p, expected);
	buf_release(&text);
	arena_release(&a);
}

#define HELD(name)   "\"allocations\":[{\"claimNamespace\":\"ns\",\"claimName\":\"" name "\"}]"
#define FREE         "{\"name\":\"g\",\"state\":\"Available\"}"
#define TAKEN(claim) "{\"name\":\"g\",\"state\":\"Allocated\"," HELD(claim) "}"
#define ILL                                                                         \
	"{\"name\":\"g\",\"state\":\"Unavailable\",\"stateReason\":\"Tainted: k\"," \
	"\"health\":\"Unhealthy\",\"healthMessage\":\"Xid 79\"}"

static void a_change_of_the_state_names_the_holder(void **state)
{
	(void)state;
	assert_changes(FREE, TAKEN("c"), "state Available Allocated [] [] [ns/c]");
	assert_changes(TAKEN("c"), FREE, "state Allocated Available [] [] [ns/c]");
	assert_changes(TAKEN("c"), TAKEN("d"), "state Allocated Allocated [] [] [ns/d]");
	assert_changes(FREE, FREE, "");
}

static void health_and_state_are_two_changes(void **state)
{
	(void)state;
	assert_changes(TAKEN("c"), ILL,
		       "health NotReported Unhealthy [] [Xid 79] [ns/c]|"
		       "state Allocated Unavailable [Tainted: k] [] [ns/c]");
}

static void health_that_is_no_longer_reported_is_no_change(void **state)
{
	(void)state;
	assert_changes("{\"name\":\"g\",\"state\":\"Available\",\"health\":\"Healthy\"}", FREE, "");
	assert_changes("{\"name\":\"g\",\"state\":\"Available\",\"health\":\"Unknown\"}", FREE,
		       "health Unknown NotReported [] [] []");
}

static void claims_that_come_and_go_on_a_shared_device_are_no_change(void **state)
{
	(void)state;
	assert_changes("{\"name\":\"g\",\"state\":\"PartiallyAllocated\"," HELD("c") "}",
		       "{\"name\":\"g\",\"state\":\"PartiallyAllocated\"," HELD("d") "}", "");
	assert_changes(
		FREE,
		"{\"name\":\"g\",\"state\":\"PartiallyAllocated\",\"omittedAllocations\":3," HELD(
			"c") "}",
		"state Available PartiallyAllocated [] [] [ns/c (+3)]");
}

static void long_messages_are_cut(void **state)
{
	char text[2048];
	struct device_sight s;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	(void)snprintf(text, sizeof(text), "{\"name\":\"g\",\"healthMessage\":\"%01000d\"}", 0);
	s = sight_of(text, &a);
	assert_int_equal(s.message.n, DEVICE_SIGHT_TEXT_MAX);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_of_the_state_names_the_holder),
		cmocka_unit_test(health_and_state_are_two_changes),
		cmocka_unit_test(health_that_is_no_longer_reported_is_no_change),
		cmocka_unit_test(claims_that_come_and_go_on_a_shared_device_are_no_change),
		cmocka_unit_test(long_messages_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
