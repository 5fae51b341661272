/*
 * duration - lengths of time as text: in Go's form, and as ages in kubectl.
 *
 * A duration is nanoseconds in an int64_t. Flags, leases and configuration files use Go's form
 * ("1h30m0s", "300ms"); ages are for people.
 */
#ifndef BASE_TIME_DURATION_H
#define BASE_TIME_DURATION_H

#include "base/core/error.h"
#include "base/core/str.h"

enum { DURATION_SIZE = 32 }; /* the longest text and a NUL */

/*
 * All write a terminated text and return it as a str into `out`.
 *
 * duration_print(): as time.Duration's String does, such as "0s", "1.5s",
 * "2m0s", "300ms".
 * duration_print_age(): two or three significant figures, such as "119s",
 * "3m20s", "47h", "2d3h"; up to two seconds in the future count as "0s", more
 * give "<invalid>".
 */
struct str duration_print(int64_t ns, char out[static DURATION_SIZE]);
struct str duration_print_age(int64_t ns, char out[static DURATION_SIZE]);

/*
 * Parses what Go's time.ParseDuration accepts: a sign, then numbers with an optional fraction and
 * the unit ns, us, ms, s, m or h, in any order and number; and plain "0". Returns -ERR_BAD_REQUEST
 * with the reason.
 */
int duration_parse(struct str text, int64_t *ret_ns, struct error *err);

#endif
