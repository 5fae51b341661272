/*
 * cli - one run of the program: finds the command, parses its flags, runs it.
 *
 * Errors are printed here and nowhere else, as "devplane: ..." on stderr (by cli_complain() if a
 * command continues). Exit codes are those of enum cli_exit.
 */
#ifndef CLI_PROGRAM_CLI_H
#define CLI_PROGRAM_CLI_H

#include "cli/program/command.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILURE = 1, /* the command failed */
	CLI_USAGE = 2, /* bad usage */
	/* The reader of stdout is gone; shells report this code for SIGPIPE. */
	CLI_UNREAD = 141,
};

struct cli {
	FILE *out; /* results; cli_main() checks at the end that everything was written */
	FILE *err; /* messages */
	size_t width; /* columns of the terminal, or 80 */
	bool out_colour, err_colour;

	/* Set for the command's run. */
	const struct command *root;
	const struct command *command;
	const char *program; /* "devplane", or "kubectl devplane" if run as kubectl's plugin */
	const char *path; /* the words that name the command: "devplane completion bash" */
	void *options; /* the command's options struct, filled in; NULL without flags */
	struct flag_list operands; /* their number is within the row's limits */
	struct arena arena; /* lives as long as the run */
	bool bad_usage;
	int status; /* exit code of a successful run, if 0 would not say enough */
};

/*
 * Sets up the streams. Colours need a terminal, a TERM other than "dumb" and no NO_COLOR in the
 * environment. There is nothing to release: cli_main does it.
 */
void cli_init(struct cli *cli, FILE *out, FILE *err);

/*
 * Runs the command that the arguments name and returns an enum cli_exit. argv[0] is the program.
 * If its file is named "ROOT-COMMAND", that is the command's first word. If it is named
 * "kubectl-ROOT", it is a plugin of kubectl. If it is named "kubectl_complete-ROOT", it prints
 * completions for the given words.
 */
int cli_main(struct cli *cli, const struct command *root, int argc, char *const *argv);

/* Reports that a part of the work failed. The run continues, and should fail at its end. */
void cli_complain(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Prints "Warning: ...", for something that succeeded but may not be what the user meant. Neither
 * of these two lets control characters reach the terminal.
 */
void cli_warn(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Fails a command because of how it was called: exit code 2 and a pointer to its help. Returns
 * -ERR_BAD_REQUEST.
 */
int cli_bad_usage(struct cli *cli, struct error *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for an unknown subcommand of `c`; suggests the most similar one. */
int cli_unknown_command(struct cli *cli, const struct command *c, const char *name,
			struct error *err);

#endif
