/*
 * Tests the eviction of victims with an API server in memory.
 */
#include "scheduler/preemption/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/testing/fakeapi_world.h"
#include "net/loop/loop.h"
#include "scheduler/preemption/preemption_fixture.h"
#include "scheduler/queue/podqueue.h"

struct bench {
	struct scheduler_fixture f;
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct client *client;
	struct metrics *metrics;
	const char *waiting; /* uid of the pod that waits in permit */
	struct cycle *cycle;
	struct cycle_result result;
};

static struct profile *any_profile(void *arg, struct str scheduler)
{
	return ((struct bench *)arg)->f.profile;
}

static bool reject_waiting(void *arg, struct str uid)
{
	struct bench *b = arg;

	return b->waiting && str_eqz(uid, b->waiting);
}

static int setup_bench(void **state)
{
	struct bench *b = XNEW(struct bench);

	b->sim = sim_new(NULL);
	b->api = fakeapi_new(b->sim, 1);
	b->loop = sim_loop_new(b->sim, "scheduler");
	b->client = fakeapi_client(b->api, b->loop);
	b->metrics = metrics_new();
	scheduler_fixture_init(&b->f);
	b->f.services.loop = b->loop;
	b->f.services.client = b->client;
	b->f.services.metrics = b->metrics;
	b->f.services.recorder = recorder_new(&(struct recorder_opts){
		.client = b->client, .component = "default-scheduler", .series = true });
	b->f.services.queue = podqueue_new(
		&(struct podqueue_opts){ .profile = any_profile, .arg = b });
	scheduler_fixture_profile(&b->f, "NodeResourcesFit DefaultPreemption", NULL);
	preemption_set_hooks(b->f.profile, &(struct preemption_hooks){ reject_waiting, b });
	node(&b->f, "n1");
	fakeapi_add(b->api, "namespaces", "", "default", "", "");
	*state = b;
	return 0;
}

static int teardown_bench(void **state)
{
	struct bench *b = *state;

	cycle_free(b->cycle);
	podqueue_free(b->f.services.queue);
	recorder_free(b->f.services.recorder);
	scheduler_fixture_release(&b->f);
	client_free(b->client);
	sim_run_for(b->sim, 100);
	fakeapi_free(b->api);
	loop_free(b->loop);
	sim_free(b->sim);
	metrics_free(b->metrics);
	free(b);
	return 0;
}

/* On the node, and on the server, where a finalizer keeps it. */
static void victim(struct bench *b, const char *name, int cpu)
{
	char meta[128];

	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"%s\",\"finalizers\":[\"example.com/x\"]",
		       name);
	fakeapi_add(b->api, "pods", "default", name, meta, ",\"status\":{\"phase\":\"Running\"}");
	(void)snprintf(meta, sizeof(meta), "'uid':'%s','generation':3,", name);
	pod(&b->f, name, "n1", 1, cpu, 1, meta);
}

static const char preemptor[] = "{'name':'p','uid':'up','priority':5,'requests':{'cpu':'800m'}}";

/* One attempt of the preemptor; it is in the queue afterwards, as rejected by resources. */
static struct queued_pod *attempt(struct bench *b)
{
	CLEANUP(podinfo_unref) struct podinfo *p = scheduler_fixture_make_pod(&b->f, preemptor);
	struct podqueue *q = b->f.services.queue;
	struct queued_pod *queued;
	struct prng g;
	size_t start = 0;

	prng_init(&g, 1);
	if (!podqueue_find(q, p->uid))
		podqueue_add(q, p, loop_now(b->loop));
	queued = podqueue_pop(q, loop_now(b->loop));
	assert_non_null(queued);
	cycle_free(b->cycle);
	b->cycle = cycle_new(b->f.profile, queued->pod, loop_now(b->loop));
	cycle_run(b->cycle, nodecache_snapshot(b->f.services.nodes), &start, &g, &b->result);
	queued->rejectors = b->cycle->diagnosis.rejectors;
	podqueue_return(q, queued, loop_now(b->loop));
	if (b->result.nominating)
		podqueue_nominate(q, queued->pod, b->result.nominated);
	return queued;
}

static void node_added(struct bench *b)
{
	CLEANUP(nodeobject_unref)
	struct nodeobject *n = scheduler_fixture_make_node(
		&b->f, "{'name':'n2','cpu':'4','memory':'4Gi'}");

	podqueue_event(
		b->f.services.queue,
		&(struct cluster_event){ .kind = EVENT_NODE, .actions = EVENT_ADD, .node = n },
		loop_now(b->loop));
}

static void victims_are_marked_deleted_and_told(void **state)
{
	struct bench *b = *state;
	struct queued_pod *p;

	victim(b, "a", 500);
	victim(b, "b", 500);
	p = attempt(b);
	assert_true(str_eqz(b->result.nominated, "n1"));
	assert_string_equal(arena_strdup(&b->f.arena, cycle_message(b->cycle)),
			    "0/1 nodes are available: 1 Insufficient cpu. preemption: found a "
			    "potential placement for pod on node n1, preempting 2 victims");
	assert_int_equal(p->place, QUEUE_UNSCHEDULABLE);
	/* While requests are under way it stays out. */
	node_added(b);
	assert_int_equal(p->place, QUEUE_GATED);
	assert_string_equal(p->gated_by->name, "DefaultPreemption");
	sim_run_for(b->sim, 5000);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "b" : "a";

		assert_true(fakeapi_has(b->api, "pods", "default", name, "\"deletionTimestamp\""));
		assert_true(fakeapi_has(b->api, "pods", "default", name,
					"\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
					"\"True\",\"reason\":\"PreemptionByScheduler\",\"message\":"
					"\"default-scheduler: preempting to accommodate a higher "
					"priority pod\",\"lastTransitionTime\":"));
		assert_true(
			fakeapi_has(b->api, "pods", "default", name, "\"observedGeneration\":3"));
	}
	assert_int_equal(fakeapi_count(b->api, "events"), 2);
	podqueue_activate(b->f.services.queue, STR("up"), loop_now(b->loop));
	assert_int_equal(p->place, QUEUE_ACTIVE);
}

static void the_event_names_both_pods(void **state)
{
	struct bench *b = *state;
	struct omap_cursor c;
	int found = 0;

	victim(b, "a", 900);
	(void)attempt(b);
	sim_run_for(b->sim, 5000);
	for (bool ok = omap_first(&b->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (!strstr(o->text, "\"reason\":\"Preempted\""))
			continue;
		found++;
		assert_non_null(strstr(o->text, "\"note\":\"Preempted by pod up on node n1\""));
		assert_non_null(strstr(o->text, "\"action\":\"Preempting\""));
		assert_non_null(strstr(o->text, "\"type\":\"Normal\""));
		assert_non_null(strstr(o->text, "\"related\":{"));
	}
	assert_int_equal(found, 1);
}

/* The last victim's deletion may be seen before the answer to the request. */
static void the_last_victims_end_is_enough(void **state)
{
	struct bench *b = *state;
	CLEANUP(podinfo_unref) struct podinfo *gone = NULL;
	struct queued_pod *p;
	struct error err;

	victim(b, "a", 900);
	p = attempt(b);
	gone = podinfo_ref(nodecache_pod(b->f.services.nodes, STR("a")));
	node_added(b);
	assert_int_equal(p->place, QUEUE_GATED);
	assert_int_equal(nodecache_remove_pod(b->f.services.nodes, gone, &err), 0);
	podqueue_event(b->f.services.queue,
		       &(struct cluster_event){ .kind = EVENT_ASSIGNED_POD,
						.actions = EVENT_DELETE,
						.old_pod = gone },
		       loop_now(b->loop));
	assert_int_not_equal(p->place, QUEUE_GATED);
	assert_int_not_equal(p->place, QUEUE_UNSCHEDULABLE);
}

static void a_request_that_fails_activates_the_pod(void **state)
{
	struct bench *b = *state;
	struct queued_pod *p;

	victim(b, "a", 500);
	victim(b, "b", 500);
	p = attempt(b);
	b->api->fail = 1;
	node_added(b);
	assert_int_equal(p->place, QUEUE_GATED);
	sim_run_for(b->sim, 120000);
	assert_int_equal(p->place, QUEUE_ACTIVE);
	assert_int_equal(fakeapi_count(b->api, "events"), 0);
}

/*
 * Its deletion may have been reported while the preemptor was held back, and nothing else would
 * wake it.
 */
static void a_last_victim_that_is_gone_activates_the_pod(void **state)
{
	struct bench *b = *state;
	struct queued_pod *p;

	pod(&b->f, "a", "n1", 1, 900, 1, "'uid':'a',");
	p = attempt(b);
	node_added(b);
	assert_int_equal(p->place, QUEUE_GATED);
	sim_run_for(b->sim, 5000);
	assert_int_equal(p->place, QUEUE_ACTIVE);
	assert_int_equal(fakeapi_count(b->api, "events"), 0);
}

static void another_victim_that_is_gone_is_no_failure(void **state)
{
	struct bench *b = *state;
	struct queued_pod *p;

	pod(&b->f, "a", "n1", 2, 500, 1, "'uid':'a',");
	victim(b, "b", 500);
	p = attempt(b);
	sim_run_for(b->sim, 5000);
	assert_true(fakeapi_has(b->api, "pods", "default", "b", "\"deletionTimestamp\""));
	assert_int_equal(p->place, QUEUE_UNSCHEDULABLE);
	assert_int_equal(fakeapi_count(b->api, "events"), 1);
}

static void another_pod_of_the_victims_name_is_left_alone(void **state)
{
	struct bench *b = *state;

	victim(b, "a", 500);
	fakeapi_add(b->api, "pods", "default", "other", ",\"uid\":\"new\"", "");
	pod(&b->f, "other", "n1", 1, 500, 1, "'uid':'old',");
	(void)attempt(b);
	sim_run_for(b->sim, 5000);
	assert_false(fakeapi_has(b->api, "pods", "default", "other", "\"deletionTimestamp\""));
	assert_true(fakeapi_has(b->api, "pods", "default", "a", "\"deletionTimestamp\""));
}

static void a_victim_that_waits_in_permit_is_rejected_without_a_request(void **state)
{
	struct bench *b = *state;
	struct queued_pod *p;

	victim(b, "a", 900);
	b->waiting = "a";
	p = attempt(b);
	/* Activated while in flight: it comes back at once, after back-off. */
	assert_int_equal(p->place, QUEUE_BACKOFF);
	sim_run_for(b->sim, 5000);
	assert_false(fakeapi_has(b->api, "pods", "default", "a", "\"deletionTimestamp\""));
	assert_int_equal(fakeapi_count(b->api, "events"), 1);
}

static void a_victim_that_is_being_deleted_is_not_deleted_again(void **state)
{
	struct bench *b = *state;

	fakeapi_add(b->api, "pods", "default", "a", ",\"uid\":\"a\"", "");
	pod(&b->f, "a", "n1", 1, 900, 1, "'uid':'a','deleting':true,");
	(void)attempt(b);
	assert_true(str_eqz(b->result.nominated, "n1"));
	sim_run_for(b->sim, 5000);
	assert_int_equal(b->api->writes, 0);
}

static void pods_of_lower_priority_lose_their_nomination(void **state)
{
	struct bench *b = *state;
	struct podqueue *q = b->f.services.queue;
	CLEANUP(podinfo_unref)
	struct podinfo *shown = scheduler_fixture_make_pod(
		&b->f, "{'name':'shown','uid':'us','priority':2,'requests':{'cpu':'10m'},'status':{"
		       "'nominatedNodeName':'n1'}}");
	CLEANUP(podinfo_unref)
	struct podinfo *known = scheduler_fixture_make_pod(
		&b->f, "{'name':'known','uid':'uk','priority':2,'requests':{'cpu':'10m'}}");
	CLEANUP(podinfo_unref)
	struct podinfo *higher = scheduler_fixture_make_pod(
		&b->f,
		"{'name':'higher','uid':'uh','priority':7,'requests':{'cpu':'10m'},'status':{"
		"'nominatedNodeName':'n1'}}");

	fakeapi_add(b->api, "pods", "default", "shown", ",\"uid\":\"us\"",
		    ",\"status\":{\"nominatedNodeName\":\"n1\"}");
	fakeapi_add(b->api, "pods", "default", "higher", ",\"uid\":\"uh\"",
		    ",\"status\":{\"nominatedNodeName\":\"n1\"}");
	victim(b, "a", 900);
	podqueue_add(q, higher, 0);
	(void)podqueue_pop(q, 0);
	(void)attempt(b); /* so that it is in the queue; the others come after it */
	sim_run_for(b->sim, 5000);
	podqueue_add(q, shown, 0);
	podqueue_add(q, known, 0);
	podqueue_nominate(q, known, STR("n1"));
	podqueue_activate(q, STR("up"), 0);
	(void)attempt(b);
	sim_run_for(b->sim, 5000);
	assert_false(fakeapi_has(b->api, "pods", "default", "shown", "nominatedNodeName"));
	assert_true(fakeapi_has(b->api, "pods", "default", "higher", "nominatedNodeName"));
	assert_int_equal(podqueue_nominated(q, STR("uk")).n, 0);
}

static void attempts_and_victims_are_counted(void **state)
{
	struct bench *b = *state;
	struct buf text = BUF_INIT(MIB);

	victim(b, "a", 500);
	victim(b, "b", 500);
	(void)attempt(b);
	assert_int_equal(metrics_print(b->metrics, &text), 0);
	assert_non_null(strstr(text.p, "scheduler_preemption_attempts_total 1"));
	assert_non_null(strstr(text.p, "scheduler_preemption_victims_sum 2"));
	buf_release(&text);
}

/* The victims' room is promised to a pod that goes first. */
static void nominated_pods_of_higher_priority_count_as_if_they_were_there(void **state)
{
	struct bench *b = *state;
	struct podqueue *q = b->f.services.queue;
	CLEANUP(podinfo_unref)
	struct podinfo *higher = scheduler_fixture_make_pod(
		&b->f,
		"{'name':'higher','uid':'uh','priority':7,'requests':{'cpu':'600m'},'status':{"
		"'nominatedNodeName':'n1'}}");

	victim(b, "a", 900);
	podqueue_add(q, higher, 0);
	assert_non_null(podqueue_pop(q, 0));
	(void)attempt(b);
	assert_int_equal(b->result.nominated.n, 0);
	assert_string_equal(
		arena_strdup(&b->f.arena, cycle_message(b->cycle)),
		"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are "
		"available: 1 Insufficient cpu.");
}

static void a_hopeless_attempt_clears_the_nomination_and_says_why(void **state)
{
	struct bench *b = *state;

	pod(&b->f, "high", "n1", 9, 900, 1, NULL);
	(void)attempt(b);
	assert_true(b->result.nominating);
	assert_int_equal(b->result.nominated.n, 0);
	assert_string_equal(
		arena_strdup(&b->f.arena, cycle_message(b->cycle)),
		"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are "
		"available: 1 No preemption victims found for incoming pod.");
}

#define DOES(fn) cmocka_unit_test_setup_teardown(fn, setup_bench, teardown_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOES(victims_are_marked_deleted_and_told),
		DOES(the_event_names_both_pods),
		DOES(the_last_victims_end_is_enough),
		DOES(a_request_that_fails_activates_the_pod),
		DOES(a_last_victim_that_is_gone_activates_the_pod),
		DOES(another_victim_that_is_gone_is_no_failure),
		DOES(another_pod_of_the_victims_name_is_left_alone),
		DOES(a_victim_that_waits_in_permit_is_rejected_without_a_request),
		DOES(a_victim_that_is_being_deleted_is_not_deleted_again),
		DOES(pods_of_lower_priority_lose_their_nomination),
		DOES(nominated_pods_of_higher_priority_count_as_if_they_were_there),
		DOES(attempts_and_victims_are_counted),
		DOES(a_hopeless_attempt_clears_the_nomination_and_says_why),
	};

	return cmocka_run_group_tests_name("preemption_run", tests, NULL, NULL);
}
