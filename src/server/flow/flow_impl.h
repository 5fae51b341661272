/*
 * flow_impl - the parts of flow control, for flow*.c.
 */
#ifndef SERVER_FLOW_FLOW_IMPL_H
#define SERVER_FLOW_FLOW_IMPL_H

#include <stdatomic.h>

#include "net/loop/loop.h"
#include "server/flow/flow.h"
#include "server/flow/seats.h"

struct metrics_family;

enum {
	FLOW_SIZES = 256, /* places for the weight of lists, per loop */
	FLOW_LEVELS_MAX = 1024, /* names of levels in a server's life; further ones share a place */
};

/* Reads and writes wait apart: a write is over when the disk says so. */
enum flow_class { FLOW_READS, FLOW_WRITES, FLOW_CLASSES };

enum flow_reason { FLOW_QUEUE_FULL, FLOW_TIME_OUT, FLOW_CONCURRENCY_LIMIT };

/* What one I/O loop has of it. */
struct flow_lane {
	struct flow *flow;
	struct loop *loop;
	struct flow_config *config; /* NULL until the objects were read */
	_Atomic(struct flow_config *) coming; /* the newest that was sent; or NULL */
	struct loop_msg delivery; /* says that one is coming */
	atomic_bool delivering;
	struct flow_queue *queues[FLOW_CLASSES];
	struct loop_task task; /* at the end of the turn */
	int64_t spent; /* of this turn */
	size_t refused; /* requests that will be told so in a moment */
	int64_t rare; /* the same, by flows of which nobody waited */
	uint64_t last_flow; /* whose request came last, */
	int64_t last_at; /* and when */
	int64_t shared_until; /* ms: until then others are there to be fair to */
	atomic_bool waits; /* somebody does */
	atomic_bool waking; /* `wake` is under way */
	struct loop_msg wake;
	uint32_t sizes[FLOW_SIZES]; /* of the last list, by a hash of what was listed */
};

struct flow {
	struct server *server;
	bool fair;
	int64_t max_reading, max_writing;
	atomic_llong reading, writing; /* under way, without fairness */
	atomic_llong committing; /* writes under way that wait for nothing but the store */
	struct flow_lane *lanes;
	size_t nlanes;

	/* The state's loop's. */
	struct map objects[2]; /* name -> struct object, by enum flow_kind */
	struct map by_name; /* struct flow_seats */
	struct loop_task rebuild;
	struct loop_timer tidy; /* looks after the defaults */
	bool started;

	/* Only ever added to, on the state's loop, before a configuration that uses it is sent. */
	struct flow_hall hall;
	struct flow_seats *seats[FLOW_LEVELS_MAX];
	size_t nseats;

	struct metrics_family *dispatched, *rejected, *waited, *waiting, *executing, *limits;
};

/* flow.c */
void flow_on_turn(struct loop_task *task);
void flow_on_wake(struct loop_msg *m);

/* flow/metrics.c */
void flow_metrics_schema(struct flow *f, struct flow_schema *s);
void flow_metrics_level(struct flow *f, struct flow_seats *s);
void flow_metrics_rejected(struct flow *f, const struct flow_schema *s, enum flow_reason reason);
void flow_metrics_waited(const struct flow_ticket *t);

#endif
