/*
 * websocket - the server's side of RFC 6455, for streams that go to the client alone.
 *
 * A handshake is checked and answered, a stream of bytes becomes messages, and what
 * a client sends is read frame by frame: pings and its close are told, its data is
 * passed over. No extensions. No I/O: bytes in, bytes and decisions out; a reader
 * holds no more than one control frame.
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

/* Why a connection is closed (RFC 6455, 7.4.1). */
enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_PROTOCOL_ERROR = 1002,
	WEBSOCKET_TOO_LARGE = 1009,
	WEBSOCKET_FAILED = 1011,
};

enum {
	WEBSOCKET_ACCEPT_LEN = 28,
	WEBSOCKET_CONTROL_MAX = 125, /* payload of a control frame */
	WEBSOCKET_CONTROL_FRAME_MAX = 2 + WEBSOCKET_CONTROL_MAX, /* and its head, from a server */
	WEBSOCKET_MESSAGE = 2048, /* bytes of a stream in one message, as upstream */
};

/* --- handshake -------------------------------------------------------------------- */

/* A subprotocol, and what the messages of a stream are in it. */
struct websocket_protocol {
	const char *name; /* "": of who asks for none */
	bool base64; /* texts in base64; else binary */
};

/* Whether the request asks for a WebSocket, well or not. */
bool websocket_is_asked(const struct http_stream *s);

/*
 * Answers a handshake: Sec-WebSocket-Accept, terminated, and the first of the asked for
 * protocols that is in the table. Upstream's statuses and words: -ERR_BAD_REQUEST without a
 * key, or in another version than WEBSOCKET_VERSION; -ERR_FORBIDDEN, and no words, when none of the
 * protocols is there.
 */
#define WEBSOCKET_VERSION "13"
int websocket_handshake(const struct http_fields *in, const struct websocket_protocol *table,
			size_t n, char ret_accept[static WEBSOCKET_ACCEPT_LEN + 1],
			const struct websocket_protocol **ret_protocol, struct error *err);

/* --- frames out ------------------------------------------------------------------- */

/* All append; what a buffer has no room for sets its `overflow`. */

void websocket_frame(struct buf *out, enum websocket_opcode op, struct str payload);
void websocket_close(struct buf *out, enum websocket_code code);

/* A piece of a stream as messages; nothing is one empty message. */
void websocket_messages(struct buf *out, const struct websocket_protocol *p, struct str piece);

/* Most bytes that messages of n bytes take. */
size_t websocket_messages_max(size_t n);

/* --- frames in -------------------------------------------------------------------- */

/* All zero at the beginning. */
struct websocket_reader {
	/* Private. */
	uint8_t head[14];
	size_t nhead;
	bool in_payload;
	bool in_message; /* fragments are to follow */
	uint64_t left; /* of the payload */
	size_t ncontrol;
	uint8_t control[WEBSOCKET_CONTROL_MAX];
};

/*
 * Reads from *in, which is then behind it. WEBSOCKET_PING or WEBSOCKET_CLOSE: one has come, and
 * its payload lives until the next call; 0: all is read. -ERR_PROTOCOL, or -ERR_TOO_LARGE beyond
 * WEBSOCKET_FRAME_MAX: there is nothing more to read.
 */
int websocket_read(struct websocket_reader *r, struct str *in, struct str *ret_payload,
		   struct error *err);

#endif
