/*
 * backoff - computes the delay before the next attempt.
 *
 * It neither sleeps nor reads the time. Fill in the settings, leave the rest zero, and call
 * backoff_next() after every failure and backoff_reset() after a success.
 *
 *	struct backoff b = { .initial_ms = 200, .max_ms = 30000, .factor = 2, .jitter = 0.5 };
 */
#ifndef BASE_TIME_BACKOFF_H
#define BASE_TIME_BACKOFF_H

#include <stdint.h>

struct prng;

struct backoff {
	int64_t initial_ms; /* the first delay; at least 1 */
	int64_t max_ms; /* longest delay, including jitter */
	double factor; /* growth per attempt; at least 1 */
	double jitter; /* share of the delay that is random, 0 to 1 */

	double delay_ms; /* next delay before jitter; 0: initial_ms */
};

/*
 * The delay before the next attempt: uniform between (1 - jitter) * d and d, where d grows from
 * initial_ms by factor up to max_ms. This spreads clients that failed at the same time. Never less
 * than 1 ms.
 */
int64_t backoff_next(struct backoff *b, struct prng *g);

/* Starts again at initial_ms. */
void backoff_reset(struct backoff *b);

#endif
