/*
 * timestamp - RFC 3339 times, as the API writes and reads them.
 *
 * A time is nanoseconds since 1970 UTC in an int64_t, good from 1677-09-21 to
 * 2262-04-11. There are no leap seconds and no time zones but UTC: offsets are
 * understood when read and never written. Calendar arithmetic is our own, so
 * nothing here depends on the C library's zone files or locks.
 */
#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include "base/error.h"
#include "base/str.h"

enum { TIMESTAMP_SIZE = 32 }; /* the longest text and a NUL */

/* Digits behind the decimal point. */
enum timestamp_digits {
	TIMESTAMP_SECONDS = 0, /* metav1.Time: 2006-01-02T15:04:05Z */
	TIMESTAMP_MICRO = 6, /* metav1.MicroTime: 2006-01-02T15:04:05.000000Z */
	TIMESTAMP_NANO = 9,
};

/* Writes the text, terminated, and returns it as a str into `out`. Finer digits are cut off. */
struct str timestamp_print(int64_t ns, enum timestamp_digits digits,
			   char out[static TIMESTAMP_SIZE]);

/*
 * Reads what Go's time.Parse(time.RFC3339, ..) accepts, with its quirks: a
 * fraction of any length behind '.' or ',' (digits beyond the ninth are
 * dropped), an hour of one digit, offsets up to 24:60. As there, a second of
 * 60, hour 24 and lower-case 't' or 'z' are refused. -ERR_BAD_REQUEST says
 * what is wrong, also for a valid time outside the range above.
 */
int timestamp_parse(struct str text, int64_t *ret_ns, struct error *err);

#endif
