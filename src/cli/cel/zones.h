/*
 * zones - time zones of this machine, by name, for expressions that use local times.
 *
 * It reads a zone from /usr/share/zoneinfo (or $ZONEINFO) when its name is first used, and caches
 * the result, also for zones that do not exist. The cache holds ZONES_MAX names; further names
 * count as unknown.
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

/* Implements struct cel_eval.zone_offset; `zones` is a struct zones. */
bool zones_offset(void *zones, struct str name, int64_t seconds, int32_t *ret_offset);

#endif
