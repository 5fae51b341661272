/*
 * top_draw - the text of `devplane top devices`, for a screen of any size or for a file.
 *
 * No I/O: a model and a view in, lines out.
 */
#ifndef CLI_LIVE_DRAW_H
#define CLI_LIVE_DRAW_H

#include "base/core/buf.h"
#include "cli/live/model.h"

enum top_sort { TOP_BY_POOL, TOP_BY_FREE, TOP_BY_ALLOCATED, TOP_SORTS };

/* Who looks at it, and how. */
struct top_view {
	size_t width; /* columns; 0: lines are not cut */
	size_t height; /* lines of the screen; 0: all, without the line of keys */
	size_t scroll; /* lines of the table that are above the screen; corrected by top_draw() */
	enum top_sort sort;
	bool devices; /* a line for each device below its pool */
	bool colour; /* bold and red, as a terminal takes it */
	int64_t wall_ns;
	struct str source; /* where the data come from: a sentence */
	struct str message; /* something is wrong; or empty */
	bool loading; /* not all is known yet */
	/* Whether claims of the namespace may be named; NULL: all. */
	bool (*may)(void *arg, struct str ns);
	void *arg;
};

void top_draw(const struct top_model *m, struct top_view *view, struct buf *out);

/* Lines that the table has for itself on such a screen: what a page is. */
size_t top_page(const struct top_view *view);

/* The same as a tree: time, source, totals, pools with their devices. */
struct json *top_tree(const struct top_model *m, const struct top_view *view, struct arena *a);

/*
 * "ns/a, ns/b (+2 claims) (+9 allocations)": names for who may know them, the others only counted,
 * and `omitted` allocations that the status leaves out.
 */
void top_print_holders(const struct top_view *view, const struct top_holder *holders, size_t n,
		       size_t omitted, struct buf *out);

#endif
