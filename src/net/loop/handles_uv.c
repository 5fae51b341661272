/*
 * Signals, folders and descriptors on libuv. Freeing a handle closes it, and libuv frees the memory
 * in the next turn.
 */
#include "net/loop/loop_uv.h"

#include "base/core/mem.h"

struct signal_uv {
	struct loop_signal handle;
	uv_signal_t uv;
	void (*fn)(void *arg, int signum);
	void *arg;
};

static void signal_closed(uv_handle_t *h)
{
	free(CONTAINER_OF(h, struct signal_uv, uv));
}

static void signal_free(struct loop_signal *s)
{
	uv_close((uv_handle_t *)&CONTAINER_OF(s, struct signal_uv, handle)->uv, signal_closed);
}

static void handles_uv_on_signal(uv_signal_t *h, int signum)
{
	struct signal_uv *s = CONTAINER_OF(h, struct signal_uv, uv);

	s->fn(s->arg, signum);
}

int loop_uv_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		       struct loop_signal **ret_signal, struct error *err)
{
	struct signal_uv *s = XNEW(struct signal_uv);
	int r;

	*s = (struct signal_uv){ .handle = { .free = signal_free }, .fn = fn, .arg = arg };
	r = uv_signal_init(&loop_uv_of(l)->uv, &s->uv);
	if (r != 0) {
		free(s);
		return loop_uv_error(err, ERR_IO, r, "cannot watch signals");
	}
	r = uv_signal_start(&s->uv, handles_uv_on_signal, signum);
	if (r != 0) {
		signal_free(&s->handle);
		return loop_uv_error(err, ERR_IO, r, "cannot watch a signal");
	}
	*ret_signal = &s->handle;
	return 0;
}

/* --- folders ------------------------------------------------------------------------ */

struct watch_uv {
	struct loop_watch handle;
	uv_fs_event_t uv;
	void (*fn)(void *arg, struct str name, const struct error *err);
	void *arg;
};

static void watch_closed(uv_handle_t *h)
{
	free(CONTAINER_OF(h, struct watch_uv, uv));
}

static void watch_free(struct loop_watch *w)
{
	uv_close((uv_handle_t *)&CONTAINER_OF(w, struct watch_uv, handle)->uv, watch_closed);
}

static void on_fs_event(uv_fs_event_t *h, const char *name, int events UNUSED, int status)
{
	struct watch_uv *w = CONTAINER_OF(h, struct watch_uv, uv);
	struct error err;

	if (status < 0) {
		(void)loop_uv_error(&err, ERR_IO, status, "watching a folder failed");
		w->fn(w->arg, STR_NULL, &err);
		return;
	}
	w->fn(w->arg, str_from(name), NULL);
}

int loop_uv_watch_new(struct loop *l, const char *path,
		      void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		      struct loop_watch **ret_watch, struct error *err)
{
	struct watch_uv *w = XNEW(struct watch_uv);
	int r;

	*w = (struct watch_uv){ .handle = { .free = watch_free }, .fn = fn, .arg = arg };
	r = uv_fs_event_init(&loop_uv_of(l)->uv, &w->uv);
	if (r != 0) {
		free(w);
		return loop_uv_error(err, ERR_IO, r, "cannot watch folders");
	}
	r = uv_fs_event_start(&w->uv, on_fs_event, path, 0);
	if (r != 0) {
		watch_free(&w->handle);
		return loop_uv_error(err, r == UV_ENOENT ? ERR_NOT_FOUND : ERR_IO, r, path);
	}
	*ret_watch = &w->handle;
	return 0;
}

/* --- descriptors -------------------------------------------------------------------- */

struct fd_uv {
	struct loop_fd handle;
	uv_poll_t uv;
	void (*fn)(void *arg);
	void *arg;
};

static void fd_closed(uv_handle_t *h)
{
	free(CONTAINER_OF(h, struct fd_uv, uv));
}

static void fd_free(struct loop_fd *f)
{
	uv_close((uv_handle_t *)&CONTAINER_OF(f, struct fd_uv, handle)->uv, fd_closed);
}

/*
 * libuv ends the watch of a descriptor with an error (POLLERR). A netlink socket has one whenever
 * it lost messages, and continues to work: reading it returns the error, so we treat it as
 * readable.
 */
static void on_readable(uv_poll_t *h, int status, int events UNUSED)
{
	struct fd_uv *f = CONTAINER_OF(h, struct fd_uv, uv);

	if (status < 0)
		(void)uv_poll_start(h, UV_READABLE, on_readable);
	f->fn(f->arg);
}

int loop_uv_fd_new(struct loop *l, int fd, void (*fn)(void *arg), void *arg,
		   struct loop_fd **ret_fd, struct error *err)
{
	struct fd_uv *f = XNEW(struct fd_uv);
	int r;

	*f = (struct fd_uv){ .handle = { .free = fd_free }, .fn = fn, .arg = arg };
	r = uv_poll_init(&loop_uv_of(l)->uv, &f->uv, fd);
	if (r != 0) {
		free(f);
		return loop_uv_error(err, ERR_IO, r, "cannot watch a descriptor");
	}
	r = uv_poll_start(&f->uv, UV_READABLE, on_readable);
	if (r != 0) {
		fd_free(&f->handle);
		return loop_uv_error(err, ERR_IO, r, "cannot watch a descriptor");
	}
	*ret_fd = &f->handle;
	return 0;
}
