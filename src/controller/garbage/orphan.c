/*
 * An owner that orphans its dependents: each dependent is read and written without the reference,
 * a few at a time; then the owner loses its finalizer. After any failure the whole job is retried;
 * finished parts are then found to be done.
 */
#include "base/json/json.h"
#include "base/report/log.h"
#include "controller/garbage/garbage_impl.h"

enum {
	AT_ONCE = 16, /* concurrent dependents */
	CONFLICTS_MAX = 5, /* conflicts of one dependent before the whole job is retried */
};

struct orphan;

/* Handles one dependent at a time. */
struct slot {
	struct orphan *owner;
	struct client_request request;
	struct arena arena;
	struct resource resource;
	size_t at; /* index in `dependents` */
	int conflicts;
	bool patching;
};

struct orphan {
	struct work work;
	struct garbage *owner;
	struct garbage_identity who;
	struct resource resource;
	struct garbage_identity *dependents;
	size_t ndependents, next, busy;
	bool failed;
	struct slot slots[AT_ONCE];
};

void garbage_orphan_release(struct work *w)
{
	struct orphan *o = CONTAINER_OF(w, struct orphan, work);

	for (size_t i = 0; i < AT_ONCE; i++) {
		client_cancel(&o->slots[i].request);
		arena_release(&o->slots[i].arena);
	}
}

static void orphan_end(struct orphan *o, bool again)
{
	work_end(&o->work, again && garbage_graph_find(o->owner->graph, o->work.key));
}

/* --- the owner ------------------------------------------------------------------------------- */

static void on_released(struct client_request *r, const struct client_answer *a UNUSED,
			const struct error *err)
{
	struct orphan *o = r->arg;
	bool failed = err && err->code != ERR_NOT_FOUND;

	if (failed)
		log_debug(o->owner->ctx.log, "cannot orphan", LOG_STR("name", o->who.name),
			  LOG_ERR(err));
	orphan_end(o, failed);
}

static void on_owner(struct client_request *r, const struct client_answer *a,
		     const struct error *err)
{
	struct orphan *o = r->arg;
	struct resource_name name = { .ns = o->who.ns, .name = o->who.name };
	struct json *owner, *patch = NULL;
	struct error why;

	if (!err && client_answer_tree(a, &o->work.arena, &owner, &why) < 0)
		err = &why;
	if (err) {
		on_released(r, a, err);
		return;
	}
	if (str_eq(garbage_meta(owner, "uid"), o->who.uid))
		patch = garbage_patch_finalizer(&o->work.arena, owner, STR("orphan"));
	if (!patch) {
		orphan_end(o, false);
		return;
	}
	o->work.request.on_done = on_released;
	client_patch(o->owner->ctx.client, &o->work.request, &o->resource, name, CLIENT_PATCH_MERGE,
		     patch);
}

static void release_owner(struct orphan *o)
{
	o->work.request.accept = ACCEPT_METADATA;
	o->work.request.on_done = on_owner;
	client_get(o->owner->ctx.client, &o->work.request, &o->resource, o->who.ns, o->who.name);
}

/* --- dependents ------------------------------------------------------------------------------ */

static void read_dependent(struct slot *s);

static void start_dependent(struct orphan *o, struct slot *s)
{
	const struct garbage_identity *who = &o->dependents[o->next];

	if (!garbage_resource_of(o->owner, who->api_version, who->kind, &o->work.arena,
				 &s->resource)) {
		o->failed = true;
		return;
	}
	s->at = o->next++;
	s->conflicts = 0;
	o->busy++;
	read_dependent(s);
}

static void next_dependents(struct orphan *o)
{
	for (size_t i = 0; i < AT_ONCE && o->next < o->ndependents && !o->failed; i++) {
		if (!client_busy(&o->slots[i].request))
			start_dependent(o, &o->slots[i]);
	}
	if (o->busy > 0)
		return;
	if (o->failed)
		orphan_end(o, true);
	else
		release_owner(o);
}

static void slot_end(struct slot *s, const struct error *err)
{
	struct orphan *o = s->owner;

	if (err) {
		log_debug(o->owner->ctx.log, "cannot orphan",
			  LOG_STR("dependent", o->dependents[s->at].name), LOG_ERR(err));
		o->failed = true;
	}
	o->busy--;
	next_dependents(o);
}

static bool is_other(void *arg, const struct json *reference)
{
	const struct orphan *o = arg;

	return !str_eq(json_text_at(reference, "uid"), o->who.uid);
}

static void patch_dependent(struct slot *s, const struct json *dependent)
{
	struct orphan *o = s->owner;
	const struct garbage_identity *who = &o->dependents[s->at];
	struct resource_name name = { .ns = who->ns, .name = who->name };
	struct json *patch = NULL;

	if (str_eq(garbage_meta(dependent, "uid"), who->uid))
		patch = garbage_patch_owners(&s->arena, dependent, is_other, o);
	if (!patch) {
		slot_end(s, NULL);
		return;
	}
	s->patching = true;
	client_patch(o->owner->ctx.client, &s->request, &s->resource, name, CLIENT_PATCH_MERGE,
		     patch);
}

static void on_dependent(struct client_request *r, const struct client_answer *a,
			 const struct error *err)
{
	struct slot *s = r->arg;
	struct json *dependent;
	struct error why;

	if (err && err->code == ERR_CONFLICT && s->conflicts++ < CONFLICTS_MAX) {
		read_dependent(s);
		return;
	}
	if ((err && err->code == ERR_NOT_FOUND) || (!err && s->patching)) {
		slot_end(s, NULL);
		return;
	}
	arena_clear(&s->arena);
	if (!err && client_answer_tree(a, &s->arena, &dependent, &why) < 0)
		err = &why;
	if (err)
		slot_end(s, err);
	else
		patch_dependent(s, dependent);
}

static void read_dependent(struct slot *s)
{
	struct orphan *o = s->owner;
	const struct garbage_identity *who = &o->dependents[s->at];

	s->patching = false;
	s->request.accept = ACCEPT_METADATA;
	s->request.arg = s;
	s->request.on_done = on_dependent;
	client_get(o->owner->ctx.client, &s->request, &s->resource, who->ns, who->name);
}

/* The graph changes while we write, so the list of dependents is a snapshot of now. */
static void take_dependents(struct orphan *o, const struct garbage_node *n)
{
	struct arena *a = &o->work.arena;
	size_t count = 0;

	LIST_FOREACH (l, &n->dependents)
		count++;
	o->dependents = ARENA_ARRAY(a, struct garbage_identity, count + 1);
	LIST_FOREACH (l, &n->dependents)
		o->dependents[o->ndependents++] = garbage_identity_copy(
			a, LIST_ENTRY(l, struct garbage_edge, link)->dependent);
}

void garbage_handle_orphan(void *arg, struct str uid)
{
	struct garbage *g = arg;
	struct garbage_node *n = garbage_graph_find(g->graph, uid);
	struct orphan *o;

	if (!n || !n->orphaning) {
		workqueue_finish(g->orphans, uid, false);
		return;
	}
	o = work_new(&g->orphan_jobs, sizeof(*o), uid);
	o->owner = g;
	o->who = garbage_identity_copy(&o->work.arena, n);
	for (size_t i = 0; i < AT_ONCE; i++) {
		o->slots[i].owner = o;
		arena_init(&o->slots[i].arena, SIZE_MAX);
	}
	if (!garbage_resource_of(g, o->who.api_version, o->who.kind, &o->work.arena,
				 &o->resource)) {
		orphan_end(o, true);
		return;
	}
	take_dependents(o, n);
	next_dependents(o);
}
