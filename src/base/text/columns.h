/*
 * columns - two-column help text, wrapped to a width.
 *
 *	  -o, --output FORMAT   how to print what was found;
 *	                        "wide" adds columns
 *
 * Widths are counted in code points, which is right for the text that we
 * print. A word longer than its line is never cut.
 */
#ifndef BASE_TEXT_COLUMNS_H
#define BASE_TEXT_COLUMNS_H

#include "base/core/buf.h"

struct columns {
	size_t indent; /* spaces before the left column */
	size_t left; /* its width; a longer left text gets a line of its own */
	size_t width; /* of the whole line */
};

enum { COLUMNS_GAP = 2 /* spaces between the columns */ };

/* Code points in s; invalid UTF-8 counts by bytes. */
size_t columns_count(struct str s);

/*
 * The width of the left column for texts of at most `longest` code points, so that at least half of
 * the line remains for the right one.
 */
size_t columns_left(size_t indent, size_t longest, size_t width);

/* One row: `left`, then `right` wrapped into its column. Ends with a newline. */
void columns_row(struct buf *out, const struct columns *c, struct str left, struct str right);

/*
 * A paragraph wrapped to `width` with `indent` spaces before each line. A newline in `text` breaks
 * the line; two make an empty line.
 */
void columns_paragraph(struct buf *out, size_t indent, size_t width, struct str text);

#endif
