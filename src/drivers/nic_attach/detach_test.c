/*
 * Identifying interfaces. Tests have no hardware, so the rules that recognise it are applied to
 * invented links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/nic_attach/detach.c"

static const struct rtnl_mac own = { .n = 6, .bytes = { 0x00, 0x25, 0x90, 1, 2, 3 } };
static const struct rtnl_mac set = { .n = 6, .bytes = { 2, 0, 0, 0, 0, 5 } };
static const struct rtnl_mac other = { .n = 6, .bytes = { 0x00, 0x25, 0x90, 9, 9, 9 } };

/* eth1, index 4, is hardware that went into a pod as net1 with an address of the configuration. */
static struct nic_use use_of_hardware(bool permanent)
{
	struct nic_use u = { .nic = { .kind = NIC_HOST, .device = "eth1" },
			     .claim_uid = "claim-uid",
			     .interface = "net1",
			     .config = { .mac = set },
			     .before = { .index = 4, .name = "eth1", .mac = own } };

	if (permanent)
		u.before.permanent = own;
	return u;
}

static struct rtnl_link hardware(int index, const char *name, struct rtnl_mac permanent,
				 struct rtnl_mac mac)
{
	struct rtnl_link l = { .index = index, .permanent = permanent, .mac = mac };

	(void)snprintf(l.name, sizeof(l.name), "%s", name);
	return l;
}

static unsigned here(const struct nic_use *u, struct rtnl_link l)
{
	struct search s = { .u = u };

	return rank_host_here(&s, &l);
}

static unsigned in_pod(const struct nic_use *u, struct rtnl_link l)
{
	struct search s = { .u = u };

	return rank_host_in_pod(&s, &l);
}

static void hardware_with_a_permanent_address_is_known_by_it_under_any_name(void **state UNUSED)
{
	struct nic_use u = use_of_hardware(true);
	struct rtnl_link vlan = hardware(9, "eth1.5", own, own);

	assert_int_equal(here(&u, hardware(4, "eth1", own, own)), 4);
	assert_int_equal(here(&u, hardware(4, "dev3", own, set)), 3);
	assert_int_equal(here(&u, hardware(17, "net1", own, set)), 2);
	assert_int_equal(here(&u, hardware(17, "dev3", own, other)), 1);
	/* Something else has its name and number now. */
	assert_int_equal(here(&u, hardware(4, "eth1", other, own)), 0);
	assert_int_equal(here(&u, hardware(4, "eth1", (struct rtnl_mac){ 0 }, own)), 0);
	(void)snprintf(vlan.kind, sizeof(vlan.kind), "vlan");
	assert_int_equal(here(&u, vlan), 0);
}

static void hardware_without_one_is_known_by_addresses_that_it_may_have(void **state UNUSED)
{
	const struct rtnl_mac none = { 0 };
	struct nic_use u = use_of_hardware(false);
	char temporary[RTNL_NAME];

	nic_own_name(&u, "dph", temporary);
	assert_int_equal(here(&u, hardware(4, "eth1", none, own)), 4);
	assert_int_equal(here(&u, hardware(4, "dev3", none, set)), 3);
	assert_int_equal(here(&u, hardware(17, "net1", none, set)), 2);
	assert_int_equal(here(&u, hardware(17, temporary, none, own)), 2);
	assert_int_equal(here(&u, hardware(17, "dev3", none, own)), 0);
	assert_int_equal(here(&u, hardware(4, "eth1", none, other)), 0);
	/* The pod has changed it, but name and number are what they were there. */
	u.index = 12;
	assert_int_equal(here(&u, hardware(12, "net1", none, other)), 1);
	assert_int_equal(here(&u, hardware(12, "dev3", none, other)), 0);
	assert_int_equal(here(&u, hardware(13, "net1", none, other)), 0);
}

static void in_the_pod_the_index_counts_as_soon_as_it_is_known(void **state UNUSED)
{
	struct nic_use u = use_of_hardware(true);

	assert_int_equal(in_pod(&u, hardware(7, "net1", own, set)), 1);
	assert_int_equal(in_pod(&u, hardware(7, "eth1", own, own)), 1);
	assert_int_equal(in_pod(&u, hardware(7, "net2", own, own)), 0);
	assert_int_equal(in_pod(&u, hardware(7, "net1", other, own)), 0);
	u.index = 7;
	assert_int_equal(in_pod(&u, hardware(7, "renamed", own, other)), 1);
	assert_int_equal(in_pod(&u, hardware(8, "net1", own, own)), 0);
	assert_int_equal(in_pod(&u, hardware(7, "net1", other, own)), 0);
	u = use_of_hardware(false);
	u.index = 7;
	assert_int_equal(in_pod(&u, hardware(7, "renamed", (struct rtnl_mac){ 0 }, other)), 1);
}

static void a_vlan_is_known_by_parent_id_and_name(void **state UNUSED)
{
	struct nic_use u = { .nic = { .kind = NIC_VLAN, .vlan = 100 },
			     .interface = "net1",
			     .parent = 3 };
	struct search s = { .u = &u };
	struct rtnl_link l = {
		.index = 5, .name = "net1", .kind = "vlan", .parent = 3, .vlan = 100
	};

	assert_int_equal(rank_made(&s, &l), 1);
	l.vlan = 101;
	assert_int_equal(rank_made(&s, &l), 0);
	l.vlan = 100;
	l.parent = 4;
	assert_int_equal(rank_made(&s, &l), 0);
	l.parent = 3;
	(void)snprintf(l.name, sizeof(l.name), "net2");
	assert_int_equal(rank_made(&s, &l), 0);
	u.index = 5;
	assert_int_equal(rank_made(&s, &l), 1);
	(void)snprintf(l.kind, sizeof(l.kind), "macvlan");
	assert_int_equal(rank_made(&s, &l), 0);
}

static void names_of_our_own_differ_by_claim_and_device(void **state UNUSED)
{
	struct nic_use a = { .claim_uid = "a", .nic = { .device = "veth-0" } }, b = a;
	char first[RTNL_NAME], second[RTNL_NAME];

	nic_own_name(&a, "dpv", first);
	nic_own_name(&b, "dpv", second);
	assert_string_equal(first, second);
	assert_int_equal(strlen(first), RTNL_NAME - 1);
	(void)snprintf(b.nic.device, sizeof(b.nic.device), "veth-1");
	nic_own_name(&b, "dpv", second);
	assert_string_not_equal(first, second);
	b = a;
	b.claim_uid = "b";
	nic_own_name(&b, "dpv", second);
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hardware_with_a_permanent_address_is_known_by_it_under_any_name),
		cmocka_unit_test(hardware_without_one_is_known_by_addresses_that_it_may_have),
		cmocka_unit_test(in_the_pod_the_index_counts_as_soon_as_it_is_known),
		cmocka_unit_test(a_vlan_is_known_by_parent_id_and_name),
		cmocka_unit_test(names_of_our_own_differ_by_claim_and_device),
	};

	return cmocka_run_group_tests_name("drivers/nic_detach", tests, NULL, NULL);
}
