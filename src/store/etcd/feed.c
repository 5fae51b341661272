/*
 * Responses of a watch hold events in the order of revisions. A long response comes in fragments,
 * and only the last one is complete. So the events of the last revision in a fragment are held back
 * until the next one. All other events are delivered straight from the response: a value is copied
 * once, into the bytes that the follower may keep, or not at all if it is our own write.
 *
 * The revision in a response's header is useless: while the watch catches up, it is etcd's
 * revision, not that of the last event.
 *
 * Answers to our own writes show changes too, and earlier: etcd delays the events of a watch by up
 * to 100 ms if more than 128 come at once. A transaction has a revision of its own. So while the
 * answers have every revision after the delivered one, their writes are delivered from them, and
 * the watch's events of the same revisions are ignored.
 */
#include "store/etcd/feed.h"

#include <inttypes.h>

#include "base/report/metrics.h"
#include "store/etcd/key.h"
#include "store/etcd/write.h"
#include "store/store_limits.h"

enum {
	BACKOFF_INITIAL_MS = 20,
	BACKOFF_MAX_MS = 1000,
	DOWN_MS = 3000, /* without a stream for so long: unhealthy */
	LAG_LOOK_MS = 500,
	/* Behind etcd's revision and standing still for so long: use another member. */
	LAG_MS = 2000,
	LAG_MAX_MS = 30 * 1000, /* the same, if other members did not help */
};

static void open_stream(struct etcd_feed *f);

/* --- ends ---------------------------------------------------------------------------------- */

static void close_stream(struct etcd_feed *f)
{
	struct grpc_call *stream = TAKE(f->stream);

	f->changes.n = f->kept = 0;
	arena_clear(&f->arena);
	if (f->checking)
		etcd_call_drop(&f->check);
	f->checking = false;
	if (!stream)
		return;
	grpc_call_set_data(stream, NULL);
	grpc_call_cancel(stream);
}

/* Stops the feed without calling on_lost. */
static void stop_feed(struct etcd_feed *f)
{
	f->following = false;
	loop_task_cancel(&f->answered);
	loop_timer_stop(&f->retry);
	loop_timer_stop(&f->lag);
	close_stream(f);
	f->down_since = INT64_MAX;
}

/* Waiting writes keep waiting: the follower reads everything again, and then follows again. */
static void lose(struct etcd_feed *f, const struct error *err)
{
	struct store_feed to = f->to;

	stop_feed(f);
	etcd_writes_lost(f->writes);
	to.on_lost(to.arg, err);
}

static void interrupted(struct etcd_feed *f, struct str why)
{
	(void)error_set(&f->failure, ERR_UNAVAILABLE, "%.*s", STR_ARG(why));
	close_stream(f);
	etcd_client_avoid_watched(f->client);
	if (f->down_since == INT64_MAX)
		f->down_since = loop_now(etcd_client_loop(f->client));
	if (f->reconnects)
		metrics_counter_add(f->reconnects, 1);
	loop_timer_start(&f->retry,
			 backoff_next(&f->backoff, loop_prng(etcd_client_loop(f->client))));
}

/* --- delivering ---------------------------------------------------------------------------- */

static void add_event(struct etcd_feed *f, const struct etcd_change *change)
{
	struct store_event e = { .revision = change->revision };
	struct str value = change->value;

	e.write = etcd_writes_match(f->writes, change->key, change->revision,
				    change->deleted ? NULL : &value);
	if (!etcd_key_parse(f->prefix, change->key, &e.key))
		return;
	if (!change->deleted)
		e.value = e.write ? bytes_ref(e.write->value) : bytes_copy(value);
	(void)vec_push(&f->events, e);
}

/* Delivers the events, which are all up to the revision. */
static void feed_deliver(struct etcd_feed *f, int64_t revision)
{
	struct store_feed to = f->to;

	f->delivered = revision;
	if (f->delivered_events)
		metrics_counter_add(f->delivered_events, f->events.n);
	to.on_events(to.arg, f->events.v, f->events.n, revision);
	for (size_t i = 0; i < f->events.n; i++)
		bytes_unref(f->events.v[i].value);
	f->events.n = 0;
	if (f->following)
		etcd_writes_delivered(f->writes, revision);
}

/* Goes on with our own writes, as far as their answers show every revision. */
static void deliver_answered(struct loop_task *t)
{
	struct etcd_feed *f = CONTAINER_OF(t, struct etcd_feed, answered);
	int64_t revision = f->delivered;
	struct store_event e;

	if (!f->following) /* lost: the follower is reading everything again */
		return;
	for (struct list *at = NULL; etcd_writes_next(f->writes, &at, revision, &e);) {
		revision = e.revision;
		(void)vec_push(&f->events, e);
	}
	if (revision > f->delivered)
		feed_deliver(f, revision);
}

/* Delivers the first n changes, which include all of their last revision. */
static void deliver_changes(struct etcd_feed *f, size_t n)
{
	if (n == 0 || f->changes.v[n - 1].revision <= f->delivered)
		return;
	for (size_t i = 0; i < n; i++)
		if (f->changes.v[i].revision > f->delivered)
			add_event(f, &f->changes.v[i]);
	loop_defer(etcd_client_loop(f->client), &f->answered);
	feed_deliver(f, f->changes.v[n - 1].revision);
}

/* Returns how many of the changes belong to complete revisions. */
static size_t feed_complete(const struct etcd_feed *f, bool fragment)
{
	size_t n = f->changes.n;

	if (!fragment || n == 0)
		return n;
	while (n > 0 && f->changes.v[n - 1].revision == f->changes.v[f->changes.n - 1].revision)
		n--;
	return n;
}

/*
 * The first n changes were delivered. Copies the rest, because it outlives the response. The
 * changes kept before are of one revision: either all of them were delivered, or none.
 */
static void keep_rest(struct etcd_feed *f, size_t n)
{
	size_t kept = n ? 0 : f->kept;

	f->changes.n -= n;
	if (n) {
		arena_clear(&f->arena);
		memmove(f->changes.v, f->changes.v + n, f->changes.n * sizeof(*f->changes.v));
	}
	for (size_t i = kept; i < f->changes.n; i++) {
		f->changes.v[i].key = arena_str(&f->arena, f->changes.v[i].key);
		f->changes.v[i].value = arena_str(&f->arena, f->changes.v[i].value);
	}
	f->kept = f->changes.n;
}

static void on_changes(struct etcd_feed *f, const Etcd__WatchResponse *m)
{
	struct grpc_call *stream = f->stream;
	size_t n;

	for (size_t i = 0; i < m->n_events; i++) {
		const Etcd__KeyValue *kv = m->events[i]->kv;

		if (kv)
			(void)vec_push(&f->changes,
				       (struct etcd_change){
					       .key = etcd_str(kv->key),
					       .value = etcd_str(kv->value),
					       .deleted = m->events[i]->type ==
							  ETCD__EVENT__EVENT_TYPE__DELETE,
					       .revision = kv->mod_revision,
				       });
	}
	n = feed_complete(f, m->fragment);
	deliver_changes(f, n);
	/* The follower may have stopped the feed. */
	if (f->stream == stream)
		keep_rest(f, n);
}

/* --- the stream ---------------------------------------------------------------------------- */

static void on_checked(struct etcd_call *c, const struct etcd_answer *a)
{
	struct etcd_feed *f = CONTAINER_OF(c, struct etcd_feed, check);
	const Etcd__RangeResponse *reply = a->reply;
	struct error err;

	f->checking = false;
	if (a->outcome != ETCD_ANSWERED || !reply->header)
		interrupted(f, str_from(a->err.msg));
	else if (reply->header->revision < f->delivered) {
		(void)error_set(&err, ERR_EXPIRED,
				"etcd is at revision %" PRId64 ", though it was at %" PRId64
				" before: its data was put back",
				reply->header->revision, f->delivered);
		lose(f, &err);
	}
}

/*
 * Called if a member is behind what we have delivered. Either it is slow, and will catch up, or all
 * of etcd was restored to an older revision, and its next revisions would look like old ones. A
 * linearizable read shows which.
 */
static void check_revision(struct etcd_feed *f)
{
	Etcd__RangeRequest request = ETCD__RANGE_REQUEST__INIT;

	request.key = etcd_data(f->prefix);
	request.count_only = true;
	f->checking = true;
	f->check = (struct etcd_call){ .op = ETCD_RANGE, .repeatable = true, .done = on_checked };
	etcd_client_call(f->client, &f->check, &request.base);
}

static void feed_on_created(struct etcd_feed *f, const Etcd__WatchResponse *m)
{
	f->down_since = INT64_MAX;
	backoff_reset(&f->backoff);
	if (m->header && m->header->revision < f->delivered && !f->checking)
		check_revision(f);
}

/*
 * The watch may be behind what we have delivered, since answers come earlier. Then only the watch
 * needs the changes that etcd has compacted, and the next one starts after them.
 */
static void on_canceled(struct etcd_feed *f, const Etcd__WatchResponse *m)
{
	struct error err;

	if (m->compact_revision <= f->delivered) {
		interrupted(f, m->cancel_reason[0] ? str_from(m->cancel_reason)
						   : STR("etcd has canceled the watch"));
		return;
	}
	(void)error_set(&err, ERR_EXPIRED,
			"etcd no longer has the changes after revision %" PRId64
			": it is compacted at %" PRId64,
			f->delivered, m->compact_revision);
	lose(f, &err);
}

static void feed_on_message(struct grpc_call *c, const void *message)
{
	struct etcd_feed *f = grpc_call_data(c);
	const Etcd__WatchResponse *m = message;

	if (!f)
		return;
	etcd_client_watch_heard(f->client);
	if (m->created)
		feed_on_created(f, m);
	if (m->canceled)
		on_canceled(f, m);
	else if (m->n_events)
		on_changes(f, m);
}

static void feed_on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct etcd_feed *f = grpc_call_data(c);

	if (!f)
		return;
	f->stream = NULL;
	interrupted(f, st->code == GRPC_OK ? STR("etcd has ended the watch") : st->message);
}

static void open_stream(struct etcd_feed *f)
{
	static const struct grpc_call_ops ops = { .on_message = feed_on_message,
						  .on_end = feed_on_end };
	Etcd__WatchCreateRequest create = ETCD__WATCH_CREATE_REQUEST__INIT;
	Etcd__WatchRequest request = ETCD__WATCH_REQUEST__INIT;

	if (!f->following || f->stream || loop_timer_running(&f->retry))
		return;
	f->stream = etcd_client_watch(f->client, &ops, f);
	if (!f->stream)
		return;
	/* A watch from key "\0" to range end "\0" covers all keys. */
	create.key = create.range_end = etcd_data(STR("\0"));
	create.start_revision = f->delivered + 1;
	create.fragment = true;
	request.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
	request.create_request = &create;
	(void)grpc_call_send(f->stream, &request.base);
}

static void feed_on_retry(struct loop_timer *t)
{
	open_stream(CONTAINER_OF(t, struct etcd_feed, retry));
}

void etcd_feed_on_ready(void *feed)
{
	open_stream(feed);
}

void etcd_feed_on_stuck(void *feed)
{
	struct etcd_feed *f = feed;

	if (f->stream)
		interrupted(f, STR("the member of etcd does not answer, or has no leader"));
}

/* --- lag ----------------------------------------------------------------------------------- */

static void set_goal(struct etcd_feed *f)
{
	f->goal = etcd_client_latest(f->client);
	f->mark = f->delivered;
	f->marked_at = loop_now(etcd_client_loop(f->client));
}

/* A stream that catches up counts as moving, however far it is behind. */
static void on_lag(struct loop_timer *t)
{
	struct etcd_feed *f = CONTAINER_OF(t, struct etcd_feed, lag);
	int64_t now = loop_now(etcd_client_loop(f->client));

	loop_timer_start(&f->lag, LAG_LOOK_MS);
	if (f->delivered != f->mark)
		f->patience_ms = LAG_MS;
	if (f->delivered != f->mark || f->delivered >= f->goal) {
		set_goal(f);
		return;
	}
	if (now - f->marked_at < f->patience_ms || !f->stream || !etcd_client_has_other(f->client))
		return;
	f->patience_ms = MIN(2 * f->patience_ms, (int64_t)LAG_MAX_MS);
	set_goal(f);
	interrupted(f, STR("the member of etcd lags behind the others"));
}

/* --- verbs --------------------------------------------------------------------------------- */

void etcd_feed_follow(struct etcd_feed *f, int64_t revision, const struct store_feed *to)
{
	stop_feed(f);
	f->to = *to;
	f->following = true;
	f->delivered = revision;
	f->down_since = loop_now(etcd_client_loop(f->client));
	(void)error_set(&f->failure, ERR_UNAVAILABLE, "not begun yet");
	f->patience_ms = LAG_MS;
	set_goal(f);
	loop_timer_start(&f->lag, LAG_LOOK_MS);
	etcd_writes_follow(f->writes, revision);
	open_stream(f);
}

int etcd_feed_health(const struct etcd_feed *f, struct error *err)
{
	if (f->down_since > loop_now(etcd_client_loop(f->client)) - DOWN_MS)
		return 0;
	return error_set(err, ERR_UNAVAILABLE, "etcd's watch is interrupted: %s", f->failure.msg);
}

static int feed_add_metrics(struct etcd_feed *f, struct metrics *m, struct error *err)
{
	const struct metrics_spec reconnects = {
		.name = "etcd_feed_reconnects_total",
		.help = "Reconnects of the watch on etcd.",
		.type = METRICS_COUNTER,
	};
	const struct metrics_spec events = {
		.name = "etcd_feed_events_total",
		.help = "Object changes that the watch on etcd or answers to writes have shown.",
		.type = METRICS_COUNTER,
	};
	struct metrics_family *family;
	int r;

	if (!m)
		return 0;
	r = metrics_register(m, &reconnects, &family, err);
	if (r < 0)
		return r;
	f->reconnects = metrics_counter_of(family, NULL, 0);
	r = metrics_register(m, &events, &family, err);
	if (r < 0)
		return r;
	f->delivered_events = metrics_counter_of(family, NULL, 0);
	return 0;
}

int etcd_feed_init(struct etcd_feed *f, struct etcd_client *client, struct etcd_writes *writes,
		   struct str prefix, struct metrics *m, struct error *err)
{
	*f = (struct etcd_feed){ .client = client, .writes = writes, .prefix = prefix };
	loop_task_init(&f->answered, deliver_answered);
	writes->answered = &f->answered;
	loop_timer_init(&f->retry, etcd_client_loop(client), feed_on_retry);
	loop_timer_init(&f->lag, etcd_client_loop(client), on_lag);
	f->backoff = (struct backoff){ .initial_ms = BACKOFF_INITIAL_MS,
				       .max_ms = BACKOFF_MAX_MS,
				       .factor = 2,
				       .jitter = 0.5 };
	f->down_since = INT64_MAX;
	/* Bounded by the size of etcd's response. */
	vec_init(&f->changes, SIZE_MAX / sizeof(struct etcd_change));
	vec_init(&f->events, SIZE_MAX / sizeof(struct store_event));
	arena_init(&f->arena, ETCD_RESPONSE_MAX);
	return feed_add_metrics(f, m, err);
}

void etcd_feed_release(struct etcd_feed *f)
{
	stop_feed(f);
	vec_release(&f->changes);
	vec_release(&f->events);
	arena_release(&f->arena);
}
