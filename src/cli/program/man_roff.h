/*
 * man_roff - text for man pages: what troff would take for its own is escaped.
 *
 * All append to a buffer that must be at the beginning of a line. Dashes come
 * out as ASCII, so that what a reader copies can be typed.
 */
#ifndef CLI_PROGRAM_MAN_ROFF_H
#define CLI_PROGRAM_MAN_ROFF_H

#include "base/core/buf.h"

/* As it stands, without an end of line; what is there already may be the line's beginning. */
void man_roff_literal(struct buf *out, struct str s);

/*
 * Prose, ended with a newline. A newline in it breaks the line, two begin a
 * paragraph; `words in grave accents` are bold.
 */
void man_roff_prose(struct buf *out, struct str s);

/* A usage line: capitals are italic, flags and lower-case words are bold. Ended with a newline. */
void man_roff_usage(struct buf *out, struct str s);

/* Lines as they stand, less the indentation of the first. */
void man_roff_lines(struct buf *out, struct str s);

#endif
