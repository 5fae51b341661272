/*
 * Every slice has a state and is a key of the queue. A check computes the status, compares it with
 * the stored one, and writes it if they differ. Checks are cheap and run whenever something may
 * have changed. Only the comparison decides whether to write, so nothing is missed that a later
 * check would not see.
 *
 * While our copy shows our own last write, its hash is enough to compare, and the event of our own
 * write causes no check. A check before our copy shows the last write would compare with outdated
 * data, so it is postponed until then, but not for ever: the version may never arrive, if the
 * server was restored to an earlier state.
 */
#include "controller/slice_status/slice_status.h"

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/devices/device_metrics.h"
#include "controller/devices/devices.h"
#include "controller/shared/context.h"
#include "controller/slice_status/metrics.h"
#include "controller/slice_status/pools.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_status_impl.h"
#include "dra/availability/availability.h"
#include "dra/inventory/content.h"

enum {
	WORKERS = 32,
	PACE_MS = 20, /* between two writes of a slice, */
	PACE_BYTES = 256 * KIB, /* for each such block of bytes begun */
	AWAIT_MS = 5000,
	REPLACED_MS = 5000, /* how long a driver may take from its first new slice to the last */
	BACKOFF_MIN_MS = 5,
	BACKOFF_MAX_MS = 30 * 1000,
	UNSERVED_MS = 10 * 1000, /* between calls of `unserved` */
	RETRIES_PER_S = 1000,
};

struct slice_status {
	struct context ctx;
	struct slice_status_opts opts;
	struct devices *devices;
	struct slice_sink *sink;
	struct devices_watcher watcher;
	struct workqueue *queue; /* names of slices */
	struct map states; /* name -> struct slice_state */
	size_t outdated; /* states whose `since` is set */
	struct slice_status_pools pools;
	struct slice_status_metrics metrics;
	struct device_metrics device_metrics;
	struct arena scratch; /* for one check */
	struct buf text; /* for one check: the status */
	bool sink_ready;
	bool unreachable; /* the last write could not reach the server, and that was logged */
	bool unserved; /* the API to write to was missing, and that was logged */
	int64_t unserved_at; /* when it was last called */
};

/* --- states ---------------------------------------------------------------------------------- */

static void set_since(struct slice_status *s, struct slice_state *st, int64_t since)
{
	s->outdated += (since >= 0) - (st->since >= 0);
	st->since = since;
	slice_status_metrics_since(&s->metrics, st);
}

static void slice_status_on_done(struct client_request *r, const struct client_answer *a,
				 const struct error *err);

static struct slice_state *state_new(struct slice_status *s, const struct cached *slice)
{
	struct slice_state *st = xcalloc(1, sizeof(*st) + slice->key.n + 1);

	str_put(st->text, slice->key);
	st->name = str_of(st->text, slice->key.n);
	st->owner = s;
	st->since = st->again_since = st->replaced_since = -1;
	st->request.on_done = slice_status_on_done;
	st->request.arg = st;
	slice_status_metrics_add(&s->metrics, st, slice);
	(void)map_put(&s->states, st->name, st);
	return st;
}

static void state_free(struct slice_state *st)
{
	struct slice_status *s = st->owner;

	client_cancel(&st->request);
	set_since(s, st, -1);
	slice_status_metrics_forget(&s->metrics, st);
	device_metrics_note(&s->device_metrics, &st->counts, NULL, NULL);
	slice_status_pools_leave(&s->pools, st);
	free(st);
}

/* --- one look -------------------------------------------------------------------------------- */

/* Forgets what was written for an earlier slice of the same name. */
static void note_uid(struct slice_state *st, const struct cached *slice)
{
	uint64_t hash = hash_bytes(slice->uid, 0);

	if (st->uid_hash != hash)
		st->written = 0;
	st->uid_hash = hash;
}

/* Whether our copy shows our last write, however the server changed it. */
static bool slice_status_is_ours(const struct slice_state *st, uint64_t revision)
{
	return st->written && st->written == revision;
}

/* Whether the stored status equals this one, whose text is in s->text. */
static bool is_stored(struct slice_status *s, const struct slice_state *st,
		      const struct slice_stored *stored, const struct json *status)
{
	struct json *v;

	if (slice_status_is_ours(st, stored->revision))
		return st->written_hash == hash_bytes(buf_str(&s->text), 0);
	if (!status || !stored->status.p)
		return !status && !stored->status.p;
	return str_eq(buf_str(&s->text), stored->status) ||
	       (json_parse(&s->scratch, stored->status, NULL, &v, NULL) == 0 &&
		json_equal(v, status));
}

static struct json *compute(struct slice_status *s, struct slice_state *st)
{
	struct json *before, *status;

	st->concerned = false;
	slice_status_pools_join(&s->pools, st);
	before = slice_status_pools_before(&s->pools, st, &s->scratch);
	status = availability_slice_status(devices_inventory(s->devices),
					   devices_health(s->devices), st->name, before,
					   clock_wall(loop_clock(s->ctx.loop)), &s->scratch);
	slice_status_pools_note(&s->pools, st, status);
	device_metrics_note(&s->device_metrics, &st->counts,
			    inventory_slice(devices_inventory(s->devices), st->name), status);
	buf_clear(&s->text);
	if (status)
		(void)json_print(&s->text, status, NULL);
	return status;
}

/*
 * Takes over the times of devices' health that an earlier controller stored. Once for each slice.
 */
static void recall(struct slice_status *s, struct slice_state *st,
		   const struct slice_stored *stored)
{
	struct json *v;

	if (st->recalled || !devices_health(s->devices))
		return;
	st->recalled = true;
	if (stored->status.p && str_find(stored->status, STR("\"healthSince\"")) >= 0 &&
	    json_parse(&s->scratch, stored->status, NULL, &v, NULL) == 0)
		availability_recall_health(devices_inventory(s->devices),
					   devices_health(s->devices), st->name, v);
}

/* Returns false if the status is right; otherwise on_done will be called. */
static bool write_if_other(struct slice_status *s, struct slice_state *st,
			   const struct cached *slice, const struct slice_stored *stored)
{
	struct json *status = compute(s, st);

	if (is_stored(s, st, stored, status))
		return false;
	if (st->since < 0)
		set_since(s, st, loop_now(s->ctx.loop));
	st->bytes = s->text.n;
	st->written_hash = hash_bytes(buf_str(&s->text), 0);
	st->written = 0;
	st->tried = stored->revision;
	st->seen_meanwhile = false;
	st->again_since = -1;
	return s->sink->ops->write(s->sink, slice, status ? buf_str(&s->text) : STR_NULL,
				   &st->request, &s->scratch);
}

static void slice_status_forget(struct slice_status *s, struct str name)
{
	struct slice_state *st = map_remove(&s->states, name);

	if (st)
		state_free(st);
}

/*
 * How long a check must wait: for the slice's pace, for our copy, or, after a failure, for the
 * back-off. After a conflict the back-off ends as soon as our copy has caught up.
 */
static int64_t wait_ms(const struct slice_status *s, struct slice_state *st, uint64_t revision)
{
	int64_t now = loop_now(s->ctx.loop), until = MAX(st->next_write_at, now);

	if (st->awaited <= revision || now >= st->awaited_until)
		st->awaited = 0;
	if (st->awaited)
		until = MAX(until, st->awaited_until);
	if (!st->behind || revision == st->tried)
		until = MAX(until, st->retry_at);
	return until - now;
}

/*
 * A slice of an older generation loses its status, but not while its driver updates the pool slice
 * by slice: upstream's driver library takes a slice that changes meanwhile for obsolete, deletes
 * it and creates a new one. A status stored elsewhere does not change the slice.
 */
static int64_t grace_ms(const struct slice_status *s, struct slice_state *st)
{
	int64_t now = loop_now(s->ctx.loop);

	if (!s->sink->in_slice)
		return 0;
	if (!availability_is_being_replaced(devices_inventory(s->devices), st->name))
		st->replaced_since = -1;
	else if (st->replaced_since < 0)
		st->replaced_since = now;
	return st->replaced_since < 0 ? 0 : st->replaced_since + REPLACED_MS - now;
}

static void end_look(struct slice_status *s, struct slice_state *st)
{
	set_since(s, st, -1);
	workqueue_finish(s->queue, st->name, false);
}

static void slice_status_look_at(struct slice_status *s, struct slice_state *st,
				 const struct cached *slice)
{
	struct slice_stored stored = { .revision = s->sink->ops->revision(s->sink, st->name) };
	int64_t wait = wait_ms(s, st, stored.revision), grace = grace_ms(s, st);
	bool ours, writes;

	note_uid(st, slice);
	ours = slice_status_is_ours(st, stored.revision);
	if (ours && !st->concerned) {
		end_look(s, st);
		return;
	}
	if (MAX(wait, grace) > 0) {
		workqueue_add_after(s->queue, st->name, MAX(wait, grace));
		workqueue_done(s->queue, st->name);
		return;
	}
	if (!ours) {
		st->written = 0; /* if the write still succeeds, it is not the last decision */
		stored = s->sink->ops->read(s->sink, st->name);
		recall(s, st, &stored);
	}
	slice_status_metrics_look(&s->metrics);
	writes = write_if_other(s, st, slice, &stored);
	log_debug(s->ctx.log, "checked slice", LOG_STR("slice", st->name),
		  LOG_Z("status", writes ? "is written" : "is up to date"));
	if (!writes)
		end_look(s, st);
	arena_clear(&s->scratch);
}

static void slice_status_look(void *arg, struct str name)
{
	struct slice_status *s = arg;
	struct slice_state *st = map_get(&s->states, name);
	const struct cached *slice = devices_find_slice(s->devices, name);

	if (st && slice) {
		slice_status_look_at(s, st, slice);
		return;
	}
	slice_status_forget(s, name);
	workqueue_finish(s->queue, name, false);
}

/* --- the end of a write ---------------------------------------------------------------------- */

/*
 * The version that a write created; UINT64_MAX: unknown. The reply to a removal has no version, or
 * the last one before it.
 */
static uint64_t written_revision(const struct slice_state *st, const struct client_answer *a)
{
	struct cached *o = NULL;
	uint64_t revision = UINT64_MAX;

	if (cached_new(a->body, NULL, &o, NULL) == 0 && o->revision > st->tried)
		revision = o->revision;
	cached_unref(o);
	return revision;
}

/* An unknown version is not awaited if our copy may have shown it before the reply arrived. */
static void slice_status_on_written(struct slice_status *s, struct slice_state *st,
				    const struct client_answer *a)
{
	uint64_t revision = written_revision(st, a);
	int64_t now = loop_now(s->ctx.loop);

	slice_status_metrics_write(&s->metrics, now - st->since, NULL);
	log_debug(s->ctx.log, "status of slice written", LOG_STR("slice", st->name),
		  LOG_INT("ms", now - st->since));
	st->failing = st->missing = st->behind = false;
	s->unreachable = s->unserved = false;
	st->retry_at = 0;
	st->written = revision == UINT64_MAX ? 0 : revision;
	st->awaited = revision == UINT64_MAX && st->seen_meanwhile ? 0 : revision;
	st->awaited_until = now + AWAIT_MS;
	set_since(s, st, st->again_since);
}

/* An expected failure: the server was ahead of our copy. */
static bool is_usual(const struct error *err)
{
	return err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND ||
	       err->code == ERR_ALREADY_EXISTS;
}

/* Logs once for each slice until it succeeds, and once in all while the server is unreachable. */
static void slice_status_complain(struct slice_status *s, struct slice_state *st,
				  const struct error *err)
{
	bool said = st->failing || (err->code == ERR_UNAVAILABLE && s->unreachable);

	if (is_usual(err) || said)
		log_debug(s->ctx.log, "status of slice not written", LOG_STR("slice", st->name),
			  LOG_ERR(err));
	else
		log_warn(s->ctx.log, "status of slice not written", LOG_STR("slice", st->name),
			 LOG_ERR(err));
	if (err->code == ERR_UNAVAILABLE)
		s->unreachable = true;
	else if (!is_usual(err))
		st->failing = true;
}

static void on_failed(struct slice_status *s, struct slice_state *st, const struct error *err)
{
	unsigned failures = workqueue_num_requeues(s->queue, st->name);

	slice_status_metrics_write(&s->metrics, 0, err);
	slice_status_complain(s, st, err);
	st->behind = is_usual(err);
	st->retry_at = loop_now(s->ctx.loop) +
		       MIN((int64_t)BACKOFF_MIN_MS << MIN(failures, 16u), (int64_t)BACKOFF_MAX_MS);
}

/*
 * The object to write to was missing twice in a row while our copy has the slice, so the slice was
 * not just deleted. Logged once until a write succeeds.
 */
static void note_missing(struct slice_status *s, struct slice_state *st, const struct error *err)
{
	bool before = st->missing;
	int64_t now = loop_now(s->ctx.loop);

	st->missing = err->code == ERR_NOT_FOUND;
	if (!before || !st->missing || !devices_find_slice(s->devices, st->name))
		return;
	if (!s->unserved)
		log_warn(s->ctx.log, "ResourceSliceStatus object is missing",
			 LOG_STR("slice", st->name), LOG_ERR(err));
	else if (now < s->unserved_at + UNSERVED_MS)
		return;
	s->unserved = true;
	s->unserved_at = now;
	if (s->opts.unserved)
		s->opts.unserved(s->opts.arg);
}

static void slice_status_on_done(struct client_request *r, const struct client_answer *a,
				 const struct error *err)
{
	struct slice_state *st = r->arg;
	struct slice_status *s = st->owner;

	/* The pace counts from the end of a write, so a slow server gets fewer of them. */
	st->next_write_at = loop_now(s->ctx.loop) +
			    PACE_MS * (1 + (int64_t)(st->bytes / PACE_BYTES));
	if (err)
		on_failed(s, st, err);
	else
		slice_status_on_written(s, st, a);
	st->again_since = -1;
	workqueue_finish(s->queue, st->name, err != NULL);
	if (err)
		note_missing(s, st, err);
}

/* --- events ---------------------------------------------------------------------------------- */

static void want_look(struct slice_status *s, struct str name, bool concerned)
{
	const struct cached *slice = devices_find_slice(s->devices, name);
	struct slice_state *st = map_get(&s->states, name);
	int64_t now = loop_now(s->ctx.loop);

	if (!st && !slice)
		return;
	if (!st)
		st = state_new(s, slice);
	st->concerned |= concerned;
	if (st->since < 0)
		set_since(s, st, now);
	else if (client_busy(&st->request) && st->again_since < 0)
		st->again_since = now;
	workqueue_add(s->queue, name);
}

/* The slice joins its pool before others are checked that may leave it. */
static void slice_status_on_slice(struct devices_watcher *w, struct str slice)
{
	struct slice_status *s = CONTAINER_OF(w, struct slice_status, watcher);
	struct slice_state *st;

	want_look(s, slice, true);
	st = map_get(&s->states, slice);
	if (st && !st->pool)
		slice_status_pools_join(&s->pools, st);
}

static void slice_status_on_turn(struct devices_watcher *w)
{
	struct slice_status *s = CONTAINER_OF(w, struct slice_status, watcher);

	slice_status_metrics_claims(&s->metrics, devices_claims_held(s->devices));
}

/*
 * If nothing is stored any more, our write was seen and is gone. Versions only grow; if they do
 * not, the server was restored to an earlier state, and our version may be somebody else's now.
 */
static void on_stored(void *arg, struct str slice)
{
	struct slice_status *s = arg;
	struct slice_state *st = map_get(&s->states, slice);
	uint64_t revision = s->sink->ops->revision(s->sink, slice);

	if (st) {
		if (st->awaited == UINT64_MAX || revision < st->seen || revision == 0)
			st->awaited = 0;
		if (revision <= st->seen)
			st->written = 0;
		st->seen = revision;
		st->seen_meanwhile = true;
	}
	want_look(s, slice, false);
}

static bool slice_status_is_ready(const struct slice_status *s)
{
	return s->watcher.synced && s->sink_ready;
}

static void slice_status_on_synced(struct devices_watcher *w)
{
	struct slice_status *s = CONTAINER_OF(w, struct slice_status, watcher);

	workqueue_hold(s->queue, !slice_status_is_ready(s));
}

static void on_sink_ready(void *arg)
{
	struct slice_status *s = arg;

	s->sink_ready = true;
	workqueue_hold(s->queue, !slice_status_is_ready(s));
}

/* --- life ------------------------------------------------------------------------------------ */

struct slice_status *slice_status_new(const struct context *ctx, struct devices *devices,
				      struct slice_sink *sink, const struct slice_status_opts *opts)
{
	struct slice_status *s = XNEW(struct slice_status);

	s->ctx = *ctx;
	s->opts = *opts;
	s->devices = devices;
	s->sink = sink;
	map_init(&s->states);
	arena_init(&s->scratch, REQUEST_WORK_MAX);
	buf_init(&s->text, 2 * OBJECT_MAX);
	slice_status_metrics_init(&s->metrics, ctx->metrics, ctx->loop);
	device_metrics_init(&s->device_metrics, ctx->metrics, ctx->loop);
	slice_status_pools_init(&s->pools, devices, sink, &s->metrics);
	s->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "resourceslice_status",
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = slice_status_look,
					  .arg = s,
					  .backoff_base_ms = BACKOFF_MIN_MS,
					  .backoff_max_ms = BACKOFF_MAX_MS,
					  .retries_per_s = RETRIES_PER_S,
					  .retries_burst = RETRIES_PER_S,
					  .metrics = ctx->metrics });
	workqueue_hold(s->queue, true);
	sink->changed = on_stored;
	sink->ready = on_sink_ready;
	sink->arg = s;
	s->watcher.on_slice = slice_status_on_slice;
	s->watcher.on_synced = slice_status_on_synced;
	s->watcher.on_turn = slice_status_on_turn;
	devices_watch(devices, &s->watcher);
	return s;
}

bool slice_status_settled(const struct slice_status *s)
{
	return slice_status_is_ready(s) && s->outdated == 0 && workqueue_len(s->queue) == 0 &&
	       workqueue_running(s->queue) == 0;
}

void slice_status_free(struct slice_status *s)
{
	struct str name;
	size_t at = 0;
	void *st;

	if (!s)
		return;
	devices_unwatch(&s->watcher);
	while (map_next(&s->states, &at, &name, &st))
		state_free(st);
	map_release(&s->states);
	slice_status_pools_release(&s->pools);
	slice_sink_free(s->sink);
	workqueue_free(s->queue);
	slice_status_metrics_release(&s->metrics);
	device_metrics_release(&s->device_metrics);
	arena_release(&s->scratch);
	buf_release(&s->text);
	free(s);
}
