/*
 * draw_impl - lines of the table of `top devices`, for its text (draw.c) and its tree
 * (draw_tree.c).
 */
#ifndef CLI_LIVE_DRAW_IMPL_H
#define CLI_LIVE_DRAW_IMPL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "cli/live/draw.h"

enum { DRAW_CELLS = 9 }; /* in a line, before the holders */

/* One line of the table, before it is formatted. */
struct line {
	struct str driver, pool, node;
	struct device_counts counts;
	enum top_truth complete, valid;
	bool stale; /* some state may be outdated */
	struct top_slice **slices;
	size_t nslices;
};

struct drawing {
	const struct top_model *model;
	struct top_view *view;
	struct arena arena;
	struct buf *out;
	struct map by_pool; /* "driver/pool" -> struct line */
	VEC(struct line *) lines;
	size_t cells[DRAW_CELLS], widths[DRAW_CELLS]; /* without and with titles */
	bool narrow;
	size_t rows; /* in the table, including devices */
	size_t left; /* lines left on the screen */
	bool chosen; /* the next line is the selected row */
};

/* Sums up the pools that the view shows. The model and the view must outlive the drawing. */
void draw_begin(struct drawing *w, const struct top_model *m, struct top_view *view);
void draw_end(struct drawing *w);

struct device_counts draw_totals(const struct drawing *w);

/* Whether claims of the namespace may be named. */
bool draw_may_name(const struct top_view *view, struct str ns);

#endif
