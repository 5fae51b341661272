/*
 * The threaded tests wait for events and joins, never for time; they are
 * meant to run under the thread sanitizer too.
 */
#include "base/core/queue.h"

#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"

struct item {
	struct queue_node node;
	int producer;
	int serial;
};

static void push_tells_only_the_first_producer_to_wake(void **state)
{
	struct item a, b, c;
	struct queue q;

	queue_init(&q);
	assert_true(queue_push(&q, &a.node));
	assert_false(queue_push(&q, &b.node));
	assert_ptr_equal(queue_pop_all(&q), &a.node);
	assert_true(queue_push(&q, &c.node));
}

static void a_batch_comes_out_in_the_order_it_went_in(void **state)
{
	struct item items[5];
	struct queue_node *batch;
	struct queue q;

	queue_init(&q);
	assert_null(queue_pop_all(&q));
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		(void)queue_push(&q, &items[i].node);
	batch = queue_pop_all(&q);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		assert_ptr_equal(QUEUE_ENTRY(queue_batch_next(&batch), struct item, node),
				 &items[i]);
	assert_null(queue_batch_next(&batch));
	assert_null(queue_pop_all(&q));
}

enum { PRODUCERS = 4, EACH = 20000 };

struct stress {
	struct queue queue;
	struct event wake;
	struct item *items;
	atomic_int next_producer;
	atomic_int wakes;
};

static void produce(void *arg)
{
	struct stress *s = arg;
	int producer = atomic_fetch_add(&s->next_producer, 1);

	for (int i = 0; i < EACH; i++) {
		struct item *item = &s->items[producer * EACH + i];

		item->producer = producer;
		item->serial = i;
		if (queue_push(&s->queue, &item->node)) {
			atomic_fetch_add(&s->wakes, 1);
			event_set(&s->wake);
		}
	}
}

/* Returns the number of non-empty batches. */
static int consume(struct stress *s, int *last)
{
	int batches = 0;

	for (int got = 0; got < PRODUCERS * EACH;) {
		struct queue_node *batch, *node;

		assert_true(event_wait(&s->wake, -1));
		event_reset(&s->wake);
		batch = queue_pop_all(&s->queue);
		batches += batch != NULL;
		while ((node = queue_batch_next(&batch))) {
			struct item *item = QUEUE_ENTRY(node, struct item, node);

			assert_int_equal(item->serial, last[item->producer] + 1);
			last[item->producer] = item->serial;
			got++;
		}
	}
	return batches;
}

static void nothing_is_lost_and_each_producer_keeps_its_order(void **state)
{
	struct thread threads[PRODUCERS];
	int last[PRODUCERS];
	struct stress s = { .items = xcalloc(PRODUCERS * EACH, sizeof(struct item)) };
	int batches;

	queue_init(&s.queue);
	event_init(&s.wake);
	memset(last, -1, sizeof(last));
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(thread_start(&threads[i], "producer", produce, &s, NULL), 0);
	batches = consume(&s, last);
	for (int i = 0; i < PRODUCERS; i++) {
		thread_join(&threads[i]);
		assert_int_equal(last[i], EACH - 1);
	}
	assert_int_equal(batches, atomic_load(&s.wakes));
	event_release(&s.wake);
	free(s.items);
}

struct counter {
	struct lock lock;
	int value;
};

static void count_up(void *arg)
{
	struct counter *c = arg;

	for (int i = 0; i < EACH; i++) {
		lock_acquire(&c->lock);
		c->value++;
		lock_release(&c->lock);
	}
}

static void a_lock_excludes_the_others(void **state)
{
	struct thread threads[PRODUCERS];
	struct counter c = { .value = 0 };

	lock_init(&c.lock);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(thread_start(&threads[i], "counter", count_up, &c, NULL), 0);
	for (int i = 0; i < PRODUCERS; i++)
		thread_join(&threads[i]);
	assert_int_equal(c.value, PRODUCERS * EACH);
	lock_destroy(&c.lock);
}

static void an_event_stays_set_until_it_is_reset(void **state)
{
	struct event e;

	event_init(&e);
	assert_false(event_wait(&e, 0));
	event_set(&e);
	event_set(&e);
	assert_true(event_wait(&e, 0));
	assert_true(event_wait(&e, -1));
	event_reset(&e);
	assert_false(event_wait(&e, 0));
	event_release(&e);
}

static void a_wait_ends_at_its_timeout(void **state)
{
	int64_t before = clock_monotonic(clock_system());
	struct event e;

	event_init(&e);
	assert_false(event_wait(&e, 2 * CLOCK_MS));
	assert_true(clock_monotonic(clock_system()) - before >= 2 * CLOCK_MS);
	event_set(&e);
	assert_true(event_wait(&e, INT64_MAX));
	event_release(&e);
}

struct handshake {
	struct event ready, go;
	char name[16];
	sigset_t mask;
	int result;
};

static void shake_hands(void *arg)
{
	struct handshake *h = arg;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &h->mask);
	event_set(&h->ready);
	(void)event_wait(&h->go, -1);
	(void)pthread_getname_np(pthread_self(), h->name, sizeof(h->name));
	h->result = 42;
}

static void a_thread_starts_waits_and_ends(void **state)
{
	struct handshake h = { .result = 0 };
	struct thread t;

	event_init(&h.ready);
	event_init(&h.go);
	assert_int_equal(thread_start(&t, "a-name-longer-than-15", shake_hands, &h, NULL), 0);
	assert_true(event_wait(&h.ready, -1));
	event_set(&h.go);
	thread_join(&t);
	assert_int_equal(h.result, 42);
	assert_string_equal(h.name, "a-name-longer-t");
	event_release(&h.ready);
	event_release(&h.go);
}

static void a_thread_blocks_the_signals_that_another_handles(void **state)
{
	struct handshake h = { .result = 0 };
	sigset_t ours;
	struct thread t;

	event_init(&h.ready);
	event_init(&h.go);
	event_set(&h.go);
	assert_int_equal(thread_start(&t, "masked", shake_hands, &h, NULL), 0);
	thread_join(&t);
	assert_true(sigismember(&h.mask, SIGTERM));
	assert_true(sigismember(&h.mask, SIGCHLD));
	assert_false(sigismember(&h.mask, SIGSEGV));
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &ours), 0);
	assert_false(sigismember(&ours, SIGTERM));
	event_release(&h.ready);
	event_release(&h.go);
}

/* Where there is one processor alone, it stays on it. */
static void a_thread_keeps_off_the_processor_of_a_busy_one(void **state)
{
	struct handshake h = { .result = 0 };
	cpu_set_t ours, its;
	struct thread t;

	event_init(&h.ready);
	event_init(&h.go);
	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	assert_int_equal(thread_start(&t, "apart", shake_hands, &h, NULL), 0);
	thread_keep_apart(&t, true);
	assert_int_equal(pthread_getaffinity_np(t.id, sizeof(its), &its), 0);
	if (CPU_COUNT(&ours) > 1) {
		assert_int_equal(CPU_COUNT(&its), CPU_COUNT(&ours) - 1);
		assert_false(CPU_ISSET(t.apart, &its));
	}
	thread_keep_apart(&t, false);
	assert_int_equal(pthread_getaffinity_np(t.id, sizeof(its), &its), 0);
	assert_true(CPU_EQUAL(&its, &ours));
	event_set(&h.go);
	thread_join(&t);
	event_release(&h.ready);
	event_release(&h.go);
}

static void signal_and_leave(void *arg)
{
	event_set(arg);
}

static void an_event_may_be_released_as_soon_as_the_wait_returns(void **state)
{
	for (int i = 0; i < 200; i++) {
		struct event *e = xmalloc(sizeof(*e));
		struct thread t;

		event_init(e);
		assert_int_equal(thread_start(&t, "setter", signal_and_leave, e, NULL), 0);
		assert_true(event_wait(e, -1));
		event_release(e);
		thread_join(&t);
		free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_tells_only_the_first_producer_to_wake),
		cmocka_unit_test(a_batch_comes_out_in_the_order_it_went_in),
		cmocka_unit_test(nothing_is_lost_and_each_producer_keeps_its_order),
		cmocka_unit_test(a_lock_excludes_the_others),
		cmocka_unit_test(an_event_stays_set_until_it_is_reset),
		cmocka_unit_test(a_wait_ends_at_its_timeout),
		cmocka_unit_test(a_thread_starts_waits_and_ends),
		cmocka_unit_test(a_thread_keeps_off_the_processor_of_a_busy_one),
		cmocka_unit_test(a_thread_blocks_the_signals_that_another_handles),
		cmocka_unit_test(an_event_may_be_released_as_soon_as_the_wait_returns),
	};

	return cmocka_run_group_tests_name("base/queue", tests, NULL, NULL);
}
