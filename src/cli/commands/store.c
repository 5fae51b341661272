/*
 * `devplane store`: maintains the folder in which a server keeps its objects.
 */
#include "cli/commands/commands.h"
#include "cli/store/store_dir.h"

static const struct command *const rows[] = {
	&cmd_store_check, &cmd_store_backup, &cmd_store_restore, &cmd_store_compact, NULL,
};

const struct command cmd_store = {
	.name = "store",
	.summary = "check, back up, restore and compact a server's data",
	.about = "These work on the folder that `devplane server` keeps its objects in when it is "
		 "not given an etcd. `check` and `backup` may be used while the server runs; "
		 "`restore` and `compact` need it stopped.",
	.group = COMMAND_TOOL,
	.subcommands = rows,
};
