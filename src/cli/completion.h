/*
 * completion - shells' completion scripts, generated from the command table.
 *
 * A script is complete in itself: it needs no helper package and does not call
 * devplane while completing. It knows all commands that are not hidden, their
 * flags, the values of flags that have choices, and which flags name files.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/command.h"

/* Whether the value of the flag is a path: its argument is called FILE, DIR or PATH. */
bool completion_wants_path(const struct flag *flag);

/* The flag's choices with spaces between them, as all three shells want lists. */
void completion_add_choices(struct buf *out, const struct flag *flag);

/* Each appends one script for the program `root`. */
void completion_bash(const struct command *root, struct buf *out);
void completion_zsh(const struct command *root, struct buf *out);
void completion_fish(const struct command *root, struct buf *out);

/*
 * What may come next, in the way of kubectl's plugins: the last of the words is unfinished (and may
 * be empty), those before it are complete. One candidate on a line, behind a tab what it is; a last
 * line ":0" when file names may follow, else ":4".
 */
void completion_words(const struct command *root, int argc, char *const *argv, struct buf *out);

#endif
