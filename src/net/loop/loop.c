/*
 * The common part of every loop: a heap of timers, an inbox, deferred tasks.
 *
 * A timer that is moved later keeps its place in the heap, and is checked again when the old time
 * comes. So a timeout that each request extends costs a store, not a heap operation.
 */
#include "net/loop/backend.h"

#include <assert.h>

#include "base/core/mem.h"
#include "net/loop/outbuf.h"

static void run_large(struct loop_task *t);

static bool is_earlier(const void *a, const void *b)
{
	return ((const struct loop_timer *)a)->armed < ((const struct loop_timer *)b)->armed;
}

void loop_init_common(struct loop *l, const struct loop_ops *ops, const struct clock *clock,
		      uint64_t seed)
{
	l->ops = ops;
	l->clock = clock;
	heap_init(&l->timers, struct loop_timer, at, is_earlier);
	queue_init(&l->inbox);
	list_init(&l->deferred);
	list_init(&l->last);
	list_init(&l->large);
	loop_task_init(&l->large_task, run_large);
	prng_init(&l->prng, seed);
	recycler_init(&l->recycler);
}

void loop_release_common(struct loop *l)
{
	heap_release(&l->timers);
	outbuf_free(l->out);
	recycler_release(&l->recycler);
}

void loop_free(struct loop *l)
{
	if (l)
		l->ops->free(l);
}

void loop_run(struct loop *l)
{
	l->ops->run(l);
}

void loop_stop(struct loop *l)
{
	l->ops->stop(l);
}

int64_t loop_now(const struct loop *l)
{
	return l->now;
}

const struct clock *loop_clock(const struct loop *l)
{
	return l->clock;
}

struct prng *loop_prng(struct loop *l)
{
	return &l->prng;
}

struct outbuf *loop_outbuf(struct loop *l)
{
	if (!l->out)
		l->out = outbuf_new();
	return l->out;
}

struct recycler *loop_recycler(struct loop *l)
{
	return l ? &l->recycler : NULL;
}

/* --- timers ----------------------------------------------------------------------- */

static void loop_arm(struct loop *l)
{
	const struct loop_timer *first = heap_first(&l->timers);

	l->ops->arm(l, first ? first->armed : INT64_MAX);
}

void loop_timer_init(struct loop_timer *t, struct loop *l, void (*fn)(struct loop_timer *t))
{
	*t = (struct loop_timer){
		.loop = l, .fn = fn, .due = INT64_MAX, .armed = INT64_MAX, .at = SIZE_MAX
	};
}

void loop_timer_start(struct loop_timer *t, int64_t delay_ms)
{
	struct loop *l = t->loop;

	t->due = l->now + MAX(delay_ms, (int64_t)0);
	if (t->at != SIZE_MAX && t->armed <= t->due)
		return;
	heap_remove(&l->timers, t);
	t->armed = t->due;
	heap_push(&l->timers, t);
	if (t->at == 0)
		loop_arm(l);
}

void loop_timer_stop(struct loop_timer *t)
{
	t->due = INT64_MAX;
	heap_remove(&t->loop->timers, t);
}

void loop_turn_timers(struct loop *l)
{
	/* A timer started by a callback waits for the next turn, even with a delay of 0. */
	size_t most = l->timers.items.n;
	struct loop_timer *t;

	while ((t = heap_first(&l->timers)) && t->armed <= l->now && most-- > 0) {
		if (t->due > l->now) {
			t->armed = t->due;
			heap_fix(&l->timers, t);
			continue;
		}
		heap_remove(&l->timers, t);
		t->due = INT64_MAX;
		t->fn(t);
	}
	loop_arm(l);
}

/* --- messages and deferred work --------------------------------------------------- */

void loop_post(struct loop *l, struct loop_msg *m)
{
	if (queue_push(&l->inbox, &m->node))
		l->ops->wake(l);
}

void loop_turn_inbox(struct loop *l)
{
	struct queue_node *batch = queue_pop_all(&l->inbox), *node;

	while ((node = queue_batch_next(&batch))) {
		struct loop_msg *m = QUEUE_ENTRY(node, struct loop_msg, node);

		m->fn(m);
	}
}

void loop_task_init(struct loop_task *t, void (*fn)(struct loop_task *t))
{
	list_init(&t->link);
	t->fn = fn;
}

void loop_defer(struct loop *l, struct loop_task *t)
{
	if (list_empty(&t->link))
		list_push_back(&l->deferred, &t->link);
}

void loop_task_cancel(struct loop_task *t)
{
	list_remove(&t->link);
}

void loop_defer_last(struct loop *l, struct loop_task *t)
{
	if (list_empty(&t->link))
		list_push_back(&l->last, &t->link);
}

static void run_large(struct loop_task *t)
{
	struct loop *l = CONTAINER_OF(t, struct loop, large_task);
	struct list *node = list_pop_front(&l->large);
	struct loop_task *task;

	if (!list_empty(&l->large))
		loop_defer_last(l, t);
	if (!node)
		return;
	task = LIST_ENTRY(node, struct loop_task, link);
	task->fn(task);
}

void loop_defer_large(struct loop *l, struct loop_task *t)
{
	if (!list_empty(&t->link))
		return;
	list_push_back(&l->large, &t->link);
	loop_defer_last(l, &l->large_task);
}

static void run_all(struct list *tasks)
{
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, tasks);
	while ((node = list_pop_front(&now))) {
		struct loop_task *t = LIST_ENTRY(node, struct loop_task, link);

		t->fn(t);
	}
}

void loop_turn_deferred(struct loop *l)
{
	run_all(&l->deferred);
}

bool loop_has_deferred(const struct loop *l)
{
	return !list_empty(&l->deferred) || !list_empty(&l->last);
}

bool loop_turn_end(struct loop *l)
{
	run_all(&l->deferred);
	run_all(&l->last);
	return loop_has_deferred(l);
}

/* --- handles ---------------------------------------------------------------------- */

int loop_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		    struct loop_signal **ret_signal, struct error *err)
{
	return l->ops->signal_new(l, signum, fn, arg, ret_signal, err);
}

void loop_signal_free(struct loop_signal *s)
{
	if (s)
		s->free(s);
}

int loop_watch_new(struct loop *l, const char *path,
		   void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		   struct loop_watch **ret_watch, struct error *err)
{
	return l->ops->watch_new(l, path, fn, arg, ret_watch, err);
}

void loop_watch_free(struct loop_watch *w)
{
	if (w)
		w->free(w);
}

int loop_fd_new(struct loop *l, int fd, void (*fn)(void *arg), void *arg, struct loop_fd **ret_fd,
		struct error *err)
{
	return l->ops->fd_new(l, fd, fn, arg, ret_fd, err);
}

void loop_fd_free(struct loop_fd *f)
{
	if (f)
		f->free(f);
}

int loop_child_new(struct loop *l, const struct loop_child_opts *opts,
		   struct loop_child **ret_child, struct error *err)
{
	return l->ops->child_new(l, opts, ret_child, err);
}

int loop_child_pid(const struct loop_child *c)
{
	return c->pid;
}

int loop_child_kill(struct loop_child *c, int signum, struct error *err)
{
	return c->kill(c, signum, err);
}

void loop_child_free(struct loop_child *c)
{
	if (c)
		c->free(c);
}

int listener_open(struct loop *l, const struct addr *at, const struct listener_opts *opts,
		  struct listener **ret_listener, struct error *err)
{
	return l->ops->listen(l, at, opts, ret_listener, err);
}

const struct addr *listener_addr(const struct listener *ln)
{
	return &ln->at;
}

void listener_free(struct listener *ln)
{
	if (ln)
		ln->free(ln);
}
