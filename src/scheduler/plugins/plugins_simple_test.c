/*
 * Plugins that look at one pod and one node: gates, order, names, taints, affinity to nodes, ports,
 * images, declared features.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/testing/api_world.h"
#include "scheduler/framework/binding_fixture.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/run/scheduler_fixture.h"

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

/* --- queue ------------------------------------------------------------------------------- */

static void a_pod_with_gates_is_held_and_says_which(void **state)
{
	struct scheduler_fixture *f = *state;
	struct podinfo *pod;
	struct verdict v;

	scheduler_fixture_profile(f, "SchedulingGates", NULL);
	pod = scheduler_fixture_make_pod(f, "{'name':'p','schedulingGates':[{'name':'a.b/c'},"
					    "{'name':'d'}]}");
	v = profile_pre_enqueue(f->profile, pod, &f->arena);
	assert_int_equal(v.code, VERDICT_UNRESOLVABLE);
	assert_int_equal(v.n, 1);
	assert_string_equal(arena_strdup(&f->arena, v.reasons[0]),
			    "waiting for scheduling gates: [a.b/c d]");
	podinfo_unref(pod);
	pod = scheduler_fixture_make_pod(f, "{'name':'p'}");
	assert_int_equal(profile_pre_enqueue(f->profile, pod, &f->arena).code, VERDICT_SUCCESS);
	podinfo_unref(pod);
	assert_true(scheduler_fixture_pod_wakes(f, "SchedulingGates", "{'name':'p'}",
						EVENT_UPDATE_POD_GATES, "{'name':'p'}",
						"{'name':'p'}"));
	assert_false(scheduler_fixture_pod_wakes(f, "SchedulingGates", "{'name':'p'}",
						 EVENT_UPDATE_POD_LABEL, "{'name':'p'}",
						 "{'name':'p'}"));
}

static void priority_goes_before_time(void **state)
{
	static const struct {
		int32_t priority[2];
		int64_t since[2];
		bool less;
	} rows[] = {
		{ { 10, 0 }, { 9, 1 }, true }, { { 0, 10 }, { 1, 9 }, false },
		{ { 5, 5 }, { 1, 2 }, true },  { { 5, 5 }, { 2, 1 }, false },
		{ { 5, 5 }, { 1, 1 }, false }, { { -1, 0 }, { 1, 2 }, false },
	};
	struct scheduler_fixture *f = *state;
	const struct plugin *sort;

	scheduler_fixture_profile(f, "PrioritySort", NULL);
	sort = f->profile->queue_sort;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct podinfo pods[2] = { { .priority = rows[i].priority[0] },
					   { .priority = rows[i].priority[1] } };
		struct queued_pod a = { .pod = &pods[0], .since_ms = rows[i].since[0] };
		struct queued_pod b = { .pod = &pods[1], .since_ms = rows[i].since[1] };

		assert_int_equal(sort->kind->less(sort, &a, &b), rows[i].less);
	}
}

/* --- node name and unschedulable ---------------------------------------------------------- */

static void a_pod_that_names_its_node_fits_there_only(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "skip" },
		{ "{'name':'p','nodeName':'b'}", "a:UnschedulableAndUnresolvable[node(s) didn't "
						 "match the requested node name] b" },
	};
	struct scheduler_fixture *f = *state;
	struct cycle *c;
	struct plugin *p;

	scheduler_fixture_profile(f, "NodeName", NULL);
	scheduler_fixture_node(f, "{'name':'a'}");
	scheduler_fixture_node(f, "{'name':'b'}");
	scheduler_fixture_check_filters(f, "NodeName", rows, ARRAY_SIZE(rows));
	c = scheduler_fixture_cycle(f, rows[1].pod);
	p = scheduler_fixture_plugin(f, "NodeName");
	(void)p->kind->pre_filter(p, c);
	assert_true(c->restricted);
	assert_int_equal(c->nonly, 1);
	cycle_free(c);
	assert_true(scheduler_fixture_node_wakes(f, "NodeName", "{'name':'p'}", EVENT_ADD, NULL,
						 "{'name':'c'}"));
}

static void a_cordoned_node_takes_only_pods_that_tolerate_it(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "a b:UnschedulableAndUnresolvable[node(s) were unschedulable]" },
		{ "{'name':'p','tolerations':[{'key':'node.kubernetes.io/unschedulable',"
		  "'operator':'Exists','effect':'NoSchedule'}]}",
		  "a b" },
		{ "{'name':'p','tolerations':[{'operator':'Exists'}]}", "a b" },
		{ "{'name':'p','tolerations':[{'key':'node.kubernetes.io/unschedulable',"
		  "'operator':'Exists','effect':'NoExecute'}]}",
		  "a b:UnschedulableAndUnresolvable[node(s) were unschedulable]" },
	};
	static const char pod[] = "{'name':'p'}";
	static const char open[] = "{'name':'n'}", shut[] = "{'name':'n','unschedulable':true}";
	static const char plugin[] = "NodeUnschedulable";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, plugin, NULL);
	scheduler_fixture_node(f, "{'name':'a'}");
	scheduler_fixture_node(f, "{'name':'b','unschedulable':true}");
	scheduler_fixture_check_filters(f, plugin, rows, ARRAY_SIZE(rows));
	assert_true(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, open));
	assert_false(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, shut));
	assert_true(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_TAINT, shut, open));
	assert_false(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_TAINT, open, open));
	assert_false(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_LABEL, shut, open));
	assert_true(scheduler_fixture_pod_wakes(f, plugin, pod, EVENT_UPDATE_POD_TOLERATION, pod,
						rows[2].pod));
	assert_false(scheduler_fixture_pod_wakes(f, plugin, pod, EVENT_UPDATE_POD_TOLERATION, pod,
						 rows[3].pod));
}

/* --- taints ------------------------------------------------------------------------------ */

#define UNTOLERATED "UnschedulableAndUnresolvable[node(s) had untolerated taint(s)]"

static void taints_keep_pods_away_that_do_not_tolerate_them(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "a b:" UNTOLERATED " c:" UNTOLERATED " d" },
		{ "{'name':'p','tolerations':[{'key':'k','operator':'Equal','value':'v'}]}",
		  "a b c:" UNTOLERATED " d" },
		{ "{'name':'p','tolerations':[{'key':'k','value':'other'}]}",
		  "a b:" UNTOLERATED " c:" UNTOLERATED " d" },
		{ "{'name':'p','tolerations':[{'key':'k','operator':'Exists'},"
		  "{'key':'e','operator':'Exists','effect':'NoExecute'}]}",
		  "a b c d" },
		{ "{'name':'p','tolerations':[{'key':'k','operator':'Exists',"
		  "'effect':'NoExecute'}]}",
		  "a b:" UNTOLERATED " c:" UNTOLERATED " d" },
	};
	static const char plugin[] = "TaintToleration", pod[] = "{'name':'p'}";
	static const char clean[] = "{'name':'n'}";
	static const char tainted[] = "{'name':'n','taints':[{'key':'k','effect':'NoSchedule'}]}";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, plugin, NULL);
	scheduler_fixture_node(f, "{'name':'a'}");
	scheduler_fixture_node(f, "{'name':'b','taints':[{'key':'k','value':'v',"
				  "'effect':'NoSchedule'}]}");
	scheduler_fixture_node(f, "{'name':'c','taints':[{'key':'k','value':'v',"
				  "'effect':'NoSchedule'},{'key':'e','effect':'NoExecute'}]}");
	scheduler_fixture_node(f, "{'name':'d','taints':[{'key':'k','effect':"
				  "'PreferNoSchedule'}]}");
	scheduler_fixture_check_filters(f, plugin, rows, ARRAY_SIZE(rows));
	assert_true(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, clean));
	assert_false(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, tainted));
	assert_true(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_TAINT, tainted,
						 clean));
	assert_false(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_TAINT, clean,
						  clean));
	assert_true(
		scheduler_fixture_pod_wakes(f, plugin, pod, EVENT_UPDATE_POD_TOLERATION, pod, pod));
}

static void nodes_with_fewer_untolerated_soft_taints_are_better(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "a=0/100 b=1/50 c=2/0" },
		{ "{'name':'p','tolerations':[{'key':'x','operator':'Exists'}]}",
		  "a=0/100 b=0/100 c=1/0" },
		{ "{'name':'p','tolerations':[{'key':'x','operator':'Exists',"
		  "'effect':'NoSchedule'}]}",
		  "a=0/100 b=1/50 c=2/0" },
		{ "{'name':'p','tolerations':[{'operator':'Exists'}]}", "a=0/100 b=0/100 c=0/100" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "TaintToleration", NULL);
	scheduler_fixture_node(f, "{'name':'a'}");
	scheduler_fixture_node(f, "{'name':'b','taints':[{'key':'x','effect':"
				  "'PreferNoSchedule'}]}");
	scheduler_fixture_node(f, "{'name':'c','taints':[{'key':'x','effect':"
				  "'PreferNoSchedule'},{'key':'y','effect':'PreferNoSchedule'}]}");
	scheduler_fixture_check_scores(f, "TaintToleration", rows, ARRAY_SIZE(rows));
}

/* --- affinity to nodes ---------------------------------------------------------------------- */

#define NO_MATCH "UnschedulableAndUnresolvable[node(s) didn't match Pod's node affinity/selector]"
#define REQUIRED(terms)                                                                  \
	"{'name':'p','affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuring" \
	"Execution':{'nodeSelectorTerms':[" terms "]}}}}"
#define EXPRESSION(key, operator, values) \
	"{'matchExpressions':[{'key':'" key "','operator':'" operator"','values':[" values "]}]}"
#define FIELD(operator, name)                                              \
	"{'matchFields':[{'key':'metadata.name','operator':'" operator"'," \
								      "'values':['" name "']}]}"

static void three_nodes(struct scheduler_fixture *f)
{
	scheduler_fixture_node(f, "{'name':'a','labels':{'disk':'ssd','cores':'8'}}");
	scheduler_fixture_node(f, "{'name':'b','labels':{'disk':'hdd','cores':'16'}}");
	scheduler_fixture_node(f, "{'name':'c'}");
}

static void node_selector_and_affinity_choose_nodes(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "skip" },
		{ "{'name':'p','nodeSelector':{'disk':'ssd'}}", "a b:" NO_MATCH " c:" NO_MATCH },
		{ REQUIRED(EXPRESSION("disk", "In", "'ssd','nvme'")),
		  "a b:" NO_MATCH " c:" NO_MATCH },
		{ REQUIRED(EXPRESSION("disk", "NotIn", "'ssd'")), "a:" NO_MATCH " b c" },
		{ REQUIRED(EXPRESSION("disk", "Exists", "")), "a b c:" NO_MATCH },
		{ REQUIRED(EXPRESSION("disk", "DoesNotExist", "")),
		  "a:" NO_MATCH " b:" NO_MATCH " c" },
		{ REQUIRED(EXPRESSION("cores", "Gt", "'8'")), "a:" NO_MATCH " b c:" NO_MATCH },
		{ REQUIRED(EXPRESSION("cores", "Lt", "'9'")), "a b:" NO_MATCH " c:" NO_MATCH },
		{ REQUIRED(EXPRESSION("disk", "In", "'ssd'") "," FIELD("In", "c")),
		  "a b:" NO_MATCH " c" },
		{ REQUIRED(FIELD("NotIn", "c")), "a b c:" NO_MATCH },
		{ REQUIRED("{}"), "a:" NO_MATCH " b:" NO_MATCH " c:" NO_MATCH },
		{ REQUIRED("{'matchFields':[{'key':'metadata.name','operator':'In','values':['a']},"
			   "{'key':'metadata.name','operator':'In','values':['b']}]}"),
		  "UnschedulableAndUnresolvable[pod affinity terms conflict]" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "NodeAffinity", NULL);
	three_nodes(f);
	scheduler_fixture_check_filters(f, "NodeAffinity", rows, ARRAY_SIZE(rows));
}

static void terms_that_all_name_nodes_leave_only_those(void **state)
{
	static const struct {
		const char *pod;
		bool restricted;
		size_t n;
	} rows[] = {
		{ REQUIRED(FIELD("In", "a")), true, 1 },
		{ REQUIRED(FIELD("In", "a") "," FIELD("In", "c")), true, 2 },
		{ REQUIRED(FIELD("In", "a") "," EXPRESSION("disk", "Exists", "")), false, 0 },
		{ REQUIRED(FIELD("NotIn", "a")), false, 0 },
		{ "{'name':'p','nodeSelector':{'disk':'ssd'}}", false, 0 },
	};
	struct scheduler_fixture *f = *state;
	struct plugin *p;

	scheduler_fixture_profile(f, "NodeAffinity", NULL);
	three_nodes(f);
	p = scheduler_fixture_plugin(f, "NodeAffinity");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cycle *c = scheduler_fixture_cycle(f, rows[i].pod);

		assert_int_equal(p->kind->pre_filter(p, c).code, VERDICT_SUCCESS);
		assert_int_equal(c->restricted, rows[i].restricted);
		assert_int_equal(c->nonly, rows[i].n);
		cycle_free(c);
	}
}

#define PREFERRED(terms)                                                                  \
	"{'name':'p','affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuring" \
	"Execution':[" terms "]}}}"

static void preferred_terms_add_their_weights(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "skip" },
		{ PREFERRED("{'weight':30,'preference':" EXPRESSION(
			  "disk", "In", "'ssd'") "},"
						 "{'weight':10,'preference':" EXPRESSION(
							 "disk", "Exists", "") "}"),
		  "a=40/100 b=10/25 c=0/0" },
		{ PREFERRED("{'weight':30,'preference':" EXPRESSION("x", "Exists", "") "}"),
		  "a=0/0 b=0/0 c=0/0" },
		{ PREFERRED("{'weight':30,'preference':{}}"), "a=0/0 b=0/0 c=0/0" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "NodeAffinity", NULL);
	three_nodes(f);
	scheduler_fixture_check_scores(f, "NodeAffinity", rows, ARRAY_SIZE(rows));
}

static void affinity_of_the_profile_is_added_to_every_pod(void **state)
{
	static const char args[] =
		"{'NodeAffinity':{'kind':'NodeAffinityArgs','addedAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':"
		"[" EXPRESSION("disk", "Exists",
			       "") "]},"
				   "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':5,"
				   "'preference':" EXPRESSION("disk", "In", "'hdd'") "}]}}}";
	static const struct fixture_row filters[] = {
		{ "{'name':'p'}", "a b c:UnschedulableAndUnresolvable[node(s) didn't match "
				  "scheduler-enforced node affinity]" },
		{ "{'name':'p','nodeSelector':{'disk':'hdd'}}",
		  "a:" NO_MATCH " b c:UnschedulableAndUnresolvable[node(s) didn't match "
		  "scheduler-enforced node affinity]" },
	};
	static const struct fixture_row scores[] = { { "{'name':'p'}", "a=0/0 b=5/100 c=0/0" } };
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "NodeAffinity", args);
	three_nodes(f);
	scheduler_fixture_check_filters(f, "NodeAffinity", filters, ARRAY_SIZE(filters));
	scheduler_fixture_check_scores(f, "NodeAffinity", scores, ARRAY_SIZE(scores));
	assert_false(scheduler_fixture_node_wakes(f, "NodeAffinity", "{'name':'p'}", EVENT_ADD,
						  NULL, "{'name':'n'}"));
	assert_true(scheduler_fixture_node_wakes(f, "NodeAffinity", "{'name':'p'}", EVENT_ADD, NULL,
						 "{'name':'n','labels':{'disk':'x'}}"));
}

static void a_node_that_comes_to_match_wakes_a_pod_that_needs_it(void **state)
{
	static const char plugin[] = "NodeAffinity";
	static const char pod[] = "{'name':'p','nodeSelector':{'disk':'ssd'}}";
	static const char ssd[] = "{'name':'n','labels':{'disk':'ssd'}}";
	static const char hdd[] = "{'name':'n','labels':{'disk':'hdd'}}";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, plugin, NULL);
	assert_true(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, ssd));
	assert_false(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, hdd));
	assert_true(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_LABEL, hdd, ssd));
	assert_false(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_LABEL, ssd, ssd));
	assert_false(
		scheduler_fixture_node_wakes(f, plugin, pod, EVENT_UPDATE_NODE_TAINT, hdd, ssd));
}

/* --- ports ---------------------------------------------------------------------------------- */

#define PORTS(list) "{'name':'p','containers':[{'name':'c','image':'i','ports':[" list "]}]}"
#define PORTS_ON(node, list)                                                                     \
	"{'name':'q','nodeName':'" node "','containers':[{'name':'c','image':'i','ports':[" list \
	"]}]}"
#define NO_PORT "Unschedulable[node(s) didn't have free ports for the requested pod ports]"

static void ports_of_the_host_must_be_free(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "skip" },
		{ PORTS("{'containerPort':80}"), "skip" },
		{ PORTS("{'containerPort':80,'hostPort':80}"), "a:" NO_PORT " b:" NO_PORT " c" },
		{ PORTS("{'containerPort':80,'hostPort':80,'protocol':'UDP'}"), "a b c" },
		{ PORTS("{'containerPort':80,'hostPort':81}"), "a b c" },
		{ PORTS("{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1'}"),
		  "a:" NO_PORT " b:" NO_PORT " c" },
		{ PORTS("{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.2'}"),
		  "a:" NO_PORT " b c" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "NodePorts", NULL);
	scheduler_fixture_node(f, "{'name':'a'}");
	scheduler_fixture_node(f, "{'name':'b'}");
	scheduler_fixture_node(f, "{'name':'c'}");
	scheduler_fixture_pod(f, PORTS_ON("a", "{'containerPort':80,'hostPort':80}"));
	scheduler_fixture_pod(
		f, PORTS_ON("b", "{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1'}"));
	scheduler_fixture_check_filters(f, "NodePorts", rows, ARRAY_SIZE(rows));
}

static void a_pod_that_goes_with_the_port_wakes_who_wants_it(void **state)
{
	static const char plugin[] = "NodePorts";
	static const char pod[] = PORTS("{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1'}");
	static const struct {
		const char *gone;
		bool wakes;
	} rows[] = {
		{ PORTS_ON("a", "{'containerPort':80,'hostPort':80}"), true },
		{ PORTS_ON("a", "{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1'}"), true },
		{ PORTS_ON("a", "{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.2'}"), false },
		{ PORTS_ON("a", "{'containerPort':80,'hostPort':81}"), false },
		{ PORTS_ON("a", "{'containerPort':80,'hostPort':80,'protocol':'UDP'}"), false },
		{ PORTS_ON("a", "{'containerPort':80}"), false },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, plugin, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(scheduler_fixture_pod_wakes(f, plugin, pod, EVENT_DELETE,
							     rows[i].gone, NULL),
				 rows[i].wakes);
	assert_true(scheduler_fixture_node_wakes(f, plugin, pod, EVENT_ADD, NULL, "{'name':'n'}"));
}

/* --- images --------------------------------------------------------------------------------- */

static void nodes_that_have_the_images_are_better(void **state)
{
	/* 250 MiB on 2 of 3 nodes, 2000 MiB on 1, 10 MiB on 1. */
	static const struct fixture_row rows[] = {
		{ "{'name':'p','image':'big:1'}", "a=65/65 b=0/0 c=0/0" },
		{ "{'name':'p','image':'mid'}", "a=14/14 b=14/14 c=0/0" },
		{ "{'name':'p','image':'small:1'}", "a=0/0 b=0/0 c=0/0" },
		{ "{'name':'p','image':'unknown'}", "skip" },
		{ "{'name':'p','image':'registry:5000/mid'}", "skip" },
		{ "{'name':'p','containers':[{'name':'c','image':'big:1'},"
		  "{'name':'d','image':'mid:latest'}]}",
		  "a=40/40 b=7/7 c=0/0" },
		{ "{'name':'p','initContainers':[{'name':'i','image':'big:1'}],"
		  "'containers':[{'name':'c','image':'mid'}]}",
		  "a=40/40 b=7/7 c=0/0" },
		{ "{'name':'p','image':'unknown','volumes':[{'name':'v','image':{'reference':"
		  "'big:1'}}]}",
		  "a=32/32 b=0/0 c=0/0" },
	};
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, "ImageLocality", NULL);
	scheduler_fixture_node(f, "{'name':'a','images':[{'names':['big:1','big@sha256:1'],"
				  "'sizeBytes':2097152000},{'names':['mid:latest'],"
				  "'sizeBytes':262144000}]}");
	scheduler_fixture_node(f, "{'name':'b','images':[{'names':['mid:latest'],"
				  "'sizeBytes':262144000}]}");
	scheduler_fixture_node(
		f, "{'name':'c','images':[{'names':['small:1'],'sizeBytes':10485760}]}");
	scheduler_fixture_check_scores(f, "ImageLocality", rows, ARRAY_SIZE(rows));
}

/* --- features ------------------------------------------------------------------------------- */

#define NO_FEATURE "UnschedulableAndUnresolvable[node(s) didn't match Pod's required features]"

static void nodes_must_declare_what_a_pod_needs(void **state)
{
	static const struct fixture_row rows[] = {
		{ "{'name':'p'}", "skip" },
		{ "{'name':'p','hostNetwork':true,'hostUsers':false}", "a b:" NO_FEATURE },
		{ "{'name':'p','hostNetwork':true,'hostUsers':true}", "skip" },
		{ "{'name':'p','containers':[{'name':'c','image':'i','restartPolicyRules':"
		  "[{'action':'RestartAllContainers'}]}]}",
		  "a:" NO_FEATURE " b" },
	};
	static const char with[] = "{'name':'n','declaredFeatures':['X']}";
	static const char without[] = "{'name':'n'}";
	static const char plugin[] = "NodeDeclaredFeatures";
	struct scheduler_fixture *f = *state;

	scheduler_fixture_profile(f, plugin, NULL);
	scheduler_fixture_node(f, "{'name':'a','declaredFeatures':"
				  "['UserNamespacesHostNetworkSupport']}");
	scheduler_fixture_node(f, "{'name':'b','declaredFeatures':"
				  "['RestartAllContainersOnContainerExits']}");
	scheduler_fixture_check_filters(f, plugin, rows, ARRAY_SIZE(rows));
	assert_true(scheduler_fixture_node_wakes(f, plugin, rows[1].pod, EVENT_UPDATE_NODE_FEATURES,
						 without, with));
	assert_false(scheduler_fixture_node_wakes(f, plugin, rows[1].pod,
						  EVENT_UPDATE_NODE_FEATURES, with, with));
	assert_false(scheduler_fixture_pod_wakes(f, plugin, rows[1].pod, EVENT_UPDATE_POD_LABEL,
						 rows[1].pod, rows[1].pod));
	assert_true(scheduler_fixture_pod_wakes(f, plugin, rows[1].pod, EVENT_UPDATE_OTHER,
						rows[1].pod, rows[0].pod));
}

/* --- binding -------------------------------------------------------------------------------- */

struct bind_server {
	int status;
	const char *reply, *pod;
	bool stumbles; /* the first POST is answered so, the others 201 */
	bool cuts; /* the reply breaks off after its head */
	struct http_stream *cut;
	char seen[1024]; /* the last POST */
	int posts;
};

static void serve_binding(struct api_world *w, struct http_stream *s, struct str body)
{
	struct bind_server *server = w->data;

	if (str_eqz(s->in.method, "GET")) {
		api_world_reply(s, 200, "application/json", server->pod);
		return;
	}
	(void)snprintf(server->seen, sizeof(server->seen), "%.*s %.*s %.*s", STR_ARG(s->in.method),
		       STR_ARG(s->in.target), STR_ARG(body));
	server->posts++;
	if (server->cuts) {
		assert_int_equal(http_stream_respond(s, server->status, NULL, 0, -1), 0);
		server->cut = s;
	} else if (server->stumbles && server->posts > 1)
		api_world_reply(s, 201, "application/json", "{}");
	else
		api_world_reply(s, server->status, "application/json", server->reply);
}

#define CONFLICT \
	"Operation cannot be fulfilled on pods/binding: pod p is already assigned to a node"
#define BOUND_TO(node) \
	"{\"metadata\":{\"name\":\"p\",\"uid\":\"u1\"},\"spec\":{\"nodeName\":\"" node "\"}}"

static void await_end(struct api_world *w, struct bind_server *server, struct kept_binding *b)
{
	enum { HANG_MS = 60 * 1000 };

	if (server->cuts) {
		sim_run_for(w->sim, 100);
		http_stream_reset(server->cut, &(struct error){ .code = ERR_IO });
	}
	assert_true(sim_run_until(w->sim, kept_binding_has_ended, b, HANG_MS));
}

static void binding_creates_a_binding_and_hands_on_a_refusal(void **state)
{
	static const char conflict[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
				       "\"Conflict\",\"message\":\"" CONFLICT "\",\"code\":409}";
	static const char unavailable[] =
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
		"\"ServiceUnavailable\",\"message\":\"later\",\"code\":503}";
	static const char missing[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
				      "\"NotFound\",\"message\":\"pods \\\"p\\\" not found\","
				      "\"code\":404}";
	static const struct {
		int status;
		const char *reply, *pod;
		enum verdict_code code;
		const char *message;
		bool gone, stumbles, doubted, cuts;
	} rows[] = {
		{ 201, "{\"kind\":\"Status\"}", "{}", VERDICT_SUCCESS, "" },
		/* The server has bound it, but its reply was cut. */
		{ 201, "", BOUND_TO("n1"), VERDICT_SUCCESS, "", .cuts = true },
		{ 404, missing, "{}", VERDICT_ERROR, "pods \"p\" not found", true },
		{ 409, conflict, BOUND_TO("n2"), VERDICT_ERROR, CONFLICT, .doubted = true },
		/* It was ours that the server had done already. */
		{ 409, conflict, BOUND_TO("n1"), VERDICT_SUCCESS, "" },
		/* Nobody knows, and the pod is not bound yet: once more, which settles it. */
		{ 503, unavailable, BOUND_TO(""), VERDICT_SUCCESS, "", false, true },
		{ 503, unavailable, BOUND_TO(""), VERDICT_ERROR, "later", .doubted = true },
		{ 503, unavailable, BOUND_TO("n2"), VERDICT_ERROR, "later", .doubted = true },
	};
	struct scheduler_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bind_server server = { .status = rows[i].status,
					      .reply = rows[i].reply,
					      .pod = rows[i].pod,
					      .stumbles = rows[i].stumbles,
					      .cuts = rows[i].cuts };
		struct kept_binding b;
		struct api_world w;
		struct plugin *p;

		api_world_init(&w, &(struct sim_opts){ .seed = i + 1 }, HTTP_PROTOCOL_2);
		w.handler = serve_binding;
		w.data = &server;
		f->services.client = w.client;
		f->services.loop = w.outside;
		scheduler_fixture_profile(f, "DefaultBinder", NULL);
		p = scheduler_fixture_plugin(f, "DefaultBinder");
		b = kept_binding_of(
			scheduler_fixture_cycle(f, "{'name':'p','namespace':'x','uid':'u1'}"));
		p->kind->bind(p, &b.binding);
		assert_int_equal(b.ended, 0);
		await_end(&w, &server, &b);
		assert_int_equal(b.answer.code, rows[i].code);
		assert_int_equal(b.binding.gone, rows[i].gone);
		assert_int_equal(b.binding.doubted, rows[i].doubted);
		assert_string_equal(
			arena_strdup(&f->arena,
				     verdict_message(&b.answer, &b.binding.cycle->arena)),
			rows[i].message);
		assert_string_equal(
			server.seen,
			"POST /api/v1/namespaces/x/pods/p/binding {\"apiVersion\":\"v1\","
			"\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"namespace\":"
			"\"x\",\"uid\":\"u1\"},\"target\":{\"kind\":\"Node\",\"name\":"
			"\"n1\"}}");
		cycle_free(b.binding.cycle);
		api_world_release(&w);
		f->services.client = NULL;
		f->services.loop = NULL;
	}
}

/* --- arguments ------------------------------------------------------------------------------ */

static void arguments_that_are_wrong_are_refused_by_name(void **state)
{
	static const struct {
		const char *plugin, *args, *message;
	} rows[] = {
		{ "NodeAffinity", "{'NodeAffinity':{'addedAffinty':{}}}",
		  "unknown field \"addedAffinty\"" },
		{ "NodeAffinity", "{'NodeAffinity':{'kind':'InterPodAffinityArgs'}}",
		  "want args to be of type NodeAffinityArgs, got InterPodAffinityArgs" },
		{ "NodeAffinity",
		  "{'NodeAffinity':{'addedAffinity':{'requiredDuringSchedulingIgnoredDuring"
		  "Execution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':"
		  "'Like'}]}]}}}}",
		  "\"Like\" is not a valid node selector operator" },
		{ "InterPodAffinity", "{'InterPodAffinity':{'hardPodAffinityWeight':101}}",
		  "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]" },
		{ "PodTopologySpread", "{'PodTopologySpread':{'defaultingType':'Any'}}",
		  "defaultingType: Unsupported value: \"Any\": supported values: \"System\", "
		  "\"List\"" },
		{ "PodTopologySpread",
		  "{'PodTopologySpread':{'defaultConstraints':[{'maxSkew':1,'topologyKey':'a',"
		  "'whenUnsatisfiable':'DoNotSchedule'}]}}",
		  "defaultingType: Invalid value: \"System\": when .defaultConstraints are not "
		  "empty" },
		{ "PodTopologySpread",
		  "{'PodTopologySpread':{'defaultingType':'List','defaultConstraints':["
		  "{'maxSkew':0,'topologyKey':'a','whenUnsatisfiable':'DoNotSchedule'}]}}",
		  "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)" },
		{ "PodTopologySpread",
		  "{'PodTopologySpread':{'defaultingType':'List','defaultConstraints':["
		  "{'maxSkew':1,'topologyKey':'a','whenUnsatisfiable':'DoNotSchedule'},"
		  "{'maxSkew':2,'topologyKey':'a','whenUnsatisfiable':'DoNotSchedule'}]}}",
		  "defaultConstraints[1]: Duplicate value: \"{a, DoNotSchedule}\"" },
	};
	struct scheduler_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = { .msg = "" };

		assert_int_equal(
			scheduler_fixture_try_profile(f, rows[i].plugin, rows[i].args, &err),
			-ERR_INVALID);
		if (!strstr(err.msg, rows[i].message) || !strstr(err.msg, rows[i].plugin))
			fail_msg("\"%s\" lacks \"%s\"", err.msg, rows[i].message);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_with_gates_is_held_and_says_which),
		TEST(priority_goes_before_time),
		TEST(a_pod_that_names_its_node_fits_there_only),
		TEST(a_cordoned_node_takes_only_pods_that_tolerate_it),
		TEST(taints_keep_pods_away_that_do_not_tolerate_them),
		TEST(nodes_with_fewer_untolerated_soft_taints_are_better),
		TEST(node_selector_and_affinity_choose_nodes),
		TEST(terms_that_all_name_nodes_leave_only_those),
		TEST(preferred_terms_add_their_weights),
		TEST(affinity_of_the_profile_is_added_to_every_pod),
		TEST(a_node_that_comes_to_match_wakes_a_pod_that_needs_it),
		TEST(ports_of_the_host_must_be_free),
		TEST(a_pod_that_goes_with_the_port_wakes_who_wants_it),
		TEST(nodes_that_have_the_images_are_better),
		TEST(nodes_must_declare_what_a_pod_needs),
		TEST(binding_creates_a_binding_and_hands_on_a_refusal),
		TEST(arguments_that_are_wrong_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
