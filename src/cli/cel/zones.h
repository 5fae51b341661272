/*
 * zones - time zones of this machine, by name, for expressions that ask for local times.
 *
 * Reads /usr/share/zoneinfo (or $ZONEINFO) as names are first asked for, and remembers them,
 * also those that do not exist: ZONES_MAX in all, beyond which new ones are not known.
 */
#ifndef CLI_CEL_ZONES_H
#define CLI_CEL_ZONES_H

#include "base/core/map.h"
#include "base/core/str.h"

struct zones {
	struct map known; /* name -> struct zone_file */
};

void zones_init(struct zones *z);
void zones_release(struct zones *z);

/* What struct cel_eval.zone_offset is; `zones` is a struct zones. */
bool zones_offset(void *zones, struct str name, int64_t seconds, int32_t *ret_offset);

#endif
