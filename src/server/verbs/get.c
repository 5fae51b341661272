/*
 * GET of one object, the server's hot path: the job takes a reference at the state, and the reply
 * is the object's bytes.
 */
#include "server/http/reply.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

struct get {
	struct object *object; /* a reference, or NULL */
	void (*answer)(struct exchange *x, const struct object *o);
	struct error err;
};

static void object_drop(void *object)
{
	object_unref(object);
}

static void get_on_synced(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct get *g = x->data;
	struct object *o;

	if (err) {
		g->err = *err;
	} else {
		o = resource_get(state_resource(st, x->kind), x->request.ns, x->request.name);
		if (o) {
			g->object = object_ref(o);
			arena_hold(&x->work, object_drop, o);
		}
	}
	job_finish(j);
}

/* No resourceVersion: the newest. "0": whatever is here. Otherwise at least that revision. */
static void get_on_state(struct state *st, struct job *j)
{
	const struct exchange *x = exchange_of(j);
	int64_t revision = x->request.revision;

	state_read(st, j, x->kind, revision == 0 ? -1 : MAX(revision, 0), get_on_synced);
}

static void get_finish(struct exchange *x)
{
	struct get *g = x->data;

	if (g->object)
		g->answer(x, g->object);
	else if (g->err.code)
		verb_reply_sync_error(x, &g->err);
	else
		reply_error(x, &(struct error){ .code = ERR_NOT_FOUND }, NULL);
}

void verb_get_object(struct exchange *x, void (*answer)(struct exchange *x, const struct object *o))
{
	struct get *g = arena_alloc(&x->work, sizeof(*g));

	g->object = NULL;
	g->answer = answer;
	g->err.code = ERR_OK;
	x->data = g;
	exchange_submit(x, get_on_state, get_finish);
}

static void answer_object(struct exchange *x, const struct object *o)
{
	reply_object(x, 200, o);
}

void verb_get(struct exchange *x)
{
	if (verb_is_foreign(x))
		reply_error(x, &(struct error){ .code = ERR_METHOD_NOT_ALLOWED }, NULL);
	else
		verb_get_object(x, answer_object);
}
