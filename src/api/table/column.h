/*
 * column - what the cells of Table output are made of.
 *
 * Private to table.c and column_*.c. A cell appends one JSON value.
 */
#ifndef API_TABLE_COLUMN_H
#define API_TABLE_COLUMN_H

#include "api/table/columns.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define CELL_MAX (64UL * KIB) /* text of one cell; what is longer is left out */

/* The value at dotted names below the object, or NULL. */
struct json *column_find(const struct json *object, const char *path);
struct str column_find_str(const struct json *object, const char *path);
int64_t column_find_i64(const struct json *object, const char *path);
bool column_find_bool(const struct json *object, const char *path);

/* Text as a cell; `absent` when it is empty. */
void column_text(struct buf *out, struct str text, const char *absent);
void column_printf(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* How long ago a time was; `absent` when there is none. */
void column_since(struct buf *out, struct str time, int64_t now_ns, const char *absent);

/* "a,b,c" of a list: of text when `key` is NULL, else of that member of its objects. */
void column_join(struct buf *out, const struct json *list, const char *key, const char *sep,
		 const char *absent);

/* Whether the object has a condition of this type with status True. */
bool column_condition(const struct json *object, struct str type);

/* The member of a map whose key is next in order, STR_NULL for the first; NULL at the end. */
const struct json *column_next(const struct json *map, struct str after);

/* "a=b,c=d" of a map, sorted; and of a LabelSelector. "<none>" when empty. */
void column_labels(struct buf *out, const struct json *map);
void column_label_selector(struct buf *out, const struct json *selector);

/* A column of a custom kind: what its path finds, as its type shows it; null for nothing. */
void column_jsonpath(const struct schema_column *c, const struct json *object, int64_t now_ns,
		     struct buf *out);

#endif
