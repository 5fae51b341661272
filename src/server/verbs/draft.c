/*
 * Whatever a draft is based on is recorded in its looks, from the object that it replaces and its
 * namespace on.
 */
#include "server/verbs/draft.h"

#include "api/devices/selector_trial.h"
#include "api/api_limits.h"
#include "net/loop/loop.h"
#include "server/core/parts.h"
#include "server/engine/looks.h"
#include "server/http/metrics.h"
#include "server/plugins/table.h"
#include "server/verbs/mutation.h"

enum {
	DRAFT_TRIES = 3,
	DRAFT_BODY_MAX = 128 * 1024,
};

struct draft {
	struct looks looks; /* these two, and what the plugins have read */
	struct object *base, *ns; /* borrowed from the looks; or NULL */
	int tries;
	bool stale;
	bool same; /* the write changes nothing */
	/* The rules of write.authorize need the state: it runs them on these trees. */
	void (*rules)(struct write *w, const struct json *old, const struct json *object);
	const struct json *rules_old, *rules_object; /* NULL: there is nothing to check */
};

bool draft_is_stale(const struct mutation *m)
{
	return m->draft->stale;
}

/* --- on the stream's loop --------------------------------------------------------- */

static bool may_draft(const struct mutation *m)
{
	const struct exchange *x = m->x;

	return m->ops->drafts && x->home != x->server->opts.loops[0] && !m->write.kind->custom &&
	       !m->req.dry_run && x->body.n < DRAFT_BODY_MAX &&
	       (!m->draft || m->draft->tries < DRAFT_TRIES) && state_lets_draft(x->server->state);
}

/* Returns false if an object is missing that the write needs. */
static bool look_up(struct mutation *m)
{
	struct state *st = m->req.state;
	bool spaced = m->write.kind->flags & SCHEMA_NAMESPACED, creates = m->ops->draft_new;
	struct draft *d = m->draft;

	d->base = d->ns = NULL;
	if (spaced)
		d->ns = looks_object(&d->looks, state_namespaces(st), STR(""), m->req.ns);
	if (spaced && (!d->ns || (creates && d->ns->deleting)))
		return false;
	if (creates)
		return true;
	d->base = looks_object(&d->looks, state_resource(st, m->write.kind), m->req.ns,
			       m->req.name);
	return d->base;
}

static void draft_drop(void *mutation)
{
	struct mutation *m = mutation;

	looks_release(&m->draft->looks);
	state_text_release(&m->decided.text);
}

/* Compiles the body's expressions if that is little work. */
static bool try_expressions(struct mutation *m)
{
	struct selector_trial *t = NULL;

	if (!m->x->sub && m->req.tree)
		t = selector_trial_new(&m->x->work, m->write.kind, m->req.tree, m->write.gates,
				       m->write.selectors);
	if (t && selector_trial_go_on(t, SELECTOR_TRIAL_STEPS))
		return false;
	m->write.trial = t;
	return true;
}

static bool begin_first(struct mutation *m)
{
	if (!admission_may_draft(&m->req, m->ops->draft_new) || !try_expressions(m))
		return false;
	m->draft = ARENA_NEW(&m->x->work, struct draft);
	m->draft->rules = m->write.authorize;
	arena_hold(&m->x->work, draft_drop, m);
	return true;
}

static bool begin_again(struct mutation *m)
{
	struct error err = { 0 };

	draft_drop(m);
	m->draft->stale = false;
	m->draft->rules_object = NULL;
	return mutation_renew_body(m, &err) == 0;
}

static void note_rules(struct write *w, const struct json *old, const struct json *object)
{
	struct draft *d = CONTAINER_OF(w->authorize_arg, struct mutation, req)->draft;

	d->rules_old = old;
	d->rules_object = object;
}

static int draft_decide(struct mutation *m, struct error *err)
{
	struct mutation_decided *c = &m->decided;
	struct draft *d = m->draft;
	struct resource *r = state_resource(m->req.state, m->write.kind);
	int ret;

	c->base = d->base;
	c->old = NULL;
	m->req.base_pending = false;
	mutation_prepare(&m->req, d->ns);
	m->write.authorize = d->rules ? note_rules : NULL;
	ret = c->base ? mutation_decide(m, err) : m->ops->draft_new(m, &c->object, err);
	m->write.authorize = d->rules;
	server_metrics_compiled(m->x->server->counts, m->write.compile_steps);
	if (ret == 0) {
		admission_judge_draft(&m->req, d->ns, c->old, c->object);
		ret = admission_check_memory(m->write.arena, err);
	}
	d->same = ret == 0 && mutation_is_same(m);
	if (ret == 0 && c->object && !d->same)
		ret = state_text_make(r, m->req.ns, m->req.name, c->object, &c->text, err);
	return ret;
}

bool draft_make(struct mutation *m)
{
	const struct exchange *x = m->x;
	struct error err = { 0 };

	if (!may_draft(m))
		return false;
	mutation_attach(m, x->server->state, x->lane);
	m->write.mutate = admission_mutate_draft;
	if (!(m->draft ? begin_again(m) : begin_first(m)))
		return false;
	m->draft->looks.lane = x->lane;
	if (!look_up(m))
		return false;
	m->req.looks = &m->draft->looks;
	m->decided.drafted = draft_decide(m, &err) == 0;
	return m->decided.drafted;
}

/* --- on the state's loop ---------------------------------------------------------- */

/* The name of a creation may be the draft's own, so it is looked up here only. */
static bool is_current(const struct mutation *m)
{
	const struct draft *d = m->draft;
	const struct resource *r = state_resource(m->req.state, m->write.kind);

	return looks_are_current(&d->looks) &&
	       (d->base || !resource_tip(r, m->req.ns, m->req.name));
}

static bool rules_hold(struct mutation *m)
{
	const struct draft *d = m->draft;

	if (d->rules_object)
		d->rules(&m->write, d->rules_old, d->rules_object);
	return !field_errors_any(&m->write.errs);
}

static bool plugins_agree(struct mutation *m)
{
	return admission_draft_stands(&m->req, m->decided.old, m->decided.object);
}

/* Whether the draft is outdated, and nothing else is being written that would outdate another. */
static bool wants_another(const struct mutation *m)
{
	const struct draft *d = m->draft;

	return d->base && d->tries + 1 < DRAFT_TRIES &&
	       !resource_pending(state_resource(m->req.state, m->write.kind), m->req.ns,
				 m->req.name);
}

void draft_on_state(struct state *st, struct job *j)
{
	struct mutation *m = mutation_arrive(st, j);
	struct server_metrics *counts = m->x->server->counts;
	struct draft *d = m->draft;
	bool current = is_current(m);

	m->again = mutation_again;
	if (!current && wants_another(m)) {
		d->tries++;
		d->stale = true;
		server_metrics_drafted(counts, DRAFT_AGAIN);
		job_finish(j);
	} else if (!current || !plugins_agree(m) || !rules_hold(m)) {
		server_metrics_drafted(counts, DRAFT_DROPPED);
		mutation_again(m);
	} else {
		server_metrics_drafted(counts, DRAFT_USED);
		if (!d->same || !mutation_wait(m, mutation_again))
			mutation_settle(m, d->same);
	}
}
