/* DynamicResources: what wakes a pod that it rejected. */
#include "scheduler/dra/dra_world.h"
#include "scheduler/queue/podqueue.h"

/* A claim goes from one status to another; is the pod woken that waits for `uses`. */
static bool wakes(struct world *w, const char *name, const char *before, const char *after,
		  const char *pod)
{
	struct cached *old = before ? claim(w, name, "", ONE("any"), before) : NULL;
	struct cached *now = after ? claim(w, name, "", ONE("any"), after) : NULL;
	struct cluster_event e = { .kind = EVENT_CLAIM,
				   .actions = !old  ? EVENT_ADD
					      : now ? EVENT_UPDATE_OTHER
						    : EVENT_DELETE,
				   .old_object = old,
				   .object = now };
	bool woken;

	if (old)
		dra_state_put_claim(w->dra, old);
	if (now)
		dra_state_put_claim(w->dra, now);
	else
		dra_state_remove_claim(w->dra, old);
	woken = scheduler_fixture_wakes(&w->f, NAME, pod, &e);
	cached_unref(old);
	cached_unref(now);
	return woken;
}

static void only_claims_that_may_help_wake_a_pod(void **state)
{
	struct world *w = world_new(false);
	const char *pod = POD("p", USES("mine"));

	add_node(w, "n1", "");
	put_claim(w, "mine", "", ONE("any"), "");
	/* Another pod's claim: only when it gives its devices back. */
	assert_false(wakes(w, "other", NULL, "", pod));
	assert_false(wakes(w, "other", "", ON("n1", "a"), pod));
	assert_false(wakes(w, "other", ON("n1", "a"), ON("n1", "a") ",'reservedFor':[]", pod));
	assert_true(wakes(w, "other", ON("n1", "a"), "", pod));
	assert_false(wakes(w, "other", "", NULL, pod));
	assert_true(wakes(w, "other", ON("n1", "a"), NULL, pod));
	/* Its own: when its status changes. */
	assert_false(wakes(w, "mine", "", "", pod));
	assert_true(wakes(w, "mine", "", ON("n1", "a"), pod));
	assert_true(wakes(w, "new", NULL, "", POD("p", USES("new"))));
	/* One whose claims are not all there has no use for devices. */
	assert_false(wakes(w, "other", ON("n1", "a"), "", POD("p", USES("missing"))));
	world_free(w);
}

static void the_end_of_a_claim_in_its_way_wakes_its_owner(void **state)
{
	struct world *w = world_new(false);
	struct cached *o = claim(w, "p-extended-resources-x",
				 ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p',"
				 "'uid':'pod-p','controller':true}]",
				 ONE("any"), "");
	struct cluster_event e = { .kind = EVENT_CLAIM, .actions = EVENT_DELETE, .old_object = o };

	dra_state_put_claim(w->dra, o);
	dra_state_remove_claim(w->dra, o);
	assert_true(scheduler_fixture_wakes(&w->f, NAME, POD("p", "'cpu':1"), &e));
	assert_false(scheduler_fixture_wakes(&w->f, NAME, POD("q", "'cpu':1"), &e));
	cached_unref(o);
	world_free(w);
}

static void the_status_of_a_slice_wakes_nobody(void **state)
{
	struct world *w = world_new(false);
	struct cached *a = scheduler_fixture_object(
		&w->f, "{'metadata':{'name':'s','uid':'u'},'spec':{'driver':'d'}}");
	struct cached *b = scheduler_fixture_object(
		&w->f, "{'metadata':{'name':'s','uid':'u'},'spec':{'driver':'d'},'status':{}}");
	struct cached *c = scheduler_fixture_object(
		&w->f, "{'metadata':{'name':'s','uid':'u'},'spec':{'driver':'e'}}");
	struct cluster_event e = { .kind = EVENT_SLICE, .actions = EVENT_UPDATE_OTHER };
	const char *pod = POD("p", USES("mine"));

	e.old_object = a;
	e.object = b;
	assert_false(scheduler_fixture_wakes(&w->f, NAME, pod, &e));
	e.object = c;
	assert_true(scheduler_fixture_wakes(&w->f, NAME, pod, &e));
	e.old_object = NULL;
	e.actions = EVENT_ADD;
	assert_true(scheduler_fixture_wakes(&w->f, NAME, pod, &e));
	/* A slice too many made its pool invalid. */
	e.old_object = a;
	e.object = NULL;
	e.actions = EVENT_DELETE;
	assert_true(scheduler_fixture_wakes(&w->f, NAME, pod, &e));
	cached_unref(a);
	cached_unref(b);
	cached_unref(c);
	world_free(w);
}

static struct profile *only_profile(void *arg, struct str name UNUSED)
{
	return ((struct world *)arg)->f.profile;
}

/* A pod of the queue that DynamicResources rejected a while ago. */
static void add_waiting(struct world *w, const char *pod)
{
	CLEANUP(podinfo_unref) struct podinfo *info = scheduler_fixture_make_pod(&w->f, pod);
	struct queued_pod *q;

	podqueue_add(w->f.services.queue, info, 0);
	q = podqueue_pop(w->f.services.queue, 0);
	q->rejectors = UINT64_C(1) << w->p->at;
	podqueue_return(w->f.services.queue, q, 0);
	assert_int_equal(podqueue_count(w->f.services.queue, QUEUE_UNSCHEDULABLE), 1);
}

/*
 * The server stores an allocation, and takes it back since the pod is gone; the watch shows both
 * before the answer comes. Until then the decision holds the devices, so that a pod that the watch
 * wakes is in vain: the answer has to wake it. (Simulated cluster, seeds 1001410 and 1004759.)
 */
static void an_answer_later_than_the_claim_s_end_wakes_who_waits(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world *w = world_new(true);
		struct podqueue *queue = podqueue_new(
			&(struct podqueue_opts){ .profile = only_profile, .arg = w });
		struct kept_binding b;
		struct cycle *c;

		w->f.services.queue = queue;
		add_node(w, "n1", "");
		serve_claim(w, "one", ONE("any"), "");
		put_claim(w, "other", "", ONE("any"), "");
		c = reserved(w, POD("p", USES("one")), "n1");
		begin_bind(w, &b, c);
		while (!stored(w, "one", "'device':'a'"))
			assert_true(sim_step(w->sim));
		if (i > 0)
			change(w, "one", "{'status':{'reservedFor':null,'allocation':null}}");
		watch(w);
		assert_true(in_use(w, "n1", "a"));
		add_waiting(w, POD("q", USES("other")));
		assert_true(sim_run_until(w->sim, kept_binding_has_ended, &b, 1000));
		assert_int_equal(in_use(w, "n1", "a"), i == 0);
		assert_int_equal(podqueue_count(queue, QUEUE_UNSCHEDULABLE), i == 0);
		cycle_free(c);
		podqueue_free(queue);
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_claims_that_may_help_wake_a_pod),
		cmocka_unit_test(the_end_of_a_claim_in_its_way_wakes_its_owner),
		cmocka_unit_test(the_status_of_a_slice_wakes_nobody),
		cmocka_unit_test(an_answer_later_than_the_claim_s_end_wakes_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
