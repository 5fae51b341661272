/*
 * man_roff - writes text for man pages, with troff's special characters escaped.
 *
 * All functions append to a buffer that must be at the beginning of a line. Dashes come out as
 * ASCII, so that users can copy commands.
 */
#ifndef CLI_PROGRAM_MAN_ROFF_H
#define CLI_PROGRAM_MAN_ROFF_H

#include "base/core/buf.h"

/* The text as it is, without a newline at the end. Here the buffer may end within a line. */
void man_roff_literal(struct buf *out, struct str s);

/*
 * Prose, ended with a newline. A newline in it breaks the line, two begin a paragraph; `words in
 * grave accents` are bold.
 */
void man_roff_prose(struct buf *out, struct str s);

/* A usage line: capitals are italic, flags and lower-case words are bold. Ended with a newline. */
void man_roff_usage(struct buf *out, struct str s);

/* Lines as they are, without the indentation of the first. */
void man_roff_lines(struct buf *out, struct str s);

#endif
