/*
 * timestamp - RFC 3339 times, as the API writes and reads them.
 *
 * A time is nanoseconds since 1970 UTC in an int64_t, valid from 1677-09-21 to 2262-04-11. There
 * are no leap seconds and no time zones except UTC: offsets are parsed and never written. Calendar
 * arithmetic is our own, so nothing here depends on the C library's zone files or locks.
 */
#ifndef BASE_TIME_TIMESTAMP_H
#define BASE_TIME_TIMESTAMP_H

#include "base/core/error.h"
#include "base/core/str.h"

enum { TIMESTAMP_SIZE = 40 }; /* the longest text and a NUL */

/* Digits after the decimal point. */
enum timestamp_digits {
	TIMESTAMP_SECONDS = 0, /* metav1.Time: 2006-01-02T15:04:05Z */
	TIMESTAMP_MICRO = 6, /* metav1.MicroTime: 2006-01-02T15:04:05.000000Z */
	TIMESTAMP_NANO = 9,
};

/* Writes the text, NUL-terminated, and returns it as a str into `out`. Finer digits are cut. */
struct str timestamp_print(int64_t ns, enum timestamp_digits digits,
			   char out[static TIMESTAMP_SIZE]);

/*
 * Parses what Go's time.Parse(time.RFC3339, ..) accepts, with its quirks: a fraction of any length
 * after '.' or ',' (digits beyond the ninth are dropped), an hour of one digit, offsets up to
 * 24:60. Like there, a second of 60, hour 24 and lower-case 't' or 'z' are rejected. Returns
 * -ERR_BAD_REQUEST with the reason, also for a valid time outside the range above.
 */
int timestamp_parse(struct str text, int64_t *ret_ns, struct error *err);

/*
 * The same beyond that range, for the years 0 to 9999 and with the offset of the text. It is
 * printed like Go's time.RFC3339Nano, without trailing zeros in the fraction, and without a
 * fraction of zero.
 */
struct timestamp {
	int64_t seconds; /* since 1970, UTC */
	uint32_t ns; /* 0 to 999999999 */
	int16_t offset; /* minutes east of UTC */
};

struct str timestamp_print_wide(struct timestamp t, char out[static TIMESTAMP_SIZE]);
int timestamp_parse_wide(struct str text, struct timestamp *ret_time, struct error *err);

/* A date and time of day. Month and day start at 1, others as noted. */
struct timestamp_civil {
	int year, month, day;
	int hour, minute, second; /* from 0 */
	int weekday; /* from 0, Sunday */
	int yearday; /* from 0 */
};

/* The date and time at so many seconds after the start of 1970; not before 0000-03-01. */
struct timestamp_civil timestamp_civil(int64_t seconds);

/* The seconds from 1970 to the start of a day, from year 0 on. */
int64_t timestamp_of_date(int year, int month, int day);

#endif
