/*
 * store_dir - the subcommands of `devplane store`, their flag --data-dir, and the store's folder
 * in it.
 */
#ifndef CLI_STORE_STORE_DIR_H
#define CLI_STORE_STORE_DIR_H

#include "cli/program/cli.h"

extern const struct command cmd_store_backup; /* store/backup.c */
extern const struct command cmd_store_check; /* store/check.c */
extern const struct command cmd_store_compact; /* store/compact.c */
extern const struct command cmd_store_reencrypt; /* store/reencrypt.c */
extern const struct command cmd_store_restore; /* store/restore.c */

/* The flag's row; `type` has the member `data_dir`. */
#define STORE_DIR_FLAG(type)                                      \
	{                                                         \
		"data-dir", 'd', FLAG_STRING(type, data_dir),     \
			.arg = "DIR", .initial = "devplane-data", \
			.help = "the --data-dir of the server"    \
	}

/* The folder in which `devplane server` keeps the store. */
static inline const char *store_dir(struct cli *cli, const char *data_dir)
{
	return arena_printf(&cli->arena, "%s/store", data_dir);
}

#endif
