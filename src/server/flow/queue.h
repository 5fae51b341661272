/*
 * flow_queue - requests that wait on one loop, and whose turn it is.
 *
 * Levels share the loop by weight, flows of a level share it evenly: by deficit round robin over
 * what requests cost. A flow that just came goes before those that have had their turn, so who asks
 * now and then is answered soon, however many others wait. Pure: no clock, no I/O. Threads: its
 * loop's.
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
	struct flow_source *source; /* NULL: not in a queue */
	int64_t cost; /* ns of the loop's time, about */
};

struct flow_queue *flow_queue_new(void);
void flow_queue_free(struct flow_queue *q); /* nothing waits any more */

/*
 * Puts it behind the others of its flow (any text) and level (a small number). `weight` is the
 * level's present one, above 0.
 */
void flow_queue_add(struct flow_queue *q, struct flow_item *item, size_t level, int64_t weight,
		    struct str flow);
void flow_queue_remove(struct flow_queue *q, struct flow_item *item);

/*
 * The next one, taken out, of a level for which `may` is true; asked once per level and call. NULL:
 * there is none.
 */
struct flow_item *flow_queue_next(struct flow_queue *q, bool (*may)(void *arg, size_t level),
				  void *arg);

size_t flow_queue_count(const struct flow_queue *q);
/* How many of a flow wait. */
size_t flow_queue_flow_count(const struct flow_queue *q, size_t level, struct str flow);

#endif
