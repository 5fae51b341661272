/*
 * Devices as `devplane describe` prints them, and how explanations name claims. Each
 * golden/NAME.yaml has the objects and what to show; golden/NAME.txt is the exact output
 * (UPDATE_GOLDEN=1 writes it).
 *
 *   show      list of {slice: NAME}, {node: NAME} or {pool: NAME}
 *   sight     "all", or namespaces whose claims may be named; absent: none
 *   hidden    the gate is off
 *   compute   compute missing statuses, from `claims`, `rules`, `pods` and `nodes`
 *   slices, statuses (ResourceSliceStatus), claims, classes, rules (DeviceTaintRule),
 *   pods and nodes: objects
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/groups.h"
#include "cli/fit/report.h"
#include "cli/output/output.h"
#include "dra/allocate/explain.h"

struct golden {
	const char *name;
	struct arena arena;
	struct buf source, got;
	struct json *tree;
	struct device_view view;
	struct device_pool *pools;
	size_t npools;
	const struct json *classes, *rules;
	struct claim_sight *sight;
	bool hidden;
};

static const char *path_of(struct golden *g, const char *suffix)
{
	return arena_printf(&g->arena, "%s/%s.%s", CLI_GOLDEN, g->name, suffix);
}

static struct claim_sight *sight_of(struct golden *g)
{
	const struct json *v = json_getz(g->tree, "sight");
	struct str *names = ARENA_ARRAY(&g->arena, struct str, json_count(v) + 1);
	size_t n = 0;

	JSON_FOREACH (it, v)
		names[n++] = json_str(it);
	return claim_sight_known(&g->arena, str_eqz(json_str(v), "all"), names, n);
}

static void load(struct golden *g)
{
	struct error err = { 0 };
	const struct json *slices, *pods;

	if (file_read(path_of(g, "yaml"), &g->source, &err) < 0 ||
	    yaml_parse(&g->arena, buf_str(&g->source), NULL, &g->tree, &err) < 0)
		fail_msg("%s: %s", g->name, err.msg);
	slices = json_getz(g->tree, "slices");
	device_view_make(&g->arena, slices, &g->view);
	device_view_mark_older(&g->arena, &g->view, slices);
	device_view_adopt(&g->view, json_getz(g->tree, "statuses"));
	pods = json_getz(g->tree, "pods");
	if (json_true_at(g->tree, "compute"))
		device_view_compute(&g->arena, &g->view,
				    &(struct device_view_inputs){
					    .slices = slices,
					    .claims = json_getz(g->tree, "claims"),
					    .rules = json_getz(g->tree, "rules"),
					    .pods = pods ? pods : json_make_array(&g->arena),
					    .nodes = json_getz(g->tree, "nodes") },
				    0);
	g->hidden = json_true_at(g->tree, "hidden");
	if (g->hidden)
		device_view_hide(&g->view);
	g->npools = device_pools_make(&g->arena, &g->view, &g->pools);
	g->view.note = json_text_at(g->tree, "note");
	g->classes = json_getz(g->tree, "classes");
	g->rules = json_getz(g->tree, "rules");
	g->sight = sight_of(g);
}

/* --- output ---------------------------------------------------------------------------------- */

static void show_slice(struct golden *g, struct describe *d, struct str name)
{
	for (size_t i = 0; i < g->view.n; i++) {
		const struct device_view_slice *s = &g->view.slices[i];

		if (!str_eq(s->name, name))
			continue;
		d->metadata = json_getz(s->object, "metadata");
		describe_slice_text(d, s, g->view.note, g->classes);
		return;
	}
	fail_msg("%s has no slice %.*s", g->name, STR_ARG(name));
}

static void show_pools(struct golden *g, struct describe *d, struct str name)
{
	size_t shown = 0;

	for (size_t i = 0; i < g->npools; i++) {
		if (!device_pools_is_called(&g->pools[i], name))
			continue;
		describe_pool_text(d, &g->pools[i], g->view.note, g->classes);
		shown++;
	}
	assert_true(shown > 0);
}

static void show(struct golden *g, const struct json *what)
{
	struct describe d = { .arena = &g->arena,
			      .sight = g->sight,
			      .hidden = g->hidden,
			      .classes = &g->classes,
			      .rules = &g->rules,
			      .text = BUF_INIT(MIB) };

	if (str_eqz(json_key(what), "slice"))
		show_slice(g, &d, json_str(what));
	else if (str_eqz(json_key(what), "pool"))
		show_pools(g, &d, json_str(what));
	else
		describe_node_devices(&d, g->pools, g->npools, json_str(what), g->view.note);
	(void)buf_printf(&g->got, "=== %.*s\n", STR_ARG(json_key(what)));
	describe_finish(&d, false, &g->got);
	buf_release(&d.text);
}

/* --- rules for all output -------------------------------------------------------------------- */

/* The position of the value in a line "name: value"; 0 for any other line. */
static size_t value_column(struct str line)
{
	ptrdiff_t at = str_find(line, STR(": "));
	size_t i = (size_t)at + 1;

	if (at < 0 || str_chr(line, '(') == 0 || str_find(line, STR("  (")) == 0)
		return 0;
	while (i < line.n && line.p[i] == ' ')
		i++;
	return i < line.n ? i : 0;
}

static void check_lines(const struct golden *g)
{
	struct str rest = buf_str(&g->got), line;
	size_t before = 0;

	for (size_t i = 0; i < rest.n; i++) {
		unsigned char c = (unsigned char)rest.p[i];
		unsigned char next = i + 1 < rest.n ? (unsigned char)rest.p[i + 1] : 0;

		if ((c < ' ' && c != '\n') || c == 0x7f || (c == 0xc2 && next < 0xa0))
			fail_msg("%s: control character %02x at byte %zu", g->name, c, i);
	}
	while (rest.n > 0 && str_split(&rest, '\n', &line)) {
		size_t at = value_column(line);

		if (at > 0 && before > 0 && at != before)
			fail_msg("%s: values are not below each other: %.*s", g->name,
				 STR_ARG(line));
		before = at;
	}
}

static void compare_lines(const struct golden *g, struct str want, struct str got)
{
	struct str a = STR_NULL, b = STR_NULL;

	for (size_t n = 1; want.p || got.p; n++) {
		bool more = str_split(&want, '\n', &a), have = str_split(&got, '\n', &b);

		if (more != have || !str_eq(a, b))
			fail_msg("%s.txt:%zu: want \"%.*s\", got \"%.*s\"", g->name, n, STR_ARG(a),
				 STR_ARG(b));
	}
}

static void compare(struct golden *g)
{
	CLEANUP(buf_release) struct buf want = BUF_INIT(4 * MIB);
	const char *path = path_of(g, "txt");
	struct error err = { 0 };
	FILE *f;

	if (getenv("UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(g->got.p, 1, g->got.n, f), g->got.n);
		assert_int_equal(fclose(f), 0);
		return;
	}
	if (file_read(path, &want, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	compare_lines(g, buf_str(&want), buf_str(&g->got));
}

static void run_golden(void **state)
{
	struct golden g = { .name = *state, .source = BUF_INIT(4 * MIB), .got = BUF_INIT(4 * MIB) };

	arena_init(&g.arena, 64 * MIB);
	load(&g);
	JSON_FOREACH (it, json_getz(g.tree, "show"))
		show(&g, json_first(it));
	assert_true(g.got.n > 0);
	check_lines(&g);
	compare(&g);
	arena_release(&g.arena);
	buf_release(&g.source);
	buf_release(&g.got);
}

/* --- parts ----------------------------------------------------------------------------------- */

static void a_pool_is_called_by_its_name_or_with_its_driver(void **state UNUSED)
{
	struct device_pool plain = { .driver = STR("d"), .name = STR("a") };
	struct device_pool slashed = { .driver = STR("d"), .name = STR("d/a") };

	assert_true(device_pools_is_called(&plain, STR("a")));
	assert_true(device_pools_is_called(&plain, STR("d/a")));
	assert_false(device_pools_is_called(&plain, STR("e/a")));
	assert_true(device_pools_is_called(&slashed, STR("d/a")));
	assert_true(device_pools_is_called(&slashed, STR("d/d/a")));
	assert_false(device_pools_is_called(&slashed, STR("a")));
}

static void a_name_of_the_drivers_own_domain_is_the_bare_one(void **state UNUSED)
{
	struct arena a;
	struct json *device = NULL;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a,
				    STR("{\"attributes\":{\"p\":{\"int\":1},\"d.com/q\":{\"int\":2}"
					"}}"),
				    NULL, &device, NULL),
			 0);
	assert_non_null(device_groups_attribute(device, STR("d.com"), STR("p")));
	assert_non_null(device_groups_attribute(device, STR("d.com"), STR("d.com/p")));
	assert_non_null(device_groups_attribute(device, STR("d.com"), STR("q")));
	assert_null(device_groups_attribute(device, STR("e.com"), STR("d.com/p")));
	assert_null(device_groups_attribute(device, STR("e.com"), STR("q")));
	arena_release(&a);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *tree = NULL;

	assert_int_equal(json_parse(a, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

static void assert_clean(const char *text, const char *keep, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

	output_clean_text(&out, str_from(text), keep);
	(void)buf_addc(&out, 0);
	assert_string_equal(out.p, want);
}

static void text_of_others_does_nothing_to_a_terminal(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(KIB);

	assert_clean("a\033[2Jb\x7f\x01", "", "a^[[2Jb  ");
	assert_clean("\xc2\x9b"
		     "2J \xc2\x80\xc2\x9f",
		     "", " 2J   ");
	assert_clean("\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80", "", "\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80");
	/* Invalid UTF-8: a C1 character as a byte, a truncated character, a surrogate. */
	assert_clean("\x9b"
		     "2J",
		     "",
		     "\xef\xbf\xbd"
		     "2J");
	assert_clean("\xe2\x82", "", "\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("a\tb\nc\r", "\t\n", "a\tb\nc ");
	assert_clean("a\tb\nc", "\n", "a b\nc");
	output_clean(&line, STR("one\tline\nand another"));
	assert_true(str_eqz(buf_str(&line), "one line..."));
	buf_clear(&line);
	output_clean(&line, STR("a\0b"));
	assert_true(str_eqz(buf_str(&line), "a b"));
}

static void values_do_not_colour_a_description(void **state UNUSED)
{
	struct arena a;
	struct buf out = BUF_INIT(KIB);
	struct describe d = { .arena = &a, .text = BUF_INIT(KIB) };

	arena_init(&a, MIB);
	describe_line(&d, 0, "%s",
		      "x\x01y\x04\xc2\x9b"
		      "31m");
	describe_line(&d, 0, "%.*s", STR_ARG(describe_health(&d, STR("Unhealthy"))));
	describe_finish(&d, true, &out);
	assert_true(str_eqz(buf_str(&out), "x y  31m\n\033[31mUnhealthy\033[0m\n"));
	buf_clear(&out);
	describe_finish(&d, false, &out);
	assert_true(str_eqz(buf_str(&out), "x y  31m\nUnhealthy\n"));
	buf_release(&out);
	buf_release(&d.text);
	arena_release(&a);
}

static void allocations_that_a_status_leaves_out_are_counted(void **state UNUSED)
{
	struct arena a;
	struct describe d = { .arena = &a };
	struct json *device, *list;

	arena_init(&a, MIB);
	d.sight = claim_sight_known(&a, true, NULL, 0);
	device = parse(&a, "{\"state\":\"Allocated\"}");
	list = json_need_array(&a, device, "allocations");
	json_append(list, parse(&a, "{\"claimNamespace\":\"n\",\"claimName\":\"z\","
				    "\"claimUID\":\"z\"}"));
	assert_true(str_eqz(describe_holders(&d, device), "n/z"));
	json_put_i64(&a, device, "omittedAllocations", 12);
	assert_true(str_eqz(describe_holders(&d, device), "n/z, 12 more allocations"));
	assert_true(str_eqz(describe_state(&d, device), "Allocated"));
	d.sight = NULL;
	assert_true(
		str_eqz(describe_state(&d, device), "Allocated (1 claim, 12 more allocations)"));
	(void)json_remove(device, STR("allocations"));
	assert_true(str_eqz(describe_state(&d, device), "Allocated (12 allocations)"));
	arena_release(&a);
}

static void a_generation_that_was_seen_makes_others_older(void **state UNUSED)
{
	struct arena a;
	struct device_newest *n;
	const char *const first = "{\"driver\":\"d\",\"pool\":{\"name\":\"p\",\"generation\":1}}";
	const char *const next = "{\"driver\":\"d\",\"pool\":{\"name\":\"p\",\"generation\":2}}";
	const char *const other = "{\"driver\":\"e\",\"pool\":{\"name\":\"p\",\"generation\":1}}";

	arena_init(&a, MIB);
	n = device_newest_new(&a);
	assert_true(device_newest_put(n, parse(&a, first)));
	assert_true(device_newest_put(n, parse(&a, next)));
	assert_false(device_newest_put(n, parse(&a, first)));
	assert_true(device_newest_put(n, parse(&a, next)));
	assert_true(device_newest_put(n, parse(&a, other)));
	arena_release(&a);
}

static void a_slice_says_how_many_devices_it_has(void **state UNUSED)
{
	struct arena a;
	struct device_view v;
	struct device_counts c;

	arena_init(&a, MIB);
	device_view_make(&a,
			 parse(&a,
			       "[{\"metadata\":{\"generation\":2},\"spec\":{\"devices\":[{\"name\":"
			       "\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]},"
			       "\"status\":{\"observedGeneration\":1,\"devices\":[{\"name\":\"b\","
			       "\"state\":\"Available\",\"health\":\"Unhealthy\"},{\"name\":\"z\","
			       "\"state\":\"Available\"}]}}]"),
			 &v);
	c = device_view_count(&v.slices[0]);
	assert_true(v.slices[0].stale);
	assert_int_equal(c.devices, 3);
	assert_int_equal(c.by_state[DEVICE_AVAILABLE], 1);
	assert_int_equal(c.by_state[DEVICE_FACT_UNKNOWN], 2);
	assert_int_equal(c.unhealthy, 1);
	assert_int_equal(c.free_unhealthy, 1);
	arena_release(&a);
}

/* --- explanations ---------------------------------------------------------------------------- */

static bool is_mine(void *arg UNUSED, struct str ns)
{
	return str_eqz(ns, "mine");
}

/* The explanation for one node, for a user who may read claims of "mine" alone. */
static void explain(struct inventory *inv, struct arena *a, const char *selector, size_t nodes,
		    struct buf *out)
{
	static const struct explain_sight sight = { .may = is_mine };
	const struct json *claim = parse(
		a, arena_printf(a,
				"{\"metadata\":{\"namespace\":\"mine\",\"name\":\"c\"},\"spec\":{"
				"\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
				"\"deviceClassName\":\"gpu\",\"allocationMode\":\"ExactCount\","
				"\"count\":2%s}}]}}}",
				selector));
	struct fit_node node[] = { { .name = STR("n") }, { .name = STR("m") } };
	struct fit_query q = { .inventory = inv,
			       .claims = &claim,
			       .nclaims = 1,
			       .nodes = node,
			       .nnodes = nodes,
			       .sight = &sight };
	struct fit_report r;

	fit_report_make(&q, a, &r);
	fit_report_print(&r, 0, out);
	(void)buf_addc(out, 0);
}

/* Their groups are behind a gate that is off by default; readers see them nevertheless. */
static void put_gpus(struct inventory *inv, struct arena *a, const char *node)
{
	const char *text = arena_printf(
		a,
		"{\"metadata\":{\"name\":\"s-%s\",\"uid\":\"%s\"},\"spec\":{\"driver\":\"d\","
		"\"nodeName\":\"%s\",\"pool\":{\"name\":\"%s\",\"generation\":1,"
		"\"resourceSliceCount\":1},\"devices\":[{\"name\":\"%s0\"},{\"name\":\"%s1\","
		"\"compatibilityGroups\":[\"g\"]}]}}",
		node, node, node, node, node, node);

	assert_int_equal(inventory_put_slice(inv, parse(a, text), NULL), 0);
}

static void put_holder(struct inventory *inv, struct arena *a, const char *ns, const char *device)
{
	const char *text = arena_printf(
		a,
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"c-%s\",\"uid\":\"%s\"},"
		"\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
		"\"driver\":\"d\",\"pool\":\"n\",\"device\":\"%s\"}]}}}}",
		ns, ns, ns, device);

	assert_int_equal(inventory_put_claim(inv, parse(a, text), NULL), 0);
}

static struct inventory *make_inventory(struct arena *a)
{
	struct inventory *inv = inventory_new(inventory_everything);

	assert_int_equal(
		inventory_put_class(inv, parse(a, "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{}}"),
				    NULL),
		0);
	put_gpus(inv, a, "n");
	return inv;
}

static void an_explanation_names_only_claims_that_may_be_read(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct arena a;
	struct inventory *inv;

	arena_init(&a, 16 * MIB);
	inv = make_inventory(&a);
	put_holder(inv, &a, "mine", "n0");
	put_holder(inv, &a, "secret", "n1");
	explain(inv, &a, "", 1, &out);
	assert_non_null(strstr(out.p, "n0 (claim mine/c-mine), n1 (1 claim)"));
	assert_null(strstr(out.p, "secret"));
	buf_clear(&out);
	/* A pool is invalid because a claim holds a device that does not exist. */
	put_holder(inv, &a, "secret", "ghost");
	explain(inv, &a, "", 1, &out);
	assert_null(strstr(out.p, "secret"));
	inventory_free(inv);
	arena_release(&a);
}

static void a_selector_that_fails_everywhere_is_told_once(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const char *selector = ",\"selectors\":[{\"cel\":{\"expression\":"
			       "\"device.attributes['d'].nope == 1\"}}]";
	struct arena a;
	struct inventory *inv;

	arena_init(&a, 16 * MIB);
	inv = make_inventory(&a);
	put_gpus(inv, &a, "m");
	explain(inv, &a, selector, 2, &out);
	assert_string_equal(out.p,
			    "\nnodes n, m:\n"
			    "  request \"r\" wants 2 devices of class gpu, 0 fit\n"
			    "    2 devices: selector fails: device.attributes['d'].nope == 1\n");
	inventory_free(inv);
	arena_release(&a);
}

/* A case has the name of its files. */
#define GOLDEN(word)                                                             \
	{                                                                        \
		.name = "devices are described: " word, .test_func = run_golden, \
		.initial_state = (void *)(word)                                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GOLDEN("single"),
		GOLDEN("consumable"),
		GOLDEN("partitionable"),
		GOLDEN("partitionable_class"),
		GOLDEN("network"),
		GOLDEN("invalid"),
		GOLDEN("empty"),
		GOLDEN("stale"),
		GOLDEN("no_status"),
		GOLDEN("computed"),
		GOLDEN("object"),
		GOLDEN("hidden"),
		GOLDEN("elided"),
		GOLDEN("escape"),
		GOLDEN("partly"),
		GOLDEN("taint_rules"),
		cmocka_unit_test(a_pool_is_called_by_its_name_or_with_its_driver),
		cmocka_unit_test(a_name_of_the_drivers_own_domain_is_the_bare_one),
		cmocka_unit_test(text_of_others_does_nothing_to_a_terminal),
		cmocka_unit_test(values_do_not_colour_a_description),
		cmocka_unit_test(allocations_that_a_status_leaves_out_are_counted),
		cmocka_unit_test(a_generation_that_was_seen_makes_others_older),
		cmocka_unit_test(a_slice_says_how_many_devices_it_has),
		cmocka_unit_test(an_explanation_names_only_claims_that_may_be_read),
		cmocka_unit_test(a_selector_that_fails_everywhere_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
