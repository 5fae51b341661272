/*
 * Pods, nodes and amounts as they are read from API objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/cached.h"
#include "scheduler/cache/cluster_event.h"
#include "scheduler/cache/nodeinfo.h"
#include "scheduler/cache/nodeobject.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/scheduler_limits.h"

#define ASSERT_STR(s, z)                                                                    \
	do {                                                                                \
		struct str s_ = (s);                                                        \
		if (!str_eqz(s_, z))                                                        \
			fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(s_), (const char *)(z)); \
	} while (0)

static struct amount_names names;

static int set_up(void **state UNUSED)
{
	amount_names_init(&names);
	return 0;
}

static int tear_down(void **state UNUSED)
{
	amount_names_release(&names);
	return 0;
}

/* Texts are written with ' for ". */
static struct cached *object(const char *text)
{
	struct cached *o = NULL;
	struct error err;
	char *copy = xstrdup(text);

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (cached_new(str_from(copy), NULL, &o, &err) < 0)
		fail_msg("%s: %s", err.msg, copy);
	free(copy);
	return o;
}

static int try_pod(const char *text, struct podinfo **ret_pod, struct error *err)
{
	struct cached *o = object(text);
	int r = podinfo_new(o, &names, ret_pod, err);

	cached_unref(o);
	return r;
}

static struct podinfo *pod(const char *text)
{
	struct podinfo *p = NULL;
	struct error err;

	if (try_pod(text, &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static struct nodeobject *node(const char *text)
{
	struct cached *o = object(text);
	struct nodeobject *n = NULL;
	struct error err;

	if (nodeobject_new(o, &names, &n, &err) < 0)
		fail_msg("%s", err.msg);
	cached_unref(o);
	return n;
}

/* A pod with this spec; with status when not NULL. */
static struct podinfo *pod_with(const char *spec, const char *status)
{
	struct buf b = BUF_INIT(65536);
	struct podinfo *p;

	(void)buf_printf(&b,
			 "{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'app':'a',"
			 "'hash':'h1'}},'spec':%s%s%s}",
			 spec, status ? ",'status':" : "", status ? status : "");
	p = pod(b.p);
	buf_release(&b);
	return p;
}

/* --- amounts --------------------------------------------------------------------- */

static void sums_keep_scalars_in_order(void **state UNUSED)
{
	struct amounts a, b;
	uint32_t x = amount_names_id(&names, STR("example.com/x"));
	uint32_t y = amount_names_id(&names, STR("example.com/y"));

	assert_int_equal(amount_names_id(&names, STR("example.com/x")), x);
	assert_true(x != y);
	ASSERT_STR(amount_names_text(&names, y), "example.com/y");
	amounts_init(&a);
	amounts_init(&b);
	amounts_set_scalar(&a, y, 5);
	amounts_set_scalar(&b, x, 2);
	amounts_set_scalar(&b, y, 1);
	b.cpu_milli = 7;
	amounts_add(&a, &b);
	assert_int_equal(a.scalars.n, 2);
	assert_true(a.scalars.v[0].name < a.scalars.v[1].name);
	assert_int_equal(amounts_scalar(&a, x), 2);
	assert_int_equal(amounts_scalar(&a, y), 6);
	amounts_sub(&a, &b);
	assert_int_equal(amounts_scalar(&a, x), 0);
	assert_int_equal(amounts_scalar(&a, y), 5);
	assert_int_equal(a.cpu_milli, 0);
	amounts_max(&a, &b);
	assert_int_equal(amounts_scalar(&a, x), 2);
	assert_int_equal(amounts_scalar(&a, y), 5);
	assert_int_equal(a.cpu_milli, 7);
	assert_int_equal(amounts_scalar(&a, 999), 0);
	amounts_release(&a);
	amounts_release(&b);
}

static void sums_stop_at_the_largest_number(void **state UNUSED)
{
	struct amounts a, b;

	amounts_init(&a);
	amounts_init(&b);
	a.memory = INT64_MAX - 1;
	b.memory = 5;
	amounts_add(&a, &b);
	assert_true(a.memory == INT64_MAX);
	amounts_release(&a);
	amounts_release(&b);
}

static void names_go_with_all_that_has_them(void **state UNUSED)
{
	uint32_t before = names.by_name.n;
	struct nodeobject *n = node("{'metadata':{'name':'n'},'status':{'allocatable':{'a.io/n':1,"
				    "'a.io/p':1}}}");
	struct podinfo *p = pod("{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{"
				"'containers':[{'name':'c','resources':{'requests':{'a.io/p':1,"
				"'a.io/q':1}}}]}}");
	struct podinfo *assumed = podinfo_assumed(p, STR("n"));
	uint32_t id = assumed->requests.scalars.v[1].name;

	assert_int_equal(names.by_name.n, before + 3);
	nodeobject_unref(n);
	assert_int_equal(names.by_name.n, before + 2);
	podinfo_unref(p);
	assert_int_equal(names.by_name.n, before + 2);
	ASSERT_STR(amount_names_text(&names, id), "a.io/q");
	podinfo_unref(assumed);
	assert_int_equal(names.by_name.n, before);
	assert_null(amount_names_text(&names, id).p);
	/* Numbers are used again. */
	for (int i = 0; i < 100; i++)
		podinfo_unref(pod("{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{"
				  "'nodeName':'n','containers':[{'name':'c','resources':{"
				  "'requests':{'a.io/p':1,'a.io/q':1}}}]}}"));
	assert_true(names.names.n <= before + 3);
}

/* As many in each of several containers as would fit in one. */
static int read_with_names(size_t containers, size_t each, bool init, struct podinfo **ret_pod,
			   struct error *err)
{
	struct buf b = BUF_INIT(1 << 20);
	int r;

	(void)buf_printf(&b, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'%s':[",
			 init ? "initContainers" : "containers");
	for (size_t i = 0; i < containers; i++) {
		(void)buf_printf(&b, "%s{'name':'c%zu','resources':{'requests':{", i ? "," : "", i);
		for (size_t j = 0; j < each; j++)
			(void)buf_printf(&b, "%s'a.io/%zu-%zu':1", j ? "," : "", i, j);
		(void)buf_printf(&b, "}}}");
	}
	(void)buf_printf(&b, "]}}");
	r = try_pod(b.p, ret_pod, err);
	buf_release(&b);
	return r;
}

static void a_pod_of_very_many_names_is_refused_and_leaves_none(void **state UNUSED)
{
	static const struct {
		size_t containers, each;
		bool init, refused;
	} cases[] = {
		{ 1, POD_RESOURCES_MAX, false, false },
		{ 1, POD_RESOURCES_MAX + 1, false, true },
		{ 8, POD_RESOURCES_MAX / 4, false, true },
		{ 1, POD_RESOURCES_MAX, true, false },
		{ 8, POD_RESOURCES_MAX / 4, true, true },
	};
	uint32_t before = names.by_name.n;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(podinfo_unref) struct podinfo *p = NULL;
		struct error err = { 0 };
		int r = read_with_names(cases[i].containers, cases[i].each, cases[i].init, &p,
					&err);

		if ((r == -ERR_INVALID) != cases[i].refused)
			fail_msg("case %zu: %d, %s", i, r, err.msg);
		if (!cases[i].refused)
			continue;
		assert_non_null(strstr(err.msg, "requests more than 512 different resources"));
		assert_int_equal(names.by_name.n, before);
	}
}

/* --- requests -------------------------------------------------------------------- */

static void a_pod_takes_no_more_than_thousands_of_which_have_a_sum(void **state UNUSED)
{
	struct podinfo *p = pod(
		"{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':["
		"{'name':'a','resources':{'requests':{'memory':'9223372036854775807',"
		"'cpu':'9223372036854775807','ephemeral-storage':'9223372036854775807',"
		"'a.io/x':'9223372036854775807'}}},{'name':'b'}]}}");
	struct nodeinfo *n;

	assert_true(p->requests.cpu_milli == AMOUNT_MAX && p->requests.memory == AMOUNT_MAX);
	assert_true(p->requests.ephemeral == AMOUNT_MAX);
	assert_true(p->requests.scalars.v[0].value == AMOUNT_MAX);
	assert_true(p->nonzero_cpu_milli == AMOUNT_MAX && p->nonzero_memory == AMOUNT_MAX);
	n = nodeinfo_new(STR("n"));
	n->requested.memory = n->nonzero_memory = 7;
	for (int i = 0; i < 4000; i++)
		nodeinfo_add_pod(n, p);
	for (int i = 0; i < 4000; i++)
		assert_true(nodeinfo_remove_pod(n, p));
	assert_int_equal(n->requested.memory, 7);
	assert_int_equal(n->nonzero_memory, 7);
	assert_int_equal(n->requested.cpu_milli, 0);
	assert_int_equal(n->requested.scalars.n, 0);
	nodeinfo_unref(n);
	podinfo_unref(p);
}

struct request_case {
	const char *what, *spec, *status;
	int64_t cpu, memory, nonzero_cpu, nonzero_memory, gpus;
};

#define MI (1024LL * 1024)
/* One container, by what it requests. */
#define REQ(list)     "{'name':'c','resources':{'requests':{" list "}}}"
#define SIDECAR(list) "{'name':'s','restartPolicy':'Always','resources':{'requests':{" list "}}}"
#define ONE_5MI       REQ("'cpu':'1','memory':'5Mi'")

static const struct request_case request_cases[] = {
	{ "nothing asked for", "{'containers':[{'name':'c'},{'name':'d'}]}", NULL, 0, 0, 200,
	  400 * MI, 0 },
	{ "containers are summed",
	  "{'containers':[" REQ("'cpu':'100m','memory':'1Gi'") "," REQ(
		  "'cpu':1,'memory':'512Mi','example.com/gpu':'2'") "]}",
	  NULL, 1100, 1536 * MI, 1100, 1536 * MI, 2 },
	{ "the largest init container counts",
	  "{'initContainers':[" REQ("'cpu':'3','memory':'1Mi'") "," REQ(
		  "'memory':'9Mi'") "],'containers':[" ONE_5MI "]}",
	  NULL, 3000, 9 * MI, 3000, 9 * MI, 0 },
	{ "sidecars add to what comes after them",
	  "{'initContainers':[" REQ("'cpu':'1','memory':'1Mi'") "," SIDECAR(
		  "'cpu':'2','memory':'2Mi'") "," REQ("'cpu':'4','memory':'1Mi'") "],'containers':"
										  "[" ONE_5MI "]}",
	  NULL, 6000, 7 * MI, 6000, 7 * MI, 0 },
	{ "overhead is on top",
	  "{'overhead':{'cpu':'50m','memory':'10Mi'},'containers':[" ONE_5MI "]}", NULL, 1050,
	  15 * MI, 1050, 15 * MI, 0 },
	{ "requests of the pod replace those of containers",
	  "{'resources':{'requests':{'cpu':'2'}},'containers':[" ONE_5MI ",{'name':'d'}]}", NULL,
	  2000, 5 * MI, 2000, 5 * MI, 0 },
	{ "without any memory a pod with requests of its own counts the default",
	  "{'resources':{'requests':{'cpu':'2'}},'containers':[{'name':'c'}]}", NULL, 2000, 0, 2000,
	  200 * MI, 0 },
	{ "while it is resized the most counts", "{'containers':[" ONE_5MI "]}",
	  "{'containerStatuses':[{'name':'c','allocatedResources':{'cpu':'2','memory':'5Mi'},"
	  "'resources':{'requests':{'cpu':'3','memory':'4Mi'}}}]}",
	  3000, 5 * MI, 3000, 5 * MI, 0 },
	{ "what cannot be resized to does not count", "{'containers':[" ONE_5MI "]}",
	  "{'conditions':[{'type':'PodResizePending','reason':'Infeasible'}],"
	  "'containerStatuses':[{'name':'c','allocatedResources':{'cpu':'500m','memory':'5Mi'}}]}",
	  500, 5 * MI, 500, 5 * MI, 0 },
	{ "names without a domain are no resources",
	  "{'containers':[" REQ("'cpu':'1','memory':'1Mi','wood':'4'") "]}", NULL, 1000, 1 * MI,
	  1000, 1 * MI, 0 },
};

static void requests_are_what_upstream_computes(void **state UNUSED)
{
	uint32_t gpu = amount_names_id(&names, STR("example.com/gpu"));

	for (size_t i = 0; i < ARRAY_SIZE(request_cases); i++) {
		const struct request_case *c = &request_cases[i];
		struct podinfo *p = pod_with(c->spec, c->status);

		if (p->requests.cpu_milli != c->cpu || p->requests.memory != c->memory ||
		    p->nonzero_cpu_milli != c->nonzero_cpu ||
		    p->nonzero_memory != c->nonzero_memory ||
		    amounts_scalar(&p->requests, gpu) != c->gpus)
			fail_msg("%s: %lld %lld %lld %lld", c->what,
				 (long long)p->requests.cpu_milli, (long long)p->requests.memory,
				 (long long)p->nonzero_cpu_milli, (long long)p->nonzero_memory);
		podinfo_unref(p);
	}
}

/* --- the rest of a pod ----------------------------------------------------------- */

#define FULL                                                                                       \
	"{'metadata':{'name':'p','namespace':'ns','uid':'u1','resourceVersion':'77','generation':" \
	"3,"                                                                                       \
	"'creationTimestamp':'2024-01-01T00:00:10Z','deletionTimestamp':'2024-01-01T00:01:00Z',"   \
	"'labels':{'app':'\\u0061','hash':'h1'},'annotations':{'k':'v'}},'spec':{%s"               \
	"'schedulerName':'mine','priority':-5,'preemptionPolicy':'Never',"                         \
	"'schedulingGates':[{'name':'g'}],'nodeSelector':{'disk':'ssd'},"                          \
	"'tolerations':[{'key':'k','operator':'Exists','effect':'NoExecute'},"                     \
	"{'key':'n','operator':'Gt','value':'5'},{'operator':'Exists'},{'key':'e','value':'v'}],"  \
	"'resourceClaims':[{'name':'a','resourceClaimName':'ca'},"                                 \
	"{'name':'b','resourceClaimTemplateName':'t'},{'name':'c','resourceClaimTemplateName':'t'" \
	"},"                                                                                       \
	"{'name':'d','resourceClaimTemplateName':'t'}],"                                           \
	"'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}},"                    \
	"{'name':'e','ephemeral':{}},{'name':'m','configMap':{'name':'x'}}],"                      \
	"'topologySpreadConstraints':[{'maxSkew':2,'topologyKey':'zone',"                          \
	"'whenUnsatisfiable':'ScheduleAnyway','labelSelector':{'matchLabels':{'app':'a'}},"        \
	"'matchLabelKeys':['hash','absent'],'nodeTaintsPolicy':'Honor'}],"                         \
	"'initContainers':[{'name':'i','image':'init','ports':[{'hostPort':1}]},"                  \
	"{'name':'s','image':'side','restartPolicy':'Always','ports':[{'hostPort':2,"              \
	"'hostIP':'10.0.0.1','protocol':'UDP'}]}],"                                                \
	"'containers':[{'name':'c','image':'main','ports':[{'containerPort':80},{'hostPort':80}]}" \
	"]"                                                                                        \
	"},'status':{'phase':'Running','startTime':'2024-01-01T00:00:20Z',"                        \
	"'nominatedNodeName':'nom','resourceClaimStatuses':[{'name':'b','resourceClaimName':'gen'" \
	"},"                                                                                       \
	"{'name':'c'}]}}"

static struct podinfo *full(const char *more)
{
	struct buf b = BUF_INIT(65536);
	struct podinfo *p;

	(void)buf_printf(&b, FULL, more);
	p = pod(b.p);
	buf_release(&b);
	return p;
}

static void the_header_of_a_pod_is_read(void **state UNUSED)
{
	struct podinfo *p = full("");

	ASSERT_STR(p->key, "ns/p");
	ASSERT_STR(p->ns, "ns");
	ASSERT_STR(p->name, "p");
	ASSERT_STR(p->uid, "u1");
	assert_int_equal(p->node.n, 0);
	ASSERT_STR(p->scheduler, "mine");
	ASSERT_STR(p->nominated, "nom");
	assert_int_equal(p->priority, -5);
	assert_true(p->never_preempts);
	assert_true(p->deleting);
	assert_false(p->terminal);
	assert_int_equal(p->started_s - p->created_s, 10);
	assert_int_equal(p->revision, 77);
	assert_int_equal(p->generation, 3);
	assert_non_null(p->tree);
	ASSERT_STR(podinfo_label(p, STR("app")), "a");
	assert_null(podinfo_label(p, STR("none")).p);
	ASSERT_STR(json_text_at(p->annotations, "k"), "v");
	podinfo_unref(p);
}

static void the_requests_of_a_waiting_pod_are_read(void **state UNUSED)
{
	struct podinfo *p = full("");

	assert_int_equal(p->ngates, 1);
	ASSERT_STR(p->gates[0], "g");
	ASSERT_STR(json_text_at(p->node_labels, "disk"), "ssd");
	assert_int_equal(p->nports, 2);
	ASSERT_STR(p->ports[0].ip, "10.0.0.1");
	ASSERT_STR(p->ports[0].protocol, "UDP");
	assert_int_equal(p->ports[0].port, 2);
	ASSERT_STR(p->ports[1].ip, "0.0.0.0");
	ASSERT_STR(p->ports[1].protocol, "TCP");
	assert_int_equal(p->nimages, 3);
	ASSERT_STR(p->images[2], "main");
	assert_int_equal(p->nclaims, 4);
	ASSERT_STR(p->claims[0].claim, "ca");
	ASSERT_STR(p->claims[1].claim, "gen");
	assert_true(p->claims[1].from_template && !p->claims[1].none_needed);
	assert_true(p->claims[2].none_needed && !p->claims[2].claim.p);
	assert_true(!p->claims[3].none_needed && !p->claims[3].claim.p);
	assert_int_equal(p->nvolumes, 3);
	ASSERT_STR(p->volumes[0].pvc_key, "ns/data");
	ASSERT_STR(p->volumes[1].pvc, "p-e");
	assert_true(p->volumes[1].ephemeral);
	assert_non_null(json_getz(p->volumes[2].source, "configMap"));
	assert_int_equal(p->nspread, 1);
	assert_int_equal(p->spread[0].pods.n, 2);
	assert_true(p->spread[0].schedule_anyway && p->spread[0].honor_taints &&
		    p->spread[0].honor_affinity && p->spread[0].min_domains == 1);
	podinfo_unref(p);
}

static void a_bound_pod_keeps_what_others_ask_and_is_small(void **state UNUSED)
{
	struct podinfo *p = full("'nodeName':'n1',");
	struct podinfo *plain;

	ASSERT_STR(p->node, "n1");
	assert_null(p->tree);
	/* The text has an escape, so it cannot be borrowed from the object. */
	ASSERT_STR(podinfo_label(p, STR("app")), "a");
	assert_int_equal(p->nports, 2);
	assert_int_equal(p->nclaims, 4);
	assert_int_equal(p->nvolumes, 2);
	ASSERT_STR(p->volumes[0].pvc_key, "ns/data");
	ASSERT_STR(
		json_text_at(json_getz(p->volumes[0].source, "persistentVolumeClaim"), "claimName"),
		"data");
	assert_int_equal(p->ntolerations + p->nimages + p->nspread + p->ngates, 0);
	assert_null(p->arena.blocks);
	podinfo_unref(p);

	plain = pod("{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'a':'b','c':'d'}}"
		    ",'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}],"
		    "'volumes':[{'name':'t','projected':{}}]}}");
	assert_null(plain->arena.blocks);
	assert_true(sizeof(*plain) + plain->arena.own_size < 1024);
	podinfo_unref(plain);
}

static void an_assumed_pod_is_the_same_on_a_node(void **state UNUSED)
{
	struct podinfo *p = full("");
	struct podinfo *a = podinfo_assumed(p, STR("node-7"));

	podinfo_unref(p);
	ASSERT_STR(a->node, "node-7");
	ASSERT_STR(a->key, "ns/p");
	assert_int_equal(a->nports, 2);
	ASSERT_STR(a->ports[0].ip, "10.0.0.1");
	ASSERT_STR(podinfo_label(a, STR("app")), "a");
	podinfo_unref(a);
}

static void an_invalid_pod_is_rejected(void **state UNUSED)
{
	static const char *const texts[] = {
		"{'metadata':{'name':'p','namespace':'ns'}}",
		"{'metadata':{'name':'p','namespace':'ns'},'spec':{'affinity':{'nodeAffinity':"
		"{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
		"'matchExpressions':[{'key':'k','operator':'Near'}]}]}}}}}",
		"{'metadata':{'name':'p','namespace':'ns'},'spec':{'nodeName':'n','affinity':"
		"{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector'"
		":"
		"{'matchExpressions':[{'key':'k','operator':'Gt','values':['1']}]}}]}}}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct podinfo *p = NULL;
		struct error err = { 0 };

		assert_int_equal(try_pod(texts[i], &p, &err), -ERR_INVALID);
		assert_null(p);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, "pod ns/p"));
	}
}

/* --- affinity -------------------------------------------------------------------- */

#define RULES          "DuringSchedulingIgnoredDuringExecution'"
#define SELECT(labels) "'labelSelector':{'matchLabels':{" labels "}}"

static const char affinity_spec[] =
	"{'affinity':{'nodeAffinity':{'preferred" RULES ":[{'preference':{'matchExpressions':["
	"{'key':'z','operator':'In','values':['1']}]},'weight':7}],'required" RULES
	":{'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In',"
	"'values':['n1']}]}]}},"
	"'podAffinity':{'required" RULES ":[{" SELECT(
		"'app':'a'") ",'topologyKey':'zone',"
			     "'matchLabelKeys':['hash'],'mismatchLabelKeys':['app']},"
			     "{" SELECT(
				     "") ",'topologyKey':'t','namespaces':['x','y']},"
					 "{'topologyKey':'t'},{" SELECT(
						 "'app':'b'") ",'namespaceSelector':{'matchLabels':"
							      "{'team':'red'}},'topologyKey':'t'},"
							      "{" SELECT(
								      "") ",'namespaceSelector':{},"
									  "'topologyKey':'t'}]},"
									  "'podAntiAffinity':{'"
									  "preferred" RULES
									  ":[{'weight':9,'"
									  "podAffinityTerm':"
									  "{" SELECT(
										  "'q':'r'") ",'"
											     "topol"
											     "ogyKe"
											     "y':'"
											     "host'"
											     "}}]}}"
											     ",'"
											     "conta"
											     "iners"
											     "':[]"
											     "}";

static void terms_of_affinity_are_read(void **state UNUSED)
{
	struct podinfo *p = pod_with(affinity_spec, NULL);

	assert_int_equal(p->npreferred_nodes, 1);
	assert_int_equal(p->preferred_nodes[0].weight, 7);
	ASSERT_STR(p->preferred_nodes[0].term.labels.terms[0].key, "z");
	assert_true(node_selector_matches(p->required_nodes, STR("n1"), NULL));
	assert_false(node_selector_matches(p->required_nodes, STR("n2"), NULL));
	assert_int_equal(p->affinity.n, 5);
	assert_int_equal(p->affinity.v[0].pods.n, 3);
	ASSERT_STR(p->affinity.v[0].namespaces[0], "ns");
	assert_int_equal(p->affinity.v[1].nnamespaces, 2);
	assert_true(p->affinity.v[2].nothing);
	assert_int_equal(p->anti_affinity.n, 0);
	assert_int_equal(p->preferred_anti_affinity.n, 1);
	assert_int_equal(p->preferred_anti_affinity.v[0].weight, 9);
	ASSERT_STR(p->preferred_anti_affinity.v[0].topology_key, "host");
	podinfo_unref(p);
}

static struct podinfo *labelled(const char *ns, const char *labels)
{
	struct buf b = BUF_INIT(4096);
	struct podinfo *p;

	(void)buf_printf(&b,
			 "{'metadata':{'name':'o','namespace':'%s','uid':'o','labels':{%s}},"
			 "'spec':{'nodeName':'n'}}",
			 ns, labels);
	p = pod(b.p);
	buf_release(&b);
	return p;
}

static void a_term_matches_by_labels_and_namespace(void **state UNUSED)
{
	static const struct {
		size_t term;
		const char *ns, *labels;
		bool red, matches;
	} cases[] = {
		{ 0, "ns", "'app':'a','hash':'h1'", false, false }, /* mismatchLabelKeys: app */
		{ 1, "x", "", false, true },
		{ 1, "ns", "", false, false },
		{ 2, "ns", "", false, false }, /* no selector */
		{ 3, "other", "'app':'b'", true, true },
		{ 3, "other", "'app':'b'", false, false },
		{ 3, "ns", "'app':'b'", false, false }, /* a selector replaces the own one */
		{ 4, "any", "", false, true },
	};
	struct podinfo *p = pod_with(affinity_spec, NULL);
	struct podinfo *space = labelled("x", "'team':'red'");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct podinfo *o = labelled(cases[i].ns, cases[i].labels);

		if (affinity_term_matches(&p->affinity.v[cases[i].term], o,
					  cases[i].red ? space->labels : NULL) != cases[i].matches)
			fail_msg("case %zu", i);
		podinfo_unref(o);
	}
	podinfo_unref(space);
	podinfo_unref(p);
}

static void tolerations_tolerate_as_upstream(void **state UNUSED)
{
	static const struct {
		size_t at;
		const char *key, *value;
		enum taint_effect effect;
		bool tolerates;
	} cases[] = {
		{ 0, "k", "x", TAINT_NO_EXECUTE, true },
		{ 0, "k", "x", TAINT_NO_SCHEDULE, false },
		{ 0, "q", "x", TAINT_NO_EXECUTE, false },
		{ 1, "n", "6", TAINT_NO_SCHEDULE, true },
		{ 1, "n", "5", TAINT_NO_SCHEDULE, false },
		{ 1, "n", "x", TAINT_NO_SCHEDULE, false },
		{ 2, "any", "", TAINT_NO_EXECUTE, true },
		{ 3, "e", "v", TAINT_NO_EXECUTE, true },
		{ 3, "e", "w", TAINT_NO_EXECUTE, false },
	};
	struct podinfo *p = full("");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (toleration_tolerates(&p->tolerations[cases[i].at], str_from(cases[i].key),
					 str_from(cases[i].value),
					 cases[i].effect) != cases[i].tolerates)
			fail_msg("case %zu", i);
	podinfo_unref(p);
}

/* --- nodes ----------------------------------------------------------------------- */

#define NODE(labels, spec, status)                                                \
	"{'metadata':{'name':'n1','uid':'u','labels':{" labels "}},'spec':{" spec \
	"},'status':{" status "}}"

static void a_node_is_read(void **state UNUSED)
{
	struct nodeobject *n = node(NODE(
		"'topology.kubernetes.io/zone':'z','topology.kubernetes.io/region':'r'",
		"'unschedulable':true,'taints':[{'key':'k','value':'v','effect':'PreferNoSchedule'}"
		"]",
		"'allocatable':{'cpu':'3500m','memory':'1Gi','pods':'110','ephemeral-storage':'5',"
		"'hugepages-2Mi':'4Mi'},'images':[{'names':['a','b'],'sizeBytes':12},{'names':['c']"
		"}],"
		"'conditions':[{'type':'Ready','status':'True'}],'declaredFeatures':['F']"));

	ASSERT_STR(n->name, "n1");
	assert_true(str_eq(n->zone, STR("r:\0:z")));
	assert_true(n->unschedulable && n->ready);
	assert_int_equal(n->allocatable.cpu_milli, 3500);
	assert_int_equal(n->allocatable.memory, 1024 * MI);
	assert_int_equal(n->allocatable.pods, 110);
	assert_int_equal(n->allocatable.ephemeral, 5);
	assert_int_equal(
		amounts_scalar(&n->allocatable, amount_names_id(&names, STR("hugepages-2Mi"))),
		4 * MI);
	assert_int_equal(n->ntaints, 1);
	assert_int_equal(n->taints[0].effect, TAINT_PREFER_NO_SCHEDULE);
	assert_int_equal(n->nimages, 3);
	ASSERT_STR(n->images[1].name, "b");
	assert_int_equal(n->images[1].size, 12);
	assert_int_equal(n->nfeatures, 1);
	nodeobject_unref(n);
}

static void changes_of_a_node_are_told_apart(void **state UNUSED)
{
#define ALLOC "'allocatable':{'cpu':'1'}"
	static const struct {
		const char *to;
		unsigned actions;
	} cases[] = {
		{ NODE("'a':'b'", "'unschedulable':true", ALLOC), 0 },
		{ NODE("'a':'b'", "'unschedulable':true", ALLOC ",'conditions':[]"), 0 },
		{ NODE("'a':'c'", "'unschedulable':true", ALLOC), EVENT_UPDATE_NODE_LABEL },
		{ NODE("", "'unschedulable':true", ALLOC), EVENT_UPDATE_NODE_LABEL },
		{ NODE("'a':'b'", "", ALLOC), EVENT_UPDATE_NODE_TAINT },
		{ NODE("'a':'b'",
		       "'unschedulable':true,'taints':[{'key':'k','effect':'NoExecute'}]", ALLOC),
		  EVENT_UPDATE_NODE_TAINT },
		{ NODE("'a':'b'", "'unschedulable':true",
		       "'allocatable':{'cpu':'1000m','x.y/z':1}"),
		  EVENT_UPDATE_NODE_ALLOCATABLE },
		{ NODE("'a':'b'", "'unschedulable':true",
		       ALLOC ",'conditions':[{'type':'Ready','status':'True'}]"),
		  EVENT_UPDATE_NODE_CONDITION },
		{ NODE("'a':'b'", "'unschedulable':true", ALLOC ",'declaredFeatures':['X']"),
		  EVENT_UPDATE_NODE_FEATURES },
		{ "{'metadata':{'name':'n1','labels':{'a':'b'},'annotations':{'x':'y'}},"
		  "'spec':{'unschedulable':true},'status':{" ALLOC "}}",
		  EVENT_UPDATE_NODE_ANNOTATION },
	};
	struct nodeobject *from = node(NODE("'a':'b'", "'unschedulable':true", ALLOC));

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nodeobject *to = node(cases[i].to);

		if (nodeobject_changes(from, to) != cases[i].actions)
			fail_msg("case %zu: %x", i, nodeobject_changes(from, to));
		nodeobject_unref(to);
	}
	nodeobject_unref(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_keep_scalars_in_order),
		cmocka_unit_test(sums_stop_at_the_largest_number),
		cmocka_unit_test(names_go_with_all_that_has_them),
		cmocka_unit_test(a_pod_of_very_many_names_is_refused_and_leaves_none),
		cmocka_unit_test(a_pod_takes_no_more_than_thousands_of_which_have_a_sum),
		cmocka_unit_test(requests_are_what_upstream_computes),
		cmocka_unit_test(the_header_of_a_pod_is_read),
		cmocka_unit_test(the_requests_of_a_waiting_pod_are_read),
		cmocka_unit_test(a_bound_pod_keeps_what_others_ask_and_is_small),
		cmocka_unit_test(an_assumed_pod_is_the_same_on_a_node),
		cmocka_unit_test(an_invalid_pod_is_rejected),
		cmocka_unit_test(terms_of_affinity_are_read),
		cmocka_unit_test(a_term_matches_by_labels_and_namespace),
		cmocka_unit_test(tolerations_tolerate_as_upstream),
		cmocka_unit_test(a_node_is_read),
		cmocka_unit_test(changes_of_a_node_are_told_apart),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
