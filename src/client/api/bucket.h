/*
 * bucket - a token bucket: so many at once, then so many per second.
 *
 * Pure: it takes the time and neither sleeps nor asks for it. It is full at
 * first. bucket_take() is for what can be dropped, bucket_reserve() for what
 * will be done anyway and only has to wait: that may run into debt.
 */
#ifndef CLIENT_API_BUCKET_H
#define CLIENT_API_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	double per_s; /* tokens that come in a second */
	double burst; /* most that are kept */
	double tokens; /* there at `at`; negative: reserved beyond what there was */
	int64_t at; /* monotonic ns; 0: not used yet */
};

void bucket_init(struct bucket *b, double per_s, double burst);

/* Takes a token if there is one. */
bool bucket_take(struct bucket *b, int64_t now_ns);

/* Takes a token in any case; returns for how many ns to wait until it is there. */
int64_t bucket_reserve(struct bucket *b, int64_t now_ns);

#endif
