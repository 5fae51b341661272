/*
 * scheduler - `devplane scheduler`: finds nodes for pods, on any API server.
 *
 * Follows pods, nodes, claims, slices and what plugins ask for; tries the pods that wait, one
 * after the other, each on a snapshot; binds them while the next are tried. With leader election
 * those that do not lead keep their caches warm and decide nothing. Losing the lease ends it for
 * good.
 *
 * One thread: events and cycles take turns, so a cycle sees a state that nothing changes, and what
 * plugins are told comes in one order.
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

/* All is borrowed until scheduler_free(). */
struct scheduler_opts {
	struct loop *loop;
	const struct kubeconfig *kubeconfig;
	const struct config *config;
	const struct gates *gates;
	const char *identity; /* in the election */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
	/* The lease was lost: all work has stopped, nothing more will happen. */
	void (*on_lost)(void *arg, const struct error *why);
	void *arg;
};

/*
 * Loads plugins, makes the profiles, begins. Any plugin that cannot be used makes it fail: it does
 * not run half-configured.
 */
int scheduler_new(const struct scheduler_opts *opts, struct scheduler **ret_scheduler,
		  struct error *err);

/* Ends all work, gives the lease back, then calls `done` once, later. */
void scheduler_stop(struct scheduler *s, void (*done)(void *arg), void *arg);

/* After `done`, or before the loop ran. The loop must run one more turn. NULL allowed. */
void scheduler_free(struct scheduler *s);

/* For health: -ERR_INTERNAL when a lease that we hold ran out. */
int scheduler_check(const struct scheduler *s, struct error *err);
/* For readiness: it knows the state. */
int scheduler_check_ready(const struct scheduler *s, struct error *err);

/* JSON for /debug/cache and /debug/queue. */
void scheduler_dump_cache(const struct scheduler *s, struct buf *out);
void scheduler_dump_queue(const struct scheduler *s, struct buf *out);

#endif
