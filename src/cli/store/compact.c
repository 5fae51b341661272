/*
 * `devplane store compact`: shrinks a store's file to the size of its objects.
 */
#include "cli/program/cli.h"
#include "cli/store/store_dir.h"
#include "store/lmdb/tools.h"

struct compact_options {
	const char *data_dir;
	bool keep_history;
};

static const struct flag flags[] = {
	STORE_DIR_FLAG(struct compact_options),
	{ "keep-history", 0, FLAG_BOOL(struct compact_options, keep_history),
	  .help = "keep old revisions, so that watches can resume" },
	{ NULL },
};

static int compact_run(struct cli *cli, struct error *err)
{
	const struct compact_options *o = cli->options;
	size_t before, after;
	int r = store_lmdb_compact_file(store_dir(cli, o->data_dir), o->keep_history, &before,
					&after, err);

	if (r == 0)
		(void)fprintf(cli->out, "%zu bytes, were %zu\n", after, before);
	return r;
}

const struct command cmd_store_compact = {
	.name = "compact",
	.summary = "return a store's unused space to the disk",
	.about = "Drops old revisions and rewrites the store without its unused space. Stop the "
		 "server first. It is never necessary: a running server drops old revisions itself "
		 "and reuses its unused space.",
	.examples = "devplane store compact --data-dir /var/lib/devplane",
	.flags = flags,
	.options_size = sizeof(struct compact_options),
	.run = compact_run,
};
