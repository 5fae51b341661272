/*
 * completion - generates completion scripts for shells from the command table.
 *
 * A script is self-contained: it needs no helper package and does not call devplane while
 * completing. It knows all commands that are not hidden, their flags, the usual values of flags,
 * which flags name files, and the built-in types of resources. It contacts no server.
 */
#ifndef CLI_PROGRAM_COMPLETION_H
#define CLI_PROGRAM_COMPLETION_H

#include "cli/program/command.h"

/* Whether the flag's value is a path, that is, its argument is called FILE, DIR or PATH. */
bool completion_wants_path(const struct flag *flag);

/* Values to offer for the flag, separated by '|': its choices or usual values; or NULL. */
const char *completion_values(const struct flag *flag);

/* The same separated by spaces, as all three shells need it. */
void completion_add_values(struct buf *out, const struct flag *flag);

/* The plurals of listable resource types, and of pools of devices, separated by spaces. */
void completion_add_types(struct buf *out);

/* Each appends one script for the program `root`. */
void completion_bash(const struct command *root, struct buf *out);
void completion_zsh(const struct command *root, struct buf *out);
void completion_fish(const struct command *root, struct buf *out);

/*
 * Completions in the protocol of kubectl's plugins. The last word is unfinished (and may be
 * empty), those before it are complete. Each line is a candidate, a tab and its description. The
 * last line is ":0" if file names may follow, else ":4".
 */
void completion_words(const struct command *root, int argc, char *const *argv, struct buf *out);

#endif
