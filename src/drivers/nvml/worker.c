/*
 * worker - jobs for NVML: a queue of the loop, and one order at a time for the thread.
 *
 * The loop owns the queue and all deadlines; the thread knows only its order. So nothing is shared
 * but the order, which changes hands by an event and a message. A worker that is stopped while a
 * thread hangs leaves the thread behind, with a reference to the worker and a flag that keeps it
 * from posting to the loop.
 */
#include "drivers/nvml/worker.h"

#include <assert.h>
#include <pthread.h>

#include "base/core/mem.h"
#include "drivers/nvml/worker_impl.h"

#define WORKER_DEFAULT_MS 10000
#define WORKER_CLOSE_MS   1000 /* for an idle thread to close the session; usually 10 */

enum job_state { JOB_WAITS, JOB_RUNS, JOB_TIMED_OUT };

void worker_unref(struct nvml_worker *w)
{
	if (atomic_fetch_sub(&w->refs, 1) > 1)
		return;
	event_release(&w->caller.wake);
	event_release(&w->caller.ended);
	event_release(&w->events.wake);
	event_release(&w->events.ended);
	lock_destroy(&w->lock);
	free(w->library);
	free(w);
}

bool worker_post(struct nvml_worker *w, struct loop_msg *m)
{
	bool posted;

	lock_acquire(&w->lock);
	posted = !w->detached;
	if (posted) {
		atomic_fetch_add(&w->refs, 1);
		loop_post(w->loop, m);
	}
	lock_release(&w->lock);
	return posted;
}

/* --- the thread ------------------------------------------------------------------------------ */

static void caller_obey(struct nvml_worker *w)
{
	w->err = (struct error){ 0 };
	if (w->order)
		w->result = w->order->run(w->order, w->nvml, &w->err);
	else
		w->result = nvml_open(w->library, &w->nvml, &w->err);
	(void)worker_post(w, &w->finished);
}

static void caller_main(void *arg)
{
	struct nvml_worker *w = arg;

	for (;;) {
		(void)event_wait(&w->caller.wake, -1);
		event_reset(&w->caller.wake);
		if (atomic_load(&w->closing))
			break;
		caller_obey(w);
	}
	if (!atomic_load(&w->keep_session))
		nvml_close(w->nvml);
	event_set(&w->caller.ended);
	worker_unref(w);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void worker_arm(struct nvml_worker *w)
{
	int64_t first = w->open_deadline;

	if (w->running && w->running->state == JOB_RUNS)
		first = MIN(first, w->running->deadline);
	for (const struct nvml_job *j = w->first; j; j = j->next)
		first = MIN(first, j->deadline);
	if (first == INT64_MAX)
		loop_timer_stop(&w->deadline);
	else
		loop_timer_start(&w->deadline, first - loop_now(w->loop));
}

static struct nvml_job *worker_shift(struct nvml_worker *w, struct nvml_job **at)
{
	struct nvml_job *j = *at;

	*at = j->next;
	if (w->last == &j->next)
		w->last = at;
	j->next = NULL;
	return j;
}

static void worker_order(struct nvml_worker *w, struct nvml_job *j)
{
	w->order = j;
	w->result = -ERR_CANCELED;
	w->busy = true;
	event_set(&w->caller.wake);
}

static void worker_set_silent(struct nvml_worker *w, bool silent)
{
	if (w->silent == silent)
		return;
	w->silent = silent;
	if (w->opts.silent && !w->stopped)
		w->opts.silent(w->opts.arg, silent);
}

static void job_report(void (*fn)(struct nvml_job *j, int result, const struct error *err),
		       struct nvml_job *j, int result, const struct error *err)
{
	if (fn)
		fn(j, result, result < 0 ? err : NULL);
}

static void job_cancel(struct nvml_job *j)
{
	struct error err;
	int r = error_set(&err, ERR_CANCELED, "the NVML worker is stopped");

	job_report(j->done, j, r, &err);
}

static void job_time_out(struct nvml_job *j, const char *what)
{
	struct error err;
	int r = error_set(&err, ERR_TIMEOUT,
			  "NVML %s; see the kernel log for Xid messages of the GPU", what);

	job_report(j->done, j, r, &err);
}

/* A job that was not started yet. */
static void job_expire(struct nvml_job *j)
{
	struct error err;
	int r;

	job_time_out(j, "is busy with an earlier call");
	r = error_set(&err, ERR_CANCELED, "the call was not started");
	job_report(j->late, j, r, &err);
}

static void worker_fail_waiting(struct nvml_worker *w)
{
	while (w->first && !w->stopped) {
		struct nvml_job *j = worker_shift(w, &w->first);

		job_report(j->done, j, -(int)w->open_err.code, &w->open_err);
	}
}

/* Gives out the next order. */
static void on_next(struct loop_task *t)
{
	struct nvml_worker *w = CONTAINER_OF(t, struct nvml_worker, next);

	if (w->busy)
		return;
	atomic_fetch_add(&w->refs, 1);
	if (!w->open)
		worker_fail_waiting(w);
	else if (w->first) {
		w->running = worker_shift(w, &w->first);
		w->running->state = JOB_RUNS;
		worker_order(w, w->running);
	}
	if (!w->stopped)
		worker_arm(w);
	worker_unref(w);
}

static struct nvml_job **worker_find_expired(struct nvml_worker *w)
{
	for (struct nvml_job **at = &w->first; *at; at = &(*at)->next) {
		if ((*at)->deadline <= loop_now(w->loop))
			return at;
	}
	return NULL;
}

static void on_deadline(struct loop_timer *t)
{
	struct nvml_worker *w = CONTAINER_OF(t, struct nvml_worker, deadline);
	struct nvml_job *j = w->running, **at;

	atomic_fetch_add(&w->refs, 1);
	if (w->open_deadline <= loop_now(w->loop)) {
		w->open_deadline = INT64_MAX;
		worker_set_silent(w, true);
	}
	if (!w->stopped && j && j->state == JOB_RUNS && j->deadline <= loop_now(w->loop)) {
		j->state = JOB_TIMED_OUT;
		worker_set_silent(w, true);
		if (!w->stopped)
			job_time_out(j, "does not return from a call");
	}
	while (!w->stopped && (at = worker_find_expired(w)))
		job_expire(worker_shift(w, at));
	if (!w->stopped)
		worker_arm(w);
	worker_unref(w);
}

/* --- results --------------------------------------------------------------------------------- */

static void worker_opened(struct nvml_worker *w)
{
	struct error err = w->err;
	int r = w->result;

	w->open_deadline = INT64_MAX;
	w->open = r == 0;
	if (r == 0 && w->opts.events)
		(void)worker_start_events(w, NULL);
	if (r < 0) {
		w->open_err = err;
		loop_timer_start(&w->retry, w->opts.retry_ms);
	}
	if (w->opts.opened)
		w->opts.opened(w->opts.arg, r, r < 0 ? &err : NULL);
}

static void worker_finished_job(struct nvml_worker *w)
{
	struct nvml_job *j = TAKE(w->running);

	job_report(j->state == JOB_TIMED_OUT ? j->late : j->done, j, w->result, &w->err);
}

static void on_finished(struct loop_msg *m)
{
	struct nvml_worker *w = CONTAINER_OF(m, struct nvml_worker, finished);

	if (!w->stopped) {
		w->busy = false;
		worker_set_silent(w, false);
	}
	if (!w->stopped) {
		if (w->order)
			worker_finished_job(w);
		else
			worker_opened(w);
	}
	if (!w->stopped)
		loop_defer(w->loop, &w->next);
	worker_unref(w);
}

static void worker_open(struct nvml_worker *w)
{
	w->open_deadline = loop_now(w->loop) + w->opts.deadline_ms;
	worker_order(w, NULL);
	worker_arm(w);
}

static void on_retry(struct loop_timer *t)
{
	worker_open(CONTAINER_OF(t, struct nvml_worker, retry));
}

/* --- life ------------------------------------------------------------------------------------ */

static struct nvml_worker *worker_new(struct loop *l, const struct nvml_worker_options *o)
{
	struct nvml_worker *w = XNEW(struct nvml_worker);

	atomic_init(&w->refs, 1);
	w->loop = l;
	w->opts = *o;
	w->library = o->library ? xstrdup(o->library) : NULL;
	w->opts.library = w->library;
	if (w->opts.deadline_ms == 0)
		w->opts.deadline_ms = WORKER_DEFAULT_MS;
	if (w->opts.retry_ms == 0)
		w->opts.retry_ms = WORKER_DEFAULT_MS;
	w->last = &w->first;
	w->open_deadline = INT64_MAX;
	w->finished.fn = on_finished;
	loop_timer_init(&w->deadline, l, on_deadline);
	loop_timer_init(&w->retry, l, on_retry);
	loop_task_init(&w->next, on_next);
	lock_init(&w->lock);
	event_init(&w->caller.wake);
	event_init(&w->caller.ended);
	event_init(&w->events.wake);
	event_init(&w->events.ended);
	return w;
}

int nvml_worker_start(struct loop *l, const struct nvml_worker_options *o, struct nvml_worker **ret,
		      struct error *err)
{
	struct nvml_worker *w = worker_new(l, o);
	int r;

	assert(!o->events || o->event);
	atomic_fetch_add(&w->refs, 1);
	r = thread_start(&w->caller.thread, "nvml", caller_main, w, err);
	if (r < 0) {
		atomic_fetch_sub(&w->refs, 1);
		worker_unref(w);
		return r;
	}
	w->caller.running = true;
	worker_open(w);
	*ret = w;
	return 0;
}

void nvml_worker_run(struct nvml_worker *w, struct nvml_job *j, uint32_t deadline_ms)
{
	if (w->stopped) {
		job_cancel(j);
		return;
	}
	j->next = NULL;
	j->worker = w;
	j->state = JOB_WAITS;
	j->deadline = loop_now(w->loop) + (deadline_ms ? deadline_ms : w->opts.deadline_ms);
	*w->last = j;
	w->last = &j->next;
	loop_defer(w->loop, &w->next);
	worker_arm(w);
}

bool nvml_worker_silent(const struct nvml_worker *w)
{
	return w->silent;
}

/* Waits for the thread's end until `until`. Else it is left behind. */
static bool worker_end_thread(struct worker_thread *t, int64_t until)
{
	int64_t left = until - clock_monotonic(clock_system());

	if (!t->running)
		return true;
	t->running = false;
	event_set(&t->wake);
	if (event_wait(&t->ended, MAX(left, (int64_t)0))) {
		thread_join(&t->thread);
		return true;
	}
	(void)pthread_detach(t->thread.id);
	return false;
}

static void worker_cancel_jobs(struct nvml_worker *w)
{
	while (w->first)
		job_cancel(worker_shift(w, &w->first));
}

/* The job that was given to the thread, which ended or hangs. */
static void worker_settle_running(struct nvml_worker *w, bool ended)
{
	struct nvml_job *j = TAKE(w->running);

	if (!j)
		return;
	if (!ended) {
		if (j->state == JOB_RUNS)
			job_time_out(j, "does not return from a call");
	} else if (j->state == JOB_TIMED_OUT) {
		job_report(j->late, j, w->result, &w->err);
	} else if (w->result == -ERR_CANCELED) {
		job_cancel(j);
	} else {
		job_report(j->done, j, w->result, &w->err);
	}
}

void nvml_worker_stop(struct nvml_worker *w, uint32_t grace_ms)
{
	int64_t until = clock_monotonic(clock_system()) + grace_ms * CLOCK_MS;
	bool ended;

	if (!w)
		return;
	w->stopped = true;
	loop_timer_stop(&w->deadline);
	loop_timer_stop(&w->retry);
	loop_task_cancel(&w->next);
	worker_cancel_jobs(w);
	atomic_store(&w->ending, true);
	atomic_store(&w->keep_session, !worker_end_thread(&w->events, until));
	atomic_store(&w->closing, true);
	if (!w->busy)
		until = MAX(until, clock_monotonic(clock_system()) + WORKER_CLOSE_MS * CLOCK_MS);
	ended = worker_end_thread(&w->caller, until);
	lock_acquire(&w->lock);
	w->detached = true;
	lock_release(&w->lock);
	worker_settle_running(w, ended);
	worker_unref(w);
}
