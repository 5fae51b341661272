/*
 * Cycle and profile: every extension point, in the order of a pod's way.
 */
#include "scheduler/cycle/cycle.h"

#include "scheduler/cycle/cycle_fixture.h"

/* Node numbers to say the same of. */
static void filter_all(struct fake *f, size_t n, enum verdict_code code, const char *reason)
{
	for (size_t i = 0; i < n; i++)
		f->filter[i] = (struct says){ code, reason };
}

/* --- order --------------------------------------------------------------------------------- */

static void a_pod_goes_through_every_point_in_order(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);

	w->fakes[B].scores[1] = 7;
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_SUCCESS);
	assert_str(w->result.node, "n1");
	assert_trace(w, "A.pre_filter B.pre_filter C.pre_filter "
			"A.filter:n0 B.filter:n0 C.filter:n0 A.filter:n1 B.filter:n1 C.filter:n1 "
			"A.pre_score B.pre_score C.pre_score "
			"A.score:n0 A.score:n1 A.normalize B.score:n0 B.score:n1 B.normalize "
			"C.score:n0 C.score:n1 C.normalize ");
	assert_false(w->result.nominating);
	assert_int_equal(w->cycle->diagnosis.evaluated, 2);
	assert_null(w->cycle->diagnosis.nodes);
}

static void plugins_of_a_point_are_ordered_as_upstream_does(void **state)
{
	static const struct {
		const char *plugins, *filters;
	} rows[] = {
		{ ALL, "ABC" },
		/* Named again by the point: first, in the point's order. */
		{ ALL "    filter: {enabled: [{name: C}, {name: B}]}\n", "CBA" },
		/* Only of the point: behind. */
		{ BARE "{name: Sort}, {name: C}, {name: Bind}]}\n"
		       "    filter: {enabled: [{name: B}, {name: C}, {name: A}]}\n",
		  "CBA" },
		{ ALL "    filter: {disabled: [{name: B}]}\n", "AC" },
		{ ALL "    filter: {disabled: [{name: '*'}]}\n", "" },
		{ ALL "    filter: {disabled: [{name: '*'}], enabled: [{name: C}]}\n", "C" },
		{ ALL "    filter: {disabled: [{name: C}], enabled: [{name: C}]}\n", "ABC" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_free) struct world *w = world_new(rows[i].plugins, 1);
		char got[8] = "";

		for (size_t k = 0; k < w->profile->filter.n; k++)
			got[k] = w->profile->plugins[w->profile->filter.at[k]].name[0];
		assert_string_equal(got, rows[i].filters);
	}
}

static void a_profile_that_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *plugins, *message;
	} rows[] = {
		{ BARE "{name: Sort}, {name: Bint}]}\n",
		  "plugin \"Bint\" of profile \"test\" does not exist, did you mean \"Bind\"?" },
		{ ALL "    score: {enabled: [{name: Zzz}]}\n",
		  "ScorePlugin \"Zzz\" of profile \"test\" does not exist" },
		{ ALL "    score: {enabled: [{name: Bind}]}\n",
		  "plugin \"Bind\" does not extend ScorePlugin plugin" },
		{ ALL "    score: {enabled: [{name: A}, {name: A}]}\n",
		  "plugin \"A\" already registered as \"ScorePlugin\"" },
		{ BARE "{name: Sort}, {name: A}, {name: A}, {name: Bind}]}\n",
		  "plugin \"A\" already registered as \"multiPoint\"" },
		{ BARE "{name: Bind}]}\n",
		  "only one queue sort plugin required for profile with scheduler name \"test\", "
		  "but got 0" },
		{ BARE "{name: Sort}, {name: Sort2}, {name: Bind}]}\n",
		  "only one queue sort plugin required for profile with scheduler name \"test\", "
		  "but got 2" },
		{ BARE "{name: Sort}]}\n", "at least one bind plugin is needed for profile with "
					   "scheduler name \"test\"" },
		{ ALL "  pluginConfig: [{name: A, args: {fail: true}}]\n",
		  "initializing plugin \"A\": told to" },
		{ ALL "  pluginConfig: [{name: Nope, args: {}}]\n",
		  "plugin in pluginConfig \"Nope\" of profile \"test\" does not exist" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w = { .profile = NULL };
		struct error err = { 0 };

		assert_int_equal(make_profile(&w, rows[i].plugins, &err), -ERR_INVALID);
		assert_string_equal(err.msg, rows[i].message);
		config_release(&w.config);
	}
}

/* --- pre_filter ---------------------------------------------------------------------------- */

static void a_plugin_that_skips_is_not_asked_to_filter(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);

	w->fakes[B].pre_filter.code = VERDICT_SKIP;
	w->fakes[B].restricts = true; /* and what it says of nodes is not heard */
	run(w);
	assert_str(w->result.node, "n0");
	assert_trace(w, "A.pre_filter B.pre_filter C.pre_filter A.filter:n0 C.filter:n0 ");
}

static void a_rejection_in_pre_filter_is_of_all_nodes(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 3);

	w->fakes[A].pre_filter = (struct says){ VERDICT_UNSCHEDULABLE, "not now" };
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_UNSCHEDULABLE);
	assert_message(w, "0/3 nodes are available: not now.");
	/* The others are asked all the same: preemption needs their states. */
	assert_trace(w, "A.pre_filter B.pre_filter C.pre_filter A.post_filter ");
	assert_int_equal(w->cycle->diagnosis.rejectors, 1u << w->profile->filter.at[0]);

	w->fakes[A].pre_filter.code = VERDICT_UNRESOLVABLE;
	w->fakes[A].post_filter = (struct says){ VERDICT_UNSCHEDULABLE, "preemption: no" };
	w->fakes[B].post_filter = (struct says){ VERDICT_UNRESOLVABLE, "preemption: never" };
	run(w);
	assert_message(w, "0/3 nodes are available: not now. preemption: never");
	assert_trace(w, "A.pre_filter A.post_filter B.post_filter ");
	assert_int_equal(w->cycle->diagnosis.pre_filter.code, VERDICT_UNRESOLVABLE);
}

static void errors_say_whose_they_are(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);

	w->fakes[B].pre_filter = (struct says){ VERDICT_ERROR, "broken" };
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_ERROR);
	assert_true(w->result.nominating);
	assert_message(w, "running PreFilter plugin \"B\": broken");
	w->fakes[B].pre_filter.code = VERDICT_SUCCESS;

	w->fakes[C].filter[1] = (struct says){ VERDICT_ERROR, "broken" };
	run(w);
	assert_message(w, "running \"C\" filter plugin: broken");
	w->fakes[C].filter[1].code = VERDICT_SUCCESS;

	w->fakes[A].pre_score = (struct says){ VERDICT_UNSCHEDULABLE, "no" };
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_ERROR);
	assert_message(w, "running PreScore plugin \"A\": no");
	w->fakes[A].pre_score.code = VERDICT_SUCCESS;

	w->fakes[A].score = (struct says){ VERDICT_ERROR, "no" };
	run(w);
	assert_message(w, "running Score plugins: plugin \"A\" failed with: no");
}

static void sets_of_nodes_are_intersected(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 4);
	struct fake *a = &w->fakes[A], *b = &w->fakes[B];

	a->restricts = b->restricts = true;
	a->only[0] = "n1", a->only[1] = "n2", a->only[2] = "gone";
	b->only[0] = "n2", b->only[1] = "n3";
	run(w);
	assert_str(w->result.node, "n2");

	filter_all(&w->fakes[C], 4, VERDICT_UNSCHEDULABLE, "full");
	run(w);
	assert_message(w, "0/4 nodes are available: 1 full, "
			  "3 node(s) didn't satisfy plugin(s) [A B].");
	assert_int_equal(w->cycle->diagnosis.nodes[0].code, VERDICT_UNRESOLVABLE);
	assert_int_equal(w->cycle->diagnosis.nodes[2].code, VERDICT_UNSCHEDULABLE);
	assert_int_equal(__builtin_popcountll(w->cycle->diagnosis.rejectors), 3);

	b->only[0] = NULL;
	run(w);
	assert_message(w, "0/4 nodes are available: "
			  "node(s) didn't satisfy plugin(s) [A B] simultaneously.");
	assert_int_equal(__builtin_popcountll(w->cycle->diagnosis.rejectors), 2);
	a->restricts = false;
	run(w);
	assert_message(w, "0/4 nodes are available: node(s) didn't satisfy plugin B.");
}

static void a_set_of_nodes_that_are_gone_leaves_none(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);

	w->fakes[A].restricts = true;
	w->fakes[A].only[0] = "gone";
	run(w);
	assert_message(w, "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [A].");
}

/* --- filter -------------------------------------------------------------------------------- */

static void reasons_are_counted_and_sorted_as_text(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 14);

	filter_all(&w->fakes[A], 2, VERDICT_UNSCHEDULABLE, "Insufficient cpu");
	filter_all(&w->fakes[B], 3, VERDICT_UNRESOLVABLE, "node(s) had taints");
	filter_all(&w->fakes[C], 14, VERDICT_PENDING, "waiting");
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_UNSCHEDULABLE);
	assert_message(w, "0/14 nodes are available: 1 node(s) had taints, 11 waiting, "
			  "2 Insufficient cpu.");
	assert_true(w->cycle->diagnosis.pending);
	assert_int_equal(__builtin_popcountll(w->cycle->diagnosis.rejectors), 3);
	/* The first that rejects a node is the last that is asked about it. */
	assert_null(strstr(w->trace.p, "B.filter:n0"));
	assert_non_null(strstr(w->trace.p, "B.filter:n2"));
	assert_null(strstr(w->trace.p, "C.filter:n2"));
}

static void verdicts_of_one_cycle_do_not_show_in_the_next(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 5);

	filter_all(&w->fakes[A], 4, VERDICT_UNSCHEDULABLE, "early");
	run(w);
	assert_str(w->result.node, "n4");
	w->fakes[A].restricts = true;
	w->fakes[A].only[0] = "n0";
	run(w);
	assert_message(w, "0/5 nodes are available: 1 early, "
			  "4 node(s) didn't satisfy plugin(s) [A].");
}

static void without_nodes_there_is_nothing_to_ask(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 0);

	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_UNRESOLVABLE);
	assert_message(w, "no nodes available to schedule pods");
	assert_trace(w, "");
	assert_int_equal(w->cycle->diagnosis.rejectors, 0);
}

static void the_nominated_node_is_tried_first(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 3);

	begin(w, "n2");
	cycle_run(w->cycle, nodecache_snapshot(w->nodes), &w->start, &w->prng, &w->result);
	assert_str(w->result.node, "n2");
	assert_trace(w, "A.pre_filter B.pre_filter C.pre_filter "
			"A.filter:n2 B.filter:n2 C.filter:n2 ");
	assert_int_equal(w->start, 0);

	w->fakes[B].filter[2] = (struct says){ VERDICT_ERROR, "not there" };
	w->fakes[A].filter[0] = w->fakes[A].filter[2] = (struct says){ VERDICT_UNSCHEDULABLE, "x" };
	begin(w, "n2");
	cycle_run(w->cycle, nodecache_snapshot(w->nodes), &w->start, &w->prng, &w->result);
	assert_str(w->result.node, "n1");
	begin(w, "gone");
	cycle_run(w->cycle, nodecache_snapshot(w->nodes), &w->start, &w->prng, &w->result);
	assert_str(w->result.node, "n1");
}

static void nominate(struct world *w, struct podinfo *p, const char *node)
{
	if (!podqueue_find(w->services.queue, p->uid))
		podqueue_add(w->services.queue, p, 0);
	podqueue_nominate(w->services.queue, p, str_from(node));
}

static void filters_see_nominated_pods_that_go_before(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);
	CLEANUP(podinfo_unref) struct podinfo *high = make_pod(w, "high", 10, "");
	CLEANUP(podinfo_unref) struct podinfo *low = make_pod(w, "low", 9, "");

	nominate(w, low, "n1");
	nominate(w, high, "n0");
	w->fakes[A].crowds = true;
	run(w);
	assert_str(w->result.node, "n1");
	assert_trace(w, "A.pre_filter B.pre_filter C.pre_filter "
			"A.add:n0 B.add:n0 C.add:n0 A.filter:n0 "
			"A.filter:n1 B.filter:n1 C.filter:n1 ");
	/* It must fit without them, too; and the cycle's own state is as it was. */
	w->fakes[A].crowds = false;
	w->fakes[B].needs_company = true;
	run(w);
	assert_message(w, "0/2 nodes are available: 2 alone.");
	assert_non_null(strstr(w->trace.p, "C.add:n0 A.filter:n0 B.filter:n0 C.filter:n0 "
					   "A.filter:n0 B.filter:n0 A.filter:n1"));
	assert_int_equal(*(int *)w->cycle->state[w->profile->filter.at[0]], 0);
	/* A pod does not yield to itself. */
	nominate(w, high, "");
	nominate(w, w->pod, "n0");
	w->fakes[B].needs_company = false;
	run(w);
	assert_null(strstr(w->trace.p, "add"));
}

/* --- how many nodes ------------------------------------------------------------------------ */

static void fewer_of_many_nodes_are_tried(void **state)
{
	static const struct {
		size_t nodes;
		int32_t percentage;
		size_t enough;
	} rows[] = {
		{ 10, 0, 10 },      { 10, 40, 10 },    { 99, 1, 99 },       { 100, 0, 100 },
		{ 1000, 0, 420 },   { 1000, 40, 400 }, { 1000, 1, 100 },    { 6000, 0, 300 },
		{ 6000, 40, 2400 }, { 5000, 0, 500 },  { 5000, 100, 5000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(cycle_enough(rows[i].nodes, rows[i].percentage), rows[i].enough);
}

static void the_search_goes_on_where_the_last_one_ended(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 250);
	size_t seen;

	w->quiet = true;
	for (size_t i = 0; i < 4; i++) {
		run(w);
		/* 48 percent of 250. */
		assert_int_equal(w->cycle->nfeasible, 120);
		assert_ptr_equal(w->cycle->feasible[0],
				 nodecache_snapshot(w->nodes)->nodes[i * 120 % 250]);
		assert_int_equal(w->start, (i + 1) * 120 % 250);
	}
	seen = w->start;
	w->fakes[A].pre_filter = (struct says){ VERDICT_UNSCHEDULABLE, "x" };
	run(w);
	assert_int_equal(w->start, seen);
}

/* --- scores -------------------------------------------------------------------------------- */

static void scores_are_weighted_and_added(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new(
		BARE "{name: Sort}, {name: A, weight: 3}, {name: B, weight: 5}, {name: C}, "
		     "{name: Bind}]}\n"
		     "    score: {enabled: [{name: B, weight: 2}]}\n",
		2);

	w->fakes[A].scores[0] = 10;
	w->fakes[B].scores[1] = 100;
	w->fakes[B].halves = true;
	w->fakes[C].scores[0] = 70;
	run(w);
	/* 3 * 10 + 70 and 2 * 100 / 2. */
	assert_int_equal(w->cycle->totals[0], 100);
	assert_int_equal(w->cycle->totals[1], 100);
	w->fakes[C].pre_score.code = VERDICT_SKIP;
	run(w);
	assert_int_equal(w->cycle->totals[0], 30);
	assert_str(w->result.node, "n1");
	assert_null(strstr(w->trace.p, "C.score"));
}

static void a_score_out_of_range_is_an_error(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);

	w->fakes[B].scores[1] = 102;
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_ERROR);
	assert_message(w, "applying score defaultWeights on Score plugins: plugin \"B\" returns an "
			  "invalid score 102, it should in the range of [0, 100] after "
			  "normalizing");
	w->fakes[B].scores[1] = -1;
	run(w);
	assert_int_equal(w->result.verdict.code, VERDICT_ERROR);
	w->fakes[B].scores[1] = 102;
	w->fakes[B].halves = true;
	run(w);
	assert_str(w->result.node, "n1");
}

static void of_equal_nodes_each_is_chosen_at_times(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 4);
	unsigned chosen[4] = { 0 };

	w->fakes[A].scores[1] = w->fakes[A].scores[2] = w->fakes[A].scores[3] = 50;
	for (unsigned i = 0; i < 3000; i++) {
		run(w);
		chosen[number(w->result.node)]++;
	}
	assert_int_equal(chosen[0], 0);
	for (size_t i = 1; i < 4; i++)
		assert_in_range(chosen[i], 850, 1150);
}

static void a_single_node_needs_no_scores(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 2);

	filter_all(&w->fakes[A], 1, VERDICT_UNSCHEDULABLE, "x");
	run(w);
	assert_str(w->result.node, "n1");
	assert_null(strstr(w->trace.p, "score"));
}

/* --- post_filter --------------------------------------------------------------------------- */

static void post_filters_are_asked_until_one_helps(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);
	struct fake *a = &w->fakes[A], *b = &w->fakes[B], *c = &w->fakes[C];

	filter_all(a, 1, VERDICT_UNSCHEDULABLE, "full");
	a->post_filter = (struct says){ VERDICT_UNSCHEDULABLE, "first" };
	b->post_filter = (struct says){ VERDICT_UNSCHEDULABLE, "second" };
	c->post_filter = (struct says){ VERDICT_UNSCHEDULABLE, "preemption: third" };
	run(w);
	assert_message(w, "0/1 nodes are available: 1 full. first, second, preemption: third");
	assert_false(w->result.nominating);

	b->nominates = ""; /* no longer */
	run(w);
	assert_true(w->result.nominating);
	assert_int_equal(w->result.nominated.n, 0);

	b->nominates = "n0";
	b->post_filter.code = VERDICT_SUCCESS;
	run(w);
	assert_message(w, "0/1 nodes are available: 1 full.");
	assert_str(w->result.nominated, "n0");
	assert_true(w->result.nominating);
	assert_null(strstr(w->trace.p, "C.post_filter"));

	b->post_filter.code = VERDICT_UNRESOLVABLE;
	run(w);
	assert_message(w, "0/1 nodes are available: 1 full. second");
	b->post_filter.code = VERDICT_ERROR;
	run(w);
	assert_message(w, "0/1 nodes are available: 1 full. second");
	assert_int_equal(w->result.verdict.code, VERDICT_UNSCHEDULABLE);
	assert_false(w->result.nominating);
}

static void without_post_filter_a_nomination_ends(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new(ALL "    postFilter: {disabled: [{name: '*'}]}\n", 1);

	filter_all(&w->fakes[A], 1, VERDICT_UNSCHEDULABLE, "full");
	run(w);
	assert_message(w, "0/1 nodes are available: 1 full.");
	assert_true(w->result.nominating);
}

/* --- the points after the decision --------------------------------------------------------- */

static void a_failed_reserve_is_taken_back_in_reverse(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);
	struct verdict v;

	begin(w, "");
	v = profile_reserve(w->profile, w->cycle, STR("n0"));
	assert_int_equal(v.code, VERDICT_SUCCESS);
	assert_trace(w, "A.reserve:n0 B.reserve:n0 C.reserve:n0 ");
	w->fakes[B].reserve = (struct says){ VERDICT_UNSCHEDULABLE, "gone" };
	begin(w, "");
	v = profile_reserve(w->profile, w->cycle, STR("n0"));
	assert_int_equal(v.code, VERDICT_UNSCHEDULABLE);
	assert_string_equal(v.plugin->name, "B");
	assert_trace(w, "A.reserve:n0 B.reserve:n0 C.unreserve:n0 B.unreserve:n0 A.unreserve:n0 ");
	w->fakes[B].reserve.code = VERDICT_ERROR;
	v = profile_reserve(w->profile, w->cycle, STR("n0"));
	assert_str(verdict_message(&v, &w->cycle->arena), "running Reserve plugin \"B\": gone");
}

static void permit_waits_for_those_that_ask_for_it(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);
	int64_t timeouts[PLUGINS_MAX];
	uint64_t waiting;
	struct verdict v;
	unsigned a, c;

	begin(w, "");
	a = w->profile->permit.at[0];
	c = w->profile->permit.at[2];
	v = profile_permit(w->profile, w->cycle, STR("n0"), &waiting, timeouts);
	assert_int_equal(v.code, VERDICT_SUCCESS);
	assert_int_equal(waiting, 0);
	w->fakes[A].permit = w->fakes[C].permit = (struct says){ VERDICT_WAIT, NULL };
	w->fakes[A].timeout_ms = 5000;
	w->fakes[C].timeout_ms = INT64_C(3600) * 1000;
	v = profile_permit(w->profile, w->cycle, STR("n0"), &waiting, timeouts);
	assert_int_equal(v.code, VERDICT_WAIT);
	assert_int_equal(waiting, 1u << a | 1u << c);
	assert_int_equal(timeouts[a], 5000);
	assert_int_equal(timeouts[c], 15 * 60 * 1000);
	assert_str(verdict_message(&v, &w->cycle->arena),
		   "one or more plugins asked to wait and no plugin rejected pod");
	w->fakes[C].permit = (struct says){ VERDICT_UNSCHEDULABLE, "no" };
	v = profile_permit(w->profile, w->cycle, STR("n0"), &waiting, timeouts);
	assert_int_equal(v.code, VERDICT_UNSCHEDULABLE);
	assert_string_equal(v.plugin->name, "C");
	assert_int_equal(waiting, 0);
	buf_clear(&w->trace);
	profile_post_bind(w->profile, w->cycle, STR("n0"));
	assert_trace(w, "A.post_bind:n0 B.post_bind:n0 C.post_bind:n0 ");
}

static void pre_enqueue_stops_at_the_first_that_says_no(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);
	struct verdict v;

	begin(w, "");
	v = profile_pre_enqueue(w->profile, w->pod, &w->cycle->arena);
	assert_int_equal(v.code, VERDICT_SUCCESS);
	w->fakes[B].pre_enqueue = (struct says){ VERDICT_UNSCHEDULABLE, "gated" };
	v = profile_pre_enqueue(w->profile, w->pod, &w->cycle->arena);
	assert_string_equal(v.plugin->name, "B");
	assert_trace(w, "A.pre_enqueue B.pre_enqueue C.pre_enqueue A.pre_enqueue B.pre_enqueue ");
}

static void a_what_if_has_states_of_its_own(void **state)
{
	CLEANUP(world_free) struct world *w = world_new(ALL, 1);
	CLEANUP(cycle_free) struct cycle *copy = NULL;
	CLEANUP(podinfo_unref) struct podinfo *other = make_pod(w, "other", 1, "");
	const struct nodeinfo *n;
	unsigned at;

	w->fakes[B].pre_filter.code = VERDICT_SKIP;
	run(w);
	n = nodecache_snapshot(w->nodes)->nodes[0];
	copy = cycle_what_if(w->cycle);
	assert_true(copy->what_if);
	buf_clear(&w->trace);
	profile_add_pod(w->profile, copy, other, n);
	profile_add_pod(w->profile, copy, other, n);
	profile_remove_pod(w->profile, copy, other, n);
	assert_trace(w, "A.add:n0 C.add:n0 A.add:n0 C.add:n0 A.remove:n0 C.remove:n0 ");
	at = w->profile->filter.at[0];
	assert_int_equal(*(int *)copy->state[at], 1);
	assert_int_equal(*(int *)w->cycle->state[at], 0);
}

/* --- metrics ------------------------------------------------------------------------------- */

static void assert_line(const struct buf *text, const char *line)
{
	if (!strstr(text->p, line))
		fail_msg("no line %s in\n%s", line, text->p);
}

static void durations_and_counts_have_upstreams_names(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	CLEANUP(world_free) struct world *w = world_new(ALL, 3);

	w->quiet = true;
	w->fakes[B].pre_score.code = VERDICT_SKIP;
	for (size_t i = 0; i < 11; i++)
		run(w);
	filter_all(&w->fakes[A], 3, VERDICT_UNSCHEDULABLE, "x");
	w->fakes[A].post_filter = w->fakes[B].post_filter = w->fakes[C].post_filter = (struct says){
		VERDICT_UNSCHEDULABLE, "y"
	};
	run(w);
	assert_int_equal(metrics_print(w->metrics, &text), 0);
	assert_line(&text, "scheduler_framework_extension_point_duration_seconds_count{extension_"
			   "point=\"Filter\",status=\"Success\",profile=\"test\"} 12\n");
	assert_line(&text, "scheduler_framework_extension_point_duration_seconds_count{extension_"
			   "point=\"PostFilter\",status=\"Unschedulable\",profile=\"test\"} 1\n");
	assert_line(&text, "scheduler_framework_extension_point_duration_seconds_count{extension_"
			   "point=\"Score\",status=\"Success\",profile=\"test\"} 11\n");
	/* Two of twelve cycles are measured by plugin; three nodes each. */
	assert_line(&text, "scheduler_plugin_execution_duration_seconds_count{plugin=\"A\","
			   "extension_point=\"Filter\",status=\"Success\"} 6\n");
	assert_line(&text, "scheduler_plugin_execution_duration_seconds_count{plugin=\"B\","
			   "extension_point=\"PreScore\",status=\"Skip\"} 2\n");
	assert_line(&text, "scheduler_plugin_evaluation_total{plugin=\"A\",extension_point="
			   "\"Filter\",profile=\"test\"} 36\n");
	assert_line(&text, "scheduler_plugin_evaluation_total{plugin=\"C\",extension_point="
			   "\"Filter\",profile=\"test\"} 33\n");
	assert_line(&text, "scheduler_plugin_evaluation_total{plugin=\"B\",extension_point="
			   "\"Score\",profile=\"test\"} 0\n");
}

static void a_verdict_joins_its_reasons(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct verdict v = { .code = VERDICT_UNSCHEDULABLE };

	arena_init(&a, 1 << 20);
	assert_str(verdict_message(&v, &a), "");
	verdict_add(&a, &v, STR("Insufficient cpu"));
	verdict_add(&a, &v, STR("Too many pods"));
	assert_str(verdict_message(&v, &a), "Insufficient cpu, Too many pods");
	v = verdict_print(&a, VERDICT_UNRESOLVABLE, "%d of %s", 3, "them");
	assert_str(v.reasons[0], "3 of them");
	assert_string_equal(verdict_name(v.code), "UnschedulableAndUnresolvable");
	assert_true(verdict_rejects(&v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_goes_through_every_point_in_order),
		cmocka_unit_test(plugins_of_a_point_are_ordered_as_upstream_does),
		cmocka_unit_test(a_profile_that_cannot_be_is_refused),
		cmocka_unit_test(a_plugin_that_skips_is_not_asked_to_filter),
		cmocka_unit_test(a_rejection_in_pre_filter_is_of_all_nodes),
		cmocka_unit_test(errors_say_whose_they_are),
		cmocka_unit_test(sets_of_nodes_are_intersected),
		cmocka_unit_test(a_set_of_nodes_that_are_gone_leaves_none),
		cmocka_unit_test(reasons_are_counted_and_sorted_as_text),
		cmocka_unit_test(verdicts_of_one_cycle_do_not_show_in_the_next),
		cmocka_unit_test(without_nodes_there_is_nothing_to_ask),
		cmocka_unit_test(the_nominated_node_is_tried_first),
		cmocka_unit_test(filters_see_nominated_pods_that_go_before),
		cmocka_unit_test(fewer_of_many_nodes_are_tried),
		cmocka_unit_test(the_search_goes_on_where_the_last_one_ended),
		cmocka_unit_test(scores_are_weighted_and_added),
		cmocka_unit_test(a_score_out_of_range_is_an_error),
		cmocka_unit_test(of_equal_nodes_each_is_chosen_at_times),
		cmocka_unit_test(a_single_node_needs_no_scores),
		cmocka_unit_test(post_filters_are_asked_until_one_helps),
		cmocka_unit_test(without_post_filter_a_nomination_ends),
		cmocka_unit_test(a_failed_reserve_is_taken_back_in_reverse),
		cmocka_unit_test(permit_waits_for_those_that_ask_for_it),
		cmocka_unit_test(pre_enqueue_stops_at_the_first_that_says_no),
		cmocka_unit_test(a_what_if_has_states_of_its_own),
		cmocka_unit_test(durations_and_counts_have_upstreams_names),
		cmocka_unit_test(a_verdict_joins_its_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
