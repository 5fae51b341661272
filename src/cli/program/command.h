/*
 * command - what devplane can be told to do, as a table.
 *
 * Each command is one constant row in its own cmd_<name>.c, named in the table
 * of commands.c. Help, man pages, completion and dispatch are derived from the
 * rows: adding a command is adding a row and a file.
 *
 * Texts: `summary` is one line in the imperative, without a capital or a full
 * stop; `about` is wrapped, `examples` is printed as it stands.
 */
#ifndef CLI_PROGRAM_COMMAND_H
#define CLI_PROGRAM_COMMAND_H

#include "base/system/flags.h"

struct cli;

/* Headings of the overview, in this order; an empty group is not shown. */
enum command_group {
	COMMAND_CLUSTER, /* all of it, at once */
	COMMAND_ROLE, /* parts of a cluster, which run until stopped */
	COMMAND_OBJECT, /* reading and changing what the API server holds */
	COMMAND_TOOL, /* diagnosis and conversion */
	COMMAND_ABOUT, /* devplane itself */
	COMMAND_GROUPS,
};

/* A line of a list in help and man page: an exit code, a variable or a file, and what it is. */
struct command_note {
	const char *name; /* NULL ends a list */
	const char *text; /* without a capital or a full stop */
};

/* `operands_max` of a command that takes any number. */
#define COMMAND_ANY SIZE_MAX

struct command {
	const char *name;
	const char *summary;
	const char *usage; /* what follows the command's path; NULL: "[FLAGS]" or "COMMAND" */
	const char *about; /* paragraphs, or NULL */
	const char *examples; /* whole lines, or NULL */
	const struct command_note *exit_status; /* where 0 and 1 say more than usual, or NULL */
	int failure; /* exit code of failures where 1 is no failure; 0: 1 */
	const struct command_note *environment; /* variables that it reads, or NULL */
	const struct command_note *files; /* what it reads or makes, not named by a flag; or NULL */
	enum command_group group;
	bool hidden; /* from help and completion; it still runs */

	const struct flag *flags; /* or NULL */
	size_t options_size; /* of the struct that `flags` has offsets into */
	size_t operands_min, operands_max;
	bool types; /* the first operand is a type of resources */

	/*
	 * Does it. 0 is exit code 0; a failure is printed by the caller and is
	 * exit code 1 (or `failure`), or 2 when it was made by cli_bad_usage(). NULL: the
	 * command only groups others, and shows its help.
	 */
	int (*run)(struct cli *cli, struct error *err);

	const struct command *const *subcommands; /* ends with NULL; or NULL */
};

/* The subcommand of that name, or NULL. */
const struct command *command_find(const struct command *c, struct str name);

/* The subcommand that `name` was probably meant to be; empty when there is none. */
struct str command_nearest(const struct command *c, struct str name);

/* What follows the command's path in its usage line. */
const char *command_usage(const struct command *c);

/*
 * Calls visit for `root` and all below it that are not hidden, parents first,
 * with the words that lead there ("devplane completion bash").
 */
void command_walk(const struct command *root,
		  void (*visit)(void *ctx, const struct command *c, const char *path), void *ctx);

#endif
