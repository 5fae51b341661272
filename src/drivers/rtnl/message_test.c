/*
 * Requests and answers byte by byte (all hosts that we run on are little-endian), and what one
 * exchange makes of them; no kernel is asked. rtnl.c is included to reach how it takes messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/if_link.h>

#include "drivers/rtnl/message.h"
#include "drivers/rtnl/rtnl.c" /* NOLINT(bugprone-suspicious-include) */

/* --- requests --------------------------------------------------------------------------- */

/* Shows both as text when they differ. */
static void assert_request(struct rtnl_request *q, const char *want)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t n = rtnl_request_header(q)->nlmsg_len;
	char got[4 * sizeof(q->bytes)];
	size_t at = 0;

	assert_false(q->too_long);
	for (uint32_t i = 0; i < n; i++) {
		got[at++] = digits[q->bytes[i] >> 4];
		got[at++] = digits[q->bytes[i] & 0xf];
		if (i % 4 == 3)
			got[at++] = ' ';
	}
	got[at] = '\0';
	assert_string_equal(got, want);
}

static void links_are_asked_for_without_their_counters(void **state UNUSED)
{
	struct rtnl_request q;

	rtnl_request_links(&q);
	assert_request(&q, "28000000 12000103 00000000 00000000 00000000 00000000 00000000 "
			   "00000000 08001d00 08000000 ");
}

static void each_kind_of_link_has_its_own_data(void **state UNUSED)
{
	struct rtnl_mac mac = { { 2, 0, 0, 0, 0, 0x17 }, 6 };
	struct rtnl_new_link macvlan = {
		.kind = "macvlan", .name = "net1", .ns_fd = 7, .parent = 3, .mac = &mac, .mtu = 1280
	};
	struct rtnl_new_link veth = { .kind = "veth", .name = "net1", .ns_fd = -1, .peer = "p1" };
	struct rtnl_new_link vlan = {
		.kind = "vlan", .name = "v", .ns_fd = -1, .parent = 3, .vlan = 100
	};
	struct rtnl_request q;

	rtnl_request_link_add(&q, &macvlan);
	assert_request(&q, "6c000000 10000506 00000000 00000000 00000000 00000000 00000000 "
			   "00000000 09000300 6e657431 00000000 08000500 03000000 08000400 "
			   "00050000 0a000100 02000000 00170000 08001c00 07000000 1c001280 "
			   "0c000100 6d616376 6c616e00 0c000280 08000100 04000000 ");
	rtnl_request_link_add(&q, &veth);
	assert_request(&q, "5c000000 10000506 00000000 00000000 00000000 00000000 00000000 "
			   "00000000 09000300 6e657431 00000000 30001280 09000100 76657468 "
			   "00000000 20000280 1c000180 00000000 00000000 00000000 00000000 "
			   "07000300 70310000 ");
	rtnl_request_link_add(&q, &vlan);
	assert_request(&q, "4c000000 10000506 00000000 00000000 00000000 00000000 00000000 "
			   "00000000 06000300 76000000 08000500 03000000 1c001280 09000100 "
			   "766c616e 00000000 0c000280 06000100 64000000 ");
}

static void a_change_has_what_is_set_and_nothing_else(void **state UNUSED)
{
	struct rtnl_change all = { .name = "net1",
				   .set_up = true,
				   .up = true,
				   .set_ns = true,
				   .ns_fd = 7,
				   .mtu = 9000,
				   .set_master = true };
	struct rtnl_change down = { .set_up = true };
	struct rtnl_request q;

	rtnl_request_link_change(&q, 5, &all);
	assert_request(&q, "44000000 10000500 00000000 00000000 00000000 05000000 01000000 "
			   "01000000 09000300 6e657431 00000000 08001c00 07000000 08000a00 "
			   "00000000 08000400 28230000 ");
	rtnl_request_link_change(&q, 5, &down);
	assert_request(&q, "20000000 10000500 00000000 00000000 00000000 05000000 00000000 "
			   "01000000 ");
	rtnl_request_link_change(&q, 5, &(struct rtnl_change){ 0 });
	assert_request(&q, "20000000 10000500 00000000 00000000 00000000 05000000 00000000 "
			   "00000000 ");
}

static void addresses_have_a_broadcast_or_are_used_at_once(void **state UNUSED)
{
	struct rtnl_address a = { .index = 5, .ip = { { 192, 0, 2, 5 }, AF_INET, 20 } };
	struct rtnl_address a6 = { .index = 5,
				   .ip = { { 0x20, 1, 0xd, 0xb8, [15] = 5 }, AF_INET6, 64 } };
	struct rtnl_request q;

	rtnl_request_address_add(&q, &a);
	assert_request(&q, "38000000 14000506 00000000 00000000 02140000 05000000 08000200 "
			   "c0000205 08000100 c0000205 08000400 c0000fff 08000800 00000000 ");
	a.ip.prefix = 31;
	rtnl_request_address_add(&q, &a);
	assert_request(&q, "30000000 14000506 00000000 00000000 021f0000 05000000 08000200 "
			   "c0000205 08000100 c0000205 08000800 00000000 ");
	rtnl_request_address_add(&q, &a6);
	assert_request(&q, "48000000 14000506 00000000 00000000 0a400000 05000000 14000200 "
			   "20010db8 00000000 00000000 00000005 14000100 20010db8 00000000 "
			   "00000000 00000005 08000800 02000000 ");
	rtnl_request_address_delete(&q, &a);
	assert_request(&q, "28000000 15000500 00000000 00000000 021f0000 05000000 08000200 "
			   "c0000205 08000100 c0000205 ");
}

static void routes_lead_over_routers_of_either_family(void **state UNUSED)
{
	struct rtnl_route t = { .to = { .family = AF_INET },
				.via = { { 192, 0, 2, 1 }, AF_INET, 32 },
				.index = 5,
				.metric = 50 };
	struct rtnl_route other = { .to = { { 203, 0, 113 }, AF_INET, 24 },
				    .via = { { 0x20, 1, 0xd, 0xb8, [15] = 5 }, AF_INET6, 128 },
				    .index = 5 };
	struct rtnl_request q;

	rtnl_request_route_add(&q, &t);
	assert_request(&q, "34000000 18000506 00000000 00000000 02000000 fe040001 00000000 "
			   "08000500 c0000201 08000400 05000000 08000600 32000000 ");
	rtnl_request_route_add(&q, &other);
	assert_request(&q, "44000000 18000506 00000000 00000000 02180000 fe040001 00000000 "
			   "08000100 cb007100 16001200 0a002001 0db80000 00000000 00000000 "
			   "00050000 08000400 05000000 ");
}

static void a_message_that_does_not_fit_is_marked_not_cut(void **state UNUSED)
{
	char name[2000];
	struct rtnl_new_link l = { .kind = "veth", .name = "a", .peer = name, .ns_fd = -1 };
	struct rtnl_request q;

	memset(name, 'x', sizeof(name));
	/* Every length: wherever the buffer ends. */
	for (size_t n = sizeof(name) - 1; n > 0; n--) {
		name[n] = '\0';
		l.kind = "veth";
		rtnl_request_link_add(&q, &l);
		assert_int_equal(q.too_long, n + 1 > 1024 - 84);
		assert_true(rtnl_request_header(&q)->nlmsg_len <= sizeof(q.bytes));
		l.kind = name;
		rtnl_request_link_add(&q, &l);
		assert_true(rtnl_request_header(&q)->nlmsg_len <= sizeof(q.bytes));
	}
}

/* --- messages --------------------------------------------------------------------------- */

/* Exactly as long as it is, so that a sanitizer sees who reads beyond. */
struct wire {
	char *p;
	size_t n;
};

static struct wire wire(const char *hex)
{
	struct wire w = { xmalloc(strlen(hex) / 2 + 1), 0 };

	for (; *hex; hex += *hex == ' ' ? 1 : 2)
		if (*hex != ' ')
			w.p[w.n++] = (char)(str_hex_digit(hex[0]) << 4 | str_hex_digit(hex[1]));
	w.p = xrealloc(w.p, w.n);
	return w;
}

/* Every shorter part of it is read too, and may be anything but a crash. */
static void each_part(struct wire w, void (*read)(const struct nlmsghdr *m))
{
	for (uint32_t n = 0; n < w.n; n++) {
		char *part = xmalloc(n ? n : 1);
		struct str rest = str_of(part, n);
		const struct nlmsghdr *m;

		memcpy(part, w.p, n);
		if (n >= sizeof(n))
			memcpy(part, &n, sizeof(n)); /* its own length is right */
		m = rtnl_message_next(&rest);
		assert_true(!m == (n < sizeof(*m)));
		if (m)
			read(m);
		free(part);
	}
}

static const struct nlmsghdr *message(const struct wire *w)
{
	struct str rest = str_of(w->p, w->n);
	const struct nlmsghdr *m = rtnl_message_next(&rest);

	assert_non_null(m);
	assert_int_equal(rest.n, 0);
	return m;
}

static void read_any_link(const struct nlmsghdr *m)
{
	struct rtnl_link l;

	(void)rtnl_message_read_link(m, &l);
}

static const char a_vlan[] =
	"94000000 10000000 00000000 00000000 00000100 05000000 43100100 00000000 "
	"0d000300 6e657431 2e313030 00000000 05001000 06000000 05002100 01000000 "
	"08000400 78050000 08000500 09000000 08002500 02000000 08000a00 03000000 "
	"0a000100 02000000 00170000 0a003600 02000000 00180000 1c001280 09000100 "
	"766c616e 00000000 0c000200 06000100 64000000 ";

static void a_link_is_read_with_all_that_it_says(void **state UNUSED)
{
	struct wire w = wire(a_vlan);
	struct rtnl_link l;

	assert_true(rtnl_message_read_link(message(&w), &l));
	assert_int_equal(l.index, 5);
	assert_string_equal(l.name, "net1.100");
	assert_string_equal(l.kind, "vlan");
	assert_int_equal(l.vlan, 100);
	assert_int_equal(l.mtu, 1400);
	assert_int_equal(l.parent, 9);
	assert_int_equal(l.parent_nsid, 2);
	assert_int_equal(l.master, 3);
	assert_true(l.up && l.running && !l.loopback);
	assert_int_equal(l.mac.n, 6);
	assert_int_equal(l.mac.bytes[5], 0x17);
	assert_int_equal(l.permanent.n, 6);
	assert_int_equal(l.permanent.bytes[5], 0x18);
	each_part(w, read_any_link);
	free(w.p);
}

static void attributes_that_a_link_lacks_are_empty(void **state UNUSED)
{
	struct wire w = wire("3c000000 11000000 00000000 00000000 00000100 01000000 49000100 "
			     "00000000 07000300 6c6f0000 08000400 00000100 0a000100 00000000 "
			     "00000000 ");
	struct rtnl_link l;

	assert_true(rtnl_message_read_link(message(&w), &l));
	assert_string_equal(l.name, "lo");
	assert_string_equal(l.kind, "");
	assert_true(l.loopback && l.up && l.running); /* it has no state, which is unknown */
	assert_int_equal(l.parent, 0);
	assert_int_equal(l.parent_nsid, -1);
	assert_int_equal(l.permanent.n, 0);
	free(w.p);
}

/* Offsets into a_vlan: one byte is changed, and then it runs or is read, or not. */
static void join_name(void *arg, struct str name)
{
	char *out = arg;
	size_t at = strlen(out);

	(void)snprintf(out + at, 64 - at, "%.*s ", STR_ARG(name));
}

static void read_any_names(const struct nlmsghdr *m)
{
	char names[64] = "";

	rtnl_message_altnames(m, join_name, names);
}

static void other_names_of_a_link_are_read(void **state UNUSED)
{
	struct wire w = wire("38000000 10000000 00000000 00000000 00000100 05000000 43100100 "
			     "00000000 18003480 09003500 656e6f31 00000000 06003500 78000000 ");
	char names[64] = "";

	rtnl_message_altnames(message(&w), join_name, names);
	assert_string_equal(names, "eno1 x ");
	each_part(w, read_any_names);
	free(w.p);
	w = wire(a_vlan);
	rtnl_message_altnames(message(&w), join_name, names);
	assert_string_equal(names, "eno1 x ");
	free(w.p);
}

static void a_link_runs_only_when_all_say_so(void **state UNUSED)
{
	static const struct {
		size_t at;
		char value;
		bool read, up, running;
	} rows[] = {
		{ 24, 0x42, true, false, false }, /* not switched on */
		{ 26, 0x00, true, true, false }, /* no IFF_LOWER_UP */
		{ 52, 0x02, true, true, false }, /* operstate down */
		{ 52, 0x05, true, true, false }, /* dormant */
		{ 52, 0x00, true, true, true }, /* unknown */
		{ 60, 0x00, true, true, false }, /* no carrier */
		{ 16, 0x07, false, false, false }, /* of AF_BRIDGE */
		{ 20, 0x00, false, false, false }, /* no index */
		{ 36, 0x00, false, false, false }, /* no name */
		{ 4, 0x14, false, false, false }, /* of an address */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wire w = wire(a_vlan);
		struct rtnl_link l = { .up = false };

		w.p[rows[i].at] = rows[i].value;
		if (rtnl_message_read_link(message(&w), &l) != rows[i].read || l.up != rows[i].up ||
		    l.running != rows[i].running)
			fail_msg("row %zu: up %d, running %d", i, l.up, l.running);
		free(w.p);
	}
}

static void read_any_address(const struct nlmsghdr *m)
{
	struct rtnl_address a;

	(void)rtnl_message_read_address(m, &a);
}

static void an_address_is_the_local_one_with_its_long_flags(void **state UNUSED)
{
	struct wire w = wire("3c000000 14000000 00000000 00000000 02208000 07000000 08000100 "
			     "0a000002 08000200 0a000001 09000300 70707030 00000000 08000800 "
			     "80020000 ");
	struct rtnl_address a;
	char text[RTNL_IP_TEXT];

	assert_true(rtnl_message_read_address(message(&w), &a));
	rtnl_ip_print(&a.ip, text);
	assert_string_equal(text, "10.0.0.1/32");
	assert_int_equal(a.index, 7);
	assert_int_equal(a.flags, 0x280);
	each_part(w, read_any_address);
	w.p[17] = 33; /* bits */
	assert_false(rtnl_message_read_address(message(&w), &a));
	free(w.p);
}

static void an_ipv6_address_without_more_is_read(void **state UNUSED)
{
	struct wire w = wire("2c000000 15000000 00000000 00000000 0a4040fd 07000000 14000100 "
			     "fe800000 00000000 00000000 00000005 ");
	struct rtnl_address a;
	char text[RTNL_IP_TEXT];

	assert_true(rtnl_message_read_address(message(&w), &a));
	rtnl_ip_print(&a.ip, text);
	assert_string_equal(text, "fe80::5/64");
	assert_int_equal(a.scope, 253);
	assert_int_equal(a.flags, 0x40);
	free(w.p);
}

static void read_any_route(const struct nlmsghdr *m)
{
	struct rtnl_route t;

	for (unsigned hop = 0; rtnl_message_read_route(m, hop, &t); hop++)
		;
}

static void a_route_over_several_links_is_read_hop_by_hop(void **state UNUSED)
{
	static const char *const via[] = { "192.0.2.1", "2001:db8::1" };
	struct wire w = wire("68000000 18000200 00000000 00000000 02000000 fe040001 00000000 "
			     "08000f00 fe000000 08000600 32000000 3c000900 10000000 04000000 "
			     "08000500 c0000201 20000000 05000000 16001200 0a002001 0db80000 "
			     "00000000 00000000 00010000 08000000 06000000 ");
	struct rtnl_route t;
	char text[RTNL_IP_TEXT];

	for (unsigned i = 0; i < 3; i++) {
		assert_true(rtnl_message_read_route(message(&w), i, &t));
		assert_int_equal(t.index, 4 + i);
		assert_int_equal(t.to.prefix, 0);
		assert_int_equal(t.metric, 50);
		if (i == 2)
			break;
		rtnl_ip_print_plain(&t.via, text);
		assert_string_equal(text, via[i]);
	}
	assert_int_equal(t.via.family, 0);
	assert_false(rtnl_message_read_route(message(&w), 3, &t));
	each_part(w, read_any_route);
	free(w.p);
}

static void routes_of_other_tables_and_kinds_are_not_read(void **state UNUSED)
{
	struct wire w = wire("38000000 18000200 00000000 00000000 0a300000 fe040001 00000000 "
			     "14000100 20010db8 00010000 00000000 00000000 08000400 04000000 ");
	struct wire local = wire("34000000 18000200 00000000 00000000 02200000 ff040002 00000000 "
				 "08000f00 ff000000 08000100 0a000001 08000400 04000000 ");
	struct rtnl_route t;

	assert_true(rtnl_message_read_route(message(&w), 0, &t));
	assert_int_equal(t.index, 4);
	assert_false(rtnl_message_read_route(message(&w), 1, &t));
	w.p[20] = 100; /* table */
	assert_false(rtnl_message_read_route(message(&w), 0, &t));
	w.p[20] = (char)254;
	w.p[23] = 6; /* blackhole */
	assert_false(rtnl_message_read_route(message(&w), 0, &t));
	assert_false(rtnl_message_read_route(message(&local), 0, &t));
	free(w.p);
	free(local.p);
}

static void read_any_verdict(const struct nlmsghdr *m)
{
	struct rtnl_verdict v;

	(void)rtnl_message_read_verdict(m, &v);
}

static void a_verdict_has_the_number_and_the_words(void **state UNUSED)
{
	static const struct {
		const char *hex;
		int errnum;
		const char *text;
	} rows[] = {
		{ "3c000000 02000003 07000000 00000000 a1ffffff 20000000 10000500 07000000 "
		  "00000000 18000100 556e6b6e 6f776e20 64657669 63652074 79706500 ",
		  EOPNOTSUPP, "Unknown device type" },
		{ "48000000 02000002 07000000 00000000 f0ffffff 20000000 10000500 07000000 "
		  "00000000 00000000 00000000 00000000 00000000 08000200 04000000 09000100 "
		  "62757379 00000000 ",
		  EBUSY, "busy" },
		{ "24000000 02000001 07000000 00000000 00000000 20000000 10000500 07000000 "
		  "00000000 ",
		  0, "" },
		{ "14000000 03000200 07000000 00000000 00000000 ", 0, "" },
		{ "20000000 03000202 07000000 00000000 edffffff 09000100 676f6e65 00000000 ",
		  ENODEV, "gone" },
		{ "14000000 03000200 07000000 00000000 00000080 ", EIO, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wire w = wire(rows[i].hex);
		struct rtnl_verdict v;

		assert_true(rtnl_message_read_verdict(message(&w), &v));
		assert_int_equal(v.errnum, rows[i].errnum);
		assert_string_equal(v.text, rows[i].text);
		each_part(w, read_any_verdict);
		free(w.p);
	}
}

/* --- one exchange ----------------------------------------------------------------------- */

static void count(void *arg, const struct nlmsghdr *m UNUSED)
{
	++*(int *)arg;
}

static void answers_to_earlier_requests_are_dropped(void **state UNUSED)
{
	struct wire w = wire("14000000 03000000 06000000 00000000 00000000 "
			     "10000000 10001000 06000000 00000000 "
			     "10000000 10000000 07000000 00000000 "
			     "14000000 03000200 07000000 00000000 00000000 "
			     "10000000 10000000 07000000 00000000 ");
	struct rtnl r = { .sequence = 7 };
	int n = 0;
	struct exchange x = { .take = count, .arg = &n };

	take_messages(&r, &x, str_of(w.p, w.n));
	assert_int_equal(n, 1);
	assert_true(x.over);
	assert_false(x.changed);
	free(w.p);
}

static void a_list_that_changed_meanwhile_is_noticed(void **state UNUSED)
{
	struct wire first = wire("10000000 10001200 07000000 00000000 "
				 "10000000 10000200 07000000 00000000 ");
	struct wire end = wire("14000000 03000200 07000000 00000000 00000000 ");
	struct rtnl r = { .sequence = 7 };
	int n = 0;
	struct exchange x = { .take = count, .arg = &n };

	take_messages(&r, &x, str_of(first.p, first.n));
	assert_false(x.over);
	take_messages(&r, &x, str_of(end.p, end.n));
	assert_true(x.over && x.changed);
	assert_int_equal(n, 2);
	free(first.p);
	free(end.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_asked_for_without_their_counters),
		cmocka_unit_test(each_kind_of_link_has_its_own_data),
		cmocka_unit_test(a_change_has_what_is_set_and_nothing_else),
		cmocka_unit_test(addresses_have_a_broadcast_or_are_used_at_once),
		cmocka_unit_test(routes_lead_over_routers_of_either_family),
		cmocka_unit_test(a_message_that_does_not_fit_is_marked_not_cut),
		cmocka_unit_test(a_link_is_read_with_all_that_it_says),
		cmocka_unit_test(attributes_that_a_link_lacks_are_empty),
		cmocka_unit_test(other_names_of_a_link_are_read),
		cmocka_unit_test(a_link_runs_only_when_all_say_so),
		cmocka_unit_test(an_address_is_the_local_one_with_its_long_flags),
		cmocka_unit_test(an_ipv6_address_without_more_is_read),
		cmocka_unit_test(a_route_over_several_links_is_read_hop_by_hop),
		cmocka_unit_test(routes_of_other_tables_and_kinds_are_not_read),
		cmocka_unit_test(a_verdict_has_the_number_and_the_words),
		cmocka_unit_test(answers_to_earlier_requests_are_dropped),
		cmocka_unit_test(a_list_that_changed_meanwhile_is_noticed),
	};

	return cmocka_run_group_tests_name("drivers/rtnl_message", tests, NULL, NULL);
}
