/*
 * Creations and deletions, as tables.
 *
 * Each word is a node. Its first letter says how it fits: R: a pod should run, S: one may stay,
 * U: unfit, G: there is no such node. Then follow its pods, oldest first: c is current, o is old.
 * After each comes its state: + available, - not ready, x failed, s succeeded, d being deleted,
 * w not bound.
 */
#include "controller/daemon_set/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/yaml/yaml.h"
#include "controller/daemon_set/backoff.h"

struct plan_bench {
	struct arena arena;
	struct daemon_spec spec;
	struct daemon_backoff backoff;
	struct daemon_plan plan;
};

static void bench_init(struct plan_bench *b, const char *rolling)
{
	struct json *spec = NULL;
	struct error err;

	*b = (struct plan_bench){ 0 };
	arena_init(&b->arena, 64 * MIB);
	daemon_backoff_init(&b->backoff);
	if (yaml_parse(&b->arena,
		       str_from(arena_printf(&b->arena,
					     "updateStrategy: {type: RollingUpdate, "
					     "rollingUpdate: {%s}}",
					     rolling)),
		       NULL, &spec, &err) < 0)
		fail_msg("%s", err.msg);
	daemon_spec_read(spec, &b->spec);
}

static void bench_release(struct plan_bench *b)
{
	daemon_backoff_release(&b->backoff);
	arena_release(&b->arena);
}

static struct daemon_pod *make_pod(struct arena *a, struct str node, char kind, char state,
				   size_t at)
{
	struct daemon_pod *p = ARENA_NEW(a, struct daemon_pod);

	p->name = str_from(arena_printf(a, "%.*s%c%zu", STR_ARG(node), kind, at));
	p->uid = p->name;
	p->node = node;
	p->revision = kind == 'c' ? STR("now") : STR("then");
	p->created_ns = (int64_t)at + 1;
	p->bound = state != 'w';
	p->ready = state == '+';
	p->ready_ns = p->ready;
	p->failed = state == 'x';
	p->succeeded = state == 's';
	p->deleting = state == 'd';
	return p;
}

static void make_place(struct arena *a, struct str word, size_t at, struct daemon_place *place)
{
	char fit = word.p[0];

	*place = (struct daemon_place){ .node = str_from(arena_printf(a, "%zu", at)),
					.exists = fit != 'G' };
	place->fit = fit == 'R' ? DAEMON_RUNS : fit == 'S' ? DAEMON_STAYS : DAEMON_UNFIT;
	place->pods = ARENA_ARRAY(a, const struct daemon_pod *, word.n);
	for (size_t i = 1; i + 1 < word.n; i += 2, place->n++)
		place->pods[place->n] = make_pod(a, place->node, word.p[i], word.p[i + 1],
						 place->n);
	daemon_pods_sort(place->pods, place->n);
}

static void set_places(struct plan_bench *b, const char *words)
{
	struct daemon_place *places = ARENA_ARRAY(&b->arena, struct daemon_place,
						  strlen(words) + 1);
	struct str rest = str_from(arena_strdup(&b->arena, str_from(words))), word;
	size_t n = 0;

	while (str_split(&rest, ' ', &word)) {
		make_place(&b->arena, word, n + 1, &places[n]);
		n++;
	}
	b->plan = (struct daemon_plan){ .arena = &b->arena,
					.spec = &b->spec,
					.revision = STR("now"),
					.now_ns = 1000000000000,
					.places = places,
					.nplaces = n };
}

/* "+1 -2o0": creates a pod on node 1, deletes that pod. */
static const char *decided(struct plan_bench *b)
{
	struct buf out = BUF_INIT(MIB);
	const char *text;

	for (size_t i = 0; i < b->plan.ncreations; i++)
		(void)buf_printf(&out, "%s+%.*s", out.n ? " " : "",
				 STR_ARG(b->plan.creations[i]->node));
	for (size_t i = 0; i < b->plan.ndeletions; i++)
		(void)buf_printf(&out, "%s-%.*s", out.n ? " " : "",
				 STR_ARG(b->plan.deletions[i].pod->name));
	text = arena_strdup(&b->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

struct plan_case {
	const char *rolling, *places, *expected;
};

static void try_cases(const struct plan_case *cases, size_t n, bool roll)
{
	for (size_t i = 0; i < n; i++) {
		struct plan_bench b;

		bench_init(&b, cases[i].rolling);
		set_places(&b, cases[i].places);
		if (roll)
			daemon_plan_roll(&b.plan);
		else
			daemon_plan_manage(&b.plan, &b.backoff, 0);
		if (strcmp(decided(&b), cases[i].expected) != 0)
			fail_msg("case %zu, \"%s\": \"%s\" and not \"%s\"", i, cases[i].places,
				 decided(&b), cases[i].expected);
		bench_release(&b);
	}
}

#define PLACE(n) "maxUnavailable: " n ", maxSurge: 0"
#define SURGE(n) "maxUnavailable: 0, maxSurge: " n

static void nodes_get_their_pod(void **state UNUSED)
{
	static const struct plan_case cases[] = {
		{ PLACE("1"), "R R R", "+1 +2 +3" },
		{ PLACE("1"), "Rc+ Ro- S U", "" },
		{ PLACE("1"), "Sc+ Uc+ Uc-o+", "-2c0 -3c0 -3o1" },
		{ PLACE("1"), "Ucd Rcd", "" },
		/* Ended ones. */
		{ PLACE("1"), "Rcx Scx", "-1c0 -2c0" },
		{ PLACE("1"), "Rcs", "-1c0" },
		{ PLACE("1"), "Rcxc+", "-1c0" },
		/* Too many: the oldest that is bound stays. */
		{ PLACE("1"), "Rc+c+o+", "-1c1 -1o2" },
		{ PLACE("1"), "Rcwc-", "-1c0" },
		{ PLACE("1"), "Scdc+", "" },
		/* A node that is gone: unbound pods are ours, others the garbage collector's. */
		{ PLACE("1"), "Gc+ Gcw", "-2c0" },
		/* Surge: an old and a new one, while the new one is not available. */
		{ SURGE("1"), "R Rcd", "+1 +2" },
		{ SURGE("1"), "Ro+c- Ro-c- Ro+c+", "-2o0 -3o0" },
		{ SURGE("1"), "Ro+o+c-c-", "-1o1 -1c3" },
		{ SURGE("1"), "Scd", "" },
		{ SURGE("1"), "Rcx", "+1 -1c0" },
	};

	try_cases(cases, ARRAY_SIZE(cases), false);
}

static void old_pods_are_replaced_in_place(void **state UNUSED)
{
	static const struct plan_case cases[] = {
		{ PLACE("1"), "Ro+ Ro+ Ro+", "-1o0" },
		{ PLACE("2"), "Ro+ Ro+ Ro+", "-1o0 -2o0" },
		{ PLACE("'50%'"), "Ro+ Ro+ Ro+", "-1o0 -2o0" },
		{ PLACE("'1%'"), "Ro+ Ro+ Ro+", "-1o0" },
		{ PLACE("1"), "Rc+ Ro+ Ro+", "-2o0" },
		{ PLACE("1"), "Rc- Ro+ Ro+", "" },
		{ PLACE("2"), "Rc- Ro+ Ro+", "-2o0" },
		{ PLACE("1"), "R Ro+ Ro+", "" },
		{ PLACE("1"), "Rcd Ro+ Ro+", "" },
		/* Unavailable old ones go at any rate. */
		{ PLACE("1"), "Ro- Ro- Ro+", "-1o0 -2o0" },
		{ PLACE("1"), "Rc- Ro- Ro+", "-2o0" },
		/* Nodes that managing has to clean up first. */
		{ PLACE("1"), "Ro+o+ Ro+", "" },
		{ PLACE("1"), "Ro+c+ Ro+", "" },
		{ PLACE("1"), "Rc+ Rc+ U S", "" },
		/* Both limits zero, nonsense. */
		{ PLACE("0"), "Ro+ Ro+", "-1o0" },
		{ PLACE("-5"), "Ro+ Ro+", "-1o0" },
		{ PLACE("many"), "Ro+ Ro+", "-1o0" },
		{ PLACE("'-7%'"), "Ro+ Ro+", "-1o0" },
		{ PLACE("9999999999"), "Ro+ Ro+", "-1o0 -2o0" },
		{ PLACE("'9999%'"), "Ro+ Ro+", "-1o0 -2o0" },
	};

	try_cases(cases, ARRAY_SIZE(cases), true);
}

static void new_pods_surge_beside_old_ones(void **state UNUSED)
{
	static const struct plan_case cases[] = {
		{ SURGE("1"), "Ro+ Ro+ Ro+", "+1" },
		{ SURGE("2"), "Ro+ Ro+ Ro+", "+1 +2" },
		{ SURGE("'34%'"), "Ro+ Ro+ Ro+", "+1 +2" },
		{ SURGE("1"), "Ro+c- Ro+", "" },
		{ SURGE("2"), "Ro+c- Ro+", "+2" },
		{ SURGE("1"), "Ro+c+ Ro+", "+2 -1o0" },
		/* Beside unavailable ones at any rate. */
		{ SURGE("1"), "Ro- Ro- Ro+", "+1 +2 +3" },
		{ SURGE("1"), "Rc- Rc+ R", "" },
		/* On nodes that are not wanted any more. */
		{ SURGE("1"), "So+ Rc+", "-1o0" },
		{ SURGE("1"), "So+ Rc-", "" },
		{ SURGE("1"), "So- Rc-", "-1o0" },
		{ SURGE("1"), "Ro+o+ Ro+", "" },
	};

	try_cases(cases, ARRAY_SIZE(cases), true);
}

static void on_delete_replaces_nothing(void **state UNUSED)
{
	struct plan_bench b;

	bench_init(&b, PLACE("1"));
	b.spec.rolling = false;
	set_places(&b, "Ro+ Ro-");
	daemon_plan_roll(&b.plan);
	assert_string_equal(decided(&b), "");
	bench_release(&b);
}

static void failed_pods_wait_for_their_back_off(void **state UNUSED)
{
	struct plan_bench b;

	bench_init(&b, PLACE("1"));
	set_places(&b, "Rcx");
	daemon_plan_manage(&b.plan, &b.backoff, 100);
	assert_string_equal(decided(&b), "-1c0");
	assert_int_equal(b.plan.deletions[0].reason, DAEMON_FAILED);
	daemon_plan_manage(&b.plan, &b.backoff, 600);
	assert_string_equal(decided(&b), "");
	assert_int_equal(b.plan.wait_ms, 500);
	daemon_plan_manage(&b.plan, &b.backoff, 1100);
	assert_string_equal(decided(&b), "-1c0");
	bench_release(&b);
}

static void the_status_counts(void **state UNUSED)
{
	struct daemon_status s;
	struct plan_bench b;

	bench_init(&b, PLACE("1"));
	set_places(&b, "Rc+ Ro+ Rc- R Sc+ Uo+ Gc+ Rcd");
	daemon_plan_status(&b.plan, &s);
	assert_int_equal(s.desired, 5);
	assert_int_equal(s.current, 4);
	assert_int_equal(s.ready, 2);
	assert_int_equal(s.available, 2);
	assert_int_equal(s.unavailable, 3);
	assert_int_equal(s.updated, 3);
	assert_int_equal(s.misscheduled, 2);
	assert_int_equal(s.wait_ns, 0);
	b.spec.min_ready_s = 1001; /* the pods are ready since 1 ns, and it is 1000 s later */
	daemon_plan_status(&b.plan, &s);
	assert_int_equal(s.ready, 2);
	assert_int_equal(s.available, 0);
	assert_int_equal(s.wait_ns, 1000000001);
	bench_release(&b);
}

/* --- whole updates --------------------------------------------------------------------------- */

/* A world in which kubelets answer at random; the pods of node i are kinds[i], states[i]. */
enum { NODES = 7, MOST = 3 };

struct random_world {
	char kinds[NODES][MOST], states[NODES][MOST];
	size_t n[NODES];
};

static const char *random_words(struct plan_bench *b, const struct random_world *w)
{
	struct buf out = BUF_INIT(MIB);
	const char *text;

	for (size_t i = 0; i < NODES; i++) {
		(void)buf_addz(&out, i ? " R" : "R");
		for (size_t k = 0; k < w->n[i]; k++)
			(void)buf_printf(&out, "%c%c", w->kinds[i][k], w->states[i][k]);
	}
	text = arena_strdup(&b->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

static void random_add(struct random_world *w, size_t node)
{
	assert_true(w->n[node] < MOST);
	w->kinds[node][w->n[node]] = 'c';
	w->states[node][w->n[node]++] = '-';
}

static void random_remove(struct random_world *w, size_t node, size_t at)
{
	for (w->n[node]--; at < w->n[node]; at++) {
		w->kinds[node][at] = w->kinds[node][at + 1];
		w->states[node][at] = w->states[node][at + 1];
	}
}

static size_t node_of(struct str name)
{
	return (size_t)(name.p[0] - '1');
}

static void random_apply(struct plan_bench *b, struct random_world *w)
{
	for (size_t i = 0; i < b->plan.ndeletions; i++) {
		struct str name = b->plan.deletions[i].pod->name;

		w->states[node_of(name)][name.p[2] - '0'] = 'd';
	}
	for (size_t i = 0; i < b->plan.ncreations; i++)
		random_add(w, node_of(b->plan.creations[i]->node));
}

static void random_kubelets(struct random_world *w, struct prng *prng)
{
	for (size_t i = 0; i < NODES; i++) {
		for (size_t k = w->n[i]; k-- > 0;) {
			if (prng_below(prng, 3))
				continue;
			if (w->states[i][k] == 'd')
				random_remove(w, i, k);
			else
				w->states[i][k] = '+';
		}
	}
}

static void check_limits(const struct random_world *w, bool surge)
{
	size_t served = 0, pods = 0;

	for (size_t i = 0; i < NODES; i++) {
		size_t live = 0, ready = 0;

		for (size_t k = 0; k < w->n[i]; k++) {
			live += w->states[i][k] != 'd';
			ready += w->states[i][k] == '+';
		}
		assert_in_range(live, 0, surge ? 2 : 1);
		served += ready > 0;
		pods += live;
	}
	assert_in_range(served, surge ? NODES : NODES - 2, NODES);
	assert_in_range(pods, 0, NODES + 2);
}

static void one_update(const char *rolling, bool surge, uint64_t seed)
{
	struct random_world w = { 0 };
	struct prng prng;

	prng_init(&prng, seed);
	for (size_t i = 0; i < NODES; i++) {
		w.kinds[i][0] = 'o';
		w.states[i][0] = '+';
		w.n[i] = 1;
	}
	for (unsigned turn = 0; turn < 300; turn++) {
		struct plan_bench b;

		bench_init(&b, rolling);
		set_places(&b, random_words(&b, &w));
		daemon_plan_manage(&b.plan, &b.backoff, 0);
		random_apply(&b, &w);
		if (b.plan.ncreations + b.plan.ndeletions == 0) {
			daemon_plan_roll(&b.plan);
			random_apply(&b, &w);
		}
		check_limits(&w, surge);
		random_kubelets(&w, &prng);
		bench_release(&b);
	}
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(w.n[i], 1);
		assert_int_equal(w.kinds[i][0], 'c');
		assert_int_equal(w.states[i][0], '+');
	}
}

static void updates_end_and_keep_their_limits(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		one_update(PLACE("2"), false, seed);
		one_update(SURGE("2"), true, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_get_their_pod),
		cmocka_unit_test(old_pods_are_replaced_in_place),
		cmocka_unit_test(new_pods_surge_beside_old_ones),
		cmocka_unit_test(on_delete_replaces_nothing),
		cmocka_unit_test(failed_pods_wait_for_their_back_off),
		cmocka_unit_test(the_status_counts),
		cmocka_unit_test(updates_end_and_keep_their_limits),
	};

	return cmocka_run_group_tests_name("controller/daemon_plan", tests, NULL, NULL);
}
