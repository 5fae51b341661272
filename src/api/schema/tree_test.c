#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/schema/tree.h"
#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/mem.h"

static void a_condition_is_true_only_if_its_status_says_so(void **state)
{
	static const struct {
		const char *text;
		bool is_true;
	} rows[] = {
		{ "{}", false },
		{ "{'status':{'conditions':[]}}", false },
		{ "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", true },
		{ "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}", false },
		{ "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}", false },
		{ "{'status':{'conditions':[{'type':'Ready','status':true}]}}", false },
		{ "{'status':{'conditions':[{'type':'Full','status':'True'}]}}", false },
		{ "{'status':{'conditions':['Ready',{'type':'Ready','status':'True'}]}}", true },
		{ "{'conditions':[{'type':'Ready','status':'True'}]}", false },
	};
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = arena_strdup(&a, str_from(rows[i].text));
		struct json *object;

		for (char *p = text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		assert_int_equal(json_parse(&a, str_from(text), NULL, &object, NULL), 0);
		if (tree_condition_is_true(object, STR("Ready")) != rows[i].is_true)
			fail_msg("%s: not %d", rows[i].text, rows[i].is_true);
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_is_true_only_if_its_status_says_so),
	};

	return cmocka_run_group_tests_name("api/tree", tests, NULL, NULL);
}
