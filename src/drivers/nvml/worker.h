/*
 * nvml_worker - a thread that calls NVML, so that a call that hangs stops nobody else.
 *
 * Jobs run one after another on the worker's thread; the kernel does instance work one at a time
 * anyway. A job that is not done at its deadline is reported with -ERR_TIMEOUT and goes on. Until
 * it returns the worker is silent: jobs that wait fail at their own deadlines, and
 * nvml_worker_silent() is true. When it returns, `late` of the job is called on the loop, so that
 * the owner can look at what the GPU has now.
 *
 * A second thread waits for events and hands them to the loop.
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
	/* Called once, on the loop, with run's result or -ERR_TIMEOUT. */
	void (*done)(struct nvml_job *j, int result, const struct error *err);
	/* After a time-out: run() returned (or the worker ended without it). May free the job. */
	void (*late)(struct nvml_job *j, int result, const struct error *err);
	/* Private to the worker: */
	struct nvml_job *next;
	struct nvml_worker *worker;
	uint64_t deadline_ns;
	int result, state;
	struct error err;
};

struct nvml_worker_options {
	const char *library; /* NULL: the loader's */
	uint32_t deadline_ms; /* default of jobs; 0: 10,000 */
	bool events;
	void (*event)(void *arg, const struct nvml_event *e);
	/* The session is open (0), or could not be opened; it is tried again every 10 s. */
	void (*opened)(void *arg, int result, const struct error *err);
	/* The worker became silent (true), or spoke again. */
	void (*silent)(void *arg, bool silent);
	void *arg;
};

int nvml_worker_start(struct loop *l, const struct nvml_worker_options *o, struct nvml_worker **ret,
		      struct error *err);
/* `deadline_ms` 0: the default. */
void nvml_worker_run(struct nvml_worker *w, struct nvml_job *j, uint32_t deadline_ms);
bool nvml_worker_silent(const struct nvml_worker *w);
/*
 * Fails waiting jobs, waits up to `grace_ms` for the running one, ends the session. A thread that
 * hangs is left behind, because it cannot be ended; its memory stays.
 */
void nvml_worker_stop(struct nvml_worker *w, uint32_t grace_ms);

#endif
