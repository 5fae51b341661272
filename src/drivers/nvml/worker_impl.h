/*
 * worker_impl - the parts of a worker that its loop and its threads share.
 */
#ifndef DRIVERS_NVML_WORKER_IMPL_H
#define DRIVERS_NVML_WORKER_IMPL_H

#include "drivers/nvml/worker.h"

#include <stdatomic.h>

#include "base/core/queue.h"

enum {
	WORKER_EVENT_SLICE_MS = 200, /* one wait for events: how long stopping may take */
	WORKER_EVENT_RETRY_MS = 1000, /* after waiting failed */
	WORKER_EVENT_REOPEN_MS = 10000, /* if GPUs are missing, or none can be registered */
};

/* A thread that may have to be left behind. */
struct worker_thread {
	struct thread thread;
	struct event wake; /* an order, or the end */
	struct event ended;
	bool running; /* started and not joined; of the loop */
};

struct nvml_worker {
	/* References: the loop's, one per thread, one per message in flight. */
	_Atomic int refs;
	struct loop *loop;
	struct nvml_worker_options opts;
	char *library;

	/* Only the loop uses these. */
	struct nvml_job *first, **last; /* waiting */
	struct nvml_job *running; /* given to the thread */
	bool busy; /* the thread has an order */
	bool open, silent, stopped;
	int64_t open_deadline; /* INT64_MAX: not opening, or past it */
	struct error open_err; /* why it is not open */
	struct loop_timer deadline, retry;
	struct loop_task next; /* gives out the next order, or fails jobs */

	/* The order. Between setting `wake` and the message these are the thread's. */
	struct nvml_job *order; /* NULL: open the session */
	struct nvml *nvml; /* written once, by opening */
	int result;
	struct error err;
	struct loop_msg finished;

	_Atomic bool ending; /* the event thread ends at the next chance */
	/* Then the other one, which closes the session, unless the event thread still uses it. */
	_Atomic bool closing, keep_session;
	/* The lock guards this flag, so that no thread posts to a loop that may be gone. */
	struct lock lock;
	bool detached;

	struct worker_thread caller, events;
};

void worker_unref(struct nvml_worker *w);

/* Posts with a reference, which the handler drops. False: the worker was stopped. Any thread. */
bool worker_post(struct nvml_worker *w, struct loop_msg *m);

/* Starts the thread that waits for events. The session must be open. */
int worker_start_events(struct nvml_worker *w, struct error *err);

#endif
