/*
 * flow - flow control: whose request is next, and which requests are rejected.
 *
 * Upstream's API priority and fairness: FlowSchemas sort requests into flows and priority levels.
 * A level has seats. A request that finds no seat waits in a fair queue or is rejected (429,
 * Retry-After). In addition, a loop does a limited amount of work per turn before it looks for
 * new requests, and fairness decides which request is next. So a client that floods the server
 * waits for the others, and not they for it.
 *
 * Exempt levels (system:masters, probes) never wait. Long-running requests (watches once they
 * have begun, logs, exec) hold no seat. Components of the system wait only for seats, not for
 * turns. A rejection is sent after a short delay.
 *
 * Without fairness (--enable-priority-and-fairness=false) there are only two limits for requests
 * under way, one for reads and one for writes. A request beyond its limit is rejected.
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

/*
 * A request's state in flow control. The owner zeroes it and sets the first fields, which are
 * borrowed.
 */
struct flow_ticket {
	struct flow *flow; /* NULL: no flow control */
	size_t lane; /* number of the request's loop */
	const struct request *request;
	struct loop_timer *timer; /* of the request; flow control uses it while the request waits */
	int64_t begun_ns; /* monotonic */
	void (*refuse)(struct flow_ticket *t); /* replies 429 */

	/* Private. */
	const struct flow_schema *schema; /* NULL: not classified */
	struct flow_config *config; /* the schema's; a reference while it waits or runs */
	struct flow_item item;
	void (*then)(struct flow_ticket *t);
	enum { FLOW_OUTSIDE, FLOW_WAITS, FLOW_RUNS, FLOW_REFUSED } state;
	bool writes;
	atomic_bool commits; /* counted in flow->committing */
};

enum { FLOW_OBSERVERS = 2 };

struct flow *flow_new(struct server *s);
void flow_free(struct flow *f);
void flow_observe(struct flow *f, struct state_observer ret_v[static FLOW_OBSERVERS]);
int flow_metrics_add(struct flow *f, struct error *err);
/* The stored objects have been read: creates and restores the defaults. */
void flow_start(struct flow *f);
void flow_stop(struct flow *f);

/* An arriving request; borrowed for the call. */
struct flow_arrival {
	const struct user *user;
	const struct http_head *head;
	struct arena *arena;
	size_t body_n; /* bytes of the body that have arrived */
	int64_t limit_ms; /* of the request */
};

/* Calls `then`, immediately or when it is the request's turn; or rejects the request. */
void flow_enter(struct flow_ticket *t, const struct flow_arrival *in,
		void (*then)(struct flow_ticket *t));

/*
 * The write waits for something other than the store, so other writes may proceed. On the state's
 * loop; may be called repeatedly.
 */
void flow_pause(struct flow_ticket *t);

/* The request was answered, or never will be. No-op if it holds no seat and does not wait. */
void flow_leave(struct flow_ticket *t);

/* Releases the references of the ticket. */
void flow_forget(struct flow_ticket *t);

/*
 * The request's timer has fired. Returns true if it ran for flow control; the request is
 * rejected.
 */
bool flow_time_out(struct flow_ticket *t);

/* Records the size of the reply, as an estimate for the next list of the same kind. */
void flow_note_size(struct flow_ticket *t, size_t bytes);

/* The header fields of the reply that name the schema and the level; at most two. */
size_t flow_fields(const struct flow_ticket *t, struct http_field *ret_fields);

#endif
