/*
 * text_diff - prints the difference of two texts, line by line, in the format of `diff -u`.
 *
 * The difference is minimal if the differing parts have at most some thousand lines. Larger parts
 * are shown as entirely different.
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

/*
 * Appends the difference. Returns false and appends nothing if the texts are equal. Scratch memory
 * is the arena's.
 */
bool text_diff_print(struct arena *a, const struct text_diff *d, struct buf *out);

#endif
