/*
 * completion - generates completion scripts for shells from the command table.
 *
 * A script needs no helper package. It knows all commands that are not hidden, their flags, the
 * usual values of flags, which flags name files, and the built-in types of resources. Only for
 * names of objects, namespaces, nodes, drivers, pools, devices and roles it calls `devplane
 * __complete`, which asks the server.
 */
#ifndef CLI_PROGRAM_COMPLETION_H
#define CLI_PROGRAM_COMPLETION_H

#include "cli/program/command.h"

/* A name that only run time knows is to be completed. */
struct completion_query {
	const struct flag *flag; /* whose value it is; NULL: an operand */
	struct str type; /* of an operand: "pods", "devices", "roles" */
	struct str so_far; /* the beginning of the name */
	const char *before; /* the part of the word before it: "--node=", "pod/", or "" */
	char *const *argv; /* the complete words, for flags such as --kubeconfig */
	int argc;
};

/* Appends a candidate, if it begins with `so_far`; `what` describes it, or is NULL. */
void completion_offer(struct buf *out, struct str so_far, const char *before, struct str word,
		      const char *what);

/* The flag of a table that a word names as "--name", "--name=VALUE" or "-n"; or NULL. */
const struct flag *completion_flag(const struct flag *table, struct str word);

/* Whether the flag's value is a name that a server knows. */
bool completion_wants_name(const struct flag *flag);

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
void completion_words(struct cli *cli, int argc, char *const *argv, struct buf *out);

#endif
