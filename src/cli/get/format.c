/*
 * What --output and --sort-by say. A file is read before a request is sent, so that a mistake in it
 * costs nothing.
 */
#include "api/table/jsonpath_template.h"
#include "base/system/file.h"
#include "cli/cli_limits.h"
#include "cli/get/get.h"
#include "cli/output/custom_columns.h"
#include "cli/output/object_sort.h"

/* Mistakes in what the user wrote are bad usage. */
static int format_refuse(struct get *g, const char *flag, const struct error *why,
			 struct error *err)
{
	return cli_bad_usage(g->cli, err, "%s: %s", flag, why->msg);
}

static int read_template(struct get *g, struct str text, bool file UNUSED, struct error *err)
{
	g->format = GET_JSONPATH;
	if (text.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "the template is empty");
	return jsonpath_template_compile(&g->cli->arena, text, &g->template, err);
}

static int read_columns(struct get *g, struct str text, bool file, struct error *err)
{
	g->format = GET_COLUMNS;
	return (file ? custom_columns_parse_file : custom_columns_parse)(&g->cli->arena, text,
									 &g->columns, err);
}

/* A format with an argument, after an equals sign. */
static const struct {
	const char *word;
	int (*read)(struct get *g, struct str text, bool file, struct error *err);
	bool file;
} format_rows[] = {
	{ "jsonpath", read_template, false },
	{ "jsonpath-file", read_template, true },
	{ "custom-columns", read_columns, false },
	{ "custom-columns-file", read_columns, true },
};

static int read_file(struct get *g, struct str *io_text, struct error *err)
{
	CLEANUP(buf_release) struct buf content = BUF_INIT(OUTPUT_TEMPLATE_MAX);
	int r = file_read(arena_strdup(&g->cli->arena, *io_text), &content, err);

	*io_text = arena_str(&g->cli->arena, buf_str(&content));
	return r;
}

/* Returns 1 if no row has that word. */
static int read_argument(struct get *g, struct str word, struct str text, struct error *err)
{
	struct error why;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(format_rows); i++) {
		if (!str_eqz(word, format_rows[i].word))
			continue;
		r = format_rows[i].file ? read_file(g, &text, &why) : 0;
		if (r == 0)
			r = format_rows[i].read(g, text, format_rows[i].file, &why);
		return r < 0 ? format_refuse(g, "--output", &why, err) : 0;
	}
	return 1;
}

static int read_output(struct get *g, struct error *err)
{
	static const struct {
		const char *word;
		enum get_format format;
	} rows[] = { { "wide", GET_WIDE }, { "json", GET_JSON }, { "yaml", GET_YAML },
		     { "name", GET_NAME }, { "", GET_TABLE },    { "table", GET_TABLE } };
	struct str word = str_from(g->options->output ? g->options->output : "");
	struct str rest = word, before;
	int r = 1;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		g->format = rows[i].format;
		if (str_eqz(word, rows[i].word))
			return 0;
	}
	(void)str_split(&rest, '=', &before);
	if (rest.p)
		r = read_argument(g, before, rest, err);
	if (r <= 0)
		return r;
	return cli_bad_usage(g->cli, err,
			     "--output: \"%.*s\" is not one of wide, json, yaml, name, "
			     "jsonpath=TEMPLATE, jsonpath-file=FILE, custom-columns=NAME:PATH,.., "
			     "custom-columns-file=FILE",
			     STR_ARG(word));
}

int get_read_format(struct get *g, struct error *err)
{
	struct error why;
	int r = read_output(g, err);

	if (r < 0 || !g->options->sort_by)
		return r;
	r = custom_columns_path(&g->cli->arena, str_from(g->options->sort_by), &g->sort, &why);
	return r < 0 ? format_refuse(g, "--sort-by", &why, err) : 0;
}

int get_sort(const struct get *g, struct json *tree, struct error *err)
{
	struct json *rows = json_getz(tree, "rows"), *items = json_getz(tree, "items");

	if (!g->sort || (!rows && !items))
		return 0;
	return object_sort(rows ? rows : items, rows ? "object" : NULL, g->sort, err);
}
