/*
 * print - values as text, the way the Go code of Kubernetes prints them.
 *
 * Messages of the API quote strings and numbers as Go's fmt does, and clients
 * and tests compare them; logs and metrics must stay well-formed whatever
 * bytes they are given. All append to a buffer and return -ERR_TOO_LARGE at
 * its limit; what was appended then is a beginning of the text that ends
 * between two characters, so that the caller can close it properly.
 */
#ifndef BASE_TEXT_PRINT_H
#define BASE_TEXT_PRINT_H

#include "base/core/buf.h"

/*
 * As %q does: in double quotes, on one line, printable characters as they are
 * and the rest escaped; bytes that are not UTF-8 as \xNN. Unassigned code
 * points count as printable here, which in Go depends on its Unicode version.
 */
int print_quoted(struct buf *b, struct str s);

/*
 * As a JSON string (RFC 8259) with its quotes. Unlike json_print_str() it
 * takes any bytes: those that are not UTF-8 become U+FFFD each.
 */
int print_json(struct buf *b, struct str s);

/* As it is, but with U+FFFD for each byte that is not part of UTF-8. */
int print_utf8(struct buf *b, struct str s);

/* As %v does: the shortest digits that read back as v; NaN, +Inf and -Inf. */
int print_f64(struct buf *b, double v);

/* As FormatFloat(v, 'f', -1): the same digits, never with an exponent. v is finite. */
int print_f64_fixed(struct buf *b, double v);

/* True when the text can stand without quotes: UTF-8, and no control character. */
bool print_is_clean(struct str s);

#endif
