/*
 * command - the commands of devplane, as a table.
 *
 * Each command is one constant row in its own file, listed in the table of commands/commands.c.
 * Help, man pages, completion and dispatch are derived from the rows: to add a command, add a row
 * and a file.
 *
 * Texts: `summary` is one line in the imperative, without a capital or a full stop; `about` is
 * wrapped; `examples` is printed as it is.
 */
#ifndef CLI_PROGRAM_COMMAND_H
#define CLI_PROGRAM_COMMAND_H

#include "base/system/flags.h"

struct buf;
struct cli;
struct completion_query;

/* Headings of the overview, in this order. An empty group is not shown. */
enum command_group {
	COMMAND_CLUSTER, /* the whole cluster */
	COMMAND_ROLE, /* parts of a cluster, which run until stopped */
	COMMAND_OBJECT, /* read and change objects of the API server */
	COMMAND_TOOL, /* diagnosis and conversion */
	COMMAND_ABOUT, /* devplane itself */
	COMMAND_GROUPS,
};

/* A line of a list in help and man page: an exit code, a variable or a file, with its meaning. */
struct command_note {
	const char *name; /* NULL ends a list */
	const char *text; /* without a capital or a full stop */
};

/* `operands_max` of a command that takes any number. */
#define COMMAND_ANY SIZE_MAX

struct command {
	const char *name;
	const char *summary;
	const char *usage; /* follows the command's path; NULL: "[FLAGS]" or "COMMAND" */
	const char *about; /* paragraphs, or NULL */
	const char *examples; /* whole lines, or NULL */
	const struct command_note *exit_status; /* if 0 and 1 mean more than usual; or NULL */
	int failure; /* exit code of failures, if 1 is not a failure; 0: 1 */
	const struct command_note *environment; /* variables that it reads; or NULL */
	/* Files that it reads or writes and that no flag names; or NULL. */
	const struct command_note *files;
	enum command_group group;
	bool hidden; /* not in help and completion, but it runs */

	const struct flag *flags; /* or NULL */
	size_t options_size; /* size of the struct that `flags` has offsets into */
	size_t operands_min, operands_max;
	bool types; /* the first operand is a type of resources */
	const char *names; /* the type of all operands, for completion: "roles"; or NULL */

	/*
	 * Runs the command. 0 is exit code 0. The caller prints an error and exits with 1 (or
	 * `failure`), or with 2 if it came from cli_bad_usage(). NULL: the command only groups
	 * others, and shows its help.
	 */
	int (*run)(struct cli *cli, struct error *err);

	const struct command *const *subcommands; /* ends with NULL; or NULL */

	/* Offers names for completion; only the root has it. */
	void (*complete)(struct cli *cli, const struct completion_query *query, struct buf *out);
};

/* The subcommand of that name, or NULL. */
const struct command *command_find(const struct command *c, struct str name);

/* The subcommand that is most similar to `name`; empty if none is. */
struct str command_nearest(const struct command *c, struct str name);

/* The part of the usage line after the command's path. */
const char *command_usage(const struct command *c);

/*
 * Calls visit for `root` and everything below it that is not hidden, parents first, with the words
 * of its path ("devplane completion bash").
 */
void command_walk(const struct command *root,
		  void (*visit)(void *ctx, const struct command *c, const char *path), void *ctx);

#endif
