/*
 * custom_columns - tables whose columns the user chose: `-o custom-columns=NAME:PATH,..`.
 *
 * As kubectl prints them, byte by byte: several values of a cell are separated by commas, a missing
 * one is "<none>", an object is "map[a:1 b:2]".
 */
#ifndef CLI_OUTPUT_CUSTOM_COLUMNS_H
#define CLI_OUTPUT_CUSTOM_COLUMNS_H

#include "api/table/jsonpath.h"

struct custom_columns;

/*
 * A path as users write it: "metadata.name", ".metadata.name" or "{.metadata.name}". Returns
 * -ERR_BAD_REQUEST.
 */
int custom_columns_path(struct arena *a, struct str text, const struct jsonpath **ret_path,
			struct error *err);

/* "NAME:PATH,NAME:PATH". Returns -ERR_BAD_REQUEST. */
int custom_columns_parse(struct arena *a, struct str spec,
			 const struct custom_columns **ret_columns, struct error *err);

/* The text of a file: a line of names and a line of paths, in columns. */
int custom_columns_parse_file(struct arena *a, struct str text,
			      const struct custom_columns **ret_columns, struct error *err);

/* Each appends a line with tabs. A row fails like jsonpath_find(). */
void custom_columns_head(const struct custom_columns *c, struct buf *out);
int custom_columns_row(const struct custom_columns *c, const struct json *object, struct buf *out,
		       struct error *err);

#endif
