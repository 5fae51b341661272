/*
 * flow_impl - the parts of flow control, for the files of flow/.
 */
#ifndef SERVER_FLOW_FLOW_IMPL_H
#define SERVER_FLOW_FLOW_IMPL_H

#include <stdatomic.h>

#include "net/loop/loop.h"
#include "server/flow/flow.h"
#include "server/flow/seats.h"

struct metrics_family;

enum {
	FLOW_SIZES = 256, /* slots for sizes of lists, per loop */
	/* Names of levels in a server's lifetime; later ones share a slot. */
	FLOW_LEVELS_MAX = 1024,
};

/* Reads and writes have separate queues, because a write ends when the disk has it. */
enum flow_class { FLOW_READS, FLOW_WRITES, FLOW_CLASSES };

enum flow_reason { FLOW_QUEUE_FULL, FLOW_TIME_OUT, FLOW_CONCURRENCY_LIMIT };

/* The part of one I/O loop. */
struct flow_lane {
	struct flow *flow;
	struct loop *loop;
	struct flow_config *config; /* NULL until the objects have been read */
	_Atomic(struct flow_config *) coming; /* the newest configuration that was sent; or NULL */
	struct loop_msg delivery; /* announces `coming` */
	atomic_bool delivering;
	struct flow_queue *queues[FLOW_CLASSES];
	struct loop_task task; /* runs at the end of the turn */
	int64_t spent; /* cost of the requests started in this turn */
	size_t refused; /* rejected requests whose reply is delayed */
	int64_t rare; /* cost of requests started in this turn from flows with nothing waiting */
	uint64_t last_flow; /* the flow of the most recent request, */
	int64_t last_at; /* and its time */
	int64_t shared_until; /* ms: until then several flows are active */
	atomic_bool waits; /* requests wait on this loop */
	atomic_bool waking; /* `wake` has been posted */
	struct loop_msg wake;
	uint32_t sizes[FLOW_SIZES]; /* of the last list, by a hash of resource and namespace */
};

struct flow {
	struct server *server;
	bool fair;
	int64_t max_reading, max_writing;
	atomic_llong reading, writing; /* requests under way, without fairness */
	atomic_llong committing; /* writes under way that wait only for the store */
	struct flow_lane *lanes;
	size_t nlanes;

	/* These belong to the state's loop. */
	struct map objects[2]; /* name -> struct object, by enum flow_kind */
	struct map by_name; /* name -> struct flow_seats */
	struct loop_task rebuild;
	struct loop_timer tidy; /* checks the defaults from time to time */
	bool started;

	/* Only appended to, on the state's loop, before a configuration that uses it is sent. */
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
