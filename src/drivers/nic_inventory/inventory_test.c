#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/nic_inventory/inventory.h"

/* A node with a folder that plays sysfs. */
struct node {
	char sysfs[64];
	struct nic_create creates[4];
	struct nic_spec spec;
	struct nic_inventory *v;
};

/* --- a sysfs ------------------------------------------------------------------------------ */

static void make_folder(const char *path)
{
	assert_int_equal(folder_make(path, 0700, NULL), 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

/* An interface of the fake sysfs; hardware when it has a driver. */
static void plug(struct node *n, const char *name, const char *driver, const char *speed,
		 const char *numa)
{
	char folder[128], device[192], link[256], target[256];

	(void)snprintf(folder, sizeof(folder), "%s/class/net/%s", n->sysfs, name);
	make_folder(folder);
	if (speed)
		write_file(folder, "speed", speed);
	if (!driver)
		return;
	(void)snprintf(device, sizeof(device), "%s/device", folder);
	make_folder(device);
	if (numa)
		write_file(device, "numa_node", numa);
	(void)snprintf(link, sizeof(link), "%s/driver", device);
	(void)snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
	assert_int_equal(symlink(target, link), 0);
}

static int setup(void **state)
{
	static struct node n;
	char path[96];

	n = (struct node){ .sysfs = "/tmp/devplane-nic-inventory-XXXXXX" };
	assert_non_null(mkdtemp(n.sysfs));
	(void)snprintf(path, sizeof(path), "%s/class/net", n.sysfs);
	make_folder(path);
	*state = &n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;

	nic_inventory_free(n->v);
	return folder_fixture_try_remove(n->sysfs);
}

static void begin(struct node *n, const char *a, const char *b)
{
	const char *const creates[] = { a, b };

	for (size_t i = 0; i < 2; i++)
		if (creates[i])
			assert_int_equal(nic_create_parse(str_from(creates[i]),
							  &n->creates[n->spec.ncreates++], NULL),
					 0);
	n->spec.creates = n->creates;
	assert_int_equal(nic_spec_check(&n->spec, NULL), 0);
	n->v = nic_inventory_new(&n->spec, n->sysfs);
}

/* --- links -------------------------------------------------------------------------------- */

static struct rtnl_link link_of(int index, const char *name)
{
	struct rtnl_link l = {
		.index = index, .mtu = 1500, .up = true, .running = true, .parent_nsid = -1
	};

	(void)snprintf(l.name, sizeof(l.name), "%s", name);
	l.mac = (struct rtnl_mac){ { 2, 0, 0, 0, 0, (unsigned char)index }, 6 };
	return l;
}

static bool set(struct node *n, int index, const char *name)
{
	struct rtnl_link l = link_of(index, name);

	return nic_inventory_link_set(n->v, &l);
}

/* All devices' names, with a '!' behind an unhealthy one and a '~' behind one that is away. */
static const char *names(const struct node *n)
{
	static char out[512];
	const struct nic *d;
	size_t used = 0;

	out[0] = 0;
	for (size_t i = 0; (d = nic_inventory_at(n->v, i)); i++)
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s%s%s", i ? " " : "",
					 d->device, d->health == DP_HEALTHY ? "" : "!",
					 d->away ? "~" : "");
	return out;
}

static const char *message(const struct node *n, const char *device)
{
	const struct nic *d = nic_inventory_find(n->v, device);

	assert_non_null(d);
	return d->message ? d->message : "";
}

/* "kind=host interface=eth1 .." of one device, as passed to the SDK. */
static const char *attributes(struct node *n, const char *device)
{
	static char out[512];
	const struct dp_device *v;
	size_t count, used = 0;

	v = nic_inventory_devices(n->v, &count);
	while (count > 0 && strcmp(v->name, device) != 0) {
		v++;
		count--;
	}
	assert_true(count > 0);
	out[0] = 0;
	for (uint32_t i = 0; i < v->nattributes; i++) {
		const struct dp_attribute *a = &v->attributes[i];

		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s=", i ? " " : "",
					 a->name);
		if (a->type == DP_STRING)
			used += (size_t)snprintf(out + used, sizeof(out) - used, "%s", a->text);
		else
			used += (size_t)snprintf(out + used, sizeof(out) - used, "%d",
						 (int)a->number);
	}
	return out;
}

/* --- what is there ------------------------------------------------------------------------ */

static void hardware_is_offered_that_nothing_needs(void **state)
{
	struct node *n = *state;
	struct rtnl_link l;

	plug(n, "eth0", "e1000", NULL, NULL);
	plug(n, "eth1", "mlx5_core", "25000\n", "1\n");
	plug(n, "eth2", "mlx5_core", "-1\n", "-1\n");
	plug(n, "eth3", "mlx5_core", NULL, NULL);
	plug(n, "veth7", NULL, "10000\n", NULL);
	plug(n, "lo", "odd", NULL, NULL);
	begin(n, NULL, NULL);
	nic_inventory_begin(n->v);
	l = link_of(1, "lo");
	l.loopback = true;
	assert_false(nic_inventory_link_set(n->v, &l));
	(void)set(n, 2, "eth0");
	(void)set(n, 3, "eth1");
	(void)set(n, 4, "eth2");
	l = link_of(5, "eth3");
	l.master = 9;
	(void)nic_inventory_link_set(n->v, &l);
	(void)set(n, 6, "veth7");
	(void)set(n, 7, "not-in-sysfs");
	nic_inventory_default_route(n->v, 2);
	assert_string_equal(names(n), "");
	assert_true(nic_inventory_end(n->v));
	assert_string_equal(names(n), "eth1 eth2");
	assert_string_equal(attributes(n, "eth1"),
			    "kind=host interface=eth1 mac=02:00:00:00:00:03 mtu=1500 speed=25000 "
			    "driver=mlx5_core numaNode=1 up=1");
	assert_string_equal(attributes(n, "eth2"),
			    "kind=host interface=eth2 mac=02:00:00:00:00:04 mtu=1500 "
			    "driver=mlx5_core up=1");
}

static void the_parent_of_a_routed_vlan_is_not_offered(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(3, "eth0.7");

	plug(n, "eth0", "e1000", NULL, NULL);
	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	nic_inventory_begin(n->v);
	(void)set(n, 1, "eth0");
	(void)set(n, 2, "eth1");
	l.parent = 1;
	(void)nic_inventory_link_set(n->v, &l);
	nic_inventory_default_route(n->v, 3);
	(void)nic_inventory_end(n->v);
	assert_string_equal(names(n), "eth1");
	/* The route has gone elsewhere: the next state knows. */
	nic_inventory_begin(n->v);
	(void)set(n, 1, "eth0");
	(void)set(n, 2, "eth1");
	nic_inventory_default_route(n->v, 2);
	assert_true(nic_inventory_end(n->v));
	assert_string_equal(names(n), "eth0");
}

static void count_needed(void *arg, const char *interface UNUSED)
{
	++*(int *)arg;
}

static void set_port(struct node *n, int index, const char *name, int master, int parent)
{
	struct rtnl_link l = link_of(index, name);

	l.master = master;
	l.parent = parent;
	(void)nic_inventory_link_set(n->v, &l);
}

/*
 * br0 has the route, and eth0.7 (on eth0), bond0 (of eth1) and v1 as ports; v2 is v1's other end.
 */
static void tell_bridged(struct node *n)
{
	struct rtnl_link l = link_of(8, "v1");

	nic_inventory_begin(n->v);
	set_port(n, 1, "br0", 0, 0);
	set_port(n, 2, "eth0", 0, 0);
	set_port(n, 3, "eth0.7", 1, 2);
	set_port(n, 4, "eth1", 5, 0);
	set_port(n, 5, "bond0", 1, 0);
	set_port(n, 6, "eth2", 0, 0);
	set_port(n, 7, "v2", 0, 8);
	l.master = 1;
	l.parent = 7;
	(void)snprintf(l.kind, sizeof(l.kind), "veth");
	(void)nic_inventory_link_set(n->v, &l);
	nic_inventory_default_route(n->v, 1);
	(void)nic_inventory_end(n->v);
}

static void no_pattern_offers_the_interface_of_a_default_route(void **state)
{
	static const char *const patterns[] = { "*" };
	struct node *n = *state;
	struct rtnl_link l = link_of(6, "eth2");
	int told = 0;

	n->spec = (struct nic_spec){ .patterns = patterns, .npatterns = 1 };
	begin(n, NULL, NULL);
	nic_inventory_on_needed(n->v, count_needed, &told);
	tell_bridged(n);
	assert_string_equal(names(n), "eth2 v2");
	assert_int_equal(told, 6);
	tell_bridged(n);
	assert_int_equal(told, 6);
	assert_true(nic_inventory_is_routed(n->v, 4));
	assert_false(nic_inventory_is_routed(n->v, 6));
	/* One becomes a port between two states. */
	l.master = 1;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "v2");
	assert_int_equal(told, 7);
}

static void a_state_that_cannot_be_had_changes_nothing(void **state)
{
	struct node *n = *state;

	plug(n, "eth0", "e1000", NULL, NULL);
	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	nic_inventory_begin(n->v);
	(void)set(n, 1, "eth0");
	(void)set(n, 2, "eth1");
	nic_inventory_default_route(n->v, 1);
	(void)nic_inventory_end(n->v);
	nic_inventory_begin(n->v);
	(void)set(n, 1, "eth0");
	nic_inventory_cancel(n->v);
	assert_false(set(n, 1, "eth0"));
	assert_string_equal(names(n), "eth1");
}

static void patterns_choose_and_excludes_refuse(void **state)
{
	static const char *const patterns[] = { "t*", "lo" };
	static const char *const excluded[] = { "t9" };
	struct node *n = *state;
	struct rtnl_link l = link_of(1, "lo");

	n->spec = (struct nic_spec){
		.patterns = patterns, .npatterns = 2, .excluded = excluded, .nexcluded = 1
	};
	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	l.loopback = true;
	assert_false(nic_inventory_link_set(n->v, &l));
	assert_true(set(n, 2, "t1"));
	assert_false(set(n, 3, "t9"));
	assert_false(set(n, 4, "eth1"));
	l = link_of(5, "t2");
	l.master = 7;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "t1 t2");
	assert_string_equal(attributes(n, "t1"),
			    "kind=host interface=t1 mac=02:00:00:00:00:02 mtu=1500 up=1");
}

static void only_what_shows_is_a_change(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(3, "eth1");

	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_false(nic_inventory_link_set(n->v, &l));
	l.mtu = 9000;
	assert_true(nic_inventory_link_set(n->v, &l));
	l.running = false;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "eth1!");
	assert_string_equal(message(n, "eth1"), "no carrier");
	l.up = false;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "eth1");
	assert_string_equal(attributes(n, "eth1"),
			    "kind=host interface=eth1 mac=02:00:00:00:00:03 mtu=9000 driver=e1000 "
			    "up=0");
	l.master = 9;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "");
	assert_false(nic_inventory_link_set(n->v, &l));
}

static void a_renamed_interface_is_another_device(void **state)
{
	struct node *n = *state;

	plug(n, "eth1", "e1000", NULL, NULL);
	plug(n, "enp3s0", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	assert_true(set(n, 3, "eth1"));
	assert_true(set(n, 3, "enp3s0"));
	assert_string_equal(names(n), "enp3s0");
	assert_true(nic_inventory_link_gone(n->v, 3));
	assert_false(nic_inventory_link_gone(n->v, 3));
	assert_string_equal(names(n), "");
	assert_true(set(n, 8, "eth1"));
	assert_string_equal(names(n), "eth1");
}

static void a_state_forgets_what_it_does_not_have(void **state)
{
	struct node *n = *state;

	plug(n, "eth1", "e1000", NULL, NULL);
	plug(n, "eth2", "e1000", NULL, NULL);
	begin(n, "macvlan:1:br7", NULL);
	(void)set(n, 3, "eth1");
	(void)set(n, 4, "eth2");
	(void)set(n, 5, "br7");
	assert_string_equal(names(n), "macvlan-br7-0 eth1 eth2");
	nic_inventory_begin(n->v);
	/* Same names, other indexes. */
	(void)set(n, 4, "eth1");
	assert_true(nic_inventory_end(n->v));
	assert_string_equal(names(n), "macvlan-br7-0! eth1");
	assert_string_equal(message(n, "macvlan-br7-0"), "parent br7 does not exist");
	nic_inventory_begin(n->v);
	(void)set(n, 4, "eth1");
	assert_false(nic_inventory_end(n->v));
}

/* --- names -------------------------------------------------------------------------------- */

static void state_of_three(struct node *n, const int index[3])
{
	static const char *const of[] = { "a.1", "a-1", "a_1" };

	nic_inventory_begin(n->v);
	for (size_t i = 0; i < 3; i++)
		(void)set(n, index[i], of[i]);
	(void)nic_inventory_end(n->v);
}

static void names_that_become_one_label_stay_apart(void **state)
{
	struct node *n = *state;
	char first[512];

	plug(n, "a.1", "e1000", NULL, NULL);
	plug(n, "a-1", "e1000", NULL, NULL);
	plug(n, "a_1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	state_of_three(n, (int[]){ 3, 4, 5 });
	(void)snprintf(first, sizeof(first), "%s", names(n));
	assert_non_null(nic_inventory_find(n->v, "a-1"));
	assert_string_equal(nic_inventory_find(n->v, "a-1")->interface, "a-1");
	assert_int_equal(strlen(first), strlen("a-1 a-1-0123 a-1-4567"));
	nic_inventory_free(n->v);
	/* A driver that starts again calls them the same, though their indexes have changed. */
	n->v = nic_inventory_new(&n->spec, n->sysfs);
	state_of_three(n, (int[]){ 9, 8, 7 });
	assert_string_equal(names(n), first);
}

static void a_created_device_keeps_its_name(void **state)
{
	struct node *n = *state;
	static const char *const patterns[] = { "*" };

	n->spec = (struct nic_spec){ .patterns = patterns, .npatterns = 1 };
	begin(n, "veth:2", NULL);
	assert_true(set(n, 3, "veth-0"));
	assert_string_equal(nic_inventory_at(n->v, 0)->device, "veth-0");
	assert_int_equal(nic_inventory_at(n->v, 0)->kind, NIC_VETH);
	assert_string_equal(nic_inventory_at(n->v, 1)->device, "veth-1");
	assert_int_equal(nic_inventory_at(n->v, 2)->kind, NIC_HOST);
	assert_true(str_starts(str_from(nic_inventory_at(n->v, 2)->device), STR("veth-0-")));
}

/* --- what is created ---------------------------------------------------------------------- */

static void a_parent_decides_about_what_is_on_it(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(3, "eth1");

	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, "macvlan:2:eth1:private", "vlan:7-8:eth1");
	assert_string_equal(names(n), "macvlan-eth1-private-0! macvlan-eth1-private-1! "
				      "vlan-eth1-7! vlan-eth1-8!");
	assert_string_equal(message(n, "vlan-eth1-7"), "parent eth1 does not exist");
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_false(nic_inventory_link_set(n->v, &l));
	/* The parent itself is not offered. */
	assert_string_equal(names(n), "macvlan-eth1-private-0 macvlan-eth1-private-1 vlan-eth1-7 "
				      "vlan-eth1-8");
	assert_string_equal(attributes(n, "macvlan-eth1-private-1"),
			    "kind=macvlan parent=eth1 mode=private up=1");
	assert_string_equal(attributes(n, "vlan-eth1-8"), "kind=vlan parent=eth1 vlan=8 up=1");
	l.running = false;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(message(n, "vlan-eth1-7"), "parent eth1 has no carrier");
	assert_string_equal(attributes(n, "vlan-eth1-8"), "kind=vlan parent=eth1 vlan=8 up=0");
	l.up = false;
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(message(n, "vlan-eth1-7"), "parent eth1 is down");
	assert_true(nic_inventory_link_gone(n->v, 3));
	assert_string_equal(message(n, "vlan-eth1-7"), "parent eth1 does not exist");
	assert_false(nic_inventory_find(n->v, "vlan-eth1-7")->present);
}

static void a_renamed_parent_is_gone(void **state)
{
	struct node *n = *state;

	begin(n, "macvlan:1:eth1", NULL);
	assert_true(set(n, 3, "eth1"));
	assert_true(set(n, 3, "eth5"));
	assert_string_equal(names(n), "macvlan-eth1-0!");
	assert_true(set(n, 4, "eth1"));
	assert_string_equal(names(n), "macvlan-eth1-0");
}

static void a_veth_needs_nothing_or_its_bridge(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(3, "br0");

	begin(n, "veth:1", "veth:1:br0");
	assert_string_equal(names(n), "veth-0 veth-br0-0!");
	assert_string_equal(message(n, "veth-br0-0"), "bridge br0 does not exist");
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(message(n, "veth-br0-0"), "bridge br0 is not a bridge");
	(void)snprintf(l.kind, sizeof(l.kind), "bridge");
	l.running = false; /* it has no ports yet */
	assert_true(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "veth-0 veth-br0-0");
	assert_string_equal(attributes(n, "veth-0"), "kind=veth up=1");
	assert_string_equal(attributes(n, "veth-br0-0"), "kind=veth parent=br0 up=1");
}

/* --- in pods ------------------------------------------------------------------------------ */

static void a_device_in_a_pod_stays_as_it_was(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(9, "eth1");

	plug(n, "eth1", "e1000", "1000\n", NULL);
	begin(n, NULL, NULL);
	assert_true(set(n, 3, "eth1"));
	(void)nic_inventory_set_away(n->v, "eth1", true, NULL);
	/* Its last event here, which comes late. */
	l.index = 3;
	l.up = l.running = false;
	l.mtu = 1300;
	assert_false(nic_inventory_link_set(n->v, &l));
	assert_false(nic_inventory_link_gone(n->v, 3));
	assert_string_equal(names(n), "eth1~");
	nic_inventory_begin(n->v);
	assert_false(nic_inventory_end(n->v));
	assert_string_equal(attributes(n, "eth1"),
			    "kind=host interface=eth1 mac=02:00:00:00:00:03 mtu=1500 speed=1000 "
			    "driver=e1000 up=1");
	/* Back, with another index. */
	l.index = 9;
	assert_false(nic_inventory_link_set(n->v, &l));
	assert_true(nic_inventory_set_away(n->v, "eth1", false, NULL));
	assert_string_equal(names(n), "eth1");
	assert_string_equal(attributes(n, "eth1"),
			    "kind=host interface=eth1 mac=02:00:00:00:00:09 mtu=1300 speed=1000 "
			    "driver=e1000 up=0");
	assert_false(nic_inventory_set_away(n->v, "eth1", false, NULL));
	assert_true(nic_inventory_link_gone(n->v, 9));
	assert_string_equal(names(n), "");
}

static void a_device_that_does_not_come_back_goes(void **state)
{
	struct node *n = *state;

	plug(n, "eth1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	(void)set(n, 3, "eth1");
	(void)nic_inventory_set_away(n->v, "eth1", true, NULL);
	(void)nic_inventory_link_gone(n->v, 3);
	assert_true(nic_inventory_set_away(n->v, "eth1", false, NULL));
	assert_null(nic_inventory_find(n->v, "eth1"));
	assert_false(nic_inventory_set_away(n->v, "eth1", true, NULL));
}

static void hardware_that_comes_back_under_its_name_in_the_pod_is_no_other(void **state)
{
	struct node *n = *state;
	struct rtnl_link l = link_of(3, "eth1");

	plug(n, "eth1", "e1000", NULL, NULL);
	plug(n, "net1", "e1000", NULL, NULL);
	begin(n, NULL, NULL);
	l.permanent = l.mac;
	(void)nic_inventory_link_set(n->v, &l);
	(void)nic_inventory_set_away(n->v, "eth1", true, NULL);
	(void)nic_inventory_link_gone(n->v, 3);
	(void)snprintf(l.name, sizeof(l.name), "net1");
	l.index = 7;
	assert_false(nic_inventory_link_set(n->v, &l));
	assert_string_equal(names(n), "eth1~");
	(void)snprintf(l.name, sizeof(l.name), "eth1");
	(void)nic_inventory_link_set(n->v, &l);
	(void)nic_inventory_set_away(n->v, "eth1", false, NULL);
	assert_string_equal(names(n), "eth1");
	assert_int_equal(nic_inventory_find(n->v, "eth1")->link.index, 7);
}

static void a_driver_that_starts_knows_what_is_away(void **state)
{
	struct node *n = *state;
	struct nic last = { .kind = NIC_HOST,
			    .interface = "a_1",
			    .device = "a-1-beef",
			    .hardware = { .there = true, .speed = 100, .numa = -1 } };
	struct nic old = { .kind = NIC_VLAN, .parent = "eth9", .vlan = 7 };

	plug(n, "a_1", "e1000", NULL, NULL);
	begin(n, "veth:1", NULL);
	last.link = link_of(3, "a_1");
	assert_true(nic_inventory_set_away(n->v, "a-1-beef", true, &last));
	/* A device of a --create that was removed. */
	assert_true(nic_inventory_set_away(n->v, "vlan-eth9-7", true, &old));
	nic_inventory_begin(n->v);
	(void)nic_inventory_end(n->v);
	assert_string_equal(names(n), "veth-0 a-1-beef~ vlan-eth9-7~");
	assert_string_equal(attributes(n, "a-1-beef"), "kind=host interface=a_1 "
						       "mac=02:00:00:00:00:03 mtu=1500 speed=100 "
						       "up=1");
	(void)set(n, 5, "a_1");
	assert_true(nic_inventory_set_away(n->v, "a-1-beef", false, NULL));
	assert_true(nic_inventory_set_away(n->v, "vlan-eth9-7", false, NULL));
	assert_string_equal(names(n), "veth-0 a-1-beef");
}

static void the_other_end_of_a_veth_is_offered_to_nobody(void **state)
{
	static const char *const patterns[] = { "*" };
	struct node *n = *state;

	n->spec = (struct nic_spec){ .patterns = patterns, .npatterns = 1 };
	begin(n, NULL, NULL);
	assert_false(nic_inventory_hide(n->v, "dp1"));
	assert_false(set(n, 3, "dp1"));
	assert_true(set(n, 4, "dp2"));
	assert_true(nic_inventory_hide(n->v, "dp2"));
	assert_string_equal(names(n), "");
	nic_inventory_begin(n->v);
	(void)set(n, 3, "dp1");
	(void)set(n, 4, "dp2");
	assert_false(nic_inventory_end(n->v));
	/* Deleted; another may have the name then. */
	assert_false(nic_inventory_link_gone(n->v, 4));
	assert_true(set(n, 5, "dp2"));
	assert_string_equal(names(n), "dp2");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(hardware_is_offered_that_nothing_needs),
		TEST(the_parent_of_a_routed_vlan_is_not_offered),
		TEST(no_pattern_offers_the_interface_of_a_default_route),
		TEST(a_state_that_cannot_be_had_changes_nothing),
		TEST(patterns_choose_and_excludes_refuse),
		TEST(only_what_shows_is_a_change),
		TEST(a_renamed_interface_is_another_device),
		TEST(a_state_forgets_what_it_does_not_have),
		TEST(names_that_become_one_label_stay_apart),
		TEST(a_created_device_keeps_its_name),
		TEST(a_parent_decides_about_what_is_on_it),
		TEST(a_renamed_parent_is_gone),
		TEST(a_veth_needs_nothing_or_its_bridge),
		TEST(a_device_in_a_pod_stays_as_it_was),
		TEST(a_device_that_does_not_come_back_goes),
		TEST(hardware_that_comes_back_under_its_name_in_the_pod_is_no_other),
		TEST(a_driver_that_starts_knows_what_is_away),
		TEST(the_other_end_of_a_veth_is_offered_to_nobody),
	};

	return cmocka_run_group_tests_name("drivers/nic_inventory", tests, NULL, NULL);
}
