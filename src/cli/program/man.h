/*
 * man - generates the man pages of commands from their rows.
 */
#ifndef CLI_PROGRAM_MAN_H
#define CLI_PROGRAM_MAN_H

#include "base/core/buf.h"
#include "cli/program/command.h"

/* The same for all pages. */
struct man_opts {
	const struct command *root;
	const char *version; /* of the program */
	int64_t date; /* seconds since 1970 */
};

/*
 * Appends the page (section 1) of the command with these words below the root ("driver", "sim").
 * Without words, it is the program's own page. Returns -ERR_NOT_FOUND for an unknown command, with
 * a suggestion.
 */
int man_page(const struct man_opts *o, const char *const *words, size_t n, struct buf *out,
	     struct error *err);

/* The file name of a command's page: "devplane-driver-sim.1" for the path "devplane driver sim". */
void man_file(const char *path, struct buf *out);

#endif
