/*
 * loop_uv - private to the *_uv.c files: the loop on libuv.
 */
#ifndef NET_LOOP_LOOP_UV_H
#define NET_LOOP_LOOP_UV_H

#include <uv.h>

#include "net/loop/backend.h"
#include "net/loop/filter.h"

enum { LOOP_UV_READ = 64 * 1024 };

struct loop_uv {
	struct loop loop;
	uv_loop_t uv;
	uv_timer_t timer; /* for our earliest timer */
	uv_async_t inbox; /* another thread posted */
	uv_prepare_t before; /* runs deferred tasks before waiting */
	uv_check_t after; /* and after events */
	uv_idle_t dont_wait; /* active while tasks are left */
	atomic_bool stopping;
	char read[LOOP_UV_READ]; /* bytes read from a socket, during on_data */
};

static inline struct loop_uv *loop_uv_of(struct loop *l)
{
	return CONTAINER_OF(l, struct loop_uv, loop);
}

/* "what: text of a libuv code". */
int loop_uv_error(struct error *err, enum error_code code, int uv_code, const char *what);

/* Makes a conn of a connected descriptor, and owns it. Reading starts in the next turn. */
struct conn *conn_uv_new(struct loop *l, int fd, const struct addr *peer);

int conn_uv_connect(struct loop *l, const struct addr *to, const struct conn_events *events,
		    void *arg, struct conn **ret_conn, struct error *err);
/*
 * A connection attempt: resolves a name if needed, and tries its addresses in turn. `done` is
 * called once, in a later turn, with a descriptor that the callee owns, or with fd -1 and the last
 * error. The dial is freed then.
 */
struct dial;
struct dial *dial_new(struct loop *l, const struct addr *to,
		      void (*done)(void *arg, int fd, const struct addr *peer,
				   const struct error *err),
		      void *arg);
void dial_cancel(struct dial *d); /* NULL allowed */

int listener_uv_open(struct loop *l, const struct addr *at, const struct listener_opts *opts,
		     struct listener **ret_listener, struct error *err);
int loop_uv_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		       struct loop_signal **ret_signal, struct error *err);
int loop_uv_watch_new(struct loop *l, const char *path,
		      void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		      struct loop_watch **ret_watch, struct error *err);
int loop_uv_fd_new(struct loop *l, int fd, void (*fn)(void *arg), void *arg,
		   struct loop_fd **ret_fd, struct error *err);
int loop_uv_child_new(struct loop *l, const struct loop_child_opts *opts,
		      struct loop_child **ret_child, struct error *err);
/* At the loop's end: closes children that were freed while running. */
void loop_uv_close_orphans(struct loop_uv *u);

#endif
