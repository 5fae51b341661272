/*
 * Both ends of a connection, and the bytes between them.
 *
 * Each end has the pipe of the bytes sent to it. Bytes get a time of arrival when they are written,
 * never before that of earlier bytes; an end or a failure of the connection travels the same way. A
 * writer sees a pipe with limited room, which the reader frees by reading. Reads may be split
 * anywhere.
 *
 * Ending works as in the kernel. A conn freed with nothing to read leaves its last bytes and an
 * orderly end behind; one freed with unread bytes sends a reset, which may overtake bytes. An end
 * whose peer is gone may write once more, and is then notified. An end that neither reads nor waits
 * to write is not notified until it writes, or asks (conn_hung_up).
 */
#include "net/sim/sim_impl.h"

#include <errno.h>

#include "base/core/mem.h"

enum {
	READ_MAX = 64 * 1024,
	TINY = 16,
	PIPE_SPREAD = 64, /* the largest pipe is this many times the smallest */
};

static struct sim_conn *self_of(struct conn *c)
{
	return CONTAINER_OF(c, struct sim_conn, conn);
}

static struct sim_conn *conn_of(struct sim_source *src)
{
	return CONTAINER_OF(src, struct sim_conn, src);
}

static void trace(const struct sim_conn *c, const char *what, size_t n)
{
	sim_trace(c->sim, c->src.loop, "c%u%c %s %zu", c->id, c->server ? 's' : 'c', what, n);
}

/* --- what is due ------------------------------------------------------------------- */

static bool is_reading(const struct sim_conn *c)
{
	return !c->conn.paused && !c->eof_told;
}

static int64_t next_due(const struct sim_conn *c)
{
	int64_t due = SIM_NEVER;

	if (c->conn.closed || c->dead)
		return SIM_NEVER;
	if (c->state != SIM_OPEN)
		return c->open_due;
	if (c->error.sent && (is_reading(c) || c->want_write))
		due = c->error.due;
	if (is_reading(c) && c->in.marks.n)
		due = MIN(due, c->in.marks.v[0].due);
	else if (is_reading(c) && c->eof.sent)
		due = MIN(due, c->eof.due);
	return c->want_write ? MIN(due, c->writable_due) : due;
}

/* Computes again when something is due for it. */
static void set_due(struct sim_conn *c)
{
	if (c->src.loop)
		sim_source_set(&c->src, next_due(c));
}

/* --- travelling --------------------------------------------------------------------- */

/* When something sent to `c` now arrives. */
static int64_t arrival(struct sim_conn *c)
{
	int64_t due;

	if (!sim_path_open(c->sim, c->near, c->far))
		return SIM_NEVER;
	due = c->sim->now + sim_latency(c->sim, c->near, c->far);
	c->last_due = MAX(c->last_due, due);
	return c->last_due;
}

static void send_notice(struct sim_conn *c, struct sim_notice *n)
{
	if (!n->sent)
		*n = (struct sim_notice){ .sent = true, .due = arrival(c) };
	set_due(c);
}

static void send_reset(struct sim_conn *c, int code)
{
	if (c->giving_up)
		c->error.sent = c->giving_up = false;
	c->error_code = code;
	send_notice(c, &c->error);
}

/* A reset may overtake bytes, and lost bytes leave a gap that nothing fills. */
static void lose_in_flight(struct sim_conn *c)
{
	size_t arrived = sim_pipe_arrived(&c->in, c->sim->now), used = sim_pipe_used(&c->in);

	sim_pipe_truncate(&c->in, (size_t)sim_between(c->sim, (int64_t)arrived, (int64_t)used));
}

/* Starts the timeout of bytes that nobody acknowledges. */
static void begin_to_give_up(struct sim_conn *c)
{
	if (c->error.sent)
		return;
	c->giving_up = true;
	c->error_code = ETIMEDOUT;
	c->error.sent = true;
	c->error.due = c->sim->now + c->sim->opts.give_up_ms * CLOCK_MS;
	set_due(c);
}

/* Starts keep-alive probes, which will get no reply. */
static void begin_to_probe(struct sim_conn *c)
{
	int64_t max = c->sim->opts.keepalive_ms * CLOCK_MS;

	if (!max || c->error.sent)
		return;
	begin_to_give_up(c);
	c->error.due = c->sim->now + sim_between(c->sim, max / 2, max);
	set_due(c);
}

static bool has_arrived(const struct sim_conn *c, const struct sim_notice *n)
{
	return n->sent && n->due <= c->sim->now;
}

static void detach(struct sim_conn *c)
{
	if (c->peer)
		c->peer->peer = NULL;
	c->peer = NULL;
}

/* --- calling up ---------------------------------------------------------------------- */

void sim_conn_fail(struct sim_conn *c, const struct error *err)
{
	trace(c, "error", (size_t)err->sys_errno);
	c->dead = true;
	detach(c);
	set_due(c);
	conn_up_error(&c->conn, err);
}

static int lost(const struct sim_conn *c, struct error *err, int code)
{
	return error_set_errno(err, ERR_UNAVAILABLE, code, "lost the connection to %s",
			       c->peer_addr.text);
}

static void conn_fail(struct sim_conn *c)
{
	struct error err;

	(void)lost(c, &err, c->error_code);
	sim_conn_fail(c, &err);
}

static void tell_open(struct sim_conn *c)
{
	if (has_arrived(c, &c->error) && sim_coin(c->sim)) {
		conn_fail(c);
		return;
	}
	trace(c, "open", 0);
	c->state = SIM_OPEN;
	c->writable_due = c->sim->now;
	conn_up_open(&c->conn);
}

/* The reader has made room; the writer is notified later. */
static void tell_room(struct sim_conn *writer)
{
	int64_t due;

	if (!writer || !writer->want_write)
		return;
	due = arrival(writer);
	writer->writable_due = MIN(writer->writable_due, due);
	set_due(writer);
}

static size_t draw_piece(struct sim *s, size_t arrived)
{
	size_t most = MIN(arrived, (size_t)READ_MAX);

	switch (prng_below(&s->prng, 8)) {
	case 0:
		return 1 + (size_t)prng_below(&s->prng, MIN(most, (size_t)TINY));
	case 1:
	case 2:
		return 1 + (size_t)prng_below(&s->prng, most);
	default:
		return most;
	}
}

static void read_piece(struct sim_conn *c, size_t arrived)
{
	size_t n = draw_piece(c->sim, arrived);
	char *piece = xmalloc(n); /* its own block, so that overreads are detected */

	sim_pipe_get(&c->in, piece, n);
	trace(c, "data", n);
	tell_room(c->peer);
	conn_up_data(&c->conn, piece, n);
	free(piece);
}

static void read_some(struct sim_conn *c)
{
	size_t arrived = sim_pipe_arrived(&c->in, c->sim->now);

	if (arrived) {
		read_piece(c, arrived);
		return;
	}
	trace(c, "eof", 0);
	c->eof_told = true;
	conn_up_eof(&c->conn);
}

static void exchange(struct sim_conn *c)
{
	bool readable = is_reading(c) && (sim_pipe_arrived(&c->in, c->sim->now) ||
					  (has_arrived(c, &c->eof) && sim_pipe_used(&c->in) == 0));
	bool writable = c->want_write && c->writable_due <= c->sim->now;

	if (readable && sim_chance(c->sim, c->sim->opts.lose)) {
		sim_conn_break(c);
		return;
	}
	if (readable && (!writable || !sim_chance(c->sim, 0.25)))
		read_some(c);
	if (!writable || c->conn.closed || !c->want_write || (readable && sim_coin(c->sim)))
		return;
	trace(c, "writable", 0);
	c->want_write = false;
	conn_up_writable(&c->conn);
}

static void fire(struct sim_source *src)
{
	struct sim_conn *c = conn_of(src);

	assert(!c->conn.closed && !c->dead);
	if (c->state == SIM_DIALING)
		sim_conn_dial(c);
	else if (c->state == SIM_ANSWERED)
		tell_open(c);
	else if (has_arrived(c, &c->error) &&
		 (!is_reading(c) || !sim_pipe_arrived(&c->in, c->sim->now) || sim_coin(c->sim)))
		conn_fail(c);
	else
		exchange(c);
	if (!c->conn.closed)
		set_due(c);
}

/* --- the filter's verbs -------------------------------------------------------------- */

/* A write may arrive in parts. */
static void mark_written(struct sim_conn *to, uint64_t from)
{
	uint64_t n = to->in.tail - from;

	if (n > 1 && prng_below(&to->sim->prng, 4) == 0) {
		/* One draw after the other: a seed must give the same run with every compiler. */
		uint64_t part = 1 + prng_below(&to->sim->prng, n - 1);

		sim_pipe_mark(&to->in, from + part, arrival(to));
	}
	sim_pipe_mark(&to->in, to->in.tail, arrival(to));
	set_due(to);
}

static size_t put_all(struct sim_conn *to, const struct iovec *iov, int n, size_t room)
{
	uint64_t from = to->in.tail;
	size_t left = room;

	for (int i = 0; i < n && left; i++) {
		size_t part = MIN(iov[i].iov_len, left);

		if (part)
			sim_pipe_put(&to->in, iov[i].iov_base, part);
		left -= part;
	}
	if (to->in.tail > from)
		mark_written(to, from);
	return room - left;
}

/* The bytes are sent, and sooner or later a reset comes back. */
static size_t write_to_nobody(struct sim_conn *c, size_t total)
{
	if (c->error.sent)
		return 0;
	if (!sim_path_open(c->sim, c->near, c->far))
		begin_to_give_up(c);
	else
		send_reset(c, ECONNRESET);
	return (size_t)sim_between(c->sim, 0, (int64_t)total);
}

static size_t total_of(const struct iovec *iov, int n)
{
	size_t total = 0;

	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	return total;
}

static ssize_t conn_sim_writev(struct conn *conn, const struct iovec *iov, int n, struct error *err)
{
	struct sim_conn *c = self_of(conn);
	size_t total = total_of(iov, n), taken = 0;

	sim_check_thread(c->src.loop);
	if (c->dead || c->shut || c->src.loop->crashed || has_arrived(c, &c->error)) {
		c->dead = true;
		set_due(c);
		return lost(c, err, c->shut ? EPIPE : ECONNRESET);
	}
	if (c->state == SIM_OPEN && total) {
		taken = c->peer ? put_all(c->peer, iov, n,
					  c->peer->in.cap - sim_pipe_used(&c->peer->in))
				: write_to_nobody(c, total);
		if (c->peer && !sim_path_open(c->sim, c->near, c->far))
			begin_to_give_up(c);
	}
	trace(c, "write", taken);
	if (taken < total) {
		c->want_write = true;
		c->writable_due = SIM_NEVER;
		set_due(c);
	}
	return (ssize_t)taken;
}

static void conn_sim_pause(struct conn *conn, bool pause UNUSED)
{
	struct sim_conn *c = self_of(conn);

	sim_check_thread(c->src.loop);
	set_due(c);
}

static void conn_sim_shutdown(struct conn *conn)
{
	struct sim_conn *c = self_of(conn);

	sim_check_thread(c->src.loop);
	if (c->shut)
		return;
	c->shut = true;
	trace(c, "shutdown", 0);
	if (c->peer)
		send_notice(c->peer, &c->peer->eof);
}

/* Does what the kernel does when the last descriptor is closed. */
static void hang_up(struct sim_conn *c)
{
	struct sim_conn *peer = c->peer;

	if (!peer)
		return;
	detach(c);
	if (sim_pipe_arrived(&c->in, c->sim->now)) {
		lose_in_flight(peer);
		send_reset(peer, ECONNRESET);
		return;
	}
	send_notice(peer, &peer->eof);
	/* Bytes still in flight to us will cause a reset. */
	if (sim_pipe_used(&c->in))
		send_reset(peer, ECONNRESET);
}

static void conn_sim_close(struct conn *conn)
{
	struct sim_conn *c = self_of(conn);

	sim_check_thread(c->src.loop);
	trace(c, "close", 0);
	hang_up(c);
	sim_source_close(&c->src);
}

static bool conn_sim_hung_up(const struct conn *conn)
{
	const struct sim_conn *c = CONTAINER_OF(conn, const struct sim_conn, conn);

	if (c->state != SIM_OPEN || c->eof_told || c->dead)
		return false;
	return has_arrived(c, &c->eof) || has_arrived(c, &c->error);
}

static const struct conn_ops conn_sim_ops = {
	.writev = conn_sim_writev,
	.pause = conn_sim_pause,
	.shutdown = conn_sim_shutdown,
	.close = conn_sim_close,
	.hung_up = conn_sim_hung_up,
};

/* --- faults -------------------------------------------------------------------------- */

void sim_conn_refuse(struct sim_conn *c)
{
	struct sim_conn *peer = c->peer;

	detach(c);
	if (peer) {
		lose_in_flight(peer);
		send_reset(peer, ECONNRESET);
	}
	c->conn.closed = true;
	sim_source_close(&c->src);
}

/*
 * An end of the lost connection is notified, or only when it writes or is writing. One kernel has
 * both ends of a unix connection, and never leaves only one of them open.
 */
static void lose_end(struct sim_conn *c)
{
	lose_in_flight(c);
	if (c->want_write || !sim_chance(c->sim, 0.25) || c->peer_addr.kind == ADDR_UNIX)
		send_reset(c, ECONNRESET);
	else
		begin_to_probe(c);
	set_due(c);
}

void sim_conn_break(struct sim_conn *c)
{
	struct sim_conn *peer = c->peer;

	trace(c, "lost", 0);
	detach(c);
	lose_end(c);
	if (peer)
		lose_end(peer);
}

void sim_conn_crash(struct sim_conn *c, enum sim_crash how)
{
	struct sim_conn *peer = c->peer;

	if (how == SIM_CRASH_PROCESS) {
		hang_up(c);
	} else if (peer) {
		detach(c);
		lose_in_flight(peer);
		sim_conn_hold(peer);
		if (sim_pipe_used(&c->in))
			begin_to_give_up(peer);
		else
			begin_to_probe(peer);
	}
}

static void crash(struct sim_source *src, enum sim_crash how)
{
	sim_conn_crash(conn_of(src), how);
}

static void bury(struct sim_source *src)
{
	struct error err;

	(void)lost(conn_of(src), &err, ECONNABORTED);
	if (!conn_of(src)->dead)
		sim_conn_fail(conn_of(src), &err);
}

static void hold_time(const struct sim_conn *c, int64_t *due)
{
	if (*due > c->sim->now)
		*due = SIM_NEVER;
}

void sim_conn_hold(struct sim_conn *c)
{
	struct sim_pipe *p = &c->in;

	for (size_t i = 0; i < p->marks.n; i++)
		hold_time(c, &p->marks.v[i].due);
	hold_time(c, &c->eof.due);
	if (!c->giving_up)
		hold_time(c, &c->error.due);
	hold_time(c, &c->writable_due);
	c->last_due = c->sim->now;
	if (c->peer && p->marks.n && p->marks.v[p->marks.n - 1].due == SIM_NEVER)
		begin_to_give_up(c->peer);
	if (c->want_write)
		begin_to_give_up(c);
	set_due(c);
}

static void resend_time(struct sim_conn *c, int64_t *due)
{
	if (*due == SIM_NEVER)
		*due = arrival(c);
}

void sim_conn_resend(struct sim_conn *c)
{
	struct sim_pipe *p = &c->in;

	if (c->state == SIM_DIALING)
		resend_time(c, &c->open_due);
	for (size_t i = 0; i < p->marks.n; i++)
		resend_time(c, &p->marks.v[i].due);
	if (c->giving_up) {
		c->giving_up = c->error.sent = false;
		if (!c->peer)
			send_reset(c, ECONNRESET);
	}
	resend_time(c, &c->eof.due);
	resend_time(c, &c->error.due);
	if (c->peer && sim_pipe_used(&c->peer->in) < c->peer->in.cap)
		tell_room(c);
	set_due(c);
}

/* --- making one ---------------------------------------------------------------------- */

static void destroy(struct sim_source *src)
{
	struct sim_conn *c = conn_of(src);

	assert(!c->peer);
	list_remove(&c->link);
	list_remove(&c->backlog);
	sim_pipe_release(&c->in);
	free(c);
}

/* Often small, so that backpressure is common, but not so small that nothing moves. */
static size_t draw_capacity(struct sim *s)
{
	size_t most = s->opts.pipe_max, least = most / PIPE_SPREAD + 1;

	if (sim_coin(s))
		most = least + (size_t)prng_below(&s->prng, most - least + 1);
	return least + (size_t)prng_below(&s->prng, most - least + 1);
}

struct sim_conn *sim_conn_new(struct sim *s, struct sim_host *near, struct sim_host *far,
			      const struct addr *peer)
{
	struct sim_conn *c = XNEW(struct sim_conn);

	c->conn = (struct conn){ .ops = &conn_sim_ops, .peer = &c->peer_addr };
	c->src = (struct sim_source){
		.due = SIM_NEVER, .fire = fire, .crash = crash, .bury = bury, .destroy = destroy
	};
	c->sim = s;
	c->near = near;
	c->far = far;
	c->peer_addr = *peer;
	c->open_due = c->writable_due = SIM_NEVER;
	sim_pipe_init(&c->in, draw_capacity(s));
	list_init(&c->src.grave);
	list_init(&c->backlog);
	list_push_back(&s->ends, &c->link);
	return c;
}

void sim_conn_adopt(struct sim_conn *c, struct sim_loop *l)
{
	c->conn.loop = &l->loop;
	sim_source_add(&c->src, l);
	if (c->state == SIM_WAITING)
		c->state = SIM_OPEN;
	set_due(c);
}
