/*
 * Tokens are computed when they are needed; no timer adds them.
 */
#include "client/api/bucket.h"

#include "base/core/clock.h"
#include "base/core/compiler.h"

void bucket_init(struct bucket *b, double per_s, double burst)
{
	*b = (struct bucket){ .per_s = per_s, .burst = burst, .tokens = burst };
}

static void bucket_fill(struct bucket *b, int64_t now_ns)
{
	if (b->at != 0 && now_ns > b->at) {
		double s = (double)(now_ns - b->at) / (double)CLOCK_SEC;

		b->tokens = MIN(b->burst, b->tokens + s * b->per_s);
	}
	b->at = MAX(b->at, now_ns);
}

bool bucket_take(struct bucket *b, int64_t now_ns)
{
	bucket_fill(b, now_ns);
	if (b->tokens < 1)
		return false;
	b->tokens -= 1;
	return true;
}

int64_t bucket_reserve(struct bucket *b, int64_t now_ns)
{
	bucket_fill(b, now_ns);
	b->tokens -= 1;
	if (b->tokens >= 0)
		return 0;
	return (int64_t)(-b->tokens / b->per_s * (double)CLOCK_SEC);
}
