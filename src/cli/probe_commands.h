/*
 * probe_commands - the rows of the subcommands of `devplane probe`.
 */
#ifndef CLI_PROBE_COMMANDS_H
#define CLI_PROBE_COMMANDS_H

#include "cli/command.h"

extern const struct command cmd_probe_call; /* cmd_probe_call.c */
extern const struct command cmd_probe_get; /* cmd_probe_get.c */
extern const struct command cmd_probe_serve; /* cmd_probe_serve.c */

#endif
