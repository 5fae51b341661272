/*
 * `devplane store restore FILE`: makes a store from a backup.
 */
#include "cli/program/cli.h"
#include "cli/store/store_dir.h"
#include "store/lmdb/tools.h"

struct restore_options {
	const char *data_dir;
};

static const struct flag flags[] = {
	STORE_DIR_FLAG(struct restore_options),
	{ NULL },
};

static int restore_run(struct cli *cli, struct error *err)
{
	const struct restore_options *o = cli->options;
	const char *dir = store_dir(cli, o->data_dir);
	int r = store_lmdb_restore(dir, cli->operands.v[0], err);

	if (r == 0)
		(void)fprintf(cli->out, "restored %s\n", dir);
	return r;
}

const struct command cmd_store_restore = {
	.name = "restore",
	.summary = "create a store from a backup",
	.usage = "FILE [FLAGS]",
	.about = "Verifies FILE, which `store backup` wrote, and makes it the store of a data "
		 "folder without one. To return to a backup, move the old store away first.",
	.examples = "mv /var/lib/devplane/store /var/lib/devplane/store.old\n"
		    "devplane store restore /backup/devplane.mdb --data-dir /var/lib/devplane",
	.flags = flags,
	.options_size = sizeof(struct restore_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = restore_run,
};
