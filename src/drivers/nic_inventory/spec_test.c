#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/if_link.h>

#include "drivers/nic_inventory/spec.h"

static struct nic_create parsed(const char *text)
{
	struct nic_create c;
	struct error err = { .msg = "" };

	if (nic_create_parse(str_from(text), &c, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return c;
}

static void each_kind_is_parsed(void **state)
{
	struct nic_create c;

	(void)state;
	c = parsed("veth:4");
	assert_int_equal(c.kind, NIC_VETH);
	assert_int_equal(c.first, 0);
	assert_int_equal(c.count, 4);
	assert_string_equal(c.parent, "");
	assert_string_equal(parsed("veth:1:br0").parent, "br0");
	c = parsed("macvlan:2:eth1");
	assert_int_equal(c.kind, NIC_MACVLAN);
	assert_int_equal(c.macvlan_mode, MACVLAN_MODE_BRIDGE);
	assert_int_equal(parsed("macvlan:1:eth1:passthru").macvlan_mode, MACVLAN_MODE_PASSTHRU);
	assert_int_equal(parsed("macvlan:3:eth1:vepa").macvlan_mode, MACVLAN_MODE_VEPA);
	c = parsed("vlan:100-103:eth1");
	assert_int_equal(c.kind, NIC_VLAN);
	assert_int_equal(c.first, 100);
	assert_int_equal(c.count, 4);
	assert_int_equal(parsed("vlan:4094:eth1").count, 1);
}

static void an_invalid_spec_is_rejected_with_the_right_syntax(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "",
		  "cannot create \"\"; write veth:COUNT[:BRIDGE], macvlan:COUNT:PARENT[:MODE] or "
		  "vlan:ID[-ID]:PARENT" },
		{ "dummy:2", "cannot create \"dummy\"; write veth:COUNT[:BRIDGE], "
			     "macvlan:COUNT:PARENT[:MODE] or vlan:ID[-ID]:PARENT" },
		{ "mcvlan:2:eth1", "cannot create \"mcvlan\", did you mean macvlan?" },
		{ "veth", "\"veth\": write veth:COUNT[:BRIDGE]" },
		{ "veth:", "veth:COUNT[:BRIDGE]: \"\" is not a number from 1 to 16384" },
		{ "veth:0", "veth:COUNT[:BRIDGE]: \"0\" is not a number from 1 to 16384" },
		{ "veth:16385", "veth:COUNT[:BRIDGE]: \"16385\" is not a number from 1 to 16384" },
		{ "veth:-1", "veth:COUNT[:BRIDGE]: \"-1\" is not a number from 1 to 16384" },
		{ "veth:1:", "veth:COUNT[:BRIDGE]: \"\" is not the name of a bridge" },
		{ "veth:1:a b", "veth:COUNT[:BRIDGE]: \"a b\" is not the name of a bridge" },
		{ "veth:1:br0:x", "\"veth:1:br0:x\": write veth:COUNT[:BRIDGE]" },
		{ "macvlan:1", "\"macvlan:1\": write macvlan:COUNT:PARENT[:MODE]" },
		{ "macvlan:1:abcdefghijklmnop",
		  "macvlan:COUNT:PARENT[:MODE]: \"abcdefghijklmnop\" is not the name of a parent "
		  "interface" },
		{ "macvlan:1:eth1:brigde",
		  "macvlan:COUNT:PARENT[:MODE]: \"brigde\" is not a mode; did you mean bridge?" },
		{ "macvlan:1:eth1:source", "macvlan:COUNT:PARENT[:MODE]: \"source\" is not one of "
					   "bridge, private, vepa, passthru" },
		{ "macvlan:2:eth1:passthru",
		  "macvlan:COUNT:PARENT[:MODE]: with mode passthru there "
		  "can be one on a parent: the count is 1" },
		{ "vlan:0:eth1", "vlan:ID[-ID]:PARENT: \"0\" is not an ID from 1 to 4094, or a "
				 "range ID-ID" },
		{ "vlan:4095:eth1",
		  "vlan:ID[-ID]:PARENT: \"4095\" is not an ID from 1 to 4094, or a range ID-ID" },
		{ "vlan:9-5:eth1", "vlan:ID[-ID]:PARENT: \"9-5\" is not an ID from 1 to 4094, or a "
				   "range ID-ID" },
		{ "vlan:5-:eth1", "vlan:ID[-ID]:PARENT: \"5-\" is not an ID from 1 to 4094, or a "
				  "range ID-ID" },
		{ "vlan:-5:eth1", "vlan:ID[-ID]:PARENT: \"-5\" is not an ID from 1 to 4094, or a "
				  "range ID-ID" },
		{ "vlan:1-2-3:eth1",
		  "vlan:ID[-ID]:PARENT: \"1-2-3\" is not an ID from 1 to 4094, or a range ID-ID" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nic_create c;
		struct error err;

		assert_int_equal(nic_create_parse(str_from(rows[i].text), &c, &err), -ERR_INVALID);
		assert_string_equal(err.msg, rows[i].message);
	}
}

static void a_label_is_made_of_any_name(void **state)
{
	static const char *const rows[][2] = {
		{ "eth1", "eth1" },    { "eth1.100", "eth1-100" }, { "Eth_1", "eth-1" },
		{ "-x-", "x" },        { "___", "nic" },           { "", "nic" },
		{ "\xc3\xa4", "nic" }, { "a@b", "a-b" },
	};
	char label[NIC_LABEL];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nic_label(str_from(rows[i][0]), label);
		assert_string_equal(label, rows[i][1]);
	}
}

static void created_devices_are_named_after_kind_and_parent(void **state)
{
	static const char *const rows[][2] = {
		{ "veth:1", "veth-0" },
		{ "veth:1:br0", "veth-br0-0" },
		{ "macvlan:1:eth1", "macvlan-eth1-0" },
		{ "macvlan:1:eth1.7:private", "macvlan-eth1-7-private-0" },
		{ "vlan:100:eth1", "vlan-eth1-100" },
		{ "macvlan:1:abcdefghijklmno:passthru", "macvlan-abcdefghijklmno-passthru-0" },
	};
	char label[NIC_LABEL];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nic_create c = parsed(rows[i][0]);

		nic_create_label(&c, c.first, label);
		assert_string_equal(label, rows[i][1]);
	}
}

static int check(const char *a, const char *b, struct error *err)
{
	struct nic_create v[2] = { parsed(a), parsed(b) };
	struct nic_spec s = { .creates = v, .ncreates = 2 };

	return nic_spec_check(&s, err);
}

static void two_creates_may_not_give_one_name(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(check("veth:2", "veth:1:br0", &err), 0);
	assert_int_equal(check("macvlan:2:eth1", "macvlan:1:eth1:private", &err), 0);
	assert_int_equal(check("vlan:5-9:eth1", "vlan:10:eth1", &err), 0);
	assert_int_equal(check("veth:2", "veth:3", &err), -ERR_INVALID);
	assert_string_equal(err.msg, "two entries give devices of the same name, such as "
				     "veth-0: combine them into one");
	assert_int_equal(check("vlan:5-9:eth1", "vlan:9:eth1", &err), -ERR_INVALID);
	assert_int_equal(check("veth:1:br.0", "veth:1:br_0", &err), -ERR_INVALID);
	assert_int_equal(check("veth:16384", "veth:1:br0", &err), -ERR_INVALID);
	assert_string_equal(err.msg, "16385 devices are to be created; 16384 are the most");
}

static void patterns_excludes_and_parents_decide_about_names(void **state)
{
	static const char *const patterns[] = { "eth*", "ib?" };
	static const char *const excluded[] = { "eth9*" };
	struct nic_create create = parsed("macvlan:1:eth2");
	struct nic_spec s = { .excluded = excluded, .nexcluded = 1 };

	(void)state;
	assert_true(nic_spec_matches(&s, "anything"));
	assert_false(nic_spec_matches(&s, "eth90"));
	s.patterns = patterns;
	s.npatterns = 2;
	assert_true(nic_spec_matches(&s, "eth1"));
	assert_true(nic_spec_matches(&s, "ib0"));
	assert_false(nic_spec_matches(&s, "ib10"));
	assert_false(nic_spec_matches(&s, "eth9"));
	assert_true(nic_spec_matches(&s, "eth2"));
	s.creates = &create;
	s.ncreates = 1;
	assert_false(nic_spec_matches(&s, "eth2"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_parsed),
		cmocka_unit_test(an_invalid_spec_is_rejected_with_the_right_syntax),
		cmocka_unit_test(a_label_is_made_of_any_name),
		cmocka_unit_test(created_devices_are_named_after_kind_and_parent),
		cmocka_unit_test(two_creates_may_not_give_one_name),
		cmocka_unit_test(patterns_excludes_and_parents_decide_about_names),
	};

	return cmocka_run_group_tests_name("drivers/nic_spec", tests, NULL, NULL);
}
