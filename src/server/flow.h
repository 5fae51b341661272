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
 * Threads: flow_new() to flow_start() on the state's loop, the rest on the exchange's.
 */
#ifndef SERVER_FLOW_H
#define SERVER_FLOW_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/flow_queue.h"
#include "server/state.h"

struct error;
struct exchange;
struct flow;
struct flow_config;
struct flow_schema;
struct http_field;
struct server;

/* A request's part in it; in the exchange, zeroed before. */
struct flow_ticket {
	const struct flow_schema *schema; /* NULL: not sorted */
	struct flow_config *config; /* that the schema is in; a reference while it waits or runs */
	struct flow_item item;
	void (*then)(struct exchange *x);
	int64_t since_ns; /* it waits */
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

/* `then` follows, now or when it is the request's turn; or it is refused and answered. */
void flow_enter(struct exchange *x, void (*then)(struct exchange *x));

/*
 * A write waits for something else than the store: others may go meanwhile. On the state's loop,
 * any number of times.
 */
void flow_pause(struct exchange *x);

/* It is answered, or will never be. Does nothing when it is not inside. */
void flow_leave(struct exchange *x);

/* The exchange goes: so does what it holds. */
void flow_forget(struct exchange *x);

/* The exchange's timer: true when it was flow control's, and the request is refused now. */
bool flow_time_out(struct exchange *x);

/* Its answer has so many bytes: known for the next of its sort. */
void flow_note_size(struct exchange *x, size_t bytes);

/* Which schema and level it was sorted into, as the answer's head says it; at most two. */
size_t flow_fields(const struct exchange *x, struct http_field *ret_fields);

#endif
