/*
 * server_call - the server's end of a call. For server.c only.
 */
#ifndef GRPC_SERVER_CALL_H
#define GRPC_SERVER_CALL_H

#include "grpc/call_impl.h"
#include "grpc/server.h"

struct grpc_server_call {
	struct grpc_call call;
	const struct grpc_handler *handler;
	void *service;
	const struct grpc_server_opts *opts;
	struct http_fields out_headers, out_trailers; /* ours, encoded */
	enum grpc_code code; /* the status that we gave */
	bool headers_sent;
	bool finished; /* the status was given */
};

/* A call on the stream, not yet known to its handler. */
struct grpc_server_call *grpc_server_call_new(const struct grpc_handler *h, void *service,
					      const struct grpc_server_opts *opts,
					      struct http_stream *s);

/* Tells the handler; messages follow. */
void grpc_server_call_begin(struct grpc_server_call *sc);

/* Answers a stream that never became a call: one head, which bears the status. */
void grpc_server_refuse(struct http_stream *s, int http_status, enum grpc_code code,
			struct str message);

#endif
