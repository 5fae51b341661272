/*
 * zone - time zones of the IANA database: offsets from UTC.
 *
 * Parses the bytes of a TZif file, version 2 or later (RFC 8536), or a rule as in its footer, such
 * as "CET-1CEST,M3.5.0,M10.5.0/3". The caller loads the files; there is no I/O here. Leap seconds
 * are ignored.
 *
 * Threads: immutable.
 */
#ifndef BASE_TIME_ZONE_H
#define BASE_TIME_ZONE_H

#include "base/core/error.h"
#include "base/core/str.h"

/* A day of the year and a time at which clocks change. */
struct zone_change {
	enum {
		ZONE_DAY, /* day 0 to 365 */
		ZONE_JULIAN, /* day 1 to 365; 29 February is not counted */
		ZONE_WEEKDAY, /* weekday (0: Sunday) the 1st to 4th time in a month; 5: last */
	} kind;
	int month, week, day;
	int32_t time; /* seconds after local midnight; -167 to 167 hours */
};

/* The fields are internal. */
struct zone {
	const unsigned char *times; /* of transitions, 8 bytes each, ascending */
	const unsigned char *types_at; /* the type from then on */
	const unsigned char *types; /* 6 bytes each: the offset first */
	uint32_t ntimes, ntypes;
	/* Valid after the last transition. */
	bool has_rule, has_summer;
	int32_t standard_offset, summer_offset;
	struct zone_change summer_begins, summer_ends;
};

/* Parses a file's bytes, which are borrowed for the life of the zone. Returns -ERR_BAD_REQUEST. */
int zone_parse(struct str bytes, struct zone *ret_zone, struct error *err);

/* Parses a rule alone; the text is not kept. Returns -ERR_BAD_REQUEST. */
int zone_of_rule(struct str rule, struct zone *ret_zone, struct error *err);

/* Seconds east of UTC at a time in seconds since 1970. */
int32_t zone_offset(const struct zone *z, int64_t seconds);

#endif
