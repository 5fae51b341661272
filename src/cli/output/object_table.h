/*
 * object_table - prints a Table of the API server, as text with tabs.
 *
 * The layout is kubectl's: column names in capitals, low-priority columns only on request, and
 * cells cut at their first line. A namespace, kind or labels may be added to what the server sent.
 * If the reply is not a Table (some servers send the objects instead), it becomes a table of name
 * and age.
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
	int64_t wall_ns; /* for ages that the server does not send */
};

/* Turns a reply into a Table; may change the reply. */
struct json *object_table_of(struct arena *a, struct json *answer, int64_t wall_ns);

size_t object_table_rows(const struct json *table);

/* Appends the head line, unless the style omits it. */
void object_table_head(struct buf *out, const struct json *table,
		       const struct object_table_style *s);

/*
 * Appends the rows. `head` is the Table that defines the columns, because a watch sends columns
 * only in its first event.
 */
void object_table_body(struct buf *out, const struct json *head, const struct json *table,
		       const struct object_table_style *s);

#endif
