/*
 * The steps of a write: decode on the stream's loop, decide and write at the state, reply on the
 * stream's loop again. A conflict means that the decision was based on a state that never came to
 * be, or is outdated. Then the write is decided again on the current state, as often as upstream
 * does. A client's own precondition is part of the decision and fails there.
 *
 * A success may be decided on pending writes: its reply is sent after them, and it fails with
 * them. A rejection may not, because it would reveal a state that nobody can read yet and that
 * may never be committed. So a rejection on the tip is decided again on the committed object. If
 * that is rejected too, the rejection is final. Otherwise the request waits until the write that
 * caused the rejection has ended. store/store.h has the argument. Nor may a rejection miss a
 * write that another server has acknowledged: if there are several servers, the store is asked
 * once for its revision.
 */
#include "server/verbs/mutation.h"

#include "api/api_limits.h"
#include "api/devices/selector_trial.h"
#include "net/loop/loop.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/http/metrics.h"
#include "server/http/reply.h"
#include "server/plugins/table.h"
#include "server/verbs/draft.h"

enum {
	TRIES_MAX = 10,
};

/*
 * The resourceVersion of an object that is not committed yet. It has none, and no client can know
 * it, so every precondition on it fails.
 */
static const struct str unknown_version = { "18446744073709551615", 20 };

bool verb_is_foreign(const struct exchange *x)
{
	return x->sub && x->sub->kind.n && !str_eq(x->sub->kind, x->kind->kind);
}

void verb_reply_sync_error(struct exchange *x, const struct error *err)
{
	if (err->code == ERR_TIMEOUT && x->job.named) {
		x->about.cause_reason = "ResourceVersionTooLarge";
		x->about.cause_message = "Too large resource version";
	}
	if (err->code == ERR_TIMEOUT)
		x->about.retry_after_s = 1;
	reply_error(x, err, NULL);
}

static void mutation_go(struct mutation *m);

static void object_drop(void *object)
{
	object_unref(object);
}

/* --- replies ---------------------------------------------------------------------- */

void mutation_reply_shown(struct mutation *m, int status)
{
	struct arena *a = &m->x->work;
	struct json *shown = m->committed.shown, *meta = json_getz(shown, "metadata");

	if (str_eq(json_text_at(meta, "resourceVersion"), unknown_version))
		json_remove(meta, STR("resourceVersion"));
	(void)write_served_form(a, shown, m->write.kind->storage, m->write.gates);
	write_from_storage(a, shown, m->write.kind);
	reply_tree(m->x, status, shown);
}

void mutation_refuse(struct mutation *m, const struct error *err)
{
	struct exchange *x = m->x;

	x->write = &m->write;
	x->about = m->req.about;
	if (!x->about.name.n)
		x->about.name = STR_NULL;
	if (x->about.status) {
		reply_refusal(x, x->about.status);
		return;
	}
	reply_error(x, err, field_errors_any(&m->write.errs) ? &m->write.errs : NULL);
}

static void mutation_finish(struct exchange *x)
{
	struct mutation *m = x->data;

	if (m->draft && draft_is_stale(m)) {
		mutation_go(m);
		return;
	}
	if (m->committed.err.code) {
		mutation_refuse(m, &m->committed.err);
		return;
	}
	x->write = &m->write;
	x->about.annotations = m->req.about.annotations;
	x->about.name = m->req.name;
	if (m->ops->answer)
		m->ops->answer(m);
	else if (m->committed.shown)
		mutation_reply_shown(m, m->decided.status);
	else
		reply_object(x, m->decided.status, m->committed.object);
}

void mutation_fail(struct mutation *m, const struct error *err)
{
	m->committed.err = *err;
	admission_over(&m->req, err);
	job_finish(&m->x->job);
}

void mutation_end(struct mutation *m, struct object *object)
{
	if (object) {
		m->committed.object = object_ref(object);
		arena_hold(&m->x->work, object_drop, object);
	}
	admission_over(&m->req, NULL);
	job_finish(&m->x->job);
}

int mutation_blame(struct mutation *m, const struct schema_kind *kind, struct str name, int r)
{
	m->req.about.kind = kind;
	m->req.about.name = name;
	return r;
}

/* --- namespaces ------------------------------------------------------------------- */

static struct object *namespace_of(const struct admission_request *req)
{
	if (!(req->write->kind->flags & SCHEMA_NAMESPACED))
		return NULL;
	return resource_tip(state_namespaces(req->state), STR(""), req->ns);
}

/* The labels of an object, from its header. */
static struct json *labels_of(struct arena *a, const struct object *o)
{
	struct json *labels = json_make_object(a);
	const char *text = o->json->data;

	for (size_t i = 0; i < o->nlabels; i++) {
		const struct object_label *l = &o->labels[i];

		json_add(labels, arena_str(a, str_of(text + l->key, l->key_n)),
			 json_make_str(a, arena_str(a, str_of(text + l->value, l->value_n))));
	}
	return labels;
}

void mutation_prepare(struct admission_request *req, const struct object *ns)
{
	struct write *w = req->write;

	w->namespace_labels = ns && ns->nlabels ? labels_of(w->arena, ns) : NULL;
}

void mutation_prepare_tip(struct admission_request *req)
{
	mutation_prepare(req, namespace_of(req));
}

/* 0: the namespace does not exist; 1: it is being deleted; 2: objects can be created in it. */
static int openness(const struct object *ns)
{
	return !ns ? 0 : ns->deleting ? 1 : 2;
}

static int check_namespace(struct mutation *m, struct error *err)
{
	struct object *ns = namespace_of(&m->req);

	if (!(m->write.kind->flags & SCHEMA_NAMESPACED))
		return 0;
	if (openness(ns) !=
	    openness(resource_get(state_namespaces(m->req.state), STR(""), m->req.ns))) {
		m->on_committed = false;
		return admission_park_for_write(&m->req, state_namespaces(m->req.state), STR(""),
						m->req.ns, err);
	}
	if (!ns) {
		(void)error_copy(err, &(struct error){ .code = ERR_NOT_FOUND });
		return mutation_blame(m,
				      schema_find_resource(STR(""), STR("v1"), STR("namespaces")),
				      m->req.ns, -ERR_NOT_FOUND);
	}
	if (!ns->deleting)
		return 0;
	m->req.about.cause_reason = "NamespaceTerminating";
	m->req.about.cause_field = "metadata.namespace";
	m->req.about.cause_message = arena_printf(&m->x->work, "namespace %.*s is being terminated",
						  STR_ARG(m->req.ns));
	return error_set(err, ERR_FORBIDDEN,
			 "unable to create new content in namespace %.*s because it is being "
			 "terminated",
			 STR_ARG(m->req.ns));
}

/*
 * A creation depends on the namespace as committed here. So a server that does not know of its
 * deletion yet, or whose write arrives late, creates no object that would outlive it.
 */
static struct store_basis namespace_basis(struct mutation *m)
{
	const struct object *ns = m->write.kind->flags & SCHEMA_NAMESPACED
					  ? resource_get(state_namespaces(m->req.state), STR(""),
							 m->req.ns)
					  : NULL;

	if (!ns)
		return (struct store_basis){ 0 };
	return (struct store_basis){
		.key = { .resource = STR("core/namespaces"), .name = m->req.ns },
		.at = ns->revision,
	};
}

int mutation_check_home(struct mutation *m, struct error *err)
{
	int r = custom_check_create(m->x->server->custom, m->write.kind, err);

	return r < 0 ? r : check_namespace(m, err);
}

/* --- writing ---------------------------------------------------------------------- */

static void mutation_on_written(struct state_write *w, struct object *object,
				const struct error *err)
{
	struct mutation *m = w->arg;

	m->req.in_doubt = err && !store_has_refused(err);
	if (err && err->code == ERR_CONFLICT && ++m->tries < TRIES_MAX)
		m->again(m);
	else if (err)
		mutation_fail(m, err);
	else
		mutation_end(m, object);
}

static struct state_write *pending_of(const struct mutation *m)
{
	return resource_pending(state_resource(m->req.state, m->write.kind), m->req.ns,
				m->req.name);
}

/* Returns false if the write was rejected, or will be decided again. */
static bool admit(struct mutation *m, void (*again)(struct mutation *m))
{
	struct mutation_decided *d = &m->decided;
	struct error err = { 0 };
	int r;

	m->req.terms.send_by = 0;
	r = d->drafted ? admission_check_tree(&m->req, d->old, d->object, &err)
		       : admission_check(&m->req, d->base, d->object, &err);
	if (r == 0)
		r = write_check_revision(&m->write, &err);
	if (r == 0)
		return true;
	m->again = again;
	if (!m->req.parked && !mutation_wait(m, again))
		mutation_fail(m, &err);
	return false;
}

/* Gives the decision to the state. */
static int mutation_write(struct mutation *m, struct error *err)
{
	struct resource *r = state_resource(m->req.state, m->write.kind);
	struct mutation_decided *d = &m->decided;
	struct state_write *pending = &m->committed.pending;
	struct arena *a = &m->x->work;

	if (!d->drafted)
		return state_write(pending, r, m->req.ns, m->req.name, d->base, d->object, a, err);
	return state_write_text(pending, r, m->req.ns, m->req.name, d->base,
				d->object ? &d->text : NULL, a, err);
}

void mutation_commit(struct mutation *m, void (*again)(struct mutation *m))
{
	const struct mutation_decided *d = &m->decided;
	struct state_write *pending = &m->committed.pending;
	struct error err = { 0 };

	if (!admit(m, again))
		return;
	m->again = again;
	if (m->on_committed && pending_of(m)) {
		m->on_committed = false;
		admission_resume_after(&m->req, pending_of(m));
		return;
	}
	if (m->req.dry_run) {
		m->committed.shown = d->object;
		mutation_end(m, d->base);
		return;
	}
	m->on_committed = false;
	*pending = (struct state_write){ .done = mutation_on_written,
					 .arg = m,
					 .terms = m->req.terms };
	if (!d->base) {
		pending->terms.bases[0] = namespace_basis(m);
		pending->terms.bases[1] = custom_basis(m->x->server->custom, m->write.kind,
						       &m->x->work);
	}
	if (mutation_write(m, &err) < 0)
		mutation_fail(m, &err);
}

/* --- the usual steps -------------------------------------------------------------- */

static void mutation_on_synced(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct mutation *m = exchange_of(j)->data;

	if (err)
		mutation_fail(m, err);
	else
		m->again(m);
}

struct object *mutation_base(const struct mutation *m)
{
	struct resource *r = state_resource(m->req.state, m->write.kind);

	return m->on_committed ? resource_get(r, m->req.ns, m->req.name)
			       : resource_tip(r, m->req.ns, m->req.name);
}

bool mutation_wait(struct mutation *m, void (*again)(struct mutation *m))
{
	m->again = again;
	if (!m->on_committed && pending_of(m)) {
		m->on_committed = true;
		again(m);
		return true;
	}
	if (admission_is_current(&m->req))
		return false;
	m->req.synced = true;
	m->on_committed = false;
	state_sync(m->req.state, &m->x->job, 0, mutation_on_synced);
	return true;
}

int mutation_decide(struct mutation *m, struct error *err)
{
	struct mutation_decided *d = &m->decided;
	int r;

	d->object = NULL;
	if (!d->base && !m->ops->decide_new) {
		(void)error_copy(err, &(struct error){ .code = ERR_NOT_FOUND });
		return mutation_blame(m, m->write.kind, m->req.name, -ERR_NOT_FOUND);
	}
	if (!d->base)
		return m->ops->decide_new(m, &d->object, err);
	r = object_tree(d->base, m->write.arena, &d->old, err);
	if (r < 0)
		return r;
	if (!d->base->revision)
		json_put_str(m->write.arena, json_getz(d->old, "metadata"), "resourceVersion",
			     unknown_version);
	return m->ops->decide(m, d->old, &d->object, err);
}

/*
 * Even without changes, a write converts an object that is stored in an old version, and seals one
 * again that is sealed with an old key.
 */
bool mutation_is_same(const struct mutation *m)
{
	const struct mutation_decided *d = &m->decided;

	return m->write.unchanged && d->object && d->base &&
	       !object_is_stale(d->base, m->write.kind) &&
	       !resource_seal_is_old(state_resource(m->req.state, m->write.kind), d->base);
}

void mutation_settle(struct mutation *m, bool same)
{
	struct object *base = m->decided.base;

	if (!same || !base->revision)
		mutation_commit(m, mutation_again);
	else if (admit(m, mutation_again)) /* the reply shows the object */
		mutation_end(m, base);
}

static void attempt(struct mutation *m)
{
	struct object *base = mutation_base(m);
	struct error err = { 0 };
	bool same;
	int r;

	mutation_prepare_tip(&m->req);
	m->again = mutation_again;
	m->decided.base = base;
	m->req.base_pending = base && !base->revision;
	r = mutation_decide(m, &err);
	server_metrics_compiled(m->x->server->counts, m->write.compile_steps);
	if (m->req.parked)
		return;
	if (m->write.arena->refused)
		r = admission_check_memory(m->write.arena, &err);
	same = r == 0 && mutation_is_same(m);
	if ((r < 0 || same) && mutation_wait(m, mutation_again))
		return;
	if (r < 0)
		mutation_fail(m, &err);
	else
		mutation_settle(m, same);
}

static void attempt_by_ops(struct mutation *m)
{
	if (m->ops->attempt)
		m->ops->attempt(m);
	else
		attempt(m);
}

static void retry_drop(void *retry)
{
	arena_release(retry);
}

/* Gives the next try fresh memory; the previous try's results are freed. */
static void renew_memory(struct mutation *m)
{
	if (!m->retries) {
		m->retries = true;
		arena_init(&m->retry, REQUEST_WORK_MAX);
		arena_hold(&m->x->work, retry_drop, &m->retry);
	}
	arena_clear(&m->retry);
	m->write.arena = &m->retry;
}

/* Decodes again what a try may have changed. */
static int decode_again(struct mutation *m, struct error *err)
{
	write_init(&m->write);
	m->req.target = m->x->request.target; /* a name from the body was in that memory */
	m->req.about = (struct about){ 0 };
	m->req.verdict = NULL;
	m->req.is_secure = false;
	return m->ops->decode ? m->ops->decode(m, err) : 0;
}

int mutation_renew_body(struct mutation *m, struct error *err)
{
	state_text_release(&m->decided.text);
	m->decided.drafted = false;
	renew_memory(m);
	return decode_again(m, err);
}

bool mutation_renew(struct mutation *m)
{
	struct error err = { 0 };

	if (m->req.cancelled) {
		mutation_fail(m, m->req.cancelled);
		return false;
	}
	if (mutation_renew_body(m, &err) == 0)
		return true;
	mutation_fail(m, &err);
	return false;
}

void mutation_again(struct mutation *m)
{
	if (mutation_renew(m))
		attempt_by_ops(m);
}

void mutation_attach(struct mutation *m, struct state *st, size_t lane)
{
	m->req.state = st;
	m->req.looks = NULL;
	m->write.prng = loop_prng(m->x->server->opts.loops[lane]);
	m->write.selectors = m->x->server->selectors[lane];
	m->write.mutate = admission_mutate;
	m->write.mutate_arg = &m->req;
}

struct mutation *mutation_arrive(struct state *st, struct job *j)
{
	struct mutation *m = exchange_of(j)->data;

	mutation_attach(m, st, 0);
	return m;
}

static void on_trying(struct state *st, struct job *j);

static void mutation_go_on(struct mutation *m)
{
	if (m->trial && selector_trial_go_on(m->trial, SELECTOR_TRIAL_STEPS) &&
	    state_run_later(m->req.state, &m->x->job, on_trying)) {
		server_metrics_paused(m->x->server->counts);
		flow_pause(&m->x->flow);
		return;
	}
	m->write.trial = m->trial;
	m->again(m);
}

static void on_trying(struct state *st UNUSED, struct job *j)
{
	struct mutation *m = exchange_of(j)->data;

	admission_check_deadline(&m->req);
	if (m->req.cancelled)
		mutation_fail(m, m->req.cancelled);
	else
		mutation_go_on(m);
}

/* Subresources have no expressions of their own, and stored expressions are not checked again. */
void mutation_try(struct mutation *m, void (*then)(struct mutation *m))
{
	if (!m->x->sub && m->req.tree)
		m->trial = selector_trial_new(&m->x->work, m->write.kind, m->req.tree,
					      m->write.gates, m->write.selectors);
	m->again = then;
	mutation_go_on(m);
}

static void mutation_on_state(struct state *st, struct job *j)
{
	mutation_try(mutation_arrive(st, j), attempt_by_ops);
}

/* After a draft has failed, the state decodes the body again and decides the write. */
static void mutation_on_state_again(struct state *st, struct job *j)
{
	mutation_again(mutation_arrive(st, j));
}

void mutation_submit(struct mutation *m, void (*run)(struct state *st, struct job *j))
{
	exchange_submit(m->x, run, mutation_finish);
}

/* Sends the write to the state, decided here if that is possible. */
static void mutation_go(struct mutation *m)
{
	if (draft_make(m))
		mutation_submit(m, draft_on_state);
	else
		mutation_submit(m, m->draft ? mutation_on_state_again : mutation_on_state);
}

void mutation_start(struct mutation *m)
{
	struct error err = { 0 };

	if (m->ops->decode && m->ops->decode(m, &err) < 0)
		mutation_refuse(m, &err);
	else
		mutation_go(m);
}

/* --- making ----------------------------------------------------------------------- */

int verb_body_format(struct mutation *m, struct error *err)
{
	const struct http_fields *fields = &m->x->stream->in.fields;
	int r;

	r = negotiate_body(http_fields_get(fields, STR("content-type")), &m->decoded.format, err);
	/* A definition gives its fields no protobuf numbers. Its Scale subresource has them. */
	if (r == 0 && m->decoded.format == DECODE_PROTOBUF && m->write.kind->custom &&
	    !verb_is_foreign(m->x))
		r = error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
			      "the body of the request was in an unknown format - accepted media "
			      "types include: application/json, application/yaml");
	return r;
}

static void resume(struct admission_request *req)
{
	struct mutation *m = CONTAINER_OF(req, struct mutation, req);

	m->again(m);
}

static struct admission_request request_of(struct exchange *x, struct write *w)
{
	return (struct admission_request){
		.server = x->server,
		.user = &x->user,
		.request = &x->request,
		.path_kind = x->kind,
		.foreign = verb_is_foreign(x),
		.target = x->request.target,
		.write = w,
		.work = &x->work,
		.deadline_ns = x->begun_ns + exchange_time_limit(x) * CLOCK_MS,
		.dry_run = x->request.dry_run,
		.resume = resume,
		.flow = &x->flow,
	};
}

struct mutation *mutation_new(struct exchange *x, const struct mutation_ops *ops)
{
	struct mutation *m = ARENA_NEW(&x->work, struct mutation);
	const struct request *r = &x->request;

	m->x = x;
	m->ops = ops;
	m->decided.status = 200;
	m->req = request_of(x, &m->write);
	m->write = (struct write){
		.arena = &x->work,
		.kind = x->kind,
		.target = r->target,
		.gates = &x->server->gates,
		.now_ns = x->wall_ns,
		.options = r->write,
		.user_agent = http_fields_get(&x->stream->in.fields, STR("user-agent")),
	};
	write_init(&m->write);
	x->data = m;
	return m;
}
