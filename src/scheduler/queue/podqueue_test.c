/*
 * The queue, rule by rule. queue/model_test.c compares it with a model at random.
 */
#include "base/json/writer.h"
#include "scheduler/queue/podqueue_fixture.h"

static void assert_metric(struct world *w, const char *line)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(metrics_print(w->metrics, &out), 0);
	if (str_find(buf_str(&out), str_from(line)) < 0)
		fail_msg("no %s in\n%.*s", line, STR_ARG(buf_str(&out)));
	buf_release(&out);
}

/* --- rules ----------------------------------------------------------------------------------- */

static void pods_leave_by_priority_then_by_age(void **state)
{
	struct world *w = *state;

	add(w, 1, (struct shape){ .priority = 1 });
	add(w, 2, (struct shape){ .priority = 5 });
	add(w, 3, (struct shape){ .priority = 1 });
	add(w, 4, (struct shape){ .priority = 5 });
	add(w, 5, (struct shape){ .scheduler = "another" });
	assert_int_equal(podqueue_count(w->q, QUEUE_ACTIVE), 4);
	assert_int_equal(w->ready, 4);
	podqueue_done(w->q, pop(w, 2));
	podqueue_done(w->q, pop(w, 4));
	podqueue_done(w->q, pop(w, 1));
	podqueue_done(w->q, pop(w, 3));
	assert_null(podqueue_pop(w->q, w->now));
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"active\",event="
			 "\"UnscheduledPodAdd\"} 4");
}

static void a_rejected_pod_waits_for_its_plugins_events(void **state)
{
	struct world *w = *state;

	rejected(w, 1, (struct shape){ 0 }, BIT(CLAIM));
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	tell(w, EVENT_NODE, EVENT_ADD);
	tell(w, EVENT_CLAIM, EVENT_DELETE);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	assert_metric(w, "scheduler_pending_pods{queue=\"unschedulable\"} 1");
	assert_metric(w, "scheduler_unschedulable_pods{plugin=\"Claim\",profile="
			 "\"default-scheduler\"} 1");
	w->ready = 0;
	tell(w, EVENT_CLAIM, EVENT_UPDATE_OTHER);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	assert_int_equal(w->ready, 1);
	assert_metric(w, "scheduler_pending_pods{queue=\"backoff\"} 1");
	pop(w, 1);
	assert_metric(w, "scheduler_unschedulable_pods{plugin=\"Claim\",profile="
			 "\"default-scheduler\"} 0");
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"active\",event="
			 "\"PopFromBackoffQ\"} 1");
}

static void an_attempt_in_parts_lets_others_of_its_priority_go_between(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;

	add(w, 1, (struct shape){ .priority = 1 });
	add(w, 2, (struct shape){ .priority = 1 });
	add(w, 3, (struct shape){ 0 });
	w->now++;
	p = pop(w, 1);
	w->ready = 0;
	podqueue_go_on(w->q, p, w->now);
	assert_int_equal(w->ready, 1);
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	podqueue_done(w->q, pop(w, 2));
	p = pop(w, 1);
	assert_int_equal(p->attempts, 1);
	/* Removed meanwhile: it does not come back. */
	podqueue_remove(w->q, p->pod->uid);
	podqueue_go_on(w->q, p, w->now);
	podqueue_done(w->q, pop(w, 3));
	assert_null(podqueue_pop(w->q, w->now));
}

static void a_hint_decides_pod_by_pod(void **state)
{
	struct world *w = *state;
	CLEANUP(podinfo_unref)
	struct podinfo *gone = make_pod(w, 99, (struct shape){ .priority = 2 });
	struct cluster_event e = { .kind = EVENT_ASSIGNED_POD,
				   .actions = EVENT_DELETE,
				   .old_pod = gone };

	rejected(w, 1, (struct shape){ .priority = 1 }, BIT(FIT));
	rejected(w, 2, (struct shape){ .priority = 2 }, BIT(FIT) | BIT(CLAIM));
	rejected(w, 3, (struct shape){ .priority = 2 }, BIT(CLAIM));
	podqueue_event(w->q, &e, w->now);
	assert_int_equal(w->hints, 2);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	assert_int_equal(place_of(w, 2), QUEUE_BACKOFF);
	assert_int_equal(place_of(w, 3), QUEUE_UNSCHEDULABLE);
}

/* Rejected in permit, it gives back what it held: that must not bring it back at once. */
static void a_pod_is_not_woken_by_its_own_going_from_a_node(void **state)
{
	struct world *w = *state;
	CLEANUP(podinfo_unref)
	struct podinfo *other = make_pod(w, 2, (struct shape){ .priority = 1 });
	struct queued_pod *p;
	struct cluster_event e = { .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE };

	add(w, 1, (struct shape){ .priority = 1 });
	p = pop(w, 1);
	e.old_pod = p->pod;
	podqueue_event(w->q, &e, w->now); /* in flight */
	give_back(w, p, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	podqueue_event(w->q, &e, w->now); /* and after it */
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	e.old_pod = other;
	podqueue_event(w->q, &e, w->now);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
}

static void a_queue_is_freed_without_its_profiles(void **state)
{
	struct world *w = *state;

	for (unsigned i = 1; i <= 8; i++)
		rejected(w, i, (struct shape){ .priority = (int)(i * 7 % 5) }, BIT(CLAIM));
	tell(w, EVENT_CLAIM, EVENT_ADD); /* to back-off */
	add(w, 9, (struct shape){ 0 });
	(void)pop(w, 9);
	tell(w, EVENT_CLAIM, EVENT_ADD); /* kept for it */
	for (unsigned i = 10; i < 16; i++)
		add(w, i, (struct shape){ .priority = (int)(i * 7 % 5), .gated = i > 14 });
	memset(&w->profile, 0xaa, sizeof(w->profile));
	memset(w->plugins, 0xaa, sizeof(w->plugins));
	podqueue_free(TAKE(w->q));
	assert_metric(w, "scheduler_pending_pods{queue=\"active\"} 0");
	assert_metric(w, "scheduler_pending_pods{queue=\"backoff\"} 0");
	assert_metric(w, "scheduler_pending_pods{queue=\"gated\"} 0");
	assert_metric(w, "scheduler_inflight_events{event=\"PodPopped\"} 0");
}

static void events_of_extensions_are_told_apart_by_type(void **state)
{
	struct world *w = *state;
	struct cluster_event e = { .kind = EVENT_EXTENSION,
				   .actions = EVENT_UPDATE,
				   .extension = 6 };

	rejected(w, 1, (struct shape){ 0 }, BIT(EXTENSION));
	podqueue_event(w->q, &e, w->now);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	e.extension = 7;
	podqueue_event(w->q, &e, w->now);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
}

static void a_plugin_waits_for_any_event_unless_it_names_none(void **state)
{
	struct world *w = *state;

	rejected(w, 1, (struct shape){ 0 }, BIT(NEVER));
	rejected(w, 2, (struct shape){ 0 }, BIT(ANY));
	for (unsigned k = 0; k < EVENT_WILDCARD; k++)
		tell(w, k, k == EVENT_SLICE ? EVENT_UPDATE_OTHER : 0);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	assert_int_equal(place_of(w, 2), QUEUE_BACKOFF);
	tell(w, EVENT_WILDCARD, EVENT_ALL);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
}

static void back_off_doubles_up_to_its_limit_in_windows(void **state)
{
	static const int64_t ends[] = { 1000, 2000, 4000, 8000, 10000, 10000 };
	struct world *w = *state;

	w->now += 300;
	add(w, 1, (struct shape){ 0 });
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct queued_pod *p = pop(w, 1);
		int64_t since = w->now, until = since + ends[i];

		give_back(w, p, BIT(FIT));
		assert_int_equal(p->backoff_until_ms, until - until % 1000);
		tell(w, EVENT_NODE, EVENT_ADD);
		assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
		assert_int_equal(podqueue_next_tick(w->q), p->backoff_until_ms + 1000);
		pass(w, podqueue_next_tick(w->q) - 1 - w->now);
		assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
		pass(w, 1);
		assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	}
	assert_int_equal(podqueue_next_tick(w->q), INT64_MAX);
}

static void a_back_off_that_is_over_when_the_event_comes_is_not_waited_for(void **state)
{
	struct world *w = *state;

	rejected(w, 1, (struct shape){ 0 }, BIT(FIT));
	pass(w, 2000);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	tell(w, EVENT_NODE, EVENT_ADD);
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
}

static void errors_back_off_by_their_own_count_and_are_not_popped_early(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;

	rejected(w, 1, (struct shape){ 0 }, BIT(FIT));
	tell(w, EVENT_NODE, EVENT_ADD);
	give_back(w, pop(w, 1), BIT(FIT));
	tell(w, EVENT_NODE, EVENT_ADD);
	p = pop(w, 1);
	w->ready = 0;
	give_back(w, p, 0);
	assert_int_equal(p->error_count, 1);
	assert_int_equal(p->unschedulable_count, 2);
	assert_int_equal(p->backoff_until_ms, w->now + 1000);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	assert_int_equal(w->ready, 0);
	assert_null(podqueue_pop(w->q, w->now));
	pass(w, 2000);
	assert_int_equal(w->ready, 1);
	give_back(w, pop(w, 1), BIT(FIT));
	assert_int_equal(p->error_count, 0);
	assert_int_equal(p->backoff_until_ms, w->now + 4000);
}

static void pods_leave_back_off_early_only_while_active_is_empty(void **state)
{
	struct world *w = *state;

	rejected(w, 1, (struct shape){ .priority = 9 }, BIT(FIT));
	rejected(w, 2, (struct shape){ .priority = 1 }, BIT(FIT));
	tell(w, EVENT_NODE, EVENT_ADD);
	add(w, 3, (struct shape){ 0 });
	pop(w, 3);
	pop(w, 1);
	pop(w, 2);
}

static void a_pending_pod_is_woken_straight_to_active(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;

	add(w, 1, (struct shape){ 0 });
	p = pop(w, 1);
	p->pending = true;
	give_back(w, p, BIT(CLAIM));
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	assert_false(pop(w, 1)->pending);
}

static void an_event_in_flight_is_not_missed(void **state)
{
	struct world *w = *state;
	struct queued_pod *p, *other;

	add(w, 1, (struct shape){ 0 });
	add(w, 2, (struct shape){ 0 });
	add(w, 3, (struct shape){ 0 });
	tell(w, EVENT_CLAIM, EVENT_ADD); /* before the pop: seen by the attempt */
	p = pop(w, 1);
	other = pop(w, 2);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	tell(w, EVENT_PV, EVENT_ADD);
	assert_metric(w, "scheduler_inflight_events{event=\"PodPopped\"} 2");
	assert_metric(w, "scheduler_inflight_events{event=\"ResourceClaim\"} 1");
	give_back(w, p, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	give_back(w, other, BIT(CLAIM));
	assert_int_equal(place_of(w, 2), QUEUE_BACKOFF);
	assert_metric(w, "scheduler_inflight_events{event=\"ResourceClaim\"} 0");
	give_back(w, pop(w, 3), BIT(CLAIM));
	assert_int_equal(place_of(w, 3), QUEUE_UNSCHEDULABLE);
}

static void events_in_flight_are_bounded_and_who_missed_some_is_tried_again(void **state)
{
	struct world *w = *state;
	struct queued_pod *old, *young;

	add(w, 1, (struct shape){ 0 });
	add(w, 2, (struct shape){ 0 });
	old = pop(w, 1);
	for (int i = 0; i < FLIGHT_EVENTS_MAX; i++)
		tell(w, EVENT_CLAIM, EVENT_ADD);
	assert_int_equal(w->q->nevents, FLIGHT_EVENTS_MAX);
	young = pop(w, 2);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	assert_int_equal(w->q->nevents, FLIGHT_EVENTS_MAX / 2 + 1);
	assert_true(old->missed);
	assert_false(young->missed);
	give_back(w, old, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	assert_int_equal(w->q->nevents, 1);
	give_back(w, young, BIT(FIT));
	assert_int_equal(place_of(w, 2), QUEUE_UNSCHEDULABLE);
	assert_int_equal(w->q->nevents, 0);
}

static void a_settled_pod_keeps_no_events(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;

	add(w, 1, (struct shape){ 0 });
	p = pop(w, 1);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	podqueue_settle(w->q, p);
	assert_int_equal(w->q->nevents, 0);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	assert_int_equal(w->q->nevents, 0);
	assert_int_equal(podqueue_count(w->q, QUEUE_IN_FLIGHT), 1);
	give_back(w, p, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	podqueue_done(w->q, pop(w, 1));
}

static void the_unschedulable_are_tried_again_after_five_minutes(void **state)
{
	struct world *w = *state;

	rejected(w, 1, (struct shape){ 0 }, BIT(NEVER));
	assert_int_equal(podqueue_next_tick(w->q), w->now + 300000);
	pass(w, 299999);
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	pass(w, 1);
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"active\",event="
			 "\"UnschedulableTimeout\"} 1");
}

static void a_gated_pod_waits_for_its_gates_events_alone(void **state)
{
	struct world *w = *state;

	add(w, 1, (struct shape){ .gated = true });
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	assert_string_equal(find(w, 1)->gated_by->name, "Gate");
	assert_metric(w, "scheduler_pending_pods{queue=\"gated\"} 1");
	tell(w, EVENT_NODE, EVENT_ADD);
	assert_null(podqueue_pop(w->q, w->now));
	update(w, 1, (struct shape){ .gated = true, .labelled = true });
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	pass(w, 300000); /* by time it is asked about again, and stays */
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	assert_int_equal(podqueue_next_tick(w->q), w->now + 300000);
	update(w, 1, (struct shape){ .labelled = true });
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"active\",event="
			 "\"TargetPodUpdatePodSchedulingGatesEliminated\"} 1");
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"unschedulable\",event="
			 "\"UnscheduledPodAdd\"} 1");
}

static void a_pod_that_is_gated_after_an_attempt_waits_until_it_is_activated(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;
	char room[16];

	rejected(w, 1, (struct shape){ 0 }, BIT(FIT));
	w->shut[1] = true;
	tell(w, EVENT_NODE, EVENT_ADD);
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	tell(w, EVENT_NODE, EVENT_ADD);
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	podqueue_activate(w->q, uid_of(1, room), w->now);
	assert_int_equal(place_of(w, 1), QUEUE_GATED);
	w->shut[1] = false;
	podqueue_activate(w->q, uid_of(1, room), w->now);
	p = pop(w, 1);
	podqueue_activate(w->q, uid_of(1, room), w->now); /* in flight: remembered */
	give_back(w, p, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	podqueue_activate(w->q, uid_of(1, room), w->now);
	assert_int_equal(place_of(w, 1), QUEUE_ACTIVE);
	assert_metric(w, "scheduler_queue_incoming_pods_total{queue=\"active\",event="
			 "\"ForceActivate\"} 2");
}

static void an_update_that_matters_wakes_the_pod_itself(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;

	rejected(w, 1, (struct shape){ .cpu = 500 }, BIT(FIT));
	rejected(w, 2, (struct shape){ .cpu = 500 }, BIT(FIT));
	update(w, 1, (struct shape){ .cpu = 500, .labelled = true });
	update(w, 1, (struct shape){ .cpu = 600, .labelled = true });
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	update(w, 1, (struct shape){ .cpu = 400, .labelled = true });
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
	assert_int_equal(place_of(w, 2), QUEUE_UNSCHEDULABLE);
	p = pop(w, 1);
	update(w, 1, (struct shape){ .cpu = 300, .labelled = true });
	assert_int_equal(p->pod->requests.cpu_milli, 400); /* what the attempt works on */
	give_back(w, p, BIT(FIT));
	assert_int_equal(p->pod->requests.cpu_milli, 300);
	assert_int_equal(place_of(w, 1), QUEUE_BACKOFF);
}

static void another_pods_change_in_flight_is_not_taken_for_its_own(void **state)
{
	struct world *w = *state;
	struct queued_pod *a, *b;

	add(w, 1, (struct shape){ .cpu = 500 });
	add(w, 2, (struct shape){ .cpu = 500 });
	a = pop(w, 1);
	b = pop(w, 2);
	update(w, 2, (struct shape){ .cpu = 100 });
	give_back(w, a, BIT(FIT));
	give_back(w, b, BIT(FIT));
	assert_int_equal(place_of(w, 1), QUEUE_UNSCHEDULABLE);
	assert_int_equal(place_of(w, 2), QUEUE_BACKOFF);
}

static void a_pod_that_is_removed_is_gone_from_wherever_it_is(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;
	char room[16];

	add(w, 1, (struct shape){ 0 });
	podqueue_remove(w->q, uid_of(1, room));
	assert_null(find(w, 1));
	rejected(w, 2, (struct shape){ .nominated = "n" }, BIT(FIT));
	podqueue_remove(w->q, uid_of(2, room));
	assert_metric(w, "scheduler_unschedulable_pods{plugin=\"Fit\",profile=\"default-"
			 "scheduler\"} 0");
	add(w, 3, (struct shape){ .nominated = "n" });
	p = pop(w, 3);
	podqueue_remove(w->q, uid_of(3, room));
	assert_true(p->deleted);
	assert_int_equal(podqueue_nominated(w->q, uid_of(3, room)).n, 0);
	give_back(w, p, BIT(FIT));
	assert_null(find(w, 3));
	add(w, 4, (struct shape){ 0 });
	podqueue_done(w->q, pop(w, 4));
	assert_null(find(w, 4));
	assert_null(podqueue_pop(w->q, w->now));
}

static void nominations_follow_decisions_and_status(void **state)
{
	struct world *w = *state;
	struct queued_pod *p;
	char room[16];
	size_t n;

	add(w, 1, (struct shape){ .nominated = "a" });
	add(w, 2, (struct shape){ 0 });
	assert_true(str_eq(podqueue_nominated(w->q, uid_of(1, room)), STR("a")));
	podqueue_nominate(w->q, find(w, 2)->pod, STR("a"));
	assert_non_null(podqueue_nominated_on(w->q, STR("a"), &n));
	assert_int_equal(n, 2);
	/* Ours has not come back yet. */
	update(w, 2, (struct shape){ .labelled = true });
	assert_true(str_eq(find(w, 2)->nominated, STR("a")));
	update(w, 2, (struct shape){ .nominated = "b" });
	assert_true(str_eq(podqueue_nominated(w->q, uid_of(2, room)), STR("b")));
	update(w, 2, (struct shape){ 0 });
	assert_int_equal(podqueue_nominated(w->q, uid_of(2, room)).n, 0);
	assert_null(podqueue_nominated_on(w->q, STR("b"), &n));
	assert_int_equal(n, 0);
	/* Assumed, and it did not work out: what the status says is true again. */
	p = pop(w, 1);
	podqueue_nominate(w->q, p->pod, STR_NULL);
	assert_null(podqueue_nominated_on(w->q, STR("a"), &n));
	give_back(w, p, 0);
	assert_true(str_eq(p->nominated, STR("a")));
	podqueue_nominate(w->q, p->pod, p->nominated);
	assert_true(str_eq(p->nominated, STR("a")));
	podqueue_nominate(w->q, p->pod, STR_NULL);
	assert_int_equal(podqueue_nominated(w->q, uid_of(1, room)).n, 0);
}

static void thousands_that_do_not_care_are_not_asked(void **state)
{
	struct world *w = *state;
	CLEANUP(podinfo_unref) struct podinfo *gone = make_pod(w, 99, (struct shape){ 0 });

	for (unsigned i = 100; i < 3100; i++)
		rejected(w, i, (struct shape){ 0 }, BIT(CLAIM));
	assert_int_equal(w->q->groups.n, 1);
	for (int i = 0; i < 1000; i++)
		podqueue_event(w->q,
			       &(struct cluster_event){ .kind = EVENT_ASSIGNED_POD,
							.actions = EVENT_DELETE,
							.old_pod = gone },
			       w->now);
	assert_int_equal(w->q->moving.cap, 0); /* nobody was even looked at */
	assert_int_equal(podqueue_count(w->q, QUEUE_UNSCHEDULABLE), 3000);
	tell(w, EVENT_CLAIM, EVENT_ADD);
	assert_int_equal(podqueue_count(w->q, QUEUE_BACKOFF), 3000);
	assert_int_equal(w->q->groups.n, 0);
}

static struct podinfo *pod_of(struct world *w, const char *spec, const char *rest)
{
	struct podinfo *p = NULL;
	struct cached *o = NULL;
	struct error err;
	struct arena a;
	char *text;

	arena_init(&a, SIZE_MAX);
	text = arena_printf(&a,
			    "{'spec':{%s},'metadata':{'namespace':'ns','name':'p','uid':'u'%s}}",
			    spec, rest);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	assert_int_equal(cached_new(str_from(text), NULL, &o, &err), 0);
	if (podinfo_new(o, &w->names, &p, &err) < 0)
		fail_msg("%s", err.msg);
	cached_unref(o);
	arena_release(&a);
	return p;
}

#define REQUESTS(list) "'containers':[{'name':'c','resources':{'requests':{" list "}}}]"
/* Metadata's rest, and what follows the metadata. */
#define STATUS(text) "},'status':{" text

static void changes_of_a_pod_are_told_apart(void **state)
{
	static const struct {
		const char *spec, *rest, *new_spec, *new_rest;
		unsigned want;
	} cases[] = {
		{ "", "", "", "", EVENT_UPDATE_OTHER },
		{ "", "", "", ",'labels':{'a':'b'}", EVENT_UPDATE_POD_LABEL },
		{ "", ",'labels':{}", "", "", EVENT_UPDATE_OTHER },
		{ "", ",'labels':{'a':'b','c':'d'}", "", ",'labels':{'c':'d','a':'b'}",
		  EVENT_UPDATE_OTHER },
		{ REQUESTS("'cpu':'2'"), "", REQUESTS("'cpu':'1'"), "",
		  EVENT_UPDATE_POD_SCALE_DOWN },
		{ REQUESTS("'cpu':'1'"), "", REQUESTS("'cpu':'2'"), "", EVENT_UPDATE_OTHER },
		{ REQUESTS("'example.com/x':1"), "", REQUESTS("'cpu':'2'"), "",
		  EVENT_UPDATE_POD_SCALE_DOWN },
		{ "'schedulingGates':[{'name':'a'},{'name':'b'}]", "",
		  "'schedulingGates':[{'name':'b'}]", "", EVENT_UPDATE_OTHER },
		{ "'schedulingGates':[{'name':'a'}]", "", "", "", EVENT_UPDATE_POD_GATES },
		{ "", "", "'tolerations':[{'operator':'Exists'}]", "",
		  EVENT_UPDATE_POD_TOLERATION },
		{ "'resourceClaims':[{'name':'a','resourceClaimTemplateName':'t'}]", "",
		  "'resourceClaims':[{'name':'a','resourceClaimTemplateName':'t'}]",
		  STATUS("'resourceClaimStatuses':[{'name':'a','resourceClaimName':'p-a-1'}]"),
		  EVENT_UPDATE_POD_GENERATED_CLAIM },
		{ REQUESTS("'example.com/x':1"), "", REQUESTS("'example.com/x':1"),
		  STATUS("'extendedResourceClaimStatus':{'resourceClaimName':'p-x'}"),
		  EVENT_UPDATE_POD_GENERATED_CLAIM },
		{ REQUESTS("'cpu':'2'"), ",'labels':{'a':'b'}", REQUESTS("'cpu':'1'"), "",
		  EVENT_UPDATE_POD_SCALE_DOWN | EVENT_UPDATE_POD_LABEL },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(podinfo_unref)
		struct podinfo *old = pod_of(w, cases[i].spec, cases[i].rest);
		CLEANUP(podinfo_unref)
		struct podinfo *p = pod_of(w, cases[i].new_spec, cases[i].new_rest);

		if (podinfo_changes(old, p) != cases[i].want)
			fail_msg("case %zu: %x, not %x", i, podinfo_changes(old, p), cases[i].want);
	}
}

static void a_dump_says_where_and_why(void **state)
{
	static const char want[] =
		"{\"active\":[{\"pod\":\"ns/p3\",\"uid\":\"u3\",\"profile\":\"default-scheduler\","
		"\"priority\":2,\"attempts\":0,\"waitedMs\":5},{\"pod\":\"ns/"
		"p2\",\"uid\":\"u2\",\"profile\":"
		"\"default-scheduler\",\"priority\":0,\"attempts\":0,\"waitedMs\":5,"
		"\"nominatedNode\":\"n\"}],"
		"\"backoff\":[],\"unschedulable\":[{\"pod\":\"ns/"
		"p1\",\"uid\":\"u1\",\"profile\":\"default-"
		"scheduler\",\"priority\":0,\"attempts\":1,\"waitedMs\":5,\"rejectedBy\":[\"Fit\","
		"\"Claim\"]}],"
		"\"gated\":[],\"inFlight\":[],\"inFlightEvents\":0}";
	struct world *w = *state;
	struct json_writer out;
	struct buf b;

	rejected(w, 1, (struct shape){ 0 }, BIT(FIT) | BIT(CLAIM));
	add(w, 2, (struct shape){ .nominated = "n" });
	add(w, 3, (struct shape){ .priority = 2 });
	buf_init(&b, 1 << 16);
	json_writer_init(&out, &b, NULL);
	podqueue_dump(w->q, w->now + 5, &out);
	assert_int_equal(json_writer_finish(&out), 0);
	buf_addc(&b, '\0');
	assert_string_equal(b.p, want);
	buf_release(&b);
}

#define WITH_WORLD(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(pods_leave_by_priority_then_by_age),
		WITH_WORLD(a_rejected_pod_waits_for_its_plugins_events),
		WITH_WORLD(an_attempt_in_parts_lets_others_of_its_priority_go_between),
		WITH_WORLD(a_hint_decides_pod_by_pod),
		WITH_WORLD(a_pod_is_not_woken_by_its_own_going_from_a_node),
		WITH_WORLD(a_queue_is_freed_without_its_profiles),
		WITH_WORLD(events_of_extensions_are_told_apart_by_type),
		WITH_WORLD(a_plugin_waits_for_any_event_unless_it_names_none),
		WITH_WORLD(back_off_doubles_up_to_its_limit_in_windows),
		WITH_WORLD(a_back_off_that_is_over_when_the_event_comes_is_not_waited_for),
		WITH_WORLD(errors_back_off_by_their_own_count_and_are_not_popped_early),
		WITH_WORLD(pods_leave_back_off_early_only_while_active_is_empty),
		WITH_WORLD(a_pending_pod_is_woken_straight_to_active),
		WITH_WORLD(an_event_in_flight_is_not_missed),
		WITH_WORLD(events_in_flight_are_bounded_and_who_missed_some_is_tried_again),
		WITH_WORLD(a_settled_pod_keeps_no_events),
		WITH_WORLD(the_unschedulable_are_tried_again_after_five_minutes),
		WITH_WORLD(a_gated_pod_waits_for_its_gates_events_alone),
		WITH_WORLD(a_pod_that_is_gated_after_an_attempt_waits_until_it_is_activated),
		WITH_WORLD(an_update_that_matters_wakes_the_pod_itself),
		WITH_WORLD(another_pods_change_in_flight_is_not_taken_for_its_own),
		WITH_WORLD(a_pod_that_is_removed_is_gone_from_wherever_it_is),
		WITH_WORLD(nominations_follow_decisions_and_status),
		WITH_WORLD(thousands_that_do_not_care_are_not_asked),
		WITH_WORLD(changes_of_a_pod_are_told_apart),
		WITH_WORLD(a_dump_says_where_and_why),
	};

	return cmocka_run_group_tests_name("podqueue", tests, NULL, NULL);
}
