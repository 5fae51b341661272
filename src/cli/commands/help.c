/*
 * `devplane help COMMAND ..`: the same text as `devplane COMMAND .. --help`.
 */
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/program/help.h"

static int help_run(struct cli *cli, struct error *err)
{
	const struct command *c = cli->root, *next;
	const char *path = c->name;

	for (size_t i = 0; i < cli->operands.n; i++) {
		next = command_find(c, str_from(cli->operands.v[i]));
		if (!next)
			return cli_unknown_command(cli, c, cli->operands.v[i], err);
		c = next;
		path = arena_printf(&cli->arena, "%s %s", path, c->name);
	}
	help_print(cli, c, path);
	return 0;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "show the help of a command",
	.usage = "[COMMAND ..]",
	.group = COMMAND_ABOUT,
	.operands_max = COMMAND_ANY,
	.run = help_run,
};
