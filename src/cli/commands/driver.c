/*
 * `devplane driver`: device drivers.
 */
#include "cli/commands/commands.h"
#include "cli/drivers/commands.h"

static const struct command *const rows[] = { &cmd_driver_disk, &cmd_driver_net, &cmd_driver_sim,
					      NULL };

const struct command cmd_driver = {
	.name = "driver",
	.summary = "drivers of devices: disks, network interfaces, a simulated vendor",
	.about = "A driver tells a cluster which devices a node has, whether they are well, and "
		 "what a container needs to use one. To write your own, see docs/driver-sdk.md.",
	.group = COMMAND_ROLE,
	.subcommands = rows,
};
