/*
 * tabs - aligns text with tabs as Go's text/tabwriter does.
 *
 * Kubernetes' own tools use it for tables and descriptions; the same parameters yield the same
 * text. A cell ends in a tab; text after the last tab of a line is not padded. A column is a run
 * of consecutive lines that have that cell, and is as wide as the widest of them. Widths are
 * counted in code points; colour sequences count as nothing.
 */
#ifndef CLI_OUTPUT_TABS_H
#define CLI_OUTPUT_TABS_H

#include "base/core/buf.h"

struct tabs_style {
	size_t min; /* minimum width of a column, including padding */
	size_t padding; /* spaces after the widest cell */
};

/* kubectl's styles for tables and for descriptions. */
#define TABS_TABLE    (&(const struct tabs_style){ .min = 6, .padding = 3 })
#define TABS_DESCRIBE (&(const struct tabs_style){ .min = 0, .padding = 2 })

/* Appends `text`, whole lines, aligned. */
void tabs_align(struct buf *out, struct str text, const struct tabs_style *style);

/*
 * For a table that is printed in parts: columns never get narrower than in the previous part, as
 * in kubectl's watches.
 */
enum { TABS_COLUMNS_MAX = 64 };
struct tabs_memory {
	size_t width[TABS_COLUMNS_MAX];
};
void tabs_align_more(struct buf *out, struct str text, const struct tabs_style *style,
		     struct tabs_memory *memory);

#endif
