/*
 * A delivery is made from a block of exactly its size that is freed right afterwards, so that the
 * address sanitizer detects reads beyond it or later.
 */
#include "net/loop/conn_pipe.h"

#include <assert.h>
#include <errno.h>

#include "base/core/limits.h"
#include "base/core/mem.h"

static struct pipe_end *end_of(struct conn *c)
{
	return CONTAINER_OF(c, struct pipe_end, conn);
}

static ssize_t pipe_writev(struct conn *c, const struct iovec *iov, int n, struct error *err)
{
	struct pipe_end *e = end_of(c);
	size_t taken = 0, total = 0;

	assert(!e->shut);
	if (e->broken)
		return error_set_errno(err, ERR_UNAVAILABLE, EPIPE, "lost the connection to %s",
				       e->peer.text);
	for (int i = 0; i < n; i++) {
		size_t room = e->room - MIN(e->wire.n, e->room);
		size_t piece = MIN(iov[i].iov_len, room);

		(void)buf_add(&e->wire, iov[i].iov_base, piece);
		taken += piece;
		total += iov[i].iov_len;
	}
	if (taken < total)
		e->want_writable = true;
	return (ssize_t)taken;
}

static void pipe_pause(struct conn *c UNUSED, bool pause UNUSED)
{
}

static void pipe_shutdown(struct conn *c)
{
	end_of(c)->shut = true;
}

static void pipe_reap(struct loop_task *t)
{
	struct pipe_end *e = CONTAINER_OF(t, struct pipe_end, reap);

	if (e->other)
		e->other->other = NULL;
	list_remove(&e->link);
	buf_release(&e->wire);
	free(e);
}

/* Written bytes still arrive: the memory is freed when the other end has read everything. */
static void pipe_close(struct conn *c)
{
	struct pipe_end *e = end_of(c);

	e->shut = true;
	if (!e->other || e->other->conn.closed)
		loop_defer(c->loop, &e->reap);
	if (e->other && e->other->conn.closed)
		loop_defer(c->loop, &e->other->reap);
}

static const struct conn_ops pipe_ops = {
	.writev = pipe_writev,
	.pause = pipe_pause,
	.shutdown = pipe_shutdown,
	.close = pipe_close,
};

static struct pipe_end *end_new(struct pipe_loop *l, size_t piece, size_t room, const char *peer)
{
	struct pipe_end *e = XNEW(struct pipe_end);
	int r = addr_parse(&e->peer, str_from(peer), 0, NULL);

	assert(r == 0);
	(void)r;
	e->conn = (struct conn){ .ops = &pipe_ops, .loop = &l->loop, .peer = &e->peer };
	e->piece = piece;
	e->room = room;
	buf_init(&e->wire, 64 * MIB);
	loop_task_init(&e->reap, pipe_reap);
	list_push_back(&l->ends, &e->link);
	return e;
}

void pipe_new(struct pipe_loop *l, size_t piece, size_t room, struct pipe_end **ret_a,
	      struct pipe_end **ret_b)
{
	struct pipe_end *a = end_new(l, piece, room, "10.0.0.1:6443");
	struct pipe_end *b = end_new(l, piece, room, "10.0.0.2:50000");

	a->other = b;
	b->other = a;
	*ret_a = a;
	*ret_b = b;
}

static void conn_pipe_deliver(struct pipe_end *e)
{
	size_t n = MIN(e->wire.n, e->piece);
	char *block = xmalloc(n);

	memcpy(block, e->wire.p, n);
	buf_consume(&e->wire, n);
	if (e->wire.n == 0)
		buf_release(&e->wire);
	conn_up_data(&e->other->conn, block, n);
	free(block);
}

static bool end_step(struct pipe_end *e)
{
	bool open = e->other && !e->other->conn.closed && !e->other->conn.paused && !e->held;
	bool moved = false;

	if (open && e->wire.n) {
		conn_pipe_deliver(e);
		moved = true;
	} else if (open && e->shut && !e->end_told) {
		e->end_told = moved = true;
		conn_up_eof(&e->other->conn);
	}
	if (e->want_writable && e->wire.n < e->room && !e->conn.closed) {
		e->want_writable = false;
		moved = true;
		conn_up_writable(&e->conn);
	}
	return moved;
}

bool pipe_step(struct pipe_loop *l)
{
	bool moved = false;

	LIST_FOREACH (it, &l->ends)
		moved |= end_step(LIST_ENTRY(it, struct pipe_end, link));
	moved |= loop_has_deferred(&l->loop);
	(void)loop_turn_end(&l->loop);
	return moved;
}

void pipe_run(struct pipe_loop *l)
{
	while (pipe_step(l))
		;
}

static const struct loop_ops pipe_loop_ops = { 0 };

void pipe_loop_init(struct pipe_loop *l, int64_t wall_s)
{
	*l = (struct pipe_loop){ 0 };
	clock_manual_init(&l->clock, 0, wall_s * CLOCK_SEC);
	loop_init_common(&l->loop, &pipe_loop_ops, &l->clock.clock, 1);
	list_init(&l->ends);
}

void pipe_loop_release(struct pipe_loop *l)
{
	while (loop_turn_end(&l->loop))
		;
	assert(list_empty(&l->ends));
	loop_release_common(&l->loop);
}
