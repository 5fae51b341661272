/*
 * A waiting request is a job on the first loop, outside of the state's own list.
 */
#include "server/http/ready.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"

enum { SWEEP_MS = 250 };

struct ready {
	struct server *server;
	struct list waiting; /* jobs */
	struct loop_timer sweep; /* ends those whose time limit has passed */
	atomic_uint count; /* requests that wait, or are on their way to the list */
};

struct waiting {
	void (*then)(struct exchange *x);
	void *data; /* the request's own, kept meanwhile */
};

static void ready_refuse(struct exchange *x)
{
	struct error err;

	if (atomic_load(&x->server->stopping))
		(void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
	else
		(void)error_set(&err, ERR_UNAVAILABLE,
				"the server is starting and has not loaded all objects yet; try "
				"again");
	x->about.retry_after_s = 1;
	reply_error(x, &err, NULL);
}

static void ready_finish(struct exchange *x)
{
	const struct waiting *w = x->data;

	x->data = w->data;
	if (atomic_load(&x->server->ready))
		w->then(x);
	else
		ready_refuse(x);
}

/* --- on the first loop ------------------------------------------------------------ */

static void release_one(struct server *s, struct job *j)
{
	atomic_fetch_sub(&s->unready->count, 1);
	job_finish(j);
}

static void ready_run(struct state *st UNUSED, struct job *j)
{
	struct server *s = exchange_of(j)->server;

	if (atomic_load(&s->ready) || atomic_load(&s->stopping)) {
		release_one(s, j);
		return;
	}
	j->deadline = loop_now(s->opts.loops[0]) + j->limit_ms;
	list_push_back(&s->unready->waiting, &j->link);
	if (!loop_timer_running(&s->unready->sweep))
		loop_timer_start(&s->unready->sweep, SWEEP_MS);
}

static void on_sweep(struct loop_timer *t)
{
	struct ready *r = CONTAINER_OF(t, struct ready, sweep);
	struct server *s = r->server;

	LIST_FOREACH_SAFE (it, &r->waiting) {
		struct job *j = LIST_ENTRY(it, struct job, link);

		if (loop_now(s->opts.loops[0]) < j->deadline)
			continue;
		list_remove(it);
		release_one(s, j);
	}
	if (!list_empty(&r->waiting))
		loop_timer_start(t, SWEEP_MS);
}

void ready_release(struct server *s)
{
	struct list *node;

	loop_timer_stop(&s->unready->sweep);
	while ((node = list_pop_front(&s->unready->waiting)))
		release_one(s, LIST_ENTRY(node, struct job, link));
}

struct ready *ready_new(struct server *s)
{
	struct ready *r = XNEW(struct ready);

	r->server = s;
	list_init(&r->waiting);
	loop_timer_init(&r->sweep, s->opts.loops[0], on_sweep);
	atomic_init(&r->count, 0);
	return r;
}

void ready_free(struct ready *r)
{
	free(r);
}

/* --- on the request's loop -------------------------------------------------------- */

void ready_wait(struct exchange *x, void (*then)(struct exchange *x))
{
	struct ready *r = x->server->unready;
	struct waiting *w;

	if (atomic_fetch_add(&r->count, 1) >= READY_WAITING_MAX) {
		atomic_fetch_sub(&r->count, 1);
		ready_refuse(x);
		return;
	}
	w = ARENA_NEW(x->arena, struct waiting);
	*w = (struct waiting){ then, x->data };
	x->data = w;
	exchange_visit(x, ready_run, ready_finish);
}
