/*
 * help - a command's help, laid out from its row.
 */
#ifndef CLI_PROGRAM_HELP_H
#define CLI_PROGRAM_HELP_H

#include "cli/program/cli.h"

/*
 * Prints to cli->out, wrapped to cli->width: what the command does, how it is
 * called, its subcommands by group, its flags and examples. `path` is the
 * words that name it.
 */
void help_print(const struct cli *cli, const struct command *c, const char *path);

#endif
