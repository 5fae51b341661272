/*
 * grpc - calls: the same functions for servers and clients, unary and streaming.
 *
 * A `struct grpc_method` describes a method; both ends use the same row. A `struct grpc_call` is
 * one call of it. Servers get calls from server.h, clients make them with channel.h. From then on
 * both ends send, receive and end with the functions below, and get callbacks (struct
 * grpc_call_ops).
 *
 * Messages are protobuf-c structs. Received messages are unpacked into the call's memory: never
 * free them. The single message of a direction that does not stream lives as long as the call; a
 * message of a stream lives until on_message returns.
 *
 * Memory is bounded in both directions. A paused call keeps at most what the HTTP window holds. A
 * producer sends while grpc_call_room() is not 0, and on_writable is called when there is room
 * again.
 *
 * Lifetime: on_end comes exactly once and is the last callback. Until then the call needs no
 * reference; code that uses it later, or after waiting for another thread, holds one. Functions on
 * a call that has ended are harmless and return -ERR_CANCELED.
 * Threads: a call belongs to its loop. Other threads reply through loop_post().
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
	/* Largest message that the server, or the client, accepts; 0: GRPC_MESSAGE_MAX. */
	size_t max_request, max_response;
};

/* One entry of a call's metadata. The value of a key that ends in "-bin" is any bytes. */
struct grpc_metadata {
	struct str key; /* lower case */
	struct str value;
};

/* All may be NULL, except that on_message is required for streams of messages. */
struct grpc_call_ops {
	/*
	 * Client: the server's initial metadata has arrived. Not called if it sent only a status.
	 */
	void (*on_metadata)(struct grpc_call *c);

	/* `message` has the type of the method's descriptor. */
	void (*on_message)(struct grpc_call *c, const void *message);

	/* Server: the client has ended its side. Not for methods with one request. */
	void (*on_half_close)(struct grpc_call *c);

	/* There is room again, after grpc_call_room() was 0. */
	void (*on_writable)(struct grpc_call *c);

	/*
	 * The end: release what belongs to the call. Client: its status, from the server or
	 * concluded from a failure. Server: OK if the reply was sent, whatever its status; else the
	 * reason why the call was aborted, such as CANCELLED or DEADLINE_EXCEEDED. Borrowed until
	 * return.
	 */
	void (*on_end)(struct grpc_call *c, const struct grpc_status *st);
};

/* --- what a call is ------------------------------------------------------------ */

struct grpc_call *grpc_call_ref(struct grpc_call *c);
void grpc_call_unref(struct grpc_call *c); /* NULL allowed */

const struct grpc_method *grpc_call_method(const struct grpc_call *c);
struct loop *grpc_call_loop(const struct grpc_call *c);

/* For the owner. */
void *grpc_call_data(const struct grpc_call *c);
void grpc_call_set_data(struct grpc_call *c, void *data);

/* Server: the `service` argument of grpc_server_add(). */
void *grpc_call_service(const struct grpc_call *c);

/* Loop time in ms at which the call times out, or INT64_MAX. */
int64_t grpc_call_deadline(const struct grpc_call *c);

/* Whether on_end was called: no reply reaches the peer any more. */
bool grpc_call_ended(const struct grpc_call *c);

/* The HTTP stream, to query the peer; NULL while a client waits for a connection. */
struct http_stream *grpc_call_stream(const struct grpc_call *c);

/* --- metadata ------------------------------------------------------------------ */

/*
 * The peer's metadata: the first value of the key, or an empty str with p == NULL. Binary values
 * are decoded. Headers are available from on_metadata on (server: from the start), trailers in the
 * client's on_end. They live as long as the call.
 */
struct str grpc_call_header(const struct grpc_call *c, struct str key);
struct str grpc_call_trailer(const struct grpc_call *c, struct str key);

/* All of them in order, except those that the protocol itself uses. */
const struct grpc_metadata *grpc_call_headers(const struct grpc_call *c, size_t *ret_n);
const struct grpc_metadata *grpc_call_trailers(const struct grpc_call *c, size_t *ret_n);

/*
 * Server: adds metadata that is sent before the first message, or with the status. Copied. Returns
 * -ERR_INVALID for keys and values that gRPC does not allow, -ERR_TOO_LARGE beyond the limits,
 * -ERR_CANCELED if it was already sent.
 */
int grpc_call_add_header(struct grpc_call *c, struct grpc_metadata md);
int grpc_call_add_trailer(struct grpc_call *c, struct grpc_metadata md);

/* Server: sends the initial metadata now rather than with the first message. */
int grpc_call_send_headers(struct grpc_call *c);

/* --- sending ------------------------------------------------------------------- */

/* Packs and queues a message, regardless of room. Returns -ERR_TOO_LARGE from 4 GiB on. */
int grpc_call_send(struct grpc_call *c, const ProtobufCMessage *message);

/* The same for a result of grpc_message_pack(): one message to many calls. Takes a reference. */
int grpc_call_send_packed(struct grpc_call *c, struct bytes *packed);

/* The number of bytes that a producer should queue at most; 0: wait for on_writable. */
size_t grpc_call_room(struct grpc_call *c);

/* Client: ends its side. */
int grpc_call_half_close(struct grpc_call *c);

/* Server: sends the status, after all messages. No input arrives any more; on_end follows. */
int grpc_call_finish(struct grpc_call *c, enum grpc_code code, struct str message);

/* Server: finishes with an error; or sends the single response and finishes with OK. */
int grpc_call_fail(struct grpc_call *c, const struct error *err);
int grpc_call_reply(struct grpc_call *c, const ProtobufCMessage *message);

/*
 * Aborts: the stream is reset, and on_end is called with CANCELLED before this returns. A server
 * that wants to give a reason calls grpc_call_finish() instead.
 */
void grpc_call_cancel(struct grpc_call *c);

/* --- receiving ----------------------------------------------------------------- */

/*
 * After on_message returns, the peer may send as many more bytes as the message had. A paused call
 * delivers nothing, not even input that has already arrived. If messages are still undelivered, a
 * client's on_end waits, too. Cancellation and the deadline do not wait, nor does a server's end.
 * Resuming may call back immediately.
 */
void grpc_call_pause(struct grpc_call *c);
void grpc_call_resume(struct grpc_call *c);

DEFINE_CLEANUP(grpc_call_unref, struct grpc_call *);

#endif
