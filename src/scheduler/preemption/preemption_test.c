/*
 * Tests victims and nodes on clusters of a few nodes, with the built-in plugins.
 */
#include "scheduler/preemption/preemption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/report/log.h"
#include "scheduler/cache/extended.h"
#include "scheduler/preemption/preemption_fixture.h"

#define FILTERS "TaintToleration NodePorts NodeResourcesFit InterPodAffinity"

static int setup(void **state)
{
	struct scheduler_fixture *f = XNEW(struct scheduler_fixture);

	scheduler_fixture_init(f);
	scheduler_fixture_profile(f, FILTERS, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	scheduler_fixture_release(*state);
	free(*state);
	return 0;
}

static struct cycle *tried(struct scheduler_fixture *f, const char *text)
{
	CLEANUP(podinfo_unref) struct podinfo *p = scheduler_fixture_make_pod(f, text);
	struct cycle *c = cycle_new(f->profile, p, 1);
	struct cycle_result result;
	struct prng g;
	size_t start = 0;

	prng_init(&g, 1);
	cycle_run(c, nodecache_snapshot(f->services.nodes), &start, &g, &result);
	assert_int_equal(result.verdict.code, VERDICT_UNSCHEDULABLE);
	return c;
}

/* "n1: a b" or "n1: a b (1 violation)", or why not; "!" in front when nothing can help. */
static const char *decide_from(struct scheduler_fixture *f, const char *text, uint64_t offset)
{
	CLEANUP(cycle_free) struct cycle *c = tried(f, text);
	struct preemption p = { .cycle = c,
				.pdbs = &f->pdbs,
				.nominated = c->pod->nominated,
				.percentage = 10,
				.absolute = 100,
				.offset = offset };
	struct preemption_choice choice;
	struct buf out = BUF_INIT(MIB);
	struct verdict v;
	bool hopeless;
	char *answer;

	v = preemption_decide(&p, &choice, &hopeless);
	if (v.code != VERDICT_SUCCESS) {
		(void)buf_printf(&out, "%s%s%.*s", v.code == VERDICT_ERROR ? "error: " : "",
				 hopeless ? "!" : "", STR_ARG(verdict_message(&v, &c->arena)));
	} else {
		(void)buf_printf(&out, "%.*s:", STR_ARG(choice.node->name));
		for (size_t i = 0; i < choice.n; i++)
			(void)buf_printf(&out, " %.*s", STR_ARG(choice.victims[i]->name));
		if (choice.violations)
			(void)buf_printf(&out, " (%zu violations)", choice.violations);
	}
	answer = arena_strdup(&f->arena, buf_str(&out));
	buf_release(&out);
	return answer;
}

static const char *decide(struct scheduler_fixture *f, const char *text)
{
	return decide_from(f, text, 0);
}

#define ASKS(priority, cpu) "{'name':'p','priority':" #priority ",'requests':{'cpu':'" #cpu "m'}}"

static void a_pod_of_lower_priority_makes_room(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "low", "n1", 1, 800, 1, NULL);
	assert_string_equal(decide(f, ASKS(5, 500)), "n1: low");
}

static void equals_and_betters_stay(void **state)
{
	struct scheduler_fixture *f = *state;

	for (int i = 1; i <= 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%d", i);
		node(f, name);
		pod(f, name, name, i == 4 ? 9 : 5, 800, 1, NULL);
	}
	assert_string_equal(
		decide(f, ASKS(5, 500)),
		"!0/4 nodes are available: 4 No preemption victims found for incoming pod.");
}

static void nodes_that_nothing_helps_are_not_tried(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	scheduler_fixture_node(f, "{'name':'n2','cpu':'1','memory':'1Gi','taints':[{'key':'k',"
				  "'effect':'NoSchedule'}]}");
	node(f, "n3");
	pod(f, "a", "n1", 1, 900, 1, NULL);
	pod(f, "b", "n2", 1, 900, 1, NULL);
	pod(f, "c", "n3", 9, 900, 1, NULL);
	assert_string_equal(decide(f, ASKS(5, 500)), "n1: a");
	/* More than any node has: unresolvable everywhere. */
	assert_string_equal(
		decide(f, ASKS(5, 5000)),
		"!0/3 nodes are available: 3 Preemption is not helpful for scheduling.");
	assert_string_equal(decide(f, "{'name':'p','priority':0,'requests':{'cpu':'500m'}}"),
			    "!0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
			    "2 No preemption victims found for incoming pod.");
}

static void a_pod_that_does_not_fit_even_alone_says_why(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "high", "n1", 9, 600, 1, NULL);
	pod(f, "low", "n1", 1, 300, 1, NULL);
	assert_string_equal(decide(f, ASKS(5, 500)),
			    "!0/1 nodes are available: 1 Insufficient cpu.");
}

static void as_many_as_possible_stay_the_more_important_first(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "low-old", "n1", 1, 200, 1, NULL);
	pod(f, "mid", "n1", 3, 200, 9, NULL);
	pod(f, "low-new", "n1", 1, 200, 5, NULL);
	pod(f, "low-unborn", "n1", 1, 200, 0, NULL);
	pod(f, "high", "n1", 9, 200, 9, NULL);
	assert_string_equal(decide(f, ASKS(5, 200)), "n1: low-unborn");
	assert_string_equal(decide(f, ASKS(5, 400)), "n1: low-new low-unborn");
	assert_string_equal(decide(f, ASKS(5, 600)), "n1: low-old low-new low-unborn");
	assert_string_equal(decide(f, ASKS(5, 700)), "n1: mid low-old low-new low-unborn");
}

static void a_small_one_may_stay_where_a_larger_had_to_go(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "large", "n1", 3, 700, 1, NULL);
	pod(f, "small", "n1", 1, 300, 1, NULL);
	assert_string_equal(decide(f, ASKS(5, 600)), "n1: large");
}

#define BUDGET(name, labels, allowed)                                         \
	"{'metadata':{'name':'" name                                          \
	"','namespace':'default'},'spec':{'selector':{'matchLabels':{" labels \
	"}}},'status':{'disruptionsAllowed':" #allowed "}}"

static void budgets_are_spared_where_it_can_be(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "web", "n1", 1, 500, 5, "'labels':{'app':'web'},");
	pod(f, "job", "n1", 2, 500, 1, "'labels':{'app':'job'},");
	/* The job is more important, so it would stay: but not at the cost of the budget. */
	assert_string_equal(decide(f, ASKS(5, 500)), "n1: web");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 0));
	assert_string_equal(decide(f, ASKS(5, 500)), "n1: job");
	assert_string_equal(decide(f, ASKS(5, 1000)), "n1: job web (1 violations)");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 1));
	assert_string_equal(decide(f, ASKS(5, 1000)), "n1: job web");
}

static void a_budget_counts_each_victim_once(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "w1", "n1", 1, 250, 1, "'labels':{'app':'web'},");
	pod(f, "w2", "n1", 1, 250, 2, "'labels':{'app':'web'},");
	pod(f, "w3", "n1", 1, 250, 3, "'labels':{'app':'web'},");
	pod(f, "w4", "n1", 1, 250, 4, "'labels':{'app':'web'},");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 2));
	assert_string_equal(decide(f, ASKS(5, 1000)), "n1: w1 w2 w3 w4 (2 violations)");
	/* Disruptions that the API server has already counted are not counted again. */
	scheduler_fixture_put(
		f, &f->pdbs,
		"{'metadata':{'name':'web','namespace':'default'},'spec':{'selector':{'"
		"matchExpressions':["
		"{'key':'app','operator':'In','values':['web']}]}},'status':{'disruptionsAllowed':"
		"2,"
		"'disruptedPods':{'w1':'2026-01-01T00:00:00Z','w4':'2026-01-01T00:00:00Z'}}}");
	assert_string_equal(decide(f, ASKS(5, 1000)), "n1: w1 w2 w3 w4");
	/* An empty selector, and one of another namespace, select nothing. */
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "", 0));
	scheduler_fixture_put(f, &f->pdbs,
			      "{'metadata':{'name':'x','namespace':'other'},'spec':{'selector':"
			      "{'matchLabels':{'app':'web'}}},'status':{'disruptionsAllowed':0}}");
	assert_string_equal(decide(f, ASKS(5, 1000)), "n1: w1 w2 w3 w4");
}

/* The better of two nodes, whichever is looked at first. */
static void assert_better(struct scheduler_fixture *f, const char *want)
{
	assert_string_equal(decide_from(f, ASKS(9, 1000), 0), want);
	assert_string_equal(decide_from(f, ASKS(9, 1000), 1), want);
}

static void fewer_violated_budgets_are_better(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 0));
	pod(f, "a", "n1", 1, 500, 1, "'labels':{'app':'web'},");
	pod(f, "b", "n2", 7, 500, 1, NULL);
	pod(f, "c", "n2", 7, 500, 1, NULL);
	assert_better(f, "n2: b c");
}

static void of_those_that_violate_budgets_the_fewest_are_better(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 0));
	pod(f, "a", "n1", 1, 500, 1, "'labels':{'app':'web'},");
	pod(f, "b", "n1", 1, 500, 1, "'labels':{'app':'web'},");
	pod(f, "c", "n2", 7, 500, 1, "'labels':{'app':'web'},");
	assert_better(f, "n2: c (1 violations)");
}

static void a_budget_is_counted_anew_for_each_node(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	scheduler_fixture_put(f, &f->pdbs, BUDGET("web", "'app':'web'", 1));
	pod(f, "a", "n1", 7, 500, 1, "'labels':{'app':'web'},");
	pod(f, "b", "n2", 1, 500, 1, "'labels':{'app':'web'},");
	assert_better(f, "n2: b");
}

static void a_lower_highest_priority_is_better(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	pod(f, "a", "n1", 5, 500, 1, NULL);
	pod(f, "b", "n2", 4, 500, 1, NULL);
	pod(f, "c", "n2", 4, 500, 1, NULL);
	assert_better(f, "n2: b c");
}

static void a_smaller_sum_of_priorities_is_better_also_of_negative_ones(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	pod(f, "a", "n1", -5, 300, 1, NULL);
	pod(f, "b", "n1", -5, 300, 1, NULL);
	pod(f, "c", "n2", -5, 500, 1, NULL);
	assert_better(f, "n2: c");
}

static void a_later_start_of_the_most_important_is_better(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	pod(f, "a", "n1", 2, 300, 10, NULL);
	pod(f, "b", "n1", 1, 300, 40, NULL);
	pod(f, "c", "n2", 2, 300, 20, NULL);
	pod(f, "d", "n2", 1, 300, 5, NULL);
	assert_better(f, "n2: c d");
}

static void enough_candidates_end_the_search(void **state)
{
	struct scheduler_fixture *f = *state;
	CLEANUP(cycle_free) struct cycle *c = NULL;
	struct preemption_choice choice;
	struct preemption p = { .pdbs = &f->pdbs, .percentage = 10, .absolute = 1 };
	bool hopeless;

	for (int i = 0; i < 20; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%02d", i);
		node(f, name);
		/* The last is the best, and is not reached. */
		pod(f, name, name, 20 - i, 900, 1, NULL);
	}
	c = tried(f, ASKS(50, 500));
	p.cycle = c;
	assert_int_equal(preemption_decide(&p, &choice, &hopeless).code, VERDICT_SUCCESS);
	assert_true(str_eq(choice.node->name, c->snapshot->nodes[1]->name));
	p.offset = 19;
	assert_int_equal(preemption_decide(&p, &choice, &hopeless).code, VERDICT_SUCCESS);
	assert_true(str_eq(choice.node->name, c->snapshot->nodes[19]->name));
}

/* Of twenty nodes that would help, so many are looked at as the filters for them allow. */
static void enough_work_ends_the_search_when_there_is_a_candidate(void **state)
{
	static const struct {
		size_t most, nodes;
	} cases[] = { { 1, 1 }, { 3, 1 }, { 4, 2 }, { 30, 10 }, { 1000, 20 } };
	struct scheduler_fixture *f = *state;
	CLEANUP(cycle_free) struct cycle *c = NULL;
	struct preemption_choice choice;
	struct preemption p = { .pdbs = &f->pdbs, .percentage = 100, .absolute = 100 };
	bool hopeless;

	for (int i = 0; i < 20; i++) {
		char name[8], second[8];

		(void)snprintf(name, sizeof(name), "n%02d", i);
		(void)snprintf(second, sizeof(second), "m%02d", i);
		node(f, name);
		/* Later ones are better; each takes three runs. */
		pod(f, name, name, 20 - i, 900, 1, NULL);
		pod(f, second, name, 20 - i, 50, 1, NULL);
	}
	c = tried(f, ASKS(50, 500));
	p.cycle = c;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		p.filters_max = cases[i].most;
		assert_int_equal(preemption_decide(&p, &choice, &hopeless).code, VERDICT_SUCCESS);
		if (!str_eq(choice.node->name, c->snapshot->nodes[cases[i].nodes - 1]->name))
			fail_msg("case %zu: %.*s", i, STR_ARG(choice.node->name));
	}
}

/* A node that does not help costs one run and is reported. Such nodes do not end the search. */
static void work_without_a_candidate_does_not_end_the_search(void **state)
{
	struct scheduler_fixture *f = *state;
	CLEANUP(cycle_free) struct cycle *c = NULL;
	struct preemption_choice choice;
	struct preemption p = {
		.pdbs = &f->pdbs, .percentage = 100, .absolute = 100, .filters_max = 1
	};
	bool hopeless;

	for (int i = 0; i < 5; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%02d", i);
		node(f, name);
		pod(f, name, name, i < 4 ? 90 : 1, 900, 1, NULL);
	}
	c = tried(f, ASKS(50, 500));
	p.cycle = c;
	assert_int_equal(preemption_decide(&p, &choice, &hopeless).code, VERDICT_SUCCESS);
	assert_true(str_eqz(choice.node->name, "n04"));
}

static void a_pod_with_policy_never_does_not_preempt(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "low", "n1", 1, 800, 1, NULL);
	assert_string_equal(decide(f,
				   "{'name':'p','priority':5,'preemptionPolicy':'Never','requests':"
				   "{'cpu':'500m'}}"),
			    "not eligible due to preemptionPolicy=Never.");
}

static void a_pod_that_waits_for_victims_preempts_no_more(void **state)
{
	static const char asks[] = "{'name':'p','priority':5,'status':{'nominatedNodeName':'n1'},"
				   "'requests':{'cpu':'500m'}}";
	static const char ending[] = "{'name':'ending','nodeName':'n1','priority':%d,'uid':'e','"
				     "deleting':true,'requests':{'cpu':"
				     "'500m'},'status':{'conditions':[{'type':'DisruptionTarget','"
				     "status':'True','reason':'%s'}]}}";
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	node(f, "n2");
	pod(f, "a", "n1", 1, 500, 1, NULL);
	pod(f, "b", "n2", 0, 800, 1, NULL);
	scheduler_fixture_pod(f, arena_printf(&f->arena, ending, 1, "PreemptionByScheduler"));
	assert_string_equal(decide(f, asks),
			    "not eligible due to a terminating pod on the nominated node.");
	/* But where nothing can help any more it is not waited for. */
	scheduler_fixture_node(f, "{'name':'n1','cpu':'1','memory':'1Gi','taints':[{'key':'k',"
				  "'effect':'NoSchedule'}]}");
	assert_string_equal(decide(f, asks), "n2: b");
	/* One that goes for another reason does not count. */
	scheduler_fixture_release(f);
	scheduler_fixture_init(f);
	scheduler_fixture_profile(f, FILTERS, NULL);
	node(f, "n1");
	node(f, "n2");
	pod(f, "b", "n2", 0, 800, 1, NULL);
	pod(f, "a", "n1", 1, 500, 1, NULL);
	scheduler_fixture_pod(f, arena_printf(&f->arena, ending, 1, "EvictionByEvictionAPI"));
	assert_string_equal(decide(f, asks), "n2: b");
}

static void other_filters_follow_the_what_if(void **state)
{
	struct scheduler_fixture *f = *state;

	node(f, "n1");
	pod(f, "port", "n1", 1, 100, 1,
	    "'containers':[{'name':'c','ports':[{'containerPort':1,'hostPort':80}]}],");
	assert_string_equal(decide(f, "{'name':'p','priority':5,'containers':[{'name':'c','ports':["
				      "{'containerPort':1,'hostPort':80}]}]}"),
			    "n1: port");
	pod(f, "lonely", "n1", 2, 100, 1,
	    "'labels':{'a':'b'},'affinity':{'podAntiAffinity':{"
	    "'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'kubernetes.io/"
	    "hostname',"
	    "'labelSelector':{'matchLabels':{'x':'y'}}}]}},");
	scheduler_fixture_node(f, "{'name':'n1','cpu':'1','memory':'1Gi','labels':{"
				  "'kubernetes.io/hostname':'n1'}}");
	assert_string_equal(decide(f, "{'name':'p','priority':5,'labels':{'x':'y'}}"),
			    "n1: lonely");
}

/* --- an extended resource of a plugin --------------------------------------------------------- */

struct tokens {
	int64_t capacity, used;
};

static int64_t tokens_of(const struct dp_object *pod_object)
{
	return pod_object->pod->requests.cpu_milli / 100;
}

static int tokens_add(void *resource, const struct dp_object *p)
{
	((struct tokens *)resource)->used += tokens_of(p);
	return 0;
}

static int tokens_remove(void *resource, const struct dp_object *p)
{
	((struct tokens *)resource)->used -= tokens_of(p);
	return 0;
}

static void *tokens_clone(const void *resource)
{
	struct tokens *t = XNEW(struct tokens);

	*t = *(const struct tokens *)resource;
	return t;
}

static int no_handle(void *arg, struct dp_handle *ret_handle, struct dp_reason *why)
{
	ret_handle->size = sizeof(*ret_handle);
	return 0;
}

static const struct dp_resource_type token_type = { .size = sizeof(token_type),
						    .name = "tokens.example.com",
						    .add_pod = tokens_add,
						    .remove_pod = tokens_remove,
						    .clone = tokens_clone,
						    .free = free };

static struct verdict tokens_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n)
{
	const struct tokens *t = nodeinfo_extended(n, 0);
	const struct dp_object wants = { .pod = c->pod };

	if (!t || t->used + tokens_of(&wants) <= t->capacity)
		return VERDICT_OK;
	return verdict_of(&c->arena, VERDICT_UNSCHEDULABLE, STR("Insufficient tokens"));
}

/* The pod only fits after the victims are removed from the plugin's value in the cache, too. */
static void extended_resources_follow_the_what_if(void **state)
{
	static const struct plugin_kind kind = { .name = "Tokens", .filter = tokens_filter };
	struct scheduler_fixture *f = *state;
	struct tokens *tokens = XNEW(struct tokens);
	struct extended_type *type = NULL;
	struct extended_types types;
	struct plugin *fit;
	struct error err;

	extended_types_init(&types, log_null());
	assert_int_equal(extended_types_register(&types, &token_type, no_handle, NULL, &type, &err),
			 0);
	scheduler_fixture_profile(f, "NodeName", NULL);
	fit = scheduler_fixture_plugin(f, "NodeName");
	fit->kind = &kind;
	f->profile->pre_filter.n = 0;
	node(f, "n1");
	tokens->capacity = 8;
	nodecache_set_extended(f->services.nodes, STR("n1"), type, tokens, true);
	pod(f, "a", "n1", 1, 300, 1, NULL);
	pod(f, "b", "n1", 2, 300, 1, NULL);
	pod(f, "c", "n1", 9, 200, 1, NULL);
	assert_string_equal(decide(f, ASKS(5, 300)), "n1: a");
	assert_string_equal(decide(f, ASKS(5, 600)), "n1: b a");
	assert_string_equal(decide(f, ASKS(5, 700)),
			    "!0/1 nodes are available: 1 Insufficient tokens.");
	nodecache_set_extended(f->services.nodes, STR("n1"), type, NULL, false);
	(void)nodecache_snapshot(f->services.nodes);
	extended_types_release(&types);
}

static void arguments_are_checked(void **state)
{
	static const struct {
		const char *args, *fault;
	} cases[] = {
		{ "{'DefaultPreemption':{'minCandidateNodesPercentage':101}}",
		  "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]" },
		{ "{'DefaultPreemption':{'minCandidateNodesAbsolute':-1}}",
		  "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)" },
		{ "{'DefaultPreemption':{'minCandidateNodesPercentage':0,'"
		  "minCandidateNodesAbsolute':0}}",
		  "cannot be zero at the same time as minCandidateNodesAbsolute" },
	};
	struct scheduler_fixture *f = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(scheduler_fixture_try_profile(f, "DefaultPreemption", cases[i].args,
							  &err) < 0);
		if (!strstr(err.msg, cases[i].fault))
			fail_msg("%s, not %s", err.msg, cases[i].fault);
	}
	assert_int_equal(scheduler_fixture_try_profile(
				 f, "DefaultPreemption",
				 "{'DefaultPreemption':{'minCandidateNodesAbsolute':0}}", &err),
			 0);
}

#define DECIDES(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DECIDES(a_pod_of_lower_priority_makes_room),
		DECIDES(equals_and_betters_stay),
		DECIDES(nodes_that_nothing_helps_are_not_tried),
		DECIDES(a_pod_that_does_not_fit_even_alone_says_why),
		DECIDES(as_many_as_possible_stay_the_more_important_first),
		DECIDES(a_small_one_may_stay_where_a_larger_had_to_go),
		DECIDES(budgets_are_spared_where_it_can_be),
		DECIDES(a_budget_counts_each_victim_once),
		DECIDES(fewer_violated_budgets_are_better),
		DECIDES(of_those_that_violate_budgets_the_fewest_are_better),
		DECIDES(a_budget_is_counted_anew_for_each_node),
		DECIDES(a_lower_highest_priority_is_better),
		DECIDES(a_smaller_sum_of_priorities_is_better_also_of_negative_ones),
		DECIDES(a_later_start_of_the_most_important_is_better),
		DECIDES(enough_candidates_end_the_search),
		DECIDES(enough_work_ends_the_search_when_there_is_a_candidate),
		DECIDES(work_without_a_candidate_does_not_end_the_search),
		DECIDES(a_pod_with_policy_never_does_not_preempt),
		DECIDES(a_pod_that_waits_for_victims_preempts_no_more),
		DECIDES(other_filters_follow_the_what_if),
		DECIDES(extended_resources_follow_the_what_if),
		DECIDES(arguments_are_checked),
	};

	return cmocka_run_group_tests_name("preemption", tests, NULL, NULL);
}
