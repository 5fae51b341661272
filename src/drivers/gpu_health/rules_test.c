#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_health/rules.h"

static void the_built_in_table_follows_nvidias_catalog(void **state)
{
	static const struct {
		uint32_t xid;
		enum xid_class class;
	} want[] = {
		{ 13, XID_APPLICATION }, { 31, XID_APPLICATION }, { 43, XID_APPLICATION },
		{ 45, XID_APPLICATION }, { 68, XID_APPLICATION }, { 40, XID_APPLICATION },
		{ 48, XID_FATAL },       { 95, XID_FATAL },       { 119, XID_FATAL },
		{ 120, XID_FATAL },      { 140, XID_FATAL },      { 74, XID_FATAL },
		{ 64, XID_FATAL },       { 149, XID_FATAL },      { 79, XID_LOST },
		{ 94, XID_CONTAINED },   { 63, XID_CONTAINED },   { 109, XID_ASK },
		{ 154, XID_ASK },        { 999, XID_ASK },        { 0, XID_ASK },
		{ 185, XID_ASK },
	};
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct xid_rule *rule = xid_rules_find(r, want[i].xid);

		if (rule->class != want[i].class)
			fail_msg("Xid %u is %s, not %s", want[i].xid, xid_class_name(rule->class),
				 xid_class_name(want[i].class));
		assert_true(strlen(rule->text) > 0 && strlen(rule->action) > 0);
	}
}

static void built_in_rows_do_not_overlap(void **state)
{
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();

	(void)state;
	for (uint32_t xid = 0; xid < 300; xid++) {
		const struct xid_rule *rule = xid_rules_find(r, xid);

		if (rule->first > 0)
			assert_ptr_equal(xid_rules_find(r, rule->last), rule);
	}
}

static void rules_of_a_file_win_and_the_last_one_first(void **state)
{
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();
	struct error err = { .msg = "" };
	int rc = xid_rules_add(r,
			       STR("rules:\n"
				   "- xid: 31\n"
				   "  class: fatal\n"
				   "- xid: [13, \"144-150\", \"43\"]\n"
				   "  class: ignored\n"
				   "  text: seen often\n"
				   "  action: do nothing\n"
				   "- {xid: 145, class: lost}\n"),
			       &err);

	(void)state;
	if (rc < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(xid_rules_find(r, 31)->class, XID_FATAL);
	assert_string_equal(xid_rules_find(r, 31)->action, "reset the GPU");
	assert_int_equal(xid_rules_find(r, 13)->class, XID_IGNORED);
	assert_string_equal(xid_rules_find(r, 43)->text, "seen often");
	assert_int_equal(xid_rules_find(r, 144)->class, XID_IGNORED);
	assert_int_equal(xid_rules_find(r, 145)->class, XID_LOST);
	assert_int_equal(xid_rules_find(r, 48)->class, XID_FATAL);
}

static void faults_of_a_file_have_their_line(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "rules:\n- xid: 31\n  class: fatal\n- xid: 13\n  class: deadly\n",
		  "line 4: rules[1].class: must be ignored, application, contained, fatal, lost or "
		  "recovery" },
		{ "rules:\n\n  - xid: 31\n",
		  "line 3: rules[0].class: is missing; write ignored, application, contained, "
		  "fatal, lost or recovery" },
		{ "rules:\n- xid: x\n  class: fatal\n",
		  "line 2: rules[0].xid: must be a number up to 65535, a range such as "
		  "\"144-150\", or a list of these" },
		{ "rules:\n- xid: 9-5\n  class: fatal\n",
		  "line 2: rules[0].xid: must be a number up to 65535, a range such as "
		  "\"144-150\", or a list of these" },
		{ "rules:\n- xid: []\n  class: fatal\n",
		  "line 2: rules[0].xid: must name at least one Xid" },
		{ "rules:\n- xid: 1\n  clas: fatal\n",
		  "line 2: rules[0]: unknown field \"clas\"; did you mean class" },
		{ "rules:\n- xid: 1\n  zzzzzz: fatal\n",
		  "line 2: rules[0]: unknown field \"zzzzzz\"; use xid, class, text or action" },
		{ "{\"rules\": [{\"xid\": 1, \"class\": 3}]}",
		  "rules[0].class: must be ignored, application, contained, fatal, lost or "
		  "recovery" },
		{ "rules:\n- fatal\n", "line 2: rules[0]: must be an object with xid and class" },
		{ "rules:\n- xid: 1\n  class: fatal\n  text: \"\"\n",
		  "line 2: rules[0].text: must be one line of text, of 100 bytes at most" },
		{ "", "must have a list \"rules\"" },
		{ "rule: []", "must have a list \"rules\"" },
		{ "rules: []\nmore: 1", "must have \"rules\" and no other field" },
		{ "rules:\n- xid: 1\n  xid: 2\n  class: fatal\n", "rules[0].xid is set twice" },
	};
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { .msg = "" };

		assert_int_equal(xid_rules_add(r, str_from(cases[i].text), &err), -ERR_INVALID);
		assert_string_equal(err.msg, cases[i].want);
	}
}

static void invalid_yaml_is_reported_with_its_line(void **state)
{
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();
	struct error err = { .msg = "" };

	(void)state;
	assert_int_equal(xid_rules_add(r, STR("rules:\n- xid: [1\n"), &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "line "));
}

static void a_file_with_a_fault_changes_nothing(void **state)
{
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();

	(void)state;
	assert_int_equal(
		xid_rules_add(r, STR("rules:\n- xid: 31\n  class: fatal\n- xid: 13\n"), NULL),
		-ERR_INVALID);
	assert_int_equal(xid_rules_find(r, 31)->class, XID_APPLICATION);
}

static void a_missing_file_is_named(void **state)
{
	CLEANUP(xid_rules_free) struct xid_rules *r = xid_rules_new();
	struct error err = { .msg = "" };

	(void)state;
	assert_int_equal(xid_rules_load(r, "/nonexistent/xids.yaml", &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/nonexistent/xids.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_built_in_table_follows_nvidias_catalog),
		cmocka_unit_test(built_in_rows_do_not_overlap),
		cmocka_unit_test(rules_of_a_file_win_and_the_last_one_first),
		cmocka_unit_test(faults_of_a_file_have_their_line),
		cmocka_unit_test(invalid_yaml_is_reported_with_its_line),
		cmocka_unit_test(a_file_with_a_fault_changes_nothing),
		cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
