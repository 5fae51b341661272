/*
 * grpc - calls: the same verbs for servers and clients, unary and streaming.
 *
 * A `struct grpc_method` says what a method is; both ends use the same row. A
 * `struct grpc_call` is one call of it: servers are given calls by server.h,
 * clients make them with channel.h, and from then on both ends send, receive
 * and end with the verbs below and hear by callback (struct grpc_call_ops).
 *
 * Messages are protobuf-c structs. What arrives is unpacked into memory of the
 * call's: never free it. The one message of a direction that does not stream
 * lives as long as the call; a message of a stream until on_message returns.
 *
 * Memory is bounded both ways. A call that is paused keeps what the HTTP window
 * holds and lets no more in; a producer sends while grpc_call_room() is not 0
 * and is called (on_writable) when there is room again.
 *
 * Life: on_end comes exactly once and is the last callback. Until then the call
 * needs no reference; whoever uses it later, or after waiting for another
 * thread, holds one. Verbs on a call that has ended are harmless and return
 * -ERR_CANCELED.
 * Threads: a call belongs to its loop. Other threads answer by loop_post().
 */
#ifndef GRPC_GRPC_H
#define GRPC_GRPC_H

#include <protobuf-c/protobuf-c.h>

#include "base/core/bytes.h"
#include "base/core/str.h"
#include "grpc/status.h"

struct grpc_call;
struct http_stream;
struct loop;

/* Which directions stream. */
enum grpc_kind {
	GRPC_UNARY,
	GRPC_CLIENT_STREAM,
	GRPC_SERVER_STREAM,
	GRPC_BIDI_STREAM,
};

struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	enum grpc_kind kind;
	const ProtobufCMessageDescriptor *request, *response;
	/* Largest message that the server, or the client, takes; 0: GRPC_MESSAGE_MAX. */
	size_t max_request, max_response;
};

/* One entry of a call's metadata. The value of a key that ends in "-bin" is any bytes. */
struct grpc_metadata {
	struct str key; /* lower case */
	struct str value;
};

/* All may be NULL, except that whoever can get a stream of messages needs on_message. */
struct grpc_call_ops {
	/* Client: the server's initial metadata is there. Not called when it sent only a status. */
	void (*on_metadata)(struct grpc_call *c);

	/* `message` is what the method's descriptor says. */
	void (*on_message)(struct grpc_call *c, const void *message);

	/* Server: the client will send no more. Not for methods with one request. */
	void (*on_half_close)(struct grpc_call *c);

	/* There is room again, after grpc_call_room() was 0. */
	void (*on_writable)(struct grpc_call *c);

	/*
	 * Over: give up what belongs to the call. Client: how it ended, as the
	 * server said or as must be concluded. Server: OK when the answer went
	 * out, whatever status it bore; else what cut the call short, such as
	 * CANCELLED or DEADLINE_EXCEEDED. Borrowed until return.
	 */
	void (*on_end)(struct grpc_call *c, const struct grpc_status *st);
};

/* --- what a call is ------------------------------------------------------------ */

struct grpc_call *grpc_call_ref(struct grpc_call *c);
void grpc_call_unref(struct grpc_call *c); /* NULL allowed */

const struct grpc_method *grpc_call_method(const struct grpc_call *c);
struct loop *grpc_call_loop(const struct grpc_call *c);

/* The owner's own. */
void *grpc_call_data(const struct grpc_call *c);
void grpc_call_set_data(struct grpc_call *c, void *data);

/* Server: the argument that came with the method's table. */
void *grpc_call_service(const struct grpc_call *c);

/* Loop time in ms at which the call ends by itself, or INT64_MAX. */
int64_t grpc_call_deadline(const struct grpc_call *c);

/* Whether on_end has been called: no reply reaches the peer any more. */
bool grpc_call_ended(const struct grpc_call *c);

/* What it runs on, to ask for the peer; NULL while a client waits for a connection. */
struct http_stream *grpc_call_stream(const struct grpc_call *c);

/* --- metadata ------------------------------------------------------------------ */

/*
 * What the peer sent: the first value of the key, or an empty str with
 * p == NULL. Binary values are decoded. Headers are there from on_metadata on
 * (server: from the beginning), trailers in the client's on_end. They live as
 * long as the call.
 */
struct str grpc_call_header(const struct grpc_call *c, struct str key);
struct str grpc_call_trailer(const struct grpc_call *c, struct str key);

/* All of them in order, without those that the protocol itself uses. */
const struct grpc_metadata *grpc_call_headers(const struct grpc_call *c, size_t *ret_n);
const struct grpc_metadata *grpc_call_trailers(const struct grpc_call *c, size_t *ret_n);

/*
 * Server: adds to what goes out before the first message, or with the status.
 * Copied. -ERR_INVALID for keys and values that gRPC does not allow,
 * -ERR_TOO_LARGE beyond the limits, -ERR_CANCELED when it has gone out already.
 */
int grpc_call_add_header(struct grpc_call *c, struct grpc_metadata md);
int grpc_call_add_trailer(struct grpc_call *c, struct grpc_metadata md);

/* Server: sends the initial metadata now rather than with the first message. */
int grpc_call_send_headers(struct grpc_call *c);

/* --- sending ------------------------------------------------------------------- */

/* Packs and queues a message, always; -ERR_TOO_LARGE when gRPC cannot express its size. */
int grpc_call_send(struct grpc_call *c, const ProtobufCMessage *message);

/* The same for what grpc_message_pack() made: one message to many calls. Takes a reference. */
int grpc_call_send_packed(struct grpc_call *c, struct bytes *packed);

/* Bytes that a polite producer may queue now; 0 means wait for on_writable. */
size_t grpc_call_room(struct grpc_call *c);

/* Client: will send no more. */
int grpc_call_half_close(struct grpc_call *c);

/* Server: the status, after what was sent. Nothing arrives any more; on_end follows. */
int grpc_call_finish(struct grpc_call *c, enum grpc_code code, struct str message);

/* Server: finish with a failure, and the one message of a response with OK. */
int grpc_call_fail(struct grpc_call *c, const struct error *err);
int grpc_call_reply(struct grpc_call *c, const ProtobufCMessage *message);

/*
 * Gives up: the stream is reset, on_end is called with CANCELLED before this
 * returns. A server that wants to say why finishes instead.
 */
void grpc_call_cancel(struct grpc_call *c);

/* --- receiving ----------------------------------------------------------------- */

/*
 * After on_message returns, the peer may send as much more as the message had
 * bytes. A paused call delivers nothing, also not the rest of what has arrived;
 * a client's end waits too when messages are still to come before it.
 * Cancellation and the deadline do not wait, nor does a server's end. Resuming
 * may call back at once.
 */
void grpc_call_pause(struct grpc_call *c);
void grpc_call_resume(struct grpc_call *c);

DEFINE_CLEANUP(grpc_call_unref, struct grpc_call *);

#endif
