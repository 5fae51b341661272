/*
 * status - the result of a gRPC call: a code and a text for people.
 *
 * The codes and their numbers are gRPC's. A handler normally fails with a `struct error`, whose
 * table (base/core/error.h) has the matching code. A client converts a status back to a `struct
 * error` with grpc_status_error().
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
	struct str message; /* borrowed; UTF-8 if the peer follows the protocol */
};

/* "DEADLINE_EXCEEDED"; "UNKNOWN" for numbers outside the enum. */
const char *grpc_code_name(enum grpc_code code);

/* The code of that name, case-insensitive, or of that number. */
bool grpc_code_parse(struct str text, enum grpc_code *ret_code);

/* Converts an error to a status; its message is borrowed from *err. */
struct grpc_status grpc_status_of_error(const struct error *err);

/*
 * Converts a status to an error: returns 0 for OK, else fills *err and returns -ERR_*. Codes
 * without a direct equivalent become the nearest one, and the message then begins with the code's
 * name.
 */
int grpc_status_error(const struct grpc_status *st, struct error *err);

/* The meaning of an HTTP status without a grpc-status. */
enum grpc_code grpc_code_of_http(int http_status);

/* Parses a grpc-status field. Undefined numbers, and other text, are UNKNOWN. */
enum grpc_code grpc_code_of_field(struct str value);

/*
 * grpc-message on the wire: printable ASCII, everything else percent-encoded. Encoding stops at
 * GRPC_STATUS_TEXT_MAX bytes, between two characters. Decoding keeps invalid escapes as they are,
 * as the protocol requires.
 */
void grpc_status_text_encode(struct str text, struct buf *out);
void grpc_status_text_decode(struct str text, struct buf *out);

#endif
