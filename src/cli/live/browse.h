/*
 * browse - the keys of `devplane top devices`: they move the selection, open and close pools and
 * devices, and change what is shown.
 */
#ifndef CLI_LIVE_BROWSE_H
#define CLI_LIVE_BROWSE_H

#include "cli/live/draw.h"

/* Returns false for a key that does nothing. Enter opens the row at
 * which the view was last drawn or settled. */
bool top_key(struct top_view *view, int key);

/* A key while the filter is edited: appends, deletes, or ends editing. */
void top_edit_filter(struct top_view *view, int key);

#endif
