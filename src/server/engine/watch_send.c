/*
 * A current watch has no position: it gets each new chunk. If its stream is full, it records a
 * position and falls behind. When the stream has room again, the watch continues from there,
 * chunk by chunk, until it is current. New chunks are sent to plain watches in pieces, and so are
 * chunks of a single namespace to watches of that namespace. All other watches get single events,
 * and each event's line is made once and shared. Nothing is flushed here: connections flush once,
 * at the end of the turn.
 */
#include "base/report/metrics.h"
#include "net/http/http.h"
#include "server/engine/watch_impl.h"
#include "server/engine/watch_text.h"

enum {
	SCAN = 2000, /* events that one watch examines per turn; fewer if its selectors are long */
	SHARE_MAX = 16 * 1024, /* larger objects are sent by reference, not copied into a line */
};

static int64_t wall(const struct watch *w)
{
	return clock_wall(loop_clock(w->lane->loop));
}

static void send_bytes(struct watch *w, struct bytes *b)
{
	(void)http_stream_send(w->stream, (struct slice){ b->data, b->n, b });
}

/* Sends the object by reference, without making a line. */
static void send_object(struct watch *w, enum lane_form form, enum ring_type type, struct object *o)
{
	struct lane_line l = lane_line_of(form, w->feed->kind, type, o);
	struct slice body = { l.body.p, l.body.n, l.owner ? bytes_ref(l.owner) : NULL };
	struct bytes *head;

	if (l.head.n) {
		(void)http_stream_send(w->stream, slice_static(l.head));
	} else {
		head = bytes_new(protobuf_head_size(&l.frame, l.body.n));
		(void)protobuf_put_head(&l.frame, l.body.n, head->data);
		send_bytes(w, head);
	}
	(void)http_stream_send(w->stream, body);
	(void)http_stream_send(w->stream, slice_static(l.tail));
}

/* Sends an event to this watch alone. */
static void send_one(struct watch *w, enum ring_type type, struct object *o)
{
	enum lane_form form = watch_form_lane(&w->opts.form);

	if (form != LANE_NONE)
		send_object(w, form, type, o);
	else
		send_bytes(w, watch_text_event(&w->opts.form, type, o, !w->begun, wall(w)));
	w->begun = true;
}

static void send_shared(struct watch *w, enum ring_type type, struct watch_lines *lines)
{
	struct object *o = watch_lines_object(lines, type);
	bool columns = w->opts.form.as == WATCH_TABLE && !w->begun;

	if (columns || (watch_form_is_plain(&w->opts.form) && o->json->n > SHARE_MAX))
		send_one(w, type, o);
	else
		send_bytes(w, watch_lines_get(lines, &w->opts.form, type));
}

/* Adds the comparisons since the last call to the metric. */
static void count_evaluations(struct lane_feed *f)
{
	size_t n = f->index.evaluated;

	f->index.evaluated = 0;
	if (n && f->lane->state->evaluations_counter)
		metrics_counter_add(f->lane->state->evaluations_counter, n);
}

/* --- watches that are behind ------------------------------------------------------ */

static void send_initial(struct watch *w)
{
	struct resource_snapshot *s = w->snapshot;

	for (; w->at < s->n; w->at++) {
		if (http_stream_room(w->stream) == 0)
			return;
		send_one(w, RING_ADDED, s->items[w->at]);
	}
	if (w->opts.initial_end) {
		send_bytes(w, watch_text_bookmark(&w->opts.form, w->revision, true, !w->begun,
						  wall(w)));
		w->begun = true;
	}
	resource_snapshot_unref(s);
	w->snapshot = NULL;
	w->phase = WATCH_BEHIND;
	w->at = 0;
}

/* The piece that begins with the watch's next event; NULL if that is in the middle of a piece. */
static struct lane_piece *piece_at(struct watch *w, const struct ring_chunk *c)
{
	struct lane_text *t = lane_texts_get(&w->lane->texts, w->feed, c,
					     watch_form_lane(&w->opts.form));

	for (uint32_t i = 0; i < t->n; i++)
		if (t->pieces[i].from == w->at)
			return &t->pieces[i];
	return NULL;
}

/* Whether the watch gets every event of the chunk unchanged. */
static bool takes_all(const struct watch *w, const struct ring_chunk *c)
{
	return w->plain ||
	       (w->whole && c->one_space && str_eq(w->filter.ns, object_ns(c->events[0].object)));
}

/* Returns false if the stream is full. */
static bool send_plain(struct watch *w, const struct ring_chunk *c)
{
	while (w->at < c->n) {
		struct lane_piece *p;

		if (http_stream_room(w->stream) == 0)
			return false;
		p = piece_at(w, c);
		if (p) {
			send_bytes(w, bytes_ref(p->text));
			w->at = p->to;
		} else {
			send_one(w, c->events[w->at].type, c->events[w->at].object);
			w->at++;
		}
	}
	return true;
}

static bool send_matching(struct watch *w, const struct ring_chunk *c, size_t *budget)
{
	for (; w->at < c->n && *budget; w->at++, *budget -= MIN(*budget, w->scan_cost)) {
		struct watch_lines lines = { .event = &c->events[w->at] };
		enum ring_type type;

		if (!watch_index_match(&w->feed->index, &w->filter, lines.event, &type))
			continue;
		if (http_stream_room(w->stream) == 0)
			return false;
		send_one(w, type, watch_lines_object(&lines, type));
		watch_lines_release(&lines);
	}
	return *budget > 0 || w->at == c->n;
}

static void send_chunks(struct watch *w)
{
	struct ring_span *span = &w->feed->span;
	size_t budget = SCAN;

	while (w->seq < span->end) {
		struct ring_chunk *c;

		if (w->seq < span->first) {
			watch_expire(w);
			return;
		}
		c = ring_span_at(span, w->seq);
		if (!(takes_all(w, c) ? send_plain(w, c) : send_matching(w, c, &budget))) {
			if (!budget)
				loop_defer_last(w->lane->loop, &w->more);
			return;
		}
		w->seen = c->last;
		w->seq++;
		w->at = 0;
	}
	w->phase = WATCH_CURRENT;
}

static void send_behind(struct watch *w)
{
	struct lane_feed *f = w->feed;

	send_chunks(w);
	count_evaluations(f);
}

void watch_pump(struct watch *w)
{
	if (w->phase == WATCH_INITIAL)
		send_initial(w);
	if (w->phase == WATCH_BEHIND)
		send_behind(w);
}

/* --- current ---------------------------------------------------------------------- */

static void fall_behind(struct watch *w, const struct ring_chunk *c, size_t at)
{
	w->phase = WATCH_BEHIND;
	w->seq = c->seq;
	w->at = at;
}

static void deliver_plain(struct watch *w, const struct ring_chunk *c, const struct lane_text *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (http_stream_room(w->stream) == 0) {
			fall_behind(w, c, t->pieces[i].from);
			return;
		}
		send_bytes(w, bytes_ref(t->pieces[i].text));
	}
}

struct delivery {
	struct lane_feed *feed;
	struct ring_chunk *chunk;
	enum lane_form form; /* the form that is being delivered to watches that get everything */
	unsigned others; /* forms of the watches that were skipped: bits 1 << LANE_* */
	struct lane_text *text; /* of the chunk; NULL: not needed yet */
	bool behind; /* a watch that gets everything is behind */
	size_t at;
	struct watch_lines lines;
};

/* Sends the whole chunk. */
static void offer_all(struct watch_spot *spot, void *arg)
{
	struct watch *w = CONTAINER_OF(spot, struct watch, spot);
	struct delivery *d = arg;
	enum lane_form form = watch_form_lane(&w->opts.form);

	if (form != d->form) {
		d->others |= 1U << form;
		return;
	}
	if (w->phase == WATCH_CURRENT) {
		if (!d->text)
			d->text = lane_texts_get(&d->feed->lane->texts, d->feed, d->chunk, form);
		deliver_plain(w, d->chunk, d->text);
	}
	d->behind |= w->phase == WATCH_BEHIND;
}

/* Sends one event, which matches. */
static void offer(struct watch_spot *spot, enum ring_type type, void *arg)
{
	struct watch *w = CONTAINER_OF(spot, struct watch, spot);
	struct delivery *d = arg;

	if (w->phase != WATCH_CURRENT)
		return;
	if (http_stream_room(w->stream) == 0)
		fall_behind(w, d->chunk, d->at);
	else
		send_shared(w, type, &d->lines);
}

static void offer_as_it_is(struct watch_spot *spot, void *arg)
{
	const struct delivery *d = arg;

	offer(spot, d->lines.event->type, arg);
}

static void deliver_events(struct delivery *d)
{
	struct watch_index *x = &d->feed->index;
	struct ring_chunk *c = d->chunk;

	for (d->at = 0; d->at < c->n; d->at++) {
		const struct ring_event *e = &c->events[d->at];

		d->lines.event = e;
		d->lines.now_ns = clock_wall(loop_clock(d->feed->lane->loop));
		if (!c->one_space)
			watch_index_visit_whole(x, object_ns(e->object), offer_as_it_is, d);
		watch_index_visit(x, d->feed->kind, e, offer, d);
		watch_lines_release(&d->lines);
	}
}

/*
 * Delivers to the watches that get everything in one form. A text is valid until the next one is
 * requested.
 */
static void deliver_all(struct delivery *d, enum lane_form form)
{
	struct lane_feed *f = d->feed;
	struct ring_chunk *c = d->chunk;

	d->form = form;
	d->text = NULL;
	LIST_FOREACH (node, &f->plain)
		offer_all(LIST_ENTRY(node, struct watch_spot, link), d);
	if (c->one_space)
		watch_index_visit_whole(&f->index, object_ns(c->events[0].object), offer_all, d);
}

void watch_deliver(struct lane_feed *f, struct ring_chunk *c)
{
	struct delivery d = { .feed = f, .chunk = c };

	deliver_all(&d, LANE_JSON);
	for (enum lane_form form = LANE_JSON + 1; form < LANE_FORMS; form++)
		if (d.others & (1U << form))
			deliver_all(&d, form);
	if (!d.behind)
		lane_texts_drop(&f->lane->texts, f);
	if (!watch_index_empty(&f->index))
		deliver_events(&d);
	count_evaluations(f);
}

void watch_progress(struct watch *w, int64_t revision)
{
	if (w->phase != WATCH_CURRENT || http_stream_room(w->stream) == 0)
		return;
	send_bytes(w, watch_text_bookmark(&w->opts.form, revision, false, !w->begun, wall(w)));
	w->begun = true;
}
