/*
 * probe_commands - the rows of the subcommands of `devplane probe`.
 */
#ifndef CLI_PROBE_COMMANDS_H
#define CLI_PROBE_COMMANDS_H

#include "cli/program/command.h"

extern const struct command cmd_probe_call; /* probe/command_call.c */
extern const struct command cmd_probe_get; /* probe/command_get.c */
extern const struct command cmd_probe_serve; /* probe/command_serve.c */

#endif
