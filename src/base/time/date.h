/*
 * date - checks whether a text is a date, or a date and time.
 *
 * Like kube-openapi's strfmt for the formats "date" and "date-time": RFC 3339, except that offsets
 * may have any size, and the point of a fraction may be any character.
 */
#ifndef BASE_TIME_DATE_H
#define BASE_TIME_DATE_H

#include "base/core/str.h"

bool date_is_valid(struct str s); /* 2006-01-02, a valid day */
bool date_time_is_valid(struct str s);

#endif
