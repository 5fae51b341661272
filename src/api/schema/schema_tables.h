/*
 * schema_tables - the tables that schema/generate.py generates from the descriptions.
 *
 * Only schema.c reads them; all other code uses api/schema/schema.h.
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

/* The same, sorted by group, version, resource. */
extern const struct schema_kind *const schema_table_by_path[];
extern const size_t schema_table_by_path_n;

/* All kinds, including lists and others that are not resources, sorted by apiVersion and kind. */
extern const struct schema_kind *const schema_table_by_kind[];
extern const size_t schema_table_by_kind_n;

extern const struct schema_type *const schema_table_object_meta;
extern const struct schema_type *const schema_table_delete_options;

#endif
