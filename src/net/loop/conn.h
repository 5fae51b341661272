/*
 * conn - a byte stream, as a stack of filters.
 *
 * At the bottom is a socket (TCP or unix) or a simulated pipe; TLS may sit on top of it. All have
 * the same interface: bytes arrive by callback and are written without blocking. The owner of the
 * top frees the whole stack.
 *
 * conn_writev() does not queue: it takes as many bytes as fit now, and on_writable() is called when
 * there is room for the rest.
 * Threads: belongs to its loop. Callbacks may free the conn; no callback comes after that.
 */
#ifndef NET_LOOP_CONN_H
#define NET_LOOP_CONN_H

#include <sys/uio.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct addr;
struct conn;
struct loop;

struct conn_events {
	/* The stack is up: connected, handshake done. Not called for accepted plain sockets. */
	void (*on_open)(void *arg);
	/* Borrowed until return; the callee may overwrite the bytes. */
	void (*on_data)(void *arg, char *data, size_t n);
	/* The peer has ended its side. Writing is still possible. */
	void (*on_eof)(void *arg);
	/* There is room again after conn_writev() took less than it was given. */
	void (*on_writable)(void *arg);
	/* Dead: nothing can be read or written. Free it. */
	void (*on_error)(void *arg, const struct error *err);
};

/*
 * Opens a connection; on_open or on_error follows, never before this returns.
 * A host name is resolved and its addresses are tried in turn. `events` must
 * outlive the conn.
 */
int conn_connect(struct loop *l, const struct addr *to, const struct conn_events *events, void *arg,
		 struct conn **ret_conn, struct error *err);

/* Changes the owner, for example when the protocol is known or a filter is put on top. */
void conn_set_events(struct conn *c, const struct conn_events *events, void *arg);

/*
 * Writes at most what fits. Returns the number of bytes taken, which may be 0,
 * or an error after which the conn is dead (on_error is not called for it).
 */
ssize_t conn_writev(struct conn *c, const struct iovec *iov, int n, struct error *err);

/* Stops and resumes on_data. A new conn is reading. */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);

/* Ends writing: the peer sees an orderly end after the bytes taken so far. */
void conn_shutdown(struct conn *c);

/*
 * Whether the peer has ended its side, or is gone, while the conn is paused. The owner gets that
 * callback only after it has read the bytes sent before.
 */
bool conn_hung_up(const struct conn *c);

/* True if the kernel has all bytes taken so far, so closing now loses none of them. */
bool conn_flushed(const struct conn *c);

/* Closes at once. NULL allowed. */
void conn_free(struct conn *c);

struct loop *conn_loop(const struct conn *c);
/* The peer's address; for unix sockets the path. */
const struct addr *conn_peer(const struct conn *c);

/* The process that opened the other end of a unix socket. Returns false for other sockets. */
struct conn_owner {
	int64_t pid; /* 0: it is in a PID namespace that we cannot see */
	uint32_t uid, gid;
};
bool conn_owner(const struct conn *c, struct conn_owner *ret_owner);

/* The protocol agreed by ALPN, or empty. */
struct str conn_alpn(const struct conn *c);
bool conn_is_tls(const struct conn *c);

DEFINE_CLEANUP(conn_free, struct conn *);

#endif
