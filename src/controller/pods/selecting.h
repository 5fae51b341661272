/*
 * selecting - finds the owners whose spec.selector selects an orphan.
 *
 * An index of the owners' informer holds one label of each selector, so an orphan costs a lookup
 * for each of its labels and not a walk over a namespace's owners. Owners whose selector demands no
 * label's value, but for example `In`, are found by the namespace. Selectors that are empty or
 * invalid select nothing.
 */
#ifndef CONTROLLER_PODS_SELECTING_H
#define CONTROLLER_PODS_SELECTING_H

#include "client/informer/cache.h"

/* The index for the informer of the owners. */
#define SELECTING "selecting"
cache_index_fn selecting_index;

/*
 * Calls `found` for each owner in the orphan's namespace that selects its labels. `a` is scratch
 * memory and is cleared.
 */
void selecting_each(const struct cache *owners, const struct cached *orphan, struct arena *a,
		    void (*found)(void *arg, const struct cached *owner), void *arg);

/* A `found` that adds the owner's key to a work queue, which is the `arg`. */
void selecting_queue(void *queue, const struct cached *owner);

#endif
