/*
 * The live table, changes of devices, and why claims do not fit: the output for given devices.
 * golden/top_NAME.txt is the exact output (UPDATE_GOLDEN=1 writes it).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/system/file.h"
#include "cli/devices/claim_sight.h"
#include "cli/fit/pod.h"
#include "cli/fit/report.h"
#include "cli/live/browse.h"
#include "cli/live/watch_print.h"
#include "cli/output/terminal.h"
#include "dra/dra_limits.h"

struct fixture {
	struct arena arena;
	struct top_model model;
	struct buf out;
	struct top_view view;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	arena_init(&x->arena, SIZE_MAX);
	top_model_init(&x->model);
	buf_init(&x->out, 16 * MIB);
	x->view = (struct top_view){ .width = 100,
				     .height = 12,
				     .wall_ns = 1700000000000000000,
				     .source = STR("from slices and claims of https://s") };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	top_model_release(&x->model);
	buf_release(&x->out);
	arena_release(&x->arena);
	free(x);
	return 0;
}

static struct json *parse(struct fixture *x, const char *text)
{
	struct json *v = NULL;
	struct error err = { 0 };

	if (json_parse(&x->arena, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return v;
}

/* --- models ---------------------------------------------------------------------------------- */

static struct str pods(void *arg UNUSED, struct str ns UNUSED, struct str claim, struct arena *a)
{
	return str_from(arena_printf(a, "%.*s-pod", STR_ARG(claim)));
}

static struct top_slice *slice_as(struct fixture *x, const char *name, const char *spec,
				  const char *status, const struct top_facts *facts)
{
	return top_slice_new(str_from(name), parse(x, spec), status ? parse(x, status) : NULL,
			     facts);
}

static struct top_slice *slice(struct fixture *x, const char *name, const char *spec,
			       const char *status)
{
	struct top_facts facts = { .pods = pods, .health_known = true };

	return slice_as(x, name, spec, status, &facts);
}

static void put_as(struct fixture *x, const char *name, const char *spec, const char *status,
		   const struct top_facts *facts)
{
	top_slice_free(
		top_model_put(&x->model, str_from(name), slice_as(x, name, spec, status, facts)));
}

static void put(struct fixture *x, const char *name, const char *spec, const char *status)
{
	struct top_facts facts = { .pods = pods, .health_known = true };

	put_as(x, name, spec, status, &facts);
}

#define SPEC(pool, node, devices)                                                \
	"{\"driver\":\"gpu.example.com\",\"pool\":{\"name\":\"" pool "\"}," node \
	",\"devices\":[" devices "]}"
#define NAME(n) "{\"name\":\"" n "\"}"
#define FREE(n) "{\"name\":\"" n "\",\"state\":\"Available\"}"
#define SICK(n)                                                                 \
	"{\"name\":\"" n "\",\"state\":\"Available\",\"health\":\"Unhealthy\"," \
	"\"healthMessage\":\"Xid 79\"}"
#define HELD(n, ns, c) \
	"{\"name\":\"" n "\",\"state\":\"Allocated\",\"allocations\":[" BY(ns, c) "]}"
#define BY(ns, c) "{\"claimNamespace\":\"" ns "\",\"claimName\":\"" c "\"}"
#define HOT(n)                                                                     \
	"{\"name\":\"" n "\",\"taints\":[{\"key\":\"x.com/hot\",\"value\":\"90\"," \
	"\"effect\":\"NoExecute\"}]}"

#define WELL                                                                           \
	"\"poolStatus\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}," \
	"{\"type\":\"Valid\",\"status\":\"True\"}]}"
#define HALF                                                                           \
	"\"poolStatus\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"False\"," \
	"\"message\":\"1 of 2\"},{\"type\":\"Valid\",\"status\":\"True\"}]}"

/* A pool of a node, one of the network with shares, a broken one, one without a status. */
static void fill(struct fixture *x)
{
	put(x, "s1", SPEC("n1", "\"nodeName\":\"n1\"", NAME("gpu-0") "," HOT("gpu-1")),
	    "{\"devices\":[" SICK("gpu-0") "," HELD("gpu-1", "team-a", "train") "]," WELL "}");
	put(x, "s2", SPEC("net", "\"allNodes\":true", NAME("vf-0") "," NAME("vf-1")),
	    "{\"devices\":[{\"name\":\"vf-0\",\"state\":\"PartiallyAllocated\",\"allocations\":"
	    "[" BY("team-a", "train") "," BY("team-b", "x") "," BY(
		    "team-b", "x") "]},"
				   "{\"name\":\"vf-1\",\"state\":\"Unavailable\",\"stateReason\":"
				   "\"CountersExhausted\"}]," WELL "}");
	put(x, "s3", SPEC("n2", "\"nodeName\":\"n2\"", NAME("gpu-0")),
	    "{\"devices\":[" HELD("gpu-0", "team-b", "y") "]," HALF "}");
	put(x, "s4", SPEC("old", "\"nodeName\":\"n3\"", NAME("gpu-0") "," NAME("gpu-1")), NULL);
}

static bool only_team_a(void *arg UNUSED, struct str ns)
{
	return str_eqz(ns, "team-a");
}

/* --- golden files ---------------------------------------------------------------------------- */

static void assert_golden(struct fixture *x, const char *name)
{
	CLEANUP(buf_release) struct buf want = BUF_INIT(16 * MIB);
	const char *path = arena_printf(&x->arena, "%s/top_%s.txt", CLI_GOLDEN, name);
	struct error err = { 0 };
	FILE *f;

	if (getenv("UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(x->out.p, 1, x->out.n, f), x->out.n);
		assert_int_equal(fclose(f), 0);
	}
	if (file_read(path, &want, &err) < 0)
		fail_msg("%s", err.msg);
	(void)buf_addc(&x->out, '\0');
	(void)buf_addc(&want, '\0');
	assert_string_equal(x->out.p, want.p);
}

static void draw(struct fixture *x)
{
	buf_clear(&x->out);
	top_draw(&x->model, &x->view, &x->out);
}

static void pools_are_one_line_each(void **state)
{
	struct fixture *x = *state;

	fill(x);
	draw(x);
	assert_golden(x, "pools");
}

static void devices_come_below_their_pools(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.devices = true;
	x->view.height = x->view.width = 0;
	draw(x);
	assert_golden(x, "devices");
}

static void a_screen_shows_a_part(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.devices = true;
	x->view.width = 60;
	x->view.height = 8;
	x->view.scroll = 1000;
	draw(x);
	assert_int_equal(x->view.scroll, 11 - 4); /* 4 pools, 7 devices, 4 lines of room */
	assert_golden(x, "scrolled");
}

static void a_filter_leaves_devices_that_match(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.devices = x->view.unhealthy = x->view.editing = true;
	x->view.sort = TOP_BY_UNHEALTHY;
	for (const char *keys = "nonsense\x15xit\bD"; *keys; keys++)
		top_edit_filter(&x->view, *keys);
	draw(x);
	assert_golden(x, "filtered");
	top_edit_filter(&x->view, '\n');
	assert_false(x->view.editing);
}

static void claims_that_may_not_be_known_are_counted(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.devices = true;
	x->view.may = only_team_a;
	x->view.height = 0;
	draw(x);
	assert_golden(x, "elided");
	(void)buf_addc(&x->out, '\0');
	assert_null(strstr(x->out.p, "team-b"));
}

static void a_terminal_gets_colours(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.colour = true;
	x->view.sort = TOP_BY_ALLOCATED;
	x->view.message = STR("cannot reach https://s");
	draw(x);
	assert_golden(x, "colour");
}

static void nothing_is_shown_as_nothing(void **state)
{
	struct fixture *x = *state;

	x->view.loading = true;
	x->view.height = 6;
	draw(x);
	assert_golden(x, "empty");
}

static void every_size_is_kept_to(void **state)
{
	struct fixture *x = *state;

	fill(x);
	x->view.devices = true;
	for (size_t height = 1; height < 24; height++)
		for (size_t width = 1; width < 130; width += 7) {
			size_t lines = 0, widest = 0;
			struct str rest, line;

			x->view.height = height;
			x->view.width = width;
			x->view.scroll = height / 2;
			draw(x);
			rest = buf_str(&x->out);
			for (; str_split(&rest, '\n', &line); lines++)
				widest = MAX(widest, str_characters(line));
			assert_true(widest <= width);
			assert_int_equal(lines - 1, height); /* the text ends with a newline */
		}
}

static void a_tree_has_the_same(void **state)
{
	struct fixture *x = *state;
	struct json *tree, *pool;

	fill(x);
	x->view.may = only_team_a;
	tree = top_tree(&x->model, &x->view, &x->arena);
	assert_int_equal(json_i64_at(json_getz(tree, "totals"), "unhealthy", -1), 1);
	assert_int_equal(json_count(json_getz(tree, "pools")), 4);
	pool = json_pointer(tree, STR("/pools/2"));
	assert_true(str_eqz(json_text_at(pool, "pool"), "net"));
	assert_int_equal(json_i64_at(pool, "partial", -1), 1);
	assert_int_equal(json_i64_at(json_pointer(pool, STR("/deviceList/0")), "hiddenHolders", -1),
			 1);
	assert_true(
		str_eqz(json_text_at(json_pointer(pool, STR("/deviceList/0/holders/0")), "pods"),
			"train-pod"));
}

/* --- unknown facts --------------------------------------------------------------------------- */

/* As published: half of a pool, and without all reports on devices. */
static void put_half(struct fixture *x, struct top_facts facts)
{
	put_as(x, "s1", SPEC("p", "\"allNodes\":true", NAME("a") "," HOT("b")),
	       "{\"devices\":[" FREE("a") "," SICK("b") "]," WELL "}", &facts);
	facts.stale = false;
	put_as(x, "s2", SPEC("p", "\"allNodes\":true", NAME("c")), NULL, &facts);
	put_as(x, "s3", SPEC("q", "\"allNodes\":true", NAME("d")), NULL, &facts);
}

static void top_shows_unreported_facts_as_unknown(void **state)
{
	struct fixture *x = *state;
	struct json *tree, *p, *q;

	put_half(x, (struct top_facts){ 0 });
	x->view.devices = true;
	x->view.height = 0;
	draw(x);
	assert_golden(x, "unknown");
	tree = top_tree(&x->model, &x->view, &x->arena);
	p = json_pointer(tree, STR("/pools/0"));
	q = json_pointer(tree, STR("/pools/1"));
	assert_true(json_true_at(p, "complete"));
	assert_null(json_getz(q, "complete"));
	assert_null(json_getz(q, "valid"));
	assert_int_equal(json_i64_at(p, "unhealthy", -1), 1);
	assert_int_equal(json_i64_at(p, "healthUnknown", -1), 2);
	assert_null(json_getz(json_pointer(p, STR("/deviceList/0")), "health"));
	assert_true(str_eqz(json_text_at(json_pointer(p, STR("/deviceList/1")), "health"),
			    "Unhealthy"));
}

static void a_status_of_before_is_marked(void **state)
{
	struct fixture *x = *state;
	struct json *tree;

	put_half(x, (struct top_facts){ .stale = true });
	draw(x);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, " p (stale) "));
	assert_non_null(strstr(x->out.p, " q (?) "));
	tree = top_tree(&x->model, &x->view, &x->arena);
	assert_true(json_true_at(json_pointer(tree, STR("/pools/0")), "stale"));
	assert_null(json_getz(json_pointer(tree, STR("/pools/1")), "stale"));
}

/* A slice of another node counts for the pool's conditions; its devices do not count. */
static void a_pool_is_incomplete_on_each_node(void **state)
{
	struct fixture *x = *state;
	struct top_facts facts = { .elsewhere = true };
	struct json *pools;

	put(x, "s2", SPEC("p", "\"nodeName\":\"n2\"", NAME("b")), "{\"devices\":[" FREE("b") "]}");
	put_as(x, "s1", SPEC("p", "\"nodeName\":\"n1\"", NAME("a")),
	       "{\"devices\":[" FREE("a") "]," HALF "}", &facts);
	put_as(x, "s3", SPEC("q", "\"nodeName\":\"n1\"", NAME("a")),
	       "{\"devices\":[" FREE("a") "]," HALF "}", &facts);
	pools = json_getz(top_tree(&x->model, &x->view, &x->arena), "pools");
	assert_int_equal(json_count(pools), 1);
	assert_true(str_eqz(json_text_at(json_first(pools), "node"), "n2"));
	assert_int_equal(json_i64_at(json_first(pools), "devices", -1), 1);
	assert_non_null(json_getz(json_first(pools), "complete"));
	assert_false(json_true_at(json_first(pools), "complete"));
}

static void lines_end_where_wide_characters_pass_the_edge(void **state)
{
	struct fixture *x = *state;

	/* Four ASCII characters, two of two columns, one that combines. */
	x->view.message = STR("down\xe6\x97\xa5\xe6\x9c\xac e\xcc\x81!");
	x->view.width = 21 + 7;
	draw(x);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, "Z down\xe6\x97\xa5\n"));
	x->view.width = 21 + 10;
	draw(x);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, "Z down\xe6\x97\xa5\xe6\x9c\xac e\xcc\x81\n"));
}

/* --- claims ---------------------------------------------------------------------------------- */

/* A status with the maximum number of allocations. */
static const char *many(struct fixture *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	(void)buf_addz(&out, "{\"devices\":[{\"name\":\"gpu-0\",\"state\":\"PartiallyAllocated\","
			     "\"allocations\":[");
	for (int i = 0; i < AVAILABILITY_ALLOCATIONS_MAX; i++)
		(void)buf_printf(&out, "%s{\"claimNamespace\":\"team-b\",\"claimName\":\"c%d\"}",
				 i ? "," : "", i);
	(void)buf_addz(&out, "],\"omittedAllocations\":9}]}");
	return arena_strdup(&x->arena, buf_str(&out));
}

static void allocations_that_a_status_leaves_out_are_counted(void **state)
{
	struct fixture *x = *state;
	struct json *tree;

	put(x, "s", SPEC("n1", "\"nodeName\":\"n1\"", NAME("gpu-0")), many(x));
	x->view.width = 0;
	draw(x);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, "team-b/c31 (+9 allocations)\n"));
	x->view.may = only_team_a;
	draw(x);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, " 32 claims (+9 allocations)\n"));
	tree = top_tree(&x->model, &x->view, &x->arena);
	assert_int_equal(json_i64_at(json_pointer(tree, STR("/pools/0/deviceList/0")),
				     "omittedAllocations", -1),
			 9);
}

struct rights {
	bool all, one, away;
	int asked;
};

static int ask(void *arg, struct str ns, bool *ret_may)
{
	struct rights *r = arg;

	r->asked++;
	if (r->away)
		return -ERR_UNAVAILABLE;
	*ret_may = ns.n ? r->one : r->all;
	return 0;
}

static void answers_about_rights_do_not_hold_for_good(void **state)
{
	struct fixture *x = *state;
	struct clock_manual clock;
	struct rights r = { .away = true };
	struct claim_sight *s;

	clock_manual_init(&clock, CLOCK_SEC, 0);
	s = claim_sight_asking(&x->arena, &clock.clock, ask, &r);
	/* A failed review is not a denial, and is not repeated for each claim. */
	assert_false(claim_sight_may(s, STR("a")));
	assert_false(claim_sight_may(s, STR("b")));
	assert_int_equal(r.asked, 1);
	r = (struct rights){ .one = true };
	clock.monotonic_ns += 6 * CLOCK_SEC;
	assert_true(claim_sight_may(s, STR("a")));
	assert_true(claim_sight_may(s, STR("a")));
	assert_int_equal(r.asked, 2); /* for all, and for this one */
	r.one = false;
	assert_true(claim_sight_may(s, STR("a")));
	clock.monotonic_ns += 61 * CLOCK_SEC;
	assert_false(claim_sight_may(s, STR("a")));
	r.all = true;
	clock.monotonic_ns += 61 * CLOCK_SEC;
	assert_true(claim_sight_may(s, STR("a")));
	assert_true(claim_sight_may(s, STR("b")));
	assert_int_equal(r.asked, 5);
}

/* --- changes --------------------------------------------------------------------------------- */

static void note(void *arg, const struct top_change *c)
{
	struct fixture *x = arg;

	watch_print_line(c, &x->view, &x->out);
}

/* Fails unless exactly these lines are reported, without the time. */
static void expect(struct fixture *x, struct top_slice *old, struct top_slice *now,
		   const char *lines)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(MIB);
	struct str rest, line;

	buf_clear(&x->out);
	top_changes(&old, old != NULL, &now, now != NULL, note, x);
	rest = buf_str(&x->out);
	while (str_split(&rest, '\n', &line))
		if (line.n)
			(void)buf_printf(&got, "%.*s\n", STR_ARG(str_skip(line, 22)));
	(void)buf_addc(&got, '\0');
	assert_string_equal(got.p, lines);
	top_slice_free(old);
	top_slice_free(now);
}

#define ONE SPEC("n1", "\"nodeName\":\"n1\"", NAME("gpu-0"))

static void changes_of_states_are_told(void **state)
{
	struct fixture *x = *state;
	const char *is_free = "{\"devices\":[" FREE("gpu-0") "]}";
	const char *is_held = "{\"devices\":[" HELD("gpu-0", "team-a", "c") "]}";
	const char *is_others = "{\"devices\":[" HELD("gpu-0", "team-b", "d") "]}";

	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", ONE, is_free), "");
	expect(x, NULL, slice(x, "s", ONE, is_free),
	       "gpu.example.com/n1/gpu-0  (new) -> Available\n");
	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", ONE, is_held),
	       "gpu.example.com/n1/gpu-0  Available -> Allocated  team-a/c\n");
	expect(x, slice(x, "s", ONE, is_held), slice(x, "s", ONE, is_others),
	       "gpu.example.com/n1/gpu-0  Allocated -> Allocated  team-b/d\n");
	expect(x, slice(x, "s", ONE, is_held), slice(x, "s", ONE, is_free),
	       "gpu.example.com/n1/gpu-0  Allocated -> Available  team-a/c\n");
	expect(x, slice(x, "s", ONE, is_held), NULL,
	       "gpu.example.com/n1/gpu-0  Allocated -> (gone)  team-a/c\n");
	/* A device that moves to another slice is the same device. */
	expect(x, slice(x, "s", ONE, is_held), slice(x, "t", ONE, is_held), "");
	x->view.may = only_team_a;
	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", ONE, is_others),
	       "gpu.example.com/n1/gpu-0  Available -> Allocated  1 claim\n");
}

static void changes_of_health_and_pools_are_told(void **state)
{
	struct fixture *x = *state;
	const char *hot = SPEC("n1", "\"nodeName\":\"n1\"", HOT("gpu-0"));
	const char *is_free = "{\"devices\":[" FREE("gpu-0") "]}";
	const char *is_sick = "{\"devices\":[" SICK("gpu-0") "]}";
	const char *is_kept = "{\"devices\":[{\"name\":\"gpu-0\",\"state\":\"Unavailable\","
			      "\"stateReason\":\"Tainted: x.com/hot\"}]}";
	const char *whole = "{\"devices\":[" FREE("gpu-0") "]," WELL "}";
	const char *half = "{\"devices\":[" FREE("gpu-0") "]," HALF "}";
	const char *broken = "{\"devices\":[" FREE(
		"gpu-0") "],\"poolStatus\":{\"conditions\":["
			 "{\"type\":\"Complete\",\"status\":\"True\"},"
			 "{\"type\":\"Valid\",\"status\":\"False\",\"message\":\"twice\\u001b\"}]}"
			 "}";

	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", ONE, is_sick),
	       "gpu.example.com/n1/gpu-0  NotReported -> Unhealthy  Xid 79\n");
	expect(x, slice(x, "s", ONE, is_sick), slice(x, "s", ONE, is_free),
	       "gpu.example.com/n1/gpu-0  Unhealthy -> NotReported\n");
	/* A taint has its own line. It does not change the health. */
	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", hot, is_free),
	       "gpu.example.com/n1/gpu-0  not tainted -> tainted  x.com/hot=90:NoExecute\n");
	expect(x, slice(x, "s", hot, is_free), slice(x, "s", ONE, is_free),
	       "gpu.example.com/n1/gpu-0  tainted -> not tainted  x.com/hot=90:NoExecute\n");
	expect(x, slice(x, "s", ONE, is_free), slice(x, "s", hot, is_kept),
	       "gpu.example.com/n1/gpu-0  Available -> Unavailable  Tainted: x.com/hot\n");
	expect(x, slice(x, "s", ONE, whole), slice(x, "s", ONE, half),
	       "gpu.example.com/n1  complete -> incomplete  1 of 2\n");
	expect(x, slice(x, "s", ONE, half), slice(x, "s", ONE, broken),
	       "gpu.example.com/n1  incomplete -> invalid  twice^[\n");
	expect(x, slice(x, "s", ONE, broken), slice(x, "s", ONE, whole),
	       "gpu.example.com/n1  invalid -> complete\n");
}

static void pools_that_are_invalid_for_a_claim_do_not_name_it_to_all(void **state)
{
	struct fixture *x = *state;
	const char *whole = "{\"devices\":[" FREE("gpu-0") "]," WELL "}";
	const char *ghost = "{\"devices\":[" FREE(
		"gpu-0") "],\"poolStatus\":{\"conditions\":["
			 "{\"type\":\"Valid\",\"status\":\"False\",\"message\":"
			 "\"ResourceClaim team-b/ghost references non-existent device 'y'\"}]}}";
	struct top_change c = { .kind = TOP_POOL,
				.driver = STR("d"),
				.pool = STR("p"),
				.to = STR("invalid"),
				.reason = STR("ResourceClaim team-b/ghost references it") };

	expect(x, slice(x, "s", ONE, whole), slice(x, "s", ONE, ghost),
	       "gpu.example.com/n1  complete -> invalid  ResourceClaim team-b/ghost references "
	       "non-existent device 'y'\n");
	x->view.may = only_team_a;
	expect(x, slice(x, "s", ONE, whole), slice(x, "s", ONE, ghost),
	       "gpu.example.com/n1  complete -> invalid  a ResourceClaim references "
	       "non-existent device 'y'\n");
	buf_clear(&x->out);
	watch_print_json(&c, &x->view, &x->out);
	(void)buf_addc(&x->out, '\0');
	assert_non_null(strstr(x->out.p, "\"reason\":\"a ResourceClaim references it\""));
}

static void changes_can_be_read_by_programs(void **state)
{
	struct fixture *x = *state;
	struct top_holder holders[] = { { STR("team-a"), STR("c"), STR_NULL },
					{ STR("team-b"), STR("d"), STR_NULL } };
	struct top_change c = { .kind = TOP_STATE,
				.driver = STR("d"),
				.pool = STR("p"),
				.device = STR("g"),
				.from = STR("Available"),
				.to = STR("Allocated"),
				.holders = holders,
				.nholders = 2,
				.omitted = 3 };

	x->view.may = only_team_a;
	watch_print_json(&c, &x->view, &x->out);
	(void)buf_addc(&x->out, '\0');
	assert_string_equal(x->out.p,
			    "{\"time\":\"2023-11-14T22:13:20.000000Z\",\"change\":\"state\","
			    "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"g\","
			    "\"from\":\"Available\",\"to\":\"Allocated\","
			    "\"claims\":[{\"namespace\":\"team-a\",\"name\":\"c\"}],"
			    "\"hiddenClaims\":1,\"omittedAllocations\":3}\n");
}

/* --- keys ------------------------------------------------------------------------------------ */

static void keys_are_understood(void **state UNUSED)
{
	static const struct {
		const char *bytes;
		int key;
		size_t used;
	} v[] = {
		{ "", 0, 0 },
		{ "q", 'q', 1 },
		{ "qj", 'q', 1 },
		{ "\003", TERMINAL_INTERRUPT, 1 },
		{ "\032", TERMINAL_SUSPEND, 1 },
		{ "\033[A", TERMINAL_UP, 3 },
		{ "\033OBx", TERMINAL_DOWN, 3 },
		{ "\033[5~", TERMINAL_PAGE_UP, 4 },
		{ "\033[6~", TERMINAL_PAGE_DOWN, 4 },
		{ "\033[", 0, 0 }, /* incomplete */
		{ "\033", 0, 0 },
		{ "\033[1;5C", 0, 6 }, /* an unknown key */
		{ "\033q", 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		size_t used = 99;

		assert_int_equal(terminal_key_parse(str_from(v[i].bytes), &used), v[i].key);
		assert_int_equal(used, v[i].used);
	}
}

/* --- fits ------------------------------------------------------------------------------------ */

/* This number of nodes with two devices each; those of odd nodes are held, the last has none. */
static struct inventory *make_cluster(struct fixture *x, size_t nodes, struct fit_node *out)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct error err = { 0 };
	const char *text;

	text = "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{}}";
	assert_int_equal(inventory_put_class(inv, parse(x, text), &err), 0);
	for (size_t i = 0; i < nodes; i++) {
		const char *name = arena_printf(&x->arena, "n%04zu", i);

		out[i] = (struct fit_node){ .name = str_from(name) };
		if (i + 1 == nodes)
			break;
		text = arena_printf(
			&x->arena,
			"{\"metadata\":{\"name\":\"s-%s\",\"uid\":\"%s\"},\"spec\":{"
			"\"driver\":\"d\",\"nodeName\":\"%s\",\"pool\":{\"name\":\"%s\","
			"\"generation\":1,\"resourceSliceCount\":1},\"devices\":["
			"{\"name\":\"g0\"},{\"name\":\"g1\"}]}}",
			name, name, name, name);
		assert_int_equal(inventory_put_slice(inv, parse(x, text), &err), 0);
		if (i % 2 == 0)
			continue;
		text = arena_printf(&x->arena,
				    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"c%zu\","
				    "\"uid\":\"u%zu\"},\"status\":{\"allocation\":{\"devices\":{"
				    "\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":"
				    "\"%s\",\"device\":\"g0\"}]}}}}",
				    i, i, name);
		assert_int_equal(inventory_put_claim(inv, parse(x, text), &err), 0);
	}
	return inv;
}

static void nodes_with_the_same_reasons_are_told_together(void **state)
{
	enum { NODES = 5001 };
	struct fixture *x = *state;
	struct fit_node *nodes = ARENA_ARRAY(&x->arena, struct fit_node, NODES);
	struct inventory *inv = make_cluster(x, NODES, nodes);
	const struct json *claim = parse(
		x, "{\"metadata\":{\"namespace\":\"a\",\"name\":\"want\"},\"spec\":{\"devices\":{"
		   "\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\","
		   "\"allocationMode\":\"ExactCount\",\"count\":2}}]}}}");
	struct fit_query q = {
		.inventory = inv, .claims = &claim, .nclaims = 1, .nodes = nodes, .nnodes = NODES
	};
	struct fit_report r;

	nodes[0].away = nodes[2].away = STR("the node is unschedulable");
	fit_report_make(&q, &x->arena, &r);
	assert_int_equal(r.nodes, NODES);
	assert_int_equal(r.fitting, 2498);
	assert_int_equal(r.n, 4);
	fit_report_print(&r, 3, &x->out);
	inventory_free(inv);
	assert_golden(x, "fit");
}

static void details_tell_nodes_apart(void **state)
{
	enum { NODES = 4 };
	struct fixture *x = *state;
	struct fit_node nodes[NODES];
	struct inventory *inv = make_cluster(x, NODES, nodes);
	const struct json *claim = parse(
		x, "{\"metadata\":{\"namespace\":\"a\",\"name\":\"want\"},\"spec\":{\"devices\":{"
		   "\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\","
		   "\"allocationMode\":\"ExactCount\",\"count\":3}}]}}}");
	struct fit_query q = { .inventory = inv,
			       .claims = &claim,
			       .nclaims = 1,
			       .nodes = nodes,
			       .nnodes = NODES,
			       .detailed = true };
	struct fit_report r;
	struct json *tree;

	fit_report_make(&q, &x->arena, &r);
	assert_int_equal(r.fitting, 0);
	fit_report_print(&r, 0, &x->out);
	tree = fit_report_tree(&r, &x->arena);
	assert_true(str_eqz(json_str(json_pointer(tree, STR("/0/nodes/1"))), "n0002"));
	inventory_free(inv);
	assert_golden(x, "fit_detailed");
}

static void reasons_that_keep_a_pod_from_a_node_are_listed(void **state)
{
	static const char *const want[] = {
		"",
		"the node is unschedulable",
		("the node does not match the pod's node selector or affinity; the pod does not "
		 "tolerate the node's taint k=v:NoSchedule"),
		"claim c is allocated for other nodes",
	};
	struct fixture *x = *state;
	struct json *pod = parse(x,
				 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
				 "\"p\",\"namespace\":\"a\"},\"spec\":{\"nodeSelector\":{\"d\":"
				 "\"s\"},\"containers\":[]}}");
	struct json *nodes = parse(
		x, "[{\"metadata\":{\"name\":\"n0\",\"labels\":{\"d\":\"s\"}}},"
		   "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"d\":\"s\"}},"
		   "\"spec\":{\"unschedulable\":true}},"
		   "{\"metadata\":{\"name\":\"n2\"},\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":"
		   "\"v\",\"effect\":\"NoSchedule\"}]}},"
		   "{\"metadata\":{\"name\":\"n9\",\"labels\":{\"d\":\"s\"}}}]");
	const struct json *claim = parse(
		x, "{\"metadata\":{\"name\":\"c\"},\"status\":{\"allocation\":{\"nodeSelector\":{"
		   "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
		   "\"operator\":\"In\",\"values\":[\"n0\",\"n1\",\"n2\"]}]}]}}}}");
	struct fit_node out[4];

	fit_pod_nodes(pod, &claim, 1, nodes, out, &x->arena);
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		assert_string_equal(arena_strdup(&x->arena, out[i].away), want[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pools_are_one_line_each),
		TEST(devices_come_below_their_pools),
		TEST(a_screen_shows_a_part),
		TEST(a_filter_leaves_devices_that_match),
		TEST(claims_that_may_not_be_known_are_counted),
		TEST(a_terminal_gets_colours),
		TEST(nothing_is_shown_as_nothing),
		TEST(every_size_is_kept_to),
		TEST(a_tree_has_the_same),
		TEST(top_shows_unreported_facts_as_unknown),
		TEST(a_status_of_before_is_marked),
		TEST(a_pool_is_incomplete_on_each_node),
		TEST(lines_end_where_wide_characters_pass_the_edge),
		TEST(allocations_that_a_status_leaves_out_are_counted),
		TEST(answers_about_rights_do_not_hold_for_good),
		TEST(pools_that_are_invalid_for_a_claim_do_not_name_it_to_all),
		TEST(changes_of_states_are_told),
		TEST(changes_of_health_and_pools_are_told),
		TEST(changes_can_be_read_by_programs),
		TEST(keys_are_understood),
		TEST(nodes_with_the_same_reasons_are_told_together),
		TEST(details_tell_nodes_apart),
		TEST(reasons_that_keep_a_pod_from_a_node_are_listed),
	};

	return cmocka_run_group_tests_name("cli/top", tests, NULL, NULL);
}
