/*
 * Rules run on the way down: those of a value first, then those of its members or elements. The
 * stored value is passed along for two purposes: as oldSelf, for transition rules, and to find out
 * whether a value is unchanged, because errors in an unchanged value are only warnings. Both are
 * computed late, because most rules hold.
 *
 * Values are made in scratch memory that is cleared after each node. Recursion is limited by the
 * depth of the schema.
 */
#include "api/crd/rule.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/map.h"
#include "cel/cel_limits.h"

enum {
	CALL_COST_MAX = 1000000, /* cost limit of one expression */
	MESSAGE_MAX = 5 * 1024, /* maximum size of a messageExpression's result */
	BLOCK = 16 * 1024, /* scratch memory on the stack */
};

struct run {
	struct validation *v;
	struct arena scratch;
	struct cel_eval ev;
	int64_t budget; /* negative: used up, the remaining rules are not run */
};

/* A value on the path down. */
struct spot {
	const struct crd_schema *s;
	const struct json *value;
	const struct json *old; /* the value of oldSelf; or NULL */
	const struct field_path *path;
	/* The stored counterpart; NULL if it does not exist or cannot be identified. */
	const struct json *before;
	struct spot *nearest; /* the nearest spot above with a counterpart */
	enum { NOT_ASKED, CHANGED, UNCHANGED } change;
};

static void run_node(struct run *r, struct spot *spot);

/* --- stored values ------------------------------------------------------------------ */

/* Returns a text that identifies an element of a keyed list; p NULL if it lacks a key. */
static struct str keys_text(struct arena *a, const struct str *keys, const struct json *item)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

	for (; keys->p; keys++) {
		const struct json *key = json_get(item, *keys);

		if (!key || key->type == JSON_NULL || json_is_container(key))
			return STR_NULL;
		(void)json_print(&text, key, NULL);
		(void)buf_addc(&text, '\n');
	}
	return arena_str(a, buf_str(&text));
}

/* Indexes the elements of a stored list by their keys: the first of each. */
static void index_stored(struct arena *a, const struct crd_schema *s, const struct json *list,
			 struct map *ret_map)
{
	map_init(ret_map);
	if (s->list != CRD_LIST_MAP || !json_is(list, JSON_ARRAY))
		return;
	JSON_FOREACH (item, list) {
		struct str key = keys_text(a, s->keys, item);

		if (key.p && !map_get(ret_map, key))
			(void)map_put(ret_map, key, item);
	}
}

static const struct json *find_stored(struct arena *a, const struct crd_schema *s,
				      const struct map *stored, const struct json *item)
{
	struct str key = s->list == CRD_LIST_MAP ? keys_text(a, s->keys, item) : STR_NULL;

	return key.p ? map_get(stored, key) : NULL;
}

static bool rule_run_is_same(struct arena *a, const struct crd_schema *s, const struct json *value,
			     const struct json *old);

static bool is_same_list(struct arena *a, const struct crd_schema *s, const struct json *value,
			 const struct json *old)
{
	struct map stored;
	bool same = true;

	if (s->list != CRD_LIST_MAP || !s->items)
		return json_equal(value, old);
	index_stored(a, s, old, &stored);
	JSON_FOREACH (item, value) {
		const struct json *before = same ? find_stored(a, s, &stored, item) : NULL;

		same = before && rule_run_is_same(a, s->items, item, before);
	}
	map_release(&stored);
	return same;
}

/*
 * Whether the value equals the stored one. Parts without a schema have no counterpart, so they
 * differ.
 */
static bool rule_run_is_same(struct arena *a, const struct crd_schema *s, const struct json *value,
			     const struct json *old)
{
	if (!json_is_container(value) || value->type != old->type)
		return json_equal(value, old);
	if (value->n != old->n)
		return false;
	if (value->type == JSON_ARRAY)
		return is_same_list(a, s, value, old);
	JSON_FOREACH (member, value) {
		const struct crd_schema *below = crd_member(s, json_key(member));
		const struct json *before = json_get(old, json_key(member));

		if (!below || !before || !rule_run_is_same(a, below, member, before))
			return false;
	}
	return true;
}

static bool is_unchanged(struct run *r, struct spot *spot)
{
	if (!spot->before)
		spot = spot->nearest;
	if (!spot)
		return false;
	if (spot->change == NOT_ASKED)
		spot->change = rule_run_is_same(r->v->arena, spot->s, spot->value, spot->before)
				       ? UNCHANGED
				       : CHANGED;
	return spot->change == UNCHANGED;
}

/* --- faults ------------------------------------------------------------------------- */

/* Returns the type as the schema names it. */
static struct str type_name(const struct crd_schema *s)
{
	return s->int_or_string ? STR("") : crd_type_names(s);
}

static void add_out_of_budget(struct run *r, const struct spot *spot)
{
	field_errors_invalid(r->v->errs, spot->path, FIELD_STR(type_name(spot->s)),
			     "validation failed due to running out of cost budget, no further "
			     "validation rules will be run");
	r->budget = -1;
}

static void warn_of(struct run *r, struct field_errors *errs)
{
	for (const struct field_error *e = errs->first; e; e = e->next) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

		(void)buf_printf(&text, "%.*s: ", STR_ARG(e->path));
		(void)field_error_print_body(e, &text);
		validation_warn(r->v, "%.*s", (int)text.n, text.p);
	}
}

/* Adds an error; or a warning, if the value is unchanged. */
static void add_fault(struct run *r, struct spot *spot, const struct crd_rule *rule,
		      enum field_error_type type, struct field_value value, struct str detail)
{
	const struct field_path at = { spot->path, rule->field, 0, FIELD_PATH_NAME };
	bool warn = !rule->uses_old && is_unchanged(r, spot);
	struct field_errors warnings, *errs = r->v->errs;

	if (warn) {
		field_errors_init(&warnings, r->v->arena);
		errs = &warnings;
	}
	field_errors_add(errs, type, rule->field.n ? &at : spot->path, value,
			 type == FIELD_DUPLICATE ? STR_NULL : detail);
	if (warn)
		warn_of(r, &warnings);
}

/* --- messages ----------------------------------------------------------------------- */

/* Adds an error of the messageExpression and stops all other rules. */
static void stop_at_message(struct run *r, struct spot *spot, const struct crd_rule *rule,
			    const char *why)
{
	add_fault(r, spot, rule, FIELD_INVALID, FIELD_STR(type_name(spot->s)), str_from(why));
	r->budget = -1;
}

/* Returns the result of the messageExpression; n 0 if it is not usable. */
static struct str make_message(struct run *r, struct spot *spot, const struct crd_rule *rule,
			       const struct json *expression, const struct cel_value *vars)
{
	struct cel_value result;
	struct str text;

	r->ev.cost = 0;
	result = cel_run(rule->message_program, &r->ev, vars);
	if (r->ev.cost > (uint64_t)r->budget) {
		stop_at_message(r, spot, rule,
				"messageExpression evaluation failed due to running out of cost "
				"budget, no further validation rules will be run");
		return STR_NULL;
	}
	r->budget -= (int64_t)r->ev.cost;
	if (cel_is_error(result) && str_eqz(str_from(result.error), CEL_COST_EXCEEDED)) {
		CLEANUP(buf_release) struct buf quoted = BUF_INIT(REQUEST_WORK_MAX);

		(void)buf_addz(&quoted, "no further validation rules will be run due to call cost "
					"exceeds limit for messageExpression: ");
		(void)json_print_str(&quoted, json_str(expression), NULL);
		stop_at_message(r, spot, rule, arena_strdup(r->v->arena, buf_str(&quoted)));
		return STR_NULL;
	}
	text = result.kind == CEL_STRING ? str_trim_space(result.s) : STR_NULL;
	return text.n > MESSAGE_MAX || str_chr(text, '\n') >= 0 ? STR_NULL : text;
}

/* --- one rule ----------------------------------------------------------------------- */

static void add_error(struct run *r, const struct spot *spot, const struct crd_rule *rule,
		      const char *error)
{
	struct field_value type = FIELD_STR(type_name(spot->s));
	struct str name = rule->message.n ? rule->message : rule->text;

	if (str_starts(str_from(error), STR("no such overload"))) {
		field_errors_addf(r->v->errs, FIELD_INVALID, spot->path, type,
				  "'%s': call arguments did not match a supported operator, "
				  "function or macro signature for rule: %.*s",
				  error, STR_ARG(name));
	} else if (str_starts(str_from(error), STR(CEL_COST_EXCEEDED))) {
		field_errors_addf(r->v->errs, FIELD_INVALID, spot->path, type,
				  "'%s': no further validation rules will be run due to call cost "
				  "exceeds limit for rule: %.*s",
				  error, STR_ARG(name));
		r->budget = -1;
	} else {
		field_errors_addf(r->v->errs, FIELD_INVALID, spot->path, type,
				  "%s evaluating rule: %.*s", error, STR_ARG(name));
	}
}

static struct field_value rule_run_shown(struct run *r, const struct spot *spot)
{
	if (!spot->s->int_or_string && (spot->s->types & (CRD_OBJECT | CRD_ARRAY)))
		return FIELD_OMITTED;
	return validate_shown(r->v, spot->value);
}

/* Reports that the rule does not hold. */
static void add_failure(struct run *r, struct spot *spot, const struct crd_rule *rule,
			const struct json *given, const struct cel_value *vars)
{
	struct str message = STR_NULL;

	if (rule->message_program) {
		message = make_message(r, spot, rule, json_getz(given, "messageExpression"), vars);
		if (r->budget < 0)
			return;
	}
	if (message.n == 0)
		message = rule->message;
	if (message.n == 0)
		message = str_from(
			arena_printf(r->v->arena, "failed rule: %.*s", STR_ARG(rule->text)));
	add_fault(r, spot, rule, rule->reason, rule_run_shown(r, spot), message);
}

static void run_rule(struct run *r, struct spot *spot, const struct crd_rule *rule,
		     const struct json *given, const struct cel_value vars[static 2])
{
	struct cel_value own[2] = { vars[0], vars[1] }, result;

	if (rule->fault) {
		field_errors_addf(r->v->errs, FIELD_INVALID, spot->path,
				  FIELD_STR(type_name(spot->s)), "rule compile error: %s",
				  rule->fault);
		return;
	}
	if (!rule->program || (rule->uses_old && !spot->old && !rule->optional_old))
		return;
	if (rule->optional_old)
		own[1] = spot->old ? cel_optional(&r->ev, vars[1]) : cel_none();
	r->ev.cost = 0;
	result = cel_run(rule->program, &r->ev, own);
	if (r->ev.cost > (uint64_t)r->budget) {
		add_out_of_budget(r, spot);
		return;
	}
	r->budget -= (int64_t)r->ev.cost;
	if (cel_is_error(result))
		add_error(r, spot, rule, result.error ? result.error : "no such attribute");
	else if (!cel_is_true(result))
		add_failure(r, spot, rule, given, vars);
}

static void run_rules(struct run *r, struct spot *spot)
{
	const struct crd_cel *cel = spot->s->cel;
	const struct json *given = json_first(spot->s->validations);
	struct cel_value vars[2] = { CEL_NOTHING, CEL_NOTHING };

	if (r->budget <= 0) {
		add_out_of_budget(r, spot);
		return;
	}
	if (!cel->type) {
		field_errors_invalid(r->v->errs, spot->path, FIELD_STR(type_name(spot->s)),
				     "rule compiler initialization error: failed to convert to "
				     "declType for CEL validation rules");
		return;
	}
	vars[0] = crd_cel_value(&r->ev, spot->s, spot->value);
	if (spot->old && cel->uses_old)
		vars[1] = crd_cel_value(&r->ev, spot->s, spot->old);
	for (size_t i = 0; i < cel->nrules && r->budget >= 0; i++, given = given->next)
		run_rule(r, spot, &cel->rules[i], given, vars);
	arena_clear(&r->scratch);
	r->ev.indexes = NULL;
}

/* --- the way down ------------------------------------------------------------------- */

/* Whether this schema or any below has rules that can be run. */
static bool has_rules(const struct crd_schema *s)
{
	return s && (s->validations || s->has_validations);
}

static const struct json *not_null(const struct json *v)
{
	return v && v->type != JSON_NULL ? v : NULL;
}

/* Runs a child that is identified by name or keys; `before` is its stored counterpart. */
static void run_child(struct run *r, struct spot *parent, struct spot child,
		      const struct json *before)
{
	if (parent->before) {
		child.before = before;
		child.nearest = parent;
	} else {
		child.nearest = parent->nearest;
	}
	run_node(r, &child);
}

static void run_members(struct run *r, struct spot *spot)
{
	const struct json *old = json_is(spot->old, JSON_OBJECT) ? spot->old : NULL;
	const struct json *before = json_is(spot->before, JSON_OBJECT) ? spot->before : NULL;

	for (const struct json *m = json_first(spot->value); m && r->budget >= 0; m = m->next) {
		const struct crd_schema *s = crd_property(spot->s, json_key(m));
		struct field_path at = { spot->path, json_key(m), 0,
					 s ? FIELD_PATH_NAME : FIELD_PATH_KEY };
		struct spot child = { .s = s ? s : spot->s->additional, .value = m, .path = &at };
		bool type_meta = !spot->nearest && spot->before &&
				 (str_eqz(at.text, "apiVersion") || str_eqz(at.text, "kind"));

		if (!has_rules(child.s) || !child.s->cel->type)
			continue;
		child.old = not_null(json_get(old, at.text));
		if (type_meta)
			run_node(r, &child);
		else
			run_child(r, spot, child, json_get(before, at.text));
	}
}

static void run_elements(struct run *r, struct spot *spot)
{
	struct map old, before;
	size_t i = 0;

	if (!has_rules(spot->s->items))
		return;
	index_stored(r->v->arena, spot->s, spot->old, &old);
	index_stored(r->v->arena, spot->s, spot->before, &before);
	JSON_FOREACH (item, spot->value) {
		struct field_path at = field_path_index(spot->path, i++);
		struct spot child = { .s = spot->s->items, .value = item, .path = &at };

		if (r->budget < 0)
			break;
		child.old = find_stored(r->v->arena, spot->s, &old, item);
		run_child(r, spot, child, find_stored(r->v->arena, spot->s, &before, item));
	}
	map_release(&before);
	map_release(&old);
}

static void run_node(struct run *r, struct spot *spot)
{
	if (spot->value->type == JSON_NULL)
		return;
	if (spot->s->validations)
		run_rules(r, spot);
	if (r->budget < 0 || !spot->s->has_validations)
		return;
	if (spot->value->type == JSON_ARRAY)
		run_elements(r, spot);
	else if (spot->value->type == JSON_OBJECT)
		run_members(r, spot);
}

void crd_rules_run(struct validation *v, const struct crd_schema *s, const struct json *value,
		   const struct json *old, const struct field_path *path, bool ratchet,
		   int64_t *budget)
{
	char block[BLOCK] UNZEROED;
	struct run r = { .v = v, .budget = *budget };
	struct spot spot = { .s = s, .value = value, .old = not_null(old), .path = path };

	if (!has_rules(s))
		return;
	if (ratchet)
		spot.before = old;
	arena_init_in(&r.scratch, CEL_SCRATCH_MAX, block, sizeof(block));
	r.ev = (struct cel_eval){ .scratch = &r.scratch, .cost_limit = CALL_COST_MAX };
	run_node(&r, &spot);
	arena_release(&r.scratch);
	*budget = r.budget;
}

/* --- a whole object ----------------------------------------------------------------- */

/* Whether there are structural errors that prevent the evaluation of rules. */
static bool blocks_rules(const struct field_errors *errs)
{
	for (const struct field_error *e = errs->first; e; e = e->next)
		if (e->type == FIELD_NOT_SUPPORTED || e->type == FIELD_REQUIRED ||
		    e->type == FIELD_TOO_LONG || e->type == FIELD_TOO_MANY ||
		    e->type == FIELD_TYPE_INVALID)
			return true;
	return false;
}

void crd_validate_rules(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old)
{
	int64_t budget = CRD_RULES_COST_MAX;

	if (!has_rules(s))
		return;
	if (blocks_rules(v->errs))
		field_errors_invalid(v->errs, NULL, validate_shown(v, NULL),
				     "some validation rules were not checked because the object "
				     "was invalid; correct the existing errors to complete "
				     "validation");
	else
		crd_rules_run(v, s, value, old, NULL, old != NULL, &budget);
}
