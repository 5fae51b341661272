/*
 * print - values as text, in the format of Kubernetes' Go code.
 *
 * Messages of the API quote strings and numbers as Go's fmt does, and clients and tests compare
 * them; logs and metrics must stay well-formed for any bytes. All functions append to a buffer and
 * return -ERR_TOO_LARGE at its limit. The appended part then ends between two characters, so that
 * the caller can close it properly.
 */
#ifndef BASE_TEXT_PRINT_H
#define BASE_TEXT_PRINT_H

#include "base/core/buf.h"

/*
 * Like %q: in double quotes, on one line; printable characters unchanged, others escaped, bytes
 * that are not UTF-8 as \xNN. Unassigned code points count as printable here; in Go that depends on
 * its Unicode version.
 */
int print_quoted(struct buf *b, struct str s);

/*
 * As a JSON string (RFC 8259) with its quotes. Unlike json_print_str() it accepts any bytes: each
 * byte that is not UTF-8 becomes U+FFFD.
 */
int print_json(struct buf *b, struct str s);

/* Unchanged, except for U+FFFD in place of each byte that is not UTF-8. */
int print_utf8(struct buf *b, struct str s);

/* Like %v: the shortest digits that read back as v; NaN, +Inf and -Inf. */
int print_f64(struct buf *b, double v);

/* Like FormatFloat(v, 'f', -1): the same digits, never with an exponent. v must be finite. */
int print_f64_fixed(struct buf *b, double v);

/* Whether the text needs no quotes: UTF-8 without control characters. */
bool print_is_clean(struct str s);

#endif
