/*
 * Walks schema and tree together. Members to remove are marked and removed from their object all at
 * once, so that a hundred thousand unknown fields take linear time. It recurses as deep as types
 * are nested; OBJECT_DEPTH_MAX stops types that contain themselves.
 */
#include "api/codec/decode_step.h"

#include <assert.h>

#include "api/api_limits.h"
#include "base/core/map.h"

enum verdict { KEEP, DROP }; /* errors are negative */

static int fit_object(struct decode_fit *f, struct json *v, const struct schema_type *type,
		      const struct decode_step *at);

/* Whether the schema has a default for the field when it is absent. */
static bool has_default(const struct schema_field *field)
{
	return field->rules && (field->rules->initial.p || field->rules->fill);
}

/* Whether the field's zero value equals its absence, and is not printed. */
static bool drops_zero(const struct schema_field *field)
{
	if (field->flags & SCHEMA_POINTER)
		return false;
	return !(field->flags & SCHEMA_ALWAYS) || has_default(field);
}

/* In a CRD's schema such a value is an object, or has the field's other form. */
static int fit_forms(struct decode_fit *f, struct json *v, const struct decode_step *at)
{
	const struct schema_field *field = at->field;
	int r;

	if (v->type == JSON_OBJECT)
		return fit_object(f, v, field->type, at);
	if (field->value == SCHEMA_PROPS_OR_BOOL)
		return v->type == JSON_BOOL ? 0
					    : error_set(f->err, ERR_BAD_REQUEST,
							"boolean or JSON schema expected");
	if (v->type != JSON_ARRAY)
		return decode_mismatch(f, v, at, false);
	JSON_FOREACH (item, v) {
		bool strings = field->value == SCHEMA_PROPS_OR_STRINGS;

		if (item->type != (strings ? JSON_STRING : JSON_OBJECT))
			return decode_mismatch(f, item, at, false);
		r = strings ? 0 : fit_object(f, item, field->type, at);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Upstream reads these with separate functions, which do not report unknown fields. */
static int fit_props(struct decode_fit *f, struct json *v, const struct decode_step *at)
{
	struct decode_report *report = f->report;
	int r;

	f->report = NULL;
	r = fit_forms(f, v, at);
	f->report = report;
	return r;
}

/* Fits a single value; `at` is its path. */
static int fit_one(struct decode_fit *f, struct json *v, const struct decode_step *at,
		   bool *ret_zero)
{
	const struct schema_field *field = at->field;

	*ret_zero = false;
	if (field->value > SCHEMA_OBJECT)
		return fit_props(f, v, at);
	if (field->value != SCHEMA_OBJECT)
		return decode_scalar(f, v, at, ret_zero);
	if (v->type != JSON_OBJECT)
		return decode_mismatch(f, v, at, false);
	return fit_object(f, v, field->type, at);
}

static int fit_list(struct decode_fit *f, struct json *list, const struct decode_step *at)
{
	struct decode_step step = { .up = at, .field = at->field };
	bool zero;
	int r;

	if (list->type != JSON_ARRAY)
		return decode_mismatch(f, list, at, true);
	JSON_FOREACH (v, list) {
		if (v->type == JSON_NULL)
			decode_zero(v, at->field);
		if (v->type != JSON_NULL) {
			r = fit_one(f, v, &step, &zero);
			if (r < 0)
				return r;
		}
		step.index++;
	}
	return 0;
}

/* Fits one value of a map; `at` is its path. */
static int fit_entry(struct decode_fit *f, struct json *v, const struct decode_step *at)
{
	bool lists = at->field->shape == SCHEMA_MAP_OF_LISTS, zero;

	if (v->type == JSON_NULL && lists)
		json_assign(v, &(struct json){ .type = JSON_ARRAY });
	else if (v->type == JSON_NULL)
		decode_zero(v, at->field);
	if (v->type == JSON_NULL)
		return 0;
	return lists ? fit_list(f, v, at) : fit_one(f, v, at, &zero);
}

static int fit_map(struct decode_fit *f, struct json *map, const struct decode_step *at)
{
	struct decode_step step = { .up = at, .field = at->field };
	struct map seen;
	int r = 0;

	if (map->type != JSON_OBJECT)
		return decode_mismatch(f, map, at, true);
	map_init(&seen);
	JSON_FOREACH (v, map) {
		step.key = json_key(v);
		if (f->repeats && map_put(&seen, step.key, v))
			decode_fault(f->arena, f->report, "duplicate field", at, step.key);
		r = fit_entry(f, v, &step);
		if (r < 0)
			break;
	}
	map_release(&seen);
	return r;
}

/* Fits a known member. Returns KEEP, DROP or an error. */
static int fit_member(struct decode_fit *f, struct json *v, const struct decode_step *at)
{
	const struct schema_field *field = at->field;
	bool zero;
	int r;

	if (v->type == JSON_NULL)
		return field->flags & SCHEMA_NULLABLE ? KEEP : DROP;
	if (field->shape == SCHEMA_ONE) {
		r = fit_one(f, v, at, &zero);
	} else {
		r = field->shape == SCHEMA_LIST ? fit_list(f, v, at) : fit_map(f, v, at);
		zero = json_count(v) == 0;
	}
	if (r < 0)
		return r;
	if (!zero)
		return KEEP;
	if (field->value == SCHEMA_TIME || field->value == SCHEMA_MICRO_TIME)
		return DROP;
	return drops_zero(field) ? DROP : KEEP;
}

/*
 * Adds an absent member that Go would print: a struct, or a scalar without omitempty. Lists, maps
 * and pointers would be null; those stay absent.
 */
static int add_absent(struct decode_fit *f, struct json *v, const struct schema_field *field,
		      const struct decode_step *at)
{
	struct json *fresh;

	if (field->shape != SCHEMA_ONE || field->flags & SCHEMA_POINTER)
		return 0;
	/* A fill works on the parent object, so an empty object does not prevent it. */
	if (field->value != SCHEMA_OBJECT && (field->value > SCHEMA_INT64 || has_default(field)))
		return 0;
	fresh = json_make_null(f->arena);
	decode_zero(fresh, field);
	json_add(v, field->name, fresh);
	return field->value == SCHEMA_OBJECT ? fit_object(f, fresh, field->type, at) : 0;
}

static int add_all_absent(struct decode_fit *f, struct json *v, const struct schema_type *type,
			  uint64_t seen, const struct decode_step *at)
{
	struct decode_step step = { .up = at, .owner = type };
	int r;

	for (unsigned i = 0; i < type->nfields; i++) {
		step.field = &type->fields[i];
		if (!(step.field->flags & SCHEMA_ALWAYS))
			continue;
		if (i < 64 ? seen >> i & 1 : json_get(v, step.field->name) != NULL)
			continue;
		r = add_absent(f, v, step.field, &step);
		if (r < 0)
			return r;
	}
	return 0;
}

void decode_sweep(struct json *v)
{
	struct json *member = v->first, *next;

	json_assign(v, &(struct json){ .type = JSON_OBJECT });
	for (; member; member = next) {
		next = member->next;
		if (member->key)
			json_add(v, json_key(member), member);
	}
}

/*
 * Reports a repeated name before the faults below it. Repeated unknown names are not reported
 * again.
 */
static void tell_repeat(struct decode_fit *f, const struct decode_step *step, uint64_t *given)
{
	size_t i = (size_t)(step->field - step->owner->fields);

	assert(i < 64); /* upstream's structs have fewer fields */
	if (*given >> i & 1)
		decode_fault(f->arena, f->report, "duplicate field", step->up, step->field->name);
	*given |= 1ULL << i;
}

static int fit_members(struct decode_fit *f, struct json *v, const struct schema_type *type,
		       const struct decode_step *at)
{
	struct decode_step step = { .up = at, .owner = type };
	bool dropped = false;
	uint64_t seen = 0, given = 0;
	int r;

	JSON_FOREACH (member, v) {
		step.field = schema_field(type, json_key(member));
		if (UNLIKELY(f->repeats && step.field))
			tell_repeat(f, &step, &given);
		if (step.field)
			r = fit_member(f, member, &step);
		else
			r = type->preserve ? KEEP : DROP;
		if (r < 0)
			return r;
		if (!step.field && r == DROP)
			decode_fault(f->arena, f->report, "unknown field", at, json_key(member));
		if (r == DROP) {
			member->key = NULL;
			dropped = true;
		} else if (step.field && step.field - type->fields < 64) {
			seen |= 1ULL << (step.field - type->fields);
		}
	}
	if (dropped)
		decode_sweep(v);
	return add_all_absent(f, v, type, seen, at);
}

static int fit_object(struct decode_fit *f, struct json *v, const struct schema_type *type,
		      const struct decode_step *at)
{
	int r;

	if (f->depth >= OBJECT_DEPTH_MAX)
		return error_set(f->err, ERR_BAD_REQUEST, "exceeded max depth");
	f->depth++;
	r = fit_members(f, v, type, at);
	f->depth--;
	return r;
}

static int fit_root(struct decode_fit *f, struct json *tree, const struct schema_type *type,
		    const struct decode_step *at)
{
	const struct schema_field root = { .type = type, .value = SCHEMA_OBJECT };
	const struct decode_step self = { .field = &root };

	if (tree->type == JSON_NULL)
		json_assign(tree, &(struct json){ .type = JSON_OBJECT });
	if (tree->type != JSON_OBJECT)
		return decode_mismatch(f, tree, &self, false);
	return fit_object(f, tree, type, at);
}

int decode_fit_at(struct arena *a, struct json *tree, const struct schema_type *type,
		  const struct decode_step *at, struct decode_report *report, struct error *err)
{
	struct decode_fit f = { .arena = a, .report = report, .err = err };

	return fit_root(&f, tree, type, at);
}

int decode_fit(struct arena *a, struct json *tree, const struct schema_type *type,
	       struct decode_report *report, struct error *err)
{
	return decode_fit_at(a, tree, type, NULL, report, err);
}

int decode_refit(struct arena *a, struct json *tree, const struct schema_type *type,
		 struct decode_report *report, struct error *err)
{
	struct decode_fit f = { .arena = a, .report = report, .err = err, .repeats = true };

	return fit_root(&f, tree, type, NULL);
}
