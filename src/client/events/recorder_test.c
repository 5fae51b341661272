/*
 * Events as they arrive at a fake API server: reported once, repeatedly, too often, similar ones,
 * and while the server is down.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/events/recorder_text.h"
#include "client/testing/fakeapi_world.h"
#include "net/loop/loop.h"

struct bench {
	struct sim *sim;
	struct fakeapi *api;
	struct loop *loop;
	struct client *client;
	struct recorder *r;
	struct metrics *metrics;
};

static void bench_init(struct bench *b, bool series)
{
	b->sim = sim_new(NULL);
	b->api = fakeapi_new(b->sim, 1);
	b->loop = sim_loop_new(b->sim, "node");
	b->client = fakeapi_client(b->api, b->loop);
	b->metrics = metrics_new();
	b->r = recorder_new(&(struct recorder_opts){ .client = b->client,
						     .component = "kubelet",
						     .instance = "node1",
						     .series = series,
						     .queue_max = 20,
						     .metrics = b->metrics });
}

static void bench_release(struct bench *b)
{
	recorder_free(b->r);
	client_free(b->client);
	sim_run_for(b->sim, 100);
	fakeapi_free(b->api);
	loop_free(b->loop);
	sim_free(b->sim);
	metrics_free(b->metrics);
}

static const struct recorder_object pod = { .api_version = { "v1", 2 },
					    .kind = { "Pod", 3 },
					    .ns = { "a", 1 },
					    .name = { "web", 3 },
					    .uid = { "u1", 2 } };

static void tell(struct bench *b, const char *reason, const char *message)
{
	recorder_event(b->r, &pod, RECORDER_NORMAL, reason, str_from(message));
}

/* The number of Events on the server with this text. */
static size_t with(struct bench *b, const char *text)
{
	return fakeapi_count_with(b->api, "events", text);
}

static void assert_metric(struct bench *b, const char *line)
{
	struct buf text = BUF_INIT(MIB);

	assert_int_equal(metrics_print(b->metrics, &text), 0);
	if (!strstr(text.p, line))
		fail_msg("no %s in\n%s", line, text.p);
	buf_release(&text);
}

/* --- counted -------------------------------------------------------------------------------- */

static void an_event_has_the_fields_that_people_and_tools_look_at(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	recorder_event(NULL, &(struct recorder_object){ 0 }, RECORDER_NORMAL, "Nobody", STR("x"));
	tell(&b, "Started", "Started container \"x\"");
	sim_run_for(b.sim, 1000);
	assert_int_equal(fakeapi_count(b.api, "events"), 1);
	assert_int_equal(with(&b, "\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
				  "\"namespace\":\"a\",\"name\":\"web\",\"uid\":\"u1\"}"),
			 1);
	assert_int_equal(with(&b,
			      "\"reason\":\"Started\",\"type\":\"Normal\",\"reportingComponent\":"
			      "\"kubelet\",\"reportingInstance\":\"node1\",\"source\":{"
			      "\"component\":\"kubelet\",\"host\":\"node1\"}"),
			 1);
	assert_int_equal(with(&b, "\"message\":\"Started container \\\"x\\\"\""), 1);
	assert_int_equal(with(&b, "\"count\":1"), 1);
	assert_int_equal(with(&b, "\"name\":\"web."), 1);
	bench_release(&b);
}

static void the_same_again_adds_to_its_count(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	for (int i = 0; i < 5; i++) {
		tell(&b, "BackOff", "waiting");
		sim_run_for(b.sim, 1000);
	}
	assert_int_equal(fakeapi_count(b.api, "events"), 1);
	assert_int_equal(with(&b, "\"count\":5"), 1);
	bench_release(&b);
}

static void events_during_a_write_are_written_together(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	for (int i = 0; i < 20; i++)
		tell(&b, "BackOff", "waiting");
	sim_run_for(b.sim, 1000);
	assert_int_equal(with(&b, "\"count\":20"), 1);
	assert_int_equal(b.api->writes, 1);
	bench_release(&b);
}

static void from_the_tenth_different_message_on_they_are_combined(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	for (int i = 0; i < 15; i++) {
		char message[32];

		(void)snprintf(message, sizeof(message), "attempt %d", i);
		tell(&b, "Failed", message);
		sim_run_for(b.sim, 100);
	}
	assert_int_equal(fakeapi_count(b.api, "events"), 10);
	assert_int_equal(with(&b, "\"message\":\"(combined from similar events): attempt 14\""), 1);
	assert_int_equal(with(&b, "\"count\":6"), 1);
	/* After a quiet period they are separate events again. */
	sim_run_for(b.sim, 601 * 1000);
	tell(&b, "Failed", "attempt 100");
	sim_run_for(b.sim, 1000);
	assert_int_equal(with(&b, "\"message\":\"attempt 100\""), 1);
	bench_release(&b);
}

static void one_object_may_not_flood_and_others_are_not_hurt(void **state UNUSED)
{
	struct bench b;
	struct recorder_object other = pod;

	bench_init(&b, false);
	other.name = STR("other");
	for (int i = 0; i < 40; i++) {
		char reason[32];

		(void)snprintf(reason, sizeof(reason), "R%d", i);
		tell(&b, reason, "x");
		sim_run_for(b.sim, 10);
	}
	recorder_event(b.r, &other, RECORDER_NORMAL, "Fine", STR("x"));
	sim_run_for(b.sim, 1000);
	assert_int_equal(fakeapi_count(b.api, "events"), 26);
	assert_metric(&b, "event_recorder_dropped_total{reason=\"rate\"} 15\n");
	sim_run_for(b.sim, 300 * 1000);
	tell(&b, "Later", "x");
	sim_run_for(b.sim, 1000);
	assert_int_equal(fakeapi_count(b.api, "events"), 27);
	bench_release(&b);
}

static void an_event_that_expired_at_the_server_is_made_anew(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	tell(&b, "BackOff", "waiting");
	sim_run_for(b.sim, 1000);
	assert_int_equal(
		fakeapi_call(b.api, "DELETE", "/api/v1/namespaces/a/events", STR_NULL, NULL), 200);
	tell(&b, "BackOff", "waiting");
	sim_run_for(b.sim, 1000);
	assert_int_equal(with(&b, "\"count\":2"), 1);
	bench_release(&b);
}

static void the_server_being_away_is_waited_out_and_the_queue_is_bounded(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, false);
	b.api->fail = 1;
	for (int i = 0; i < 30; i++) {
		struct recorder_object o = pod;
		char name[16];

		(void)snprintf(name, sizeof(name), "p%d", i);
		o.name = str_from(name);
		recorder_event(b.r, &o, RECORDER_WARNING, "Lost", STR("x"));
	}
	sim_run_for(b.sim, 5000);
	assert_int_equal(fakeapi_count(b.api, "events"), 0);
	assert_int_equal(recorder_pending(b.r), 20);
	assert_metric(&b, "event_recorder_dropped_total{reason=\"queue\"} 10\n");
	b.api->fail = 0;
	sim_run_for(b.sim, 30000);
	assert_int_equal(fakeapi_count(b.api, "events"), 20);
	assert_int_equal(recorder_pending(b.r), 0);
	bench_release(&b);
}

static void an_event_of_a_cluster_scoped_object_is_in_default(void **state UNUSED)
{
	struct bench b;
	struct recorder_object node = { .kind = STR("Node"), .name = STR("n") };

	bench_init(&b, false);
	recorder_event(b.r, &node, RECORDER_WARNING, "Rebooted", STR("x"));
	sim_run_for(b.sim, 1000);
	assert_int_equal(with(&b, "\"namespace\":\"default\""), 1);
	bench_release(&b);
}

/* --- series --------------------------------------------------------------------------------- */

static void a_series_is_written_twice_then_counted_then_written_at_its_end(void **state UNUSED)
{
	struct bench b;
	struct recorder_detail d = { .action = "Scheduling" };

	bench_init(&b, true);
	for (int i = 0; i < 10; i++) {
		recorder_event_detailed(b.r, &pod, RECORDER_WARNING, "FailedScheduling",
					STR("no room"), &d);
		sim_run_for(b.sim, 1000);
	}
	assert_int_equal(fakeapi_count(b.api, "events"), 1);
	assert_int_equal(with(&b, "\"series\":{\"count\":2,"), 1);
	assert_int_equal(with(&b, "\"regarding\":{"), 1);
	assert_int_equal(with(&b, "\"note\":\"no room\""), 1);
	assert_int_equal(with(&b, "\"action\":\"Scheduling\""), 1);
	assert_int_equal(with(&b, "\"reportingController\":\"kubelet\""), 1);
	sim_run_for(b.sim, 8 * 60 * 1000);
	assert_int_equal(with(&b, "\"series\":{\"count\":10,"), 1);
	/* The next one begins a new series. */
	recorder_event_detailed(b.r, &pod, RECORDER_WARNING, "FailedScheduling", STR("no room"),
				&d);
	sim_run_for(b.sim, 1000);
	assert_int_equal(fakeapi_count(b.api, "events"), 2);
	bench_release(&b);
}

static void names_of_events_fit_whatever_the_object_is_called(void **state UNUSED)
{
	char out[RECORDER_NAME_SIZE], long_name[254];
	struct str name;

	memset(long_name, 'a', 253);
	long_name[234] = '.';
	name = recorder_text_name(str_of(long_name, 253), INT64_C(0x1734567890abcdef), out);
	assert_true(name.n <= 253);
	assert_true(str_ends(name, STR(".1734567890abcdef")));
	assert_int_equal(str_find(name, STR("..")), -1);
	name = recorder_text_name(STR("web"), 255, out);
	assert_true(str_eqz(name, "web.ff"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_has_the_fields_that_people_and_tools_look_at),
		cmocka_unit_test(the_same_again_adds_to_its_count),
		cmocka_unit_test(events_during_a_write_are_written_together),
		cmocka_unit_test(from_the_tenth_different_message_on_they_are_combined),
		cmocka_unit_test(one_object_may_not_flood_and_others_are_not_hurt),
		cmocka_unit_test(an_event_that_expired_at_the_server_is_made_anew),
		cmocka_unit_test(the_server_being_away_is_waited_out_and_the_queue_is_bounded),
		cmocka_unit_test(an_event_of_a_cluster_scoped_object_is_in_default),
		cmocka_unit_test(a_series_is_written_twice_then_counted_then_written_at_its_end),
		cmocka_unit_test(names_of_events_fit_whatever_the_object_is_called),
	};

	return cmocka_run_group_tests_name("client/recorder", tests, NULL, NULL);
}
