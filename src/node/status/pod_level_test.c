/*
 * Finds a property in one schema of a document, in pieces of any size.
 */
#include "node/status/pod_level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER                                                                                      \
	"\"io.k8s.api.core.v1.ContainerStatus\":{\"properties\":{\"allocatedResourcesStatus\":{}}" \
	"}"

static bool scan(const char *text, size_t piece)
{
	struct pod_level_scan s = { 0 };
	struct str rest = str_from(text);

	while (rest.n > 0) {
		size_t n = piece < rest.n ? piece : rest.n;

		pod_level_scan(&s, str_of(rest.p, n));
		rest = str_skip(rest, n);
	}
	return s.found;
}

static void expect(const char *text, bool found)
{
	for (size_t piece = 1; piece < 40; piece++)
		assert_int_equal(scan(text, piece), found);
}

static void the_field_is_found_in_its_schema_only(void **state)
{
	expect("{" OTHER ",\"io.k8s.api.core.v1.PodStatus\":{\"properties\":{\"phase\":{}}}}",
	       false);
	expect("{" OTHER ",\"io.k8s.api.core.v1.PodStatus\" : {\n \"properties\": {\"phase\":{},"
	       "\"allocatedResourcesStatus\":{\"type\":\"array\"}}}}",
	       true);
	expect("{\"io.k8s.api.core.v1.PodStatus\":{\"properties\":{\"a\":{\"b\":{}}}}," OTHER "}",
	       false);
	expect("{\"io.k8s.api.core.v1.PodStatusResult\":{\"properties\":{"
	       "\"allocatedResourcesStatus\":{}}}}",
	       false);
}

static void braces_and_quotes_in_descriptions_do_not_count(void **state)
{
	expect("{\"io.k8s.api.core.v1.PodStatus\":{\"description\":\"a } \\\" } "
	       "\\\\\",\"properties\":"
	       "{\"allocatedResourcesStatus\":{}}}}",
	       true);
	expect("{\"io.k8s.api.core.v1.PodStatus\":{\"description\":\"{{{\",\"properties\":{}}"
	       "," OTHER "}",
	       false);
	expect("{\"x\":\"\\\"io.k8s.api.core.v1.PodStatus\\\":\"," OTHER "}", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_field_is_found_in_its_schema_only),
		cmocka_unit_test(braces_and_quotes_in_descriptions_do_not_count),
	};

	return cmocka_run_group_tests_name("node/pod_level", tests, NULL, NULL);
}
