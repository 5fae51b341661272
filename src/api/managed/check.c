/*
 * Checks whether a configuration fits its type, as structured-merge-diff does; also inside values
 * that are owned as a whole. The messages are upstream's, with values as Go prints them. Clients
 * see them in an error without a reason.
 */
#include "api/managed/tree.h"

#include "api/managed/type.h"
#include "base/core/limits.h"
#include "base/text/quote.h"

enum { FAULTS_MAX = 20 }; /* so many are reported; then checking stops */

/* A chain on the stack; the text of a step is made when an error is reported. */
struct step {
	const struct step *parent;
	struct str text; /* as managed_print_step() expects it */
};

struct checker {
	struct arena *arena;
	struct buf text; /* the errors, one per line */
	size_t faults;
};

static void api_managed_check(struct checker *c, struct managed_place place,
			      const struct json *value, const struct step *at);

static void print_path(struct checker *c, const struct step *at)
{
	if (!at)
		return;
	print_path(c, at->parent);
	managed_print_step(c->arena, &c->text, at->text);
}

static void PRINTF_LIKE(3, 4) fault(struct checker *c, const struct step *at, const char *fmt, ...)
{
	va_list ap;

	if (c->faults == FAULTS_MAX)
		return;
	if (c->faults++)
		(void)buf_addc(&c->text, '\n');
	print_path(c, at);
	if (at)
		(void)buf_addz(&c->text, ": ");
	va_start(ap, fmt);
	(void)buf_vprintf(&c->text, fmt, ap);
	va_end(ap);
}

/* --- scalars --------------------------------------------------------------------------- */

static const char *go_type(const struct json *v)
{
	static const char *const names[] = {
		[JSON_NULL] = "<nil>",
		[JSON_BOOL] = "bool",
		[JSON_INT] = "int64",
		[JSON_UINT] = "uint64",
		[JSON_DOUBLE] = "float64",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "[]interface {}",
		[JSON_OBJECT] = "map[string]interface {}",
	};

	return names[v->type];
}

static int print_go(struct buf *out, const struct json *v, bool syntax);

/* Returns the member after `last` in byte order, as Go prints maps; NULL at the end. */
static const struct json *next_member(const struct json *map, const struct json *last)
{
	const struct json *next = NULL;

	JSON_FOREACH (it, map)
		if ((!last || str_cmp(json_key(it), json_key(last)) > 0) &&
		    (!next || str_cmp(json_key(it), json_key(next)) < 0))
			next = it;
	return next;
}

static int print_go_map(struct buf *out, const struct json *map, bool syntax)
{
	int r = buf_addz(out, syntax ? "map[string]interface {}{" : "map[");

	for (const struct json *it = next_member(map, NULL), *last = NULL; it && r == 0;
	     last = it, it = next_member(map, it)) {
		if (last)
			(void)buf_addz(out, syntax ? ", " : " ");
		if (syntax)
			quote_print(json_key(it), out);
		else
			(void)buf_add_str(out, json_key(it));
		(void)buf_addc(out, ':');
		r = print_go(out, it, syntax);
	}
	return r == 0 ? buf_addz(out, syntax ? "}" : "]") : r;
}

static int print_go_list(struct buf *out, const struct json *list, bool syntax)
{
	int r = buf_addz(out, syntax ? "[]interface {}{" : "[");

	JSON_FOREACH (it, list) {
		if (it != list->first)
			(void)buf_addz(out, syntax ? ", " : " ");
		r = print_go(out, it, syntax);
		if (r < 0)
			return r;
	}
	return buf_addz(out, syntax ? "}" : "]");
}

/* Prints as Go's %v does, or as %#v with `syntax`. */
static int print_go(struct buf *out, const struct json *v, bool syntax)
{
	switch (v->type) {
	case JSON_NULL:
		return buf_addz(out, syntax ? "interface {}(nil)" : "<nil>");
	case JSON_STRING:
		if (!syntax)
			return buf_add_str(out, json_str(v));
		quote_print(json_str(v), out);
		return buf_addz(out, "");
	case JSON_ARRAY:
		return print_go_list(out, v, syntax);
	case JSON_OBJECT:
		return print_go_map(out, v, syntax);
	default:
		return json_print(out, v, NULL);
	}
}

/* Returns the value for a message; only its type if it is long. */
static const char *check_shown(struct checker *c, const struct json *v, bool syntax)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	if (print_go(&text, v, syntax) < 0)
		return go_type(v);
	return arena_strdup(c->arena, buf_str(&text));
}

static void check_scalar(struct checker *c, enum schema_value kind, const struct json *v,
			 const struct step *at)
{
	switch (kind) {
	case SCHEMA_STRING:
	case SCHEMA_BYTES:
		if (v->type != JSON_STRING)
			fault(c, at, "expected string, got &value.valueUnstructured{Value:%s}",
			      check_shown(c, v, true));
		break;
	case SCHEMA_BOOL:
		if (v->type != JSON_BOOL)
			fault(c, at, "expected boolean, got &{%s}", check_shown(c, v, false));
		break;
	case SCHEMA_INT32:
	case SCHEMA_INT64:
	case SCHEMA_DOUBLE:
		if (v->type != JSON_INT && v->type != JSON_UINT && v->type != JSON_DOUBLE)
			fault(c, at, "expected numeric (int or float), got %s", go_type(v));
		break;
	case SCHEMA_TIME:
	case SCHEMA_MICRO_TIME:
	case SCHEMA_DURATION:
	case SCHEMA_QUANTITY:
	case SCHEMA_INT_OR_STRING:
		if (json_is_container(v))
			fault(c, at, "expected any scalar, got &{%s}", check_shown(c, v, false));
		break;
	default: /* anything fits */
		break;
	}
}

/* --- lists ----------------------------------------------------------------------------- */

/* Returns why an element of a list cannot be identified; NULL if it can. */
static const char *no_key(struct checker *c, const struct schema_field *field,
			  enum managed_container container, const struct json *v, struct str step)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);

	if (container == MANAGED_SET)
		return v->type == JSON_OBJECT  ? "associative list without keys has an element "
						 "that's a map type"
		       : v->type == JSON_ARRAY ? "not supported: associative list with lists as "
						 "elements"
		       : v->type == JSON_NULL  ? "associative list without keys has an element "
						 "that's an explicit null"
					       : NULL;
	if (v->type == JSON_NULL)
		return "associative list with keys may not have a null element";
	if (v->type != JSON_OBJECT)
		return "associative list with keys may not have non-map elements";
	if (!str_eqz(step, "k:{}"))
		return NULL;
	for (const struct str *key = field->list_keys; key->p; key++)
		(void)buf_printf(&names, "%s\"%.*s\"", key == field->list_keys ? "" : " ",
				 STR_ARG(*key));
	return arena_printf(c->arena,
			    "associative list with keys has an element that omits all key fields "
			    "[%.*s] (and doesn't have default values for any key fields)",
			    STR_ARG(buf_str(&names)));
}

static void check_keyed(struct checker *c, struct managed_place place,
			enum managed_container container, const struct json *list,
			const struct step *at)
{
	CLEANUP(managed_items_release)
	struct managed_items items = managed_items(c->arena, place, container, list);
	CLEANUP(buf_release) struct buf key = BUF_INIT(KIB);
	struct managed_place part = managed_part(place, container, STR_NULL, NULL);

	for (size_t i = 0; i < items.n; i++) {
		struct managed_item *item = &items.v[i];
		const struct step step = { at, item->step };
		const char *why = no_key(c, place.field, container, item->value, item->step);

		if (why) {
			fault(c, at, "element %zu: %s", i, why);
			return;
		}
		if (item->later) {
			buf_clear(&key);
			managed_print_step(c->arena, &key, item->step);
			fault(c, at, "duplicate entries for key %.*s", STR_ARG(buf_str(&key)));
		}
		api_managed_check(c, part, item->value, &step);
	}
}

static void managed_check_list(struct checker *c, struct managed_place place,
			       const struct json *list, const struct step *at)
{
	enum managed_container container = managed_container(&place);
	char text[32];
	int index = 0;

	if (list->type != JSON_ARRAY) {
		fault(c, at, "expected list, got &{%s}", check_shown(c, list, false));
		return;
	}
	if (container != MANAGED_LEAF) {
		check_keyed(c, place, container, list, at);
		return;
	}
	place.single = true;
	JSON_FOREACH (v, list) {
		struct step step = { at, STR_NULL };

		step.text = str_of(text, (size_t)snprintf(text, sizeof(text), "i:%d", index++));
		api_managed_check(c, place, v, &step);
	}
}

/* --- objects --------------------------------------------------------------------------- */

static void check_map(struct checker *c, struct managed_place place, const struct json *map,
		      const struct step *at)
{
	if (map->type != JSON_OBJECT) {
		fault(c, at, "expected map, got &{%s}", check_shown(c, map, false));
		return;
	}
	place.single = true;
	if (place.field->shape == SCHEMA_MAP_OF_LISTS)
		return;
	JSON_FOREACH (v, map) {
		const struct step step = { at, managed_step(c->arena, MANAGED_MAP, json_key(v)) };

		api_managed_check(c, place, v, &step);
	}
}

static void check_struct(struct checker *c, const struct schema_type *type, const struct json *v,
			 const struct step *at)
{
	if (v->type != JSON_OBJECT) {
		if (!type->preserve)
			fault(c, at, "expected map, got &{%s}", check_shown(c, v, false));
		return;
	}
	JSON_FOREACH (member, v) {
		const struct schema_field *field = schema_field(type, json_key(member));
		const struct step step = { at, managed_step(c->arena, MANAGED_STRUCT,
							    json_key(member)) };

		if (field) {
			api_managed_check(c, (struct managed_place){ .field = field }, member,
					  &step);
		} else if (!type->preserve) {
			fault(c, &step, "field not declared in schema");
			return;
		}
	}
}

static void api_managed_check(struct checker *c, struct managed_place place,
			      const struct json *value, const struct step *at)
{
	const struct schema_field *field;

	(void)managed_container(&place); /* descends into nested lists and maps */
	field = place.field;
	if (!field || value->type == JSON_NULL || c->faults == FAULTS_MAX)
		return;
	if (!place.single && field->shape == SCHEMA_LIST)
		managed_check_list(c, place, value, at);
	else if (!place.single && field->shape != SCHEMA_ONE)
		check_map(c, place, value, at);
	else if (field->value == SCHEMA_OBJECT)
		check_struct(c, field->type, value, at);
	else
		check_scalar(c, field->value, value, at);
}

/* Reports one error as it is, several as a list. */
static void check_tell(struct checker *c, struct error *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT(8 * KIB);
	struct str rest = buf_str(&c->text), line;

	if (c->faults == 1) {
		(void)error_set(err, ERR_UNTYPED, "%.*s", STR_ARG(rest));
		return;
	}
	(void)buf_addz(&all, "errors:");
	while (str_split(&rest, '\n', &line))
		(void)buf_printf(&all, "\n  %.*s", STR_ARG(line));
	(void)error_set(err, ERR_UNTYPED, "%.*s", STR_ARG(buf_str(&all)));
}

int managed_check(struct arena *a, const struct schema_type *type, const struct json *tree,
		  struct error *err)
{
	const struct schema_field root = managed_root(type);
	struct checker c = { .arena = a, .text = BUF_INIT(4 * KIB) };

	api_managed_check(&c, (struct managed_place){ &root, true }, tree, NULL);
	if (c.faults)
		check_tell(&c, err);
	buf_release(&c.text);
	return c.faults ? -ERR_UNTYPED : 0;
}
