/*
 * watch_print - prints one change of a device, as a line or as an object.
 */
#ifndef CLI_LIVE_WATCH_PRINT_H
#define CLI_LIVE_WATCH_PRINT_H

#include "cli/live/draw.h"

/*
 * "TIME DRIVER/POOL/DEVICE OLD -> NEW CLAIMS REASON". The view decides which claims may be named.
 */
void watch_print_line(const struct top_change *c, const struct top_view *view, struct buf *out);

/* A JSON object and a newline. */
void watch_print_json(const struct top_change *c, const struct top_view *view, struct buf *out);

#endif
