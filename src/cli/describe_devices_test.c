/*
 * Devices as `devplane describe` prints them. Each golden/NAME.yaml says what there is and what is
 * shown of it; golden/NAME.txt is what comes out, byte by byte (UPDATE_GOLDEN=1 writes it).
 *
 *	show      list of {slice: NAME}, {node: NAME} or {pool: NAME}
 *	sight     "all", or namespaces whose claims may be named; absent: none
 *	hidden    the gate is off
 *	compute   what has no status is computed, from `claims`
 *	slices, statuses (ResourceSliceStatus), claims, classes: objects
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "cli/claim_sight.h"
#include "cli/describe_devices.h"
#include "cli/device_groups.h"

struct golden {
	const char *name;
	struct arena arena;
	struct buf source, got;
	struct json *tree;
	struct device_view view;
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
	const struct json *slices;

	if (file_read(path_of(g, "yaml"), &g->source, &err) < 0 ||
	    yaml_parse(&g->arena, buf_str(&g->source), NULL, &g->tree, &err) < 0)
		fail_msg("%s: %s", g->name, err.msg);
	slices = json_getz(g->tree, "slices");
	device_view_make(&g->arena, slices, &g->view);
	device_view_mark_older(&g->arena, &g->view, slices);
	device_view_adopt(&g->view, json_getz(g->tree, "statuses"));
	if (json_true_at(g->tree, "compute"))
		device_view_compute(&g->arena, &g->view, slices, json_getz(g->tree, "claims"), 0);
	g->hidden = json_true_at(g->tree, "hidden");
	if (g->hidden)
		device_view_hide(&g->view);
	g->view.note = json_text_at(g->tree, "note");
	g->sight = sight_of(g);
}

/* --- what is shown --------------------------------------------------------------------------- */

static void show_slice(struct golden *g, struct describe *d, struct str name)
{
	for (size_t i = 0; i < g->view.n; i++) {
		const struct device_view_slice *s = &g->view.slices[i];

		d->metadata = json_getz(s->object, "metadata");
		if (!str_eq(json_text_at(d->metadata, "name"), name))
			continue;
		describe_slice_text(d, s, g->view.note, json_getz(g->tree, "classes"));
		return;
	}
	fail_msg("%s has no slice %.*s", g->name, STR_ARG(name));
}

static void show_pools(struct golden *g, struct describe *d, struct str name)
{
	struct device_pool *pools;
	size_t n = device_pools_make(&g->arena, &g->view, &pools), shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (!device_pools_is_called(&pools[i], name))
			continue;
		describe_pool_text(d, &pools[i], g->view.note, json_getz(g->tree, "classes"));
		shown++;
	}
	assert_true(shown > 0);
}

static void show(struct golden *g, const struct json *what)
{
	struct describe d = {
		.arena = &g->arena, .sight = g->sight, .hidden = g->hidden, .text = BUF_INIT(MIB)
	};

	if (str_eqz(json_key(what), "slice"))
		show_slice(g, &d, json_str(what));
	else if (str_eqz(json_key(what), "pool"))
		show_pools(g, &d, json_str(what));
	else
		describe_node_devices(&d, &g->view, json_str(what), json_getz(g->tree, "classes"));
	(void)buf_printf(&g->got, "=== %.*s\n", STR_ARG(json_key(what)));
	describe_finish(&d, false, &g->got);
	buf_release(&d.text);
}

/* --- what holds of all output ---------------------------------------------------------------- */

/* Where the value of a line "name:  value" begins; 0 for any other line. */
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

/* A case is named as its files are. */
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
		cmocka_unit_test(a_pool_is_called_by_its_name_or_with_its_driver),
		cmocka_unit_test(a_name_of_the_drivers_own_domain_is_the_bare_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
