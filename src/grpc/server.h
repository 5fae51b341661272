/*
 * server - gRPC services on an HTTP server.
 *
 * A grpc_server is a table of methods. The HTTP handler gives it the requests
 * whose content type says gRPC, so one port serves both:
 *
 *	if (grpc_server_wants(s))
 *		grpc_server_handle(server, s);
 *
 * Refusals are worded as grpc-go words them. A request that is no proper gRPC
 * (another method than POST, another content type, a malformed timeout or
 * metadata) is answered with the HTTP status 405, 415 or 400 beside its
 * grpc-status.
 * Threads: filled before it serves, then constant; calls come on the loops of
 * their connections.
 */
#ifndef GRPC_SERVER_H
#define GRPC_SERVER_H

#include "grpc/grpc.h"

struct grpc_server;

/* One row of a service. */
struct grpc_handler {
	const struct grpc_method *method;

	/*
	 * Methods with one request: it is complete, and lives as long as the
	 * call. Reply now, or later with a reference held.
	 */
	void (*on_request)(struct grpc_call *c, const void *request);

	/* Methods with a stream of requests: the call began. May be NULL. */
	void (*on_open)(struct grpc_call *c);

	struct grpc_call_ops ops;
};

struct grpc_server_opts {
	/*
	 * Asked before each call reaches its handler; a failure refuses it. For
	 * limits of rate, and who may call what. NULL: all may.
	 */
	int (*admit)(void *arg, struct grpc_call *c, struct error *err);

	/* Told of each call's end, with the status that it bore. For metrics. May be NULL. */
	void (*on_done)(void *arg, struct grpc_call *c, enum grpc_code code);
	void *arg;
};

/* `opts` may be NULL. */
struct grpc_server *grpc_server_new(const struct grpc_server_opts *opts);
void grpc_server_free(struct grpc_server *s);

/* Adds rows, which must outlive the server. Calls find `service` by grpc_call_service(). */
void grpc_server_add(struct grpc_server *s, const struct grpc_handler *rows, size_t n,
		     void *service);

/* True for requests that claim to be gRPC by their content type. */
bool grpc_server_wants(const struct http_stream *s);

/* Takes the request over: sets its callbacks and answers it. */
void grpc_server_handle(struct grpc_server *server, struct http_stream *s);

DEFINE_CLEANUP(grpc_server_free, struct grpc_server *);

#endif
