/*
 * Types are made bottom-up while a schema is compiled. If a schema does not limit a size, it is
 * computed from the largest possible request and the minimum size of a value in it. Upstream
 * computes the same, and the resulting cost estimates decide which rules are accepted.
 */
#include "api/crd/cel_type.h"

#include <stdlib.h>

#include "api/crd/rule.h"

/* Sizes in bytes of JSON. */
enum {
	TEXT_MIN = 2,
	BOOL_MIN = 4,
	NUMBER_MIN = 1,
	CONTAINER_MIN = 2,
	DURATION_MIN = 3,
	DATE_SIZE = 12,
	DATE_TIME_MIN = 21,
	TIME_MAX = 32,
	CHARACTER_MAX = 4,
};

/* --- names -------------------------------------------------------------------------- */

static const char *const reserved[] = { "as",      "break", "const",    "continue", "else",
					"false",   "for",   "function", "if",       "import",
					"in",      "let",   "loop",     "null",     "namespace",
					"package", "true",  "return",   "var",      "void",
					"while" };

static const struct {
	const char *text, *word;
} escapes[] = {
	{ "__", "underscores" },
	{ ".", "dot" },
	{ "-", "dash" },
	{ "/", "slash" },
};

static bool is_reserved(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (str_eqz(name, reserved[i]))
			return true;
	return false;
}

/* Returns the row whose text starts `rest`; ARRAY_SIZE(escapes) if not found. */
static size_t escape_at(struct str rest)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(escapes) && !str_starts(rest, str_from(escapes[i].text)))
		i++;
	return i;
}

bool crd_cel_escape(struct arena *a, struct str name, struct str *ret_escaped)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(SIZE_MAX);
	struct str rest = name;
	bool changed = false;

	if (name.n == 0 || str_is_digit(name.p[0]))
		return false;
	if (is_reserved(name)) {
		*ret_escaped = str_from(arena_printf(a, "__%.*s__", STR_ARG(name)));
		return true;
	}
	while (rest.n) {
		size_t i = escape_at(rest);

		if (i < ARRAY_SIZE(escapes)) {
			(void)buf_printf(&out, "__%s__", escapes[i].word);
			rest = str_skip(rest, strlen(escapes[i].text));
			changed = true;
			continue;
		}
		if (!str_is_alnum(rest.p[0]) && rest.p[0] != '_')
			return false;
		(void)buf_addc(&out, rest.p[0]);
		rest = str_skip(rest, 1);
	}
	*ret_escaped = changed ? arena_str(a, buf_str(&out)) : name;
	return true;
}

/* Returns the word between two pairs of underscores at the start of the text; n 0 if not found. */
static struct str escaped_word(struct str rest)
{
	size_t n = 2;

	if (!str_starts(rest, STR("__")))
		return STR_NULL;
	while (n < rest.n && rest.p[n] != '_')
		n++;
	if (n == 2 || n + 1 >= rest.n || rest.p[n + 1] != '_')
		return STR_NULL;
	return str_of(rest.p + 2, n - 2);
}

/*
 * Returns the text that the word stands for; n 0 if not found. A reserved word must be the whole
 * name.
 */
static struct str unescaped_word(struct str word, bool whole)
{
	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++)
		if (str_eqz(word, escapes[i].word))
			return str_from(escapes[i].text);
	return whole && is_reserved(word) ? word : STR_NULL;
}

bool crd_cel_unescape(struct str escaped, char *room, struct str *ret_name)
{
	struct str rest = escaped, word, text;
	size_t n = 0;

	if (!crd_cel_is_escaped(escaped)) {
		*ret_name = escaped;
		return true;
	}
	while (rest.n) {
		word = escaped_word(rest);
		if (word.n == 0) {
			room[n++] = rest.p[0];
			rest = str_skip(rest, 1);
			continue;
		}
		text = unescaped_word(word, word.n + 4 == escaped.n);
		if (text.n == 0)
			return false;
		str_put(room + n, text);
		n += text.n;
		rest = str_skip(rest, word.n + 4);
	}
	*ret_name = str_of(room, n);
	return true;
}

/* --- sizes -------------------------------------------------------------------------- */

static const struct cel_type *sized(struct arena *a, const struct cel_type *type, uint64_t max)
{
	return cel_type_sized(a, type, max ? max : CEL_SIZE_NOTHING);
}

/* maxLength counts characters, sizes count bytes. */
static uint64_t text_max(const struct crd_rules *rules)
{
	uint64_t longest = 0;

	if (rules && rules->max_length >= 0)
		return (uint64_t)rules->max_length * CHARACTER_MAX;
	if (!rules || !rules->values)
		return CRD_CEL_REQUEST_MAX - TEXT_MIN;
	JSON_FOREACH (value, rules->values)
		longest = MAX(longest, (uint64_t)json_str(value).n);
	return longest;
}

static const struct cel_type *text_type(struct arena *a, const struct crd_rules *rules,
					int64_t *ret_min_size)
{
	struct str format = rules ? rules->format_name : STR("");
	uint64_t max = CRD_CEL_REQUEST_MAX - TEXT_MIN;

	*ret_min_size = TEXT_MIN;
	if (str_eqz(format, "byte"))
		return sized(a, &cel_bytes,
			     rules->max_length >= 0 ? (uint64_t)rules->max_length : max);
	if (str_eqz(format, "duration")) {
		*ret_min_size = DURATION_MIN;
		return sized(a, &cel_duration, TIME_MAX);
	}
	if (str_eqz(format, "date")) {
		*ret_min_size = DATE_SIZE;
		return sized(a, &cel_timestamp, DATE_SIZE);
	}
	if (str_eqz(format, "date-time")) {
		*ret_min_size = DATE_TIME_MIN;
		return sized(a, &cel_timestamp, TIME_MAX);
	}
	return sized(a, &cel_string, text_max(rules));
}

/* --- containers --------------------------------------------------------------------- */

static const struct cel_type *list_type(struct arena *a, const struct crd_schema *s)
{
	int64_t max = s->rules ? s->rules->max_items : -1;

	if (!s->items || !s->items->cel || !s->items->cel->type)
		return NULL;
	if (max < 0)
		max = (CRD_CEL_REQUEST_MAX - CONTAINER_MIN) / (s->items->cel->min_size + 1);
	return sized(a, cel_list_of(a, s->items->cel->type), (uint64_t)max);
}

static const struct cel_type *map_type(struct arena *a, const struct crd_schema *s)
{
	static const struct cel_type key = { .kind = CEL_TYPE_STRING,
					     .name = STR("string"),
					     .max_size = CEL_SIZE_NOTHING };
	const struct crd_cel *cel = s->additional->cel;
	int64_t max = s->rules ? s->rules->max_properties : -1;

	if (!cel || !cel->type)
		return NULL;
	if (max < 0)
		max = (CRD_CEL_REQUEST_MAX - CONTAINER_MIN) / (cel->min_size + 6);
	return sized(a, cel_map_of(a, &key, cel->type), (uint64_t)max);
}

static bool is_required(const struct crd_schema *s, struct str name)
{
	for (const struct str *r = s->rules ? s->rules->required : NULL; r && r->p; r++)
		if (str_eq(*r, name))
			return true;
	return false;
}

static int field_order(const void *a, const void *b)
{
	const struct cel_field *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

static const struct cel_type *object_type(struct arena *a, const struct crd_schema *s,
					  struct str name, int64_t *ret_min_size)
{
	struct cel_field *fields = ARENA_ARRAY(a, struct cel_field, (size_t)s->nproperties + 1);
	struct cel_type *type = ARENA_NEW(a, struct cel_type);

	type->kind = CEL_TYPE_OBJECT;
	type->name = name;
	type->fields = fields;
	for (size_t i = 0; i < s->nproperties; i++) {
		const struct crd_property *p = &s->properties[i];
		const struct crd_cel *cel = p->schema->cel;

		if (!cel || !cel->type)
			continue;
		fields[type->nfields].type = cel->type;
		if (crd_cel_escape(a, p->name, &fields[type->nfields].name))
			type->nfields++;
		if (is_required(s, p->name) && !p->schema->initial)
			*ret_min_size += (int64_t)p->name.n + cel->min_size + 4;
	}
	qsort(fields, type->nfields, sizeof(*fields), field_order);
	return type;
}

const struct cel_type *crd_cel_type(struct arena *a, const struct crd_schema *s, struct str name,
				    int64_t *ret_min_size)
{
	*ret_min_size = NUMBER_MIN;
	if (s->int_or_string)
		return sized(a, &cel_dyn, text_max(s->rules));
	switch (s->types) {
	case CRD_INTEGER:
		return &cel_int;
	case CRD_NUMBER:
		return &cel_double;
	case CRD_BOOLEAN:
		*ret_min_size = BOOL_MIN;
		return &cel_bool;
	case CRD_STRING:
		return text_type(a, s->rules, ret_min_size);
	case CRD_ARRAY:
		*ret_min_size = CONTAINER_MIN;
		return list_type(a, s);
	case CRD_OBJECT:
		*ret_min_size = CONTAINER_MIN;
		return s->additional ? map_type(a, s) : object_type(a, s, name, ret_min_size);
	default:
		return NULL;
	}
}
