/*
 * A template is a list of parts. Compiling finds the end of each range, so that printing is a walk
 * over a part of the list for each value.
 */
#include "api/table/jsonpath_template.h"

#include "api/api_limits.h"

enum part_kind { PART_TEXT, PART_PATH, PART_RANGE, PART_END };

struct part {
	enum part_kind kind;
	struct str text;
	const struct jsonpath *path; /* of PART_PATH and PART_RANGE */
	size_t end; /* of PART_RANGE: the index of its PART_END */
};

struct jsonpath_template {
	struct part *parts;
	size_t n;
};

/* --- compiling -------------------------------------------------------------------- */

struct compiler {
	struct arena *arena;
	struct jsonpath_template *template;
	size_t open[JSONPATH_DEPTH_MAX]; /* ranges without their end yet */
	size_t nopen;
	struct error *err;
};

/* The length of an action up to its closing brace, which quotes and backslashes hide. */
static bool action_length(struct str text, size_t *ret_n)
{
	char quote = '\0';

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '\\')
			i++;
		else if (quote)
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '}') {
			*ret_n = i;
			return true;
		}
	}
	return false;
}

/* Whether the action begins with this word; *ret_rest is the text after it. */
static bool has_word(struct str action, struct str word, struct str *ret_rest)
{
	struct str rest = str_skip(action, word.n);

	if (!str_starts(action, word) || (rest.n > 0 && !str_is_one_of(rest.p[0], " .[@$\"'")))
		return false;
	*ret_rest = rest;
	return true;
}

static struct part *add_part(struct compiler *c, enum part_kind kind)
{
	struct part *part = &c->template->parts[c->template->n++];

	part->kind = kind;
	return part;
}

static int compile_end(struct compiler *c)
{
	if (c->nopen == 0)
		return error_set(c->err, ERR_BAD_REQUEST, "not in range, nothing to end");
	c->template->parts[c->open[--c->nopen]].end = c->template->n;
	add_part(c, PART_END);
	return 0;
}

static int compile_action(struct compiler *c, struct str action)
{
	struct str trimmed = str_trim(action), rest = trimmed;
	bool range = has_word(trimmed, STR("range"), &rest);
	struct part *part;

	if (str_eqz(trimmed, "end"))
		return compile_end(c);
	if (range && c->nopen == JSONPATH_DEPTH_MAX)
		return error_set(c->err, ERR_BAD_REQUEST, "nested too deeply");
	if (range)
		c->open[c->nopen++] = c->template->n;
	part = add_part(c, range ? PART_RANGE : PART_PATH);
	return jsonpath_compile(c->arena, rest, &part->path, c->err);
}

static int compile_parts(struct compiler *c, struct str rest)
{
	ptrdiff_t brace;
	size_t n = 0;
	int r = 0;

	while (r == 0 && rest.n > 0) {
		if (c->template->n + 2 > JSONPATH_STEPS_MAX)
			return error_set(c->err, ERR_BAD_REQUEST, "too long");
		brace = str_chr(rest, '{');
		if (brace != 0)
			add_part(c, PART_TEXT)->text = str_of(rest.p,
							      brace < 0 ? rest.n : (size_t)brace);
		if (brace < 0)
			break;
		rest = str_skip(rest, (size_t)brace + 1);
		if (!action_length(rest, &n))
			return error_set(c->err, ERR_BAD_REQUEST, "unclosed action");
		r = compile_action(c, str_of(rest.p, n));
		rest = str_skip(rest, n + 1);
	}
	return r;
}

int jsonpath_template_compile(struct arena *a, struct str text,
			      const struct jsonpath_template **ret_template, struct error *err)
{
	struct compiler c = { .arena = a, .err = err };
	struct str copy = arena_str(a, text);
	size_t parts = 2;
	int r;

	for (size_t i = 0; i < copy.n && parts < JSONPATH_STEPS_MAX; i++)
		parts += copy.p[i] == '{' ? 2 : 0;
	c.template = ARENA_NEW(a, struct jsonpath_template);
	c.template->parts = ARENA_ARRAY(a, struct part, parts);
	r = compile_parts(&c, copy);
	if (r == 0 && c.nopen > 0)
		r = error_set(err, ERR_BAD_REQUEST, "a {range} has no {end}");
	if (r == 0)
		*ret_template = c.template;
	return r;
}

/* --- printing --------------------------------------------------------------------- */

struct printer {
	const struct jsonpath_template *template;
	struct arena *arena;
	struct buf *out;
	size_t work;
	struct error *err;
};

static int print_sorted(struct printer *p, const struct json *v)
{
	static const struct json_style style = { .html = true };
	struct json *copy = NULL;
	int r = json_copy(p->arena, v, &copy, p->err);

	if (r < 0)
		return r;
	json_sort(p->arena, copy);
	(void)json_print(p->out, copy, &style);
	return 0;
}

static int print_value(struct printer *p, const struct json *v)
{
	if (json_is_container(v))
		return print_sorted(p, v);
	if (json_is(v, JSON_STRING))
		(void)buf_add_str(p->out, json_str(v));
	else if (v->type == JSON_NULL)
		(void)buf_addz(p->out, "<nil>");
	else
		(void)json_print(p->out, v, NULL);
	return 0;
}

static int print_path(struct printer *p, const struct part *part, const struct json *v)
{
	struct jsonpath_values found;
	int r = jsonpath_find(part->path, v, p->arena, &p->work, &found, p->err);

	for (size_t i = 0; r == 0 && i < found.n; i++) {
		if (i > 0)
			(void)buf_addc(p->out, ' ');
		r = print_value(p, found.v[i]);
	}
	return r;
}

/* Recursion is bounded: ranges are nested JSONPATH_DEPTH_MAX deep at most. */
static int print_parts(struct printer *p, size_t from, size_t to, const struct json *v)
{
	struct jsonpath_values found;
	int r = 0;

	for (size_t i = from; i < to && r == 0; i++) {
		const struct part *part = &p->template->parts[i];

		if (p->work == 0)
			return error_set(p->err, ERR_TOO_LARGE, "jsonpath: too many values");
		p->work--;
		if (part->kind == PART_TEXT)
			(void)buf_add_str(p->out, part->text);
		if (part->kind == PART_PATH)
			r = print_path(p, part, v);
		if (part->kind != PART_RANGE)
			continue;
		r = jsonpath_find(part->path, v, p->arena, &p->work, &found, p->err);
		for (size_t k = 0; r == 0 && k < found.n; k++)
			r = print_parts(p, i + 1, part->end, found.v[k]);
		i = part->end;
	}
	return r;
}

int jsonpath_template_print(const struct jsonpath_template *t, const struct json *root,
			    struct arena *a, struct buf *out, struct error *err)
{
	struct printer p = { .template = t,
			     .arena = a,
			     .out = out,
			     .work = JSONPATH_TEMPLATE_WORK_MAX,
			     .err = err };
	int r = print_parts(&p, 0, t->n, root);

	if (r == 0 && out->overflow)
		return error_set(err, ERR_TOO_LARGE, "jsonpath: the output is too large");
	return r;
}
