/*
 * The jitter only shortens, so max_ms is a promise; a caller may rely on it for
 * its own deadlines. The delay is kept as a double: a factor such as 1.1 must
 * also grow a delay of 1 ms.
 */
#include "base/time/backoff.h"

#include <assert.h>

#include "base/core/compiler.h"
#include "base/core/random.h"

int64_t backoff_next(struct backoff *b, struct prng *g)
{
	double delay = MAX(b->delay_ms, (double)b->initial_ms);

	assert(b->initial_ms >= 1 && b->max_ms >= 1 && b->factor >= 1);
	assert(b->jitter >= 0 && b->jitter <= 1);
	delay = MIN(delay, (double)b->max_ms);
	b->delay_ms = MIN(delay * b->factor, (double)b->max_ms);
	delay -= delay * b->jitter * prng_unit(g);
	return MAX((int64_t)delay, 1);
}

void backoff_reset(struct backoff *b)
{
	b->delay_ms = 0;
}
