/*
 * queue - the primitives that threads share, and the only place with locks.
 *
 * Threads here exchange messages; they do not share structures. Nearly all of them need only a
 * `struct queue` to receive work and a `struct event` to wait for a start or an end. `struct lock`
 * is for the few tables that any thread may access (metrics, the log's output).
 */
#ifndef BASE_CORE_QUEUE_H
#define BASE_CORE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

/*
 * queue - many producers, one consumer, first in first out.
 *
 * Nodes are embedded in messages. A node is in one queue at a time and belongs to the queue from
 * push to pop_all. The consumer sees after pop_all all memory that a producer wrote before its
 * push. Messages of one producer keep their order. There is no limit here: producers count their
 * messages in flight.
 */
struct queue_node {
	struct queue_node *next;
};

struct queue {
	_Atomic(struct queue_node *) newest;
};

#define QUEUE_ENTRY(node, type, member) CONTAINER_OF(node, type, member)

void queue_init(struct queue *q);

/*
 * Appends; never blocks. Returns true if the queue was empty: this producer, and no other, must
 * then wake the consumer. Any thread.
 */
bool queue_push(struct queue *q, struct queue_node *node);

/*
 * Takes all nodes, oldest first, linked by `next` and ended by NULL. Returns NULL if the queue is
 * empty. Only the consumer's thread.
 */
struct queue_node *queue_pop_all(struct queue *q);

/* Removes the first node of a batch from pop_all; NULL at its end. */
static inline struct queue_node *queue_batch_next(struct queue_node **batch)
{
	struct queue_node *node = *batch;

	if (node)
		*batch = node->next;
	return node;
}

/*
 * lock - mutual exclusion for short sections. Don't call callbacks, take a second lock or do I/O
 * while holding it. The exceptions are the log and the audit log's file. Not recursive.
 */
struct lock {
	pthread_mutex_t mutex;
};

void lock_init(struct lock *l);
void lock_destroy(struct lock *l);
void lock_acquire(struct lock *l);
void lock_release(struct lock *l);

/*
 * event - something that happens once, such as "started" or "stopped".
 *
 * It stays set until event_reset(). The waiter may release the event as soon as its wait has
 * returned, even while the setter is still returning.
 */
struct event {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool set;
};

void event_init(struct event *e);
void event_release(struct event *e);
void event_set(struct event *e);
void event_reset(struct event *e);

/*
 * Waits until set. Returns false if timeout_ns passed first. A negative timeout waits for ever, 0
 * only checks. Real time: not for simulated code.
 */
bool event_wait(struct event *e, int64_t timeout_ns);

/*
 * thread - a named thread that runs fn(arg).
 *
 * It blocks every signal that can be blocked sensibly, so those reach the
 * thread that handles them. The struct must stay in place until the join.
 */
struct thread {
	pthread_t id;
	void (*fn)(void *arg);
	void *arg;
	char name[16]; /* what ps and gdb show: cut at 15 bytes */
	int apart; /* the processor that it keeps off, or -1 */
};

int thread_start(struct thread *t, const char *name, void (*fn)(void *arg), void *arg,
		 struct error *err);

/* Waits for its end. Exactly once for each start. */
void thread_join(struct thread *t);

/*
 * The calling thread works in short bursts that others wait for: the kernel is asked to let it run
 * soon after it was woken, in turns as short. Without effect before Linux 6.12.
 */
void thread_be_prompt(void);

/*
 * Before `t` is woken by the calling thread, always the same one. While that is busy `t` keeps off
 * its processor, if there is another, as it would wait there until the caller has been on it for
 * long enough; else it may run anywhere. Costs nothing while neither has changed.
 */
void thread_keep_apart(struct thread *t, bool busy);

#endif
