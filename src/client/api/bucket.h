/*
 * bucket - a token bucket: a burst at once, then a steady rate per second.
 *
 * Pure: the caller passes the time, and the bucket never sleeps. It starts full. Use bucket_take()
 * for work that may be dropped, and bucket_reserve() for work that is done anyway and only has to
 * wait. A reservation may make the number of tokens negative.
 */
#ifndef CLIENT_API_BUCKET_H
#define CLIENT_API_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	double per_s; /* tokens added per second */
	double burst; /* the most tokens it holds */
	double tokens; /* as of `at`; negative: reserved in advance */
	int64_t at; /* monotonic ns; 0: not used yet */
};

void bucket_init(struct bucket *b, double per_s, double burst);

/* Takes a token if there is one. */
bool bucket_take(struct bucket *b, int64_t now_ns);

/* Always takes a token. Returns the time in ns to wait until it is available. */
int64_t bucket_reserve(struct bucket *b, int64_t now_ns);

#endif
