/*
 * quote - text in double quotes within a message, as Go's %q writes it.
 *
 * Quotes, backslashes, control characters and what is not printable are escaped, so that a
 * message stays one line whatever it quotes.
 */
#ifndef BASE_TEXT_QUOTE_H
#define BASE_TEXT_QUOTE_H

#include "base/core/buf.h"
#include "base/core/str.h"

enum { QUOTE_SIZE = 512 }; /* of quote_text()'s room, the NUL included */

/* Appends it. */
void quote_print(struct str s, struct buf *out);

/* Writes it, terminated, to `out` and returns that. What does not fit is left out. */
const char *quote_text(struct str s, char out[static QUOTE_SIZE]);

#endif
