/*
 * scheduler - `devplane scheduler`: schedules pods to nodes, with any API server.
 *
 * It watches pods, nodes, claims, slices and the resources that plugins request. It tries the
 * waiting pods one after the other, each on a snapshot, and binds them while it tries the next.
 * With leader election, the others keep their caches warm and schedule nothing. A scheduler that
 * loses its lease stops for good.
 *
 * There is one thread: events and cycles take turns. So the state does not change during a cycle,
 * and plugins get events in one order.
 */
#ifndef SCHEDULER_RUN_SCHEDULER_H
#define SCHEDULER_RUN_SCHEDULER_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct config;
struct gates;
struct kubeconfig;
struct log;
struct loop;
struct metrics;
struct scheduler;

/* All pointers are borrowed until scheduler_free(). */
struct scheduler_opts {
	struct loop *loop;
	const struct kubeconfig *kubeconfig;
	const struct config *config;
	const struct gates *gates;
	const char *identity; /* in the leader election */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/* Called when the lease is lost. All work has stopped. */
	void (*on_lost)(void *arg, const struct error *why);
	void *arg;
};

/*
 * Loads plugins, creates the profiles and starts. Fails if any plugin cannot be used, rather than
 * running half-configured.
 */
int scheduler_new(const struct scheduler_opts *opts, struct scheduler **ret_scheduler,
		  struct error *err);

/* Stops all work, releases the lease, then calls `done` once, asynchronously. */
void scheduler_stop(struct scheduler *s, void (*done)(void *arg), void *arg);

/* Call it after `done`, or before the loop ran. The loop must run one more turn. NULL allowed. */
void scheduler_free(struct scheduler *s);

/* For the health check: returns -ERR_INTERNAL if the lease that we hold has expired. */
int scheduler_check(const struct scheduler *s, struct error *err);
/* For the readiness check: fails until the caches are synced. */
int scheduler_check_ready(const struct scheduler *s, struct error *err);

/* JSON for /debug/cache and /debug/queue. */
void scheduler_dump_cache(const struct scheduler *s, struct buf *out);
void scheduler_dump_queue(const struct scheduler *s, struct buf *out);

#endif
