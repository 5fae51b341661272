/*
 * Batches against a fake API server: windows, failures, lost replies, events.
 */
#include "controller/pods/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "controller/run/controller_world.h"

struct batch_bench {
	struct controller_world *w;
	struct arena arena;
	struct resource pods;
	struct batch batch;
	struct batch_item items[300];
	size_t n, ended;
	unsigned done;
	struct error err;
	/* Faults: the n-th POST or DELETE (from 1) gets this; 0: none. */
	unsigned at, upto, writes;
	int fault;
	bool sick_lists;
};

static int batch_fault(void *arg, const struct fakeapi_query *q)
{
	struct batch_bench *b = arg;

	if (str_find(q->path, STR("/pods")) < 0)
		return FAKEAPI_WELL;
	if (str_eq(q->method, STR("GET")))
		return b->sick_lists ? 500 : FAKEAPI_WELL;
	b->writes++;
	return b->writes >= b->at && b->writes <= b->upto ? b->fault : FAKEAPI_WELL;
}

static void on_item(struct batch *batch, struct batch_item *it UNUSED,
		    const struct client_answer *answer UNUSED)
{
	((struct batch_bench *)batch->arg)->ended++;
}

static void on_batch(struct batch *batch, const struct error *err)
{
	struct batch_bench *b = batch->arg;

	b->done++;
	if (err)
		b->err = *err;
}

static struct batch_bench *batch_bench_new(void)
{
	struct batch_bench *b = XNEW(struct batch_bench);

	b->w = controller_world_new(7);
	controller_world_start(b->w);
	arena_init(&b->arena, 64 * MIB);
	b->w->api->fault = batch_fault;
	b->w->api->fault_arg = b;
	b->pods = resource_builtin("", "v1", "pods");
	return b;
}

static void batch_bench_free(struct batch_bench *b)
{
	batch_release(&b->batch);
	controller_world_stop(b->w);
	controller_world_free(b->w);
	arena_release(&b->arena);
	free(b);
}

static struct json *a_pod(struct batch_bench *b)
{
	static const struct str text = STR(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"web-\","
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
		"\"name\":\"web\",\"uid\":\"u1\",\"controller\":true}]},\"spec\":{}}");
	struct json *v;

	assert_int_equal(json_parse(&b->arena, text, NULL, &v, NULL), 0);
	return v;
}

static void begin(struct batch_bench *b, enum batch_verb verb, size_t n)
{
	b->n = n;
	for (size_t i = 0; i < n; i++) {
		b->items[i].verb = verb;
		b->items[i].next = i + 1 < n ? &b->items[i + 1] : NULL;
		if (verb == BATCH_CREATE && !b->items[i].body)
			b->items[i].body = a_pod(b);
	}
	b->batch = (struct batch){
		.ctx = &b->w->ctx,
		.resource = &b->pods,
		.ns = STR("n"),
		.about = { .api_version = STR("apps/v1"),
			   .kind = STR("ReplicaSet"),
			   .ns = STR("n"),
			   .name = STR("web"),
			   .uid = STR("u1") },
		.arena = &b->arena,
		.items = n > 0 ? b->items : NULL,
		.ended = on_item,
		.done = on_batch,
		.arg = b,
	};
	batch_start(&b->batch);
	assert_int_equal(b->done, 0);
}

static void finish(struct batch_bench *b)
{
	controller_world_run(b->w, 60000);
	assert_int_equal(b->done, 1);
	assert_int_equal(b->ended, b->n);
}

static size_t count_fate(const struct batch_bench *b, enum batch_fate fate)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->items[i].fate == fate;
	return n;
}

static size_t pods(const struct batch_bench *b)
{
	return fakeapi_count(b->w->api, "pods");
}

/* The number of events with this text. */
static size_t events(const struct batch_bench *b, const char *text)
{
	return fakeapi_count_with(b->w->api, "events", text);
}

/* Creates as many, with this fault for the writes from `at` to `upto`. */
static struct batch_bench *create_with(size_t n, int fault, unsigned at, unsigned upto)
{
	struct batch_bench *b = batch_bench_new();

	b->fault = fault;
	b->at = at;
	b->upto = upto;
	begin(b, BATCH_CREATE, n);
	finish(b);
	return b;
}

static void an_empty_batch_is_done_later(void **state UNUSED)
{
	struct batch_bench *b = batch_bench_new();

	begin(b, BATCH_CREATE, 0);
	finish(b);
	assert_int_equal(b->err.code, ERR_OK);
	batch_bench_free(b);
}

static void all_are_created_with_names(void **state UNUSED)
{
	struct batch_bench *b = create_with(300, FAKEAPI_WELL, 0, 0);

	assert_int_equal(b->err.code, ERR_OK);
	assert_int_equal(count_fate(b, BATCH_DONE), 300);
	assert_int_equal(pods(b), 300);
	assert_int_equal(b->items[0].name.n, strlen("web-") + 5);
	assert_true(events(b, "Created pod: ") > 0);
	assert_true(events(b, "\"reason\":\"SuccessfulCreate\"") > 0);
	batch_bench_free(b);
}

static void the_first_failure_stops_creations(void **state UNUSED)
{
	struct batch_bench *b = create_with(300, 403, 1, 1000);

	assert_int_equal(b->err.code, ERR_FORBIDDEN);
	assert_int_equal(b->writes, 1);
	assert_int_equal(count_fate(b, BATCH_FAILED), 1);
	assert_int_equal(count_fate(b, BATCH_SKIPPED), 299);
	assert_int_equal(events(b, "Error creating: "), 1);
	batch_bench_free(b);
}

/* Windows of 1, 2 and 4. The fifth fails, and the window still ends with the seventh. */
static void windows_double(void **state UNUSED)
{
	struct batch_bench *b = create_with(300, 403, 5, 5);

	assert_int_equal(b->writes, 7);
	assert_int_equal(pods(b), 6);
	assert_int_equal(count_fate(b, BATCH_DONE), 6);
	assert_int_equal(count_fate(b, BATCH_FAILED), 1);
	assert_int_equal(count_fate(b, BATCH_SKIPPED), 293);
	batch_bench_free(b);
}

static void a_lost_reply_makes_no_second_pod(void **state UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct batch_bench *b = create_with(7, faults[i], 3, 12);

		assert_int_equal(b->err.code, ERR_OK);
		assert_int_equal(count_fate(b, BATCH_DONE), 7);
		assert_int_equal(pods(b), 7);
		assert_int_equal(events(b, "Error creating: "), 0);
		batch_bench_free(b);
	}
}

static void a_failure_of_the_server_is_looked_up(void **state UNUSED)
{
	struct batch_bench *b = create_with(3, 500, 2, 2);

	assert_int_equal(b->err.code, ERR_INTERNAL);
	assert_int_equal(pods(b), 2);
	assert_int_equal(count_fate(b, BATCH_FAILED), 1);
	batch_bench_free(b);
}

static void a_lookup_is_repeated(void **state UNUSED)
{
	struct batch_bench *b = batch_bench_new();

	b->fault = 500;
	b->at = b->upto = 1;
	b->sick_lists = true;
	begin(b, BATCH_CREATE, 1);
	controller_world_run(b->w, 20000);
	assert_int_equal(b->done, 0);
	b->sick_lists = false;
	finish(b);
	assert_int_equal(b->writes, 1);
	assert_int_equal(count_fate(b, BATCH_FAILED), 1);
	batch_bench_free(b);
}

static void a_name_of_another_owner_is_a_failure(void **state UNUSED)
{
	struct batch_bench *b = batch_bench_new();

	fakeapi_add(b->w->api, "pods", "n", "web-0", "", "");
	b->items[0].body = a_pod(b);
	json_put_str(&b->arena, json_getz(b->items[0].body, "metadata"), "name", STR("web-0"));
	begin(b, BATCH_CREATE, 1);
	finish(b);
	assert_int_equal(b->err.code, ERR_ALREADY_EXISTS);
	batch_bench_free(b);
}

static void other_rejections_are_failures(void **state UNUSED)
{
	static const struct {
		int status;
		enum error_code code;
	} cases[] = { { 404, ERR_NOT_FOUND },
		      { 409, ERR_ALREADY_EXISTS },
		      { 422, ERR_INVALID },
		      { 429, ERR_TOO_MANY_REQUESTS } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct batch_bench *b = create_with(4, cases[i].status, 2, 1000);

		assert_int_equal(b->err.code, cases[i].code);
		assert_int_equal(pods(b), 1);
		assert_int_equal(count_fate(b, BATCH_DONE), 1);
		batch_bench_free(b);
	}
}

static void a_dying_namespace_is_no_failure(void **state UNUSED)
{
	struct batch_bench *b = batch_bench_new();

	fakeapi_add(b->w->api, "namespaces", "", "n",
		    ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"x\"]", "");
	begin(b, BATCH_CREATE, 5);
	finish(b);
	assert_int_equal(b->err.code, ERR_OK);
	assert_true(b->batch.terminating);
	assert_int_equal(b->writes, 1);
	assert_int_equal(count_fate(b, BATCH_SKIPPED), 5);
	assert_int_equal(events(b, "Error creating"), 0);
	batch_bench_free(b);
}

/* Pods "p0", "p1" and so on, of these uids. */
static struct batch_bench *with_pods(size_t n)
{
	struct batch_bench *b = batch_bench_new();

	for (size_t i = 0; i < n; i++) {
		char *name = arena_printf(&b->arena, "p%zu", i);

		fakeapi_add(b->w->api, "pods", "n", name,
			    arena_printf(&b->arena, ",\"uid\":\"u-%s\"", name), ",\"spec\":{}");
		b->items[i].name = str_from(name);
		b->items[i].uid = str_from(arena_printf(&b->arena, "u-%s", name));
	}
	return b;
}

static void deletions_do_not_stop_each_other(void **state UNUSED)
{
	struct batch_bench *b = with_pods(20);

	b->fault = 500;
	b->at = b->upto = 3;
	begin(b, BATCH_DELETE, 20);
	finish(b);
	assert_int_equal(b->err.code, ERR_INTERNAL);
	assert_int_equal(pods(b), 1);
	assert_int_equal(count_fate(b, BATCH_DONE), 19);
	assert_int_equal(count_fate(b, BATCH_DOUBTFUL), 1);
	assert_true(events(b, "Deleted pod: ") > 0);
	batch_bench_free(b);
}

static void a_failed_deletion_is_an_event(void **state UNUSED)
{
	struct batch_bench *b = with_pods(1);

	b->fault = 403;
	b->at = b->upto = 1;
	begin(b, BATCH_DELETE, 1);
	finish(b);
	assert_int_equal(b->items[0].fate, BATCH_FAILED);
	assert_int_equal(events(b, "Error deleting: "), 1);
	assert_int_equal(events(b, "FailedDelete"), 1);
	batch_bench_free(b);
}

static void a_pod_that_is_gone_counts_as_deleted(void **state UNUSED)
{
	struct batch_bench *b = with_pods(3);

	b->items[1].name = STR("unknown");
	b->items[2].uid = STR("another");
	begin(b, BATCH_DELETE, 3);
	finish(b);
	assert_int_equal(b->err.code, ERR_CONFLICT);
	assert_int_equal(b->items[1].fate, BATCH_DONE);
	assert_int_equal(b->items[2].fate, BATCH_FAILED);
	assert_int_equal(pods(b), 2);
	assert_int_equal(events(b, "Deleted pod: "), 1);
	assert_int_equal(events(b, "Error deleting: "), 0);
	batch_bench_free(b);
}

static void patches_report_their_answers(void **state UNUSED)
{
	struct batch_bench *b = with_pods(3);

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(json_parse(&b->arena,
					    STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), NULL,
					    &b->items[i].body, NULL),
				 0);
	b->fault = FAKEAPI_CUT;
	b->at = b->upto = 2;
	begin(b, BATCH_PATCH, 3);
	finish(b);
	assert_int_equal(b->items[1].fate, BATCH_DOUBTFUL);
	assert_int_equal(count_fate(b, BATCH_DONE), 2);
	assert_true(fakeapi_has(b->w->api, "pods", "n", "p0", "\"a\":\"b\""));
	assert_int_equal(events(b, "rror"), 0);
	batch_bench_free(b);
}

static void a_released_batch_is_silent(void **state UNUSED)
{
	struct batch_bench *b = batch_bench_new();

	begin(b, BATCH_CREATE, 20);
	controller_world_run(b->w, 1);
	batch_release(&b->batch);
	controller_world_run(b->w, 10000);
	assert_int_equal(b->done, 0);
	batch_bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_batch_is_done_later),
		cmocka_unit_test(all_are_created_with_names),
		cmocka_unit_test(the_first_failure_stops_creations),
		cmocka_unit_test(windows_double),
		cmocka_unit_test(a_lost_reply_makes_no_second_pod),
		cmocka_unit_test(a_failure_of_the_server_is_looked_up),
		cmocka_unit_test(a_lookup_is_repeated),
		cmocka_unit_test(a_name_of_another_owner_is_a_failure),
		cmocka_unit_test(other_rejections_are_failures),
		cmocka_unit_test(a_dying_namespace_is_no_failure),
		cmocka_unit_test(deletions_do_not_stop_each_other),
		cmocka_unit_test(a_failed_deletion_is_an_event),
		cmocka_unit_test(a_pod_that_is_gone_counts_as_deleted),
		cmocka_unit_test(patches_report_their_answers),
		cmocka_unit_test(a_released_batch_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
