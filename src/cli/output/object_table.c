/*
 * Cells are printed unchanged: the server decides what a value means.
 */
#include "cli/output/object_table.h"

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "cli/output/output.h"

/* --- replies that are not a Table ------------------------------------------------------------ */

static void add_column(struct arena *a, struct json *columns, const char *name)
{
	struct json *c = json_make_object(a);

	json_put_str(a, c, "name", str_from(name));
	json_append(columns, c);
}

static void object_table_add_row(struct arena *a, struct json *rows, struct json *object,
				 int64_t wall_ns)
{
	struct json *row = json_make_object(a), *cells = json_need_array(a, row, "cells");
	struct json *meta = json_getz(object, "metadata");
	char text[DURATION_SIZE];
	struct str age = STR("<unknown>");
	int64_t at;

	if (timestamp_parse(json_text_at(meta, "creationTimestamp"), &at, NULL) == 0)
		age = arena_str(a, duration_print_age(wall_ns - at, text));
	json_append(cells, json_make_str(a, json_text_at(meta, "name")));
	json_append(cells, json_make_str(a, age));
	json_setz(row, "object", object);
	json_append(rows, row);
}

struct json *object_table_of(struct arena *a, struct json *answer, int64_t wall_ns)
{
	struct json *table, *items, *rows;

	if (str_eqz(json_text_at(answer, "kind"), "Table"))
		return answer;
	table = json_make_object(a);
	add_column(a, json_need_array(a, table, "columnDefinitions"), "Name");
	add_column(a, json_need_array(a, table, "columnDefinitions"), "Age");
	rows = json_need_array(a, table, "rows");
	items = json_getz(answer, "items");
	if (!items) {
		object_table_add_row(a, rows, answer, wall_ns);
		return table;
	}
	JSON_FOREACH_SAFE (it, items)
		object_table_add_row(a, rows, json_unlink(items, it), wall_ns);
	return table;
}

size_t object_table_rows(const struct json *table)
{
	return json_count(json_getz(table, "rows"));
}

/* --- cells ----------------------------------------------------------------------------------- */

static bool is_shown(const struct json *column, const struct object_table_style *s)
{
	return s->wide || json_i64_at(column, "priority", 0) == 0;
}

static void add_upper(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		(void)buf_addc(out, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
	}
}

static void add_cell(struct buf *out, const struct json *cell)
{
	if (json_is(cell, JSON_STRING))
		output_clean(out, json_str(cell));
	else if (cell && cell->type != JSON_NULL)
		(void)json_print(out, cell, NULL);
}

/* "a=b,c=d", sorted; "<none>" if empty. */
static void add_labels(struct arena *a, struct buf *out, const struct json *labels)
{
	struct json **v = json_sorted(a, labels);
	size_t n = json_count(labels);

	for (size_t i = 0; i < n; i++)
		(void)buf_printf(out, "%s%.*s=%.*s", i > 0 ? "," : "", STR_ARG(json_key(v[i])),
				 STR_ARG(json_str(v[i])));
	if (n == 0)
		(void)buf_addz(out, "<none>");
}

static void add_label_cells(struct buf *out, const struct json *labels,
			    const struct object_table_style *s)
{
	struct arena a;

	for (size_t i = 0; i < s->nlabel_columns; i++) {
		struct str value = json_str(json_getz(labels, s->label_columns[i]));

		(void)buf_addc(out, '\t');
		output_clean(out, value);
	}
	if (!s->show_labels)
		return;
	arena_init(&a, MIB);
	(void)buf_addc(out, '\t');
	add_labels(&a, out, labels);
	arena_release(&a);
}

/* --- lines ----------------------------------------------------------------------------------- */

void object_table_head(struct buf *out, const struct json *table,
		       const struct object_table_style *s)
{
	bool first = true;

	if (s->no_headers)
		return;
	if (s->with_namespace) {
		(void)buf_addz(out, "NAMESPACE");
		first = false;
	}
	JSON_FOREACH (it, json_getz(table, "columnDefinitions")) {
		if (!is_shown(it, s))
			continue;
		if (!first)
			(void)buf_addc(out, '\t');
		first = false;
		add_upper(out, json_text_at(it, "name"));
	}
	for (size_t i = 0; i < s->nlabel_columns; i++) {
		const char *key = s->label_columns[i], *slash = strrchr(key, '/');

		(void)buf_addc(out, '\t');
		add_upper(out, str_from(slash ? slash + 1 : key));
	}
	if (s->show_labels)
		(void)buf_addz(out, "\tLABELS");
	(void)buf_addc(out, '\n');
}

static void object_table_add_line(struct buf *out, const struct json *head, const struct json *row,
				  const struct object_table_style *s)
{
	const struct json *meta = json_getz(json_getz(row, "object"), "metadata");
	const struct json *column = json_first(json_getz(head, "columnDefinitions"));
	bool first = true;

	if (s->with_namespace)
		(void)buf_printf(out, "%.*s\t", STR_ARG(json_text_at(meta, "namespace")));
	JSON_FOREACH (it, json_getz(row, "cells")) {
		bool shown = !column || is_shown(column, s);

		column = column ? column->next : NULL;
		if (!shown)
			continue;
		if (!first)
			(void)buf_addc(out, '\t');
		else
			(void)buf_add_str(out, s->prefix);
		first = false;
		add_cell(out, it);
	}
	add_label_cells(out, json_getz(meta, "labels"), s);
	(void)buf_addc(out, '\n');
}

void object_table_body(struct buf *out, const struct json *head, const struct json *table,
		       const struct object_table_style *s)
{
	JSON_FOREACH (it, json_getz(table, "rows"))
		object_table_add_line(out, head, it, s);
}
