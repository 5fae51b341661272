/*
 * client_call - the client's end of a call. For channel.c only.
 */
#ifndef GRPC_CLIENT_CALL_H
#define GRPC_CLIENT_CALL_H

#include "base/core/vec.h"
#include "grpc/call_impl.h"
#include "grpc/channel.h"

struct grpc_link;
struct http_client;

struct grpc_client_call {
	struct grpc_call call;
	struct grpc_channel *channel;
	struct grpc_link *link; /* the connection it runs on; NULL while it waits */
	struct list node; /* one of the channel's lists */
	struct http_fields metadata; /* ours, encoded */
	VEC(struct slice) waiting; /* sent before there was a stream */
	size_t waiting_bytes;
	struct grpc_status failure; /* known before the end can be told; text in the arena */
	bool failed;
	bool wait_for_ready;
	bool blocked; /* room was 0 while waiting: on_writable is owed */
	bool half_closed;
	void (*done)(void *arg, struct grpc_call *c, const struct grpc_status *st,
		     const void *reply); /* of a unary call */
};

/* Not sent yet. A fault of the options is kept in `failure`. */
struct grpc_client_call *grpc_client_call_new(struct loop *l, const struct grpc_method *m,
					      const struct grpc_call_opts *opts,
					      const struct grpc_call_ops *ops, void *data);

/*
 * Makes the request and sends what has waited. -ERR_UNAVAILABLE: this
 * connection takes no more, try another; other failures are the call's own.
 */
int grpc_client_call_start(struct grpc_client_call *cc, struct http_client *client,
			   struct grpc_link *link, struct str scheme, struct str authority,
			   struct error *err);

/* Ends it, giving up its stream. */
void grpc_client_call_fail(struct grpc_client_call *cc, struct grpc_status st);

/* --- what the channel does for it (channel.c) ------------------------------------------ */

/* The server has answered on this connection. */
void grpc_link_proven(struct grpc_link *link);

/* The call has ended: takes it out of the lists. */
void grpc_channel_forget(struct grpc_channel *ch, struct grpc_client_call *cc);

#endif
