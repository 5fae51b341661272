/*
 * A call is in one of two lists: `waiting` for a member, or `running` at one, the oldest first.
 * Waiting calls are sent whenever a member becomes alive, and at a short interval while some were
 * returned by a member. A call that cannot be sent is ended by its own timer.
 *
 * A tick checks the members: often while calls run, otherwise once a second, so that the member of
 * the watch is known to be alive even without calls. It sends probes, and moves calls and the watch
 * away from members that will hardly answer.
 *
 * Requests are packed once and kept until the answer, so that a retry needs no memory of the owner.
 * Streams carry `hasleader`: a member that is cut off from the others then reports that instead of
 * falling silent.
 */
#include "store/etcd/client.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "grpc/channel.h"
#include "grpc/message.h"
#include "net/tls/tls.h"
#include "store/etcd/endpoint.h"
#include "store/etcd/store.h"

enum {
	AVOID_MS = 5000,
	RETRY_MS = 100, /* before calls that a member returned are sent again */
	DARK_MS = 3000, /* without a member or an answer for so long: unhealthy */
	TICK_MS = 250, /* between checks of the members while calls run */
	IDLE_MS = 1000, /* otherwise; a member in use is heard at least so often */
	OVERDUE_MS = 500, /* a call unanswered for so long: its member is probed */
	MOVES_MAX = 3,
};

struct etcd_client {
	struct loop *loop;
	struct etcd_endpoint *endpoints;
	size_t n;
	struct etcd_endpoint *current, *watched;
	struct list waiting, running;
	struct loop_timer retry;
	struct loop_timer tick;
	int64_t tick_due; /* ms */
	bool drowsy; /* the next tick comes after IDLE_MS */
	struct loop_task revive; /* a member has become alive */
	bool held;
	void (*on_ready)(void *arg);
	void (*on_stuck)(void *arg);
	void *arg;
	int64_t revision, latest;

	/* ms: since when no member is alive, or calls are unanswered; INT64_MAX: healthy. */
	int64_t dark_since, mute_since;
	struct error mute; /* why the last call was not answered */

	struct metrics_family *requests; /* NULL: metrics are disabled */
	struct metrics_histogram *durations[ETCD_OPS];
};

static const struct grpc_metadata has_leader = { { "hasleader", 9 }, { "true", 4 } };

/* --- members ------------------------------------------------------------------------------- */

static int64_t client_now_ms(const struct etcd_client *client)
{
	return loop_now(client->loop);
}

enum rank {
	RANK_DEAD, /* not connected, or silent */
	RANK_LEADERLESS,
	RANK_AVOIDED, /* has failed a call */
	RANK_GOOD,
};

static enum rank rank(const struct etcd_endpoint *e)
{
	if (!e->ready || !etcd_pulse_alive(&e->pulse))
		return RANK_DEAD;
	if (e->pulse.leaderless)
		return RANK_LEADERLESS;
	return client_now_ms(e->client) < e->avoid_until ? RANK_AVOIDED : RANK_GOOD;
}

static bool is_better(const struct etcd_endpoint *e, const struct etcd_endpoint *than)
{
	if (!than || rank(e) != rank(than))
		return rank(e) > (than ? rank(than) : RANK_DEAD);
	/* The one that failed longer ago; among good ones the first. */
	return rank(e) != RANK_GOOD && e->avoid_until < than->avoid_until;
}

/* Returns the current member while it is good, else the best; NULL if none is alive. */
static struct etcd_endpoint *client_pick(struct etcd_client *client)
{
	struct etcd_endpoint *best = NULL;
	size_t first = client->current ? (size_t)(client->current - client->endpoints) : 0;

	for (size_t i = 0; i < client->n; i++) {
		struct etcd_endpoint *e = &client->endpoints[(first + i) % client->n];

		if (is_better(e, best))
			best = e;
	}
	if (best && rank(best) == RANK_GOOD)
		client->current = best;
	return best;
}

static void avoid(struct etcd_endpoint *e)
{
	e->avoid_until = client_now_ms(e->client) + AVOID_MS;
}

static bool is_dark(const struct etcd_client *client)
{
	for (size_t i = 0; i < client->n; i++)
		if (rank(&client->endpoints[i]) > RANK_DEAD)
			return false;
	return true;
}

static bool is_connected(const struct etcd_client *client)
{
	for (size_t i = 0; i < client->n; i++)
		if (client->endpoints[i].ready)
			return true;
	return false;
}

static void note_dark(struct etcd_client *client)
{
	if (!is_dark(client))
		client->dark_since = INT64_MAX;
	else if (client->dark_since == INT64_MAX)
		client->dark_since = client_now_ms(client);
}

static void place_waiting(struct etcd_client *client);

static void on_revive(struct loop_task *t)
{
	struct etcd_client *client = CONTAINER_OF(t, struct etcd_client, revive);

	note_dark(client);
	place_waiting(client);
	if (client->on_ready && !client->held && !is_dark(client))
		client->on_ready(client->arg);
}

static void client_on_change(void *arg)
{
	struct etcd_endpoint *e = arg;

	e->avoid_until = 0;
	loop_defer(e->client->loop, &e->client->revive);
}

static void client_wake(struct etcd_client *client);

static void client_on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct etcd_endpoint *e = arg;
	struct etcd_client *client = e->client;

	e->ready = state == GRPC_CHANNEL_READY;
	if (err)
		e->failure = *err;
	etcd_pulse_reset(&e->pulse);
	if (e->ready) {
		e->avoid_until = 0;
		etcd_pulse_probe(&e->pulse);
		client_wake(client);
	} else {
		note_dark(client);
	}
}

/* --- answers ------------------------------------------------------------------------------- */

/* Every response begins with the header; read here only from the responses that we use. */
static void note_answer(struct etcd_client *client, const struct etcd_call *c)
{
	const Etcd__ResponseHeader *header =
		c->op == ETCD_RANGE ? ((const Etcd__RangeResponse *)c->reply)->header
		: c->op == ETCD_TXN ? ((const Etcd__TxnResponse *)c->reply)->header
				    : NULL;

	etcd_pulse_heard(&c->endpoint->pulse, header);
	if (!header)
		return;
	client->latest = header->revision;
	client->revision = MAX(client->revision, header->revision);
}

/* `why` is etcd's or gRPC's message. */
static void note_outcome(struct etcd_client *client, enum etcd_outcome outcome, struct str why)
{
	if (outcome != ETCD_UNKNOWN) {
		client->mute_since = INT64_MAX;
		return;
	}
	(void)error_set(&client->mute, ERR_TIMEOUT, "%.*s", STR_ARG(why));
	if (client->mute_since == INT64_MAX)
		client->mute_since = client_now_ms(client);
}

static void client_count(struct etcd_client *client, const struct etcd_call *c, enum grpc_code code)
{
	int64_t took = clock_monotonic(loop_clock(client->loop)) - c->sent_at;

	if (!client->requests)
		return;
	metrics_counter_add(metrics_counter(client->requests, str_from(etcd_ops[c->op].name),
					    str_from(grpc_code_name(code))),
			    1);
	metrics_histogram_observe(client->durations[c->op], (double)took / CLOCK_SEC);
}

static void client_finish(struct etcd_call *c, const struct etcd_answer *a)
{
	list_remove(&c->link);
	loop_timer_stop(&c->timer);
	bytes_unref(TAKE(c->request));
	c->done(c, a);
}

static void wait_again(struct etcd_call *c)
{
	struct etcd_client *client = c->client;

	list_remove(&c->link);
	list_push_back(&client->waiting, &c->link);
	loop_timer_start(&c->timer, c->give_up - client_now_ms(client));
	if (!loop_timer_running(&client->retry))
		loop_timer_start(&client->retry, RETRY_MS);
}

/* Whether a retry is harmless, may help, and is still in time. */
static bool may_try_again(const struct etcd_call *c, const struct etcd_answer *a)
{
	if (client_now_ms(c->client) >= c->give_up || a->err.code == ERR_TOO_LARGE)
		return false;
	return a->outcome == ETCD_RETRY || (a->outcome == ETCD_UNKNOWN && c->repeatable);
}

static void on_metadata(struct grpc_call *g)
{
	((struct etcd_call *)grpc_call_data(g))->begun = true;
}

static void client_on_message(struct grpc_call *g, const void *message)
{
	((struct etcd_call *)grpc_call_data(g))->reply = message;
}

static void client_on_end(struct grpc_call *g, const struct grpc_status *st)
{
	struct etcd_call *c = grpc_call_data(g);
	struct etcd_client *client;
	struct etcd_answer a = { 0 };
	bool sent = grpc_call_stream(g) != NULL;

	if (!c)
		return;
	client = c->client;
	c->grpc = NULL;
	a.outcome = etcd_outcome_of(st, sent, &a.err);
	if (c->begun && c->op == ETCD_RANGE && st->code == GRPC_DEADLINE_EXCEEDED)
		(void)error_set(&a.err, ERR_TOO_LARGE, "etcd's answer did not arrive in time");
	if (sent)
		client_count(client, c, st->code);
	if (a.outcome == ETCD_ANSWERED) {
		a.reply = c->reply;
		note_answer(client, c);
	} else {
		etcd_pulse_failed(&c->endpoint->pulse, st);
	}
	if (a.outcome == ETCD_RETRY || a.outcome == ETCD_UNKNOWN)
		avoid(c->endpoint);
	note_outcome(client, a.outcome, st->message);
	if (may_try_again(c, &a)) {
		wait_again(c);
		return;
	}
	if (a.outcome == ETCD_RETRY)
		a.outcome = ETCD_REFUSED;
	client_finish(c, &a);
}

static void on_give_up(struct loop_timer *t)
{
	struct etcd_call *c = CONTAINER_OF(t, struct etcd_call, timer);
	struct etcd_answer a = { .outcome = ETCD_REFUSED };

	(void)error_set(&a.err, ERR_UNAVAILABLE, "%s",
			is_connected(c->client) ? "etcd does not answer"
						: "the server has no connection to etcd");
	client_finish(c, &a);
}

/* --- calls --------------------------------------------------------------------------------- */

static void client_start(struct etcd_call *c, struct etcd_endpoint *e)
{
	static const struct grpc_call_ops ops = { .on_metadata = on_metadata,
						  .on_message = client_on_message,
						  .on_end = client_on_end };
	struct grpc_call_opts opts = {
		.deadline_ms = ETCD_CALL_MS,
		.metadata = &has_leader,
		.nmetadata = 1,
	};
	struct etcd_client *client = c->client;

	loop_timer_stop(&c->timer);
	list_remove(&c->link);
	list_push_back(&client->running, &c->link);
	c->endpoint = e;
	c->term = e->pulse.term;
	c->reply = NULL;
	c->begun = false;
	c->sent_at = clock_monotonic(loop_clock(client->loop));
	c->grpc = grpc_channel_call(e->channel, &etcd_ops[c->op].method, &opts, &ops, c);
	(void)grpc_call_send_packed(c->grpc, c->request);
	(void)grpc_call_half_close(c->grpc);
	client_wake(client);
}

static void place_waiting(struct etcd_client *client)
{
	struct etcd_endpoint *e = client_pick(client);

	if (!e)
		return;
	LIST_FOREACH_SAFE (it, &client->waiting) {
		struct etcd_call *c = LIST_ENTRY(it, struct etcd_call, link);

		if (c->urgent || !client->held)
			client_start(c, e);
	}
}

static void client_on_retry(struct loop_timer *t)
{
	place_waiting(CONTAINER_OF(t, struct etcd_client, retry));
}

void etcd_client_call(struct etcd_client *client, struct etcd_call *c,
		      const ProtobufCMessage *request)
{
	struct etcd_endpoint *e = client->held && !c->urgent ? NULL : client_pick(client);

	c->client = client;
	c->grpc = NULL;
	c->moves = 0;
	c->request = grpc_message_pack(request);
	c->give_up = client_now_ms(client) + ETCD_WAIT_MS;
	list_init(&c->link);
	loop_timer_init(&c->timer, client->loop, on_give_up);
	if (e) {
		client_start(c, e);
		return;
	}
	list_push_back(&client->waiting, &c->link);
	loop_timer_start(&c->timer, ETCD_WAIT_MS);
}

static void cancel(struct etcd_call *c)
{
	struct grpc_call *grpc = TAKE(c->grpc);

	if (!grpc)
		return;
	grpc_call_set_data(grpc, NULL);
	grpc_call_cancel(grpc);
}

void etcd_call_drop(struct etcd_call *c)
{
	list_remove(&c->link);
	loop_timer_stop(&c->timer);
	bytes_unref(TAKE(c->request));
	cancel(c);
}

void etcd_client_hold(struct etcd_client *client, bool held)
{
	client->held = held;
	if (held || is_dark(client))
		return;
	place_waiting(client);
	if (client->on_ready)
		client->on_ready(client->arg);
}

struct grpc_call *etcd_client_watch(struct etcd_client *client, const struct grpc_call_ops *ops,
				    void *data)
{
	struct grpc_call_opts opts = { .metadata = &has_leader, .nmetadata = 1 };
	struct etcd_endpoint *e = client->held ? NULL : client_pick(client);

	client->watched = e;
	return e ? grpc_channel_call(e->channel, &etcd_watch_method, &opts, ops, data) : NULL;
}

void etcd_client_avoid_watched(struct etcd_client *client)
{
	if (client->watched)
		avoid(client->watched);
}

void etcd_client_watch_heard(struct etcd_client *client)
{
	if (client->watched)
		etcd_pulse_heard(&client->watched->pulse, NULL);
}

bool etcd_client_has_other(const struct etcd_client *client)
{
	for (size_t i = 0; i < client->n; i++)
		if (&client->endpoints[i] != client->watched &&
		    rank(&client->endpoints[i]) > RANK_LEADERLESS)
			return true;
	return false;
}

void etcd_client_listen(struct etcd_client *client, void (*on_ready)(void *arg),
			void (*on_stuck)(void *arg), void *arg)
{
	client->on_ready = on_ready;
	client->on_stuck = on_stuck;
	client->arg = arg;
}

/* --- checking the members ------------------------------------------------------------------ */

static bool is_overdue(const struct etcd_call *c)
{
	int64_t now = clock_monotonic(loop_clock(c->client->loop));

	return now - c->sent_at >= OVERDUE_MS * CLOCK_MS;
}

static bool is_in_use(const struct etcd_endpoint *e)
{
	return e == e->client->watched || e == e->client->current;
}

/*
 * Marks members that have long owed an answer to a call, or to the last probe. Returns true if any.
 */
static bool mark_overdue(struct etcd_client *client)
{
	bool any = false;

	for (size_t i = 0; i < client->n; i++) {
		struct etcd_endpoint *e = &client->endpoints[i];

		e->overdue = is_in_use(e) && e->pulse.probe;
		any |= e->overdue;
	}
	/* The oldest come first. */
	LIST_FOREACH (it, &client->running) {
		struct etcd_call *c = LIST_ENTRY(it, struct etcd_call, link);

		if (!is_overdue(c))
			break;
		any = c->endpoint->overdue = true;
	}
	return any;
}

/* Whether to probe the member. `overdue`: another member may have to take over soon. */
static bool is_due(const struct etcd_endpoint *e, bool overdue)
{
	const struct etcd_pulse *p = &e->pulse;
	int64_t idle = client_now_ms(e->client) - p->heard_at;

	if (!e->ready)
		return false;
	if (e->overdue || !etcd_pulse_alive(p))
		return true;
	return idle >= IDLE_MS ? overdue || p->leaderless || is_in_use(e)
			       : overdue && idle >= OVERDUE_MS;
}

static void probe_members(struct etcd_client *client)
{
	bool overdue = mark_overdue(client);

	for (size_t i = 0; i < client->n; i++)
		if (is_due(&client->endpoints[i], overdue))
			etcd_pulse_probe(&client->endpoints[i].pulse);
}

/* Returns the member that can take over: it was heard recently. NULL if there is no such member. */
static struct etcd_endpoint *find_refuge(struct etcd_client *client)
{
	struct etcd_endpoint *e = client_pick(client);

	if (!e || e->pulse.leaderless || client_now_ms(client) - e->pulse.heard_at > IDLE_MS)
		return NULL;
	return e;
}

/* Whether the call's member is unlikely to answer it. */
static bool is_stuck(const struct etcd_call *c)
{
	const struct etcd_pulse *p = &c->endpoint->pulse;

	if (c->repeatable && c->moves >= MOVES_MAX)
		return false;
	if (p->silent)
		return true;
	return is_overdue(c) && (p->leaderless || p->term > c->term);
}

static void leave_member(struct etcd_call *c, struct etcd_endpoint *to)
{
	struct etcd_answer a = { .outcome = ETCD_UNKNOWN };
	const struct etcd_pulse *p = &c->endpoint->pulse;

	cancel(c);
	client_count(c->client, c, GRPC_CANCELLED);
	if (c->repeatable) {
		c->moves++;
		client_start(c, to);
		return;
	}
	(void)error_set(&a.err, ERR_TIMEOUT, "%s",
			p->silent       ? "the etcd member does not answer"
			: p->leaderless ? "the etcd member has lost its leader"
					: "etcd has changed its leader");
	note_outcome(c->client, a.outcome, str_from(a.err.msg));
	client_finish(c, &a);
}

/* Moves stuck calls. Their owners may start and drop other calls, so they are collected first. */
static void leave_stuck(struct etcd_client *client)
{
	struct etcd_endpoint *to = find_refuge(client);
	struct list stuck;

	if (!to)
		return;
	list_init(&stuck);
	LIST_FOREACH_SAFE (it, &client->running) {
		if (!is_stuck(LIST_ENTRY(it, struct etcd_call, link)))
			continue;
		list_remove(it);
		list_push_back(&stuck, it);
	}
	while (!list_empty(&stuck))
		leave_member(LIST_ENTRY(stuck.next, struct etcd_call, link), to);
}

static void leave_watched(struct etcd_client *client)
{
	const struct etcd_endpoint *e = client->watched;

	if (e && client->on_stuck && (e->pulse.silent || e->pulse.leaderless) &&
	    find_refuge(client))
		client->on_stuck(client->arg);
}

static void client_arm(struct etcd_client *client)
{
	bool busy = !list_empty(&client->running);

	for (size_t i = 0; i < client->n && !busy; i++)
		busy = etcd_pulse_waits(&client->endpoints[i].pulse);
	client->drowsy = !busy;
	client->tick_due = client_now_ms(client) + (busy ? TICK_MS : IDLE_MS);
	loop_timer_start(&client->tick, client->tick_due - client_now_ms(client));
}

/* Something was sent, so check for its answer soon. */
static void client_wake(struct etcd_client *client)
{
	if (client->drowsy)
		client_arm(client);
}

static void client_on_tick(struct loop_timer *t)
{
	struct etcd_client *client = CONTAINER_OF(t, struct etcd_client, tick);
	/* The tick is so late that answers may be waiting unread: this process was stopped. */
	bool late = client_now_ms(client) - client->tick_due > TICK_MS;

	for (size_t i = 0; i < client->n; i++) {
		struct etcd_pulse *p = &client->endpoints[i].pulse;

		if (late)
			etcd_pulse_forgive(p);
		else
			etcd_pulse_judge(p);
	}
	probe_members(client);
	note_dark(client);
	if (!late) {
		leave_stuck(client);
		leave_watched(client);
	}
	client_arm(client);
}

/* --- health and revisions ------------------------------------------------------------------ */

static const char *client_condition(const struct etcd_endpoint *e)
{
	if (!e->ready)
		return e->failure.msg;
	if (!etcd_pulse_alive(&e->pulse))
		return "connected, but does not answer";
	return e->pulse.leaderless ? "has no leader" : "connected";
}

/* "http://a:2379 (why), http://b:2379 (why)" */
static void client_describe(const struct etcd_client *client, struct buf *out)
{
	for (size_t i = 0; i < client->n; i++) {
		const struct etcd_endpoint *e = &client->endpoints[i];

		(void)buf_printf(out, "%s%s (%s)", i ? ", " : "", e->url, client_condition(e));
	}
}

int etcd_client_health(const struct etcd_client *client, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(16 * KIB);
	int64_t limit = client_now_ms(client) - DARK_MS;

	if (client->dark_since > limit && client->mute_since > limit)
		return 0;
	client_describe(client, &text);
	if (client->dark_since <= limit)
		return error_set(err, ERR_UNAVAILABLE,
				 is_connected(client) ? "etcd does not answer: %s"
						      : "no connection to etcd: %s",
				 text.p);
	return error_set(err, ERR_UNAVAILABLE, "etcd does not answer: %s: %s", client->mute.msg,
			 text.p);
}

int64_t etcd_client_revision(const struct etcd_client *client)
{
	return client->revision;
}

int64_t etcd_client_latest(const struct etcd_client *client)
{
	return client->latest;
}

struct loop *etcd_client_loop(const struct etcd_client *client)
{
	return client->loop;
}

/* --- life ---------------------------------------------------------------------------------- */

static int client_add_metrics(struct etcd_client *client, struct metrics *m, struct error *err)
{
	static const char *const labels[] = { "operation", "code" };
	static const double bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
					 0.1,   0.25,   0.5,   1,    2.5,   5 };
	const struct metrics_spec requests = { .name = "etcd_requests_total",
					       .help = "Finished requests to etcd, by operation "
						       "and gRPC code.",
					       .type = METRICS_COUNTER,
					       .labels = labels,
					       .labels_n = 2 };
	const struct metrics_spec durations = { .name = "etcd_request_duration_seconds",
						.help = "Duration of requests to etcd, by "
							"operation.",
						.type = METRICS_HISTOGRAM,
						.labels = labels,
						.labels_n = 1,
						.bounds = bounds,
						.bounds_n = ARRAY_SIZE(bounds) };
	struct metrics_family *f;
	int r;

	if (!m)
		return 0;
	r = metrics_register(m, &durations, &f, err);
	if (r == 0)
		r = metrics_register(m, &requests, &client->requests, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ETCD_OPS; i++)
		client->durations[i] = metrics_histogram(f, str_from(etcd_ops[i].name));
	return 0;
}

static int add_endpoints(struct etcd_client *client, const struct store_etcd_opts *opts,
			 struct error *err)
{
	CLEANUP(tls_unref) struct tls *tls = NULL;
	int r;

	if (opts->nendpoints == 0)
		return error_set(err, ERR_INVALID, "etcd: no endpoints were given");
	r = etcd_tls_new(opts, &tls, err);
	if (r < 0)
		return r;
	client->endpoints = xcalloc(opts->nendpoints, sizeof(*client->endpoints));
	for (size_t i = 0; i < opts->nendpoints; i++) {
		struct etcd_endpoint *e = &client->endpoints[i];

		e->client = client;
		client->n++;
		r = etcd_endpoint_init(e, client->loop, opts->endpoints[i], tls, client_on_state,
				       err);
		if (r < 0)
			return r;
		e->pulse.on_change = client_on_change;
		e->pulse.arg = e;
	}
	return 0;
}

int etcd_client_new(struct loop *l, const struct store_etcd_opts *opts,
		    struct etcd_client **ret_client, struct error *err)
{
	CLEANUP(etcd_client_free) struct etcd_client *client = XNEW(struct etcd_client);
	int r;

	client->loop = l;
	list_init(&client->waiting);
	list_init(&client->running);
	loop_timer_init(&client->retry, l, client_on_retry);
	loop_timer_init(&client->tick, l, client_on_tick);
	loop_task_init(&client->revive, on_revive);
	/* Unhealthy until the first connection, without a grace period. */
	client->dark_since = INT64_MIN;
	client->mute_since = INT64_MAX;
	r = client_add_metrics(client, opts->metrics, err);
	if (r == 0)
		r = add_endpoints(client, opts, err);
	if (r < 0)
		return r;
	client_arm(client);
	*ret_client = TAKE(client);
	return 0;
}

void etcd_client_free(struct etcd_client *client)
{
	if (!client)
		return;
	loop_timer_stop(&client->retry);
	loop_timer_stop(&client->tick);
	loop_task_cancel(&client->revive);
	for (size_t i = 0; i < client->n; i++)
		etcd_endpoint_release(&client->endpoints[i]);
	free(client->endpoints);
	free(client);
}
