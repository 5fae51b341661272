/*
 * GET of one object, the server's hot path: it takes a reference, and the reply is the object's
 * bytes. A lane other than the state's own takes the reference itself if the newest object that it
 * has is what the client asked for; otherwise a job takes it at the state.
 */
#include "server/core/parts.h"
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

/* On the state's own loop a job waits for other requests of the turn, and costs nothing else. */
static bool can_look_here(const struct exchange *x)
{
	const struct server *s = x->server;

	return x->home != s->opts.loops[0] && !x->kind->custom && x->request.revision <= 0 &&
	       state_lets_look(s->state);
}

static void get_here(struct exchange *x, struct get *g)
{
	const struct resource *r = state_resource(x->server->state, x->kind);

	g->object = resource_look(r, x->lane, x->request.ns, x->request.name);
	if (g->object)
		arena_hold(&x->work, object_drop, g->object);
	exchange_finish(x, get_finish);
}

void verb_get_object(struct exchange *x, void (*answer)(struct exchange *x, const struct object *o))
{
	struct get *g = arena_alloc(&x->work, sizeof(*g));

	g->object = NULL;
	g->answer = answer;
	g->err.code = ERR_OK;
	x->data = g;
	if (can_look_here(x))
		get_here(x, g);
	else
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
