/*
 * The server's own writes about definitions: names for those that wait for them, and the removal
 * of those that are being deleted. One timer checks everything that waits. It runs immediately
 * after a change, and rarely if only others can proceed (finalizers of objects). Each check
 * decides on the current state, so conflicts, restarts and other servers that do the same need no
 * special handling. Objects are deleted as by a client: those with finalizers are marked and
 * waited for. The number of writes under way, and of objects visited per turn, is limited.
 */
#include <stdlib.h>

#include "api/write/write.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "server/core/parts.h"
#include "server/custom/custom_impl.h"
#include "server/engine/sequencer.h"

enum {
	AT_ONCE = 64,
	KEY_MAX = 512,
	LOOK_MAX = 1000, /* objects visited per turn */
	DELAY_MIN_MS = 20,
	DELAY_MAX_MS = 2000,
};

struct removal_write {
	struct removal *removal;
	struct state_write write;
	struct arena arena;
	bool busy;
};

struct removal {
	struct custom *custom;
	/* NULL: it is gone, and this is freed when its writes are done */
	struct definition *definition;
	struct buf after; /* key of the object visited last; empty: the start */
	size_t open; /* writes under way */
	bool running; /* in removal_fill() */
	struct removal_write writes[AT_ONCE];
};

/* --- writing a definition --------------------------------------------------------------- */

struct definition_write {
	struct custom *custom;
	struct state_write write;
	struct arena arena;
};

static void look_again(struct custom *c)
{
	if (!c->started)
		return;
	c->delay_ms = MIN(MAX(c->delay_ms * 2, (int64_t)DELAY_MIN_MS), (int64_t)DELAY_MAX_MS);
	loop_timer_start(&c->work, c->delay_ms);
}

void custom_work_soon(struct custom *c)
{
	if (!c->started)
		return;
	c->delay_ms = 0;
	loop_timer_start(&c->work, 0);
}

static void definition_write_free(struct definition_write *w)
{
	arena_release(&w->arena);
	free(w);
}

static void on_definition(struct state_write *sw, struct object *object UNUSED,
			  const struct error *err)
{
	struct definition_write *w = sw->arg;

	w->custom->writing--;
	if (err)
		look_again(w->custom);
	definition_write_free(w);
}

/*
 * Changes a definition: `change` returns whether there is anything to write. Returns false if
 * nothing had to be written.
 */
static bool definition_write(struct definition *d,
			     bool (*change)(struct definition *d, struct arena *a,
					    struct json *tree))
{
	struct custom *c = d->custom;
	struct resource *r = state_resource(c->state, custom_kind());
	struct object *tip = resource_tip(r, STR(""), d->name);
	struct definition_write *w;
	struct json *tree = NULL;
	bool goes;

	if (!tip || !tip->revision)
		return true; /* a write of it is pending, and its event leads here again */
	w = XNEW(struct definition_write);
	w->custom = c;
	arena_init(&w->arena, SIZE_MAX);
	w->write.done = on_definition;
	w->write.arg = w;
	if (object_tree(tip, &w->arena, &tree, NULL) < 0 || !change(d, &w->arena, tree)) {
		definition_write_free(w);
		return false;
	}
	goes = tip->deleting && !json_count(json_getz(json_getz(tree, "metadata"), "finalizers"));
	if (state_write(&w->write, r, STR(""), d->name, tip, goes ? NULL : tree, &w->arena, NULL) <
	    0)
		definition_write_free(w);
	else
		c->writing++;
	return true;
}

static int64_t work_now_ns(const struct definition *d)
{
	return clock_wall(d->custom->server->clock);
}

/* --- changes ------------------------------------------------------------------------------ */

static bool change_names(struct definition *d, struct arena *a, struct json *tree)
{
	return custom_settle(d->custom, a, tree, work_now_ns(d));
}

static bool change_begun(struct definition *d, struct arena *a, struct json *tree)
{
	return crd_set_condition(a, tree, &crd_deletion_begun, work_now_ns(d));
}

static bool change_done(struct definition *d, struct arena *a, struct json *tree)
{
	static const struct crd_condition overlapping = {
		.type = STR("Terminating"),
		.status = STR("False"),
		.reason = STR("OverlappingBuiltInResource"),
		.message = STR("instances overlap with built-in resources in storage"),
	};
	const struct crd_condition *end = d->overlaps ? &overlapping
					  : d->served ? &crd_deletion_done
						      : &crd_never_established;

	(void)crd_set_condition(a, tree, end, work_now_ns(d));
	return crd_remove_finalizer(tree);
}

/* --- removal of its objects ----------------------------------------------------------------- */

static void removal_fill(struct removal *r);

static void removal_drop(struct removal *r)
{
	for (size_t i = 0; i < AT_ONCE; i++)
		arena_release(&r->writes[i].arena);
	buf_release(&r->after);
	free(r);
}

void removal_free(struct removal *r)
{
	if (!r)
		return;
	r->definition = NULL;
	if (!r->open)
		removal_drop(r);
}

static struct removal *removal_new(struct definition *d)
{
	struct removal *r = XNEW(struct removal);

	r->custom = d->custom;
	r->definition = d;
	buf_init(&r->after, KEY_MAX);
	for (size_t i = 0; i < AT_ONCE; i++) {
		r->writes[i].removal = r;
		arena_init(&r->writes[i].arena, SIZE_MAX);
	}
	return r;
}

static void work_on_removed(struct state_write *sw, struct object *object UNUSED,
			    const struct error *err UNUSED)
{
	struct removal_write *w = sw->arg;
	struct removal *r = w->removal;

	w->busy = false;
	r->open--;
	if (r->definition)
		removal_fill(r);
	if (!r->open && r->definition)
		custom_work_soon(r->custom);
	else if (!r->open)
		removal_drop(r);
}

static struct removal_write *idle(struct removal *r)
{
	for (size_t i = 0; i < AT_ONCE; i++)
		if (!r->writes[i].busy)
			return &r->writes[i];
	return NULL;
}

/* Deletes one object, or marks it if it has finalizers. A failure is left to the next check. */
static void remove_object(struct removal_write *w, struct resource *res, struct object *tip)
{
	struct removal *r = w->removal;
	struct server *s = r->custom->server;
	struct write write = { .arena = &w->arena,
			       .kind = res->kind,
			       .ns = object_ns(tip),
			       .name = object_name(tip),
			       .gates = &s->gates,
			       .now_ns = clock_wall(s->clock),
			       .prng = loop_prng(s->opts.loops[0]) };
	struct delete_options options = { .grace_s = -1 };
	struct json *old, *object;

	arena_clear(&w->arena);
	write_init(&write);
	if (object_tree(tip, &w->arena, &old, NULL) < 0 ||
	    write_delete(&write, old, &options, &object, NULL) < 0 || write.unchanged)
		return;
	w->write.done = work_on_removed;
	w->write.arg = w;
	if (state_write(&w->write, res, object_ns(tip), object_name(tip), tip, object, &w->arena,
			NULL) < 0)
		return;
	w->busy = true;
	r->open++;
}

/* Continues where it stopped. Returns true after the last object. */
static bool removal_walk(struct removal *r, struct resource *res)
{
	struct removal_write *w;

	for (int looked = 0; (w = idle(r)); looked++) {
		struct resource_place at = resource_blocks_seek(&res->objects, buf_str(&r->after),
								true);
		struct object *o = resource_blocks_next(&res->objects, &at), *tip;

		if (!o)
			return true;
		if (looked == LOOK_MAX)
			break;
		buf_clear(&r->after);
		(void)buf_add_str(&r->after, o->key);
		tip = resource_tip(res, object_ns(o), object_name(o));
		if (tip && tip->revision && !tip->deleting)
			remove_object(w, res, tip);
	}
	return false;
}

static void removal_fill(struct removal *r)
{
	struct resource *res = definition_resource(r->definition);

	if (r->running || !r->custom->started || !res)
		return;
	r->running = true;
	if (removal_walk(r, res))
		buf_clear(&r->after); /* the next check starts over */
	else if (!r->open)
		loop_timer_start(&r->custom->work, 0);
	r->running = false;
}

/*
 * No more objects can appear than are visible here: the deletion of the definition is committed,
 * and a server that does not know of it yet cannot create an object (custom_basis()).
 */
static bool is_empty(const struct removal *r)
{
	const struct resource *res = definition_resource(r->definition);

	return !r->open && (!res || (!res->objects.count && !res->tips.n));
}

static void work_clean(struct definition *d)
{
	if (!d->removal)
		d->removal = removal_new(d);
	/* Only the committed object informs the other servers. */
	if (definition_write(d, change_begun))
		return;
	if (!d->removal->open)
		removal_fill(d->removal);
	if (is_empty(d->removal))
		(void)definition_write(d, change_done);
}

/* --- all of them ------------------------------------------------------------------------------ */

static void on_work(struct loop_timer *t)
{
	struct custom *c = CONTAINER_OF(t, struct custom, work);
	struct omap_cursor at;
	bool waiting = false;

	for (bool ok = omap_first(&c->definitions, &at); ok; ok = omap_next(&at)) {
		struct definition *d = omap_value(&at);

		if (d->cleaning) {
			work_clean(d);
			waiting = true;
		} else if (d->refused && !d->terminating) {
			(void)definition_write(d, change_names);
		}
	}
	if (waiting && !loop_timer_running(&c->work))
		look_again(c);
}

void custom_work_init(struct custom *c)
{
	loop_timer_init(&c->work, c->server->opts.loops[0], on_work);
}

void custom_start(struct custom *c)
{
	c->started = true;
	custom_work_soon(c);
}

void custom_stop(struct custom *c)
{
	c->started = false;
	loop_timer_stop(&c->work);
}

void custom_work_release(struct custom *c)
{
	loop_timer_stop(&c->work);
}
