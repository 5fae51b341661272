/*
 * own_socket - HTTP on a unix socket that is recreated when its file is removed.
 *
 * Upstream keeps serving its sockets whatever happens to their files. Here, if the socket file or
 * its folder is removed or replaced, it is created again. If another process listens on the path,
 * its socket stays, and we check again later.
 * Threads: the loop's.
 */
#ifndef NODE_HOST_OWN_SOCKET_H
#define NODE_HOST_OWN_SOCKET_H

#include "base/core/error.h"
#include "net/http/session.h"

struct loop;
struct own_socket;

struct own_socket_opts {
	struct loop *loop;
	const char *path; /* copied; its folder is created if missing, 0750 */
	unsigned mode; /* of the file; 0: 0600 */
	int64_t group; /* owner group of the file; negative: the process's */
	struct http_config config;
	void (*handler)(void *arg, struct http_stream *s);
	/* The socket cannot be recreated; that is retried. Called once until it works again. */
	void (*on_problem)(void *arg, const struct error *err);
	void *arg;
};

int own_socket_new(const struct own_socket_opts *opts, struct own_socket **ret_socket,
		   struct error *err);

/*
 * Removes the file, lets connections end within `grace_ms`, then frees it. `done` is called once
 * they are closed, or at once if the socket is NULL.
 */
void own_socket_close(struct own_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

#endif
