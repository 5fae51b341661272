/*
 * watch_print - one change of a device as a line, or as an object.
 */
#ifndef CLI_LIVE_WATCH_PRINT_H
#define CLI_LIVE_WATCH_PRINT_H

#include "cli/live/draw.h"

/* "TIME DRIVER/POOL/DEVICE OLD -> NEW CLAIMS REASON"; who may be named is the view's. */
void watch_print_line(const struct top_change *c, const struct top_view *view, struct buf *out);

/* A JSON object and a line's end. */
void watch_print_json(const struct top_change *c, const struct top_view *view, struct buf *out);

#endif
