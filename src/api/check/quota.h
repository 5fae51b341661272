/*
 * check_quota - checks of resource names, for quotas and limit ranges.
 */
#ifndef API_CHECK_QUOTA_H
#define API_CHECK_QUOTA_H

#include "api/check/checks.h"

/* Checks for a name that upstream knows, or a qualified one. */
void check_resource_name(struct validation *v, struct str name, const struct field_path *path);

/* Checks for a name that a container may request. */
void check_container_resource_name(struct validation *v, struct str name,
				   const struct field_path *path);

#endif
