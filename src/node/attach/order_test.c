#include "node/attach/order.h"

#include "node/book/podres_fixture.h"

static void expect_pod(const char *from, const char *to)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX);
	Podresources__PodResources *p;

	arena_init(&a, SIZE_MAX);
	p = fixture_pod(&a, "web", from);
	attach_order_pod(p);
	fixture_print_pod(&text, p);
	assert_string_equal(text.p, to);
}

static void a_containers_resources_are_sorted(void **state)
{
	(void)state;
	expect_pod("nic:z gpu:b gpu:a nic:a", "web [ gpu:a gpu:b nic:a nic:z ]");
	expect_pod("cpu:10 cpu:9 cpu:-1", "web [ cpu:-1 cpu:9 cpu:10 ]");
	expect_pod("mem:5@1 mem:9@0 mem:6@0", "web [ mem:6@0 mem:9@0 mem:5@1 ]");
	expect_pod("claim:d/x claim:c/y", "web [ claim:c/y claim:d/x ]");
}

static void a_device_near_two_nodes_is_in_order_of_the_nodes(void **state)
{
	(void)state;
	expect_pod("gpu:a@1 gpu:a@0 gpu:a", "web [ gpu:a gpu:a@0 gpu:a@1 ]");
}

static void containers_keep_their_order(void **state)
{
	(void)state;
	expect_pod("gpu:b | gpu:a | ", "web [ gpu:b | gpu:a | ]");
}

static void ids_and_numa_nodes_are_sorted_too(void **state)
{
	char b[] = "b", a[] = "a", gpu[] = "gpu";
	char *ids[] = { b, a };
	Podresources__NumaNode one = PODRESOURCES__NUMA_NODE__INIT,
			       two = PODRESOURCES__NUMA_NODE__INIT;
	Podresources__NumaNode *nodes[] = { &two, &one };
	Podresources__TopologyInfo topology = PODRESOURCES__TOPOLOGY_INFO__INIT;
	Podresources__ContainerDevices devices = PODRESOURCES__CONTAINER_DEVICES__INIT;
	Podresources__ContainerDevices *all[] = { &devices };
	Podresources__AllocatableResponse r = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	int64_t cpus[] = { 3, 1 };

	(void)state;
	one.id = 1;
	two.id = 2;
	topology.nodes = nodes;
	topology.n_nodes = ARRAY_SIZE(nodes);
	devices.resource_name = gpu;
	devices.device_ids = ids;
	devices.n_device_ids = ARRAY_SIZE(ids);
	devices.topology = &topology;
	r.devices = all;
	r.n_devices = ARRAY_SIZE(all);
	r.cpu_ids = cpus;
	r.n_cpu_ids = ARRAY_SIZE(cpus);
	attach_order_allocatable(&r);
	assert_string_equal(ids[0], "a");
	assert_int_equal(nodes[0]->id, 1);
	assert_int_equal(cpus[0], 1);
}

/* Devices of a claim, each with two CDI ids, in the wrong order. */
static void devices_of_a_claim_are_in_order(void **state)
{
	char low[] = "a", high[] = "b", none[] = "";
	Podresources__CdiDevice ids[] = { PODRESOURCES__CDI_DEVICE__INIT,
					  PODRESOURCES__CDI_DEVICE__INIT };
	Podresources__CdiDevice *cdi[] = { &ids[1], &ids[0] };
	Podresources__ClaimResource r[] = { PODRESOURCES__CLAIM_RESOURCE__INIT,
					    PODRESOURCES__CLAIM_RESOURCE__INIT };
	Podresources__ClaimResource *resources[] = { &r[1], &r[0] };
	Podresources__DynamicResource claim = PODRESOURCES__DYNAMIC_RESOURCE__INIT;
	Podresources__DynamicResource *claims[] = { &claim };
	Podresources__ContainerResources c = PODRESOURCES__CONTAINER_RESOURCES__INIT;
	Podresources__ContainerResources *containers[] = { &c };
	Podresources__PodResources pod = PODRESOURCES__POD_RESOURCES__INIT;

	(void)state;
	ids[0].name = low;
	ids[1].name = high;
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		r[i].driver_name = r[i].pool_name = r[i].device_name = none;
		r[i].share_case = PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID;
		r[i].share_id = i ? high : low;
	}
	r[0].cdi_devices = cdi;
	r[0].n_cdi_devices = ARRAY_SIZE(cdi);
	claim.claim_resources = resources;
	claim.n_claim_resources = ARRAY_SIZE(resources);
	c.dynamic_resources = claims;
	c.n_dynamic_resources = ARRAY_SIZE(claims);
	pod.containers = containers;
	pod.n_containers = ARRAY_SIZE(containers);
	attach_order_pod(&pod);
	assert_ptr_equal(resources[0], &r[0]);
	assert_ptr_equal(cdi[0], &ids[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_containers_resources_are_sorted),
		cmocka_unit_test(a_device_near_two_nodes_is_in_order_of_the_nodes),
		cmocka_unit_test(containers_keep_their_order),
		cmocka_unit_test(ids_and_numa_nodes_are_sorted_too),
		cmocka_unit_test(devices_of_a_claim_are_in_order),
	};

	return cmocka_run_group_tests_name("node/attach_order", tests, NULL, NULL);
}
