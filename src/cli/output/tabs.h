/*
 * tabs - text with tabs, aligned as Go's text/tabwriter aligns it.
 *
 * Kubernetes' own tools lay out tables and descriptions so; with the same numbers the same text
 * comes out. A cell is what ends in a tab; what follows the last tab of a line is not padded. A
 * column is a run of lines that have that cell, and is as wide as the widest of them.
 * Widths are counted in code points; sequences that colour a terminal count nothing.
 */
#ifndef CLI_OUTPUT_TABS_H
#define CLI_OUTPUT_TABS_H

#include "base/core/buf.h"

struct tabs_style {
	size_t min; /* width of a column at least, padding included */
	size_t padding; /* spaces after the widest cell */
};

/* kubectl's for tables and for descriptions. */
#define TABS_TABLE    (&(const struct tabs_style){ .min = 6, .padding = 3 })
#define TABS_DESCRIBE (&(const struct tabs_style){ .min = 0, .padding = 2 })

/* Appends `text`, whole lines, aligned. */
void tabs_align(struct buf *out, struct str text, const struct tabs_style *style);

/*
 * One table that comes in parts: columns never get narrower than they were in the part before,
 * as kubectl's watches keep them.
 */
enum { TABS_COLUMNS_MAX = 64 };
struct tabs_memory {
	size_t width[TABS_COLUMNS_MAX];
};
void tabs_align_more(struct buf *out, struct str text, const struct tabs_style *style,
		     struct tabs_memory *memory);

#endif
