/*
 * Decisions by the causes of a rejection, and never by the words of its message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/api/client.h"

static void a_refusal_blames_fields_by_its_causes_only(void **state UNUSED)
{
	static const struct {
		const char *body;
		bool blamed;
	} cases[] = {
		{ "{\"details\":{\"causes\":[{\"field\":\"a\"},{\"field\":\"status.list\"}]}}",
		  true },
		{ "{\"details\":{\"causes\":[{\"field\":\"status.list[0].name\"}]}}", true },
		{ "{\"details\":{\"causes\":[{\"field\":\"status.list.x\"}]}}", true },
		{ "{\"details\":{\"causes\":[{\"field\":\"status.lists\"}]}}", false },
		{ "{\"details\":{\"causes\":[{\"field\":\"x.status.list\"}]}}", false },
		{ "{\"message\":\"status.list: no\",\"details\":{\"causes\":[{\"field\":\"status\","
		  "\"message\":\"status.list\"}]}}",
		  false },
		{ "{\"message\":\"status.list: no\"}", false },
		{ "status.list", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_answer answer = { .status = 422, .body = str_from(cases[i].body) };

		if (client_answer_blames(&answer, STR("status.list")) != cases[i].blamed)
			fail_msg("%s", cases[i].body);
	}
}

static void a_refusal_has_causes_by_reason_only(void **state UNUSED)
{
	static const struct {
		const char *body;
		bool has;
	} cases[] = {
		{ "{\"details\":{\"causes\":[{\"reason\":\"Other\"},"
		  "{\"reason\":\"NamespaceTerminating\",\"field\":\"f\"}]}}",
		  true },
		{ "{\"details\":{\"causes\":[{\"message\":\"NamespaceTerminating\"}]}}", false },
		{ "{\"reason\":\"NamespaceTerminating\",\"message\":\"it is being terminated\"}",
		  false },
		{ "being terminated", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_answer answer = { .status = 403, .body = str_from(cases[i].body) };

		if (client_answer_has_cause(&answer, STR("NamespaceTerminating")) != cases[i].has)
			fail_msg("%s", cases[i].body);
	}
	assert_false(client_answer_has_cause(NULL, STR("NamespaceTerminating")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_blames_fields_by_its_causes_only),
		cmocka_unit_test(a_refusal_has_causes_by_reason_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
