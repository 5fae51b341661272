/*
 * status - how a gRPC call ended: a code and a text for people.
 *
 * The codes and their numbers are gRPC's. A handler normally fails with a
 * `struct error`, whose table (base/core/error.h) knows the code that belongs to it;
 * a client turns a status back into a `struct error` with grpc_status_error().
 */
#ifndef GRPC_STATUS_H
#define GRPC_STATUS_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

enum grpc_code {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_CODES,
};

struct grpc_status {
	enum grpc_code code;
	struct str message; /* borrowed; UTF-8 if the peer keeps the rules */
};

/* "DEADLINE_EXCEEDED"; "UNKNOWN" for numbers outside the enum. */
const char *grpc_code_name(enum grpc_code code);

/* The code of that name, in any case of letters, or of that number. */
bool grpc_code_parse(struct str text, enum grpc_code *ret_code);

/* A failure as a status; its message is borrowed from *err. */
struct grpc_status grpc_status_of_error(const struct error *err);

/*
 * The way back: 0 for OK, else fills *err and returns -ERR_*. Codes for which
 * our vocabulary has no word of its own become the nearest one, and the
 * message then begins with the code's name.
 */
int grpc_status_error(const struct grpc_status *st, struct error *err);

/* What an HTTP status means when no grpc-status came with it. */
enum grpc_code grpc_code_of_http(int http_status);

/*
 * The value of a grpc-status field. Numbers that nobody defined are UNKNOWN,
 * as is what is no number.
 */
enum grpc_code grpc_code_of_field(struct str value);

/*
 * grpc-message on the wire: printable ASCII, all else percent-encoded. Encoding
 * stops at GRPC_STATUS_TEXT_MAX bytes, between two characters. Decoding keeps
 * what is no valid escape as it stands, as the protocol demands.
 */
void grpc_status_text_encode(struct str text, struct buf *out);
void grpc_status_text_decode(struct str text, struct buf *out);

#endif
