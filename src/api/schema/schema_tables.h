/*
 * schema_tables - what schema/generate.py makes of the descriptions.
 *
 * Only schema.c reads this; everybody else asks api/schema.h.
 */
#ifndef API_SCHEMA_SCHEMA_TABLES_H
#define API_SCHEMA_SCHEMA_TABLES_H

#include "api/schema/schema.h"

/* In byte order of their OpenAPI names. */
extern const struct schema_type *const schema_table_types[];
extern const size_t schema_table_types_n;

/* Kinds that are resources, in discovery's order. */
extern const struct schema_kind *const schema_table_resources[];
extern const size_t schema_table_resources_n;

/* The same in order of group, version, resource. */
extern const struct schema_kind *const schema_table_by_path[];
extern const size_t schema_table_by_path_n;

/* All kinds, lists and others that are no resource too, in order of apiVersion and kind. */
extern const struct schema_kind *const schema_table_by_kind[];
extern const size_t schema_table_by_kind_n;

extern const struct schema_type *const schema_table_object_meta;
extern const struct schema_type *const schema_table_delete_options;

#endif
