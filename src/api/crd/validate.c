/*
 * The schema's walker. It descends schema and value together, in the order of kube-openapi's
 * validators, and reports exactly what they do: the errors of the best branch of an anyOf, one
 * message for the whole, no duplicates.
 *
 * On an update, errors in a value that equals its stored counterpart are not reported
 * ("ratcheting"). Counterparts of members are found by name, those of keyed elements by their keys.
 * Elements of other lists have none. A valid object needs no allocation.
 */
#include "api/crd/walk.h"

#include <stdarg.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/text/print.h"

enum { KEYED_SEARCH_MAX = 1000000 }; /* comparisons of elements by key, per list */

/* A place in the object: its path, schema and stored value. */
struct spot {
	const struct field_path *path;
	/* Structural; NULL: unknown, so `old` has no counterparts below. */
	const struct crd_schema *shape;
	const struct json *old; /* or NULL */
};

static unsigned validate_check(struct crd_check *c, const struct crd_schema *s,
			       const struct json *value, const struct spot *spot);

/* --- faults ----------------------------------------------------------------------- */

static void validate_print_name(const struct field_path *path, const struct field_path *base,
				struct buf *out)
{
	if (path == base || !path)
		return;
	validate_print_name(path->parent, base, out);
	if (path->kind == FIELD_PATH_INDEX) {
		(void)buf_printf(out, "[%zu]", path->index);
		return;
	}
	if (out->n)
		(void)buf_addc(out, '.');
	(void)buf_add_str(out, path->text);
}

struct str crd_check_name(struct crd_check *c, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(VALIDATE_SHOWN_MAX);

	validate_print_name(path, c->base, &name);
	return arena_str(c->v->arena, buf_str(&name));
}

void crd_check_add(struct crd_check *c, enum field_error_type type, const struct field_path *path,
		   struct field_value value, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(REQUEST_WORK_MAX);
	va_list ap;

	validate_print_name(path, c->base, &detail);
	(void)buf_addz(&detail, " in body ");
	va_start(ap, fmt);
	(void)buf_vprintf(&detail, fmt, ap);
	va_end(ap);
	field_errors_add(c->errs, type, path, value, buf_str(&detail));
}

void crd_check_add_plain(struct crd_check *c, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(REQUEST_WORK_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&detail, fmt, ap);
	va_end(ap);
	field_errors_add(c->errs, FIELD_INVALID, c->base, FIELD_STR(STR("")), buf_str(&detail));
}

static bool has_fault(const struct field_errors *errs, const struct field_error *e)
{
	for (const struct field_error *it = errs->first; it; it = it->next)
		if (it->type == e->type && str_eq(it->path, e->path) &&
		    str_eq(it->detail, e->detail))
			return true;
	return false;
}

/* Moves the errors of a branch; equal ones are reported once. */
static void take_faults(struct field_errors *into, struct field_errors *from)
{
	struct field_error *e, *next;

	into->dropped += from->dropped;
	for (e = from->first; e; e = next) {
		next = e->next;
		if (has_fault(into, e))
			continue;
		if (into->n >= FIELD_ERRORS_MAX) {
			into->dropped++;
			continue;
		}
		e->next = NULL;
		if (into->last)
			into->last->next = e;
		else
			into->first = e;
		into->last = e;
		into->n++;
	}
}

/* --- stored values ---------------------------------------------------------------- */

static struct spot spot_of_member(const struct spot *parent, const struct json *member,
				  const struct field_path *path)
{
	struct spot spot = { .path = path };

	if (!parent->shape)
		return spot;
	spot.shape = crd_member(parent->shape, json_key(member));
	if (spot.shape && json_is(parent->old, JSON_OBJECT))
		spot.old = json_get(parent->old, json_key(member));
	return spot;
}

static bool has_same_keys(const struct str *keys, const struct json *a, const struct json *b)
{
	for (; keys->p; keys++)
		if (!json_equal(json_get(a, *keys), json_get(b, *keys)))
			return false;
	return true;
}

/* Returns the stored element of a keyed list with the same keys. */
static const struct json *find_keyed(const struct spot *list, const struct json *item,
				     const struct json *place, size_t *budget)
{
	const struct str *keys = list->shape->keys;

	if (item->type != JSON_OBJECT)
		return NULL;
	if (json_is(place, JSON_OBJECT) && has_same_keys(keys, place, item))
		return place;
	JSON_FOREACH (other, list->old) {
		if (*budget == 0)
			return NULL;
		(*budget)--;
		if (other->type == JSON_OBJECT && has_same_keys(keys, other, item))
			return other;
	}
	return NULL;
}

/* Checks a value below the current one, unless it equals the stored one. */
static unsigned check_below(struct crd_check *c, const struct crd_schema *s,
			    const struct json *value, const struct spot *spot)
{
	if (spot->old && json_equal(value, spot->old))
		return 0;
	return validate_check(c, s, value, spot);
}

/* --- objects and lists ------------------------------------------------------------ */

static void check_required(struct crd_check *c, const struct crd_rules *rules,
			   const struct json *value, const struct spot *spot)
{
	for (const struct str *name = rules->required; name && name->p; name++) {
		struct field_path at = { spot->path, *name, 0, FIELD_PATH_NAME };

		if (!json_get(value, *name))
			field_errors_required(c->errs, &at, NULL);
	}
}

static void check_property_count(struct crd_check *c, const struct crd_rules *rules,
				 const struct json *value, const struct spot *spot)
{
	int64_t n = (int64_t)json_count(value);

	if (rules->min_properties >= 0 && n < rules->min_properties)
		crd_check_add(c, FIELD_INVALID, spot->path, FIELD_I64(n),
			      "should have at least %lld properties",
			      (long long)rules->min_properties);
	if (rules->max_properties >= 0 && n > rules->max_properties)
		field_errors_too_many(c->errs, spot->path, n, rules->max_properties);
}

static unsigned check_object(struct crd_check *c, const struct crd_schema *s,
			     const struct json *value, const struct spot *spot)
{
	unsigned content = 1;

	if (s->rules)
		check_property_count(c, s->rules, value, spot);
	JSON_FOREACH (member, value) {
		const struct crd_schema *below = crd_property(s, json_key(member));
		struct field_path at = { spot->path, json_key(member), 0, FIELD_PATH_NAME };
		struct spot child = spot_of_member(spot, member, &at);

		if (!below && s->closed) {
			struct str name = crd_check_name(c, spot->path);

			field_errors_addf(c->errs, FIELD_INVALID, spot->path, FIELD_STR(at.text),
					  "%.*s.%.*s in body is a forbidden property",
					  STR_ARG(name), STR_ARG(at.text));
		}
		below = below ? below : s->additional;
		if (below)
			content += check_below(c, below, member, &child);
	}
	if (s->rules)
		check_required(c, s->rules, value, spot);
	return content;
}

static void check_unique(struct crd_check *c, const struct json *value, const struct spot *spot)
{
	size_t budget = KEYED_SEARCH_MAX;

	JSON_FOREACH (item, value) {
		for (const struct json *other = item->next; other && budget; other = other->next) {
			budget--;
			if (!json_equal(item, other))
				continue;
			crd_check_add(c, FIELD_INVALID, spot->path, FIELD_STR(STR("")),
				      "shouldn't contain duplicates");
			return;
		}
	}
}

static void check_items(struct crd_check *c, const struct crd_rules *rules,
			const struct json *value, const struct spot *spot)
{
	int64_t n = (int64_t)json_count(value);

	if (rules->min_items >= 0 && n < rules->min_items)
		crd_check_add(c, FIELD_INVALID, spot->path, FIELD_I64(n),
			      "should have at least %lld items", (long long)rules->min_items);
	if (rules->max_items >= 0 && n > rules->max_items)
		field_errors_too_many(c->errs, spot->path, n, rules->max_items);
	if (rules->unique)
		check_unique(c, value, spot);
}

static unsigned validate_check_list(struct crd_check *c, const struct crd_schema *s,
				    const struct json *value, const struct spot *spot)
{
	bool keyed = spot->shape && spot->shape->list == CRD_LIST_MAP &&
		     json_is(spot->old, JSON_ARRAY);
	const struct json *place = keyed ? json_first(spot->old) : NULL;
	size_t i = 0, budget = KEYED_SEARCH_MAX;
	unsigned content = 2;

	for (const struct json *item = s->items ? json_first(value) : NULL; item;
	     item = item->next) {
		struct field_path at = field_path_index(spot->path, i++);
		struct spot child = { .path = &at };

		if (keyed) {
			child.shape = spot->shape->items;
			child.old = find_keyed(spot, item, place, &budget);
		}
		content += check_below(c, s->items, item, &child);
		place = place ? place->next : NULL;
	}
	if (s->rules)
		check_items(c, s->rules, value, spot);
	return content;
}

/* --- branches --------------------------------------------------------------------- */

struct outcome {
	struct field_errors errs;
	unsigned content;
};

static void try_branch(struct crd_check *c, const struct crd_schema *s, const struct json *value,
		       const struct spot *spot, struct outcome *ret_outcome)
{
	struct field_errors *outer = c->errs;

	field_errors_init(&ret_outcome->errs, c->v->arena);
	c->errs = &ret_outcome->errs;
	ret_outcome->content = validate_check(c, s, value, spot);
	c->errs = outer;
}

static void keep_better(struct outcome *best, const struct outcome *other, bool *has_best)
{
	if (*has_best && other->content <= best->content)
		return;
	*best = *other;
	*has_best = true;
}

static unsigned check_any_of(struct crd_check *c, const struct crd_schemas *branches,
			     const struct json *value, const struct spot *spot)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct outcome best = { 0 }, outcome;
	bool has_best = false;

	for (size_t i = 0; i < branches->n; i++) {
		try_branch(c, branches->v[i], value, spot, &outcome);
		if (!field_errors_any(&outcome.errs))
			return outcome.content;
		keep_better(&best, &outcome, &has_best);
	}
	(void)print_quoted(&name, crd_check_name(c, spot->path));
	crd_check_add_plain(c, "%s must validate at least one schema (anyOf)", name.p);
	take_faults(c->errs, &best.errs);
	return best.content;
}

static unsigned check_one_of(struct crd_check *c, const struct crd_schemas *branches,
			     const struct json *value, const struct spot *spot)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct outcome best = { 0 }, outcome;
	unsigned content = 0, valid = 0;
	bool has_best = false;

	for (size_t i = 0; i < branches->n; i++) {
		try_branch(c, branches->v[i], value, spot, &outcome);
		if (!field_errors_any(&outcome.errs))
			content = valid++ ? content : outcome.content;
		else if (valid == 0)
			keep_better(&best, &outcome, &has_best);
	}
	if (valid == 1)
		return content;
	(void)print_quoted(&name, crd_check_name(c, spot->path));
	if (valid > 1) {
		crd_check_add_plain(c,
				    "%s must validate one and only one schema (oneOf). Found %u "
				    "valid alternatives",
				    name.p, valid);
		return 0;
	}
	crd_check_add_plain(c, "%s must validate one and only one schema (oneOf). Found none valid",
			    name.p);
	take_faults(c->errs, &best.errs);
	return best.content;
}

static unsigned check_all_of(struct crd_check *c, const struct crd_schemas *branches,
			     const struct json *value, const struct spot *spot)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(VALIDATE_SHOWN_MAX);
	unsigned content = 0;
	size_t valid = 0;

	for (size_t i = 0; i < branches->n; i++) {
		struct outcome outcome;

		try_branch(c, branches->v[i], value, spot, &outcome);
		valid += !field_errors_any(&outcome.errs);
		content += outcome.content;
		take_faults(c->errs, &outcome.errs);
	}
	if (valid == branches->n)
		return content;
	(void)print_quoted(&name, crd_check_name(c, spot->path));
	crd_check_add_plain(c, "%s must validate all the schemas (allOf)%s", name.p,
			    valid ? "" : ". None validated");
	return content;
}

static unsigned check_branches(struct crd_check *c, const struct crd_rules *rules,
			       const struct json *value, const struct spot *spot)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(VALIDATE_SHOWN_MAX);
	unsigned content = 2;
	struct outcome outcome;

	if (rules->any_of.n)
		content += check_any_of(c, &rules->any_of, value, spot);
	if (rules->one_of.n)
		content += check_one_of(c, &rules->one_of, value, spot);
	if (rules->all_of.n)
		content += check_all_of(c, &rules->all_of, value, spot);
	if (!rules->not )
		return content;
	try_branch(c, rules->not, value, spot, &outcome);
	if (!field_errors_any(&outcome.errs)) {
		(void)print_quoted(&name, crd_check_name(c, spot->path));
		crd_check_add_plain(c, "%s must not validate the schema (not)", name.p);
	}
	return content;
}

/* --- one value -------------------------------------------------------------------- */

/* Runs the validators for this type of value, besides those that all types have. */
static unsigned check_content(struct crd_check *c, const struct crd_schema *s,
			      const struct json *value, const struct spot *spot)
{
	switch (value->type) {
	case JSON_STRING:
		return crd_check_text(c, s->rules ? s->rules : &crd_no_rules, json_str(value),
				      spot->path);
	case JSON_INT:
	case JSON_UINT:
	case JSON_DOUBLE:
		return s->rules || s->types == CRD_INTEGER
			       ? crd_check_number(c, s, value, spot->path)
			       : 2;
	case JSON_ARRAY:
		return validate_check_list(c, s, value, spot);
	case JSON_OBJECT:
		return check_object(c, s, value, spot);
	default:
		return 0;
	}
}

static unsigned validate_check(struct crd_check *c, const struct crd_schema *s,
			       const struct json *value, const struct spot *spot)
{
	bool typed = s->types || (s->rules && s->rules->format_name.n);
	unsigned content = 0;

	if (typed)
		content += crd_check_type(c, s, value, spot->path) + 1;
	if (value->type == JSON_NULL) {
		if (s->rules && s->rules->values)
			crd_check_enum(c, s->rules, value, spot->path);
		return content - typed;
	}
	content += s->rules ? check_branches(c, s->rules, value, spot) : 2;
	content += check_content(c, s, value, spot);
	if (s->rules && s->rules->values)
		crd_check_enum(c, s->rules, value, spot->path);
	return content + 2;
}

void crd_validate_value(struct validation *v, const struct crd_schema *s, const struct json *value,
			const struct json *old, const struct field_path *base)
{
	struct crd_check c = { .v = v, .errs = v->errs, .base = base };
	const struct spot spot = { .path = base, .shape = s, .old = old };

	(void)check_below(&c, s, value, &spot);
}
