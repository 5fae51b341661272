/*
 * `devplane store backup FILE`: copies a consistent snapshot, from a server that may keep running.
 */
#include "cli/program/cli.h"
#include "cli/store/store_dir.h"
#include "store/lmdb/tools.h"

struct backup_options {
	const char *data_dir;
	bool force;
};

static const struct flag flags[] = {
	STORE_DIR_FLAG(struct backup_options),
	{ "force", 0, FLAG_BOOL(struct backup_options, force),
	  .help = "replace the file if it exists" },
	{ NULL },
};

static int backup_run(struct cli *cli, struct error *err)
{
	const struct backup_options *o = cli->options;
	const char *file = cli->operands.v[0];
	int r = store_lmdb_backup(store_dir(cli, o->data_dir), file, o->force, err);

	if (r == 0)
		(void)fprintf(cli->out, "wrote %s\n", file);
	return r;
}

const struct command cmd_store_backup = {
	.name = "backup",
	.summary = "copy a store to a file",
	.usage = "FILE [FLAGS]",
	.about = "Writes a consistent copy of all objects to FILE, under a temporary name first, "
		 "so that FILE is always complete. The server can keep running. The copy contains "
		 "secrets; only its owner can read it.",
	.examples = "devplane store backup /backup/devplane.mdb --data-dir /var/lib/devplane",
	.flags = flags,
	.options_size = sizeof(struct backup_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = backup_run,
};
