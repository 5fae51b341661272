/*
 * A thread per loop except the first. loop_free() completes deferred and posted work of a stopped
 * loop.
 */
#include "net/loop/io_threads.h"

#include "base/core/mem.h"
#include "base/core/queue.h"
#include "net/loop/loop.h"

struct io_threads {
	struct loop **loops;
	struct thread *threads; /* [0] is not used */
	size_t n;
};

void io_threads_free(struct io_threads *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		loop_free(t->loops[i]);
	free(t->loops);
	free(t->threads);
	free(t);
}

int io_threads_new(size_t n, struct io_threads **ret_threads, struct error *err)
{
	CLEANUP(io_threads_free) struct io_threads *t = XNEW(struct io_threads);
	int r;

	t->loops = xcalloc(n, sizeof(struct loop *));
	t->threads = xcalloc(n, sizeof(*t->threads));
	for (t->n = 0; t->n < n; t->n++) {
		r = loop_new(&t->loops[t->n], err);
		if (r < 0)
			return r;
	}
	*ret_threads = TAKE(t);
	return 0;
}

struct loop *const *io_threads_loops(const struct io_threads *t)
{
	return t->loops;
}

size_t io_threads_count(const struct io_threads *t)
{
	return t->n;
}

static void run_loop(void *arg)
{
	loop_run(arg);
}

static void stop_and_join(struct io_threads *t, size_t started)
{
	for (size_t i = 1; i < started; i++)
		loop_stop(t->loops[i]);
	for (size_t i = 1; i < started; i++)
		thread_join(&t->threads[i]);
}

int io_threads_run(struct io_threads *t, struct error *err)
{
	size_t started = 1;
	char name[32]; /* cut by thread_start */
	int r;

	for (; started < t->n; started++) {
		(void)snprintf(name, sizeof(name), "io-%zu", started);
		r = thread_start(&t->threads[started], name, run_loop, t->loops[started], err);
		if (r < 0) {
			stop_and_join(t, started);
			return r;
		}
	}
	loop_run(t->loops[0]);
	stop_and_join(t, t->n);
	return 0;
}
