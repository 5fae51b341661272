/*
 * For each matching policy, each of its matching bindings, and each of their parameters, all
 * validations are evaluated. The messages of the validations are evaluated only if one of them
 * fails.
 *
 * For a draft the evaluation has no effects. It ends at the first result that would have one, other
 * than an audit annotation.
 */
#include "server/policies/admit.h"

#include "api/api_limits.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/engine/looks.h"
#include "server/http/audit.h"
#include "server/http/metrics.h"
#include "server/policies/policy.h"

enum {
	MESSAGE_MAX = 5 * 1024, /* limit for the result of a messageExpression */
	ANNOTATION_MAX = 10 * 1024, /* limit for an annotation's value */
	FAILURES_MAX = 50, /* limit for failures in the audit log */
};

/* Policies that allow a draft, with nothing to report but annotations. In the write's arena. */
struct admission_verdict {
	struct admission_active *policies; /* a reference that the arena has */
	struct audit_annotation *annotations; /* for the audit log */
	bool matched; /* by any policy */
};

/* The evaluation of all policies on one write. */
struct asking {
	struct admission_request *req;
	struct admission_ahead *ahead; /* of a draft; NULL: on the state's loop */
	struct audit_annotation **published; /* annotations for the audit log */
	const struct admission_attr *attr;
	bool matched; /* by any policy */
	struct admission_cel cel;
	struct json *failures; /* for the audit log; or NULL */
	bool knows_namespace;
	const struct json *namespace_object; /* or NULL */
	/* The first denial; NULL: no denial yet. */
	const char *denial;
	enum error_code code;
	/* The current ones: */
	const struct admission_policy *policy;
	const struct admission_binding *binding; /* NULL: the policy itself is at fault */
	struct admission_run run;
	struct audit_annotation *annotations; /* of the policy; keys may repeat */
};

/* --- results of a decision ---------------------------------------------------------- */

/* Whether effects are left to the state. */
static bool is_for_draft(struct asking *q)
{
	if (q->ahead)
		q->ahead->unsure = true;
	return q->ahead;
}

static void deny(struct asking *q, enum error_code code, const char *message)
{
	struct arena *a = q->req->write->arena;

	if (is_for_draft(q) || q->denial)
		return;
	q->code = code;
	if (q->binding)
		q->denial = arena_printf(a,
					 "ValidatingAdmissionPolicy '%.*s' with binding '%.*s' "
					 "denied request: %s",
					 STR_ARG(q->policy->name), STR_ARG(q->binding->name),
					 message);
	else
		q->denial = arena_printf(a, "ValidatingAdmissionPolicy '%.*s' denied request: %s",
					 STR_ARG(q->policy->name), message);
}

/* A policy or binding is unusable. */
static void misconfigured(struct asking *q, const struct error *err)
{
	if (q->policy->ignores_failures)
		return;
	deny(q, ERR_INVALID,
	     arena_printf(q->req->write->arena, "failed to configure %s: %s",
			  q->binding ? "binding" : "policy", err->msg));
}

static void tell_audit(struct asking *q, size_t index, const char *message)
{
	struct arena *a = q->req->write->arena;
	struct json *failure = json_make_object(a), *actions;

	if (!q->failures)
		q->failures = json_make_array(a);
	if (q->failures->n == FAILURES_MAX)
		return;
	json_put_str(a, failure, "message", str_from(message));
	json_put_str(a, failure, "policy", q->binding->policy);
	json_put_str(a, failure, "binding", q->binding->name);
	json_put_i64(a, failure, "expressionIndex", (int64_t)index);
	if (json_copy(a, q->binding->actions_given, &actions, NULL) == 0)
		json_setz(failure, "validationActions", actions);
	json_append(q->failures, failure);
}

/* Validation `index` failed, or could not be evaluated. */
static void admit_failed(struct asking *q, size_t index, enum error_code code, const char *message)
{
	unsigned actions = q->binding->actions;

	if (is_for_draft(q))
		return;
	message = arena_strdup(q->req->write->arena, str_from(message));
	if (actions & ADMISSION_DENY)
		deny(q, code, message);
	if (actions & ADMISSION_AUDIT)
		tell_audit(q, index, message);
	if (actions & ADMISSION_WARN)
		write_warn(q->req->write,
			   "Validation failed for ValidatingAdmissionPolicy '%.*s' with binding "
			   "'%.*s': %s",
			   STR_ARG(q->policy->name), STR_ARG(q->binding->name), message);
}

static void errored(struct asking *q, size_t index, const char *message)
{
	if (!q->policy->ignores_failures)
		admit_failed(q, index, ERR_INVALID, message);
}

/* --- validations -------------------------------------------------------------------- */

/* The message of a failed validation. `made` is the result of its messageExpression. */
static const char *admit_message_of(struct asking *q, const struct admission_validation *v,
				    struct cel_value made)
{
	struct arena *a = q->req->write->arena;
	struct str text = made.kind == CEL_STRING ? str_trim_space(made.s) : STR("");

	if (text.n > MESSAGE_MAX || str_chr(text, '\n') >= 0)
		text = STR("");
	if (!text.n)
		text = v->message;
	if (text.n)
		return arena_strdup(a, text);
	return arena_printf(a, "failed expression: %.*s", STR_ARG(str_trim_space(v->expr.text)));
}

/*
 * Evaluates all messages, because they share the remaining budget. Returns false if that is not
 * enough.
 */
static bool make_messages(struct asking *q, uint64_t budget, const char **ret_messages)
{
	const struct admission_policy *p = q->policy;
	struct admission_run run = q->run;

	run.no_authorizer = true;
	admission_cel_run(&q->cel, &run);
	for (size_t i = 0; i < p->nvalidations; i++) {
		const struct admission_validation *v = &p->validations[i];
		struct cel_value made = CEL_NULL_V;

		if ((v->message_expr.program || v->message_expr.fault) &&
		    !admission_cel_evaluate(&q->cel, &v->message_expr, &budget, &made))
			return false;
		ret_messages[i] = admit_message_of(q, v, made);
	}
	return true;
}

/* The result of a validation. */
struct outcome {
	const char *error; /* it could not be evaluated; or NULL */
	bool holds;
};

static void tell_outcomes(struct asking *q, const struct outcome *outcomes, uint64_t budget)
{
	const struct admission_policy *p = q->policy;
	const char **messages = ARENA_ARRAY(q->req->write->arena, const char *, p->nvalidations);
	bool made = make_messages(q, budget, messages);

	for (size_t i = 0; i < p->nvalidations; i++) {
		if (outcomes[i].error)
			errored(q, i, outcomes[i].error);
		else if (!made)
			errored(q, i, "failed messageExpression: " ADMISSION_OUT_OF_BUDGET);
		else if (!outcomes[i].holds)
			admit_failed(q, i, p->validations[i].reason, messages[i]);
	}
}

static void admit_validate(struct asking *q)
{
	const struct admission_policy *p = q->policy;
	struct arena *a = q->req->write->arena;
	struct outcome *outcomes = ARENA_ARRAY(a, struct outcome, p->nvalidations + 1);
	uint64_t budget = CEL_POLICY_BUDGET;
	bool all = true;

	admission_cel_run(&q->cel, &q->run);
	for (size_t i = 0; i < p->nvalidations; i++) {
		struct cel_value v;

		if (!admission_cel_evaluate(&q->cel, &p->validations[i].expr, &budget, &v)) {
			errored(q, 0, ADMISSION_OUT_OF_BUDGET);
			return;
		}
		if (v.kind == CEL_ERROR)
			outcomes[i].error = arena_strdup(a, str_from(v.error));
		outcomes[i].holds = cel_is_true(v);
		all &= outcomes[i].holds;
	}
	if (!all)
		tell_outcomes(q, outcomes, budget);
}

/* --- annotations -------------------------------------------------------------------- */

/* Each value is published once, however many bindings and parameters produce it. */
static void annotate(struct asking *q, struct str key, struct str value)
{
	struct arena *a = q->req->write->arena;
	struct audit_annotation **it = &q->annotations;

	if (value.n > ANNOTATION_MAX)
		value.n = ANNOTATION_MAX;
	for (; *it; it = &(*it)->next)
		if (str_eq((*it)->key, key) && str_eq((*it)->value, value))
			return;
	*it = ARENA_NEW(a, struct audit_annotation);
	(*it)->key = key;
	(*it)->value = arena_str(a, value);
}

static void make_annotations(struct asking *q)
{
	const struct admission_exprs *all = &q->policy->annotations;
	struct admission_run run = q->run;
	uint64_t budget = CEL_POLICY_BUDGET;

	if (!all->n)
		return;
	run.no_authorizer = true;
	admission_cel_run(&q->cel, &run);
	for (size_t i = 0; i < all->n; i++) {
		struct cel_value v;

		if (!admission_cel_evaluate(&q->cel, &all->v[i], &budget, &v)) {
			errored(q, 0, ADMISSION_OUT_OF_BUDGET);
			return;
		}
		if (v.kind == CEL_ERROR && !q->policy->ignores_failures)
			deny(q, ERR_INVALID, arena_strdup(q->req->write->arena, str_from(v.error)));
		else if (v.kind == CEL_STRING && str_trim_space(v.s).n)
			annotate(q, all->v[i].name, str_trim_space(v.s));
	}
}

/* Several values of a key are joined. */
static void publish_annotations(struct asking *q)
{
	struct admission_request *req = q->req;

	for (struct audit_annotation *it = q->annotations; it; it = it->next) {
		CLEANUP(buf_release) struct buf value = BUF_INIT(SIZE_MAX);
		CLEANUP(buf_release) struct buf key = BUF_INIT(SIZE_MAX);

		(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(q->policy->name), STR_ARG(it->key));
		for (struct audit_annotation *of = it; of; of = of->next)
			if (str_eq(of->key, it->key))
				(void)buf_printf(&value, "%s%.*s", of == it ? "" : ", ",
						 STR_ARG(of->value));
		audit_annotate(q->published, req->work, buf_str(&key), buf_str(&value));
	}
	q->annotations = NULL;
}

static void publish_failures(struct asking *q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);

	if (q->failures && json_print(&text, q->failures, NULL) == 0)
		audit_annotate(q->published, q->req->work,
			       STR("validation.policy.admission.k8s.io/validation_failure"),
			       buf_str(&text));
}

/* --- policies ----------------------------------------------------------------------- */

/* Looked up once, and only if there is something to evaluate. */
static const struct json *namespace_object(struct asking *q)
{
	if (!q->knows_namespace)
		q->namespace_object = admission_namespace_object(q->req, q->attr, q->ahead);
	q->knows_namespace = true;
	return q->namespace_object;
}

/* Evaluates with one parameter. */
static void evaluate(struct asking *q, const struct schema_kind *kind, const struct json *params)
{
	const struct admission_policy *p = q->policy;
	const char *fault = NULL;
	int r;

	r = admission_conditions_hold(&q->cel, &p->conditions, kind, params, NULL, &fault);
	if (r < 0)
		errored(q, 0, fault);
	if (r <= 0)
		return;
	q->run = (struct admission_run){ .kind = kind,
					 .params = params,
					 .namespace_object = namespace_object(q),
					 .named = &p->variables };
	admit_validate(q);
	make_annotations(q);
}

static void ask_binding(struct asking *q, const struct schema_kind *kind,
			const struct schema_kind *param_kind)
{
	const struct admission_binding *b = q->binding;
	const struct schema_kind *ignored;
	struct admission_params params;
	struct error err;

	if (!b->everywhere && !admission_matches(&b->match, q->attr, &ignored))
		return;
	if (admission_params(q->req, param_kind, b, q->attr->ns, q->ahead, &params, &err) < 0) {
		misconfigured(q, &err);
		return;
	}
	for (size_t i = 0; i < params.n; i++)
		evaluate(q, kind, params.v[i]);
}

static bool is_unsure(const struct asking *q)
{
	return q->ahead && q->ahead->unsure;
}

static void ask_policy(struct asking *q, const struct admission_bound *b)
{
	const struct admission_policy *p = b->policy;
	const struct schema_kind *kind, *param_kind;
	struct error err;

	if (!admission_matches(&p->match, q->attr, &kind))
		return;
	q->matched = true;
	q->policy = p;
	q->binding = NULL;
	if (q->ahead && !admission_param_is_built_in(p)) {
		q->ahead->unsure = true;
		return;
	}
	if (admission_param_kind(q->req, p, &param_kind, &err) < 0) {
		misconfigured(q, &err);
		return;
	}
	for (size_t i = 0; i < b->nbindings && !is_unsure(q); i++) {
		q->binding = b->bindings[i];
		ask_binding(q, kind, param_kind);
	}
	publish_annotations(q);
}

static void ask_all(struct asking *q, const struct admission_active *active)
{
	admission_cel_begin(&q->cel, q->req, q->attr);
	q->cel.unsure = q->ahead ? &q->ahead->unsure : NULL;
	for (size_t i = 0; i < active->n && !is_unsure(q); i++)
		ask_policy(q, &active->v[i]);
	admission_cel_end(&q->cel);
}

/* --- drafts ------------------------------------------------------------------------- */

static void drop_policies(void *active)
{
	admission_active_unref(active);
}

/* Returns false if the state has to evaluate. */
static bool judge(struct admission_request *req, struct admission_verdict *v,
		  struct admission_ahead *ahead, const struct json *old, const struct json *object)
{
	struct admission_attr attr;
	struct asking q = {
		.req = req, .ahead = ahead, .published = &v->annotations, .attr = &attr
	};

	if (v->policies->unreadable || admission_attr(req, old, object, &attr, NULL) < 0)
		return false;
	ask_all(&q, v->policies);
	v->matched = q.matched;
	return !ahead->unsure;
}

void admit_policy_draft(struct admission_request *req, const struct object *ns,
			const struct json *old, struct json *object)
{
	struct admission_ahead ahead = { .ns = ns };
	struct arena *a = req->write->arena;
	struct admission_active *active;
	struct admission_verdict *v;

	if (!req->server->policies || admission_policies_exempt(req->path_kind))
		return;
	active = admission_policies_look(req->server->policies, req->looks->lane);
	if (!active)
		return;
	arena_hold(a, drop_policies, active);
	v = ARENA_NEW(a, struct admission_verdict);
	v->policies = active;
	if (judge(req, v, &ahead, old, object))
		req->verdict = v;
}

/* Whether the evaluation for the draft counts. It has happened if the write has a verdict. */
static bool takes_verdict(struct admission_request *req, const struct admission_active *now)
{
	const struct admission_verdict *v = req->verdict;

	if (!v || v->policies != now)
		return false;
	for (const struct audit_annotation *it = v->annotations; it; it = it->next)
		audit_annotate(&req->about.annotations, req->work, it->key, it->value);
	if (v->matched)
		server_metrics_policies(req->server->counts, POLICIES_ON_CONNECTION);
	return true;
}

/* --- the plugin --------------------------------------------------------------------- */

bool admit_policy_concerns(const struct admission_request *req)
{
	struct admission_policies *all = req->server->policies;

	return all && admission_active_any(admission_policies_now(all)) &&
	       !admission_policies_exempt(req->path_kind);
}

static int decide(struct admission_request *req, const struct admission_active *now,
		  const struct json *old, const struct json *object, struct error *err)
{
	struct admission_attr attr;
	struct asking q = { .req = req, .published = &req->about.annotations, .attr = &attr };
	int r;

	r = admission_policies_check(req->server->policies, err);
	if (r == 0)
		r = admission_attr(req, old, object, &attr, err);
	if (r < 0)
		return r;
	ask_all(&q, now);
	publish_failures(&q);
	if (q.matched)
		server_metrics_policies(req->server->counts, POLICIES_ON_STATE);
	return q.denial ? admission_deny(req, &attr, q.code, q.denial, err) : 0;
}

int admit_policy(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err)
{
	const struct admission_active *now = admission_policies_now(req->server->policies);

	return takes_verdict(req, now) ? 0 : decide(req, now, old, object, err);
}
