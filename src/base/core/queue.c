/*
 * The queue is a stack. Producers push by compare-and-swap; the consumer takes it whole by one
 * exchange and reverses it. Nodes leave only all together, so a node cannot return to the top
 * unnoticed by a producer (the ABA problem), and the reversal costs the consumer one pass over
 * nodes that it is about to touch anyway.
 *
 * Mutexes and conditions can only fail through a bug of ours, so their results are asserted, not
 * reported.
 */
#include "base/core/queue.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/compiler.h"

enum { PROMPT_SLICE_NS = 100 * 1000 }; /* the kernel's minimum */

static void queue_check(int r)
{
	assert(r == 0);
	(void)r;
}

void queue_init(struct queue *q)
{
	atomic_init(&q->newest, NULL);
}

bool queue_push(struct queue *q, struct queue_node *node)
{
	struct queue_node *top = atomic_load_explicit(&q->newest, memory_order_relaxed);
	bool was_empty;

	/* Once the swap succeeds the node may be freed: do not touch it again. */
	do {
		was_empty = !top;
		node->next = top;
	} while (!atomic_compare_exchange_weak_explicit(
		&q->newest, &top, node, memory_order_release, memory_order_relaxed));
	return was_empty;
}

struct queue_node *queue_pop_all(struct queue *q)
{
	struct queue_node *node = atomic_exchange_explicit(&q->newest, NULL, memory_order_acquire);
	struct queue_node *oldest = NULL, *older;

	while (node) {
		older = node->next;
		node->next = oldest;
		oldest = node;
		node = older;
	}
	return oldest;
}

void lock_init(struct lock *l)
{
	queue_check(pthread_mutex_init(&l->mutex, NULL));
}

void lock_destroy(struct lock *l)
{
	queue_check(pthread_mutex_destroy(&l->mutex));
}

void lock_acquire(struct lock *l)
{
	queue_check(pthread_mutex_lock(&l->mutex));
}

void lock_release(struct lock *l)
{
	queue_check(pthread_mutex_unlock(&l->mutex));
}

void event_init(struct event *e)
{
	pthread_condattr_t attr;

	queue_check(pthread_mutex_init(&e->mutex, NULL));
	queue_check(pthread_condattr_init(&attr));
	queue_check(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	queue_check(pthread_cond_init(&e->changed, &attr));
	queue_check(pthread_condattr_destroy(&attr));
	e->set = false;
}

void event_release(struct event *e)
{
	queue_check(pthread_cond_destroy(&e->changed));
	queue_check(pthread_mutex_destroy(&e->mutex));
}

void event_set(struct event *e)
{
	queue_check(pthread_mutex_lock(&e->mutex));
	e->set = true;
	/* Under the mutex: a waiter that releases the event cannot overtake us. */
	queue_check(pthread_cond_broadcast(&e->changed));
	queue_check(pthread_mutex_unlock(&e->mutex));
}

void event_reset(struct event *e)
{
	queue_check(pthread_mutex_lock(&e->mutex));
	e->set = false;
	queue_check(pthread_mutex_unlock(&e->mutex));
}

static struct timespec deadline_after(int64_t timeout_ns)
{
	int64_t now = clock_monotonic(clock_system());
	int64_t at = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;

	return (struct timespec){ .tv_sec = at / CLOCK_SEC, .tv_nsec = at % CLOCK_SEC };
}

bool event_wait(struct event *e, int64_t timeout_ns)
{
	struct timespec deadline = timeout_ns > 0 ? deadline_after(timeout_ns)
						  : (struct timespec){ 0 };
	int r = timeout_ns == 0 ? ETIMEDOUT : 0;
	bool set;

	queue_check(pthread_mutex_lock(&e->mutex));
	while (!e->set && r == 0) {
		if (timeout_ns < 0)
			r = pthread_cond_wait(&e->changed, &e->mutex);
		else
			r = pthread_cond_timedwait(&e->changed, &e->mutex, &deadline);
	}
	set = e->set;
	queue_check(pthread_mutex_unlock(&e->mutex));
	return set;
}

static void *queue_run(void *arg)
{
	struct thread *t = arg;

	t->fn(t->arg);
	return NULL;
}

/* A fault belongs to the running thread: blocking its signal would only hide the report. */
static void block_signals(sigset_t *ret_before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF };
	sigset_t all;

	(void)sigfillset(&all);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)sigdelset(&all, own[i]);
	queue_check(pthread_sigmask(SIG_SETMASK, &all, ret_before));
}

int thread_start(struct thread *t, const char *name, void (*fn)(void *arg), void *arg,
		 struct error *err)
{
	sigset_t before;
	int r;

	t->fn = fn;
	t->arg = arg;
	t->apart = -1;
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	/* The new thread inherits the mask, so it never runs with another one. */
	block_signals(&before);
	r = pthread_create(&t->id, NULL, queue_run, t);
	queue_check(pthread_sigmask(SIG_SETMASK, &before, NULL));
	if (r != 0)
		return error_set_errno(err, ERR_INTERNAL, r, "start thread %s", t->name);
	(void)pthread_setname_np(t->id, t->name);
	return 0;
}

void thread_join(struct thread *t)
{
	queue_check(pthread_join(t->id, NULL));
}

void thread_be_prompt(void)
{
	/* The kernel's struct sched_attr, which no header of the C library has. */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { 0 };

	/* For other policies the runtime has a different meaning. */
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) != 0 ||
	    attr.policy != SCHED_OTHER)
		return;
	attr.runtime = PROMPT_SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

void thread_keep_apart(struct thread *t, bool busy)
{
	int from = busy ? sched_getcpu() : -1;
	cpu_set_t set;

	if (from == t->apart || from >= CPU_SETSIZE)
		return;
	t->apart = from;
	/* Both threads may run on the same CPUs. */
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	if (from >= 0)
		CPU_CLR(from, &set);
	(void)pthread_setaffinity_np(t->id, sizeof(set), &set);
}
