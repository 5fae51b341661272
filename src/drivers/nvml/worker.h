/*
 * nvml_worker - a thread that calls NVML, so that a call that hangs stops nobody else.
 *
 * Jobs run one after another on the worker's thread; the kernel does instance work one at a time
 * anyway. A job that is not done at its deadline is reported with -ERR_TIMEOUT and continues. Until
 * it returns the worker is silent: jobs that wait fail at their own deadlines, and
 * nvml_worker_silent() is true. When it returns, `late` of the job is called on the loop, so that
 * the owner can look at what the GPU has now.
 *
 * Jobs wait while the session is being opened. If it could not be opened they fail with that error,
 * until the next attempt succeeds.
 *
 * A second thread waits for events and hands them to the loop. Events are lost while the GPUs
 * cannot be read, so owners poll as well.
 *
 * Threads: all functions on the loop's thread; job->run on the worker's.
 */
#ifndef DRIVERS_NVML_WORKER_H
#define DRIVERS_NVML_WORKER_H

#include "drivers/nvml/nvml.h"
#include "net/loop/loop.h"

struct nvml_worker;

struct nvml_job {
	/*
	 * Runs on the worker's thread. It must touch nothing but the job's own data, which the
	 * owner leaves alone until done() or, after a time-out, late().
	 */
	int (*run)(struct nvml_job *j, struct nvml *n, struct error *err);
	/*
	 * Called once, on the loop, never from within nvml_worker_run(): with run's result,
	 * -ERR_TIMEOUT, or -ERR_CANCELED if the worker is stopped. `err` is NULL for success. After
	 * any result but -ERR_TIMEOUT it may free the job.
	 */
	void (*done)(struct nvml_job *j, int result, const struct error *err);
	/*
	 * After a time-out: run() returned this, or -ERR_CANCELED if it never started. It may free
	 * the job. It is not called if the worker is stopped while run() hangs: the thread then
	 * keeps the job. NULL allowed.
	 */
	void (*late)(struct nvml_job *j, int result, const struct error *err);
	/* Private to the worker: */
	struct nvml_job *next;
	struct nvml_worker *worker;
	int64_t deadline; /* of the loop's milliseconds */
	int result, state;
	struct error err;
};

struct nvml_worker_options {
	const char *library; /* NULL: the loader's */
	uint32_t deadline_ms; /* default of jobs, and of opening; 0: 10,000 */
	uint32_t retry_ms; /* until a session that could not be opened is tried again; 0: 10,000 */
	bool events;
	void (*event)(void *arg, const struct nvml_event *e);
	/* The session is open (0, NULL), or could not be opened, this time. NULL allowed. */
	void (*opened)(void *arg, int result, const struct error *err);
	/* The worker became silent (true), or spoke again. NULL allowed. */
	void (*silent)(void *arg, bool silent);
	void *arg;
};

/* Starts to open the session. Copies the options. */
int nvml_worker_start(struct loop *l, const struct nvml_worker_options *o, struct nvml_worker **ret,
		      struct error *err);
/* `deadline_ms` 0: the default. A callback of nvml_worker_stop() gets -ERR_CANCELED at once. */
void nvml_worker_run(struct nvml_worker *w, struct nvml_job *j, uint32_t deadline_ms);
bool nvml_worker_silent(const struct nvml_worker *w);
/*
 * Cancels waiting jobs, waits up to `grace_ms` for the running one, ends the session. It blocks for
 * that long; the event thread needs up to 200 ms to end, so give more. A thread that hangs is left
 * behind, because it cannot be ended; its memory and the session stay.
 * Callbacks may call it. NULL allowed.
 */
void nvml_worker_stop(struct nvml_worker *w, uint32_t grace_ms);

#endif
