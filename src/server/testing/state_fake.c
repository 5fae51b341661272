/*
 * One log holds all changes; a store is a position in it. Stores of other loops are woken by a
 * message, so that in a simulation each loop accesses the data in its own turns.
 */
#include "server/testing/state_fake.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "net/loop/loop.h"
#include "store/backend.h"

struct fake_store;

struct change {
	struct store_key key; /* in the data's arena */
	int64_t revision;
	struct bytes *value; /* NULL: deleted */
	size_t before; /* previous change of the key: its index in the log plus one; 0: none */
	struct fake_store *by;
	struct store_write *write;
};

struct fake_data {
	struct arena arena;
	VEC(struct change) log;
	struct map newest; /* text of a key -> index plus one */
	struct map guards; /* name -> the last revision that touched it */
	int64_t revision, compacted;
	VEC(struct fake_store *) stores;
};

/* A write, until the store is closed. */
struct fake_write {
	struct list link;
	struct store_write *write;
	struct fake_write *after;
	int result;
	int64_t revision;
	/* For a write that a guard or a basis rejected: the feed must show this revision first. */
	int64_t touched;
};

struct fake_store {
	struct store store;
	struct fake_data *data;
	struct fake_opts opts;
	struct prng prng;
	struct store_feed feed;
	size_t fed; /* index in the log */
	bool following;
	bool lost;
	bool hold;
	const char *hold_name; /* or NULL */
	struct list queue; /* fake_write: to be committed */
	struct list settled;
	struct list refused; /* fake_write: rejected by a guard or a basis */
	struct loop_timer commit, deliver;
	struct loop_msg wake;
	bool woken, closing;
	unsigned fail_next, asked, reading;
	enum error_code fail_code;
	unsigned fail_reads;
	enum error_code fail_reads_code;
	void (*closed)(void *arg);
	void *closed_arg;
	struct loop_task close;
};

static struct fake_store *state_fake_of(struct store *s)
{
	return CONTAINER_OF(s, struct fake_store, store);
}

static int64_t delay(struct fake_store *s)
{
	return s->opts.delay_ms ? (int64_t)prng_below(&s->prng, (uint64_t)s->opts.delay_ms + 1) : 0;
}

static bool chance(struct fake_store *s, double p)
{
	return p > 0 && prng_unit(&s->prng) < p;
}

/* --- data ------------------------------------------------------------------------- */

struct fake_data *fake_data_new(void)
{
	struct fake_data *d = XNEW(struct fake_data);

	arena_init(&d->arena, SIZE_MAX);
	vec_init(&d->log, 10 * 1000 * 1000);
	vec_init(&d->stores, 16);
	map_init(&d->newest);
	map_init(&d->guards);
	d->revision = 1;
	return d;
}

void fake_data_free(struct fake_data *d)
{
	if (!d)
		return;
	assert(d->stores.n == 0);
	for (size_t i = 0; i < d->log.n; i++)
		bytes_unref(d->log.v[i].value);
	vec_release(&d->log);
	vec_release(&d->stores);
	map_release(&d->newest);
	map_release(&d->guards);
	arena_release(&d->arena);
	free(d);
}

static struct str key_text(struct arena *a, struct store_key k)
{
	return str_from(arena_printf(a, "%.*s|%.*s|%.*s", STR_ARG(k.resource), STR_ARG(k.ns),
				     STR_ARG(k.name)));
}

/* Index plus one of the key's last change; 0 if not found. */
static size_t newest(struct fake_data *d, struct store_key k)
{
	return (size_t)(uintptr_t)map_get(&d->newest, key_text(&d->arena, k));
}

static int64_t key_revision(struct fake_data *d, struct store_key k)
{
	size_t at = newest(d, k);

	return at && d->log.v[at - 1].value ? d->log.v[at - 1].revision : 0;
}

static void wake_stores(struct fake_data *d)
{
	for (size_t i = 0; i < d->stores.n; i++) {
		struct fake_store *s = d->stores.v[i];

		if (s->woken)
			continue;
		s->woken = true;
		loop_post(s->store.loop, &s->wake);
	}
}

static int64_t state_fake_append(struct fake_data *d, struct store_key k, struct bytes *value,
				 struct fake_store *by, struct store_write *w)
{
	struct change c = { .revision = ++d->revision, .value = value, .by = by, .write = w };

	c.key = (struct store_key){ arena_str(&d->arena, k.resource), arena_str(&d->arena, k.ns),
				    arena_str(&d->arena, k.name) };
	c.before = newest(d, k);
	(void)vec_push(&d->log, c);
	(void)map_put(&d->newest, key_text(&d->arena, k), (void *)(uintptr_t)d->log.n);
	wake_stores(d);
	return c.revision;
}

int64_t fake_data_put(struct fake_data *d, struct str resource, struct str ns, struct str name,
		      struct str value)
{
	return state_fake_append(d, (struct store_key){ resource, ns, name },
				 value.n ? bytes_copy(value) : NULL, NULL, NULL);
}

int64_t fake_data_put_guarded(struct fake_data *d, const struct store_key *key, struct str value,
			      struct str guard)
{
	int64_t revision = fake_data_put(d, key->resource, key->ns, key->name, value);

	(void)map_put(&d->guards, arena_str(&d->arena, guard), (void *)(intptr_t)revision);
	return revision;
}

int64_t fake_data_revision(const struct fake_data *d)
{
	return d->revision;
}

void fake_data_compact(struct fake_data *d, int64_t revision)
{
	d->compacted = revision;
}

/* --- writing ---------------------------------------------------------------------- */

static void state_fake_finish(struct fake_store *s, struct store_write *w, int r, const char *why)
{
	struct error err;

	s->store.pending--;
	if (r < 0)
		(void)error_set(&err, (enum error_code) - r, "%s", why);
	w->done(w, r < 0 ? &err : NULL);
	if (s->closing)
		loop_defer(s->store.loop, &s->close);
}

/* The newest revision that touched one of the guards, if that is after the view; else 0. */
static int64_t touched_after_view(struct fake_store *s, const struct store_write *w)
{
	int64_t newest_touch = 0;

	for (size_t i = 0; i < w->nguards && !s->opts.local; i++)
		newest_touch = MAX(newest_touch,
				   (int64_t)(intptr_t)map_get(&s->data->guards, w->guards[i]));
	return newest_touch > w->view ? newest_touch : 0;
}

/* The last revision at which a basis was changed or deleted; 0 if none was. */
static int64_t basis_lost_at(struct fake_store *s, const struct store_write *w)
{
	int64_t lost = 0;

	for (size_t i = 0; i < STORE_BASES_MAX && !s->opts.local; i++) {
		const struct store_basis *b = &w->bases[i];
		size_t place = b->at ? newest(s->data, b->key) : 0;

		if (place && key_revision(s->data, b->key) != b->at)
			lost = MAX(lost, s->data->log.v[place - 1].revision);
	}
	return lost;
}

static void touch_guards(struct fake_store *s, const struct store_write *w, int64_t revision)
{
	for (size_t i = 0; i < w->nguards; i++)
		(void)map_put(&s->data->guards, arena_str(&s->data->arena, w->guards[i]),
			      (void *)(intptr_t)revision);
}

static int state_fake_decide(struct fake_store *s, struct fake_write *f)
{
	int64_t expected = f->write->expected;

	if (f->after && f->after->result < 0)
		return -ERR_CONFLICT;
	if (f->after)
		expected = f->after->revision;
	if (s->fail_next && s->fail_next--)
		return -(int)s->fail_code;
	if (chance(s, s->opts.fail))
		return -ERR_UNAVAILABLE;
	if (key_revision(s->data, f->write->key) != expected)
		return -ERR_CONFLICT;
	f->touched = MAX(touched_after_view(s, f->write), basis_lost_at(s, f->write));
	return f->touched ? -ERR_CONFLICT : 0;
}

/* Ends the rejected writes whose reason the feed has shown. */
static void finish_refused(struct fake_store *s)
{
	int64_t seen = s->fed ? s->data->log.v[s->fed - 1].revision : 0;

	LIST_FOREACH_SAFE (node, &s->refused) {
		struct fake_write *f = LIST_ENTRY(node, struct fake_write, link);

		if (s->following && f->touched > seen)
			continue;
		list_remove(node);
		list_push_back(&s->settled, node);
		state_fake_finish(s, f->write, -ERR_CONFLICT,
				  "a guard was touched, or a basis changed");
	}
}

static void commit_one(struct fake_store *s, struct fake_write *f)
{
	struct store_write *w = f->write;
	bool unknown = chance(s, s->opts.unknown);

	f->result = state_fake_decide(s, f);
	if (f->touched) {
		list_remove(&f->link);
		list_push_back(&s->refused, &f->link);
		finish_refused(s);
		return;
	}
	if (f->result < 0) {
		state_fake_finish(s, w, f->result, "not as expected");
		return;
	}
	f->revision = state_fake_append(s->data, w->key, w->value ? bytes_ref(w->value) : NULL, s,
					unknown ? NULL : w);
	w->revision = f->revision;
	touch_guards(s, w, f->revision);
	if (!w->value)
		f->revision = 0; /* a write after it expects that nothing exists */
	if (unknown) {
		f->result = -ERR_TIMEOUT;
		state_fake_finish(s, w, -ERR_TIMEOUT, "no answer");
	}
}

/* The first write of the queue that is not held back; NULL if all are. */
static struct fake_write *next_write(const struct fake_store *s)
{
	LIST_FOREACH (it, &s->queue) {
		struct fake_write *f = LIST_ENTRY(it, struct fake_write, link);

		if (!s->hold_name || !str_eqz(f->write->key.name, s->hold_name))
			return s->hold ? NULL : f;
	}
	return NULL;
}

static void on_commit(struct loop_timer *t)
{
	struct fake_store *s = CONTAINER_OF(t, struct fake_store, commit);
	uint64_t n = s->opts.delay_ms ? 1 + prng_below(&s->prng, 20) : UINT64_MAX;
	struct fake_write *f;

	for (; n > 0 && (f = next_write(s)); n--) {
		list_remove(&f->link);
		list_push_back(&s->settled, &f->link);
		commit_one(s, f);
	}
	if (next_write(s))
		loop_timer_start(t, delay(s));
}

static void fake_write(struct store *st, struct store_write *w)
{
	struct fake_store *s = state_fake_of(st);
	struct fake_write *f = XNEW(struct fake_write);

	assert(!s->closing);
	f->write = w;
	f->after = w->after ? w->after->state : NULL;
	w->state = f;
	st->pending++;
	list_push_back(&s->queue, &f->link);
	if (!loop_timer_running(&s->commit) && !s->hold)
		loop_timer_start(&s->commit, delay(s));
}

/* --- the feed --------------------------------------------------------------------- */

static void deliver_batch(struct fake_store *s, size_t to)
{
	size_t n = to - s->fed, from = s->fed;
	struct store_event *events = xcalloc(n, sizeof(*events));

	for (size_t i = 0; i < n; i++) {
		struct change *c = &s->data->log.v[from + i];

		events[i] = (struct store_event){ .key = c->key,
						  .revision = c->revision,
						  .value = c->value,
						  .write = c->by == s ? c->write : NULL };
	}
	s->fed = to;
	s->feed.on_events(s->feed.arg, events, n, s->data->log.v[to - 1].revision);
	for (size_t i = 0; i < n; i++)
		if (events[i].write)
			state_fake_finish(s, events[i].write, 0, NULL);
	free(events);
}

/* A store without a feed still completes its writes. */
static void deliver_done(struct fake_store *s)
{
	while (s->fed < s->data->log.n) {
		struct change *c = &s->data->log.v[s->fed++];

		if (c->by == s && c->write)
			state_fake_finish(s, c->write, 0, NULL);
	}
}

static void lose(struct fake_store *s)
{
	struct error err;

	s->lost = s->following = false;
	(void)error_set(&err, ERR_EXPIRED, "the feed is lost");
	s->feed.on_lost(s->feed.arg, &err);
}

static void on_deliver(struct loop_timer *t)
{
	struct fake_store *s = CONTAINER_OF(t, struct fake_store, deliver);
	size_t left = s->data->log.n - s->fed;

	if (s->lost)
		lose(s);
	if (!s->following)
		deliver_done(s);
	else if (left)
		deliver_batch(s,
			      s->fed + (s->opts.delay_ms ? 1 + prng_below(&s->prng, left) : left));
	finish_refused(s);
	if (s->following && s->fed < s->data->log.n)
		loop_timer_start(t, delay(s));
}

static void on_wake(struct loop_msg *m)
{
	struct fake_store *s = CONTAINER_OF(m, struct fake_store, wake);

	s->woken = false;
	if (s->closing)
		loop_defer(s->store.loop, &s->close);
	if (!loop_timer_running(&s->deliver))
		loop_timer_start(&s->deliver, delay(s));
}

static void fake_follow(struct store *st, int64_t revision, const struct store_feed *feed)
{
	struct fake_store *s = state_fake_of(st);

	assert(!s->following);
	s->feed = *feed;
	s->following = true;
	s->lost = false;
	deliver_done(s);
	while (s->fed > 0 && s->data->log.v[s->fed - 1].revision > revision)
		s->fed--;
	for (size_t i = s->fed; i < s->data->log.n; i++)
		if (s->data->log.v[i].by == s)
			s->data->log.v[i].write = NULL; /* already delivered */
	if (s->fed < s->data->log.n)
		loop_timer_start(&s->deliver, delay(s));
}

/* --- reading ---------------------------------------------------------------------- */

struct reading {
	struct loop_timer timer;
	struct fake_store *store;
	struct store_range range;
	struct arena *arena;
	void (*range_done)(void *arg, const struct store_range_result *result,
			   const struct error *err);
	void (*current_done)(void *arg, int64_t revision, const struct error *err);
	void *arg;
	int64_t revision;
};

static int by_key(const void *a, const void *b)
{
	const struct store_item *x = a, *y = b;
	int c = str_cmp(x->key.ns, y->key.ns);

	return c ? c : str_cmp(x->key.name, y->key.name);
}

static bool in_range(const struct store_range *q, const struct change *c)
{
	int behind = str_cmp(c->key.ns, q->after_ns);

	if (!str_eq(c->key.resource, q->resource) || (q->ns.n && !str_eq(q->ns, c->key.ns)))
		return false;
	if (!q->after_ns.n && !q->after_name.n)
		return true;
	return behind > 0 || (behind == 0 && str_cmp(c->key.name, q->after_name) > 0);
}

/* Returns true if no later change up to the revision has the key. */
static bool is_last(const struct fake_data *d, size_t at, int64_t revision)
{
	size_t last = newest((struct fake_data *)d, d->log.v[at].key);

	while (d->log.v[last - 1].revision > revision)
		last = d->log.v[last - 1].before;
	return last == at + 1;
}

static void read_range(struct reading *r, struct store_range_result *ret)
{
	const struct fake_data *d = r->store->data;

	ret->items = ARENA_ARRAY(r->arena, struct store_item, d->log.n + 1);
	for (size_t i = 0; i < d->log.n && d->log.v[i].revision <= ret->revision; i++) {
		const struct change *c = &d->log.v[i];

		if (c->value && in_range(&r->range, c) && is_last(d, i, ret->revision))
			ret->items[ret->n++] = (struct store_item){
				.key = c->key,
				.revision = c->revision,
				.value = { c->value->data, c->value->n, NULL },
			};
	}
	qsort(ret->items, ret->n, sizeof(*ret->items), by_key);
	if (r->range.limit && ret->n > r->range.limit) {
		ret->n = r->range.limit;
		ret->more = true;
	}
}

static void state_fake_on_read(struct loop_timer *t)
{
	struct reading *r = CONTAINER_OF(t, struct reading, timer);
	struct fake_data *d = r->store->data;
	struct store_range_result result = { .revision = r->range.revision };
	struct error err;

	if (r->store->fail_reads && r->store->fail_reads--) {
		(void)error_set(&err, r->store->fail_reads_code, "the store does not answer");
		if (r->current_done)
			r->current_done(r->arg, 0, &err);
		else
			r->range_done(r->arg, NULL, &err);
	} else if (r->current_done) {
		r->current_done(r->arg, r->revision, NULL);
	} else if (r->range.revision && r->range.revision < d->compacted) {
		(void)error_set(&err, ERR_EXPIRED, "compacted");
		r->range_done(r->arg, NULL, &err);
	} else {
		if (!result.revision)
			result.revision = d->revision;
		read_range(r, &result);
		r->range_done(r->arg, &result, NULL);
	}
	r->store->reading--;
	if (r->store->closing)
		loop_defer(r->store->store.loop, &r->store->close);
	free(r);
}

static struct reading *reading_new(struct store *st, void *arg)
{
	struct reading *r = XNEW(struct reading);

	r->store = state_fake_of(st);
	r->store->reading++;
	r->arg = arg;
	loop_timer_init(&r->timer, st->loop, state_fake_on_read);
	loop_timer_start(&r->timer, delay(r->store));
	return r;
}

static void fake_range(struct store *st, const struct store_range *range, struct arena *arena,
		       void (*done)(void *arg, const struct store_range_result *result,
				    const struct error *err),
		       void *arg)
{
	struct reading *r = reading_new(st, arg);

	r->range = *range;
	r->range.resource = arena_str(arena, range->resource);
	r->range.ns = arena_str(arena, range->ns);
	r->range.after_ns = arena_str(arena, range->after_ns);
	r->range.after_name = arena_str(arena, range->after_name);
	r->arena = arena;
	r->range_done = done;
}

static void fake_current(struct store *st,
			 void (*done)(void *arg, int64_t revision, const struct error *err),
			 void *arg)
{
	struct reading *r = reading_new(st, arg);

	r->current_done = done;
	r->revision = r->store->data->revision;
	r->store->asked++;
}

/* Drops the oldest changes beyond the limit. */
static void fake_past_cut(struct store_past *p, size_t max_bytes)
{
	size_t bytes = 0, i = p->n;

	for (; i > 0 && bytes < max_bytes; i--)
		bytes += p->changes[i - 1].value.n + p->changes[i - 1].prev.n;
	if (i > 0)
		p->from = p->changes[i - 1].revision;
	p->changes += i;
	p->n -= i;
}

static int fake_history(struct store *st, struct str resource, int64_t revision, size_t max_bytes,
			struct arena *arena, struct store_past *ret_past, struct error *err UNUSED)
{
	struct fake_data *d = state_fake_of(st)->data;
	struct store_past past = { .from = MAX(revision, d->compacted) };

	past.changes = ARENA_ARRAY(arena, struct store_change, d->log.n + 1);
	for (size_t i = 0; i < d->log.n; i++) {
		const struct change *c = &d->log.v[i];
		const struct change *p = c->before ? &d->log.v[c->before - 1] : NULL;
		struct store_change *to = &past.changes[past.n];

		if (c->revision <= past.from || !str_eq(c->key.resource, resource))
			continue;
		*to = (struct store_change){ .key = c->key, .revision = c->revision };
		if (c->value)
			to->value = (struct slice){ c->value->data, c->value->n };
		if (p && p->value) {
			to->prev = (struct slice){ p->value->data, p->value->n };
			to->prev_revision = p->revision;
		}
		past.n++;
	}
	fake_past_cut(&past, max_bytes);
	*ret_past = past;
	return 0;
}

/* --- the rest --------------------------------------------------------------------- */

static void state_fake_on_close(struct loop_task *t)
{
	struct fake_store *s = CONTAINER_OF(t, struct fake_store, close);
	struct list *node;

	/* A message that is under way arrives first, and calls this again. */
	if (s->store.pending || s->woken || s->reading)
		return;
	loop_timer_stop(&s->commit);
	loop_timer_stop(&s->deliver);
	for (size_t i = 0; i < s->data->stores.n; i++)
		if (s->data->stores.v[i] == s)
			vec_remove(&s->data->stores, i);
	while ((node = list_pop_front(&s->settled)))
		free(LIST_ENTRY(node, struct fake_write, link));
	s->closed(s->closed_arg);
	free(s);
}

static void fake_close(struct store *st, void (*closed)(void *arg), void *arg)
{
	struct fake_store *s = state_fake_of(st);

	s->closing = true;
	s->closed = closed;
	s->closed_arg = arg;
	fake_store_hold(st, false);
	loop_defer(st->loop, &s->close);
}

static int fake_health(struct store *st UNUSED, struct error *err UNUSED)
{
	return 0;
}

static void fake_compact(struct store *st, int64_t revision,
			 void (*done)(void *arg, const struct error *err), void *arg)
{
	fake_data_compact(state_fake_of(st)->data, revision);
	done(arg, NULL);
}

static int64_t fake_compacted(const struct store *st)
{
	return CONTAINER_OF(st, const struct fake_store, store)->data->compacted;
}

static struct str fake_cluster_id(const struct store *st UNUSED)
{
	return STR("fake");
}

static const struct store_ops fake_ops = {
	.close = fake_close,
	.write = fake_write,
	.health = fake_health,
	.range = fake_range,
	.current = fake_current,
	.follow = fake_follow,
	.history = fake_history,
	.compact = fake_compact,
	.compacted = fake_compacted,
	.cluster_id = fake_cluster_id,
};

struct store *fake_store_open(struct loop *l, struct fake_data *d, const struct fake_opts *opts)
{
	struct fake_store *s = XNEW(struct fake_store);

	s->store = (struct store){ .ops = &fake_ops, .loop = l, .local = opts->local };
	s->data = d;
	s->opts = *opts;
	s->fed = d->log.n;
	prng_init(&s->prng, opts->seed);
	list_init(&s->queue);
	list_init(&s->settled);
	list_init(&s->refused);
	loop_timer_init(&s->commit, l, on_commit);
	loop_timer_init(&s->deliver, l, on_deliver);
	loop_task_init(&s->close, state_fake_on_close);
	s->wake.fn = on_wake;
	(void)vec_push(&d->stores, s);
	return &s->store;
}

void fake_store_lose(struct store *st)
{
	struct fake_store *s = state_fake_of(st);

	s->lost = s->following;
	loop_timer_start(&s->deliver, delay(s));
}

void fake_store_fail(struct store *st, unsigned n, enum error_code code)
{
	state_fake_of(st)->fail_next = n;
	state_fake_of(st)->fail_code = code;
}

void fake_store_fail_reads(struct store *st, unsigned n, enum error_code code)
{
	state_fake_of(st)->fail_reads = n;
	state_fake_of(st)->fail_reads_code = code;
}

void fake_store_hold(struct store *st, bool hold)
{
	struct fake_store *s = state_fake_of(st);

	s->hold = hold;
	if (!hold && !list_empty(&s->queue) && !loop_timer_running(&s->commit))
		loop_timer_start(&s->commit, delay(s));
}

void fake_store_hold_name(struct store *st, const char *name)
{
	state_fake_of(st)->hold_name = name;
	fake_store_hold(st, state_fake_of(st)->hold);
}

unsigned fake_store_asked(const struct store *st)
{
	return CONTAINER_OF(st, struct fake_store, store)->asked;
}
