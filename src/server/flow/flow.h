/*
 * flow - flow control: whose request is done next, and whose is refused.
 *
 * Upstream's API priority and fairness: FlowSchemas sort requests into flows and priority levels; a
 * level has seats, and who finds none waits in a fair queue or is refused (429, Retry-After).
 * Beyond that, a loop does only so much in one turn before it looks who else has come, and what it
 * does next is decided by fairness: so one who floods waits for the others, not they for him.
 * Levels that are exempt (system:masters, probes) never wait; requests that run long (watches once
 * they have begun, logs, exec) hold no seat; components of the system wait for seats alone. A
 * refusal is told after a moment.
 *
 * Without fairness (--enable-priority-and-fairness=false) there are only the two limits of requests
 * under way, and who comes when they are reached is refused.
 *
 * Threads: flow_new() to flow_start() on the state's loop, the rest on the request's.
 */
#ifndef SERVER_FLOW_FLOW_H
#define SERVER_FLOW_FLOW_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/engine/state.h"
#include "server/flow/queue.h"

struct arena;
struct error;
struct flow;
struct flow_config;
struct flow_schema;
struct http_field;
struct http_head;
struct loop_timer;
struct request;
struct server;
struct user;

/* A request's part in it. Its owner zeroes it and fills in the first fields; all are borrowed. */
struct flow_ticket {
	struct flow *flow; /* NULL: there is no flow control */
	size_t lane; /* number of the request's loop */
	const struct request *request;
	struct loop_timer *timer; /* of the request; runs for flow control while it waits */
	int64_t begun_ns; /* monotonic */
	void (*refuse)(struct flow_ticket *t); /* answers 429 */

	/* Private. */
	const struct flow_schema *schema; /* NULL: not sorted */
	struct flow_config *config; /* that the schema is in; a reference while it waits or runs */
	struct flow_item item;
	void (*then)(struct flow_ticket *t);
	enum { FLOW_OUTSIDE, FLOW_WAITS, FLOW_RUNS, FLOW_REFUSED } state;
	bool writes;
	atomic_bool commits; /* counted among those that are on their way to the store */
};

enum { FLOW_OBSERVERS = 2 };

struct flow *flow_new(struct server *s);
void flow_free(struct flow *f);
void flow_observe(struct flow *f, struct state_observer ret_v[static FLOW_OBSERVERS]);
int flow_metrics_add(struct flow *f, struct error *err);
/* What is stored has been read: the defaults are made sure of. */
void flow_start(struct flow *f);
void flow_stop(struct flow *f);

/* A request that comes; borrowed for the call. */
struct flow_arrival {
	const struct user *user;
	const struct http_head *head;
	struct arena *arena;
	size_t body_n; /* bytes that have come */
	int64_t limit_ms; /* of the request */
};

/* Calls `then`, now or when it is the request's turn; or refuses the request. */
void flow_enter(struct flow_ticket *t, const struct flow_arrival *in,
		void (*then)(struct flow_ticket *t));

/*
 * The write waits for something other than the store: others may go meanwhile. On the state's loop,
 * any number of times.
 */
void flow_pause(struct flow_ticket *t);

/* The request is answered, or will never be. Does nothing when it is not inside. */
void flow_leave(struct flow_ticket *t);

/* The ticket goes: so does what it holds. */
void flow_forget(struct flow_ticket *t);

/* The request's timer: true when it ran for flow control, and the request is refused now. */
bool flow_time_out(struct flow_ticket *t);

/* Tells how many bytes the answer has: an estimate for the next list of its sort. */
void flow_note_size(struct flow_ticket *t, size_t bytes);

/* The fields of the answer's head that name the schema and the level; at most two. */
size_t flow_fields(const struct flow_ticket *t, struct http_field *ret_fields);

#endif
