/*
 * store_dir - what the `devplane store` commands have in common: --data-dir, and
 * where in it the store is.
 */
#ifndef CLI_STORE_DIR_H
#define CLI_STORE_DIR_H

#include "cli/cli.h"

/* The flag's row; `type` has the member `data_dir`. */
#define STORE_DIR_FLAG(type)                                      \
	{                                                         \
		"data-dir", 'd', FLAG_STRING(type, data_dir),     \
			.arg = "DIR", .initial = "devplane-data", \
			.help = "the --data-dir of the server"    \
	}

/* The folder that `devplane server` keeps the store in. */
static inline const char *store_dir(struct cli *cli, const char *data_dir)
{
	return arena_printf(&cli->arena, "%s/store", data_dir);
}

#endif
