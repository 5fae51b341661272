/*
 * One worker in a simulated world: a hollow runtime that can hang or fail, an API server in memory,
 * no plugins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/testing/fakeapi_world.h"
#include "net/sim/sim.h"
#include "node/claims/claims.h"
#include "node/health/health.h"
#include "node/probes/probes.h"
#include "node/registration/object.h"
#include "node/runtime/hollow.h"
#include "node/sources/sources.h"
#include "node/status/device_events.h"
#include "node/status/writer.h"
#include "node/worker/worker_impl.h"

#define UID "u-1"

struct world {
	struct sim *sim;
	struct fakeapi *api;
	struct machine machine;
	struct worker_host host;
	struct client *client;
	struct gates gates;
	struct runtime runtime, *hollow;
	struct worker *worker; /* NULL: freed */
	/* The runtime's lists, as the agent keeps them. */
	struct loop_task list_task, save_task;
	bool listing, list_again;
	uint64_t looks;
	/* A callback that waits for the disk. */
	void (*saved)(void *arg, const struct error *err);
	void *saved_arg;
	/* Calls of the runtime, and its behaviour. */
	unsigned pulls, stops, stop_sandboxes, starts;
	int64_t grace_s; /* of the last stop */
	bool hold_pulls, hold_stops, fail_stops, no_images;
	bool settling;
	bool recovering; /* plugins may still come back */
	runtime_id_done *pulled;
	void *pulled_arg;
	runtime_done *stopped[8];
	void *stopped_arg[8];
	struct loop_timer fail_timer;
};

/* --- a runtime ------------------------------------------------------------------------------- */

static struct world *world_of(struct runtime *r)
{
	return CONTAINER_OF(r, struct world, runtime);
}

static void list_pods(struct runtime *r, runtime_pods_done *done, void *arg)
{
	struct runtime *h = world_of(r)->hollow;

	h->ops->list(h, done, arg);
}

static void run_sandbox(struct runtime *r, const struct sandbox_spec *spec, runtime_id_done *done,
			void *arg)
{
	struct runtime *h = world_of(r)->hollow;

	h->ops->run_sandbox(h, spec, done, arg);
}

static void stop_sandbox(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct world *t = world_of(r);

	t->stop_sandboxes++;
	t->hollow->ops->stop_sandbox(t->hollow, id, done, arg);
}

static void remove_sandbox(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct runtime *h = world_of(r)->hollow;

	h->ops->remove_sandbox(h, id, done, arg);
}

static void image(struct runtime *r, struct str name, runtime_image_done *done, void *arg)
{
	struct world *t = world_of(r);

	t->hollow->ops->image(t->hollow, t->no_images ? STR("") : name, done, arg);
}

static void pull(struct runtime *r, struct str name, const struct runtime_auth *auth,
		 const struct sandbox_spec *sandbox, runtime_id_done *done, void *arg)
{
	struct world *t = world_of(r);

	t->pulls++;
	if (!t->hold_pulls) {
		t->hollow->ops->pull(t->hollow, name, auth, sandbox, done, arg);
		return;
	}
	t->pulled = done;
	t->pulled_arg = arg;
}

static void create(struct runtime *r, struct str id, const struct sandbox_spec *sandbox,
		   const struct container_spec *spec, runtime_id_done *done, void *arg)
{
	struct runtime *h = world_of(r)->hollow;

	h->ops->create(h, id, sandbox, spec, done, arg);
}

static void start(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct world *t = world_of(r);

	t->starts++;
	t->hollow->ops->start(t->hollow, id, done, arg);
}

static void on_fail(struct loop_timer *timer)
{
	struct world *t = CONTAINER_OF(timer, struct world, fail_timer);
	struct error err;

	(void)error_set(&err, ERR_INTERNAL, "cannot be stopped");
	t->stopped[0](t->stopped_arg[0], &err);
}

static void stop(struct runtime *r, struct str id, int64_t grace_s, runtime_done *done, void *arg)
{
	struct world *t = world_of(r);

	t->grace_s = grace_s;
	if (t->hold_stops) {
		t->stopped[t->stops] = done;
		t->stopped_arg[t->stops++] = arg;
	} else if (t->fail_stops) {
		t->stops++;
		t->stopped[0] = done;
		t->stopped_arg[0] = arg;
		loop_timer_start(&t->fail_timer, 1);
	} else {
		t->stops++;
		t->hollow->ops->stop(t->hollow, id, grace_s, done, arg);
	}
}

static void remove_container(struct runtime *r, struct str id, runtime_done *done, void *arg)
{
	struct runtime *h = world_of(r)->hollow;

	h->ops->remove(h, id, done, arg);
}

static const struct runtime_ops ops = {
	.list = list_pods,
	.run_sandbox = run_sandbox,
	.stop_sandbox = stop_sandbox,
	.remove_sandbox = remove_sandbox,
	.image = image,
	.pull = pull,
	.create = create,
	.start = start,
	.stop = stop,
	.remove = remove_container,
};

/* --- an agent -------------------------------------------------------------------------------- */

static uint64_t relist(void *arg)
{
	struct world *t = arg;

	if (t->listing)
		t->list_again = true;
	else
		loop_defer(t->host.loop, &t->list_task);
	return t->looks + 1;
}

static void on_list(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct world *t = arg;
	const struct runtime_pod *seen = NULL;

	assert_null(err);
	for (size_t i = 0; i < pods->n; i++) {
		if (str_eqz(pods->v[i].uid, UID))
			seen = &pods->v[i];
	}
	t->listing = false;
	if (t->worker)
		worker_seen(t->worker, seen, t->looks);
	if (t->list_again)
		(void)relist(t);
}

static void on_list_task(struct loop_task *task)
{
	struct world *t = CONTAINER_OF(task, struct world, list_task);

	t->list_again = false;
	t->listing = true;
	t->looks++;
	t->runtime.ops->list(&t->runtime, on_list, t);
}

static void on_change(void *arg, struct str pod_uid)
{
	(void)pod_uid;
	(void)relist(arg);
}

static void on_save_task(struct loop_task *task)
{
	struct world *t = CONTAINER_OF(task, struct world, save_task);
	void (*done)(void *arg, const struct error *err) = t->saved;

	t->saved = NULL;
	done(t->saved_arg, NULL);
}

static void save(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg)
{
	struct world *t = arg;

	assert_null(t->saved);
	t->saved = done;
	t->saved_arg = done_arg;
	loop_defer(t->host.loop, &t->save_task);
}

static int fits(void *arg, const struct pod *pod, char *ret_reason, struct error *err)
{
	(void)arg, (void)pod, (void)ret_reason, (void)err;
	return 0;
}

static bool recovering(void *arg)
{
	return ((struct world *)arg)->recovering;
}

static bool settling(void *arg, struct str resource)
{
	(void)resource;
	return ((struct world *)arg)->settling;
}

static void over(void *arg, struct worker *w)
{
	struct world *t = arg;

	assert_ptr_equal(t->worker, w);
	worker_free(w);
	t->worker = NULL;
}

static bool pod_active(void *arg, struct str pod_uid)
{
	(void)arg, (void)pod_uid;
	return true;
}

static bool has_driver(const struct plugins *p, struct str driver)
{
	(void)p, (void)driver;
	return true;
}

static const struct claims_drivers drivers = { .has = has_driver };

/* --- the world ------------------------------------------------------------------------------- */

static void make_parts(struct world *t)
{
	struct worker_host *h = &t->host;
	struct loop *l = h->loop;

	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &t->machine }, &h->assign, NULL), 0);
	h->recorder = recorder_new(
		&(struct recorder_opts){ .client = t->client, .component = "kubelet" });
	assert_int_equal(node_object_new(&(struct node_object_opts){ .loop = l,
								     .client = t->client,
								     .recorder = h->recorder,
								     .name = "n1",
								     .node_ip = "10.1.2.3",
								     .machine = &t->machine,
								     .assign = h->assign },
					 &h->node, NULL),
			 0);
	h->health = health_new(&(struct health_opts){ 0 });
	h->events = device_events_new();
	h->sources = sources_new(&(struct sources_opts){ .loop = l });
	h->probes = probes_new(&(struct probes_opts){ .loop = l, .runtime = &t->runtime });
	h->writer = status_writer_new(
		&(struct status_writer_opts){ .loop = l, .client = t->client });
	h->claims = claims_new(&(struct claims_opts){ .loop = l,
						      .client = t->client,
						      .assign = h->assign,
						      .drivers = &drivers,
						      .save = save,
						      .pod_active = pod_active,
						      .arg = t });
}

static struct world *world_new(void)
{
	struct world *t = XNEW(struct world);
	struct loop *l;

	t->sim = sim_new(&(struct sim_opts){ .seed = 5 });
	t->api = fakeapi_new(t->sim, 5);
	l = sim_loop_new(t->sim, "node");
	t->client = fakeapi_client(t->api, l);
	gates_init(&t->gates);
	machine_make(&t->machine, 4, INT64_C(8) << 30, 1);
	t->hollow = runtime_hollow_new(l, 0);
	t->hollow->on_change = on_change;
	t->hollow->arg = t;
	t->runtime.ops = &ops;
	t->host = (struct worker_host){ .loop = l,
					.runtime = &t->runtime,
					.gates = &t->gates,
					.log = log_null(),
					.node_name = "n1",
					.id_prefix = STR("hollow"),
					.hollow = true,
					.save = save,
					.fits = fits,
					.relist = relist,
					.settling = settling,
					.recovering = recovering,
					.over = over,
					.arg = t };
	loop_task_init(&t->list_task, on_list_task);
	loop_task_init(&t->save_task, on_save_task);
	loop_timer_init(&t->fail_timer, l, on_fail);
	make_parts(t);
	return t;
}

static void world_free(struct world *t)
{
	struct worker_host *h = &t->host;

	claims_free(h->claims);
	probes_free(h->probes);
	sources_free(h->sources);
	runtime_free(t->hollow);
	loop_timer_stop(&t->fail_timer);
	loop_task_cancel(&t->list_task);
	loop_task_cancel(&t->save_task);
	worker_free(t->worker);
	status_writer_free(h->writer);
	node_object_free(h->node);
	recorder_free(h->recorder);
	device_events_free(h->events);
	health_free(h->health);
	assign_free(h->assign);
	client_free(t->client);
	sim_run_for(t->sim, 100);
	fakeapi_free(t->api);
	loop_free(h->loop);
	sim_free(t->sim);
	machine_release(&t->machine);
	free(t);
}

/* `deletion` and `spec` are further members of the object; or "". */
static struct pod *make_pod(const char *deletion, const char *spec)
{
	char text[1024];
	struct pod *p = NULL;

	(void)snprintf(text, sizeof(text),
		       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
		       "\"namespace\":\"default\",\"uid\":\"" UID "\"%s},\"spec\":{\"containers\":"
		       "[{\"name\":\"c\",\"image\":\"i:1\",\"imagePullPolicy\":\"Always\"}]%s}}",
		       deletion, spec);
	assert_int_equal(pod_parse(str_from(text), &p, NULL), 0);
	return p;
}

static void begin(struct world *t, const char *spec, bool admitted)
{
	CLEANUP(pod_unref) struct pod *p = make_pod("", spec);

	t->worker = worker_new(&t->host, p, admitted);
	(void)relist(t);
}

static void delete_pod(struct world *t, int grace_s, const char *spec)
{
	char deletion[128];
	CLEANUP(pod_unref) struct pod *p = NULL;

	(void)snprintf(deletion, sizeof(deletion),
		       ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\","
		       "\"deletionGracePeriodSeconds\":%d",
		       grace_s);
	p = make_pod(deletion, spec);
	worker_update(t->worker, p);
}

static bool is_running(void *arg)
{
	const struct world *t = arg;

	return t->worker->seen && t->worker->seen->ncontainers > 0 &&
	       t->worker->seen->containers[0].state == RUNTIME_RUNNING &&
	       list_empty(&t->worker->ops);
}

static bool is_pulling(void *arg)
{
	return ((struct world *)arg)->pulled != NULL;
}

static bool is_ended(void *arg)
{
	return ((struct world *)arg)->worker->step == WORKER_ENDED;
}

static bool is_over(void *arg)
{
	return !((struct world *)arg)->worker;
}

static bool is_busy_with_claims(void *arg)
{
	const struct worker *w = ((struct world *)arg)->worker;

	return w->step == WORKER_CLAIMS && w->busy && w->failures > 6;
}

#define UNTIL(t, what, ms) assert_true(sim_run_until((t)->sim, what, t, ms))

/* --- tests ----------------------------------------------------------------------------------- */

static void a_pod_starts_ends_and_is_forgotten(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	assert_int_equal(t->starts, 1);
	delete_pod(t, 30, "");
	UNTIL(t, is_ended, 1000);
	worker_gone(t->worker);
	UNTIL(t, is_over, 1000);
	world_free(t);
}

static void a_pull_that_never_ends_keeps_no_pod_from_its_end(void **state)
{
	struct world *t = world_new();
	struct error err;

	(void)state;
	t->hold_pulls = true;
	begin(t, "", false);
	UNTIL(t, is_pulling, 1000);
	delete_pod(t, 30, "");
	UNTIL(t, is_ended, 5000);
	assert_int_equal(t->starts, 0);
	worker_gone(t->worker);
	/* Its reply can still arrive. */
	sim_run_for(t->sim, 60000);
	assert_non_null(t->worker);
	(void)error_set(&err, ERR_TIMEOUT, "too slow");
	t->pulled(t->pulled_arg, STR_NULL, &err);
	UNTIL(t, is_over, 1000);
	assert_int_equal(t->starts, 0);
	world_free(t);
}

static void a_failed_stop_is_retried_with_back_off(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	t->fail_stops = true;
	delete_pod(t, 30, "");
	sim_run_for(t->sim, 60000);
	assert_in_range(t->stops, 4, 16);
	t->fail_stops = false;
	UNTIL(t, is_ended, 15000);
	world_free(t);
}

static void a_second_deletion_with_less_grace_counts_at_once(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	t->hold_stops = true;
	delete_pod(t, 600, "");
	sim_run_for(t->sim, 1000);
	assert_int_equal(t->stops, 1);
	assert_int_equal(t->grace_s, 600);
	t->hold_stops = false;
	delete_pod(t, 5, "");
	UNTIL(t, is_ended, 1000);
	assert_int_equal(t->stops, 2);
	assert_int_equal(t->grace_s, 5);
	/* The first one's reply is ignored. */
	t->stopped[0](t->stopped_arg[0], NULL);
	worker_gone(t->worker);
	UNTIL(t, is_over, 1000);
	world_free(t);
}

/* A deletion with a grace period of 0 removes the object while the containers still run. */
static void a_pod_without_an_object_makes_room_before_its_containers_end(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	assert_true(worker_counts(t->worker));
	t->hold_stops = true;
	worker_gone(t->worker);
	sim_run_for(t->sim, 1000);
	assert_int_equal(t->stops, 1);
	assert_false(worker_counts(t->worker));
	/* Its devices and claims stay with the containers. */
	assert_true(worker_active(t->worker));
	assert_true(worker_admitted(t->worker));
	t->stopped[0](t->stopped_arg[0], NULL);
	world_free(t);
}

/* A deletion with a grace period leaves the object until the containers have ended. */
static void a_pod_that_is_being_deleted_counts_until_its_containers_have_ended(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	t->hold_stops = true;
	delete_pod(t, 600, "");
	sim_run_for(t->sim, 1000);
	assert_int_equal(t->stops, 1);
	assert_true(worker_counts(t->worker));
	t->hold_stops = false;
	delete_pod(t, 5, "");
	UNTIL(t, is_ended, 1000);
	assert_false(worker_counts(t->worker));
	t->stopped[0](t->stopped_arg[0], NULL);
	world_free(t);
}

static void an_image_that_is_pulled_and_not_there_is_not_pulled_in_a_circle(void **state)
{
	struct world *t = world_new();

	(void)state;
	t->no_images = true;
	begin(t, "", false);
	sim_run_for(t->sim, 9000);
	assert_int_equal(t->pulls, 1);
	t->no_images = false;
	UNTIL(t, is_running, 30000);
	world_free(t);
}

/* The pod's devices were released, then the agent died: another agent starts nothing of it. */
static void a_pod_whose_devices_were_released_is_not_started_again(void **state)
{
	struct assign_admission io = { 0 };
	struct world *t = world_new();
	CLEANUP(pod_unref) struct pod *p = make_pod("", "");
	struct arena a;

	(void)state;
	arena_init(&a, REQUEST_WORK_MAX);
	assert_int_equal(assign_admit(t->host.assign, p, &a, &io, NULL), 0);
	assign_end_pod(t->host.assign, p->uid);
	begin(t, "", true);
	UNTIL(t, is_ended, 5000);
	assert_int_equal(t->starts, 0);
	assert_true(str_find(status_writer_wanted(t->host.writer, p->uid),
			     STR("\"phase\":\"Failed\"")) >= 0);
	arena_release(&a);
	world_free(t);
}

/* A card that the plugin reports as Unhealthy, and a pod of an earlier agent that needs it. */
static void begin_with_sick_card(struct world *t)
{
	static const char spec[] = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\","
				   "\"uid\":\"" UID "\"},\"spec\":{\"containers\":[{\"name\":\"c\","
				   "\"image\":\"i:1\",\"resources\":{\"limits\":"
				   "{\"example.com/card\":\"1\"}}}]}}";
	struct assign_device card = { .id = STR("card-0"), .health = ASSIGN_UNHEALTHY };
	CLEANUP(pod_unref) struct pod *p = NULL;

	assign_set_resource(t->host.assign, STR("example.com/card"), &card, 1);
	assert_int_equal(pod_parse(str_from(spec), &p, NULL), 0);
	t->worker = worker_new(&t->host, p, true);
	(void)relist(t);
}

/*
 * An agent reported that it had admitted a pod, and died before the pod's card was on disk. If the
 * next agent cannot give it a card, the pod fails like a new one, because it may never get one.
 * Seed 1001075 of the simulated cluster: it was Pending forever.
 */
static void a_pod_that_lost_its_devices_before_it_ran_is_refused(void **state)
{
	struct world *t = world_new();

	(void)state;
	begin_with_sick_card(t);
	UNTIL(t, is_ended, 60000);
	assert_int_equal(t->starts, 0);
	assert_string_equal(t->worker->reject_reason, "UnexpectedAdmissionError");
	world_free(t);
}

static bool has_failed_often(void *arg)
{
	return ((struct world *)arg)->worker->failures > 4;
}

static void a_pod_that_lost_its_devices_waits_for_plugins_to_come_back(void **state)
{
	struct world *t = world_new();

	(void)state;
	t->settling = true;
	begin_with_sick_card(t);
	UNTIL(t, has_failed_often, 600000);
	assert_int_equal(t->worker->step, WORKER_ADMIT);
	t->settling = false;
	UNTIL(t, is_ended, 600000);
	world_free(t);
}

static void ignore_done(void *arg, const struct error *err)
{
	(void)arg;
	(void)err;
}

#define CARD_STATUS                                                                     \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"" UID "\"}," \
	"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"resources\":"    \
	"{\"limits\":{\"vendor.com/card\":\"1\"}}}]},\"status\":{}}"

/* The log was lost while its container runs, and its status names no device. */
static void a_pod_whose_devices_are_in_doubt_runs_on_and_is_not_restarted_without(void **state)
{
	struct world *t = world_new();
	CLEANUP(pod_unref) struct pod *p = NULL;
	CLEANUP(arena_release) struct arena a;
	struct assign_recovery got;

	(void)state;
	arena_init(&a, MIB);
	begin(t, "", false);
	UNTIL(t, is_running, 60000);
	worker_free(t->worker);
	assign_forget_pod(t->host.assign, STR(UID));
	assert_int_equal(pod_parse(STR(CARD_STATUS), &p, NULL), 0);
	assign_recover(t->host.assign, p, NULL, &a, &got);
	t->worker = worker_new(&t->host, p, true);
	(void)relist(t);
	sim_run_for(t->sim, 30000);
	assert_true(is_running(t));
	assert_int_equal(t->worker->step, WORKER_ADMIT);
	assert_true(assign_in_doubt(t->host.assign, STR(UID)));
	/* When it has ended it has no device: it is admitted again, and waits for one. */
	t->hollow->ops->stop(t->hollow, t->worker->seen->containers[0].id, 0, ignore_done, NULL);
	sim_run_for(t->sim, 1000);
	(void)relist(t);
	UNTIL(t, has_failed_often, 600000);
	assert_false(assign_in_doubt(t->host.assign, STR(UID)));
	assert_int_equal(t->starts, 1);
	world_free(t);
}

static void a_new_pod_waits_until_those_of_a_lost_log_are_known(void **state)
{
	struct world *t = world_new();

	(void)state;
	t->recovering = true;
	begin(t, "", false);
	sim_run_for(t->sim, 30000);
	assert_int_equal(t->starts, 0);
	t->recovering = false;
	worker_recovered(t->worker);
	UNTIL(t, is_running, 60000);
	world_free(t);
}

/* There is no such claim, so the step fails again and again, with back-off. */
static void a_deletion_does_not_wait_for_the_retry_of_a_step(void **state)
{
	static const char spec[] = ",\"resourceClaims\":[{\"name\":\"x\","
				   "\"resourceClaimName\":\"none\"}]";
	struct world *t = world_new();

	(void)state;
	begin(t, spec, false);
	UNTIL(t, is_busy_with_claims, 600000);
	delete_pod(t, 30, spec);
	UNTIL(t, is_ended, 2000);
	world_free(t);
}

/* A plugin that sends lists all the time makes workers check, but not retry. */
static void news_of_plugins_do_not_make_a_step_be_tried_all_the_time(void **state)
{
	static const char spec[] = ",\"resourceClaims\":[{\"name\":\"x\","
				   "\"resourceClaimName\":\"none\"}]";
	struct world *t = world_new();
	uint64_t before;

	(void)state;
	begin(t, spec, false);
	sim_run_for(t->sim, 10000);
	before = t->worker->failures;
	for (int i = 0; i < 1000; i++) {
		worker_retry(t->worker);
		sim_run_for(t->sim, 10);
	}
	assert_in_range(t->worker->failures - before, 5, 21);
	world_free(t);
}

static void a_look_that_shows_nothing_new_costs_nothing(void **state)
{
	struct world *t = world_new();
	const struct runtime_pod *seen;

	(void)state;
	begin(t, "", false);
	UNTIL(t, is_running, 1000);
	sim_run_for(t->sim, 1000);
	seen = t->worker->seen;
	(void)relist(t);
	sim_run_for(t->sim, 1000);
	assert_ptr_equal(t->worker->seen, seen);
	assert_int_equal(t->worker->seen_at, t->looks);
	world_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_starts_ends_and_is_forgotten),
		cmocka_unit_test(a_pull_that_never_ends_keeps_no_pod_from_its_end),
		cmocka_unit_test(a_failed_stop_is_retried_with_back_off),
		cmocka_unit_test(a_second_deletion_with_less_grace_counts_at_once),
		cmocka_unit_test(a_pod_without_an_object_makes_room_before_its_containers_end),
		cmocka_unit_test(
			a_pod_that_is_being_deleted_counts_until_its_containers_have_ended),
		cmocka_unit_test(an_image_that_is_pulled_and_not_there_is_not_pulled_in_a_circle),
		cmocka_unit_test(a_pod_whose_devices_were_released_is_not_started_again),
		cmocka_unit_test(a_pod_that_lost_its_devices_before_it_ran_is_refused),
		cmocka_unit_test(a_pod_that_lost_its_devices_waits_for_plugins_to_come_back),
		cmocka_unit_test(
			a_pod_whose_devices_are_in_doubt_runs_on_and_is_not_restarted_without),
		cmocka_unit_test(a_new_pod_waits_until_those_of_a_lost_log_are_known),
		cmocka_unit_test(a_deletion_does_not_wait_for_the_retry_of_a_step),
		cmocka_unit_test(news_of_plugins_do_not_make_a_step_be_tried_all_the_time),
		cmocka_unit_test(a_look_that_shows_nothing_new_costs_nothing),
	};

	return cmocka_run_group_tests_name("node/worker", tests, NULL, NULL);
}
