/*
 * Levels, versions, and what the labels of a namespace ask for.
 */
#include "api/security/standard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"

static void versions_are_latest_or_v1_with_a_number(void **state UNUSED)
{
	static const char *const wrong[] = { "",
					     "v1",
					     "v1.",
					     "v1.01",
					     "v2.1",
					     "1.30",
					     "v1.-1",
					     "v1.3x",
					     "V1.30",
					     "v1.+1",
					     "v1. 1",
					     "newest",
					     "v1.99999999999999999999" };
	int minor = -1;

	assert_null(security_version_parse(STR("latest"), &minor));
	assert_int_equal(minor, SECURITY_LATEST);
	assert_null(security_version_parse(STR("v1.0"), &minor));
	assert_int_equal(minor, 0);
	assert_null(security_version_parse(STR("v1.137"), &minor));
	assert_int_equal(minor, 137);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		print_message("# %s\n", wrong[i]);
		assert_string_equal(security_version_parse(str_from(wrong[i]), &minor),
				    "must be \"latest\" or \"v1.x\"");
	}
	assert_int_equal(minor, 137);
}

static const char *read_labels(const char *labels, const struct security_policy *defaults,
			       struct arena *a, char faults[static 2048])
{
	struct buf text = BUF_INIT(2048);
	struct security_policy p;
	struct field_errors errs;
	struct json *tree = NULL;

	assert_int_equal(json_parse(a, str_from(labels), NULL, &tree, NULL), 0);
	field_errors_init(&errs, a);
	security_policy_read(tree, defaults, &errs, &p);
	if (field_errors_any(&errs))
		(void)field_errors_aggregate(&errs, &text);
	(void)snprintf(faults, 2048, "%.*s", STR_ARG(buf_str(&text)));
	buf_release(&text);
	return arena_printf(a, "%s %s %s", security_standard_print(&p.of[SECURITY_ENFORCE], a),
			    security_standard_print(&p.of[SECURITY_AUDIT], a),
			    security_standard_print(&p.of[SECURITY_WARN], a));
}

#define LABEL(name) "\"" SECURITY_LABELS name "\":"

static void labels_replace_defaults(void **state UNUSED)
{
	static const struct security_policy lax = { { { SECURITY_PRIVILEGED, SECURITY_LATEST },
						      { SECURITY_PRIVILEGED, SECURITY_LATEST },
						      { SECURITY_PRIVILEGED, SECURITY_LATEST } } };
	static const struct security_policy strict = { { { SECURITY_BASELINE, 20 },
							 { SECURITY_RESTRICTED, 21 },
							 { SECURITY_RESTRICTED, 22 } } };
	static const struct {
		const char *labels, *policy;
		bool strict;
	} cases[] = {
		{ "null", "privileged:latest privileged:latest privileged:latest", false },
		{ "{\"a\":\"b\"}", "baseline:v1.20 restricted:v1.21 restricted:v1.22", true },
		/* Who enforces more warns about it, too. */
		{ "{" LABEL("enforce") "\"baseline\"}",
		  "baseline:latest privileged:latest baseline:latest", false },
		{ "{" LABEL("enforce") "\"baseline\"," LABEL("enforce-version") "\"v1.30\"}",
		  "baseline:v1.30 privileged:latest baseline:v1.30", false },
		{ "{" LABEL("enforce") "\"baseline\"," LABEL("warn-version") "\"v1.7\"}",
		  "baseline:latest privileged:latest baseline:v1.7", false },
		{ "{" LABEL("enforce") "\"restricted\"," LABEL("warn") "\"privileged\"}",
		  "restricted:latest privileged:latest privileged:latest", false },
		{ "{" LABEL("enforce") "\"privileged\"," LABEL("audit") "\"baseline\"}",
		  "privileged:v1.20 baseline:v1.21 restricted:v1.22", true },
	};
	struct arena a;
	char faults[2048];

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("# %s\n", cases[i].labels);
		assert_string_equal(
			read_labels(cases[i].labels, cases[i].strict ? &strict : &lax, &a, faults),
			cases[i].policy);
		assert_string_equal(faults, "");
	}
	arena_release(&a);
}

static void labels_that_cannot_be_read_are_strict_to_enforce_only(void **state UNUSED)
{
	static const struct security_policy lax = { { { SECURITY_PRIVILEGED, SECURITY_LATEST },
						      { SECURITY_PRIVILEGED, SECURITY_LATEST },
						      { SECURITY_PRIVILEGED, SECURITY_LATEST } } };
	struct arena a;
	char faults[2048];

	arena_init(&a, 1 << 20);
	assert_string_equal(
		read_labels("{" LABEL("warn") "\"no\"," LABEL("enforce") "\"no\"," LABEL(
				    "audit") "\"no\"," LABEL("audit-version") "\"2\"}",
			    &lax, &a, faults),
		"restricted:latest privileged:latest privileged:latest");
	assert_string_equal(
		faults,
		"[metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"no\": must "
		"be one of privileged, baseline, restricted, "
		"metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: \"no\": must be "
		"one of privileged, baseline, restricted, "
		"metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"2\": "
		"must be \"latest\" or \"v1.x\", metadata.labels[pod-security.kubernetes.io/warn]: "
		"Invalid value: \"no\": must be one of privileged, baseline, restricted]");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_latest_or_v1_with_a_number),
		cmocka_unit_test(labels_replace_defaults),
		cmocka_unit_test(labels_that_cannot_be_read_are_strict_to_enforce_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
