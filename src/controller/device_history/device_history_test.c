/*
 * The history of devices, on a fake API server, beside the controller that publishes their status.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/device_history/device_history.h"
#include "controller/device_history/record.h"

#define NODES     "/api/v1/nodes"
#define RECORDS   "/apis/devplane.dev/v1alpha1/devicehistories"
#define RESOURCE  "devicehistories"
#define SECOND_MS 1000

struct world {
	struct bench bench;
	struct device_history *history;
	size_t writes; /* of records, over the wire */
	int fate; /* of the next write of a record: enum fakeapi_fault or a status */
};

static int on_write(void *arg, const struct fakeapi_query *q)
{
	struct world *w = arg;
	int fate = w->fate;

	if (!str_starts(q->path, STR(RECORDS)) || str_eq(q->method, STR("GET")))
		return FAKEAPI_WELL;
	w->writes++;
	w->fate = FAKEAPI_WELL;
	return fate;
}

static void begin_history(struct world *w)
{
	struct resource slices = resource_builtin("resource.k8s.io", "v1", "resourceslices");

	w->history = device_history_new(&w->bench.w->ctx, &slices);
}

static void pass(struct world *w, int64_t seconds)
{
	controller_world_run(w->bench.w, seconds * SECOND_MS);
}

static void start(struct world *w)
{
	*w = (struct world){ .bench = { .health = true, .metrics = metrics_new() } };
	bench_init(&w->bench, 1);
	w->bench.w->api->fault = on_write;
	w->bench.w->api->fault_arg = w;
	tell(&w->bench, "slice s p 1/1 n g0 g1 g2 g3");
	tell(&w->bench, "node n");
	run(&w->bench);
	begin_history(w);
	pass(w, 5);
}

static void stop(struct world *w)
{
	device_history_free(w->history);
	bench_release(&w->bench);
}

/* Puts "device field from to holder|.." of the pool into `out`. */
static void print_record(struct world *w, const char *pool, struct buf *out)
{
	struct arena a;
	const char *name;

	arena_init(&a, 64 * MIB);
	name = arena_strdup(
		&a, device_record_name(str_from(arena_printf(&a, WORLD_DRIVER "/%s", pool)), &a));
	if (fakeapi_find(w->bench.w->api, RESOURCE, "", name)) {
		struct json *o = bench_object(&w->bench, RESOURCE, name, &a);

		JSON_FOREACH (d, json_pointer(o, STR("/status/devices")))
			JSON_FOREACH (c, json_getz(d, "changes"))
				(void)buf_printf(out, "%s%.*s %.*s %.*s %.*s %.*s",
						 out->n > 0 ? "|" : "",
						 STR_ARG(json_text_at(d, "name")),
						 STR_ARG(json_text_at(c, "field")),
						 STR_ARG(json_text_at(c, "from")),
						 STR_ARG(json_text_at(c, "to")),
						 STR_ARG(json_text_at(c, "holder")));
	}
	(void)buf_addc(out, '\0');
	arena_release(&a);
}

static void assert_record(struct world *w, const char *expected)
{
	struct buf text = BUF_INIT(MIB);

	print_record(w, "p", &text);
	assert_string_equal(text.p, expected);
	buf_release(&text);
}

static void a_change_is_recorded_with_its_holder(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	assert_record(&w, "");
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 1);
	assert_record(&w, "g1 state Available Allocated ns/c");
	tell(&w.bench, "remove claim ns/c");
	pass(&w, 10);
	assert_record(&w, "g1 state Available Allocated ns/c|g1 state Allocated Available ns/c");
	stop(&w);
}

/* The node reports the health of g1 in its annotation; NULL: not at all. */
static void report(struct world *w, const char *health)
{
	struct buf body = BUF_INIT(MIB);

	(void)buf_addz(&body, "{\"metadata\":{\"name\":\"n\",\"annotations\":{"
			      "\"devplane.dev/device-health\":\"[");
	if (health)
		(void)buf_printf(&body,
				 "{\\\"id\\\":\\\"" WORLD_DRIVER
				 "/p/g1\\\",\\\"health\\\":\\\"%s\\\"}",
				 health);
	(void)buf_addz(&body, "]\"}}}");
	assert_int_equal(fakeapi_call(w->bench.w->api, "PUT", NODES "/n", buf_str(&body), NULL),
			 200);
	buf_release(&body);
}

static void a_recovery_after_reports_had_ended_is_recorded(void **state)
{
	(void)state;
	/* The end of the reports is written when the next one comes, or waits to be. */
	for (int waits = 0; waits < 2; waits++) {
		struct world w;

		start(&w);
		report(&w, "Unhealthy");
		pass(&w, 10);
		report(&w, NULL);
		pass(&w, waits ? 1 : 10);
		report(&w, "Healthy");
		pass(&w, 10);
		assert_record(&w, "g1 health NotReported Unhealthy |"
				  "g1 health Unhealthy NotReported |"
				  "g1 health NotReported Healthy ");
		report(&w, NULL);
		pass(&w, 10);
		report(&w, "Healthy");
		pass(&w, 10);
		assert_record(&w, "g1 health NotReported Unhealthy |"
				  "g1 health Unhealthy NotReported |"
				  "g1 health NotReported Healthy ");
		stop(&w);
	}
}

static void a_burst_becomes_one_write_after_the_pace(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g0");
	pass(&w, 1);
	assert_int_equal(w.writes, 1);
	for (int i = 0; i < 3; i++) {
		tell(&w.bench, "claim ns/d p/g1");
		pass(&w, 1);
		tell(&w.bench, "remove claim ns/d");
		controller_world_run(w.bench.w, 200);
	}
	assert_int_equal(w.writes, 1);
	pass(&w, 10);
	assert_int_equal(w.writes, 2);
	assert_record(&w, "g0 state Available Allocated ns/c|"
			  "g1 state Available Allocated ns/d|g1 state Allocated Available ns/d|"
			  "g1 state Available Allocated ns/d|g1 state Allocated Available ns/d|"
			  "g1 state Available Allocated ns/d|g1 state Allocated Available ns/d");
	stop(&w);
}

static void a_write_whose_reply_is_lost_counts_once(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	w.fate = FAKEAPI_DO_AND_CUT;
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 20);
	assert_record(&w, "g1 state Available Allocated ns/c");
	w.fate = FAKEAPI_DO_AND_CUT;
	tell(&w.bench, "remove claim ns/c");
	pass(&w, 2);
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 20);
	assert_record(&w, "g1 state Available Allocated ns/c|g1 state Allocated Available ns/c|"
			  "g1 state Available Allocated ns/c");
	stop(&w);
}

static void several_changes_whose_reply_is_lost_count_once(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g0");
	pass(&w, 1);
	tell(&w.bench, "claim ns/d p/g1");
	pass(&w, 1);
	tell(&w.bench, "remove claim ns/d");
	w.fate = FAKEAPI_DO_AND_CUT;
	pass(&w, 20);
	assert_int_equal(w.fate, FAKEAPI_WELL);
	assert_record(&w, "g0 state Available Allocated ns/c|g1 state Available Allocated ns/d|"
			  "g1 state Allocated Available ns/d");
	stop(&w);
}

static void a_failed_write_is_repeated(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	w.fate = 500;
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 20);
	assert_true(w.writes >= 2);
	assert_record(&w, "g1 state Available Allocated ns/c");
	stop(&w);
}

static void another_controller_goes_on_and_notices_what_it_missed(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 10);
	device_history_free(TAKE(w.history));
	begin_history(&w);
	pass(&w, 20);
	assert_record(&w, "g1 state Available Allocated ns/c");
	device_history_free(TAKE(w.history));
	tell(&w.bench, "remove claim ns/c");
	pass(&w, 5);
	begin_history(&w);
	pass(&w, 20);
	assert_record(&w, "g1 state Available Allocated ns/c|g1 state Allocated Available ");
	stop(&w);
}

static void a_device_that_disappears_is_gone_after_a_while(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "slice s p 1/1 n g0 g1 g2 generation=2");
	pass(&w, 8);
	assert_record(&w, "");
	pass(&w, 10);
	assert_record(&w, "g3 state Available Gone ");
	tell(&w.bench, "slice s p 1/1 n g0 g1 g2 g3 generation=3");
	pass(&w, 20);
	assert_record(&w, "g3 state Available Gone |g3 state Gone Available ");
	stop(&w);
}

static void a_device_that_moves_to_another_slice_has_not_changed(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "slice t p 2/1 n g0 g1 g2 g3");
	pass(&w, 1);
	tell(&w.bench, "remove slice s");
	pass(&w, 30);
	assert_record(&w, "");
	tell(&w.bench, "remove slice t");
	pass(&w, 2);
	tell(&w.bench, "slice u p 3/1 n g0 g1 g2 g3");
	pass(&w, 30);
	assert_record(&w, "");
	stop(&w);
}

static void the_record_of_a_pool_that_is_gone_is_deleted_in_the_end(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 10);
	tell(&w.bench, "slice z other 1/1 n h0");
	pass(&w, 1);
	tell(&w.bench, "claim ns/z other/h0");
	pass(&w, 10);
	assert_int_equal(fakeapi_count(w.bench.w->api, RESOURCE), 2);
	tell(&w.bench, "remove slice s");
	pass(&w, (int64_t)70 * 3600);
	assert_int_equal(fakeapi_count(w.bench.w->api, RESOURCE), 2);
	pass(&w, (int64_t)4 * 3600);
	assert_int_equal(fakeapi_count(w.bench.w->api, RESOURCE), 1);
	stop(&w);
}

static void a_record_of_another_writer_is_kept(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	tell(&w.bench, "claim ns/c p/g1");
	pass(&w, 10);
	w.fate = 409; /* somebody else was faster */
	tell(&w.bench, "claim ns/d p/g2");
	pass(&w, 20);
	assert_record(&w, "g1 state Available Allocated ns/c|g2 state Available Allocated ns/d");
	stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_recorded_with_its_holder),
		cmocka_unit_test(a_recovery_after_reports_had_ended_is_recorded),
		cmocka_unit_test(a_burst_becomes_one_write_after_the_pace),
		cmocka_unit_test(a_write_whose_reply_is_lost_counts_once),
		cmocka_unit_test(several_changes_whose_reply_is_lost_count_once),
		cmocka_unit_test(a_failed_write_is_repeated),
		cmocka_unit_test(another_controller_goes_on_and_notices_what_it_missed),
		cmocka_unit_test(a_device_that_disappears_is_gone_after_a_while),
		cmocka_unit_test(a_device_that_moves_to_another_slice_has_not_changed),
		cmocka_unit_test(the_record_of_a_pool_that_is_gone_is_deleted_in_the_end),
		cmocka_unit_test(a_record_of_another_writer_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
