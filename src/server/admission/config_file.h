/*
 * admission_config - upstream's configuration of admission plugins: one file, YAML or JSON, with a
 * section for each plugin, or the name of another file that has it.
 */
#ifndef SERVER_ADMISSION_CONFIG_FILE_H
#define SERVER_ADMISSION_CONFIG_FILE_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

/*
 * Reads the section of a plugin. *ret_section NULL: the file has none. -ERR_INVALID also if the
 * file configures a plugin that cannot be configured here.
 */
int admission_config_section(const char *path, const char *plugin, struct arena *a,
			     struct json **ret_section, struct error *err);

#endif
