/*
 * admission_config - upstream's configuration of admission plugins: one file, YAML or JSON, with a
 * section for each plugin, or the name of another file that has it.
 */
#ifndef SERVER_ADMISSION_CONFIG_FILE_H
#define SERVER_ADMISSION_CONFIG_FILE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/report/field_errors.h"

struct json;

/*
 * Reads the section of a plugin. *ret_section NULL: the file has none. -ERR_INVALID also if the
 * file configures a plugin that cannot be configured here.
 */
int admission_config_section(const char *path, const char *plugin, struct arena *a,
			     struct json **ret_section, struct error *err);

/* --- for the sections --------------------------------------------------------------------- */

/*
 * Reading a member strictly: a value of another type and an unknown field are faults, because a
 * rule or an exemption would silently be missing otherwise. An absent value (NULL) is not a fault.
 */
void admission_config_object(struct field_errors *errs, const struct field_path *at,
			     const struct json *object, const char *const *known, size_t n);
struct str admission_config_text(struct field_errors *errs, const struct field_path *at,
				 const struct json *text);
const struct json *admission_config_list(struct field_errors *errs, const struct field_path *at,
					 const struct json *list);

/* -ERR_INVALID with the faults, if there are any. */
int admission_config_verdict(const struct field_errors *errs, struct error *err);

#endif
