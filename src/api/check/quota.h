/*
 * check_quota - rules of names of resources, for the checks of quotas and limit ranges.
 */
#ifndef API_CHECK_QUOTA_H
#define API_CHECK_QUOTA_H

#include "api/check/checks.h"

/* A name that upstream knows, or a qualified one. */
void check_resource_name(struct validation *v, struct str name, const struct field_path *path);

/* One that a container may ask for. */
void check_container_resource_name(struct validation *v, struct str name,
				   const struct field_path *path);

#endif
