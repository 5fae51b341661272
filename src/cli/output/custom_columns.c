/*
 * kubectl prints values as Go's fmt does, so this does, too.
 */
#include "cli/output/custom_columns.h"

#include "api/api_limits.h"
#include "cli/cli_limits.h"
#include "cli/program/clean.h"

struct custom_column {
	struct str name;
	const struct jsonpath *path;
};

struct custom_columns {
	struct custom_column *v;
	size_t n;
};

/* --- what the user wrote ---------------------------------------------------------------------- */

int custom_columns_path(struct arena *a, struct str text, const struct jsonpath **ret_path,
			struct error *err)
{
	struct str inner = text;

	if (text.n > 2 && text.p[0] == '{' && text.p[text.n - 1] == '}')
		inner = str_of(text.p + 1, text.n - 2);
	if (inner.n > 1 && inner.p[0] == '.')
		inner = str_skip(inner, 1);
	if (inner.n == 0 || str_chr(inner, '{') >= 0 || str_chr(inner, '}') >= 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "\"%.*s\" is not a path such as .metadata.name", STR_ARG(text));
	return jsonpath_compile(a, str_from(arena_printf(a, ".%.*s", STR_ARG(inner))), ret_path,
				err);
}

static int custom_columns_add(struct arena *a, struct custom_columns *c, struct str name,
			      struct str path, struct error *err)
{
	struct custom_column *column = &c->v[c->n++];
	int r = custom_columns_path(a, path, &column->path, err);

	column->name = arena_str(a, name);
	return r < 0 ? error_wrap(err, r, "column \"%.*s\"", STR_ARG(name)) : 0;
}

static struct custom_columns *custom_columns_new(struct arena *a)
{
	struct custom_columns *c = ARENA_NEW(a, struct custom_columns);

	c->v = ARENA_ARRAY(a, struct custom_column, CUSTOM_COLUMNS_MAX);
	return c;
}

static int refuse_number(struct error *err)
{
	return error_set(err, ERR_BAD_REQUEST, "at most %d columns", CUSTOM_COLUMNS_MAX);
}

int custom_columns_parse(struct arena *a, struct str spec,
			 const struct custom_columns **ret_columns, struct error *err)
{
	struct custom_columns *c = custom_columns_new(a);
	struct str rest = spec, part, name;
	int r = 0;

	if (spec.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "no column is given: write NAME:PATH,..");
	while (r == 0 && str_split(&rest, ',', &part)) {
		struct str whole = part;

		if (c->n == CUSTOM_COLUMNS_MAX)
			return refuse_number(err);
		(void)str_split(&part, ':', &name);
		if (!part.p)
			return error_set(err, ERR_BAD_REQUEST, "\"%.*s\" is not NAME:PATH",
					 STR_ARG(whole));
		r = custom_columns_add(a, c, name, part, err);
	}
	*ret_columns = c;
	return r;
}

/* Takes the next word of a line; empty at its end. */
static struct str take_word(struct str *line)
{
	struct str word = *line = str_trim(*line);
	size_t n = 0;

	while (n < word.n && !str_is_one_of(word.p[n], " \t\r"))
		n++;
	*line = str_skip(*line, n);
	return str_of(word.p, n);
}

int custom_columns_parse_file(struct arena *a, struct str text,
			      const struct custom_columns **ret_columns, struct error *err)
{
	struct custom_columns *c = custom_columns_new(a);
	struct str names = STR_NULL, paths = STR_NULL, name, path;
	int r = 0;

	(void)str_split(&text, '\n', &names);
	if (text.p)
		(void)str_split(&text, '\n', &paths);
	for (;;) {
		name = take_word(&names);
		path = take_word(&paths);
		if (r < 0 || (name.n == 0 && path.n == 0))
			break;
		if (name.n == 0 || path.n == 0)
			return error_set(err, ERR_BAD_REQUEST,
					 "the first line has a name for each path of the second");
		if (c->n == CUSTOM_COLUMNS_MAX)
			return refuse_number(err);
		r = custom_columns_add(a, c, name, path, err);
	}
	if (r == 0 && c->n == 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "it needs a line of names and a line of paths");
	*ret_columns = c;
	return r;
}

/* --- Go's text of a value --------------------------------------------------------------------- */

static void add_go(struct arena *a, struct buf *out, const struct json *v)
{
	struct json **sorted;
	size_t n = json_count(v);

	if (json_is(v, JSON_STRING)) {
		(void)buf_add_str(out, json_str(v));
	} else if (json_is(v, JSON_OBJECT)) {
		sorted = json_sorted(a, v);
		(void)buf_addz(out, "map[");
		for (size_t i = 0; i < n; i++) {
			(void)buf_printf(out, "%s%.*s:", i > 0 ? " " : "",
					 STR_ARG(json_key(sorted[i])));
			add_go(a, out, sorted[i]);
		}
		(void)buf_addc(out, ']');
	} else if (json_is(v, JSON_ARRAY)) {
		(void)buf_addc(out, '[');
		JSON_FOREACH (it, v) {
			if (it != json_first(v))
				(void)buf_addc(out, ' ');
			add_go(a, out, it);
		}
		(void)buf_addc(out, ']');
	} else if (v->type == JSON_NULL) {
		(void)buf_addz(out, "<nil>");
	} else {
		(void)json_print(out, v, NULL);
	}
}

/* --- lines ------------------------------------------------------------------------------------ */

void custom_columns_head(const struct custom_columns *c, struct buf *out)
{
	for (size_t i = 0; i < c->n; i++) {
		if (i > 0)
			(void)buf_addc(out, '\t');
		output_clean(out, c->v[i].name);
	}
	(void)buf_addc(out, '\n');
}

static int add_cell(struct arena *a, const struct custom_column *column, const struct json *object,
		    struct buf *out, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct jsonpath_values found;
	size_t work = JSONPATH_TEMPLATE_WORK_MAX;
	int r = jsonpath_find(column->path, object, a, &work, &found, err);

	if (r < 0)
		return error_wrap(err, r, "column \"%.*s\"", STR_ARG(column->name));
	for (size_t i = 0; i < found.n; i++) {
		if (i > 0)
			(void)buf_addc(&text, ',');
		add_go(a, &text, found.v[i]);
	}
	if (found.n == 0)
		(void)buf_addz(&text, "<none>");
	output_clean_text(out, buf_str(&text), "");
	return 0;
}

int custom_columns_row(const struct custom_columns *c, const struct json *object, struct buf *out,
		       struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	int r = 0;

	arena_init(&a, REQUEST_WORK_MAX);
	for (size_t i = 0; i < c->n && r == 0; i++) {
		if (i > 0)
			(void)buf_addc(out, '\t');
		r = add_cell(&a, &c->v[i], object, out, err);
	}
	(void)buf_addc(out, '\n');
	return r;
}
