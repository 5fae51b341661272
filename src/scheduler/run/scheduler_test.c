/*
 * The whole scheduler on a fake API server: what it writes, what it makes of answers that are
 * wrong, late or lost, and how it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/dra/state.h"
#include "scheduler/run/scheduler_world.h"

static int set_up(void **state)
{
	struct scheduler_world *w = scheduler_world_new(1, "");

	*state = w;
	scheduler_world_node(w, "n1", 4);
	scheduler_world_start(w);
	return 0;
}

static int tear_down(void **state)
{
	scheduler_world_free(*state);
	return 0;
}

/* So many pods wait to be tried, or for something to change. */
static void assert_waiting(const struct scheduler_world *w, size_t n)
{
	const struct podqueue *q = w->scheduler->queue;

	assert_int_equal(podqueue_count(q, QUEUE_ACTIVE) + podqueue_count(q, QUEUE_BACKOFF) +
				 podqueue_count(q, QUEUE_UNSCHEDULABLE),
			 n);
}

/* --- plain -------------------------------------------------------------------------------- */

static void pods_are_bound_and_their_users_told(void **state)
{
	struct scheduler_world *w = *state;

	scheduler_world_pod(w, "a", 1);
	scheduler_world_pod(w, "b", 1);
	scheduler_world_run(w, 5000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_true(scheduler_world_is_on(w, "b", "n1"));
	assert_int_equal(w->bindings, 2);
	assert_int_equal(w->patches, 0);
	assert_int_equal(scheduler_world_events(w, "\"reason\":\"Scheduled\""), 2);
	assert_int_equal(scheduler_world_events(w, "Successfully assigned default/a to n1"), 1);
	assert_int_equal(scheduler_world_taken(w, "n1"), 2000);
	scheduler_world_check_quiet(w);
}

static void a_pod_without_room_is_told_once(void **state)
{
	struct scheduler_world *w = *state;
	const char *why = "\"message\":\"0/1 nodes are available: 1 Insufficient cpu.";

	scheduler_world_pod(w, "big", 5);
	scheduler_world_run(w, 5000);
	assert_true(scheduler_world_is_on(w, "big", ""));
	assert_true(fakeapi_has(w->api, "pods", "default", "big", why));
	assert_true(fakeapi_has(w->api, "pods", "default", "big", "\"reason\":\"Unschedulable\""));
	assert_int_equal(scheduler_world_events(w, "\"reason\":\"FailedScheduling\""), 1);
	assert_int_equal(w->patches, 1);
	/* Tried anyway after a while, with the same result. */
	scheduler_world_run(w, 11 * 60 * 1000);
	assert_int_equal(w->patches, 1);
	assert_waiting(w, 1);
	scheduler_world_check_quiet(w);
}

static void a_deleted_pod_makes_room(void **state)
{
	struct scheduler_world *w = *state;

	scheduler_world_pod(w, "first", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_pod(w, "second", 3);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "second", ""));
	scheduler_world_remove_pod(w, "first");
	scheduler_world_run(w, 1000);
	assert_true(scheduler_world_is_on(w, "second", "n1"));
	assert_true(fakeapi_has(w->api, "pods", "default", "second", "\"status\":\"True\""));
	scheduler_world_check_quiet(w);
}

static void a_new_node_makes_room(void **state)
{
	struct scheduler_world *w = *state;

	scheduler_world_pod(w, "big", 6);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "big", ""));
	scheduler_world_node(w, "n2", 8);
	scheduler_world_run(w, 1000);
	assert_true(scheduler_world_is_on(w, "big", "n2"));
	scheduler_world_check_quiet(w);
}

/* The server has put PodScheduled=True; what was to be said before must not come after. */
static void a_late_condition_does_not_undo_a_binding(void **state)
{
	struct scheduler_world *w = *state;

	w->on_status = FAKEAPI_HOLD;
	scheduler_world_pod(w, "big", 6);
	scheduler_world_run(w, 5000);
	assert_int_equal(w->patches, 1);
	scheduler_world_node(w, "n2", 8);
	scheduler_world_run(w, 5000);
	w->on_status = FAKEAPI_WELL;
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "big", "n2"));
	assert_true(fakeapi_has(w->api, "pods", "default", "big", "\"status\":\"True\""));
	scheduler_world_check_quiet(w);
}

/* --- answers ------------------------------------------------------------------------------ */

/* Other pods get the room of one that could not be bound, which waits for its turn. */
static void others_get_the_room(struct scheduler_world *w)
{
	scheduler_world_pod(w, "other", 3);
	scheduler_world_run(w, 400);
	assert_true(scheduler_world_is_on(w, "other", "n1"));
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", ""));
	assert_waiting(w, 1);
	scheduler_world_check_quiet(w);
	scheduler_world_remove_pod(w, "other");
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	scheduler_world_check_quiet(w);
	assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
}

static void a_pod_whose_binding_failed_backs_off_and_others_get_its_room(void **state)
{
	static const int faults[] = { 400, 403, 404, 409 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct scheduler_world *w = NULL;

		set_up((void **)&w);
		w->on_bind = faults[i];
		w->fault_count = 1;
		scheduler_world_pod(w, "a", 3);
		scheduler_world_run(w, 500);
		assert_true(scheduler_world_is_on(w, "a", ""));
		assert_int_equal(w->bindings, 1);
		assert_int_equal(podqueue_count(w->scheduler->queue, QUEUE_BACKOFF), 1);
		assert_int_equal(scheduler_world_taken(w, "n1"), 0);
		assert_true(fakeapi_has(w->api, "pods", "default", "a",
					"\"reason\":\"SchedulerError\""));
		scheduler_world_check_quiet(w);
		others_get_the_room(w);
		assert_int_equal(w->bindings, 3);
		tear_down((void **)&w);
	}
}

/* The server may be at it still: what the pod holds stays held until that is known. */
static void a_binding_in_doubt_is_sent_again_and_nothing_undone(void **state)
{
	static const int faults[] = { 500, 503, FAKEAPI_CUT };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct scheduler_world *w = NULL;

		set_up((void **)&w);
		w->on_bind = faults[i];
		w->fault_count = 1;
		scheduler_world_pod(w, "a", 3);
		scheduler_world_run(w, 5000);
		assert_true(scheduler_world_is_on(w, "a", "n1"));
		assert_int_equal(w->bindings, 2);
		assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
		assert_int_equal(scheduler_world_events(w, "FailedScheduling"), 0);
		scheduler_world_check_quiet(w);
		tear_down((void **)&w);
	}
}

/* A binding that keeps failing is undone, and other pods get the room. */
static void a_binding_that_fails_for_long_is_undone(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = 500;
	w->fault_count = 8;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 10000);
	assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_events(w, "FailedScheduling") > 0);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	scheduler_world_check_quiet(w);
}

static void a_binding_without_answer_holds_its_room_until_it_is_given_up(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 30000);
	scheduler_world_pod(w, "other", 3);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "other", ""));
	assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
	scheduler_world_check(w);
	scheduler_world_run(w, 70000);
	assert_int_equal(
		scheduler_world_is_on(w, "a", "n1") + scheduler_world_is_on(w, "other", "n1"), 1);
	assert_int_equal(w->bindings, 2);
	scheduler_world_check_quiet(w);
}

static void a_binding_whose_answer_was_lost_is_not_undone(void **state)
{
	static const int faults[] = { FAKEAPI_DO_AND_CUT, FAKEAPI_HOLD_ANSWER };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(faults); i++) {
		struct scheduler_world *w = NULL;

		set_up((void **)&w);
		if (i % 2)
			fakeapi_hold_back(w->api, "pods");
		w->on_bind = faults[i / 2];
		w->fault_count = 1;
		scheduler_world_pod(w, "a", 3);
		if (i % 2) /* The watch delivers the pod, and nothing else for now. */
			fakeapi_catch_up(w->api);
		fakeapi_hold_back(w->api, i % 2 ? "pods" : "none");
		scheduler_world_run(w, 100000);
		fakeapi_catch_up(w->api);
		scheduler_world_run(w, 10000);
		assert_true(scheduler_world_is_on(w, "a", "n1"));
		assert_int_equal(w->bindings, 1);
		assert_int_equal(w->patches, 0);
		assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
		assert_int_equal(scheduler_world_events(w, "\"reason\":\"Scheduled\""), 1);
		assert_int_equal(scheduler_world_events(w, "FailedScheduling"), 0);
		assert_waiting(w, 0);
		scheduler_world_check_quiet(w);
		tear_down((void **)&w);
	}
}

/* While our request is on its way another scheduler is quicker. */
static void a_pod_that_another_bound_stays_where_it_is(void **state)
{
	static const char *const nodes[] = { "n1", "n2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct scheduler_world *w = NULL;

		set_up((void **)&w);
		w->on_bind = FAKEAPI_HOLD;
		w->fault_count = 1;
		scheduler_world_pod(w, "a", 3);
		scheduler_world_run(w, 1000);
		assert_int_equal(w->bindings, 1);
		scheduler_world_node(w, "n2", 4);
		assert_int_equal(scheduler_world_bind(w, "a", nodes[i]), 201);
		scheduler_world_run(w, 1000);
		assert_int_equal(scheduler_world_taken(w, nodes[i]), 3000);
		assert_int_equal(scheduler_world_taken(w, nodes[!i]), 0);
		fakeapi_let_go(w->api);
		scheduler_world_run(w, 60000);
		assert_true(scheduler_world_is_on(w, "a", nodes[i]));
		assert_int_equal(w->bindings, 1);
		assert_int_equal(w->patches, 0);
		assert_int_equal(scheduler_world_taken(w, nodes[i]), 3000);
		assert_waiting(w, 0);
		scheduler_world_check_quiet(w);
		tear_down((void **)&w);
	}
}

static void the_room_of_a_pod_that_another_bound_elsewhere_is_free(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_node(w, "n2", 2);
	scheduler_world_pod(w, "other", 3);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "other", ""));
	assert_int_equal(scheduler_world_bind(w, "a", "n2"), 201);
	scheduler_world_run(w, 500);
	assert_true(scheduler_world_is_on(w, "other", "n1"));
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 60000);
	assert_int_equal(scheduler_world_taken(w, "n2"), 3000);
	scheduler_world_check_quiet(w);
}

/* The watch delivers it only after the reply. */
static void a_conflict_that_the_watch_has_not_told_of_yet_is_looked_into(void **state)
{
	static const char *const nodes[] = { "n1", "n2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct scheduler_world *w = NULL;

		set_up((void **)&w);
		w->on_bind = FAKEAPI_HOLD;
		w->fault_count = 1;
		scheduler_world_pod(w, "a", 3);
		scheduler_world_run(w, 1000);
		scheduler_world_node(w, "n2", 4);
		fakeapi_hold_back(w->api, "pods");
		assert_int_equal(scheduler_world_bind(w, "a", nodes[i]), 201);
		fakeapi_let_go(w->api);
		scheduler_world_run(w, 500);
		scheduler_world_check(w);
		fakeapi_catch_up(w->api);
		scheduler_world_run(w, 60000);
		assert_true(scheduler_world_is_on(w, "a", nodes[i]));
		assert_int_equal(scheduler_world_taken(w, nodes[i]), 3000);
		assert_int_equal(scheduler_world_taken(w, nodes[!i]), 0);
		assert_waiting(w, 0);
		scheduler_world_check_quiet(w);
		tear_down((void **)&w);
	}
}

static void a_pod_that_another_bound_while_it_waited_is_tried_no_more(void **state)
{
	struct scheduler_world *w = *state;

	scheduler_world_pod(w, "big", 6);
	scheduler_world_run(w, 5000);
	assert_waiting(w, 1);
	assert_int_equal(scheduler_world_bind(w, "big", "n1"), 201);
	scheduler_world_run(w, 1000);
	assert_waiting(w, 0);
	scheduler_world_node(w, "n2", 8);
	scheduler_world_run(w, 10 * 60 * 1000);
	assert_int_equal(w->bindings, 0);
	assert_int_equal(w->patches, 1);
	assert_int_equal(scheduler_world_taken(w, "n1"), 6000);
	scheduler_world_check_quiet(w);
}

/* --- things that go and come -------------------------------------------------------------- */

static void a_pod_that_is_deleted_while_it_is_bound_leaves_nothing(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_pod(w, "other", 3);
	scheduler_world_run(w, 20000);
	assert_true(scheduler_world_is_on(w, "other", ""));
	scheduler_world_remove_pod(w, "a");
	scheduler_world_run(w, 500);
	assert_true(scheduler_world_is_on(w, "other", "n1"));
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 60000);
	assert_waiting(w, 0);
	assert_int_equal(w->patches, 1);
	scheduler_world_check_quiet(w);
}

/* A finalizer keeps it; the server refuses to bind it. */
static void a_pod_that_is_being_deleted_is_not_bound(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod_with(w, "a", 3, ",\"finalizers\":[\"x/y\"]");
	scheduler_world_run(w, 1000);
	(void)fakeapi_call(w->api, "DELETE", "/api/v1/namespaces/default/pods/a", STR_NULL, NULL);
	scheduler_world_run(w, 1000);
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", ""));
	assert_int_equal(w->bindings, 1);
	assert_int_equal(scheduler_world_taken(w, "n1"), 0);
	assert_waiting(w, 0);
	scheduler_world_check_quiet(w);
	scheduler_world_remove_pod(w, "a");
	scheduler_world_run(w, 1000);
	scheduler_world_check_quiet(w);
}

static void a_pod_of_the_same_name_is_another_pod(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_remove_pod(w, "a");
	scheduler_world_pod(w, "a", 2);
	/* The first one's request comes after the second was made. */
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_int_equal(w->bindings, 2);
	assert_int_equal(scheduler_world_taken(w, "n1"), 2000);
	assert_waiting(w, 0);
	scheduler_world_check_quiet(w);
}

/* The watch was cut meanwhile: the one and the other are seen as one change. */
static void a_pod_that_was_replaced_behind_our_back_is_another_pod(void **state)
{
	struct scheduler_world *w = *state;

	scheduler_world_pod(w, "bound", 1);
	w->on_bind = FAKEAPI_WELL;
	scheduler_world_run(w, 1000);
	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	fakeapi_hold_back(w->api, "pods");
	scheduler_world_remove_pod(w, "a");
	scheduler_world_pod(w, "a", 1);
	scheduler_world_remove_pod(w, "bound");
	scheduler_world_pod(w, "bound", 2);
	fakeapi_forget_past(w->api);
	fakeapi_hold_back(w->api, "none");
	scheduler_world_run(w, 60000);
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_true(scheduler_world_is_on(w, "bound", "n1"));
	assert_int_equal(scheduler_world_taken(w, "n1"), 3000);
	assert_waiting(w, 0);
	scheduler_world_check_quiet(w);
}

static void a_node_that_goes_and_comes_back_still_counts_its_pods(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_remove_node(w, "n1");
	scheduler_world_run(w, 1000);
	assert_int_equal(scheduler_world_taken(w, "n1"), -1);
	scheduler_world_check(w);
	scheduler_world_pod(w, "b", 1);
	scheduler_world_run(w, 1000);
	scheduler_world_node(w, "n1", 4);
	scheduler_world_run(w, 20000);
	assert_int_equal(scheduler_world_taken(w, "n1"), 4000);
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 10000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_true(scheduler_world_is_on(w, "b", "n1"));
	scheduler_world_check_quiet(w);
}

/* The binding fails after the node has gone for good: nothing of it stays. */
static void a_node_that_went_is_forgotten_with_its_last_pod(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 1000);
	scheduler_world_remove_node(w, "n1");
	scheduler_world_run(w, 1000);
	scheduler_world_remove_pod(w, "a");
	scheduler_world_run(w, 1000);
	assert_null(nodecache_node(w->scheduler->nodes, STR("n1")));
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 1000);
	scheduler_world_check_quiet(w);
}

/* --- the election and the end ------------------------------------------------------------- */

static const char election[] =
	"leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, "
	"retryPeriod: 2s, resourceName: s, resourceNamespace: default}\n";

static int no_leases(void *arg, const struct fakeapi_query *q)
{
	struct scheduler_world *w = arg;

	w->bindings += str_ends(q->path, STR("/binding"));
	return str_find(q->path, STR("/leases")) >= 0 ? 500 : FAKEAPI_WELL;
}

static void without_its_lease_it_writes_nothing(void **state UNUSED)
{
	struct scheduler_world *w = scheduler_world_new(3, election);
	uint64_t writes;

	scheduler_world_node(w, "n1", 4);
	scheduler_world_start(w);
	scheduler_world_pod(w, "a", 1);
	scheduler_world_run(w, 5000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	/* One is on its way, one waits for room. */
	w->on_bind = FAKEAPI_HOLD;
	scheduler_world_pod(w, "b", 1);
	scheduler_world_pod(w, "big", 9);
	scheduler_world_run(w, 1000);
	assert_int_equal(w->bindings, 2);
	w->api->fault = no_leases;
	scheduler_world_run(w, 15000);
	assert_int_equal(w->lost, 1);
	writes = w->api->writes;
	scheduler_world_pod(w, "c", 1);
	scheduler_world_remove_pod(w, "a");
	scheduler_world_node(w, "n2", 16);
	scheduler_world_run(w, 20 * 60 * 1000);
	assert_int_equal(w->api->writes, writes);
	assert_int_equal(w->lost, 1);
	assert_true(scheduler_world_is_on(w, "c", ""));
	scheduler_world_drop(w);
	scheduler_world_free(w);
}

static void one_that_does_not_lead_decides_nothing(void **state UNUSED)
{
	struct scheduler_world *w = scheduler_world_new(4, election);

	fakeapi_add(w->api, "leases", "default", "s", "",
		    ",\"spec\":{\"holderIdentity\":\"them\",\"leaseDurationSeconds\":60,"
		    "\"acquireTime\":\"2024-01-01T00:00:00.000000Z\","
		    "\"renewTime\":\"2024-01-01T00:00:00.000000Z\",\"leaseTransitions\":0}");
	scheduler_world_node(w, "n1", 4);
	scheduler_world_pod(w, "a", 1);
	scheduler_world_start(w);
	scheduler_world_run(w, 50000);
	assert_true(scheduler_world_is_on(w, "a", ""));
	assert_int_equal(w->api->writes, 0);
	/* They have not renewed it for its duration. */
	scheduler_world_run(w, 30000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	scheduler_world_free(w);
}

/*
 * Devices that the previous leader allocated are not allocated again, although our watch is behind.
 */
static void a_new_leader_knows_what_was_allocated_before(void **state UNUSED)
{
	struct scheduler_world *w = scheduler_world_new(5, election);
	struct dra_claim claim;

	fakeapi_add(w->api, "leases", "default", "s", "",
		    ",\"spec\":{\"holderIdentity\":\"them\",\"leaseDurationSeconds\":15,"
		    "\"acquireTime\":\"2024-01-01T00:00:00.000000Z\","
		    "\"renewTime\":\"2024-01-01T00:00:00.000000Z\",\"leaseTransitions\":0}");
	fakeapi_add(w->api, "resourceclaims", "default", "c", "", ",\"spec\":{}");
	scheduler_world_start(w);
	informers_stop(w->scheduler->informers); /* they hear nothing from now on */
	assert_int_equal(
		fakeapi_call(
			w->api, "PATCH",
			"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c",
			STR("{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":"
			    "\"r\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}]}}}}"),
			NULL),
		200);
	scheduler_world_run(w, 5000);
	assert_false(w->scheduler->leading);
	assert_true(dra_state_find(w->scheduler->dra, STR("default/c"), &claim));
	assert_false(claim.allocated);
	scheduler_world_run(w, 30000);
	assert_true(w->scheduler->leading);
	assert_true(dra_state_find(w->scheduler->dra, STR("default/c"), &claim));
	assert_true(claim.allocated);
	scheduler_world_free(w);
}

/* With requests of every kind under way: bindings, conditions, events, lists. */
static void it_may_end_at_any_time(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct scheduler_world *w = scheduler_world_new(seed, seed % 2 ? election : "");
		char name[16];

		w->on_bind = seed % 3 == 0   ? FAKEAPI_HOLD
			     : seed % 3 == 1 ? FAKEAPI_HOLD_ANSWER
					     : FAKEAPI_WELL;
		scheduler_world_node(w, "n1", 8);
		scheduler_world_start(w);
		for (int i = 0; i < 12; i++) {
			(void)snprintf(name, sizeof(name), "p%d", i);
			scheduler_world_pod(w, name, 1);
		}
		for (uint64_t i = 0; i < seed * 5; i++)
			(void)sim_step(w->sim);
		if (seed % 5 == 0)
			scheduler_world_drop(w);
		else
			scheduler_world_stop(w);
		scheduler_world_free(w);
	}
}

/* The server has bound the pod and the watch shows it, but the scheduler stops before the reply. */
static void it_may_end_while_the_answer_of_a_done_binding_is_awaited(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_HOLD_ANSWER;
	scheduler_world_pod(w, "a", 1);
	scheduler_world_run(w, 500);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_false(list_empty(&w->scheduler->bindings));
	scheduler_world_stop(w);
}

static void one_that_begins_later_takes_over(void **state)
{
	struct scheduler_world *w = *state;

	w->on_bind = FAKEAPI_DO_AND_CUT;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 3);
	scheduler_world_run(w, 2);
	scheduler_world_drop(w);
	scheduler_world_pod(w, "b", 1);
	scheduler_world_start(w);
	scheduler_world_run(w, 60000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_true(scheduler_world_is_on(w, "b", "n1"));
	assert_int_equal(scheduler_world_taken(w, "n1"), 4000);
	scheduler_world_check_quiet(w);
}

/* --- attempts that take long -------------------------------------------------------------- */

/* A claim whose selectors, on the only device, take more than ten parts of an attempt. */
static void offer_costly(struct scheduler_world *w)
{
	struct buf text = BUF_INIT(100000);

	(void)buf_addz(&text, ",\"spec\":{\"driver\":\"d.example.com\",\"nodeName\":\"n1\","
			      "\"pool\":{\"name\":\"n1\",\"generation\":1,"
			      "\"resourceSliceCount\":1},\"devices\":[{\"name\":\"d0\","
			      "\"attributes\":{");
	for (int i = 0; i < 32; i++)
		(void)buf_printf(&text, "%s\"d%d.example.com/a\":{\"string\":\"v\"}", i ? "," : "",
				 i);
	(void)buf_addz(&text, "}}]}");
	fakeapi_add(w->api, "resourceslices", "", "s", "", text.p);
	fakeapi_add(w->api, "deviceclasses", "", "costly", "", ",\"spec\":{}");
	buf_clear(&text);
	(void)buf_addz(&text, ",\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
			      "\"exactly\":{\"deviceClassName\":\"costly\",\"count\":1,"
			      "\"allocationMode\":\"ExactCount\",\"selectors\":[");
	for (int i = 0; i < 32; i++)
		(void)buf_printf(&text,
				 "%s{\"cel\":{\"expression\":\"device.attributes.all(a,"
				 "device.attributes.all(b,device.attributes.all(c,a!=b||c!='%d')))"
				 "\"}}",
				 i ? "," : "", i);
	(void)buf_addz(&text, "]}}]}}");
	fakeapi_add(w->api, "resourceclaims", "default", "costly", "", text.p);
	buf_release(&text);
	fakeapi_add(w->api, "pods", "default", "costly", "",
		    ",\"spec\":{\"schedulerName\":\"default-scheduler\",\"resourceClaims\":[{"
		    "\"name\":\"c\",\"resourceClaimName\":\"costly\"}],\"containers\":[{"
		    "\"name\":\"c\",\"resources\":{\"claims\":[{\"name\":\"c\"}]}}]}");
}

/* A part of it would delay the answers that the binding waits for. */
static void a_long_attempt_rests_while_a_binding_is_written(void **state)
{
	struct scheduler_world *w = *state;
	const struct queued_pod *q;

	w->on_bind = FAKEAPI_HOLD;
	w->fault_count = 1;
	scheduler_world_pod(w, "a", 1);
	scheduler_world_run(w, 100);
	assert_int_equal(w->scheduler->writing, 1);
	offer_costly(w);
	scheduler_world_run(w, 225);
	q = podqueue_first(w->scheduler->queue);
	assert_non_null(q);
	assert_in_range(q->part, 2, 5); /* it does not wait for ever either: 50 ms */
	fakeapi_let_go(w->api);
	scheduler_world_run(w, 5000);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	assert_true(scheduler_world_is_on(w, "costly", "n1"));
	scheduler_world_check_quiet(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pods_are_bound_and_their_users_told),
		TEST(a_pod_without_room_is_told_once),
		TEST(a_deleted_pod_makes_room),
		TEST(a_new_node_makes_room),
		TEST(a_late_condition_does_not_undo_a_binding),
		cmocka_unit_test(a_pod_whose_binding_failed_backs_off_and_others_get_its_room),
		cmocka_unit_test(a_binding_in_doubt_is_sent_again_and_nothing_undone),
		TEST(a_binding_that_fails_for_long_is_undone),
		TEST(a_binding_without_answer_holds_its_room_until_it_is_given_up),
		cmocka_unit_test(a_binding_whose_answer_was_lost_is_not_undone),
		cmocka_unit_test(a_pod_that_another_bound_stays_where_it_is),
		TEST(the_room_of_a_pod_that_another_bound_elsewhere_is_free),
		cmocka_unit_test(a_conflict_that_the_watch_has_not_told_of_yet_is_looked_into),
		TEST(a_pod_that_another_bound_while_it_waited_is_tried_no_more),
		TEST(a_pod_that_is_deleted_while_it_is_bound_leaves_nothing),
		TEST(a_pod_that_is_being_deleted_is_not_bound),
		TEST(a_pod_of_the_same_name_is_another_pod),
		TEST(a_pod_that_was_replaced_behind_our_back_is_another_pod),
		TEST(a_node_that_goes_and_comes_back_still_counts_its_pods),
		TEST(a_node_that_went_is_forgotten_with_its_last_pod),
		cmocka_unit_test(without_its_lease_it_writes_nothing),
		cmocka_unit_test(a_new_leader_knows_what_was_allocated_before),
		cmocka_unit_test(one_that_does_not_lead_decides_nothing),
		cmocka_unit_test(it_may_end_at_any_time),
		TEST(it_may_end_while_the_answer_of_a_done_binding_is_awaited),
		TEST(one_that_begins_later_takes_over),
		TEST(a_long_attempt_rests_while_a_binding_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
