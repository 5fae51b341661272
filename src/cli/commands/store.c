/*
 * `devplane store`: maintains the folder in which a server keeps its objects.
 */
#include "cli/commands/commands.h"
#include "cli/store/store_dir.h"

static const struct command *const rows[] = {
	&cmd_store_check,   &cmd_store_backup,    &cmd_store_restore,
	&cmd_store_compact, &cmd_store_reencrypt, NULL,
};

const struct command cmd_store = {
	.name = "store",
	.summary = "check, back up, restore, compact and re-encrypt a server's data",
	.about = "These commands, except `reencrypt`, work on the data folder of a `devplane "
		 "server` without etcd. You can use `check` and `backup` while the server runs; "
		 "stop "
		 "it before `restore` and `compact`. `reencrypt` asks a running server.",
	.group = COMMAND_TOOL,
	.subcommands = rows,
};
