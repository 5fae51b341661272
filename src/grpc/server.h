/*
 * server - gRPC services on an HTTP server.
 *
 * A grpc_server is a table of methods. The HTTP handler passes it the requests whose content type
 * says gRPC, so one port serves both:
 *
 *	if (grpc_server_wants(s))
 *		grpc_server_handle(server, s);
 *
 * Error messages are those of grpc-go. A request that is not valid gRPC (a method other than POST,
 * another content type, a malformed timeout or metadata) gets the HTTP status 405, 415 or 400 in
 * addition to its grpc-status.
 * Threads: fill it before it serves, then it is constant; calls arrive on the loops of their
 * connections.
 */
#ifndef GRPC_SERVER_H
#define GRPC_SERVER_H

#include "grpc/grpc.h"

struct grpc_server;

/* One row of a service. */
struct grpc_handler {
	const struct grpc_method *method;

	/*
	 * Methods with one request: it is complete, and lives as long as the call. Reply now, or
	 * later while holding a reference.
	 */
	void (*on_request)(struct grpc_call *c, const void *request);

	/* Methods with a stream of requests: the call has started. May be NULL. */
	void (*on_open)(struct grpc_call *c);

	struct grpc_call_ops ops;
};

struct grpc_server_opts {
	/*
	 * Called before each call reaches its handler; an error rejects the call. For rate limits
	 * and authorization. NULL: all are accepted.
	 */
	int (*admit)(void *arg, struct grpc_call *c, struct error *err);

	/* Called at the end of each call, with its status, for metrics. May be NULL. */
	void (*on_done)(void *arg, struct grpc_call *c, enum grpc_code code);
	void *arg;
};

/* `opts` may be NULL. */
struct grpc_server *grpc_server_new(const struct grpc_server_opts *opts);
void grpc_server_free(struct grpc_server *s);

/* Adds rows, which must outlive the server. Calls get `service` from grpc_call_service(). */
void grpc_server_add(struct grpc_server *s, const struct grpc_handler *rows, size_t n,
		     void *service);

/* True for requests with a gRPC content type. */
bool grpc_server_wants(const struct http_stream *s);

/* Takes over the request: sets its callbacks and responds. */
void grpc_server_handle(struct grpc_server *server, struct http_stream *s);

DEFINE_CLEANUP(grpc_server_free, struct grpc_server *);

#endif
