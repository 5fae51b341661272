/*
 * backoff - how long to wait before the next try.
 *
 * Pure: it computes delays and neither sleeps nor asks the time. Fill the
 * settings, leave the rest zero, and call backoff_next() after every failure
 * and backoff_reset() after a success.
 *
 *	struct backoff b = { .initial_ms = 200, .max_ms = 30000, .factor = 2, .jitter = 0.5 };
 */
#ifndef BASE_TIME_BACKOFF_H
#define BASE_TIME_BACKOFF_H

#include <stdint.h>

struct prng;

struct backoff {
	int64_t initial_ms; /* the first delay; at least 1 */
	int64_t max_ms; /* no delay is longer, whatever the jitter */
	double factor; /* by which it grows each time; at least 1 */
	double jitter; /* share of the delay that is random, 0 to 1 */

	double delay_ms; /* of the next try before jitter; 0: initial_ms */
};

/*
 * The delay before the next try: uniform between (1 - jitter) * d and d, where
 * d grows from initial_ms by factor up to max_ms. Clients that failed together
 * then do not return together. Never less than 1 ms.
 */
int64_t backoff_next(struct backoff *b, struct prng *g);

/* Begins again at initial_ms. */
void backoff_reset(struct backoff *b);

#endif
