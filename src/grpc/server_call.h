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
	enum grpc_code code; /* the status that we sent */
	bool headers_sent;
	bool finished; /* the status was sent */
};

/* A call on the stream; the handler does not know it yet. */
struct grpc_server_call *grpc_server_call_new(const struct grpc_handler *h, void *service,
					      const struct grpc_server_opts *opts,
					      struct http_stream *s);

/* Calls the handler; messages follow. */
void grpc_server_call_begin(struct grpc_server_call *sc);

/* Replies to a stream that never became a call, with the status in a single head. */
void grpc_server_refuse(struct http_stream *s, int http_status, enum grpc_code code,
			struct str message);

#endif
