/*
 * shell_word - quotes text for a shell.
 */
#ifndef CLI_OUTPUT_SHELL_WORD_H
#define CLI_OUTPUT_SHELL_WORD_H

#include "base/core/arena.h"
#include "base/core/buf.h"

/* Appends the text in quotes. */
void shell_word_quote(struct buf *out, const char *text);

/* The text itself if no shell would interpret it, else in quotes. */
const char *shell_word(struct arena *a, const char *text);

#endif
