/*
 * Policies and bindings are few and change rarely. So the set of those in effect is made anew when
 * a write comes after a change.
 */
#include "server/policies/policy.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/cache/reclaim.h"

/* --- policies ----------------------------------------------------------------------- */

static void policy_unref(struct admission_policy *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
		return;
	arena_release(&p->arena);
	free(p);
}

static enum error_code policy_reason_of(struct str reason)
{
	static const enum error_code codes[] = { ERR_UNAUTHORIZED, ERR_FORBIDDEN, ERR_TOO_LARGE };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (str_eqz(reason, error_reason((int)codes[i])))
			return codes[i];
	return ERR_INVALID;
}

/* Each variable sees those before it. */
static void compile_variables(struct admission_policy *p, const struct json *list,
			      struct cel_policy_options *options)
{
	struct cel_policy_named *named = ARENA_NEW(&p->arena, struct cel_policy_named);
	struct admission_expr *v = ARENA_ARRAY(&p->arena, struct admission_expr,
					       json_count(list) + 1);
	size_t n = 0;

	cel_policy_named_init(named, &p->arena, list);
	options->named = &named->type;
	JSON_FOREACH (it, list) {
		struct admission_expr *e = &v[n++];

		*e = admission_expr(&p->arena, json_text_at(it, "name"),
				    json_text_at(it, "expression"), *options, CEL_POLICY_VALUE);
		cel_policy_declare(named, e->name,
				   e->program ? cel_program_type(e->program) : NULL);
	}
	p->variables = (struct admission_exprs){ v, n };
}

static void compile_validations(struct admission_policy *p, const struct json *list,
				struct cel_policy_options options)
{
	struct cel_policy_options of_message = options;
	struct admission_validation *v = ARENA_ARRAY(&p->arena, struct admission_validation,
						     json_count(list) + 1);

	of_message.authorizer = false;
	p->validations = v;
	JSON_FOREACH (it, list) {
		struct str message = json_text_at(it, "messageExpression");

		v->expr = admission_expr(&p->arena, STR(""), json_text_at(it, "expression"),
					 options, CEL_POLICY_CONDITION);
		if (message.n)
			v->message_expr = admission_expr(&p->arena, STR(""), message, of_message,
							 CEL_POLICY_MESSAGE);
		v->message = arena_str(&p->arena, str_trim_space(json_text_at(it, "message")));
		v->reason = policy_reason_of(json_text_at(it, "reason"));
		v++;
		p->nvalidations++;
	}
}

static void compile_annotations(struct admission_policy *p, const struct json *list,
				struct cel_policy_options options)
{
	struct admission_expr *v = ARENA_ARRAY(&p->arena, struct admission_expr,
					       json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (it, list)
		v[n++] = admission_expr(&p->arena, json_text_at(it, "key"),
					json_text_at(it, "valueExpression"), options,
					CEL_POLICY_ANNOTATION);
	p->annotations = (struct admission_exprs){ v, n };
}

static void compile_mutations(struct admission_policy *p, const struct json *list,
			      struct cel_policy_options options)
{
	struct admission_mutation *v = ARENA_ARRAY(&p->arena, struct admission_mutation,
						   json_count(list) + 1);

	options.mutates = true;
	p->mutations = v;
	JSON_FOREACH (it, list) {
		const struct json *part;

		v->applies = str_eqz(json_text_at(it, "patchType"), "ApplyConfiguration");
		part = json_getz(it, v->applies ? "applyConfiguration" : "jsonPatch");
		v->expr = admission_expr(&p->arena, STR(""), json_text_at(part, "expression"),
					 options, v->applies ? CEL_POLICY_APPLY : CEL_POLICY_PATCH);
		v++;
		p->nmutations++;
	}
}

static struct admission_policy *policy_alloc(void)
{
	struct admission_policy *p = XNEW(struct admission_policy);

	atomic_init(&p->refs, 1);
	arena_init(&p->arena, SIZE_MAX);
	return p;
}

static struct admission_policy *policy_unreadable(struct str name)
{
	struct admission_policy *p = policy_alloc();

	p->name = arena_str(&p->arena, name);
	p->unreadable = true;
	return p;
}

static struct admission_policy *policy_new(const struct json *tree)
{
	struct admission_policy *p = policy_alloc();
	const struct json *spec = json_getz(tree, "spec");
	const struct json *kind = json_getz(spec, "paramKind");
	struct cel_policy_options options = { .params = kind != NULL, .authorizer = true };
	struct arena *a = &p->arena;

	p->name = arena_str(a, json_text_at(json_getz(tree, "metadata"), "name"));
	p->match = admission_match_policy(a, json_getz(spec, "matchConstraints"));
	p->ignores_failures = str_eqz(json_text_at(spec, "failurePolicy"), "Ignore");
	p->has_params = kind != NULL;
	p->param_version = arena_str(a, json_text_at(kind, "apiVersion"));
	p->param_kind = arena_str(a, json_text_at(kind, "kind"));
	p->conditions = admission_conditions(a, json_getz(spec, "matchConditions"), options);
	compile_variables(p, json_getz(spec, "variables"), &options);
	compile_validations(p, json_getz(spec, "validations"), options);
	compile_annotations(p, json_getz(spec, "auditAnnotations"), options);
	compile_mutations(p, json_getz(spec, "mutations"), options);
	p->reinvoked = str_eqz(json_text_at(spec, "reinvocationPolicy"), "IfNeeded");
	return p;
}

/* --- bindings ----------------------------------------------------------------------- */

static void binding_unref(struct admission_binding *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
		return;
	arena_release(&b->arena);
	free(b);
}

static unsigned actions_of(const struct json *list)
{
	unsigned actions = 0;

	if (json_has_text(list, STR("Deny")))
		actions |= ADMISSION_DENY;
	if (json_has_text(list, STR("Warn")))
		actions |= ADMISSION_WARN;
	if (json_has_text(list, STR("Audit")))
		actions |= ADMISSION_AUDIT;
	return actions;
}

static void read_param_ref(struct admission_binding *b, const struct json *ref)
{
	const struct json *selector = json_getz(ref, "selector");
	struct arena *a = &b->arena;

	b->has_params = ref != NULL;
	b->param_name = arena_str(a, json_text_at(ref, "name"));
	b->param_ns = arena_str(a, json_text_at(ref, "namespace"));
	b->by_selector = !b->param_name.n;
	b->param_selector = selector_of_tree(a, selector);
	b->deny_without = str_eqz(json_text_at(ref, "parameterNotFoundAction"), "Deny");
}

static struct admission_binding *binding_alloc(void)
{
	struct admission_binding *b = XNEW(struct admission_binding);

	atomic_init(&b->refs, 1);
	arena_init(&b->arena, SIZE_MAX);
	return b;
}

static struct admission_binding *binding_unreadable(struct str name)
{
	struct admission_binding *b = binding_alloc();

	b->name = arena_str(&b->arena, name);
	b->policy = STR("");
	b->unreadable = true;
	return b;
}

static struct admission_binding *binding_new(const struct json *tree)
{
	struct admission_binding *b = binding_alloc();
	const struct json *spec = json_getz(tree, "spec");
	const struct json *match = json_getz(spec, "matchResources");
	const struct json *actions = json_getz(spec, "validationActions");
	struct json *given = NULL;
	struct arena *a = &b->arena;

	b->name = arena_str(a, json_text_at(json_getz(tree, "metadata"), "name"));
	b->policy = arena_str(a, json_text_at(spec, "policyName"));
	b->everywhere = !match;
	if (match)
		b->match = admission_match_policy(a, match);
	b->actions = actions_of(actions);
	if (actions)
		(void)json_copy(a, actions, &given, NULL);
	b->actions_given = given;
	read_param_ref(b, json_getz(spec, "paramRef"));
	return b;
}

/* --- observers ---------------------------------------------------------------------- */

/*
 * Returns false if the object exists and cannot be read. Then its previous version stays in
 * effect, because without it writes might be allowed that it forbids; without a previous version
 * it is marked as unreadable. *ret_tree is NULL if the object was deleted.
 */
static bool read_tree(const struct admission_policies *all, struct object *now, struct arena *a,
		      struct json **ret_tree)
{
	struct error err;

	*ret_tree = NULL;
	if (!now || object_tree(now, a, ret_tree, &err) == 0)
		return true;
	log_error(all->log, "cannot read an admission policy or its binding",
		  LOG_STR("name", object_name(now)), LOG_ERR(&err));
	return false;
}

/* `next` (NULL: none) replaces the current one. */
static void replace_policy(struct admission_policies *all, struct str name,
			   struct admission_policy *next)
{
	struct admission_policy *before = omap_remove(&all->policies, name);

	all->nunreadable -= before && before->unreadable;
	policy_unref(before);
	if (next)
		(void)omap_put(&all->policies, next->name, next);
	all->nunreadable += next && next->unreadable;
	all->stale = true;
}

static void replace_binding(struct admission_policies *all, struct str name,
			    struct admission_binding *next)
{
	struct admission_binding *before = omap_remove(&all->bindings, name);

	all->nunreadable -= before && before->unreadable;
	binding_unref(before);
	if (next)
		(void)omap_put(&all->bindings, next->name, next);
	all->nunreadable += next && next->unreadable;
	all->stale = true;
}

static void on_policy(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct admission_policies *all = arg;
	struct str name = object_name(now ? now : before);
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (read_tree(all, now, &a, &tree))
		replace_policy(all, name, tree ? policy_new(tree) : NULL);
	else if (!omap_get(&all->policies, name))
		replace_policy(all, name, policy_unreadable(name));
}

static void on_binding(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct admission_policies *all = arg;
	struct str name = object_name(now ? now : before);
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (read_tree(all, now, &a, &tree))
		replace_binding(all, name, tree ? binding_new(tree) : NULL);
	else if (!omap_get(&all->bindings, name))
		replace_binding(all, name, binding_unreadable(name));
}

static void reset_policies(void *arg)
{
	struct admission_policies *all = arg;
	struct omap_cursor at;

	for (bool ok = omap_first(&all->policies, &at); ok; ok = omap_next(&at)) {
		struct admission_policy *p = omap_value(&at);

		all->nunreadable -= p->unreadable;
		policy_unref(p);
	}
	omap_clear(&all->policies);
	all->stale = true;
}

static void reset_bindings(void *arg)
{
	struct admission_policies *all = arg;
	struct omap_cursor at;

	for (bool ok = omap_first(&all->bindings, &at); ok; ok = omap_next(&at)) {
		struct admission_binding *b = omap_value(&at);

		all->nunreadable -= b->unreadable;
		binding_unref(b);
	}
	omap_clear(&all->bindings);
	all->stale = true;
}

/* --- the set in effect -------------------------------------------------------------- */

void admission_active_unref(struct admission_active *a)
{
	if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < a->n; i++)
		policy_unref(a->v[i].policy);
	for (size_t i = 0; i < a->nbindings; i++)
		binding_unref(a->bindings[i]);
	arena_release(&a->arena);
	free(a);
}

static void drop_active(void *active)
{
	admission_active_unref(active);
}

static int by_policy(const void *a, const void *b)
{
	const struct admission_binding *x = *(struct admission_binding *const *)a;
	const struct admission_binding *y = *(struct admission_binding *const *)b;
	int r = str_cmp(x->policy, y->policy);

	return r ? r : str_cmp(x->name, y->name);
}

static void take_bindings(struct admission_active *a, const struct omap *bindings)
{
	struct omap_cursor at;

	a->bindings = ARENA_ARRAY(&a->arena, struct admission_binding *, bindings->n + 1);
	for (bool ok = omap_first(bindings, &at); ok; ok = omap_next(&at)) {
		struct admission_binding *b = omap_value(&at);

		(void)atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
		a->bindings[a->nbindings++] = b;
	}
	qsort(a->bindings, a->nbindings, sizeof(struct admission_binding *), by_policy);
}

/* Both arrays are in order of policies. */
static void take_policies(struct admission_active *a, const struct omap *policies)
{
	struct omap_cursor at;
	size_t i = 0;

	a->v = ARENA_ARRAY(&a->arena, struct admission_bound, policies->n + 1);
	for (bool ok = omap_first(policies, &at); ok; ok = omap_next(&at)) {
		struct admission_policy *p = omap_value(&at);
		size_t first;

		while (i < a->nbindings && str_cmp(a->bindings[i]->policy, p->name) < 0)
			i++;
		first = i;
		while (i < a->nbindings && str_eq(a->bindings[i]->policy, p->name))
			i++;
		if (i == first)
			continue;
		(void)atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
		a->v[a->n++] = (struct admission_bound){ p, a->bindings + first, i - first };
	}
}

static struct admission_active *active_new(const struct admission_policies *all)
{
	struct admission_active *a = XNEW(struct admission_active);

	atomic_init(&a->refs, 1);
	arena_init(&a->arena, SIZE_MAX);
	a->unreadable = all->nunreadable > 0;
	take_bindings(a, &all->bindings);
	take_policies(a, &all->policies);
	return a;
}

static void renew_active(struct admission_policies *all)
{
	struct admission_active *next = active_new(all), *before;

	before = atomic_exchange(&all->active, next); /* sequentially consistent: see reclaim.h */
	reclaim_retire(all->reclaim, before, drop_active);
	reclaim_flush(all->reclaim);
	all->stale = false;
}

const struct admission_active *admission_policies_now(struct admission_policies *all)
{
	if (UNLIKELY(all->stale))
		renew_active(all);
	return atomic_load_explicit(&all->active, memory_order_relaxed);
}

bool admission_policies_exempt(const struct schema_kind *k)
{
	return (k->flags & SCHEMA_REVIEW) ||
	       (admission_is_exempt(k) && str_find(k->kind, STR("AdmissionPolicy")) >= 0);
}

bool admission_active_any(const struct admission_active *a)
{
	return a->n > 0 || a->unreadable;
}

struct admission_active *admission_policies_look(struct admission_policies *all, size_t lane)
{
	struct admission_active *a;

	reclaim_enter(all->reclaim, lane);
	a = atomic_load(&all->active);
	if (admission_active_any(a))
		(void)atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	else
		a = NULL;
	reclaim_leave(all->reclaim, lane);
	return a;
}

/* --- life cycle --------------------------------------------------------------------- */

void admission_policies_init(struct admission_policies *all, enum admission_policy_type type,
			     size_t nlanes, const struct log *log)
{
	const struct str group = STR("admissionregistration.k8s.io");
	bool mutating = type == ADMISSION_MUTATING;

	all->type = type;
	all->log = log;
	omap_init(&all->policies);
	omap_init(&all->bindings);
	all->stale = false;
	all->nunreadable = 0;
	all->reclaim = reclaim_new(nlanes);
	atomic_init(&all->active, active_new(all));
	all->observers[0] = (struct state_observer){
		.group = group,
		.resource = mutating ? STR("mutatingadmissionpolicies")
				     : STR("validatingadmissionpolicies"),
		.changed = on_policy,
		.reset = reset_policies,
		.arg = all
	};
	all->observers[1] = (struct state_observer){
		.group = group,
		.resource = mutating ? STR("mutatingadmissionpolicybindings")
				     : STR("validatingadmissionpolicybindings"),
		.changed = on_binding,
		.reset = reset_bindings,
		.arg = all
	};
}

void admission_policies_release(struct admission_policies *all)
{
	reset_policies(all);
	reset_bindings(all);
	omap_release(&all->policies);
	omap_release(&all->bindings);
	admission_active_unref(atomic_load(&all->active));
	reclaim_free(all->reclaim);
}

/* --- unreadable ones ---------------------------------------------------------------- */

static struct str unreadable_policy(const struct admission_policies *all)
{
	struct omap_cursor at;

	for (bool ok = omap_first(&all->policies, &at); ok; ok = omap_next(&at)) {
		const struct admission_policy *p = omap_value(&at);

		if (p->unreadable)
			return p->name;
	}
	return STR_NULL;
}

static struct str unreadable_binding(const struct admission_policies *all)
{
	struct omap_cursor at;

	for (bool ok = omap_first(&all->bindings, &at); ok; ok = omap_next(&at)) {
		const struct admission_binding *b = omap_value(&at);

		if (b->unreadable)
			return b->name;
	}
	return STR_NULL;
}

int admission_policies_check(const struct admission_policies *all, struct error *err)
{
	struct str policy, name;

	if (!all->nunreadable)
		return 0;
	policy = unreadable_policy(all);
	name = policy.n ? policy : unreadable_binding(all);
	return error_set(err, ERR_FORBIDDEN,
			 "not yet ready to handle request: %sAdmissionPolicy%s \"%.*s\" cannot be "
			 "read",
			 all->type == ADMISSION_MUTATING ? "Mutating" : "Validating",
			 policy.n ? "" : "Binding", STR_ARG(name));
}
