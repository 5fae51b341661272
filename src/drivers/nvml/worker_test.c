/* The worker's threads on the fake library: jobs, deadlines, late results, events, stopping. */
#include "drivers/nvml/nvml_fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "drivers/nvml/worker.h"

/* A worker and what its callbacks saw. Each callback counts `left` down, and 0 ends the loop. */
struct office {
	struct nvml_fixture *f;
	struct loop *loop;
	struct nvml_worker *worker;
	struct nvml_worker_options opts;
	int left;
	char story[512]; /* callbacks, in order */
	struct nvml_event events[16];
	size_t nevents;
	struct error open_err;
	bool stop_when_opened;
};

struct task {
	struct nvml_job job;
	struct office *office;
	char name;
	int result, late;
	char msg[512];
	pthread_t thread;
	struct event *started; /* NULL: nobody waits for it */
	char driver[32];
};

static void told(struct office *o, const char *what)
{
	size_t n = strlen(o->story);

	(void)snprintf(o->story + n, sizeof(o->story) - n, "%s%s", n ? " " : "", what);
	if (--o->left == 0)
		loop_stop(o->loop);
}

static void on_opened(void *arg, int result, const struct error *err)
{
	struct office *o = arg;

	if (err)
		o->open_err = *err;
	if (o->stop_when_opened) {
		nvml_worker_stop(o->worker, 100000);
		o->worker = NULL;
	}
	told(o, result < 0 ? "closed" : "open");
}

static void on_silent(void *arg, bool silent)
{
	told(arg, silent ? "silent" : "loud");
}

static void on_event(void *arg, const struct nvml_event *e)
{
	struct office *o = arg;

	if (o->nevents < ARRAY_SIZE(o->events))
		o->events[o->nevents++] = *e;
	told(o, "event");
}

static int task_run(struct nvml_job *j, struct nvml *n, struct error *err)
{
	struct task *t = CONTAINER_OF(j, struct task, job);
	struct str driver = STR_NULL;
	struct arena a;
	int cuda, r;

	t->thread = pthread_self();
	if (t->started)
		event_set(t->started);
	arena_init(&a, 65536);
	r = nvml_versions(n, &a, &driver, &cuda, err);
	(void)snprintf(t->driver, sizeof(t->driver), "%.*s", STR_ARG(driver));
	arena_release(&a);
	return r;
}

static void task_done(struct nvml_job *j, int result, const struct error *err)
{
	struct task *t = CONTAINER_OF(j, struct task, job);
	char text[16];

	assert_int_equal(result < 0, err != NULL);
	t->result = result;
	(void)snprintf(t->msg, sizeof(t->msg), "%s", err ? err->msg : "");
	(void)snprintf(text, sizeof(text), "%c%s", t->name,
		       result == 0               ? ""
		       : result == -ERR_TIMEOUT  ? ":timeout"
		       : result == -ERR_CANCELED ? ":canceled"
						 : ":error");
	told(t->office, text);
}

static void task_late(struct nvml_job *j, int result, const struct error *err)
{
	struct task *t = CONTAINER_OF(j, struct task, job);
	char text[16];

	assert_int_equal(result < 0, err != NULL);
	t->late = result;
	(void)snprintf(text, sizeof(text), "%c:late%s", t->name,
		       result == 0               ? ""
		       : result == -ERR_CANCELED ? ":canceled"
						 : ":error");
	told(t->office, text);
}

static struct task task_of(struct office *o, char name)
{
	return (struct task){ .job = { .run = task_run, .done = task_done, .late = task_late },
			      .office = o,
			      .name = name,
			      .result = 1,
			      .late = 1 };
}

static void office_begin(struct office *o, struct nvml_fixture *f)
{
	*o = (struct office){ .f = f };
	assert_int_equal(loop_new(&o->loop, NULL), 0);
	o->opts = (struct nvml_worker_options){ .library = FAKE_NVML_LIBRARY,
						.event = on_event,
						.opened = on_opened,
						.silent = on_silent,
						.arg = o };
}

static void office_start(struct office *o)
{
	assert_int_equal(nvml_worker_start(o->loop, &o->opts, &o->worker, NULL), 0);
}

/* Runs the loop until `count` more callbacks came. */
static void office_await(struct office *o, int count)
{
	o->left = count;
	loop_run(o->loop);
}

static void on_quiet(struct loop_timer *t)
{
	loop_stop(t->loop);
}

/* Lets the loop handle messages that are in flight. */
static void office_drain(struct office *o)
{
	struct loop_timer t;

	loop_timer_init(&t, o->loop, on_quiet);
	loop_timer_start(&t, 0);
	loop_run(o->loop);
}

static void office_end(struct office *o)
{
	nvml_worker_stop(o->worker, 10000);
	office_drain(o);
	loop_free(o->loop);
}

static void jobs_run_in_order_on_another_thread(void **state)
{
	struct office o;
	struct task a, b;

	office_begin(&o, *state);
	office_start(&o);
	a = task_of(&o, 'a');
	b = task_of(&o, 'b');
	nvml_worker_run(o.worker, &a.job, 0);
	nvml_worker_run(o.worker, &b.job, 0);
	assert_string_equal(o.story, "");
	office_await(&o, 3);
	assert_string_equal(o.story, "open a b");
	assert_string_equal(a.driver, "580.159.04");
	assert_false(pthread_equal(a.thread, pthread_self()));
	assert_true(pthread_equal(a.thread, b.thread));
	assert_false(nvml_worker_silent(o.worker));
	office_end(&o);
}

static void an_error_of_a_job_is_reported(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	fake_do(o.f, "fail nvmlSystemGetDriverVersion 15");
	office_start(&o);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 0);
	office_await(&o, 2);
	assert_int_equal(a.result, -ERR_GONE);
	assert_non_null(strstr(a.msg, "GPU is lost"));
	office_end(&o);
}

static void a_session_that_cannot_be_opened_is_tried_again(void **state)
{
	struct office o;
	struct task a, b;

	office_begin(&o, *state);
	o.opts.retry_ms = 1;
	fake_do(o.f, "fail nvmlInitWithFlags 18 2");
	office_start(&o);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 0);
	office_await(&o, 4);
	assert_string_equal(o.story, "closed a:error closed open");
	assert_int_equal(a.result, -ERR_UNAVAILABLE);
	assert_non_null(strstr(a.msg, "does not match the loaded kernel module"));
	b = task_of(&o, 'b');
	nvml_worker_run(o.worker, &b.job, 0);
	office_await(&o, 1);
	assert_int_equal(b.result, 0);
	office_end(&o);
}

static void a_job_fails_at_once_while_the_session_is_closed(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	o.opts.library = "/nowhere/libnvidia-ml.so.1";
	office_start(&o);
	office_await(&o, 1);
	assert_int_equal(o.open_err.code, ERR_UNAVAILABLE);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 0);
	assert_int_equal(a.result, 1);
	office_await(&o, 1);
	assert_int_equal(a.result, -ERR_UNAVAILABLE);
	office_end(&o);
}

static void a_call_that_hangs_times_out_and_is_reported_late(void **state)
{
	struct office o;
	struct task a, b, c;

	office_begin(&o, *state);
	fake_do(o.f, "hang nvmlSystemGetDriverVersion");
	office_start(&o);
	office_await(&o, 1);
	a = task_of(&o, 'a');
	b = task_of(&o, 'b');
	c = task_of(&o, 'c');
	nvml_worker_run(o.worker, &a.job, 20);
	nvml_worker_run(o.worker, &b.job, 60);
	nvml_worker_run(o.worker, &c.job, 0);
	office_await(&o, 4);
	assert_string_equal(o.story, "open silent a:timeout b:timeout b:late:canceled");
	assert_true(nvml_worker_silent(o.worker));
	assert_non_null(strstr(a.msg, "does not return"));
	assert_non_null(strstr(b.msg, "busy with an earlier call"));
	fake_do(o.f, "heal");
	office_await(&o, 3);
	assert_string_equal(o.story, "open silent a:timeout b:timeout b:late:canceled "
				     "loud a:late c");
	assert_false(nvml_worker_silent(o.worker));
	assert_int_equal(a.late, 0);
	assert_string_equal(a.driver, "580.159.04");
	office_end(&o);
}

static void a_late_failure_is_reported(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	fake_do(o.f, "hang nvmlSystemGetDriverVersion");
	fake_do(o.f, "fail nvmlSystemGetDriverVersion 16");
	office_start(&o);
	office_await(&o, 1);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 20);
	office_await(&o, 2);
	fake_do(o.f, "resume nvmlSystemGetDriverVersion");
	office_await(&o, 2);
	assert_string_equal(o.story, "open silent a:timeout loud a:late:error");
	assert_int_equal(a.late, -ERR_GONE);
	office_end(&o);
}

static void opening_that_hangs_is_silent_until_it_is_done(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	o.opts.deadline_ms = 20;
	fake_do(o.f, "hang nvmlInitWithFlags");
	office_start(&o);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 100000);
	office_await(&o, 1);
	assert_string_equal(o.story, "silent");
	fake_do(o.f, "heal");
	office_await(&o, 3);
	assert_string_equal(o.story, "silent loud open a");
	office_end(&o);
}

static void stopping_cancels_jobs_that_wait_and_finishes_the_running_one(void **state)
{
	struct event started;
	struct office o;
	struct task a, b;

	event_init(&started);
	office_begin(&o, *state);
	office_start(&o);
	office_await(&o, 1);
	fake_do(o.f, "slow nvmlSystemGetDriverVersion 50");
	a = task_of(&o, 'a');
	a.started = &started;
	b = task_of(&o, 'b');
	nvml_worker_run(o.worker, &a.job, 0);
	nvml_worker_run(o.worker, &b.job, 0);
	office_drain(&o);
	(void)event_wait(&started, -1);
	event_release(&started);
	nvml_worker_stop(o.worker, 100000);
	o.worker = NULL;
	assert_string_equal(o.story, "open b:canceled a");
	assert_int_equal(a.result, 0);
	office_end(&o);
	assert_string_equal(o.story, "open b:canceled a");
}

static void a_callback_may_stop_the_worker(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	o.stop_when_opened = true;
	office_start(&o);
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 0);
	office_await(&o, 2);
	assert_string_equal(o.story, "a:canceled open");
	assert_null(o.worker);
	office_end(&o);
}

static void stopping_closes_the_session(void **state)
{
	struct office o;

	office_begin(&o, *state);
	o.opts.events = true;
	office_start(&o);
	office_await(&o, 1);
	fake_do(o.f, "fail nvmlShutdown 999 1");
	office_end(&o);
	fake_do(o.f, "settled");
}

static void stopping_without_grace_closes_the_session_of_an_idle_worker(void **state)
{
	struct office o;

	office_begin(&o, *state);
	office_start(&o);
	office_await(&o, 1);
	fake_do(o.f, "fail nvmlShutdown 999 1");
	nvml_worker_stop(o.worker, 0);
	fake_do(o.f, "settled");
	o.worker = NULL;
	office_end(&o);
}

static void events_reach_the_loop(void **state)
{
	struct office o;
	struct task a;

	office_begin(&o, *state);
	o.opts.events = true;
	office_start(&o);
	office_await(&o, 1);
	/* Registering takes a moment; events before it are lost. */
	while (o.nevents == 0) {
		fake_do(o.f, "xid 1 43 5 0");
		a = task_of(&o, 'a');
		nvml_worker_run(o.worker, &a.job, 0);
		office_await(&o, 1);
	}
	assert_int_equal(o.events[0].type, NVML_EVENT_XID);
	assert_int_equal(o.events[0].data, 43);
	assert_int_equal(o.events[0].gi, 5);
	assert_int_equal(o.events[0].ci, 0);
	fixture_open_session(o.f);
	assert_ptr_equal(o.events[0].gpu, o.f->gpus[1].handle);
	office_end(&o);
}

static void events_of_other_gpus_come_while_one_is_lost(void **state)
{
	struct office o;
	bool seen = false;

	office_begin(&o, *state);
	o.opts.events = true;
	fake_do(o.f, "lost 0");
	office_start(&o);
	office_await(&o, 1);
	while (!seen) {
		struct task a = task_of(&o, 'a');

		o.story[0] = '\0';
		fake_do(o.f, "xid 1 31");
		nvml_worker_run(o.worker, &a.job, 0);
		while (a.result == 1)
			office_await(&o, 1);
		seen = o.nevents > 0;
	}
	assert_int_equal(o.events[0].data, 31);
	office_end(&o);
}

/* The last test: its thread hangs until the process ends. */
static void a_thread_that_hangs_is_left_behind(void **state)
{
	static struct office o;
	static struct task a;

	office_begin(&o, *state);
	o.opts.events = true;
	office_start(&o);
	office_await(&o, 1);
	fake_do(o.f, "hang nvmlSystemGetDriverVersion");
	a = task_of(&o, 'a');
	nvml_worker_run(o.worker, &a.job, 0);
	office_drain(&o);
	fake_do(o.f, "await-hang");
	nvml_worker_stop(o.worker, 300);
	assert_string_equal(o.story, "open a:timeout");
	office_drain(&o);
	loop_free(o.loop);
}

static int end_with_a_thread(void **state)
{
	struct nvml_fixture *f = *state;

	arena_release(&f->arena);
	folder_fixture_remove(f->folder);
	free(f);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(jobs_run_in_order_on_another_thread),
		TEST(an_error_of_a_job_is_reported),
		TEST(a_session_that_cannot_be_opened_is_tried_again),
		TEST(a_job_fails_at_once_while_the_session_is_closed),
		TEST(a_call_that_hangs_times_out_and_is_reported_late),
		TEST(a_late_failure_is_reported),
		TEST(opening_that_hangs_is_silent_until_it_is_done),
		TEST(stopping_cancels_jobs_that_wait_and_finishes_the_running_one),
		TEST(a_callback_may_stop_the_worker),
		TEST(stopping_closes_the_session),
		TEST(stopping_without_grace_closes_the_session_of_an_idle_worker),
		TEST(events_reach_the_loop),
		TEST(events_of_other_gpus_come_while_one_is_lost),
		cmocka_unit_test_setup_teardown(a_thread_that_hangs_is_left_behind, fixture_begin,
						end_with_a_thread),
	};

	return cmocka_run_group_tests_name("drivers/nvml_worker", tests, NULL, NULL);
}
