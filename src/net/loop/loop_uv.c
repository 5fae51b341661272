/*
 * The real loop. One libuv timer serves the earliest of our heap, one async handle the inbox.
 * Deferred tasks run before and after the wait, so that everything from one wait is handled
 * together.
 */
#include "net/loop/loop_uv.h"

#include <signal.h>

#include "base/core/mem.h"

int loop_uv_error(struct error *err, enum error_code code, int uv_code, const char *what)
{
	return error_set_errno(err, code, -uv_code, "%s", what);
}

static struct loop_uv *self_of(const uv_loop_t *uv)
{
	return CONTAINER_OF(uv, struct loop_uv, uv);
}

static void tell_time(struct loop_uv *u)
{
	u->loop.now = (int64_t)uv_now(&u->uv);
}

static void loop_uv_on_timer(uv_timer_t *t)
{
	struct loop_uv *u = self_of(t->loop);

	tell_time(u);
	loop_turn_timers(&u->loop);
}

static void on_inbox(uv_async_t *a)
{
	struct loop_uv *u = self_of(a->loop);

	tell_time(u);
	if (atomic_load(&u->stopping))
		uv_stop(&u->uv);
	loop_turn_inbox(&u->loop);
}

static void on_idle(uv_idle_t *i UNUSED)
{
}

static void on_before(uv_prepare_t *p)
{
	struct loop_uv *u = self_of(p->loop);

	tell_time(u);
	if (loop_turn_end(&u->loop))
		(void)uv_idle_start(&u->dont_wait, on_idle);
	else
		(void)uv_idle_stop(&u->dont_wait);
}

static void on_after(uv_check_t *c)
{
	struct loop_uv *u = self_of(c->loop);

	tell_time(u);
	loop_turn_deferred(&u->loop);
}

static void loop_uv_run(struct loop *l)
{
	struct loop_uv *u = loop_uv_of(l);

	uv_update_time(&u->uv);
	tell_time(u);
	(void)uv_run(&u->uv, UV_RUN_DEFAULT);
	atomic_store(&u->stopping, false);
}

static void loop_uv_stop(struct loop *l)
{
	struct loop_uv *u = loop_uv_of(l);

	atomic_store(&u->stopping, true);
	(void)uv_async_send(&u->inbox);
}

static void loop_uv_wake(struct loop *l)
{
	(void)uv_async_send(&loop_uv_of(l)->inbox);
}

static void loop_uv_arm(struct loop *l, int64_t due)
{
	struct loop_uv *u = loop_uv_of(l);
	uint64_t now = uv_now(&u->uv);

	if (due == INT64_MAX)
		(void)uv_timer_stop(&u->timer);
	else
		(void)uv_timer_start(&u->timer, loop_uv_on_timer,
				     (uint64_t)due > now ? (uint64_t)due - now : 0, 0);
}

static void free_loop(struct loop *l)
{
	struct loop_uv *u = loop_uv_of(l);

	loop_turn_inbox(l);
	while (loop_turn_end(l))
		;
	uv_close((uv_handle_t *)&u->timer, NULL);
	uv_close((uv_handle_t *)&u->inbox, NULL);
	uv_close((uv_handle_t *)&u->before, NULL);
	uv_close((uv_handle_t *)&u->after, NULL);
	uv_close((uv_handle_t *)&u->dont_wait, NULL);
	loop_uv_close_orphans(u);
	(void)uv_run(&u->uv, UV_RUN_DEFAULT);
	(void)uv_loop_close(&u->uv);
	loop_release_common(l);
	free(u);
}

static const struct loop_ops loop_uv_ops = {
	.run = loop_uv_run,
	.stop = loop_uv_stop,
	.wake = loop_uv_wake,
	.arm = loop_uv_arm,
	.free = free_loop,
	.connect = conn_uv_connect,
	.listen = listener_uv_open,
	.signal_new = loop_uv_signal_new,
	.watch_new = loop_uv_watch_new,
	.fd_new = loop_uv_fd_new,
	.child_new = loop_uv_child_new,
};

int loop_new(struct loop **ret_loop, struct error *err)
{
	struct loop_uv *u = xmalloc(sizeof(*u));
	int r;

	memset(u, 0, offsetof(struct loop_uv, read));
	r = uv_loop_init(&u->uv);
	if (r == 0) {
		r = uv_async_init(&u->uv, &u->inbox, on_inbox);
		if (r != 0)
			(void)uv_loop_close(&u->uv);
	}
	if (r != 0) {
		free(u);
		return loop_uv_error(err, ERR_IO, r, "cannot make an event loop");
	}
	/* A peer that has gone is an error of writev; it must not kill the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	loop_init_common(&u->loop, &loop_uv_ops, clock_system(), random_u64());
	(void)uv_timer_init(&u->uv, &u->timer);
	(void)uv_prepare_init(&u->uv, &u->before);
	(void)uv_check_init(&u->uv, &u->after);
	(void)uv_idle_init(&u->uv, &u->dont_wait);
	(void)uv_prepare_start(&u->before, on_before);
	(void)uv_check_start(&u->after, on_after);
	tell_time(u);
	*ret_loop = &u->loop;
	return 0;
}
