#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>

#include "api/schema/address.h"
#include "drivers/rtnl/rtnl.h"

static void addresses_are_read_and_printed_in_one_form(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{ "192.0.2.5/24", "192.0.2.5/24" },
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "255.255.255.255/32", "255.255.255.255/32" },
		{ "2001:db8::5/64", "2001:db8::5/64" },
		{ "2001:DB8:0::05/64", "2001:db8::5/64" },
		{ "::/0", "::/0" },
		{ "::1.2.3.4/128", "::102:304/128" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf canonical = BUF_INIT(128);
		struct rtnl_ip ip;
		char text[RTNL_IP_TEXT];

		assert_true(rtnl_ip_parse(str_from(rows[i][0]), false, &ip));
		rtnl_ip_print(&ip, text);
		assert_string_equal(text, rows[i][1]);
		/* Which is the form that the API server wants. */
		assert_true(address_canonical(str_from(text), &canonical));
		assert_true(str_eqz(buf_str(&canonical), text));
	}
}

static void an_ambiguous_text_is_not_an_address(void **state UNUSED)
{
	static const char *const rows[] = {
		"",
		"/",
		"/24",
		"192.0.2.5",
		"192.0.2.5/",
		"192.0.2.5/33",
		"192.0.2.5/024",
		"192.0.2.5/+4",
		"192.0.2.5/-1",
		"192.0.2.5/24/1",
		"192.0.2.5/24 ",
		" 192.0.2.5/24",
		"192.0.02.5/24",
		"192.0.2/24",
		"192.0.2.5.6/24",
		"192.0.2.256/24",
		"192.0.2./24",
		"192.0..5/24",
		"0x7f.0.0.1/8",
		"2001:db8::5",
		"2001:db8::5/129",
		"2001:db8::5::6/64",
		"2001:db8::5%eth0/64",
		"[2001:db8::5]/64",
		"::ffff:192.0.2.5/120",
		"12345::/64",
		"1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21:22:23:24:25/64",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rtnl_ip ip = { .prefix = 77 };

		if (rtnl_ip_parse(str_from(rows[i]), false, &ip))
			fail_msg("\"%s\" is taken", rows[i]);
		assert_int_equal(ip.prefix, 77);
	}
	assert_false(rtnl_ip_parse(str_of("1::\0/64", 7), false, &(struct rtnl_ip){ 0 }));
	assert_false(rtnl_ip_parse(STR_NULL, true, &(struct rtnl_ip){ 0 }));
}

static void an_address_without_a_prefix_is_plain(void **state UNUSED)
{
	struct rtnl_ip ip;
	char text[RTNL_IP_TEXT];

	assert_true(rtnl_ip_parse(STR("192.0.2.5"), true, &ip));
	assert_int_equal(ip.family, AF_INET);
	assert_int_equal(ip.prefix, 32);
	rtnl_ip_print_plain(&ip, text);
	assert_string_equal(text, "192.0.2.5");
	assert_true(rtnl_ip_parse(STR("2001:db8::5"), true, &ip));
	assert_int_equal(ip.prefix, 128);
	rtnl_ip_print_plain(&ip, text);
	assert_string_equal(text, "2001:db8::5");
	assert_false(rtnl_ip_parse(STR("192.0.2.5/32"), true, &ip));
}

/* An interface may have one, and the API server takes it as IPv4. */
static void ipv4_in_ipv6_is_printed_as_ipv4(void **state UNUSED)
{
	struct rtnl_ip ip = { { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 5 },
			      AF_INET6,
			      120 };
	char text[RTNL_IP_TEXT];

	rtnl_ip_print(&ip, text);
	assert_string_equal(text, "192.0.2.5/24");
	rtnl_ip_print_plain(&ip, text);
	assert_string_equal(text, "192.0.2.5");
	ip.prefix = 64;
	rtnl_ip_print(&ip, text);
	assert_string_equal(text, "192.0.2.5/0");
}

static void networks_have_no_bits_of_hosts(void **state UNUSED)
{
	static const struct {
		const char *text;
		bool network;
	} rows[] = {
		{ "192.0.2.0/24", true },   { "192.0.2.5/24", false }, { "192.0.2.128/25", true },
		{ "192.0.2.64/25", false }, { "0.0.0.0/0", true },     { "128.0.0.0/0", false },
		{ "192.0.2.5/32", true },   { "2001:db8::/32", true }, { "2001:db8::1/64", false },
		{ "::/0", true },           { "::1/128", true },
	};
	struct rtnl_ip ip;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(rtnl_ip_parse(str_from(rows[i].text), false, &ip));
		if (rtnl_ip_is_network(&ip) != rows[i].network)
			fail_msg("%s", rows[i].text);
	}
}

static void hardware_addresses_are_six_pairs_of_digits(void **state UNUSED)
{
	static const char *const bad[] = { "",
					   "02:42:ac:11:00",
					   "02:42:ac:11:00:0",
					   "02:42:ac:11:00:0g",
					   "02-42-ac-11-00-02",
					   "02:42:ac:11:00:02:",
					   "02:42:ac:11:00:02:03:04",
					   "0242.ac11.0002xxx" };
	struct rtnl_mac mac, same, infiniband = { .n = 20, .bytes = { [19] = 0xfe } };
	char text[RTNL_MAC_TEXT];

	assert_true(rtnl_mac_parse(STR("02:42:AC:11:00:fe"), &mac));
	rtnl_mac_print(&mac, text);
	assert_string_equal(text, "02:42:ac:11:00:fe");
	assert_true(rtnl_mac_parse(str_from(text), &same));
	assert_true(rtnl_mac_equal(&mac, &same));
	same.bytes[5]++;
	assert_false(rtnl_mac_equal(&mac, &same));
	assert_false(rtnl_mac_equal(&mac, &(struct rtnl_mac){ 0 }));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rtnl_mac_parse(str_from(bad[i]), &mac))
			fail_msg("\"%s\" is taken", bad[i]);
	rtnl_mac_print(&infiniband, text);
	assert_int_equal(strlen(text), 59);
	assert_string_equal(text + 57, "fe");
	rtnl_mac_print(&(struct rtnl_mac){ 0 }, text);
	assert_string_equal(text, "");
	rtnl_mac_print(&(struct rtnl_mac){ .n = RTNL_MAC }, text);
	assert_int_equal(strlen(text), RTNL_MAC_TEXT - 1);
}

static void names_are_what_the_kernel_takes(void **state UNUSED)
{
	static const char *const good[] = { "eth0", "a", "eth0.100", "...", "123456789012345" };
	static const char *const bad[] = { "",    ".",    "..",   "a/b",   "a:b",
					   "a b", "a\tb", "a\nb", "a\xa0", "1234567890123456" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!rtnl_name_is_valid(str_from(good[i])))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rtnl_name_is_valid(str_from(bad[i])))
			fail_msg("\"%s\" is taken", bad[i]);
	assert_false(rtnl_name_is_valid(str_of("a\0b", 3)));
}

static void names_that_are_no_text_are_told_and_printed_as_such(void **state UNUSED)
{
	static const struct {
		const char *name, *text;
		bool is_text;
	} cases[] = {
		{ "eth0", "eth0", true },
		{ "n\xc3\xa9t\xe2\x82\xac", "n\xc3\xa9t\xe2\x82\xac", true },
		{ "\xffx", "\\xffx", false },
		{ "a\x01", "a\\x01", false },
		{ "\xc3", "\\xc3", false },
		{ "", "", false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		  "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff",
		  false },
	};
	char text[RTNL_NAME_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(rtnl_name_is_text(cases[i].name), cases[i].is_text);
		rtnl_name_print(cases[i].name, text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read_and_printed_in_one_form),
		cmocka_unit_test(an_ambiguous_text_is_not_an_address),
		cmocka_unit_test(an_address_without_a_prefix_is_plain),
		cmocka_unit_test(ipv4_in_ipv6_is_printed_as_ipv4),
		cmocka_unit_test(networks_have_no_bits_of_hosts),
		cmocka_unit_test(hardware_addresses_are_six_pairs_of_digits),
		cmocka_unit_test(names_are_what_the_kernel_takes),
		cmocka_unit_test(names_that_are_no_text_are_told_and_printed_as_such),
	};

	return cmocka_run_group_tests_name("drivers/rtnl_text", tests, NULL, NULL);
}
