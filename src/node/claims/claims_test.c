/*
 * Claims in a simulated world: order of calls, error messages, pods that share, races, and an agent
 * that is killed at every step.
 */
#include "base/core/limits.h"
#include "node/claims/claims_fixture.h"

/* --- the usual course ---------------------------------------------------------------------- */

static void a_pod_without_claims_has_nothing_to_wait_for(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", "", "");
	struct test t;

	begin(&t);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_log(&t, "");
	assert_int_equal(t.w.other, 0);
	pod_unref(pod);
	end(&t);
}

static void claims_are_saved_before_drivers_are_asked_once_each(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE "," TWO, "");
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct arena a;
	struct assign_claim c;
	struct test t;

	begin(&t);
	arena_init(&a, MIB);
	put_claim(&t, "one", "c1", GPU "," NIC "," GPU);
	put_claim(&t, "two", "c2", NIC);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, prepare gpu c1, prepare nic c1 c2, save, ");
	assert_true(assign_claim_get(t.assign, STR("c1"), &a, &c));
	assert_int_equal(c.state, ASSIGN_CLAIM_PREPARED);
	assert_int_equal(c.ndevices, 2);
	assert_true(str_eqz(c.devices[0].driver, "gpu.example.com"));
	assert_true(str_eqz(c.devices[0].requests[0], "r")); /* for "r/sub" */
	/* Again: everything is prepared. Only the pod's use is recorded again. */
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, ");
	(void)metrics_print(t.metrics, &text);
	assert_non_null(strstr(text.p, "dra_resource_claims_in_use{driver_name=\"<any>\"} 2"));
	assert_non_null(
		strstr(text.p, "dra_resource_claims_in_use{driver_name=\"nic.example.com\"} 2"));
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_log(&t, "unprepare gpu c1, unprepare nic c1 c2, save, ");
	assert_int_equal(claim_count(&t), 0);
	assert_int_equal(prepared_count(&t.plugins), 0);
	buf_clear(&text);
	(void)metrics_print(t.metrics, &text);
	assert_non_null(strstr(text.p, "dra_resource_claims_in_use{driver_name=\"<any>\"} 0"));
	assert_non_null(strstr(text.p, "dra_operations_duration_seconds_count{operation_name="
				       "\"UnprepareResources\",is_error=\"false\"} 1"));
	arena_release(&a);
	pod_unref(pod);
	end(&t);
}

static void made_and_extended_claims_are_found_in_the_status(void **state UNUSED)
{
	struct pod *pod = make_pod(
		"p0", MADE ",{\"name\":\"none\",\"resourceClaimTemplateName\":\"t\"}",
		"\"resourceClaimStatuses\":[{\"name\":\"made\","
		"\"resourceClaimName\":\"one\"},{\"name\":\"none\"}],"
		"\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"two\"}");
	const struct assign_use *uses;
	struct arena a;
	struct test t;

	begin(&t);
	arena_init(&a, MIB);
	put_claim(&t, "one", "c1", GPU);
	put_claim(&t, "two", "c2", NIC);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, prepare gpu c1, prepare nic c2, save, ");
	assert_int_equal(assign_uses(t.assign, STR("p0"), &a, &uses), 2);
	assert_true(str_eqz(uses[0].pod_claim, CLAIMS_EXTENDED));
	assert_true(str_eqz(uses[1].pod_claim, "made"));
	arena_release(&a);
	pod_unref(pod);
	end(&t);
}

static void a_claim_named_twice_is_asked_for_once(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE ",{\"name\":\"b\",\"resourceClaimName\":\"one\"}", "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, prepare gpu c1, save, ");
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_log(&t, "unprepare gpu c1, save, ");
	assert_int_equal(claim_count(&t), 0);
	pod_unref(pod);
	end(&t);
}

/* --- rejections and messages --------------------------------------------------------------- */

static char *object(const char *text)
{
	return xstrdup(text);
}

static void claims_that_may_not_be_used_are_refused_without_a_trace(void **state UNUSED)
{
	static const struct {
		const char *claims, *status, *object, *message;
	} cases[] = {
		{ ONE, "", NULL, "fetch ResourceClaim one: not here" },
		{ MADE, "", NULL, "pod \"default/p0\": ResourceClaim not created yet" },
		{ "{\"name\":\"x\"}", "", NULL,
		  "pod \"default/p0\", spec.resourceClaim \"x\": none of the supported fields are "
		  "set" },
		{ MADE,
		  "\"resourceClaimStatuses\":[{\"name\":\"made\",\"resourceClaimName\":\"one\"}]",
		  "{\"metadata\":{\"uid\":\"c1\",\"ownerReferences\":[{\"uid\":\"p0\"},"
		  "{\"uid\":\"other\",\"controller\":true}]}}",
		  "ResourceClaim default/one was not created for Pod default/p0 (Pod is not "
		  "owner)" },
		{ ONE, "",
		  "{\"metadata\":{\"uid\":\"c1\"},\"status\":{\"allocation\":{},"
		  "\"reservedFor\":[{\"uid\":\"p1\"}]}}",
		  "pod p0 (p0) is not allowed to use ResourceClaim one (c1)" },
		{ ONE, "",
		  "{\"metadata\":{\"uid\":\"c1\"},\"status\":{\"reservedFor\":[{\"uid\":\"p0\"}]}}",
		  "ResourceClaim one: not allocated" },
		{ ONE, "",
		  "{\"metadata\":{\"uid\":\"c1\"},\"status\":{\"reservedFor\":[{\"uid\":\"p0\"}],"
		  "\"allocation\":{\"devices\":{\"results\":[{\"driver\":\"disk.example.com\"}]}}}"
		  "}",
		  "DRA driver disk.example.com is not registered" },
		{ ONE, "",
		  "{\"metadata\":{\"uid\":\"c1\"},\"status\":{\"reservedFor\":[{\"uid\":\"p0\"}],"
		  "\"allocation\":{\"devices\":{\"results\":[{\"driver\":\"gpu.example.com\","
		  "\"skipNodeOperations\":[\"*\"]}]}}}}",
		  "ResourceClaim one: DRAOptionalNodeOperations feature gate is disabled on "
		  "kubelet" },
		{ ONE, "", "[1", "fetch ResourceClaim one: " },
		{ ONE, "", "{}", "ResourceClaim one has no uid" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod *pod = make_pod("p0", cases[i].claims, cases[i].status);
		char want[256];
		struct error err;
		struct test t;

		begin(&t);
		if (cases[i].object)
			put_object(&t, "one", object(cases[i].object));
		err = prepare_pod(&t, pod);
		(void)snprintf(want, sizeof(want), "prepare dynamic resources: %s",
			       cases[i].message);
		if (err.code == ERR_OK || strncmp(err.msg, want, strlen(want)) != 0)
			fail_msg("case %zu: %s", i, err.msg);
		assert_log(&t, "");
		assert_int_equal(claim_count(&t), 0);
		assert_false(assign_has_pod(t.assign, STR("p0")));
		pod_unref(pod);
		end(&t);
	}
}

static void a_driver_that_fails_is_asked_again_at_the_next_try(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE "," TWO, "");
	struct error err;
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	put_claim(&t, "two", "c2", NIC);
	t.plugins.error[1] = "no such port";
	err = prepare_pod(&t, pod);
	assert_string_equal(err.msg, "prepare dynamic resources: NodePrepareResources failed for "
				     "ResourceClaim two: no such port");
	assert_log(&t, "save, prepare gpu c1, prepare nic c2, save, ");
	t.plugins.error[1] = NULL;
	t.plugins.broken[1] = true;
	err = prepare_pod(&t, pod);
	assert_string_equal(err.msg,
			    "prepare dynamic resources: NodePrepareResources: connection refused");
	/* Prepared claims are not requested again. */
	assert_log(&t, "save, prepare nic c2, ");
	t.plugins.broken[1] = false;
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, prepare nic c2, save, ");
	pod_unref(pod);
	end(&t);
}

static void a_failed_prepare_is_unprepared_when_the_pod_goes(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, "");
	struct error err;
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU "," NIC);
	t.plugins.broken[1] = true;
	assert_int_not_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_int_equal(prepared_count(&t.plugins), 1);
	t.log[0] = '\0';
	/* Its driver is away: the pod waits. */
	t.plugins.missing[1] = true;
	err = unprepare_pod(&t, "p0");
	assert_string_equal(err.msg, "unprepare dynamic resources: DRA driver nic.example.com is "
				     "not registered");
	assert_int_equal(claim_count(&t), 1);
	t.plugins.missing[1] = t.plugins.broken[1] = false;
	t.plugins.error[0] = "busy";
	err = unprepare_pod(&t, "p0");
	assert_string_equal(err.msg, "unprepare dynamic resources: NodeUnprepareResources failed "
				     "for ResourceClaim one: busy");
	t.plugins.error[0] = NULL;
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_int_equal(claim_count(&t), 0);
	assert_int_equal(prepared_count(&t.plugins), 0);
	/* And again: there is nothing to do. */
	t.log[0] = '\0';
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_log(&t, "");
	pod_unref(pod);
	end(&t);
}

static void without_a_disk_no_driver_is_asked(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, "");
	struct error err;
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	t.disk_full = true;
	err = prepare_pod(&t, pod);
	assert_string_equal(err.msg, "prepare dynamic resources: checkpoint ResourceClaim cache: "
				     "no space left");
	assert_log(&t, "save, ");
	t.disk_full = false;
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	t.disk_full = true;
	t.log[0] = '\0';
	err = unprepare_pod(&t, "p0");
	assert_string_equal(err.msg, "unprepare dynamic resources: checkpoint ResourceClaim state: "
				     "no space left");
	t.disk_full = false;
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	pod_unref(pod);
	end(&t);
}

static void a_claim_that_was_made_again_waits_for_the_old_one(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, ""), *next = make_pod("p1", ONE, "");
	struct error err;
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	put_claim(&t, "one", "c9", GPU);
	err = prepare_pod(&t, next);
	assert_string_equal(err.msg,
			    "prepare dynamic resources: old ResourceClaim with same name one and "
			    "different UID c1 still exists (previous pod force-deleted?!)");
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_int_equal(prepare_pod(&t, next).code, ERR_OK);
	pod_unref(pod);
	pod_unref(next);
	end(&t);
}

/* --- pods that share ----------------------------------------------------------------------- */

static void pods_that_share_a_claim_prepare_it_once_and_the_last_unprepares(void **state UNUSED)
{
	struct pod *pods[4];
	struct wait w[4] = { { 0 } };
	char uid[4];
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(uid, sizeof(uid), "p%u", i);
		pods[i] = make_pod(uid, ONE, "");
		claims_prepare(t.claims, pods[i], on_done, &w[i]);
	}
	for (unsigned i = 0; i < 4; i++) {
		wait_for(&t, &w[i]);
		assert_int_equal(w[i].err.code, ERR_OK);
	}
	assert_int_equal(t.plugins.prepares, 1);
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(uid, sizeof(uid), "p%u", i);
		assert_int_equal(t.plugins.unprepares, 0);
		assert_int_equal(unprepare_pod(&t, uid).code, ERR_OK);
		pod_unref(pods[i]);
	}
	assert_int_equal(t.plugins.unprepares, 1);
	assert_int_equal(claim_count(&t), 0);
	end(&t);
}

static void a_pod_that_wants_a_claim_while_it_is_unprepared_gets_it_anew(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE, "");
	struct wait gone = { 0 }, come = { 0 };
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	t.log[0] = '\0';
	t.plugins.hold = true;
	claims_unprepare(t.claims, STR("p0"), on_done, &gone);
	sim_run_for(t.w.sim, 100);
	claims_prepare(t.claims, second, on_done, &come);
	sim_run_for(t.w.sim, 10000);
	assert_false(gone.done || come.done);
	assert_int_equal(claims_pending(t.claims), 2);
	t.plugins.hold = false;
	wait_for(&t, &come);
	assert_true(gone.done);
	assert_int_equal(come.err.code, ERR_OK);
	assert_log(&t, "unprepare gpu c1, save, save, prepare gpu c1, save, ");
	assert_int_equal(prepared_count(&t.plugins), 1);
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

static void an_unprepare_that_failed_keeps_new_pods_away(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	t.plugins.broken[0] = true;
	assert_int_not_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_string_equal(prepare_pod(&t, second).msg,
			    "prepare dynamic resources: ResourceClaim one is being unprepared");
	t.plugins.broken[0] = false;
	assert_int_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

static void the_end_of_one_user_while_another_comes_unprepares_nothing(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE "," TWO, "");
	struct wait gone = { 0 }, come = { 0 };
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	put_claim(&t, "two", "c2", NIC);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	t.plugins.hold = true;
	claims_prepare(t.claims, second, on_done, &come);
	sim_run_for(t.w.sim, 100);
	claims_unprepare(t.claims, STR("p0"), on_done, &gone);
	sim_run_for(t.w.sim, 100);
	assert_false(gone.done || come.done);
	t.plugins.hold = false;
	wait_for(&t, &gone);
	assert_true(come.done);
	assert_int_equal(t.plugins.unprepares, 0);
	assert_int_equal(prepared_count(&t.plugins), 2);
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

static void operations_of_one_pod_run_in_order(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, "");
	struct wait w[3] = { { 0 } };
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	claims_prepare(t.claims, pod, on_done, &w[0]);
	claims_unprepare(t.claims, STR("p0"), on_done, &w[1]);
	claims_prepare(t.claims, pod, on_done, &w[2]);
	wait_for(&t, &w[2]);
	assert_true(w[0].done && w[1].done);
	assert_log(&t, "save, prepare gpu c1, save, unprepare gpu c1, save, save, prepare gpu c1, "
		       "save, ");
	pod_unref(pod);
	end(&t);
}

/* --- claims without pods ------------------------------------------------------------------- */

static void the_periodic_look_unprepares_what_gone_pods_left(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE "," TWO, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	put_claim(&t, "two", "c2", NIC);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	t.log[0] = '\0';
	sim_run_for(t.w.sim, 2 * CLAIMS_RECONCILE_MS);
	assert_log(&t, "");
	t.inactive[1] = true;
	t.plugins.missing[1] = true;
	sim_run_for(t.w.sim, CLAIMS_RECONCILE_MS + 1000);
	/* It stays until its driver is back. */
	assert_int_equal(claim_count(&t), 2);
	t.plugins.missing[1] = false;
	sim_run_for(t.w.sim, CLAIMS_RECONCILE_MS);
	assert_int_equal(claim_count(&t), 1);
	assert_int_equal(prepared_count(&t.plugins), 1);
	t.inactive[0] = true;
	sim_run_for(t.w.sim, CLAIMS_RECONCILE_MS);
	assert_int_equal(claim_count(&t), 0);
	assert_int_equal(prepared_count(&t.plugins), 0);
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

static bool was_asked(void *arg)
{
	return ((struct test *)arg)->plugins.unprepares > 0;
}

static bool was_asked_again(void *arg)
{
	return ((struct test *)arg)->plugins.unprepares > 1;
}

/* The check finds its own operation in flight, and that one fails: its call came too early. */
static void a_driver_that_comes_back_during_the_look_is_asked_again_at_once(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	t.inactive[0] = true;
	t.plugins.broken[0] = true;
	claims_reconcile(t.claims);
	assert_true(sim_run_until(t.w.sim, was_asked, &t, 1000));
	claims_reconcile(t.claims);
	assert_true(sim_run_until(t.w.sim, was_asked_again, &t, 1000));
	t.plugins.broken[0] = false;
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(claim_count(&t), 0);
	pod_unref(pod);
	end(&t);
}

/* --- being killed -------------------------------------------------------------------------- */

struct steps {
	struct test *t;
	unsigned at;
};

static bool has_stepped(void *arg)
{
	const struct steps *s = arg;

	return s->t->steps >= s->at;
}

/*
 * Prepares a pod with two claims of two drivers, or prepares and unprepares it; the agent is killed
 * after `at` steps.
 */
static bool run_and_kill(struct test *t, struct pod *pod, bool unprepares, unsigned at)
{
	struct wait up = { 0 }, down = { 0 };
	struct steps s = { t, at };
	bool stepped;

	claims_prepare(t->claims, pod, on_done, &up);
	if (unprepares)
		claims_unprepare(t->claims, STR("p0"), on_done, &down);
	stepped = sim_run_until(t->w.sim, has_stepped, &s, CLAIMS_RECONCILE_MS / 2);
	kill_agent(t);
	sim_run_for(t->w.sim, 100); /* drivers finish their calls */
	start_agent(t);
	t->log[0] = '\0';
	return stepped;
}

/* Also if it was saved while being unprepared. */
static void come_back_and_end(struct test *t, struct pod *pod)
{
	assert_int_equal(prepare_pod(t, pod).code, ERR_OK);
	assert_int_equal(prepared_count(&t->plugins), 3);
	assert_int_equal(claim_count(t), 2);
	assert_int_equal(unprepare_pod(t, "p0").code, ERR_OK);
}

/* Returns false if there was no such step. */
static bool kill_at(unsigned at, bool unprepares, bool comes_back)
{
	struct pod *pod = make_pod("p0", ONE "," TWO, "");
	struct test t;
	bool stepped;

	begin(&t);
	put_claim(&t, "one", "c1", GPU "," NIC);
	put_claim(&t, "two", "c2", NIC);
	stepped = run_and_kill(&t, pod, unprepares, at);
	if (comes_back) {
		come_back_and_end(&t, pod);
	} else {
		t.inactive[0] = true;
		sim_run_for(t.w.sim, 2 * CLAIMS_RECONCILE_MS);
	}
	if (prepared_count(&t.plugins) != 0 || claim_count(&t) != 0)
		fail_msg("%d %d, step %u: %zu prepared, %zu known", unprepares, comes_back, at,
			 prepared_count(&t.plugins), claim_count(&t));
	pod_unref(pod);
	end(&t);
	return stepped;
}

/* If the pod still exists, it gets to run. If it is gone, nothing of it stays. */
static void after_a_kill_at_any_step_nothing_is_lost_or_leaked(void **state UNUSED)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		unsigned at = 0;

		while (kill_at(at, variant & 1, variant & 2))
			assert_true(++at < 100);
	}
}

/*
 * The driver does not reply to the unprepare of a pod whose containers have ended. Then the agent
 * dies before it reports that end. The pod starts again, and so must its claim, also for other pods
 * that share it.
 */
static void a_claim_on_its_way_out_comes_back_with_its_pod_after_a_restart(void **state UNUSED)
{
	struct pod *first = make_pod("p0", ONE, ""), *second = make_pod("p1", ONE, "");
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	t.plugins.broken[0] = true;
	assert_int_not_equal(unprepare_pod(&t, "p0").code, ERR_OK);
	t.plugins.broken[0] = false;
	kill_agent(&t);
	start_agent(&t);
	assert_int_equal(prepare_pod(&t, first).code, ERR_OK);
	assert_int_equal(prepare_pod(&t, second).code, ERR_OK);
	assert_int_equal(prepared_count(&t.plugins), 1);
	pod_unref(first);
	pod_unref(second);
	end(&t);
}

static void after_a_restart_claims_are_prepared_again(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", ONE, "");
	const struct assign_use *uses;
	struct arena a;
	struct test t;

	begin(&t);
	arena_init(&a, MIB);
	put_claim(&t, "one", "c1", GPU);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	kill_agent(&t);
	start_agent(&t);
	/* Its devices are known before any driver has replied. */
	assert_int_equal(assign_uses(t.assign, STR("p0"), &a, &uses), 1);
	assert_true(str_eqz(uses[0].device.device, "c1"));
	t.log[0] = '\0';
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	assert_log(&t, "save, prepare gpu c1, save, ");
	arena_release(&a);
	pod_unref(pod);
	end(&t);
}

static void free_all(void *arg, const struct error *err UNUSED)
{
	struct test *t = arg;

	claims_free(TAKE(t->claims));
}

static bool is_freed(void *arg)
{
	return !((struct test *)arg)->claims;
}

static void a_callback_may_free_it_all(void **state UNUSED)
{
	struct pod *pod = make_pod("p0", "", ""), *other = make_pod("p1", ONE, "");
	struct wait w = { 0 };
	struct test t;

	begin(&t);
	put_claim(&t, "one", "c1", GPU);
	claims_prepare(t.claims, other, on_done, &w);
	claims_prepare(t.claims, pod, free_all, &t);
	assert_true(sim_run_until(t.w.sim, is_freed, &t, HANG_MS));
	sim_run_for(t.w.sim, 1000);
	assert_false(w.done);
	pod_unref(pod);
	pod_unref(other);
	end(&t);
}

/* --- devices of a container ---------------------------------------------------------------- */

static void containers_get_the_cdi_ids_of_what_they_name(void **state UNUSED)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"p0\",\"namespace\":\"default\",\"uid\":\"p0\"},"
		"\"spec\":{\"resourceClaims\":[" ONE "," TWO "],\"containers\":["
		"{\"name\":\"all\",\"resources\":{\"claims\":[{\"name\":\"gpu\"},{\"name\":\"nic\"}"
		","
		"{\"name\":\"gpu\",\"request\":\"r\"}]}},"
		"{\"name\":\"some\",\"resources\":{\"claims\":[{\"name\":\"gpu\","
		"\"request\":\"r/other\"}]}},"
		"{\"name\":\"wrong\",\"resources\":{\"claims\":[{\"name\":\"gpu\","
		"\"request\":\"x\"}]}},{\"name\":\"none\"},"
		"{\"name\":\"ext\",\"resources\":{\"requests\":{\"example.com/gpu\":1}}}]},"
		"\"status\":{\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"ext\","
		"\"requestMappings\":[{\"containerName\":\"ext\",\"resourceName\":"
		"\"example.com/gpu\",\"requestName\":\"r\"},{\"containerName\":\"none\","
		"\"resourceName\":\"example.com/gpu\",\"requestName\":\"r\"}]}}}";
	static const char *const want[] = { "gpu.example.com/c1 nic.example.com/c2 ",
					    "gpu.example.com/c1 ", "", "", "gpu.example.com/c3 " };
	struct pod *pod = NULL;
	struct arena a;
	struct test t;
	size_t i = 0;

	begin(&t);
	arena_init(&a, MIB);
	assert_int_equal(pod_parse(str_from(text), &pod, NULL), 0);
	put_claim(&t, "one", "c1", GPU);
	put_claim(&t, "two", "c2", NIC);
	put_claim(&t, "ext", "c3", GPU);
	assert_int_equal(prepare_pod(&t, pod).code, ERR_OK);
	JSON_FOREACH (container, json_getz(pod->spec, "containers")) {
		const struct str *ids;
		size_t n = claims_cdi_ids(t.assign, pod, container, &a, &ids);
		char got[256] = "";

		for (size_t k = 0; k < n; k++)
			(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.*s ",
				       STR_ARG(ids[k]));
		assert_string_equal(got, want[i++]);
	}
	arena_release(&a);
	pod_unref(pod);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_without_claims_has_nothing_to_wait_for),
		cmocka_unit_test(claims_are_saved_before_drivers_are_asked_once_each),
		cmocka_unit_test(made_and_extended_claims_are_found_in_the_status),
		cmocka_unit_test(a_claim_named_twice_is_asked_for_once),
		cmocka_unit_test(claims_that_may_not_be_used_are_refused_without_a_trace),
		cmocka_unit_test(a_driver_that_fails_is_asked_again_at_the_next_try),
		cmocka_unit_test(a_failed_prepare_is_unprepared_when_the_pod_goes),
		cmocka_unit_test(without_a_disk_no_driver_is_asked),
		cmocka_unit_test(a_claim_that_was_made_again_waits_for_the_old_one),
		cmocka_unit_test(pods_that_share_a_claim_prepare_it_once_and_the_last_unprepares),
		cmocka_unit_test(a_pod_that_wants_a_claim_while_it_is_unprepared_gets_it_anew),
		cmocka_unit_test(an_unprepare_that_failed_keeps_new_pods_away),
		cmocka_unit_test(the_end_of_one_user_while_another_comes_unprepares_nothing),
		cmocka_unit_test(operations_of_one_pod_run_in_order),
		cmocka_unit_test(the_periodic_look_unprepares_what_gone_pods_left),
		cmocka_unit_test(a_driver_that_comes_back_during_the_look_is_asked_again_at_once),
		cmocka_unit_test(after_a_kill_at_any_step_nothing_is_lost_or_leaked),
		cmocka_unit_test(a_claim_on_its_way_out_comes_back_with_its_pod_after_a_restart),
		cmocka_unit_test(after_a_restart_claims_are_prepared_again),
		cmocka_unit_test(a_callback_may_free_it_all),
		cmocka_unit_test(containers_get_the_cdi_ids_of_what_they_name),
	};

	return cmocka_run_group_tests_name("node/claims", tests, NULL, NULL);
}
