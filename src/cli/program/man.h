/*
 * man - man pages of commands, laid out from their rows.
 */
#ifndef CLI_PROGRAM_MAN_H
#define CLI_PROGRAM_MAN_H

#include "base/core/buf.h"
#include "cli/program/command.h"

/* What is the same on all pages. */
struct man_opts {
	const struct command *root;
	const char *version; /* of the program */
	int64_t date; /* seconds since 1970 */
};

/*
 * Appends the page of section 1 of the command that these words below the root lead to ("driver",
 * "sim"); no words: of the program itself. -ERR_NOT_FOUND: there is no such command; says which was
 * probably meant.
 */
int man_page(const struct man_opts *o, const char *const *words, size_t n, struct buf *out,
	     struct error *err);

/* The file of a command's page by its path: "devplane-driver-sim.1" for "devplane driver sim". */
void man_file(const char *path, struct buf *out);

#endif
