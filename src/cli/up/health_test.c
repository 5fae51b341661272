/*
 * The text that says why a role is not healthy.
 */
#include "cli/up/health.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_fault(struct str body, const char *fault)
{
	struct str found = find_fault(body);

	if (!str_eqz(found, fault))
		fail_msg("%.*s is not %s", STR_ARG(found), fault);
}

static void the_first_failed_check_or_else_the_first_line_is_the_fault(void **state UNUSED)
{
	assert_fault(STR("[+]ping ok\n[-]node-ready failed: no\n[-]other failed\n"),
		     "node-ready failed: no");
	assert_fault(STR("not yet\nfurther text"), "not yet");
	assert_fault(STR(""), "");
}

/* Leaves text where the next function has its variables. */
static __attribute__((noinline)) void dirty_the_stack(void)
{
	struct str lines[64];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i] = STR("stale");
	__asm__ volatile("" : : "r"(lines) : "memory");
}

static void a_reply_without_a_body_has_no_fault(void **state UNUSED)
{
	dirty_the_stack();
	assert_int_equal(find_fault(STR_NULL).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_failed_check_or_else_the_first_line_is_the_fault),
		cmocka_unit_test(a_reply_without_a_body_has_no_fault),
	};

	return cmocka_run_group_tests_name("cli/up health", tests, NULL, NULL);
}
