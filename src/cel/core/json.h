/*
 * json - values of CEL from JSON trees, and back.
 *
 * Trees are not converted: lists and maps read them in place.
 */
#ifndef CEL_CORE_JSON_H
#define CEL_CORE_JSON_H

#include "base/json/json.h"
#include "base/json/writer.h"
#include "cel/core/value.h"

/*
 * Integers become int (uint above INT64_MAX), other numbers double, objects maps with string keys.
 */
struct cel_value cel_of_json(const struct json *v);

/* Whether the value is a list or map that reads a JSON tree in place; if so, returns the tree. */
bool cel_json_of(const struct cel_value *v, const struct json **ret_tree);

/*
 * Return element i of an array (i must be in range), or the member of an object or NULL. Sequential
 * access costs one step per element. Random access to a large container builds an index.
 */
const struct json *cel_json_at(struct cel_eval *ev, const struct json *list, size_t i);
const struct json *cel_json_get(struct cel_eval *ev, const struct json *map, struct str name);

/*
 * Writes the value in protobuf's JSON mapping: bytes as base64, times in RFC 3339, durations in
 * seconds ("1.5s"). Doubles that JSON lacks are "NaN", "Infinity" and "-Infinity". Types are
 * written by name, map keys as text, an optional as its value or null. Unlike there, 64-bit
 * integers are numbers.
 */
void cel_write_json(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w);

#endif
