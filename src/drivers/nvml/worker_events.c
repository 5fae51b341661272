/*
 * worker_events - the thread that waits for events.
 *
 * It waits in slices, because a wait cannot be ended from outside. When waiting fails, usually
 * because a GPU is lost, it registers again with the GPUs that are left. While some are missing it
 * does that now and then, so that a GPU that comes back is registered.
 */
#include "drivers/nvml/worker_impl.h"

#include "base/core/mem.h"

/* Memory for the GPUs of one attempt. */
#define WORKER_GPUS_MAX (1UL << 20)

struct event_letter {
	struct loop_msg msg;
	struct nvml_worker *worker;
	struct nvml_event event;
};

static void on_event_letter(struct loop_msg *m)
{
	struct event_letter *letter = CONTAINER_OF(m, struct event_letter, msg);
	struct nvml_worker *w = letter->worker;

	if (!w->stopped)
		w->opts.event(w->opts.arg, &letter->event);
	free(letter);
	worker_unref(w);
}

static void events_send(struct nvml_worker *w, const struct nvml_event *event)
{
	struct event_letter *letter = XNEW(struct event_letter);

	letter->msg.fn = on_event_letter;
	letter->worker = w;
	letter->event = *event;
	if (!worker_post(w, &letter->msg))
		free(letter);
}

static bool events_pause(struct nvml_worker *w, int64_t ms)
{
	return event_wait(&w->events.wake, ms * CLOCK_MS);
}

/* Hands on events until waiting fails, the end comes, or `ms` have passed (negative: for ever). */
static void events_follow(struct nvml_worker *w, struct nvml_events *set, int64_t ms)
{
	for (int64_t waited = 0; !atomic_load(&w->ending) && (ms < 0 || waited < ms);) {
		struct nvml_event event;
		int r = nvml_events_wait(set, WORKER_EVENT_SLICE_MS, &event, NULL);

		if (r == 1)
			events_send(w, &event);
		else if (r == 0)
			waited += WORKER_EVENT_SLICE_MS;
		else {
			(void)events_pause(w, WORKER_EVENT_RETRY_MS);
			return;
		}
	}
}

static void events_attempt(struct nvml_worker *w, struct arena *a)
{
	struct nvml_events *set = NULL;
	struct nvml_gpu *gpus = NULL;
	struct str skipped = STR_NULL;
	size_t count = 0;

	if (nvml_gpus(w->nvml, a, &gpus, &count, &skipped, NULL) < 0 || count == 0 ||
	    nvml_events_open(w->nvml, gpus, count, &set, NULL) < 0) {
		(void)events_pause(w, WORKER_EVENT_REOPEN_MS);
		return;
	}
	events_follow(w, set, skipped.n ? WORKER_EVENT_REOPEN_MS : -1);
	nvml_events_close(set);
}

static void events_main(void *arg)
{
	struct nvml_worker *w = arg;
	struct arena a;

	arena_init(&a, WORKER_GPUS_MAX);
	while (!atomic_load(&w->ending)) {
		events_attempt(w, &a);
		arena_clear(&a);
	}
	arena_release(&a);
	event_set(&w->events.ended);
	worker_unref(w);
}

int worker_start_events(struct nvml_worker *w, struct error *err)
{
	int r;

	atomic_fetch_add(&w->refs, 1);
	r = thread_start(&w->events.thread, "nvml-events", events_main, w, err);
	if (r < 0)
		atomic_fetch_sub(&w->refs, 1);
	w->events.running = r == 0;
	return r;
}
