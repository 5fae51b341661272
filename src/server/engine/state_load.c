/*
 * Reads everything: at the start, and again after the feed was lost. It reads page by page, all
 * resources at one revision, while the old objects are still served; then it replaces all of them
 * at once. At the start, the store's history fills the rings, so that watchers can resume. After
 * a loss it is unknown what was missed, so the rings begin anew and watches expire.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "server/cache/reclaim.h"
#include "server/engine/lane.h"
#include "server/engine/sequencer.h"
#include "store/sealed/value.h"

enum {
	PAGE = 2000,
	RETRY_MS = 1000,
	PAST_BYTES = 4 * 1024 * 1024, /* history per ring: small, so that starting is quick */
};

struct state_load {
	struct state *state;
	struct arena arena; /* for one page */
	size_t at; /* index of the current resource */
	int64_t revision; /* 0 until the first page */
	const struct object *last; /* of the previous page; NULL: first page */
};

static void read_page(struct state_load *load);

/* --- the past --------------------------------------------------------------------- */

/* The object of a past state: the known one, or a new one. */
static struct object *past_object(struct resource *r, struct object *known, struct slice value,
				  int64_t revision)
{
	struct object *o = NULL;

	if (known && known->revision == revision)
		return object_ref(known);
	(void)object_new(r->kind, str_of(value.p, value.n), revision, r->state->gates, &o, NULL);
	return o;
}

/* `latest`: key -> the object that its last change made; borrowed from the ring. */
static void past_add(struct resource *r, const struct store_change *c, struct map *latest,
		     struct arena *a)
{
	struct str key = resource_key(a, c->key.ns, c->key.name);
	struct object *prev = NULL, *o = NULL;

	if (c->prev.p)
		prev = past_object(r, map_get(latest, key), c->prev, c->prev_revision);
	if (c->value.p)
		o = past_object(r, resource_find(r, key), c->value, c->revision);
	else if (prev)
		o = object_at(prev, c->revision);
	if (!o) {
		object_unref(prev);
		return;
	}
	ring_add(&r->ring, &(struct ring_event){ .revision = c->revision,
						 .type = !c->value.p ? RING_DELETED
							 : prev      ? RING_MODIFIED
								     : RING_ADDED,
						 .object = o,
						 .prev = prev });
	(void)map_put(latest, o->key, o);
}

static void load_past(struct state *st, struct resource *r, struct arena *a)
{
	__attribute__((cleanup(map_release_cleanup))) struct map latest;
	struct store_past past;

	map_init(&latest);
	ring_restart(&r->ring, st->revision);
	if (store_history(st->store, r->name, 0, PAST_BYTES, a, &past, NULL) < 0)
		return;
	while (past.n > 0 && past.changes[past.n - 1].revision > st->revision)
		past.n--; /* the feed delivers it */
	r->ring.oldest = MIN(past.from, st->revision);
	for (size_t i = 0; i < past.n; i++)
		past_add(r, &past.changes[i], &latest, a);
	ring_seal(&r->ring);
	ring_trim(&r->ring, r->ring.span.end);
}

/* --- replacing the objects -------------------------------------------------------- */

static void state_load_place(struct state *st, struct resource *r, struct arena *a)
{
	bool again = st->loaded;

	resource_swap(r);
	if (again)
		ring_restart(&r->ring, st->revision);
	else
		load_past(st, r, a);
	if (r->expire)
		expire_loaded(r);
	if (r->objects_gauge)
		metrics_gauge_set(r->objects_gauge, (double)r->objects.count);
	arena_clear(a);
}

static void load_free(struct state_load *load)
{
	arena_release(&load->arena);
	free(load);
}

static void call_ready(struct state *st, const struct error *err)
{
	if (st->opts.on_ready)
		st->opts.on_ready(st->opts.arg, err);
	st->opts.on_ready = NULL;
}

static void state_load_finish(struct state_load *load)
{
	struct state *st = load->state;

	st->revision = MAX(st->revision, load->revision);
	for (size_t i = 0; i < st->nresources; i++)
		state_load_place(st, st->resources[i], &load->arena);
	for (size_t i = 0; i < st->nresources; i++)
		if (!state_observed_early(st->resources[i]))
			state_observe_all(st->resources[i], &st->resources[i]->objects);
	for (size_t i = 0; i < st->nlanes && st->loaded; i++)
		lane_tell_lost(st->lanes[i]);
	if (st->revision_gauge)
		metrics_gauge_set(st->revision_gauge, (double)st->revision);
	st->load = NULL;
	st->loaded = true;
	load_free(load);
	reclaim_flush(st->reclaim);
	mem_give_back();
	if (!st->stopping)
		state_feed_start(st);
	state_let_lanes_read(st, !st->stopping);
	state_run_jobs(st);
	state_sync_reached(st);
	call_ready(st, NULL);
	state_stop_step(st);
}

/* --- pages ------------------------------------------------------------------------ */

/* Whether a retry may help: the store may answer later. A damaged object stays damaged. */
static bool is_passing(const struct error *err)
{
	return err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT || err->code == ERR_EXPIRED;
}

/* Reading took longer than the store keeps a revision. */
static void explain_expired(struct error *failure)
{
	if (failure->code == ERR_EXPIRED)
		(void)error_set(
			failure, ERR_EXPIRED,
			"the store's history ended before everything was read, so loading starts "
			"again; if this repeats, configure etcd to keep a longer history");
}

static void state_load_fail(struct state_load *load, const struct error *err)
{
	struct state *st = load->state;
	bool first = !st->loaded;

	for (size_t i = 0; i < st->nresources; i++)
		resource_blocks_clear(&st->resources[i]->loading);
	st->load = NULL;
	st->load_error = *err;
	explain_expired(&st->load_error);
	load_free(load);
	if (st->stopping) {
		state_stop_step(st);
	} else if (first && !is_passing(err)) {
		call_ready(st, err);
	} else {
		loop_timer_start(&st->reload, err->code == ERR_EXPIRED ? 0 : RETRY_MS);
		if (st->opts.on_waiting)
			st->opts.on_waiting(st->opts.arg, &st->load_error);
	}
}

/* A sealed value is not damaged: this server has no keys. */
static int explain_sealed(const struct store_item *it, int r, struct error *err)
{
	if (!sealed_value_is(str_of(it->value.p, it->value.n)))
		return r;
	return error_set(err, ERR_INVALID,
			 "it is encrypted: start the server with the --encryption-provider-config "
			 "that it was written with");
}

static int take_page(struct state_load *load, const struct store_range_result *page,
		     struct error *err)
{
	struct state *st = load->state;
	struct resource *r = st->resources[load->at];
	struct object *o = NULL;

	for (size_t i = 0; i < page->n; i++) {
		const struct store_item *it = &page->items[i];
		int ret = object_new(r->kind, str_of(it->value.p, it->value.n), it->revision,
				     st->gates, &o, err);

		if (ret < 0) {
			ret = explain_sealed(it, ret, err);
			return error_wrap(err, ret, "%.*s %.*s/%.*s", STR_ARG(it->key.resource),
					  STR_ARG(it->key.ns), STR_ARG(it->key.name));
		}
		o->seal = it->seal;
		object_unref(resource_blocks_put(&r->loading, o));
	}
	load->last = page->more ? o : NULL;
	return 0;
}

/* One resource has been read. Observers may add resources, which are then read too. */
static void resource_read(struct state_load *load)
{
	struct resource *r = load->state->resources[load->at++];

	if (!state_observed_early(r))
		return;
	load->state->early = load->revision;
	state_observe_all(r, &r->loading);
}

static void page_done(void *arg, const struct store_range_result *page, const struct error *err)
{
	struct state_load *load = arg;
	struct state *st = load->state;
	struct error fault;

	if (!err && st->stopping) {
		(void)error_set(&fault, ERR_CANCELED, "the server is shutting down");
		err = &fault;
	}
	if (!err && take_page(load, page, &fault) < 0)
		err = &fault;
	if (err) {
		state_load_fail(load, err);
		return;
	}
	load->revision = load->revision ? load->revision : page->revision;
	if (!page->more)
		resource_read(load);
	arena_clear(&load->arena);
	if (load->at < st->nresources)
		read_page(load);
	else
		state_load_finish(load);
}

static void read_page(struct state_load *load)
{
	struct state *st = load->state;
	struct store_range range = {
		.resource = st->resources[load->at]->name,
		.limit = PAGE,
		.revision = load->revision,
	};

	if (load->last) {
		range.after_ns = object_ns(load->last);
		range.after_name = object_name(load->last);
	}
	store_range(st->store, &range, &load->arena, page_done, load);
}

void state_load_start(struct state *st)
{
	assert(!st->load && st->nresources > 0);
	state_let_lanes_read(st, false);
	st->load = XNEW(struct state_load);
	st->load->state = st;
	arena_init(&st->load->arena, SIZE_MAX);
	read_page(st->load);
}
