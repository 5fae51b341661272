/*
 * A path is a chain of steps. As in client-go, each step maps all values found so far to the next
 * ones, which decides the order of what a union finds. An index beyond the end and a comparison of
 * different types are errors, with client-go's messages.
 */
#include "api/table/jsonpath.h"

#include "api/api_limits.h"

enum step_kind {
	STEP_FIELD, /* .name */
	STEP_SLICE, /* [from:to:by] and [index] */
	STEP_WILDCARD, /* .* */
	STEP_RECURSIVE, /* .. : the value and all objects and lists below it */
	STEP_FILTER, /* [?(..)] */
	STEP_UNION, /* [a,b] */
	STEP_LITERAL, /* a text, number or bool; only within filters */
};

enum comparison { EXISTS, EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL };

struct step {
	struct step *next;
	enum step_kind kind;
	struct str name;
	int64_t from, to, by;
	bool has_from, has_to, single; /* single: one index, which must exist */
	enum comparison comparison;
	const struct step *left, *right; /* of a filter; chains */
	struct branch *branches; /* of a union */
	const struct json *literal;
};

struct branch {
	struct branch *next;
	const struct step *steps;
};

struct jsonpath {
	const struct step *steps; /* NULL: the object itself */
	bool plain; /* only names: at most one value, found without memory */
};

/* --- parsing ---------------------------------------------------------------------- */

struct parser {
	struct arena *arena;
	struct str text;
	size_t at;
	struct step *first, **tail;
	unsigned depth;
	size_t *steps; /* number of steps of the whole path, limited */
	struct error *err;
};

static int parse_steps(struct arena *a, struct str text, unsigned depth, size_t *steps,
		       const struct step **ret_steps, struct error *err);

static int jsonpath_refuse(struct parser *p, const char *why, struct str part)
{
	return error_set(p->err, ERR_BAD_REQUEST, "%s%.*s", why, STR_ARG(part));
}

static struct step *add_step(struct parser *p, enum step_kind kind)
{
	struct step *step = ARENA_NEW(p->arena, struct step);

	step->kind = kind;
	*p->tail = step;
	p->tail = &step->next;
	(*p->steps)++;
	return step;
}

static bool is_terminator(char c)
{
	return c == '\0' || strchr(" \t\r\n.,[]$@{}", c);
}

/* Reads a name up to the next delimiter; a backslash escapes one and is removed. */
static struct str take_name(struct parser *p)
{
	size_t from = p->at, n = 0;
	char *name;

	while (p->at < p->text.n && !is_terminator(p->text.p[p->at]))
		p->at += p->text.p[p->at] == '\\' && p->at + 1 < p->text.n ? 2 : 1;
	name = arena_alloc(p->arena, p->at - from + 1);
	for (size_t i = from; i < p->at; i++)
		if (p->text.p[i] != '\\')
			name[n++] = p->text.p[i];
	return str_of(name, n);
}

static void parse_field(struct parser *p)
{
	struct str name = take_name(p);

	if (str_eqz(name, "*")) {
		add_step(p, STEP_WILDCARD);
		return;
	}
	add_step(p, STEP_FIELD)->name = name;
}

static int parse_recursive(struct parser *p)
{
	p->at += 2;
	add_step(p, STEP_RECURSIVE);
	if (p->at < p->text.n && !is_terminator(p->text.p[p->at]) && p->text.p[p->at] != '*')
		parse_field(p);
	return 0;
}

/* Reads one number of a slice. Returns false if it is invalid. */
static bool read_bound(struct str text, int64_t *ret_value, bool *ret_given)
{
	*ret_given = text.n > 0;
	return text.n == 0 ||
	       (str_to_i64(text, ret_value) && *ret_value > -1000000000 && *ret_value < 1000000000);
}

static int parse_slice(struct parser *p, struct str text)
{
	struct step *step = add_step(p, STEP_SLICE);
	struct str rest = text, pieces[3] = { STR_NULL };
	bool has_by, ok = text.n > 0;
	size_t n = 0;

	step->by = 1;
	if (str_eqz(text, "*"))
		return 0;
	while (n < 3 && str_split(&rest, ':', &pieces[n]))
		n++;
	ok = ok && !rest.p && read_bound(pieces[0], &step->from, &step->has_from) &&
	     read_bound(pieces[1], &step->to, &step->has_to) &&
	     read_bound(pieces[2], &step->by, &has_by);
	if (!ok || (n == 1 && !step->has_from))
		return jsonpath_refuse(p, "invalid array index ", text);
	step->single = n == 1;
	return 0;
}

static int parse_union(struct parser *p, struct str text)
{
	struct step *step = add_step(p, STEP_UNION);
	struct branch **tail = &step->branches;
	struct str piece;
	int r;

	while (str_split(&text, ',', &piece)) {
		struct str inner = str_trim(piece);

		*tail = ARENA_NEW(p->arena, struct branch);
		r = parse_steps(p->arena,
				str_from(arena_printf(p->arena, "[%.*s]", STR_ARG(inner))),
				p->depth + 1, p->steps, &(*tail)->steps, p->err);
		if (r < 0)
			return r;
		tail = &(*tail)->next;
	}
	return 0;
}

/* ['a.b'] equals .a.b: a literal dot needs a backslash there, too. */
static int parse_quoted_name(struct parser *p, struct str name)
{
	const struct step *steps = NULL;
	int r;

	r = parse_steps(p->arena, str_from(arena_printf(p->arena, ".%.*s", STR_ARG(name))),
			p->depth + 1, p->steps, &steps, p->err);
	if (r < 0)
		return r;
	*p->tail = (struct step *)steps;
	while (*p->tail)
		p->tail = &(*p->tail)->next;
	return 0;
}

static int parse_array(struct parser *p)
{
	struct str rest = str_skip(p->text, p->at + 1), text;
	ptrdiff_t end = str_chr(rest, ']');

	if (end < 0 || str_chr(str_of(rest.p, (size_t)end), '\n') >= 0)
		return jsonpath_refuse(p, "unterminated array", STR_NULL);
	text = str_of(rest.p, (size_t)end);
	p->at += text.n + 2;
	if (str_chr(text, ',') >= 0)
		return parse_union(p, text);
	if (text.n >= 2 && text.p[0] == '\'' && text.p[text.n - 1] == '\'' &&
	    str_chr(str_of(text.p + 1, text.n - 2), '\'') < 0)
		return parse_quoted_name(p, str_of(text.p + 1, text.n - 2));
	return parse_slice(p, text);
}

/* --- filters ---------------------------------------------------------------------- */

/* Returns the end of "[?(..)]", a closing bracket outside of quotes; 0 if not found. */
static size_t filter_end(struct str text)
{
	char quote = '\0';

	for (size_t i = 0; i < text.n && text.p[i] != '\n'; i++) {
		char c = text.p[i];

		if (quote && c == '\\' && i + 1 < text.n)
			i++;
		else if (quote)
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == ')')
			return i;
	}
	return 0;
}

static bool comparison_of(struct str text, enum comparison *ret_comparison)
{
	static const char *const names[] = {
		[EQUAL] = "==",      [UNEQUAL] = "!=", [LESS] = "<",
		[LESS_EQUAL] = "<=", [GREATER] = ">",  [GREATER_EQUAL] = ">="
	};

	for (unsigned i = EQUAL; i < ARRAY_SIZE(names); i++) {
		if (!str_eqz(text, names[i]))
			continue;
		*ret_comparison = i;
		return true;
	}
	return false;
}

/* Splits at the first run of operator characters; without an operator it tests existence. */
static int parse_condition(struct parser *p, struct step *step, struct str text)
{
	struct str left = text, op = STR_NULL;
	size_t at = 0, end;
	int r;

	while (at < text.n && !str_is_one_of(text.p[at], "!<>="))
		at++;
	for (end = at; end < text.n && str_is_one_of(text.p[end], "!<>=");)
		end++;
	step->comparison = EXISTS;
	if (at > 0 && end > at && end < text.n) {
		left = str_of(text.p, at);
		op = str_of(text.p + at, end - at);
		if (!comparison_of(op, &step->comparison))
			return jsonpath_refuse(p, "unrecognized filter operator ", op);
		r = parse_steps(p->arena, str_skip(text, end), p->depth + 1, p->steps, &step->right,
				p->err);
		if (r < 0)
			return r;
	}
	return parse_steps(p->arena, left, p->depth + 1, p->steps, &step->left, p->err);
}

static int parse_filter(struct parser *p)
{
	struct str rest = str_skip(p->text, p->at + 3);
	size_t end = filter_end(rest);

	if (end == 0)
		return jsonpath_refuse(p, "unterminated filter", STR_NULL);
	if (end + 1 >= rest.n || rest.p[end + 1] != ']')
		return jsonpath_refuse(p, "unclosed array expect ]", STR_NULL);
	p->at += 3 + end + 2;
	return parse_condition(p, add_step(p, STEP_FILTER), str_of(rest.p, end));
}

/* The character that a backslash and `c` stand for. */
static char unescape(char c)
{
	static const char from[] = "nrtabfv", to[] = "\n\r\t\a\b\f\v";
	const char *at = strchr(from, c);

	return c && at ? to[at - from] : c;
}

/* Reads "text" or 'text'; a backslash before any other character stands for that character. */
static int parse_quote(struct parser *p)
{
	char quote = p->text.p[p->at++];
	size_t from = p->at, n = 0;
	char *text;

	while (p->at < p->text.n && p->text.p[p->at] != quote)
		p->at += p->text.p[p->at] == '\\' && p->at + 1 < p->text.n ? 2 : 1;
	if (p->at >= p->text.n)
		return jsonpath_refuse(p, "unterminated quoted string", STR_NULL);
	text = arena_alloc(p->arena, p->at - from + 1);
	for (size_t i = from; i < p->at; i++) {
		bool escaped = p->text.p[i] == '\\' && i + 1 < p->at;

		i += escaped;
		text[n++] = escaped ? unescape(p->text.p[i]) : p->text.p[i];
	}
	p->at++;
	add_step(p, STEP_LITERAL)->literal = json_make_str(p->arena, str_of(text, n));
	return 0;
}

/* A number, true or false. */
static int parse_word(struct parser *p)
{
	struct str word = take_name(p), more;
	struct json *value;

	/* A number may contain a dot, which otherwise ends a name. */
	while (p->at < p->text.n && p->text.p[p->at] == '.' && word.n && word.p[0] <= '9') {
		p->at++;
		more = take_name(p);
		word = str_from(arena_printf(p->arena, "%.*s.%.*s", STR_ARG(word), STR_ARG(more)));
	}
	if (word.n && word.p[0] == '+')
		word = str_skip(word, 1);
	if (word.n == 0 || json_parse(p->arena, word, NULL, &value, NULL) < 0 ||
	    json_is_container(value) || value->type == JSON_NULL)
		return jsonpath_refuse(p, "unrecognized identifier ", word);
	add_step(p, STEP_LITERAL)->literal = value;
	return 0;
}

/* --- the whole -------------------------------------------------------------------- */

static int parse_step(struct parser *p)
{
	struct str rest = str_skip(p->text, p->at);

	if (str_starts(rest, STR("[?(")))
		return parse_filter(p);
	if (str_starts(rest, STR("..")))
		return parse_recursive(p);
	switch (rest.p[0]) {
	case ' ':
	case '@':
	case '$':
		p->at++;
		return 0;
	case '[':
		return parse_array(p);
	case '"':
	case '\'':
		return parse_quote(p);
	case '.':
		p->at++;
		parse_field(p);
		return 0;
	case '{':
	case '}':
	case ',':
	case ']':
	case '\n':
	case '\r':
		return jsonpath_refuse(p, "unrecognized character in action: ", str_of(rest.p, 1));
	default:
		return parse_word(p);
	}
}

static int parse_steps(struct arena *a, struct str text, unsigned depth, size_t *steps,
		       const struct step **ret_steps, struct error *err)
{
	struct parser p = { .arena = a, .text = text, .depth = depth, .steps = steps, .err = err };
	int r;

	if (depth > JSONPATH_DEPTH_MAX)
		return jsonpath_refuse(&p, "nested too deeply", STR_NULL);
	p.tail = &p.first;
	while (p.at < text.n) {
		if (*steps > JSONPATH_STEPS_MAX)
			return jsonpath_refuse(&p, "too long", STR_NULL);
		r = parse_step(&p);
		if (r < 0)
			return r;
	}
	*ret_steps = p.first;
	return 0;
}

int jsonpath_compile(struct arena *a, struct str text, const struct jsonpath **ret_path,
		     struct error *err)
{
	struct jsonpath *path = ARENA_NEW(a, struct jsonpath);
	size_t steps = 0;
	int r;

	/* The path outlives the text. */
	r = parse_steps(a, arena_str(a, text), 0, &steps, &path->steps, err);
	if (r < 0)
		return r;
	path->plain = true;
	for (const struct step *s = path->steps; s; s = s->next)
		path->plain = path->plain && s->kind == STEP_FIELD;
	*ret_path = path;
	return 0;
}

/* --- searching -------------------------------------------------------------------- */

struct search {
	struct arena *arena;
	size_t *work; /* values that may still be visited */
	struct error *err;
};

static int search_steps(struct search *s, const struct step *step, struct jsonpath_values in,
			struct jsonpath_values *ret_out);

static int search_add(struct search *s, struct jsonpath_values *out, const struct json *v)
{
	if (*s->work == 0)
		return error_set(s->err, ERR_TOO_LARGE, "jsonpath: too many values");
	--*s->work;
	/* The room is a power of two, so that the count says when it is full. */
	if ((out->n & (out->n - 1)) == 0) {
		const struct json **more = ARENA_ARRAY(s->arena, const struct json *,
						       MAX(2 * out->n, 1));

		if (out->n > 0)
			memcpy(more, out->v, out->n * sizeof(*more));
		out->v = more;
	}
	out->v[out->n++] = v;
	return 0;
}

static int search_add_children(struct search *s, const struct json *v, struct jsonpath_values *out)
{
	int r = 0;

	JSON_FOREACH (it, v)
		r = r < 0 ? r : search_add(s, out, it);
	return r;
}

static int refuse_list(struct search *s, const struct json *v, const char *why)
{
	static const char *const names[] = {
		[JSON_NULL] = "<nil>",  [JSON_BOOL] = "bool",      [JSON_INT] = "int64",
		[JSON_UINT] = "uint64", [JSON_DOUBLE] = "float64", [JSON_STRING] = "string",
		[JSON_ARRAY] = "list",  [JSON_OBJECT] = "map",
	};

	return error_set(s->err, ERR_BAD_REQUEST, "%s is not array or slice%s", names[v->type],
			 why);
}

/* --- filters ---------------------------------------------------------------------- */

static bool compare_numbers(double a, double b, enum comparison comparison)
{
	switch (comparison) {
	case EQUAL:
		return a == b;
	case UNEQUAL:
		return a != b;
	case LESS:
		return a < b;
	case LESS_EQUAL:
		return a <= b;
	case GREATER:
		return a > b;
	default:
		return a >= b;
	}
}

static int jsonpath_compare(struct search *s, const struct json *a, const struct json *b,
			    enum comparison comparison)
{
	double x, y;

	if (json_f64(a, &x) && json_f64(b, &y))
		return compare_numbers(x, y, comparison);
	if (json_is(a, JSON_STRING) && json_is(b, JSON_STRING))
		return compare_numbers(str_cmp(json_str(a), json_str(b)), 0, comparison);
	if (json_is(a, JSON_BOOL) && json_is(b, JSON_BOOL) && comparison <= UNEQUAL)
		return (a->boolean == b->boolean) == (comparison == EQUAL);
	return error_set(s->err, ERR_BAD_REQUEST, "incompatible types for comparison");
}

/* Finds one side of a comparison. 0: it has no value. */
static int search_side(struct search *s, const struct step *steps, const struct json *v,
		       const struct json **ret_value)
{
	struct jsonpath_values found;
	int r = search_steps(s, steps, (struct jsonpath_values){ &v, 1 }, &found);

	if (r < 0 || found.n == 0)
		return r;
	if (found.n > 1)
		return error_set(s->err, ERR_BAD_REQUEST, "can only compare one element at a time");
	*ret_value = found.v[0];
	return 1;
}

static int search_exists(struct search *s, const struct step *steps, const struct json *v)
{
	struct search quiet = { s->arena, s->work, NULL };
	struct jsonpath_values found;
	int r = search_steps(&quiet, steps, (struct jsonpath_values){ &v, 1 }, &found);

	if (r == -ERR_TOO_LARGE)
		return error_set(s->err, ERR_TOO_LARGE, "jsonpath: too many values");
	return r == 0 && found.n > 0;
}

static int passes(struct search *s, const struct step *filter, const struct json *v)
{
	const struct json *left = NULL, *right = NULL;
	int r;

	if (filter->comparison == EXISTS)
		return search_exists(s, filter->left, v);
	r = search_side(s, filter->left, v, &left);
	if (r > 0)
		r = search_side(s, filter->right, v, &right);
	return r > 0 ? jsonpath_compare(s, left, right, filter->comparison) : r;
}

static int search_filtered(struct search *s, const struct step *step, const struct json *v,
			   struct jsonpath_values *out)
{
	int r = 0;

	if (!json_is(v, JSON_ARRAY))
		return refuse_list(s, v, " and cannot be filtered");
	JSON_FOREACH (item, v) {
		r = passes(s, step, item);
		if (r > 0)
			r = search_add(s, out, item);
		if (r < 0)
			break;
	}
	return r;
}

/* --- steps ------------------------------------------------------------------------ */

static int refuse_index(struct search *s, int64_t index, int64_t n)
{
	return error_set(s->err, ERR_BAD_REQUEST,
			 "array index out of bounds: index %lld, length %lld", (long long)index,
			 (long long)n);
}

static int search_sliced(struct search *s, const struct step *step, const struct json *v,
			 struct jsonpath_values *out)
{
	int64_t n = (int64_t)json_count(v), from = step->from, to = step->has_to ? step->to : n;
	int64_t i = 0;
	int r = 0;

	if (!json_is(v, JSON_ARRAY))
		return refuse_list(s, v, "");
	from = from < 0 ? from + n : from;
	to = step->single ? from + 1 : to < 0 ? to + n : to;
	if (from == to)
		return 0;
	if (from < 0 || from >= n)
		return refuse_index(s, from, n);
	if (to < 0 || to > n)
		return refuse_index(s, to - 1, n);
	if (from > to)
		return error_set(s->err, ERR_BAD_REQUEST,
				 "starting index %lld is greater than ending index %lld",
				 (long long)from, (long long)to);
	if (step->by < 1)
		return error_set(s->err, ERR_BAD_REQUEST, "step must be > 0");
	JSON_FOREACH (item, v) {
		int64_t at = i++;

		if (r == 0 && at >= from && at < to && (at - from) % step->by == 0)
			r = search_add(s, out, item);
	}
	return r;
}

/* The value, if it has anything below it, then everything below it. */
static int search_below(struct search *s, const struct json *v, struct jsonpath_values *out)
{
	int r;

	if (json_is(v, JSON_STRING) ? v->n == 0 : json_count(v) == 0)
		return 0;
	r = search_add(s, out, v);
	JSON_FOREACH (it, v)
		r = r < 0 ? r : search_below(s, it, out);
	return r;
}

/* What one value becomes. A null has nothing in it, and is nothing to fail for. */
static int search_value(struct search *s, const struct step *step, const struct json *v,
			struct jsonpath_values *out)
{
	const struct json *child;

	if (v->type == JSON_NULL && step->kind != STEP_LITERAL && step->kind != STEP_FILTER)
		return 0;
	switch (step->kind) {
	case STEP_FIELD:
		child = json_is(v, JSON_OBJECT) ? json_get(v, step->name) : NULL;
		return child ? search_add(s, out, child) : 0;
	case STEP_SLICE:
		return search_sliced(s, step, v, out);
	case STEP_WILDCARD:
		return search_add_children(s, v, out);
	case STEP_RECURSIVE:
		return search_below(s, v, out);
	case STEP_FILTER:
		return search_filtered(s, step, v, out);
	default:
		return search_add(s, out, step->literal);
	}
}

/* All that the first branch finds, then all that the second one does. */
static int search_union(struct search *s, const struct step *step, struct jsonpath_values in,
			struct jsonpath_values *out)
{
	struct jsonpath_values found;
	int r = 0;

	for (const struct branch *b = step->branches; b && r == 0; b = b->next) {
		r = search_steps(s, b->steps, in, &found);
		for (size_t i = 0; r == 0 && i < found.n; i++)
			r = search_add(s, out, found.v[i]);
	}
	return r;
}

static int search_step(struct search *s, const struct step *step, struct jsonpath_values in,
		       struct jsonpath_values *out)
{
	int r = 0;

	if (step->kind == STEP_UNION)
		return search_union(s, step, in, out);
	/* A text is one, whatever came before it. */
	if (step->kind == STEP_LITERAL && json_is(step->literal, JSON_STRING))
		return search_add(s, out, step->literal);
	for (size_t i = 0; i < in.n && r == 0; i++)
		r = search_value(s, step, in.v[i], out);
	return r;
}

static int search_steps(struct search *s, const struct step *step, struct jsonpath_values in,
			struct jsonpath_values *ret_out)
{
	for (; step; step = step->next) {
		struct jsonpath_values out = { NULL, 0 };
		int r = search_step(s, step, in, &out);

		if (r < 0)
			return r;
		in = out;
	}
	*ret_out = in;
	return 0;
}

int jsonpath_find(const struct jsonpath *path, const struct json *root, struct arena *a,
		  size_t *work, struct jsonpath_values *ret_values, struct error *err)
{
	struct search s = { .arena = a, .work = work, .err = err };
	const struct json **first = ARENA_NEW(a, const struct json *);

	*first = root;
	return search_steps(&s, path->steps, (struct jsonpath_values){ first, 1 }, ret_values);
}

const struct json *jsonpath_first(const struct jsonpath *path, const struct json *root)
{
	CLEANUP(arena_release) struct arena a;
	struct jsonpath_values found = { NULL, 0 };
	size_t work = JSONPATH_WORK_MAX;

	arena_init(&a, REQUEST_WORK_MAX);
	if (path->plain) {
		for (const struct step *s = path->steps; s && root; s = s->next)
			root = json_is(root, JSON_OBJECT) ? json_get(root, s->name) : NULL;
		return root;
	}
	if (jsonpath_find(path, root, &a, &work, &found, NULL) < 0 || found.n == 0)
		return NULL;
	return found.v[0];
}
