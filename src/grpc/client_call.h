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
	struct grpc_link *link; /* its connection; NULL while it waits */
	struct list node; /* in one of the channel's lists */
	struct http_fields metadata; /* ours, encoded */
	VEC(struct slice) waiting; /* sent before there was a stream */
	size_t waiting_bytes;
	struct grpc_status failure; /* known before the end can be reported; text in the arena */
	bool failed;
	bool wait_for_ready;
	bool blocked; /* room was 0 while waiting: an on_writable is due */
	bool half_closed;
	void (*done)(void *arg, struct grpc_call *c, const struct grpc_status *st,
		     const void *reply); /* for a unary call */
};

/* Not sent yet. An error in the options is kept in `failure`. */
struct grpc_client_call *grpc_client_call_new(struct loop *l, const struct grpc_method *m,
					      const struct grpc_call_opts *opts,
					      const struct grpc_call_ops *ops, void *data);

/*
 * Makes the request and sends waiting messages. Returns -ERR_UNAVAILABLE if this connection accepts
 * no requests: try another one. Other errors are those of the call.
 */
int grpc_client_call_start(struct grpc_client_call *cc, struct http_client *client,
			   struct grpc_link *link, struct str scheme, struct str authority,
			   struct error *err);

/* Ends it, and resets its stream. */
void grpc_client_call_fail(struct grpc_client_call *cc, struct grpc_status st);

/* --- what the channel does for it (channel.c) ------------------------------------------ */

/* The server has responded on this connection. */
void grpc_link_proven(struct grpc_link *link);

/* Removes a call that has ended from the lists. */
void grpc_channel_forget(struct grpc_channel *ch, struct grpc_client_call *cc);

#endif
