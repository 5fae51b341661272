/*
 * DELETE of a collection: a list, then a deletion of each item, a limited number at a time, so
 * that a large collection does not delay other writes. As upstream, it is not atomic: the first
 * failure ends it, and items deleted until then stay deleted. The reply is the list before the
 * deletion.
 */
#include "api/api_limits.h"
#include "server/custom/custom.h"
#include "server/http/reply.h"
#include "server/plugins/table.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

enum {
	AT_ONCE = 64,
	TRIES_MAX = 10,
};

struct collection;

/* One deletion under way. */
struct removal {
	struct collection *collection;
	struct arena arena; /* cleared for each item */
	struct write write;
	struct state_write pending;
	struct admission_request req; /* for the item */
	struct object *item; /* from the list */
	int tries;
};

struct collection {
	struct mutation *m; /* has the options, and gets the failures */
	struct list_result list;
	size_t next; /* index of the next item */
	size_t open; /* deletions under way */
	bool filling;
	struct removal removals[AT_ONCE];
	struct removal *idle[AT_ONCE];
	size_t nidle;
};

static void delete_collection_fill(struct collection *c);

static void collection_drop(void *object)
{
	struct collection *c = object;

	for (size_t i = 0; i < AT_ONCE; i++)
		arena_release(&c->removals[i].arena);
}

/* --- one item --------------------------------------------------------------------- */

static void removal_end(struct removal *d, const struct error *err)
{
	struct collection *c = d->collection;

	if (err && err->code != ERR_NOT_FOUND && !c->m->committed.err.code) {
		c->m->committed.err = *err;
		c->m->req.about.name = object_name(d->item);
		c->m->req.about.status = d->req.about.status;
	}
	c->open--;
	c->idle[c->nidle++] = d;
	delete_collection_fill(c);
}

static void removal_try(struct removal *d);

static void delete_collection_on_written(struct state_write *w, struct object *object UNUSED,
					 const struct error *err)
{
	struct removal *d = w->arg;

	if (err && err->code == ERR_CONFLICT && ++d->tries < TRIES_MAX)
		removal_try(d);
	else
		removal_end(d, err);
}

/* Admission sees each deletion as one of its object. */
static int removal_admit(struct removal *d, const struct json *old, struct json *object,
			 struct error *err)
{
	mutation_prepare_tip(&d->req);
	return admission_check_tree(&d->req, old, object, err);
}

static int removal_write(struct removal *d, struct resource *r, struct object *base,
			 struct error *err)
{
	struct mutation *m = d->collection->m;
	struct json *old, *object;
	int ret;

	arena_clear(&d->arena);
	write_init(&d->write);
	ret = object_tree(base, &d->arena, &old, err);
	if (ret == 0)
		ret = write_delete(&d->write, custom_delete_base(&d->write, old),
				   &m->decoded.options, &object, err);
	if (ret == 0)
		ret = admission_check_memory(&d->arena, err);
	if (ret == 0)
		ret = removal_admit(d, old, object, err);
	if (ret < 0)
		return ret;
	if (d->write.unchanged) {
		removal_end(d, NULL);
		return 0;
	}
	return state_write(&d->pending, r, object_ns(d->item), object_name(d->item), base, object,
			   &d->arena, err);
}

static void removal_try(struct removal *d)
{
	struct mutation *m = d->collection->m;
	struct resource *r = state_resource(m->req.state, m->write.kind);
	struct object *base = resource_tip(r, object_ns(d->item), object_name(d->item));
	struct error err = { 0 };

	d->req.base_pending = base && !base->revision;
	if (!base)
		removal_end(d, NULL);
	else if (removal_write(d, r, base, &err) < 0 && !d->req.parked)
		removal_end(d, &err);
}

static void removal_resume(struct admission_request *req)
{
	struct removal *d = CONTAINER_OF(req, struct removal, req);

	if (req->cancelled)
		removal_end(d, req->cancelled);
	else
		removal_try(d);
}

static void removal_begin(struct removal *d, struct object *item)
{
	d->item = item;
	d->tries = 0;
	d->write.prng = d->collection->m->write.prng;
	d->req = d->collection->m->req;
	d->req.write = &d->write;
	d->req.ns = object_ns(item);
	d->req.name = object_name(item);
	d->req.resume = removal_resume;
	removal_try(d);
}

/* --- all of them ------------------------------------------------------------------ */

static bool has_more(const struct collection *c)
{
	return c->next < c->list.n && !c->m->committed.err.code && !c->m->req.dry_run;
}

static void delete_collection_fill(struct collection *c)
{
	struct removal *d;

	/* An item that is already gone ends immediately and calls this from within. */
	if (c->filling)
		return;
	c->filling = true;
	while (c->nidle && has_more(c)) {
		d = c->idle[--c->nidle];
		c->open++;
		removal_begin(d, c->list.items[c->next++]);
	}
	c->filling = false;
	if (!c->open)
		job_finish(&c->m->x->job);
}

static void delete_collection_on_listed(void *arg, const struct list_result *result,
					const struct error *err)
{
	struct collection *c = arg;

	if (err) {
		mutation_fail(c->m, err);
		return;
	}
	c->list = *result;
	delete_collection_fill(c);
}

static void delete_collection_on_synced(struct state *st, struct job *j, const struct error *err)
{
	struct mutation *m = exchange_of(j)->data;
	const struct request *r = &m->x->request;
	struct collection *c = m->data;
	struct list_query query = { .ns = r->ns,
				    .labels = r->labels,
				    .fields = r->fields,
				    .limit = (size_t)r->limit,
				    .in_turns = true };

	if (err)
		mutation_fail(m, err);
	else
		resource_list(state_resource(st, m->write.kind), &query, &m->x->work,
			      delete_collection_on_listed, c);
}

static void delete_collection_on_state(struct state *st, struct job *j)
{
	(void)mutation_arrive(st, j);
	state_sync(st, j, 0, delete_collection_on_synced);
}

static void delete_collection_answer(struct mutation *m)
{
	struct collection *c = m->data;

	reply_list(m->x, &c->list);
}

static const struct mutation_ops collection_ops = { .answer = delete_collection_answer };

static struct collection *collection_new(struct mutation *m)
{
	struct collection *c = ARENA_NEW(&m->x->work, struct collection);

	c->m = m;
	m->data = c;
	for (size_t i = 0; i < AT_ONCE; i++) {
		struct removal *d = &c->removals[i];

		d->collection = c;
		arena_init(&d->arena, REQUEST_WORK_MAX);
		d->write = m->write;
		d->write.arena = &d->arena;
		d->pending.done = delete_collection_on_written;
		d->pending.arg = d;
		c->idle[c->nidle++] = d;
	}
	arena_hold(&m->x->work, collection_drop, c);
	return c;
}

void verb_delete_collection(struct exchange *x)
{
	struct mutation *m = mutation_new(x, &collection_ops);

	if (!mutation_delete_options(m))
		return;
	(void)collection_new(m);
	mutation_submit(m, delete_collection_on_state);
}
