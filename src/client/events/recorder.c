/*
 * An event that was reported is a record: its constant text, and the varying part. Records that
 * need a write wait in a list. A few requests are under way at a time, one per record. Repetitions
 * while a record waits only change what will be written, so memory is bounded by the number of
 * records, whatever the rate of events. If the server is unavailable, the write is retried a
 * limited number of times; any other failure drops the event.
 */
#include "client/events/recorder.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/events/correlator.h"
#include "client/events/recorder_text.h"
#include "net/loop/loop.h"

enum {
	QUEUE_MAX = 1000,
	TRIES_MAX = 12,
	MESSAGE_MAX = 1024,
	KNOWN_MAX = 4096, /* events remembered so that repetitions can be counted */
	SERIES_MAX = 4096, /* the oldest is ended to make room for a new one */
	SERIES_QUIET_MS = 6 * 60 * 1000, /* after this time a series is over */
	SERIES_REFRESH_MS = 30 * 60 * 1000, /* how often its count is written */
	SERIES_LOOK_MS = 60 * 1000,
};

struct record {
	struct recorder *owner;
	struct list link; /* recorder->waiting or sending, or in neither */
	struct client_request request;
	bool sending, patching;
	uint64_t sent; /* the count that the request carries */
	struct list series_link; /* recorder->series, or not */
	char *key; /* of a series */
	struct correlated *seen; /* NULL: evicted, or part of a series */
	char *fixed, *name, *ns, *message;
	uint64_t count;
	int64_t first_ns, last_ns; /* wall clock */
	int64_t told_ms, written_ms; /* loop time: the last event, the last write */
	int tries;
	bool combined;
	bool written; /* the server has it */
	bool over; /* free it after it was written */
};

struct recorder {
	struct recorder_opts opts;
	struct loop *loop;
	struct resource events;
	struct correlator *correlator;
	struct map series_by_key;
	struct list series; /* least recently used first */
	struct list waiting;
	size_t nwaiting;
	struct list sending; /* records whose requests are under way */
	size_t nsending;
	struct loop_timer again, look;
	struct backoff backoff;
	struct metrics_counter *dropped_queue, *dropped_rate, *written, *failed;
};

static void recorder_count(struct metrics_counter *c)
{
	if (c)
		metrics_counter_add(c, 1);
}

/* --- records --------------------------------------------------------------------------------- */

static void record_free(struct record *r)
{
	if (r->sending)
		r->owner->nsending--;
	else if (!list_empty(&r->link))
		r->owner->nwaiting--;
	client_cancel(&r->request);
	list_remove(&r->link);
	list_remove(&r->series_link);
	free(r->key);
	free(r->fixed);
	free(r->name);
	free(r->ns);
	free(r->message);
	free(r);
}

static bool record_is_busy(const struct record *r)
{
	return !list_empty(&r->link);
}

/* No repetition will be counted any more; a pending write is still done. */
static void record_end(struct record *r)
{
	r->over = true;
	if (!record_is_busy(r))
		record_free(r);
}

static void on_forget(void *data)
{
	struct record *r = data;

	r->seen = NULL;
	record_end(r);
}

static void set_message(struct record *r, struct str message)
{
	size_t n = MIN(message.n, (size_t)MESSAGE_MAX);

	/* Do not cut within a character. */
	while (n > 0 && n < message.n && ((unsigned char)message.p[n] & 0xc0) == 0x80)
		n--;
	free(r->message);
	r->message = xstrndup(message.p ? message.p : "", n);
}

static struct record *record_new(struct recorder *r, const struct recorder_fixed *f, int64_t now)
{
	struct record *n = XNEW(struct record);
	struct buf fixed = BUF_INIT(OBJECT_MAX);
	char name[RECORDER_NAME_SIZE];

	list_init(&n->link);
	list_init(&n->series_link);
	n->owner = r;
	recorder_text_fixed(&fixed, f);
	n->fixed = buf_take(&fixed);
	n->name = str_dup(recorder_text_name(f->about->name, now, name));
	n->ns = f->about->ns.n ? str_dup(f->about->ns) : xstrdup("default");
	n->first_ns = now;
	n->written_ms = loop_now(r->loop);
	return n;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_next(struct recorder *r);

static void recorder_enqueue(struct recorder *r, struct record *n)
{
	if (record_is_busy(n))
		return;
	if (r->nwaiting >= r->opts.queue_max) {
		recorder_count(r->dropped_queue);
		return;
	}
	list_push_back(&r->waiting, &n->link);
	r->nwaiting++;
	if (r->nsending < r->opts.at_once && !loop_timer_running(&r->again))
		loop_timer_start(&r->again, 0);
}

/* The server could not be reached or is overloaded, which says nothing about the event. */
static bool is_passing(const struct error *err)
{
	switch (err->code) {
	case ERR_UNAVAILABLE:
	case ERR_TIMEOUT:
	case ERR_SERVER_TIMEOUT:
	case ERR_TOO_MANY_REQUESTS:
	case ERR_IO:
	case ERR_INTERNAL:
		return true;
	default:
		return false;
	}
}

static void put_back(struct recorder *r, struct record *n)
{
	list_push_front(&r->waiting, &n->link);
	r->nwaiting++;
}

static void recorder_settle(struct recorder *r, struct record *n, const struct error *err)
{
	recorder_count(err ? r->failed : r->written);
	if (err && r->opts.log)
		log_debug(r->opts.log, "event was dropped", LOG_Z("name", n->name), LOG_ERR(err));
	n->tries = 0;
	n->written_ms = loop_now(r->loop);
	n->written = n->written || !err;
	if (n->over)
		record_free(n);
	else if (!err && n->count != n->sent && !r->opts.series)
		recorder_enqueue(r, n);
	write_next(r);
}

static void recorder_on_done(struct client_request *q, const struct client_answer *a UNUSED,
			     const struct error *err)
{
	struct record *n = q->arg;
	struct recorder *r = n->owner;

	list_remove(&n->link);
	n->sending = false;
	r->nsending--;
	if (err && err->code == ERR_NOT_FOUND && n->patching) {
		/* It expired on the server: create it again, with its count. */
		n->written = false;
		put_back(r, n);
		write_next(r);
		return;
	}
	if (err && is_passing(err) && ++n->tries < TRIES_MAX) {
		put_back(r, n);
		loop_timer_start(&r->again, backoff_next(&r->backoff, loop_prng(r->loop)));
		return;
	}
	if (!err)
		backoff_reset(&r->backoff);
	recorder_settle(r, n, err);
}

static void send_record(struct recorder *r, struct record *n)
{
	struct buf body = BUF_INIT(OBJECT_MAX);
	struct recorder_varying v = { .name = str_from(n->name),
				      .ns = str_from(n->ns),
				      .message = str_from(n->message),
				      .count = n->count,
				      .first_ns = n->first_ns,
				      .last_ns = n->last_ns,
				      .combined = n->combined };

	n->patching = n->written;
	n->sent = n->count;
	if (n->written)
		recorder_text_patch(&body, &v, r->opts.series);
	else
		recorder_text_event(&body, str_from(n->fixed), &v, r->opts.series);
	n->request = (struct client_request){ .on_done = recorder_on_done,
					      .arg = n,
					      .body = buf_str(&body) };
	if (n->written)
		client_patch(r->opts.client, &n->request, &r->events,
			     (struct resource_name){ .ns = v.ns, .name = v.name },
			     CLIENT_PATCH_MERGE, NULL);
	else
		client_create(r->opts.client, &n->request, &r->events, v.ns, NULL);
	n->request.body = STR_NULL;
	buf_release(&body);
}

static void write_next(struct recorder *r)
{
	while (r->nsending < r->opts.at_once && !loop_timer_running(&r->again)) {
		struct list *l = list_pop_front(&r->waiting);
		struct record *n;

		if (!l)
			return;
		n = LIST_ENTRY(l, struct record, link);
		r->nwaiting--;
		r->nsending++;
		n->sending = true;
		list_push_back(&r->sending, &n->link);
		send_record(r, n);
	}
}

static void recorder_on_again(struct loop_timer *t)
{
	write_next(CONTAINER_OF(t, struct recorder, again));
}

/* --- series ---------------------------------------------------------------------------------- */

static void series_end(struct recorder *r, struct record *n)
{
	map_remove(&r->series_by_key, str_from(n->key));
	list_remove(&n->series_link);
	if (n->count > 1)
		recorder_enqueue(r, n);
	record_end(n);
}

/* The least recently used come first, so this looks only at series that are over, and one more. */
static void recorder_on_look(struct loop_timer *t)
{
	struct recorder *r = CONTAINER_OF(t, struct recorder, look);
	int64_t now = loop_now(r->loop);

	LIST_FOREACH_SAFE (l, &r->series) {
		struct record *n = LIST_ENTRY(l, struct record, series_link);

		if (now - n->told_ms >= SERIES_QUIET_MS)
			series_end(r, n);
		else if (n->count > 2 && now - n->written_ms >= SERIES_REFRESH_MS)
			recorder_enqueue(r, n);
	}
	if (!list_empty(&r->series))
		loop_timer_start(t, SERIES_LOOK_MS);
}

static void tell_series(struct recorder *r, const struct recorder_fixed *f, struct str key,
			struct str message)
{
	int64_t now = clock_wall(loop_clock(r->loop));
	struct record *n = map_get(&r->series_by_key, key);

	if (!n) {
		if (r->series_by_key.n >= SERIES_MAX)
			series_end(r, LIST_ENTRY(r->series.next, struct record, series_link));
		n = record_new(r, f, now);
		n->key = str_dup(key);
		set_message(n, message);
		map_put(&r->series_by_key, str_from(n->key), n);
	}
	list_remove(&n->series_link);
	list_push_back(&r->series, &n->series_link);
	n->last_ns = now;
	n->told_ms = loop_now(r->loop);
	if (++n->count <= 2)
		recorder_enqueue(r, n);
	if (!loop_timer_running(&r->look))
		loop_timer_start(&r->look, SERIES_LOOK_MS);
}

/* --- counted events -------------------------------------------------------------------------- */

static void tell_counted(struct recorder *r, const struct recorder_fixed *f,
			 const struct correlator_event *e)
{
	const struct clock *clock = loop_clock(r->loop);
	struct correlated *seen = correlator_observe(r->correlator, e, clock_monotonic(clock));
	struct record *n;

	if (!seen) {
		recorder_count(r->dropped_rate);
		return;
	}
	n = seen->data;
	if (!n) {
		n = record_new(r, f, clock_wall(clock));
		n->seen = seen;
		seen->data = n;
	}
	set_message(n, e->message);
	n->count = seen->count;
	n->combined = seen->combined;
	n->last_ns = clock_wall(clock);
	recorder_enqueue(r, n);
}

/* --- recording ------------------------------------------------------------------------------- */

static void recorder_add_object(struct buf *key, const struct recorder_object *o)
{
	(void)buf_printf(key, "%.*s/%.*s/%.*s/%.*s/%.*s", STR_ARG(o->kind), STR_ARG(o->ns),
			 STR_ARG(o->name), STR_ARG(o->uid), STR_ARG(o->api_version));
}

void recorder_event_detailed(struct recorder *r, const struct recorder_object *about,
			     enum recorder_type type, const char *reason, struct str message,
			     const struct recorder_detail *detail)
{
	struct recorder_fixed f = { about,  detail, r->opts.component, r->opts.instance,
				    reason, type,   r->opts.series };
	struct buf key = BUF_INIT(MIB);

	recorder_add_object(&key, about);
	(void)buf_printf(&key, " %d", (int)type);
	if (!r->opts.series) {
		tell_counted(r, &f,
			     &(struct correlator_event){ .about = buf_str(&key),
							 .kind = str_from(reason),
							 .message = message });
	} else {
		/* As upstream: another version of the object is another event. */
		(void)buf_printf(&key, " %.*s %s %s ", STR_ARG(about->resource_version), reason,
				 detail && detail->action ? detail->action : "");
		if (detail && detail->related)
			recorder_add_object(&key, detail->related);
		tell_series(r, &f, buf_str(&key), message);
	}
	buf_release(&key);
}

void recorder_event(struct recorder *r, const struct recorder_object *about,
		    enum recorder_type type, const char *reason, struct str message)
{
	if (r)
		recorder_event_detailed(r, about, type, reason, message, NULL);
}

size_t recorder_pending(const struct recorder *r)
{
	return r->nwaiting + r->nsending;
}

/* --- life ------------------------------------------------------------------------------------ */

static void recorder_make_metrics(struct recorder *r, struct metrics *m)
{
	static const char *const why[] = { "reason" }, *const how[] = { "result" };
	struct metrics_spec dropped = { .name = "event_recorder_dropped_total",
					.help = "Events dropped because of too many events of one "
						"object, or a full queue.",
					.type = METRICS_COUNTER,
					.labels = why,
					.labels_n = 1 };
	struct metrics_spec written = { .name = "event_recorder_writes_total",
					.help = "Attempts to write events, by result.",
					.type = METRICS_COUNTER,
					.labels = how,
					.labels_n = 1 };
	struct metrics_family *f = NULL;

	if (!m)
		return;
	(void)metrics_register(m, &dropped, &f, NULL);
	r->dropped_queue = metrics_counter(f, STR("queue"));
	r->dropped_rate = metrics_counter(f, STR("rate"));
	(void)metrics_register(m, &written, &f, NULL);
	r->written = metrics_counter(f, STR("success"));
	r->failed = metrics_counter(f, STR("failure"));
}

struct recorder *recorder_new(const struct recorder_opts *opts)
{
	struct recorder *r = XNEW(struct recorder);

	r->opts = *opts;
	r->opts.component = xstrdup(opts->component);
	r->opts.instance = opts->instance ? xstrdup(opts->instance) : NULL;
	if (r->opts.queue_max == 0)
		r->opts.queue_max = QUEUE_MAX;
	if (r->opts.known_max == 0)
		r->opts.known_max = KNOWN_MAX;
	r->loop = client_loop(opts->client);
	r->events = resource_builtin(opts->series ? "events.k8s.io" : "", "v1", "events");
	r->correlator = correlator_new(r->opts.known_max, on_forget);
	map_init(&r->series_by_key);
	list_init(&r->series);
	list_init(&r->waiting);
	list_init(&r->sending);
	if (r->opts.at_once == 0)
		r->opts.at_once = 1;
	r->backoff = (struct backoff){
		.initial_ms = 1000, .max_ms = 10000, .factor = 2, .jitter = 0.5
	};
	loop_timer_init(&r->again, r->loop, recorder_on_again);
	loop_timer_init(&r->look, r->loop, recorder_on_look);
	recorder_make_metrics(r, opts->metrics);
	return r;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	loop_timer_stop(&r->again);
	loop_timer_stop(&r->look);
	for (struct list *l; (l = list_pop_front(&r->sending));) {
		struct record *n = LIST_ENTRY(l, struct record, link);

		client_cancel(&n->request);
		n->sending = false;
		r->nsending--;
		r->nwaiting++;
		list_push_back(&r->waiting, l);
	}
	correlator_free(r->correlator);
	for (struct list *l; (l = r->series.next) != &r->series;) {
		struct record *n = LIST_ENTRY(l, struct record, series_link);

		list_remove(l);
		record_end(n);
	}
	while (!list_empty(&r->waiting))
		record_free(LIST_ENTRY(r->waiting.next, struct record, link));
	map_release(&r->series_by_key);
	free((char *)r->opts.component);
	free((char *)r->opts.instance);
	free(r);
}
