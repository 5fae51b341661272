/*
 * One item per key, found by its text, with three marks: dirty (needs work), processing (its
 * handler runs) and its timer (will need work). An item that is dirty and not processing is in the
 * waiting list. An item with none of the three and no failures is freed. A deferred task starts
 * handlers, a limited number per turn, so that neither a burst of adds nor a handler that adds its
 * own key starves the loop's other work.
 */
#include "client/work/workqueue.h"

#include <assert.h>

#include "base/core/clock.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "client/api/bucket.h"
#include "client/work/workqueue_metrics.h"
#include "net/loop/loop.h"

enum {
	STARTS_PER_TURN = 64,
	UNFINISHED_PERIOD_MS = 500, /* update period of the gauges of running work */
};

struct item {
	struct workqueue *queue;
	struct list link; /* queue->waiting, or not */
	struct list run_link; /* queue->running, or not */
	struct loop_timer timer;
	int64_t added_ns, started_ns;
	unsigned failures;
	bool dirty, processing;
	size_t key_n;
	char key[];
};

struct workqueue {
	struct workqueue_opts opts;
	struct map items;
	struct list waiting, running;
	size_t nwaiting, nrunning;
	struct loop_task pump;
	struct loop_timer unfinished;
	struct bucket bucket;
	struct workqueue_metrics metrics;
	bool in_handler, held;
};

static int64_t workqueue_now_ns(const struct workqueue *q)
{
	return clock_monotonic(loop_clock(q->opts.loop));
}

/* --- items ----------------------------------------------------------------------------------- */

static void on_due(struct loop_timer *t)
{
	struct item *it = CONTAINER_OF(t, struct item, timer);

	workqueue_add(it->queue, str_of(it->key, it->key_n));
}

static struct item *item_of(struct workqueue *q, struct str key)
{
	struct item *it = map_get(&q->items, key);

	if (it)
		return it;
	it = xcalloc(1, sizeof(*it) + key.n + 1);
	it->queue = q;
	it->key_n = key.n;
	str_put(it->key, key);
	list_init(&it->link);
	list_init(&it->run_link);
	loop_timer_init(&it->timer, q->opts.loop, on_due);
	map_put(&q->items, str_of(it->key, it->key_n), it);
	return it;
}

static void item_free(struct item *it)
{
	loop_timer_stop(&it->timer);
	list_remove(&it->link);
	list_remove(&it->run_link);
	free(it);
}

static void item_drop_if_idle(struct item *it)
{
	if (it->dirty || it->processing || it->failures > 0 || loop_timer_running(&it->timer))
		return;
	map_remove(&it->queue->items, str_of(it->key, it->key_n));
	item_free(it);
}

/* --- starting handlers ----------------------------------------------------------------------- */

static void workqueue_start(struct workqueue *q, struct item *it)
{
	it->dirty = false;
	it->processing = true;
	it->started_ns = workqueue_now_ns(q);
	list_push_back(&q->running, &it->run_link);
	q->nrunning++;
	workqueue_metrics_start(&q->metrics, it->started_ns - it->added_ns);
	if (q->metrics.unfinished && !loop_timer_running(&q->unfinished))
		loop_timer_start(&q->unfinished, UNFINISHED_PERIOD_MS);
	q->opts.handle(q->opts.arg, str_of(it->key, it->key_n));
}

static bool may_start(const struct workqueue *q)
{
	return q->nwaiting > 0 && q->nrunning < q->opts.workers && !q->held;
}

static void on_pump(struct loop_task *t)
{
	struct workqueue *q = CONTAINER_OF(t, struct workqueue, pump);

	q->in_handler = true;
	for (int i = 0; i < STARTS_PER_TURN && may_start(q); i++) {
		struct list *l = list_pop_front(&q->waiting);

		q->nwaiting--;
		workqueue_start(q, LIST_ENTRY(l, struct item, link));
	}
	q->in_handler = false;
	if (may_start(q))
		loop_defer(q->opts.loop, &q->pump);
}

static void workqueue_enqueue(struct workqueue *q, struct item *it)
{
	list_push_back(&q->waiting, &it->link);
	q->nwaiting++;
	loop_defer(q->opts.loop, &q->pump);
}

/* Long-running work must be visible before it ends, if it ever does. */
static void on_unfinished(struct loop_timer *t)
{
	struct workqueue *q = CONTAINER_OF(t, struct workqueue, unfinished);
	int64_t now = workqueue_now_ns(q), total = 0, longest = 0;

	LIST_FOREACH (l, &q->running) {
		int64_t age = now - LIST_ENTRY(l, struct item, run_link)->started_ns;

		total += age;
		longest = MAX(longest, age);
	}
	workqueue_metrics_unfinished(&q->metrics, total, longest);
	if (q->nrunning > 0)
		loop_timer_start(t, UNFINISHED_PERIOD_MS);
}

/* --- life ------------------------------------------------------------------------------------ */

struct workqueue *workqueue_new(const struct workqueue_opts *opts)
{
	struct workqueue *q = XNEW(struct workqueue);

	q->opts = *opts;
	if (q->opts.workers == 0)
		q->opts.workers = 1;
	if (q->opts.backoff_base_ms == 0)
		q->opts.backoff_base_ms = 5;
	if (q->opts.backoff_max_ms == 0)
		q->opts.backoff_max_ms = 1000 * 1000;
	if (q->opts.retries_per_s == 0)
		q->opts.retries_per_s = 10;
	if (q->opts.retries_burst == 0)
		q->opts.retries_burst = 100;
	map_init(&q->items);
	list_init(&q->waiting);
	list_init(&q->running);
	loop_task_init(&q->pump, on_pump);
	loop_timer_init(&q->unfinished, opts->loop, on_unfinished);
	bucket_init(&q->bucket, q->opts.retries_per_s, q->opts.retries_burst);
	workqueue_metrics_init(&q->metrics, opts->metrics, opts->name);
	return q;
}

void workqueue_free(struct workqueue *q)
{
	struct str key;
	size_t at = 0;
	void *value;

	if (!q)
		return;
	assert(!q->in_handler);
	loop_task_cancel(&q->pump);
	loop_timer_stop(&q->unfinished);
	while (map_next(&q->items, &at, &key, &value))
		item_free(value);
	map_release(&q->items);
	free(q);
}

/* --- adding ---------------------------------------------------------------------------------- */

void workqueue_add(struct workqueue *q, struct str key)
{
	struct item *it = item_of(q, key);

	if (it->dirty)
		return;
	it->dirty = true;
	it->added_ns = workqueue_now_ns(q);
	workqueue_metrics_add(&q->metrics);
	if (!it->processing)
		workqueue_enqueue(q, it);
}

void workqueue_add_after(struct workqueue *q, struct str key, int64_t delay_ms)
{
	struct item *it;

	workqueue_metrics_retry(&q->metrics);
	if (delay_ms <= 0) {
		workqueue_add(q, key);
		return;
	}
	it = item_of(q, key);
	if (!loop_timer_running(&it->timer) || it->timer.due > loop_now(q->opts.loop) + delay_ms)
		loop_timer_start(&it->timer, delay_ms);
}

static int64_t backoff_ms(const struct workqueue *q, unsigned failures)
{
	int64_t ms = q->opts.backoff_base_ms;

	for (unsigned i = 0; i < failures && ms < q->opts.backoff_max_ms; i++)
		ms *= 2;
	return MIN(ms, q->opts.backoff_max_ms);
}

void workqueue_add_rate_limited(struct workqueue *q, struct str key)
{
	int64_t ms = backoff_ms(q, item_of(q, key)->failures++), bucket = 0;

	if (q->opts.retries_per_s > 0)
		bucket = (bucket_reserve(&q->bucket, workqueue_now_ns(q)) + CLOCK_MS - 1) /
			 CLOCK_MS;
	workqueue_add_after(q, key, MAX(ms, bucket));
}

void workqueue_forget(struct workqueue *q, struct str key)
{
	struct item *it = map_get(&q->items, key);

	if (!it)
		return;
	it->failures = 0;
	item_drop_if_idle(it);
}

unsigned workqueue_num_requeues(const struct workqueue *q, struct str key)
{
	const struct item *it = map_get(&q->items, key);

	return it ? it->failures : 0;
}

/* --- ending ---------------------------------------------------------------------------------- */

void workqueue_done(struct workqueue *q, struct str key)
{
	struct item *it = map_get(&q->items, key);

	assert(it && it->processing);
	it->processing = false;
	list_remove(&it->run_link);
	q->nrunning--;
	workqueue_metrics_done(&q->metrics, workqueue_now_ns(q) - it->started_ns);
	if (it->dirty)
		workqueue_enqueue(q, it);
	else
		item_drop_if_idle(it);
	if (q->nwaiting > 0)
		loop_defer(q->opts.loop, &q->pump);
}

void workqueue_finish(struct workqueue *q, struct str key, bool again)
{
	if (again)
		workqueue_add_rate_limited(q, key);
	else
		workqueue_forget(q, key);
	workqueue_done(q, key);
}

void workqueue_hold(struct workqueue *q, bool held)
{
	q->held = held;
	loop_defer(q->opts.loop, &q->pump);
}

size_t workqueue_len(const struct workqueue *q)
{
	return q->nwaiting;
}

size_t workqueue_running(const struct workqueue *q)
{
	return q->nrunning;
}
