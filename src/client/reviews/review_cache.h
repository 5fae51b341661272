/*
 * review_cache - caches results of the API server's reviews, each until it expires. Pure.
 *
 * At most REVIEW_CACHE_MAX entries; the oldest entry is dropped to make room.
 * Threads: one at a time.
 */
#ifndef CLIENT_REVIEWS_REVIEW_CACHE_H
#define CLIENT_REVIEWS_REVIEW_CACHE_H

#include "base/core/list.h"
#include "base/core/map.h"

enum { REVIEW_CACHE_MAX = 1024 };

struct review_cache {
	struct map entries;
	struct list order;
};

void review_cache_init(struct review_cache *c);
void review_cache_release(struct review_cache *c);

/* Whether there is a valid result at that time; the text is borrowed until the next change. */
bool review_cache_get(struct review_cache *c, struct str key, int64_t now_ms, bool *ret_yes,
		      struct str *ret_text);

/* Copies key and text. */
void review_cache_put(struct review_cache *c, struct str key, bool yes, struct str text,
		      int64_t until_ms);

#endif
