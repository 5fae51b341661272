/*
 * Jobs from their creation to their end, against a fake API server.
 */
#include "controller/job/job_fixture.h"

/* --- completions ----------------------------------------------------------------------------- */

static void a_job_runs_its_pods_and_completes(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;

	job_fixture_add(f, "\"completions\":5,\"parallelism\":2", "");
	job_fixture_step(f);
	job_fixture_step(f);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 2);
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", "\"active\":2"));
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", "startTime"));
	assert_int_equal(job_fixture_with_finalizer(f), 2);
	job_fixture_until(f, "Complete");
	assert_true(job_fixture_is(f, "SuccessCriteriaMet", &reason));
	assert_true(str_eqz(reason, "CompletionsReached"));
	assert_int_equal(job_fixture_count(f, "succeeded"), 5);
	assert_int_equal(f->pods.n, 5);
	assert_int_equal(job_fixture_with_finalizer(f), 0);
	assert_true(json_getz(job_fixture_status(f), "completionTime") != NULL);
	assert_int_equal(job_fixture_count(f, "active"), 0);
	job_fixture_run(f, 2);
	assert_int_equal(job_fixture_events(f, "Completed"), 1);
	assert_int_equal(job_fixture_events(f, "SuccessfulCreate"), 5);
	job_fixture_free(f);
}

/* Without completions any success ends the Job, when the others have ended. */
static void a_work_queue_ends_with_the_first_success(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	job_fixture_add(f, "\"parallelism\":3", "");
	job_fixture_until(f, "Complete");
	assert_int_equal(f->pods.n, 3);
	assert_int_equal(job_fixture_count(f, "succeeded"), 3);
	job_fixture_free(f);
}

static void a_job_without_work_completes_at_once(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	job_fixture_add(f, "\"completions\":0,\"parallelism\":1", "");
	job_fixture_until(f, "Complete");
	assert_int_equal(f->pods.n, 0);
	job_fixture_free(f);
}

static struct fixture_end runs_on(const struct job_fixture *f UNUSED,
				  const struct fixture_pod *p UNUSED, const struct json *t UNUSED)
{
	return (struct fixture_end){ NULL, NULL };
}

static void less_parallelism_deletes_pods_uncounted(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->outcome = runs_on;
	job_fixture_add(f, "\"completions\":10,\"parallelism\":4", "");
	job_fixture_run(f, 5);
	assert_int_equal(job_fixture_count(f, "active"), 4);
	assert_int_equal(job_fixture_count(f, "ready"), 4);
	job_fixture_patch(f, JOBS "/j", "{\"spec\":{\"parallelism\":1}}");
	job_fixture_run(f, 10);
	assert_int_equal(job_fixture_count(f, "active"), 1);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 1);
	assert_int_equal(job_fixture_count(f, "failed"), 0);
	f->outcome = job_fixture_succeeds;
	job_fixture_until(f, "Complete");
	assert_int_equal(job_fixture_count(f, "succeeded"), 10);
	job_fixture_free(f);
}

/* --- failures -------------------------------------------------------------------------------- */

static struct fixture_end fails(const struct job_fixture *f UNUSED,
				const struct fixture_pod *p UNUSED, const struct json *t UNUSED)
{
	return (struct fixture_end){ "Failed", NULL };
}

static void failures_wait_longer_each_time_up_to_the_limit(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;
	int64_t gap[3];

	f->outcome = fails;
	job_fixture_add(f, "\"completions\":1,\"parallelism\":1,\"backoffLimit\":3", "");
	job_fixture_until(f, "Failed");
	assert_true(job_fixture_is(f, "FailureTarget", NULL));
	assert_true(job_fixture_is(f, "Failed", &reason));
	assert_true(str_eqz(reason, "BackoffLimitExceeded"));
	assert_int_equal(f->pods.n, 4);
	assert_int_equal(job_fixture_count(f, "failed"), 4);
	for (size_t i = 0; i < 3; i++)
		gap[i] = (f->pods.v[i + 1].since - f->pods.v[i].since) / 1000;
	assert_in_range(gap[0], 9, 14);
	assert_in_range(gap[1], 19, 24);
	assert_in_range(gap[2], 39, 44);
	job_fixture_run(f, 2);
	assert_int_equal(job_fixture_events(f, "BackoffLimitExceeded"), 1);
	job_fixture_free(f);
}

static struct fixture_end first_fails(const struct job_fixture *f UNUSED,
				      const struct fixture_pod *p, const struct json *t UNUSED)
{
	return (struct fixture_end){ p->number == 0 ? "Failed" : NULL,
				     "\"conditions\":[{\"type\":\"devplane.dev/DevicesHealthy\","
				     "\"status\":\"False\"}]" };
}

#define POLICY(action, rule) \
	"\"podFailurePolicy\":{\"rules\":[{\"action\":\"" action "\"," rule "}]}"
#define UNHEALTHY \
	"\"onPodConditions\":[{\"type\":\"devplane.dev/DevicesHealthy\",\"status\":\"False\"}]"

static void a_pod_whose_device_failed_ends_the_job(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;
	char message[256];

	f->outcome = first_fails;
	job_fixture_add(
		f,
		"\"completions\":3,\"parallelism\":3,\"podReplacementPolicy\":\"Failed\"," POLICY(
			"FailJob", UNHEALTHY),
		"");
	job_fixture_until(f, "Failed");
	(void)job_fixture_is(f, "Failed", &reason);
	assert_true(str_eqz(reason, "PodFailurePolicy"));
	(void)snprintf(message, sizeof(message),
		       "Pod n/%s has condition devplane.dev/DevicesHealthy matching FailJob rule "
		       "at index 0",
		       f->pods.v[0].name);
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", message));
	/* The other two were deleted, and count as failed. */
	assert_int_equal(f->pods.n, 3);
	assert_int_equal(job_fixture_count(f, "failed"), 3);
	assert_int_equal(job_fixture_with_finalizer(f), 0);
	job_fixture_free(f);
}

static struct fixture_end three_fail(const struct job_fixture *f UNUSED,
				     const struct fixture_pod *p, const struct json *t UNUSED)
{
	return (struct fixture_end){ p->number < 3 ? "Failed" : "Succeeded", NULL };
}

static void ignored_failures_are_replaced_and_not_counted(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->outcome = three_fail;
	job_fixture_add(f,
			"\"completions\":1,\"parallelism\":1,\"backoffLimit\":0,"
			"\"podReplacementPolicy\":\"Failed\"," POLICY(
				"Ignore", "\"onExitCodes\":{\"operator\":\"In\",\"values\":[1]}"),
			"");
	job_fixture_until(f, "Complete");
	assert_int_equal(f->pods.n, 4);
	assert_int_equal(job_fixture_count(f, "failed"), 0);
	assert_int_equal(job_fixture_count(f, "succeeded"), 1);
	job_fixture_free(f);
}

static void a_job_ends_at_its_deadline(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;

	f->outcome = runs_on;
	job_fixture_add(f, "\"completions\":1,\"parallelism\":1,\"activeDeadlineSeconds\":30", "");
	job_fixture_run(f, 28);
	assert_false(job_fixture_is(f, "FailureTarget", NULL));
	job_fixture_run(f, 10);
	assert_true(job_fixture_is(f, "Failed", &reason));
	assert_true(str_eqz(reason, "DeadlineExceeded"));
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 0);
	job_fixture_free(f);
}

/* --- indexes --------------------------------------------------------------------------------- */

static int64_t index_of(const struct json *tree)
{
	int64_t n = -1;

	(void)str_to_i64(
		json_text_at(json_getz(json_getz(tree, "metadata"), "annotations"), INDEX_NOTE),
		&n);
	return n;
}

static void each_index_succeeds_once(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	const struct json *pod, *env;

	job_fixture_add(f, "\"completions\":4,\"parallelism\":2,\"completionMode\":\"Indexed\"",
			"");
	job_fixture_step(f);
	job_fixture_step(f);
	pod = json_first(job_fixture_items(f));
	assert_int_equal(index_of(pod), 0);
	assert_true(str_eqz(
		json_text_at(json_getz(json_getz(pod, "metadata"), "labels"), INDEX_NOTE), "0"));
	assert_true(str_eqz(json_text_at(json_getz(pod, "spec"), "hostname"), "j-0"));
	assert_true(str_starts(json_text_at(json_getz(pod, "metadata"), "name"), STR("j-0-")));
	env = json_find(
		json_getz(json_first(json_getz(json_getz(pod, "spec"), "containers")), "env"),
		"name", STR("JOB_COMPLETION_INDEX"));
	assert_true(
		str_eqz(json_text_at(json_pointer(env, STR("/valueFrom/fieldRef")), "fieldPath"),
			"metadata.labels['" INDEX_NOTE "']"));
	job_fixture_until(f, "Complete");
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", "\"completedIndexes\":\"0-3\""));
	assert_int_equal(job_fixture_count(f, "succeeded"), 4);
	assert_int_equal(f->pods.n, 4);
	job_fixture_free(f);
}

static struct fixture_end index_one_fails(const struct job_fixture *f UNUSED,
					  const struct fixture_pod *p UNUSED, const struct json *t)
{
	return (struct fixture_end){ index_of(t) == 1 ? "Failed" : "Succeeded", NULL };
}

static void an_index_fails_by_itself(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;

	f->outcome = index_one_fails;
	job_fixture_add(f,
			"\"completions\":3,\"parallelism\":3,\"completionMode\":\"Indexed\","
			"\"backoffLimitPerIndex\":2,\"backoffLimit\":2147483647",
			"");
	job_fixture_until(f, "Failed");
	(void)job_fixture_is(f, "Failed", &reason);
	assert_true(str_eqz(reason, "FailedIndexes"));
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", "\"completedIndexes\":\"0,2\""));
	assert_true(fakeapi_has(f->w->api, "jobs", "n", "j", "\"failedIndexes\":\"1\""));
	assert_int_equal(f->pods.n, 5);
	assert_int_equal(job_fixture_count(f, "failed"), 3);
	assert_in_range((f->pods.v[3].since - f->pods.v[1].since) / 1000, 9, 14);
	assert_in_range((f->pods.v[4].since - f->pods.v[3].since) / 1000, 19, 24);
	job_fixture_free(f);
}

static struct fixture_end only_index_zero(const struct job_fixture *f UNUSED,
					  const struct fixture_pod *p UNUSED, const struct json *t)
{
	return (struct fixture_end){ index_of(t) == 0 ? "Succeeded" : NULL, NULL };
}

static void a_success_policy_ends_the_job_early(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;

	f->outcome = only_index_zero;
	job_fixture_add(f,
			"\"completions\":3,\"parallelism\":3,\"completionMode\":\"Indexed\","
			"\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0\"}]}",
			"");
	job_fixture_until(f, "Complete");
	(void)job_fixture_is(f, "Complete", &reason);
	assert_true(str_eqz(reason, "SuccessPolicy"));
	assert_int_equal(job_fixture_count(f, "succeeded"), 1);
	assert_int_equal(job_fixture_count(f, "failed"), 0);
	assert_int_equal(job_fixture_with_finalizer(f), 0);
	job_fixture_free(f);
}

/* --- suspension ------------------------------------------------------------------------------ */

static void a_suspended_job_has_no_pods(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();
	struct str reason;

	f->outcome = runs_on;
	job_fixture_add(f, "\"completions\":2,\"parallelism\":2", "");
	job_fixture_run(f, 3);
	assert_int_equal(job_fixture_count(f, "active"), 2);
	job_fixture_patch(f, JOBS "/j", "{\"spec\":{\"suspend\":true}}");
	job_fixture_run(f, 5);
	assert_true(job_fixture_is(f, "Suspended", &reason));
	assert_true(str_eqz(reason, "JobSuspended"));
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 0);
	assert_null(json_getz(job_fixture_status(f), "startTime"));
	assert_int_equal(job_fixture_count(f, "failed"), 0);
	f->outcome = job_fixture_succeeds;
	job_fixture_patch(f, JOBS "/j", "{\"spec\":{\"suspend\":false}}");
	job_fixture_until(f, "Complete");
	assert_false(job_fixture_is(f, "Suspended", &reason));
	assert_true(str_eqz(reason, "JobResumed"));
	assert_int_equal(job_fixture_count(f, "succeeded"), 2);
	assert_int_equal(f->pods.n, 4);
	job_fixture_free(f);
}

/* --- replacement ----------------------------------------------------------------------------- */

static void the_policy_decides_when_a_deleted_pod_is_replaced(void **state UNUSED)
{
	static const struct {
		const char *policy;
		size_t pods; /* while the deleted one has not ended */
	} cases[] = { { "TerminatingOrFailed", 2 }, { "Failed", 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_fixture *f = job_fixture_new();

		f->outcome = runs_on;
		f->slow_end = true;
		job_fixture_add(f,
				arena_printf(&f->arena,
					     "\"completions\":1,\"parallelism\":1,"
					     "\"podReplacementPolicy\":\"%s\"",
					     cases[i].policy),
				"");
		job_fixture_run(f, 3);
		assert_int_equal(f->pods.n, 1);
		assert_int_equal(
			fakeapi_call(f->w->api, "DELETE",
				     arena_printf(&f->arena, PODS "/%s", f->pods.v[0].name),
				     STR_NULL, NULL),
			200);
		job_fixture_run(f, 60);
		assert_int_equal(f->pods.n, cases[i].pods);
		f->slow_end = false;
		job_fixture_run(f, 60);
		assert_int_equal(f->pods.n, 2);
		f->outcome = job_fixture_succeeds;
		job_fixture_until(f, "Complete");
		assert_int_equal(job_fixture_count(f, "failed"), 1);
		job_fixture_free(f);
	}
}

/* --- ownership ------------------------------------------------------------------------------- */

static void a_job_of_somebody_else_is_left_alone(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	job_fixture_add(f, "\"completions\":1,\"parallelism\":1,\"managedBy\":\"example.com/x\"",
			"");
	job_fixture_run(f, 10);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 0);
	assert_null(json_first(job_fixture_status(f)));
	job_fixture_free(f);
}

/* A selector that is missing or empty would match every pod. */
static void a_job_without_a_selector_does_nothing(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	fakeapi_add(f->w->api, "jobs", "n", "j", "", ",\"spec\":{\"template\":{}}");
	fakeapi_add(f->w->api, "jobs", "n", "k", "",
		    ",\"spec\":{\"selector\":{},\"template\":{},\"completionMode\":\"Indexed\"}");
	fakeapi_add(f->w->api, "jobs", "n", "l", "", ",\"spec\":[1]");
	fakeapi_add(f->w->api, "pods", "n", "bare", "", ",\"spec\":{}");
	job_fixture_run(f, 10);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 1);
	assert_false(fakeapi_has(f->w->api, "pods", "n", "bare", "ownerReferences"));
	job_fixture_free(f);
}

static void a_job_adopts_and_releases_pods(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->outcome = runs_on;
	fakeapi_add(f->w->api, "pods", "n", "mine", ",\"labels\":{\"u\":\"1\"}",
		    ",\"spec\":{\"nodeName\":\"n1\"}");
	job_fixture_add(f, "\"completions\":2,\"parallelism\":2,\"manualSelector\":true", "");
	job_fixture_run(f, 5);
	assert_true(fakeapi_has(f->w->api, "pods", "n", "mine", "\"uid\":\"job-1\""));
	assert_true(fakeapi_has(f->w->api, "pods", "n", "mine", FINALIZER));
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 2);
	job_fixture_patch(f, PODS "/mine", "{\"metadata\":{\"labels\":{\"u\":\"2\"}}}");
	job_fixture_run(f, 5);
	assert_false(fakeapi_has(f->w->api, "pods", "n", "mine", "job-1"));
	assert_false(fakeapi_has(f->w->api, "pods", "n", "mine", FINALIZER));
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 3);
	job_fixture_free(f);
}

static void pods_of_a_job_that_is_gone_lose_the_finalizer(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->outcome = runs_on;
	job_fixture_add(f, "\"completions\":2,\"parallelism\":2", "");
	job_fixture_run(f, 3);
	assert_int_equal(job_fixture_with_finalizer(f), 2);
	assert_int_equal(fakeapi_call(f->w->api, "DELETE", JOBS "/j", STR_NULL, NULL), 200);
	job_fixture_run(f, 5);
	assert_int_equal(job_fixture_with_finalizer(f), 0);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 2);
	job_fixture_free(f);
}

/* Foreground deletion: the Job stays until its pods are gone, and creates none. */
static void a_job_that_is_being_deleted_releases_its_pods(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->outcome = runs_on;
	job_fixture_add(f, "\"completions\":2,\"parallelism\":2", "");
	job_fixture_run(f, 3);
	assert_int_equal(fakeapi_call(f->w->api, "DELETE", JOBS "/j?propagationPolicy=Foreground",
				      STR_NULL, NULL),
			 200);
	job_fixture_run(f, 5);
	assert_int_equal(job_fixture_with_finalizer(f), 0);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			fakeapi_call(f->w->api, "DELETE",
				     arena_printf(&f->arena, PODS "/%s", f->pods.v[i].name),
				     STR_NULL, NULL),
			200);
	job_fixture_run(f, 5);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 0);
	job_fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_runs_its_pods_and_completes),
		cmocka_unit_test(a_work_queue_ends_with_the_first_success),
		cmocka_unit_test(a_job_without_work_completes_at_once),
		cmocka_unit_test(less_parallelism_deletes_pods_uncounted),
		cmocka_unit_test(failures_wait_longer_each_time_up_to_the_limit),
		cmocka_unit_test(a_pod_whose_device_failed_ends_the_job),
		cmocka_unit_test(ignored_failures_are_replaced_and_not_counted),
		cmocka_unit_test(a_job_ends_at_its_deadline),
		cmocka_unit_test(each_index_succeeds_once),
		cmocka_unit_test(an_index_fails_by_itself),
		cmocka_unit_test(a_success_policy_ends_the_job_early),
		cmocka_unit_test(a_suspended_job_has_no_pods),
		cmocka_unit_test(the_policy_decides_when_a_deleted_pod_is_replaced),
		cmocka_unit_test(a_job_of_somebody_else_is_left_alone),
		cmocka_unit_test(a_job_without_a_selector_does_nothing),
		cmocka_unit_test(a_job_adopts_and_releases_pods),
		cmocka_unit_test(pods_of_a_job_that_is_gone_lose_the_finalizer),
		cmocka_unit_test(a_job_that_is_being_deleted_releases_its_pods),
	};

	return cmocka_run_group_tests_name("controller/job", tests, NULL, NULL);
}
