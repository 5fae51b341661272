/*
 * top_draw - the text of `devplane top devices` (KEP-5677), for a screen of any size or for a
 * file.
 *
 * No I/O: a model and a view in, lines out.
 */
#ifndef CLI_LIVE_DRAW_H
#define CLI_LIVE_DRAW_H

#include "base/core/buf.h"
#include "cli/live/model.h"

enum top_sort { TOP_BY_POOL, TOP_BY_FREE, TOP_BY_ALLOCATED, TOP_BY_UNHEALTHY, TOP_SORTS };

enum { TOP_FILTER_MAX = 64 }; /* bytes */

/* How far the user has gone into the table. */
enum top_depth { TOP_ALL, TOP_ONE_POOL, TOP_ONE_DEVICE };

/* A pool, or a device of it. Terminated; `device` is empty for a pool. */
struct top_place {
	char driver[128], pool[256], device[128];
};

/* The settings of the display. */
struct top_view {
	size_t width; /* columns; 0: do not cut lines */
	size_t height; /* lines of the screen; 0: print all, without the line of keys */
	size_t scroll; /* lines of the table above the screen; top_draw() corrects it */
	bool cursor; /* one row is selected, and shown in reverse */
	size_t selected; /* that row; top_draw() corrects it */
	struct top_place at; /* the pool or device of that row, set by top_draw() */
	bool follow; /* select the row of `at`, wherever it is now */
	enum top_depth depth;
	struct top_place open; /* the pool or device that is shown alone */
	enum top_sort sort;
	bool devices; /* show a line for each device below its pool */
	bool colour; /* use bold and red */
	bool unhealthy; /* only devices that are reported unhealthy */
	/*
	 * Only devices in which this text occurs, in either case: driver, pool, node, name, state,
	 * reason, health, message, or a holder that the user may see. Terminated.
	 */
	char filter[TOP_FILTER_MAX];
	bool editing; /* the user types the filter */
	int64_t wall_ns;
	struct str source; /* a sentence that says where the data come from */
	struct str message; /* an error to show; or empty */
	bool loading; /* the initial state is incomplete */
	/* Whether claims of the namespace may be named; NULL: all. */
	bool (*may)(void *arg, struct str ns);
	void *arg;
};

void top_draw(const struct top_model *m, struct top_view *view, struct buf *out);

/* Sets the selected row and its place as top_draw() does, without drawing. */
void top_settle(const struct top_model *m, struct top_view *view);

/* The number of table lines on such a screen: the size of a page. */
size_t top_page(const struct top_view *view);

/* The same as a tree: time, source, totals, pools with their devices. */
struct json *top_tree(const struct top_model *m, const struct top_view *view, struct arena *a);

/*
 * "ns/a, ns/b (+2 claims) (+9 allocations)": the names that the user may see, the number of other
 * claims, and the `omitted` allocations that the status leaves out.
 */
void top_print_holders(const struct top_view *view, const struct top_holder *holders, size_t n,
		       size_t omitted, struct buf *out);

#endif
