/*
 * Values are quoted if a space or a quote would make them ambiguous. A role's messages may quote
 * foreign text, so all text is cleaned for the terminal.
 */
#include "cli/output/log_line.h"

#include "base/json/json.h"
#include "cli/output/output.h"

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define DIM    "\033[2m"
#define RESET  "\033[0m"

enum { TIME_AT = 7, TIME_N = 27, SHOWN_DATE = 10, SHOWN_TIME = 12 };

static const struct level {
	const char *name, *shown, *colour;
} levels[] = {
	{ "error", "ERROR", RED }, { "warn", "WARN ", YELLOW }, { "info", "INFO ", "" },
	{ "debug", "DEBUG", DIM }, { "trace", "TRACE", DIM },
};

struct str log_line_time(struct str line)
{
	if (!str_starts(line, STR("{\"ts\":\"")) || line.n < TIME_AT + TIME_N)
		return STR_NULL;
	return str_of(line.p + TIME_AT, TIME_N);
}

static void add_level(struct buf *out, struct str name, bool colour)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		const struct level *l = &levels[i];
		bool coloured = colour && l->colour[0];

		if (str_eqz(name, l->name))
			(void)buf_printf(out, "%s%s%s ", coloured ? l->colour : "", l->shown,
					 coloured ? RESET : "");
	}
}

static bool is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] == '"' || s.p[i] == '=')
			return false;
	return s.n > 0;
}

static void log_line_add_value(struct buf *out, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX);
	struct str s = json_str(v);

	if (json_is(v, JSON_STRING) && !is_plain(s))
		(void)json_print_str(&text, s, NULL);
	else if (json_is(v, JSON_STRING))
		(void)buf_add_str(&text, s);
	else
		(void)json_print(&text, v, NULL);
	output_clean_text(out, buf_str(&text), "");
}

static void add_field(struct buf *out, const struct json *v, bool colour)
{
	struct str key = json_key(v);

	if (str_eqz(key, "ts") || str_eqz(key, "level") || str_eqz(key, "msg"))
		return;
	(void)buf_printf(out, " %s", colour ? DIM : "");
	output_clean_text(out, key, "");
	(void)buf_printf(out, "=%s", colour ? RESET : "");
	log_line_add_value(out, v);
}

static void add_head(struct buf *out, const struct json *tree, const struct log_line_style *style)
{
	struct str ts = json_text_at(tree, "ts");

	if (ts.n >= SHOWN_DATE + 1 + SHOWN_TIME)
		(void)buf_printf(out, "%s%.*s %.*s%s ", style->colour ? DIM : "", SHOWN_DATE, ts.p,
				 SHOWN_TIME, ts.p + SHOWN_DATE + 1, style->colour ? RESET : "");
	if (style->role.n > 0)
		(void)buf_printf(out, "%-*.*s ", (int)style->role_width, STR_ARG(style->role));
	add_level(out, json_text_at(tree, "level"), style->colour);
}

void log_line_print(struct buf *out, struct str line, const struct log_line_style *style,
		    struct arena *scratch)
{
	struct json *tree;

	if (json_parse(scratch, line, NULL, &tree, NULL) < 0 || !json_is(tree, JSON_OBJECT)) {
		output_clean_text(out, line, "\t");
	} else {
		add_head(out, tree, style);
		output_clean_text(out, json_text_at(tree, "msg"), "\t");
		JSON_FOREACH (it, tree)
			add_field(out, it, style->colour);
	}
	(void)buf_addc(out, '\n');
	arena_clear(scratch);
}
