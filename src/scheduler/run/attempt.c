/*
 * Pops a few pods per turn of the loop, and tries each on a fresh snapshot. A pod that gets a node
 * is assumed there and passed to its binding. Others go to failure.c.
 */
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "client/work/leader.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/dra/state.h"
#include "scheduler/extension/extension.h"
#include "scheduler/framework/common.h"
#include "scheduler/run/scheduler_impl.h"

/* After so long others get their turn: watches, answers, the lease. */
#define TURN_NS (20 * CLOCK_MS)

enum {
	/* Poll, since there is no event for kinds that the server does not serve. */
	READY_CHECK_MS = 50,
	REST_MS = 50,
};

static int64_t attempt_now_ns(const struct scheduler *s)
{
	return clock_monotonic(loop_clock(s->opts.loop));
}

static void fail_search(struct scheduler *s, struct queued_pod *q, struct cycle *c,
			const struct cycle_result *result, int64_t began_ns)
{
	bool fit_error = verdict_rejects(&result->verdict);
	struct failure f = { .verdict = result->verdict,
			     .message = fit_error ? cycle_message(c)
						  : verdict_message(&result->verdict, &c->arena),
			     .rejectors = fit_error ? c->diagnosis.rejectors : 0,
			     .pending = fit_error && c->diagnosis.pending,
			     .nominated = result->nominated,
			     .nominating = result->nominating || !fit_error,
			     .began_ns = began_ns };

	failure_handle(s, q, &f);
}

/* The pod is decided on: assumed, reserved, permitted, on its way. */
static void attempt_place(struct scheduler *s, struct queued_pod *q, struct cycle *c,
			  struct str node, int64_t began_ns)
{
	struct binding_start b = { .queued = q, .cycle = c, .began_ns = began_ns };
	int64_t timeouts[PLUGINS_MAX] = { 0 };
	struct verdict v;
	struct error err;

	b.assumed = podinfo_assumed(c->pod, node);
	b.timeouts = timeouts;
	if (nodecache_assume(s->nodes, b.assumed, &err) < 0) {
		v = verdict_print(&c->arena, VERDICT_ERROR, "%s", err.msg);
		failure_on_node(s, q, c, &v, began_ns);
		podinfo_unref(b.assumed);
		cycle_free(c);
		return;
	}
	podqueue_nominate(s->queue, c->pod, (struct str){ 0 });
	v = profile_reserve(c->profile, c, node);
	if (v.code == VERDICT_SUCCESS) {
		v = profile_permit(c->profile, c, node, &b.waiting, timeouts);
		if (v.code == VERDICT_SUCCESS || v.code == VERDICT_WAIT) {
			binding_begin(s, &b);
			return;
		}
		profile_unreserve(c->profile, c, node);
	}
	(void)nodecache_forget(s->nodes, b.assumed, NULL);
	failure_on_node(s, q, c, &v, began_ns);
	podinfo_unref(b.assumed);
	cycle_free(c);
}

static bool attempt_skip(struct scheduler *s, struct queued_pod *q)
{
	struct recorder_object about = pod_about(q->pod);
	struct buf text;

	if (!q->pod->deleting)
		return nodecache_is_assumed(s->nodes, q->pod->uid);
	buf_init(&text, 1024);
	(void)buf_printf(&text, "skip schedule deleting pod: %.*s", STR_ARG(q->pod->key));
	recorder_event_detailed(scheduler_recorder(s, q->profile), &about, RECORDER_WARNING,
				"FailedScheduling", buf_str(&text),
				&(struct recorder_detail){ .action = "Scheduling" });
	buf_release(&text);
	return true;
}

/* False: it did much, and is not over; that is enough for a turn. */
static bool try_pod(struct scheduler *s, struct queued_pod *q)
{
	const struct snapshot *snapshot;
	struct cycle_result result;
	struct cycle *c;
	int64_t began = attempt_now_ns(s);
	bool over = true;

	if (attempt_skip(s, q)) {
		podqueue_done(s->queue, q);
		return true;
	}
	c = cycle_new(q->profile, q->pod, loop_now(s->opts.loop));
	c->part = q->part;
	snapshot = nodecache_snapshot(s->nodes);
	measures_snapshot(&s->measures, attempt_now_ns(s) - began);
	extension_set_snapshot(s->extension, snapshot);
	cycle_run(c, snapshot, &s->start, loop_prng(s->opts.loop), &result);
	measures_algorithm(&s->measures, attempt_now_ns(s) - began);
	if (result.verdict.code == VERDICT_SUCCESS) {
		attempt_place(s, q, c, result.node, began);
	} else if (c->unfinished && q->part + 1 < ATTEMPT_PARTS) {
		over = false;
		q->part++;
		s->rests_until_ms = loop_now(s->opts.loop) + REST_MS;
		podqueue_go_on(s->queue, q, loop_now(s->opts.loop));
		cycle_free(c);
	} else {
		q->part = 0;
		fail_search(s, q, c, &result, began);
		cycle_free(c);
	}
	extension_set_snapshot(s->extension, NULL);
	return over;
}

/* --- when ----------------------------------------------------------------------------------- */

/* A process that was suspended may have lost the lease without noticing yet. */
static bool has_lease(const struct scheduler *s)
{
	return !s->leader || leader_is_leader(s->leader);
}

static bool may_work(const struct scheduler *s)
{
	return s->leading && s->ready && !s->stopped && s->writing < BINDINGS_MAX && has_lease(s);
}

/*
 * A long attempt is to go on, but bindings are being written: each part of it would delay their
 * answers, several times per binding. It waits for them, though not for ever.
 */
static bool rests(const struct scheduler *s)
{
	const struct queued_pod *q = podqueue_first(s->queue);

	return q && q->part > 0 && s->writing > 0 && loop_now(s->opts.loop) < s->rests_until_ms;
}

void attempt_soon(struct scheduler *s)
{
	if (!s->stopped)
		loop_defer(s->opts.loop, &s->work);
}

static void set_tick(struct scheduler *s)
{
	int64_t due = podqueue_next_tick(s->queue), now = loop_now(s->opts.loop);

	if (!s->ready || (s->leading && !has_lease(s)))
		due = now + READY_CHECK_MS;
	if (rests(s))
		due = MIN(due, s->rests_until_ms);
	if (due == INT64_MAX)
		loop_timer_stop(&s->tick);
	else
		loop_timer_start(&s->tick, due > now ? due - now : 0);
}

void attempt_work(struct loop_task *t)
{
	struct scheduler *s = CONTAINER_OF(t, struct scheduler, work);
	int64_t until = attempt_now_ns(s) + TURN_NS;
	struct queued_pod *q;
	int left = ATTEMPTS_PER_TURN;

	if (!s->ready && follow_synced(s)) {
		s->ready = true;
		log_info(s->opts.log, "caches are synced",
			 LOG_UINT("nodes", nodecache_nodes(s->nodes)),
			 LOG_UINT("pods", nodecache_pods(s->nodes)));
	}
	follow_sweep(s);
	podqueue_tick(s->queue, loop_now(s->opts.loop));
	while (may_work(s) && !rests(s) && left-- > 0 && attempt_now_ns(s) < until &&
	       (q = podqueue_pop(s->queue, loop_now(s->opts.loop))))
		if (!try_pod(s, q))
			break;
	if (may_work(s) && !rests(s) && podqueue_count(s->queue, QUEUE_ACTIVE) > 0)
		loop_defer_last(s->opts.loop, &s->work);
	set_tick(s);
	measures_cache(&s->measures, s);
	if (s->dra)
		measures_selectors(&s->measures, inventory_counts(dra_state_inventory(s->dra)));
}

void attempt_tick(struct loop_timer *t)
{
	attempt_soon(CONTAINER_OF(t, struct scheduler, tick));
}
