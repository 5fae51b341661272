#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/reach/reach.h"

static bool allows(const struct reach *r, enum reach_to to, const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(&a, str_from(text), 0, NULL), 0);
	a.rule = reach_rule(r, to);
	return addr_allows(&a, &a);
}

static void nobody_is_led_to_the_server_itself(void **state UNUSED)
{
	struct reach r;

	assert_int_equal(reach_init(&r, NULL, 0, NULL), 0);
	assert_true(allows(&r, REACH_KUBELET, "127.0.0.1:6443"));
	atomic_store(&r.port, 6443);
	assert_false(allows(&r, REACH_KUBELET, "127.0.0.1:6443"));
	assert_false(allows(&r, REACH_KUBELET, "127.9.9.9:6443"));
	assert_false(allows(&r, REACH_KUBELET, "0.0.0.0:6443"));
	assert_true(allows(&r, REACH_KUBELET, "127.0.0.1:10250"));
	assert_true(allows(&r, REACH_KUBELET, "198.51.100.77:6443"));
	reach_release(&r);
}

static void proxies_leave_this_machine(void **state UNUSED)
{
	struct reach r;

	assert_int_equal(reach_init(&r, NULL, 0, NULL), 0);
	for (int to = REACH_NODE; to < REACH_KINDS; to++) {
		assert_false(allows(&r, to, "127.0.0.1:80"));
		assert_false(allows(&r, to, "[fe80::1]:80"));
		assert_false(allows(&r, to, "localhost:80"));
		assert_true(allows(&r, to, "198.51.100.77:80"));
		assert_true(allows(&r, to, "example.com:80"));
	}
	reach_release(&r);
}

static void nodes_are_in_their_ranges(void **state UNUSED)
{
	static const char *const ranges[] = { "198.51.100.64/26", "2001:db8::/32" };
	struct reach r;

	assert_int_equal(reach_init(&r, ranges, ARRAY_SIZE(ranges), NULL), 0);
	for (int to = REACH_KUBELET; to <= REACH_NODE; to++) {
		assert_true(allows(&r, to, "198.51.100.77:10250"));
		assert_true(allows(&r, to, "[2001:db8::77]:10250"));
		assert_true(allows(&r, to, "[::ffff:198.51.100.77]:10250"));
		assert_false(allows(&r, to, "198.51.100.7:10250"));
		assert_false(allows(&r, to, "[2001:db9::77]:10250"));
	}
	assert_true(allows(&r, REACH_PROXY, "198.51.100.7:80"));
	reach_release(&r);
}

static void a_range_must_be_one(void **state UNUSED)
{
	static const char *const ranges[] = { "198.51.100.64/26", "198.51.100.64" };
	struct error err;
	struct reach r;

	assert_int_equal(reach_init(&r, ranges, ARRAY_SIZE(ranges), &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "\"198.51.100.64\" is not a range"));
	reach_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_led_to_the_server_itself),
		cmocka_unit_test(proxies_leave_this_machine),
		cmocka_unit_test(nodes_are_in_their_ranges),
		cmocka_unit_test(a_range_must_be_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
