/*
 * Steps of the plan are applied to slices in memory, as a server would, until none is left: then
 * the slices must say what the table says. Along the way no reader may be misled: whenever the
 * slices of the newest generation are complete, they are all devices of one table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/sdk/slice_plan.h"

#include "base/core/mem.h"
#include "base/core/random.h"
#include "drivers/prepare/device_check.h"
#include "drivers/sdk/slice_equal.h"

struct world {
	struct slice_plan plan;
	struct cache there, common; /* slices that name the node, and slices that name none */
	bool lonely; /* slices that name none are not followed */
	struct device_table *table;
	unsigned names, versions, writes;
};

static void init(struct world *w, bool taint)
{
	*w = (struct world){ .plan = { .driver = STR("gpu.example.com"),
				       .node = STR("n"),
				       .taint_unhealthy = taint } };
	slice_plan_init(&w->plan);
	cache_init(&w->there);
	cache_init(&w->common);
}

static void release(struct world *w)
{
	slice_plan_release(&w->plan);
	cache_release(&w->there);
	cache_release(&w->common);
	device_table_free(w->table);
}

/* Devices d-FIRST to d-LAST of the node's pool. */
static void set_devices(struct world *w, int first, int last)
{
	struct device_defaults defaults = { .pool = STR("n"), .timeout_s = 30 };
	size_t count = (size_t)last + 1 - (size_t)first, n = 0;
	struct dp_device *v = xcalloc(count + 1, sizeof(*v));
	char(*names)[16] = xcalloc(count + 1, sizeof(*names));

	for (int i = first; i <= last; i++, n++) {
		(void)snprintf(names[n], sizeof(names[n]), "d-%d", i);
		v[n] = (struct dp_device){ .size = sizeof(v[n]), .name = names[n] };
	}
	device_table_free(w->table);
	v[0].size = sizeof(v[0]);
	assert_int_equal(device_table_new(v, n, &defaults, &w->table, NULL), 0);
	slice_plan_reset(&w->plan);
	free(v);
	free(names);
}

/* The API server takes the slice. */
static void assert_accepted(const struct json *slice)
{
	const struct json *spec = json_getz(slice, "spec");
	struct error err;

	if (device_check_slice(json_text_at(json_getz(spec, "pool"), "name"), spec, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct cache *cache_of(struct world *w, const struct json *slice)
{
	return json_getz(json_getz(slice, "spec"), "nodeName") ? &w->there : &w->common;
}

/* Stores the object as a server would: name, version, the time of new taints. */
static void store(struct world *w, struct arena *a, struct json *o, struct str name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 24);
	struct json *meta = json_getz(o, "metadata");
	struct cached *c;

	assert_accepted(o);
	json_put_str(a, meta, "name", name);
	json_put_str(a, meta, "uid", str_from(arena_printf(a, "u-%.*s", STR_ARG(name))));
	json_put_str(a, meta, "resourceVersion", str_from(arena_printf(a, "%u", ++w->versions)));
	JSON_FOREACH (d, json_getz(json_getz(o, "spec"), "devices"))
		JSON_FOREACH (t, json_getz(d, "taints"))
			if (!json_getz(t, "timeAdded"))
				json_put_str(a, t, "timeAdded",
					     str_from(arena_printf(a, "t%u", w->versions)));
	assert_int_equal(json_print(&text, o, NULL), 0);
	assert_int_equal(cached_new(buf_str(&text), NULL, &c, NULL), 0);
	cached_unref(cache_put(cache_of(w, o), c));
}

/* One write; false if there was nothing to do. */
static bool step(struct world *w)
{
	struct slice_caches caches = { .node = &w->there, .common = w->lonely ? NULL : &w->common };
	struct slice_step s;
	struct arena a;
	struct str name;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(slice_plan_next(&w->plan, w->table, &caches, &a, &s, NULL), 0);
	if (s.action == SLICE_DELETE) {
		cached_unref(cache_remove(s.common ? &w->common : &w->there, s.of->key));
	} else if (s.action == SLICE_UPDATE) {
		name = arena_str(&a, s.of->key);
		store(w, &a, s.object, name);
	} else if (s.action == SLICE_CREATE) {
		assert_int_equal(s.common, cache_of(w, s.object) == &w->common);
		if (!s.common)
			slice_plan_own(&w->plan, &a, s.object, STR("node-uid"));
		name = str_from(arena_printf(
			&a, "%.*s%u",
			STR_ARG(json_text_at(json_getz(s.object, "metadata"), "generateName")),
			++w->names));
		store(w, &a, s.object, name);
	}
	arena_release(&a);
	w->writes += s.action != SLICE_NONE;
	return s.action != SLICE_NONE;
}

static void settle(struct world *w)
{
	w->writes = 0;
	while (step(w))
		assert_true(w->writes < 1000);
}

/* Devices of the newest generation, when all its slices are there; else -1. */
static int complete_devices(const struct world *w, int64_t *ret_generation, int *ret_slices)
{
	struct cache_walk walk = { 0 };
	int64_t newest = -1, want = 0;
	int slices = 0, devices = 0;
	struct cached *o;

	while ((o = cache_next(&w->there, &walk))) {
		struct arena a;
		struct json *tree, *pool;

		arena_init(&a, SIZE_MAX);
		assert_int_equal(cached_tree(o, &a, &tree, NULL), 0);
		pool = json_getz(json_getz(tree, "spec"), "pool");
		if (json_i64_at(pool, "generation", 0) > newest) {
			newest = json_i64_at(pool, "generation", 0);
			want = json_i64_at(pool, "resourceSliceCount", 0);
			slices = devices = 0;
		}
		if (json_i64_at(pool, "generation", 0) == newest) {
			assert_int_equal(json_i64_at(pool, "resourceSliceCount", 0), want);
			slices++;
			devices += (int)json_count(json_getz(json_getz(tree, "spec"), "devices"));
		}
		arena_release(&a);
	}
	*ret_generation = newest;
	*ret_slices = slices;
	return slices == want ? devices : -1;
}

static void assert_there(const struct world *w, int devices, int slices, int64_t generation)
{
	int64_t g;
	int n;

	assert_int_equal(complete_devices(w, &g, &n), devices);
	assert_int_equal(n, slices);
	assert_int_equal(g, generation);
	assert_int_equal(cache_count(&w->there), slices);
}

static void devices_are_published_and_nothing_is_written_twice(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	set_devices(&w, 0, 2);
	settle(&w);
	assert_int_equal(w.writes, 1);
	assert_there(&w, 3, 1, 1);
	settle(&w);
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 0);
	release(&w);
}

static void a_change_of_one_slice_is_made_in_place(void **state UNUSED)
{
	struct world w;

	init(&w, true);
	set_devices(&w, 0, 129);
	settle(&w);
	assert_there(&w, 130, 3, 1);
	device_set_health(&w.table->v[100], DP_UNHEALTHY, NULL, 0);
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 1);
	assert_there(&w, 130, 3, 1);
	device_set_health(&w.table->v[0], DP_UNHEALTHY, NULL, 0);
	device_set_health(&w.table->v[100], DP_HEALTHY, NULL, 0);
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 3);
	assert_there(&w, 130, 3, 2);
	release(&w);
}

static void a_taint_keeps_the_time_at_which_it_was_added(void **state UNUSED)
{
	struct world w;
	struct str before, after;

	init(&w, true);
	set_devices(&w, 0, 1);
	device_set_health(&w.table->v[0], DP_UNHEALTHY, NULL, 0);
	settle(&w);
	before = str_of("\"timeAdded\":\"t1\"", 16);
	device_set_health(&w.table->v[1], DP_UNHEALTHY, NULL, 0);
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 1);
	{
		struct cache_walk walk = { 0 };
		struct cached *o = cache_next(&w.there, &walk);

		after = o->json;
		assert_true(str_find(after, before) > 0);
		assert_true(str_find(after, STR("\"timeAdded\":\"t2\"")) > 0);
		cache_walk_end(&walk);
	}
	release(&w);
}

static void slices_that_nobody_wants_go(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	set_devices(&w, 0, 299);
	settle(&w);
	assert_there(&w, 300, 3, 1);
	set_devices(&w, 0, 9);
	settle(&w);
	assert_int_equal(cache_count(&w.there), 1);
	set_devices(&w, 0, -1);
	settle(&w);
	assert_int_equal(cache_count(&w.there), 0);
	release(&w);
}

static void another_way_to_write_a_quantity_is_no_difference(void **state UNUSED)
{
	static const struct {
		const char *wanted, *there;
		bool equal;
	} rows[] = {
		{ "{\"memory\":{\"value\":\"1Gi\"}}", "{\"memory\":{\"value\":\"1024Mi\"}}", true },
		{ "{\"memory\":{\"value\":\"1Gi\"}}", "{\"memory\":{\"value\":\"1G\"}}", false },
		{ "{\"memory\":{\"value\":\"1Gi\"}}", "{}", false },
		{ "{}", "{\"memory\":{\"value\":\"1Gi\"}}", false },
		{ "{\"memory\":{\"value\":\"1\"}}",
		  "{\"memory\":{\"value\":\"1\",\"requestPolicy\":{}}}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *a, *b;
		struct arena arena;

		arena_init(&arena, SIZE_MAX);
		assert_int_equal(json_parse(&arena,
					    str_from(arena_printf(&arena, "[{\"capacity\":%s}]",
								  rows[i].wanted)),
					    NULL, &a, NULL),
				 0);
		assert_int_equal(json_parse(&arena,
					    str_from(arena_printf(&arena, "[{\"capacity\":%s}]",
								  rows[i].there)),
					    NULL, &b, NULL),
				 0);
		assert_int_equal(slice_equal(a, b), rows[i].equal);
		arena_release(&arena);
	}
}

static void an_older_instance_leaves_the_newer_ones_slices(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	w.plan.instance = STR("new");
	w.plan.started = STR("2026-01-02T00:00:00.000000Z");
	set_devices(&w, 0, 2);
	settle(&w);
	w.plan.instance = STR("old");
	w.plan.started = STR("2026-01-01T00:00:00.000000Z");
	set_devices(&w, 0, 8);
	settle(&w);
	assert_int_equal(w.writes, 0);
	w.plan.instance = STR("newest");
	w.plan.started = STR("2026-01-03T00:00:00.000000Z");
	settle(&w);
	assert_there(&w, 9, 1, 1);
	release(&w);
}

/* At any step a complete generation is a table that was once set. */
static void readers_are_never_misled(void **state UNUSED)
{
	struct prng g;
	struct world w;
	int sizes[2] = { 0, 0 }, size, slices;
	int64_t generation;

	prng_init(&g, 7);
	init(&w, false);
	for (int round = 0; round < 60; round++) {
		size = (int)prng_below(&g, 500);
		set_devices(&w, round * 1000, round * 1000 + size - 1);
		sizes[0] = sizes[1];
		sizes[1] = size;
		for (int n = (int)prng_below(&g, 8); n > 0 && step(&w); n--) {
			int now = complete_devices(&w, &generation, &slices);

			assert_true(now == -1 || now == sizes[0] || now == sizes[1] || slices <= 1);
		}
		settle(&w);
		assert_int_equal(complete_devices(&w, &generation, &slices), size);
	}
	release(&w);
}

/* --- counter sets, pools and nodes -------------------------------------------------------- */

enum { SETS = 10, PARTS = 13 }; /* GPUs, and parts of each */

static void set_inventory(struct world *w, const struct dp_inventory *in)
{
	struct device_defaults defaults = { .pool = STR("n"), .timeout_s = 30 };
	struct error err;

	device_table_free(w->table);
	w->table = NULL;
	if (device_table_from(in, &defaults, &w->table, &err) < 0)
		fail_msg("%s", err.msg);
	slice_plan_reset(&w->plan);
}

/* SETS GPUs of PARTS devices each. */
static void set_parts(struct world *w, const char *memory)
{
	static char names[SETS][16], parts[SETS * PARTS][16];
	struct dp_counter has = { sizeof(has), 0, "memory", memory };
	struct dp_counter part = { sizeof(part), 0, "memory", "1Gi" };
	struct dp_counter_set sets[SETS];
	struct dp_counter_use uses[SETS];
	struct dp_device devices[SETS * PARTS];
	struct dp_inventory in = { .size = sizeof(in),
				   .devices = devices,
				   .ndevices = SETS * PARTS,
				   .sets = sets,
				   .nsets = SETS };

	for (int i = 0; i < SETS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "gpu-%d", i);
		sets[i] = (struct dp_counter_set){ sizeof(sets[i]), 1, NULL, names[i], &has };
		uses[i] = (struct dp_counter_use){ sizeof(uses[i]), 1, names[i], &part };
	}
	for (int i = 0; i < SETS * PARTS; i++) {
		(void)snprintf(parts[i], sizeof(parts[i]), "part-%d", i);
		devices[i] = (struct dp_device){ .size = sizeof(devices[i]),
						 .name = parts[i],
						 .consumes = &uses[i / PARTS],
						 .nconsumes = 1 };
	}
	set_inventory(w, &in);
}

/* The text of the slice with this index. */
static struct str slice_text(const struct cache *c, const char *index)
{
	struct cache_walk walk = { 0 };
	struct str text = STR_NULL;
	struct cached *o;

	while ((o = cache_next(c, &walk)))
		if (str_starts(cached_name(o), str_from(index)))
			text = o->json;
	return text;
}

static bool has(struct str text, const char *words)
{
	return str_find(text, str_from(words)) >= 0;
}

static void counter_sets_get_slices_of_their_own(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	set_parts(&w, "8Gi");
	settle(&w);
	/* 8 and 2 sets, then 64, 64 and 2 devices. */
	assert_there(&w, SETS * PARTS, 5, 1);
	assert_int_equal(w.writes, 5);
	assert_true(has(slice_text(&w.there, "000-"), "gpu-7"));
	assert_false(has(slice_text(&w.there, "000-"), "\"devices\""));
	assert_true(has(slice_text(&w.there, "001-"), "gpu-9"));
	assert_true(has(slice_text(&w.there, "002-"), "part-0"));
	assert_true(has(slice_text(&w.there, "004-"), "part-129"));
	settle(&w);
	assert_int_equal(w.writes, 0);
	set_parts(&w, "8192Mi");
	settle(&w);
	assert_int_equal(w.writes, 0);
	set_parts(&w, "9Gi");
	settle(&w);
	assert_there(&w, SETS * PARTS, 5, 2);
	/* The counters go, and what was in their slices. */
	set_devices(&w, 0, 2);
	settle(&w);
	assert_there(&w, 3, 1, 2);
	assert_false(has(slice_text(&w.there, "000-"), "sharedCounters"));
	release(&w);
}

static void set_fabric(struct world *w, unsigned devices, bool all, bool prepare_only)
{
	static const char *const names[] = { "a", "b" };
	struct dp_pool pool = { .size = sizeof(pool),
				.name = "fabric",
				.all_nodes = all,
				.prepare_only = prepare_only };
	struct dp_device v[2];
	struct dp_inventory in = {
		.size = sizeof(in), .devices = v, .ndevices = devices, .pools = &pool, .npools = 1
	};

	if (!all)
		pool.node_selector = "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
				     "\"rack\",\"operator\":\"In\",\"values\":[\"r1\"]}]}]}";
	for (unsigned i = 0; i < devices; i++)
		v[i] = (struct dp_device){ .size = sizeof(v[i]),
					   .name = names[i],
					   .pool = "fabric" };
	set_inventory(w, &in);
}

static void a_pool_of_several_nodes_has_slices_that_name_no_node(void **state UNUSED)
{
	struct str text;
	struct world w;

	init(&w, false);
	set_fabric(&w, 1, true, false);
	settle(&w);
	assert_int_equal(w.writes, 1);
	text = slice_text(&w.common, "000-");
	assert_true(has(text, "\"allNodes\":true"));
	assert_true(has(text, "\"devplane.dev/publisher\":\"n\""));
	assert_false(has(text, "ownerReferences"));
	set_fabric(&w, 2, false, false);
	settle(&w);
	assert_int_equal(w.writes, 1);
	text = slice_text(&w.common, "000-");
	assert_true(has(text, "\"rack\""));
	assert_false(has(text, "allNodes"));
	/* Gone from the inventory: who published it deletes it. */
	set_devices(&w, 0, 0);
	settle(&w);
	assert_int_equal(cache_count(&w.common), 0);
	assert_int_equal(cache_count(&w.there), 1);
	release(&w);
}

static void pools_of_other_drivers_are_left_alone(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	w.plan.node = STR("m");
	set_fabric(&w, 2, true, false);
	settle(&w);
	assert_int_equal(cache_count(&w.common), 1);
	w.plan.node = STR("n");
	set_devices(&w, 0, 0);
	settle(&w);
	assert_int_equal(cache_count(&w.common), 1);
	set_fabric(&w, 1, true, true);
	settle(&w);
	assert_int_equal(w.writes, 1); /* the node's own slice goes */
	assert_int_equal(cache_count(&w.common), 1);
	/* Both publish the same: nothing to do, and nobody's mark changes. */
	set_fabric(&w, 2, true, false);
	settle(&w);
	assert_int_equal(w.writes, 0);
	assert_true(has(slice_text(&w.common, "000-"), "\"devplane.dev/publisher\":\"m\""));
	release(&w);
}

static void nothing_is_published_for_other_nodes_before_their_slices_are_known(void **state UNUSED)
{
	struct world w;

	init(&w, false);
	w.lonely = true;
	set_fabric(&w, 2, true, false);
	settle(&w);
	assert_int_equal(w.writes, 0);
	w.lonely = false;
	settle(&w);
	assert_int_equal(w.writes, 1);
	release(&w);
}

static void the_nodes_own_pools_come_first(void **state UNUSED)
{
	struct dp_pool pool = { .size = sizeof(pool), .name = "a-fabric", .all_nodes = 1 };
	struct dp_device v[] = { { .size = sizeof(v[0]), .name = "a", .pool = "a-fabric" },
				 { .size = sizeof(v[0]), .name = "b" } };
	struct dp_inventory in = {
		.size = sizeof(in), .devices = v, .ndevices = 2, .pools = &pool, .npools = 1
	};
	struct world w;

	init(&w, false);
	set_inventory(&w, &in);
	assert_true(step(&w));
	assert_int_equal(cache_count(&w.there), 1);
	assert_int_equal(cache_count(&w.common), 0);
	settle(&w);
	assert_int_equal(cache_count(&w.common), 1);
	release(&w);
}

static void devices_that_select_nodes_leave_the_nodes_slices(void **state UNUSED)
{
	struct dp_counter memory = { sizeof(memory), 0, "memory", "8Gi" };
	struct dp_counter_set set = { sizeof(set), 1, NULL, "s", &memory };
	struct dp_counter_use use = { sizeof(use), 1, "s", &memory };
	struct dp_device v[] = {
		{ .size = sizeof(v[0]), .name = "a", .consumes = &use, .nconsumes = 1 },
		{ .size = sizeof(v[0]), .name = "b", .all_nodes = 1 },
	};
	struct dp_inventory in = {
		.size = sizeof(in), .devices = v, .ndevices = 2, .sets = &set, .nsets = 1
	};
	struct world w;

	init(&w, false);
	set_devices(&w, 0, 0);
	settle(&w);
	assert_int_equal(cache_count(&w.there), 1);
	set_inventory(&w, &in);
	settle(&w);
	assert_int_equal(cache_count(&w.there), 0);
	assert_int_equal(cache_count(&w.common), 2);
	assert_true(has(slice_text(&w.common, "000-"), "\"allNodes\":true,"));
	assert_true(has(slice_text(&w.common, "001-"), "\"perDeviceNodeSelection\":true"));
	set_devices(&w, 0, 0);
	settle(&w);
	assert_int_equal(cache_count(&w.there), 1);
	assert_int_equal(cache_count(&w.common), 0);
	release(&w);
}

static void taints_are_published_in_place_and_keep_their_times(void **state UNUSED)
{
	struct dp_taint taint = { sizeof(taint), 0, "example.com/hot", NULL, "NoSchedule", 0 };
	struct device_taints *taints;
	struct world w;

	init(&w, false);
	set_devices(&w, 0, 1);
	settle(&w);
	assert_int_equal(device_taints_new(&taint, 1, &taints, NULL), 0);
	assert_true(device_set_taints(&w.table->v[1], taints));
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 1);
	assert_true(has(slice_text(&w.there, "000-"), "\"timeAdded\":\"t2\""));
	taint.time_added = 1790000000;
	assert_int_equal(device_taints_new(&taint, 1, &taints, NULL), 0);
	assert_true(device_set_taints(&w.table->v[1], taints));
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 1);
	assert_true(has(slice_text(&w.there, "000-"), "2026-09-21T14:13:20Z"));
	assert_int_equal(device_taints_new(NULL, 0, &taints, NULL), 0);
	assert_true(device_set_taints(&w.table->v[1], taints));
	slice_plan_reset(&w.plan);
	settle(&w);
	assert_int_equal(w.writes, 1);
	assert_false(has(slice_text(&w.there, "000-"), "taints"));
	release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_published_and_nothing_is_written_twice),
		cmocka_unit_test(a_change_of_one_slice_is_made_in_place),
		cmocka_unit_test(a_taint_keeps_the_time_at_which_it_was_added),
		cmocka_unit_test(slices_that_nobody_wants_go),
		cmocka_unit_test(another_way_to_write_a_quantity_is_no_difference),
		cmocka_unit_test(an_older_instance_leaves_the_newer_ones_slices),
		cmocka_unit_test(readers_are_never_misled),
		cmocka_unit_test(counter_sets_get_slices_of_their_own),
		cmocka_unit_test(a_pool_of_several_nodes_has_slices_that_name_no_node),
		cmocka_unit_test(pools_of_other_drivers_are_left_alone),
		cmocka_unit_test(
			nothing_is_published_for_other_nodes_before_their_slices_are_known),
		cmocka_unit_test(the_nodes_own_pools_come_first),
		cmocka_unit_test(devices_that_select_nodes_leave_the_nodes_slices),
		cmocka_unit_test(taints_are_published_in_place_and_keep_their_times),
	};

	return cmocka_run_group_tests_name("drivers/slice_plan", tests, NULL, NULL);
}
