/*
 * shell_word - text as it must be typed in a shell to mean itself.
 */
#ifndef CLI_OUTPUT_SHELL_WORD_H
#define CLI_OUTPUT_SHELL_WORD_H

#include "base/core/arena.h"
#include "base/core/buf.h"

/* Appends it in quotes. */
void shell_word_quote(struct buf *out, const char *text);

/* As it is where no shell would see anything in it, else in quotes. */
const char *shell_word(struct arena *a, const char *text);

#endif
