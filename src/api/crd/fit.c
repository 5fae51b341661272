/*
 * The steps in which upstream decodes a custom resource, in its order: metadata is read as
 * ObjectMeta, unknown fields are pruned, then nulls that no default will replace, then embedded
 * objects are checked, and finally defaults are added. Each step is a walk down the schema. Parts
 * of the tree without a schema are handled as a whole.
 */
#include "api/crd/crd_impl.h"

#include "api/api_limits.h"
#include "api/codec/decode_step.h"

/* --- pruning ---------------------------------------------------------------------- */

struct pruner {
	struct arena *arena;
	struct decode_report found;
	bool reports, changed;
	unsigned depth;
};

static void prune(struct pruner *p, struct json *v, const struct crd_schema *s, bool keep,
		  const struct decode_step *at);

/* Reports an unknown member; not those of the resource's own metadata. */
static void fit_tell(struct pruner *p, struct str name, const struct decode_step *at)
{
	if (p->reports && (at || !crd_is_meta(name)))
		decode_fault(p->arena, &p->found, "unknown field", at, name);
}

/*
 * Removes the members that `s` does not know, unless it keeps them. NULL means that nothing is
 * known: `additionalProperties: true` makes the values of a map so.
 */
static void prune_object(struct pruner *p, struct json *v, const struct crd_schema *s, bool keep,
			 bool embedded, const struct decode_step *at)
{
	bool dropped = false;

	JSON_FOREACH (member, v) {
		struct decode_step step = { .up = at, .key = json_key(member) };
		const struct crd_schema *property = s ? crd_property(s, step.key) : NULL;

		if (embedded && crd_is_meta(step.key))
			continue;
		if (property) {
			prune(p, member, property, property->preserve, &step);
		} else if (s && s->open) {
			prune(p, member, s->additional, s->additional && s->additional->preserve,
			      &step);
		} else if (!keep) {
			fit_tell(p, step.key, at);
			member->key = NULL;
			dropped = true;
		}
	}
	p->changed |= dropped;
	if (dropped)
		decode_sweep(v);
}

/* A list that keeps unknown fields keeps those of its elements. */
static void prune_array(struct pruner *p, struct json *v, const struct crd_schema *s, bool keep,
			const struct decode_step *at)
{
	const struct crd_schema *items = s ? s->items : NULL;
	struct decode_step step = { .up = at };

	if (keep && !items)
		return;
	JSON_FOREACH (item, v) {
		prune(p, item, items, keep || (items && items->preserve), &step);
		step.index++;
	}
}

static void prune(struct pruner *p, struct json *v, const struct crd_schema *s, bool keep,
		  const struct decode_step *at)
{
	/* Lists of lists without a schema: the client decides their depth. */
	if (p->depth >= OBJECT_DEPTH_MAX && json_count(v)) {
		json_assign(v, &(struct json){ .type = v->type });
		p->changed = true;
		return;
	}
	p->depth++;
	if (v->type == JSON_OBJECT)
		prune_object(p, v, s, keep, s && s->embedded, at);
	else if (v->type == JSON_ARRAY)
		prune_array(p, v, s, keep, at);
	p->depth--;
}

/* Adds the faults to the report, sorted by path as upstream does. */
static void report_sorted(struct arena *a, struct decode_report *found,
			  struct decode_report *report)
{
	struct text_list **tail = &report->faults, *next;

	text_list_sort(a, &found->faults);
	while (*tail)
		tail = &(*tail)->next;
	for (struct text_list *t = found->faults; t && report->n < DECODE_FAULTS_MAX; t = next) {
		next = t->next;
		t->next = NULL;
		*tail = t;
		tail = &t->next;
		report->n++;
	}
}

bool crd_prune(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       struct decode_report *report)
{
	struct pruner p = { .arena = a, .found.plain = true, .reports = report != NULL };

	if (root && v->type == JSON_OBJECT)
		prune_object(&p, v, s, s->preserve, true, NULL);
	else
		prune(&p, v, s, s->preserve, NULL);
	if (report)
		report_sorted(a, &p.found, report);
	return p.changed;
}

/* --- nulls ------------------------------------------------------------------------ */

static bool drop_nulls(struct json *v, const struct crd_schema *s);

static bool drop_nulls_of_object(struct json *v, const struct crd_schema *s)
{
	bool dropped = false, changed = false;

	JSON_FOREACH (member, v) {
		const struct crd_schema *below = crd_member(s, json_key(member));

		if (!below)
			continue;
		if (member->type == JSON_NULL && !below->nullable && !below->initial) {
			member->key = NULL;
			dropped = true;
		} else {
			changed |= drop_nulls(member, below);
		}
	}
	if (dropped)
		decode_sweep(v);
	return changed || dropped;
}

/*
 * Removes nulls that are not allowed, unless a default will replace them. Returns true if it
 * removed any.
 */
static bool drop_nulls(struct json *v, const struct crd_schema *s)
{
	bool changed = false;

	if (v->type == JSON_OBJECT)
		return drop_nulls_of_object(v, s);
	if (v->type == JSON_ARRAY && s->items)
		JSON_FOREACH (item, v)
			changed |= drop_nulls(item, s->items);
	return changed;
}

/* --- defaults --------------------------------------------------------------------- */

static bool fill_defaults(struct arena *a, struct json *v, const struct crd_schema *s);

static bool wants_default(const struct json *v, const struct crd_schema *s)
{
	return s->initial && (!v || (v->type == JSON_NULL && !s->nullable));
}

static struct json *initial_of(struct arena *a, const struct crd_schema *s)
{
	struct json *copy = NULL;

	(void)json_copy(a, s->initial, &copy, NULL);
	return copy;
}

static bool fill_member(struct arena *a, struct json *v, const struct crd_property *property)
{
	struct json *copy;

	if (!wants_default(json_get(v, property->name), property->schema))
		return false;
	copy = initial_of(a, property->schema);
	if (copy)
		json_set(v, property->name, copy);
	return copy != NULL;
}

/* Fills a value of a map or list: null takes the default. */
static bool fill_element(struct arena *a, struct json *v, const struct crd_schema *s)
{
	struct json *copy = wants_default(v, s) ? initial_of(a, s) : NULL;

	if (copy)
		json_assign(v, copy);
	return fill_defaults(a, v, s) || copy;
}

static bool fill_object(struct arena *a, struct json *v, const struct crd_schema *s)
{
	bool changed = false;

	for (size_t i = 0; i < s->nproperties; i++)
		changed |= fill_member(a, v, &s->properties[i]);
	JSON_FOREACH (member, v) {
		const struct crd_schema *property = crd_property(s, json_key(member));

		if (property)
			changed |= fill_defaults(a, member, property);
		else if (s->additional)
			changed |= fill_element(a, member, s->additional);
	}
	return changed;
}

/* Adds defaults to every object that is present. Returns true if it added any. */
static bool fill_defaults(struct arena *a, struct json *v, const struct crd_schema *s)
{
	bool changed = false;

	if (!s->has_defaults)
		return false;
	if (v->type == JSON_OBJECT)
		return fill_object(a, v, s);
	if (v->type == JSON_ARRAY && s->items)
		JSON_FOREACH (item, v)
			changed |= fill_element(a, item, s->items);
	return changed;
}

/* --- embedded objects ------------------------------------------------------------- */

struct coercer {
	struct arena *arena;
	struct decode_report *report;
	struct error *err;
};

static int fit_refuse(struct coercer *c, const struct field_path *path, const struct json *v,
		      const char *why)
{
	CLEANUP(buf_release) struct buf at = BUF_INIT(VALIDATE_SHOWN_MAX);
	CLEANUP(buf_release) struct buf shown = BUF_INIT(VALIDATE_SHOWN_MAX);

	(void)field_path_print(path, &at);
	(void)json_print(&shown, v, NULL);
	return error_set(c->err, ERR_BAD_REQUEST, "%.*s: Invalid value: %.*s: %s", (int)at.n,
			 at.p ? at.p : "", (int)shown.n, shown.p ? shown.p : "", why);
}

/* Makes the steps that decode.c prints from the path of a fault. */
static const struct decode_step *steps_of(struct arena *a, const struct field_path *path)
{
	struct decode_step *step;

	if (!path)
		return NULL;
	step = ARENA_NEW(a, struct decode_step);
	step->up = steps_of(a, path->parent);
	step->index = path->index;
	if (path->kind != FIELD_PATH_INDEX)
		step->key = path->text;
	return step;
}

/* Fits the metadata of an embedded object to ObjectMeta, without a null creationTimestamp. */
static int coerce_meta(struct coercer *c, struct json *meta, const struct field_path *path)
{
	struct error why = { 0 };
	struct str created;

	if (decode_fit_at(c->arena, meta, schema_object_meta(), steps_of(c->arena, path), c->report,
			  &why) < 0)
		return fit_refuse(c, path, meta, why.msg);
	created = json_text_at(meta, "creationTimestamp");
	if (created.n == 0)
		json_remove(meta, STR("creationTimestamp"));
	return 0;
}

static int coerce(struct coercer *c, struct json *v, const struct crd_schema *s, bool embedded,
		  const struct field_path *path);

static int coerce_member(struct coercer *c, struct json *member, const struct crd_schema *s,
			 bool embedded, const struct field_path *path)
{
	struct str name = json_key(member);
	const struct crd_schema *property = crd_property(s, name);
	struct field_path at = { path, name, 0, FIELD_PATH_NAME };
	int r;

	if (embedded && crd_is_meta(name)) {
		if (str_eqz(name, "metadata")) {
			r = coerce_meta(c, member, &at);
			if (r < 0)
				return r;
		} else if (member->type != JSON_STRING) {
			return fit_refuse(c, &at, member, "must be a string");
		}
	}
	if (property)
		return coerce(c, member, property, property->embedded, &at);
	at.kind = FIELD_PATH_KEY;
	return s->additional ? coerce(c, member, s->additional, s->additional->embedded, &at) : 0;
}

static int coerce(struct coercer *c, struct json *v, const struct crd_schema *s, bool embedded,
		  const struct field_path *path)
{
	size_t i = 0;
	int r;

	if (!embedded && !s->has_embedded)
		return 0;
	if (v->type == JSON_OBJECT) {
		JSON_FOREACH (member, v) {
			r = coerce_member(c, member, s, embedded, path);
			if (r < 0)
				return r;
		}
		return 0;
	}
	if (v->type != JSON_ARRAY || !s->items)
		return 0;
	JSON_FOREACH (item, v) {
		struct field_path at = field_path_index(path, i++);

		r = coerce(c, item, s->items, s->items->embedded, &at);
		if (r < 0)
			return r;
	}
	return 0;
}

int crd_coerce(struct arena *a, struct json *v, const struct crd_schema *s, bool root,
	       const struct field_path *path, struct decode_report *report, struct error *err)
{
	struct decode_report found = { .plain = true };
	struct coercer c = { .arena = a, .report = report ? &found : NULL, .err = err };
	int r = coerce(&c, v, s, root || s->embedded, path);

	if (report)
		report_sorted(a, &found, report);
	return r;
}

/* --- whole objects ---------------------------------------------------------------- */

/* Fits the resource's own metadata. As in Go, null or absent becomes empty. */
static int fit_meta(struct arena *a, struct json *object, struct decode_report *report,
		    struct error *err)
{
	const struct decode_step at = { .key = STR("metadata") };
	struct json *meta = json_getz(object, "metadata");
	bool plain = report && report->plain;
	int r;

	if (!meta)
		return 0;
	if (report)
		report->plain = true;
	r = decode_fit_at(a, meta, schema_object_meta(), &at, report, err);
	if (report)
		report->plain = plain;
	return r;
}

int crd_fit(struct arena *a, struct json *object, const struct schema_kind *kind,
	    struct decode_report *report, struct error *err)
{
	const struct crd_schema *s = crd_version_of(kind)->schema;
	int r;

	r = fit_meta(a, object, report, err);
	if (r < 0)
		return r;
	/* Validation rejects an object of another kind; its fields are not checked here. */
	if (!str_eq(json_text_at(object, "kind"), kind->kind))
		return 0;
	(void)crd_prune(a, object, s, true, report);
	(void)drop_nulls(object, s);
	r = crd_coerce(a, object, s, false, NULL, report, err);
	if (r < 0)
		return r;
	(void)fill_defaults(a, object, s);
	return 0;
}

void crd_convert(struct arena *a, struct json *object, const struct schema_kind *to)
{
	const struct crd_version *version = crd_version_of(to);

	if (str_eq(json_text_at(object, "apiVersion"), to->api_version))
		return;
	json_put_str(a, object, "apiVersion", to->api_version);
	(void)crd_prune(a, object, version->schema, true, NULL);
	(void)drop_nulls(object, version->schema);
}

/*
 * Returns the version under which the object was stored; NULL if the definition no longer has it.
 */
static const struct crd_version *stored_version(const struct crd *crd, const struct json *object)
{
	struct str given = json_text_at(object, "apiVersion");

	for (size_t i = 0; i < crd->n; i++)
		if (str_eq(crd->versions[i].kind.api_version, given))
			return &crd->versions[i];
	return NULL;
}

bool crd_served_form(struct arena *a, struct json *object, const struct schema_kind *kind)
{
	const struct schema_kind *storage = kind->storage;
	const struct crd_version *from = stored_version(kind->custom, object);
	bool changed = false;

	if (from) {
		changed |= crd_prune(a, object, from->schema, true, NULL);
		changed |= drop_nulls(object, from->schema);
		changed |= fill_defaults(a, object, from->schema);
	}
	if (from == crd_version_of(storage))
		return changed;
	crd_convert(a, object, storage);
	return true;
}
