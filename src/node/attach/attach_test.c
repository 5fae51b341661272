/*
 * All of attach in a simulated world: an API server with pods, a kubelet that replies like a real
 * one and has knobs, and a reader of the book.
 */
#include "node/attach/attach_fixture.h"

#include "base/core/limits.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/testing/fakeapi_world.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/attach/attach.h"
#include "node/book/methods.h"

#define SOCKET "/k/kubelet.sock"

enum { NOW_MS = 300, IDLE_MS = 10 * 1000 };

struct kubelet {
	struct loop *loop; /* NULL: it is down */
	struct http_server *http;
	struct grpc_server *grpc;
	/* Its replies. */
	const char *list; /* in the fixture's form */
	unsigned memory, gpus;
	bool no_get, no_allocatable;
	unsigned exhausted; /* number of calls that it rejects */
	bool hang;
	/* Calls that it received. */
	unsigned lists, get_calls, allocatables;
};

struct world {
	struct sim *sim;
	struct loop *loop;
	struct fakeapi *api;
	struct client *client;
	struct metrics *metrics;
	struct podres *book;
	struct attach *attach;
	struct fixture_reader reader;
	struct kubelet kubelet;
	bool stopped;
};

/* --- the kubelet ----------------------------------------------------------------------------- */

static bool refuses(struct kubelet *k, struct grpc_call *c)
{
	if (k->exhausted > 0) {
		k->exhausted--;
		(void)grpc_call_finish(c, GRPC_RESOURCE_EXHAUSTED, STR("rejected by rate limit"));
		return true;
	}
	return k->hang;
}

static void serve_list(struct grpc_call *c, const void *request UNUSED)
{
	struct kubelet *k = grpc_call_service(c);
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	k->lists++;
	if (!refuses(k, c))
		(void)grpc_call_reply(c, &fixture_list(&a, k->list)->base);
}

static void serve_get(struct grpc_call *c, const void *request)
{
	const Podresources__GetRequest *in = request;
	Podresources__GetResponse m = PODRESOURCES__GET_RESPONSE__INIT;
	struct kubelet *k = grpc_call_service(c);
	CLEANUP(arena_release) struct arena a;
	const Podresources__ListResponse *all;

	arena_init(&a, SIZE_MAX);
	k->get_calls++;
	if (k->no_get) {
		(void)grpc_call_finish(c, GRPC_UNKNOWN,
				       STR("PodResources API Get method disabled"));
		return;
	}
	if (refuses(k, c))
		return;
	all = fixture_list(&a, k->list);
	for (size_t i = 0; i < all->n_pod_resources; i++) {
		if (strcmp(all->pod_resources[i]->name, in->pod_name) == 0)
			m.pod_resources = all->pod_resources[i];
	}
	if (m.pod_resources)
		(void)grpc_call_reply(c, &m.base);
	else
		(void)grpc_call_finish(c, GRPC_UNKNOWN,
				       STR("pod a in namespace default not found"));
}

static void serve_allocatable(struct grpc_call *c, const void *request UNUSED)
{
	struct kubelet *k = grpc_call_service(c);
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	k->allocatables++;
	if (k->no_allocatable)
		(void)grpc_call_finish(c, GRPC_UNIMPLEMENTED, STR("unknown method"));
	else if (!refuses(k, c))
		(void)grpc_call_reply(c, &fixture_room(&a, k->memory, k->gpus)->base);
}

static const struct grpc_handler rows[] = {
	{ .method = &podres_method_list, .on_request = serve_list },
	{ .method = &podres_method_get, .on_request = serve_get },
	{ .method = &podres_method_allocatable, .on_request = serve_allocatable },
};

static void on_http(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct kubelet *)arg)->grpc, s);
}

static void kubelet_begin(struct world *w)
{
	struct kubelet *k = &w->kubelet;
	struct http_server_opts opts = { .nloops = 1, .handler = on_http, .arg = k };
	struct addr at;

	k->loop = sim_loop_new(w->sim, "kubelet");
	opts.loops = &k->loop;
	assert_int_equal(addr_parse(&at, STR("unix:" SOCKET), 0, NULL), 0);
	k->http = http_server_new(&opts);
	assert_int_equal(http_server_listen(k->http, &at, NULL, 0, NULL, NULL), 0);
	sim_touch(w->sim, "/k", "kubelet.sock");
}

static void kubelet_crash(struct world *w)
{
	struct kubelet *k = &w->kubelet;

	sim_loop_crash(k->loop, SIM_CRASH_PROCESS);
	sim_loop_bury(k->loop);
	http_server_free(TAKE(k->http));
	loop_free(TAKE(k->loop));
}

/* --- the world ------------------------------------------------------------------------------- */

static void run(struct world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
	fixture_read(&w->reader);
}

static void start(struct world *w)
{
	struct attach_opts opts = { .loop = w->loop,
				    .client = w->client,
				    .node_name = "n1",
				    .kubelet_socket = SOCKET,
				    .book = w->book,
				    .metrics = w->metrics,
				    .log = log_null() };
	struct error err;

	if (attach_new(&opts, &w->attach, &err) < 0)
		fail_msg("%s", err.msg);
}

static int setup(void **state)
{
	static uint64_t seed;
	struct world *w = XNEW(struct world);
	struct sim_opts so = { .seed = ++seed, .latency_min_us = 10, .latency_max_us = 200 };

	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "node");
	w->api = fakeapi_new(w->sim, seed);
	w->client = fakeapi_client(w->api, w->loop);
	w->metrics = metrics_new();
	w->book = podres_new(100);
	fixture_reader_init(&w->reader, w->book);
	w->kubelet.grpc = grpc_server_new(NULL);
	w->kubelet.list = "";
	w->kubelet.memory = FIXTURE_MEMORY;
	w->kubelet.gpus = 8;
	grpc_server_add(w->kubelet.grpc, rows, ARRAY_SIZE(rows), &w->kubelet);
	fakeapi_add(w->api, "nodes", "", "n1", "", ",\"status\":{\"capacity\":{\"cpu\":\"4\"}}");
	kubelet_begin(w);
	*state = w;
	return 0;
}

static void on_stopped(void *arg)
{
	((struct world *)arg)->stopped = true;
}

static void on_drained(void *arg)
{
	http_server_free(TAKE(((struct kubelet *)arg)->http));
}

static int teardown(void **state)
{
	struct world *w = *state;

	if (w->attach) {
		attach_stop(w->attach, on_stopped, w);
		sim_run_for(w->sim, 100);
		assert_true(w->stopped);
		attach_free(w->attach);
	}
	client_free(w->client);
	if (w->kubelet.http)
		http_server_drain(w->kubelet.http, 0, on_drained, &w->kubelet);
	sim_run_for(w->sim, 1000);
	grpc_server_free(w->kubelet.grpc);
	if (w->kubelet.loop)
		loop_free(w->kubelet.loop);
	fixture_reader_release(&w->reader);
	podres_free(w->book);
	metrics_free(w->metrics);
	fakeapi_free(w->api);
	loop_free(w->loop);
	sim_free(w->sim);
	free(w);
	return 0;
}

/* A new pod. It has no nodeName: this API would keep it after a delete. */
static void add_pod(struct world *w, const char *name, const char *uid, const char *phase)
{
	char meta[64], rest[128];

	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"%s\"", uid);
	(void)snprintf(rest, sizeof(rest), ",\"status\":{\"phase\":\"%s\"}", phase);
	fakeapi_add(w->api, "pods", "default", name, meta, rest);
}

static void patch(struct world *w, const char *name, const char *body)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/default/pods/%s", name);
	assert_int_equal(fakeapi_call(w->api, "PATCH", target, str_from(body), NULL), 200);
}

static void delete_pod(struct world *w, const char *name)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/default/pods/%s", name);
	assert_int_equal(fakeapi_call(w->api, "DELETE", target, STR_NULL, NULL), 200);
}

static void expect_ready(struct world *w)
{
	struct error err = { .code = ERR_OK };

	if (attach_check(w->attach, &err) < 0)
		fail_msg("%s", err.msg);
}

static void expect_behind(struct world *w, const char *words)
{
	struct error err;

	assert_int_equal(attach_check(w->attach, &err), -ERR_UNAVAILABLE);
	if (str_find(str_from(err.msg), str_from(words)) < 0)
		fail_msg("\"%s\" has no \"%s\"", err.msg, words);
}

static void expect_metric(struct world *w, const char *line)
{
	struct buf text = BUF_INIT(MIB);

	assert_int_equal(metrics_print(w->metrics, &text), 0);
	if (str_find(buf_str(&text), str_from(line)) < 0)
		fail_msg("no %s in\n%s", line, text.p);
	buf_release(&text);
}

/* Runs until the first state has been read. */
static void begin(struct world *w)
{
	add_pod(w, "a", "u1", "Running");
	add_pod(w, "b", "u2", "Running");
	w->kubelet.list = "a=gpu0 b=gpu1";
	start(w);
	run(w, NOW_MS);
	fixture_expect(&w->reader, "+u1 a=gpu0\n+u2 b=gpu1\n");
	expect_ready(w);
}

/* --- following -------------------------------------------------------------------------------- */

static void the_first_state_is_told(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(w->kubelet.lists, 1);
	assert_int_equal(w->kubelet.allocatables, 1);
	assert_int_equal(w->kubelet.get_calls, 0);
	expect_metric(w, "devplane_attach_behind 0\n");
	expect_metric(w, "devplane_attach_calls_total{method=\"List\",code=\"OK\"} 1\n");
}

static void little_is_asked_while_nothing_happens(void **state)
{
	struct world *w = *state;

	begin(w);
	for (int i = 0; i < 60; i++) {
		/* A heartbeat of some condition. */
		patch(w, "a",
		      i % 2 ? "{\"status\":{\"conditions\":[]}}"
			    : "{\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}");
		run(w, 1000);
	}
	assert_int_equal(w->kubelet.lists, 7);
	assert_int_equal(w->kubelet.allocatables, 7);
	assert_int_equal(w->kubelet.get_calls, 0);
	fixture_expect(&w->reader, "");
}

static void a_pod_is_followed_from_its_coming_to_its_end(void **state)
{
	struct world *w = *state;

	begin(w);
	add_pod(w, "c", "u3", "Pending");
	run(w, 120); /* the kubelet does not have it yet */
	w->kubelet.list = "a=gpu0 b=gpu1 c=";
	run(w, 500);
	fixture_expect(&w->reader, "+u3 c=\n");
	w->kubelet.list = "a=gpu0 b=gpu1 c=gpu2";
	patch(w, "c", "{\"status\":{\"phase\":\"Running\"}}");
	run(w, 60);
	fixture_expect(&w->reader, "~u3 c=gpu2\n");
	assert_true(w->kubelet.get_calls > 2);
	assert_int_equal(w->kubelet.lists, 1);
	w->kubelet.list = "a=gpu0 b=gpu1";
	patch(w, "c", "{\"status\":{\"phase\":\"Succeeded\"}}");
	run(w, 60);
	fixture_expect(&w->reader, "-u3 c\n");
	assert_int_equal(w->kubelet.lists, 2);
}

static void a_release_is_told_before_the_reuse(void **state)
{
	struct world *w = *state;

	begin(w);
	delete_pod(w, "a");
	add_pod(w, "c", "u3", "Running");
	w->kubelet.list = "b=gpu1 c=gpu0";
	run(w, 100);
	fixture_expect(&w->reader, "-u1 a\n+u3 c=gpu0\n");
	/* Get shows a device that another pod has in the book: the List decides. */
	w->kubelet.list = "b= c=gpu0,gpu1";
	patch(w, "c", "{\"status\":{\"containerStatuses\":[{\"ready\":true}]}}");
	run(w, 100);
	fixture_expect(&w->reader, "~u2 b=\n~u3 c=gpu0,gpu1\n");
	assert_int_equal(w->kubelet.get_calls, 1);
}

static void the_same_name_again_is_another_pod(void **state)
{
	struct world *w = *state;

	begin(w);
	delete_pod(w, "a");
	add_pod(w, "a", "u3", "Pending");
	run(w, 200);
	fixture_expect(&w->reader, ""); /* the kubelet still has the first one */
	w->kubelet.list = "a=gpu2 b=gpu1";
	run(w, 500);
	fixture_expect(&w->reader, "-u1 a\n+u3 a=gpu2\n");
}

static void allocatable_follows_the_node(void **state)
{
	struct world *w = *state;
	int64_t before;

	begin(w);
	before = podres_revision(w->book);
	w->kubelet.memory = 50;
	assert_int_equal(fakeapi_call(w->api, "PATCH", "/api/v1/nodes/n1",
				      STR("{\"status\":{\"capacity\":{\"cpu\":\"8\"}}}"), NULL),
			 200);
	run(w, 60);
	assert_int_equal(w->kubelet.allocatables, 2);
	assert_int_equal(w->kubelet.lists, 1);
	assert_true(podres_revision(w->book) > before);
}

/* A reader gets the new allocatable before it sees a new device in use. */
static void devices_that_the_node_has_got_are_told_before_their_pods(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;
	struct bytes *told;
	int64_t before;

	w->kubelet.gpus = 2;
	begin(w);
	before = podres_revision(w->book);
	podres_begin(w->book, &c, PODRES_ALLOCATABLE, false, before);
	w->kubelet.gpus = 4;
	w->kubelet.list = "a=gpu0 b=gpu1 c=gpu3";
	add_pod(w, "c", "u3", "Running");
	run(w, 100);
	fixture_expect(&w->reader, "+u3 c=gpu3\n");
	assert_int_equal(w->kubelet.allocatables, 2);
	told = podres_read(w->book, &c);
	assert_non_null(told);
	bytes_unref(told);
	assert_true(c.at < w->reader.cursor.at);
	/*
	 * A device that is never allocatable (it fails) is reported nevertheless, after one extra
	 * call.
	 */
	w->kubelet.list = "a=gpu0 b=gpu1 c=gpu3,gpu9";
	patch(w, "c", "{\"status\":{\"containerStatuses\":[{\"ready\":true}]}}");
	run(w, 100);
	fixture_expect(&w->reader, "~u3 c=gpu3,gpu9\n");
	assert_int_equal(w->kubelet.allocatables, 3);
	assert_int_equal(w->kubelet.lists, 1);
}

/* --- behaviour of kubelets -------------------------------------------------------------------- */

static void a_torn_list_is_asked_for_again(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.list = "a=gpu0 b=gpu0";
	delete_pod(w, "a");
	run(w, 150);
	fixture_expect(&w->reader, "");
	w->kubelet.list = "b=gpu0";
	run(w, 1000);
	fixture_expect(&w->reader, "-u1 a\n~u2 b=\n~u2 b=gpu0\n");
	expect_metric(w, "devplane_attach_torn_answers_total ");
	expect_ready(w);
}

static void a_kubelet_that_refuses_is_asked_later(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.exhausted = 6;
	w->kubelet.list = "a=gpu0";
	delete_pod(w, "b");
	run(w, 3000);
	fixture_expect(&w->reader, "");
	expect_behind(w, "changes wait for the kubelet's answer: List: ");
	expect_metric(w, "devplane_attach_behind 1\n");
	assert_in_range(w->kubelet.lists, 5, 7);
	run(w, 10 * 1000);
	fixture_expect(&w->reader, "-u2 b\n");
	expect_ready(w);
	expect_metric(w, "devplane_attach_behind 0\n");
	expect_metric(w, "{method=\"List\",code=\"RESOURCE_EXHAUSTED\"} 6\n");
}

static void a_kubelet_that_does_not_answer_is_said_to_be_silent(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.hang = true;
	run(w, 3 * IDLE_MS + NOW_MS);
	expect_behind(w, "behind for ");
	w->kubelet.hang = false;
	run(w, 20 * 1000);
	expect_ready(w);
	fixture_expect(&w->reader, "");
}

static void a_restarted_kubelet_that_shows_nothing_yet_takes_nothing_away(void **state)
{
	struct world *w = *state;
	struct error err;

	begin(w);
	assert_int_equal(attach_check_socket(w->attach, NULL), 0);
	kubelet_crash(w);
	run(w, 5000);
	expect_behind(w, "changes wait");
	assert_int_equal(attach_check_socket(w->attach, &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "not connected to " SOCKET ": "));
	w->kubelet.list = "";
	kubelet_begin(w);
	run(w, 1500);
	assert_int_equal(attach_check_socket(w->attach, NULL), 0);
	fixture_expect(&w->reader, "");
	w->kubelet.list = "b=gpu0"; /* it gave the other's device away meanwhile */
	run(w, 2000);
	fixture_expect(&w->reader, "~u2 b=\n~u1 a=\n~u2 b=gpu0\n");
	w->kubelet.list = "a=gpu1 b=gpu0";
	run(w, 4000);
	fixture_expect(&w->reader, "~u1 a=gpu1\n");
	expect_ready(w);
}

static void a_pod_that_the_kubelet_has_no_more_goes_after_the_grace(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.list = "a=gpu0";
	run(w, IDLE_MS + 9000);
	fixture_expect(&w->reader, "");
	run(w, 6000);
	fixture_expect(&w->reader, "-u2 b\n");
}

static void without_get_list_does(void **state)
{
	struct world *w = *state;

	w->kubelet.no_get = true;
	begin(w);
	add_pod(w, "c", "u3", "Running");
	w->kubelet.list = "a=gpu0 b=gpu1 c=gpu2";
	run(w, 100);
	fixture_expect(&w->reader, "+u3 c=gpu2\n");
	patch(w, "c", "{\"status\":{\"containerStatuses\":[{\"ready\":true}]}}");
	run(w, 100);
	assert_int_equal(w->kubelet.get_calls, 1);
	assert_int_equal(w->kubelet.lists, 3);
	expect_ready(w);
}

static void without_allocatable_pods_are_followed_all_the_same(void **state)
{
	struct world *w = *state;

	w->kubelet.no_allocatable = true;
	begin(w);
	run(w, 5000);
	assert_int_equal(w->kubelet.allocatables, 1);
	expect_ready(w);
}

static void pods_that_the_api_does_not_show_are_said(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.list = "a=gpu0 b=gpu1 static=gpu2";
	run(w, IDLE_MS + 3000);
	expect_behind(w, "the kubelet has pods that the API does not show");
	add_pod(w, "static", "u9", "Running");
	run(w, 200);
	fixture_expect(&w->reader, "+u9 static=gpu2\n");
	expect_ready(w);
}

static void without_a_kubelet_it_waits_and_says_so(void **state)
{
	struct world *w = *state;

	kubelet_crash(w);
	add_pod(w, "a", "u1", "Running");
	start(w);
	expect_behind(w, "the pods of this node are not known yet");
	run(w, 5000);
	expect_behind(w, "the kubelet has not listed its pods yet");
	w->kubelet.list = "a=gpu0";
	kubelet_begin(w);
	run(w, 1500);
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
	expect_ready(w);
}

static void a_change_that_was_missed_is_found_by_the_next_look(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kubelet.list = "a=gpu0,#1 b=gpu1";
	run(w, IDLE_MS);
	fixture_expect(&w->reader, "~u1 a=gpu0,#1\n");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_state_is_told),
		TEST(little_is_asked_while_nothing_happens),
		TEST(a_pod_is_followed_from_its_coming_to_its_end),
		TEST(a_release_is_told_before_the_reuse),
		TEST(the_same_name_again_is_another_pod),
		TEST(allocatable_follows_the_node),
		TEST(devices_that_the_node_has_got_are_told_before_their_pods),
		TEST(a_torn_list_is_asked_for_again),
		TEST(a_kubelet_that_refuses_is_asked_later),
		TEST(a_kubelet_that_does_not_answer_is_said_to_be_silent),
		TEST(a_restarted_kubelet_that_shows_nothing_yet_takes_nothing_away),
		TEST(a_pod_that_the_kubelet_has_no_more_goes_after_the_grace),
		TEST(without_get_list_does),
		TEST(without_allocatable_pods_are_followed_all_the_same),
		TEST(pods_that_the_api_does_not_show_are_said),
		TEST(without_a_kubelet_it_waits_and_says_so),
		TEST(a_change_that_was_missed_is_found_by_the_next_look),
	};

	return cmocka_run_group_tests_name("node/attach", tests, NULL, NULL);
}
