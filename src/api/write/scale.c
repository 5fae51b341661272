/*
 * A Scale is made from the object each time; it is not stored. Writing it is an update of the
 * object in which only the count differs, so validation, generation and managedFields (subresource
 * "scale") need no code here.
 */
#include "api/write/scale.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "api/managed/managed.h"
#include "api/write/write_impl.h"

static const struct scale_paths built_in = {
	.replicas = STR("spec.replicas"),
	.status_replicas = STR("status.replicas"),
	.selector = STR("spec.selector"),
};

const struct scale_paths *scale_paths(const struct schema_kind *kind)
{
	const struct schema_subresource *sub = schema_subresource(kind, STR("scale"));

	return sub && sub->scale ? sub->scale : &built_in;
}

const struct schema_kind *scale_kind(void)
{
	return schema_find_kind(STR("autoscaling/v1"), STR("Scale"));
}

/* --- paths --------------------------------------------------------------------------- */

static struct str without_dot(struct str path)
{
	return path.n && path.p[0] == '.' ? str_skip(path, 1) : path;
}

static const struct json *value_at(const struct json *object, struct str path)
{
	struct str name;

	path = without_dot(path);
	while (object && path.n && str_split(&path, '.', &name))
		object = json_get(object, name);
	return object;
}

/*
 * Sets a number; creates missing objects on the path. Returns false if something there is not an
 * object.
 */
static bool set_at(struct arena *a, struct json *object, struct str path, int64_t value)
{
	struct json *next;
	struct str name;

	path = without_dot(path);
	(void)str_split(&path, '.', &name);
	while (path.n) {
		next = json_get(object, name);
		if (!next) {
			next = json_make_object(a);
			json_add(object, name, next);
		}
		if (next->type != JSON_OBJECT)
			return false;
		object = next;
		(void)str_split(&path, '.', &name);
	}
	json_set(object, name, json_make_i64(a, value));
	return true;
}

/* --- selectors ------------------------------------------------------------------------ */

/* One requirement: its text, and the key by which it is sorted. */
struct term {
	struct str key;
	struct str text;
};

struct terms {
	struct term *v;
	size_t n;
};

static int by_key(const void *a, const void *b)
{
	const struct term *x = a, *y = b;
	int order = str_cmp(x->key, y->key);

	return order ? order : str_cmp(x->text, y->text);
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(json_str(*(struct json *const *)a), json_str(*(struct json *const *)b));
}

static void add_labels(struct arena *a, struct terms *terms, const struct json *labels)
{
	JSON_FOREACH (label, labels) {
		struct str key = json_key(label);

		terms->v[terms->n++] = (struct term){ key, str_from(arena_printf(
								   a, "%.*s=%.*s", STR_ARG(key),
								   STR_ARG(json_str(label)))) };
	}
}

/* "(a,b)", sorted. */
static void add_values(struct arena *a, struct buf *out, const struct json *values)
{
	const struct json **sorted = ARENA_ARRAY(a, const struct json *, json_count(values) + 1);
	size_t n = 0;

	JSON_FOREACH (value, values)
		sorted[n++] = value;
	qsort(sorted, n, sizeof(*sorted), by_text);
	(void)buf_addc(out, '(');
	for (size_t i = 0; i < n; i++) {
		(void)buf_addz(out, i ? "," : "");
		(void)buf_add_str(out, json_str(sorted[i]));
	}
	(void)buf_addc(out, ')');
}

static void add_expression(struct arena *a, struct terms *terms, const struct json *expression)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(OBJECT_MAX);
	struct str key = json_text_at(expression, "key");
	struct str op = json_text_at(expression, "operator");
	bool in = str_eq(op, STR("In")), not_in = str_eq(op, STR("NotIn"));

	(void)buf_addz(&out, str_eq(op, STR("DoesNotExist")) ? "!" : "");
	(void)buf_add_str(&out, key);
	if (in || not_in) {
		(void)buf_addz(&out, in ? " in " : " notin ");
		add_values(a, &out, json_getz(expression, "values"));
	}
	terms->v[terms->n++] = (struct term){ key, arena_str(a, buf_str(&out)) };
}

static struct str scale_join(struct arena *a, struct terms *terms)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(OBJECT_MAX);

	qsort(terms->v, terms->n, sizeof(*terms->v), by_key);
	for (size_t i = 0; i < terms->n; i++) {
		(void)buf_addz(&out, i ? "," : "");
		(void)buf_add_str(&out, terms->v[i].text);
	}
	return arena_str(a, buf_str(&out));
}

/*
 * Returns the selector at a path as text. A map of labels has string values, so it cannot be
 * mistaken for a LabelSelector.
 */
static struct str selector_text(struct arena *a, const struct json *selector)
{
	const struct json *labels = json_getz(selector, "matchLabels");
	const struct json *expressions = json_getz(selector, "matchExpressions");
	struct terms terms = { 0 };

	if (!json_is(selector, JSON_OBJECT))
		return json_str(selector);
	if (!json_is_container(labels) && !json_is_container(expressions))
		labels = selector;
	terms.v = ARENA_ARRAY(a, struct term, json_count(labels) + json_count(expressions) + 1);
	if (json_is(labels, JSON_OBJECT))
		add_labels(a, &terms, labels);
	if (json_is(expressions, JSON_ARRAY))
		JSON_FOREACH (expression, expressions)
			add_expression(a, &terms, expression);
	return scale_join(a, &terms);
}

/* --- an object's scale ------------------------------------------------------------------ */

static struct json *scale_meta(struct arena *a, const struct json *object)
{
	static const char *const kept[] = { "name", "namespace", "uid", "resourceVersion",
					    "creationTimestamp" };
	const struct json *from = json_getz(object, "metadata");
	struct json *meta = json_make_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		tree_carry(a, meta, from, kept[i]);
	return meta;
}

static struct json *scale_status(struct arena *a, const struct scale_paths *paths,
				 const struct json *object)
{
	struct json *status = json_make_object(a);
	struct str selector = selector_text(a, value_at(object, paths->selector));
	int64_t replicas = 0;

	(void)json_i64(value_at(object, paths->status_replicas), &replicas);
	json_put_i64(a, status, "replicas", replicas);
	if (paths->selector.n && selector.n)
		json_put_str(a, status, "selector", selector);
	return status;
}

static struct json *scale_of(struct arena *a, const struct scale_paths *paths,
			     const struct json *object, int64_t replicas)
{
	struct json *scale = json_make_object(a), *spec = json_make_object(a);

	json_put_str(a, scale, "kind", STR("Scale"));
	json_put_str(a, scale, "apiVersion", STR("autoscaling/v1"));
	json_setz(scale, "metadata", scale_meta(a, object));
	if (replicas)
		json_put_i64(a, spec, "replicas", replicas);
	json_setz(scale, "spec", spec);
	json_setz(scale, "status", scale_status(a, paths, object));
	return scale;
}

int scale_get(struct arena *a, const struct scale_paths *paths, const struct json *object,
	      struct json **ret_scale, struct error *err)
{
	int64_t replicas;

	if (!json_i64(value_at(object, paths->replicas), &replicas))
		return error_set(err, ERR_INTERNAL,
				 "the spec replicas field \".%.*s\" does not exist",
				 STR_ARG(without_dot(paths->replicas)));
	*ret_scale = scale_of(a, paths, object, replicas);
	return 0;
}

/* --- writes ------------------------------------------------------------------------------ */

/* Returns the stored object in the request's version. */
static struct json *current(struct write *w, const struct json *old)
{
	struct json *object = tree_copy(w->arena, old);

	write_from_storage(w->arena, object, w->kind);
	return object;
}

int scale_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_scale, struct error *err)
{
	const struct schema_kind *kind = w->kind;
	const struct scale_paths *paths = scale_paths(kind);
	struct json *object = current(w, old);
	int64_t replicas = 0;
	int r;

	/* A patch may be the first to set it. */
	(void)json_i64(value_at(object, paths->replicas), &replicas);
	w->kind = scale_kind();
	r = write_patch_form(w, scale_of(w->arena, paths, object, replicas), type, patch, ret_scale,
			     err);
	w->kind = kind;
	return r;
}

static int64_t replicas_of(const struct json *scale)
{
	return json_i64_at(json_getz(scale, "spec"), "replicas", 0);
}

static int check_count(struct write *w, const struct json *scale, struct error *err)
{
	struct field_path spec = field_path_name(NULL, "spec");
	struct field_path path = field_path_name(&spec, "replicas");
	int64_t replicas = replicas_of(scale);

	if (replicas < 0)
		field_errors_invalid(&w->errs, &path, FIELD_I64(replicas),
				     "must be greater than or equal to 0");
	return write_result(w, err);
}

int scale_check(struct write *w, struct json *scale, struct error *err)
{
	int r;

	r = write_check_namespace(w, scale, err);
	if (r == 0)
		r = write_check_name(w, scale, err);
	return r < 0 ? r : check_count(w, scale, err);
}

/* Turns an applied Scale into a configuration of the object. */
static int object_config(struct write *w, const struct json *config, struct json **ret_object,
			 struct error *err)
{
	static const char *const kept[] = { "name", "namespace", "uid", "resourceVersion" };
	struct json *object = json_make_object(w->arena), *meta;
	struct str path = scale_paths(w->kind)->replicas;

	json_put_str(w->arena, object, "apiVersion", w->kind->api_version);
	json_put_str(w->arena, object, "kind", w->kind->kind);
	meta = write_meta(w->arena, object);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		tree_carry(w->arena, meta, json_getz(config, "metadata"), kept[i]);
	*ret_object = object;
	if (!json_getz(json_getz(config, "spec"), "replicas") ||
	    set_at(w->arena, object, path, replicas_of(config)))
		return 0;
	return error_set(err, ERR_BAD_REQUEST, "cannot set \".%.*s\": its parent is not an object",
			 STR_ARG(without_dot(path)));
}

int scale_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err)
{
	struct json *scale = tree_copy(w->arena, config), *object = NULL;
	int r;

	r = managed_check_config(w->arena, scale_kind(), config, err);
	if (r == 0)
		r = write_fit(w, scale, scale_kind(), NULL, err);
	if (r == 0)
		r = check_count(w, scale, err);
	if (r == 0)
		r = object_config(w, scale, &object, err);
	return r < 0 ? r : write_apply(w, old, object, ret_object, err);
}

int scale_update(struct write *w, const struct json *old, const struct json *scale,
		 struct json **ret_object, struct error *err)
{
	const struct scale_paths *paths = scale_paths(w->kind);
	struct json *object = current(w, old);
	int r;

	r = write_check_uid(old, scale, err);
	if (r < 0)
		return r;
	if (!set_at(w->arena, object, paths->replicas, replicas_of(scale)))
		return error_set(err, ERR_BAD_REQUEST,
				 "cannot set \".%.*s\": its parent is not an object",
				 STR_ARG(without_dot(paths->replicas)));
	/*
	 * A Scale without a resourceVersion applies to any stored object, even if the kind's
	 * updates need one.
	 */
	if (json_text_at(json_getz(scale, "metadata"), "resourceVersion").n)
		tree_carry(w->arena, write_meta(w->arena, object), json_getz(scale, "metadata"),
			   "resourceVersion");
	return write_finish_update(w, old, object, ret_object, err);
}

bool scale_set(struct arena *a, const struct scale_paths *paths, struct json *object,
	       const struct json *scale)
{
	return set_at(a, object, paths->replicas, replicas_of(scale));
}
