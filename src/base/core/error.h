/*
 * error - error codes and messages.
 *
 * A function that can fail takes `struct error *err` last and returns 0 or -ERR_*; a failure fills
 * in *err. `err` may be NULL, so no function reads *err unless it checked that. A helper that reads
 * or extends an existing error names its parameter otherwise (`failure`). A callback's
 * `const struct error *err` is another contract: it is NULL for success.
 *
 * error_set() and the like return the code, so that failing is one line. Only the table below knows
 * the Kubernetes reason, HTTP status and gRPC status of a failure; no handler picks a number.
 * Validators that find many faults fill a `struct field_errors` (base/report/field_errors.h)
 * instead.
 */
#ifndef BASE_CORE_ERROR_H
#define BASE_CORE_ERROR_H

#include "base/core/compiler.h"

/*        code                  Kubernetes reason        HTTP  gRPC */
#define ERROR_MAP(X)                                              \
	X(BAD_REQUEST, "BadRequest", 400, 3)                      \
	X(UNAUTHORIZED, "Unauthorized", 401, 16)                  \
	X(FORBIDDEN, "Forbidden", 403, 7)                         \
	X(NOT_FOUND, "NotFound", 404, 5)                          \
	X(METHOD_NOT_ALLOWED, "MethodNotAllowed", 405, 12)        \
	X(NOT_ACCEPTABLE, "NotAcceptable", 406, 3)                \
	X(SLOW_REQUEST, "Timeout", 408, 4)                        \
	X(ALREADY_EXISTS, "AlreadyExists", 409, 6)                \
	X(CONFLICT, "Conflict", 409, 10)                          \
	X(APPLY_CONFLICT, "Conflict", 409, 10)                    \
	X(GONE, "Gone", 410, 11)                                  \
	X(EXPIRED, "Expired", 410, 11)                            \
	X(TOO_LARGE, "RequestEntityTooLarge", 413, 8)             \
	X(UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", 415, 3) \
	X(INVALID, "Invalid", 422, 3)                             \
	X(TOO_MANY_REQUESTS, "TooManyRequests", 429, 8)           \
	X(HEADERS_TOO_LARGE, "BadRequest", 431, 8)                \
	X(CANCELED, "Timeout", 499, 1)                            \
	X(INTERNAL, "InternalError", 500, 13)                     \
	X(UNTYPED, "", 500, 13)                                   \
	X(IO, "InternalError", 500, 13)                           \
	X(PROTOCOL, "InternalError", 500, 13)                     \
	X(SERVER_TIMEOUT, "ServerTimeout", 500, 14)               \
	X(UNIMPLEMENTED, "MethodNotAllowed", 501, 12)             \
	X(UNAVAILABLE, "ServiceUnavailable", 503, 14)             \
	X(TIMEOUT, "Timeout", 504, 4)

#define ERROR_ENUM(name, reason, http, grpc) ERR_##name,
enum error_code { ERR_OK, ERROR_MAP(ERROR_ENUM) ERR_COUNT };
#undef ERROR_ENUM

struct error {
	enum error_code code;
	int sys_errno; /* errno at the point of failure, or 0 */
	char msg[512]; /* truncated, never allocated: nothing to free */
};

/* Fills in *err (if not NULL) and returns -code. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same with the text of errno appended; sys_errno keeps the number. */
int error_set_errno(struct error *err, enum error_code code, int sys_errno, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* Puts "context: " before the message of a failure `r` from a called function; returns r. */
int error_wrap(struct error *err, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Copies a known error to *err (if not NULL) and returns -code. */
int error_copy(struct error *err, const struct error *from);

/* Replaces the code of a failure from a called function, keeps its message, and returns -code. */
int error_recode(struct error *err, enum error_code code);

/* All accept a code (ERR_X) or a result (-ERR_X). */
const char *error_reason(int code);
int error_http_status(int code);
int error_grpc_status(int code);

#endif
