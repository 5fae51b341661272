/*
 * columns - how wide text is on a terminal.
 */
#ifndef CLI_OUTPUT_COLUMNS_H
#define CLI_OUTPUT_COLUMNS_H

#include "base/core/str.h"

/* The number of bytes of the line that fit into so many columns, in whole characters. */
size_t columns_cut(struct str line, size_t width);

#endif
