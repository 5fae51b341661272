/*
 * Inventories with counter sets, shared devices and pools: what becomes of them in slices, and what
 * is rejected with an error message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/prepare/device_table.h"

#include "base/core/mem.h"

#define SELECTOR(key)                                                                         \
	"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" \
	"Exists\"}]}]}"

static const struct device_defaults defaults = { .pool = { "node-1", 6 }, .timeout_s = 30 };

/* A GPU and one of its parts. */
struct gpu {
	struct dp_counter has[2], all[2], part[1];
	struct dp_counter_set set;
	struct dp_counter_use uses[2];
	struct dp_device devices[2];
	struct dp_inventory inventory;
};

static void gpu_init(struct gpu *g)
{
	*g = (struct gpu){
		.has = { { sizeof(g->has[0]), 0, "memory", "40960Mi" },
			 { sizeof(g->has[0]), 0, "slice-0", "1" } },
		.all = { { sizeof(g->has[0]), 0, "memory", "40Gi" },
			 { sizeof(g->has[0]), 0, "slice-0", "1" } },
		.part = { { sizeof(g->has[0]), 0, "memory", "10Gi" } },
		.set = { sizeof(g->set), 2, NULL, "gpu-0", g->has },
		.uses = { { sizeof(g->uses[0]), 2, "gpu-0", g->all },
			  { sizeof(g->uses[0]), 1, "gpu-0", g->part } },
		.devices = { { .size = sizeof(g->devices[0]), .name = "gpu-0", .nconsumes = 1 },
			     { .size = sizeof(g->devices[0]), .name = "part", .nconsumes = 1 } },
		.inventory = { .size = sizeof(g->inventory), .ndevices = 2, .nsets = 1 },
	};
	g->devices[0].consumes = &g->uses[0];
	g->devices[1].consumes = &g->uses[1];
	g->inventory.devices = g->devices;
	g->inventory.sets = &g->set;
}

static void assert_text(const struct json *v, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(65536);

	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, want);
}

static void assert_rejected(const struct dp_inventory *in, const char *words)
{
	struct device_table *t = NULL;
	struct error err = { 0 };

	assert_int_not_equal(device_table_from(in, &defaults, &t, &err), 0);
	assert_null(t);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" does not have \"%s\"", err.msg, words);
}

static void counters_are_shared_in_a_pool(void **state UNUSED)
{
	CLEANUP(device_table_free) struct device_table *t = NULL;
	struct error err;
	struct gpu g;

	gpu_init(&g);
	if (device_table_from(&g.inventory, &defaults, &t, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(t->npools, 1);
	assert_int_equal(t->pools[0].nsets, 1);
	assert_false(t->pools[0].common);
	assert_true(t->pools[0].costly);
	assert_text(t->pools[0].nodes, "{\"nodeName\":\"node-1\"}");
	assert_text(t->pools[0].sets[0], "{\"name\":\"gpu-0\",\"counters\":{\"memory\":{\"value\":"
					 "\"40Gi\"},\"slice-0\":{\"value\":\"1\"}}}");
	assert_text(t->v[1].spec,
		    "{\"name\":\"part\",\"consumesCounters\":[{\"counterSet\":\"gpu-0\","
		    "\"counters\":{\"memory\":{\"value\":\"10Gi\"}}}]}");
}

static void counters_that_do_not_exist_are_rejected(void **state UNUSED)
{
	struct gpu g;

	gpu_init(&g);
	g.uses[1].set = "gpu-1";
	assert_rejected(&g.inventory, "device \"part\": pool \"node-1\" has no counter set");
	gpu_init(&g);
	g.part[0].name = "cores";
	assert_rejected(&g.inventory, "has no counter \"cores\"");
	gpu_init(&g);
	g.part[0].quantity = "much";
	assert_rejected(&g.inventory, "counter \"memory\"");
	gpu_init(&g);
	g.has[1].name = "memory";
	assert_rejected(&g.inventory, "it is there twice");
	gpu_init(&g);
	g.has[1].name = "Slice_0";
	assert_rejected(&g.inventory, "counter set \"gpu-0\"");
	gpu_init(&g);
	g.set.ncounters = 0;
	assert_rejected(&g.inventory, "counter set \"gpu-0\"");
	gpu_init(&g);
	g.set.pool = "other";
	assert_rejected(&g.inventory, "pool \"node-1\" has no counter set");
	gpu_init(&g);
	g.devices[0].consumes = g.uses;
	g.devices[0].nconsumes = 2;
	assert_rejected(&g.inventory, "Duplicate");
}

static void parts_without_a_size_are_rejected(void **state UNUSED)
{
	struct dp_pool pool = { 0 };
	struct gpu g;

	gpu_init(&g);
	g.inventory.size = 0;
	assert_rejected(&g.inventory, "dp_inventory");
	gpu_init(&g);
	g.set.size = 0;
	assert_rejected(&g.inventory, "dp_counter_set");
	gpu_init(&g);
	g.has[0].size = 0;
	assert_rejected(&g.inventory, "dp_counter ");
	gpu_init(&g);
	g.uses[1].size = 0;
	assert_rejected(&g.inventory, "dp_counter_use");
	gpu_init(&g);
	g.inventory.pools = &pool;
	g.inventory.npools = 1;
	assert_rejected(&g.inventory, "dp_pool");
}

/* --- shares ------------------------------------------------------------------------------- */

static struct dp_inventory shared_device(struct dp_device *d, struct dp_capacity *c)
{
	c->size = sizeof(*c);
	c->name = "memory";
	c->quantity = "80Gi";
	*d = (struct dp_device){ .size = sizeof(*d),
				 .name = "gpu-0",
				 .capacity = c,
				 .ncapacity = 1,
				 .allow_multiple = 1 };
	return (struct dp_inventory){ .size = sizeof(struct dp_inventory),
				      .devices = d,
				      .ndevices = 1 };
}

static void shares_have_a_request_policy(void **state UNUSED)
{
	static const char *const values[] = { "10Gi", "20Gi", "81920Mi", NULL };
	struct dp_capacity range = { .default_quantity = "1Gi", .min = "1Gi", .step = "512Mi" };
	struct dp_capacity list = { .default_quantity = "20Gi", .valid_values = values };
	CLEANUP(device_table_free) struct device_table *t = NULL, *u = NULL;
	struct dp_inventory in;
	struct dp_device d;

	in = shared_device(&d, &range);
	assert_int_equal(device_table_from(&in, &defaults, &t, NULL), 0);
	assert_text(t->v[0].spec,
		    "{\"name\":\"gpu-0\",\"capacity\":{\"memory\":{\"value\":\"80Gi\","
		    "\"requestPolicy\":{\"default\":\"1Gi\",\"validRange\":{\"min\":\"1Gi\","
		    "\"step\":\"512Mi\"}}}},\"allowMultipleAllocations\":true}");
	in = shared_device(&d, &list);
	assert_int_equal(device_table_from(&in, &defaults, &u, NULL), 0);
	assert_text(u->v[0].spec,
		    "{\"name\":\"gpu-0\",\"capacity\":{\"memory\":{\"value\":\"80Gi\","
		    "\"requestPolicy\":{\"default\":\"20Gi\",\"validValues\":[\"10Gi\",\"20Gi\","
		    "\"80Gi\"]}}},\"allowMultipleAllocations\":true}");
}

static void request_policies_that_the_api_would_reject_are_rejected(void **state UNUSED)
{
	static const char *const values[] = { "20Gi", "10Gi", NULL };
	struct dp_capacity bad[] = {
		{ .min = "1Gi" }, /* no default */
		{ .default_quantity = "1Gi", .step = "1Gi" }, /* no minimum */
		{ .default_quantity = "10Gi", .valid_values = values }, /* descending */
		{ .default_quantity = "10Gi", .min = "1Gi", .max = "90Gi" }, /* beyond the value */
		{ .default_quantity = "many" },
	};
	struct dp_capacity fine = { .default_quantity = "1Gi", .min = "1Gi" };
	struct dp_inventory in;
	struct dp_device d;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		in = shared_device(&d, &bad[i]);
		assert_rejected(&in, "device \"gpu-0\"");
	}
	in = shared_device(&d, &fine);
	d.allow_multiple = 0;
	assert_rejected(&in, "allowMultipleAllocations");
}

/* --- nodes -------------------------------------------------------------------------------- */

static void a_pool_may_belong_to_several_nodes(void **state UNUSED)
{
	struct dp_pool pools[] = {
		{ .size = sizeof(pools[0]), .name = "fabric/a", .all_nodes = 1 },
		{ .size = sizeof(pools[0]),
		  .name = "fabric/b",
		  .node_selector = SELECTOR("rack"),
		  .prepare_only = 1 },
	};
	struct dp_device d = { .size = sizeof(d), .name = "x", .pool = "fabric/a" };
	struct dp_inventory in = {
		.size = sizeof(in), .devices = &d, .ndevices = 1, .pools = pools, .npools = 2
	};
	CLEANUP(device_table_free) struct device_table *t = NULL;

	assert_int_equal(device_table_from(&in, &defaults, &t, NULL), 0);
	assert_ptr_equal(t->v[0].in, device_table_pool(t, STR("fabric/a")));
	assert_true(t->v[0].in->common);
	assert_text(t->v[0].in->nodes, "{\"allNodes\":true}");
	assert_true(device_table_pool(t, STR("fabric/b"))->prepare_only);
	assert_null(device_table_pool(t, STR("fabric/c")));

	pools[1].name = "fabric/a";
	assert_rejected(&in, "pool \"fabric/a\": it is there twice");
	pools[1].name = "node-1";
	assert_rejected(&in, "the node's own");
	pools[1].name = "Not/A/Name";
	assert_rejected(&in, "pool \"Not/A/Name\"");
	pools[1].name = "b";
	pools[1].all_nodes = 1;
	assert_rejected(&in, "give one of");
	pools[1].all_nodes = 0;
	pools[1].node_selector = "{";
	assert_rejected(&in, "node_selector");
	pools[1].node_selector = "{\"nodeSelectorTerms\":[]}";
	assert_rejected(&in, "pool \"b\"");
	pools[1].node_selector = NULL;
	assert_rejected(&in, "give all_nodes or node_selector");
}

static void where_one_device_selects_nodes_all_do(void **state UNUSED)
{
	struct dp_device d[] = {
		{ .size = sizeof(d[0]), .name = "here" },
		{ .size = sizeof(d[0]), .name = "there", .node_name = "node-2" },
		{ .size = sizeof(d[0]), .name = "rack", .node_selector = SELECTOR("rack") },
		{ .size = sizeof(d[0]), .name = "any", .all_nodes = 1, .binds_to_node = 1 },
	};
	struct dp_inventory in = { .size = sizeof(in), .devices = d, .ndevices = 4 };
	CLEANUP(device_table_free) struct device_table *t = NULL;

	assert_int_equal(device_table_from(&in, &defaults, &t, NULL), 0);
	assert_true(t->pools[0].per_device);
	assert_true(t->pools[0].common);
	assert_text(t->v[0].spec, "{\"name\":\"here\",\"nodeName\":\"node-1\"}");
	assert_text(t->v[1].spec, "{\"name\":\"there\",\"nodeName\":\"node-2\"}");
	assert_text(t->v[2].spec, "{\"name\":\"rack\",\"nodeSelector\":" SELECTOR("rack") "}");
	assert_text(t->v[3].spec, "{\"name\":\"any\",\"allNodes\":true,\"bindsToNode\":true}");
	d[1].all_nodes = 1;
	assert_rejected(&in, "device \"there\": give one of");
}

static void binding_conditions_come_in_both_kinds(void **state UNUSED)
{
	static const char *const ready[] = { "example.com/Ready", NULL };
	static const char *const failed[] = { "example.com/Failed", NULL };
	struct dp_device d = { .size = sizeof(d), .name = "x", .binding_conditions = ready };
	struct dp_inventory in = { .size = sizeof(in), .devices = &d, .ndevices = 1 };
	CLEANUP(device_table_free) struct device_table *t = NULL;

	assert_rejected(&in, "device \"x\"");
	d.binding_failure_conditions = failed;
	assert_int_equal(device_table_from(&in, &defaults, &t, NULL), 0);
	assert_text(t->v[0].spec, "{\"name\":\"x\",\"bindingConditions\":[\"example.com/Ready\"],"
				  "\"bindingFailureConditions\":[\"example.com/Failed\"]}");
}

/* --- taints ------------------------------------------------------------------------------- */

static void taints_are_replaced(void **state UNUSED)
{
	struct dp_taint at = { sizeof(at), 0, "example.com/hot", NULL, "NoSchedule", 1790000000 };
	struct dp_taint own = { sizeof(own), 0, "example.com/old", NULL, "None", 0 };
	struct dp_device d = { .size = sizeof(d), .name = "x", .taints = &own, .ntaints = 1 };
	CLEANUP(device_table_free) struct device_table *t = NULL;
	struct device_taints *taints;

	assert_int_equal(device_table_new(&d, 1, &defaults, &t, NULL), 0);
	assert_int_equal(device_taints_new(&own, 1, &taints, NULL), 0);
	assert_false(device_set_taints(&t->v[0], taints));
	assert_int_equal(device_taints_new(&at, 1, &taints, NULL), 0);
	assert_true(device_set_taints(&t->v[0], taints));
	assert_text(device_taints_of(&t->v[0]),
		    "[{\"key\":\"example.com/hot\",\"effect\":\"NoSchedule\",\"timeAdded\":"
		    "\"2026-09-21T14:13:20Z\"}]");
	assert_int_equal(device_taints_new(NULL, 0, &taints, NULL), 0);
	assert_true(device_set_taints(&t->v[0], taints));
	assert_null(device_taints_of(&t->v[0]));
	at.time_added = -1;
	assert_int_not_equal(device_taints_new(&at, 1, &taints, NULL), 0);
	at = own;
	at.effect = "Never";
	assert_int_not_equal(device_taints_new(&at, 1, &taints, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_shared_in_a_pool),
		cmocka_unit_test(counters_that_do_not_exist_are_rejected),
		cmocka_unit_test(parts_without_a_size_are_rejected),
		cmocka_unit_test(shares_have_a_request_policy),
		cmocka_unit_test(request_policies_that_the_api_would_reject_are_rejected),
		cmocka_unit_test(a_pool_may_belong_to_several_nodes),
		cmocka_unit_test(where_one_device_selects_nodes_all_do),
		cmocka_unit_test(binding_conditions_come_in_both_kinds),
		cmocka_unit_test(taints_are_replaced),
	};

	return cmocka_run_group_tests_name("drivers/inventory", tests, NULL, NULL);
}
