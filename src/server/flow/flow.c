/*
 * Each loop has its own queue, and classifies requests by its latest configuration. Seats are
 * counted over all loops; when one becomes free, loops with waiting requests are woken.
 *
 * A request's cost is estimated from its verb; for a list, from the size of the last one of its
 * kind. Two limits are high for a single active flow and low for several: the work that a loop
 * starts in one turn, and the number of writes on their way to the store. The latter are
 * committed together, so the next write may have to wait for all of them. If several flows are
 * active, a flow with an empty queue is served before flows with a backlog. Components of the
 * system never wait for turns, only for seats.
 */
#include "server/flow/flow.h"

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/http/http.h"
#include "server/core/user.h"
#include "server/flow/config.h"
#include "server/flow/flow_impl.h"
#include "server/request/request.h"

enum {
	TURN_ALONE = 100 * 1000, /* ns of cost that a loop starts in one turn */
	TURN_SHARED = 16 * 1000,
	TURN_RARE = 48 * 1000, /* in addition: for flows with an empty queue */
	COST_READ = 8 * 1000,
	COST_WRITE = 25 * 1000,
	COST_BYTE = 50, /* for each byte after the first COMMON_BODY bytes */
	COMMON_BODY = 16 * 1024,
	COMMITTING_ALONE = 64,
	COMMITTING_SHARED = 1,
	COMMITTING_RARE = 8, /* in addition: for flows with an empty queue */
	REFUSAL_MS = 100, /* delay of a rejection; the actual one is up to twice as long */
	REFUSED_MAX = 4096, /* delayed rejections, per loop */
	SHARED_MS = 500, /* a loop counts as shared for this long after requests of two flows */
	/* Schemas up to this precedence are for the system's components. */
	SYSTEM_PRECEDENCE = 1000,
	WAIT_PARTS = 4, /* a request waits at most its time limit divided by this */
};

/* --- classifying requests ----------------------------------------------------------- */

static bool is_long(const struct request *r)
{
	static const char *const subs[] = { "attach", "exec", "log", "portforward", "proxy" };

	for (size_t i = 0; i < ARRAY_SIZE(subs); i++)
		if (str_eqz(r->subresource, subs[i]))
			return true;
	return false;
}

/* The slot for the size of a list. Two resources may share one, and get each other's estimate. */
static uint32_t *flow_size_of(struct flow_lane *lane, const struct request *r)
{
	uint64_t h = r->resource.n * 31 + r->ns.n;

	for (size_t i = 0; i < r->resource.n; i++)
		h = h * 131 + (unsigned char)r->resource.p[i];
	for (size_t i = 0; i < r->ns.n; i++)
		h = h * 137 + (unsigned char)r->ns.p[i];
	return &lane->sizes[(h ^ (h >> 17)) % FLOW_SIZES];
}

static int64_t cost_of(struct flow_lane *lane, const struct request *r,
		       const struct flow_arrival *in)
{
	size_t body = MAX(in->body_n, (size_t)COMMON_BODY) - COMMON_BODY;

	if (r->verb == REQUEST_LIST)
		return COST_READ + (int64_t)*flow_size_of(lane, r);
	if (!request_verb_writes(r->verb))
		return COST_READ;
	return COST_WRITE + (int64_t)body * COST_BYTE;
}

static struct flow_query query_of(const struct request *r, const struct flow_arrival *in)
{
	struct flow_query q = { .user = in->user };

	if (r->resource.n) {
		q.verb = str_from(request_verb_name(r->verb));
		q.group = r->group;
		q.resource = r->resource;
		q.subresource = r->subresource;
		q.ns = r->ns;
	} else {
		q.verb = arena_lower(in->arena, in->head->method);
		q.path = in->head->path;
	}
	return q;
}

/* The name of a flow: its schema and its distinguisher. */
static struct str flow_of(const struct flow_ticket *t, const struct flow_arrival *in, char *buf,
			  size_t size)
{
	const struct flow_schema *s = t->schema;
	struct str by = { "", 0 };
	int n;

	if (s->by == FLOW_BY_USER)
		by = in->user->name;
	else if (s->by == FLOW_BY_NAMESPACE)
		by = t->request->ns;
	n = snprintf(buf, size, "%.*s/%.*s", STR_ARG(s->name), STR_ARG(by));
	return str_of(buf, MIN((size_t)n, size - 1));
}

/* --- rejecting ---------------------------------------------------------------------- */

static struct flow_lane *lane_of(const struct flow_ticket *t)
{
	return t->flow ? &t->flow->lanes[t->lane] : NULL;
}

/*
 * Clients that ignore Retry-After and return immediately would keep the loop busy with rejections
 * only. So rejections are delayed, up to a number of them.
 */
static void flow_refuse(struct flow_ticket *t, enum flow_reason reason)
{
	struct flow_lane *lane = lane_of(t);

	flow_metrics_rejected(lane->flow, t->schema, reason);
	if (lane->refused == REFUSED_MAX) {
		t->refuse(t);
		return;
	}
	lane->refused++;
	t->state = FLOW_REFUSED;
	/* A random delay, or these would be a burst of their own. */
	loop_timer_start(t->timer,
			 REFUSAL_MS + (int64_t)prng_below(loop_prng(lane->loop), REFUSAL_MS));
}

/* --- running ------------------------------------------------------------------------ */

static bool is_system(const struct flow_schema *s)
{
	return s->precedence <= SYSTEM_PRECEDENCE;
}

static void flow_run(struct flow_lane *lane, struct flow_ticket *t)
{
	t->state = FLOW_RUNS;
	if (t->writes && !is_system(t->schema)) {
		atomic_store(&t->commits, true);
		(void)atomic_fetch_add(&lane->flow->committing, 1);
	}
	lane->spent += t->item.cost;
	loop_defer_last(lane->loop, &lane->task);
	if (t->schema->dispatched)
		metrics_counter_add(t->schema->dispatched, 1);
	t->then(t);
}

static bool may(void *arg, size_t level)
{
	struct flow_lane *lane = arg;

	return flow_seats_take(lane->flow->seats[level]);
}

static void note_flow(struct flow_lane *lane, const struct flow_ticket *t,
		      const struct flow_arrival *in)
{
	const struct flow_schema *s = t->schema;
	int64_t now = loop_now(lane->loop);
	uint64_t id = (uintptr_t)s;

	if (s->by == FLOW_BY_USER)
		id ^= hash_bytes(in->user->name, 0);
	else if (s->by == FLOW_BY_NAMESPACE)
		id ^= hash_bytes(t->request->ns, 0);
	if (id != lane->last_flow && now < lane->last_at + SHARED_MS)
		lane->shared_until = now + SHARED_MS;
	lane->last_flow = id;
	lane->last_at = now;
}

static bool flow_has_room(struct flow_lane *lane, enum flow_class class)
{
	/* Whether requests of several flows came recently. */
	bool shared = loop_now(lane->loop) < lane->shared_until;

	return lane->spent < (shared ? TURN_SHARED : TURN_ALONE) &&
	       (class == FLOW_READS || atomic_load(&lane->flow->committing) <
					       (shared ? COMMITTING_SHARED : COMMITTING_ALONE));
}

static void note_waiting(struct flow_lane *lane, struct flow_seats *s, int by)
{
	(void)atomic_fetch_add(&s->waiting, by);
	atomic_store(&lane->waits, flow_queue_count(lane->queues[FLOW_READS]) +
						   flow_queue_count(lane->queues[FLOW_WRITES]) >
					   0);
}

static void run_some(struct flow_lane *lane, enum flow_class class)
{
	struct flow_item *item;

	while (flow_has_room(lane, class) &&
	       (item = flow_queue_next(lane->queues[class], may, lane))) {
		struct flow_ticket *t = CONTAINER_OF(item, struct flow_ticket, item);

		note_waiting(lane, t->schema->level->seats, -1);
		loop_timer_stop(t->timer);
		flow_metrics_waited(t);
		flow_run(lane, t);
	}
}

/* The end of a turn: starts waiting requests, up to the limit of the next turn. */
void flow_on_turn(struct loop_task *task)
{
	struct flow_lane *lane = CONTAINER_OF(task, struct flow_lane, task);

	lane->spent = lane->rare = 0;
	run_some(lane, FLOW_READS);
	lane->spent = 0;
	run_some(lane, FLOW_WRITES);
}

void flow_on_wake(struct loop_msg *m)
{
	struct flow_lane *lane = CONTAINER_OF(m, struct flow_lane, wake);

	atomic_store(&lane->waking, false);
	loop_defer_last(lane->loop, &lane->task);
}

/* A seat is free: loops with waiting requests try again. */
static void flow_wake(struct flow *f, struct flow_lane *from)
{
	for (struct flow_lane *lane = f->lanes; lane < f->lanes + f->nlanes; lane++) {
		if (!atomic_load(&lane->waits))
			continue;
		if (lane == from)
			loop_defer_last(lane->loop, &lane->task);
		else if (!atomic_exchange(&lane->waking, true))
			loop_post(lane->loop, &lane->wake);
	}
}

/* --- entering ----------------------------------------------------------------------- */

/* A request of a flow with an empty queue need not wait for other flows. */
static bool run_rare(struct flow_lane *lane, struct flow_ticket *t, size_t waiting)
{
	if (waiting || lane->rare >= TURN_RARE ||
	    (t->writes &&
	     atomic_load(&lane->flow->committing) >= COMMITTING_SHARED + COMMITTING_RARE) ||
	    !flow_seats_take(t->schema->level->seats))
		return false;
	lane->rare += t->item.cost;
	flow_run(lane, t);
	return true;
}

static void flow_enqueue(struct flow_lane *lane, struct flow_ticket *t,
			 const struct flow_arrival *in)
{
	const struct flow_level *level = t->schema->level;
	struct flow_seats *s = level->seats;
	struct flow_queue *q = lane->queues[t->writes];
	char buf[512];
	struct str flow = flow_of(t, in, buf, sizeof(buf));
	size_t waiting = flow_queue_flow_count(q, s->index, flow);

	if (run_rare(lane, t, waiting))
		return;
	if (atomic_load(&s->waiting) >= level->all_max || (int64_t)waiting >= level->flow_max) {
		flow_refuse(t, FLOW_QUEUE_FULL);
		return;
	}
	t->state = FLOW_WAITS;
	flow_queue_add(q, &t->item, s->index, MAX(level->shares, 1), flow);
	note_waiting(lane, s, 1);
	loop_timer_start(t->timer, in->limit_ms / WAIT_PARTS);
	loop_defer_last(lane->loop, &lane->task);
}

/* Upstream's older limits for reads and writes under way; administrators are exempt. */
static void enter_by_limit(struct flow *f, struct flow_ticket *t, const struct flow_arrival *in)
{
	bool writes = t->writes;
	atomic_llong *taken = writes ? &f->writing : &f->reading;
	int64_t limit = writes ? f->max_writing : f->max_reading;

	if (user_in_group(in->user, USER_MASTERS) || t->request->verb == REQUEST_WATCH) {
		t->then(t);
		return;
	}
	if (atomic_fetch_add(taken, 1) >= limit) {
		(void)atomic_fetch_sub(taken, 1);
		flow_refuse(t, FLOW_CONCURRENCY_LIMIT);
		return;
	}
	t->state = FLOW_RUNS;
	t->then(t);
}

/* Whether it may run now if a seat is free. */
static bool needs_no_turn(struct flow_lane *lane, const struct flow_ticket *t)
{
	if (is_system(t->schema) || !t->schema->level->queues)
		return true;
	return !flow_queue_count(lane->queues[t->writes]) && flow_has_room(lane, t->writes);
}

void flow_enter(struct flow_ticket *t, const struct flow_arrival *in,
		void (*then)(struct flow_ticket *t))
{
	struct flow_lane *lane = lane_of(t);
	const struct flow_level *level;
	struct flow_query q;

	if (!lane || !lane->config || is_long(t->request)) {
		then(t);
		return;
	}
	t->then = then;
	t->writes = request_verb_writes(t->request->verb);
	if (!lane->flow->fair) {
		enter_by_limit(lane->flow, t, in);
		return;
	}
	q = query_of(t->request, in);
	t->schema = flow_config_match(lane->config, &q);
	t->config = flow_config_ref(lane->config);
	level = t->schema->level;
	t->item.cost = cost_of(lane, t->request, in);
	if (level->exempt) {
		then(t);
		return;
	}
	note_flow(lane, t, in);
	if (needs_no_turn(lane, t) && flow_seats_take(level->seats))
		flow_run(lane, t);
	else if (level->queues)
		flow_enqueue(lane, t, in);
	else
		flow_refuse(t, FLOW_CONCURRENCY_LIMIT);
}

/* --- leaving ------------------------------------------------------------------------ */

/* Returns true if it was counted. */
static bool stop_committing(struct flow_ticket *t)
{
	if (!atomic_exchange(&t->commits, false))
		return false;
	(void)atomic_fetch_sub(&t->flow->committing, 1);
	return true;
}

void flow_pause(struct flow_ticket *t)
{
	if (stop_committing(t))
		flow_wake(t->flow, NULL);
}

static void leave_seat(struct flow_lane *lane, struct flow_ticket *t)
{
	struct flow *f = lane->flow;

	if (!t->schema) {
		(void)atomic_fetch_sub(t->writes ? &f->writing : &f->reading, 1);
		return;
	}
	(void)stop_committing(t);
	flow_seats_leave(t->schema->level->seats);
	flow_wake(f, lane);
}

void flow_leave(struct flow_ticket *t)
{
	struct flow_lane *lane = lane_of(t);

	if (t->state == FLOW_WAITS) {
		flow_queue_remove(lane->queues[t->writes], &t->item);
		note_waiting(lane, t->schema->level->seats, -1);
		loop_timer_stop(t->timer);
	} else if (t->state == FLOW_RUNS) {
		leave_seat(lane, t);
	} else if (t->state == FLOW_REFUSED) {
		lane->refused--;
		loop_timer_stop(t->timer);
	}
	t->state = FLOW_OUTSIDE;
}

void flow_forget(struct flow_ticket *t)
{
	flow_config_unref(t->config);
	t->config = NULL;
	t->schema = NULL;
}

bool flow_time_out(struct flow_ticket *t)
{
	bool waited = t->state == FLOW_WAITS;

	if (!waited && t->state != FLOW_REFUSED)
		return false;
	flow_leave(t);
	if (waited)
		flow_metrics_rejected(t->flow, t->schema, FLOW_TIME_OUT);
	t->refuse(t);
	return true;
}

void flow_note_size(struct flow_ticket *t, size_t bytes)
{
	if (t->schema && t->request->verb == REQUEST_LIST)
		*flow_size_of(lane_of(t), t->request) = (uint32_t)MIN(bytes, (size_t)64 * MIB);
}

size_t flow_fields(const struct flow_ticket *t, struct http_field *ret_fields)
{
	const struct flow_schema *s = t->schema;

	if (!s)
		return 0;
	ret_fields[0] = HTTP_FIELD("x-kubernetes-pf-flowschema-uid", s->uid);
	ret_fields[1] = HTTP_FIELD("x-kubernetes-pf-prioritylevel-uid", s->level->uid);
	ret_fields[0].lasting = ret_fields[1].lasting = true; /* until flow_forget() */
	return 2;
}
