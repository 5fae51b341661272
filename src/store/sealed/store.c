/*
 * Most calls go through to the inner store. What must not happen inside a call, or inside a
 * callback of a plugin, is done by one task at the end of the turn.
 */
#include "store/sealed/store.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "store/sealed/sealed_impl.h"

enum { PATIENCE_MS = 2000 }; /* how long the feed may wait without being unhealthy */

int sealed_blame(const struct store_key *key, int r, struct error *err)
{
	return error_wrap(err, r, "%.*s %.*s%s%.*s", STR_ARG(key->resource), STR_ARG(key->ns),
			  key->ns.n ? "/" : "", STR_ARG(key->name));
}

/* --- seals -------------------------------------------------------------------------- */

static void note_update(struct sealed_store *s, struct sealed_note *n)
{
	atomic_store(n->seal, sealed_rule_seal(sealed_rule_of(s, n->resource)));
}

void sealed_notes_update(struct sealed_store *s)
{
	LIST_FOREACH (node, &s->notes)
		note_update(s, LIST_ENTRY(node, struct sealed_note, link));
}

static void sealed_note_seal(struct store *base, struct str resource, atomic_uint *seal)
{
	struct sealed_store *s = sealed_of(base);
	struct sealed_note *n = XNEW(struct sealed_note);

	n->resource = str_of(xstrndup(resource.p, resource.n), resource.n);
	n->seal = seal;
	list_push_back(&s->notes, &n->link);
	note_update(s, n);
}

static void notes_free(struct sealed_store *s)
{
	struct list *node;

	while ((node = list_pop_front(&s->notes))) {
		struct sealed_note *n = LIST_ENTRY(node, struct sealed_note, link);

		free((void *)(uintptr_t)n->resource.p);
		free(n);
	}
}

/* --- life --------------------------------------------------------------------------- */

static void sealed_work(struct sealed_store *s)
{
	sealed_writes_flush(s);
	sealed_reload_step(s);
	sealed_plugins_measure(s);
	sealed_notes_update(s);
	sealed_ranges_resume(s);
	sealed_feed_resume(s);
}

static void sealed_on_work(struct loop_task *t)
{
	sealed_work(CONTAINER_OF(t, struct sealed_store, work));
}

void sealed_kick(struct sealed_store *s)
{
	loop_defer(s->base.loop, &s->work);
}

void store_sealed_free(struct sealed_store *s)
{
	if (!s)
		return;
	sealed_reload_stop(s);
	loop_timer_stop(&s->retry);
	loop_task_cancel(&s->work);
	notes_free(s);
	free(s->file);
	free(s);
}

static void sealed_on_closed(void *arg)
{
	struct sealed_store *s = arg;
	void (*closed)(void *arg) = s->closed;
	void *closed_arg = s->closed_arg;

	sealed_feed_drop(s);
	sealed_writes_flush(s);
	sealed_ranges_resume(s);
	store_sealed_free(s);
	closed(closed_arg);
}

static void sealed_close(struct store *base, void (*closed)(void *arg), void *arg)
{
	struct sealed_store *s = sealed_of(base);

	s->closing = true;
	s->closed = closed;
	s->closed_arg = arg;
	sealed_kick(s);
	store_close(s->inner, sealed_on_closed, s);
}

/* --- calls that go through ---------------------------------------------------------- */

static int sealed_health(struct store *base, struct error *err)
{
	struct sealed_store *s = sealed_of(base);
	int r = store_health(s->inner, err);

	if (r < 0 || !s->held_why.code || loop_now(base->loop) - s->held_since < PATIENCE_MS)
		return r;
	return error_set(err, ERR_UNAVAILABLE, "the feed waits: %s", s->held_why.msg);
}

static void sealed_current(struct store *base,
			   void (*done)(void *arg, int64_t revision, const struct error *err),
			   void *arg)
{
	store_current(sealed_of(base)->inner, done, arg);
}

static void sealed_compact(struct store *base, int64_t revision,
			   void (*done)(void *arg, const struct error *err), void *arg)
{
	store_compact(sealed_of(base)->inner, revision, done, arg);
}

static const struct store *sealed_inner(const struct store *base)
{
	return CONTAINER_OF(base, const struct sealed_store, base)->inner;
}

static int64_t sealed_compacted(const struct store *base)
{
	return store_compacted(sealed_inner(base));
}

static struct str sealed_cluster_id(const struct store *base)
{
	return store_cluster_id(sealed_inner(base));
}

static const struct store_ops ops = {
	.close = sealed_close,
	.write = sealed_write,
	.health = sealed_health,
	.range = sealed_range,
	.current = sealed_current,
	.follow = sealed_follow,
	.history = sealed_history,
	.compact = sealed_compact,
	.compacted = sealed_compacted,
	.cluster_id = sealed_cluster_id,
	.note_seal = sealed_note_seal,
};

int store_sealed_new(struct loop *l, const struct store_sealed_opts *opts,
		     struct sealed_store **ret_sealed, struct error *err)
{
	struct sealed_store *s = XNEW(struct sealed_store);
	int r;

	s->base = (struct store){ .ops = &ops, .loop = l };
	s->opts = *opts;
	s->file = xstrdup(opts->file);
	s->damaged = metrics_counter_alone(opts->metrics, "devplane_store_sealed_damaged_total",
					   "Sealed values of other servers that did not open.");
	list_init(&s->notes);
	list_init(&s->unsent);
	list_init(&s->parked);
	loop_task_init(&s->work, sealed_on_work);
	sealed_feed_init(s);
	sealed_reload_init(s);
	r = sealed_reload_start(s, err);
	if (r < 0) {
		store_sealed_free(s);
		return error_wrap(err, r, "--encryption-provider-config");
	}
	*ret_sealed = s;
	return 0;
}

struct store *store_sealed_around(struct sealed_store *s, struct store *inner)
{
	s->inner = inner;
	s->base.local = inner->local;
	return &s->base;
}
