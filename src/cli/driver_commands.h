/*
 * driver_commands - the rows of the subcommands of `devplane driver`.
 */
#ifndef CLI_DRIVER_COMMANDS_H
#define CLI_DRIVER_COMMANDS_H

#include "cli/command.h"

extern const struct command cmd_driver_disk; /* cmd_driver_disk.c */
extern const struct command cmd_driver_disk_probe; /* cmd_driver_disk_probe.c */
extern const struct command cmd_driver_net; /* cmd_driver_net.c */
extern const struct command cmd_driver_sim; /* cmd_driver_sim.c */
extern const struct command cmd_driver_sim_fail; /* cmd_driver_control.c, like those below */
extern const struct command cmd_driver_sim_heal;
extern const struct command cmd_driver_sim_list;
extern const struct command cmd_driver_sim_remove;
extern const struct command cmd_driver_sim_restore;
extern const struct command cmd_driver_sim_silence;

#endif
