/*
 * output_clean - makes foreign text safe for a terminal.
 */
#ifndef CLI_PROGRAM_CLEAN_H
#define CLI_PROGRAM_CLEAN_H

#include "base/core/buf.h"

/*
 * Appends text so that a terminal only shows it. A control character (C0, DEL, and C1 in UTF-8,
 * which some terminals obey) becomes a space, the escape "^["; a byte that is not UTF-8 becomes
 * U+FFFD. Tabs and newlines are kept if they are in `keep`.
 */
void output_clean_text(struct buf *out, struct str text, const char *keep);

/* The same as one line: text after the end of the first line is replaced by "...". */
void output_clean(struct buf *out, struct str text);

#endif
