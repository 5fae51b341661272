/*
 * The life of a watch. A job at the state opens it: it waits for the revision, takes what the
 * watch begins with (a snapshot, or the chunks that its lane lacks), and subscribes the lane. The
 * lane's next messages continue exactly there. When either the stream or the watch ends, the
 * other is notified. The watch leaves its lane once, and is freed when its stream is closed and
 * its job is back.
 */
#include "server/engine/watch.h"

#include <stdlib.h>

#include "api/crd/crd.h"
#include "api/object/status.h"
#include "base/core/mem.h"
#include "net/http/http.h"
#include "server/engine/watch_impl.h"
#include "server/engine/watch_text.h"

enum {
	BOOKMARK_MS = 60 * 1000, /* plus or minus a quarter */
	BOOKMARK_LAST_MS = 2000, /* before the end */
	SCAN_TERMS = 4, /* terms and values whose comparison costs as much as an event */
};

static void pump_more(struct loop_task *t);
static void watch_on_timer(struct loop_timer *t);

/* --- the end ---------------------------------------------------------------------- */

static void watch_free(struct watch *w)
{
	http_stream_unref(w->stream);
	crd_unref(w->custom);
	free(w);
}

/* From now on neither the lane nor the state refers to it. */
static void watch_leave(struct watch *w)
{
	if (w->plain)
		list_remove(&w->spot.link);
	else
		watch_index_remove(&w->feed->index, &w->spot);
	list_remove(&w->link);
	list_remove(&w->asking);
	loop_timer_stop(&w->timer);
	loop_task_cancel(&w->more);
	resource_snapshot_unref(w->snapshot);
	w->snapshot = NULL;
	w->phase = WATCH_OVER;
	atomic_fetch_sub_explicit(&w->lane->state->nwatches, 1, memory_order_relaxed);
	lane_leave(w->feed);
}

void watch_end(struct watch *w)
{
	watch_leave(w);
	(void)http_stream_end(w->stream, NULL, 0);
}

void watch_revoke(struct http_stream *s)
{
	struct watch *w = s->data;

	w->revoked = true;
	if (w->phase != WATCH_OPENING && w->phase != WATCH_OVER)
		watch_end(w);
}

void watch_expire(struct watch *w)
{
	const struct ring_span *span = &w->feed->span;
	int64_t oldest = w->seen;
	struct error err;
	struct bytes *b;

	if (span->first < span->end)
		oldest = ring_span_at(span, span->first)->events[0].revision - 1;
	(void)error_set(&err, ERR_EXPIRED, "too old resource version: %lld (%lld)",
			(long long)w->seen, (long long)oldest);
	b = watch_text_error(&w->opts.form, &err);
	(void)http_stream_send(w->stream, (struct slice){ b->data, b->n, b });
	watch_end(w);
}

static void watch_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct watch *w = s->data;

	w->closed = true;
	if (w->phase != WATCH_OPENING && w->phase != WATCH_OVER)
		watch_leave(w);
	w->opts.on_over(w->opts.arg);
	if (w->phase == WATCH_OVER)
		watch_free(w);
}

static void watch_on_writable(struct http_stream *s)
{
	watch_pump(s->data);
}

static const struct http_stream_ops watch_ops = {
	.on_writable = watch_on_writable,
	.on_close = watch_on_close,
};

static void pump_more(struct loop_task *t)
{
	watch_pump(CONTAINER_OF(t, struct watch, more));
}

/* --- time ------------------------------------------------------------------------- */

/* Sets the time of the next bookmark: after about a minute, and once shortly before the end. */
static void plan_bookmark(struct watch *w)
{
	int64_t now = loop_now(w->lane->loop), last = w->deadline - BOOKMARK_LAST_MS;
	int64_t jitter = (int64_t)prng_below(loop_prng(w->lane->loop), BOOKMARK_MS / 2);

	w->bookmark = now + BOOKMARK_MS * 3 / 4 + jitter;
	if (w->bookmark > last)
		w->bookmark = last > now ? last : INT64_MAX;
}

static void watch_arm(struct watch *w)
{
	loop_timer_start(&w->timer, MIN(w->deadline, w->bookmark) - loop_now(w->lane->loop));
}

static void watch_on_timer(struct loop_timer *t)
{
	struct watch *w = CONTAINER_OF(t, struct watch, timer);
	int64_t now = loop_now(t->loop);

	if (now >= w->deadline) {
		watch_end(w);
		return;
	}
	if (now >= w->bookmark) {
		if (list_empty(&w->asking))
			list_push_back(&w->lane->asking, &w->asking);
		lane_ask(w->lane);
		plan_bookmark(w);
	}
	watch_arm(w);
}

/* --- opened: on the lane's loop --------------------------------------------------- */

/* Returns false if the reply has not begun: the stream has ended, or ends with an error. */
static bool send_head(struct watch *w, int status, struct str type, int retry_after_s,
		      int64_t length)
{
	struct arena *a = &w->stream->arena;
	struct http_field *fields = ARENA_ARRAY(a, struct http_field, w->opts.nhead + 2);
	struct error err;
	size_t n = 0;
	int r;

	fields[n++] = HTTP_FIELD("content-type", type);
	if (retry_after_s)
		fields[n++] = HTTP_FIELD("retry-after",
					 str_from(arena_printf(a, "%d", retry_after_s)));
	for (size_t i = 0; i < w->opts.nhead; i++)
		fields[n++] = w->opts.head[i];
	r = http_stream_respond(w->stream, status, fields, n, length);
	if (r == -ERR_HEADERS_TOO_LARGE) {
		(void)error_set(&err, ERR_INTERNAL, "the fields of the reply are too large");
		http_stream_fail(w->stream, &err);
	}
	if (r == 0 && !w->closed && w->opts.on_started)
		w->opts.on_started(w->opts.arg, status);
	return r == 0;
}

static void answer_error(struct watch *w)
{
	struct status_about about = { 0 };
	struct bytes *b;

	if (w->err.code == ERR_TIMEOUT && w->job.named)
		about = (struct status_about){ .cause_reason = "ResourceVersionTooLarge",
					       .cause_message = "Too large resource version",
					       .retry_after_s = 1 };
	if (w->err.code == ERR_UNAVAILABLE)
		about.retry_after_s = 1;
	b = watch_text_failure(&w->opts.form, &w->err, &about);
	if (!send_head(w, error_http_status((int)w->err.code),
		       watch_text_failure_type(&w->opts.form), about.retry_after_s,
		       (int64_t)b->n)) {
		bytes_unref(b);
		return;
	}
	(void)http_stream_send(w->stream, (struct slice){ b->data, b->n, b });
	(void)http_stream_end(w->stream, NULL, 0);
}

static void watch_join(struct watch *w)
{
	struct lane *l = w->lane;

	w->phase = w->snapshot ? WATCH_INITIAL : WATCH_BEHIND;
	w->seen = w->revision;
	if (w->plain)
		list_push_back(&w->feed->plain, &w->spot.link);
	else
		watch_index_add(&w->feed->index, &w->spot, &w->filter, w->whole);
	list_push_back(&l->watches, &w->link);
	atomic_fetch_add_explicit(&l->state->nwatches, 1, memory_order_relaxed);
	w->deadline = loop_now(l->loop) + w->opts.timeout_ms;
	w->bookmark = INT64_MAX;
	if (w->opts.bookmarks)
		plan_bookmark(w);
	watch_arm(w);
}

/* Finds the watch's first event in its first chunk. */
static void seek(struct watch *w)
{
	const struct ring_span *span = &w->feed->span;
	const struct ring_chunk *c;

	if (w->seq >= span->end || w->seq < span->first)
		return;
	c = ring_span_at(span, w->seq);
	while (!w->snapshot && w->at < c->n && c->events[w->at].revision <= w->revision)
		w->at++;
}

static void on_opened(struct lane_msg *m)
{
	struct watch *w = CONTAINER_OF(m, struct watch, opened);
	struct lane *l = w->lane;
	bool begun;

	l->opening--;
	if (w->err.code) {
		w->phase = WATCH_OVER;
		answer_error(w);
	} else {
		lane_extend(w->feed, &w->past);
		seek(w);
		watch_join(w);
		begun = send_head(w, 200, watch_text_content_type(&w->opts.form), 0, -1);
		if (w->closed)
			watch_leave(w);
		else if (!begun || l->stopping || watch_is_revoked(w))
			watch_end(w);
		else
			watch_pump(w);
	}
	if (w->closed)
		watch_free(w);
	lane_stop_step(l);
}

/* --- opening: on the state's loop ------------------------------------------------- */

static void begin_initial(struct watch *w, struct resource *r)
{
	w->snapshot = resource_select(r, &w->filter);
	w->revision = r->state->revision;
	w->seq = r->ring.span.end;
	lane_subscribe(w->lane, r, w->seq, &w->past);
}

static void begin_after(struct watch *w, struct resource *r, int64_t revision)
{
	if (revision < r->ring.oldest) {
		(void)error_set(&w->err, ERR_EXPIRED, "too old resource version: %lld (%lld)",
				(long long)revision, (long long)r->ring.oldest);
		return;
	}
	w->revision = revision;
	w->seq = ring_span_find(&r->ring.span, revision);
	lane_subscribe(w->lane, r, w->seq, &w->past);
}

static void synced(struct state *st, struct job *j, const struct error *err)
{
	struct watch *w = CONTAINER_OF(j, struct watch, job);
	struct resource *r = state_resource(st, w->opts.kind);

	w->feed = r->subs[w->lane->number].feed;
	if (err)
		w->err = *err;
	else if (st->stopping || st->watches_stopped)
		(void)error_set(&w->err, ERR_UNAVAILABLE, "the server is shutting down");
	else if (r->gone || r->kind != w->filter.kind)
		(void)error_set(&w->err, ERR_UNAVAILABLE, "the definition has just changed");
	else if (w->opts.initial)
		begin_initial(w, r);
	else
		begin_after(w, r, w->opts.revision ? w->opts.revision : st->revision);
	lane_post(w->lane, &w->opened);
}

/* Revision 0 means the newest that any client may have seen. */
static void open_job(struct state *st, struct job *j)
{
	struct watch *w = CONTAINER_OF(j, struct watch, job);

	j->named = w->opts.revision > 0;
	state_read(st, j, w->opts.kind, w->opts.revision, synced);
}

/* --- the start -------------------------------------------------------------------- */

static void copy_opts(struct watch *w, const struct watch_opts *opts)
{
	const struct schema_kind *kind = opts->kind->storage;
	struct arena *a = &w->stream->arena;
	bool all;

	w->opts = *opts;
	w->opts.form.table_version = arena_str(a, opts->form.table_version);
	w->filter = (struct resource_filter){ .kind = kind,
					      .ns = arena_str(a, opts->ns),
					      .labels = selector_copy(a, &opts->labels),
					      .fields = selector_copy(a, &opts->fields) };
	w->scan_cost = 1 +
		       (selector_weight(&w->filter.labels) + selector_weight(&w->filter.fields)) /
			       SCAN_TERMS;
	if (!w->opts.form.kind)
		w->opts.form.kind = opts->kind;
	if (!w->filter.ns.n && w->filter.fields.n && (kind->flags & SCHEMA_NAMESPACED))
		w->filter.ns = selector_required_value(&w->filter.fields,
						       STR("metadata.namespace"));
	all = watch_form_is_plain(&w->opts.form) && !w->filter.labels.n && !w->filter.fields.n;
	w->plain = all && !w->filter.ns.n;
	w->whole = all && w->filter.ns.n;
}

void watch_start(struct state *st, size_t lane, struct http_stream *s,
		 const struct watch_opts *opts)
{
	struct watch *w = XNEW(struct watch);
	struct lane *l = st->lanes[lane];

	w->lane = l;
	w->stream = http_stream_ref(s);
	w->opened.fn = on_opened;
	w->job = (struct job){ .home = l->loop, .run = open_job };
	list_init(&w->link);
	list_init(&w->spot.link);
	list_init(&w->asking);
	loop_timer_init(&w->timer, l->loop, watch_on_timer);
	loop_task_init(&w->more, pump_more);
	copy_opts(w, opts);
	if (opts->kind->custom)
		w->custom = crd_ref(crd_of(opts->kind));
	s->ops = &watch_ops;
	s->data = w;
	if (l->stopping) {
		(void)error_set(&w->err, ERR_UNAVAILABLE, "the server is shutting down");
		w->phase = WATCH_OVER;
		answer_error(w);
		return;
	}
	l->opening++;
	state_submit(st, &w->job);
}
