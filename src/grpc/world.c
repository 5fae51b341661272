/*
 * A connection is two ends, each with the bytes on their way to it. A turn
 * lets every end move once, then runs timers and deferred tasks, as a real loop
 * does; the world is quiet when a turn brought nothing.
 */
#include "grpc/world.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/conn_impl.h"

enum { PIPE_MAX = 64 * 1024 };

struct pipe_end {
	struct conn conn;
	struct world *world;
	struct list node;
	struct pipe_end *peer; /* NULL: closed, or never there */
	struct addr peer_addr;
	struct buf in; /* on its way to this end */
	struct loop_task free_task;
	const struct world_listener *accepted_by; /* not yet handed over */
	bool opening;
	bool dead; /* on_error is due */
	bool eof, eof_told;
	bool blocked; /* a write was short: on_writable is owed */
};

struct world_listener {
	struct listener base;
	struct world *world;
	struct list node;
	void (*on_accept)(void *arg, struct conn *c, size_t lane);
	void *arg;
};

static struct world *world_of(struct loop *l)
{
	return CONTAINER_OF(l, struct world, loop);
}

static struct pipe_end *end_of(struct conn *c)
{
	return CONTAINER_OF(c, struct pipe_end, conn);
}

/* --- conn ------------------------------------------------------------------------------- */

static size_t pipe_room(const struct pipe_end *to)
{
	size_t max = to->world->pipe_max ? to->world->pipe_max : PIPE_MAX;

	return to->in.n < max ? max - to->in.n : 0;
}

static ssize_t pipe_writev(struct conn *c, const struct iovec *iov, int n, struct error *err)
{
	struct pipe_end *e = end_of(c);
	size_t taken = 0, wanted = 0;

	if (!e->peer)
		return error_set(err, ERR_IO, "broken pipe");
	for (int i = 0; i < n; i++) {
		size_t k = MIN(iov[i].iov_len, pipe_room(e->peer));

		wanted += iov[i].iov_len;
		(void)buf_add(&e->peer->in, iov[i].iov_base, k);
		taken += k;
	}
	e->blocked = taken < wanted;
	return (ssize_t)taken;
}

static void pipe_pause(struct conn *c UNUSED, bool pause UNUSED)
{
}

static void pipe_shutdown(struct conn *c)
{
	struct pipe_end *e = end_of(c);

	if (e->peer)
		e->peer->eof = true;
}

static void pipe_free(struct loop_task *t)
{
	struct pipe_end *e = CONTAINER_OF(t, struct pipe_end, free_task);

	buf_release(&e->in);
	free(e);
}

static void pipe_close(struct conn *c)
{
	struct pipe_end *e = end_of(c);

	list_remove(&e->node);
	if (e->peer) {
		e->peer->eof = true;
		e->peer->peer = NULL;
	}
	loop_defer(&e->world->loop, &e->free_task);
}

static const struct conn_ops pipe_ops = {
	.writev = pipe_writev,
	.pause = pipe_pause,
	.shutdown = pipe_shutdown,
	.close = pipe_close,
};

static struct pipe_end *pipe_new(struct world *w, const struct addr *peer)
{
	struct pipe_end *e = XNEW(struct pipe_end);

	e->conn.ops = &pipe_ops;
	e->conn.loop = &w->loop;
	e->conn.peer = &e->peer_addr;
	e->peer_addr = *peer;
	e->world = w;
	buf_init(&e->in, SIZE_MAX / 2);
	loop_task_init(&e->free_task, pipe_free);
	list_push_back(&w->pipes, &e->node);
	return e;
}

/* --- one move of an end -------------------------------------------------------------------- */

static void hand_over(struct pipe_end *e)
{
	const struct world_listener *ln = e->accepted_by;

	e->accepted_by = NULL;
	ln->on_accept(ln->arg, &e->conn, 0);
}

static void fail(struct pipe_end *e)
{
	struct error err;

	(void)error_set(&err, ERR_IO,
			e->opening ? "connection refused" : "connection reset by peer");
	e->dead = false;
	conn_up_error(&e->conn, &err);
}

static void give_data(struct pipe_end *e)
{
	size_t n = e->in.n;
	char *piece;

	if (e->world->piece_max)
		n = 1 + (size_t)prng_below(&e->world->prng, MIN(n, e->world->piece_max));
	piece = str_dup(str_of(e->in.p, n)); /* of its own, so that overreads show */
	buf_consume(&e->in, n);
	conn_up_data(&e->conn, piece, n);
	free(piece);
}

/* True when something happened. */
static bool move(struct pipe_end *e)
{
	if (e->accepted_by) {
		hand_over(e);
	} else if (e->dead) {
		fail(e);
	} else if (e->opening) {
		if (!e->peer)
			return false;
		e->opening = false;
		conn_up_open(&e->conn);
	} else if (e->in.n && !e->conn.paused) {
		give_data(e);
	} else if (e->eof && !e->eof_told && e->in.n == 0) {
		e->eof_told = true;
		conn_up_eof(&e->conn);
	} else if (e->blocked && e->peer && pipe_room(e->peer)) {
		e->blocked = false;
		conn_up_writable(&e->conn);
	} else {
		return false;
	}
	return true;
}

/* --- loop ---------------------------------------------------------------------------------- */

static void world_wake(struct loop *l)
{
	world_of(l)->woken = true;
}

static void world_arm(struct loop *l UNUSED, int64_t due UNUSED)
{
}

static struct world_listener *find_listener(struct world *w, const struct addr *at)
{
	LIST_FOREACH (it, &w->listeners) {
		struct world_listener *ln = LIST_ENTRY(it, struct world_listener, node);

		if (strcmp(ln->base.at.text, at->text) == 0)
			return ln;
	}
	return NULL;
}

static int world_connect(struct loop *l, const struct addr *to, const struct conn_events *events,
			 void *arg, struct conn **ret_conn, struct error *err UNUSED)
{
	struct world *w = world_of(l);
	struct world_listener *ln = find_listener(w, to);
	struct pipe_end *e = pipe_new(w, to);

	w->connects++;
	e->opening = true;
	conn_set_events(&e->conn, events, arg);
	*ret_conn = &e->conn;
	if (w->silent)
		return 0;
	if (w->refuse || !ln) {
		e->dead = true;
		return 0;
	}
	e->peer = pipe_new(w, to);
	e->peer->peer = e;
	e->peer->accepted_by = ln;
	return 0;
}

static void listener_close(struct listener *base)
{
	struct world_listener *ln = CONTAINER_OF(base, struct world_listener, base);

	LIST_FOREACH_SAFE (it, &ln->world->pipes) {
		struct pipe_end *e = LIST_ENTRY(it, struct pipe_end, node);

		if (e->accepted_by == ln)
			conn_free(&e->conn);
	}
	list_remove(&ln->node);
	free(ln);
}

static int world_listen(struct loop *l, const struct addr *at, const struct listener_opts *opts,
			struct listener **ret_listener, struct error *err UNUSED)
{
	struct world_listener *ln = XNEW(struct world_listener);

	ln->world = world_of(l);
	ln->base.at = *at;
	ln->base.free = listener_close;
	ln->on_accept = opts->on_accept;
	ln->arg = opts->arg;
	list_push_back(&world_of(l)->listeners, &ln->node);
	*ret_listener = &ln->base;
	return 0;
}

static const struct loop_ops world_ops = {
	.wake = world_wake,
	.arm = world_arm,
	.connect = world_connect,
	.listen = world_listen,
};

void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){ 0 };
	list_init(&w->pipes);
	list_init(&w->listeners);
	prng_init(&w->prng, seed);
	clock_manual_init(&w->clock, 0, 0);
	loop_init_common(&w->loop, &world_ops, &w->clock.clock, seed);
	w->loop.now = 1000;
}

void world_release(struct world *w)
{
	world_run(w);
	loop_release_common(&w->loop);
}

static bool move_pipes(struct world *w)
{
	struct list now, *node;
	bool any = false;

	list_init(&now);
	list_splice_back(&now, &w->pipes);
	while ((node = list_pop_front(&now))) {
		list_push_back(&w->pipes, node);
		any |= move(LIST_ENTRY(node, struct pipe_end, node));
	}
	return any;
}

static bool turn(struct world *w)
{
	struct loop *l = &w->loop;
	bool any = move_pipes(w) || w->woken;

	w->woken = false;
	loop_turn_inbox(l);
	if (l->timers.n && l->timers.v[0]->armed <= l->now) {
		loop_turn_timers(l);
		any = true;
	}
	any |= !list_empty(&l->deferred);
	(void)loop_turn_deferred(l);
	return any;
}

void world_run(struct world *w)
{
	while (turn(w))
		;
}

void world_advance(struct world *w, int64_t ms)
{
	struct loop *l = &w->loop;
	int64_t until = l->now + ms;

	world_run(w);
	while (l->timers.n && l->timers.v[0]->armed <= until) {
		l->now = l->timers.v[0]->armed;
		w->clock.monotonic_ns = l->now * CLOCK_MS;
		world_run(w);
	}
	l->now = until;
	w->clock.monotonic_ns = l->now * CLOCK_MS;
	world_run(w);
}

void world_cut(struct world *w)
{
	LIST_FOREACH (it, &w->pipes) {
		struct pipe_end *e = LIST_ENTRY(it, struct pipe_end, node);

		e->dead = true;
		e->peer = NULL;
	}
	world_run(w);
}

size_t world_in_flight(const struct world *w)
{
	size_t n = 0;

	LIST_FOREACH (it, &w->pipes)
		n += LIST_ENTRY(it, struct pipe_end, node)->in.n;
	return n;
}
