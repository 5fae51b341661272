/*
 * column - functions for the cells of Table output.
 *
 * Private to api/table. A cell appends one JSON value.
 */
#ifndef API_TABLE_COLUMN_H
#define API_TABLE_COLUMN_H

#include "api/table/columns.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define CELL_MAX (64UL * KIB) /* text of one cell; longer text is left out */

/* Return the value at dotted names below the object, or NULL (empty, 0, false). */
struct json *column_find(const struct json *object, const char *path);
struct str column_find_str(const struct json *object, const char *path);
int64_t column_find_i64(const struct json *object, const char *path);
bool column_find_bool(const struct json *object, const char *path);

/* Appends text as a cell; `absent` if it is empty. */
void column_text(struct buf *out, struct str text, const char *absent);
void column_printf(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Appends how long ago a time was; `absent` if there was no time. */
void column_since(struct buf *out, struct str time, int64_t now_ns, const char *absent);

/* Appends "a,b,c" of a list: its strings if `key` is NULL, else that member of its objects. */
void column_join(struct buf *out, const struct json *list, const char *key, const char *sep,
		 const char *absent);

/* Whether the object has a condition of this type with status True. */
bool column_condition(const struct json *object, struct str type);

/* Append "a=b,c=d" of a map, sorted; and of a LabelSelector. "<none>" if empty. */
void column_labels(struct buf *out, const struct json *map);
void column_label_selector(struct buf *out, const struct json *selector);

/*
 * Appends a column of a custom kind: the value that its path finds, formatted by its type; or null.
 */
void column_jsonpath(const struct schema_column *c, const struct json *object, int64_t now_ns,
		     struct buf *out);

#endif
