/*
 * Tests the volume plugins with clusters written as JSON: the pod's message or node, volumes that
 * are assumed until the API server shows them, and the events that wake pods.
 */
#include "scheduler/framework/binding_fixture.h"
#include "scheduler/volumes/volumes.h"

#include "client/api/client.h"
#include "client/testing/fakeapi_world.h"
#include "net/loop/loop.h"
#include "scheduler/volumes/volumes_fixture.h"

struct row {
	const char *cluster, *said;
};

static void run_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(world_free) struct world *w = world_new(rows[i].cluster);

		assert_string_equal(run(w), rows[i].said);
	}
}

#define NODE "'nodes':[{'name':'n1'}]"
#define TWO                                                                               \
	"'nodes':[{'name':'n1','metadata':{'labels':{'disk':'a','topology.kubernetes.io/" \
	"zone':'z1'}}},"                                                                  \
	"{'name':'n2','metadata':{'labels':{'disk':'b','topology.kubernetes.io/zone':'z2'}}}]"
#define POD                                                                                       \
	"'pod':{'name':'p','spec':{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" \
	"c'}}]}}"
#define BOUND "'annotations':{'pv.kubernetes.io/bind-completed':'yes'}"
#define ON_B                                                                                    \
	"'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'disk','" \
	"operator':'In','values':['b']}]}]}}"
#define LATER                                                                                      \
	"'classes':[{'name':'later','provisioner':'d','volumeBindingMode':'WaitForFirstConsumer'}" \
	"]"
#define NO_MAKE                                                    \
	"'classes':[{'name':'later','provisioner':'kubernetes.io/" \
	"no-provisioner','volumeBindingMode':'WaitForFirstConsumer'}]"
#define WAITING                                                                                    \
	"'pvcs':[{'name':'c','spec':{'storageClassName':'later','accessModes':['ReadWriteOnce'],'" \
	"resources':{'requests':{'storage':'5Gi'}}}}]"
#define FREE(pv, size, more)                                                                   \
	"{'name':'" pv "','spec':{'storageClassName':'later','accessModes':['ReadWriteOnce','" \
	"ReadOnlyMany'],'capacity':{'storage':'" size "'}" more                                \
	"},'status':{'phase':'Available'}}"

static void claims_that_are_not_there_keep_the_pod(void **state)
{
	static const struct row rows[] = {
		{ "{" NODE ",'pod':{'name':'p','spec':{'volumes':[{'name':'v','emptyDir':{}}]}}}",
		  "n1" },
		{ "{" NODE "," POD "}",
		  "0/1 nodes are available: persistentvolumeclaim \"c\" not found." },
		{ "{" NODE ",'pod':{'name':'p','spec':{'volumes':[{'name':'v','ephemeral':{}}]}}}",
		  "0/1 nodes are available: waiting for ephemeral volume controller to create the "
		  "persistentvolumeclaim \"p-v\"." },
		{ "{" NODE ",'pod':{'name':'p','spec':{'volumes':[{'name':'v','ephemeral':{}}]}},"
		  "'pvcs':[{'name':'p-v'}]}",
		  "0/1 nodes are available: PVC ns/p-v was not created for pod ns/p (pod is not "
		  "owner)." },
		{ "{" NODE "," POD ",'pvcs':[{'name':'c','metadata':{'deletionTimestamp':"
		  "'2026-01-01T00:00:00Z'}}]}",
		  "0/1 nodes are available: persistentvolumeclaim \"c\" is being deleted." },
		{ "{" NODE "," POD ",'pvcs':[{'name':'c','spec':{'volumeName':'gone'},'status':"
		  "{'phase':'Lost'}}]}",
		  "0/1 nodes are available: persistentvolumeclaim \"c\" bound to non-existent "
		  "persistentvolume \"gone\"." },
		{ "{" NODE "," POD ",'pvcs':[{'name':'c'}]}",
		  "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." },
		{ "{" NODE "," POD ",'pvcs':[{'name':'c','spec':{'storageClassName':'now'}}],"
		  "'classes':[{'name':'now','volumeBindingMode':'Immediate'}]}",
		  "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." },
		/* Bound by a person to a volume that is not bound back yet. */
		{ "{" NODE "," POD "," LATER ",'pvcs':[{'name':'c','spec':{'storageClassName':"
		  "'later','volumeName':'v'}}]}",
		  "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." },
	};

	run_rows(rows, ARRAY_SIZE(rows));
}

static void bound_volumes_say_where_the_pod_can_be(void **state)
{
#define CLAIM "'pvcs':[{'name':'c','metadata':{" BOUND "},'spec':{'volumeName':'v'}}]"
	static const struct row rows[] = {
		{ "{" TWO "," POD "," CLAIM ",'pvs':[{'name':'v','spec':{" ON_B "}}]}", "n2" },
		{ "{" NODE "," POD "," CLAIM ",'pvs':[{'name':'v','spec':{" ON_B "}}]}",
		  "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node "
		  "affinity." },
		{ "{" NODE "," POD "," CLAIM "}",
		  "0/1 nodes are available: persistentvolume \"v\" not found." },
		{ "{" TWO "," POD "," CLAIM ",'pvs':[{'name':'v','metadata':{'labels':"
		  "{'topology.kubernetes.io/zone':'z2'}}}]}",
		  "n2" },
		{ "{" TWO "," POD "," CLAIM ",'pvs':[{'name':'v','metadata':{'labels':"
		  "{'failure-domain.beta.kubernetes.io/zone':'z0__z2'}}}]}",
		  "n2" },
		{ "{" TWO "," POD "," CLAIM ",'pvs':[{'name':'v','metadata':{'labels':"
		  "{'topology.kubernetes.io/zone':'z3'}}}]}",
		  "0/2 nodes are available: 2 node(s) had no available volume zone." },
		/* Nodes without such a label belong to every zone. An invalid label is ignored. */
		{ "{" NODE "," POD "," CLAIM ",'pvs':[{'name':'v','metadata':{'labels':"
		  "{'topology.kubernetes.io/zone':'z3'}}}]}",
		  "n1" },
		{ "{'nodes':[{'name':'n1','metadata':{'labels':{'topology.kubernetes.io/zone':"
		  "'z1'}}}]," POD "," CLAIM ",'pvs':[{'name':'v','metadata':{'labels':"
		  "{'topology.kubernetes.io/zone':'z3__'}}}]}",
		  "n1" },
	};

	run_rows(rows, ARRAY_SIZE(rows));
}

static void claims_that_wait_get_a_volume_with_the_node(void **state)
{
	static const struct row rows[] = {
		/* Made by the driver: anywhere. */
		{ "{" NODE "," POD "," LATER "," WAITING "}", "n1" },
		{ "{" NODE "," POD "," NO_MAKE "," WAITING "}",
		  "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to "
		  "bind." },
		{ "{" TWO "," POD "," NO_MAKE "," WAITING
		  ",'pvs':[" FREE("v", "5Gi", "," ON_B) "]}",
		  "n2" },
		{ "{" NODE "," POD "," NO_MAKE "," WAITING ",'pvs':[" FREE("v", "4Gi", "") "]}",
		  "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to "
		  "bind." },
		{ "{" NODE "," POD "," NO_MAKE "," WAITING
		  ",'pvs':[" FREE("v", "9Gi", ",'claimRef':{'namespace':'ns','name':'other'}") "]}",
		  "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to "
		  "bind." },
		{ "{" NODE "," POD "," NO_MAKE "," WAITING
		  ",'pvs':[" FREE("v", "9Gi", ",'claimRef':{'namespace':'ns','name':'c'}") "]}",
		  "n1" },
		{ "{" NODE "," POD "," NO_MAKE "," WAITING
		  ",'pvs':[" FREE("v", "9Gi", ",'volumeMode':'Block'") "]}",
		  "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to "
		  "bind." },
		/* A node was selected for it before. */
		{ "{" TWO "," POD "," LATER ",'pvcs':[{'name':'c','metadata':{'annotations':"
		  "{'volume.kubernetes.io/selected-node':'n2'}},'spec':{'storageClassName':"
		  "'later'}}]}",
		  "n2" },
		/* Where the class allows it. */
		{ "{" TWO "," POD "," WAITING ",'classes':[{'name':'later','provisioner':'d',"
		  "'volumeBindingMode':'WaitForFirstConsumer','allowedTopologies':[{'matchLabel"
		  "Expressions':[{'key':'disk','values':['b','c']}]}]}]}",
		  "n2" },
		/* Where there is room. */
		{ "{" TWO "," POD "," WAITING "," LATER ",'csiDrivers':[{'name':'d','spec':"
		  "{'storageCapacity':true}}],'capacities':[{'name':'x1','storageClassName':'later'"
		  ","
		  "'capacity':'4Gi','nodeTopology':{'matchLabels':{'disk':'a'}}},{'name':'x2',"
		  "'storageClassName':'later','capacity':'5Gi','nodeTopology':{'matchLabels':"
		  "{'disk':'b'}}}]}",
		  "n2" },
		{ "{" NODE "," POD "," WAITING "," LATER ",'csiDrivers':[{'name':'d','spec':"
		  "{'storageCapacity':true}}]}",
		  "0/1 nodes are available: 1 node(s) did not have enough free storage." },
	};

	run_rows(rows, ARRAY_SIZE(rows));
}

static void a_disk_has_one_writer(void **state)
{
#define WITH(name, at, volume) \
	"{'name':'" name "','spec':{" at "'volumes':[{'name':'v'," volume "}]}}"
#define AT_N1 "'nodeName':'n1',"
	static const struct {
		const char *mine, *theirs;
		bool conflict;
	} rows[] = {
		{ "'gcePersistentDisk':{'pdName':'d'}", "'gcePersistentDisk':{'pdName':'d'}",
		  true },
		{ "'gcePersistentDisk':{'pdName':'d'}", "'gcePersistentDisk':{'pdName':'e'}",
		  false },
		{ "'gcePersistentDisk':{'pdName':'d','readOnly':true}",
		  "'gcePersistentDisk':{'pdName':'d','readOnly':true}", false },
		{ "'awsElasticBlockStore':{'volumeID':'d','readOnly':true}",
		  "'awsElasticBlockStore':{'volumeID':'d','readOnly':true}", true },
		{ "'iscsi':{'iqn':'d'}", "'iscsi':{'iqn':'d','readOnly':true}", true },
		{ "'rbd':{'monitors':['a','b'],'pool':'p','image':'i'}",
		  "'rbd':{'monitors':['b'],'pool':'p','image':'i'}", true },
		{ "'rbd':{'monitors':['a'],'pool':'p','image':'i'}",
		  "'rbd':{'monitors':['b'],'pool':'p','image':'i'}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
		CLEANUP(world_free) struct world *w = NULL;

		(void)buf_printf(&text,
				 "{" NODE ",'pods':[" WITH("o", AT_N1,
							   "%s") "],'pod':" WITH("p", "", "%s") "}",
				 rows[i].theirs, rows[i].mine);
		w = world_new(text.p);
		assert_string_equal(run(w), rows[i].conflict
						    ? "0/1 nodes are available: 1 node(s) had no "
						      "available disk."
						    : "n1");
	}
}

static void a_claim_for_one_pod_is_of_one_pod(void **state)
{
#define ONCE                                     \
	"'pvcs':[{'name':'c','metadata':{" BOUND \
	"},'spec':{'volumeName':'v','accessModes':['ReadWriteOncePod']}}],'pvs':[{'name':'v'}]"
#define USER                                                                                    \
	"{'name':'o','spec':{'nodeName':'n2','volumes':[{'name':'x','persistentVolumeClaim':{'" \
	"claimName':'c'}}]}}"
	static const struct row rows[] = {
		{ "{" NODE "," POD "," ONCE "}", "n1" },
		{ "{" TWO "," POD "," ONCE ",'pods':[" USER "]}",
		  "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim "
		  "with "
		  "ReadWriteOncePod access mode already in-use by another pod." },
	};
	CLEANUP(world_free) struct world *w = world_new(rows[1].cluster);
	const struct nodeinfo *n;

	run_rows(rows, ARRAY_SIZE(rows));
	/* Preemption: without that pod it fits. */
	(void)run(w);
	n = nodecache_snapshot(w->nodes)->nodes[0];
	profile_remove_pod(w->profile, w->cycle, nodecache_pod(w->nodes, STR("o")), n);
	assert_int_equal(profile_filter(w->profile, w->cycle, n).code, VERDICT_SUCCESS);
}

static void volumes_of_a_driver_are_limited(void **state)
{
#define CSI(pv, handle) \
	"{'name':'" pv "','spec':{'csi':{'driver':'d','volumeHandle':'" handle "'}}}"
#define CLAIMS                                                                   \
	"'pvcs':[{'name':'c','metadata':{" BOUND "},'spec':{'volumeName':'v'}}," \
	"{'name':'e','metadata':{" BOUND "},'spec':{'volumeName':'w'}}]"
#define OTHER(claim)                                                                            \
	"{'name':'o','spec':{'nodeName':'n1','volumes':[{'name':'x','persistentVolumeClaim':{'" \
	"claimName':'" claim "'}}]}}"
#define LIMIT(n)                                                                                   \
	"'csiNodes':[{'name':'n1','spec':{'drivers':[{'name':'d','allocatable':{'count':" n "}}]}" \
	"}]"
	static const char full[] = "0/1 nodes are available: 1 node(s) exceed max volume count.";
	static const struct row rows[] = {
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI(
			  "w", "2") "],'pods':[" OTHER("e") "]," LIMIT("2") "}",
		  "n1" },
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI(
			  "w", "2") "],'pods':[" OTHER("e") "]," LIMIT("1") "}",
		  full },
		/* The same volume, by one claim or two, counts once. */
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI(
			  "w", "2") "],'pods':[" OTHER("c") "]," LIMIT("1") "}",
		  "n1" },
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI(
			  "w", "1") "],'pods':[" OTHER("e") "]," LIMIT("1") "}",
		  "n1" },
		/* Still attached, though its pod has gone. */
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI("w", "2") "]," LIMIT(
			  "1") ",'attachments':[{'name':'a','spec':{'attacher':'d','nodeName':'n1',"
			       "'source':{'persistentVolumeName':'w'}}}]}",
		  full },
		{ "{" NODE "," POD "," CLAIMS ",'pvs':[" CSI("v", "1") "," CSI("w", "2") "]," LIMIT(
			  "1") ",'attachments':[{'name':'a','spec':{'attacher':'d','nodeName':'n2',"
			       "'source':{'persistentVolumeName':'w'}}}]}",
		  "n1" },
		/* One that is not made yet counts by its class. */
		{ "{" NODE "," POD "," LATER "," WAITING "," LIMIT("0") "}", full },
		/* A driver that must be there. */
		{ "{" NODE "," POD "," LATER "," WAITING ",'csiDrivers':[{'name':'d','spec':"
		  "{'preventPodSchedulingIfMissing':true}}]}",
		  "0/1 nodes are available: 1 d CSI driver is not installed on the node." },
	};

	run_rows(rows, ARRAY_SIZE(rows));
}

/* --- reserve ------------------------------------------------------------------------------- */

static struct volume_pod *state_of(struct world *w, struct plugin **ret_plugin)
{
	for (size_t i = 0; i < w->profile->n; i++) {
		if (strcmp(w->profile->plugins[i].name, "VolumeBinding") == 0)
			*ret_plugin = &w->profile->plugins[i];
	}
	return *cycle_state(w->cycle, *ret_plugin);
}

static void the_smallest_volume_goes_to_the_smallest_claim(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new(
		"{" NODE "," NO_MAKE ",'pod':{'name':'p','spec':{'volumes':["
		"{'name':'v','persistentVolumeClaim':{'claimName':'big'}},"
		"{'name':'w','persistentVolumeClaim':{'claimName':'small'}}]}},'pvcs':["
		"{'name':'big','spec':{'storageClassName':'later','resources':{'requests':"
		"{'storage':'8Gi'}}}},"
		"{'name':'small','spec':{'storageClassName':'later','resources':{'requests':"
		"{'storage':'1Gi'}}}}],'pvs':[" FREE("a", "20Gi", "") "," FREE(
			"b", "9Gi", "") "," FREE("c", "10Gi", "") "," FREE("d", "2Gi", "") "]}");
	struct plugin *p;
	struct volume_pod *s;

	assert_string_equal(run(w), "n1");
	assert_int_equal(profile_reserve(w->profile, w->cycle, STR("n1")).code, VERDICT_SUCCESS);
	s = state_of(w, &p);
	assert_int_equal(s->plan.nmatches, 2);
	assert_true(str_eqz(s->plan.matches[0].claim->name, "small"));
	assert_true(str_eqz(s->plan.matches[0].volume->name, "d"));
	assert_true(str_eqz(s->plan.matches[1].volume->name, "b"));
}

static void a_decision_holds_until_the_cache_shows_more(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new("{" NODE "," POD "," NO_MAKE "," WAITING
				    ",'pvs':[" FREE("v", "5Gi", "") "]}");
	struct cycle *first;

	assert_string_equal(run(w), "n1");
	assert_int_equal(profile_reserve(w->profile, w->cycle, STR("n1")).code, VERDICT_SUCCESS);
	first = TAKE(w->cycle);
	fill(w, "{'pod':{'name':'q','spec':{'volumes':[{'name':'v','persistentVolumeClaim':"
		"{'claimName':'other'}}]}},'pvcs':[{'name':'other','spec':{'storageClassName':"
		"'later'}}]}");
	assert_string_equal(run(w), "0/1 nodes are available: 1 node(s) didn't find available "
				    "persistent volumes to bind.");
	/* The decision is taken back. */
	profile_unreserve(w->profile, first, STR("n1"));
	assert_string_equal(run(w), "n1");
	/* Taken again, but the volume is shown anew, still free: somebody undid it. */
	assert_int_equal(profile_reserve(w->profile, first, STR("n1")).code, VERDICT_SUCCESS);
	fill(w, "{'pvs':[" FREE("v", "5Gi", "") "]}");
	assert_string_equal(run(w), "n1");
	cycle_free(first);
}

static void a_claim_to_be_made_stays_with_its_node(void **state)
{
	CLEANUP(world_free) struct world *w = world_new("{" TWO "," POD "," LATER "," WAITING "}");
	struct cycle *first;

	(void)run(w);
	assert_int_equal(profile_reserve(w->profile, w->cycle, STR("n2")).code, VERDICT_SUCCESS);
	first = TAKE(w->cycle);
	for (size_t i = 0; i < 8; i++)
		assert_string_equal(run(w), "n2");
	cycle_free(first);
}

static int check(struct world *w, const struct volume_plan *plan, struct error *err)
{
	const uint64_t written[] = { 5, 5 };

	return volume_bind_check(&w->services, plan, STR("n2"), written, written, err);
}

static void a_claim_to_be_made_is_waited_for(void **state)
{
	CLEANUP(world_free) struct world *w = world_new("{" TWO "," POD "," LATER "," WAITING "}");
	struct plugin *p;
	struct volume_plan *plan;
	struct error err;

#define SHOWN(notes, spec) \
	"{'pvcs':[{'name':'c','metadata':{'annotations':{" notes "}},'spec':{" spec "}}]}"
#define SELECTED "'volume.kubernetes.io/selected-node':'n2'"
	(void)run(w);
	assert_int_equal(profile_reserve(w->profile, w->cycle, STR("n2")).code, VERDICT_SUCCESS);
	plan = &state_of(w, &p)->plan;
	assert_int_equal(plan->nprovisions, 1);
	w->revision = 3;
	fill(w, SHOWN("", "")); /* not yet what was written */
	assert_int_equal(check(w, plan, &err), 0);
	fill(w, SHOWN(SELECTED, ""));
	assert_int_equal(check(w, plan, &err), 0);
	fill(w, SHOWN(SELECTED ",'pv.kubernetes.io/bind-completed':'yes'", "'volumeName':'v'"));
	assert_int_equal(check(w, plan, &err), 0);
	fill(w, "{'pvs':[{'name':'v','spec':{" ON_B "}}]}");
	assert_int_equal(check(w, plan, &err), 1);
	fill(w, "{'nodes':[{'name':'n2'}]}");
	assert_int_equal(check(w, plan, &err), -ERR_CONFLICT);
	assert_string_equal(err.msg,
			    "pv \"v\" node affinity doesn't match node \"n2\": no matching "
			    "NodeSelectorTerms");
	fill(w, SHOWN("'x':'y'", ""));
	assert_int_equal(check(w, plan, &err), -ERR_CONFLICT);
	assert_string_equal(err.msg, "provisioning failed for PVC \"c\"");
}

static void a_volume_that_was_found_is_waited_for(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new("{" TWO "," POD "," NO_MAKE "," WAITING
				    ",'pvs':[" FREE("v", "5Gi", "") "]}");
	struct plugin *p;
	struct volume_plan *plan;
	struct error err;

	(void)run(w);
	assert_int_equal(profile_reserve(w->profile, w->cycle, STR("n2")).code, VERDICT_SUCCESS);
	plan = &state_of(w, &p)->plan;
	assert_int_equal(plan->nmatches, 1);
	w->revision = 10;
	fill(w, "{'pvs':[" FREE("v", "5Gi",
				",'claimRef':{'namespace':'ns','name':'c','uid':'c'}") "]}");
	assert_int_equal(check(w, plan, &err), 0);
	fill(w, SHOWN("'pv.kubernetes.io/bind-completed':'yes'", "'volumeName':'v'"));
	assert_int_equal(check(w, plan, &err), 1);
	fill(w, "{'pvs':[" FREE("v", "5Gi", "") "]}");
	assert_int_equal(check(w, plan, &err), -ERR_CONFLICT);
	assert_string_equal(err.msg, "ClaimRef got reset for pv \"v\"");
}

/* --- writing it down ------------------------------------------------------------------------- */

/* A pod that was given n2, with an API server that has the claim and the volume. */
struct server {
	struct world *world;
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct client *client;
	struct kept_binding binding;
	size_t told;
};

/* The caches catch up with the server. */
static void watch(struct server *s)
{
	for (; s->told < s->api->log.n; s->told++) {
		const struct fakeapi_event *e = &s->api->log.v[s->told];
		bool claim = strcmp(e->kind->resource, "persistentvolumeclaims") == 0;
		struct cached *o;

		assert_int_equal(cached_new(str_from(e->text), NULL, &o, NULL), 0);
		cached_unref(cache_put(&s->world->caches[claim ? PVCS : PVS], o));
	}
}

static char *quoted(struct world *w, const char *text)
{
	char *copy = arena_strdup(&w->arena, str_from(text));

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return copy;
}

static struct server *server_new(const char *cluster, const char *volume)
{
	struct server *s = XNEW(struct server);
	struct plugin *p = NULL;

	s->world = world_new(cluster);
	s->sim = sim_new(&(struct sim_opts){ .seed = 3 });
	s->api = fakeapi_new(s->sim, 3);
	s->loop = sim_loop_new(s->sim, "scheduler");
	s->client = fakeapi_client(s->api, s->loop);
	s->world->services.loop = s->loop;
	s->world->services.client = s->client;
	fakeapi_add(s->api, "persistentvolumeclaims", "ns", "c", "",
		    quoted(s->world, ",'spec':{'storageClassName':'later'}"));
	if (volume)
		fakeapi_add(s->api, "persistentvolumes", "", "v", "", quoted(s->world, volume));
	watch(s);
	assert_string_equal(run(s->world), "n2");
	assert_int_equal(profile_reserve(s->world->profile, s->world->cycle, STR("n2")).code,
			 VERDICT_SUCCESS);
	s->binding = kept_binding_of(s->world->cycle);
	s->binding.binding.node = STR("n2");
	(void)state_of(s->world, &p);
	p->kind->pre_bind(p, &s->binding.binding);
	return s;
}

static void server_free(struct server *s)
{
	client_free(s->client);
	sim_run_for(s->sim, 100);
	fakeapi_free(s->api);
	world_free(s->world);
	loop_free(s->loop);
	sim_free(s->sim);
	free(s);
}
DEFINE_CLEANUP(server_free, struct server *);

static void change(struct server *s, const char *path, const char *patch)
{
	assert_int_equal(
		fakeapi_call(s->api, "PATCH", path, str_from(quoted(s->world, patch)), NULL), 200);
	watch(s);
}

static const char *answer(struct server *s)
{
	struct verdict *v = &s->binding.answer;

	if (!s->binding.ended)
		return "waits";
	return v->code == VERDICT_SUCCESS
		       ? "bound"
		       : arena_strdup(&s->world->arena,
				      verdict_message(v, &s->world->cycle->arena));
}

#define CLAIM_PATH  "/api/v1/namespaces/ns/persistentvolumeclaims/c"
#define VOLUME_PATH "/api/v1/persistentvolumes/v"
#define ONLY_N2     "'nodes':[{'name':'n2','metadata':{'labels':{'disk':'b'}}}]"

static void a_volume_is_bound_to_the_claim_before_the_pod(void **state)
{
	CLEANUP(server_free)
	struct server *s = server_new(
		"{" ONLY_N2 "," POD "," NO_MAKE "}",
		",'spec':{'storageClassName':'later'},'status':{'phase':'Available'}");

	sim_run_for(s->sim, 5000);
	assert_string_equal(answer(s), "waits");
	assert_true(fakeapi_has(s->api, "persistentvolumes", "", "v",
				quoted(s->world, "'pv.kubernetes.io/bound-by-controller':'yes'")));
	assert_true(fakeapi_has(s->api, "persistentvolumes", "", "v",
				quoted(s->world, "'namespace':'ns','name':'c'")));
	watch(s);
	sim_run_for(s->sim, 3000);
	assert_string_equal(answer(s), "waits");
	/* The controller of volumes does its part. */
	change(s, CLAIM_PATH,
	       "{'metadata':{'annotations':{'pv.kubernetes.io/bind-completed':'yes'}},"
	       "'spec':{'volumeName':'v'}}");
	sim_run_for(s->sim, 3000);
	assert_string_equal(answer(s), "bound");
	assert_int_equal(s->api->writes, 1);
}

static void a_volume_is_asked_for_on_the_node(void **state)
{
	CLEANUP(server_free) struct server *s = server_new("{" ONLY_N2 "," POD "," LATER "}", NULL);

	sim_run_for(s->sim, 5000);
	watch(s);
	assert_true(fakeapi_has(s->api, "persistentvolumeclaims", "ns", "c",
				quoted(s->world, "'volume.kubernetes.io/selected-node':'n2'")));
	sim_run_for(s->sim, 3000);
	assert_string_equal(answer(s), "waits");
	change(s, CLAIM_PATH,
	       "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':"
	       "null,'x':'y'}}}");
	sim_run_for(s->sim, 3000);
	assert_string_equal(answer(s), "binding volumes: provisioning failed for PVC \"c\"");
}

static void waiting_for_volumes_ends(void **state)
{
	CLEANUP(server_free)
	struct server *late = server_new("{" ONLY_N2 "," POD "," LATER "}", NULL);
	CLEANUP(server_free)
	struct server *gone = server_new("{" ONLY_N2 "," POD "," LATER "}", NULL);
	CLEANUP(server_free)
	struct server *raced = server_new("{" ONLY_N2 "," POD "," LATER "}", NULL);

	sim_run_for(late->sim, 599000);
	assert_string_equal(answer(late), "waits");
	sim_run_for(late->sim, 5000);
	assert_string_equal(answer(late), "binding volumes: context deadline exceeded");

	sim_run_for(gone->sim, 5000);
	kept_binding_cancel(&gone->binding);
	assert_string_equal(answer(gone), "pod no longer exists");

	/* Somebody changed the claim before our write came. */
	assert_int_equal(fakeapi_call(raced->api, "PATCH", CLAIM_PATH,
				      STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), NULL),
			 200);
	sim_run_for(raced->sim, 5000);
	assert_int_equal(raced->binding.ended, 1);
	assert_int_equal(raced->binding.answer.code, VERDICT_ERROR);
}

static void nodes_with_more_room_score_higher(void **state)
{
	CLEANUP(world_free)
	struct world *w = world_new(
		"{" TWO "," POD "," WAITING "," LATER ",'csiDrivers':[{'name':'d','spec':"
		"{'storageCapacity':true}}],'capacities':[{'name':'x1','storageClassName':'later',"
		"'capacity':'10Gi','nodeTopology':{'matchLabels':{'disk':'a'}}},{'name':'x2',"
		"'storageClassName':'later','capacity':'50Gi','nodeTopology':{'matchLabels':"
		"{'disk':'b'}}}]}");

	assert_string_equal(run(w), "n2");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(w->cycle->totals[i],
				 str_eqz(w->cycle->feasible[i]->name, "n2") ? 90 : 50);
}

/* --- hints --------------------------------------------------------------------------------- */

static enum event_hint hint(struct world *w, const struct plugin_kind *k, enum event_kind kind,
			    const char *old, const char *now)
{
	CLEANUP(cached_unref) struct cached *was = old ? make_object(w, parse(w, old)) : NULL;
	CLEANUP(cached_unref) struct cached *is = now ? make_object(w, parse(w, now)) : NULL;
	unsigned action = !old ? EVENT_ADD : !now ? EVENT_DELETE : EVENT_UPDATE;
	struct cluster_event e = {
		.kind = kind, .actions = action, .old_object = was, .object = is
	};

	for (const struct plugin_event *row = k->events; row->actions; row++) {
		if (row->kind == kind && row->actions & action)
			return row->hint ? row->hint(NULL, w->pod, &e) : HINT_QUEUE;
	}
	return HINT_SKIP;
}

static void events_wake_the_pods_that_they_may_help(void **state)
{
	static const struct {
		const struct plugin_kind *plugin;
		enum event_kind kind;
		const char *old, *now;
		enum event_hint hint;
	} rows[] = {
#define PVC(ns, name) "{'metadata':{'namespace':'" ns "','name':'" name "'}}"
		{ &plugin_volume_binding, EVENT_PVC, NULL, PVC("ns", "c"), HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_PVC, PVC("ns", "c"), PVC("ns", "c"), HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_PVC, NULL, PVC("ns", "d"), HINT_SKIP },
		{ &plugin_volume_binding, EVENT_PVC, NULL, PVC("other", "c"), HINT_SKIP },
		{ &plugin_volume_binding, EVENT_PVC, PVC("ns", "c"), NULL, HINT_SKIP },
		{ &plugin_volume_binding, EVENT_PV, NULL, "{'name':'v'}", HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_STORAGE_CLASS, NULL, "{'name':'s'}", HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_STORAGE_CLASS, "{'name':'s'}", "{'name':'s'}",
		  HINT_SKIP },
		{ &plugin_volume_binding, EVENT_STORAGE_CLASS, "{'name':'s'}",
		  "{'name':'s','allowedTopologies':[]}", HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_CSI_CAPACITY, "{'name':'s','capacity':'1Gi'}",
		  "{'name':'s','capacity':'2Gi'}", HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_CSI_CAPACITY, "{'name':'s','capacity':'2Gi'}",
		  "{'name':'s','capacity':'1Gi'}", HINT_SKIP },
		{ &plugin_volume_binding, EVENT_CSI_DRIVER,
		  "{'name':'s','spec':{'storageCapacity':true}}",
		  "{'name':'s','spec':{'storageCapacity':false}}", HINT_QUEUE },
		{ &plugin_volume_binding, EVENT_CSI_DRIVER,
		  "{'name':'s','spec':{'storageCapacity':false}}",
		  "{'name':'s','spec':{'storageCapacity':true}}", HINT_SKIP },
		{ &plugin_volume_zone, EVENT_STORAGE_CLASS, NULL,
		  "{'name':'s','volumeBindingMode':'WaitForFirstConsumer'}", HINT_QUEUE },
		{ &plugin_volume_zone, EVENT_STORAGE_CLASS, NULL,
		  "{'name':'s','volumeBindingMode':'Immediate'}", HINT_SKIP },
		{ &plugin_volume_zone, EVENT_PV, "{'name':'v'}",
		  "{'name':'v','metadata':{'labels':{'topology.kubernetes.io/zone':'z'}}}",
		  HINT_QUEUE },
		{ &plugin_volume_zone, EVENT_PV, "{'name':'v'}",
		  "{'name':'v','metadata':{'labels':{'x':'z'}}}", HINT_SKIP },
		{ &plugin_volume_restrictions, EVENT_PVC, NULL, PVC("ns", "c"), HINT_QUEUE },
		{ &plugin_volume_restrictions, EVENT_PVC, NULL, PVC("ns", "d"), HINT_SKIP },
		{ &plugin_node_volume_limits, EVENT_CSI_NODE, NULL, "{'name':'n1'}", HINT_QUEUE },
		{ &plugin_node_volume_limits, EVENT_CSI_NODE, "{'name':'n1'}",
		  "{'name':'n1','spec':{'drivers':[{'name':'d','allocatable':{'count':1}}]}}",
		  HINT_QUEUE },
		{ &plugin_node_volume_limits, EVENT_CSI_NODE,
		  "{'name':'n1','spec':{'drivers':[{'name':'d','allocatable':{'count':2}}]}}",
		  "{'name':'n1','spec':{'drivers':[{'name':'d','allocatable':{'count':1}}]}}",
		  HINT_SKIP },
		{ &plugin_node_volume_limits, EVENT_VOLUME_ATTACHMENT, "{'name':'a'}", NULL,
		  HINT_QUEUE },
	};
	CLEANUP(world_free) struct world *w = world_new("{" NODE "," POD "}");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (hint(w, rows[i].plugin, rows[i].kind, rows[i].old, rows[i].now) != rows[i].hint)
			fail_msg("row %zu", i);
	}
}

static void a_pod_that_goes_wakes_those_that_share_its_volumes(void **state)
{
	CLEANUP(world_free) struct world *w = world_new("{" NODE "," POD "}");
	static const struct {
		const char *gone;
		enum event_hint restrictions, limits;
	} rows[] = {
		{ WITH("o", AT_N1, "'persistentVolumeClaim':{'claimName':'c'}"), HINT_QUEUE,
		  HINT_QUEUE },
		{ WITH("o", AT_N1, "'persistentVolumeClaim':{'claimName':'d'}"), HINT_SKIP,
		  HINT_QUEUE },
		{ WITH("o", AT_N1, "'emptyDir':{}"), HINT_SKIP, HINT_SKIP },
		{ WITH("o", "", "'persistentVolumeClaim':{'claimName':'c'}"), HINT_QUEUE,
		  HINT_SKIP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(podinfo_unref) struct podinfo *gone = make_pod(w, parse(w, rows[i].gone));
		struct cluster_event e = { .kind = EVENT_ASSIGNED_POD,
					   .actions = EVENT_DELETE,
					   .old_pod = gone };

		assert_int_equal(plugin_volume_restrictions.events[0].hint(NULL, w->pod, &e),
				 rows[i].restrictions);
		assert_int_equal(plugin_node_volume_limits.events[2].hint(NULL, w->pod, &e),
				 rows[i].limits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_that_are_not_there_keep_the_pod),
		cmocka_unit_test(bound_volumes_say_where_the_pod_can_be),
		cmocka_unit_test(claims_that_wait_get_a_volume_with_the_node),
		cmocka_unit_test(a_disk_has_one_writer),
		cmocka_unit_test(a_claim_for_one_pod_is_of_one_pod),
		cmocka_unit_test(volumes_of_a_driver_are_limited),
		cmocka_unit_test(the_smallest_volume_goes_to_the_smallest_claim),
		cmocka_unit_test(a_decision_holds_until_the_cache_shows_more),
		cmocka_unit_test(a_claim_to_be_made_stays_with_its_node),
		cmocka_unit_test(a_claim_to_be_made_is_waited_for),
		cmocka_unit_test(a_volume_that_was_found_is_waited_for),
		cmocka_unit_test(a_volume_is_bound_to_the_claim_before_the_pod),
		cmocka_unit_test(a_volume_is_asked_for_on_the_node),
		cmocka_unit_test(waiting_for_volumes_ends),
		cmocka_unit_test(nodes_with_more_room_score_higher),
		cmocka_unit_test(events_wake_the_pods_that_they_may_help),
		cmocka_unit_test(a_pod_that_goes_wakes_those_that_share_its_volumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
