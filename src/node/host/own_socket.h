/*
 * own_socket - HTTP on a unix socket that stays ours.
 *
 * Upstream serves its sockets whatever becomes of their files; here a socket file, or its folder,
 * that somebody removes or replaces is made again. If somebody else answers on the path, their
 * socket stays, and we look again later.
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
	const char *path; /* copied; its folder is made where missing, 0750 */
	unsigned mode; /* of the file; 0: 0600 */
	int64_t group; /* that owns the file; negative: that of the process */
	struct http_config config;
	void (*handler)(void *arg, struct http_stream *s);
	/* The socket cannot be brought back, which is tried on. Once until it has been. */
	void (*on_problem)(void *arg, const struct error *err);
	void *arg;
};

int own_socket_new(const struct own_socket_opts *opts, struct own_socket **ret_socket,
		   struct error *err);

/*
 * Removes the file and lets connections end within `grace_ms`, then frees it; `done` comes once
 * they are closed. With NULL for the socket it comes at once.
 */
void own_socket_close(struct own_socket *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

#endif
