/*
 * Messages come from one loop, the state's, in order. They are posted or, if that is also the
 * lane's loop, put in a list that a deferred task empties. The state knows what it has sent
 * (struct resource_sub), so it knows what a lane lacks without asking. The stop message is the
 * last one that the state sends by itself. After it the state only answers requests, and the lane
 * counts those that are open. So when the lane reports that it has stopped, no message is on its
 * way to it, and it can be freed.
 */
#include "server/engine/lane.h"

#include <assert.h>
#include <stdlib.h>

#include "api/crd/crd.h"
#include "base/core/mem.h"
#include "server/engine/sequencer.h"
#include "server/engine/watch_impl.h"

/* One commit batch. */
struct batch {
	struct lane_msg msg;
	size_t n;
	struct {
		struct lane_feed *feed;
		struct ring_chunk *chunk; /* a reference; NULL: only `first` has changed */
		uint64_t first; /* chunks before this one were dropped */
	} v[];
};

/* The last watch of a feed has left: drops its chunks. */
struct drop {
	struct lane_msg msg;
	struct lane_feed *feed;
};

/* Reports to the state that a watch has left. */
struct left {
	struct loop_msg msg;
	struct lane_feed *feed;
};

static void take_inbox(struct loop_task *t);
static void on_ask(struct loop_msg *m);
static void lane_on_answer(struct lane_msg *m);
static void on_stop_done(struct loop_msg *m);

struct lane *lane_new(struct state *st, size_t number, struct loop *loop)
{
	struct lane *l = XNEW(struct lane);

	l->state = st;
	l->loop = loop;
	l->number = number;
	list_init(&l->feeds);
	list_init(&l->watches);
	list_init(&l->inbox);
	list_init(&l->asking);
	lane_texts_init(&l->texts);
	loop_task_init(&l->take, take_inbox);
	l->ask.fn = on_ask;
	l->answer.fn = lane_on_answer;
	l->stop_done.fn = on_stop_done;
	return l;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	assert(list_empty(&l->watches) && list_empty(&l->inbox));
	lane_texts_drop(&l->texts, NULL);
	free(l);
}

struct lane_feed *lane_feed_new(struct lane *l, struct resource *r)
{
	struct lane_feed *f = XNEW(struct lane_feed);

	f->lane = l;
	f->resource = r;
	f->kind = r->kind;
	f->custom = r->custom ? crd_ref(r->custom) : NULL;
	list_init(&f->link);
	list_init(&f->plain);
	watch_index_init(&f->index);
	return f;
}

void lane_feed_free(struct lane_feed *f)
{
	list_remove(&f->link);
	ring_span_release(&f->span);
	watch_index_release(&f->index);
	crd_unref(f->custom);
	free(f);
}

/* --- messages --------------------------------------------------------------------- */

static void on_posted(struct loop_msg *m)
{
	struct lane_msg *lm = CONTAINER_OF(m, struct lane_msg, msg);

	lm->fn(lm);
}

static void take_inbox(struct loop_task *t)
{
	struct lane *l = CONTAINER_OF(t, struct lane, take);
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, &l->inbox);
	while ((node = list_pop_front(&now))) {
		struct lane_msg *m = LIST_ENTRY(node, struct lane_msg, link);

		m->fn(m);
	}
}

void lane_post(struct lane *l, struct lane_msg *m)
{
	m->lane = l;
	if (l->loop != l->state->loop) {
		m->msg.fn = on_posted;
		loop_post(l->loop, &m->msg);
		return;
	}
	list_push_back(&l->inbox, &m->link);
	loop_defer(l->loop, &l->take);
}

/* --- batches ---------------------------------------------------------------------- */

static void on_batch(struct lane_msg *m)
{
	struct batch *b = CONTAINER_OF(m, struct batch, msg);

	for (size_t i = 0; i < b->n; i++) {
		struct lane_feed *f = b->v[i].feed;

		ring_span_trim(&f->span, b->v[i].first);
		if (!b->v[i].chunk)
			continue;
		ring_span_add(&f->span, b->v[i].chunk);
		watch_deliver(f, b->v[i].chunk);
	}
	free(b);
}

static void lane_put(struct batch *b, size_t at, struct lane *l, const struct resource *r,
		     struct ring_chunk *chunk)
{
	b->v[at].feed = r->subs[l->number].feed;
	b->v[at].chunk = chunk;
	b->v[at].first = r->ring.span.first;
}

/* Collects the chunks that a lane must get; b NULL: only counts them. */
static size_t lane_gather(struct lane *l, struct batch *b)
{
	size_t n = 0;

	LIST_FOREACH (node, &l->state->dirty) {
		struct resource *r = LIST_ENTRY(node, struct resource, dirty);
		struct ring_span *span = &r->ring.span;

		if (!r->subs[l->number].watchers)
			continue;
		if (b && r->batch == span->end)
			lane_put(b, n, l, r, NULL);
		for (uint64_t seq = r->batch; b && seq < span->end; seq++)
			lane_put(b, n + seq - r->batch, l, r,
				 ring_chunk_ref(ring_span_at(span, seq)));
		n += MAX(span->end - r->batch, (uint64_t)1);
	}
	return n;
}

void lane_tell_batch(struct lane *l)
{
	size_t n = l->state->watches_stopped ? 0 : lane_gather(l, NULL);
	struct batch *b;

	if (n == 0)
		return;
	b = xmalloc(sizeof(*b) + n * sizeof(b->v[0]));
	b->msg.fn = on_batch;
	b->n = lane_gather(l, b);
	lane_post(l, &b->msg);
}

/* --- subscriptions ---------------------------------------------------------------- */

void lane_subscribe(struct lane *l, struct resource *r, uint64_t from, struct lane_past *ret_past)
{
	struct resource_sub *sub = &r->subs[l->number];
	struct ring_span *span = &r->ring.span;

	if (sub->watchers++ == 0)
		sub->first = span->end;
	*ret_past = (struct lane_past){ .end = span->end };
	if (from >= sub->first)
		return;
	ret_past->chunks = xcalloc(sub->first - from, sizeof(struct ring_chunk *));
	for (uint64_t seq = from; seq < sub->first; seq++)
		ret_past->chunks[ret_past->n++] = ring_chunk_ref(ring_span_at(span, seq));
	sub->first = from;
}

void lane_extend(struct lane_feed *f, struct lane_past *past)
{
	if (list_empty(&f->link))
		list_push_back(&f->lane->feeds, &f->link);
	if (f->span.first == f->span.end)
		f->span.first = f->span.end = past->end;
	for (size_t i = past->n; i > 0; i--)
		ring_span_add(&f->span, past->chunks[i - 1]);
	assert(f->span.end == past->end);
	free(past->chunks);
	*past = (struct lane_past){ 0 };
}

static void lane_forget(struct lane_feed *f)
{
	ring_span_clear(&f->span);
	lane_texts_drop(&f->lane->texts, f);
}

static void on_drop(struct lane_msg *m)
{
	struct drop *d = CONTAINER_OF(m, struct drop, msg);

	lane_forget(d->feed);
	list_remove(&d->feed->link);
	free(d);
}

static void on_left(struct loop_msg *m)
{
	struct left *left = CONTAINER_OF(m, struct left, msg);
	struct lane *l = left->feed->lane;
	struct resource *r = left->feed->resource;
	struct drop *d;

	free(left);
	if (--r->subs[l->number].watchers > 0 || l->state->watches_stopped)
		return;
	d = XNEW(struct drop);
	d->feed = r->subs[l->number].feed;
	d->msg.fn = on_drop;
	lane_post(l, &d->msg);
}

void lane_leave(struct lane_feed *f)
{
	struct left *left = XNEW(struct left);

	left->feed = f;
	left->msg.fn = on_left;
	state_tell(f->lane->state, f->lane->loop, &left->msg);
}

/* --- losses ----------------------------------------------------------------------- */

static void lane_on_lost(struct lane_msg *m)
{
	struct lane *l = m->lane;

	LIST_FOREACH (node, &l->feeds)
		ring_span_clear(&LIST_ENTRY(node, struct lane_feed, link)->span);
	lane_texts_drop(&l->texts, NULL);
	LIST_FOREACH_SAFE (node, &l->watches)
		watch_expire(LIST_ENTRY(node, struct watch, link));
	free(m);
}

void lane_tell_lost(struct lane *l)
{
	struct lane_msg *m;

	if (l->state->watches_stopped)
		return;
	for (size_t i = 0; i < l->state->nresources; i++) {
		struct resource *r = l->state->resources[i];

		r->subs[l->number].first = r->ring.span.end;
	}
	m = XNEW(struct lane_msg);
	m->fn = lane_on_lost;
	lane_post(l, m);
}

/* --- other kinds ------------------------------------------------------------------ */

struct changed {
	struct lane_msg msg;
	struct lane_feed *feed;
	const struct schema_kind *kind;
	struct crd *custom; /* a reference for the feed */
};

static void lane_on_changed(struct lane_msg *m)
{
	struct changed *c = CONTAINER_OF(m, struct changed, msg);
	struct lane_feed *f = c->feed;

	LIST_FOREACH_SAFE (node, &f->lane->watches) {
		struct watch *w = LIST_ENTRY(node, struct watch, link);

		if (w->feed == f)
			watch_end(w);
	}
	lane_forget(f);
	crd_unref(f->custom);
	f->kind = c->kind;
	f->custom = c->custom;
	free(c);
}

void lane_tell_changed(struct lane *l, struct resource *r)
{
	struct changed *c;

	if (l->state->watches_stopped)
		return;
	r->subs[l->number].first = r->ring.span.end;
	c = XNEW(struct changed);
	c->feed = r->subs[l->number].feed;
	c->kind = r->kind;
	c->custom = crd_ref(r->custom);
	c->msg.fn = lane_on_changed;
	lane_post(l, &c->msg);
}

/* --- revoked watches -------------------------------------------------------------- */

static void on_revoked(struct lane_msg *m)
{
	LIST_FOREACH_SAFE (node, &m->lane->watches) {
		struct watch *w = LIST_ENTRY(node, struct watch, link);

		if (watch_is_revoked(w))
			watch_end(w);
	}
	free(m);
}

void lane_tell_revoked(struct lane *l)
{
	struct lane_msg *m = XNEW(struct lane_msg);

	m->fn = on_revoked;
	lane_post(l, m);
}

/* --- progress --------------------------------------------------------------------- */

static void on_ask(struct loop_msg *m)
{
	struct lane *l = CONTAINER_OF(m, struct lane, ask);

	l->answer_revision = l->state->revision;
	lane_post(l, &l->answer);
}

static void lane_on_answer(struct lane_msg *m)
{
	struct lane *l = CONTAINER_OF(m, struct lane, answer);
	struct list now, *node;

	l->asked = false;
	list_init(&now);
	list_splice_back(&now, &l->asking);
	while ((node = list_pop_front(&now)))
		watch_progress(LIST_ENTRY(node, struct watch, asking), l->answer_revision);
	lane_stop_step(l);
}

void lane_ask(struct lane *l)
{
	if (l->asked)
		return;
	l->asked = true;
	state_tell(l->state, l->loop, &l->ask);
}

/* --- stopping --------------------------------------------------------------------- */

static void on_stop_done(struct loop_msg *m)
{
	struct lane *l = CONTAINER_OF(m, struct lane, stop_done);

	l->state->lanes_left--;
	state_stop_step(l->state);
}

void lane_stop_step(struct lane *l)
{
	if (!l->stopping || l->stopped || l->opening || l->asked)
		return;
	l->stopped = true;
	state_tell(l->state, l->loop, &l->stop_done);
}

static void lane_on_stop(struct lane_msg *m)
{
	struct lane *l = m->lane;

	l->stopping = true;
	LIST_FOREACH_SAFE (node, &l->watches)
		watch_end(LIST_ENTRY(node, struct watch, link));
	free(m);
	lane_stop_step(l);
}

void lane_tell_stop(struct lane *l)
{
	struct lane_msg *m = XNEW(struct lane_msg);

	m->fn = lane_on_stop;
	lane_post(l, m);
}
