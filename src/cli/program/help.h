/*
 * help - prints a command's help, laid out from its row.
 */
#ifndef CLI_PROGRAM_HELP_H
#define CLI_PROGRAM_HELP_H

#include "cli/program/cli.h"

/*
 * Prints to cli->out, wrapped to cli->width: the description, the usage line, subcommands by
 * group, flags and examples. `path` is the words that name the command.
 */
void help_print(const struct cli *cli, const struct command *c, const char *path);

#endif
