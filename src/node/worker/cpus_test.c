/*
 * Containers follow the shared CPUs: a worker without an agent, and a runtime that records calls.
 */
#include <stdlib.h>

#include "base/report/log.h"
#include "net/sim/sim.h"
#include "node/assign/assign_fixture.h"
#include "node/worker/worker_impl.h"

#define PAIR "\"cpu\":\"2\",\"memory\":\"1Gi\""

struct world {
	struct fixture f;
	struct sim *sim;
	struct loop *loop;
	struct worker_host host;
	struct worker w;
	struct runtime runtime;
	struct runtime_container seen[2];
	struct runtime_pod pod;
	/* For the runtime. */
	runtime_done *done;
	void *arg;
	unsigned updates, looks;
	char last[64]; /* "id cpus" */
};

/* --- a runtime that replies on request ----------------------------------------------------- */

static void note_update(struct runtime *r, struct str id, const struct runtime_limits *limits,
			runtime_done *done, void *arg)
{
	struct world *t = CONTAINER_OF(r, struct world, runtime);

	t->updates++;
	t->done = done;
	t->arg = arg;
	assert_int_equal(limits->cpu_shares, 0);
	(void)snprintf(t->last, sizeof(t->last), "%.*s %.*s", STR_ARG(id), STR_ARG(limits->cpus));
}

static const struct runtime_ops ops = { .update = note_update };

static void answer(struct world *t, enum error_code code)
{
	struct error err;

	(void)error_set(&err, code, "so it is");
	t->done(t->arg, code == ERR_OK ? NULL : &err);
}

/* --- the world ----------------------------------------------------------------------------- */

static void on_task(struct loop_task *t)
{
	CONTAINER_OF(t, struct world, w.task)->looks++;
}

/* A burstable pod with a running container: CPUs 0 to 7, of which 0 is never exclusive. */
static struct world *world_new(void)
{
	struct world *t = calloc(1, sizeof(*t));
	struct assign_opts opts = { .static_cpus = true, .reserved_cpus = STR("0") };

	fixture_init(&t->f, opts, 8, 1);
	t->sim = sim_new(NULL);
	t->loop = sim_loop_new(t->sim, "node");
	t->runtime.ops = &ops;
	t->host = (struct worker_host){
		.loop = t->loop, .runtime = &t->runtime, .assign = t->f.s, .log = log_null()
	};
	t->w.host = &t->host;
	t->w.pod = fixture_run(&t->f, "shared", 0);
	t->w.seen = &t->pod;
	t->w.seen_at = 1;
	loop_task_init(&t->w.task, on_task);
	worker_cpus_init(&t->w);
	t->seen[0] = (struct runtime_container){ .id = STR("c0"),
						 .name = STR("main"),
						 .state = RUNTIME_RUNNING };
	t->pod.containers = t->seen;
	t->pod.ncontainers = 1;
	return t;
}

static void world_free(struct world *t)
{
	worker_cpus_release(&t->w);
	loop_task_cancel(&t->w.task);
	loop_free(t->loop);
	sim_free(t->sim);
	fixture_release_cleanup(&t->f);
	free(t);
}

/* Another pod takes two CPUs. */
static void take_two(struct world *t, const char *uid)
{
	struct pod *p = fixture_pod(&t->f, uid, "", fixture_container(&t->f, "main", PAIR));

	assert_int_equal(fixture_admit(&t->f, p), 0);
}

/* --- tests --------------------------------------------------------------------------------- */

static void a_container_leaves_cpus_that_are_taken_and_comes_back(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c0"), STR("0-7"));
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 0);
	take_two(t, "own");
	worker_cpus_follow(&t->w);
	assert_string_equal(t->last, "c0 0,3-7");
	assert_int_equal(t->w.calls, 1);
	answer(t, ERR_OK);
	assert_int_equal(t->w.calls, 0);
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 1);
	assign_end_pod(t->f.s, STR("own"));
	worker_cpus_follow(&t->w);
	assert_string_equal(t->last, "c0 0-7");
	answer(t, ERR_OK);
	assert_int_equal(t->updates, 2);
	world_free(t);
}

static void one_update_at_a_time_and_the_last_set_wins(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c0"), STR("0-7"));
	take_two(t, "a");
	worker_cpus_follow(&t->w);
	take_two(t, "b");
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 1);
	answer(t, ERR_OK);
	assert_int_equal(t->updates, 2);
	assert_string_equal(t->last, "c0 0,5-7");
	answer(t, ERR_OK);
	assert_int_equal(t->updates, 2);
	world_free(t);
}

static void a_failure_is_tried_again_with_back_off(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c0"), STR("0-7"));
	take_two(t, "a");
	worker_cpus_follow(&t->w);
	answer(t, ERR_INTERNAL);
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 1);
	sim_run_for(t->sim, 500);
	assert_int_equal(t->updates, 2);
	answer(t, ERR_INTERNAL);
	sim_run_for(t->sim, 600);
	assert_int_equal(t->updates, 2);
	sim_run_for(t->sim, 400);
	assert_int_equal(t->updates, 3);
	answer(t, ERR_OK);
	sim_run_for(t->sim, 60000);
	assert_int_equal(t->updates, 3);
	world_free(t);
}

static void one_of_an_earlier_agent_is_bound_once(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_follow(&t->w);
	assert_string_equal(t->last, "c0 0-7");
	answer(t, ERR_OK);
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 1);
	world_free(t);
}

static void one_that_has_ended_is_forgotten(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c0"), STR("0-7"));
	t->seen[0].state = RUNTIME_EXITED;
	take_two(t, "a");
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 0);
	assert_true(list_empty(&t->w.bound));
	world_free(t);
}

/* A listing older than our last change may lack the container. */
static void an_old_look_decides_nothing(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c1"), STR("0-7"));
	t->w.seen_need = 2;
	take_two(t, "a");
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 0);
	assert_false(list_empty(&t->w.bound));
	t->w.seen_at = 2;
	t->seen[0].id = STR("c1");
	worker_cpus_follow(&t->w);
	assert_string_equal(t->last, "c1 0,3-7");
	answer(t, ERR_OK);
	world_free(t);
}

/* It ended while it was moved: the worker, which waits for the reply, must check again. */
static void a_worker_that_goes_is_told_of_the_answer(void **state)
{
	struct world *t = world_new();

	(void)state;
	worker_cpus_started(&t->w, STR("c0"), STR("0-7"));
	take_two(t, "a");
	worker_cpus_follow(&t->w);
	t->w.gone = true;
	t->pod.ncontainers = 0;
	worker_cpus_follow(&t->w);
	assert_false(list_empty(&t->w.bound));
	answer(t, ERR_NOT_FOUND);
	assert_int_equal(t->w.calls, 0);
	sim_run_for(t->sim, 1000);
	assert_int_equal(t->looks, 1);
	assert_true(list_empty(&t->w.bound));
	assert_int_equal(t->updates, 1);
	world_free(t);
}

static void cpus_of_its_own_stay(void **state)
{
	struct world *t = world_new();

	(void)state;
	t->w.pod = fixture_pod(&t->f, "own", "", fixture_container(&t->f, "main", PAIR));
	assert_int_equal(fixture_admit(&t->f, t->w.pod), 0);
	worker_cpus_started(&t->w, STR("c0"), STR("1-2"));
	take_two(t, "other");
	worker_cpus_follow(&t->w);
	assert_int_equal(t->updates, 0);
	world_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_leaves_cpus_that_are_taken_and_comes_back),
		cmocka_unit_test(one_update_at_a_time_and_the_last_set_wins),
		cmocka_unit_test(a_failure_is_tried_again_with_back_off),
		cmocka_unit_test(one_of_an_earlier_agent_is_bound_once),
		cmocka_unit_test(one_that_has_ended_is_forgotten),
		cmocka_unit_test(an_old_look_decides_nothing),
		cmocka_unit_test(a_worker_that_goes_is_told_of_the_answer),
		cmocka_unit_test(cpus_of_its_own_stay),
	};

	return cmocka_run_group_tests_name("node/worker_cpus", tests, NULL, NULL);
}
