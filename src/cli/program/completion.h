/*
 * completion - shells' completion scripts, generated from the command table.
 *
 * A script is complete in itself: it needs no helper package and does not call
 * devplane while completing. It knows all commands that are not hidden, their
 * flags, the usual values of flags, which flags name files, and the types of resources that are
 * compiled in. No server is asked.
 */
#ifndef CLI_PROGRAM_COMPLETION_H
#define CLI_PROGRAM_COMPLETION_H

#include "cli/program/command.h"

/* Whether the value of the flag is a path: its argument is called FILE, DIR or PATH. */
bool completion_wants_path(const struct flag *flag);

/* Values to offer for the flag, '|' between them: its choices or what is usual; or NULL. */
const char *completion_values(const struct flag *flag);

/* The same with spaces between them, as all three shells want lists. */
void completion_add_values(struct buf *out, const struct flag *flag);

/* The types of resources that have lists, and pools of devices; plurals with spaces between. */
void completion_add_types(struct buf *out);

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
