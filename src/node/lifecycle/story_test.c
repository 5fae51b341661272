/*
 * Pods over time: back-offs, probes, changes, ends; see lifecycle_fixture.h.
 */
#include "node/lifecycle/lifecycle_fixture.h"

static const char *at(struct fixture *f, const char *pointer)
{
	struct json *status = lifecycle_status(f->life, &f->in, &f->arena);

	return fixture_text(f, json_pointer(status, str_from(pointer)));
}

/* --- back-offs ---------------------------------------------------------------------- */

/* The nth container has just ended: returns the plan. */
static const char *ended(struct fixture *f, int n)
{
	fixture_see(f, arena_printf(&f->arena, "S0 a:%d:x1@0", n));
	return fixture_plan(f);
}

static void a_crash_loop_backs_off_from_10_s_to_5_min(void **state)
{
	static const int waits[] = { 10, 20, 40, 80, 160, 300, 300 };
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	assert_string_equal(fixture_plan(&f), "start a#0");
	assert_string_equal(ended(&f, 0), "start a#1");
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		const char *wait = arena_printf(&f.arena, "wake+%d", waits[i] * 1000);
		const char *start = arena_printf(&f.arena, "start a#%d", (int)i + 2);

		assert_string_equal(ended(&f, (int)i + 1), wait);
		fixture_pass(&f, waits[i] * 1000 - 1);
		assert_string_equal(fixture_plan(&f), "wake+1");
		fixture_pass(&f, 1);
		assert_string_equal(fixture_plan(&f), start);
		assert_string_equal(fixture_plan(&f), start);
	}
	fixture_release(&f);
}

static void the_crash_loop_shows_in_the_status(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)ended(&f, 0);
	(void)ended(&f, 1);
	assert_string_equal(fixture_status(&f),
			    "Running TTFFT "
			    "a:waiting(CrashLoopBackOff)#1<terminated=1(Error)");
	assert_string_equal(at(&f, "/containerStatuses/0/state/waiting"),
			    "{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 10s "
			    "restarting failed container=a pod=p_n(u)\"}");
	fixture_pass(&f, 10000);
	assert_string_equal(fixture_plan(&f), "start a#2");
	fixture_see(&f, "S0 a:2:r a:1:x1");
	(void)fixture_plan(&f);
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#2<terminated=1(Error)+sr");
	(void)ended(&f, 2);
	assert_string_equal(at(&f, "/containerStatuses/0/state/waiting/message"),
			    "\"back-off 20s restarting failed container=a pod=p_n(u)\"");
	fixture_release(&f);
}

static void a_crash_loop_is_forgotten_after_ten_minutes_of_running(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)ended(&f, 0);
	assert_string_equal(ended(&f, 1), "wake+10000");
	fixture_pass(&f, 10000);
	assert_string_equal(fixture_plan(&f), "start a#2");
	fixture_pass(&f, 600 * 1000);
	assert_string_equal(ended(&f, 2), "wake+20000");
	fixture_pass(&f, 20000);
	assert_string_equal(fixture_plan(&f), "start a#3");
	fixture_pass(&f, 600 * 1000 + 1);
	assert_string_equal(ended(&f, 3), "start a#4");
	assert_string_equal(ended(&f, 4), "wake+10000");
	fixture_release(&f);
}

static void a_jump_of_the_wall_clock_changes_no_wait(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)ended(&f, 0);
	assert_string_equal(ended(&f, 1), "wake+10000");
	f.in.wall_ns -= 3600 * CLOCK_SEC;
	assert_string_equal(fixture_plan(&f), "wake+10000");
	f.in.wall_ns += 7200 * CLOCK_SEC;
	assert_string_equal(fixture_plan(&f), "wake+10000");
	fixture_pass(&f, 10000);
	assert_string_equal(fixture_plan(&f), "start a#2");
	fixture_release(&f);
}

static void another_image_begins_anew(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)ended(&f, 0);
	assert_string_equal(ended(&f, 1), "wake+10000");
	fixture_becomes(&f, "m:a,image=other", NULL);
	assert_string_equal(fixture_plan(&f), "start a#2");
	fixture_release(&f);
}

static void another_image_restarts_even_what_never_restarts(void **state)
{
	struct fixture f;

	fixture_init(&f, "Never m:a,image=new", NULL, "S0 a:0:r!1");
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_true(str_eqz(f.plan.actions[0].message,
			    "Container a definition changed, will be restarted"));
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#0+sr");
	fixture_see(&f, "S0 a:0:x137@0!1");
	assert_string_equal(fixture_plan(&f), "start a#1");
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#0+sr");
	fixture_see(&f, "S0 a:1:r a:0:x137@0!1");
	assert_string_equal(fixture_plan(&f), "");
	assert_string_equal(fixture_status(&f),
			    "Running TTTTT a:running#1<terminated=137(Error)+sr");
	fixture_see(&f, "S0 a:1:x0@0 a:0:x137@0!1");
	assert_string_equal(fixture_plan(&f), "stop-sandbox sb-0, remove a-0, over");
	fixture_release(&f);
}

static void a_failed_pull_backs_off(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)fixture_plan(&f);
	lifecycle_failed(f.life, STR("a"), STR("ErrImagePull"), STR("no such image"), f.in.mono_ms);
	assert_string_equal(fixture_plan(&f), "wake+2000");
	assert_string_equal(at(&f, "/containerStatuses/0/state/waiting"),
			    "{\"reason\":\"ErrImagePull\",\"message\":\"no such image\"}");
	fixture_pass(&f, 2000);
	assert_string_equal(fixture_plan(&f), "wake+8000");
	assert_int_equal(f.plan.nnotes, 1);
	assert_true(str_eqz(f.plan.notes[0].message, "Back-off pulling image \"busybox\""));
	assert_string_equal(at(&f, "/containerStatuses/0/state/waiting"),
			    "{\"reason\":\"ImagePullBackOff\",\"message\":\"Back-off pulling image "
			    "\\\"busybox\\\": ErrImagePull: no such image\"}");
	fixture_pass(&f, 8000);
	assert_string_equal(fixture_plan(&f), "start a#0");
	assert_int_equal(f.plan.nnotes, 0);
	assert_string_equal(fixture_status(&f), "Pending TTFFT a:waiting(ImagePullBackOff)#0");
	lifecycle_failed(f.life, STR("a"), STR("ErrImagePull"), STR("again"), f.in.mono_ms);
	fixture_pass(&f, 2000);
	assert_string_equal(fixture_plan(&f), "wake+18000");
	fixture_becomes(&f, "m:a,image=other", NULL);
	assert_string_equal(fixture_plan(&f), "start a#0");
	fixture_release(&f);
}

static void other_failures_are_tried_again_after_10_s(void **state)
{
	static const char *const reasons[] = { "ErrImageNeverPull", "InvalidImageName",
					       "CreateContainerConfigError", "CreateContainerError",
					       "RunContainerError" };
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		assert_string_equal(fixture_plan(&f), "start a#0");
		lifecycle_failed(f.life, STR("a"), str_from(reasons[i]), STR("why"), f.in.mono_ms);
		assert_string_equal(fixture_plan(&f), "wake+10000");
		assert_string_equal(
			fixture_status(&f),
			arena_printf(&f.arena, "Pending TTFFT a:waiting(%s)#0", reasons[i]));
		fixture_pass(&f, 10000);
	}
	fixture_see(&f, "S0 a:0:r");
	assert_string_equal(fixture_plan(&f), "");
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#0+sr");
	fixture_release(&f);
}

static void a_failed_sandbox_is_tried_again_after_10_s(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "");
	assert_string_equal(fixture_plan(&f), "run-sandbox 0");
	lifecycle_failed(f.life, STR_NULL, STR("FailedCreatePodSandBox"), STR("no network"),
			 f.in.mono_ms);
	assert_string_equal(fixture_plan(&f), "wake+10000");
	fixture_pass(&f, 10000);
	assert_string_equal(fixture_plan(&f), "run-sandbox 0");
	fixture_release(&f);
}

static void an_init_container_that_waits_holds_up_the_next(void **state)
{
	struct fixture f;

	fixture_init(&f, "s:x i:y m:a", NULL, "S0 y:0:x1@0 x:0:r");
	assert_string_equal(fixture_plan(&f), "start y#1");
	fixture_see(&f, "S0 y:1:x1@0 x:0:x1@0");
	assert_string_equal(fixture_plan(&f), "start x#1, wake+10000");
	assert_string_equal(fixture_status(&f), "Pending TFFFT x:terminated=1(Error)#0 "
						"y:waiting(CrashLoopBackOff)#1<terminated=1(Error) "
						"a:waiting(PodInitializing)#0");
	fixture_release(&f);
}

static void back_offs_are_told_once_each(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)ended(&f, 0);
	(void)ended(&f, 1);
	assert_int_equal(f.plan.nnotes, 1);
	assert_string_equal(f.plan.notes[0].reason, "BackOff");
	assert_true(f.plan.notes[0].warning);
	assert_true(str_eqz(f.plan.notes[0].message,
			    "Back-off restarting failed container a in pod p_n(u)"));
	(void)fixture_plan(&f);
	assert_int_equal(f.plan.nnotes, 0);
	fixture_release(&f);
}

/* --- probes ------------------------------------------------------------------------- */

static void probes_decide_about_ready(void **state)
{
	struct fixture f;
	struct str id = STR_NULL;

	fixture_init(&f, "m:a,startup,ready", NULL, "S0 a:0:r");
	(void)fixture_plan(&f);
	assert_true(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_STARTUP, &id));
	assert_true(str_eqz(id, "a-0"));
	assert_false(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_READINESS, &id));
	assert_false(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_LIVENESS, &id));
	assert_string_equal(fixture_status(&f), "Running TTFFT a:running#0");
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_STARTUP, true, STR_NULL);
	assert_false(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_STARTUP, &id));
	assert_true(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_READINESS, &id));
	assert_string_equal(fixture_status(&f), "Running TTFFT a:running#0+s");
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_READINESS, true, STR_NULL);
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#0+sr");
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_READINESS, false, STR_NULL);
	assert_string_equal(fixture_status(&f), "Running TTFFT a:running#0+s");
	/* The result does not apply to another container. */
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_READINESS, true, STR_NULL);
	fixture_see(&f, "S0 a:1:r a:0:x0");
	assert_string_equal(fixture_status(&f),
			    "Running TTFFT a:running#1<terminated=0(Completed)");
	fixture_release(&f);
}

static void a_bad_liveness_probe_restarts(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a,live", NULL, "S0 a:0:r");
	(void)fixture_plan(&f);
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_LIVENESS, false, STR("boom"));
	assert_string_equal(fixture_plan(&f), "stop a-0 7");
	assert_true(str_eqz(f.plan.actions[0].message,
			    "Container a failed liveness probe, will be restarted"));
	assert_true(str_eqz(f.plan.actions[0].reason, "Killing"));
	fixture_see(&f, "S0 a:0:x137@0");
	assert_string_equal(fixture_plan(&f), "start a#1");
	fixture_see(&f, "S0 a:1:r a:0:x137@0");
	assert_string_equal(fixture_plan(&f), "");
	fixture_release(&f);
}

static void a_bad_startup_probe_ends_what_never_restarts(void **state)
{
	struct fixture f;

	fixture_init(&f, "Never m:a,startup m:b", NULL, "S0 a:0:r b:0:r");
	(void)fixture_plan(&f);
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_STARTUP, false, STR_NULL);
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_true(str_eqz(f.plan.actions[0].message, "Container a failed startup probe"));
	fixture_see(&f, "S0 a:0:x137@0 b:0:r");
	assert_string_equal(fixture_plan(&f), "");
	fixture_release(&f);
}

static void a_bad_probe_of_a_sidecar_restarts_it(void **state)
{
	struct fixture f;

	fixture_init(&f, "s:x,live m:a", NULL, "S0 a:0:r x:0:r");
	(void)fixture_plan(&f);
	lifecycle_probed(f.life, STR("x-0"), LIFECYCLE_LIVENESS, false, STR_NULL);
	assert_string_equal(fixture_plan(&f), "stop x-0 7");
	assert_true(str_eqz(f.plan.actions[0].message, "Init container x failed liveness probe"));
	fixture_see(&f, "S0 a:0:r x:0:x137@0");
	assert_string_equal(fixture_plan(&f), "start x#1");
	fixture_release(&f);
}

static void a_failed_hook_ends_its_container(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0");
	(void)fixture_plan(&f);
	lifecycle_probed(f.life, STR("a-0"), LIFECYCLE_STARTUP, false, STR_NULL);
	lifecycle_failed(f.life, STR("a"), STR("PostStartHookError"), STR("exit 1"), f.in.mono_ms);
	fixture_see(&f, "S0 a:0:r");
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_true(str_eqz(f.plan.actions[0].message, "FailedPostStartHook, will be restarted"));
	fixture_see(&f, "S0 a:0:x137@0");
	assert_string_equal(fixture_plan(&f), "wake+10000");
	assert_string_equal(fixture_status(&f),
			    "Running TTFFT a:waiting(PostStartHookError)#0<terminated=137(Error)");
	fixture_pass(&f, 10000);
	assert_string_equal(fixture_plan(&f), "start a#1");
	fixture_release(&f);
}

static void a_pod_that_ends_is_probed_for_readiness_only(void **state)
{
	struct fixture f;
	struct str id = STR_NULL;

	fixture_init(&f, "deleting=9 m:a,live,ready", NULL, "S0 a:0:r");
	(void)fixture_plan(&f);
	assert_false(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_LIVENESS, &id));
	assert_true(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_READINESS, &id));
	fixture_see(&f, "S0 a:0:x0");
	assert_false(lifecycle_wants_probe(f.life, &f.in, STR("a"), LIFECYCLE_READINESS, &id));
	assert_true(str_eqz(id, "a-0"));
	fixture_release(&f);
}

/* --- ends --------------------------------------------------------------------------- */

static void sidecars_get_what_is_left_of_the_grace(void **state)
{
	struct fixture f;

	fixture_init(&f, "deleting=30 s:x m:a", NULL, "S0 a:0:r x:0:r");
	assert_string_equal(fixture_plan(&f), "stop a-0 30, wake+30000");
	fixture_pass(&f, 12000);
	fixture_see(&f, "S0 a:0:x0 x:0:r");
	assert_string_equal(fixture_plan(&f), "stop x-0 18");
	fixture_pass(&f, 5000);
	assert_string_equal(fixture_plan(&f), "stop x-0 18");
	fixture_release(&f);
}

static void sidecars_are_stopped_when_the_grace_is_over(void **state)
{
	struct fixture f;

	fixture_init(&f, "deleting=30 s:x m:a", NULL, "S0 a:0:r x:0:r");
	(void)fixture_plan(&f);
	fixture_pass(&f, 30000);
	assert_string_equal(fixture_plan(&f), "stop a-0 30, stop x-0 2");
	fixture_release(&f);
}

static void a_failed_pod_tells_why(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "");
	f.in.reject_reason = STR("UnexpectedAdmissionError");
	f.in.reject_message = STR("Allocate failed");
	assert_string_equal(fixture_plan(&f), "over");
	assert_string_equal(fixture_status(&f), "Pending -----");
	f.in.cleaned = true;
	assert_string_equal(fixture_plan(&f), "over, done");
	assert_string_equal(at(&f, "/message"), "\"Pod was rejected: Allocate failed\"");
	assert_string_equal(at(&f, "/reason"), "\"UnexpectedAdmissionError\"");
	/* Once decided it stays, even if it would be admitted now. */
	f.in.reject_reason = STR_NULL;
	assert_string_equal(fixture_plan(&f), "over, done");
	assert_string_equal(fixture_status(&f), "Failed(UnexpectedAdmissionError) -----");
	fixture_release(&f);
}

static void a_phase_that_others_end_stays(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0 a:0:r");
	assert_string_equal(fixture_status(&f), "Running TTTTT a:running#0+sr");
	fixture_becomes(&f, "m:a", "{'phase':'Failed'}");
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_string_equal(fixture_status(&f), "Failed TTFFT a:running#0+sr");
	fixture_release(&f);
}

static void a_pod_that_ends_keeps_its_address(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0 a:0:r");
	assert_string_equal(at(&f, "/podIPs"), "[{\"ip\":\"10.0.0.1\"}]");
	fixture_becomes(&f, "deleting=5 m:a", NULL);
	fixture_see(&f, "s0 a:0:x0");
	assert_string_equal(at(&f, "/podIP"), "\"10.0.0.1\"");
	fixture_release(&f);
}

static void a_deadline_is_told_once(void **state)
{
	struct fixture f;

	fixture_init(&f, "deadline=5 m:a", NULL, "S0 a:0:r");
	(void)fixture_status(&f);
	assert_string_equal(fixture_plan(&f), "wake+5001");
	fixture_pass(&f, 5001);
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_int_equal(f.plan.nnotes, 1);
	assert_string_equal(f.plan.notes[0].reason, "DeadlineExceeded");
	f.in.wall_ns -= 3600 * CLOCK_SEC;
	assert_string_equal(fixture_plan(&f), "stop a-0 30");
	assert_int_equal(f.plan.nnotes, 0);
	fixture_release(&f);
}

/* --- restarting all ----------------------------------------------------------------- */

static void a_rule_restarts_all_containers(void **state)
{
	static const char pod[] = "Never i:x m:a,restart=Never,rule=RestartAllContainers:42 m:b";
	struct fixture f;

	fixture_init(&f, pod, NULL, "S0 b:0:r a:0:r x:0:x0");
	assert_string_equal(fixture_plan(&f), "");
	(void)fixture_status(&f);
	fixture_see(&f, "S0 b:0:r a:0:x42@0 x:0:x0");
	assert_string_equal(fixture_plan(&f), "stop b-0 2, remove x-0");
	assert_string_equal(fixture_status(&f), "Running TTFFT x:terminated=0(Completed)#0+r "
						"a:terminated=42(Error)#0 b:running#0+sr");
	assert_string_equal(at(&f, "/conditions/5/reason"), "\"RestartAllContainersStarted\"");
	fixture_see(&f, "S0 b:0:x137@0 a:0:x42@0");
	assert_string_equal(fixture_plan(&f), "remove b-0");
	(void)fixture_status(&f);
	fixture_see(&f, "S0 a:0:x42@0");
	assert_string_equal(fixture_plan(&f), "remove a-0");
	(void)fixture_status(&f);
	fixture_see(&f, "S0");
	assert_string_equal(fixture_plan(&f), "start x#1");
	assert_string_equal(
		fixture_status(&f),
		"Running TTFFT "
		"x:waiting(PodInitializing)#1<terminated=137(RestartingAllContainers) "
		"a:waiting(RestartingAllContainers)#1<terminated=137(RestartingAllContainers) "
		"b:waiting(PodInitializing)#1<terminated=137(RestartingAllContainers)");
	fixture_see(&f, "S0 x:1:x0@0");
	assert_string_equal(fixture_plan(&f), "start a#1, start b#1");
	fixture_release(&f);
}

/* --- the status --------------------------------------------------------------------- */

static void the_status_is_what_upstream_writes(void **state)
{
	static const char want[] =
		"{\"containerStatuses\":[{\"name\":\"a\",\"containerID\":\"test://a-1\","
		"\"restartCount\":1,\"image\":\"docker.io/library/busybox:latest\","
		"\"imageID\":\"sha256:abc\",\"state\":{\"running\":{\"startedAt\":"
		"\"2026-01-01T23:56:40Z\"}},\"lastState\":{\"terminated\":{\"exitCode\":137,"
		"\"reason\":\"OOMKilled\",\"message\":\"bye\",\"startedAt\":\"2026-01-01T23:56:"
		"40Z\","
		"\"finishedAt\":\"2026-01-01T23:58:20Z\",\"containerID\":\"test://a-0\"}},"
		"\"resources\":{},\"started\":true,\"ready\":true}],\"phase\":\"Running\","
		"\"conditions\":[{\"type\":\"example.com/Others\",\"status\":\"True\"},"
		"{\"type\":\"PodReadyToStartContainers\",\"observedGeneration\":3,\"status\":"
		"\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-02T00:00:00Z\"},"
		"{\"type\":\"Initialized\",\"observedGeneration\":3,\"status\":\"True\","
		"\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-02T00:00:00Z\"},"
		"{\"type\":\"Ready\",\"observedGeneration\":3,\"status\":\"False\","
		"\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-02T00:00:00Z\",\"reason\":"
		"\"ReadinessGatesNotReady\",\"message\":\"corresponding condition of pod readiness "
		"gate \\\"x/y\\\" does not exist.\"},"
		"{\"type\":\"ContainersReady\",\"observedGeneration\":3,\"status\":\"True\","
		"\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-02T00:00:00Z\"},"
		"{\"type\":\"PodScheduled\",\"observedGeneration\":3,\"status\":\"True\","
		"\"lastProbeTime\":null,\"lastTransitionTime\":\"2025-12-31T00:00:00Z\"}],"
		"\"hostIP\":\"192.168.0.1\",\"hostIPs\":[{\"ip\":\"192.168.0.1\"}],"
		"\"podIPs\":[{\"ip\":\"10.0.0.1\"}],\"podIP\":\"10.0.0.1\","
		"\"qosClass\":\"BestEffort\",\"observedGeneration\":3,"
		"\"startTime\":\"2026-01-02T00:00:00Z\"}";
	struct fixture f;

	/* The agent removes its own conditions that no longer apply, here from an earlier run. */
	fixture_init(&f, "generation=3 gate=x/y m:a",
		     "{'phase':'Pending','qosClass':'BestEffort','conditions':[{'type':"
		     "'devplane.dev/DevicesHealthy','status':'True'},{'type':'PodResizePending',"
		     "'status':'True'},{'type':'example.com/Others','status':'True'},"
		     "{'type':'PodScheduled',"
		     "'status':'True','lastTransitionTime':'2025-12-31T00:00:00Z'}]}",
		     "S0 a:1:r a:0:x137");
	f.containers[1].reason = STR("OOMKilled");
	f.containers[1].message = STR("bye");
	assert_string_equal(at(&f, ""), want);
	/* Later nothing has changed. */
	fixture_pass(&f, 5000);
	assert_string_equal(at(&f, ""), want);
	fixture_release(&f);
}

static void a_condition_changes_its_time_with_its_status_only(void **state)
{
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0 a:0:r");
	(void)fixture_status(&f);
	fixture_pass(&f, 5000);
	fixture_see(&f, "S0 a:0:x1");
	assert_string_equal(at(&f, "/conditions/2"),
			    "{\"type\":\"Ready\",\"status\":\"False\",\"lastProbeTime\":null,"
			    "\"lastTransitionTime\":\"2026-01-02T00:00:05Z\",\"reason\":"
			    "\"ContainersNotReady\",\"message\":\"containers with unready status: "
			    "[a]\"}");
	assert_string_equal(at(&f, "/conditions/1/lastTransitionTime"), "\"2026-01-02T00:00:00Z\"");
	fixture_release(&f);
}

static void a_pod_that_waits_tells_for_what(void **state)
{
	struct fixture f;

	fixture_init(&f, "i:x s:y m:b m:a", NULL, "");
	assert_string_equal(at(&f, "/conditions/0/message"), "\"no pod sandbox exists\"");
	assert_string_equal(at(&f, "/conditions/0/reason"), "\"PodSandboxNotReady\"");
	assert_string_equal(at(&f, "/conditions/1/message"),
			    "\"containers with incomplete status: [x y]\"");
	assert_string_equal(at(&f, "/conditions/2/message"),
			    "\"containers with unready status: [y b a]\"");
	fixture_release(&f);
}

static void long_messages_are_cut_between_characters(void **state)
{
	struct fixture f;
	char text[13000];

	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	fixture_init(&f, "Never m:a m:b m:c m:d m:e", NULL, "S0 a:0:x1");
	f.containers[0].message = str_of(text, sizeof(text));
	assert_int_equal(strlen(at(&f, "/containerStatuses/0/state/terminated/message")),
			 12 * 1024 / 5 / 2 * 2 + 2);
	fixture_release(&f);
}

static void mounts_and_resources_are_told(void **state)
{
	struct pod *p = NULL;
	struct fixture f;

	fixture_init(&f, "m:a", NULL, "S0 a:0:r");
	assert_int_equal(
		pod_parse(STR("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{"
			      "\"containers\":[{\"name\":\"a\",\"volumeMounts\":[{\"name\":\"v\","
			      "\"mountPath\":\"/v\",\"subPath\":\"s\"},{\"name\":\"w\","
			      "\"mountPath\":\"/w\",\"readOnly\":true}],\"resources\":{\"limits\":"
			      "{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"1\"}}}]}}"),
			  &p, NULL),
		0);
	pod_unref(f.pod);
	f.in.pod = f.pod = p;
	assert_string_equal(at(&f, "/containerStatuses/0/volumeMounts"),
			    "[{\"name\":\"v\",\"mountPath\":\"/v\"},{\"name\":\"w\",\"mountPath\":"
			    "\"/w\",\"readOnly\":true,\"recursiveReadOnly\":\"Disabled\"}]");
	assert_string_equal(at(&f, "/containerStatuses/0/allocatedResources"), "{\"cpu\":\"1\"}");
	assert_string_equal(at(&f, "/containerStatuses/0/resources"),
			    "{\"limits\":{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"1\"}}");
	fixture_release(&f);
}

static void the_hash_of_a_container_is_kubelets(void **state)
{
	CLEANUP(pod_unref)
	struct pod *p = fixture_pod("m:test_container,image=foo/image:v1", NULL);

	assert_int_equal(lifecycle_container_hash(pod_container(p, STR("test_container"), NULL)),
			 0x8e45cbd0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_loop_backs_off_from_10_s_to_5_min),
		cmocka_unit_test(the_crash_loop_shows_in_the_status),
		cmocka_unit_test(a_crash_loop_is_forgotten_after_ten_minutes_of_running),
		cmocka_unit_test(a_jump_of_the_wall_clock_changes_no_wait),
		cmocka_unit_test(another_image_begins_anew),
		cmocka_unit_test(another_image_restarts_even_what_never_restarts),
		cmocka_unit_test(a_failed_pull_backs_off),
		cmocka_unit_test(other_failures_are_tried_again_after_10_s),
		cmocka_unit_test(a_failed_sandbox_is_tried_again_after_10_s),
		cmocka_unit_test(an_init_container_that_waits_holds_up_the_next),
		cmocka_unit_test(back_offs_are_told_once_each),
		cmocka_unit_test(probes_decide_about_ready),
		cmocka_unit_test(a_bad_liveness_probe_restarts),
		cmocka_unit_test(a_bad_startup_probe_ends_what_never_restarts),
		cmocka_unit_test(a_bad_probe_of_a_sidecar_restarts_it),
		cmocka_unit_test(a_failed_hook_ends_its_container),
		cmocka_unit_test(a_pod_that_ends_is_probed_for_readiness_only),
		cmocka_unit_test(sidecars_get_what_is_left_of_the_grace),
		cmocka_unit_test(sidecars_are_stopped_when_the_grace_is_over),
		cmocka_unit_test(a_failed_pod_tells_why),
		cmocka_unit_test(a_phase_that_others_end_stays),
		cmocka_unit_test(a_pod_that_ends_keeps_its_address),
		cmocka_unit_test(a_deadline_is_told_once),
		cmocka_unit_test(a_rule_restarts_all_containers),
		cmocka_unit_test(the_status_is_what_upstream_writes),
		cmocka_unit_test(a_condition_changes_its_time_with_its_status_only),
		cmocka_unit_test(a_pod_that_waits_tells_for_what),
		cmocka_unit_test(long_messages_are_cut_between_characters),
		cmocka_unit_test(mounts_and_resources_are_told),
		cmocka_unit_test(the_hash_of_a_container_is_kubelets),
	};

	return cmocka_run_group_tests_name("node/lifecycle_story", tests, NULL, NULL);
}
