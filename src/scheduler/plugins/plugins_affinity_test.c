/*
 * InterPodAffinity: required and preferred terms of both sides, namespaces, what-ifs and hints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/run/scheduler_fixture.h"

static const char affinity[] = "InterPodAffinity";

static int set_up(void **state)
{
	struct scheduler_fixture *f = test_calloc(1, sizeof(*f));

	scheduler_fixture_init(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	scheduler_fixture_release(*state);
	test_free(*state);
	return 0;
}

#define NO_AFFINITY "UnschedulableAndUnresolvable[node(s) didn't match pod affinity rules]"
#define NO_ANTI     "Unschedulable[node(s) didn't match pod anti-affinity rules]"
#define EXISTING    "Unschedulable[node(s) didn't satisfy existing pods anti-affinity rules]"

#define TERM(app, key, more) \
	"{'topologyKey':'" key "','labelSelector':{'matchLabels':{'app':'" app "'}}" more "}"
#define WEIGHED(weight, term) "{'weight':" weight ",'podAffinityTerm':" term "}"
#define HARD(kind, terms) \
	"'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[" terms "]}"
#define SOFT(kind, terms) \
	"'" kind "':{'preferredDuringSchedulingIgnoredDuringExecution':[" terms "]}"
#define POD(name, app, terms) \
	"{'name':'" name "','labels':{'app':'" app "'},'affinity':{" terms "}}"

/* Zones of a, b and of c; d has none. A web pod on a, a db pod on c. */
static void three_zones(struct scheduler_fixture *f)
{
	scheduler_fixture_node(f, "{'name':'a','labels':{'zone':'1','host':'a'}}");
	scheduler_fixture_node(f, "{'name':'b','labels':{'zone':'1','host':'b'}}");
	scheduler_fixture_node(f, "{'name':'c','labels':{'zone':'2','host':'c'}}");
	scheduler_fixture_node(f, "{'name':'d','labels':{'host':'d'}}");
	scheduler_fixture_pod(f, "{'name':'w','nodeName':'a','labels':{'app':'web'}}");
	scheduler_fixture_pod(f, "{'name':'db','nodeName':'c','labels':{'app':'db'}}");
}

static void required_terms_of_the_pod_are_kept(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p','labels':{'app':'web'}}", "skip" },
		{ POD("p", "x", HARD("podAffinity", TERM("web", "zone", ""))),
		  "a b c:" NO_AFFINITY " d:" NO_AFFINITY },
		{ POD("p", "x", HARD("podAffinity", TERM("web", "host", ""))),
		  "a b:" NO_AFFINITY " c:" NO_AFFINITY " d:" NO_AFFINITY },
		{ POD("p", "x", HARD("podAntiAffinity", TERM("web", "zone", ""))),
		  "a:" NO_ANTI " b:" NO_ANTI " c d" },
		{ POD("p", "x",
		      HARD("podAntiAffinity", TERM("web", "host", "") "," TERM("db", "zone", ""))),
		  "a:" NO_ANTI " b c:" NO_ANTI " d" },
		/* One pod must match all terms: none is web and db. */
		{ POD("p", "x",
		      HARD("podAffinity", TERM("web", "zone", "") "," TERM("db", "zone", ""))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c:" NO_AFFINITY " d:" NO_AFFINITY },
		{ POD("p", "x",
		      HARD("podAffinity", TERM("web", "zone", "")) "," HARD(
			      "podAntiAffinity", TERM("web", "host", ""))),
		  "a:" NO_ANTI " b c:" NO_AFFINITY " d:" NO_AFFINITY },
		/* Nobody is there yet: the first of its kind may begin, where the key is known. */
		{ POD("p", "new", HARD("podAffinity", TERM("new", "zone", ""))),
		  "a b c d:" NO_AFFINITY },
		{ POD("p", "x", HARD("podAffinity", TERM("new", "zone", ""))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c:" NO_AFFINITY " d:" NO_AFFINITY },
		/* Without a selector a term is about no pod. */
		{ POD("p", "x", HARD("podAntiAffinity", "{'topologyKey':'zone'}")), "a b c d" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	three_zones(f);
	scheduler_fixture_check_filters(f, affinity, rows, ARRAY_SIZE(rows));
}

static void required_anti_affinity_of_others_is_kept_too(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p','labels':{'app':'new'}}", "a:" EXISTING " b:" EXISTING " c d" },
		{ "{'name':'p','labels':{'app':'other'}}", "skip" },
		{ "{'name':'p','namespace':'far','labels':{'app':'new'}}", "skip" },
		{ POD("p", "other", HARD("podAffinity", TERM("web", "zone", ""))),
		  "a b c:" NO_AFFINITY " d:" NO_AFFINITY },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	three_zones(f);
	scheduler_fixture_pod(f, "{'name':'shy','nodeName':'b','affinity':{" HARD(
					 "podAntiAffinity", TERM("new", "zone", "")) "}}");
	scheduler_fixture_check_filters(f, affinity, rows, ARRAY_SIZE(rows));
}

static void namespaces_are_chosen_by_name_and_by_label(void **state)
{
	static const struct fixture_row rows[] = {
		{ POD("p", "x", HARD("podAffinity", TERM("far", "zone", ""))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c:" NO_AFFINITY " d:" NO_AFFINITY },
		{ POD("p", "x", HARD("podAffinity", TERM("far", "zone", ",'namespaces':['far']"))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c d:" NO_AFFINITY },
		{ POD("p", "x",
		      HARD("podAffinity", TERM("far", "zone", ",'namespaceSelector':{}"))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c d:" NO_AFFINITY },
		{ POD("p", "x",
		      HARD("podAffinity", TERM("far", "zone",
					       ",'namespaceSelector':"
					       "{'matchLabels':{'team':'x'}}"))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c d:" NO_AFFINITY },
		{ POD("p", "x",
		      HARD("podAffinity", TERM("far", "zone",
					       ",'namespaceSelector':"
					       "{'matchLabels':{'team':'y'}}"))),
		  "a:" NO_AFFINITY " b:" NO_AFFINITY " c:" NO_AFFINITY " d:" NO_AFFINITY },
		/* The other way round: a pod in far wants none of team y's near it. */
		{ "{'name':'p','labels':{'app':'new'}}", "a b c:" EXISTING " d" },
		{ "{'name':'p','namespace':'third','labels':{'app':'new'}}", "skip" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	three_zones(f);
	scheduler_fixture_put(f, &f->namespaces,
			      "{'metadata':{'name':'far','labels':{'team':'x'}}}");
	scheduler_fixture_put(f, &f->namespaces,
			      "{'metadata':{'name':'default','labels':{'team':'y'}}}");
	scheduler_fixture_put(f, &f->namespaces, "{'metadata':{'name':'third'}}");
	scheduler_fixture_pod(
		f, "{'name':'f','namespace':'far','nodeName':'c','labels':{'app':"
		   "'far'},'affinity':{" HARD("podAntiAffinity",
					      TERM("new", "zone",
						   ",'namespaceSelector':"
						   "{'matchLabels':{'team':'y'}}")) "}}");
	scheduler_fixture_check_filters(f, affinity, rows, ARRAY_SIZE(rows));
}

static void a_what_if_counts_its_own_changes_alone(void **state)
{
	struct scheduler_fixture *f = *state;
	struct cycle *c, *w;
	struct podinfo *shy, *web;
	struct plugin *p;
	const struct nodeinfo *a, *n;

	scheduler_fixture_profile(f, affinity, NULL);
	three_zones(f);
	p = scheduler_fixture_plugin(f, affinity);
	c = scheduler_fixture_cycle(f, POD("p", "new",
					   HARD("podAffinity", TERM("db", "zone", "")) "," HARD(
						   "podAntiAffinity", TERM("web", "host", ""))));
	assert_int_equal(p->kind->pre_filter(p, c).code, VERDICT_SUCCESS);
	w = cycle_what_if(c);
	a = snapshot_find(c->snapshot, STR("a"));
	n = snapshot_find(c->snapshot, STR("c"));
	web = scheduler_fixture_make_pod(f, "{'name':'x','nodeName':'a','labels':{'app':'web'}}");
	shy = scheduler_fixture_make_pod(
		f, "{'name':'shy','nodeName':'c','labels':{'app':'db'},"
		   "'affinity':{" HARD("podAntiAffinity", TERM("new", "host", "")) "}}");
	assert_int_equal(p->kind->filter(p, w, n).code, VERDICT_SUCCESS);
	p->kind->add_pod(p, w, shy, n);
	assert_int_equal(p->kind->filter(p, w, n).code, VERDICT_UNSCHEDULABLE);
	assert_int_equal(p->kind->filter(p, c, n).code, VERDICT_SUCCESS);
	p->kind->remove_pod(p, w, shy, n);
	assert_int_equal(p->kind->filter(p, w, n).code, VERDICT_SUCCESS);
	p->kind->remove_pod(p, w, shy, n);
	assert_int_equal(p->kind->filter(p, w, n).code, VERDICT_UNRESOLVABLE);
	p->kind->add_pod(p, w, shy, a);
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_UNSCHEDULABLE);
	p->kind->remove_pod(p, w, web, a);
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_UNSCHEDULABLE);
	podinfo_unref(web);
	podinfo_unref(shy);
	cycle_free(w);
	cycle_free(c);
}

/* Counts are cached across cycles, and must never be stale. */
static void counts_follow_the_cluster_from_cycle_to_cycle(void **state)
{
	enum { NODES = 30, CHANGES = 300 };
	static const char asking[] = POD(
		"p", "new",
		"'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(
			"web", "zone",
			"") "],'preferredDuringSchedulingIgnoredDuringExecution':"
			    "[" WEIGHED("7", TERM("db", "host", "")) "]}," HARD(
				    "podAntiAffinity",
				    TERM("db", "host", "") "," TERM("web", "host", "")));
	struct scheduler_fixture *f = *state, *fresh = test_calloc(1, sizeof(*fresh));
	struct podinfo *on[NODES] = { NULL };
	struct error err;

	scheduler_fixture_init(fresh);
	nodecache_free(fresh->services.nodes);
	fresh->services.nodes = f->services.nodes;
	scheduler_fixture_profile(f, affinity, NULL);
	for (int i = 0; i < CHANGES; i++) {
		int at = i * 7 % NODES;

		if (i % 3 == 0)
			scheduler_fixture_node(
				f,
				arena_printf(&f->arena,
					     "{'name':'n%02d','labels':{'host':'%d','zone':'%d'}}",
					     at, at, i % 4));
		if (on[at]) {
			assert_int_equal(nodecache_remove_pod(f->services.nodes, on[at], &err), 0);
			podinfo_unref(on[at]);
			on[at] = NULL;
		} else {
			on[at] = scheduler_fixture_make_pod(
				f, arena_printf(&f->arena,
						"{'name':'x%d','labels':{'app':'%s'},'nodeName':"
						"'n%02d'}",
						i, i % 2 ? "web" : "db", at));
			assert_int_equal(nodecache_add_pod(f->services.nodes, on[at], &err), 0);
		}
		scheduler_fixture_profile(fresh, affinity, NULL);
		assert_string_equal(scheduler_fixture_filter(f, affinity, asking),
				    scheduler_fixture_filter(fresh, affinity, asking));
		assert_string_equal(scheduler_fixture_score(f, affinity, asking),
				    scheduler_fixture_score(fresh, affinity, asking));
	}
	for (int i = 0; i < NODES; i++)
		podinfo_unref(on[i]);
	fresh->services.nodes = nodecache_new();
	scheduler_fixture_release(fresh);
	test_free(fresh);
}

/* --- score ---------------------------------------------------------------------------------- */

static void preferred_terms_of_both_sides_add_up(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p','labels':{'app':'other'}}", "skip" },
		{ POD("p", "other", SOFT("podAffinity", WEIGHED("10", TERM("web", "zone", "")))),
		  "a=10/100 b=10/100 c=0/0 d=0/0" },
		{ POD("p", "other",
		      SOFT("podAntiAffinity", WEIGHED("10", TERM("web", "host", "")))),
		  "a=-10/0 b=0/100 c=0/100 d=0/100" },
		{ POD("p", "other",
		      SOFT("podAffinity",
			   WEIGHED("10", TERM("web", "zone", "")) "," WEIGHED(
				   "4", TERM("db", "zone",
					     ""))) "," SOFT("podAntiAffinity",
							    WEIGHED("3", TERM("web", "host", "")))),
		  "a=7/70 b=10/100 c=4/40 d=0/0" },
		/* One on b wants it by 20 in the zone, and has a required term: 1. */
		{ "{'name':'p','labels':{'app':'new'}}", "a=20/95 b=21/100 c=0/0 d=0/0" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	three_zones(f);
	scheduler_fixture_pod(
		f, "{'name':'wants','nodeName':'b','affinity':{'podAffinity':{"
		   "'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(
			   "new", "host",
			   "") "],"
			       "'preferredDuringSchedulingIgnoredDuringExecution':[" WEIGHED(
				       "20", TERM("new", "zone", "")) "]}}}");
	scheduler_fixture_check_scores(f, affinity, rows, ARRAY_SIZE(rows));
}

static void arguments_weigh_what_others_want(void **state)
{
	static const struct fixture_row heavy[] = {
		{ "{'name':'p','labels':{'app':'new'}}", "a=0/0 b=50/100 c=0/0 d=0/0" },
	};
	static const struct fixture_row off[] = {
		{ "{'name':'p','labels':{'app':'new'}}", "skip" },
	};
	static const struct fixture_row ignoring[] = {
		{ "{'name':'p','labels':{'app':'new'}}", "skip" },
		/* With preferences of its own, those of others count, too. */
		{ POD("p", "new", SOFT("podAffinity", WEIGHED("4", TERM("web", "host", "")))),
		  "a=4/100 b=1/25 c=0/0 d=0/0" },
	};
	struct scheduler_fixture *f = *state;

	three_zones(f);
	scheduler_fixture_pod(f, "{'name':'wants','nodeName':'b','affinity':{" HARD(
					 "podAffinity", TERM("new", "host", "")) "}}");
	scheduler_fixture_profile(f, affinity, "{'InterPodAffinity':{'hardPodAffinityWeight':50}}");
	scheduler_fixture_check_scores(f, affinity, heavy, ARRAY_SIZE(heavy));
	scheduler_fixture_profile(f, affinity, "{'InterPodAffinity':{'hardPodAffinityWeight':0}}");
	scheduler_fixture_check_scores(f, affinity, off, ARRAY_SIZE(off));
	scheduler_fixture_profile(
		f, affinity, "{'InterPodAffinity':{'ignorePreferredTermsOfExistingPods':true}}");
	scheduler_fixture_check_scores(f, affinity, ignoring, ARRAY_SIZE(ignoring));
}

/* --- hints ---------------------------------------------------------------------------------- */

static void pods_that_matter_wake_who_was_kept_away(void **state)
{
	static const char wants[] = POD("p", "new", HARD("podAffinity", TERM("web", "zone", "")));
	static const char hates[] = POD("p", "new",
					HARD("podAntiAffinity", TERM("web", "zone", "")));
	static const char web[] = "{'name':'x','nodeName':'a','labels':{'app':'web'}}";
	static const char db[] = "{'name':'x','nodeName':'a','labels':{'app':'db'}}";
	static const char shy[] = "{'name':'x','nodeName':'a','affinity':{" HARD(
		"podAntiAffinity", TERM("new", "zone", "")) "}}";
	static const struct {
		const char *pod;
		unsigned action;
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ wants, EVENT_ADD, NULL, web, true },
		{ wants, EVENT_ADD, NULL, db, false },
		{ wants, EVENT_DELETE, web, NULL, false },
		{ wants, EVENT_DELETE, shy, NULL, true },
		{ wants, EVENT_UPDATE_POD_LABEL, db, web, true },
		{ wants, EVENT_UPDATE_POD_LABEL, web, web, false },
		{ hates, EVENT_ADD, NULL, web, false },
		{ hates, EVENT_DELETE, web, NULL, true },
		{ hates, EVENT_DELETE, db, NULL, false },
		{ hates, EVENT_UPDATE_POD_LABEL, web, db, true },
		{ hates, EVENT_UPDATE_POD_LABEL, db, web, false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (scheduler_fixture_pod_wakes(f, affinity, rows[i].pod, rows[i].action,
						rows[i].old, rows[i].now) != rows[i].wakes)
			fail_msg("row %zu", i);
	assert_true(scheduler_fixture_pod_wakes(f, affinity, wants, EVENT_UPDATE_POD_LABEL,
						"{'name':'p'}", "{'name':'p'}"));
}

static void selectors_of_namespaces_count_for_waking(void **state)
{
#define OF_TEAM(team) ",'namespaceSelector':{'matchLabels':{'team':'" team "'}}"
	static const char wants[] = POD("p", "new",
					HARD("podAffinity", TERM("web", "zone", OF_TEAM("x"))));
	static const char hates[] = POD("p", "new",
					HARD("podAntiAffinity", TERM("web", "zone", OF_TEAM("x"))));
	static const char plain[] = "{'name':'p','labels':{'app':'new'}}";
#define WEB(ns) "{'name':'x','namespace':'" ns "','nodeName':'a','labels':{'app':'web'}}"
#define SHY(team)                                                         \
	"{'name':'x','namespace':'far','nodeName':'a','affinity':{" HARD( \
		"podAntiAffinity", TERM("new", "zone", OF_TEAM(team))) "}}"
	static const struct {
		const char *pod;
		unsigned action;
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ wants, EVENT_ADD, NULL, WEB("far"), true },
		{ wants, EVENT_ADD, NULL, WEB("third"), false },
		{ wants, EVENT_ADD, NULL, WEB("unknown"), true },
		{ hates, EVENT_DELETE, WEB("far"), NULL, true },
		{ hates, EVENT_DELETE, WEB("third"), NULL, false },
		{ plain, EVENT_DELETE, SHY("y"), NULL, true },
		{ plain, EVENT_DELETE, SHY("x"), NULL, false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	scheduler_fixture_put(f, &f->namespaces,
			      "{'metadata':{'name':'far','labels':{'team':'x'}}}");
	scheduler_fixture_put(f, &f->namespaces,
			      "{'metadata':{'name':'default','labels':{'team':'y'}}}");
	scheduler_fixture_put(f, &f->namespaces, "{'metadata':{'name':'third'}}");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (scheduler_fixture_pod_wakes(f, affinity, rows[i].pod, rows[i].action,
						rows[i].old, rows[i].now) != rows[i].wakes)
			fail_msg("row %zu", i);
}

static void nodes_that_enter_or_leave_a_domain_wake_pods(void **state)
{
	static const char wants[] = POD("p", "new", HARD("podAffinity", TERM("web", "zone", "")));
	static const char hates[] = POD("p", "new",
					HARD("podAntiAffinity", TERM("web", "zone", "")));
	static const char one[] = "{'name':'n','labels':{'zone':'1'}}";
	static const char two[] = "{'name':'n','labels':{'zone':'2'}}";
	static const char none[] = "{'name':'n'}";
	static const struct {
		const char *pod;
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ wants, NULL, one, true },  { wants, NULL, none, false },
		{ wants, none, one, true },  { wants, one, two, true },
		{ wants, one, one, false },  { wants, one, none, false },
		{ hates, NULL, one, true },  { hates, NULL, none, true },
		{ hates, none, one, false }, { hates, one, none, true },
		{ hates, one, two, true },   { hates, one, one, false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, affinity, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned action = rows[i].old ? EVENT_UPDATE_NODE_LABEL : EVENT_ADD;

		if (scheduler_fixture_node_wakes(f, affinity, rows[i].pod, action, rows[i].old,
						 rows[i].now) != rows[i].wakes)
			fail_msg("row %zu", i);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(required_terms_of_the_pod_are_kept),
		TEST(required_anti_affinity_of_others_is_kept_too),
		TEST(namespaces_are_chosen_by_name_and_by_label),
		TEST(a_what_if_counts_its_own_changes_alone),
		TEST(counts_follow_the_cluster_from_cycle_to_cycle),
		TEST(preferred_terms_of_both_sides_add_up),
		TEST(arguments_weigh_what_others_want),
		TEST(pods_that_matter_wake_who_was_kept_away),
		TEST(selectors_of_namespaces_count_for_waking),
		TEST(nodes_that_enter_or_leave_a_domain_wake_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
