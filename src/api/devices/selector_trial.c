/*
 * In a body of these kinds, every member called "expression" is about devices, wherever it is; also
 * in a patch, whose structure is not the object's. Compiling one that turns out to be unused only
 * costs the sender's own time.
 */
#include "api/devices/selector_trial.h"

#include "api/api_limits.h"
#include "api/devices/known_selectors.h"
#include "api/schema/gates.h"
#include "api/schema/schema.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "cel/cel_limits.h"
#include "cel/kubernetes/device.h"

struct selector_trial {
	struct arena *arena;
	const struct gates *gates;
	struct cel_budget budget;
	struct map verdicts; /* text to struct selector_verdict */
	const struct str *texts; /* in their order in the body */
	size_t ntexts, next;
};

/* --- one expression ----------------------------------------------------------------- */

static struct cel_device_features features_of(const struct gates *gates)
{
	return (struct cel_device_features){
		.consumable_capacity = gates_on(gates, GATE_DRAConsumableCapacity),
		.list_attributes = gates_on(gates, GATE_DRAListTypeAttributes),
	};
}

static struct str why_not(const struct cel_program *p, const struct gates *gates,
			  enum cel_device_use use, struct arena *a)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT(CEL_PROGRAM_MAX);

	if (cel_device_yields(p, features_of(gates), use, &why))
		return STR_NULL;
	return arena_str(a, buf_str(&why));
}

/* Errors are truncated (field_errors.h), so all of a long one need not be kept. */
static void tell_fault(struct selector_verdict *j, const struct cel_issues *issues, struct arena *a)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT(CEL_PROGRAM_MAX);
	struct str first = issues->first ? issues->first->message : STR_NULL;

	/*
	 * A constant part that can only fail, int("x"), is found after everything else was checked.
	 */
	j->internal = str_starts(first, STR("program instantiation failed: "));
	if (!j->internal) {
		(void)buf_addz(&words, "compilation failed: ");
		cel_issues_print(issues, &words);
		first = buf_str(&words);
	}
	j->fault = arena_str(a, str_of(first.p, MIN(first.n, (size_t)VALIDATE_SHOWN_MAX)));
}

static void judge_within(struct selector_verdict *j, const struct gates *gates,
			 struct cel_budget *budget, struct arena *a)
{
	CLEANUP(arena_release) struct arena scratch;
	const struct cel_program *p;
	struct cel_issues issues;
	struct cel_env env;

	arena_init(&scratch, CEL_PROGRAM_MAX);
	cel_device_env(&env, features_of(gates));
	env.budget = budget;
	cel_issues_init(&issues, &scratch, j->text);
	p = cel_compile(&env, j->text, &scratch, &issues);
	j->compiled = p != NULL;
	if (!p && !budget->spent)
		tell_fault(j, &issues, a);
	if (!p)
		return;
	j->unselecting = why_not(p, gates, CEL_DEVICE_SELECTOR, a);
	j->underivable = why_not(p, gates, CEL_DEVICE_DERIVED, a);
	env.budget = NULL;
	j->cost = cel_cost_estimate(&env, cel_program_tree(p)).max;
}

struct selector_verdict selector_judge(struct str text, const struct gates *gates,
				       struct cel_budget *budget, struct arena *a)
{
	struct selector_verdict j = { .text = text };
	uint64_t most = budget ? MIN(budget->left, SELECTOR_COMPILE_MAX) : SELECTOR_COMPILE_MAX;
	struct cel_budget own = { .left = most };

	judge_within(&j, gates, &own, a);
	j.steps = most - own.left;
	j.complex = own.spent && most == SELECTOR_COMPILE_MAX;
	if (budget) {
		budget->spent = budget->spent || (own.spent && !j.complex);
		budget->left -= j.steps;
	}
	return j;
}

/* --- all of a body ------------------------------------------------------------------ */

static bool has_expressions(const struct schema_kind *kind)
{
	static const struct str kinds[] = { STR("resource.k8s.io/resourceclaims"),
					    STR("resource.k8s.io/resourceclaimtemplates"),
					    STR("resource.k8s.io/deviceclasses") };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_eq(kind->storage_name, kinds[i]))
			return true;
	return false;
}

struct texts {
	VEC(struct str) v;
};

static void visit(const struct json *v, const struct known_selectors *known, struct texts *texts)
{
	struct str text = json_str(v);

	if (text.n && text.n <= CEL_EXPRESSION_MAX && str_eqz(json_key(v), "expression") &&
	    !known_selectors_have(known, text))
		(void)vec_push(&texts->v, text);
}

/* Uses no recursion, because bodies may be nested deeper than the stack allows. */
static void selector_trial_collect(const struct json *body, const struct known_selectors *known,
				   struct texts *texts)
{
	VEC(const struct json *) ways;

	vec_init(&ways, JSON_DEPTH_MAX + 1);
	(void)vec_push(&ways, json_first(body));
	while (ways.n > 0) {
		const struct json *v = ways.v[ways.n - 1];

		if (!v) {
			ways.n--;
			continue;
		}
		ways.v[ways.n - 1] = v->next;
		visit(v, known, texts);
		if (json_first(v))
			(void)vec_push(&ways, json_first(v));
	}
	vec_release(&ways);
}

static void selector_trial_drop(void *trial)
{
	struct selector_trial *t = trial;

	map_release(&t->verdicts);
}

static struct selector_trial *selector_trial_make(struct arena *a, const struct gates *gates,
						  const struct texts *texts)
{
	struct selector_trial *t = ARENA_NEW(a, struct selector_trial);
	struct str *copy = ARENA_ARRAY(a, struct str, texts->v.n);

	memcpy(copy, texts->v.v, texts->v.n * sizeof(*copy));
	*t = (struct selector_trial){ .arena = a,
				      .gates = gates,
				      .budget = { .left = CEL_COMPILE_MAX },
				      .texts = copy,
				      .ntexts = texts->v.n };
	map_init(&t->verdicts);
	arena_hold(a, selector_trial_drop, t);
	return t;
}

struct selector_trial *selector_trial_new(struct arena *a, const struct schema_kind *kind,
					  const struct json *body, const struct gates *gates,
					  const struct known_selectors *known)
{
	struct selector_trial *t = NULL;
	struct texts texts;

	if (!has_expressions(kind))
		return NULL;
	vec_init(&texts.v, SELECTOR_TRIAL_MAX);
	selector_trial_collect(body, known, &texts);
	if (texts.v.n > 0)
		t = selector_trial_make(a, gates, &texts);
	vec_release(&texts.v);
	return t;
}

bool selector_trial_go_on(struct selector_trial *t, uint64_t steps)
{
	uint64_t until = t->budget.left > steps ? t->budget.left - steps : 0;

	while (t->next < t->ntexts && !t->budget.spent && t->budget.left > until) {
		struct selector_verdict *j = ARENA_NEW(t->arena, struct selector_verdict);
		struct str text = t->texts[t->next++];

		if (map_get(&t->verdicts, text))
			continue;
		*j = selector_judge(text, t->gates, &t->budget, t->arena);
		if (!t->budget.spent)
			(void)map_put(&t->verdicts, j->text, j);
	}
	return t->next < t->ntexts && !t->budget.spent && t->budget.left > 0;
}

const struct selector_verdict *selector_trial_find(const struct selector_trial *t, struct str text)
{
	return t ? map_get(&t->verdicts, text) : NULL;
}
