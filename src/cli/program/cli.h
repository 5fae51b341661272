/*
 * cli - one run of the program: finds the command, parses its flags, runs it.
 *
 * What went wrong is printed here and nowhere else, as "devplane: ..." on the
 * error stream (by cli_complain(), where a command goes on). Exit codes are the ones of
 * enum cli_exit.
 */
#ifndef CLI_PROGRAM_CLI_H
#define CLI_PROGRAM_CLI_H

#include "cli/program/command.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILURE = 1, /* what was asked for could not be done */
	CLI_USAGE = 2, /* what was asked for makes no sense */
	CLI_UNREAD = 141, /* nobody reads on; what shells say of programs that SIGPIPE ends */
};

struct cli {
	FILE *out; /* results; write freely, cli_main checks at the end that it all went out */
	FILE *err; /* messages */
	size_t width; /* columns of the terminal, or 80 */
	bool out_colour, err_colour;

	/* Set for the command's run. */
	const struct command *root;
	const struct command *command;
	const char *program; /* "devplane", or "kubectl devplane" when kubectl runs us */
	const char *path; /* the words that name it: "devplane completion bash" */
	void *options; /* its own options struct, filled in; NULL without flags */
	struct flag_list operands; /* as many as the row allows */
	struct arena arena; /* lives as long as the run */
	bool bad_usage;
	int status; /* exit code of a run that succeeded, where 0 would not say all */
};

/*
 * For these two streams. Colours need a terminal, a TERM that is not "dumb"
 * and no NO_COLOR in the environment. Nothing to release: cli_main does it.
 */
void cli_init(struct cli *cli, FILE *out, FILE *err);

/*
 * Does what the arguments say and returns an enum cli_exit. argv[0] is the program; when its file
 * is named "ROOT-COMMAND" that is the command's first word. Named "kubectl-ROOT" it is a plugin of
 * kubectl, and "kubectl_complete-ROOT" prints what may come behind the words that it is given.
 */
int cli_main(struct cli *cli, const struct command *root, int argc, char *const *argv);

/* Says what went wrong with a part of what was asked for; the run goes on, and fails at its end. */
void cli_complain(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * "Warning: ...", of what went well but not as may have been meant. Control characters reach the
 * terminal by neither of these two.
 */
void cli_warn(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Fails a command's run because of how it was called: exit code 2 and a hint
 * at its help. Returns -ERR_BAD_REQUEST.
 */
int cli_bad_usage(struct cli *cli, struct error *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for a word that names no subcommand of `c`; says which was probably meant. */
int cli_unknown_command(struct cli *cli, const struct command *c, const char *name,
			struct error *err);

#endif
