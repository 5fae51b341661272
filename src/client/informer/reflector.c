/*
 * A state machine with one request at a time: LISTING or STREAMING until there is a state, then
 * WATCHING; RESTING before a retry. The rules are those of client-go's reflector, which servers
 * are tuned for: which versions it requests, when it uses pages, and when it falls back.
 */
#include "client/informer/reflector.h"

#include "base/core/mem.h"
#include "client/informer/reflector_list.h"
#include "net/net_limits.h"

enum {
	BACKOFF_MS = 800,
	BACKOFF_MAX_MS = 30 * 1000,
	BACKOFF_RESET_MS = 120 * 1000,
	WATCH_MIN_S = 300, /* the server ends a watch after 5 to 10 minutes */
	WATCH_SPREAD_S = 300,
	WATCH_GRACE_MS = 60 * 1000, /* then a server that does not end it is abandoned */
	SHORT_WATCH_MS = 1000,
	MISSES_MAX = 5, /* failed watches before the state is requested again */
};

static void get_state(struct reflector *r);
static void get_changes(struct reflector *r);

/* --- versions ---------------------------------------------------------------------------- */

static void set_rv(struct reflector *r, struct str rv)
{
	if (!rv.n || rv.n >= sizeof(r->rv))
		return;
	str_put(r->rv, rv);
	r->rv[rv.n] = '\0';
}

/* --- back-off ----------------------------------------------------------------------------- */

static void rest(struct reflector *r, const struct error *err)
{
	struct loop *l = client_loop(r->client);
	int64_t now = loop_now(l);

	if (err)
		r->failure = *err;
	if (r->failed_at && now - r->failed_at > BACKOFF_RESET_MS)
		backoff_reset(&r->backoff);
	r->failed_at = now;
	r->state = REFLECTOR_RESTING;
	loop_timer_start(&r->timer, backoff_next(&r->backoff, loop_prng(l)));
}

static void on_rested(struct loop_timer *t)
{
	struct reflector *r = CONTAINER_OF(t, struct reflector, timer);

	if (r->rv[0] && !r->restate)
		get_changes(r);
	else
		get_state(r);
}

/* --- requests ------------------------------------------------------------------------------- */

static void add_selectors(const struct reflector *r, struct buf *q)
{
	if (r->label_selector.n)
		client_query_add(q, "labelSelector", r->label_selector);
	if (r->field_selector.n)
		client_query_add(q, "fieldSelector", r->field_selector);
}

static struct str accept_of(const struct reflector *r, bool list)
{
	if (!r->metadata_only)
		return STR("application/json");
	return list ? STR("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
			  "application/json")
		    : STR("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
			  "application/json");
}

static void send_query(struct reflector *r, enum reflector_state state, struct buf *q)
{
	r->state = state;
	r->asked_at = loop_now(client_loop(r->client));
	r->request.accept = accept_of(r, state == REFLECTOR_LISTING);
	r->request.query = buf_str(q);
	client_list(r->client, &r->request, &r->resource, r->ns);
	r->request.query = STR_NULL;
}

/* --- watching --------------------------------------------------------------------------- */

static bool reflector_is_gone(enum error_code code)
{
	return code == ERR_EXPIRED || code == ERR_GONE;
}

/* Whether the watch can be resumed once the server is back. */
static bool is_passing(enum error_code code)
{
	switch (code) {
	case ERR_UNAVAILABLE:
	case ERR_IO:
	case ERR_PROTOCOL:
	case ERR_CANCELED:
	case ERR_TIMEOUT:
	case ERR_SLOW_REQUEST:
	case ERR_TOO_MANY_REQUESTS:
	case ERR_INTERNAL:
	case ERR_SERVER_TIMEOUT:
	case ERR_UNAUTHORIZED:
	case ERR_FORBIDDEN:
		return true;
	default:
		return false;
	}
}

static void watch_failed(struct reflector *r, const struct error *err, bool too_large)
{
	r->misses = r->events == r->events_before ? r->misses + 1 : 0;
	r->rv_unavailable |= too_large;
	r->restate = too_large || !is_passing(err->code) || r->misses > MISSES_MAX;
	rest(r, err);
}

/* The errors by which a server rejects WatchList if it does not support it. */
static bool is_refusal(enum error_code code)
{
	return code == ERR_INVALID || code == ERR_BAD_REQUEST || code == ERR_METHOD_NOT_ALLOWED ||
	       code == ERR_UNIMPLEMENTED;
}

static void stream_failed(struct reflector *r, const struct error *err, bool too_large)
{
	r->restate = true;
	r->rv_unavailable |= too_large || reflector_is_gone(err->code);
	r->no_watch_list |= is_refusal(err->code);
	/*
	 * A user who may list but not watch gets at least a state. kube-apiserver on an etcd older
	 * than 3.4.25 or 3.5.8 accepts WatchList and then sends an internal error.
	 */
	r->list_once = err->code == ERR_FORBIDDEN || err->code == ERR_INTERNAL;
	if (r->no_watch_list || r->list_once)
		get_state(r);
	else
		rest(r, err);
}

static void reflector_failed(struct reflector *r, const struct error *err, bool too_large)
{
	if (r->state == REFLECTOR_STREAMING)
		stream_failed(r, err, too_large);
	else
		watch_failed(r, err, too_large);
}

/* The server ended the watch, usually because its timeout was reached. */
static void watch_ended(struct reflector *r)
{
	int64_t lasted = loop_now(client_loop(r->client)) - r->asked_at;
	struct error err;

	if (r->state == REFLECTOR_WATCHING &&
	    (r->events != r->events_before || lasted >= SHORT_WATCH_MS)) {
		get_changes(r);
		return;
	}
	(void)error_set(&err, ERR_UNAVAILABLE, "the watch ended at once");
	r->restate = r->state == REFLECTOR_STREAMING;
	rest(r, &err);
}

static void state_complete(struct reflector *r, struct str rv)
{
	set_rv(r, rv);
	r->rv_unavailable = r->restate = r->whole = r->list_once = false;
	r->misses = 0;
	r->failure = (struct error){ 0 };
	r->ops->on_state(r->arg, &r->partial);
	cache_release(&r->partial);
	cache_init(&r->partial);
}

static int take_bookmark(struct reflector *r, struct str object, struct error *err)
{
	bool initial_end;
	struct str rv;
	int ret = watch_event_bookmark(object, &rv, &initial_end, err);

	if (ret < 0)
		return ret;
	if (r->state == REFLECTOR_WATCHING) {
		set_rv(r, rv);
	} else if (initial_end) {
		r->state = REFLECTOR_WATCHING;
		state_complete(r, rv);
	}
	return 0;
}

/* A change before the state is complete belongs to the state. */
static void take_partial(struct reflector *r, enum watch_event_type type, struct cached *o)
{
	if (type == WATCH_EVENT_DELETED) {
		cached_unref(cache_remove(&r->partial, o->key));
		cached_unref(o);
		return;
	}
	cached_unref(cache_put(&r->partial, o));
}

static int take_change(struct reflector *r, const struct watch_event *e, struct error *err)
{
	struct cached *o;
	int ret = cached_new(e->object, &r->defaults, &o, err);

	if (ret < 0)
		return ret;
	if (r->state == REFLECTOR_STREAMING) {
		take_partial(r, e->type, o);
		return 0;
	}
	set_rv(r, o->resource_version);
	r->ops->on_change(r->arg, e->type, o);
	return 0;
}

/* Returns -ERR_* if the watch is unusable from now on; an ERROR event counts as that. */
static int take_line(struct reflector *r, struct str line, struct error *err)
{
	struct watch_event e;
	struct error why;
	int ret = watch_event_begin(line, &e, err);

	if (ret < 0)
		return ret;
	r->events++;
	switch (e.type) {
	case WATCH_EVENT_ERROR:
		client_error_of_status(e.object, 500, &why, &r->too_large);
		return error_copy(err, &why);
	case WATCH_EVENT_BOOKMARK:
		return take_bookmark(r, e.object, err);
	case WATCH_EVENT_UNKNOWN:
		return 0;
	default:
		return take_change(r, &e, err);
	}
}

static void on_watch_data(struct client_request *q, struct str piece)
{
	struct reflector *r = q->arg;
	struct error err;
	struct str line;
	int ret;

	r->too_large = false;
	while ((ret = event_lines_next(&r->lines, &piece, &line, &err)) > 0) {
		ret = take_line(r, line, &err);
		if (ret < 0)
			break;
		if (!client_busy(q)) /* a handler stopped us */
			return;
	}
	if (ret == 0)
		return;
	client_cancel(q);
	reflector_failed(r, &err, r->too_large);
}

static void on_watch_done(struct client_request *q, const struct client_answer *a,
			  const struct error *err)
{
	struct reflector *r = q->arg;
	struct error why;
	bool too_large = false;

	if (!err) {
		watch_ended(r);
		return;
	}
	if (a->body.n)
		client_error_of_status(a->body, a->status, &why, &too_large);
	reflector_failed(r, err, too_large);
}

static void on_watch_open(struct client_request *q)
{
	struct reflector *r = q->arg;

	if (r->state == REFLECTOR_WATCHING)
		r->failure = (struct error){ 0 };
}

static void send_watch(struct reflector *r, enum reflector_state state, struct buf *q)
{
	int64_t seconds = WATCH_MIN_S +
			  (int64_t)prng_below(loop_prng(client_loop(r->client)), WATCH_SPREAD_S);

	add_selectors(r, q);
	(void)buf_printf(q, "%sallowWatchBookmarks=true&timeoutSeconds=%lld&watch=true",
			 q->n ? "&" : "", (long long)seconds);
	event_lines_clear(&r->lines);
	r->events_before = r->events;
	r->request = (struct client_request){ .timeout_ms = seconds * 1000 + WATCH_GRACE_MS,
					      .no_retry = true,
					      .on_open = on_watch_open,
					      .on_data = on_watch_data,
					      .on_done = on_watch_done,
					      .arg = r };
	r->ops->on_watch(r->arg);
	send_query(r, state, q);
}

static void get_changes(struct reflector *r)
{
	CLEANUP(buf_release) struct buf q = BUF_INIT(HTTP_TARGET_MAX);

	client_query_add(&q, "resourceVersion", str_from(r->rv));
	send_watch(r, REFLECTOR_WATCHING, &q);
}

static void get_stream(struct reflector *r)
{
	CLEANUP(buf_release) struct buf q = BUF_INIT(HTTP_TARGET_MAX);

	if (r->rv[0] && !r->rv_unavailable)
		client_query_add(&q, "resourceVersion", str_from(r->rv));
	client_query_add(&q, "resourceVersionMatch", STR("NotOlderThan"));
	client_query_add(&q, "sendInitialEvents", STR("true"));
	send_watch(r, REFLECTOR_STREAMING, &q);
}

/* --- listing ---------------------------------------------------------------------------- */

static void get_page(struct reflector *r);

static void list_failed(struct reflector *r, const struct error *err, bool too_large)
{
	bool retry = reflector_is_gone(err->code) || too_large;

	r->restate = true;
	/*
	 * The pages expired during the list. A list without pages takes longer but cannot expire.
	 */
	r->whole = r->next_page && reflector_is_gone(err->code);
	if (retry && !r->rv_unavailable) {
		r->rv_unavailable = true;
		get_state(r);
		return;
	}
	r->list_once = false;
	rest(r, err);
}

static void list_complete(struct reflector *r, const struct reflector_page *page)
{
	if (r->next_page && !r->rv[0])
		r->paged = true;
	state_complete(r, page->rv);
	if (r->state == REFLECTOR_LISTING) /* unless a handler stopped us */
		get_changes(r);
}

static void on_list_done(struct client_request *q, const struct client_answer *a,
			 const struct error *err)
{
	struct reflector *r = q->arg;
	struct reflector_page page;
	struct error why;
	bool too_large = false;

	if (err) {
		client_error_of_status(a->body, a->status, &why, &too_large);
		list_failed(r, err, too_large);
		return;
	}
	if (reflector_list_parse(a->body, &r->defaults, &r->partial, &page, &why) < 0) {
		list_failed(r, &why, false);
		return;
	}
	if (!page.next.n) {
		list_complete(r, &page);
		return;
	}
	free(r->next_page);
	r->next_page = str_dup(page.next);
	get_page(r);
}

/* Pages make a server read its store instead of answering from memory: use them only if needed. */
static bool wants_pages(const struct reflector *r, struct str rv)
{
	return !r->whole && (r->paged || rv.n == 0 || str_eq(rv, STR("0")));
}

static void get_page(struct reflector *r)
{
	CLEANUP(buf_release) struct buf q = BUF_INIT(HTTP_TARGET_MAX);
	struct str rv = r->rv[0] ? str_from(r->rv) : STR("0");

	if (r->rv_unavailable)
		rv = STR_NULL;
	add_selectors(r, &q);
	if (wants_pages(r, rv))
		client_query_add(&q, "limit", STR("500"));
	if (r->next_page)
		client_query_add(&q, "continue", str_from(r->next_page));
	else if (rv.n)
		client_query_add(&q, "resourceVersion", rv);
	r->request = (struct client_request){ .on_done = on_list_done, .arg = r };
	send_query(r, REFLECTOR_LISTING, &q);
}

static void get_state(struct reflector *r)
{
	cache_release(&r->partial);
	cache_init(&r->partial);
	free(TAKE(r->next_page));
	if (!r->no_watch_list && !r->list_once) {
		get_stream(r);
		return;
	}
	r->ops->on_list(r->arg);
	get_page(r);
}

/* --- life cycle ------------------------------------------------------------------------- */

void reflector_init(struct reflector *r)
{
	r->backoff = (struct backoff){
		.initial_ms = BACKOFF_MS, .max_ms = BACKOFF_MAX_MS, .factor = 2, .jitter = 0.5
	};
	event_lines_init(&r->lines);
	cache_init(&r->partial);
	loop_timer_init(&r->timer, client_loop(r->client), on_rested);
}

void reflector_release(struct reflector *r)
{
	reflector_stop(r);
	event_lines_release(&r->lines);
	cache_release(&r->partial);
	free(TAKE(r->next_page));
}

void reflector_start(struct reflector *r)
{
	if (r->state != REFLECTOR_STOPPED)
		return;
	if (r->rv[0] && !r->restate)
		get_changes(r);
	else
		get_state(r);
}

void reflector_stop(struct reflector *r)
{
	if (r->state == REFLECTOR_STOPPED)
		return;
	r->state = REFLECTOR_STOPPED;
	client_cancel(&r->request);
	loop_timer_stop(&r->timer);
}
