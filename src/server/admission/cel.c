/*
 * Values read the write's trees in place. `variables` is an object whose fields are evaluated on
 * first use, each in a nested evaluation with a cost limit of its own. Their cost is charged to
 * the budget of the run, not to the limit of the expression that uses them.
 */
#include "server/admission/cel.h"

#include "api/api_limits.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "server/admission/request.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"

enum { NAMED_DEPTH_MAX = 200 }; /* nesting of variables: each level is a C call */

/* --- compiling ---------------------------------------------------------------------- */

struct admission_expr admission_expr(struct arena *a, struct str name, struct str text,
				     struct cel_policy_options options, enum cel_policy_use use)
{
	struct admission_expr e = { .name = arena_str(a, name), .text = arena_str(a, text) };

	e.program = cel_policy_compile(options, text, use, a, &e.fault);
	return e;
}

struct admission_exprs admission_conditions(struct arena *a, const struct json *list,
					    struct cel_policy_options options)
{
	struct admission_expr *v = ARENA_ARRAY(a, struct admission_expr, json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (it, list)
		v[n++] = admission_expr(a, json_text_at(it, "name"), json_text_at(it, "expression"),
					options, CEL_POLICY_CONDITION);
	return (struct admission_exprs){ v, n };
}

/* --- rights ------------------------------------------------------------------------- */

/* Selectors that cannot be parsed are left out, as upstream does. */
static void read_selectors(struct arena *a, const struct cel_authz_query *from,
			   struct authz_query *q, struct selector *fields, struct selector *labels)
{
	if (from->field_selector.n &&
	    selector_parse_fields(a, from->field_selector, fields, NULL) == 0)
		q->fields = fields;
	if (from->label_selector.n &&
	    selector_parse_labels(a, from->label_selector, labels, NULL) == 0)
		q->labels = labels;
}

/* The user of a service account. */
static struct user account_user(struct arena *a, const struct cel_authz_query *q)
{
	struct str *groups = ARENA_ARRAY(a, struct str, 3);

	groups[0] = USER_SERVICE_ACCOUNTS;
	groups[1] = str_from(
		arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(q->account_ns)));
	groups[2] = USER_AUTHENTICATED;
	return (struct user){
		.name = str_from(arena_printf(a, "system:serviceaccount:%.*s:%.*s",
					      STR_ARG(q->account_ns), STR_ARG(q->account))),
		.groups = groups,
		.ngroups = 3,
		.authenticated = true,
	};
}

static void cel_decide(const struct cel_authorizer *self, struct cel_eval *ev,
		       const struct cel_authz_query *from, struct cel_authz_answer *ret_answer)
{
	const struct admission_cel *c = CONTAINER_OF(self, const struct admission_cel, authorizer);
	struct selector fields, labels;
	struct user account;
	struct authz_query q = {
		.user = c->req->user,
		.verb = from->verb,
		.is_path = from->is_path,
		.path = from->path,
		.group = from->group,
		.version = STR("*"),
		.resource = from->resource,
		.subresource = from->subresource,
		.ns = from->ns,
		.name = from->name,
	};

	if (c->unsure) {
		*c->unsure = true;
		*ret_answer = (struct cel_authz_answer){ 0 };
		return;
	}
	if (from->account.n) {
		account = account_user(ev->scratch, from);
		q.user = &account;
	}
	read_selectors(ev->scratch, from, &q, &fields, &labels);
	ret_answer->allowed = authz_decide(c->req->server->authz, &q, ev->scratch,
					   &ret_answer->reason) == AUTHZ_ALLOW;
}

/* --- variables ---------------------------------------------------------------------- */

static const struct cel_type *named_type(const void *self)
{
	static const struct cel_type type = { .kind = CEL_TYPE_OBJECT,
					      .name = STR("kubernetes.variables") };

	(void)self;
	return &type;
}

static struct cel_value named_value(struct admission_cel *c, const struct admission_expr *e)
{
	struct cel_eval inner = { .scratch = &c->kept, .cost_limit = CEL_POLICY_COST_MAX };
	struct cel_value v;

	if (!e->program)
		return cel_errorf(&inner, "composited variable \"%.*s\" fails to compile: %s",
				  STR_ARG(e->name), e->fault);
	if (c->depth == NAMED_DEPTH_MAX)
		return cel_errorf(&inner, "composited variable \"%.*s\" is nested too deeply",
				  STR_ARG(e->name));
	c->depth++;
	v = cel_run(e->program, &inner, c->vars);
	c->depth--;
	c->named_cost += MIN(inner.cost, CEL_POLICY_BUDGET);
	if (v.kind == CEL_ERROR)
		return cel_errorf(&inner, "composited variable \"%.*s\" fails to evaluate: %s",
				  STR_ARG(e->name), v.error ? v.error : "no such attribute");
	return v;
}

/* If several variables have the name, the last one counts. */
static struct cel_value named_get(struct cel_eval *ev, const void *self, struct str field)
{
	struct admission_cel *c = (struct admission_cel *)(uintptr_t)self;
	size_t i = c->named->n;

	(void)ev;
	while (i > 0 && !str_eq(c->named->v[i - 1].name, field))
		i--;
	if (i-- == 0)
		return CEL_NOTHING;
	if (!c->known[i]) {
		c->values[i] = named_value(c, &c->named->v[i]);
		c->known[i] = true;
	}
	return c->values[i];
}

static bool named_equal(struct cel_eval *ev, const void *a, const void *b)
{
	(void)ev;
	return a == b;
}

static const struct cel_object_class named_class = { named_type, named_get, named_equal };

/* --- evaluating --------------------------------------------------------------------- */

void admission_cel_begin(struct admission_cel *c, struct admission_request *req,
			 const struct admission_attr *attr)
{
	c->req = req;
	c->attr = attr;
	c->views = NULL;
	c->authorizer.decide = cel_decide;
	c->unsure = NULL;
	c->ev = (struct cel_eval){ .scratch = &c->scratch };
	c->depth = 0;
	arena_init_in(&c->scratch, CEL_SCRATCH_MAX, c->block, sizeof(c->block));
	arena_init_in(&c->kept, CEL_SCRATCH_MAX, c->kept_block, sizeof(c->kept_block));
}

void admission_cel_renew(struct admission_cel *c)
{
	c->views = NULL;
}

void admission_cel_end(struct admission_cel *c)
{
	arena_release(&c->scratch);
	arena_release(&c->kept);
}

static struct cel_value cel_value_of(const struct json *tree)
{
	return tree ? cel_of_json(tree) : CEL_NULL_V;
}

static const struct admission_view *view_of(struct admission_cel *c, const struct schema_kind *kind)
{
	struct admission_view *v = c->views;

	while (v && v->kind != kind)
		v = v->next;
	if (v)
		return v;
	v = ARENA_NEW(c->req->write->arena, struct admission_view);
	v->kind = kind;
	v->object = cel_value_of(admission_seen(c->req, c->attr, c->attr->object, kind));
	v->old = cel_value_of(admission_seen(c->req, c->attr, c->attr->old, kind));
	v->request = cel_of_json(admission_request_tree(c->req, c->attr, kind));
	v->next = c->views;
	c->views = v;
	return v;
}

void admission_cel_run(struct admission_cel *c, const struct admission_run *run)
{
	const struct admission_view *view = view_of(c, run->kind);
	const struct cel_authz_query here = {
		.group = c->attr->kind->group,
		.resource = c->attr->kind->resource,
		.subresource = c->attr->subresource,
		.ns = c->attr->ns,
		.name = c->attr->name,
	};
	struct cel_eval keeping = { .scratch = &c->kept };
	struct cel_value *v = c->vars;

	arena_clear(&c->kept);
	v[CEL_POLICY_OBJECT] = view->object;
	v[CEL_POLICY_OLD_OBJECT] = view->old;
	v[CEL_POLICY_REQUEST] = view->request;
	v[CEL_POLICY_NAMESPACE] = cel_value_of(run->namespace_object);
	v[CEL_POLICY_PARAMS] = cel_value_of(run->params);
	v[CEL_POLICY_AUTHORIZER] = v[CEL_POLICY_REQUEST_RESOURCE] = CEL_NOTHING;
	if (!run->no_authorizer) {
		v[CEL_POLICY_AUTHORIZER] = cel_authorizer_value(&keeping, &c->authorizer);
		v[CEL_POLICY_REQUEST_RESOURCE] = cel_authorizer_resource(&keeping, &c->authorizer,
									 &here);
	}
	v[CEL_POLICY_NAMED] = (struct cel_value){ .kind = CEL_OBJECT,
						  .object = { &named_class, c } };
	c->named = run->named;
	c->named_cost = 0;
	if (c->named) {
		c->values = ARENA_ARRAY(&c->kept, struct cel_value, c->named->n + 1);
		c->known = ARENA_ARRAY(&c->kept, bool, c->named->n + 1);
	}
}

/* Charges the cost to the budget; returns false if the budget is too small. */
static bool spend(uint64_t *budget, uint64_t cost)
{
	bool enough = cost <= *budget;

	*budget = enough ? *budget - cost : 0;
	return enough;
}

bool admission_cel_evaluate(struct admission_cel *c, const struct admission_expr *e,
			    uint64_t *budget, struct cel_value *ret_value)
{
	struct cel_value v;

	arena_clear(&c->scratch);
	if (!e->program) {
		*ret_value = cel_errorf(&c->ev, "compilation error: %s", e->fault);
		return true;
	}
	c->ev.cost = 0;
	c->ev.cost_limit = CEL_POLICY_COST_MAX;
	v = cel_run(e->program, &c->ev, c->vars);
	if (!spend(budget, c->named_cost) || !spend(budget, c->ev.cost))
		return false;
	c->named_cost = 0;
	if (v.kind == CEL_ERROR)
		v = cel_errorf(&c->ev, "expression '%.*s' resulted in error: %s", STR_ARG(e->text),
			       v.error ? v.error : "no such attribute");
	*ret_value = v;
	return true;
}

/* --- conditions --------------------------------------------------------------------- */

/* "[a, b]" without duplicates; a single error without brackets. */
static const char *joined(struct arena *a, const char *const *faults, size_t n)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);
	size_t told = 0;

	for (size_t i = 0; i < n; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= strcmp(faults[i], faults[k]) == 0;
		if (!again)
			(void)buf_printf(&text, "%s%s", told++ ? ", " : "", faults[i]);
	}
	return told == 1 ? arena_strdup(a, buf_str(&text))
			 : arena_printf(a, "[%.*s]", STR_ARG(buf_str(&text)));
}

int admission_conditions_hold(struct admission_cel *c, const struct admission_exprs *conditions,
			      const struct schema_kind *kind, const struct json *params,
			      struct str *ret_name, const char **ret_fault)
{
	const struct admission_run run = { .kind = kind, .params = params };
	struct arena *a = c->req->write->arena;
	uint64_t budget = CEL_POLICY_BUDGET_CONDITIONS;
	size_t nfaults = 0, nfalse = conditions->n;
	const char **faults;

	if (conditions->n == 0)
		return 1;
	faults = ARENA_ARRAY(a, const char *, conditions->n);
	admission_cel_run(c, &run);
	/*
	 * All conditions are evaluated, as upstream does: running out of budget is an error in
	 * any case.
	 */
	for (size_t i = 0; i < conditions->n; i++) {
		struct cel_value v;

		if (!admission_cel_evaluate(c, &conditions->v[i], &budget, &v)) {
			*ret_fault = ADMISSION_OUT_OF_BUDGET;
			return -ERR_INVALID;
		}
		if (v.kind == CEL_ERROR)
			faults[nfaults++] = arena_strdup(a, str_from(v.error));
		else if (!cel_is_true(v) && nfalse == conditions->n)
			nfalse = i;
	}
	if (nfalse < conditions->n) {
		if (ret_name)
			*ret_name = conditions->v[nfalse].name;
		return 0;
	}
	if (!nfaults)
		return 1;
	*ret_fault = joined(a, faults, nfaults);
	return -ERR_INVALID;
}
