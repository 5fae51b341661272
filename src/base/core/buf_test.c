/*
 * Growth, the limit, and the NUL that always follows the content.
 */
#include "base/core/buf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void an_empty_buffer_takes_no_memory(void **state)
{
	struct buf b = BUF_INIT(100);

	assert_null(b.p);
	assert_int_equal(buf_add(&b, "", 0), 0);
	assert_null(b.p);
	assert_int_equal(buf_str(&b).n, 0);
	buf_consume(&b, 5);
	buf_clear(&b);
	buf_release(&b);
}

static void appended_bytes_are_followed_by_a_nul(void **state)
{
	struct buf b = BUF_INIT(100000);

	for (int i = 0; i < 10000; i++) {
		assert_int_equal(buf_addc(&b, (char)('a' + i % 26)), 0);
		assert_int_equal(b.p[b.n], '\0');
	}
	assert_int_equal(b.n, 10000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(b.p[i], 'a' + i % 26);
	buf_release(&b);
}

static void the_pieces_come_in_order(void **state)
{
	struct buf b = BUF_INIT(1000);

	assert_int_equal(buf_addz(&b, "a"), 0);
	assert_int_equal(buf_add_str(&b, STR("b\0c")), 0);
	assert_int_equal(buf_printf(&b, "%d-%s", 42, "x"), 0);
	assert_int_equal(buf_printf(&b, "%s", ""), 0);
	assert_true(str_eq(buf_str(&b), STR("ab\0c42-x")));
	buf_release(&b);
}

static void numbers_are_printed_in_full(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)buf_add_u64(&b, 0);
	(void)buf_addc(&b, ' ');
	(void)buf_add_u64(&b, UINT64_MAX);
	(void)buf_addc(&b, ' ');
	(void)buf_add_i64(&b, INT64_MIN);
	(void)buf_addc(&b, ' ');
	(void)buf_add_i64(&b, INT64_MAX);
	(void)buf_addc(&b, ' ');
	(void)buf_add_i64(&b, -1);
	assert_string_equal(b.p, "0 18446744073709551615 -9223372036854775808 "
				 "9223372036854775807 -1");
	buf_release(&b);
}

static void the_limit_is_reached_but_not_passed(void **state)
{
	struct buf b = BUF_INIT(5);

	assert_int_equal(buf_addz(&b, "12345"), 0);
	assert_false(b.overflow);
	assert_int_equal(buf_addc(&b, '6'), -ERR_TOO_LARGE);
	assert_true(b.overflow);
	assert_string_equal(b.p, "12345");
	buf_clear(&b);
	assert_false(b.overflow);
	assert_int_equal(buf_printf(&b, "%06d", 7), -ERR_TOO_LARGE);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ERR_TOO_LARGE);
	buf_release(&b);
}

static void a_number_that_does_not_fit_adds_nothing(void **state)
{
	struct buf b = BUF_INIT(4);

	assert_int_equal(buf_add_i64(&b, -1234), -ERR_TOO_LARGE);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_add_u64(&b, 12345), -ERR_TOO_LARGE);
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_add_i64(&b, -123), 0);
	assert_string_equal(b.p, "-123");
	buf_release(&b);
}

static void overflow_stays_until_cleared(void **state)
{
	struct buf b = BUF_INIT(3);

	(void)buf_addz(&b, "long text");
	(void)buf_addz(&b, "abc");
	assert_true(b.overflow);
	assert_string_equal(b.p, "abc");
	buf_release(&b);
	assert_false(b.overflow);
	assert_int_equal(b.max, 3);
}

static void reserved_room_can_be_written_directly(void **state)
{
	struct buf b = BUF_INIT(1000);

	assert_int_equal(buf_reserve(&b, 700), 0);
	memset(b.p, 'x', 700);
	b.n += 700;
	assert_int_equal(buf_addc(&b, 'y'), 0);
	assert_int_equal(b.p[700], 'y');
	assert_int_equal(buf_reserve(&b, 299), 0);
	assert_int_equal(buf_reserve(&b, 300), -ERR_TOO_LARGE);
	buf_release(&b);
}

static void consuming_moves_the_rest_down(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)buf_addz(&b, "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(b.p, "cdef");
	buf_consume(&b, 0);
	assert_int_equal(b.n, 4);
	buf_consume(&b, 100);
	assert_int_equal(b.n, 0);
	assert_string_equal(b.p, "");
	buf_release(&b);
}

static void taking_leaves_an_empty_buffer(void **state)
{
	struct buf b = BUF_INIT(10);
	char *text;

	text = buf_take(&b);
	assert_string_equal(text, "");
	free(text);
	(void)buf_addz(&b, "abc");
	text = buf_take(&b);
	assert_string_equal(text, "abc");
	assert_null(b.p);
	assert_int_equal(b.max, 10);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_takes_no_memory),
		cmocka_unit_test(appended_bytes_are_followed_by_a_nul),
		cmocka_unit_test(the_pieces_come_in_order),
		cmocka_unit_test(numbers_are_printed_in_full),
		cmocka_unit_test(the_limit_is_reached_but_not_passed),
		cmocka_unit_test(a_number_that_does_not_fit_adds_nothing),
		cmocka_unit_test(overflow_stays_until_cleared),
		cmocka_unit_test(reserved_room_can_be_written_directly),
		cmocka_unit_test(consuming_moves_the_rest_down),
		cmocka_unit_test(taking_leaves_an_empty_buffer),
	};

	return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
