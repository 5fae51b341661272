#include "api/schema/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct row {
	const char *(*check)(struct str);
	const char *text;
	const char *fault; /* a part of it; NULL: valid */
};

#define L63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"

static const struct row rows[] = {
	{ names_dns_label, "a", NULL },
	{ names_dns_label, "my-gpu-0", NULL },
	{ names_dns_label, L63, NULL },
	{ names_dns_label, L63 "1", "must be no more than 63 characters" },
	{ names_dns_label, "a.b", "must not contain dots" },
	{ names_dns_label, "", "a lowercase RFC 1123 label must consist" },
	{ names_dns_label, "A", "(e.g. 'my-name',  or '123-abc', regex used for validation is" },
	{ names_dns_label, "-a", "must start and end" },
	{ names_dns_label, "a-", "must start and end" },
	{ names_dns_label, "a\xc3\xa4", "must consist" },
	{ names_dns_subdomain, "gpu.example.com", NULL },
	{ names_dns_subdomain, "a..b", "lowercase RFC 1123 subdomain" },
	{ names_dns_subdomain, "a.", "lowercase RFC 1123 subdomain" },
	{ names_dns_subdomain, ".a", "lowercase RFC 1123 subdomain" },
	{ names_dns_subdomain, "a_b", "lowercase RFC 1123 subdomain" },
	{ names_dns_subdomain, "", "lowercase RFC 1123 subdomain" },
	{ names_dns_subdomain, L63 "." L63 "." L63 "." L63 "xyz", "no more than 253 characters" },
	{ names_dns1035_label, "a1", NULL },
	{ names_dns1035_label, "1a", "a DNS-1035 label" },
	{ names_qualified, "example.com/My_Name.x", NULL },
	{ names_qualified, "name", NULL },
	{ names_qualified, "a/b/c", "with an optional DNS subdomain prefix" },
	{ names_qualified, "/b", "prefix part must be non-empty" },
	{ names_qualified, "a/", "name part must be non-empty" },
	{ names_qualified, "A/b", "prefix part a lowercase RFC 1123 subdomain" },
	{ names_qualified, L63 "1", "name part must be no more than 63 bytes" },
	{ names_qualified, "b?", "name part must consist of alphanumeric" },
	{ names_label_value, "", NULL },
	{ names_label_value, "A_b.c-1", NULL },
	{ names_label_value, "a b", "a valid label must be an empty string" },
	{ names_path_segment, "system:node", NULL },
	{ names_path_segment, "..", "may not be '..'" },
	{ names_path_segment, "a/b", "may not contain '/'" },
	{ names_path_segment, "a%b", "may not contain '%'" },
	{ names_c_identifier, "_x9", NULL },
	{ names_c_identifier, "9x", "a valid C identifier" },
	{ names_semver, "1.2.3", NULL },
	{ names_semver, "1.2.3-alpha.1+build.007", NULL },
	{ names_semver, "1.2.3-0a", NULL },
	{ names_semver, "1.2.3-a--b", NULL },
	{ names_semver, "0.0.0", NULL },
	{ names_semver, "v1.2.3", "semver.org" },
	{ names_semver, "1.2", "semver.org" },
	{ names_semver, "1.2.3.4", "semver.org" },
	{ names_semver, "01.2.3", "semver.org" },
	{ names_semver, "1.2.3-01", "semver.org" },
	{ names_semver, "1.2.3-", "semver.org" },
	{ names_semver, "1.2.3+", "semver.org" },
	{ names_semver, "1.2.-", "semver.org" },
	{ names_semver, "", "semver.org" },
	{ names_uuid, "123e4567-e89b-12d3-a456-426614174000", NULL },
	{ names_uuid, "123E4567-e89b-12d3-a456-426614174000", "lowercase UUID" },
	{ names_uuid, "123e4567e89b12d3a456426614174000", "lowercase UUID" },
	{ names_uuid, "", "lowercase UUID" },
	{ names_condition_reason, "AsExpected", NULL },
	{ names_condition_reason, "A,B:c_", NULL },
	{ names_condition_reason, "9a", "'ReasonA,ReasonB',  or 'ReasonA:ReasonB'" },
	{ names_condition_reason, "a:", "a condition reason" },
	{ names_config_key, "my.key-1_x", NULL },
	{ names_config_key, "a/b", "a valid config key" },
	{ names_config_key, "..", "must not be '..'" },
	{ names_config_key, "..a", "must not start with '..'" },
	{ names_port_name, "http-1", NULL },
	{ names_port_name, "1", "at least one letter" },
	{ names_port_name, "a--b", "consecutive" },
	{ names_port_name, "averylongportname", "15 characters" },
	{ names_env, "MY-VAR.1", NULL },
	{ names_env, "1 x", NULL },
	{ names_env, "a=b", "other than '='" },
	{ names_env, "", "must be non-empty" },
};

static void names_are_judged_in_upstreams_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *fault = rows[i].check(str_from(rows[i].text));

		if (!fault != !rows[i].fault || (fault && !strstr(fault, rows[i].fault)))
			fail_msg("\"%s\": %s, expected %s", rows[i].text, fault ? fault : "fine",
				 rows[i].fault ? rows[i].fault : "fine");
	}
}

static void formats_of_the_schema_are_checked(void **state)
{
	static const struct {
		enum schema_format format;
		const char *text;
		bool fine;
	} cases[] = {
		{ SCHEMA_FORMAT_NONE, "?", true },
		{ SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS, "GPU.example.com", true },
		{ SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS, "GPU_.example.com", false },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "model", true },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "example.com/model", true },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "example.com/", false },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "/model", false },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "a-b", false },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "a/b/c", true },
		{ SCHEMA_FORMAT_QUALIFIED_NAME, "", false },
		{ SCHEMA_FORMAT_FULLY_QUALIFIED_NAME, "model", false },
		{ SCHEMA_FORMAT_FULLY_QUALIFIED_NAME, "example.com/model", true },
		{ SCHEMA_FORMAT_POOL_NAME, "node-1", true },
		{ SCHEMA_FORMAT_POOL_NAME, "a.example/b/c", true },
		{ SCHEMA_FORMAT_POOL_NAME, "a//b", false },
		{ SCHEMA_FORMAT_POOL_NAME, "", false },
		{ SCHEMA_FORMAT_CONDITION_TYPE, "example.com/Ready", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *fault = names_check(cases[i].format, str_from(cases[i].text));

		if (!fault != cases[i].fine)
			fail_msg("\"%s\": %s", cases[i].text, fault ? fault : "fine");
	}
}

static void a_name_can_have_two_faults(void **state)
{
	struct names_faults f;

	(void)state;
	names_find_faults(SCHEMA_FORMAT_DNS_LABEL, STR(L63 "A"), &f);
	assert_int_equal(f.n, 2);
	names_find_faults(SCHEMA_FORMAT_DNS_LABEL, STR("ok"), &f);
	assert_int_equal(f.n, 0);
}

static void a_prefix_may_end_in_a_dash(void **state)
{
	char room[16];

	(void)state;
	assert_null(names_dns_subdomain(names_mask_prefix(STR("gpu-"), room)));
	assert_null(names_dns_subdomain(names_mask_prefix(STR("gpu"), room)));
	assert_non_null(names_dns_subdomain(names_mask_prefix(STR("Gpu-"), room)));
	assert_non_null(names_dns_subdomain(names_mask_prefix(STR("-"), room)));
}

static void extended_resources_have_a_vendors_domain(void **state)
{
	(void)state;
	assert_true(names_is_extended_resource(STR("example.com/gpu")));
	assert_false(names_is_extended_resource(STR("gpu")));
	assert_false(names_is_extended_resource(STR("kubernetes.io/gpu")));
	assert_false(names_is_extended_resource(STR("requests.example.com/gpu")));
	assert_false(names_is_extended_resource(STR("example.com/a/b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_judged_in_upstreams_words),
		cmocka_unit_test(formats_of_the_schema_are_checked),
		cmocka_unit_test(a_name_can_have_two_faults),
		cmocka_unit_test(a_prefix_may_end_in_a_dash),
		cmocka_unit_test(extended_resources_have_a_vendors_domain),
	};

	return cmocka_run_group_tests_name("api/names", tests, NULL, NULL);
}
