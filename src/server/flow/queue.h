/*
 * flow_queue - the requests that wait on one loop, and their order.
 *
 * Levels share the loop by weight, and flows of a level share it evenly: deficit round robin over
 * the cost of requests. A flow that becomes active goes before those that already had a turn, so
 * occasional clients are served soon, however many others wait. No clock, no I/O.
 *
 * Threads: its loop's.
 */
#ifndef SERVER_FLOW_QUEUE_H
#define SERVER_FLOW_QUEUE_H

#include <stdint.h>

#include "base/core/list.h"
#include "base/core/map.h"

struct flow_queue;
struct flow_source;

/* Embed it. */
struct flow_item {
	struct list link;
	struct flow_source *source; /* NULL: not queued */
	int64_t cost; /* approximate ns of the loop's time */
};

struct flow_queue *flow_queue_new(void);
void flow_queue_free(struct flow_queue *q); /* must be empty */

/*
 * Queues the item after the others of its flow (any text) and level (a small number). `weight` is
 * the level's current one, above 0.
 */
void flow_queue_add(struct flow_queue *q, struct flow_item *item, size_t level, int64_t weight,
		    struct str flow);
void flow_queue_remove(struct flow_queue *q, struct flow_item *item);

/*
 * Removes and returns the next item of a level for which `may` returns true; `may` is called once
 * per level and call. NULL if there is no such item.
 */
struct flow_item *flow_queue_next(struct flow_queue *q, bool (*may)(void *arg, size_t level),
				  void *arg);

size_t flow_queue_count(const struct flow_queue *q);
/* The number of waiting items of a flow. */
size_t flow_queue_flow_count(const struct flow_queue *q, size_t level, struct str flow);

#endif
