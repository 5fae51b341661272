/*
 * `devplane driver`: device drivers.
 */
#include "cli/commands/commands.h"
#include "cli/drivers/commands.h"

static const struct command *const rows[] = { &cmd_driver_disk, &cmd_driver_net, &cmd_driver_nvidia,
					      &cmd_driver_sim, NULL };

const struct command cmd_driver = {
	.name = "driver",
	.summary = "run a device driver: disk, net, nvidia, or sim without hardware",
	.about = "A driver publishes which devices a node has, reports their health, and prepares "
		 "them for containers. To write your own, see docs/driver-sdk.md.",
	.group = COMMAND_ROLE,
	.subcommands = rows,
};
