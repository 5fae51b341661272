#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "base/core/limits.h"
#include "devplane/driver.h"
#include "drivers/nic_inventory/config.h"
#include "drivers/nic_inventory/spec.h"

/* They make a link, and take none away. */
#define LINKS "bridge,ipvlan,macvlan,ptp,vlan"

static int setup(void **state)
{
	static struct arena a;

	arena_init(&a, MIB);
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	return 0;
}

/* Reads the parameters of the class, if any, then those of the claim. */
static int read_two(struct arena *a, const char *class, const char *claim, struct nic_config *c,
		    struct error *err)
{
	struct dp_opaque v[] = { { sizeof(v[0]), DP_FROM_CLASS, class },
				 { sizeof(v[0]), DP_FROM_CLAIM, claim } };
	const struct dp_opaque *all[2];
	struct dp_result r = { .size = sizeof(r), .configs = all };

	for (size_t i = 0; i < 2; i++)
		if (v[i].parameters)
			all[r.nconfigs++] = &v[i];
	return nic_config_read(a, &r, LINKS, c, err);
}

static struct nic_config read_ok(struct arena *a, const char *class, const char *claim)
{
	struct nic_config c = { .mtu = 1 };
	struct error err = { .msg = "" };

	if (read_two(a, class, claim, &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static const char *ip_text(const struct rtnl_ip *ip)
{
	static char text[RTNL_IP_TEXT];

	rtnl_ip_print(ip, text);
	return text;
}

static void nothing_said_is_all_left_as_it_is(void **state)
{
	struct nic_config c = read_ok(*state, NULL, NULL);

	assert_string_equal(c.interface_name, "");
	assert_null(c.network);
	assert_int_equal(c.naddresses, 0);
	assert_int_equal(c.nroutes, 0);
	assert_int_equal(c.mtu, 0);
	assert_int_equal(c.mac.n, 0);
	assert_null(c.cni);
}

static void all_members_are_read(void **state)
{
	struct nic_config c = read_ok(
		*state, NULL,
		"{\"apiVersion\":\"net.devplane.dev/v1\",\"kind\":\"InterfaceConfig\","
		"\"network\":\"blue\",\"interfaceName\":\"net7\","
		"\"addresses\":[\"192.0.2.5/24\",\"2001:db8::5/64\"],"
		"\"routes\":[{\"to\":\"198.51.100.0/24\",\"via\":\"192.0.2.1\",\"metric\":100},"
		"{\"to\":\"::/0\"}],\"mtu\":1400,\"hardwareAddress\":\"02:00:00:00:00:05\"}");

	assert_string_equal(c.network, "blue");
	assert_string_equal(c.interface_name, "net7");
	assert_int_equal(c.naddresses, 2);
	assert_string_equal(ip_text(&c.addresses[0]), "192.0.2.5/24");
	assert_string_equal(ip_text(&c.addresses[1]), "2001:db8::5/64");
	assert_int_equal(c.nroutes, 2);
	assert_string_equal(ip_text(&c.routes[0].to), "198.51.100.0/24");
	assert_string_equal(ip_text(&c.routes[0].via), "192.0.2.1/32");
	assert_int_equal(c.routes[0].metric, 100);
	assert_int_equal(c.routes[1].to.family, AF_INET6);
	assert_int_equal(c.routes[1].to.prefix, 0);
	assert_int_equal(c.routes[1].via.family, 0);
	assert_int_equal(c.mtu, 1400);
	assert_int_equal(c.mac.n, 6);
	assert_int_equal(c.mac.bytes[5], 5);
}

static void a_later_member_replaces_an_earlier_one(void **state)
{
	struct nic_config c = read_ok(*state,
				      "{\"network\":\"blue\",\"mtu\":1400,"
				      "\"addresses\":[\"192.0.2.5/24\",\"192.0.2.6/24\"]}",
				      "{\"addresses\":[\"192.0.2.9/24\"],\"mtu\":9000}");

	assert_string_equal(c.network, "blue");
	assert_int_equal(c.mtu, 9000);
	assert_int_equal(c.naddresses, 1);
	assert_string_equal(ip_text(&c.addresses[0]), "192.0.2.9/24");
	c = read_ok(*state, "{\"addresses\":[\"192.0.2.5/24\"]}", "{\"addresses\":[]}");
	assert_int_equal(c.naddresses, 0);
}

static const struct {
	const char *text, *message;
} faults[] = {
	{ "[]", "parameters: must be an object, not a list" },
	{ "null", "parameters: must be an object, not null" },
	{ "{\"adresses\":[]}", "parameters.adresses: unknown field, did you mean addresses?" },
	{ "{\"zebra\":1}", "parameters.zebra: unknown field" },
	{ "{\"\":1}", "parameters.: unknown field" },
	{ "{\"mtu\":1400,\"mtu\":1500}", "parameters: mtu is there twice" },
	{ "{\"apiVersion\":\"v1\"}", "parameters.apiVersion: must be \"net.devplane.dev/v1\"" },
	{ "{\"kind\":7}", "parameters.kind: must be a string, not an integer" },
	{ "{\"kind\":\"Interface\"}", "parameters.kind: must be \"InterfaceConfig\"" },
	{ "{\"network\":\"Blue\"}", "parameters.network: must be a DNS label: a-z, 0-9 and "
				    "'-', at most 63 of them" },
	{ "{\"network\":\"\"}", "parameters.network: must be a DNS label: a-z, 0-9 and '-', "
				"at most 63 of them" },
	{ "{\"network\":null}", "parameters.network: must be a string, not null" },
	{ "{\"interfaceName\":\"abcdefghijklmnop\"}",
	  "parameters.interfaceName: must be 1 to 15 bytes without '/', ':', '%' and "
	  "spaces" },
	{ "{\"interfaceName\":\"net%d\"}",
	  "parameters.interfaceName: must be 1 to 15 bytes without '/', ':', '%' and "
	  "spaces" },
	{ "{\"interfaceName\":\"\"}", "parameters.interfaceName: must be 1 to 15 bytes "
				      "without '/', ':', '%' and spaces" },
	{ "{\"interfaceName\":\"eth0\"}", "parameters.interfaceName: eth0 is the pod's own" },
	{ "{\"interfaceName\":\"lo\"}", "parameters.interfaceName: lo is the pod's own" },
	{ "{\"mtu\":67}", "parameters.mtu: must be 68 to 65535" },
	{ "{\"mtu\":65536}", "parameters.mtu: must be 68 to 65535" },
	{ "{\"mtu\":18446744073709551615}", "parameters.mtu: must be 68 to 65535" },
	{ "{\"mtu\":1400.5}", "parameters.mtu: must be an integer, not a number" },
	{ "{\"mtu\":\"1400\"}", "parameters.mtu: must be an integer, not a string" },
	{ "{\"hardwareAddress\":\"02:00\"}",
	  "parameters.hardwareAddress: must be six bytes, such as 02:00:00:00:00:05" },
	{ "{\"hardwareAddress\":\"01:00:00:00:00:05\"}",
	  "parameters.hardwareAddress: must be an address of one interface: not zero, "
	  "first "
	  "byte even" },
	{ "{\"hardwareAddress\":\"00:00:00:00:00:00\"}",
	  "parameters.hardwareAddress: must be an address of one interface: not zero, "
	  "first "
	  "byte even" },
	{ "{\"addresses\":\"192.0.2.5/24\"}",
	  "parameters.addresses: must be a list, not a string" },
	{ "{\"addresses\":[\"192.0.2.5/24\",5]}",
	  "parameters.addresses[1]: must be a string, not an integer" },
	{ "{\"addresses\":[\"192.0.2.5\"]}",
	  "parameters.addresses[0]: must be an address with its prefix, such as "
	  "192.0.2.5/24 or 2001:db8::5/64" },
	{ "{\"addresses\":[\"192.0.2.05/24\"]}",
	  "parameters.addresses[0]: must be an address with its prefix, such as "
	  "192.0.2.5/24 or 2001:db8::5/64" },
	{ "{\"addresses\":[\"0.0.0.0/8\"]}",
	  "parameters.addresses[0]: is the unspecified address" },
	{ "{\"addresses\":[\"224.0.0.1/24\"]}", "parameters.addresses[0]: is a multicast address" },
	{ "{\"addresses\":[\"ff02::1/64\"]}", "parameters.addresses[0]: is a multicast address" },
	{ "{\"addresses\":[\"127.0.0.1/8\"]}", "parameters.addresses[0]: is a loopback address" },
	{ "{\"addresses\":[\"::1/128\"]}", "parameters.addresses[0]: is a loopback address" },
	{ "{\"addresses\":[\"192.0.2.5/24\",\"192.0.2.5/25\"]}",
	  "parameters.addresses[1]: is addresses[0] again" },
	{ "{\"routes\":{}}", "parameters.routes: must be a list, not an object" },
	{ "{\"routes\":[7]}", "parameters.routes[0]: must be an object, not an integer" },
	{ "{\"routes\":[{}]}", "parameters.routes[0].to: is missing" },
	{ "{\"routes\":[{\"to\":\"198.51.100.7/24\"}]}",
	  "parameters.routes[0].to: has bits behind its prefix, did you mean "
	  "198.51.100.0/24?" },
	{ "{\"routes\":[{\"to\":\"2001:db8::1/64\"}]}",
	  "parameters.routes[0].to: has bits behind its prefix, did you mean "
	  "2001:db8::/64?" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"via\":\"192.0.2.1/24\"}]}",
	  "parameters.routes[0].via: must be an address without a prefix, such as "
	  "192.0.2.1 "
	  "or 2001:db8::1" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"via\":\"0.0.0.0\"}]}",
	  "parameters.routes[0].via: is the unspecified address" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"via\":\"2001:db8::1\"}]}",
	  "parameters.routes[0].via: must be IPv4, as \"to\" is" },
	{ "{\"routes\":[{\"to\":\"::/0\",\"via\":\"192.0.2.1\"}]}",
	  "parameters.routes[0].via: must be IPv6, as \"to\" is" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"metric\":-1}]}",
	  "parameters.routes[0].metric: must be 0 to 4294967295" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"gateway\":\"192.0.2.1\"}]}",
	  "parameters.routes[0].gateway: unknown field" },
	{ "{\"routes\":[{\"to\":\"10.0.0.0/8\",\"Via\":\"192.0.2.1\"}]}",
	  "parameters.routes[0].Via: unknown field, did you mean via?" },
	{ "{\"routes\":[{\"to\":\"::/0\"},{\"to\":\"::/0\"}]}",
	  "parameters.routes[1]: leads where routes[0] does" },
	{ "{\"cni\":\"macvlan\"}", "parameters.cni: must be an object, not a string" },
	{ "{\"cni\":{}}", "parameters.cni.type: must be the name of a plugin" },
	{ "{\"cni\":{\"type\":\"../sh\"}}", "parameters.cni.type: must be the name of a plugin" },
	{ "{\"cni\":{\"type\":\"devplane-cni\"}}",
	  "parameters.cni.type: devplane-cni is the calling plugin itself" },
	{ "{\"mtu\":1400,\"cni\":{\"type\":\"macvlan\"}}",
	  "parameters.mtu: cannot be together with cni, which sets it" },
	{ "{\"cni\":{\"type\":\"macvlan\"},\"addresses\":[]}",
	  "parameters.addresses: cannot be together with cni, which sets it" },
};

static void every_fault_is_told_with_its_path(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct nic_config c = { .mtu = 7 };
		struct error err = { .msg = "" };

		assert_int_equal(read_two(*state, NULL, faults[i].text, &c, &err), -ERR_INVALID);
		assert_string_equal(err.msg, faults[i].message);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(c.mtu, 7);
	}
}

static void a_fault_of_the_class_is_blamed_on_it(void **state)
{
	struct nic_config c;
	struct error err;

	assert_int_equal(read_two(*state, "{\"mtu\":1}", "{\"mtu\":1400}", &c, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "device class: parameters.mtu: must be 68 to 65535");
	/* Each is right; together they are not. */
	assert_int_equal(
		read_two(*state, "{\"cni\":{\"type\":\"macvlan\"}}", "{\"mtu\":1400}", &c, &err),
		-ERR_INVALID);
	assert_string_equal(err.msg, "parameters.mtu: cannot be together with cni, which sets it");
}

/* Both may be NULL. */
static int read_plugins(struct arena *a, const char *claim_cni, const char *class,
			const char *claim, struct error *err)
{
	struct dp_opaque v[] = { { sizeof(v[0]), DP_FROM_CLASS, class },
				 { sizeof(v[0]), DP_FROM_CLAIM, claim } };
	const struct dp_opaque *all[] = { &v[0], &v[1] };
	struct dp_result r = { .size = sizeof(r), .configs = all, .nconfigs = 2 };
	struct nic_config c;

	return nic_config_read(a, &r, claim_cni, &c, err);
}

#define ALLOWED(list) "this node allows " list "; a DeviceClass may"
#define USUAL         "bridge, ipvlan, macvlan, ptp, vlan"

static void a_claim_names_only_plugins_of_the_list(void **state)
{
	static const struct {
		const char *list, *cni, *message; /* NULL: it may */
	} v[] = {
		{ LINKS, "{\"type\":\"bridge\"}", NULL },
		{ LINKS, "{\"type\":\"vlan\",\"ipam\":{}}", NULL },
		{ LINKS, "{\"type\":\"ptp\",\"ipam\":{\"type\":\"\"}}", NULL },
		{ LINKS, "{\"type\":\"ptp\",\"ipam\":{\"type\":\"dhcp\"}}", NULL },
		{ LINKS, "{\"type\":\"host-device\",\"device\":\"eth0\"}",
		  "type: a claim may not name the plugin \"host-device\": " ALLOWED(USUAL) },
		{ LINKS, "{\"type\":\"Bridge\"}",
		  "type: a claim may not name the plugin \"Bridge\": " ALLOWED(USUAL) },
		{ LINKS, "{\"type\":\"bridge,ptp\"}",
		  "type: a claim may not name the plugin \"bridge,ptp\": " ALLOWED(USUAL) },
		{ LINKS, "{\"type\":\"bridge\",\"ipam\":{\"type\":\"tuning\"}}",
		  "ipam.type: a claim may not name the plugin \"tuning\": " ALLOWED(
			  "host-local, static, dhcp") },
		{ LINKS, "{\"type\":\"bridge\",\"ipam\":{\"type\":7}}",
		  "ipam.type: must be a string, not an integer" },
		{ LINKS, "{\"type\":\"bridge\",\"ipam\":[]}",
		  "ipam: must be an object, not a list" },
		/* Programs in Go accept names of members in any case. */
		{ LINKS, "{\"type\":\"bridge\",\"IPAM\":{\"type\":\"tuning\"}}",
		  "IPAM: must be spelled ipam" },
		{ LINKS, "{\"type\":\"bridge\",\"ipam\":{\"type\":\"dhcp\",\"Type\":\"tuning\"}}",
		  "ipam.Type: must be spelled type" },
		{ "multus", "{\"type\":\"multus\",\"delegates\":[]}",
		  "delegates: a claim's plugin may not have others below it; a DeviceClass's may" },
		{ "flannel", "{\"type\":\"flannel\",\"Delegate\":{\"type\":\"tuning\"}}",
		  "Delegate: a claim's plugin may not have others below it; a DeviceClass's may" },
		{ "ptp,other", "{\"type\":\"ptp\",\"ipam\":{\"type\":\"other\"}}", NULL },
		{ NIC_CLAIM_CNI, "{\"type\":\"bridge\"}",
		  "type: a claim may not name the plugin \"bridge\": " ALLOWED("none") },
		{ "none", "{\"type\":\"none\"}",
		  "type: a claim may not name the plugin \"none\": " ALLOWED("none") },
		{ "*", "{\"type\":\"host-device\",\"ipam\":{\"type\":\"x\"},\"delegate\":{}}",
		  NULL },
	};
	char claim[256], wanted[512];
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		(void)snprintf(claim, sizeof(claim), "{\"cni\":%s}", v[i].cni);
		(void)snprintf(wanted, sizeof(wanted), "parameters.cni.%s",
			       v[i].message ? v[i].message : "");
		err.msg[0] = '\0';
		assert_int_equal(read_plugins(*state, v[i].list, "{}", claim, &err),
				 v[i].message ? -ERR_INVALID : 0);
		assert_string_equal(err.msg, v[i].message ? wanted : "");
		/* An administrator wrote the class, so it may use any. */
		assert_int_equal(
			read_plugins(*state, v[i].list, claim, "{\"network\":\"a\"}", &err), 0);
	}
}

static void the_source_of_the_effective_plugin_decides(void **state)
{
	static const char device[] = "{\"cni\":{\"type\":\"host-device\"}}";
	static const char bridge[] = "{\"cni\":{\"type\":\"bridge\"}}";
	struct error err;

	assert_int_equal(read_plugins(*state, LINKS, device, bridge, &err), 0);
	assert_int_equal(read_plugins(*state, LINKS, bridge, device, &err), -ERR_INVALID);
	assert_int_equal(read_plugins(*state, LINKS, device, device, &err), -ERR_INVALID);
}

static void a_list_of_plugins_is_checked(void **state UNUSED)
{
	static const char *const good[] = { "*", "none", "bridge", LINKS };
	static const char *const bad[] = { "", ",", "a,,b", "a,none", "*,a", "a/b", "a," };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(nic_spec_check_cni(good[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(nic_spec_check_cni(bad[i], NULL), -ERR_INVALID);
}

static void parameters_that_are_not_json_are_invalid(void **state)
{
	struct nic_config c;
	struct error err;

	assert_int_equal(read_two(*state, NULL, "{\"mtu\":", &c, &err), -ERR_INVALID);
	assert_int_equal(err.code, ERR_INVALID);
	assert_true(str_starts(str_from(err.msg), STR("parameters: ")));
}

/* A list of `n` that are all different. */
static const char *many(struct arena *a, const char *before, const char *fmt, const char *after,
			unsigned n)
{
	struct buf text = BUF_INIT(64 * KIB);
	const char *copy;

	(void)buf_addz(&text, before);
	for (unsigned i = 0; i < n; i++) {
		(void)buf_addz(&text, i ? "," : "");
		(void)buf_addz(&text, fmt);
		(void)buf_printf(&text, "%u", i + 1);
		(void)buf_addz(&text, after);
	}
	(void)buf_addz(&text, "]}");
	copy = arena_strdup(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static void lists_have_a_limit(void **state)
{
	struct nic_config c;
	struct error err;
	const char *text;

	text = many(*state, "{\"addresses\":[", "\"192.0.2.", "/24\"", 16);
	assert_int_equal(read_ok(*state, NULL, text).naddresses, 16);
	text = many(*state, "{\"addresses\":[", "\"192.0.2.", "/24\"", 17);
	assert_int_equal(read_two(*state, NULL, text, &c, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "parameters.addresses: has 17, 16 are the most");
	text = many(*state, "{\"routes\":[", "{\"to\":\"10.0.", ".0/24\"}", 64);
	assert_int_equal(read_ok(*state, NULL, text).nroutes, 64);
	text = many(*state, "{\"routes\":[", "{\"to\":\"10.0.", ".0/24\"}", 65);
	assert_int_equal(read_two(*state, NULL, text, &c, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "parameters.routes: has 65, 64 are the most");
}

static const char *print(struct arena *a, const struct nic_config *c)
{
	struct buf text = BUF_INIT(64 * KIB);
	const char *copy;

	assert_int_equal(json_print(&text, nic_config_tree(c, a), NULL), 0);
	copy = arena_strdup(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static void a_tree_reads_back_as_it_was(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"network\":\"blue\",\"interfaceName\":\"net7\",\"addresses\":[\"192.0.2.5/24\","
		"\"2001:db8::5/64\"],\"routes\":[{\"to\":\"198.51.100.0/24\",\"via\":\"192.0.2.1\","
		"\"metric\":100},{\"to\":\"::/0\"}],\"mtu\":1400,\"hardwareAddress\":"
		"\"02:00:00:00:00:05\"}",
		"{\"network\":\"red\",\"cni\":{\"type\":\"macvlan\",\"ipam\":{\"type\":\"host-"
		"local\"}"
		"}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nic_config c = read_ok(*state, NULL, rows[i]), again;

		assert_string_equal(print(*state, &c), rows[i]);
		assert_int_equal(
			nic_config_from_tree(*state, nic_config_tree(&c, *state), &again, NULL), 0);
		assert_string_equal(print(*state, &again), rows[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_said_is_all_left_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(all_members_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(a_later_member_replaces_an_earlier_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(every_fault_is_told_with_its_path, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fault_of_the_class_is_blamed_on_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_claim_names_only_plugins_of_the_list, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_source_of_the_effective_plugin_decides, setup,
						teardown),
		cmocka_unit_test(a_list_of_plugins_is_checked),
		cmocka_unit_test_setup_teardown(parameters_that_are_not_json_are_invalid, setup,
						teardown),
		cmocka_unit_test_setup_teardown(lists_have_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_tree_reads_back_as_it_was, setup, teardown),
	};

	return cmocka_run_group_tests_name("drivers/nic_config", tests, NULL, NULL);
}
