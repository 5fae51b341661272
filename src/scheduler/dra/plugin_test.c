/* DynamicResources: what it says about pods and nodes, and what it writes. */
#include "cel/cel_limits.h"
#include "dra/dra_limits.h"
#include "scheduler/dra/dra_world.h"

/* --- deciding --------------------------------------------------------------------------------- */

static void a_pod_waits_until_all_its_claims_are_there_and_its_own(void **state)
{
	static const struct {
		const char *pod, *why;
	} cases[] = {
		{ POD("p", "'cpu':1"), "" },
		{ POD("p", USES("good")), "" },
		{ POD("p", USES("missing")), "could not find ResourceClaim \"default/missing\"" },
		{ POD("p", USES("dying")), "resourceclaim \"dying\" is being deleted" },
		{ POD("p", "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'}]"),
		  "pod \"default/p\": ResourceClaim not created yet" },
		{ POD("p", "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'}],"
			   "'status':{'resourceClaimStatuses':[{'name':'x'}]}"),
		  "" },
		{ POD("p", "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'}],"
			   "'status':{'resourceClaimStatuses':[{'name':'x','resourceClaimName':"
			   "'owned'}]}"),
		  "" },
		{ POD("q", "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'}],"
			   "'status':{'resourceClaimStatuses':[{'name':'x','resourceClaimName':"
			   "'owned'}]}"),
		  "ResourceClaim default/owned was not created for Pod default/q (Pod is not "
		  "owner)" },
	};
	struct world *w = world_new(false);

	put_claim(w, "good", "", ONE("any"), "");
	put_claim(w, "dying", ",'deletionTimestamp':'2026-01-01T00:00:00Z'", ONE("any"), "");
	put_claim(w, "owned",
		  ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'pod-p',"
		  "'controller':true}]",
		  ONE("any"), "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct podinfo *pod = scheduler_fixture_make_pod(&w->f, cases[i].pod);
		struct verdict v = w->p->kind->pre_enqueue(w->p, pod, &w->f.arena);
		struct str why = verdict_message(&v, &w->f.arena);

		assert_string_equal(arena_strdup(&w->f.arena, why), cases[i].why);
		assert_int_equal(v.code, why.n ? VERDICT_UNRESOLVABLE : VERDICT_SUCCESS);
		podinfo_unref(pod);
	}
	world_free(w);
}

static void nodes_fit_that_have_what_is_wanted(void **state)
{
	struct world *w = world_new(false);

	add_node(w, "n1", "");
	add_node(w, "n2", "");
	put_claim(w, "one", "", ONE("any"), "");
	put_claim(w, "big", "", ONE("large"), "");
	put_claim(w, "lost", "", ONE("none"), "");
	put_claim(w, "there", "", ONE("any"), ON("n2", "b"));
	assert_string_equal(filter(w, POD("p", "'cpu':1")), "skip");
	assert_string_equal(filter(w, POD("p", USES("one"))), "n1 n2");
	assert_string_equal(filter(w, POD("p", USES("big"))),
			    "n1 n2:UnschedulableAndUnresolvable[cannot allocate all claims]");
	assert_string_equal(filter(w, POD("p", USES("lost"))),
			    "UnschedulableAndUnresolvable[request r: device class none does not "
			    "exist]");
	assert_string_equal(
		filter(w, POD("p", USES("there"))),
		"n1:UnschedulableAndUnresolvable[resourceclaim not available on the node] n2");
	world_free(w);
}

static void a_reserved_device_is_taken_until_it_is_given_back(void **state)
{
	struct world *w = world_new(false);
	struct cycle *first, *second;

	add_node(w, "n1", "");
	put_claim(w, "one", "", ONE("any"), "");
	put_claim(w, "two", "", ONE("any"), "");
	put_claim(w, "three", "", ONE("any"), "");
	first = reserved(w, POD("p1", USES("one")), "n1");
	assert_true(in_use(w, "n1", "a"));
	assert_string_equal(filter(w, POD("p9", USES("one"))),
			    "UnschedulableAndUnresolvable[resource claim default/one is in the "
			    "process of being allocated]");
	second = reserved(w, POD("p2", USES("two")), "n1");
	assert_true(in_use(w, "n1", "b"));
	assert_string_equal(filter(w, POD("p3", USES("three"))),
			    "n1:UnschedulableAndUnresolvable[cannot allocate all claims]");
	/* The watch shows the claim as it was: that changes nothing. */
	put_claim(w, "one", ",'labels':{'a':'b'}", ONE("any"), "");
	assert_true(in_use(w, "n1", "a"));
	w->p->kind->unreserve(w->p, first, STR("n1"));
	assert_false(in_use(w, "n1", "a"));
	assert_string_equal(filter(w, POD("p3", USES("three"))), "n1");
	w->p->kind->unreserve(w->p, second, STR("n1"));
	w->p->kind->unreserve(w->p, second, STR("n1")); /* once more does no harm */
	cycle_free(first);
	cycle_free(second);
	world_free(w);
}

static void earlier_alternatives_score_higher(void **state)
{
	struct world *w = world_new(false);
	int64_t scores[2];
	struct cycle *c;

	add_node(w, "n1", "");
	add_node(w, "n2", "");
	put_claim(w, "there", "", ONE("any"), ON("n1", "b"));
	put_claim(
		w, "list", "",
		"'devices':{'requests':[{'name':'r','firstAvailable':["
		"{'name':'l','deviceClassName':'large','allocationMode':'ExactCount','count':1},"
		"{'name':'s','deviceClassName':'any','allocationMode':'ExactCount','count':1}]}]}",
		"");
	c = scheduler_fixture_cycle(&w->f, POD("p", USES("list")));
	assert_int_equal(w->p->kind->pre_filter(w->p, c).code, VERDICT_SUCCESS);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(w->p->kind->score(w->p, c, i, &scores[i]).code, VERDICT_SUCCESS);
	assert_int_equal(scores[0], 7); /* n1: the large one is taken */
	assert_int_equal(scores[1], 8);
	w->p->kind->normalize(w->p, c, scores, 2);
	assert_int_equal(scores[0], 87);
	assert_int_equal(scores[1], 100);
	cycle_free(c);
	world_free(w);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void an_allocation_is_written_with_finalizer_and_reservation(void **state)
{
	struct world *w = world_new(true);
	struct kept_binding b;
	struct cycle *c;
	struct dra_claim known;

	add_node(w, "n1", "");
	serve_claim(w, "one", ONE("any"), "");
	c = reserved(w, POD("p", USES("one")), "n1");
	assert_string_equal(bind_pod(w, &b, c), "");
	assert_int_equal(b.answer.code, VERDICT_SUCCESS);
	assert_int_equal(w->api->writes, 2);
	assert_true(stored(w, "one", "'finalizers':['" POD_CLAIMS_FINALIZER "']"));
	assert_true(stored(w, "one", "'device':'a'"));
	assert_true(stored(w, "one", "'allocationTimestamp':'"));
	assert_true(
		stored(w, "one", "'reservedFor':[{'resource':'pods','name':'p','uid':'pod-p'}]"));
	/* It is known at once, and the watch, late, does not undo it. */
	for (int i = 0; i < 2; i++) {
		assert_true(dra_state_find(w->dra, STR("default/one"), &known));
		assert_true(known.allocated);
		assert_false(known.decided);
		assert_true(in_use(w, "n1", "a"));
		watch(w);
	}
	cycle_free(c);
	world_free(w);
}

static void a_conflict_is_tried_again_on_the_newest_version(void **state)
{
	struct world *w = world_new(true);
	struct kept_binding b;
	struct cycle *c;

	add_node(w, "n1", "");
	serve_claim(w, "one", ONE("any"), "");
	c = reserved(w, POD("p", USES("one")), "n1");
	change(w, "one", "{'metadata':{'labels':{'a':'b'}}}");
	assert_string_equal(bind_pod(w, &b, c), "");
	assert_true(stored(w, "one", "'device':'a'"));
	assert_true(stored(w, "one", "'labels':{'a':'b'}"));
	cycle_free(c);
	world_free(w);
}

/* Refuses the status of claim one, as a server does on which another claim holds the device. */
static int refuse_allocation(void *arg UNUSED, const struct fakeapi_query *q)
{
	return str_eqz(q->method, "PUT") && str_ends(q->path, STR("/one/status")) ? 409
										  : FAKEAPI_WELL;
}

static void a_device_that_other_claims_hold_is_not_tried_again(void **state)
{
	static const struct {
		const char *reason, *message; /* of the refusal's cause */
		bool known; /* the next attempt knows the holder, before the watch does */
	} cases[] = {
		{ "DeviceHeld", "default/two", true },
		{ "DeviceHeld", "default/gone", false },
		{ "DeviceHeld", "", false },
		{ "DeviceCapacityExceeded", "default/two: 1 left of 2", false },
		{ "DeviceCountersExceeded", "default/two: 1 left of 2", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c;

		add_node(w, "n1", "");
		serve_claim(w, "one", ONE("any"), "");
		fakeapi_add(w->api, "resourceclaims", "default", "two", "",
			    quoted(w, ",'spec':{" ONE("any") "},'status':{" ON("n1", "a") "}"));
		w->api->fault = refuse_allocation;
		w->api->refusal = quoted(
			w, arena_printf(&w->f.arena,
					"{'kind':'Status','status':'Failure','reason':'Conflict',"
					"'message':'it is held','details':{'causes':[{'reason':"
					"'%s','message':'%s','field':'status.allocation."
					"devices.results[0]'}]},'code':409}",
					cases[i].reason, cases[i].message));
		c = reserved(w, POD("p", USES("one")), "n1");
		assert_int_equal(conflicts(w), 0);
		assert_string_equal(bind_pod(w, &b, c), "add allocation and reservation to claim "
							"default/one: it is held");
		assert_int_equal(b.answer.code, VERDICT_ERROR);
		assert_int_equal(conflicts(w), 1);
		assert_int_equal(w->api->writes, 2); /* finalizer and status, once each */
		w->p->kind->unreserve(w->p, c, STR("n1"));
		assert_int_equal(in_use(w, "n1", "a"), cases[i].known);
		cycle_free(c);
		/* With the holder known, the next attempt takes the other device. */
		w->api->fault = NULL;
		watch(w);
		c = reserved(w, POD("p", USES("one")), "n1");
		assert_string_equal(bind_pod(w, &b, c), "");
		assert_true(stored(w, "one", "'device':'b'"));
		cycle_free(c);
		world_free(w);
	}
}

static void a_change_by_others_ends_the_binding(void **state)
{
	static const struct {
		const char *change, *why;
	} cases[] = {
		{ "{'status':{" ON("n1", "b") "}}",
		  "claim default/one got allocated elsewhere in the meantime" },
		{ "{'metadata':{'labels':{'a':'b'},'finalizers':['x']}}", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c;

		add_node(w, "n1", "");
		serve_claim(w, "one", ONE("any"), "");
		c = reserved(w, POD("p", USES("one")), "n1");
		change(w, "one", cases[i].change);
		assert_string_equal(bind_pod(w, &b, c), cases[i].why);
		if (b.answer.code != VERDICT_SUCCESS) {
			w->p->kind->unreserve(w->p, c, STR("n1"));
			assert_false(in_use(w, "n1", "a"));
			assert_true(in_use(w, "n1", "b"));
			watch(w);
			assert_true(in_use(w, "n1", "b"));
		}
		cycle_free(c);
		world_free(w);
	}
}

static void a_claim_that_is_deleted_meanwhile_ends_the_binding(void **state)
{
	struct world *w = world_new(true);
	struct kept_binding b;
	struct cycle *c;

	add_node(w, "n1", "");
	serve_claim(w, "one", ONE("any"), "");
	c = reserved(w, POD("p", USES("one")), "n1");
	assert_int_equal(
		fakeapi_call(w->api, "DELETE",
			     "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/one",
			     STR_NULL, NULL),
		200);
	watch(w);
	assert_true(in_use(w, "n1", "a")); /* until we know what became of our write */
	assert_non_null(strstr(bind_pod(w, &b, c), "add finalizer to claim default/one: "));
	w->p->kind->unreserve(w->p, c, STR("n1"));
	assert_false(in_use(w, "n1", "a"));
	cycle_free(c);
	world_free(w);
}

static void a_pod_that_may_be_bound_keeps_its_reservation(void **state)
{
	for (int doubted = 0; doubted < 2; doubted++) {
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c;

		add_node(w, "n1", "");
		serve_claim(w, "one", ONE("any"), "");
		c = reserved(w, POD("p", USES("one")), "n1");
		assert_string_equal(bind_pod(w, &b, c), "");
		if (doubted)
			binding_note_doubt(&b.binding);
		w->p->kind->unreserve(w->p, c, STR("n1"));
		sim_run_for(w->sim, 100);
		assert_int_equal(stored(w, "one", "'uid':'pod-p'"), doubted);
		assert_true(in_use(w, "n1", "a"));
		cycle_free(c);
		world_free(w);
	}
}

/*
 * The first pod's claims are written; it is deleted, its claim freed, and the next has it when its
 * binding fails.
 */
static void a_pod_that_fails_late_takes_nothing_from_the_next_user_of_its_claim(void **state)
{
	struct world *w = world_new(true);
	struct cycle *first, *next;
	struct kept_binding b;

	add_node(w, "n1", "");
	serve_claim(w, "one", ONE("any"), "");
	first = reserved(w, POD("p", USES("one")), "n1");
	assert_string_equal(bind_pod(w, &b, first), "");
	change(w, "one", "{'status':{'reservedFor':null,'allocation':null}}");
	watch(w);
	assert_false(in_use(w, "n1", "a"));
	next = reserved(w, POD("q", USES("one")), "n1");
	assert_true(in_use(w, "n1", "a"));
	w->p->kind->unreserve(w->p, first, STR("n1"));
	assert_true(in_use(w, "n1", "a"));
	w->p->kind->unreserve(w->p, next, STR("n1"));
	assert_false(in_use(w, "n1", "a"));
	cycle_free(first);
	cycle_free(next);
	world_free(w);
}

/* Status of an allocated claim whose device has a binding condition. */
#define ATTACHED(status, reason)                                                                  \
	"'status':{'devices':[{'driver':'x.example.com','pool':'n1','device':'a','conditions':[{" \
	"'type':'" status "','status':'True','reason':'" reason "','message':'m'}]}]}"

/* A pod that waits for its device. */
static struct cycle *begin_attaching(struct world *w, struct kept_binding *b)
{
	struct cycle *c;

	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4','memory':'8Gi'}");
	put(w, dra_state_put_slice,
	    "{'metadata':{'name':'s'},'spec':{'driver':'x.example.com','nodeName':'n1','pool':{"
	    "'name':'n1','generation':1,'resourceSliceCount':1},'devices':[{'name':'a',"
	    "'bindingConditions':['Ready'],'bindingFailureConditions':['Broken']}]}}");
	serve_claim(w, "one", ONE("any"), "");
	c = reserved(w, POD("p", USES("one")), "n1");
	begin_bind(w, b, c);
	assert_false(sim_run_until(w->sim, kept_binding_has_ended, b, 20000));
	assert_true(stored(w, "one", "'bindingConditions':['Ready']"));
	return c;
}

static void a_pod_is_bound_when_its_device_is_ready(void **state)
{
	struct world *w = world_new(true);
	uint64_t asked;
	struct kept_binding b;
	struct cycle *c = begin_attaching(w, &b);

	asked = w->api->requests;
	assert_false(sim_run_until(w->sim, kept_binding_has_ended, &b, 60000));
	assert_int_equal(w->api->requests, asked); /* waiting costs no requests */
	change(w, "one", "{" ATTACHED("Ready", "r") "}");
	watch(w);
	assert_int_equal(b.ended, 1);
	assert_int_equal(b.answer.code, VERDICT_SUCCESS);
	cycle_free(c);
	world_free(w);
}

static void a_device_that_fails_ends_the_binding_and_is_given_back(void **state)
{
	struct world *w = world_new(true);
	struct kept_binding b;
	struct cycle *c = begin_attaching(w, &b);
	struct str nominated = STR_NULL;
	struct verdict v;

	change(w, "one", "{" ATTACHED("Broken", "NoLink") "}");
	watch(w);
	assert_int_equal(b.ended, 1);
	assert_string_equal(arena_strdup(&w->f.arena, verdict_message(&b.answer, &c->arena)),
			    "device binding failed: claim=one, reason=NoLink, message=\"m\"");
	w->p->kind->unreserve(w->p, c, STR("n1"));
	sim_run_for(w->sim, 100);
	assert_false(stored(w, "one", "'uid':'pod-p'"));
	cycle_free(c);
	/* The next attempt finds it in the way, and deallocates it. */
	change(w, "one", "{'status':{'reservedFor':null}}");
	watch(w);
	assert_true(in_use(w, "n1", "a"));
	c = scheduler_fixture_cycle(&w->f, POD("p", USES("one")));
	assert_int_equal(w->p->kind->pre_filter(w->p, c).code, VERDICT_SUCCESS);
	assert_string_equal(scheduler_fixture_filters(&w->f, w->p, c),
			    "n1:UnschedulableAndUnresolvable[resourceclaim not available on the "
			    "node]");
	v = w->p->kind->post_filter(w->p, c, &nominated);
	assert_string_equal(arena_strdup(&w->f.arena, verdict_message(&v, &c->arena)),
			    "deallocation of ResourceClaim completed");
	sim_run_for(w->sim, 100);
	assert_false(stored(w, "one", "'allocation'"));
	assert_false(in_use(w, "n1", "a"));
	cycle_free(c);
	world_free(w);
}

static void waiting_for_a_device_ends_by_time_or_by_the_pod_s_end(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c = begin_attaching(w, &b);

		if (i == 0) {
			assert_true(sim_run_until(w->sim, kept_binding_has_ended, &b, 600000));
			assert_string_equal(
				arena_strdup(&w->f.arena, verdict_message(&b.answer, &c->arena)),
				"device binding timeout: claim=one");
		} else {
			kept_binding_cancel(&b);
			assert_int_equal(b.ended, 1);
			assert_int_equal(b.answer.code, VERDICT_ERROR);
		}
		w->p->kind->unreserve(w->p, c, STR("n1"));
		sim_run_for(w->sim, 100);
		/* The controller removes the reservation of a deleted pod. */
		assert_int_equal(stored(w, "one", "'uid':'pod-p'"), i != 0);
		assert_true(in_use(w, "n1", "a"));
		cycle_free(c);
		world_free(w);
	}
}

static void an_allocation_that_vanishes_or_has_no_time_is_not_waited_for_for_ever(void **state)
{
	static const struct {
		const char *change, *why;
	} cases[] = {
		{ "{'status':{'allocation':null}}",
		  "claim default/one got deallocated elsewhere in the meantime" },
		{ "{'status':{'allocation':{'allocationTimestamp':'soon'}}}",
		  "device binding timeout: claim=one" },
		{ "{'status':{'allocation':{'allocationTimestamp':'2999-01-01T00:00:00Z'}}}",
		  "device binding timeout: claim=one" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c = begin_attaching(w, &b);

		change(w, "one", cases[i].change);
		watch(w);
		assert_true(sim_run_until(w->sim, kept_binding_has_ended, &b, 601000));
		assert_string_equal(
			arena_strdup(&w->f.arena, verdict_message(&b.answer, &c->arena)),
			cases[i].why);
		w->p->kind->unreserve(w->p, c, STR("n1"));
		sim_run_for(w->sim, 100);
		cycle_free(c);
		world_free(w);
	}
}

static void a_write_without_an_answer_is_looked_up(void **state)
{
	struct world *w = world_new(true);
	struct kept_binding b;
	struct cycle *c;

	add_node(w, "n1", "");
	serve_claim(w, "one", ONE("any"), "'x':1");
	change(w, "one", "{'metadata':{'finalizers':['" POD_CLAIMS_FINALIZER "']}}");
	watch(w);
	c = reserved(w, POD("p", USES("one")), "n1");
	begin_bind(w, &b, c);
	while (!stored(w, "one", "'device'"))
		assert_true(sim_step(w->sim));
	(void)sim_break_conns(w->sim, 1);
	assert_true(sim_run_until(w->sim, kept_binding_has_ended, &b, 120000));
	assert_string_equal(arena_strdup(&w->f.arena, verdict_message(&b.answer, &c->arena)), "");
	assert_true(in_use(w, "n1", "a"));
	assert_int_equal(w->api->writes, 1);
	cycle_free(c);
	world_free(w);
}

/* The server performs the first write without a reply, then is unreachable for a while. */
struct outage {
	bool written; /* the write is performed; else it is lost, too */
	int lost; /* remaining requests to lose */
};

static int break_down(void *arg, const struct fakeapi_query *q)
{
	struct outage *o = arg;

	if (str_eqz(q->method, "PUT"))
		return o->written ? FAKEAPI_DO_AND_CUT : FAKEAPI_CUT;
	return o->lost-- > 0 ? 503 : FAKEAPI_WELL;
}

static void devices_stay_held_until_it_is_known_what_was_written(void **state)
{
	/* In the second half, the pod is deleted meanwhile. */
	for (int i = 0; i < 4; i++) {
		struct outage outage = { .written = i % 2 == 0, .lost = 40 };
		struct world *w = world_new(true);
		struct kept_binding b;
		struct cycle *c;

		add_node(w, "n1", "");
		serve_claim(w, "one", ONE("any"), "'x':1");
		change(w, "one", "{'metadata':{'finalizers':['" POD_CLAIMS_FINALIZER "']}}");
		watch(w);
		c = reserved(w, POD("p", USES("one")), "n1");
		w->api->fault = break_down;
		w->api->fault_arg = &outage;
		begin_bind(w, &b, c);
		assert_false(sim_run_until(w->sim, kept_binding_has_ended, &b, 30000));
		assert_true(outage.lost > 0 && outage.lost < 40);
		assert_int_equal(stored(w, "one", "'device':'a'"), outage.written);
		if (i >= 2) {
			kept_binding_cancel(&b);
			assert_int_equal(b.ended, 0);
		}
		assert_true(in_use(w, "n1", "a"));
		outage.lost = 0;
		assert_true(sim_run_until(w->sim, kept_binding_has_ended, &b, 60000));
		assert_int_equal(b.answer.code,
				 outage.written && i < 2 ? VERDICT_SUCCESS : VERDICT_ERROR);
		if (b.answer.code != VERDICT_SUCCESS)
			w->p->kind->unreserve(w->p, c, STR("n1"));
		assert_int_equal(in_use(w, "n1", "a"), outage.written);
		w->api->fault = NULL;
		sim_run_for(w->sim, 100);
		cycle_free(c);
		world_free(w);
	}
}

/* --- extended resources ----------------------------------------------------------------------- */

#define WANTS_GPU POD("p", "'requests':{'cpu':'1','x.example.com/gpu':'1'}")

static void extended_resources_may_be_devices(void **state)
{
	struct world *w = world_new(false);

	add_node(w, "n1", "");
	scheduler_fixture_node(&w->f, "{'name':'n2','cpu':'4','memory':'8Gi',"
				      "'x.example.com/gpu':'2'}");
	scheduler_fixture_node(&w->f, "{'name':'n3','cpu':'4','memory':'8Gi'}");
	assert_string_equal(filter(w, WANTS_GPU),
			    "n1 n2 n3:UnschedulableAndUnresolvable[cannot allocate all claims]");
	assert_string_equal(filter(w, POD("p", "'requests':{'y.example.com/z':'1'}")), "skip");
	assert_true(dra_state_backs_resource(w->dra, STR("x.example.com/gpu")));
	assert_true(
		dra_state_backs_resource(w->dra, STR("deviceclass.resource.kubernetes.io/large")));
	assert_false(dra_state_backs_resource(w->dra, STR("y.example.com/z")));
	world_free(w);
}

static void a_claim_is_made_for_extended_resources_and_the_pod_is_told(void **state)
{
	struct world *w = world_new(true);
	const struct fakeapi_event *made = NULL;
	struct kept_binding b;
	struct cycle *c;

	add_node(w, "n1", "");
	fakeapi_add(w->api, "pods", "default", "p", ",\"uid\":\"pod-p\"", "");
	c = reserved(w, WANTS_GPU, "n1");
	assert_true(in_use(w, "n1", "a"));
	assert_string_equal(bind_pod(w, &b, c), "");
	assert_int_equal(fakeapi_count(w->api, "resourceclaims"), 1);
	for (size_t i = 0; i < w->api->log.n; i++)
		if (strcmp(w->api->log.v[i].kind->resource, "resourceclaims") == 0)
			made = &w->api->log.v[i];
	assert_non_null(made);
	assert_non_null(strstr(made->text, "\"generateName\":\"p-extended-resources-\""));
	assert_non_null(strstr(made->text, "\"name\":\"container-0-request-1\""));
	assert_non_null(strstr(made->text, "\"device\":\"a\""));
	assert_true(fakeapi_has(w->api, "pods", "default", "p",
				quoted(w, "'requestMappings':[{'containerName':'c','resourceName':"
					  "'x.example.com/gpu','requestName':"
					  "'container-0-request-1'}]")));
	assert_true(in_use(w, "n1", "a"));
	watch(w);
	assert_true(in_use(w, "n1", "a"));
	/* Binding fails later on: it goes away again. */
	w->p->kind->unreserve(w->p, c, STR("n1"));
	sim_run_for(w->sim, 1000);
	assert_int_equal(fakeapi_count(w->api, "resourceclaims"), 0);
	watch(w);
	assert_false(in_use(w, "n1", "a"));
	cycle_free(c);
	world_free(w);
}

static void a_claim_that_somebody_else_deleted_is_gone_as_well(void **state)
{
	struct world *w = world_new(true);
	const char *name = NULL;
	struct kept_binding b;
	struct cycle *c;
	char path[256];

	add_node(w, "n1", "");
	fakeapi_add(w->api, "pods", "default", "p", ",\"uid\":\"pod-p\"", "");
	c = reserved(w, WANTS_GPU, "n1");
	assert_string_equal(bind_pod(w, &b, c), "");
	assert_true(in_use(w, "n1", "a"));
	for (size_t i = 0; i < w->api->log.n; i++)
		if (strcmp(w->api->log.v[i].kind->resource, "resourceclaims") == 0)
			name = strrchr(w->api->log.v[i].key, '/') + 1;
	assert_non_null(name);
	(void)snprintf(path, sizeof(path),
		       "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/%s", name);
	change(w, name, "{'metadata':{'finalizers':null}}");
	assert_int_equal(fakeapi_call(w->api, "DELETE", path, STR_NULL, NULL), 200);
	assert_int_equal(fakeapi_count(w->api, "resourceclaims"), 0);
	/* The watch never tells. */
	w->p->kind->unreserve(w->p, c, STR("n1"));
	sim_run_for(w->sim, 1000);
	assert_false(in_use(w, "n1", "a"));
	cycle_free(c);
	world_free(w);
}

static void a_pod_with_too_many_extended_resources_is_told_so(void **state)
{
	struct world *w = world_new(false);
	struct buf pod = BUF_INIT(1UL << 14);

	add_node(w, "n1", "");
	(void)buf_addz(&pod, "{'name':'p','uid':'pod-p','requests':{'x.example.com/gpu':'1'");
	for (int i = 0; i < 64; i++)
		(void)buf_printf(&pod, ",'y.example.com/r%d':'1'", i);
	(void)buf_addz(&pod, "}}");
	(void)buf_add(&pod, "", 1);
	assert_string_equal(filter(w, pod.p), "UnschedulableAndUnresolvable[pod requests more than "
					      "64 extended resources]");
	buf_release(&pod);
	world_free(w);
}

/* A cycle of a pod that wants a large device, after its pre-filter. */
static struct cycle *begin_large(struct world *w)
{
	struct cycle *c;

	add_node(w, "n1", "");
	put_claim(w, "big", "", ONE("large"), "");
	c = scheduler_fixture_cycle(&w->f, POD("p", USES("big")));
	assert_int_equal(w->p->kind->pre_filter(w->p, c).code, VERDICT_SUCCESS);
	return c;
}

static void an_attempt_tries_so_many_devices_and_no_more(void **state)
{
	struct world *w = world_new(false);
	struct cycle *c = begin_large(w);

	assert_int_equal(dra_cycle_of(c, w->p)->steps_left, ALLOCATE_ATTEMPT_STEPS_MAX);
	dra_cycle_of(c, w->p)->steps_left = 0;
	assert_string_equal(scheduler_fixture_filters(&w->f, w->p, c),
			    "n1:Error[node n1: timed out trying to allocate devices]");
	cycle_free(c);
	world_free(w);
}

static void selectors_of_an_attempt_cost_so_much_and_no_more(void **state)
{
	struct world *w = world_new(false);
	struct cycle *c = begin_large(w);

	assert_int_equal(dra_cycle_of(c, w->p)->effort.cost,
			 ALLOCATE_ATTEMPT_COST_MAX / ATTEMPT_PARTS);
	assert_int_equal(dra_cycle_of(c, w->p)->effort.compile, CEL_COMPILE_MAX / ATTEMPT_PARTS);
	assert_false(c->unfinished);
	dra_cycle_of(c, w->p)->effort.cost = 0;
	assert_string_equal(scheduler_fixture_filters(&w->f, w->p, c),
			    "n1:Error[the selectors of the pod's claims cost more than 30000000 "
			    "units in one attempt, up to class large: selector #0; the results so "
			    "far are cached for the next attempt]");
	assert_true(c->unfinished);
	c->part = ATTEMPT_PARTS - 1;
	assert_int_equal(w->p->kind->pre_filter(w->p, c).code, VERDICT_SUCCESS);
	assert_int_equal(dra_cycle_of(c, w->p)->effort.compile, CEL_COMPILE_MAX);
	cycle_free(c);
	world_free(w);
}

static void arguments_are_checked(void **state)
{
	struct world *w = world_new(false);
	struct error err;

	assert_int_equal(scheduler_fixture_try_profile(
				 &w->f, NAME, "{'" NAME "':{'bindingTimeout':'100ms'}}", &err),
			 -ERR_INVALID);
	assert_non_null(strstr(err.msg, "bindingTimeout: must be at least 1 second"));
	scheduler_fixture_profile(&w->f, NAME,
				  "{'" NAME "':{'bindingTimeout':'2s','filterTimeout':'10s'}}");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_waits_until_all_its_claims_are_there_and_its_own),
		cmocka_unit_test(nodes_fit_that_have_what_is_wanted),
		cmocka_unit_test(a_reserved_device_is_taken_until_it_is_given_back),
		cmocka_unit_test(earlier_alternatives_score_higher),
		cmocka_unit_test(an_allocation_is_written_with_finalizer_and_reservation),
		cmocka_unit_test(a_conflict_is_tried_again_on_the_newest_version),
		cmocka_unit_test(a_device_that_other_claims_hold_is_not_tried_again),
		cmocka_unit_test(a_change_by_others_ends_the_binding),
		cmocka_unit_test(a_claim_that_is_deleted_meanwhile_ends_the_binding),
		cmocka_unit_test(a_pod_that_may_be_bound_keeps_its_reservation),

		cmocka_unit_test(
			a_pod_that_fails_late_takes_nothing_from_the_next_user_of_its_claim),
		cmocka_unit_test(a_pod_is_bound_when_its_device_is_ready),
		cmocka_unit_test(a_device_that_fails_ends_the_binding_and_is_given_back),
		cmocka_unit_test(waiting_for_a_device_ends_by_time_or_by_the_pod_s_end),
		cmocka_unit_test(
			an_allocation_that_vanishes_or_has_no_time_is_not_waited_for_for_ever),
		cmocka_unit_test(a_write_without_an_answer_is_looked_up),
		cmocka_unit_test(devices_stay_held_until_it_is_known_what_was_written),
		cmocka_unit_test(extended_resources_may_be_devices),
		cmocka_unit_test(a_claim_is_made_for_extended_resources_and_the_pod_is_told),
		cmocka_unit_test(a_claim_that_somebody_else_deleted_is_gone_as_well),
		cmocka_unit_test(a_pod_with_too_many_extended_resources_is_told_so),
		cmocka_unit_test(an_attempt_tries_so_many_devices_and_no_more),
		cmocka_unit_test(selectors_of_an_attempt_cost_so_much_and_no_more),
		cmocka_unit_test(arguments_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
