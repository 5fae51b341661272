/*
 * The controller against a fake API server.
 */
#include "controller/ttl/ttl_controller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define JOBS "/apis/batch/v1/namespaces/n/jobs"

struct ttl_bench {
	struct controller_world *w;
	struct ttl_controller *c;
	const char *method;
	int fault;
	unsigned asked;
};

static int ttl_fault(void *arg, const struct fakeapi_query *q)
{
	struct ttl_bench *b = arg;

	if (!b->method || !str_eqz(q->method, b->method) ||
	    str_find(q->path, STR("/namespaces/n/jobs")) < 0)
		return FAKEAPI_WELL;
	b->asked++;
	return b->fault;
}

static void ttl_bench_start(struct ttl_bench *b)
{
	controller_world_start(b->w);
	b->c = ttl_controller_new(&b->w->ctx);
	informers_start(b->w->ctx.informers);
}

static void ttl_bench_stop(struct ttl_bench *b)
{
	ttl_controller_free(b->c);
	controller_world_stop(b->w);
}

static struct ttl_bench ttl_bench_new(void)
{
	struct ttl_bench b = { .w = controller_world_new(3) };

	return b;
}

static void ttl_bench_release(struct ttl_bench *b)
{
	ttl_bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct ttl_bench *b, int64_t s)
{
	controller_world_run(b->w, s * 1000);
}

/* A Job that ended so many seconds ago; NULL: it has not ended. */
static void add_job(struct ttl_bench *b, const char *name, int ttl, const char *type, int ago)
{
	char rest[512], spec[64] = "", status[256] = "", time[TIMESTAMP_SIZE];
	int64_t now = clock_wall(loop_clock(b->w->loop));

	if (ttl >= 0)
		(void)snprintf(spec, sizeof(spec), "\"ttlSecondsAfterFinished\":%d", ttl);
	(void)timestamp_print(now - ago * CLOCK_SEC, TIMESTAMP_SECONDS, time);
	if (type)
		(void)snprintf(status, sizeof(status),
			       "\"conditions\":[{\"type\":\"%s\",\"status\":\"True\","
			       "\"lastTransitionTime\":\"%s\"}]",
			       type, time);
	(void)snprintf(rest, sizeof(rest), ",\"spec\":{%s},\"status\":{%s}", spec, status);
	fakeapi_add(b->w->api, "jobs", "n", name, "", rest);
}

static bool is_deleted(struct ttl_bench *b, const char *name)
{
	return fakeapi_has(b->w->api, "jobs", "n", name, "deletionTimestamp");
}

static void jobs_are_deleted_when_their_time_is_over(void **state UNUSED)
{
	struct ttl_bench b = ttl_bench_new();

	add_job(&b, "kept", -1, "Complete", 1000);
	add_job(&b, "runs", 0, NULL, 0);
	add_job(&b, "due", 10, "Complete", 20);
	add_job(&b, "failed", 0, "Failed", 0);
	add_job(&b, "later", 60, "Complete", 0);
	ttl_bench_start(&b);
	run(&b, 10);
	assert_true(is_deleted(&b, "due"));
	assert_true(fakeapi_has(b.w->api, "jobs", "n", "due", "foregroundDeletion"));
	assert_true(is_deleted(&b, "failed"));
	assert_false(is_deleted(&b, "later"));
	run(&b, 60);
	assert_true(is_deleted(&b, "later"));
	assert_false(is_deleted(&b, "kept"));
	assert_false(is_deleted(&b, "runs"));
	ttl_bench_release(&b);
}

static void a_job_that_finishes_later_is_deleted_too(void **state UNUSED)
{
	struct ttl_bench b = ttl_bench_new();
	char time[TIMESTAMP_SIZE], patch[256];

	ttl_bench_start(&b);
	add_job(&b, "j", 30, NULL, 0);
	run(&b, 60);
	(void)timestamp_print(clock_wall(loop_clock(b.w->loop)), TIMESTAMP_SECONDS, time);
	(void)snprintf(patch, sizeof(patch),
		       "{\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\","
		       "\"lastTransitionTime\":\"%s\"}]}}",
		       time);
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", JOBS "/j/status", str_from(patch), NULL),
			 200);
	run(&b, 20);
	assert_false(is_deleted(&b, "j"));
	run(&b, 15);
	assert_true(is_deleted(&b, "j"));
	ttl_bench_release(&b);
}

/* The cache does not show that the TTL was raised, but the server does. */
static void a_ttl_that_was_raised_counts(void **state UNUSED)
{
	struct ttl_bench b = ttl_bench_new();

	ttl_bench_start(&b);
	add_job(&b, "j", 10, "Complete", 0);
	run(&b, 2);
	fakeapi_hold_back(b.w->api, "jobs");
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", JOBS "/j",
				      STR("{\"spec\":{\"ttlSecondsAfterFinished\":100}}"), NULL),
			 200);
	run(&b, 60);
	assert_false(is_deleted(&b, "j"));
	fakeapi_catch_up(b.w->api);
	run(&b, 60);
	assert_true(is_deleted(&b, "j"));
	ttl_bench_release(&b);
}

/* A change between the read and the deletion makes the deletion fail. */
static void only_the_version_that_was_read_is_deleted(void **state UNUSED)
{
	struct ttl_bench b = ttl_bench_new();

	b.w->api->fault = ttl_fault;
	b.w->api->fault_arg = &b;
	ttl_bench_start(&b);
	b.method = "DELETE";
	b.fault = FAKEAPI_HOLD;
	add_job(&b, "j", 0, "Complete", 0);
	run(&b, 2);
	assert_int_equal(b.asked, 1);
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", JOBS "/j",
				      STR("{\"spec\":{\"ttlSecondsAfterFinished\":1000}}"), NULL),
			 200);
	b.method = NULL;
	fakeapi_let_go(b.w->api);
	run(&b, 30);
	assert_false(is_deleted(&b, "j"));
	ttl_bench_release(&b);
}

static void a_failure_is_retried(void **state UNUSED)
{
	static const struct {
		const char *method;
		int fault;
	} cases[] = { { "GET", 500 },
		      { "GET", FAKEAPI_CUT },
		      { "DELETE", 500 },
		      { "DELETE", FAKEAPI_CUT },
		      { "DELETE", FAKEAPI_DO_AND_CUT } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ttl_bench b = ttl_bench_new();

		b.w->api->fault = ttl_fault;
		b.w->api->fault_arg = &b;
		ttl_bench_start(&b);
		run(&b, 1);
		b.method = cases[i].method;
		b.fault = cases[i].fault;
		add_job(&b, "j", 0, "Complete", 0);
		run(&b, 2);
		assert_true(b.asked > 0);
		b.method = NULL;
		run(&b, 30);
		assert_true(is_deleted(&b, "j"));
		ttl_bench_release(&b);
	}
}

static void a_new_controller_goes_on(void **state UNUSED)
{
	struct ttl_bench b = ttl_bench_new();

	ttl_bench_start(&b);
	add_job(&b, "j", 60, "Complete", 0);
	run(&b, 10);
	ttl_bench_stop(&b);
	run(&b, 100);
	ttl_bench_start(&b);
	run(&b, 2);
	assert_true(is_deleted(&b, "j"));
	ttl_bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_deleted_when_their_time_is_over),
		cmocka_unit_test(a_job_that_finishes_later_is_deleted_too),
		cmocka_unit_test(a_ttl_that_was_raised_counts),
		cmocka_unit_test(only_the_version_that_was_read_is_deleted),
		cmocka_unit_test(a_failure_is_retried),
		cmocka_unit_test(a_new_controller_goes_on),
	};

	return cmocka_run_group_tests_name("controller/ttl", tests, NULL, NULL);
}
