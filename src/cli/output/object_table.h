/*
 * object_table - a Table of the API server, as text with tabs.
 *
 * Laid out as kubectl does it: names of columns in capitals, columns of low priority only when
 * asked for, cells cut at their first line, and a namespace, a kind or labels beside what the
 * server sent. What is no Table (a server that knows none answers with the objects) becomes one
 * of name and age.
 */
#ifndef CLI_OUTPUT_OBJECT_TABLE_H
#define CLI_OUTPUT_OBJECT_TABLE_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/json.h"

#define OBJECT_TABLE_ACCEPT                                      \
	STR("application/json;as=Table;v=v1;g=meta.k8s.io,"      \
	    "application/json;as=Table;v=v1beta1;g=meta.k8s.io," \
	    "application/json")

struct object_table_style {
	bool wide, no_headers, with_namespace, show_labels;
	const char *const *label_columns; /* keys */
	size_t nlabel_columns;
	struct str prefix; /* before each name: "pod/"; or empty */
	bool colour;
	int64_t wall_ns; /* for ages that the server does not tell */
};

/* The answer as a Table; it may be changed. */
struct json *object_table_of(struct arena *a, struct json *answer, int64_t wall_ns);

size_t object_table_rows(const struct json *table);

/* Appends the head line, unless the style wants none. */
void object_table_head(struct buf *out, const struct json *table,
		       const struct object_table_style *s);

/*
 * Appends the rows. `head` is the Table whose columns they have: events of a watch come with
 * columns only once.
 */
void object_table_body(struct buf *out, const struct json *head, const struct json *table,
		       const struct object_table_style *s);

#endif
