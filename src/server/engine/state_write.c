/*
 * Pending writes. Those of one key form a chain, whose newest write is the key's tip. Each is
 * decided on the result of the one before it, and names that one to the store (`after`). If a
 * write fails, those after it were decided on a state that never existed: they are removed from
 * the tip with it, and the store fails them in turn.
 */
#include <assert.h>

#include "base/json/json.h"
#include "server/engine/sequencer.h"

/* Removes the writes from `w` on from the tip; the one before becomes the tip. */
static void tip_drop_from(struct state_write *w)
{
	struct resource *r = w->resource;

	if (w->older) {
		w->older->newer = NULL;
		(void)map_put(&r->tips, w->older->key, w->older);
	} else {
		(void)map_remove(&r->tips, w->key);
	}
	for (struct state_write *next; w; w = next) {
		next = w->newer;
		w->older = w->newer = NULL;
		w->tip = false;
	}
}

/* The write is committed, and so are all before it. */
static void tip_settle(struct state_write *w)
{
	if (w->newer)
		w->newer->older = NULL;
	else
		(void)map_remove(&w->resource->tips, w->key);
	w->older = w->newer = NULL;
	w->tip = false;
}

static void tip_push(struct resource *r, struct state_write *w)
{
	w->older = map_get(&r->tips, w->key);
	if (w->older)
		w->older->newer = w;
	(void)map_put(&r->tips, w->key, w);
	w->tip = true;
}

void state_write_committed(struct state_write *w, struct object *result)
{
	w->result = object_ref(result);
	if (w->tip)
		tip_settle(w);
}

/* A backend may not know that an event belongs to this write; then the result is made here. */
static struct object *result_of(const struct state_write *w)
{
	const struct object *o = w->pending ? w->pending : w->base;

	return w->result ? w->result : o ? object_at(o, w->store.revision) : NULL;
}

/* --- guards ----------------------------------------------------------------------- */

static void take_guards(struct state *st, struct state_write *w)
{
	for (size_t i = 0; i < w->terms.nguards; i++) {
		struct state_write *other = map_put(&st->guards, w->terms.guards[i], w);

		assert(!other || other == w);
		(void)other;
	}
}

static void drop_guards(struct state *st, const struct state_write *w)
{
	for (size_t i = 0; i < w->terms.nguards; i++)
		(void)map_remove(&st->guards, w->terms.guards[i]);
}

struct state_write *state_guard_owner(const struct state *st, struct str guard)
{
	return st->guards.n ? map_get(&st->guards, guard) : NULL;
}

void state_write_wait(struct state_write *w, struct state_wait *wait)
{
	list_push_back(&w->waits, &wait->link);
}

static void end_waits(struct list *waits)
{
	struct list *node;

	while ((node = list_pop_front(waits))) {
		struct state_wait *wait = LIST_ENTRY(node, struct state_wait, link);

		wait->over(wait);
	}
}

/* --- the end of a write ----------------------------------------------------------- */

static void write_done(struct store_write *sw, const struct error *err)
{
	struct state_write *w = CONTAINER_OF(sw, struct state_write, store);
	struct state *st = w->resource->state;
	struct object *result = err ? NULL : result_of(w);
	struct list waits;

	list_init(&waits);
	list_splice_back(&waits, &w->waits);
	drop_guards(st, w);
	if (w->tip && err)
		tip_drop_from(w);
	else if (w->tip)
		tip_settle(w);
	if (err)
		object_unref(w->result);
	object_unref(w->pending);
	object_unref(w->base);
	bytes_unref(w->value);
	st->writes--;
	w->done(w, result, err);
	object_unref(result);
	end_waits(&waits);
	state_stop_step(st);
}

/*
 * Checks that the tree's name and namespace are those of the key; otherwise nobody would find the
 * object.
 */
static int state_write_check_key(const struct json *tree, struct str ns, struct str name,
				 struct error *err)
{
	const struct json *meta = json_getz(tree, "metadata");
	struct str own_ns = json_text_at(meta, "namespace"), own = json_text_at(meta, "name");

	if (str_eq(own, name) && str_eq(own_ns, ns))
		return 0;
	return error_set(err, ERR_INTERNAL,
			 "the object is \"%.*s\" in namespace \"%.*s\", but was to be written as "
			 "\"%.*s\" in namespace \"%.*s\"",
			 STR_ARG(own), STR_ARG(own_ns), STR_ARG(name), STR_ARG(ns));
}

int state_text_make(const struct resource *r, struct str ns, struct str name,
		    const struct json *tree, struct state_text *ret_text, struct error *err)
{
	struct state_text t = { 0 };
	int res = state_write_check_key(tree, ns, name, err);

	if (res == 0)
		res = object_encode(tree, &t.value, err);
	if (res == 0)
		res = object_new_from_tree(r->kind, tree, bytes_str(t.value), 0, r->state->gates,
					   &t.pending, err);
	if (res < 0)
		state_text_release(&t);
	*ret_text = t;
	return res;
}

void state_text_release(struct state_text *t)
{
	bytes_unref(TAKE(t->value));
	object_unref(TAKE(t->pending));
}

static int check_writable(const struct resource *r, struct error *err)
{
	if (r->state->stopping)
		return error_set(err, ERR_UNAVAILABLE, "the server is shutting down");
	if (r->gone)
		return error_set(err, ERR_NOT_FOUND,
				 "the server could not find the requested resource");
	return 0;
}

int state_write(struct state_write *w, struct resource *r, struct str ns, struct str name,
		struct object *base, const struct json *tree, struct arena *a, struct error *err)
{
	struct state_text text;
	int res = check_writable(r, err);

	if (res == 0 && tree)
		res = state_text_make(r, ns, name, tree, &text, err);
	return res < 0 ? res : state_write_text(w, r, ns, name, base, tree ? &text : NULL, a, err);
}

int state_write_text(struct state_write *w, struct resource *r, struct str ns, struct str name,
		     struct object *base, struct state_text *text, struct arena *a,
		     struct error *err)
{
	struct state *st = r->state;
	int res = check_writable(r, err);

	if (res < 0) {
		if (text)
			state_text_release(text);
		return res;
	}
	*w = (struct state_write){ .done = w->done,
				   .arg = w->arg,
				   .terms = w->terms,
				   .resource = r,
				   .changes = r->changes,
				   .value = text ? TAKE(text->value) : NULL,
				   .pending = text ? TAKE(text->pending) : NULL };
	list_init(&w->waits);
	w->key = resource_key(a, ns, name);
	w->base = base ? object_ref(base) : NULL;
	tip_push(r, w);
	assert((w->older ? w->older->pending : resource_find(r, w->key)) == base);

	w->store = (struct store_write){
		.key = { .resource = r->name,
			 .ns = str_of(w->key.p, ns.n),
			 .name = str_skip(w->key, ns.n ? ns.n + 1 : 0) },
		.value = w->value,
		.expected = base && !w->older ? base->revision : 0,
		.after = w->older ? &w->older->store : NULL,
		.guards = w->terms.guards,
		.nguards = w->terms.nguards,
		.view = st->revision,
		.send_by = w->terms.send_by,
		.bases = { w->terms.bases[0], w->terms.bases[1] },
		.done = write_done,
	};
	take_guards(st, w);
	st->writes++;
	store_write(st->store, &w->store);
	return 0;
}
