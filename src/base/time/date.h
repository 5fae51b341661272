/*
 * date - whether a text has the form of a date, or of a date and time.
 *
 * As kube-openapi's strfmt takes them for the formats "date" and "date-time": RFC 3339, but for
 * offsets, which may be of any size, and the point of a fraction, which may be any character.
 */
#ifndef BASE_TIME_DATE_H
#define BASE_TIME_DATE_H

#include "base/core/str.h"

bool date_is_valid(struct str s); /* 2006-01-02, of the calendar */
bool date_time_is_valid(struct str s);

#endif
