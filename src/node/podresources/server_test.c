/*
 * The server with a book and our own gRPC client in a simulated world; the socket's file and the
 * identity of its peers in the real one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/sim/sim.h"
#include "node/book/methods.h"
#include "node/node_limits.h"
#include "node/podresources/world.h"

static int set_up_as(void **state, bool simulated)
{
	struct podres_world *w = XNEW(struct podres_world);

	podres_world_init(w, simulated);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_as(state, true);
}

static int set_up_real(void **state)
{
	return set_up_as(state, false);
}

static int tear_down(void **state)
{
	podres_world_release(*state);
	free(*state);
	return 0;
}

static const Podresources__ListRequest list_request = PODRESOURCES__LIST_REQUEST__INIT;
static const Podresources__AllocatableRequest allocatable_request =
	PODRESOURCES__ALLOCATABLE_REQUEST__INIT;

static void podres_world_list(struct podres_world *w, struct podres_answer *ret_answer)
{
	podres_world_call(w, &podres_method_list, &list_request.base, ret_answer);
}

static int open_watches(struct podres_world *w)
{
	return (int)podres_world_value(w,
				       "devplane_pod_resources_streams{method=\"ListAndWatch\"} ");
}

/* --- replies ------------------------------------------------------------------------- */

static void each_call_answers_from_the_book(void **state)
{
	struct podres_world *w = *state;
	struct podres_answer a;

	podres_world_start(w);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	assert_string_equal(a.text, "");
	podres_world_set_pod(w, "a", "gpu");
	podres_world_set_pod(w, "b", "npu");
	podres_world_set_cpus(w, 4);
	podres_world_list(w, &a);
	assert_string_equal(a.text, "default/a:gpu0 default/b:npu0 ");
	assert_int_equal(a.revision, podres_revision(w->book));
	podres_world_call(w, &podres_method_list_alpha, &list_request.base, &a);
	assert_string_equal(a.text, "default/a:gpu0 default/b:npu0 ");
	podres_world_call(w, &podres_method_allocatable, &allocatable_request.base, &a);
	assert_string_equal(a.text, "4 cpus");
	podres_world_get(w, "default", "b", &a);
	assert_string_equal(a.text, "default/b:npu0 ");
	podres_world_get(w, "kube-system", "b", &a);
	assert_int_equal(a.code, GRPC_UNKNOWN);
	assert_string_equal(a.message, "pod b in namespace kube-system not found");
}

static void six_cpus(void *arg)
{
	podres_world_set_cpus(arg, 6);
}

static void a_change_that_waits_is_applied_before_allocatable_is_read(void **state)
{
	struct podres_world *w = *state;
	struct podres_answer a;

	podres_world_start(w);
	podres_world_set_cpus(w, 4);
	podres_on_refresh(w->book, six_cpus, w);
	podres_world_call(w, &podres_method_allocatable, &allocatable_request.base, &a);
	assert_string_equal(a.text, "6 cpus");
}

static void counts_have_a_kubelets_names_and_the_keps(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z;
	struct podres_answer a;

	podres_world_start(w);
	podres_world_list(w, &a);
	podres_world_list(w, &a);
	podres_world_call(w, &podres_method_list_alpha, &list_request.base, &a);
	podres_world_call(w, &podres_method_allocatable, &allocatable_request.base, &a);
	podres_world_get(w, "default", "x", &a);
	podres_seen_open(w, &podres_method_watch, false, 0, &z);
#define V1          "{server_api_version=\"v1\"} "
#define COUNT(name) ((int)podres_world_value(w, "kubelet_pod_resources_endpoint_" name V1))
	assert_int_equal(COUNT("requests_total"), 5);
	assert_int_equal(COUNT("requests_list"), 2);
	assert_int_equal(COUNT("requests_get"), 1);
	assert_int_equal(COUNT("requests_get_allocatable"), 1);
	assert_int_equal(COUNT("requests_list_and_watch"), 1);
	assert_int_equal(COUNT("requests_list_and_watch_allocatable_resources"), 0);
	assert_int_equal(COUNT("errors_list"), 0);
	assert_int_equal(COUNT("errors_get"), 1);
	assert_int_equal(COUNT("errors_get_allocatable"), 0);
	assert_int_equal(COUNT("errors_list_and_watch"), 0);
	assert_int_equal(COUNT("errors_list_and_watch_allocatable_resources"), 0);
	assert_int_equal((int)podres_world_value(w, "kubelet_pod_resources_endpoint_requests_total"
						    "{server_api_version=\"v1alpha1\"} "),
			 1);
	assert_int_equal((int)podres_world_value(w, "pod_resources_endpoint_requests_total" V1), 5);
	assert_int_equal((int)podres_world_value(w, "pod_resources_endpoint_errors_get" V1), 1);
	assert_int_equal(open_watches(w), 1);
	podres_world_set_pod(w, "a", "gpu");
	podres_seen_expect(w, &z, "ADDED a:gpu0 ");
	assert_int_equal((int)podres_world_value(w, "devplane_pod_resources_events_total "), 1);
	podres_seen_close(&z);
	podres_world_settle(w);
	assert_int_equal(open_watches(w), 0);
}

static void without_the_gate_only_the_watches_are_missing(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z;
	struct podres_answer a;

	w->opts.watch = false;
	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	podres_world_run_until(w, podres_seen_has_ended, &z);
	assert_int_equal(z.code, GRPC_UNIMPLEMENTED);
	assert_non_null(strstr(z.message, "KubeletPodResourcesWatch"));
	podres_seen_open(w, &podres_method_watch_allocatable, true, 0, &z);
	podres_world_run_until(w, podres_seen_has_ended, &z);
	assert_int_equal(z.code, GRPC_UNIMPLEMENTED);
	assert_int_equal(COUNT("errors_list_and_watch"), 1);
	assert_int_equal(COUNT("errors_list_and_watch_allocatable_resources"), 1);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
}

/* --- watching ------------------------------------------------------------------------ */

static void a_watch_tells_what_changes_from_its_head_on(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z, y;

	podres_world_start(w);
	podres_world_set_pod(w, "a", "gpu");
	podres_seen_open(w, &podres_method_watch, false, 0, &z);
	podres_seen_open(w, &podres_method_watch_allocatable, false, 0, &y);
	assert_int_equal(z.messages, 0);
	podres_world_set_pod(w, "b", "npu");
	podres_world_drop_pod(w, "a");
	podres_seen_expect(w, &z, "ADDED b:npu0 DELETED a ");
	podres_world_set_cpus(w, 4);
	podres_seen_expect(w, &y, "ADDED 4 cpus ");
	podres_world_set_pod(w, "c", "gpu");
	podres_seen_expect(w, &z, "ADDED c:gpu0 ");
	assert_int_equal(y.messages, 1);
	podres_seen_close(&z);
	podres_seen_close(&y);
}

static void a_watch_may_begin_with_everything_or_where_it_was(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z;
	int64_t before;

	podres_world_start(w);
	podres_world_set_pod(w, "a", "gpu");
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	podres_seen_expect(w, &z, "ADDED a:gpu0 END ");
	before = z.revision;
	podres_world_set_pod(w, "b", "npu");
	podres_seen_expect(w, &z, "ADDED b:npu0 ");
	podres_seen_close(&z);
	podres_seen_open(w, &podres_method_watch, false, before, &z);
	podres_seen_expect(w, &z, "ADDED b:npu0 ");
	podres_seen_close(&z);
	/* Another process issued that revision: the full state again, after a reset. */
	podres_seen_open(w, &podres_method_watch, false, PODRES_WORLD_EPOCH - 100, &z);
	podres_world_settle(w);
	podres_seen_expect(w, &z, "RESET ADDED a:gpu0 ADDED b:npu0 END ");
	podres_seen_close(&z);
}

/* Changes with more bytes than a stream and its window hold. */
static void churn(struct podres_world *w, unsigned from, unsigned n)
{
	char name[32], device[16];

	for (unsigned i = from; i < from + n; i++) {
		(void)snprintf(name, sizeof(name), "p%u", i % 40);
		(void)snprintf(device, sizeof(device), "d%03u", i % 1000);
		podres_world_set_padded(w, name, device, PODRES_WORLD_PAD);
	}
}

static void a_slow_reader_is_caught_up_and_delays_nobody(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen slow, fast;

	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, true, 0, &slow);
	podres_seen_open(w, &podres_method_watch, true, 0, &fast);
	podres_world_settle(w);
	grpc_call_pause(slow.call);
	for (unsigned i = 0; i < 100; i++) {
		churn(w, i * 20, 20);
		podres_seen_catch_up(w, &fast);
	}
	/* A pod that exchanges one device for another causes two events. */
	assert_in_range(fast.messages, 2000, 4000);
	assert_in_range(slow.messages, 0, 100);
	sim_run_for(w->sim, 2000);
	assert_true(podres_world_value(w, "devplane_pod_resources_backlog ") > 100);
	grpc_call_resume(slow.call);
	podres_seen_catch_up(w, &slow);
	assert_false(slow.ended);
	assert_in_range(slow.messages, 41, 1500);
	sim_run_for(w->sim, 2000);
	assert_int_equal((int)podres_world_value(w, "devplane_pod_resources_backlog "), 0);
	podres_seen_close(&slow);
	podres_seen_close(&fast);
}

static void a_reader_that_knows_only_the_kep_is_told_that_it_lost(void **state)
{
	struct podres_world *w = *state;
	char name[32];
	struct podres_seen z;

	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, false, 0, &z);
	grpc_call_pause(z.call);
	for (unsigned i = 0; i < 3 * PODRES_GONE_MAX; i++) {
		(void)snprintf(name, sizeof(name), "p%u", i);
		podres_world_set_padded(w, name, "gpu", PODRES_WORLD_PAD);
		podres_world_drop_pod(w, name);
		if (i % 50 == 0)
			podres_world_settle(w);
	}
	grpc_call_resume(z.call);
	podres_world_run_until(w, podres_seen_has_ended, &z);
	assert_int_equal(z.code, GRPC_OUT_OF_RANGE);
	assert_non_null(strstr(z.message, "List"));
	assert_int_equal(COUNT("errors_list_and_watch"), 1);
	podres_seen_close(&z);
}

static void thousands_of_watches_share_a_connection_with_calls(void **state)
{
	enum { N = 2000, MOST = 2048 };
	struct podres_world *w = *state;
	struct podres_seen *z = xcalloc(MOST + 1, sizeof(*z));
	Podresources__WatchRequest request = PODRESOURCES__WATCH_REQUEST__INIT;
	struct podres_answer a;

	w->opts.limits = podres_limits_default;
	w->opts.limits.calls_per_s = 0;
	podres_world_start(w);
	for (int i = 0; i < N; i++)
		podres_seen_send(w->channel, &podres_method_watch, &request, NULL, &z[i]);
	for (int i = 0; i < N; i++)
		podres_world_run_until(w, podres_seen_is_open, &z[i]);
	assert_int_equal(open_watches(w), N);
	podres_world_set_pod(w, "a", "gpu");
	podres_world_list(w, &a);
	assert_string_equal(a.text, "default/a:gpu0 ");
	for (int i = 0; i < N; i++)
		podres_seen_expect(w, &z[i], "ADDED a:gpu0 ");
	assert_int_equal((int)podres_world_value(w, "devplane_pod_resources_events_total "), N);
	/* As many as one process may have. */
	for (int i = N; i < MOST; i++) {
		podres_seen_open(w, &podres_method_watch, false, 0, &z[i]);
		assert_false(z[i].ended);
	}
	podres_seen_open(w, &podres_method_watch, false, 0, &z[MOST]);
	podres_world_run_until(w, podres_seen_has_ended, &z[MOST]);
	assert_int_equal(z[MOST].code, GRPC_RESOURCE_EXHAUSTED);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	grpc_channel_free(TAKE(w->channel));
	podres_world_settle(w);
	assert_int_equal(open_watches(w), 0);
	for (int i = 0; i <= MOST; i++)
		podres_seen_close(&z[i]);
	free(z);
}

/* --- before there is a state ----------------------------------------------------------- */

static void calls_wait_until_there_is_something_to_tell(void **state)
{
	struct podres_world *w = *state;
	Podresources__WatchRequest all = PODRESOURCES__WATCH_REQUEST__INIT;
	struct podres_answer a;
	struct podres_seen z[3];

	all.send_initial = true;
	w->opts.waits = true;
	podres_world_start(w);
	podres_seen_send(w->channel, &podres_method_watch, &all, NULL, &z[0]);
	podres_seen_send(w->channel, &podres_method_watch, &all, NULL, &z[1]);
	podres_seen_send(w->channel, &podres_method_watch_allocatable, &all, NULL, &z[2]);
	podres_world_settle(w);
	assert_false(podres_seen_is_open(&z[0]));
	/* One of them does not wait for it. */
	podres_seen_close(&z[1]);
	podres_world_settle(w);
	podres_server_begin(w->server);
	podres_server_begin(w->server);
	podres_world_run_until(w, podres_seen_is_open, &z[0]);
	podres_world_run_until(w, podres_seen_is_open, &z[2]);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(COUNT("requests_total"), 3);
	podres_seen_close(&z[0]);
	podres_seen_close(&z[2]);
}

static void calls_that_wait_are_told_when_the_agent_stops(void **state)
{
	struct podres_world *w = *state;
	Podresources__WatchRequest all = PODRESOURCES__WATCH_REQUEST__INIT;
	struct podres_seen z;

	all.send_initial = true;
	w->opts.waits = true;
	podres_world_start(w);
	podres_seen_send(w->channel, &podres_method_watch, &all, NULL, &z);
	podres_world_settle(w);
	podres_server_free(TAKE(w->server));
	podres_world_run_until(w, podres_seen_has_ended, &z);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	podres_seen_close(&z);
}

/* --- limits -------------------------------------------------------------------------- */

static void calls_beyond_the_rate_are_refused_as_a_kubelet_does(void **state)
{
	struct podres_world *w = *state;
	struct podres_answer a;
	struct podres_seen z;

	w->opts.limits = (struct podres_limits){ .calls_per_s = 0.001, .burst = 2 };
	podres_world_start(w);
	podres_world_list(w, &a);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_RESOURCE_EXHAUSTED);
	assert_string_equal(a.message, "rejected by rate limit");
	/* Watches have their own limit. */
	podres_seen_open(w, &podres_method_watch, false, 0, &z);
	podres_world_run_until(w, podres_seen_is_open, &z);
	assert_int_equal((int)podres_world_value(
				 w, "devplane_pod_resources_refused_total{reason=\"rate\"} "),
			 1);
	assert_int_equal(COUNT("requests_total"), 3);
	podres_seen_close(&z);
}

static void a_watch_that_ended_makes_room_for_another(void **state)
{
	struct podres_world *w = *state;
	struct grpc_call_opts brief = { .deadline_ms = 5000 };
	Podresources__WatchRequest request = PODRESOURCES__WATCH_REQUEST__INIT;
	struct podres_seen z[3];

	w->opts.limits = (struct podres_limits){ .client_streams = 2 };
	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, false, 0, &z[0]);
	podres_seen_send(w->channel, &podres_method_watch_allocatable, &request, &brief, &z[1]);
	podres_world_run_until(w, podres_seen_is_open, &z[1]);
	podres_seen_open(w, &podres_method_watch, false, 0, &z[2]);
	podres_world_run_until(w, podres_seen_has_ended, &z[2]);
	assert_int_equal(z[2].code, GRPC_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(z[2].message, "--pod-resources-client-streams"));
	/* One by its deadline, then one by its client. */
	podres_world_run_until(w, podres_seen_has_ended, &z[1]);
	assert_int_equal(z[1].code, GRPC_DEADLINE_EXCEEDED);
	podres_world_settle(w);
	podres_seen_open(w, &podres_method_watch, false, 0, &z[1]);
	assert_false(z[1].ended);
	podres_seen_close(&z[0]);
	podres_world_settle(w);
	podres_seen_open(w, &podres_method_watch, false, 0, &z[0]);
	assert_false(z[0].ended);
	podres_seen_close(&z[0]);
	podres_seen_close(&z[1]);
}

/* --- ends ---------------------------------------------------------------------------- */

static void watches_are_told_when_the_agent_stops(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z, y;

	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	podres_seen_open(w, &podres_method_watch_allocatable, true, 0, &y);
	podres_world_settle(w);
	podres_world_stop(w);
	podres_world_settle(w);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_string_equal(z.message, "the agent is stopping");
	assert_int_equal(y.code, GRPC_UNAVAILABLE);
	assert_int_equal(open_watches(w), 0);
	podres_seen_close(&z);
	podres_seen_close(&y);
	/* The book may change, and another server may serve it. */
	podres_world_set_pod(w, "a", "gpu");
	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	podres_seen_expect(w, &z, "ADDED a:gpu0 END ");
	podres_seen_close(&z);
}

static void one_that_never_reads_does_not_keep_the_agent(void **state)
{
	struct podres_world *w = *state;
	struct podres_seen z;

	podres_world_start(w);
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	grpc_call_pause(z.call);
	for (unsigned i = 0; i < 20; i++) {
		churn(w, i * 20, 20);
		podres_world_settle(w);
	}
	podres_world_stop(w);
	podres_world_settle(w);
	grpc_call_resume(z.call);
	podres_world_settle(w);
	assert_true(z.ended);
	podres_seen_close(&z);
}

static void a_client_that_dies_leaves_nothing(void **state)
{
	struct podres_world *w = *state;
	struct loop *client = w->client_loop, *other = sim_loop_new(w->sim, "other");
	struct grpc_channel *kept;
	struct podres_answer a;
	struct podres_seen z;

	podres_world_start(w);
	kept = w->channel;
	w->client_loop = other;
	w->channel = podres_world_connect(w);
	w->client_loop = client;
	podres_seen_open(w, &podres_method_watch, true, 0, &z);
	assert_int_equal(open_watches(w), 1);
	sim_loop_crash(other, SIM_CRASH_PROCESS);
	for (unsigned i = 0; i < 20; i++) {
		churn(w, i * 20, 20);
		podres_world_settle(w);
	}
	assert_int_equal(open_watches(w), 0);
	grpc_channel_free(w->channel);
	sim_loop_bury(other);
	loop_free(other);
	w->channel = kept;
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	podres_seen_close(&z);
}

/* --- the socket ---------------------------------------------------------------------- */

static bool is_there(void *arg)
{
	struct stat st;

	return stat(arg, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void the_socket_is_for_its_owner_and_comes_back(void **state)
{
	struct podres_world *w = *state;
	struct grpc_channel *first;
	struct podres_seen z, y;
	struct stat st;

	podres_world_start(w);
	first = w->channel;
	podres_seen_open(w, &podres_method_watch, false, 0, &z);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(unlink(w->path), 0);
	podres_world_run_until(w, is_there, w->path);
	w->channel = podres_world_connect(w);
	podres_seen_open(w, &podres_method_watch, false, 0, &y);
	/* Existing clients continue, too. */
	podres_world_set_pod(w, "a", "gpu");
	podres_seen_expect(w, &z, "ADDED a:gpu0 ");
	podres_seen_expect(w, &y, "ADDED a:gpu0 ");
	podres_seen_close(&z);
	podres_seen_close(&y);
	grpc_channel_free(first);
}

static void mode_and_group_of_the_socket_can_be_chosen(void **state)
{
	struct podres_world *w = *state;
	struct stat st;

	w->opts.mode = 0660;
	w->opts.group = getgid();
	podres_world_start(w);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, getgid());
	/* Only root can set another group. */
	podres_world_stop(w);
	if (getuid() != 0)
		return;
	w->opts.group = 12345;
	podres_world_start(w);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_gid, 12345);
}

static void a_path_that_is_somebody_elses_is_refused(void **state)
{
	struct podres_world *w = *state;
	struct podres_server *second;
	struct error err;

	podres_world_start(w);
	assert_int_equal(podres_server_new(&w->opts, &second, &err), -ERR_ALREADY_EXISTS);
	assert_non_null(strstr(err.msg, "in use"));
}

static void the_kernel_says_who_calls(void **state)
{
	struct podres_world *w = *state;
	struct grpc_channel *first;
	struct podres_answer a;

	/* Both connections belong to this process. */
	w->opts.limits = (struct podres_limits){ .calls_per_s = 0.001, .burst = 2 };
	podres_world_start(w);
	podres_world_list(w, &a);
	first = TAKE(w->channel);
	w->channel = podres_world_connect(w);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_OK);
	podres_world_list(w, &a);
	assert_int_equal(a.code, GRPC_RESOURCE_EXHAUSTED);
	grpc_channel_free(first);
}

#define SIMULATED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define REAL(test)      cmocka_unit_test_setup_teardown(test, set_up_real, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SIMULATED(each_call_answers_from_the_book),
		SIMULATED(a_change_that_waits_is_applied_before_allocatable_is_read),
		SIMULATED(counts_have_a_kubelets_names_and_the_keps),
		SIMULATED(without_the_gate_only_the_watches_are_missing),
		SIMULATED(a_watch_tells_what_changes_from_its_head_on),
		SIMULATED(a_watch_may_begin_with_everything_or_where_it_was),
		SIMULATED(a_slow_reader_is_caught_up_and_delays_nobody),
		SIMULATED(a_reader_that_knows_only_the_kep_is_told_that_it_lost),
		SIMULATED(thousands_of_watches_share_a_connection_with_calls),
		SIMULATED(calls_wait_until_there_is_something_to_tell),
		SIMULATED(calls_that_wait_are_told_when_the_agent_stops),
		SIMULATED(calls_beyond_the_rate_are_refused_as_a_kubelet_does),
		SIMULATED(a_watch_that_ended_makes_room_for_another),
		SIMULATED(watches_are_told_when_the_agent_stops),
		SIMULATED(one_that_never_reads_does_not_keep_the_agent),
		SIMULATED(a_client_that_dies_leaves_nothing),
		REAL(the_socket_is_for_its_owner_and_comes_back),
		REAL(mode_and_group_of_the_socket_can_be_chosen),
		REAL(a_path_that_is_somebody_elses_is_refused),
		REAL(the_kernel_says_who_calls),
	};

	return cmocka_run_group_tests_name("node/podres_server", tests, NULL, NULL);
}
