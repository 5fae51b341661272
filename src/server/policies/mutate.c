/*
 * As upstream, all policies, bindings and parameters that apply are found before the first mutation
 * runs, so a policy does not match because another one has added a label. Each mutation sees the
 * result of those before it.
 *
 * A write evaluates on the state's loop, so the number of its mutations, and what all of them
 * together may cost, are limited.
 */
#include "server/policies/mutate.h"

#include "api/managed/managed.h"
#include "cel/kubernetes/mutation.h"
#include "server/admission/form.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/policies/policy.h"
#include "server/server_limits.h"

/* A policy, one of its bindings, and one of their parameters. */
struct invocation {
	struct invocation *next;
	const struct admission_policy *policy;
	const struct admission_binding *binding;
	const struct schema_kind *kind; /* the version that matched */
	const struct json *params; /* or NULL */
	struct str params_ns, params_name;
};

/* The policies that want to know of later changes: the memo of a write. */
struct rounds {
	struct round *list;
	uint64_t left; /* hash of the object after the first round */
};

struct round {
	struct round *next;
	const struct invocation *of;
	bool invoked; /* it ran, and wants to see later changes */
	bool again; /* it runs in the second round */
};

/* The mutations of one write. */
struct mutating {
	struct admission_request *req;
	const struct json *old;
	struct json *object;
	struct admission_attr attr;
	struct admission_attr seen; /* the same with the object as the expressions see it */
	const struct schema_kind *seen_kind; /* the version of that; NULL: it must be shown anew */
	struct json *shown; /* the object of `seen` */
	struct str shown_version, shown_name; /* its apiVersion and kind, which no patch changes */
	struct admission_cel cel;
	struct rounds *rounds;
	bool knows_namespace;
	const struct json *namespace_object; /* or NULL */
	size_t invocations, count; /* the latter: of mutations so far */
	uint64_t left; /* of the budget for all */
	struct json *failures; /* messages; or NULL */
	struct str reason; /* of the first one */
	struct invocation *first, **last;
	const struct invocation *at; /* the current one */
};

static const char memo_key;

/* --- failures ----------------------------------------------------------------------- */

static void add_failure(struct mutating *m, struct str reason, const char *text)
{
	struct arena *a = m->req->write->arena;

	if (!m->failures) {
		m->failures = json_make_array(a);
		m->reason = reason;
	}
	if (m->failures->n < MUTATION_FAILURES_MAX)
		json_append(m->failures, json_make_str(a, str_from(text)));
}

/* A policy (binding NULL) or binding is unusable. */
static void misconfigured(struct mutating *m, const struct admission_policy *p,
			  const struct admission_binding *b, const struct error *err)
{
	struct arena *a = m->req->write->arena;

	if (p->ignores_failures)
		return;
	if (b)
		add_failure(m, STR("Forbidden"),
			    arena_printf(a,
					 "policy '%.*s' with binding '%.*s' denied request: failed "
					 "to configure binding: %s",
					 STR_ARG(p->name), STR_ARG(b->name), err->msg));
	else
		add_failure(m, STR("Forbidden"),
			    arena_printf(a,
					 "policy \"%.*s\" denied request: failed to configure "
					 "policy: %s",
					 STR_ARG(p->name), err->msg));
}

/* The current invocation failed; the others run nevertheless. Returns 0. */
static int mutate_fail(struct mutating *m, const char *before, const char *why)
{
	const struct admission_policy *p = m->at->policy;

	if (p->ignores_failures)
		return 0;
	add_failure(m, STR("Invalid"),
		    arena_printf(m->req->write->arena,
				 "policy '%.*s' with binding '%.*s' denied request: %s%s",
				 STR_ARG(p->name), STR_ARG(m->at->binding->name), before, why));
	return 0;
}

/* --- invocations -------------------------------------------------------------------- */

static void add_invocation(struct mutating *m, struct invocation of, const struct json *params)
{
	struct invocation *i = ARENA_NEW(m->req->write->arena, struct invocation);
	const struct json *meta = json_getz(params, "metadata");

	*i = of;
	i->params = params;
	i->params_ns = json_text_at(meta, "namespace");
	i->params_name = json_text_at(meta, "name");
	*m->last = i;
	m->last = &i->next;
	m->invocations++;
}

static void find_params(struct mutating *m, struct invocation of,
			const struct schema_kind *param_kind)
{
	struct admission_params params;
	const struct schema_kind *ignored;
	struct error err;

	if (!of.binding->everywhere && !admission_matches(&of.binding->match, &m->attr, &ignored))
		return;
	if (admission_params(m->req, param_kind, of.binding, m->attr.ns, NULL, &params, &err) < 0) {
		misconfigured(m, of.policy, of.binding, &err);
		return;
	}
	if (params.n > MUTATIONS_MAX - m->invocations) {
		(void)error_set(&err, ERR_INVALID, "too many parameters");
		misconfigured(m, of.policy, of.binding, &err);
		return;
	}
	for (size_t i = 0; i < params.n; i++)
		add_invocation(m, of, params.v[i]);
}

static void find_bindings(struct mutating *m, const struct admission_bound *bound)
{
	struct invocation of = { .policy = bound->policy };
	const struct schema_kind *param_kind;
	struct error err;

	if (!admission_matches(&of.policy->match, &m->attr, &of.kind))
		return;
	if (admission_param_kind(m->req, of.policy, &param_kind, &err) < 0) {
		misconfigured(m, of.policy, NULL, &err);
		return;
	}
	for (size_t i = 0; i < bound->nbindings; i++) {
		of.binding = bound->bindings[i];
		find_params(m, of, param_kind);
	}
}

/* --- rounds ------------------------------------------------------------------------- */

static bool is_same(const struct invocation *a, const struct invocation *b)
{
	return a->policy == b->policy && a->binding == b->binding &&
	       str_eq(a->params_ns, b->params_ns) && str_eq(a->params_name, b->params_name);
}

static struct round *round_of(const struct mutating *m)
{
	struct round *r = m->rounds->list;

	while (r && !is_same(r->of, m->at))
		r = r->next;
	return r;
}

/* The object has changed: policies that ran before and want to know run again. */
static void require_again(struct rounds *rounds)
{
	for (struct round *r = rounds->list; r; r = r->next) {
		r->again = r->again || r->invoked;
		r->invoked = false;
	}
}

static void note_invoked(struct mutating *m)
{
	struct round *r = round_of(m);

	if (!r) {
		r = ARENA_NEW(m->req->write->arena, struct round);
		r->of = m->at;
		r->next = m->rounds->list;
		m->rounds->list = r;
	}
	r->invoked = true;
}

static void begin_round(struct mutating *m)
{
	m->rounds = admission_memo(m->req, &memo_key, sizeof(*m->rounds));
	if (!m->req->reinvoking)
		*m->rounds = (struct rounds){ 0 }; /* of an earlier try, too */
	else if (m->rounds->list && admission_hash(m->object) != m->rounds->left)
		require_again(m->rounds); /* another plugin changed it */
}

/* --- one mutation ------------------------------------------------------------------- */

/* Shows the object to the expressions, if they have not seen it as it is now. */
static int see(struct mutating *m, struct error *err)
{
	const struct schema_kind *kind = m->at->kind;
	int r;

	if (m->seen_kind == kind)
		return 0;
	m->seen = m->attr;
	m->shown = NULL;
	if (m->attr.object) {
		r = admission_show(m->req, &m->attr, kind, &m->shown, err);
		if (r < 0)
			return r;
		m->seen.object = m->shown;
		m->shown_version = json_text_at(m->shown, "apiVersion");
		m->shown_name = json_text_at(m->shown, "kind");
	}
	m->seen_kind = kind;
	admission_cel_renew(&m->cel);
	return 0;
}

/* The kind of the shown object, which may be that of a subresource; NULL: it has no schema. */
static const struct schema_kind *shown_kind(const struct mutating *m)
{
	if (!m->attr.foreign)
		return m->at->kind;
	return schema_find_kind(m->shown_version, m->shown_name);
}

/* Takes what a mutation has made of the shown object. */
static int mutate_take(struct mutating *m, struct json *doc, bool *ret_changed, struct error *err)
{
	struct error why;
	bool changed;

	m->seen_kind = NULL;
	if (admission_take(m->req, &m->attr, m->at->kind, doc, m->object, &changed, &why) < 0)
		return mutate_fail(m, "", why.msg);
	*ret_changed |= changed;
	return changed ? admission_attr(m->req, m->old, m->object, &m->attr, err) : 0;
}

static int mutate_apply(struct mutating *m, const struct cel_value *v, bool *ret_changed,
			struct error *err)
{
	const struct schema_kind *kind = shown_kind(m);
	struct arena *a = m->req->write->arena;
	const char *fault = NULL;
	struct json *config, *doc;
	struct error why;

	if (!kind)
		return error_set(err, ERR_UNAVAILABLE,
				 "Resource kind %.*s not found. There can be a delay between when "
				 "CustomResourceDefinitions are created and when they are "
				 "available.",
				 STR_ARG(m->shown_name));
	config = cel_mutation_object(&m->cel.ev, v, a, &fault);
	if (!config)
		return mutate_fail(m, "", fault);
	json_put_str(a, config, "apiVersion", m->shown_version);
	json_put_str(a, config, "kind", m->shown_name);
	if (managed_overlay(a, kind, m->shown, config, &doc, &why) < 0)
		return mutate_fail(m, "error applying patch: ", why.msg);
	return mutate_take(m, doc, ret_changed, err);
}

static const char *patch_fault(struct mutating *m, const struct patch_failure *failure,
			       const struct error *why)
{
	const struct json *op = failure->operation;

	if (!op)
		return arena_strdup(m->req->write->arena, str_from(why->msg));
	return arena_printf(m->req->write->arena,
			    "%.*s operation does not apply: doc is missing path: \"%.*s\": missing "
			    "value",
			    STR_ARG(json_text_at(op, "op")), STR_ARG(json_text_at(op, "path")));
}

/*
 * A patch must not add fields that the kind does not have. As upstream, this is an internal error,
 * whatever the policy's failurePolicy is.
 */
static int check_strictly(const struct mutating *m, struct json *doc, struct error *err)
{
	const struct schema_kind *kind = shown_kind(m);
	struct decode_report report = { 0 };
	int r;

	if (!json_is(doc, JSON_OBJECT))
		return 0;
	json_put_str(m->req->write->arena, doc, "apiVersion", m->shown_version);
	json_put_str(m->req->write->arena, doc, "kind", m->shown_name);
	if (!kind || kind->custom)
		return 0;
	r = decode_fit(m->req->write->arena, doc, kind->type, &report, err);
	if (r == 0 && report.n)
		r = decode_strict_error(&report, err);
	return r < 0 ? error_recode(err, ERR_INTERNAL) : 0;
}

static int mutate_patch(struct mutating *m, const struct cel_value *v, bool *ret_changed,
			struct error *err)
{
	struct arena *a = m->req->write->arena;
	struct json *doc = m->shown, *patch;
	struct patch_failure failure;
	const char *fault = NULL;
	struct error why;
	int r;

	patch = cel_mutation_patch(&m->cel.ev, v, a, &fault);
	if (!patch)
		return mutate_fail(m, "", fault);
	m->seen_kind = NULL; /* the patch is applied in place */
	if (patch_json_explained(a, &doc, patch, &failure, &why) < 0)
		return failure.untrue
			       ? 0
			       : mutate_fail(m, "JSON Patch: ", patch_fault(m, &failure, &why));
	r = check_strictly(m, doc, err);
	return r < 0 ? r : mutate_take(m, doc, ret_changed, err);
}

/* Evaluates the expression. Returns false if that failed. */
static bool evaluate(struct mutating *m, const struct admission_mutation *mutation,
		     struct cel_value *ret_value)
{
	const uint64_t budget = MIN(m->left, CEL_POLICY_BUDGET);
	const struct admission_run run = { .kind = m->at->kind,
					   .params = m->at->params,
					   .namespace_object = m->namespace_object,
					   .named = &m->at->policy->variables };
	uint64_t left = budget;
	bool enough;

	admission_cel_run(&m->cel, &run);
	enough = admission_cel_evaluate(&m->cel, &mutation->expr, &left, ret_value);
	m->left -= budget - left;
	if (!enough)
		(void)mutate_fail(m, "", ADMISSION_OUT_OF_BUDGET);
	else if (ret_value->kind == CEL_ERROR)
		(void)mutate_fail(m, "", ret_value->error);
	return enough && ret_value->kind != CEL_ERROR;
}

static int mutate_once(struct mutating *m, const struct admission_mutation *mutation,
		       bool *ret_changed, struct error *err)
{
	struct cel_value v;
	int r;

	r = see(m, err);
	if (r < 0 || !m->shown)
		return r;
	if (m->count == MUTATIONS_MAX)
		return mutate_fail(m, "", "too many mutations apply to the request");
	m->count++;
	if (!evaluate(m, mutation, &v))
		return 0;
	r = mutation->applies ? mutate_apply(m, &v, ret_changed, err)
			      : mutate_patch(m, &v, ret_changed, err);
	return r < 0 ? r : admission_check_memory(m->req->write->arena, err);
}

/* --- one policy --------------------------------------------------------------------- */

static int conditions_hold(struct mutating *m, struct error *err)
{
	const char *fault = NULL;
	int r = see(m, err);

	if (r < 0)
		return r;
	r = admission_conditions_hold(&m->cel, &m->at->policy->conditions, m->at->kind,
				      m->at->params, NULL, &fault);
	return r < 0 ? mutate_fail(m, "", fault) : r;
}

static void look_up_namespace(struct mutating *m)
{
	if (!m->knows_namespace)
		m->namespace_object = admission_namespace_object(m->req, &m->attr, NULL);
	m->knows_namespace = true;
}

static int invoke(struct mutating *m, bool *ret_changed, struct error *err)
{
	const struct admission_policy *p = m->at->policy;
	const struct round *round = round_of(m);
	bool changed = false;
	int r = conditions_hold(m, err);

	if (r <= 0 || (m->req->reinvoking && !(round && round->again)))
		return r;
	look_up_namespace(m);
	r = 0;
	for (size_t i = 0; i < p->nmutations && r == 0; i++)
		r = mutate_once(m, &p->mutations[i], &changed, err);
	if (changed)
		require_again(m->rounds);
	if (p->reinvoked)
		note_invoked(m);
	*ret_changed |= changed;
	return r;
}

static int invoke_all(struct mutating *m, struct error *err)
{
	bool changed = false;
	int r = 0;

	admission_cel_begin(&m->cel, m->req, &m->seen);
	for (m->at = m->first; m->at && r >= 0; m->at = m->at->next)
		r = invoke(m, &changed, err);
	admission_cel_end(&m->cel);
	if (changed) {
		require_again(m->rounds); /* also the last one that changed it */
		m->req->reinvoke = true;
	}
	if (m->rounds->list)
		m->rounds->left = admission_hash(m->object);
	return MIN(r, 0);
}

/* --- the plugin --------------------------------------------------------------------- */

bool admit_mutation_concerns(const struct admission_request *req)
{
	struct admission_policies *all = req->server->mutating_policies;

	return req->op != ADMIT_DELETE && all &&
	       admission_active_any(admission_policies_now(all)) &&
	       !admission_policies_exempt(req->path_kind);
}

bool admit_mutation_match(struct admission_request *req, const struct json *old,
			  struct json *object)
{
	const struct admission_active *now = admission_policies_now(req->server->mutating_policies);
	const struct schema_kind *kind;
	struct admission_attr attr;

	if (now->unreadable || admission_attr(req, old, object, &attr, NULL) < 0)
		return true;
	for (size_t i = 0; i < now->n; i++)
		if (admission_matches(&now->v[i].policy->match, &attr, &kind))
			return true;
	return false;
}

int admit_mutation(struct admission_request *req, const struct json *old, struct json *object,
		   struct error *err)
{
	struct admission_policies *all = req->server->mutating_policies;
	const struct admission_active *now = admission_policies_now(all);
	struct mutating m = { .req = req, .old = old, .object = object, .left = MUTATIONS_BUDGET };
	int r;

	m.last = &m.first;
	r = admission_policies_check(all, err);
	if (r == 0)
		r = admission_attr(req, old, object, &m.attr, err);
	if (r < 0)
		return r;
	begin_round(&m);
	for (size_t i = 0; i < now->n; i++)
		find_bindings(&m, &now->v[i]);
	if (m.first)
		r = invoke_all(&m, err);
	if (r < 0 || !m.failures)
		return r;
	return admission_deny_all(req, &m.attr, m.reason, m.failures, err);
}
