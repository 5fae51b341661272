/*
 * The server adds the defaults of a schema to objects, so they must be valid: by their own schema,
 * with no field that pruning would remove, and with well-formed metadata if they are objects. A
 * default within the metadata of an embedded object is checked in an object that has nothing else.
 */
#include "api/crd/definition.h"

#include "api/api_limits.h"
#include "api/crd/rule.h"

/* The path from an embedded object down to the default; on the stack. */
struct step {
	const struct step *up;
	struct str name; /* p NULL: an element of a list */
};

struct walk {
	const struct crd_schema *root; /* the embedded object's schema */
	const struct step *step; /* NULL: the embedded object itself */
	bool inside_meta;
	int64_t *budget; /* cost limit for rules in CEL; negative: used up */
};

static struct json *definition_defaults_copy_of(struct validation *v, const struct json *value)
{
	struct json *copy = NULL;

	(void)json_copy(v->arena, value, &copy, NULL);
	return copy ? copy : json_make_null(v->arena);
}

/* Makes an object with only apiVersion, kind and this value at its place. */
static struct json *surround(struct validation *v, const struct step *step, struct json *value)
{
	struct json *outer;

	for (; step; step = step->up) {
		outer = step->name.p ? json_make_object(v->arena) : json_make_array(v->arena);
		if (step->name.p)
			json_set(outer, step->name, value);
		else
			json_append(outer, value);
		value = outer;
	}
	if (value->type == JSON_OBJECT) {
		if (!json_getz(value, "apiVersion"))
			json_put_str(v->arena, value, "apiVersion", STR("validation/v1"));
		if (!json_getz(value, "kind"))
			json_put_str(v->arena, value, "kind", STR("Validation"));
	}
	return value;
}

/* Returns the errors of the surrounding object as one text; n 0: no errors. */
static struct str meta_faults(struct validation *v, const struct walk *w,
			      const struct crd_schema *s)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct json *object = surround(v, w->step, definition_defaults_copy_of(v, s->initial));
	struct field_errors *outer = v->errs, errs;
	struct error err;

	if (crd_coerce(v->arena, object, w->root, true, NULL, NULL, &err) < 0)
		return arena_str(v->arena, str_from(err.msg));
	field_errors_init(&errs, v->arena);
	v->errs = &errs;
	crd_validate_embedded(v, w->root, object, true, NULL);
	v->errs = outer;
	if (field_errors_any(&errs))
		(void)field_errors_aggregate(&errs, &text);
	return arena_str(v->arena, buf_str(&text));
}

/* Checks a default by the schema, then by its rules: as an unchanged value, and as a new one. */
static void check_value(struct validation *v, const struct crd_schema *s, int64_t *budget,
			const struct field_path *path)
{
	size_t before = v->errs->n + v->errs->dropped;
	int64_t coming = *budget;

	crd_validate_value(v, s, s->initial, NULL, path);
	if (v->errs->n + v->errs->dropped == before)
		crd_rules_run(v, s, s->initial, s->initial, path, false, budget);
	if (v->errs->n + v->errs->dropped == before)
		crd_rules_run(v, s, s->initial, NULL, path, false, &coming);
	*budget = MIN(*budget, coming);
}

static void check_meta_default(struct validation *v, const struct walk *w,
			       const struct crd_schema *s, const struct field_path *path)
{
	struct str faults = meta_faults(v, w, s);

	if (faults.n)
		field_errors_addf(v->errs, FIELD_INVALID, path, validate_shown(v, s->initial),
				  "must result in valid metadata: %.*s", STR_ARG(faults));
	else
		check_value(v, s, w->budget, path);
}

static void check_default(struct validation *v, const struct crd_schema *s, bool root,
			  int64_t *budget, const struct field_path *path)
{
	struct json *copy = definition_defaults_copy_of(v, s->initial);
	bool resource = root || s->embedded;
	size_t before = v->errs->n + v->errs->dropped;
	struct error err;

	if (crd_prune(v->arena, copy, s, resource, NULL))
		field_errors_invalid(v->errs, path, validate_shown(v, s->initial),
				     "must not have unknown fields");
	copy = definition_defaults_copy_of(v, s->initial);
	if (crd_coerce(v->arena, copy, s, resource, path, NULL, &err) < 0) {
		field_errors_invalid(v->errs, path, validate_shown(v, s->initial), err.msg);
		return;
	}
	before = v->errs->n + v->errs->dropped;
	crd_validate_embedded(v, s, s->initial, resource, path);
	if (v->errs->n + v->errs->dropped == before)
		check_value(v, s, budget, path);
}

/* Skips additionalProperties, as upstream does. */
static void definition_defaults_walk(struct validation *v, const struct crd_schema *s,
				     struct walk w, const struct field_path *path)
{
	struct field_path initial = field_path_name(path, "default");
	struct field_path items = field_path_name(path, "items");
	struct field_path properties = field_path_name(path, "properties");
	bool root = w.root == s;

	if (*w.budget < 0)
		return;
	if (s->embedded)
		w = (struct walk){ .root = s, .budget = w.budget };
	if (s->initial && w.inside_meta)
		check_meta_default(v, &w, s, &initial);
	else if (s->initial)
		check_default(v, s, root, w.budget, &initial);
	if (!s->has_defaults)
		return;
	if (s->items) {
		const struct step step = { w.step, STR_NULL };
		struct walk below = { w.root, &step, w.inside_meta, w.budget };

		definition_defaults_walk(v, s->items, below, &items);
	}
	for (size_t i = 0; i < s->nproperties; i++) {
		const struct crd_property *p = &s->properties[i];
		struct field_path at = field_path_key(&properties, p->name);
		const struct step step = { w.step, p->name };
		struct walk below = { w.root, &step, w.inside_meta, w.budget };

		below.inside_meta |= (root || s->embedded) && crd_is_meta(p->name);
		definition_defaults_walk(v, p->schema, below, &at);
	}
}

void check_crd_defaults(struct validation *v, const struct crd_schema *schema,
			const struct field_path *path)
{
	int64_t budget = CRD_RULES_COST_MAX;

	definition_defaults_walk(v, schema, (struct walk){ .root = schema, .budget = &budget },
				 path);
}
