/*
 * driver_commands - the rows of the subcommands of `devplane driver`.
 */
#ifndef CLI_DRIVERS_COMMANDS_H
#define CLI_DRIVERS_COMMANDS_H

#include "cli/program/command.h"

extern const struct command cmd_driver_disk; /* drivers/disk.c */
extern const struct command cmd_driver_disk_probe; /* drivers/disk_probe.c */
extern const struct command cmd_driver_net; /* drivers/net.c */
extern const struct command cmd_driver_nvidia; /* drivers/nvidia.c */
extern const struct command cmd_driver_nvidia_explain; /* drivers/nvidia_show.c, like those below */
extern const struct command cmd_driver_nvidia_list;
extern const struct command cmd_driver_nvidia_profiles;
extern const struct command cmd_driver_sim; /* drivers/sim.c */
extern const struct command cmd_driver_sim_fail; /* drivers/control.c, like those below */
extern const struct command cmd_driver_sim_heal;
extern const struct command cmd_driver_sim_list;
extern const struct command cmd_driver_sim_remove;
extern const struct command cmd_driver_sim_restore;
extern const struct command cmd_driver_sim_silence;

#endif
