/*
 * Resources: what fits, and which node is better by what is requested of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/dra/state.h"
#include "scheduler/run/scheduler_fixture.h"

static const char fit[] = "NodeResourcesFit";
static const char balanced[] = "NodeResourcesBalancedAllocation";

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

/* --- fit ------------------------------------------------------------------------------------ */

static void a_pod_fits_where_all_it_requests_is_left(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "a b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'cpu':'1'}}", "a b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'cpu':'1001m'}}",
		  "a:Unschedulable[Insufficient cpu] b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'cpu':'3'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient cpu] b "
		  "c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'cpu':'1500m','memory':'2Gi'}}",
		  "a:Unschedulable[Insufficient cpu, Insufficient memory] "
		  "b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'ephemeral-storage':'2Gi'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient ephemeral-storage] "
		  "b:UnschedulableAndUnresolvable[Insufficient ephemeral-storage] "
		  "c:UnschedulableAndUnresolvable[Too many pods, Insufficient "
		  "ephemeral-storage]" },
		{ "{'name':'p','requests':{'example.com/gpu':'1'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient example.com/gpu] "
		  "b c:UnschedulableAndUnresolvable[Too many pods, Insufficient "
		  "example.com/gpu]" },
		{ "{'name':'p','requests':{'example.com/gpu':'2'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient example.com/gpu] "
		  "b:Unschedulable[Insufficient example.com/gpu] "
		  "c:UnschedulableAndUnresolvable[Too many pods, Insufficient "
		  "example.com/gpu]" },
		{ "{'name':'p','requests':{'example.com/gpu':'0'}}",
		  "a b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'hugepages-2Mi':'4Mi'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient hugepages-2Mi] "
		  "b c:UnschedulableAndUnresolvable[Too many pods, Insufficient "
		  "hugepages-2Mi]" },
		/* Nobody has so much, whatever a node says. */
		{ "{'name':'p','requests':{'memory':'9223372036854775807'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient memory] "
		  "b:UnschedulableAndUnresolvable[Insufficient memory] "
		  "c:UnschedulableAndUnresolvable[Too many pods, Insufficient memory]" },
		{ "{'name':'p','requests':{'example.com/gpu':'9223372036854775807'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient example.com/gpu] "
		  "b:UnschedulableAndUnresolvable[Insufficient example.com/gpu] "
		  "c:UnschedulableAndUnresolvable[Too many pods, Insufficient "
		  "example.com/gpu]" },
		/* The largest init container counts when it asks for more than the others do. */
		{ "{'name':'p','initContainers':[{'name':'i','image':'i','resources':{'requests':"
		  "{'cpu':'1500m'}}}],'containers':[{'name':'c','image':'i','resources':"
		  "{'requests':{'cpu':'100m'}}}]}",
		  "a:Unschedulable[Insufficient cpu] b c:Unschedulable[Too many pods]" },
		{ "{'name':'p','requests':{'cpu':'1'},'overhead':{'cpu':'1m'}}",
		  "a:Unschedulable[Insufficient cpu] b c:Unschedulable[Too many pods]" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, NULL);
	scheduler_fixture_node(f,
			       "{'name':'a','cpu':'2','memory':'2Gi','ephemeral-storage':'1Gi'}");
	scheduler_fixture_node(f, "{'name':'b','cpu':'8','memory':'8Gi','ephemeral-storage':'1Gi',"
				  "'example.com/gpu':'2','hugepages-2Mi':'8Mi'}");
	scheduler_fixture_node(f, "{'name':'c','cpu':'8','memory':'9223372036854775807',"
				  "'ephemeral-storage':'1Gi','pods':1}");
	scheduler_fixture_pod(f,
			      "{'name':'x','nodeName':'a','requests':{'cpu':'1','memory':'1Gi'}}");
	scheduler_fixture_pod(f, "{'name':'y','nodeName':'b','requests':{'example.com/gpu':'1'}}");
	scheduler_fixture_pod(f, "{'name':'z','nodeName':'c'}");
	scheduler_fixture_check_filters(f, fit, rows, ARRAY_SIZE(rows));
}

static void ignored_resources_and_groups_are_not_asked_for(void **state)
{
	static const char args[] = "{'NodeResourcesFit':{'ignoredResources':['example.com/a'],"
				   "'ignoredResourceGroups':['vendor.org']}}";
	static const struct fixture_row rows[] = {
		{ "{'name':'p','requests':{'example.com/a':'1'}}", "n" },
		{ "{'name':'p','requests':{'vendor.org/x':'1'}}", "n" },
		{ "{'name':'p','requests':{'example.com/b':'1'}}",
		  "n:UnschedulableAndUnresolvable[Insufficient example.com/b]" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, args);
	scheduler_fixture_node(f, "{'name':'n','cpu':'1'}");
	scheduler_fixture_check_filters(f, fit, rows, ARRAY_SIZE(rows));
}

static void a_device_class_serves_a_resource_that_the_node_lacks(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p','requests':{'example.com/gpu':'1'}}",
		  "a b:Unschedulable[Insufficient example.com/gpu]" },
		{ "{'name':'p','requests':{'deviceclass.resource.kubernetes.io/gpu':'1'}}", "a b" },
		{ "{'name':'p','requests':{'example.com/other':'1'}}",
		  "a:UnschedulableAndUnresolvable[Insufficient example.com/other] "
		  "b:UnschedulableAndUnresolvable[Insufficient example.com/other]" },
	};
	struct scheduler_fixture *f = *state;
	struct cached *class;

	f->services.dra = dra_state_new(&f->gates, NULL);
	class = scheduler_fixture_object(f, "{'apiVersion':'resource.k8s.io/v1','kind':"
					    "'DeviceClass','metadata':{'name':'gpu'},'spec':"
					    "{'extendedResourceName':'example.com/gpu'}}");
	dra_state_put_class(f->services.dra, class);
	scheduler_fixture_profile(f, fit, NULL);
	scheduler_fixture_node(f, "{'name':'a','cpu':'1'}");
	scheduler_fixture_node(f, "{'name':'b','cpu':'1','example.com/gpu':'1'}");
	scheduler_fixture_pod(f, "{'name':'x','nodeName':'b','requests':{'example.com/gpu':'1'}}");
	scheduler_fixture_check_filters(f, fit, rows, ARRAY_SIZE(rows));
	dra_state_free(f->services.dra);
	f->services.dra = NULL;
	cached_unref(class);
}

/* --- scores --------------------------------------------------------------------------------- */

/* a: 4 cores of which 1 is used, 8 GiB, 6 used; b: 8 and 2, 16 and 0. */
static void two_nodes(struct scheduler_fixture *f)
{
	scheduler_fixture_node(f, "{'name':'a','cpu':'4','memory':'8Gi'}");
	scheduler_fixture_node(f, "{'name':'b','cpu':'8','memory':'16Gi','example.com/gpu':'4'}");
	scheduler_fixture_pod(f,
			      "{'name':'x','nodeName':'a','requests':{'cpu':'1','memory':'6Gi'}}");
	scheduler_fixture_pod(f, "{'name':'y','nodeName':'b','requests':{'cpu':'2','memory':'0',"
				 "'example.com/gpu':'1'}}");
}

static void least_allocated_prefers_nodes_with_much_left(void **state)
{
	static const struct fixture_row rows[] = {
		/* a: (3-1)/4 = 50, (2-1)/8 = 12; b: 5/8 = 62, 15/16 = 93. */
		{ "{'name':'p','requests':{'cpu':'1','memory':'1Gi'}}", "a=31/31 b=77/77" },
		/* Without requests it counts 100m and 200Mi: a 72, 22; b 73, 98. */
		{ "{'name':'p'}", "a=47/47 b=85/85" },
		/* More than there is counts as all. */
		{ "{'name':'p','requests':{'cpu':'5','memory':'10Gi'}}", "a=0/0 b=24/24" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, NULL);
	two_nodes(f);
	scheduler_fixture_check_scores(f, fit, rows, ARRAY_SIZE(rows));
}

static void most_allocated_prefers_nodes_with_little_left(void **state)
{
	static const char args[] =
		"{'NodeResourcesFit':{'scoringStrategy':{'type':'MostAllocated','resources':["
		"{'name':'cpu','weight':3},{'name':'memory','weight':1},"
		"{'name':'example.com/gpu'}]}}}";
	static const struct fixture_row rows[] = {
		/* a: 50*3 + 87; b: 37*3 + 6. */
		{ "{'name':'p','requests':{'cpu':'1','memory':'1Gi'}}", "a=59/59 b=29/29" },
		/* With a GPU b has 50 for it as well; a has none, so it does not count there. */
		{ "{'name':'p','requests':{'cpu':'1','memory':'1Gi','example.com/gpu':'1'}}",
		  "a=59/59 b=33/33" },
		{ "{'name':'p','requests':{'cpu':'50','memory':'1Gi'}}", "a=96/96 b=76/76" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, args);
	two_nodes(f);
	scheduler_fixture_check_scores(f, fit, rows, ARRAY_SIZE(rows));
}

static void a_shape_gives_the_score_of_what_is_in_use(void **state)
{
	static const char args[] =
		"{'NodeResourcesFit':{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
		"'resources':[{'name':'cpu','weight':2},{'name':'memory','weight':1}],"
		"'requestedToCapacityRatio':{'shape':[{'utilization':0,'score':0},"
		"{'utilization':50,'score':8},{'utilization':100,'score':2}]}}}}";
	static const struct fixture_row rows[] = {
		/* a: cpu 50 -> 80, memory 87 -> 36: 65.3; b: cpu 37 -> 59, memory 6 -> 9: 42.3. */
		{ "{'name':'p','requests':{'cpu':'1','memory':'1Gi'}}", "a=65/65 b=42/42" },
		/* A score of 0 does not count at all: b's memory is at 0. */
		{ "{'name':'p','requests':{'cpu':'1','memory':'1'}}", "a=70/70 b=59/59" },
		{ "{'name':'p','requests':{'cpu':'9','memory':'20Gi'}}", "a=20/20 b=20/20" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, args);
	two_nodes(f);
	scheduler_fixture_check_scores(f, fit, rows, ARRAY_SIZE(rows));
}

static void balance_is_scored_by_what_the_pod_changes(void **state)
{
	static const struct fixture_row rows[] = {
		/* a: 1/4 and 6/8 deviate by 0.25; with the pod 3/4 and 6/8 by 0: 75 -> 100. */
		{ "{'name':'p','requests':{'cpu':'2'}}", "a=87/87 b=69/69" },
		{ "{'name':'p','requests':{'memory':'1Gi'}}", "a=71/71 b=76/76" },
		{ "{'name':'p'}", "skip" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, balanced, NULL);
	two_nodes(f);
	scheduler_fixture_check_scores(f, balanced, rows, ARRAY_SIZE(rows));
}

static void three_resources_are_balanced_by_their_deviation(void **state)
{
	static const char args[] =
		"{'NodeResourcesBalancedAllocation':{'resources':[{'name':'cpu'},{'name':'memory'},"
		"{'name':'example.com/gpu','weight':1}]}}";
	static const struct fixture_row rows[] = {
		/* b: 2/8, 0, 1/4 deviate by 0.118: 88; with the pod 0.5, 0, 0.5 by 0.236: 76. */
		{ "{'name':'p','requests':{'cpu':'2','example.com/gpu':'1'}}", "a=87/87 b=69/69" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, balanced, args);
	two_nodes(f);
	scheduler_fixture_check_scores(f, balanced, rows, ARRAY_SIZE(rows));
}

/* --- hints ---------------------------------------------------------------------------------- */

static void nodes_wake_a_pod_when_it_would_fit_and_they_grew(void **state)
{
	static const char pod[] = "{'name':'p','requests':{'cpu':'2','example.com/gpu':'1'}}";
	static const char small[] = "{'name':'n','cpu':'1','example.com/gpu':'1'}";
	static const char fits[] = "{'name':'n','cpu':'2','example.com/gpu':'1'}";
	static const char more_memory[] =
		"{'name':'n','cpu':'2','memory':'1Gi','example.com/gpu':'1'}";
	static const char more_gpus[] = "{'name':'n','cpu':'2','example.com/gpu':'2'}";
	static const char more_pods[] = "{'name':'n','cpu':'2','example.com/gpu':'1','pods':111}";
	static const struct {
		const char *old, *now;
		bool wakes;
	} rows[] = {
		{ NULL, small, false },    { NULL, fits, true },      { small, fits, true },
		{ fits, fits, false },     { fits, small, false },    { fits, more_memory, false },
		{ fits, more_gpus, true }, { fits, more_pods, true },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned action = rows[i].old ? EVENT_UPDATE_NODE_ALLOCATABLE : EVENT_ADD;

		assert_int_equal(
			scheduler_fixture_node_wakes(f, fit, pod, action, rows[i].old, rows[i].now),
			rows[i].wakes);
	}
}

static void pods_wake_a_pod_when_they_give_back_what_it_wants(void **state)
{
	static const char pod[] = "{'name':'p','requests':{'cpu':'2'}}";
	static const char big[] =
		"{'name':'x','nodeName':'n','requests':{'cpu':'2','memory':'2Gi'}}";
	static const char less_cpu[] =
		"{'name':'x','nodeName':'n','requests':{'cpu':'1','memory':'2Gi'}}";
	static const char less_memory[] =
		"{'name':'x','nodeName':'n','requests':{'cpu':'2','memory':'1Gi'}}";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, NULL);
	assert_true(scheduler_fixture_pod_wakes(f, fit, pod, EVENT_DELETE, big, NULL));
	assert_true(scheduler_fixture_pod_wakes(f, fit, pod, EVENT_UPDATE_POD_SCALE_DOWN, big,
						less_cpu));
	assert_false(scheduler_fixture_pod_wakes(f, fit, pod, EVENT_UPDATE_POD_SCALE_DOWN, big,
						 less_memory));
	assert_false(
		scheduler_fixture_pod_wakes(f, fit, pod, EVENT_UPDATE_POD_LABEL, big, less_cpu));
	assert_true(
		scheduler_fixture_pod_wakes(f, fit, pod, EVENT_UPDATE_POD_SCALE_DOWN, pod, pod));
}

static bool class_wakes(struct scheduler_fixture *f, const char *pod, const char *old,
			const char *now)
{
	struct cached *a = old ? scheduler_fixture_object(f, old) : NULL;
	struct cached *b = scheduler_fixture_object(f, now);
	struct cluster_event e = { .kind = EVENT_DEVICE_CLASS,
				   .actions = old ? EVENT_UPDATE_OTHER : EVENT_ADD,
				   .old_object = a,
				   .object = b };
	bool wakes = scheduler_fixture_wakes(f, fit, pod, &e);

	cached_unref(a);
	cached_unref(b);
	return wakes;
}

static void a_class_that_offers_the_resource_wakes_a_pod(void **state)
{
	static const char pod[] = "{'name':'p','requests':{'example.com/gpu':'1'}}";
	static const char by_class[] =
		"{'name':'p','requests':{'deviceclass.resource.kubernetes.io/gpu':'1'}}";
	static const char plain[] = "{'metadata':{'name':'gpu'},'spec':{}}";
	static const char offers[] = "{'metadata':{'name':'gpu'},'spec':{'extendedResourceName':"
				     "'example.com/gpu'}}";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, fit, NULL);
	assert_true(class_wakes(f, pod, NULL, offers));
	assert_true(class_wakes(f, pod, plain, offers));
	assert_false(class_wakes(f, pod, offers, offers));
	assert_false(class_wakes(f, pod, NULL, plain));
	assert_true(class_wakes(f, by_class, NULL, plain));
	assert_false(class_wakes(f, by_class, plain, offers));
}

/* --- arguments ------------------------------------------------------------------------------ */

static void wrong_strategies_are_refused_in_upstreams_words(void **state)
{
	static const struct {
		const char *args, *message;
	} rows[] = {
		{ "{'NodeResourcesFit':{'scoringStrategy':{'type':'Best'}}}",
		  "scoringStrategy.type: Unsupported value: \"Best\": supported values: "
		  "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"" },
		{ "{'NodeResourcesFit':{'scoringStrategy':{'type':'LeastAllocated','resources':"
		  "[{'name':'cpu','weight':101}]}}}",
		  "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu "
		  "not in valid range (0, 100]" },
		{ "{'NodeResourcesFit':{'scoringStrategy':{'type':'RequestedToCapacityRatio'}}}",
		  "scoringStrategy.requestedToCapacityRatio: Required value: must be specified "
		  "when type is RequestedToCapacityRatio" },
		{ "{'NodeResourcesFit':{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
		  "'requestedToCapacityRatio':{'shape':[{'utilization':5,'score':1},"
		  "{'utilization':5,'score':11}]}}}}",
		  "[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: "
		  "5: values must be sorted in increasing order, "
		  "scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not "
		  "in valid range [0, 10]]" },
		{ "{'NodeResourcesFit':{'ignoredResourceGroups':['a/b']}}",
		  "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't "
		  "contain '/'" },
		{ "{'NodeResourcesFit':{'scoringStrategy':{'typ':'LeastAllocated'}}}",
		  "unknown field \"scoringStrategy.typ\"" },
	};
	struct scheduler_fixture *f = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(scheduler_fixture_try_profile(f, fit, rows[i].args, &err),
				 -ERR_INVALID);
		if (!strstr(err.msg, rows[i].message))
			fail_msg("\"%s\" lacks \"%s\"", err.msg, rows[i].message);
	}
	assert_int_equal(scheduler_fixture_try_profile(
				 f, balanced,
				 "{'NodeResourcesBalancedAllocation':{'resources':[{'name':'cpu'},"
				 "{'name':'cpu','weight':2}]}}",
				 &err),
			 -ERR_INVALID);
	if (!strstr(err.msg, "[resources[1].name: Duplicate value: \"cpu\", resources[1].weight: "
			     "Invalid value: 2: must be 1]"))
		fail_msg("%s", err.msg);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_fits_where_all_it_requests_is_left),
		TEST(ignored_resources_and_groups_are_not_asked_for),
		TEST(a_device_class_serves_a_resource_that_the_node_lacks),
		TEST(least_allocated_prefers_nodes_with_much_left),
		TEST(most_allocated_prefers_nodes_with_little_left),
		TEST(a_shape_gives_the_score_of_what_is_in_use),
		TEST(balance_is_scored_by_what_the_pod_changes),
		TEST(three_resources_are_balanced_by_their_deviation),
		TEST(nodes_wake_a_pod_when_it_would_fit_and_they_grew),
		TEST(pods_wake_a_pod_when_they_give_back_what_it_wants),
		TEST(a_class_that_offers_the_resource_wakes_a_pod),
		TEST(wrong_strategies_are_refused_in_upstreams_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
