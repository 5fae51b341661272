/*
 * finished_pods - pods that have ended, in the order in which they are garbage: evicted ones first,
 * then older ones, then by name.
 *
 * A pod costs its key and about 120 bytes; every operation O(log n). No I/O, no clock.
 */
#ifndef CONTROLLER_POD_GARBAGE_FINISHED_H
#define CONTROLLER_POD_GARBAGE_FINISHED_H

#include "base/core/map.h"
#include "base/json/json.h"
#include "base/ordered/omap.h"

struct finished_pods {
	struct map by_key; /* struct finished_pod */
	struct omap in_order; /* the same */
};

void finished_pods_init(struct finished_pods *f);
void finished_pods_release(struct finished_pods *f);

/* The pod was created or has changed; adds it if it has ended. */
void finished_pods_put(struct finished_pods *f, struct str key, const struct json *pod);
void finished_pods_remove(struct finished_pods *f, struct str key);

static inline size_t finished_pods_count(const struct finished_pods *f)
{
	return f->in_order.n;
}
bool finished_pods_has(const struct finished_pods *f, struct str key);

/* Calls fn with the keys of the first n. fn must not change the set. */
void finished_pods_first(const struct finished_pods *f, size_t n,
			 void (*fn)(void *arg, struct str key), void *arg);

#endif
