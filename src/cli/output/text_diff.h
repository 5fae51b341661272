/*
 * text_diff - how one text becomes another, line by line, as `diff -u` prints it.
 *
 * The fewest lines change, where the parts that differ are no more than some thousand lines; of
 * larger ones all lines are taken to differ.
 */
#ifndef CLI_OUTPUT_TEXT_DIFF_H
#define CLI_OUTPUT_TEXT_DIFF_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct text_diff {
	struct str before, after;
	struct str before_name, after_name;
	bool colour;
};

/* Appends the difference; nothing, and false, when there is none. Scratch memory is the arena's. */
bool text_diff_print(struct arena *a, const struct text_diff *d, struct buf *out);

#endif
