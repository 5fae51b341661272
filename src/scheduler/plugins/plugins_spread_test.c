/*
 * PodTopologySpread: required and preferred constraints, the default ones, what-ifs and hints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/run/scheduler_fixture.h"

static const char spread[] = "PodTopologySpread";

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

#define SKEWED "Unschedulable[node(s) didn't match pod topology spread constraints]"
#define UNLABELLED                                                                           \
	"UnschedulableAndUnresolvable[node(s) didn't match pod topology spread constraints " \
	"(missing required label)]"
#define APP    "'labels':{'app':'x'}"
#define SELECT "'labelSelector':{'matchLabels':{'app':'x'}}"
#define HARD(skew, key, more)                                                             \
	"{'maxSkew':" skew ",'topologyKey':'" key "','whenUnsatisfiable':'DoNotSchedule'" \
	"," SELECT more "}"
#define SOFT(skew, key, more)                                                              \
	"{'maxSkew':" skew ",'topologyKey':'" key "','whenUnsatisfiable':'ScheduleAnyway'" \
	"," SELECT more "}"
#define POD(constraints) "{'name':'p'," APP ",'topologySpreadConstraints':[" constraints "]}"

/* Two zones of two nodes with 2+1 and 1+0 pods; e has no zone. */
static void two_zones(struct scheduler_fixture *f)
{
	static const char *const nodes[] = {
		"{'name':'a','labels':{'zone':'1','host':'a','disk':'ssd'}}",
		"{'name':'b','labels':{'zone':'1','host':'b'}}",
		"{'name':'c','labels':{'zone':'2','host':'c','disk':'ssd'}}",
		"{'name':'e','labels':{'host':'e'}}",
	};
	static const char *const on[] = { "a", "a", "b", "c" };

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		scheduler_fixture_node(f, nodes[i]);
	scheduler_fixture_node(f, "{'name':'d','labels':{'zone':'2','host':'d'},'taints':["
				  "{'key':'k','effect':'NoSchedule'}]}");
	for (size_t i = 0; i < ARRAY_SIZE(on); i++)
		scheduler_fixture_pod(f, arena_printf(&f->arena,
						      "{'name':'x%zu'," APP ",'nodeName':'%s'}", i,
						      on[i]));
	/* None of these counts. */
	scheduler_fixture_pod(f, "{'name':'y','nodeName':'d','labels':{'app':'other'}}");
	scheduler_fixture_pod(f, "{'name':'y','namespace':'far','nodeName':'d'," APP "}");
	scheduler_fixture_pod(f, "{'name':'gone','nodeName':'d','deleting':true," APP "}");
}

static void required_constraints_bound_the_skew(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'," APP "}", "skip" },
		{ POD(SOFT("1", "zone", "")), "skip" },
		/* zone 1 has 3, zone 2 has 1 */
		{ POD(HARD("1", "zone", "")), "a:" SKEWED " b:" SKEWED " c d e:" UNLABELLED },
		{ POD(HARD("3", "zone", "")), "a b c d e:" UNLABELLED },
		/* hosts have 2, 1, 1, 0, 0 */
		{ POD(HARD("1", "host", "")), "a:" SKEWED " b:" SKEWED " c:" SKEWED " d e" },
		{ POD(HARD("2", "host", "")), "a:" SKEWED " b c d e" },
		/* Both must hold, and only nodes with both keys are counted. */
		{ POD(HARD("1", "zone", "") "," HARD("1", "host", "")),
		  "a:" SKEWED " b:" SKEWED " c:" SKEWED " d e:" UNLABELLED },
		/* The pod itself does not match: it adds nothing. */
		{ "{'name':'p','topologySpreadConstraints':[" HARD("2", "zone", "") "]}",
		  "a b c d e:" UNLABELLED },
		/* No selector selects nothing, an empty one counts nothing but the pod. */
		{ "{'name':'p'," APP ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':"
		  "'zone','whenUnsatisfiable':'DoNotSchedule'}]}",
		  "a b c d e:" UNLABELLED },
		{ "{'name':'p'," APP ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':"
		  "'zone','whenUnsatisfiable':'DoNotSchedule','labelSelector':{}}]}",
		  "a b c d e:" UNLABELLED },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	two_zones(f);
	scheduler_fixture_check_filters(f, spread, rows, ARRAY_SIZE(rows));
}

static void options_of_constraints_are_honoured(void **state)
{
	static const struct fixture_row rows[] = {
		/* Three domains are wanted and two are there: the third counts as empty. */
		{ POD(HARD("2", "zone", ",'minDomains':3")),
		  "a:" SKEWED " b:" SKEWED " c d e:" UNLABELLED },
		{ POD(HARD("3", "zone", ",'minDomains':2")), "a b c d e:" UNLABELLED },
		/* d is tainted: it does not count, so c's pod is all there is in zone 2. */
		{ POD(HARD("1", "host", ",'nodeTaintsPolicy':'Honor'")),
		  "a:" SKEWED " b:" SKEWED " c:" SKEWED " d e" },
		/* Among the nodes that match, a has 2 pods and c has 1. */
		{ "{'name':'p'," APP
		  ",'nodeSelector':{'disk':'ssd'},'topologySpreadConstraints':[" HARD("1", "host",
										      "") "]}",
		  "a:" SKEWED " b c d e" },
		{ "{'name':'p'," APP
		  ",'nodeSelector':{'disk':'ssd'},'topologySpreadConstraints':[" HARD(
			  "1", "host", ",'nodeAffinityPolicy':'Ignore'") "]}",
		  "a:" SKEWED " b:" SKEWED " c:" SKEWED " d e" },
		/* Nobody has this pod's version. */
		{ "{'name':'p','labels':{'app':'x','v':'2'},'topologySpreadConstraints':[" HARD(
			  "1", "zone", ",'matchLabelKeys':['v']") "]}",
		  "a b c d e:" UNLABELLED },
		{ POD(HARD("1", "zone", ",'matchLabelKeys':['v']")),
		  "a:" SKEWED " b:" SKEWED " c d e:" UNLABELLED },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	two_zones(f);
	scheduler_fixture_check_filters(f, spread, rows, ARRAY_SIZE(rows));
}

static void a_what_if_counts_its_own_changes_alone(void **state)
{
	struct scheduler_fixture *f = *state;
	struct cycle *c, *w;
	struct podinfo *x;
	struct plugin *p;
	const struct nodeinfo *a;

	scheduler_fixture_profile(f, spread, NULL);
	two_zones(f);
	p = scheduler_fixture_plugin(f, spread);
	c = scheduler_fixture_cycle(f, POD(HARD("1", "zone", "") "," HARD("2", "host", "")));
	assert_int_equal(p->kind->pre_filter(p, c).code, VERDICT_SUCCESS);
	w = cycle_what_if(c);
	a = snapshot_find(c->snapshot, STR("a"));
	x = scheduler_fixture_make_pod(f, "{'name':'x0'," APP ",'nodeName':'a'}");
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_UNSCHEDULABLE);
	p->kind->remove_pod(p, w, x, a);
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_UNSCHEDULABLE);
	p->kind->remove_pod(p, w, x, a);
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_SUCCESS);
	assert_int_equal(p->kind->filter(p, c, a).code, VERDICT_UNSCHEDULABLE);
	p->kind->add_pod(p, w, x, a);
	assert_int_equal(p->kind->filter(p, w, a).code, VERDICT_UNSCHEDULABLE);
	podinfo_unref(x);
	cycle_free(w);
	cycle_free(c);
}

/* Counts are cached across cycles, and must never be stale. */
static void counts_follow_the_cluster_from_cycle_to_cycle(void **state)
{
	enum { NODES = 40, CHANGES = 400 };
	static const char *const asking[] = {
		POD(HARD("2", "zone", "")), POD(HARD("1", "host", "") "," SOFT("1", "zone", ""))
	};
	struct scheduler_fixture *f = *state, *fresh = test_calloc(1, sizeof(*fresh));
	struct podinfo *on[NODES] = { NULL };
	struct error err;

	scheduler_fixture_init(fresh);
	nodecache_free(fresh->services.nodes);
	fresh->services.nodes = f->services.nodes;
	scheduler_fixture_profile(f, spread, NULL);
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
			on[at] = scheduler_fixture_make_pod(f, arena_printf(&f->arena,
									    "{'name':'x%d'," APP
									    ",'nodeName':'n%02d'}",
									    i, at));
			assert_int_equal(nodecache_add_pod(f->services.nodes, on[at], &err), 0);
		}
		scheduler_fixture_profile(fresh, spread, NULL);
		assert_string_equal(scheduler_fixture_filter(f, spread, asking[i % 2]),
				    scheduler_fixture_filter(fresh, spread, asking[i % 2]));
		assert_string_equal(scheduler_fixture_score(f, spread, asking[1]),
				    scheduler_fixture_score(fresh, spread, asking[1]));
	}
	for (int i = 0; i < NODES; i++)
		podinfo_unref(on[i]);
	fresh->services.nodes = nodecache_new();
	scheduler_fixture_release(fresh);
	test_free(fresh);
}

static void many_different_questions_push_each_other_out(void **state)
{
	enum { QUESTIONS = 50 };
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	two_zones(f);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < QUESTIONS; i++) {
			const char *pod = arena_printf(
				&f->arena,
				"{'name':'p'," APP ",'topologySpreadConstraints':[" HARD(
					"1", "zone",
					"") ","
					    "{'maxSkew':1,'topologyKey':'host','whenUnsatisfiable':"
					    "'DoNotSchedule','labelSelector':{'matchLabels':{'app':"
					    "'%d'}}}]}",
				i);

			assert_string_equal(scheduler_fixture_filter(f, spread, pod),
					    "a:" SKEWED " b:" SKEWED " c d e:" UNLABELLED);
		}
}

static void preferred_constraints_score_by_who_is_there(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'," APP "}", "skip" },
		/* Two domains weigh ln 4: 3 * 1.386 and 1 * 1.386; e is left out. */
		{ POD(SOFT("1", "zone", "")), "a=4/25 b=4/25 c=1/100 d=1/100 e=0/0" },
		/* A larger skew makes the difference matter less. */
		{ POD(SOFT("5", "zone", "")), "a=8/62 b=8/62 c=5/100 d=5/100 e=0/0" },
		/* Hosts by another name are as many domains: ln 7. */
		{ POD(SOFT("1", "host", "")), "a=4/0 b=2/50 c=2/50 d=0/100 e=0/100" },
		{ POD(SOFT("1", "zone", "") "," SOFT("1", "host", "")),
		  "a=8/12 b=6/37 c=3/75 d=1/100 e=0/0" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	two_zones(f);
	scheduler_fixture_check_scores(f, spread, rows, ARRAY_SIZE(rows));
}

static void nobody_there_is_the_best_score_for_all(void **state)
{
	static const struct fixture_row rows[] = {
		{ POD(SOFT("1", "zone", "")), "a=0/100 b=0/100" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	scheduler_fixture_node(f, "{'name':'a','labels':{'zone':'1'}}");
	scheduler_fixture_node(f, "{'name':'b','labels':{'zone':'2'}}");
	scheduler_fixture_check_scores(f, spread, rows, ARRAY_SIZE(rows));
}

/* --- default constraints -------------------------------------------------------------------- */

static void hosts_and_zones(struct scheduler_fixture *f)
{
	scheduler_fixture_node(f, "{'name':'a','labels':{'kubernetes.io/hostname':'a',"
				  "'topology.kubernetes.io/zone':'1'}}");
	scheduler_fixture_node(f, "{'name':'b','labels':{'kubernetes.io/hostname':'b',"
				  "'topology.kubernetes.io/zone':'2'}}");
	scheduler_fixture_node(f, "{'name':'c','labels':{'kubernetes.io/hostname':'c'}}");
	scheduler_fixture_pod(f, "{'name':'x'," APP ",'nodeName':'a'}");
	scheduler_fixture_pod(f, "{'name':'y'," APP ",'nodeName':'c'}");
}

static void the_system_spreads_what_services_and_owners_select(void **state)
{
	static const struct fixture_row before[] = {
		{ "{'name':'p'," APP "}", "skip" },
	};
	/* Hosts weigh ln 5 and add 2, zones ("", 1, 2) ln 5 and add 4, which c has none of. */
	static const struct fixture_row after[] = {
		{ "{'name':'p'," APP "}", "a=9/44 b=6/77 c=4/100" },
		{ "{'name':'p','labels':{'app':'other'}}", "skip" },
		{ "{'name':'p','namespace':'far'," APP "}", "skip" },
	};
	static const char *const kinds[][2] = { { "apps/v1", "ReplicaSet" },
						{ "apps/v1", "StatefulSet" },
						{ "v1", "ReplicationController" } };
	struct scheduler_fixture *f = *state;
	struct cache *caches[] = { &f->replica_sets, &f->stateful_sets,
				   &f->replication_controllers };

	scheduler_fixture_profile(f, spread, NULL);
	hosts_and_zones(f);
	scheduler_fixture_check_scores(f, spread, before, ARRAY_SIZE(before));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *selector = i < 2 ? "{'matchLabels':{'app':'x'}}" : "{'app':'x'}";
		struct fixture_row row = { arena_printf(&f->arena,
							"{'name':'p'," APP
							",'owners':[{'apiVersion':'%s','kind':'%s',"
							"'name':'o','uid':'u','controller':true}]}",
							kinds[i][0], kinds[i][1]),
					   after[0].expected };

		scheduler_fixture_put(f, caches[i],
				      arena_printf(&f->arena,
						   "{'metadata':{'name':'o','namespace':'default'},"
						   "'spec':{'selector':%s}}",
						   selector));
		scheduler_fixture_check_scores(f, spread, &row, 1);
	}
	scheduler_fixture_put(f, &f->kube_services,
			      "{'metadata':{'name':'s','namespace':'default'},'spec':{'selector':"
			      "{'app':'x'}}}");
	scheduler_fixture_put(f, &f->kube_services,
			      "{'metadata':{'name':'headless','namespace':'default'},'spec':{}}");
	scheduler_fixture_check_scores(f, spread, after, ARRAY_SIZE(after));
}

static void a_list_of_defaults_may_require(void **state)
{
	static const char args[] =
		"{'PodTopologySpread':{'defaultingType':'List','defaultConstraints':[{'maxSkew':1,"
		"'topologyKey':'topology.kubernetes.io/zone','whenUnsatisfiable':"
		"'DoNotSchedule'}]}}";
	static const struct fixture_row rows[] = {
		{ "{'name':'p'," APP "}", "a:" SKEWED " b c:" UNLABELLED },
		/* Its own constraints replace them. */
		{ POD(HARD("2", "topology.kubernetes.io/zone", "")), "a b c:" UNLABELLED },
		{ "{'name':'p'}", "skip" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, args);
	hosts_and_zones(f);
	scheduler_fixture_put(f, &f->kube_services,
			      "{'metadata':{'name':'s','namespace':'default'},'spec':{'selector':"
			      "{'app':'x'}}}");
	scheduler_fixture_check_filters(f, spread, rows, ARRAY_SIZE(rows));
}

/* --- hints ---------------------------------------------------------------------------------- */

static void pods_that_count_wake_who_was_kept_away(void **state)
{
	static const char pod[] = POD(HARD("1", "zone", ""));
	static const char like[] = "{'name':'x'," APP ",'nodeName':'a'}";
	static const char unlike[] = "{'name':'x','labels':{'app':'y'},'nodeName':'a'}";
	static const char unlike_too[] = "{'name':'x','labels':{'app':'z'},'nodeName':'a'}";
	static const char far[] = "{'name':'x','namespace':'far'," APP ",'nodeName':'a'}";
	static const struct {
		unsigned action;
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ EVENT_ADD, NULL, like, true },
		{ EVENT_ADD, NULL, unlike, false },
		{ EVENT_ADD, NULL, far, false },
		{ EVENT_DELETE, like, NULL, true },
		{ EVENT_DELETE, unlike, NULL, false },
		{ EVENT_UPDATE_POD_LABEL, unlike, like, true },
		{ EVENT_UPDATE_POD_LABEL, like, unlike, true },
		{ EVENT_UPDATE_POD_LABEL, unlike, unlike_too, false },
		{ EVENT_UPDATE_POD_SCALE_DOWN, unlike, like, false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(scheduler_fixture_pod_wakes(f, spread, pod, rows[i].action,
							     rows[i].old, rows[i].now),
				 rows[i].wakes);
}

static void a_pod_that_changes_itself_may_fit(void **state)
{
	static const char ignores[] = POD(HARD("1", "zone", ""));
	static const char honors[] = POD(HARD("1", "zone", ",'nodeTaintsPolicy':'Honor'"));
	static const char tolerates[] = "{'name':'p'," APP
					",'tolerations':[{'operator':'Exists'}]}";
	static const char plain[] = "{'name':'p'," APP "}";
	static const char other[] = "{'name':'p','labels':{'app':'y'}}";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	assert_true(scheduler_fixture_pod_wakes(f, spread, honors, EVENT_UPDATE_POD_TOLERATION,
						plain, tolerates));
	assert_false(scheduler_fixture_pod_wakes(f, spread, ignores, EVENT_UPDATE_POD_TOLERATION,
						 plain, tolerates));
	assert_true(scheduler_fixture_pod_wakes(f, spread, ignores, EVENT_UPDATE_POD_LABEL, plain,
						other));
}

static void nodes_that_change_their_domain_wake_pods(void **state)
{
	static const char pod[] = POD(HARD("1", "zone", ""));
	static const char one[] = "{'name':'n','labels':{'zone':'1'}}";
	static const char two[] = "{'name':'n','labels':{'zone':'2'}}";
	static const char none[] = "{'name':'n','labels':{'x':'1'}}";
	static const char tainted[] = "{'name':'n','labels':{'zone':'1'},'taints':[{'key':'k',"
				      "'effect':'NoSchedule'}]}";
	static const struct {
		unsigned action;
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ EVENT_ADD, NULL, one, true },
		{ EVENT_ADD, NULL, none, false },
		{ EVENT_DELETE, one, NULL, true },
		{ EVENT_DELETE, none, NULL, false },
		{ EVENT_UPDATE_NODE_LABEL, none, one, true },
		{ EVENT_UPDATE_NODE_LABEL, one, none, true },
		{ EVENT_UPDATE_NODE_LABEL, one, two, true },
		{ EVENT_UPDATE_NODE_LABEL, one, one, false },
		{ EVENT_UPDATE_NODE_TAINT, one, tainted, true },
		{ EVENT_UPDATE_NODE_ALLOCATABLE, one, two, false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, spread, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(scheduler_fixture_node_wakes(f, spread, pod, rows[i].action,
							      rows[i].old, rows[i].now),
				 rows[i].wakes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(required_constraints_bound_the_skew),
		TEST(options_of_constraints_are_honoured),
		TEST(a_what_if_counts_its_own_changes_alone),
		TEST(counts_follow_the_cluster_from_cycle_to_cycle),
		TEST(many_different_questions_push_each_other_out),
		TEST(preferred_constraints_score_by_who_is_there),
		TEST(nobody_there_is_the_best_score_for_all),
		TEST(the_system_spreads_what_services_and_owners_select),
		TEST(a_list_of_defaults_may_require),
		TEST(pods_that_count_wake_who_was_kept_away),
		TEST(a_pod_that_changes_itself_may_fit),
		TEST(nodes_that_change_their_domain_wake_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
