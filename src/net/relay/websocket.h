/*
 * websocket - the server's side of RFC 6455, for streams in the direction of the client only.
 *
 * It checks handshakes and replies to them, splits a byte stream into messages, and reads the
 * client's frames: it reports pings and the close, and ignores data. No extensions. No I/O; a
 * reader holds at most one control frame.
 *
 * libwslay could replace the framing, some 190 lines, but not the handshake: it copies and unmasks
 * payloads that we skip, gets its input by callbacks, and would be a further dependency. Its checks
 * are ours, which fuzz/websocket.c exercises.
 */
#ifndef NET_RELAY_WEBSOCKET_H
#define NET_RELAY_WEBSOCKET_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct http_fields;
struct http_stream;

enum websocket_opcode {
	WEBSOCKET_CONTINUATION = 0,
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

/* Reasons for closing a connection (RFC 6455, 7.4.1). */
enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_PROTOCOL_ERROR = 1002,
	WEBSOCKET_TOO_LARGE = 1009,
	WEBSOCKET_FAILED = 1011,
};

enum {
	WEBSOCKET_ACCEPT_LEN = 28,
	WEBSOCKET_CONTROL_MAX = 125, /* payload of a control frame */
	WEBSOCKET_CONTROL_FRAME_MAX = 2 + WEBSOCKET_CONTROL_MAX, /* and its header, from a server */
	WEBSOCKET_MESSAGE = 2048, /* bytes of a stream per message, like upstream */
};

/* --- handshake -------------------------------------------------------------------- */

/* A subprotocol, and how it encodes the messages of a stream. */
struct websocket_protocol {
	const char *name; /* "": for clients that offer none */
	bool base64; /* text messages in base64; else binary */
};

/* Whether the request asks for a WebSocket, correctly or not. */
bool websocket_is_asked(const struct http_stream *s);

/*
 * Computes the reply to a handshake: Sec-WebSocket-Accept (NUL-terminated), and the first protocol
 * offered by the client that is in the table. Errors are those of upstream: -ERR_BAD_REQUEST
 * without a key, or if the version is not WEBSOCKET_VERSION; -ERR_FORBIDDEN, without a message, if
 * none of the protocols is in the table.
 */
#define WEBSOCKET_VERSION "13"
int websocket_handshake(const struct http_fields *in, const struct websocket_protocol *table,
			size_t n, char ret_accept[static WEBSOCKET_ACCEPT_LEN + 1],
			const struct websocket_protocol **ret_protocol, struct error *err);

/* --- frames out ------------------------------------------------------------------- */

/* All append. If a buffer has no room, its `overflow` is set. */

void websocket_frame(struct buf *out, enum websocket_opcode op, struct str payload);
void websocket_close(struct buf *out, enum websocket_code code);

/* Encodes a piece of a stream as messages; an empty piece is one empty message. */
void websocket_messages(struct buf *out, const struct websocket_protocol *p, struct str piece);

/* The largest encoded size of n bytes. */
size_t websocket_messages_max(size_t n);

/* --- frames in -------------------------------------------------------------------- */

/* Must be zeroed before use. */
struct websocket_reader {
	/* Private. */
	uint8_t head[14];
	size_t nhead;
	bool in_payload;
	bool in_message; /* more fragments follow */
	uint64_t left; /* of the payload */
	size_t ncontrol;
	uint8_t control[WEBSOCKET_CONTROL_MAX];
};

/*
 * Reads from *in, and advances it. Returns WEBSOCKET_PING or WEBSOCKET_CLOSE for such a frame; its
 * payload is valid until the next call. Returns 0 if all is read. -ERR_PROTOCOL, or -ERR_TOO_LARGE
 * beyond WEBSOCKET_FRAME_MAX, is final.
 */
int websocket_read(struct websocket_reader *r, struct str *in, struct str *ret_payload,
		   struct error *err);

#endif
