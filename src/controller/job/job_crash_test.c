/*
 * Faults at each write of a Job's life: the controller dies with it, before or after the server has
 * executed it; or the answer is lost, or is an error. A model of the node notes each pod that
 * ended, and at the end the Job's counters must say exactly that.
 */
#include "controller/job/job_fixture.h"

/* The second and the fifth pod fail; all others succeed. */
static struct fixture_end some_fail(const struct job_fixture *f UNUSED, const struct fixture_pod *p,
				    const struct json *t UNUSED)
{
	return (struct fixture_end){ p->number == 1 || p->number == 4 ? "Failed" : "Succeeded",
				     NULL };
}

struct crash_story {
	const char *spec, *end;
	struct fixture_end (*outcome)(const struct job_fixture *f, const struct fixture_pod *p,
				      const struct json *tree);
	int64_t most; /* pods that may run at once */
};

static struct fixture_end all_fail(const struct job_fixture *f UNUSED,
				   const struct fixture_pod *p UNUSED, const struct json *t UNUSED)
{
	return (struct fixture_end){ "Failed", NULL };
}

static const struct crash_story stories[] = {
	{ "\"completions\":4,\"parallelism\":2,\"backoffLimit\":6", "Complete", some_fail, 2 },
	{ "\"completions\":4,\"parallelism\":2,\"backoffLimit\":6,\"completionMode\":\"Indexed\"",
	  "Complete", some_fail, 2 },
	{ "\"completions\":3,\"parallelism\":2,\"completionMode\":\"Indexed\","
	  "\"backoffLimit\":2147483647,\"backoffLimitPerIndex\":3",
	  "Complete", some_fail, 2 },
	{ "\"completions\":4,\"parallelism\":2,\"backoffLimit\":1", "Failed", all_fail, 2 },
};

static int64_t running(struct job_fixture *f)
{
	int64_t n = 0;

	JSON_FOREACH (it, job_fixture_items(f)) {
		struct str phase = json_text_at(json_getz(it, "status"), "phase");

		n += !str_eqz(phase, "Succeeded") && !str_eqz(phase, "Failed") &&
		     !json_getz(json_getz(it, "metadata"), "deletionTimestamp");
	}
	return n;
}

static int64_t uncounted(struct job_fixture *f)
{
	const struct json *list = json_getz(job_fixture_status(f), "uncountedTerminatedPods");

	return (int64_t)json_count(json_getz(list, "succeeded")) +
	       (int64_t)json_count(json_getz(list, "failed"));
}

static void check_end(struct job_fixture *f, const struct crash_story *s, const char *what)
{
	int64_t succeeded = job_fixture_count(f, "succeeded");
	int64_t failed = job_fixture_count(f, "failed");

	if (!job_fixture_is(f, s->end, NULL))
		fail_msg("%s: the Job is not %s", what, s->end);
	if (succeeded != job_fixture_ended(f, true) || failed != job_fixture_ended(f, false))
		fail_msg("%s: counted %lld and %lld, but %lld succeeded and %lld failed", what,
			 (long long)succeeded, (long long)failed,
			 (long long)job_fixture_ended(f, true),
			 (long long)job_fixture_ended(f, false));
	if (job_fixture_with_finalizer(f) || uncounted(f) || job_fixture_count(f, "active"))
		fail_msg("%s: something is left", what);
}

/* Runs the story with a fault at this write; returns the number of writes. */
static unsigned tell_story(const struct crash_story *s, unsigned at, int fault, bool kills)
{
	struct job_fixture *f = job_fixture_new();
	unsigned steps = 0, writes;
	char what[128];

	(void)snprintf(what, sizeof(what), "%.40s, write %u, fault %d%s", s->spec, at, fault,
		       kills ? ", killed" : "");
	f->outcome = s->outcome;
	f->at = at;
	f->fault = fault;
	f->kills = kills;
	job_fixture_add(f, s->spec, "");
	while (!job_fixture_is(f, "Complete", NULL) && !job_fixture_is(f, "Failed", NULL)) {
		job_fixture_step(f);
		if (running(f) > s->most)
			fail_msg("%s: %lld pods run", what, (long long)running(f));
		if (++steps > 4 * 3600)
			fail_msg("%s: the Job never ends", what);
	}
	/* A write whose answer was lost may be the one that ends it. */
	job_fixture_run(f, 70);
	check_end(f, s, what);
	writes = f->writes;
	job_fixture_free(f);
	return writes;
}

static void tell_all(int fault, bool kills)
{
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		unsigned n = tell_story(&stories[i], 0, 0, false);

		assert_in_range(n, 7, 200);
		for (unsigned at = 1; at <= n; at++)
			(void)tell_story(&stories[i], at, fault, kills);
	}
}

static void a_crash_before_any_write_is_harmless(void **state UNUSED)
{
	tell_all(FAKEAPI_CUT, true);
}

static void a_crash_after_any_write_is_harmless(void **state UNUSED)
{
	tell_all(FAKEAPI_DO_AND_CUT, true);
}

static void any_lost_answer_is_harmless(void **state UNUSED)
{
	tell_all(FAKEAPI_DO_AND_CUT, false);
}

static void any_rejected_write_is_tried_again(void **state UNUSED)
{
	tell_all(409, false);
	tell_all(500, false);
}

/* --- stale caches ---------------------------------------------------------------------------- */

/* The cache shows no pods, though they were created. */
static void no_pod_is_created_twice_from_a_stale_cache(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->paused = true;
	job_fixture_run(f, 2);
	fakeapi_hold_back(f->w->api, "pods");
	job_fixture_add(f, "\"completions\":4,\"parallelism\":2", "");
	job_fixture_run(f, 20);
	job_fixture_patch(f, JOBS "/j", "{\"spec\":{\"parallelism\":3}}");
	job_fixture_run(f, 20);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 2);
	fakeapi_catch_up(f->w->api);
	job_fixture_run(f, 5);
	assert_int_equal(fakeapi_count(f->w->api, "pods"), 3);
	f->paused = false;
	job_fixture_until(f, "Complete");
	assert_int_equal(job_fixture_count(f, "succeeded"), 4);
	job_fixture_free(f);
}

/* The cache still shows finalizers that were removed: the pods are not counted again. */
static void no_pod_is_counted_twice_from_a_stale_cache(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	f->lasts_ms = 1000;
	job_fixture_add(f, "\"completions\":6,\"parallelism\":2", "");
	for (unsigned i = 0; i < 40; i++) {
		if (job_fixture_ended(f, true) > 0 && !f->w->api->late)
			fakeapi_hold_back(f->w->api, "pods");
		job_fixture_step(f);
		assert_true(job_fixture_count(f, "succeeded") <= job_fixture_ended(f, true));
		if (i % 4 == 3 && f->w->api->late) {
			job_fixture_patch(f, JOBS "/j",
					  arena_printf(&f->arena,
						       "{\"metadata\":{\"annotations\":{\"x\":"
						       "\"%u\"}},\"spec\":{\"backoffLimit\":%u}}",
						       i, i + 6));
			fakeapi_catch_up(f->w->api);
			fakeapi_hold_back(f->w->api, "pods");
		}
	}
	fakeapi_catch_up(f->w->api);
	job_fixture_until(f, "Complete");
	assert_int_equal(job_fixture_count(f, "succeeded"), job_fixture_ended(f, true));
	job_fixture_free(f);
}

/* The cache still shows pods that run, and the Job is suspended: those that have ended count. */
static void an_end_that_the_cache_does_not_show_is_counted(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	job_fixture_add(f, "\"completions\":2,\"parallelism\":2", "");
	f->lasts_ms = 4000;
	job_fixture_run(f, 3);
	assert_int_equal(job_fixture_count(f, "active"), 2);
	fakeapi_hold_back(f->w->api, "pods");
	job_fixture_run(f, 5);
	assert_int_equal(job_fixture_ended(f, true), 2);
	job_fixture_patch(f, JOBS "/j", "{\"spec\":{\"suspend\":true}}");
	job_fixture_run(f, 5);
	fakeapi_catch_up(f->w->api);
	job_fixture_until(f, "Complete");
	assert_int_equal(job_fixture_count(f, "succeeded"), 2);
	assert_int_equal(f->pods.n, 2);
	job_fixture_free(f);
}

/* An update from an outdated Job conflicts; the next check starts from the new one. */
static void a_stale_job_is_not_written(void **state UNUSED)
{
	struct job_fixture *f = job_fixture_new();

	job_fixture_add(f, "\"completions\":4,\"parallelism\":2", "");
	job_fixture_run(f, 1);
	fakeapi_hold_back(f->w->api, "jobs");
	for (unsigned i = 0; i < 60; i++) {
		job_fixture_step(f);
		assert_true(job_fixture_count(f, "succeeded") <= job_fixture_ended(f, true));
	}
	fakeapi_catch_up(f->w->api);
	job_fixture_until(f, "Complete");
	assert_int_equal(job_fixture_count(f, "succeeded"), 4);
	assert_int_equal(job_fixture_ended(f, true), 4);
	job_fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_before_any_write_is_harmless),
		cmocka_unit_test(a_crash_after_any_write_is_harmless),
		cmocka_unit_test(any_lost_answer_is_harmless),
		cmocka_unit_test(any_rejected_write_is_tried_again),
		cmocka_unit_test(no_pod_is_created_twice_from_a_stale_cache),
		cmocka_unit_test(no_pod_is_counted_twice_from_a_stale_cache),
		cmocka_unit_test(an_end_that_the_cache_does_not_show_is_counted),
		cmocka_unit_test(a_stale_job_is_not_written),
	};

	return cmocka_run_group_tests_name("controller/job_crash", tests, NULL, NULL);
}
