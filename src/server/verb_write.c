/*
 * The course of a write: decode on the stream's loop, decide and write at the
 * state, answer on the stream's loop again. A conflict means that the decision
 * was made on something that did not come to be, or is no more: it is made
 * anew, as often as upstream does, on what is there by then. A client's own
 * precondition is part of the decision and fails there.
 *
 * A success may be decided on writes that are still under way: it is answered
 * after them, and fails with them. A refusal may not, because its client would
 * learn of something that nobody can read yet, and that may never be. So a
 * refusal on the tip is decided again on the committed object. If that one is
 * refused too, the refusal holds; if not, the request waits until the write that
 * it was refused for has ended. store.h has the argument. Nor may a refusal miss
 * what another server has acknowledged: if there are several servers, the store
 * is asked once how far it is.
 */
#include "server/verb_impl.h"

#include "api/selector_trial.h"
#include "base/limits.h"
#include "net/loop.h"
#include "server/admission.h"
#include "server/custom.h"
#include "server/reply_impl.h"
#include "server/server_impl.h"
#include "server/server_metrics.h"

enum {
	TRIES_MAX = 10,
	WAITS_MAX = 100, /* time-outs of waiting for a commit */
};

/*
 * The resourceVersion of what is not committed yet: it has none, and no client
 * can know it, so every precondition on it fails.
 */
static const struct str unknown_version = { "18446744073709551615", 20 };

bool verb_is_foreign(const struct exchange *x)
{
	return x->sub && x->sub->kind.n && !str_eq(x->sub->kind, x->kind->kind);
}

void verb_reply_sync_error(struct exchange *x, const struct error *err)
{
	if (err->code == ERR_TIMEOUT && x->job.named) {
		x->cause_reason = "ResourceVersionTooLarge";
		x->cause_message = "Too large resource version";
	}
	if (err->code == ERR_TIMEOUT)
		x->retry_after_s = 1;
	reply_error(x, err, NULL);
}

static void object_drop(void *object)
{
	object_unref(object);
}

/* --- answering -------------------------------------------------------------------- */

/* What a dry run would have stored, as it would have been shown. */
void mutation_reply_shown(struct mutation *m)
{
	struct arena *a = &m->x->work;
	struct json *meta = json_getz(m->shown, "metadata");

	if (str_eq(json_text_at(meta, "resourceVersion"), unknown_version))
		json_remove(meta, STR("resourceVersion"));
	(void)write_served_form(a, m->shown, m->kind->storage, m->write.gates);
	write_from_storage(a, m->shown, m->kind);
	reply_tree(m->x, m->status, m->shown);
}

void mutation_refuse(struct mutation *m, const struct error *err)
{
	struct exchange *x = m->x;

	x->warnings = m->write.warnings;
	x->annotations = m->annotations;
	if (m->about_kind)
		x->about_kind = m->about_kind;
	if (m->about_name.n)
		x->about_name = m->about_name;
	x->message = m->write.message;
	x->cause_reason = m->cause_reason;
	x->cause_message = m->cause_message;
	x->cause_field = m->cause_field;
	x->conflicts = m->write.conflicts;
	x->nconflicts = m->write.nconflicts;
	x->untold_conflicts = m->write.untold_conflicts;
	x->retry_after_s = m->retry_after_s;
	if (m->refusal) {
		reply_refusal(x, m->refusal);
		return;
	}
	reply_error(x, err, field_errors_any(&m->write.errs) ? &m->write.errs : NULL);
}

static void finish(struct exchange *x)
{
	struct mutation *m = x->data;

	if (m->err.code) {
		mutation_refuse(m, &m->err);
		return;
	}
	x->warnings = m->write.warnings;
	x->annotations = m->annotations;
	x->about_name = m->name;
	if (m->ops->answer)
		m->ops->answer(m);
	else if (m->shown)
		mutation_reply_shown(m);
	else
		reply_object(x, m->status, m->object);
}

struct mutation_hook {
	struct mutation_hook *next;
	void (*fn)(struct mutation *m, void *arg, bool done);
	void *arg;
};

void mutation_on_over(struct mutation *m, void (*fn)(struct mutation *m, void *arg, bool done),
		      void *arg)
{
	struct mutation_hook *h = ARENA_NEW(&m->x->work, struct mutation_hook);

	*h = (struct mutation_hook){ m->hooks, fn, arg };
	m->hooks = h;
}

static void tell_over(struct mutation *m, bool done)
{
	for (struct mutation_hook *h = m->hooks; h; h = h->next)
		h->fn(m, h->arg, done);
	m->hooks = NULL;
}

void mutation_fail(struct mutation *m, const struct error *err)
{
	m->err = *err;
	tell_over(m, false);
	job_finish(m->job);
}

void mutation_end(struct mutation *m, struct object *object)
{
	if (object) {
		m->object = object_ref(object);
		arena_hold(&m->x->work, object_drop, object);
	}
	tell_over(m, true);
	job_finish(m->job);
}

int mutation_blame(struct mutation *m, const struct schema_kind *kind, struct str name, int r)
{
	m->about_kind = kind;
	m->about_name = name;
	return r;
}

/* --- namespaces ------------------------------------------------------------------- */

static struct object *namespace_of(struct mutation *m)
{
	if (!(m->kind->flags & SCHEMA_NAMESPACED))
		return NULL;
	return resource_tip(state_namespaces(m->state), STR(""), m->ns);
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

void mutation_prepare(struct mutation *m)
{
	struct object *ns = namespace_of(m);

	m->write.namespace_labels = ns && ns->nlabels ? labels_of(m->write.arena, ns) : NULL;
}

/* --- waiting for admission -------------------------------------------------------- */

struct mutation_memo {
	struct mutation_memo *next;
	const void *key;
	_Alignas(max_align_t) unsigned char data[];
};

void *mutation_memo(struct mutation *m, const void *key, size_t size)
{
	struct mutation_memo *memo = m->memos;

	while (memo && memo->key != key)
		memo = memo->next;
	if (memo)
		return memo->data;
	memo = arena_alloc(&m->x->work, sizeof(*memo) + size);
	memset(memo, 0, sizeof(*memo) + size);
	memo->key = key;
	memo->next = m->memos;
	m->memos = memo;
	return memo->data;
}

int mutation_park(struct mutation *m, struct error *err)
{
	m->parked = true;
	flow_pause(&m->x->flow);
	return error_set(err, ERR_UNAVAILABLE, "admission is not decided yet");
}

static struct error *cancelled(struct mutation *m)
{
	if (!m->cancelled)
		m->cancelled = ARENA_NEW(&m->x->work, struct error);
	return m->cancelled;
}

/* Whoever was told that it took too long is not to find it done later. */
static void check_deadline(struct mutation *m)
{
	int64_t ns = clock_monotonic(m->x->server->clock) - m->x->begun_ns;

	if (ns / CLOCK_MS >= exchange_time_limit(m->x))
		(void)error_set(cancelled(m), ERR_TIMEOUT,
				"request did not complete within the allotted timeout");
}

void mutation_resume(struct mutation *m)
{
	m->parked = false;
	check_deadline(m);
	m->again(m);
}

bool mutation_is_cancelled(const struct mutation *m)
{
	return m->cancelled != NULL;
}

/* --- waiting for writes ----------------------------------------------------------- */

static void on_settled(struct state_wait *wait)
{
	struct mutation *m = CONTAINER_OF(wait, struct mutation, settling);

	m->on_committed = false;
	mutation_resume(m);
}

/* Decides again when the writes of that key that are under way now have ended. */
static void settle(struct mutation *m, struct state_write *pending)
{
	m->settling.over = on_settled;
	state_write_wait(pending, &m->settling);
}

static int park_until_settled(struct mutation *m, struct resource *r, struct str ns,
			      struct str name, struct error *err)
{
	struct state_write *pending = resource_pending(r, ns, name);
	int ret;

	if (!pending)
		return mutation_park_for_commit(m, err);
	ret = mutation_park(m, err);
	settle(m, pending);
	return ret;
}

int mutation_park_for_base(struct mutation *m, struct error *err)
{
	return park_until_settled(m, state_resource(m->state, m->kind), m->ns, m->name, err);
}

static void on_commit(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct mutation *m = CONTAINER_OF(j, struct mutation, sync);

	if (err && (err->code != ERR_TIMEOUT || ++m->waits > WAITS_MAX))
		*cancelled(m) = *err;
	mutation_resume(m);
}

int mutation_park_for_commit(struct mutation *m, struct error *err)
{
	int r;

	/* A state that stops would answer at once, from within. The reason is in /readyz. */
	if (state_health(m->state, NULL) < 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "the server cannot write at the moment; try again");
	r = mutation_park(m, err);
	state_sync(m->state, &m->sync, state_revision(m->state) + 1, on_commit);
	return r;
}

/* 0: the namespace is not there; 1: it is going; 2: it takes objects. */
static int openness(const struct object *ns)
{
	return !ns ? 0 : ns->deleting ? 1 : 2;
}

static int check_namespace(struct mutation *m, struct error *err)
{
	struct object *ns = namespace_of(m);

	if (!(m->kind->flags & SCHEMA_NAMESPACED))
		return 0;
	if (openness(ns) != openness(resource_get(state_namespaces(m->state), STR(""), m->ns)))
		return park_until_settled(m, state_namespaces(m->state), STR(""), m->ns, err);
	if (!ns) {
		*err = (struct error){ .code = ERR_NOT_FOUND };
		return mutation_blame(m,
				      schema_find_resource(STR(""), STR("v1"), STR("namespaces")),
				      m->ns, -ERR_NOT_FOUND);
	}
	if (!ns->deleting)
		return 0;
	m->cause_reason = "NamespaceTerminating";
	m->cause_field = "metadata.namespace";
	m->cause_message = arena_printf(&m->x->work, "namespace %.*s is being terminated",
					STR_ARG(m->ns));
	return error_set(err, ERR_FORBIDDEN,
			 "unable to create new content in namespace %.*s because it is being "
			 "terminated",
			 STR_ARG(m->ns));
}

/*
 * A creation is decided on the namespace as it is committed here. So a server that has not heard of
 * its deletion yet, or whose write comes late, creates nothing that would outlive it.
 */
static struct store_basis namespace_basis(struct mutation *m)
{
	const struct object *ns = m->kind->flags & SCHEMA_NAMESPACED
					  ? resource_get(state_namespaces(m->state), STR(""), m->ns)
					  : NULL;

	if (!ns)
		return (struct store_basis){ 0 };
	return (struct store_basis){
		.key = { .resource = STR("core/namespaces"), .name = m->ns },
		.at = ns->revision,
	};
}

int mutation_check_home(struct mutation *m, struct error *err)
{
	int r = custom_check_create(m->x->server->custom, m->kind, err);

	return r < 0 ? r : check_namespace(m, err);
}

/* --- writing ---------------------------------------------------------------------- */

static void on_written(struct state_write *w, struct object *object, const struct error *err)
{
	struct mutation *m = w->arg;

	m->in_doubt = err && !store_has_refused(err);
	if (err && err->code == ERR_CONFLICT && ++m->tries < TRIES_MAX)
		m->again(m);
	else if (err)
		mutation_fail(m, err);
	else
		mutation_end(m, object);
}

static struct state_write *pending_of(const struct mutation *m)
{
	return resource_pending(state_resource(m->state, m->kind), m->ns, m->name);
}

/* False when it was refused, or will be decided again. */
static bool admit(struct mutation *m, struct object *base, struct json *object,
		  void (*again)(struct mutation *m))
{
	struct error err = { 0 };

	m->send_by = 0;
	if (admission_check(m, base, object, &err) == 0)
		return true;
	m->again = again;
	if (!m->parked && !mutation_wait(m, again))
		mutation_fail(m, &err);
	return false;
}

void mutation_commit(struct mutation *m, struct object *base, struct json *object,
		     void (*again)(struct mutation *m))
{
	struct resource *r = state_resource(m->state, m->kind);
	struct error err = { 0 };

	if (!admit(m, base, object, again))
		return;
	m->again = again;
	if (m->on_committed && pending_of(m)) {
		settle(m, pending_of(m));
		return;
	}
	m->gone = !object;
	if (m->dry_run) {
		m->shown = object;
		mutation_end(m, base);
		return;
	}
	m->on_committed = false;
	m->pending.done = on_written;
	m->pending.arg = m;
	m->pending.guards = m->guards;
	m->pending.nguards = m->nguards;
	m->pending.send_by = m->send_by;
	m->pending.bases[0] = base ? (struct store_basis){ 0 } : namespace_basis(m);
	m->pending.bases[1] = base ? (struct store_basis){ 0 }
				   : custom_basis(m->x->server->custom, m->kind, &m->x->work);
	if (state_write(&m->pending, r, m->ns, m->name, base, object, &m->x->work, &err) < 0)
		mutation_fail(m, &err);
}

/* --- the usual course ------------------------------------------------------------- */

static void on_synced(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct mutation *m = exchange_of(j)->data;

	if (err)
		mutation_fail(m, err);
	else
		m->again(m);
}

bool mutation_is_current(const struct mutation *m)
{
	return m->synced || !state_is_shared(m->state);
}

struct object *mutation_base(const struct mutation *m)
{
	struct resource *r = state_resource(m->state, m->kind);

	return m->on_committed ? resource_get(r, m->ns, m->name) : resource_tip(r, m->ns, m->name);
}

bool mutation_wait(struct mutation *m, void (*again)(struct mutation *m))
{
	m->again = again;
	if (!m->on_committed && pending_of(m)) {
		m->on_committed = true;
		again(m);
		return true;
	}
	if (mutation_is_current(m))
		return false;
	m->synced = true;
	m->on_committed = false;
	state_sync(m->state, m->job, 0, on_synced);
	return true;
}

static int decide_on(struct mutation *m, struct object *base, struct json **ret_object,
		     struct error *err)
{
	struct json *old;
	int r;

	if (!base && !m->ops->decide_new) {
		*err = (struct error){ .code = ERR_NOT_FOUND };
		return mutation_blame(m, m->kind, m->name, -ERR_NOT_FOUND);
	}
	if (!base)
		return m->ops->decide_new(m, ret_object, err);
	r = object_tree(base, m->write.arena, &old, err);
	if (r < 0)
		return r;
	if (!base->revision)
		json_put_str(m->write.arena, json_getz(old, "metadata"), "resourceVersion",
			     unknown_version);
	return m->ops->decide(m, old, ret_object, err);
}

int mutation_check_memory(const struct arena *a, struct error *err)
{
	if (!a->refused)
		return 0;
	return error_set(err, ERR_TOO_LARGE, "the object takes more than %lu MiB of memory",
			 REQUEST_WORK_MAX / MIB);
}

static void attempt(struct mutation *m)
{
	struct object *base = mutation_base(m);
	struct error err = { 0 };
	struct json *object = NULL;
	bool same;
	int r;

	mutation_prepare(m);
	m->again = mutation_again;
	m->base_pending = base && !base->revision;
	r = decide_on(m, base, &object, &err);
	server_metrics_compiled(m->x->server->counts, m->write.compile_steps);
	if (m->parked)
		return;
	if (m->write.arena->refused)
		r = mutation_check_memory(m->write.arena, &err);
	/* A write that changes nothing still brings what is stored into its present version. */
	same = r == 0 && m->write.unchanged && object && base && !object_is_stale(base, m->kind);
	if ((r < 0 || same) && mutation_wait(m, mutation_again))
		return;
	if (r < 0)
		mutation_fail(m, &err);
	else if (!same || !base->revision)
		mutation_commit(m, base, object, mutation_again);
	else if (admit(m, base, object, mutation_again)) /* the answer shows the object */
		mutation_end(m, base);
}

static void retry_drop(void *retry)
{
	arena_release(retry);
}

/* Gives the next try memory of its own; what was made of the object until now is gone. */
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

/* Decodes anew what a try has changed. */
static int decode_again(struct mutation *m, struct error *err)
{
	write_init(&m->write);
	m->name = m->x->request.name; /* one of the body was in that memory */
	m->about_kind = NULL;
	m->about_name = STR_NULL;
	m->cause_reason = m->cause_message = m->cause_field = NULL;
	m->refusal = NULL;
	m->annotations = NULL;
	return m->ops->decode ? m->ops->decode(m, err) : 0;
}

bool mutation_renew(struct mutation *m)
{
	struct error err = { 0 };

	if (mutation_is_cancelled(m)) {
		mutation_fail(m, m->cancelled);
		return false;
	}
	renew_memory(m);
	if (decode_again(m, &err) == 0)
		return true;
	mutation_fail(m, &err);
	return false;
}

void mutation_again(struct mutation *m)
{
	if (mutation_renew(m))
		attempt(m);
}

struct mutation *mutation_arrive(struct state *st, struct job *j)
{
	struct mutation *m = exchange_of(j)->data;

	m->state = st;
	m->job = j;
	m->write.prng = loop_prng(m->x->server->opts.loops[0]);
	m->write.selectors = m->x->server->selectors;
	m->write.mutate = admission_mutate;
	m->write.mutate_arg = m;
	return m;
}

static void on_trying(struct state *st, struct job *j);

static void go_on(struct mutation *m)
{
	if (m->trial && selector_trial_go_on(m->trial, SELECTOR_TRIAL_STEPS) &&
	    state_run_later(m->state, m->job, on_trying)) {
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

	check_deadline(m);
	if (mutation_is_cancelled(m))
		mutation_fail(m, m->cancelled);
	else
		go_on(m);
}

/* Subresources have no expressions of their own, and what is stored is not looked at again. */
void mutation_try(struct mutation *m, void (*then)(struct mutation *m))
{
	if (!m->x->sub && m->tree)
		m->trial = selector_trial_new(&m->x->work, m->kind, m->tree, m->write.gates,
					      m->write.selectors);
	m->again = then;
	go_on(m);
}

static void on_state(struct state *st, struct job *j)
{
	mutation_try(mutation_arrive(st, j), attempt);
}

void mutation_submit(struct mutation *m, void (*run)(struct state *st, struct job *j))
{
	exchange_submit(m->x, run, finish);
}

void mutation_start(struct mutation *m)
{
	struct error err = { 0 };

	if (m->ops->decode && m->ops->decode(m, &err) < 0)
		mutation_refuse(m, &err);
	else
		mutation_submit(m, on_state);
}

/* --- making ----------------------------------------------------------------------- */

int verb_field_validation(const struct request *r)
{
	if (str_eq(r->field_validation, STR("Ignore")))
		return WRITE_IGNORE;
	if (str_eq(r->field_validation, STR("Strict")))
		return WRITE_STRICT;
	return WRITE_WARN;
}

int verb_body_format(struct mutation *m, struct error *err)
{
	const struct http_fields *fields = &m->x->stream->in.fields;
	int r;

	r = negotiate_body(http_fields_get(fields, STR("content-type")), &m->format, err);
	/* A definition gives its fields no numbers. Its subresource Scale has some. */
	if (r == 0 && m->format == DECODE_PROTOBUF && m->kind->custom && !verb_is_foreign(m->x))
		r = error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
			      "the body of the request was in an unknown format - accepted media "
			      "types include: application/json, application/yaml");
	return r;
}

struct mutation *mutation_new(struct exchange *x, const struct mutation_ops *ops)
{
	struct mutation *m = ARENA_NEW(&x->work, struct mutation);
	const struct request *r = &x->request;

	m->x = x;
	m->ops = ops;
	m->kind = x->kind;
	m->ns = r->ns;
	m->name = r->name;
	m->status = 200;
	m->dry_run = r->dry_run;
	m->write = (struct write){
		.arena = &x->work,
		.kind = x->kind,
		.ns = r->ns,
		.name = r->name,
		.subresource = r->subresource,
		.gates = &x->server->gates,
		.now_ns = x->wall_ns,
		.field_manager = r->field_manager,
		.user_agent = http_fields_get(&x->stream->in.fields, STR("user-agent")),
		.force = r->force,
	};
	m->write.field_validation = verb_field_validation(r);
	write_init(&m->write);
	x->data = m;
	return m;
}
