#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "base/core/random.h"
#include "base/text/ip6.h"

static void addresses_are_printed_as_go_does(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "2001:DB8:0:0:0:0:0:5", "2001:db8::5" },
		{ "2001:0db8::0001", "2001:db8::1" },
		{ "1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7" }, /* one zero stays */
		{ "1:0:0:2:0:0:0:3", "1:0:0:2::3" }, /* the longest */
		{ "1:0:0:2:3:0:0:4", "1::2:3:0:0:4" }, /* the first of equals */
		{ "1:2:3:4:5:6:0:0", "1:2:3:4:5:6::" },
		{ "0:0:3:4:5:6:7:8", "::3:4:5:6:7:8" },
		{ "::1.2.3.4", "::102:304" }, /* where inet_ntop differs */
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned char bytes[16];
		char text[IP6_TEXT];

		assert_int_equal(inet_pton(AF_INET6, rows[i][0], bytes), 1);
		ip6_print(bytes, text);
		assert_string_equal(text, rows[i][1]);
	}
}

static bool begins_with_zeros(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Those apart that have dots there, which are zeros in their first eighty bits. */
static void all_others_are_as_inet_ntop_prints_them(void **state UNUSED)
{
	struct prng p;

	prng_init(&p, 4291);
	for (int i = 0; i < 20000; i++) {
		uint64_t zeros = prng_u64(&p), words[2] = { prng_u64(&p), prng_u64(&p) };
		char text[IP6_TEXT], theirs[INET6_ADDRSTRLEN];
		unsigned char bytes[16], again[16];

		memcpy(bytes, words, sizeof(bytes));
		for (unsigned k = 0; k < 8; k++)
			if (zeros >> k & 1)
				bytes[2 * k] = bytes[2 * k + 1] = 0;
		ip6_print(bytes, text);
		assert_int_equal(inet_pton(AF_INET6, text, again), 1);
		assert_memory_equal(again, bytes, sizeof(bytes));
		if (begins_with_zeros(bytes, 10))
			continue;
		assert_non_null(inet_ntop(AF_INET6, bytes, theirs, sizeof(theirs)));
		assert_string_equal(text, theirs);
	}
}

static void ipv4_in_ipv6_is_known(void **state UNUSED)
{
	static const unsigned char mapped[16] = { [10] = 0xff, [11] = 0xff, [15] = 1 };
	static const unsigned char compatible[16] = { [15] = 1 };

	assert_true(ip6_is_mapped(mapped));
	assert_false(ip6_is_mapped(compatible));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_printed_as_go_does),
		cmocka_unit_test(all_others_are_as_inet_ntop_prints_them),
		cmocka_unit_test(ipv4_in_ipv6_is_known),
	};

	return cmocka_run_group_tests_name("base/ip6", tests, NULL, NULL);
}
