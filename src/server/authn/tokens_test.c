#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/authn/tokens.h"
#include "server/core/user.h"

static void assert_str(struct str s, const char *want)
{
	assert_int_equal(s.n, strlen(want));
	assert_memory_equal(s.p, want, s.n);
}

static void a_line_names_a_user_with_groups(void **state UNUSED)
{
	CLEANUP(tokens_free) struct tokens *t = NULL;
	const struct user *u;

	assert_int_equal(
		tokens_parse(STR("# people\n\nabc,ann,7,\"dev, ops\"\r\nx,bob,8\n"), &t, NULL), 0);
	u = tokens_find(t, STR("abc"));
	assert_non_null(u);
	assert_true(u->authenticated);
	assert_str(u->name, "ann");
	assert_str(u->uid, "7");
	assert_int_equal(u->ngroups, 3);
	assert_str(u->groups[0], "dev");
	assert_str(u->groups[1], "ops");
	assert_str(u->groups[2], "system:authenticated");
	u = tokens_find(t, STR("x"));
	assert_int_equal(u->ngroups, 1);
	assert_null(tokens_find(t, STR("ab")));
	assert_null(tokens_find(t, STR("")));
}

static void a_quoted_field_may_hold_quotes_and_commas(void **state UNUSED)
{
	CLEANUP(tokens_free) struct tokens *t = NULL;

	assert_int_equal(tokens_parse(STR("\"a,\"\"b\",\"c\",d"), &t, NULL), 0);
	assert_str(tokens_find(t, STR("a,\"b"))->name, "c");
}

static void a_broken_line_is_named(void **state UNUSED)
{
	static const struct {
		struct str text;
		const char *want;
	} rows[] = {
		{ STR("a,b,c\nd,e"),
		  "line 2: want token,user,uid[,\"group,group\"], found 2 fields" },
		{ STR("\"a,b,c"), "line 1: a quote is not closed" },
		{ STR("\"a\"x,b,c"), "line 1: a quote is not closed" },
		{ STR(",b,c"), "line 1: token and user may not be empty" },
	};
	struct tokens *t = NULL;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(tokens_parse(rows[i].text, &t, &err), -ERR_INVALID);
		assert_string_equal(err.msg, rows[i].want);
		assert_null(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_names_a_user_with_groups),
		cmocka_unit_test(a_quoted_field_may_hold_quotes_and_commas),
		cmocka_unit_test(a_broken_line_is_named),
	};

	return cmocka_run_group_tests_name("server/tokens", tests, NULL, NULL);
}
