/*
 * Validates a whole custom resource: the checks that upstream's strategy runs besides the schema's
 * walker, in its order. Sets and keyed lists may not repeat an element; embedded objects must name
 * their kind; the replicas of the scale subresource must be numbers.
 */
#include "api/crd/crd_impl.h"

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/core/map.h"

/* --- sets and keyed lists --------------------------------------------------------- */

struct seen {
	const struct json *item;
	bool told; /* a repetition of it was reported: once is enough */
};

struct uniqueness {
	struct validation *v;
	const struct crd_schema *s;
	struct map scalars; /* text of an element, or of its keys, to struct seen */
	struct seen **others; /* elements that are lists or objects */
	size_t nothers, budget;
};

enum { COMPARISONS_MAX = 1000000 };

/* Returns a text that identifies the element; p NULL if it must be compared as a whole. */
static struct str element_text(struct uniqueness *u, const struct json *item)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

	if (u->s->list == CRD_LIST_SET) {
		if (json_is_container(item))
			return STR_NULL;
		(void)json_print(&text, item, NULL);
		return arena_str(u->v->arena, buf_str(&text));
	}
	for (const struct str *key = u->s->keys; key->p; key++) {
		const struct json *value = json_get(item, *key);

		if (value)
			(void)json_print(&text, value, NULL);
		(void)buf_addc(&text, ',');
	}
	return arena_str(u->v->arena, buf_str(&text));
}

/* The value for an error: the element of a set, or the keys of a keyed element. */
static struct field_value object_shown(struct uniqueness *u, const struct json *item)
{
	struct json *keys, *copy;

	if (u->s->list == CRD_LIST_SET)
		return validate_shown(u->v, item);
	keys = json_make_object(u->v->arena);
	for (const struct str *key = u->s->keys; key->p; key++) {
		const struct json *value = json_get(item, *key);

		if (value && json_copy(u->v->arena, value, &copy, NULL) == 0)
			json_set(keys, *key, copy);
	}
	return validate_shown(u->v, keys);
}

/* Returns an earlier equal element. If there is no such element, remembers this one. */
static struct seen *find_before(struct uniqueness *u, const struct json *item)
{
	struct str text = element_text(u, item);
	struct seen *before, *self;

	if (text.p) {
		before = map_get(&u->scalars, text);
		if (before)
			return before;
	}
	for (size_t i = 0; i < u->nothers && !text.p && u->budget; i++, u->budget--)
		if (json_equal(u->others[i]->item, item))
			return u->others[i];
	self = ARENA_NEW(u->v->arena, struct seen);
	self->item = item;
	if (text.p)
		(void)map_put(&u->scalars, text, self);
	else
		u->others[u->nothers++] = self;
	return NULL;
}

static void check_repeated(struct uniqueness *u, const struct json *list,
			   const struct field_path *path)
{
	struct seen *before;
	size_t i = 0;

	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		before = find_before(u, item);
		if (!before || before->told)
			continue;
		before->told = true;
		field_errors_duplicate(u->v->errs, &at, object_shown(u, item));
	}
}

/* Checks that elements of a keyed list are objects, or null. */
static bool check_elements(struct validation *v, const struct json *list,
			   const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		if (item->type == JSON_OBJECT || item->type == JSON_NULL)
			continue;
		field_errors_invalid(v->errs, &at, validate_shown(v, item),
				     "must be an object for an array of list-type map");
		return false;
	}
	return true;
}

static void object_check_list(struct validation *v, const struct crd_schema *s,
			      const struct json *list, const struct field_path *path)
{
	struct uniqueness u = { .v = v, .s = s, .budget = COMPARISONS_MAX };

	if (s->list == CRD_LIST_ATOMIC)
		return;
	if (s->list == CRD_LIST_MAP && !check_elements(v, list, path))
		return;
	if (json_count(list) < 2)
		return;
	map_init(&u.scalars);
	u.others = ARENA_ARRAY(v->arena, struct seen *, json_count(list));
	check_repeated(&u, list, path);
	map_release(&u.scalars);
}

/* Checks that elements of sets and keyed lists do not repeat. */
static void check_lists_in(struct validation *v, const struct crd_schema *s,
			   const struct json *value, const struct field_path *path)
{
	size_t i = 0;

	if (!s->has_keyed && s->list == CRD_LIST_ATOMIC)
		return;
	if (value->type == JSON_ARRAY) {
		object_check_list(v, s, value, path);
		JSON_FOREACH (item, value) {
			struct field_path at = field_path_index(path, i++);

			if (s->items)
				check_lists_in(v, s->items, item, &at);
		}
		return;
	}
	if (value->type != JSON_OBJECT)
		return;
	JSON_FOREACH (member, value) {
		const struct crd_schema *property = crd_property(s, json_key(member));
		struct field_path at = { path, json_key(member), 0,
					 property ? FIELD_PATH_NAME : FIELD_PATH_KEY };

		property = property ? property : s->additional;
		if (property)
			check_lists_in(v, property, member, &at);
	}
}

/* --- embedded objects ------------------------------------------------------------- */

static void check_api_version(struct validation *v, const struct json *value,
			      const struct field_path *path)
{
	struct field_path at = field_path_name(path, "apiVersion");
	struct str text = json_str(value);
	ptrdiff_t slash = str_chr(text, '/');

	if (!value)
		field_errors_required(v->errs, &at, NULL);
	else if (value->type != JSON_STRING)
		field_errors_invalid(v->errs, &at, validate_shown(v, value), "must be a string");
	else if (text.n == 0)
		field_errors_invalid(v->errs, &at, FIELD_STR(text), "must not be empty");
	else if (slash >= 0 && str_chr(str_skip(text, (size_t)slash + 1), '/') >= 0)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(text),
				  "unexpected GroupVersion string: %.*s", STR_ARG(text));
}

static void check_kind(struct validation *v, const struct json *value,
		       const struct field_path *path)
{
	struct field_path at = field_path_name(path, "kind");
	struct str text = json_str(value);
	const char *fault;

	if (!value) {
		field_errors_required(v->errs, &at, NULL);
		return;
	}
	if (value->type != JSON_STRING || text.n == 0) {
		field_errors_invalid(v->errs, &at, validate_shown(v, value),
				     text.p ? "must not be empty" : "must be a string");
		return;
	}
	fault = names_dns1035_label(arena_lower(v->arena, text));
	if (fault)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(text),
				  "may have mixed case, but should otherwise match: %s", fault);
}

static void check_embedded(struct validation *v, const struct json *value,
			   const struct field_path *path)
{
	struct field_path at = field_path_name(path, "metadata");
	const struct json *meta = json_getz(value, "metadata");

	check_api_version(v, json_getz(value, "apiVersion"), path);
	check_kind(v, json_getz(value, "kind"), path);
	if (json_is(meta, JSON_OBJECT))
		validate_embedded_meta(v, meta, &at);
}

void crd_validate_embedded(struct validation *v, const struct crd_schema *s,
			   const struct json *value, bool root, const struct field_path *path)
{
	size_t i = 0;

	if (!root && !s->embedded && !s->has_embedded)
		return;
	if (value->type == JSON_ARRAY && s->items) {
		JSON_FOREACH (item, value) {
			struct field_path at = field_path_index(path, i++);

			crd_validate_embedded(v, s->items, item, false, &at);
		}
		return;
	}
	if (value->type != JSON_OBJECT)
		return;
	if (root || s->embedded)
		check_embedded(v, value, path);
	JSON_FOREACH (member, value) {
		const struct crd_schema *property = crd_property(s, json_key(member));
		struct field_path at = { path, json_key(member), 0,
					 property ? FIELD_PATH_NAME : FIELD_PATH_KEY };

		property = property ? property : s->additional;
		if (property)
			crd_validate_embedded(v, property, member, false, &at);
	}
}

/* --- scale ------------------------------------------------------------------------ */

static const struct json *value_at(const struct json *object, struct str path)
{
	struct str rest = str_skip(path, str_starts(path, STR("."))), name;

	while (object && str_split(&rest, '.', &name))
		object = json_get(object, name);
	return object;
}

static void check_replicas(struct validation *v, struct str where)
{
	const struct json *value = value_at(v->object, where);
	struct field_path at = { NULL, where, 0, FIELD_PATH_NAME };
	int64_t n = 0;

	if (!value)
		return;
	if (!json_i64(value, &n))
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(0),
				  "%.*s accessor error: the value is not an int64", STR_ARG(where));
	else if (n < 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(n),
				     "should be a non-negative integer");
	else if (n > INT32_MAX)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(n),
				  "should be less than or equal to %d", INT32_MAX);
}

static void check_scale(struct validation *v, bool status_only)
{
	const struct crd_version *version = crd_version_of(v->kind);
	const struct json *selector;

	if (!version->has_scale)
		return;
	if (!status_only)
		check_replicas(v, version->scale.replicas);
	check_replicas(v, version->scale.status_replicas);
	selector = version->scale.selector.n ? value_at(v->object, version->scale.selector) : NULL;
	if (selector && selector->type != JSON_STRING) {
		struct field_path at = { NULL, version->scale.selector, 0, FIELD_PATH_NAME };

		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(STR("")),
				  "%.*s accessor error: the value is not a string",
				  STR_ARG(version->scale.selector));
	}
}

/* --- the whole -------------------------------------------------------------------- */

static bool check_type_meta(struct validation *v)
{
	struct field_path kind_at = field_path_name(NULL, "kind");
	struct field_path version_at = field_path_name(NULL, "apiVersion");
	struct str kind = json_text_at(v->object, "kind");
	struct str version = json_text_at(v->object, "apiVersion");

	if (!str_eq(kind, v->kind->kind))
		field_errors_addf(v->errs, FIELD_INVALID, &kind_at, FIELD_STR(kind), "must be %.*s",
				  STR_ARG(v->kind->kind));
	if (!str_eq(version, v->kind->api_version))
		field_errors_addf(v->errs, FIELD_INVALID, &version_at, FIELD_STR(version),
				  "must be %.*s", STR_ARG(v->kind->api_version));
	return !field_errors_any(v->errs);
}

static bool has_list_faults(struct validation *v, const struct crd_schema *s,
			    const struct json *object)
{
	struct field_errors *outer = v->errs, errs;

	field_errors_init(&errs, v->arena);
	v->errs = &errs;
	check_lists_in(v, s, object, NULL);
	v->errs = outer;
	return field_errors_any(&errs);
}

/* Skips the check if the stored object has such errors already: they may stay. */
static void check_lists(struct validation *v, const struct crd_schema *s)
{
	if (!s->has_keyed || (v->old && has_list_faults(v, s, v->old)))
		return;
	check_lists_in(v, s, v->object, NULL);
}

void crd_validate(struct validation *v)
{
	const struct crd_schema *s = crd_version_of(v->kind)->schema;

	if (!check_type_meta(v))
		return;
	validate_meta(v, json_getz(v->object, "metadata"), json_getz(v->old, "metadata"));
	crd_validate_value(v, s, v->object, v->old, NULL);
	check_scale(v, false);
	crd_validate_embedded(v, s, v->object, false, NULL);
	check_lists(v, s);
	crd_validate_rules(v, s, v->object, v->old);
}

void crd_validate_status(struct validation *v)
{
	const struct crd_version *version = crd_version_of(v->kind);
	const struct json *status = json_getz(v->object, "status");
	struct field_path at = field_path_name(NULL, "status");

	if (!check_type_meta(v))
		return;
	validate_meta(v, json_getz(v->object, "metadata"), json_getz(v->old, "metadata"));
	if (status && version->status)
		crd_validate_value(v, version->status, status, json_getz(v->old, "status"), &at);
	check_scale(v, true);
	check_lists(v, version->schema);
	crd_validate_rules(v, version->schema, v->object, v->old);
}
