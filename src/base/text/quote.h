/*
 * quote - text in double quotes for a message, like Go's %q.
 *
 * Quotes, backslashes, control characters and unprintable characters are escaped, so a message
 * stays on one line.
 */
#ifndef BASE_TEXT_QUOTE_H
#define BASE_TEXT_QUOTE_H

#include "base/core/buf.h"
#include "base/core/str.h"

enum { QUOTE_SIZE = 512 }; /* size of the buffer for quote_text(), with the NUL */

/* Appends it. */
void quote_print(struct str s, struct buf *out);

/* Writes it to `out`, NUL-terminated, and returns `out`. Text that does not fit is cut. */
const char *quote_text(struct str s, char out[static QUOTE_SIZE]);

#endif
