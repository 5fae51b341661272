/*
 * table - objects as rows of meta.k8s.io/v1 Table, which `kubectl get` shows.
 *
 * Columns come from the kind's schema, after Name; kinds without columns have Name and Age. A row
 * is made from a tree of the request's version.
 */
#ifndef API_TABLE_TABLE_H
#define API_TABLE_TABLE_H

#include "api/schema/schema.h"
#include "base/core/buf.h"

enum table_include { TABLE_INCLUDE_METADATA, TABLE_INCLUDE_OBJECT, TABLE_INCLUDE_NONE };

/*
 * Appends `{"kind":"Table",..,"metadata":META,"columnDefinitions":[..],"rows":[`. Columns may be
 * left out (later tables of a watch). `meta` is the JSON text of a ListMeta. `version` is "v1" or
 * "v1beta1".
 */
int table_begin(const struct schema_kind *kind, struct str version, struct str meta,
		bool with_columns, struct buf *out);

/* Appends one row, without a comma before it. `now_ns` is for ages. */
int table_row(const struct schema_kind *kind, const struct json *object, enum table_include include,
	      struct str version, int64_t now_ns, struct buf *out);

/* Appends `]}`. */
int table_end(struct buf *out);

/* Appends how long ago a time was, as kubectl prints ages: "3d4h", "5m", "<unknown>". */
int table_age(int64_t then_ns, int64_t now_ns, struct buf *out);

#endif
