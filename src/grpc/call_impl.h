/*
 * call_impl - the inside of a call. For the files of this folder only.
 *
 * call.c has the parts that both ends share: lifetime, receiving, packing. server_call.c and
 * client_call.c embed `struct grpc_call` first and fill in a `struct grpc_role` with the
 * differences.
 */
#ifndef GRPC_CALL_IMPL_H
#define GRPC_CALL_IMPL_H

#include "base/core/arena.h"
#include "grpc/frame.h"
#include "grpc/metadata.h"
#include "net/http/http.h"
#include "net/loop/loop.h"

struct grpc_role {
	bool server;
	/* Queues a packed message; takes over its reference. */
	int (*send)(struct grpc_call *c, struct slice piece);
	size_t (*room)(struct grpc_call *c);
	/* All input was delivered, and the peer has ended its side. */
	void (*on_input_end)(struct grpc_call *c);
	/* The input is malformed or exceeds a limit: end the call. */
	void (*on_input_error)(struct grpc_call *c, const struct error *err);
	/* The deadline has passed: end the call. */
	void (*on_deadline)(struct grpc_call *c);
	/* The call has ended: leave all lists. */
	void (*detach)(struct grpc_call *c);
	/* The last reference is gone: release what the role added. */
	void (*release)(struct grpc_call *c);
};

struct grpc_call {
	const struct grpc_role *role;
	const struct grpc_method *method;
	const struct grpc_call_ops *ops;
	void *data;
	struct loop *loop;
	struct http_stream *stream; /* one reference; NULL: a client's call that waits */
	unsigned refs; /* one is ours until on_end has returned */

	const ProtobufCMessageDescriptor *in_type;
	bool in_streams;
	struct grpc_frame frame;
	struct buf held; /* arrived while paused; not yet consumed in HTTP's window */
	size_t held_at; /* bytes of `held` already delivered */
	void *message; /* the single message of a direction that does not stream */
	uint64_t received; /* messages */
	struct arena passing; /* memory of the stream's message that is being delivered */
	struct grpc_metadata_list headers, trailers; /* the peer's */

	struct loop_timer timer;
	int64_t deadline; /* ms of the loop, or INT64_MAX */

	bool paused;
	bool delivering; /* on_message may be on the stack */
	bool in_ended; /* the peer has ended its side, though perhaps not all is delivered */
	bool in_told; /* the role was notified of that */
	bool deaf; /* further input is ignored */
	bool ended; /* on_end was called */

	struct arena arena; /* lives as long as the call */
	char block[512]; /* its first memory */
	char passing_block[512];
};

/* Callbacks that do nothing, for calls and streams whose other half has gone. */
extern const struct grpc_call_ops grpc_call_no_ops;
extern const struct http_stream_ops grpc_stream_no_ops;

/*
 * *c is zeroed memory from the heap. It gets one reference, the role's, which grpc_call_end()
 * drops. `in_max` is the largest message to accept; 0: the default.
 */
void grpc_call_init(struct grpc_call *c, const struct grpc_role *role, struct loop *l,
		    const struct grpc_method *m, size_t in_max);

/* Takes a reference to the stream, and sets its callbacks. */
void grpc_call_attach(struct grpc_call *c, struct http_stream *s,
		      const struct http_stream_ops *ops);

/* Starts the timer. With 0 it fires in the next turn. */
void grpc_call_set_timeout(struct grpc_call *c, int64_t ms);

/* Calls on_end, once, and drops the role's reference. Does not change the stream. */
void grpc_call_end(struct grpc_call *c, struct grpc_status st);

/* Resets the stream, if it is still open, without a callback. */
void grpc_call_reset(struct grpc_call *c, enum error_code why);

/* The peer has ended its side: notifies the role once everything is delivered. */
void grpc_call_input_end(struct grpc_call *c);

/* Callbacks of a stream whose `data` is the call. */
void grpc_call_on_body(struct http_stream *s, struct str piece);
void grpc_call_on_end(struct http_stream *s);
void grpc_call_on_writable(struct http_stream *s);

#endif
