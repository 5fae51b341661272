/*
 * The certificates published for others: each one once, those of other servers kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/startup/auth_config.h"

#define CERT(x) "-----BEGIN CERTIFICATE-----\n" x "\n-----END CERTIFICATE-----\n"

static void expect_joined(const char *there, const char *ours, const char *wanted)
{
	struct arena a;
	struct str got;

	arena_init(&a, SIZE_MAX);
	got = auth_config_join(&a, str_from(there), str_from(ours));
	assert_int_equal(got.n, str_from(wanted).n);
	assert_memory_equal(got.p, wanted, got.n);
	arena_release(&a);
}

static void the_first_server_writes_its_own(void **state)
{
	(void)state;
	expect_joined("", CERT("AA") CERT("BB"), CERT("AA") CERT("BB"));
}

static void existing_certificates_are_not_written_again(void **state)
{
	(void)state;
	expect_joined(CERT("BB") CERT("AA"), CERT("AA") CERT("BB"), CERT("BB") CERT("AA"));
}

static void certificates_of_other_servers_stay(void **state)
{
	(void)state;
	expect_joined(CERT("AA"), CERT("BB"), CERT("AA") CERT("BB"));
}

static void the_same_one_twice_in_a_file_counts_once(void **state)
{
	(void)state;
	expect_joined("", CERT("AA") "a comment\n" CERT("AA"), CERT("AA"));
}

static void a_last_line_without_an_end_gets_one(void **state)
{
	(void)state;
	expect_joined("-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----", CERT("BB"),
		      CERT("AA") CERT("BB"));
}

static void half_a_certificate_is_left_out(void **state)
{
	(void)state;
	expect_joined("", CERT("AA") "-----BEGIN CERTIFICATE-----\nBB\n", CERT("AA"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_server_writes_its_own),
		cmocka_unit_test(existing_certificates_are_not_written_again),
		cmocka_unit_test(certificates_of_other_servers_stay),
		cmocka_unit_test(the_same_one_twice_in_a_file_counts_once),
		cmocka_unit_test(a_last_line_without_an_end_gets_one),
		cmocka_unit_test(half_a_certificate_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
